/* Sums up the costs of units under a splitting. */
#include <math.h>

#include "cost/work.h"
#include "program/lowering.h"
#include "search/hybrid/stage.h"

const struct op_cost *hp_op_cost(const struct submesh_model *m, const struct submesh *submesh,
                                 const int *state, int op)
{
    int v = m->var_of[op], k = hp_place_in_var(&m->var[v], op);
    return &submesh->states[m->var[v].class].cost[state[v] * m->var[v].n_ops + k];
}

static const struct op_parts *parts_of(const struct submesh_model *m,
                                       const struct submesh *submesh, const int *state, int op)
{
    int v = m->var_of[op], k = hp_place_in_var(&m->var[v], op);
    return submesh->states[m->var[v].class].parts[state[v]][k];
}

/* Of too many, one more counts as the one with most parts: the fewest devices hold each of its
 * elements, so that no less memory is counted than is needed. */
static int partition_of(struct splitting *s, int parts)
{
    int i = 0, most = 0;
    while (i < s->n_partitions && s->partition[i] != parts)
        i++;
    if (i == s->n_partitions && i < MOST_PARTITIONS)
        s->partition[s->n_partitions++] = parts;
    if (i < MOST_PARTITIONS)
        return i;
    for (int p = 1; p < MOST_PARTITIONS; p++)
        if (s->partition[p] > s->partition[most])
            most = p;
    return most;
}

static double box_bytes(const struct submesh_model *m, const struct op_parts *parts, int o,
                        int tensor)
{
    struct box box = hp_region(parts->nest, o, parts->range);
    return (double)hp_box_elements(&box) *
           hp_element_bytes(m->problem->options->precision,
                            m->problem->graph->tensors[tensor].index);
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
    int at = state[term->writer] * submesh->states[class->reader].n + state[term->reader];
    return class->resends && submesh->term_s[term->class][at] > 0 &&
           !is_partial(parts_of(m, submesh, state, hp_term_writer(m, term)),
                       class->exchange->writer[0].operand);
}

/* The bytes of an activation that a device keeps, if `op` keeps it as operand o. If the
 * activation is gathered again, the device keeps only the part that it wrote. */
static double kept_operand(const struct submesh_model *m, const struct submesh *submesh,
                           const struct splitting *s, int op, int o)
{
    const struct hypar_graph *g = m->problem->graph;
    int t = g->ops[op].tensor[o], from = g->tensors[t].producer;
    double read = box_bytes(m, parts_of(m, submesh, s->state, op), o, t);
    if (!s->resend || from < 0 || from == op)
        return read;
    const struct op_parts *writer = parts_of(m, submesh, s->state, from);
    int wo = hp_output_operand(&g->ops[from], t);
    return is_partial(writer, wo) ? read : fmin(read, box_bytes(m, writer, wo, t));
}

double hp_least_kept(const struct submesh_model *m, const struct submesh *submesh, int op,
                     int state)
{
    const struct hypar_graph *g = m->problem->graph;
    const struct class_states *states = submesh->states;
    operand_set operands = hp_kept_operands(g, op);
    int v = m->var_of[op], place = hp_place_in_var(&m->var[v], op);
    double sum = 0;
    for (int o = 0; operands >> o; o++) {
        int t = operands >> o & 1 ? g->ops[op].tensor[o] : -1;
        int from = t < 0 ? -1 : g->tensors[t].producer;
        if (t < 0 || (from >= 0 && (m->again[1][from] || m->again[2][from])))
            continue;
        double least = box_bytes(m, states[m->var[v].class].parts[state][place], o, t);
        int w = from < 0 || from == op ? -1 : m->var_of[from];
        for (int i = 0; w >= 0 && i < states[m->var[w].class].n; i++)
            least =
                fmin(least,
                     box_bytes(
                         m, states[m->var[w].class].parts[i][hp_place_in_var(&m->var[w], from)],
                         hp_output_operand(&g->ops[from], t), t));
        sum += least;
    }
    return sum;
}

static void add_kept(struct submesh_model *m, const struct submesh *submesh,
                     struct splitting *s, int op, double *kept[RECOMPUTE_WORDS])
{
    const struct hypar_graph *g = m->problem->graph;
    operand_set operands = hp_kept_operands(g, op);
    for (int o = 0; operands >> o; o++) {
        if (!(operands >> o & 1))
            continue;
        int from = g->tensors[g->ops[op].tensor[o]].producer;
        double bytes = kept_operand(m, submesh, s, op, o);
        for (int w = 0; w < RECOMPUTE_WORDS; w++)
            *kept[w] += from >= 0 && m->again[w][from] ? 0 : bytes;
    }
}

