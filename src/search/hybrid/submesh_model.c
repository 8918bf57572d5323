/* Finds the choices of a graph inside a submesh: variables, the exchanges between them, and
 * which of both are equal. */
#include "graph/structure/repeated.h"
#include "plan/threed/threed.h"
#include "program/lowering.h"
#include "search/estimate/needs.h"
#include "search/evaluate/judge.h"
#include "search/hybrid/submesh.h"
#include "search/predict.h"
#include "sim/task_costs.h"

/* Variables ------------------------------------------------------------------------------ */

const struct fix *hp_submesh_fix(const struct submesh_model *m, int op)
{
    for (int i = 0; i < m->fixes.n; i++)
        if (m->fixes.fix[i].op == op)
            return &m->fixes.fix[i];
    return NULL;
}

/* Do two operators have the same state? Yes if they are of one kind, have parameters and read
 * the same first activation; or if they are of one kind and share a parameter. */
static bool is_tied(const struct submesh_model *m, int a, int b, int tensor)
{
    const struct hypar_graph *g = m->problem->graph;
    enum tensor_kind kind = g->tensors[tensor].kind;
    if (hp_submesh_fix(m, a) || hp_submesh_fix(m, b) ||
        m->sequence_axis[a] != m->sequence_axis[b])
        return false;
    if (g->ops[a].kind != g->ops[b].kind || g->ops[a].nest->n_axes != g->ops[b].nest->n_axes)
        return false;
    return kind == TENSOR_PARAM ||
           (kind == TENSOR_ACTIVATION && g->ops[a].tensor[0] == tensor &&
            g->ops[b].tensor[0] == tensor && hp_op_weighted(g, a) && hp_op_weighted(g, b));
}

/* The first operator that has the same state as `op`; itself if there is none. */
static int find_tied(const struct submesh_model *m, int op)
{
    const struct hypar_graph *g = m->problem->graph;
    int first = op;
    for (int o = 0; o < g->ops[op].nest->n_inputs; o++) {
        int t = g->ops[op].tensor[o];
        for (int u = t < 0 ? 0 : g->use_start[t]; t >= 0 && u < g->use_start[t + 1]; u++)
            if (g->use[u].op < first && is_tied(m, g->use[u].op, op, t))
                first = g->use[u].op;
    }
    return first;
}

static void make_variables(struct submesh_model *m)
{
    const struct hypar_graph *g = m->problem->graph;
    m->var_of = NEW(m->arena, int, g->n_ops);
    m->var = NEW(m->arena, struct submesh_var, g->n_ops);
    int *list = NEW(m->arena, int, g->n_ops), *at = list;
    for (int op = 0; op < g->n_ops; op++) {
        int first = find_tied(m, op);
        m->var_of[op] = first < op ? m->var_of[first] : m->n_vars++;
        m->var[m->var_of[op]].n_ops++;
    }
    for (int v = 0; v < m->n_vars; v++) {
        m->var[v].op = at;
        at += m->var[v].n_ops;
        m->var[v].n_ops = 0;
    }
    for (int op = 0; op < g->n_ops; op++) {
        struct submesh_var *var = &m->var[m->var_of[op]];
        var->op[var->n_ops++] = op;
    }
}

static bool reads_backward(const struct hypar_graph *g, const struct op *op, int o)
{
    return hp_read_backward(g, op) >> o & 1;
}

operand_set hp_kept_operands(const struct hypar_graph *g, int op)
{
    const struct op *o = &g->ops[op];
    operand_set kept = 0;
    for (int i = 0; i < o->nest->n_operands; i++) {
        int t = o->tensor[i];
        bool first = t >= 0 && reads_backward(g, o, i) && g->tensors[t].kind != TENSOR_PARAM &&
                     g->tensors[t].kind != TENSOR_INPUT;
        int from = first ? g->tensors[t].producer : -1;
        if (from >= 0 && from < op &&
            reads_backward(g, &g->ops[from], hp_output_operand(&g->ops[from], t)))
            first = false;
        for (int u = first ? g->use_start[t] : 0; first && u < g->use_start[t + 1]; u++)
            if (g->use[u].op < op &&
                reads_backward(g, &g->ops[g->use[u].op], g->use[u].operand))
                first = false;
        kept |= (operand_set)first << i;
    }
    return kept;
}

