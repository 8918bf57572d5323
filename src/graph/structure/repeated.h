/* graph/structure/repeated.h - finds repetitions in a sequence, and the layers that a network
 * repeats (blocks of a transformer). Internal. */
#ifndef GRAPH_STRUCTURE_REPEATED_H
#define GRAPH_STRUCTURE_REPEATED_H

#include "graph/graph.h"

/* Members first .. first + count * period - 1: the same `period` members, `count` times. */
struct run {
    int first, period;
    int count; /* 1: members without repetition */
};

/* All of token[0..n-1] as runs, in order: first the run that covers most, then the same for the
 * parts before and after it. If a run could begin at several members, it begins where the
 * beginning of its second period has the least border[0..n]; NULL: at the first. In sequences
 * with very many distances between equal members, only some distances are tried. */
struct run *hp_find_runs(struct arena *arena, const int *token, int n, const int64_t *border,
                         int *n_runs);

/* The run of token[0..n-1] that covers most, of several the one with the shortest period;
 * count 0: nothing is repeated. */
struct run hp_best_run(const int *token, int n, const int64_t *border);

/* Layer i is operators first + i * n_ops .. first + (i + 1) * n_ops - 1. */
struct repeated_layers {
    int first, n_ops;
    int count; /* 0: nothing is repeated */
};

/* The longest run of operators that repeats one sequence: same kinds, attributes and shapes. If
 * it could begin at several operators, it begins where the fewest elements pass from layer to
 * layer. */
struct repeated_layers hp_repeated_layers(const struct hypar_graph *graph);

/* If stages may begin only at some operators (`borders`; NULL: at any): the least number of
 * operators by which layers have to be moved so that all but the first begin there; false:
 * there is none. */
bool hp_layers_at_borders(const struct repeated_layers *layers, const bool *borders,
                          int *moved);

/* By position i = 0..n_ops: the activations that operators before i write and operators from i
 * on read; their number, or the elements of all of them. */
int64_t *hp_crossing(struct arena *arena, const struct hypar_graph *graph, bool elements);

#endif /* GRAPH_STRUCTURE_REPEATED_H */
