/* Whole tensors as dense arrays: random data for tests, and copying boxes between views. */
#include "run/data.h"

#include <string.h>

#include "base/random.h"

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

static void fill(const struct hypar_graph *graph, int t, void *data, enum real real,
                 uint64_t seed)
{
    struct random random = { seed ^ (uint64_t)t * 0x9e3779b97f4a7c15u };
    int64_t n = hp_shape_elements(&graph->tensors[t].shape);
    if (graph->tensors[t].kind == TENSOR_STAT) { /* pairs of a mean and a variance */
        for (int64_t i = 0; i < n; i++)
            hp_put(data, i, i % 2 ? 0.5 + hp_random_unit(&random) : hp_random_unit(&random),
                   real);
        return;
    }
    if (graph->tensors[t].index) {
        int64_t below = hp_integers_below(graph, t);
        for (int64_t i = 0; i < n; i++)
            ((int32_t *)data)[i] = (int32_t)hp_random_below(&random, below);
        return;
    }
    for (int64_t i = 0; i < n; i++)
        hp_put(data, i, 2 * hp_random_unit(&random) - 1, real);
}

struct run_data hp_random_data(struct arena *arena, const struct hypar_graph *graph,
                               enum real real, uint64_t seed)
{
    struct view *tensor = NEW(arena, struct view, graph->n_tensors);
    for (int t = 0; t < graph->n_tensors; t++) {
        const struct tensor *info = &graph->tensors[t];
        if (info->kind != TENSOR_PARAM && info->kind != TENSOR_INPUT &&
            !hp_is_running(graph, t))
            continue;
        size_t bytes =
            (size_t)hp_shape_elements(&info->shape) * hp_tensor_element_bytes(graph, t, real);
        /* doubles, so that memory is aligned for every precision */
        struct box box = hp_shape_box(&info->shape);
        tensor[t] = hp_dense_view(
            NEW(arena, double, (bytes + sizeof(double) - 1) / sizeof(double)), &box);
        fill(graph, t, tensor[t].data, real, seed);
    }
    return (struct run_data){ real, tensor };
}

/* The offset of the element at `index` in a view. */
static int64_t offset(const struct view *view, const int64_t *index)
{
    int64_t at = 0;
    for (int d = 0; d < view->box.n_dims; d++)
        at += (index[d] - view->box.dim[d].lo) * view->stride[d];
    return at;
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
    char *t = (char *)to->data + offset(to, index) * bytes;
    const char *f = (const char *)from->data + offset(from, index) * bytes;
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
