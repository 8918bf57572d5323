/* graph/structure/cut_points.h - operators with which a stage of a pipeline may begin.
 * Internal.
 *
 * A network is cut between the layers that it repeats, where these take most of the time.
 * Another network is cut where a single activation passes and a product begins. */
#ifndef GRAPH_STRUCTURE_CUT_POINTS_H
#define GRAPH_STRUCTURE_CUT_POINTS_H

#include "base/arena.h"
#include "graph/structure/repeated.h"

struct cut_points {
    int n;       /* pieces of the network */
    int *first;  /* by piece: its first operator; first[n]: all operators. There is room for as
                    many pieces as operators. */
    bool layers; /* the pieces are repeated layers */
};

struct cut_rule {
    const double *op_s;  /* by operator: about how long it takes */
    const bool *inside;  /* by operator: no stage begins here; NULL: everywhere one may */
    const bool *borders; /* by operator: a stage may begin here; NULL: everywhere */
    bool ends;           /* also before the first layer and after the last one */
    bool anywhere;       /* at every operator where a stage may begin, no layers looked for */
};

struct cut_points hp_cut_points(struct arena *arena, const struct hypar_graph *graph,
                                const struct cut_rule *rule);

#endif /* GRAPH_STRUCTURE_CUT_POINTS_H */
