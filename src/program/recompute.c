/* Recomputation: which passes are repeated in the backward half, and when.
 *
 * The value of an operator with "recompute" is not kept for the backward half, except where it
 * entered another stage. Its own stage computes everything else that it reads of the value
 * again, by the operator's forward passes, from the nearest kept values, and sends it again. A
 * pass is repeated only if something needs its output. An operator that reads a repeated value
 * belongs to the region of the operator that repeats it. A region is repeated all at once,
 * before the backward passes of the first operator that needs any of its values.
 *
 * The value of an operator with "resend" is kept where it was computed. Copies that other
 * devices received are dropped and sent again (Korthikanti et al., section 4.2.2: the input of
 * a column-parallel layer under sequence parallelism). */
#include "program/lowering.h"

#include <string.h>

bool hp_reads_again(const struct lowering *s, int op, int tensor)
{
    const int *stage = s->schedule.stage_of_op;
    int producer = s->graph->tensors[tensor].producer;
    if (s->training.shard[tensor] == HYPAR_SHARD_PARAMETERS)
        return true;
    return s->training.has_again[tensor] && stage[op] == stage[producer] &&
           (op != producer || s->plan->ops[op].recompute);
}

/* The first backward pass of an operator that is done; -1: none is. */
static int first_backward(const struct lowering *s, int op)
{
    const struct nest *nest = s->graph->ops[op].nest;
    for (int p = 0; p < nest->n_passes; p++)
        if (nest->pass[p].backward && s->training.passes[op] >> p & 1)
            return p;
    return -1;
}

operand_set hp_values_read(const struct lowering *s, int op, int pass)
{
    const struct op *o = &s->graph->ops[op];
    operand_set reads = o->nest->pass[pass].reads;
    if (s->plan->simulation.framework.kernels != HYPAR_KERNELS_EAGER ||
        pass != first_backward(s, op))
        return reads;
    for (int i = 0; i < o->nest->n_inputs; i++)
        if (o->tensor[i] >= 0 && s->training.shard[o->tensor[i]] == HYPAR_SHARD_PARAMETERS)
            reads |= (operand_set)1 << i;
    return reads;
}

struct pass_operands hp_pass_operands(const struct lowering *s, const struct op_pass *at)
{
    const struct op *op = &s->graph->ops[at->op];
    const struct pass *pass = &op->nest->pass[at->pass];
    operand_set sent = 0;
    for (int o = op->nest->n_inputs; at->resend && o < op->nest->n_operands; o++)
        if (op->tensor[o] >= 0 && s->training.has_again[op->tensor[o]])
            sent |= pass->writes & (operand_set)1 << o;
    if (at->resend)
        return (struct pass_operands){ .reads = sent, .writes = sent };
    return (struct pass_operands){ hp_values_read(s, at->op, at->pass), pass->reads_grad,
                                   pass->writes, pass->writes_grad };
}

struct place hp_operand_place(const struct lowering *s, const struct op_pass *at, int o,
                              bool grad, bool written)
{
    int t = s->graph->ops[at->op].tensor[o];
    bool again =
        !grad && t >= 0 && (written ? at->again : at->backward && hp_reads_again(s, at->op, t));
    return (struct place){ t, grad, again };
}

/* Does `op` read a tensor as operand `o` in the backward half? */
static bool reads_later(const struct lowering *s, int op, int o)
{
    const struct nest *nest = s->graph->ops[op].nest;
    for (int p = 0; p < nest->n_passes; p++) {
        bool done = nest->pass[p].backward
                        ? s->training.passes[op] >> p & 1
                        : s->plan->ops[op].recompute && s->training.again[op] >> p & 1;
        if (done && nest->pass[p].reads >> o & 1)
            return true;
    }
    return false;
}

/* Is the value that a forward pass of `op` writes as operand `o` needed again, by the op itself
 * or by other operators of its stage? The others have been decided before. */
static bool is_needed(const struct lowering *s, int op, int o)
{
    const struct hypar_graph *g = s->graph;
    int t = g->ops[op].tensor[o];
    if (t < 0)
        return false;
    if (s->plan->ops[op].recompute && reads_later(s, op, o))
        return true;
    for (int u = g->use_start[t]; u < g->use_start[t + 1]; u++)
        if (s->schedule.stage_of_op[g->use[u].op] == s->schedule.stage_of_op[op] &&
            reads_later(s, g->use[u].op, g->use[u].operand))
            return true;
    return false;
}

/* The repeated passes of an operator, the last one first. The loss is summed only once. */
static void find_passes(struct lowering *s, int op)
{
    const struct op *o = &s->graph->ops[op];
    bool recompute = s->plan->ops[op].recompute;
    for (int p = o->nest->n_passes - 1; p >= 0; p--) {
        const struct pass *pass = &o->nest->pass[p];
        bool needed = false, loss = false;
        if (pass->backward || !(s->training.passes[op] >> p & 1))
            continue;
        for (int i = o->nest->n_inputs; i < o->nest->n_operands; i++)
            if (pass->writes >> i & 1) {
                needed |= is_needed(s, op, i);
                loss |= o->tensor[i] == s->graph->loss;
            }
        if (!needed || loss)
            continue;
        s->training.again[op] |= 1u << p;
        for (int i = o->nest->n_inputs; i < o->nest->n_operands; i++)
            if (pass->writes >> i & 1 && o->tensor[i] >= 0)
                s->training.has_again[o->tensor[i]] |= recompute || is_needed(s, op, i);
    }
}

