/* run/data/inputs.h - the inputs of a model and their roles. Internal to run/data. */
#ifndef RUN_DATA_INPUTS_H
#define RUN_DATA_INPUTS_H

#include "graph/graph.h"

enum input_role {
    ROLE_NUMBERS, /* images, features */
    ROLE_IDS,     /* integers that are looked up */
    ROLE_LABELS,  /* integers that the loss compares with */
    ROLE_TARGET,  /* numbers that the loss compares with */
};

/* Does an operator read the input, and does it have samples? */
bool hp_is_data_input(const struct hypar_graph *graph, int tensor);

enum input_role hp_input_role(const struct hypar_graph *graph, int tensor);

/* The shape of one sample: without the dimension of the samples, if there is one. */
struct hypar_shape hp_sample_shape(const struct hypar_graph *graph, int tensor);

/* The input of this name, or -1; the first input with a role at or after `from`, or -1. */
int hp_find_input(const struct hypar_graph *graph, const char *name, size_t length);
int hp_next_input(const struct hypar_graph *graph, enum input_role role, int from);

#endif /* RUN_DATA_INPUTS_H */
