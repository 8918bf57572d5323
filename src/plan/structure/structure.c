/* Finds the structure of a plan. Operators with equal plans have the same number, a token;
 * layers are repetitions in the sequence of tokens. */
#include "plan/structure/structure.h"

#include <stdlib.h>
#include <string.h>

#include "base/sort.h"
#include "graph/structure/repeated.h"
#include "plan/structure/names.h"

struct builder {
    struct plan_structure *s;
    struct arena *arena;
    int *token; /* by operator */
    int row_capacity, piece_capacity, layers_capacity;
};

/* Devices ----------------------------------------------------------------------------- */

static struct device_list sorted(struct arena *arena, const int *device, int n)
{
    int *list = NEW(arena, int, n + 1);
    if (n)
        memcpy(list, device, (size_t)n * sizeof *list);
    hp_sort_ints(list, n);
    return (struct device_list){ n, list };
}

/* Find the devices that some operator is on, and the runs of idle devices. */
static bool *used_devices(struct builder *b)
{
    struct plan_structure *s = b->s;
    int n = hypar_machine_device_count(s->plan->machine), capacity = 0;
    bool *used = NEW(b->arena, bool, n);
    const struct op_plan *before = NULL; /* operators share their device lists */
    for (int op = 0; op < s->plan->graph->n_ops; op++) {
        const struct op_plan *p = &s->plan->ops[op];
        bool marked =
            before && p->device == before->device && p->n_devices <= before->n_devices;
        for (int i = 0; i < p->n_devices && !marked; i++)
            used[p->device[i]] = true;
        before = p;
    }
    for (int d = 0; d < n; d++) {
        if (used[d])
            continue;
        if (d > 0 && !used[d - 1]) {
            s->idle[s->n_idle - 1].last = d;
            continue;
        }
        s->idle = GROW(b->arena, struct idle_run, s->idle, s->n_idle, &capacity);
        s->idle[s->n_idle++] = (struct idle_run){ d, d };
    }
    return used;
}

static void find_homes(struct builder *b)
{
    struct plan_structure *s = b->s;
    int n_stages = s->plan->n_stages, n = hypar_machine_device_count(s->plan->machine);
    const bool *used = used_devices(b);
    s->home = NEW(b->arena, struct device_list, n_stages + 1);
    for (int i = 0; i < n_stages; i++)
        s->home[i] = sorted(b->arena, s->plan->stages[i].device, s->plan->stages[i].n_devices);
    if (n_stages)
        return;
    int *all = NEW(b->arena, int, n + 1), n_all = 0;
    for (int d = 0; d < n; d++)
        if (used[d])
            all[n_all++] = d;
    s->home[0] = (struct device_list){ n_all, all };
}

const struct device_list *hp_home(const struct plan_structure *s, int op)
{
    int stage = s->plan->ops[op].stage;
    return &s->home[stage < 0 ? 0 : stage];
}

bool hp_fills_home(const struct plan_structure *s, int op)
{
    return s->fills[op];
}

static void find_fillers(struct builder *b)
{
    struct plan_structure *s = b->s;
    const struct op_plan *ops = s->plan->ops;
    s->fills = NEW(b->arena, bool, s->plan->graph->n_ops);
    for (int op = 0; op < s->plan->graph->n_ops; op++) {
        const struct device_list *home = hp_home(s, op);
        bool as_before = op > 0 && home == hp_home(s, op - 1) &&
                         ops[op].device == ops[op - 1].device; /* a shared list */
        if (ops[op].n_devices != home->n)
            continue;
        s->fills[op] =
            (as_before && s->fills[op - 1]) || home->n == 0 ||
            memcmp(ops[op].device, home->device, (size_t)home->n * sizeof *home->device) == 0;
    }
}

/* The index of a device in its list. */
static int place_of(const struct device_list *home, int device)
{
    const int *at = home->n ? bsearch(&device, home->device, (size_t)home->n, sizeof device,
                                      hp_compare_ints)
                            : NULL;
    return at ? (int)(at - home->device) : -1;
}

