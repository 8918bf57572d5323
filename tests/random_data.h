/* Random parameters and inputs of a graph. */
#ifndef TESTS_RANDOM_DATA_H
#define TESTS_RANDOM_DATA_H

#include "run/data.h"

/* Random values for every parameter, model input and running statistic: numbers between -1 and
 * 1, integers that every reader accepts (vocabulary, classes). The same seed gives the same
 * numbers. */
struct run_data random_data(struct arena *arena, const struct hypar_graph *graph,
                            enum real real, uint64_t seed);

#endif /* TESTS_RANDOM_DATA_H */
