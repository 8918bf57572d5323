/* coverage.h - what of the operator table a series of random plans has split so far.
 *
 * The goals are every splittable axis of every kind, and every two of them at once: those that
 * the rows of the table name, and those that the cases of op_cases.h have. */
#ifndef TESTS_COVERAGE_H
#define TESTS_COVERAGE_H

#include "plan/plan.h"

/* Axes a and b of a kind, by letter; a == b: one axis. */
struct goal {
    enum op_kind kind;
    char a, b;
    int met;   /* by how many plans */
    int asked; /* how often coverage_next() gave it */
};

/* Beyond axes: what some plan must have had. */
enum situation {
    SEEN_UNEVEN,
    SEEN_EMPTY,
    SEEN_SHARED_PARAMETER,
    SEEN_MICRO_BATCHES,
    SEEN_UNEQUAL_MICRO_BATCHES,
    SEEN_GPIPE,
    SEEN_1F1B,
    SEEN_TWO_PARTS_ON_A_DEVICE,
    SEEN_COPIES,
    SEEN_ONE_DEVICE,
    SEEN_SGD,
    SEEN_MOMENTUM,
    SEEN_ADAM,
    SEEN_ADAMW,
    SITUATION_COUNT,
};

extern const char *const situation_names[SITUATION_COUNT];

struct coverage {
    struct arena arena;
    struct goal *goal;
    int n_goals, capacity;
    int64_t seen[SITUATION_COUNT];
    int64_t kind[OP_KIND_COUNT]; /* operators of each kind, split or not */
};

/* With every goal unmet; hp_arena_free(&coverage->arena) releases it. */
void coverage_begin(struct coverage *coverage);

/* The goal met least often. */
const struct goal *coverage_next(struct coverage *coverage);

/* The axes that goals of a kind name, "n c r"; none: no goal has the kind. */
const char *coverage_axes(const struct coverage *coverage, enum op_kind kind, char *text,
                          size_t n);

/* Note what `plan` splits. */
void coverage_note(struct coverage *coverage, const struct hypar_plan *plan);

/* How many goals, situations and kinds are missing; the first of them is written to `text`. */
int coverage_missing(const struct coverage *coverage, char *text, size_t n);

#endif /* TESTS_COVERAGE_H */
