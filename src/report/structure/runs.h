/* report/structure/runs.h - what follows itself, again and again, in a sequence. Internal. */
#ifndef REPORT_STRUCTURE_RUNS_H
#define REPORT_STRUCTURE_RUNS_H

#include "base/arena.h"

#include <stdint.h>

/* Members first .. first + count * period - 1: the same `period` members, `count` times. */
struct run {
    int first, period;
    int count; /* 1: members that are not repeated */
};

/* All of token[0..n-1] as runs, in order: first the run that covers most, then likewise what is
 * before and behind it. Where a run could begin at several members, it begins where its second
 * round begins at the least of border[0..n]; NULL: at the first. Of sequences with very many
 * distances between like members only a part is looked at. */
struct run *hp_find_runs(struct arena *arena, const int *token, int n, const int64_t *border,
                         int *n_runs);

#endif /* REPORT_STRUCTURE_RUNS_H */