double hp_touched_bytes(const struct submesh_model *m, const struct submesh *submesh, int op,
                        int state)
{
    const struct op *o = &m->problem->graph->ops[op];
    const struct submesh_var *var = &m->var[m->var_of[op]];
    const struct op_parts *parts =
        submesh->states[var->class].parts[state][hp_place_in_var(var, op)];
    double bytes = 0;
    for (int i = 0; i < o->nest->n_operands; i++)
        if (o->tensor[i] >= 0 && m->problem->graph->tensors[o->tensor[i]].kind != TENSOR_PARAM)
            bytes += box_bytes(m, parts, i, o->tensor[i]);
    return bytes;
}

static double output_bytes(const struct submesh_model *m, const struct op_parts *parts, int op)
{
    const struct op *o = &m->problem->graph->ops[op];
    double bytes = 0;
    for (int i = 0; i < o->nest->n_operands; i++)
        if (o->tensor[i] >= 0 && o->nest->operand[i].role == OPERAND_OUTPUT)
            bytes += box_bytes(m, parts, i, o->tensor[i]);
    return bytes;
}

static void add_op(struct submesh_model *m, const struct submesh *submesh, int unit, int op,
                   struct splitting *s)
{
    struct unit_sums *sums = &s->sums;
    const struct op_cost *cost = hp_op_cost(m, submesh, s->state, op);
    double *kept[RECOMPUTE_WORDS];
    sums->time_s[unit + 1] += cost->forward_s + cost->backward_s;
    sums->compute_s[unit + 1] += cost->forward_s + cost->backward_s;
    sums->backward_s[unit + 1] += cost->backward_s;
    sums->gradient_s[unit + 1] += cost->gradient_s;
    for (int w = 0; w < RECOMPUTE_WORDS; w++) {
        sums->again_s[w][unit + 1] += m->again[w][op] ? cost->forward_s : 0;
        kept[w] = &sums->kept[w][unit + 1];
    }
    add_kept(m, submesh, s, op, kept);
    if (cost->param_elements > 0) {
        int i = partition_of(s, cost->param_parts);
        sums->params[i][unit + 1] += cost->param_elements;
        sums->weighted[unit + 1]++;
        s->last_elements[unit] = cost->param_elements;
        if (!(s->first_elements[unit] > 0))
            s->first_elements[unit] = cost->param_elements;
        sums->errors[unit + 1] += output_bytes(m, parts_of(m, submesh, s->state, op), op);
    }
    double touched = hp_touched_bytes(m, submesh, op, s->state[m->var_of[op]]);
    s->peak[unit] = fmax(s->peak[unit], sums->kept[0][unit + 1] + touched);
}

/* The parameters of an operator and of the next ones are gathered while it is computed. */
static void find_gathered(const struct submesh_model *m, const struct submesh *submesh,
                          const struct units *units, int lo, int hi, const struct splitting *s,
                          int ahead, double *gathered)
{
    const struct hypar_search_options *o = m->problem->options;
    double window[GATHER_FAR_AHEAD + 1] = { 0 };
    double bytes = hp_param_bytes(o->precision, o->fp32_gradients, o->optimizer).weight;
    for (int op = units->first[lo], n = 0; op < units->first[hi]; op++) {
        double elements = hp_op_cost(m, submesh, s->state, op)->param_elements, sum = 0;
        if (!(elements > 0))
            continue;
        window[n++ % (ahead + 1)] = elements * bytes;
        for (int i = 0; i <= ahead; i++)
            sum += window[i];
        double *most = &gathered[units->of_op[op]];
        *most = fmax(*most, sum);
    }
}

