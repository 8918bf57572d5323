/* Makes OptCNN's variables and states: the configurations of each operator, and the lists of
 * placements of the operators that follow another one. */
#include "search/layerwise/optcnn.h"

#include "base/number.h"

#include "search/limits.h"
#include "search/runnable.h"

#include <math.h>
#include <string.h>

/* Configurations ------------------------------------------------------------------------- */

/* Configurations to leave out if there are too many. Each level includes the restrictions of
 * the levels before. */
enum thinning {
    THIN_NONE,
    THIN_TOTALS, /* use one device, one group of a cut, or all devices */
    THIN_AXES,   /* divide at most two axes */
    THIN_LEVELS, /* degrees: only such a number of devices, or the number of all devices divided
                  * by one */
    THIN_ONE,    /* divide at most one axis */
    THIN_COUNT,
};

/* Is n one device, a group of a cut, or all devices? */
static bool is_level(const struct topology_view *f, int n)
{
    bool level = n == 1 || n == f->n_devices;
    for (int c = 0; c < f->n_cuts; c++)
        level |= n == f->cut[c].size;
    return level;
}

static bool may_total(const struct topology_view *f, int n, int thinning)
{
    if (thinning >= THIN_TOTALS)
        return is_level(f, n);
    return n <= f->n_devices && (f->n_devices % n == 0 || hp_is_power_of_two(n));
}

static bool may_divide(const struct topology_view *f, int degree, int thinning)
{
    if (thinning < THIN_LEVELS)
        return true;
    return is_level(f, degree) ||
           (f->n_devices % degree == 0 && is_level(f, f->n_devices / degree));
}

enum { MAX_TOTALS = 256 }; /* a number up to 4096 has at most 40 divisors */

struct enumeration {
    const struct topology_view *topology;
    const struct nest *nest;
    const struct optcnn_choice *choice;
    int n_totals, total[MAX_TOTALS];    /* permitted numbers of devices, ascending */
    int n_degrees, divisor[MAX_TOTALS]; /* divisors of these numbers, ascending */
    int degree[MAX_AXES];
    bool whole; /* use all devices, in equal parts */
    int (*out)[MAX_AXES];
    int n, max;
};

static bool may_use(const struct enumeration *e, int n)
{
    return e->whole ? n == e->topology->n_devices
                    : may_total(e->topology, n, e->choice->thinning);
}

/* Can `parts`, multiplied by degrees of further axes, reach a permitted number of devices? */
static bool may_grow(const struct enumeration *e, int parts)
{
    for (int i = 0; i < e->n_totals; i++)
        if (e->total[i] % parts == 0)
            return true;
    return false;
}

static void list_totals(struct enumeration *e)
{
    int n = e->topology->n_devices;
    for (int i = 1; i <= n; i++)
        if (may_use(e, i) && e->n_totals < MAX_TOTALS)
            e->total[e->n_totals++] = i;
    for (int i = 1; i <= n; i++)
        if (may_grow(e, i) && may_divide(e->topology, i, e->choice->thinning) &&
            e->n_degrees < MAX_TOTALS)
            e->divisor[e->n_degrees++] = i;
}

static void enumerate(struct enumeration *e, int a, int parts, int divided)
{
    static const int most_axes[THIN_COUNT] = { MAX_AXES, MAX_AXES, 2, 2, 1 };
    if (e->n > e->max)
        return;
    if (a == e->nest->n_axes) {
        if (!may_use(e, parts))
            return;
        if (e->n < e->max && e->out)
            memcpy(e->out[e->n], e->degree, sizeof e->degree);
        e->n++;
        return;
    }
    const struct hypar_axis *axis = &e->nest->axis[a];
    char dimension = hp_optcnn_dimension(axis);
    bool may = dimension && strchr(e->choice->dimensions, dimension) &&
               (!e->choice->problem || hp_allowed_axes(e->choice->problem, e->nest) >> a & 1) &&
               divided < most_axes[e->choice->thinning];
    int64_t most = may ? e->topology->n_devices / parts : 1;
    if (most > axis->extent)
        most = axis->extent;
    for (int i = 0; i < e->n_degrees && e->divisor[i] <= most; i++) {
        int degree = e->divisor[i];
        bool equal = axis->extent % degree == 0;
        if (degree > 1 && (!may_grow(e, parts * degree) || (e->whole && !equal)))
            continue;
        e->degree[a] = degree;
        enumerate(e, a + 1, parts * degree, divided + (degree > 1));
    }
    e->degree[a] = 1;
}

