/* Whole tensors as dense arrays; copying boxes between views. */
#include "run/data.h"

#include <string.h>

struct box hp_shape_box(const struct hypar_shape *shape)
{
    struct box box = { .n_dims = shape->n_dims };
    for (int d = 0; d < shape->n_dims; d++)
        box.dim[d] = (struct range){ 0, shape->dim[d] };
    return box;
}

size_t hp_tensor_element_bytes(const struct hypar_graph *graph, int t, enum real real)
{
    return graph->tensors[t].index ? sizeof(int32_t) : hp_real_bytes(real);
}

int64_t hp_integers_below(const struct hypar_graph *graph, int t)
{
    int64_t below = INT32_MAX;
    for (int u = graph->use_start[t]; u < graph->use_start[t + 1]; u++) {
        const struct nest *nest = graph->ops[graph->use[u].op].nest;
        const struct attr *along =
            hp_attr_get(nest->attrs, ATTR_AXIS); /* of the first operand */
        int axis = along ? -1 : hp_nest_axis(nest, nest->kind == OP_EMBEDDING ? 'v' : 'c');
        int64_t own = along       ? nest->operand[0].size[(int)along->v[0]]
                      : axis >= 0 ? nest->axis[axis].extent
                                  : below;
        below = own < below ? own : below;
    }
    return below;
}

void hp_convert(void *to, enum real to_real, const void *from, enum real from_real, int64_t n)
{
    if (hp_real_bytes(to_real) > hp_real_bytes(from_real))
        for (int64_t i = n - 1; i >= 0; i--)
            hp_put(to, i, hp_get(from, i, from_real), to_real);
    else
        for (int64_t i = 0; i < n; i++)
            hp_put(to, i, hp_get(from, i, from_real), to_real);
}

/* n elements, `to_step` and `from_step` elements apart. */
static void copy_row(char *to, int64_t to_step, const char *from, int64_t from_step, int64_t n,
                     size_t bytes)
{
    if (to_step == 1 && from_step == 1) {
        memcpy(to, from, (size_t)n * bytes);
        return;
    }
    for (int64_t i = 0; i < n; i++)
        memcpy(to + i * to_step * (int64_t)bytes, from + i * from_step * (int64_t)bytes, bytes);
}

void hp_view_copy(const struct view *to, const struct view *from, const struct box *box,
                  size_t element_bytes)
{
    int last = box->n_dims - 1;
    int64_t index[MAX_DIMS] = { 0 }, bytes = (int64_t)element_bytes;
    if (hp_box_empty(box))
        return;
    for (int d = 0; d < box->n_dims; d++)
        index[d] = box->dim[d].lo;
    int64_t run = last < 0 ? 1 : box->dim[last].hi - box->dim[last].lo;
    int64_t to_step = last < 0 ? 1 : to->stride[last];
    int64_t from_step = last < 0 ? 1 : from->stride[last];
    char *t = (char *)to->data + hp_view_offset(to, index) * bytes;
    const char *f = (const char *)from->data + hp_view_offset(from, index) * bytes;
    for (;;) {
        int d = last - 1;
        copy_row(t, to_step, f, from_step, run, element_bytes);
        for (; d >= 0; d--) {
            int64_t back = ++index[d] < box->dim[d].hi ? 0 : index[d] - box->dim[d].lo;
            t += (1 - back) * to->stride[d] * bytes;
            f += (1 - back) * from->stride[d] * bytes;
            if (!back)
                break;
            index[d] = box->dim[d].lo;
        }
        if (d < 0)
            return;
    }
}
