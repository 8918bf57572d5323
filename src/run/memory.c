/* What the devices of an interpreted program know. */
#include <math.h>

#include "run/interpret_state.h"

bool hp_is_given(const struct interpreter *it, int tensor)
{
    enum tensor_kind kind = it->graph->tensors[tensor].kind;
    return kind == TENSOR_PARAM || kind == TENSOR_INPUT;
}

static size_t place_index(const struct interpreter *it, int device, struct place place,
                          int micro)
{
    bool once =
        hp_is_given(it, place.tensor) || (place.tensor == it->graph->loss && !place.grad);
    size_t row = (size_t)device * (size_t)it->n_micro + (size_t)(once ? 0 : micro);
    return (row * (size_t)it->graph->n_tensors + (size_t)place.tensor) * 2 + place.grad;
}

static void make_unknown(const struct interpreter *it, struct view *view, int tensor)
{
    int64_t n = hp_box_elements(&view->box);
    for (int64_t i = 0; i < n; i++)
        if (it->graph->tensors[tensor].index)
            ((int32_t *)view->data)[i] = INT32_MIN;
        else
            hp_put(view->data, i, NAN, it->real);
}

struct view *hp_held(struct interpreter *it, int device, struct place place, int micro)
{
    struct view *view = &it->held[place_index(it, device, place, micro)];
    if (!view->data) {
        const struct hypar_shape *shape = &it->graph->tensors[place.tensor].shape;
        bool lasts = hp_is_given(it, place.tensor) && !place.grad;
        view->data = NEW(lasts ? &it->arena : &it->scratch, double, hp_shape_elements(shape));
        view->box = hp_shape_box(shape);
        make_unknown(it, view, place.tensor);
    }
    return view;
}

const struct view *hp_interpreter_view(const struct interpreter *it, int device,
                                       struct place place, int micro)
{
    const struct view *view = &it->held[place_index(it, device, place, micro)];
    return view->data ? view : NULL;
}

static bool known(const struct interpreter *it, const struct view *view, int tensor, int64_t i)
{
    if (it->graph->tensors[tensor].index)
        return ((const int32_t *)view->data)[i] != INT32_MIN;
    return !isnan(hp_get(view->data, i, it->real));
}

/* How many elements of `box` are known. */
static int64_t count_known(const struct interpreter *it, const struct view *view, int tensor,
                           const struct box *box)
{
    int64_t index[MAX_DIMS] = { 0 }, n = 0;
    for (int d = 0; d < box->n_dims; d++)
        index[d] = box->dim[d].lo;
    for (int64_t left = hp_box_elements(box); left > 0; left--) {
        int64_t at = 0;
        for (int d = 0; d < box->n_dims; d++)
            at = at * (view->box.dim[d].hi - view->box.dim[d].lo) + index[d];
        n += known(it, view, tensor, at);
        for (int d = box->n_dims - 1; d >= 0 && ++index[d] == box->dim[d].hi; d--)
            index[d] = box->dim[d].lo;
    }
    return n;
}

bool hp_all_known(const struct interpreter *it, const struct view *view, int tensor,
                  const struct box *box)
{
    return count_known(it, view, tensor, box) == hp_box_elements(box);
}

bool hp_none_known(const struct interpreter *it, const struct view *view, int tensor,
                   const struct box *box)
{
    return count_known(it, view, tensor, box) == 0;
}

static void place_for_task(struct interpreter *it, const struct run_data *data, int micro,
                           const struct task *task)
{
    const struct op *op = &it->graph->ops[task->op];
    const struct pass *pass = &op->nest->pass[task->pass];
    struct range range[MAX_AXES];
    hp_micro_ranges(it->graph, task->op, &it->plan->ops[task->op].split, task->part,
                    hp_micro_samples(it->program, micro), range);
    operand_set reads = task->add_after ? pass->reads : pass->reads & ~pass->adds;
    for (int o = 0; o < op->nest->n_inputs; o++) {
        int t = op->tensor[o];
        if (!(reads >> o & 1) || t < 0 || !hp_is_given(it, t))
            continue;
        struct box box = hp_region(op->nest, o, range);
        hp_view_copy(hp_held(it, task->device, (struct place){ t, false }, 0), &data->tensor[t],
                     &box, hp_tensor_element_bytes(it->graph, t, it->real));
    }
}

void hp_place_data(struct interpreter *it, const struct run_data *data)
{
    for (int m = 0; m < it->n_micro; m++) {
        const struct task_list *list = &hp_body_of(it->program, m)->list;
        for (int t = 0; t < list->n_tasks; t++)
            if (list->task[t].kind == TASK_COMPUTE)
                place_for_task(it, data, m, &list->task[t]);
    }
}

void hp_forget_step(struct interpreter *it)
{
    hp_arena_free(&it->scratch);
    it->scratch = (struct arena){ 0 };
    for (int d = 0; d < it->n_devices; d++)
        for (int m = 0; m < it->n_micro; m++)
            for (int t = 0; t < it->graph->n_tensors; t++)
                for (int grad = 0; grad < 2; grad++)
                    if (grad || !hp_is_given(it, t))
                        it->held[place_index(it, d, (struct place){ t, grad }, m)] =
                            (struct view){ 0 };
}
