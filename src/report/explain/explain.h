/* report/explain/explain.h - rows of changed plans, for the reports of explain and compare.
 * Internal. */
#ifndef REPORT_EXPLAIN_H
#define REPORT_EXPLAIN_H

#include <hypar/explain.h>

#include "report/table.h"

enum { WHAT_HELPS = 1, WHAT_DIFFERS = 2 };

struct what_if_table {
    unsigned shows; /* WHAT_HELPS or WHAT_DIFFERS: the heading of the first column */
    double now_s;   /* the current step */
    int most;       /* limit of rows; further rows are counted */
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

#endif /* REPORT_EXPLAIN_H */
