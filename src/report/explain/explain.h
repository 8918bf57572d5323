/* report/explain/explain.h - the parts of the reports of explain and compare. Internal. */
#ifndef REPORT_EXPLAIN_H
#define REPORT_EXPLAIN_H

#include <hypar/explain.h>
#include <hypar/report.h>

#include "report/table.h"

enum { WHAT_HELPS = 1, WHAT_DIFFERS = 2 };

struct what_if_table {
    unsigned shows;    /* WHAT_HELPS or WHAT_DIFFERS: the heading of the first column */
    double now_s;      /* the current step */
    bool lacks_memory; /* the current plan does not fit: rows that fit say so */
    int most;          /* limit of rows; further rows are counted */
    int n;
    const struct hypar_what_if **row;
};

/* Print the steps and their changes; then the changes without effect; then the changes left
 * out, and why. */
void hp_what_if_table(FILE *to, struct arena *arena, const struct what_if_table *table);

/* Write one row as an object of an array. */
void hp_put_what_if(struct json_writer *w, const struct hypar_what_if *what, double now_s);

/* Write the bounds of the step, the most expensive operators and the changes that would help,
 * as members of an open object. */
void hp_put_explanation(struct json_writer *w, struct arena *arena,
                        const struct hypar_explanation *e);

/* Report the planner that found the plan and the other plans, as the plan file records them;
 * prints nothing without such a record. `now_s` is the plan's step, `calibration` that of
 * its prediction. */
void hp_chosen_text(FILE *to, struct arena *arena, const struct hypar_plan *plan, double now_s,
                    const struct hypar_calibration *calibration);

/* Write the record as object "search" of a plan file, with "as_found". */
void hp_put_chosen(struct json_writer *w, const struct hypar_plan *plan);

/* "+3.4 %", "-12 %", "3.1 x"; buffer holds at least 32 bytes. */
char *hp_change_text(char *buffer, double step_s, double now_s);

/* Print a row for each layer at each level; nothing if `view` is NULL. */
void hp_terms_text(FILE *to, const struct hypar_partition_view *view,
                   const struct hypar_graph *graph);

/* Write the rows as the array "terms". */
void hp_put_terms(struct json_writer *w, const struct hypar_partition_view *view,
                  const struct hypar_graph *graph);

/* Why a row with a plan is not ranked: "does not fit", "updates are delayed"; "": it is
 * ranked. */
const char *hp_not_ranked(const struct hypar_compared *row);

/* Write the columns that the page shows: of each what-if, of each compared row's `predicted`.
 */
void hp_put_what_if_columns(struct json_writer *w, const char *key);
void hp_put_comparison_columns(struct json_writer *w, const char *key);

/* Write all rows as an array. */
void hp_put_comparison(struct json_writer *w, const char *key,
                       const struct hypar_comparison *comparison);

#endif /* REPORT_EXPLAIN_H */
