/* random_graph.h - small random training graphs, for tests that go over all that is possible.
 *
 * Chains, branches that meet again, several readers of one tensor, shared parameters, operators
 * with several outputs, parameters broadcast over samples, tied embeddings; every kind of
 * operator but the opaque one. Extents are 1 to 9, so parts are uneven and sometimes empty. The
 * functions are kept where they can be evaluated: nothing overflows, no logarithm of a negative
 * number. */
#ifndef TESTS_RANDOM_GRAPH_H
#define TESTS_RANDOM_GRAPH_H

#include "base/random.h"
#include "graph/graph.h"

/* A graph that has an operator of kind `focus` (OP_KIND_COUNT: of any) and ends in a loss. The
 * same random state gives the same graph. */
struct hypar_graph *random_graph(struct random *random, enum op_kind focus);

/* A number from lo to hi, both included; true in one of `in` cases. */
static inline int64_t draw(struct random *random, int64_t lo, int64_t hi)
{
    return lo + hp_random_below(random, hi - lo + 1);
}

static inline bool one_in(struct random *random, int64_t in)
{
    return hp_random_below(random, in) == 0;
}

#endif /* TESTS_RANDOM_GRAPH_H */