/* Are two operators on the same places of their stages' devices? */
static bool on_same_places(const struct plan_structure *s, int a, int b)
{
    const struct op_plan *x = &s->plan->ops[a], *y = &s->plan->ops[b];
    const struct device_list *home_a = hp_home(s, a), *home_b = hp_home(s, b);
    if (x->n_devices != y->n_devices || home_a->n != home_b->n)
        return false;
    if (home_a == home_b && x->device == y->device)
        return true;
    bool full = hp_fills_home(s, a);
    if (full || hp_fills_home(s, b))
        return full && hp_fills_home(s, b);
    for (int i = 0; i < x->n_devices; i++)
        if (place_of(home_a, x->device[i]) != place_of(home_b, y->device[i]))
            return false;
    return true;
}

/* Tokens ------------------------------------------------------------------------------ */

static bool planned_alike(const struct plan_structure *s, int a, int b)
{
    const struct op_plan *x = &s->plan->ops[a], *y = &s->plan->ops[b];
    const struct nest *nest = s->plan->graph->ops[a].nest;
    for (int axis = 0; axis < nest->n_axes; axis++)
        if (!hp_same_parts(&x->split, &y->split, axis))
            return false;
    return x->recompute == y->recompute && x->resend == y->resend && x->shard == y->shard &&
           x->shard_over == y->shard_over && on_same_places(s, a, b);
}

/* Give operators of one nest with equal plans the number of the first of them. */
static void find_tokens(struct builder *b)
{
    const struct hypar_graph *g = b->s->plan->graph;
    int *first = NEW(b->arena, int, g->n_nests); /* by nest: an operator, plus 1 */
    int *next = NEW(b->arena, int, g->n_ops);    /* by operator: the next operator of the list,
                                                  * plus 1 */
    b->token = NEW(b->arena, int, g->n_ops);
    for (int op = 0; op < g->n_ops; op++) {
        int *list = &first[g->ops[op].nest->like], other = *list;
        while (other && !planned_alike(b->s, other - 1, op))
            other = next[other - 1];
        b->token[op] = other ? other - 1 : op;
        if (!other) {
            next[op] = *list;
            *list = op + 1;
        }
    }
}

/* Pieces ------------------------------------------------------------------------------ */

/* Do two operators have the same letters with the same degrees? */
static bool reads_alike(const struct plan_structure *s, int a, int b)
{
    const struct nest *x = s->plan->graph->ops[a].nest, *y = s->plan->graph->ops[b].nest;
    for (int i = 0, k = 0;; i++, k++) {
        while (i < x->n_axes && hypar_plan_degree(s->plan, a, i) == 1)
            i++;
        while (k < y->n_axes && hypar_plan_degree(s->plan, b, k) == 1)
            k++;
        if (i == x->n_axes || k == y->n_axes)
            return i == x->n_axes && k == y->n_axes && on_same_places(s, a, b);
        if (strcmp(x->axis[i].name, y->axis[k].name) != 0 ||
            hypar_plan_degree(s->plan, a, i) != hypar_plan_degree(s->plan, b, k))
            return false;
    }
}

/* The division of one of an operator's tensors, in the order of its parts. */
struct division {
    int n;
    int dim[MAX_AXES]; /* -1: copies */
    int degree[MAX_AXES];
    const int64_t *sizes[MAX_AXES];
};

/* Find the division of a tensor. Returns false if some axis does not divide this tensor. */
static bool divide(const struct plan_structure *s, int op, int operand, struct division *out)
{
    const struct nest *nest = s->plan->graph->ops[op].nest;
    const struct split *split = &s->plan->ops[op].split;
    out->n = 0;
    for (int axis = 0; axis < nest->n_axes; axis++) {
        if (hp_degree(split, axis) == 1)
            continue;
        int dim = hp_led_dim(nest, operand, axis);
        if (dim < 0 && axis != nest->n_axes - 1)
            return false;
        out->dim[out->n] = dim;
        out->degree[out->n] = hp_degree(split, axis);
        out->sizes[out->n++] = split->sizes[axis];
    }
    return true;
}

