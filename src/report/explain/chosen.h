/* report/explain/chosen.h - why a plan is the one that a search chose. Internal. */
#ifndef REPORT_CHOSEN_H
#define REPORT_CHOSEN_H

#include <hypar/search.h>
#include <stdio.h>

#include "base/files/json.h"

/* Who found the plan and what it was chosen over, as its file says; nothing where it does not
 * say. `now_s` is the plan's step. */
void hp_chosen_text(FILE *to, struct arena *arena, const struct hypar_plan *plan, double now_s);

/* As the object "search", of a plan file, with "as_found". */
void hp_put_chosen(struct json_writer *w, const struct hypar_plan *plan);

/* "+3.4 %", "-12 %", "3.1 x"; buffer holds at least 32 bytes. */
char *hp_change_text(char *buffer, double step_s, double now_s);

#endif /* REPORT_CHOSEN_H */
