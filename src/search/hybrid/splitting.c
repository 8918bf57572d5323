/* Sums up the costs of units under a splitting. */
#include <math.h>

#include "cost/work.h"
#include "program/lowering.h"
#include "search/hybrid/stage.h"

static const struct op_parts *parts_of(const struct submesh_model *m,
                                       const struct submesh *submesh, const int *state, int op)
{
    return hp_op_parts(m, submesh, op, state[m->var_of[op]]);
}

/* The index of a partition of parameters into so many parts. If there are too many different
 * partitions, a further one counts as the one with most parts. */
static int partition_of(struct splitting *s, int parts)
{
    int i = 0, most = 0;
    while (i < s->n_partitions && s->partition[i] != parts)
        i++;
    if (i == s->n_partitions && i < LARGE_SUBMESH)
        s->partition[s->n_partitions++] = parts;
    if (i < LARGE_SUBMESH)
        return i;
    for (int p = 1; p < LARGE_SUBMESH; p++)
        if (s->partition[p] > s->partition[most])
            most = p;
    return most;
}

/* Does a device write incomplete sums of its part of the tensor? */
static bool is_partial(const struct op_parts *parts, int o)
{
    axis_set divided = hp_divided_axes(parts->nest, parts->split);
    for (int p = 0; p < parts->nest->n_passes; p++)
        if ((parts->nest->pass[p].writes >> o & 1) &&
            (divided & hp_written_axes(parts->nest, p, o, WRITE_PARTIAL)))
            return true;
    return false;
}

bool hp_term_resends(const struct submesh_model *m, const struct submesh *submesh,
                     const int *state, const struct submesh_term *term)
{
    const struct term_class *class = &m->term_class[term->class];
    int at = state[term->writer] * hp_states(m, submesh, term->reader)->n + state[term->reader];
    return class->resends && submesh->term_s[term->class][at] > 0 &&
           !is_partial(parts_of(m, submesh, state, hp_term_writer(m, term)),
                       class->exchange->writer[0].operand);
}

/* The bytes of a tensor that the part of its producer writes, in state `state` of the
 * producer. */
static double written_bytes(const struct submesh_model *m, const struct submesh *submesh, int t,
                            int state)
{
    const struct hypar_graph *g = m->problem->graph;
    int op = g->tensors[t].producer;
    return hp_part_bytes(m, hp_op_parts(m, submesh, op, state), op,
                         hp_output_operand(&g->ops[op], t));
}

/* The bytes of an activation that a device keeps, if `op` keeps it as operand o. If the
 * activation is gathered again, the device keeps only the part that it wrote. */
static double kept_operand(const struct submesh_model *m, const struct submesh *submesh,
                           const struct splitting *s, int op, int o)
{
    const struct hypar_graph *g = m->problem->graph;
    int t = g->ops[op].tensor[o], from = g->tensors[t].producer;
    double read = hp_part_bytes(m, parts_of(m, submesh, s->state, op), op, o);
    if (!s->resend || from < 0 || from == op ||
        is_partial(parts_of(m, submesh, s->state, from), hp_output_operand(&g->ops[from], t)))
        return read;
    return fmin(read, written_bytes(m, submesh, t, s->state[m->var_of[from]]));
}

double hp_least_kept(const struct submesh_model *m, const struct submesh *submesh, int op,
                     int state)
{
    const struct hypar_graph *g = m->problem->graph;
    operand_set operands = hp_kept_operands(g, op);
    double sum = 0;
    for (int o = 0; operands >> o; o++) {
        int t = operands >> o & 1 ? g->ops[op].tensor[o] : -1;
        int from = t < 0 ? -1 : g->tensors[t].producer;
        if (t < 0 || (from >= 0 && (m->again[1][from] || m->again[2][from])))
            continue;
        double least = hp_part_bytes(m, hp_op_parts(m, submesh, op, state), op, o);
        int n = from < 0 || from == op ? 0 : hp_states(m, submesh, m->var_of[from])->n;
        for (int i = 0; i < n; i++)
            least = fmin(least, written_bytes(m, submesh, t, i));
        sum += least;
    }
    return sum;
}

static void add_kept(struct submesh_model *m, const struct submesh *submesh,
                     const struct splitting *s, int op, double *kept)
{
    const struct hypar_graph *g = m->problem->graph;
    operand_set operands = hp_kept_operands(g, op);
    for (int o = 0; operands >> o; o++) {
        if (!(operands >> o & 1))
            continue;
        int from = g->tensors[g->ops[op].tensor[o]].producer;
        double bytes = kept_operand(m, submesh, s, op, o);
        for (int w = 0; w < HYPAR_RECOMPUTE_COUNT; w++)
            kept[w] += from >= 0 && m->again[w][from] ? 0 : bytes;
    }
}

/* Bytes of the operands of `op` that are no parameters; `outputs`: that it writes, alone. */
static double activation_bytes(const struct submesh_model *m, const struct op_parts *parts,
                               int op, bool outputs)
{
    const struct op *o = &m->problem->graph->ops[op];
    double bytes = 0;
    for (int i = 0; i < o->nest->n_operands; i++)
        if (o->tensor[i] >= 0 &&
            (outputs ? o->nest->operand[i].role == OPERAND_OUTPUT
                     : m->problem->graph->tensors[o->tensor[i]].kind != TENSOR_PARAM))
            bytes += hp_part_bytes(m, parts, op, i);
    return bytes;
}

double hp_touched_bytes(const struct submesh_model *m, const struct submesh *submesh, int op,
                        int state)
{
    return activation_bytes(m, hp_op_parts(m, submesh, op, state), op, false);
}