int hp_configurations(const struct topology_view *topology, const struct nest *nest,
                      const struct optcnn_choice *choice, int (*degree)[MAX_AXES], int max)
{
    struct enumeration e = { .n = 0 };
    /* A target framework runs every operator on all devices; other configurations only if there
     * is none. */
    for (int whole = choice->problem && choice->problem->target; whole >= 0 && !e.n; whole--) {
        e = (struct enumeration){ .topology = topology,
                                  .nest = nest,
                                  .choice = choice,
                                  .whole = whole,
                                  .out = degree,
                                  .max = max };
        for (int a = 0; a < MAX_AXES; a++)
            e.degree[a] = 1;
        list_totals(&e);
        enumerate(&e, 0, 1, 0);
    }
    return e.n;
}

/* Lists ---------------------------------------------------------------------------------- */

/* The origin of a list: derived from the list of another operator, through a tensor (or a
 * parameter). */
struct derivation {
    int parent; /* list number; -1: the list has the configurations of the nest */
    int parent_nest, parent_operand, nest, operand;
    int by_parameter;
};

static int add_list(struct optcnn_space *s, const struct derivation *how, int n,
                    struct placement *at)
{
    struct derivation *key = NEW(s->arena, struct derivation, 1);
    *key = *how;
    s->lists = GROW(s->arena, struct placement_list, s->lists, s->n_lists, &s->list_capacity);
    s->lists[s->n_lists] = (struct placement_list){ n, at };
    hp_table_put(&s->derived, s->arena, key, sizeof *key, s->n_lists);
    return s->n_lists++;
}

static int own_list(struct optcnn_space *s, const struct nest *nest)
{
    struct derivation how = { .parent = -1, .nest = nest->like };
    int known = hp_table_get(&s->derived, &how, sizeof how);
    if (known >= 0)
        return known;
    int n = hp_configurations(s->topology, nest, &s->choice, NULL, HP_MANY);
    n = n < HP_MANY ? n : HP_MANY;
    int(*degree)[MAX_AXES] = hp_arena_alloc(s->arena, (size_t)n, sizeof *degree, alignof(int));
    struct placement *at = NEW(s->arena, struct placement, n);
    hp_configurations(s->topology, nest, &s->choice, degree, n);
    for (int i = 0; i < n; i++)
        at[i] = hp_place_row_major(s->topology, nest, degree[i]);
    return add_list(s, &how, n, at);
}

static int derived_list(struct optcnn_space *s, struct derivation how,
                        const struct nest *parent, const struct nest *nest)
{
    int known = hp_table_get(&s->derived, &how, sizeof how);
    if (known >= 0)
        return known;
    const struct placement_list from = s->lists[how.parent];
    struct placement *at = NEW(s->arena, struct placement, from.n);
    for (int i = 0; i < from.n; i++)
        at[i] = how.by_parameter ? hp_share_parameter(s->topology, parent, how.parent_operand,
                                                      &from.at[i], nest, how.operand)
                                 : hp_take_over(s->topology, parent, how.parent_operand,
                                                &from.at[i], nest, how.operand);
    return add_list(s, &how, from.n, at);
}

/* Variables ------------------------------------------------------------------------------ */

/* The first input that an operator of the same node writes. */
static int inner_input(const struct optcnn_space *s, int op)
{
    const struct hypar_graph *g = s->graph;
    const int *node = s->layered->node_of_op;
    for (int o = 0; o < g->ops[op].nest->n_inputs; o++) {
        int t = g->ops[op].tensor[o];
        if (t >= 0 && g->tensors[t].producer >= 0 && node[g->tensors[t].producer] == node[op])
            return o;
    }
    return -1;
}

static int inherited_list(struct optcnn_space *s, int op)
{
    const struct hypar_graph *g = s->graph;
    int o = inner_input(s, op), t = g->ops[op].tensor[o];
    const struct op *from = &g->ops[g->tensors[t].producer];
    struct derivation how = { .parent = s->list[g->tensors[t].producer],
                              .parent_nest = from->nest->like,
                              .parent_operand = hp_output_operand(from, t),
                              .nest = g->ops[op].nest->like,
                              .operand = o };
    return derived_list(s, how, from->nest, g->ops[op].nest);
}

/* Find a parameter that both operators read: its operand in each. */
static void shared_operands(const struct hypar_graph *g, int a, int b, int *ao, int *bo)
{
    *ao = *bo = -1;
    for (int i = 0; i < g->ops[a].nest->n_inputs && *ao < 0; i++)
        for (int j = 0; j < g->ops[b].nest->n_inputs && *ao < 0; j++) {
            int t = g->ops[a].tensor[i];
            if (t >= 0 && t == g->ops[b].tensor[j] && g->tensors[t].kind == TENSOR_PARAM) {
                *ao = i;
                *bo = j;
            }
        }
}

