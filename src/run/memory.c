/* What the devices of an interpreted program know. */
#include <math.h>

#include "run/interpret_state.h"

bool hp_is_given(const struct interpreter *it, int tensor)
{
    enum tensor_kind kind = it->graph->tensors[tensor].kind;
    return kind == TENSOR_PARAM || kind == TENSOR_INPUT;
}

static size_t place_index(const struct interpreter *it, int device, struct place place, int row)
{
    size_t at = (size_t)device * (size_t)it->n_rows + (size_t)row;
    return (at * (size_t)it->graph->n_tensors + (size_t)place.tensor) * 2 + place.grad;
}

static bool is_param(const struct interpreter *it, int tensor)
{
    return it->graph->tensors[tensor].kind == TENSOR_PARAM;
}

static int stage_of(const struct interpreter *it, int op)
{
    return it->program->schedule->stage_of_op[op];
}

/* The version of a parameter that a pass uses; one that is not trained has no other. */
static int version_used(const struct interpreter *it, int tensor, const struct pass_at *pass)
{
    return it->exchange_of_tail[2 * tensor + 1] < 0
               ? 0
               : hp_version_used(it->program->iteration, stage_of(it, pass->op), pass->at.micro,
                                 it->program->task[pass->at.task].backward);
}

int hp_row(const struct interpreter *it, struct place place, const struct pass_at *pass)
{
    if (place.grad || !hp_is_given(it, place.tensor))
        return pass->at.micro;
    if (!is_param(it, place.tensor)) /* a synchronous batch is there as a whole */
        return it->program->iteration->delayed ? pass->at.micro : 0;
    return version_used(it, place.tensor, pass) % it->kept[stage_of(it, pass->op)];
}

static int *version_at(const struct interpreter *it, int device, int tensor, int row)
{
    return &it->version[(device * it->n_rows + row) * it->graph->n_tensors + tensor];
}

enum hypar_status hp_check_version(const struct interpreter *it, const struct pass_at *pass,
                                   int tensor)
{
    int wanted = version_used(it, tensor, pass);
    int row = hp_row(it, (struct place){ tensor, false }, pass);
    int has = *version_at(it, pass->device, tensor, row);
    char text[128];
    if (has == wanted)
        return HYPAR_OK;
    return hp_fail(it->err, HYPAR_RUNTIME, "%s wants version %d of '%s', device %d has %d",
                   hp_instance_text(it, pass->at, text, sizeof text), wanted,
                   it->graph->tensors[tensor].name, pass->device, has);
}

struct view *hp_new_version(struct interpreter *it, int device, int tensor, int version)
{
    struct place place = { tensor, false };
    int kept = it->kept[stage_of(it, it->graph->use[it->graph->use_start[tensor]].op)];
    struct view *old = hp_held(it, device, place, (version - 1) % kept);
    struct view *new = hp_held(it, device, place, version % kept);
    if (new != old)
        hp_view_copy(new, old, &new->box, hp_real_bytes(it->real));
    *version_at(it, device, tensor, version % kept) = version;
    return new;
}