/* Until all operators are added, the sums of unit u are in unit u + 1. */
static void add_op(struct submesh_model *m, const struct submesh *submesh, int u, int op,
                   struct splitting *s)
{
    struct unit_cost *unit = &s->unit[u];
    double *sum = s->unit[u + 1].sum;
    int state = s->state[m->var_of[op]];
    const struct op_cost *cost = hp_op_cost(m, submesh, op, state);
    const struct submesh_state *how = &hp_states(m, submesh, m->var_of[op])->state[state];
    s->by_samples |= how->samples > 1;
    s->by_axes |= how->axis >= 0 || how->fix;
    sum[TIME_S] += cost->forward_s + cost->backward_s;
    sum[COMPUTE_S] += cost->forward_s + cost->backward_s;
    sum[BACKWARD_S] += cost->backward_s;
    sum[GRADIENT_S] += cost->gradient_s;
    for (int w = 0; w < HYPAR_RECOMPUTE_COUNT; w++)
        sum[AGAIN_S + w] += m->again[w][op] ? cost->forward_s : 0;
    add_kept(m, submesh, s, op, sum + KEPT_BYTES);
    if (cost->param_elements > 0) {
        sum[PARAMS + partition_of(s, cost->param_parts)] += cost->param_elements;
        sum[WEIGHTED]++;
        unit->last_elements = cost->param_elements;
        if (!(unit->first_elements > 0))
            unit->first_elements = cost->param_elements;
        sum[ERROR_BYTES] += activation_bytes(m, hp_op_parts(m, submesh, op, state), op, true);
    }
    unit->peak = fmax(unit->peak, sum[KEPT_BYTES] + hp_touched_bytes(m, submesh, op, state));
}

/* The parameters of an operator and of the next ones are gathered while it is computed. */
static void find_gathered(const struct submesh_model *m, const struct submesh *submesh,
                          const struct cut_units *units, int lo, int hi, struct splitting *s,
                          bool far)
{
    const struct hypar_search_options *o = m->problem->options;
    double window[GATHER_FAR_AHEAD + 1] = { 0 };
    double bytes = hp_param_bytes(o->precision, o->fp32_gradients, o->optimizer).weight;
    int ahead = far ? GATHER_FAR_AHEAD : GATHER_AHEAD;
    for (int op = units->first[lo], n = 0; op < units->first[hi]; op++) {
        double elements = hp_op_cost(m, submesh, op, s->state[m->var_of[op]])->param_elements;
        double sum = 0, *most = &s->unit[units->of_op[op]].gathered[far];
        if (!(elements > 0))
            continue;
        window[n++ % (ahead + 1)] = elements * bytes;
        for (int i = 0; i <= ahead; i++)
            sum += window[i];
        *most = fmax(*most, sum);
    }
}

static void add_term(struct submesh_model *m, const struct submesh *submesh,
                     const struct cut_units *units, const struct submesh_term *term,
                     struct splitting *s)
{
    const struct term_class *class = &m->term_class[term->class];
    double seconds = hp_submesh_term(m, submesh, term->class, s->state[term->writer],
                                     s->state[term->reader]);
    int from = units->of_op[term->first], to = units->of_op[term->last];
    int writer = hp_term_writer(m, term);
    bool again = s->resend && hp_term_resends(m, submesh, s->state, term);
    double *sum = s->unit[to + 1].sum;
    *(from < to ? &s->unit[to].entering_s : &sum[TIME_S]) += again ? 2 * seconds : seconds;
    sum[EXCHANGES] += seconds > 0 ? 1 + again : 0;
    if (class->over_samples) {
        sum[REPLICA_SUMS]++;
        sum[REPLICA_BYTES] += hp_part_bytes(m, parts_of(m, submesh, s->state, writer), writer,
                                            class->exchange->writer[0].operand);
    }
    for (int w = 0; w < HYPAR_RECOMPUTE_COUNT && !class->backward; w++)
        if (m->again[w][writer])
            sum[AGAIN_S + w] += seconds;
}

/* The bytes that enter each unit if a stage begins there. */
static void find_borders(struct submesh_model *m, const struct submesh *submesh,
                         const struct cut_units *units, struct splitting *s)
{
    const struct hypar_graph *g = m->problem->graph;
    for (int t = 0; t < g->n_tensors; t++) {
        int op = g->tensors[t].producer, end = g->use_start[t + 1];
        if (g->tensors[t].kind != TENSOR_ACTIVATION || g->use_start[t] == end)
            continue;
        int from = units->of_op[op], to = units->of_op[g->use[end - 1].op];
        double bytes = from < to ? written_bytes(m, submesh, t, s->state[m->var_of[op]]) : 0;
        for (int u = from + 1; u <= to; u++)
            s->unit[u].border += bytes;
    }
}

void hp_sum_up_splitting(struct submesh_model *m, const struct submesh *submesh,
                         const struct cut_units *units, int lo, int hi, struct arena *arena,
                         struct splitting *s)
{
    s->unit = NEW(arena, struct unit_cost, units->n + 1);
    s->lo = lo;
    s->hi = hi;
    s->arena = arena;
    for (int u = lo; u < hi; u++)
        for (int op = units->first[u]; op < units->first[u + 1]; op++)
            add_op(m, submesh, u, op, s);
    for (int t = 0; t < m->n_terms; t++)
        if (units->of_op[m->term[t].first] >= lo && units->of_op[m->term[t].last] < hi)
            add_term(m, submesh, units, &m->term[t], s);
    find_borders(m, submesh, units, s);
    find_gathered(m, submesh, units, lo, hi, s, false);
    find_gathered(m, submesh, units, lo, hi, s, true);
    for (int u = 0; u < units->n; u++)
        for (int i = 0; i < N_SUMS; i++)
            s->unit[u + 1].sum[i] += s->unit[u].sum[i];
}
