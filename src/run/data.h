/* run/data.h - whole tensors as dense arrays: the start of a training step. Internal.
 *
 * Parameters and model inputs before anything is split: dense arrays over the whole tensor, of
 * one precision; integers (ids, labels) are int32_t. */
#ifndef RUN_DATA_H
#define RUN_DATA_H

#include "base/float_bits.h"
#include "graph/graph.h"
#include "kernel/kernel.h"

/* Views of whole tensors. data is NULL for tensors that operators write, except the running
 * statistics of batch norm, which may be given. */
struct run_data {
    enum real real;
    const struct view *tensor; /* by number */
};

/* The box of a whole shape. */
struct box hp_shape_box(const struct hypar_shape *shape);

/* Bytes of one element of tensor `t`. */
size_t hp_tensor_element_bytes(const struct hypar_graph *graph, int t, enum real real);

/* Every reader of `t` accepts integers below this number: vocabulary, classes. */
int64_t hp_integers_below(const struct hypar_graph *graph, int t);

/* Copy the elements of `box` from one view to another; both contain it. */
void hp_view_copy(const struct view *to, const struct view *from, const struct box *box,
                  size_t element_bytes);

/* Element i of an array of one precision. */
static inline double hp_get(const void *data, int64_t i, enum real real)
{
    if (real == REAL_BF16)
        return hp_bf16_number(((const uint16_t *)data)[i]);
    return real == REAL_F32 ? (double)((const float *)data)[i] : ((const double *)data)[i];
}

static inline void hp_put(void *data, int64_t i, double value, enum real real)
{
    if (real == REAL_BF16)
        ((uint16_t *)data)[i] = hp_bf16_bits((float)value);
    else if (real == REAL_F32)
        ((float *)data)[i] = (float)value;
    else
        ((double *)data)[i] = value;
}

/* Convert n numbers; `to` and `from` may be the same address. */
void hp_convert(void *to, enum real to_real, const void *from, enum real from_real, int64_t n);

#endif /* RUN_DATA_H */
