/* Who writes and who reads each tensor; layouts and patterns shared by what decides them. */
#include <string.h>

#include "program/lower.h"

axis_set hp_copy_axes(const struct nest *nest, const struct split *split, int pass, int o)
{
    axis_set axes = 0;
    for (int a = 0; a < nest->n_axes; a++)
        if (split->degree[a] > 1 && hp_write_kind(nest, pass, o, a) == WRITE_COPY)
            axes |= (axis_set)1 << a;
    return axes;
}

axis_set hp_partial_axes(const struct nest *nest, const struct split *split, int pass, int o)
{
    axis_set axes = 0;
    for (int a = 0; a < nest->n_axes; a++)
        if (split->degree[a] > 1 && hp_write_kind(nest, pass, o, a) == WRITE_PARTIAL)
            axes |= (axis_set)1 << a;
    return axes;
}

/* A number for a list of bytes: the same for the same list. */
static int64_t intern(struct lowering *l, const void *bytes, size_t length)
{
    int known = hp_table_get(&l->lists, bytes, length);
    if (known >= 0)
        return known;
    char *copy = NEW(&l->scratch, char, length + 1);
    memcpy(copy, bytes, length);
    return hp_table_put(&l->lists, &l->scratch, copy, length, l->n_lists++);
}

static void fill_layout(struct lowering *l, struct part_layout *layout, int op,
                        struct range samples)
{
    const struct op_plan *plan = &l->plan->ops[op];
    const struct nest *nest = l->graph->ops[op].nest;
    struct range *range = NEW(&l->scratch, struct range, plan->n_parts * nest->n_axes);
    bool *empty = NEW(&l->scratch, bool, plan->n_parts);
    for (int part = 0; part < plan->n_parts; part++) {
        struct range loops[MAX_AXES];
        empty[part] = !hp_micro_ranges(l->graph, op, &plan->split, part, samples, loops);
        memcpy(range + part * nest->n_axes, loops, (size_t)nest->n_axes * sizeof *range);
    }
    *layout = (struct part_layout){ .nest = nest,
                                    .split = &plan->split,
                                    .n_parts = plan->n_parts,
                                    .device = plan->device,
                                    .range = range,
                                    .empty = empty };
}

enum { LAYOUT_KEY = 4 + 2 * MAX_AXES };

const struct part_layout *hp_layout_of(struct lowering *l, int op, struct range samples)
{
    const struct op_plan *plan = &l->plan->ops[op];
    const struct nest *nest = l->graph->ops[op].nest;
    int64_t key[LAYOUT_KEY] = { nest->id, samples.lo, samples.hi,
                                intern(l, plan->device, (size_t)plan->n_parts * sizeof(int)) };
    for (int a = 0; a < nest->n_axes; a++) {
        int degree = plan->split.degree[a];
        key[4 + 2 * a] = degree;
        key[5 + 2 * a] = plan->split.sizes[a]
                             ? intern(l, plan->split.sizes[a], (size_t)degree * sizeof(int64_t))
                             : -1;
    }
    int known = hp_table_get(&l->layout_keys, key, sizeof key);
    if (known < 0) {
        int64_t *kept = NEW(&l->scratch, int64_t, LAYOUT_KEY);
        memcpy(kept, key, sizeof key);
        known = l->n_layouts++;
        /* a new block each time: others point at the layouts already there */
        struct part_layout *layout = NEW(&l->scratch, struct part_layout, 1);
        fill_layout(l, layout, op, samples);
        layout->id = known;
        l->layouts = GROW(&l->scratch, const struct part_layout *, l->layouts, known,
                          &l->layout_capacity);
        l->layouts[known] = layout;
        hp_table_put(&l->layout_keys, &l->scratch, kept, sizeof key, known);
    }
    return l->layouts[known];
}

enum hypar_status hp_pattern_of(struct lowering *l, const struct stakeholder *writers,
                                int n_writers, const struct stakeholder *readers, int n_readers,
                                const struct pattern **out)
{
    int n = n_writers + n_readers;
    int64_t *key = NEW(&l->scratch, int64_t, 1 + 3 * n);
    key[0] = n_writers;
    for (int i = 0; i < n; i++) {
        const struct stakeholder *who = i < n_writers ? &writers[i] : &readers[i - n_writers];
        key[1 + 3 * i] = who->layout->id;
        key[2 + 3 * i] = who->operand;
        key[3 + 3 * i] = (int64_t)who->copies << 32 | who->partial;
    }
    size_t bytes = (size_t)(1 + 3 * n) * sizeof *key;
    int known = hp_table_get(&l->pattern_keys, key, bytes);
    if (known < 0) {
        const struct pattern *found;
        TRY(hp_find_pattern(&l->program->arena, writers, n_writers, readers, n_readers, &found,
                            l->err));
        known = l->n_patterns;
        l->patterns = GROW(&l->scratch, const struct pattern *, l->patterns, l->n_patterns,
                           &l->pattern_capacity);
        l->patterns[l->n_patterns++] = found;
        hp_table_put(&l->pattern_keys, &l->scratch, key, bytes, known);
    }
    *out = l->patterns[known];
    return HYPAR_OK;
}

