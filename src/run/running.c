/* Running statistics of batch norm: how a forward pass moves them, and their names in files. */
#include "run/running.h"

#include <string.h>

#include "run/data.h"

static const double MOMENTUM = 0.1; /* weight of the new value */

int hp_running_operand(const struct hypar_graph *graph, const struct op *op, int pass)
{
    const struct nest *nest = op->nest;
    for (int o = nest->n_inputs; o < nest->n_operands && !nest->pass[pass].backward; o++)
        if (nest->pass[pass].reads >> o & 1 && hp_is_running(graph, op->tensor[o]))
            return o;
    return -1;
}

/* The index of element (channel, i) of an array of pairs. */
static int64_t pair_at(const struct view *view, int64_t channel, int i)
{
    return (channel - view->box.dim[0].lo) * view->stride[0] +
           (i - view->box.dim[1].lo) * view->stride[1];
}

double hp_running_numbers(const struct kernel_call *call, int operand)
{
    const struct nest *nest = call->nest;
    axis_set over = nest->operand[0].axes & ~nest->operand[operand].axes;
    double n = 1;
    for (int a = 0; a < nest->n_axes; a++)
        if (over >> a & 1)
            n *= nest->axis[a].role == HYPAR_SAMPLE
                     ? (double)(call->samples.hi - call->samples.lo)
                     : (double)nest->axis[a].extent;
    return n;
}

static void move(const struct view *running, int64_t at, double towards, enum real real)
{
    double old = hp_get(running->data, at, real);
    hp_put(running->data, at, (1 - MOMENTUM) * old + MOMENTUM * towards, real);
}

void hp_move_running(const struct kernel_call *call, int operand, const struct view *running)
{
    const struct view *sums = &call->value[operand];
    struct box box = hp_region(call->nest, operand, call->range);
    double n = hp_running_numbers(call, operand);
    for (int64_t c = box.dim[0].lo; c < box.dim[0].hi; c++) {
        double mean = hp_get(sums->data, pair_at(sums, c, 0), call->real) / n;
        double square = hp_get(sums->data, pair_at(sums, c, 1), call->real) / n;
        double variance = square > mean * mean ? square - mean * mean : 0;
        move(running, pair_at(running, c, RUNNING_MEAN), mean, call->real);
        move(running, pair_at(running, c, RUNNING_VARIANCE),
             n > 1 ? variance * n / (n - 1) : variance, call->real);
    }
}

void hp_first_running(const struct view *running, enum real real)
{
    for (int64_t c = running->box.dim[0].lo; c < running->box.dim[0].hi; c++)
        for (int i = (int)running->box.dim[1].lo; i < running->box.dim[1].hi; i++)
            hp_put(running->data, pair_at(running, c, i), i == RUNNING_VARIANCE, real);
}

/* The name of an operator's weights that no earlier operator of its kind uses, so that a name
 * derived from it is unique; NULL: there is none. */
static const char *own_weights(const struct hypar_graph *graph, const struct op *op)
{
    for (int o = 1; o < op->nest->n_inputs; o++) {
        int t = op->tensor[o];
        if (t < 0 || !strrchr(graph->tensors[t].name, '.'))
            continue;
        for (int u = graph->use_start[t]; u < graph->use_start[t + 1]; u++)
            if (graph->ops[graph->use[u].op].kind == op->kind)
                return &graph->ops[graph->use[u].op] == op ? graph->tensors[t].name : NULL;
    }
    return NULL;
}

const char *hp_running_name(struct arena *arena, const struct hypar_graph *graph, int tensor,
                            int which)
{
    const struct op *op = &graph->ops[graph->tensors[tensor].producer];
    const char *weights = own_weights(graph, op), *name = weights ? weights : op->name;
    size_t length = weights ? (size_t)(strrchr(weights, '.') - weights) : strlen(name);
    return hp_arena_printf(arena, "%.*s.running_%s", (int)length, name,
                           which == RUNNING_MEAN ? "mean" : "var");
}