void hp_first_versions(struct interpreter *it)
{
    const struct hypar_graph *g = it->graph;
    for (int i = 0; i < it->n_devices * g->n_tensors; i++) {
        int device = i / g->n_tensors, tensor = i % g->n_tensors, newest = 0;
        if (!is_param(it, tensor) ||
            !hp_interpreter_view(it, device, (struct place){ tensor, false }, 0))
            continue;
        for (int row = 0; row < it->n_rows; row++)
            if (*version_at(it, device, tensor, row) > *version_at(it, device, tensor, newest))
                newest = row;
        struct view *first =
            &it->held[place_index(it, device, (struct place){ tensor, false }, 0)];
        struct view *last =
            &it->held[place_index(it, device, (struct place){ tensor, false }, newest)];
        struct view swap = *first;
        *first = *last;
        *last = swap;
        for (int row = 0; row < it->n_rows; row++)
            *version_at(it, device, tensor, row) = row ? -1 : 0;
    }
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

struct view *hp_held(struct interpreter *it, int device, struct place place, int row)
{
    struct view *view = &it->held[place_index(it, device, place, row)];
    if (!view->data) {
        const struct hypar_shape *shape = &it->graph->tensors[place.tensor].shape;
        bool lasts = hp_is_given(it, place.tensor) && !place.grad;
        struct box box = hp_shape_box(shape);
        *view = hp_dense_view(
            NEW(lasts ? &it->arena : &it->scratch, double, hp_shape_elements(shape)), &box);
        make_unknown(it, view, place.tensor);
    }
    return view;
}

const struct view *hp_interpreter_view(const struct interpreter *it, int device,
                                       struct place place, int micro)
{
    bool once = hp_is_given(it, place.tensor) && !place.grad &&
                (is_param(it, place.tensor) || !it->program->iteration->delayed);
    const struct view *view = &it->held[place_index(it, device, place, once ? 0 : micro)];
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
            at += index[d] * view->stride[d];
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

/* Where a model input or a parameter comes from. */
static const struct view *origin(const struct interpreter *it, const struct run_data *data,
                                 int tensor, int micro)
{
    const struct interpret_settings *s = &it->settings;
    bool own = s->batch && it->program->iteration->delayed && !is_param(it, tensor);
    return own ? &s->batch[micro % s->n_batches].tensor[tensor] : &data->tensor[tensor];
}

static void place_for_pass(struct interpreter *it, const struct run_data *data, int micro,
                           const struct op_pass *op_pass, int part)
{
    const struct part_layout *layout =
        it->program->lowering->body[hp_body_number(it->program->iteration, micro)]
            .layout[op_pass->op];
    const struct op *op = &it->graph->ops[op_pass->op];
    const struct pass *pass = &op->nest->pass[op_pass->pass];
    struct range range[MAX_AXES];
    hp_micro_ranges(it->graph, op_pass->op, &it->plan->ops[op_pass->op].split, part,
                    hp_micro_samples(it->program, micro), range);
    operand_set reads =
        hp_adds_after(layout, op_pass->pass, part) ? pass->reads : pass->reads & ~pass->adds;
    for (int o = 0; o < op->nest->n_inputs; o++) {
        int t = op->tensor[o];
        if (!(reads >> o & 1) || t < 0 || !hp_is_given(it, t))
            continue;
        struct box box = hp_region(op->nest, o, range);
        int row = it->program->iteration->delayed && !is_param(it, t) ? micro : 0;
        hp_view_copy(hp_held(it, layout->device[part], (struct place){ t, false }, row),
                     origin(it, data, t, micro), &box,
                     hp_tensor_element_bytes(it->graph, t, it->real));
    }
}

void hp_place_data(struct interpreter *it, const struct run_data *data)
{
    for (int i = 0; i < it->n_devices * it->n_rows * it->graph->n_tensors; i++)
        it->version[i] = i / it->graph->n_tensors % it->n_rows ? -1 : 0;
    for (int m = 0; m < it->n_micro; m++) {
        const struct pass_order *order =
            &it->body[hp_body_number(it->program->iteration, m)].order;
        for (int i = 0; i < order->n; i++)
            place_for_pass(it, data, m,
                           &it->program->lowering->training.op_pass[order->at[i].op_pass],
                           order->at[i].part);
    }
}

void hp_forget_step(struct interpreter *it)
{
    hp_arena_free(&it->scratch);
    it->scratch = (struct arena){ 0 };
    for (int d = 0; d < it->n_devices; d++)
        for (int row = 0; row < it->n_rows; row++)
            for (int t = 0; t < it->graph->n_tensors; t++)
                for (int grad = 0; grad < 2; grad++)
                    if (grad || !hp_is_given(it, t))
                        it->held[place_index(it, d, (struct place){ t, grad }, row)] =
                            (struct view){ 0 };
}
