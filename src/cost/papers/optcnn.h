/* cost/papers/optcnn.h - OptCNN's cost model (Jia et al., ICML 2018). Internal.
 *
 * t_O = sum over layers (t_C + t_S) + sum over edges t_X                          (Eq. 1)
 *
 * t_C: forward and backward time of a layer in a configuration; here the time of its largest
 * part on its device, by roofline or as measured. t_X: moving the tensor of an edge between the
 * configurations of its ends, forward and back (cost/papers/transfer.h). t_S: summing the
 * gradients of a parameter over its replicas and returning the updated parameter.
 *
 * Beyond the paper, whose layers write no partial sums: where a split leaves partial results of
 * an output or a statistic (a summed axis, batch norm's samples), t_X includes combining
 * them. */
#ifndef COST_PAPERS_OPTCNN_H
#define COST_PAPERS_OPTCNN_H

#include <hypar/profile.h>
#include <hypar/search.h>

#include "cost/kernel.h"
#include "cost/papers/transfer.h"
#include "graph/graph.h"

/* Seconds to sum over replicas: the best of fixed_s + bytes * s_per_byte. */
struct sync_cost {
    double fixed_s, s_per_byte;
};
struct sync_costs {
    int n;
    struct sync_cost *cost;
};

struct optcnn_model {
    struct arena *arena;
    const struct hypar_graph *graph;
    struct topology_view *topology;
    enum hypar_precision precision, gradients; /* of tensors; of parameters' gradients */
    const struct hypar_framework *framework;
    enum hypar_sync sync;
    const struct hypar_profile *profile; /* may be NULL */

    struct memo syncs;   /* of struct sync_costs, by placement of replicas */
    struct table groups; /* devices -> index of their all-reduce */
    int n_groups, group_capacity;
    const struct comm_model **group;
};

/* t_C: the longest of the parts, over all needed passes. */
double hp_optcnn_compute_s(const struct optcnn_model *model, int op,
                           const struct placement *placement);

/* t_S of the parameter that is operand `o` of `op`; 0 if nothing is replicated.
 *
 * Parameter server, as in the paper: every replica sends its gradient and gets the parameter
 * back, 2 |w| for each. The server of a parameter is spread evenly over the devices that hold
 * it: one device would have to receive all gradients over one link, which the paper's measured
 * times rule out. So each replica exchanges |w| / r with each of the r - 1 others, twice.
 * All-reduce: the fastest algorithm, in all groups at once. */
double hp_optcnn_sync_s(struct optcnn_model *model, int op, int o,
                        const struct placement *placement);

/* Bytes that t_S moves between devices: 2 (r - 1) |w| of each shard. */
double hp_optcnn_sync_bytes(const struct optcnn_model *model, int op, int o,
                            const struct placement *placement);

/* Combining the partial results of statistics, and of outputs without readers. */
double hp_optcnn_partial_s(struct optcnn_model *model, int op,
                           const struct placement *placement);

/* The tensor of an edge, of one part: as output `o` of its writer, and as input `o` of a
 * reader. */
struct partial_output {
    double elements;
    int copies; /* parts with partial sums of the same elements; 0: none */
    double
        all_reduce_s; /* until all of them have the sum; of this reader, if there are several */
};
struct partial_input {
    double elements;
    bool partial_error; /* its error is a partial sum */
};
struct partial_output hp_optcnn_output(struct optcnn_model *model, int op, int o,
                                       const struct placement *placement);
struct partial_input hp_optcnn_input(const struct optcnn_model *model, int op, int o,
                                     const struct placement *placement);

/* Combining the partial sums for the reader, as part of t_X: a reduce-scatter if the reader's
 * parts read different pieces, an all-reduce if each reads all. The error comes back to all
 * parts of the writer: pieces are gathered, partial sums are summed. */
double hp_optcnn_sum_s(const struct partial_output *from, const struct partial_input *to,
                       bool error_returns);

/* Elements of parameter operand `o` that the first part holds. */
double hp_optcnn_held_elements(const struct optcnn_model *model, int op, int o,
                               const struct placement *placement);

/* How often t_X counts for tensor `t`: forward, and back if it needs a gradient. */
int hp_optcnn_directions(const struct hypar_graph *graph, int t);

/* Numbers moved in a step as the paper's Fig. 8 counts them, which differs from t_X. Each
 * replica of a parameter counts 2 |w|. A tensor between layers of different configurations
 * counts all that every part reads, forward and back, even if it is there already. Between
 * layers of the same configuration nothing counts, even if it moves (one weird trick's
 * fully-connected layers). `split` has a split for each operator of the graph. */
double hp_optcnn_printed_numbers(const struct hypar_graph *graph, const struct split *split);

/* OptCNN's dimensions: 'n' samples, 'k' channels (output features, heads), 'h', 'w', 't'
 * (positions of a sequence) and 'c' (summed axes); '\0': never divided. */
char hp_optcnn_dimension(const struct hypar_axis *axis);

#endif /* COST_PAPERS_OPTCNN_H */
