/* search/pipeline/states.h - finds where a graph may be cut into pipeline stages. Internal.
 *
 * A state is a set of layers that is closed under predecessors: an antichain of the graph and
 * all its ancestors (PipeDream's optimizer). If there are too many such sets, the states are
 * the prefixes of the layers' order. */
#ifndef SEARCH_PIPELINE_STATES_H
#define SEARCH_PIPELINE_STATES_H

#include "base/arena.h"
#include "cost/papers/pipeline.h"

/* The layers of a pipeline: one for each operator, in topological order. */
struct pipeline_layers {
    int n;
    double *forward_s, *backward_s; /* of one minibatch on one worker */
    double *weight_bytes, *output_bytes, *fixed_bytes;
    /* Readers of layer i: after[after_start[i]] .. after[after_start[i + 1] - 1], each once. */
    int *after_start, *after;
    const int *together; /* layers with the same number >= 0 stay together; NULL: any layers may
                          * be parted */
    bool every; /* every set closed under predecessors is a state, not only the ancestors of an
                 * antichain, which include layer 0 */
    const bool *borders; /* borders[i]: a stage may begin with layer i, and stages are runs of
                          * layers; NULL: anywhere */
};

struct cut_states {
    struct pipeline_states cost; /* in order of time; a state comes after its subsets */
    int n;
    bool chain;      /* prefixes of one order: each state is a subset of the next */
    bool all;        /* all antichains are states */
    int n_skipped;   /* prefixes left out because there are too many */
    int n_parted;    /* prefixes left out because they part layers that stay together */
    int n_words;     /* of one set; 0: a chain */
    uint64_t *set;   /* state j is set[j * n_words]; bit i is layer i */
    int *through;    /* chain: the last layer of each state */
    uint64_t *below; /* row j, n_below words: bit k says that state k is a subset of j; NULL: a
                      * chain */
    int n_below;
};

/* All antichain states if there are at most max_antichains; else prefixes, at most
 * max_prefixes. The last state has all layers. */
struct cut_states *hp_cut_states(struct arena *arena, const struct pipeline_layers *layers,
                                 int max_antichains, int max_prefixes);

/* Is layer `i` in state `j`? State -1 is empty. */
bool hp_state_has(const struct cut_states *states, int j, int i);

/* List the layers of state `last` that are not in its subset `after`, in order: fills layer[];
 * returns their number. */
int hp_stage_layers(const struct cut_states *states, int after, int last, int *layer);

/* Is state k a subset of state j > k? State -1 is a subset of all. */
static inline bool hp_state_within(const struct cut_states *s, int k, int j)
{
    return k < 0 || !s->below ||
           (s->below[(size_t)j * (size_t)s->n_below + (size_t)k / 64] >> (k % 64) & 1);
}

#endif /* SEARCH_PIPELINE_STATES_H */