static void add_term(struct submesh_model *m, const struct submesh *submesh,
                     const struct units *units, const struct submesh_term *term,
                     struct splitting *s)
{
    const struct term_class *class = &m->term_class[term->class];
    double seconds = hp_submesh_term(m, submesh, term->class, s->state[term->writer],
                                     s->state[term->reader]);
    int from = units->of_op[term->first], to = units->of_op[term->last];
    int writer = class->backward ? -1 : hp_term_writer(m, term);
    bool again = s->resend && hp_term_resends(m, submesh, s->state, term);
    double *sum = from < to ? &s->entering_s[to] : &s->sums.time_s[to + 1];
    *sum += again ? 2 * seconds : seconds;
    s->sums.exchanges[to + 1] += seconds > 0 ? 1 + again : 0;
    if (class->over_samples) {
        const struct source *source = &class->exchange->writer[0];
        const struct op_parts *parts = parts_of(m, submesh, s->state, hp_term_writer(m, term));
        struct box box = hp_region(parts->nest, source->operand, parts->range);
        s->sums.replica_sums[to + 1]++;
        s->sums.replica_bytes[to + 1] += (double)hp_box_elements(&box) * class->element_bytes;
    }
    for (int w = 0; w < RECOMPUTE_WORDS && writer >= 0; w++)
        if (m->again[w][writer])
            s->sums.again_s[w][to + 1] += seconds;
}

/* The bytes that enter each unit if a stage begins there. */
static void find_borders(struct submesh_model *m, const struct submesh *submesh,
                         const struct units *units, struct splitting *s)
{
    const struct hypar_graph *g = m->problem->graph;
    for (int t = 0; t < g->n_tensors; t++) {
        const struct tensor *tensor = &g->tensors[t];
        int end = g->use_start[t + 1];
        if (tensor->kind != TENSOR_ACTIVATION || g->use_start[t] == end)
            continue;
        int from = units->of_op[tensor->producer], to = units->of_op[g->use[end - 1].op];
        int o = hp_output_operand(&g->ops[tensor->producer], t);
        double bytes =
            from < to ? box_bytes(m, parts_of(m, submesh, s->state, tensor->producer), o, t)
                      : 0;
        for (int u = from + 1; u <= to; u++)
            s->border[u] += bytes;
    }
}

static void add_up(double *sum, int n)
{
    for (int i = 0; i < n; i++)
        sum[i + 1] += sum[i];
}

void hp_sum_up_splitting(struct submesh_model *m, const struct submesh *submesh,
                         const struct units *units, int lo, int hi, struct arena *arena,
                         struct splitting *s)
{
    struct unit_sums *sums = &s->sums;
    int n = units->n;
    double **plain[] = { &sums->time_s,     &sums->compute_s,    &sums->backward_s,
                         &sums->gradient_s, &sums->exchanges,    &sums->weighted,
                         &sums->errors,     &sums->replica_sums, &sums->replica_bytes };
    enum { N_PLAIN = sizeof plain / sizeof plain[0] };
    for (int i = 0; i < N_PLAIN; i++)
        *plain[i] = NEW(arena, double, n + 1);
    for (int w = 0; w < RECOMPUTE_WORDS; w++) {
        sums->again_s[w] = NEW(arena, double, n + 1);
        sums->kept[w] = NEW(arena, double, n + 1);
    }
    for (int i = 0; i < MOST_PARTITIONS; i++) {
        sums->params[i] = NEW(arena, double, n + 1);
    }
    s->entering_s = NEW(arena, double, n + 1);
    s->border = NEW(arena, double, n + 1);
    s->peak = NEW(arena, double, n + 1);
    s->gathered = NEW(arena, double, n + 1);
    s->gathered_far = NEW(arena, double, n + 1);
    s->first_elements = NEW(arena, double, n + 1);
    s->last_elements = NEW(arena, double, n + 1);
    for (int u = lo; u < hi; u++)
        for (int op = units->first[u]; op < units->first[u + 1]; op++)
            add_op(m, submesh, u, op, s);
    for (int t = 0; t < m->n_terms; t++)
        if (units->of_op[m->term[t].first] >= lo && units->of_op[m->term[t].last] < hi)
            add_term(m, submesh, units, &m->term[t], s);
    find_borders(m, submesh, units, s);
    find_gathered(m, submesh, units, lo, hi, s, GATHER_AHEAD, s->gathered);
    find_gathered(m, submesh, units, lo, hi, s, GATHER_FAR_AHEAD, s->gathered_far);
    for (int i = 0; i < N_PLAIN; i++)
        add_up(*plain[i], n);
    for (int w = 0; w < RECOMPUTE_WORDS; w++) {
        add_up(sums->again_s[w], n);
        add_up(sums->kept[w], n);
    }
    for (int i = 0; i < s->n_partitions; i++)
        add_up(sums->params[i], n);
}
