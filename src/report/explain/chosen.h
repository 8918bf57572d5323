/* report/explain/chosen.h - reports why a search chose a plan. Internal. */
#ifndef REPORT_CHOSEN_H
#define REPORT_CHOSEN_H

#include <hypar/search.h>
#include <stdio.h>

#include "base/files/json.h"

/* Report the planner that found the plan and the other plans, as the plan file records them;
 * prints nothing without such a record. `now_s` is the plan's step. */
void hp_chosen_text(FILE *to, struct arena *arena, const struct hypar_plan *plan, double now_s);

/* Write the record as object "search" of a plan file, with "as_found". */
void hp_put_chosen(struct json_writer *w, const struct hypar_plan *plan);

/* "+3.4 %", "-12 %", "3.1 x"; buffer holds at least 32 bytes. */
char *hp_change_text(char *buffer, double step_s, double now_s);

#endif /* REPORT_CHOSEN_H */
