/* search/choices/stage.h - what a stage of measured operators costs. Internal.
 *
 * A stage has a degree t of tensor parallelism and d replicas that take samples in turn, so it
 * is on t d devices. Its load, the time that it takes for each sample of a batch of N, is
 *
 *     sum over its operators of  (seconds + 2 bytes / B) / d + 4 (d - 1) / d weights / (N B)
 *
 * where `bytes` are what crosses the border of the stage, with what the devices of an operator
 * exchange for it. A device needs stash_bytes for each of the samples that it has in flight,
 * and fixed_bytes. Each operator is computed again or not, as the load is least within memory
 * (Piper, section 3). */
#ifndef SEARCH_CHOICES_STAGE_H
#define SEARCH_CHOICES_STAGE_H

#include "search/choices/cover.h"
#include "search/choices/model.h"
#include "search/pipeline/states.h"

/* A stage that is looked at; one is used for many. */
struct choice_stage {
    const struct choice_model *model;
    int n, *op;
    bool *inside;             /* by operator of the graph */
    double shared_bytes;      /* that cross the border and count once, in and out */
    int64_t *counted, stamp;  /* by operator: the stage for which its output was counted last */
    int *cross_start, *cross; /* edges of its operator i that cross */
    /* Under the degree that was set, by operator and way: the choice (NULL: none), and its
     * seconds and exchanges for a sample. */
    const struct op_choice *(*choice)[N_WAYS];
    double (*sample_s)[N_WAYS];
    /* Under the replicas that were set, all operators the fastest way: */
    enum way *fastest;
    double fast_s, fast_stash, fast_fixed;
    /* ... and what the other way takes longer, and needs less, where it does. */
    int n_savings;
    struct saving {
        int i; /* of its operators */
        double extra_s, stash, fixed;
    } * saving;
    struct cover cover;
};

void hp_choice_stage_new(struct choice_stage *stage, struct arena *arena,
                         const struct choice_model *model);

/* Look at the operators of state `last` that are not in state `after`, ... */
void hp_choice_stage_at(struct choice_stage *stage, const struct cut_states *states, int after,
                        int last);

/* ... with degree number `t` (false: not all of them were measured so) ... */
bool hp_choice_stage_degree(struct choice_stage *stage, int t);

/* ... and so many replicas. */
void hp_choice_stage_replicas(struct choice_stage *stage, int replicas);

/* The most samples in flight that fit, at most `most`: with all operators the fastest way; with
 * all of them the way that needs least. */
int hp_choice_fast_in_flight(const struct choice_stage *stage, int most);
int hp_choice_least_in_flight(const struct choice_stage *stage, int most);

/* The least load with so many in flight, if it is not above most_s; else INFINITY. `any`: the
 * first that is not above it will do. Sets again[op] of its operators that are computed again,
 * unless that is NULL. */
double hp_choice_load_s(struct choice_stage *stage, int in_flight, double most_s, bool any,
                        bool *again);

#endif /* SEARCH_CHOICES_STAGE_H */