/* The list of `op`, which shares parameters with operators of `var`, though maybe not with the
 * first one. */
static int sharing_list(struct optcnn_space *s, int op, int var)
{
    const struct hypar_graph *g = s->graph;
    int with = s->lead[var], lo = -1, oo = -1;
    for (; with < op; with++) {
        if (s->var_of[with] == var)
            shared_operands(g, with, op, &lo, &oo);
        if (lo >= 0)
            break;
    }
    if (lo < 0) /* no operator before `op` shares a parameter with it directly */
        with = s->lead[var];
    struct derivation how = { .parent = s->list[with],
                              .parent_nest = g->ops[with].nest->like,
                              .parent_operand = lo,
                              .nest = g->ops[op].nest->like,
                              .operand = oo,
                              .by_parameter = 1 };
    return derived_list(s, how, g->ops[with].nest, g->ops[op].nest);
}

static void number_variables(struct optcnn_space *s)
{
    const struct layered *l = s->layered;
    int n_ops = s->graph->n_ops;
    s->n_vars = l->n_vars;
    s->var_of = NEW(s->arena, int, n_ops);
    s->list = NEW(s->arena, int, n_ops);
    s->lead = NEW(s->arena, int, l->n_vars + n_ops);
    for (int v = 0; v < l->n_vars; v++)
        s->lead[v] = -1;
    for (int op = 0; op < n_ops; op++) {
        int node = l->node_of_op[op];
        s->var_of[op] = node >= 0 ? l->node[node].var : s->n_vars++;
        if (node < 0) /* an operator that reads only model inputs has a state of its own */
            s->lead[s->var_of[op]] = op;
        else if (s->lead[s->var_of[op]] < 0)
            s->lead[s->var_of[op]] = op;
    }
}

static void make_lists(struct optcnn_space *s)
{
    for (int op = 0; op < s->graph->n_ops; op++) {
        int var = s->var_of[op], node = s->layered->node_of_op[op];
        if (s->lead[var] == op)
            s->list[op] = own_list(s, s->graph->ops[op].nest);
        else if (s->layered->node[node].op == op)
            s->list[op] = sharing_list(s, op, var);
        else
            s->list[op] = inherited_list(s, op);
    }
}

/* How much there is to do ---------------------------------------------------------------- */

/* Seconds for all pairs of states of two operators with n configurations each, roughly. The
 * constants were measured once. They determine which configurations are searched, so they must
 * not depend on the machine that plans. */
static double pairs_s(const struct topology_view *f, double n)
{
    double levels = log2(f->n_devices) + 1, axis_ids = levels * (levels + 1) / 2;
    if (f->kind == TOPOLOGY_ROUTED)
        return n * n * 30e-9 * pow(f->n_devices, 1.5);
    return n * n * (100e-9 + 2e-9 * f->n_groups) +
           20e-9 * f->n_groups * fmin(n, axis_ids) * axis_ids;
}

/* Seconds to fill and solve the tables, roughly. */
static double estimate_s(const struct optcnn_space *s, const struct optcnn_choice *choice)
{
    const struct hypar_graph *g = s->graph;
    double sum = 0, *n = NEW(s->arena, double, g->n_nests);
    for (int i = 0; i < g->n_nests; i++)
        n[i] = -1;
    for (int v = 0; v < s->n_vars; v++) {
        const struct nest *nest = g->ops[s->lead[v]].nest;
        if (n[nest->like] < 0) {
            n[nest->like] = hp_configurations(s->topology, nest, choice, NULL, HP_MANY);
            sum += 2 * pairs_s(s->topology, n[nest->like]);
        }
        sum += 1e-9 * pow(n[nest->like], 3);
    }
    return sum;
}

void hp_optcnn_space(struct optcnn_space *out, struct arena *arena,
                     const struct problem *problem, struct topology_view *topology,
                     const char *dimensions, double seconds)
{
    *out = (struct optcnn_space){ .arena = arena,
                                  .graph = problem->graph,
                                  .layered = problem->layered,
                                  .topology = topology,
                                  .choice = { .dimensions = dimensions, .problem = problem },
                                  .stop = problem->options ? problem->options->stop : NULL };
    number_variables(out);
    while (out->choice.thinning + 1 < THIN_COUNT && estimate_s(out, &out->choice) > seconds)
        out->choice.thinning++;
    make_lists(out);
}
