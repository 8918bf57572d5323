/* Which arrays a device needs to hold what its tasks read and write. */
#include "program/memory/buffers.h"

#include <assert.h>

/* Names for the same elements ------------------------------------------------------- */

/* How many operators add to the gradient of a tensor. */
static int gradient_writers(const struct hypar_graph *g, int tensor)
{
    int n = 0;
    for (int u = g->use_start[tensor]; u < g->use_start[tensor + 1]; u++)
        n += hp_op_trained(g, &g->ops[g->use[u].op]);
    return n;
}

/* A parameter stays by itself: a view of it that is sent elsewhere is not in its place. A
 * gradient that others add to is not the one that the view's reader settled. */
struct held_as hp_held_as(const struct hypar_graph *g, bool views, struct arena *arena)
{
    struct held_as held;
    for (int grad = 0; grad < 2; grad++) {
        held.tensor[grad] = NEW(arena, int, g->n_tensors);
        for (int t = 0; t < g->n_tensors; t++)
            held.tensor[grad][t] = t;
    }
    for (int i = 0; views && i < g->n_ops; i++) {
        const struct op *op = &g->ops[i];
        if (!hp_is_view(op->nest) || g->tensors[op->tensor[0]].kind == TENSOR_PARAM)
            continue;
        int from = op->tensor[0], to = op->tensor[1];
        held.tensor[0][to] = held.tensor[0][from];
        if (gradient_writers(g, from) == 1)
            held.tensor[1][to] = held.tensor[1][from];
    }
    return held;
}

/* The loops that an output's range covers; of a product, from its first to its last. */
static void unfold(const struct nest *nest, const struct dim_map *map, struct range r,
                   struct range range[MAX_AXES])
{
    int64_t inner = 1;
    for (int f = 1; f < map->n_axes; f++)
        inner *= nest->axis[map->axis[f]].extent;
    for (int f = 0; f < map->n_axes; f++) {
        int64_t first = r.lo / inner, last = (r.hi - 1) / inner;
        range[map->axis[f]] = (struct range){ first, last + 1 };
        if (first != last)
            return; /* all of the factors inside */
        r = (struct range){ r.lo - first * inner, r.hi - first * inner };
        if (f + 1 < map->n_axes)
            inner /= nest->axis[map->axis[f + 1]].extent;
    }
}

void hp_view_loops(const struct nest *nest, const struct box *output,
                   struct range range[MAX_AXES])
{
    hp_whole_ranges(nest, range);
    for (int d = 0; d < output->n_dims; d++)
        unfold(nest, &nest->operand[1].dim[d], output->dim[d], range);
}

/* A dimension that several loops run along: all of those inside one that takes steps, or else
 * the view's elements would not lie at equal distances in the buffer. */
static void widen(const struct nest *nest, struct range range[MAX_AXES])
{
    for (int d = 0; d < nest->operand[0].n_dims; d++) {
        const struct dim_map *map = &nest->operand[0].dim[d];
        bool steps = false;
        for (int f = 0; f < map->n_axes; f++) {
            struct range *r = &range[map->axis[f]];
            if (steps)
                *r = (struct range){ 0, nest->axis[map->axis[f]].extent };
            steps |= r->hi - r->lo > 1;
        }
    }
}

struct box hp_held_box(const struct hypar_graph *g, const struct held_as *held,
                       struct place place, struct box box)
{
    int tensor = place.tensor;
    while (held->tensor[place.grad][tensor] != tensor && !hp_box_empty(&box)) {
        const struct op *op = &g->ops[g->tensors[tensor].producer];
        struct range range[MAX_AXES];
        hp_view_loops(op->nest, &box, range);
        widen(op->nest, range);
        box = hp_region(op->nest, 0, range);
        tensor = op->tensor[0];
    }
    return box;
}

/* Boxes ------------------------------------------------------------------------------ */

/* Disjoint boxes of one place. */
struct boxes {
    struct box *box;
    int n, capacity;
};

static struct box around(const struct box *a, const struct box *b)
{
    struct box out = *a;
    for (int d = 0; d < a->n_dims; d++) {
        out.dim[d].lo = b->dim[d].lo < a->dim[d].lo ? b->dim[d].lo : a->dim[d].lo;
        out.dim[d].hi = b->dim[d].hi > a->dim[d].hi ? b->dim[d].hi : a->dim[d].hi;
    }
    return out;
}

