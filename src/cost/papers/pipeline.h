/* cost/papers/pipeline.h - the cost of a pipeline (PipeDream: Narayanan et al., SOSP 2019).
 * Internal.
 *
 * A model is cut at states: state j is a set of operators that may run before all others (on a
 * chain: the first j + 1 operators). The workers of a machine form levels, from the lowest; a
 * level joins `workers` components, each of which is one whole level below. At each level a
 * range of states is cut into stages, each on one or more components that take minibatches in
 * turn; inside its component the level below cuts a stage again. The slowest stage sets the
 * pace.
 *
 * The paper's formulas differ from those of its published optimizer; `paper` says which
 * apply. */
#ifndef COST_PAPERS_PIPELINE_H
#define COST_PAPERS_PIPELINE_H

#include <stdbool.h>
#include <stdint.h>

enum { PIPELINE_MAX_LEVELS = 32 };

/* Sums over the operators of each state. */
struct pipeline_states {
    int n;
    const double *time_s;           /* forward and backward, one minibatch on one worker */
    const double *weight_bytes;     /* parameters */
    const double *activation_bytes; /* outputs, kept from forward to backward */
    const double *fixed_bytes;      /* gradients and optimizer state */
    const double *cut_bytes;        /* not a sum: bytes that cross the cut after the state */
};

struct pipeline_machine {
    int n_levels;
    int workers[PIPELINE_MAX_LEVELS]; /* components joined, lowest level first */
    double bytes_per_s[PIPELINE_MAX_LEVELS];
};

struct pipeline_rules {
    bool paper;          /* section 3.1 of the paper, else the published optimizer */
    bool free_transfers; /* between stages */
};

/* The share of states after + 1 .. last (after -1: from the start) in a cumulated sum. */
static inline double hp_range_sum(const double *cumulated, int after, int last)
{
    return cumulated[last] - (after < 0 ? 0 : cumulated[after]);
}

/* States after + 1 .. last (after -1: from the start) on `workers` components of the stage's
 * level. */
struct pipeline_stage {
    int after, last;
    int workers;
    int n_inner; /* stages of the level below; 0 at the lowest */
    const struct pipeline_stage *inner;
};

/* Synchronising `weight_bytes` over the replicas of a stage. The published optimizer adds it to
 * the time of the stage; the paper takes the larger of both. */
double hp_pipeline_sync_s(const struct pipeline_rules *rules, double weight_bytes, int replicas,
                          double bytes_per_s);

/* One minibatch's share of a stage whose inside takes inner_s:
 *   code   (inner + 4 (m-1) W / (B m)) / m
 *   paper  T^k = max(inner, 2 (m-1) W / B) / m                                      */
double hp_pipeline_stage_s(const struct pipeline_rules *rules, double inner_s, double sync_s,
                           int replicas);

/* The divisor of the synchronisation of the first stage of a range at `level`: in the published
 * optimizer, for this stage alone, the components of the level below. */
double hp_pipeline_below(const struct pipeline_rules *rules,
                         const struct pipeline_machine *machine, int level);

/* Activations one way and their errors the other, for a stage with `replicas`:
 * code 2 a / (B m), paper 2 a / B. */
double hp_pipeline_transfer_s(const struct pipeline_rules *rules, double bytes, int replicas,
                              double bytes_per_s);

/* The pipeline's time recomputed from its stages at the top level: the bottleneck, in seconds
 * for one minibatch. */
double hp_pipeline_s(const struct pipeline_rules *rules, const struct pipeline_machine *machine,
                     const struct pipeline_states *states, const struct pipeline_stage *stage,
                     int n_stages);

/* All workers with a copy of everything: the baseline of the published optimizer. */
double hp_pipeline_data_parallel_s(const struct pipeline_rules *rules,
                                   const struct pipeline_machine *machine, double time_s,
                                   double weight_bytes);

/* The bytes of one replica of a stage with this many minibatches in flight. */
double hp_pipeline_memory(double weight_bytes, double activation_bytes, double fixed_bytes,
                          int in_flight);

#endif /* COST_PAPERS_PIPELINE_H */