static bool same_division(const struct division *a, const struct division *b)
{
    bool same = a->n == b->n;
    for (int i = 0; i < a->n && same; i++) {
        same = a->dim[i] == b->dim[i] && a->degree[i] == b->degree[i] &&
               !a->sizes[i] == !b->sizes[i];
        if (same && a->sizes[i])
            same = memcmp(a->sizes[i], b->sizes[i],
                          (size_t)a->degree[i] * sizeof *a->sizes[i]) == 0;
    }
    return same;
}

/* Does `op`, which has no products, read a result of first .. op - 1 with the same division? */
static bool goes_on(const struct plan_structure *s, int first, int op)
{
    const struct hypar_graph *g = s->plan->graph;
    const struct op *reader = &g->ops[op];
    if (hp_multiplies(reader->nest))
        return false;
    for (int o = 0; o < reader->nest->n_operands; o++) {
        int t = reader->tensor[o];
        if (t < 0 || reader->nest->operand[o].role != OPERAND_INPUT ||
            g->tensors[t].producer < first)
            continue;
        struct division read, written;
        int writer = g->tensors[t].producer;
        if (divide(s, op, o, &read) &&
            divide(s, writer, hp_output_operand(&g->ops[writer], t), &written) && read.n > 0 &&
            same_division(&read, &written) && on_same_places(s, writer, op))
            return true;
    }
    return false;
}

/* The piece that begins with `first`, up to operator `end`. */
static struct plan_piece piece_from(const struct plan_structure *s, int first, int end)
{
    int op = first + 1;
    while (op < end && (reads_alike(s, first, op) || goes_on(s, first, op)))
        op++;
    return (struct plan_piece){ first, op - first };
}

static int count_pieces(const struct plan_structure *s, int from, int to)
{
    int n = 0;
    for (; from < to; n++)
        from += piece_from(s, from, to).n_ops;
    return n;
}

/* Rows -------------------------------------------------------------------------------- */

static void add_row(struct builder *b, int first, int n_ops, int count)
{
    struct plan_structure *s = b->s;
    struct plan_row row = { first, n_ops, count, s->n_pieces, 0 };
    for (int op = first; op < first + n_ops; row.n_pieces++) {
        struct plan_piece piece = piece_from(s, op, first + n_ops);
        s->piece = GROW(b->arena, struct plan_piece, s->piece, s->n_pieces, &b->piece_capacity);
        s->piece[s->n_pieces++] = piece;
        op += piece.n_ops;
    }
    s->row = GROW(b->arena, struct plan_row, s->row, s->n_rows, &b->row_capacity);
    s->row[s->n_rows++] = row;
}

const struct run *hp_layers_of(const struct plan_structure *s, int op)
{
    int low = 0, high = s->n_layers;
    while (low < high) {
        int middle = (low + high) / 2;
        const struct run *layers = &s->layers[middle];
        if (op < layers->first)
            high = middle;
        else if (op >= layers->first + layers->period * layers->count)
            low = middle + 1;
        else
            return layers;
    }
    return NULL;
}

/* The end of the piece that begins with `from`. A piece shorter than a layer ends at the latest
 * with its layer, so that different layers are reported one by one. */
static int piece_end(const struct plan_structure *s, int from, int to)
{
    int n_ops = piece_from(s, from, to).n_ops, end = from + n_ops;
    const struct run *layers = hp_layers_of(s, from);
    if (!layers || n_ops >= layers->period)
        return end;
    int layer_end = from + layers->period - (from - layers->first) % layers->period;
    return layer_end < end ? layer_end : end;
}

/* Do operators from .. to - 1 belong to one layer, or to one module outside layers? */
static bool is_one_module(const struct plan_structure *s, int from, int to)
{
    const struct run *layers = hp_layers_of(s, from);
    if (layers != hp_layers_of(s, to - 1) || !hp_module_length(s->plan->graph, from, to))
        return false;
    return !layers ||
           (from - layers->first) / layers->period == (to - 1 - layers->first) / layers->period;
}