static void add_box(struct boxes *s, struct arena *arena, struct box box)
{
    for (int i = 0; i < s->n; i++) {
        struct box both = hp_box_intersect(&s->box[i], &box);
        if (hp_box_empty(&both))
            continue;
        if (hp_box_contains(&s->box[i], &box))
            return;
        box = around(&box, &s->box[i]); /* which may overlap with others */
        s->box[i] = s->box[--s->n];
        i = -1;
    }
    s->box = GROW(arena, struct box, s->box, s->n, &s->capacity);
    s->box[s->n++] = box;
}

bool hp_place_lasts(const struct hypar_graph *g, bool forward, struct place place)
{
    const struct tensor *t = &g->tensors[place.tensor];
    return t->kind == TENSOR_PARAM || (forward && hp_is_running(g, place.tensor)) ||
           place.tensor == g->loss || (t->kind == TENSOR_INPUT && t->sample_dim < 0);
}

/* Collecting ------------------------------------------------------------------------- */

struct collector {
    const struct hypar_program *program;
    const struct hypar_graph *graph;
    const struct held_as *held;
    int device;
    struct arena *scratch;
    struct boxes *boxes; /* as `start` of struct device_buffers */
};

static void collect(struct collector *c, int body, struct place place, struct box box)
{
    bool lasts = hp_place_lasts(c->graph, c->program->iteration->forward, place);
    int list = lasts ? 0 : 1 + body;
    box = hp_held_box(c->graph, c->held, place, box);
    int tensor = c->held->tensor[place.grad][place.tensor];
    if (!hp_box_empty(&box))
        add_box(&c->boxes[(list * c->graph->n_tensors + tensor) * 2 + place.grad], c->scratch,
                box);
}

/* The box of an operand of a part. A model input without samples may be read along them: its
 * micro-batches read one piece after the other, so it is all of it. */
static struct box box_of(const struct hypar_graph *g, const struct op *op, int o,
                         const struct range *part)
{
    const struct tensor *t = &g->tensors[op->tensor[o]];
    struct range range[MAX_AXES];
    for (int a = 0; a < op->nest->n_axes; a++) {
        bool all = t->kind == TENSOR_INPUT && t->sample_dim < 0 &&
                   op->nest->axis[a].role == HYPAR_SAMPLE && !hp_range_empty(part[a]);
        range[a] = all ? (struct range){ 0, op->nest->axis[a].extent } : part[a];
    }
    return hp_region(op->nest, o, range);
}

static void collect_pass(struct collector *c, int body, const struct op_pass *op_pass, int part)
{
    const struct op *op = &c->graph->ops[op_pass->op];
    const struct part_layout *l = c->program->lowering->body[body].layout[op_pass->op];
    const struct pass *pass = &op->nest->pass[op_pass->pass];
    operand_set values = pass->reads | pass->writes;
    if (!hp_adds_after(l, op_pass->pass, part))
        values &= ~pass->adds;
    for (int o = 0; o < op->nest->n_operands; o++) {
        int t = op->tensor[o];
        operand_set bit = (operand_set)1 << o;
        if (t < 0)
            continue;
        struct box box = box_of(c->graph, op, o, l->range + part * op->nest->n_axes);
        if (values & bit)
            collect(c, body, (struct place){ t, false }, box);
        if (pass->reads & bit && !pass->backward && hp_is_running(c->graph, t))
            add_box(&c->boxes[2 * t], c->scratch, box); /* what training keeps of it */
        if (t == c->graph->loss && !(values & bit))
            continue; /* its gradient is one */
        if ((pass->reads_grad | pass->writes_grad) & bit && c->graph->tensors[t].needs_grad)
            collect(c, body, (struct place){ t, true }, box);
        /* a parameter's gradient lies where the parameter does, to update it */
        if (values & bit && c->graph->tensors[t].kind == TENSOR_PARAM &&
            c->graph->tensors[t].needs_grad && !c->program->iteration->forward)
            collect(c, body, (struct place){ t, true }, box);
    }
}

/* What another program of the plan keeps, of what this one reads: in the same boxes. */
static void collect_like(struct collector *c, const struct device_buffers *like)
{
    for (int t = 0; t < c->graph->n_tensors; t++) {
        struct boxes *boxes = &c->boxes[2 * t];
        const struct buffer *other = &like->buffer[like->start[2 * t]];
        int n = like->start[2 * t + 1] - like->start[2 * t];
        if (boxes->n == 0 || !hp_is_shared(c->graph, &(struct buffer){ .place = { t, false } }))
            continue;
        boxes->n = 0;
        for (int i = 0; i < n; i++) {
            boxes->box = GROW(c->scratch, struct box, boxes->box, boxes->n, &boxes->capacity);
            boxes->box[boxes->n++] = other[i].box;
        }
    }
}