static void classify_variables(struct submesh_model *m)
{
    const struct hypar_graph *g = m->problem->graph;
    struct table keys = { 0 };
    m->lead = NEW(m->arena, int, m->n_vars);
    for (int v = 0; v < m->n_vars; v++) {
        struct arena scratch = { 0 };
        int *key = NEW(&scratch, int, 8 * m->var[v].n_ops), n = 0;
        for (int i = 0; i < m->var[v].n_ops; i++) {
            int op = m->var[v].op[i];
            operand_set present = hp_present(&g->ops[op]), kept = hp_kept_operands(g, op);
            key[n++] = g->ops[op].nest->id;
            key[n++] = (int)hp_done_passes(g, &g->ops[op]);
            key[n++] = (int)(present & 0xffffffff);
            key[n++] = (int)(present >> 32);
            key[n++] = (int)(kept & 0xffffffff);
            key[n++] = (int)(kept >> 32);
            key[n++] = hp_submesh_fix(m, op) ? op : -1;
            key[n++] = m->sequence_axis[op];
        }
        int class = hp_table_number(&keys, m->arena, key, (size_t)n * sizeof *key);
        hp_arena_free(&scratch);
        m->var[v].class = class;
        if (class == m->n_var_classes)
            m->lead[m->n_var_classes++] = v;
    }
}

/* Terms ---------------------------------------------------------------------------------- */

int hp_place_in_var(const struct submesh_var *var, int op)
{
    int i = 0;
    while (var->op[i] != op)
        i++;
    return i;
}

int hp_term_writer(const struct submesh_model *m, const struct submesh_term *term)
{
    const struct term_class *class = &m->term_class[term->class];
    int place = hp_place_in_var(&m->var[class->writer], class->exchange->writer[0].op);
    return m->var[term->writer].op[place];
}

/* The part of an exchange between variables `from` and `to`. */
static struct exchange *part_of(struct submesh_model *m, const struct exchange *x, int from,
                                int to)
{
    struct exchange *part = NEW(m->arena, struct exchange, 1);
    struct source *writer = NEW(m->arena, struct source, x->n_writers);
    struct reader *reader = NEW(m->arena, struct reader, x->n_readers);
    *part = *x;
    part->n_writers = part->n_readers = 0;
    part->writer = writer;
    part->reader = reader;
    for (int i = 0; i < x->n_writers; i++)
        if (m->var_of[x->writer[i].op] == from)
            writer[part->n_writers++] = x->writer[i];
    for (int i = 0; i < x->n_readers; i++)
        if (m->var_of[x->reader[i].op] == to)
            reader[part->n_readers++] = x->reader[i];
    part->pattern_class = hp_pattern_class(m->lowering, part);
    return part;
}

/* Does a backward pass of a reader read the value? */
static bool is_read_backward(const struct hypar_graph *g, const struct exchange *x)
{
    for (int i = 0; i < x->n_readers; i++)
        if (x->reader[i].passes & hp_backward_passes(g, &g->ops[x->reader[i].op]))
            return true;
    return false;
}

/* Is the tensor a sum over samples (a statistic of a batch)? */
static bool is_over_samples(const struct hypar_graph *g, const struct exchange *x)
{
    const struct source *source = &x->writer[0];
    const struct nest *nest = g->ops[source->op].nest;
    int sample = hp_sample_axis(nest);
    return sample >= 0 &&
           (hp_written_axes(nest, source->pass, source->operand, WRITE_PARTIAL) >> sample & 1);
}

/* Widen the range of operators that take part in a term. */
static void take_part(struct submesh_term *term, int op)
{
    term->first = op < term->first ? op : term->first;
    term->last = op > term->last ? op : term->last;
}

