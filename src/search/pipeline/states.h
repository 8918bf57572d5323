/* search/pipeline/states.h - where a graph may be cut into pipeline stages. Internal.
 *
 * A state is a set of layers that is closed under predecessors: what an antichain of the graph
 * and all before it make up (PipeDream's optimizer). Where there are too many of them, the
 * prefixes of the order that the layers come in are taken instead. */
#ifndef SEARCH_PIPELINE_STATES_H
#define SEARCH_PIPELINE_STATES_H

#include "base/arena.h"
#include "cost/papers/pipeline.h"

/* What a pipeline is made of: one layer for each operator, in topological order. */
struct pipeline_layers {
    int n;
    double *forward_s, *backward_s; /* of one minibatch on one worker */
    double *weight_bytes, *output_bytes, *fixed_bytes;
    /* Readers of layer i: after[after_start[i]] .. after[after_start[i + 1] - 1], each once. */
    int *after_start, *after;
    const int *together; /* layers with the same number >= 0 may not be parted; NULL: all may */
    bool every; /* every set closed under predecessors is a state, not only what an antichain
                   and all before it make up, which begins with layer 0 */
    const bool *borders; /* a stage may begin with layer i, and stages are runs of layers; NULL:
                            wherever */
};

struct cut_states {
    struct pipeline_states cost; /* in order of time; a state comes after those within it */
    int n;
    bool chain;      /* prefixes of one order, so each state is within the next */
    bool all;        /* every antichain was taken */
    int n_skipped;   /* prefixes left out because there were too many */
    int n_parted;    /* left out because they part layers that stay together */
    int n_words;     /* of one set; 0: a chain */
    uint64_t *set;   /* of state j: set[j * n_words], bit i is layer i */
    int *through;    /* chain: the last layer of each state */
    uint64_t *below; /* row j, n_below words: bit k, state k is within j; NULL: a chain */
    int n_below;
};

/* All antichain states if there are at most max_antichains, else prefixes, at most
 * max_prefixes. The last state holds all layers. */
struct cut_states *hp_cut_states(struct arena *arena, const struct pipeline_layers *layers,
                                 int max_antichains, int max_prefixes);

/* Is layer `i` in state `j`? None is in state -1. */
bool hp_state_has(const struct cut_states *states, int j, int i);

/* The layers of state `last` that are not in state `after`, which is within it, in order: fills
 * layer[]; returns how many. */
int hp_stage_layers(const struct cut_states *states, int after, int last, int *layer);

/* Is state k within state j > k? State -1 is within all. */
static inline bool hp_state_within(const struct cut_states *s, int k, int j)
{
    return k < 0 || !s->below ||
           (s->below[(size_t)j * (size_t)s->n_below + (size_t)k / 64] >> (k % 64) & 1);
}

#endif /* SEARCH_PIPELINE_STATES_H */
