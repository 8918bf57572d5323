/* model/pipedream/pipedream.h - the text profiles of PipeDream (Narayanan et al., SOSP 2019).
 * Internal.
 *
 * A profile is a graph with measured times, one line for each node and each edge:
 *
 *     node12 -- Conv2d(128, 256) -- forward_compute_time=10.8, backward_compute_time=18.3,
 *         activation_size=411041792.0, parameter_size=1180672.0 -- stage_id=0
 *     <tab>node11 -- node12
 *
 * (the first on one line; the stage may be missing). Times are milliseconds per minibatch,
 * sizes bytes; an activation_size may be a list, "[a; b]", which is summed. */
#ifndef MODEL_PIPEDREAM_PIPEDREAM_H
#define MODEL_PIPEDREAM_PIPEDREAM_H

#include "graph/graph.h"

struct profile_node {
    const char *name, *description;
    double forward_ms, backward_ms;
    double activation_bytes, parameter_bytes;
    int stage; /* -1: not said */
    /* Piper's: ways in which it was measured, in place of times; sizes are of one sample. */
    const struct op_choices *choices;
};

struct profile_edge {
    int from, to; /* nodes */
};

struct text_profile {
    struct arena arena; /* holds everything, the profile itself included */
    int n_nodes, n_edges;
    struct profile_node *node; /* in the order of the file */
    struct profile_edge *edge; /* likewise; each once, no cycle */
};

/* Read a text; `name` stands before messages. On failure *out is NULL: HYPAR_SYNTAX for a line
 * that is none, HYPAR_INVALID for nodes and edges that make no graph. */
enum hypar_status hp_text_profile_read_text(struct text_profile **out, const char *text,
                                            size_t length, const char *name,
                                            struct hypar_error *err);
enum hypar_status hp_text_profile_read_file(struct text_profile **out, const char *path,
                                            struct hypar_error *err);
void hp_text_profile_free(struct text_profile *profile); /* NULL is allowed */

/* Write the form that is read; write errors are left in the stream. */
void hp_text_profile_write(const struct text_profile *profile, FILE *to);

/* The nodes in an order that follows the edges and goes deep before wide, so that few branches
 * are open at a time: fills order[n_nodes]. Returns how many there are; less than n_nodes: the
 * others lie on or behind a cycle. */
int hp_text_profile_order(const struct text_profile *profile, int *order);

/* The graph of a profile: one opaque operator with measured times for each node, but inputs for
 * sources called "Input..." and nothing for sinks called "__getitem__...", as the published
 * optimizer does. `batch` is the size of the measured minibatch. */
enum hypar_status hp_text_profile_graph(struct hypar_graph **out,
                                        const struct text_profile *profile, const char *name,
                                        int64_t batch, struct hypar_error *err);

/* The profile of a graph: a node for each operator and each input that one reads. `measure` has
 * what each operator takes; NULL: what the graph says. HYPAR_UNSUPPORTED if that is nothing, or
 * a name does not fit into the form. */
enum hypar_status hp_text_profile_of_graph(struct text_profile **out,
                                           const struct hypar_graph *graph,
                                           const struct op_measure *measure,
                                           struct hypar_error *err);

#endif /* MODEL_PIPEDREAM_PIPEDREAM_H */