int hp_max_stakes(const struct hypar_graph *graph, int tensor)
{
    return (graph->use_start[tensor + 1] - graph->use_start[tensor] + 1) * MAX_PASSES;
}

int hp_operand_of(const struct op *op, int t)
{
    int o = 0;
    while (op->tensor[o] != t)
        o++;
    return o;
}

static int add_writers(struct writer *w, int op, int o, bool grad, struct stakeholder *who,
                       int *task, int n)
{
    const struct nest *nest = w->l->graph->ops[op].nest;
    for (int p = 0; p < nest->n_passes; p++) {
        operand_set written = grad ? nest->pass[p].writes_grad : nest->pass[p].writes;
        if (!(w->l->flow.passes[op] >> p & 1) || !(written >> o & 1))
            continue;
        who[n] = (struct stakeholder){
            .layout = w->layout[op],
            .operand = o,
            .copies = hp_copy_axes(nest, w->layout[op]->split, p, o),
        };
        task[n++] = w->pass_task[op][p];
    }
    return n;
}

/* A value is written by its producer, a gradient by all who read the value. */
int hp_writers_of(struct writer *w, struct place place, struct stakeholder *who, int *task)
{
    const struct hypar_graph *g = w->l->graph;
    int n = 0;
    if (!place.grad) {
        int op = g->tensors[place.tensor].producer;
        return add_writers(w, op, hp_operand_of(&g->ops[op], place.tensor), false, who, task,
                           0);
    }
    for (int u = g->use_start[place.tensor]; u < g->use_start[place.tensor + 1]; u++)
        if (w->l->flow.active[g->use[u].op])
            n = add_writers(w, g->use[u].op, g->use[u].operand, true, who, task, n);
    return n;
}

/* Passes of `op` that read operand `o` (its gradient); those that only add it are told apart.
 */
static uint32_t reading_passes(const struct lowering *l, int op, int o, bool grad,
                               bool *only_adds)
{
    const struct nest *nest = l->graph->ops[op].nest;
    uint32_t passes = 0;
    *only_adds = true;
    for (int p = 0; p < nest->n_passes; p++) {
        operand_set read = grad ? nest->pass[p].reads_grad : nest->pass[p].reads;
        if (!(l->flow.passes[op] >> p & 1) || !(read >> o & 1))
            continue;
        passes |= 1u << p;
        *only_adds &= (nest->pass[p].adds >> o & 1) != 0;
    }
    return passes;
}

static int add_reader(struct writer *w, int op, int o, bool grad, struct stakeholder *who,
                      struct reader *reader, int n)
{
    bool only_adds;
    uint32_t passes = reading_passes(w->l, op, o, grad, &only_adds);
    if (!passes)
        return n;
    const struct nest *nest = w->l->graph->ops[op].nest;
    who[n] = (struct stakeholder){ .layout = w->layout[op], .operand = o };
    for (int p = 0; only_adds && p < nest->n_passes; p++)
        for (int y = 0; passes >> p & 1 && y < nest->n_operands; y++)
            if (nest->pass[p].writes >> y & 1) /* a bias is added by the first part of a sum */
                who[n].partial |= hp_partial_axes(nest, w->layout[op]->split, p, y);
    reader[n++] = (struct reader){ op, o, passes };
    return n;
}

/* A value is read by its users and, perhaps, by its producer's later passes; a gradient by the
 * producer's backward passes. */
int hp_readers_of(struct writer *w, struct place place, struct stakeholder *who,
                  struct reader *reader)
{
    const struct hypar_graph *g = w->l->graph;
    int n = 0, producer = g->tensors[place.tensor].producer;
    if (producer >= 0)
        n = add_reader(w, producer, hp_operand_of(&g->ops[producer], place.tensor), place.grad,
                       who, reader, n);
    for (int u = g->use_start[place.tensor]; !place.grad && u < g->use_start[place.tensor + 1];
         u++)
        n = add_reader(w, g->use[u].op, g->use[u].operand, false, who, reader, n);
    return n;
}
