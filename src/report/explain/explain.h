/* report/explain/explain.h - rows of what is otherwise, as explain and compare tell them.
 * Internal. */
#ifndef REPORT_EXPLAIN_H
#define REPORT_EXPLAIN_H

#include <hypar/explain.h>

#include "report/table.h"

enum { WHAT_HELPS = 1, WHAT_DIFFERS = 2 };

struct what_if_table {
    unsigned shows; /* one of these: the heading of the first column */
    double now_s;   /* the step as it is */
    int most;       /* rows, further ones are counted */
    int n;
    const struct hypar_what_if **row;
};

/* Steps and how much they change; then what makes no difference, and what is left out, why. */
void hp_what_if_table(FILE *to, struct arena *arena, const struct what_if_table *table);

/* One of them as an object of an array. */
void hp_put_what_if(struct json_writer *w, const struct hypar_what_if *what, double now_s);

/* What bounds the step, the costliest operators and what would help, as members of an open
 * object. */
void hp_put_explanation(struct json_writer *w, struct arena *arena,
                        const struct hypar_explanation *e);

#endif /* REPORT_EXPLAIN_H */
