/* search/choices/stage.h - the cost of a stage of measured operators. Internal.
 *
 * A stage has a degree t of tensor parallelism and d replicas that take samples in turn, so it
 * uses t d devices. Its load is the time per sample of a batch of N samples:
 *
 *     sum over its operators of  (seconds + 2 bytes / B) / d + 4 (d - 1) / d weights / (N B)
 *
 * `bytes` are the bytes that cross the stage's border, including the exchange between the
 * devices of an operator that this causes. A device needs stash_bytes for each of its samples
 * in flight, and fixed_bytes. The operators to recompute are those for which the load is least
 * within memory (Piper, section 3). */
#ifndef SEARCH_CHOICES_STAGE_H
#define SEARCH_CHOICES_STAGE_H

#include "search/choices/cover.h"
#include "search/choices/model.h"
#include "search/pipeline/states.h"

/* The current stage; one struct serves many stages, one after another. */
struct choice_stage {
    const struct choice_model *model;
    int n, *op;
    bool *inside;             /* by operator of the graph: in the stage */
    double shared_bytes;      /* bytes that cross the border and count once, in and out */
    int64_t *counted, stamp;  /* by operator: the last stage (`stamp`) that counted its
                               * output */
    int *cross_start, *cross; /* edges of the stage's operator i that cross the border: CSR */
    /* For the current degree, by operator and way: the choice (NULL: none), and its seconds and
     * exchanges for a sample. */
    const struct op_choice *(*choice)[N_WAYS];
    double (*sample_s)[N_WAYS];
    /* For the current number of replicas, if all operators use their fastest way: */
    enum recompute_choice *fastest;
    double fast_s, fast_stash, fast_fixed;
    /* ... and the extra time and saved memory of the other way, for operators where it saves
     * memory. */
    int n_savings;
    struct saving {
        int i; /* index of the stage's operators */
        double extra_s, stash, fixed;
    } * saving;
    struct cover cover;
};

void hp_choice_stage_new(struct choice_stage *stage, struct arena *arena,
                         const struct choice_model *model);

/* Set the stage: the operators of state `last` that are not in state `after`, ... */
void hp_choice_stage_at(struct choice_stage *stage, const struct cut_states *states, int after,
                        int last);

/* ... with degree number `t` (false: not all operators were measured with it) ... */
bool hp_choice_stage_degree(struct choice_stage *stage, int t);

/* ... and this number of replicas. */
void hp_choice_stage_replicas(struct choice_stage *stage, int replicas);

/* The largest number of samples in flight that fits, up to `most`: if all operators use their
 * fastest way; if all use the way with the least memory. */
int hp_choice_fast_in_flight(const struct choice_stage *stage, int most);
int hp_choice_least_in_flight(const struct choice_stage *stage, int most);

/* The least load with this number of samples in flight if it is at most most_s, else INFINITY.
 * `any`: accept the first load of at most most_s. Sets again[op] of recomputed operators unless
 * `again` is NULL. */
double hp_choice_load_s(struct choice_stage *stage, int in_flight, double most_s, bool any,
                        bool *again);

#endif /* SEARCH_CHOICES_STAGE_H */