struct device_buffers hp_device_buffers(const struct hypar_program *p, int device, bool views,
                                        const struct device_buffers *like, struct arena *arena)
{
    const struct hypar_graph *g = p->plan->graph;
    struct device_buffers out = { .held = hp_held_as(g, views, arena),
                                  .forward = p->iteration->forward,
                                  .n_bodies = p->n_bodies,
                                  .n_tensors = g->n_tensors };
    struct arena scratch = { 0 };
    int n_lists = (1 + p->n_bodies) * 2 * g->n_tensors;
    struct collector c = { p,      g,        &out.held,
                           device, &scratch, NEW(&scratch, struct boxes, n_lists) };
    for (int b = 0; b < p->n_bodies; b++) {
        struct pass_order order = hp_pass_order(p->blocks, b, &scratch);
        for (int i = 0; i < order.n; i++) {
            const struct op_pass *op_pass = &p->lowering->training.op_pass[order.at[i].op_pass];
            if (p->lowering->body[b].layout[op_pass->op]->device[order.at[i].part] == device)
                collect_pass(&c, b, op_pass, order.at[i].part);
        }
    }
    if (like)
        collect_like(&c, like);
    out.start = NEW(arena, int, n_lists + 1);
    for (int i = 0; i < n_lists; i++)
        out.start[i + 1] = out.start[i] + c.boxes[i].n;
    out.n = out.start[n_lists];
    out.buffer = NEW(arena, struct buffer, out.n);
    out.first = NEW(arena, int, p->n_bodies + 1);
    for (int b = 0; b <= p->n_bodies; b++)
        out.first[b] = out.start[(1 + b) * 2 * g->n_tensors];
    for (int i = 0; i < n_lists; i++)
        for (int k = 0; k < c.boxes[i].n; k++)
            out.buffer[out.start[i] + k] =
                (struct buffer){ { i / 2 % g->n_tensors, i % 2 }, c.boxes[i].box[k] };
    hp_arena_free(&scratch);
    return out;
}

/* Looking up ------------------------------------------------------------------------- */

int hp_find_buffer(const struct device_buffers *buffers, const struct hypar_graph *g, int body,
                   struct place place, const struct box *box)
{
    int list = hp_place_lasts(g, buffers->forward, place) ? 0 : 1 + body;
    struct box held = hp_held_box(g, &buffers->held, place, *box);
    int tensor = buffers->held.tensor[place.grad][place.tensor];
    int at = (list * g->n_tensors + tensor) * 2 + place.grad;
    for (int i = buffers->start[at]; i < buffers->start[at + 1]; i++)
        if (hp_box_contains(&buffers->buffer[i].box, &held))
            return i;
    return -1;
}

int hp_find_running(const struct device_buffers *buffers, int tensor, const struct box *box)
{
    for (int i = buffers->start[2 * tensor]; i < buffers->start[2 * tensor + 1]; i++)
        if (hp_box_contains(&buffers->buffer[i].box, box))
            return i;
    return -1;
}

/* Where one element lies. */
static int64_t address(const struct device_buffers *buffers, const struct hypar_graph *g,
                       int buffer, struct place place, const int64_t *index, int n_dims)
{
    struct box one = { .n_dims = n_dims };
    for (int d = 0; d < n_dims; d++)
        one.dim[d] = (struct range){ index[d], index[d] + 1 };
    one = hp_held_box(g, &buffers->held, place, one);
    const struct box *all = &buffers->buffer[buffer].box;
    int64_t at = 0;
    for (int d = 0; d < all->n_dims; d++)
        at = at * (all->dim[d].hi - all->dim[d].lo) + one.dim[d].lo - all->dim[d].lo;
    return at;
}

struct strides hp_place_in_buffer(const struct device_buffers *buffers,
                                  const struct hypar_graph *g, int buffer, struct place place,
                                  const struct box *box)
{
    int64_t index[MAX_DIMS];
    for (int d = 0; d < box->n_dims; d++)
        index[d] = box->dim[d].lo;
    struct strides out = { .offset = address(buffers, g, buffer, place, index, box->n_dims) };
    int64_t dense = 1;
    for (int d = box->n_dims - 1; d >= 0; d--) {
        int64_t extent = box->dim[d].hi - box->dim[d].lo;
        index[d]++;
        out.stride[d] =
            extent > 1 ? address(buffers, g, buffer, place, index, box->n_dims) - out.offset
                       : dense; /* never taken: as if there were nothing around */
        index[d]--;
        dense = out.stride[d] * extent;
    }
    return out;
}
