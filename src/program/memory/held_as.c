/* Finds tensors that are another tensor under a second name: the same elements in the same
 * order. */
#include "program/memory/held_as.h"

#include "program/lowering.h"

bool hp_place_lasts(const struct hypar_graph *g, bool forward, struct place place)
{
    const struct tensor *t = &g->tensors[place.tensor];
    if (place.again)
        return false;
    return t->kind == TENSOR_PARAM || (forward && hp_is_running(g, place.tensor)) ||
           place.tensor == g->loss || (t->kind == TENSOR_INPUT && t->sample_dim < 0);
}

/* The number of operators that add to the gradient of a tensor. */
static int gradient_writers(const struct hypar_graph *g, int tensor)
{
    int n = 0;
    for (int u = g->use_start[tensor]; u < g->use_start[tensor + 1]; u++)
        n += hp_op_trained(g, &g->ops[g->use[u].op]);
    return n;
}

/* Is an output of the operator a part of its input, which PyTorch keeps all of? */
static bool takes_part(const struct op *op)
{
    return op->kind == OP_SLICE || op->kind == OP_SPLIT;
}

/* Does a view have another precision than its input? */
static bool is_cast(const struct hypar_plan *plan, const struct op *op)
{
    return hp_held_bytes(plan, (struct place){ .tensor = op->tensor[0] }) !=
           hp_held_bytes(plan, (struct place){ .tensor = op->tensor[1] });
}

/* A cast to another precision has elements of its own. What lasts stays by itself: a view of it
 * is of one micro-batch. A gradient that others add to is not the one that the view's reader
 * settled. What is computed again of a kept value is held apart from it. */
static bool may_be_input(const struct lowering *s, int i, int kind, enum views views)
{
    const struct hypar_graph *g = s->graph;
    const struct op *op = &g->ops[i];
    bool part = views == VIEWS_AND_SLICES && kind != PLACE_GRADIENT && takes_part(op);
    if (!(hp_is_view(op->nest) || part) || is_cast(s->plan, op) ||
        hp_place_lasts(g, false, (struct place){ .tensor = op->tensor[0] }))
        return false;
    if (kind == PLACE_AGAIN)
        return s->plan->ops[i].recompute && hp_reads_again(s, i, op->tensor[0]);
    return kind == PLACE_VALUE || gradient_writers(g, op->tensor[0]) == 1;
}

/* By tensor: its value, or gradient, is sent between devices. */
static bool *find_moved(const struct lowering *s, int kind, struct arena *arena)
{
    const struct training_graph *k = &s->training;
    bool *moved = NEW(arena, bool, s->graph->n_tensors);
    for (int b = 0; b < s->n_bodies; b++)
        for (int e = 0; e < k->n_exchanges; e++)
            if (hp_place_kind(k->exchange[e].place) == kind)
                moved[k->exchange[e].place.tensor] |= hp_exchange_pattern(s, b, e)->n_comms > 0;
    return moved;
}

/* Of tensors that are one, at most one is sent: else what is received of one might lie where
 * another is still being sent from. */
struct held_as hp_held_as(const struct lowering *s, enum views views, struct arena *arena)
{
    const struct hypar_graph *g = s->graph;
    struct held_as held = { .shard = s->training.shard };
    for (int kind = 0; kind < HP_PLACES; kind++) {
        int *tensor = held.tensor[kind] = NEW(arena, int, g->n_tensors);
        int *next = held.next[kind] = NEW(arena, int, g->n_tensors);
        int *last = NEW(arena, int, g->n_tensors); /* by tensor: held as it */
        bool *moved = find_moved(s, kind, arena);  /* ... or one that is held as it */
        for (int t = 0; t < g->n_tensors; t++) {
            tensor[t] = last[t] = t;
            next[t] = -1;
        }
        for (int i = 0; views != VIEWS_APART && i < g->n_ops; i++) {
            if (!may_be_input(s, i, kind, views))
                continue;
            int first = tensor[g->ops[i].tensor[0]];
            for (int o = 1; o < g->ops[i].nest->n_operands; o++) {
                int name = g->ops[i].tensor[o];
                if ((moved[name] && moved[first]) ||
                    (kind == PLACE_AGAIN && !s->training.has_again[name]))
                    continue;
                tensor[name] = first;
                moved[first] |= moved[name];
                next[last[first]] = name;
                last[first] = name;
            }
        }
    }
    return held;
}

/* The use of a tensor, by an operator before operator `before`, that is the last one; -1. */
static int last_use(const struct hypar_graph *g, int tensor, int before)
{
    int last = -1;
    for (int u = g->use_start[tensor]; u < g->use_start[tensor + 1]; u++) {
        int op = g->use[u].op;
        if (op < before && hp_op_trained(g, &g->ops[op]) && (last < 0 || op > g->use[last].op))
            last = u;
    }
    return last;
}

int hp_second_error(const struct hypar_graph *g, int tensor)
{
    int last = last_use(g, tensor, g->n_ops);
    return last < 0 ? -1 : last_use(g, tensor, g->use[last].op);
}

/* A tensor that is held as another one has its error there. */
int hp_handed_by(const struct hypar_graph *g, const struct held_as *held, int tensor)
{
    const struct tensor *t = &g->tensors[tensor];
    int last = last_use(g, tensor, g->n_ops);
    if (last < 0 || t->producer < 0 || !t->needs_grad || tensor == g->loss ||
        held->tensor[PLACE_GRADIENT][tensor] != tensor)
        return -1;
    const struct op *op = &g->ops[g->use[last].op];
    if (op->kind != OP_ADD || op->tensor[0] == op->tensor[1])
        return -1;
    const struct hypar_shape *sum = &g->tensors[op->tensor[2]].shape;
    bool whole = t->shape.n_dims == sum->n_dims && /* not repeated along a dimension */
                 hp_shape_elements(&t->shape) == hp_shape_elements(sum);
    return whole ? g->use[last].op : -1;
}

/* The loops that an output's range covers; of a product, from its first to its last. An output
 * of a split begins at some index of its loop. */
static void unfold(const struct nest *nest, const struct dim_map *map, struct range r,
                   struct range range[MAX_AXES])
{
    int64_t inner = 1;
    r = (struct range){ r.lo + map->pad, r.hi + map->pad };
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

/* The loops of a view around those that a box of its operand `o` covers. */
static void view_loops(const struct nest *nest, int o, const struct box *output,
                       struct range range[MAX_AXES])
{
    hp_whole_ranges(nest, range);
    for (int d = 0; d < output->n_dims; d++)
        unfold(nest, &nest->operand[o].dim[d], output->dim[d], range);
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
    while (held->tensor[hp_place_kind(place)][tensor] != tensor && !hp_box_empty(&box)) {
        const struct op *op = &g->ops[g->tensors[tensor].producer];
        struct range range[MAX_AXES];
        int o = 1;
        while (op->tensor[o] != tensor)
            o++;
        view_loops(op->nest, o, &box, range);
        widen(op->nest, range);
        box = hp_region(op->nest, 0, range);
        tensor = op->tensor[0];
    }
    return box;
}