/* Add rows for operators that do not repeat: a row for each piece, or one row for the pieces of
 * one module, according to the names ("Mixed_6b."). */
static void add_others(struct builder *b, int from, int to)
{
    while (from < to) {
        int end = piece_end(b->s, from, to);
        while (end < to && is_one_module(b->s, from, end)) {
            int next = piece_end(b->s, end, to);
            if (!is_one_module(b->s, from, next))
                break;
            end = next;
        }
        add_row(b, from, end - from, 1);
        from = end;
    }
}

enum {
    LEAST_SAVED = 3
}; /* least number of pieces saved: a row that saves fewer is not easier
    * to read */

static bool worth_folding(const struct plan_structure *s, const struct run *run)
{
    int end = run->first + run->count * run->period;
    return run->count > 1 && count_pieces(s, run->first, end) -
                                     count_pieces(s, run->first, run->first + run->period) >=
                                 LEAST_SAVED;
}

static void find_rows(struct builder *b, const int64_t *border)
{
    int n_runs, done = 0;
    const struct run *run =
        hp_find_runs(b->arena, b->token, b->s->plan->graph->n_ops, border, &n_runs);
    for (int i = 0; i < n_runs; i++) {
        if (!worth_folding(b->s, &run[i]))
            continue;
        add_others(b, done, run[i].first);
        add_row(b, run[i].first, run[i].period, run[i].count);
        done = run[i].first + run[i].count * run[i].period;
    }
    add_others(b, done, b->s->plan->graph->n_ops);
}

/* Find the layers of the graph: named repetitions, whatever the plan. */
static void find_layers(struct builder *b, const int64_t *border)
{
    struct plan_structure *s = b->s;
    const struct hypar_graph *g = s->plan->graph;
    int n_runs, *nest = NEW(b->arena, int, g->n_ops);
    for (int op = 0; op < g->n_ops; op++)
        nest[op] = g->ops[op].nest->like;
    const struct run *run = hp_find_runs(b->arena, nest, g->n_ops, border, &n_runs);
    for (int i = 0; i < n_runs; i++) {
        if (run[i].count < 2 || !hp_layers_named(g, run[i].first, run[i].period, run[i].count))
            continue;
        s->layers = GROW(b->arena, struct run, s->layers, s->n_layers, &b->layers_capacity);
        s->layers[s->n_layers++] = run[i];
    }
}

/* Stages ------------------------------------------------------------------------------ */

/* Find the blocks: stages of the same devices, in the order of their first stage. */
static void find_blocks(struct builder *b)
{
    struct plan_structure *s = b->s;
    int n = s->plan->n_stages;
    int *next = NEW(b->arena, int, n + 1), *list = NEW(b->arena, int, n + 1);
    struct table known = { 0 };
    int *block_of = NEW(b->arena, int, n + 1), *last = NEW(b->arena, int, n + 1);
    s->block = NEW(b->arena, struct plan_block, n + 1);
    for (int i = 0; i < n; i++) {
        const struct device_list *home = &s->home[i];
        int block = hp_table_put(&known, b->arena, home->device,
                                 (size_t)home->n * sizeof *home->device, s->n_blocks);
        block_of[i] = block;
        if (block == s->n_blocks)
            s->n_blocks++;
        else
            next[last[block]] = i;
        last[block] = i;
        s->block[block].n_stages++;
    }
    for (int i = 0, at = 0; i < n; i++) {
        struct plan_block *block = &s->block[block_of[i]];
        if (block->stage)
            continue;
        block->stage = list + at;
        for (int k = 0, stage = i; k < block->n_stages; k++, stage = next[stage])
            list[at++] = stage;
    }
}