/* The operator that represents a region. */
static int region_of(int *region, int op)
{
    while (region[op] != op)
        op = region[op] = region[region[op]];
    return op;
}

/* Two operators are in one region if one repeats a value that the other one reads when it is
 * repeated. */
static void join_regions(const struct lowering *s, int op, int *region)
{
    const struct op *o = &s->graph->ops[op];
    if (!s->plan->ops[op].recompute)
        return;
    for (int i = 0; i < o->nest->n_inputs; i++) {
        int t = o->tensor[i];
        if (t >= 0 && s->training.has_again[t] && hp_reads_again(s, op, t) &&
            s->training.again[op] && reads_later(s, op, i))
            region[region_of(region, op)] = region_of(region, s->graph->tensors[t].producer);
    }
}

static bool reads_backward(const struct lowering *s, int op, int o)
{
    const struct nest *nest = s->graph->ops[op].nest;
    for (int p = 0; p < nest->n_passes; p++)
        if (nest->pass[p].backward && s->training.passes[op] >> p & 1 &&
            nest->pass[p].reads >> o & 1)
            return true;
    return false;
}

/* The operator whose backward passes need a region first; the backward half runs from the last
 * operator to the first. */
static void find_first_need(struct lowering *s, int *region)
{
    struct training_graph *k = &s->training;
    int *first = NEW(&s->scratch, int, s->graph->n_ops); /* by region: the op, plus 1 */
    for (int op = 0; op < s->graph->n_ops; op++) {
        const struct op *o = &s->graph->ops[op];
        for (int i = 0; i < o->nest->n_operands; i++) {
            int t = o->tensor[i];
            if (t >= 0 && k->has_again[t] && hp_reads_again(s, op, t) &&
                reads_backward(s, op, i))
                first[region_of(region, s->graph->tensors[t].producer)] = op + 1;
        }
    }
    for (int op = s->graph->n_ops - 1; op >= 0; op--) {
        int before = k->again[op] ? first[region_of(region, op)] - 1 : -1;
        k->again_before[op] = before;
        if (before < 0)
            continue;
        k->again_next[op] = k->again_first[before];
        k->again_first[before] = op;
    }
}

void hp_find_recomputed(struct lowering *s)
{
    const struct hypar_graph *g = s->graph;
    struct training_graph *k = &s->training;
    k->again = NEW(&s->arena, uint32_t, g->n_ops);
    k->has_again = NEW(&s->arena, bool, g->n_tensors);
    k->again_before = NEW(&s->arena, int, g->n_ops);
    k->again_first = NEW(&s->arena, int, g->n_ops);
    k->again_next = NEW(&s->arena, int, g->n_ops);
    for (int op = 0; op < g->n_ops; op++)
        k->again_first[op] = k->again_next[op] = -1;
    struct arena_mark mark = hp_arena_mark(&s->scratch);
    int *region = NEW(&s->scratch, int, g->n_ops);
    for (int op = g->n_ops - 1; op >= 0 && !s->options.forward; op--)
        if (s->plan->ops[op].recompute || s->plan->ops[op].resend)
            find_passes(s, op);
    for (int op = 0; op < g->n_ops; op++)
        region[op] = op;
    for (int op = 0; op < g->n_ops; op++)
        join_regions(s, op, region);
    find_first_need(s, region);
    hp_arena_release(&s->scratch, mark);
}

enum hypar_status hp_check_resend_op(const struct hypar_plan *plan, int op,
                                     const struct split *split, struct hypar_error *err)
{
    const struct nest *nest = plan->graph->ops[op].nest;
    axis_set divided = hp_divided_axes(nest, split);
    for (int p = 0; plan->ops[op].resend && p < nest->n_passes; p++)
        for (int o = nest->n_inputs; o < nest->n_operands; o++) {
            if (nest->pass[p].backward || !(nest->pass[p].writes >> o & 1) ||
                nest->operand[o].role != OPERAND_OUTPUT)
                continue;
            axis_set partial = divided & hp_written_axes(nest, p, o, WRITE_PARTIAL);
            for (int a = 0; a < nest->n_axes; a++)
                if (partial >> a & 1)
                    return hp_fail(err, HYPAR_INFEASIBLE,
                                   "op '%s': resend needs whole results, a split of axis "
                                   "'%s' leaves sums to be added up",
                                   plan->graph->ops[op].name, nest->axis[a].name);
        }
    return HYPAR_OK;
}

enum hypar_status hp_check_resend(const struct hypar_plan *plan, struct hypar_error *err)
{
    for (int op = 0; op < plan->graph->n_ops; op++)
        TRY(hp_check_resend_op(plan, op, &plan->ops[op].split, err));
    return HYPAR_OK;
}

enum hypar_status hypar_plan_set_resend(struct hypar_plan *plan, int op, bool resend,
                                        struct hypar_error *err)
{
    if (op < 0 || op >= plan->graph->n_ops)
        return hp_fail(err, HYPAR_INFEASIBLE, "operator %d of %d", op, plan->graph->n_ops);
    bool was = plan->ops[op].resend;
    plan->ops[op].resend = resend;
    enum hypar_status status = hp_check_resend_op(plan, op, &plan->ops[op].split, err);
    if (status != HYPAR_OK)
        plan->ops[op].resend = was;
    return status;
}
