/* run/data.h - whole tensors: what a training step starts from. Internal.
 *
 * Parameters and model inputs as they are before anything is split: dense arrays over the whole
 * tensor, of one precision; integers (ids, labels) are int32_t. */
#ifndef RUN_DATA_H
#define RUN_DATA_H

#include "graph/graph.h"
#include "kernel/kernel.h"

/* Views over whole tensors; data is NULL for tensors that operators write, but for the running
 * statistics of batch norm, which may be there. */
struct run_data {
    enum real real;
    const struct view *tensor; /* by number */
};

/* The box of all of a shape. */
struct box hp_shape_box(const struct hypar_shape *shape);

/* Bytes of one element of tensor `t`. */
size_t hp_tensor_element_bytes(const struct hypar_graph *graph, int t, enum real real);

/* The integers that every reader of `t` takes are below this: vocabulary, classes. */
int64_t hp_integers_below(const struct hypar_graph *graph, int t);

/* Random values for every parameter, model input and running statistic: numbers between -1 and
 * 1, integers below what every reader takes (vocabulary, classes). The same seed gives the same
 * numbers. */
struct run_data hp_random_data(struct arena *arena, const struct hypar_graph *graph,
                               enum real real, uint64_t seed);

/* Copy the elements of `box` from one view to another; both contain it. */
void hp_view_copy(const struct view *to, const struct view *from, const struct box *box,
                  size_t element_bytes);

/* Element i of an array of one precision. */
static inline double hp_get(const void *data, int64_t i, enum real real)
{
    return real == REAL_F32 ? (double)((const float *)data)[i] : ((const double *)data)[i];
}

static inline void hp_put(void *data, int64_t i, double value, enum real real)
{
    if (real == REAL_F32)
        ((float *)data)[i] = (float)value;
    else
        ((double *)data)[i] = value;
}

#endif /* RUN_DATA_H */
