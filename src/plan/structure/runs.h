/* plan/structure/runs.h - finds repetitions in a sequence. Internal. */
#ifndef PLAN_STRUCTURE_RUNS_H
#define PLAN_STRUCTURE_RUNS_H

#include "base/arena.h"

#include <stdint.h>

/* Members first .. first + count * period - 1: the same `period` members, `count` times. */
struct run {
    int first, period;
    int count; /* 1: members without repetition */
};

/* All of token[0..n-1] as runs, in order: first the run that covers most, then the same for the
 * parts before and after it. If a run could begin at several members, it begins where the
 * beginning of its second period has the least border[0..n]; NULL: at the first. In sequences
 * with very many distances between equal members, only some distances are tried. */
struct run *hp_find_runs(struct arena *arena, const int *token, int n, const int64_t *border,
                         int *n_runs);

#endif /* PLAN_STRUCTURE_RUNS_H */