struct stage_degrees hp_stage_degrees(const struct hypar_plan *plan, int stage)
{
    const struct hypar_stage *s = &plan->stages[stage];
    struct stage_degrees d = { 0 };
    bool known = true;
    for (int i = 0; i < s->n_ops; i++) {
        int op = s->op[i], axis = hp_sample_axis(plan->graph->ops[op].nest);
        int degree = s->share == HYPAR_SHARE_MINIBATCH ? s->replicas
                     : axis < 0                        ? d.replicas
                                                       : hypar_plan_degree(plan, op, axis);
        known &=
            (!d.replicas || d.replicas == degree) && plan->ops[op].n_devices == s->n_devices;
        d.replicas = degree;
    }
    if (!known || d.replicas == 0 || s->n_devices % d.replicas)
        return (struct stage_degrees){ 0 };
    d.tensor = s->n_devices / d.replicas;
    return d;
}

static bool same_stage(const struct builder *b, int x, int y, bool same)
{
    const struct hypar_plan *plan = b->s->plan;
    const struct hypar_stage *p = &plan->stages[x], *q = &plan->stages[y];
    if (p->n_devices != q->n_devices || p->replicas != q->replicas || p->share != q->share)
        return false;
    if (!same) {
        struct stage_degrees c = hp_stage_degrees(plan, x), d = hp_stage_degrees(plan, y);
        return c.replicas == d.replicas && c.tensor == d.tensor;
    }
    if (p->n_ops != q->n_ops)
        return false;
    for (int i = 0; i < p->n_ops; i++)
        if (b->token[p->op[i]] != b->token[q->op[i]])
            return false;
    return true;
}

static bool same_block(const struct builder *b, int x, int y, bool same)
{
    const struct plan_block *p = &b->s->block[x], *q = &b->s->block[y];
    if (p->n_stages != q->n_stages)
        return false;
    for (int i = 0; i < p->n_stages; i++)
        if (q->stage[i] != p->stage[i] + (y - x) ||
            !same_stage(b, p->stage[i], q->stage[i], same))
            return false;
    return true;
}

enum { MOST_GROUPS = 12 };

/* Group equal blocks; if there are too many groups, group blocks with equal degrees, except the
 * first and the last. */
static void find_groups(struct builder *b)
{
    struct plan_structure *s = b->s;
    s->group = NEW(b->arena, struct plan_group, s->n_blocks + 1);
    for (int pass = 0; pass < 2; pass++) {
        bool same = pass == 0;
        s->n_groups = 0;
        for (int i = 0; i < s->n_blocks;) {
            int n = 1;
            bool edge = !same && (i == 0 || i == s->n_blocks - 1);
            while (!edge && i + n < s->n_blocks - !same && same_block(b, i, i + n, same))
                n++;
            s->group[s->n_groups++] = (struct plan_group){ i, n, same || n == 1 };
            i += n;
        }
        if (s->n_groups <= MOST_GROUPS)
            return;
    }
}

/* The penalty for a layer to begin at each place: by the common parts of the names before and
 * after it, then by the elements that cross it. */
static int64_t *find_borders(struct arena *arena, const struct hypar_graph *g)
{
    enum { SHIFT = 50, MOST_SHARED = 1000 };
    const int64_t most = ((int64_t)1 << SHIFT) - 1;
    int64_t *border = hp_crossing(arena, g, true);
    for (int i = 0; i <= g->n_ops; i++) {
        int shared = i > 0 && i < g->n_ops ? hp_shared_parts(g, i - 1, i) : 0;
        border[i] = (border[i] < most ? border[i] : most) +
                    ((int64_t)(shared < MOST_SHARED ? shared : MOST_SHARED) << SHIFT);
    }
    return border;
}

struct plan_structure hp_plan_structure(struct arena *arena, const struct hypar_plan *plan)
{
    struct plan_structure s = { .plan = plan };
    struct builder b = { .s = &s, .arena = arena };
    const int64_t *border = find_borders(arena, plan->graph);
    find_homes(&b);
    find_fillers(&b);
    find_tokens(&b);
    find_layers(&b, border);
    find_rows(&b, border);
    find_blocks(&b);
    find_groups(&b);
    return s;
}
