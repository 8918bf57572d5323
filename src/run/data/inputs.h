/* run/data/inputs.h - what a model is given, and what each input is for. Internal to run/data.
 */
#ifndef RUN_DATA_INPUTS_H
#define RUN_DATA_INPUTS_H

#include "graph/graph.h"

enum input_role {
    ROLE_NUMBERS, /* images, features */
    ROLE_IDS,     /* integers that are looked up */
    ROLE_LABELS,  /* integers that the loss compares with */
    ROLE_TARGET,  /* numbers that the loss compares with */
};

/* Is it read by an operator, and has it samples? */
bool hp_is_data_input(const struct hypar_graph *graph, int tensor);

enum input_role hp_input_role(const struct hypar_graph *graph, int tensor);

/* The shape of one sample: without the dimension of the samples, if it has one. */
struct hypar_shape hp_sample_shape(const struct hypar_graph *graph, int tensor);

/* The input that is called so, or -1; the first of a role at or after `from`, or -1. */
int hp_find_input(const struct hypar_graph *graph, const char *name, size_t length);
int hp_next_input(const struct hypar_graph *graph, enum input_role role, int from);

#endif /* RUN_DATA_INPUTS_H */