static void add_term(struct submesh_model *m, struct table *keys, const struct exchange *x,
                     int from, int to)
{
    const struct hypar_graph *g = m->problem->graph;
    struct exchange *part = part_of(m, x, from, to);
    struct arena scratch = { 0 };
    int *key = NEW(&scratch, int, 5 + part->n_writers + part->n_readers), n = 0;
    struct submesh_term term = { .writer = from, .reader = to, .first = g->n_ops };
    bool index = g->tensors[x->place.tensor].index;
    key[n++] = m->var[from].class;
    key[n++] = m->var[to].class;
    key[n++] = part->pattern_class;
    key[n++] = x->backward;
    key[n++] = index;
    for (int i = 0; i < part->n_writers; i++) {
        key[n++] = hp_place_in_var(&m->var[from], part->writer[i].op);
        take_part(&term, part->writer[i].op);
    }
    for (int i = 0; i < part->n_readers; i++) {
        key[n++] = hp_place_in_var(&m->var[to], part->reader[i].op);
        take_part(&term, part->reader[i].op);
    }
    term.class = hp_table_number(keys, m->arena, key, (size_t)n * sizeof *key);
    hp_arena_free(&scratch);
    if (term.class == m->n_term_classes) {
        m->term_class = GROW(m->arena, struct term_class, m->term_class, m->n_term_classes,
                             &m->term_class_capacity);
        m->term_class[m->n_term_classes++] = (struct term_class){
            .exchange = part,
            .writer = from,
            .reader = to,
            .element_bytes = hp_element_bytes(m->problem->options->precision, index),
            .backward = x->backward,
            .resends = !x->backward && from != to && is_read_backward(g, part),
            .over_samples = is_over_samples(g, part),
        };
    }
    m->term = GROW(m->arena, struct submesh_term, m->term, m->n_terms, &m->term_capacity);
    m->term[m->n_terms++] = term;
}

/* Add the terms of an exchange. An exchange between several variables becomes one term for each
 * pair of a writer and a reader; each term moves the data that the pair alone would move. */
static void add_exchange(struct submesh_model *m, struct table *keys, const struct exchange *x)
{
    const int *var_of = m->var_of;
    for (int w = 0; w < x->n_writers; w++) {
        bool seen = false;
        for (int i = 0; i < w; i++)
            seen |= var_of[x->writer[i].op] == var_of[x->writer[w].op];
        for (int r = 0; r < x->n_readers && !seen; r++) {
            bool known = false;
            for (int i = 0; i < r; i++)
                known |= var_of[x->reader[i].op] == var_of[x->reader[r].op];
            if (!known)
                add_term(m, keys, x, var_of[x->writer[w].op], var_of[x->reader[r].op]);
        }
    }
}

static void list_terms(struct submesh_model *m)
{
    struct table keys = { 0 };
    const struct training_graph *k = &m->lowering->training;
    for (int i = 0; i < k->n_exchanges; i++)
        if (!k->exchange[i].private)
            add_exchange(m, &keys, &k->exchange[i]);
}

/* Equal layers --------------------------------------------------------------------------- */

/* The operator of the second layer that represents `op`. */
static int standing_for(const struct repeated_layers *layers, int op)
{
    int layer = (op - layers->first) / layers->n_ops;
    if (op < layers->first || layer < 1 || layer > layers->count - 2)
        return op;
    return op - (layer - 1) * layers->n_ops;
}

static void find_alike(struct submesh_model *m)
{
    struct repeated_layers layers = hp_repeated_layers(m->problem->graph);
    struct table keys = { 0 };
    m->stands_for = NEW(m->arena, int, m->n_vars);
    m->times = NEW(m->arena, int, m->n_vars);
    m->alike = NEW(m->arena, struct submesh_term, m->n_terms);
    for (int v = 0; v < m->n_vars; v++) {
        int op = layers.count > 3 ? standing_for(&layers, m->var[v].op[0]) : m->var[v].op[0];
        int other = m->var_of[op];
        m->stands_for[v] = m->var[other].class == m->var[v].class ? m->stands_for[other] : v;
        if (other == v)
            m->stands_for[v] = v;
        m->times[m->stands_for[v]]++;
    }
    for (int t = 0; t < m->n_terms; t++) {
        const struct submesh_term *term = &m->term[t];
        int key[3] = { term->class, m->stands_for[term->writer], m->stands_for[term->reader] };
        int at = hp_table_number(&keys, m->arena, key, sizeof key);
        if (at == m->n_alike)
            m->alike[m->n_alike++] =
                (struct submesh_term){ .class = key[0], .writer = key[1], .reader = key[2] };
        m->alike[at].times++;
    }
}

/* Find the operators that planner 3d splits by sequence, if the options ask for it. */
static enum hypar_status find_sequences(struct submesh_model *m, struct hypar_error *err)
{
    const struct hypar_graph *g = m->problem->graph;
    struct arena scratch = { 0 };
    struct hypar_layout layout = { .tensor = 2, .sequence_parallel = true };
    struct tensor_axes axes;
    enum hypar_status status = HYPAR_OK;
    bool asked = m->problem->options->layout.sequence_parallel;
    m->sequence_axis = NEW(m->arena, int, g->n_ops);
    if (asked)
        status = hp_tensor_axes(&scratch, g, &layout, m->problem->limits.axes, &axes, err);
    for (int op = 0; op < g->n_ops; op++)
        m->sequence_axis[op] = asked && status == HYPAR_OK && axes.op[op].region < 0 &&
                                       axes.op[op].axis >= 0 &&
                                       axes.op[op].axis == hp_nest_axis(g->ops[op].nest, 't')
                                   ? axes.op[op].axis
                                   : -1;
    hp_arena_free(&scratch);
    return status;
}

/* Read the options that restrict the states. */
static enum hypar_status find_bounds(struct submesh_model *m, struct hypar_error *err)
{
    const struct problem *p = m->problem;
    TRY(hp_read_fixes(&m->fixes, p->graph, hypar_machine_device_count(p->machine),
                      p->options->fix, p->options->n_fix, m->arena, err));
    return find_sequences(m, err);
}

enum hypar_status hp_submesh_model(struct submesh_model *out, struct arena *arena,
                                   const struct problem *problem, struct hypar_error *err)
{
    *out = (struct submesh_model){ .arena = arena, .problem = problem, .on_path = 1 };
    TRY(find_bounds(out, err));
    struct hypar_plan_settings settings = problem->settings;
    settings.recompute = HYPAR_RECOMPUTE_NONE;
    out->probe = hp_plan_new(problem->graph, problem->machine, &settings);
    enum hypar_status status = hp_lowering_make(&out->lowering, out->probe, NULL, NULL, err);
    if (status != HYPAR_OK) {
        hypar_plan_free(out->probe);
        out->probe = NULL;
        return status;
    }
    for (int word = 0; word < HYPAR_RECOMPUTE_COUNT; word++)
        out->again[word] = hp_recomputed(arena, problem, (enum hypar_recompute)word);
    out->parts = NEW(arena, const struct op_parts *, problem->graph->n_ops);
    if (!hypar_machine_is_uniform(problem->machine))
        out->speed =
            hp_device_speeds(arena, problem, hypar_machine_device_count(problem->machine));
    out->costs = NEW(arena, struct task_costs, 1);
    hp_task_costs_begin(out->costs, out->probe, hp_simulation(problem));
    make_variables(out);
    classify_variables(out);
    list_terms(out);
    find_alike(out);
    return HYPAR_OK;
}

void hp_submesh_model_end(struct submesh_model *m)
{
    if (!m->probe)
        return;
    hp_task_costs_end(m->costs);
    hp_lowering_free(m->lowering);
    hypar_plan_free(m->probe);
}
