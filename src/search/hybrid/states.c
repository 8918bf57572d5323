/* Enumerates the states of the operators of a small stage, except those that cannot be faster
 * than the best known estimate or cannot fit in memory.
 *
 * The splittings at different prices of memory (and of sums that partly overlap) only reach the
 * convex hull of all choices. With few choices, all of them are tried. */
#include <math.h>
#include <string.h>

#include "base/stop.h"
#include "search/estimate/needs.h"
#include "search/hybrid/stage.h"

/* Lower bounds for the cost of variables in their states. */
struct state_bound {
    double own_s;  /* time without exchanges with variables whose state is open */
    double last_s; /* time after the last gradient */
    /* Bytes: kept from step to step; of activations of a micro-batch; while one variable is
     * computed. */
    double fixed_bytes, kept_bytes, touched_bytes;
};

/* The bound of two parts in sequence. */
static struct state_bound both(const struct state_bound *a, const struct state_bound *b)
{
    return (struct state_bound){ a->own_s + b->own_s, fmax(a->last_s, b->last_s),
                                 a->fixed_bytes + b->fixed_bytes, a->kept_bytes + b->kept_bytes,
                                 fmax(a->touched_bytes, b->touched_bytes) };
}

/* The least of each. */
static struct state_bound least_of(const struct state_bound *list, int n)
{
    struct state_bound least = list[0];
    for (int i = 1; i < n; i++)
        least = (struct state_bound){ fmin(least.own_s, list[i].own_s),
                                      fmin(least.last_s, list[i].last_s),
                                      fmin(least.fixed_bytes, list[i].fixed_bytes),
                                      fmin(least.kept_bytes, list[i].kept_bytes),
                                      fmin(least.touched_bytes, list[i].touched_bytes) };
    return least;
}

/* A variable of the stage. */
struct stage_var {
    int v, n_states;
    struct state_bound *bound; /* [state] */
    int n_terms;               /* exchanges with earlier variables and with itself */
    const struct submesh_term **term;
    /* Of this variable and all later ones: the least time, [state of the previous variable];
     * the other bounds, in any states. */
    double *rest_s;
    struct state_bound rest;
};

struct state_search {
    struct hybrid *h;
    const struct stage *stage;
    const struct submesh *submesh;
    int n; /* variables of the stage */
    struct stage_var *var;
    int *state;
    struct arena *arena;
    struct stage_estimate *best;
    struct splitting *chosen; /* states of the best estimate, if it was found here */
};

/* Bounds --------------------------------------------------------------------------------- */

/* A lower bound for a variable in a state, including its share of the end of the step that
 * nothing overlaps. */
static struct state_bound bound_state(const struct state_search *c, int v, int state)
{
    const struct submesh_var *ops = &c->h->model.var[v];
    const struct step_shape *step = &c->stage->step;
    struct state_bound sum = { 0 };
    double m = (double)step->micro_batches;
    for (int k = 0; k < ops->n_ops; k++) {
        const struct op_cost *cost = hp_op_cost(&c->h->model, c->submesh, ops->op[k], state);
        int holders = c->stage->n_devices / cost->param_parts;
        struct element_cost element = hp_element_cost(c->h, c->stage, cost->param_parts);
        double hidden =
            step->shard == HYPAR_SHARD_PARAMETERS ? 0 : c->stage->hi - c->stage->lo + 1;
        double tail_s = element.update_s + (hidden > 0 ? element.sum_s / hidden : 0);
        struct state_bound one = {
            .own_s = cost->forward_s + cost->backward_s + cost->param_elements * tail_s / m,
            .last_s = cost->param_elements > 0 ? element.last_s / m : 0,
            .fixed_bytes =
                cost->param_elements * hp_element_state_bytes(c->h->problem,
                                                              hp_computes_again(c->h, c->stage),
                                                              step->shard, holders),
            .kept_bytes = hp_least_kept(&c->h->model, c->submesh, ops->op[k], state),
            .touched_bytes = hp_touched_bytes(&c->h->model, c->submesh, ops->op[k], state),
        };
        sum = both(&sum, &one);
    }
    return sum;
}

/* The least time of the i-th variable's exchanges if it and the previous variable are in these
 * states, from the tables' lower bounds. */
static double least_exchange(const struct state_search *c, int i, int before, int state)
{
    const struct stage_var *var = &c->var[i];
    double sum = 0;
    for (int t = 0; t < var->n_terms; t++) {
        const struct submesh_term *term = var->term[t];
        const double *table = c->submesh->term_s[term->class];
        int other = term->writer == var->v ? term->reader : term->writer;
        bool writes = term->writer == var->v;
        int n_other = hp_states(&c->h->model, c->submesh, other)->n;
        int from = other == var->v ? state : i > 0 && other == c->var[i - 1].v ? before : 0;
        int to = other == var->v || (i > 0 && other == c->var[i - 1].v) ? from : n_other - 1;
        double least = INFINITY;
        for (int s = from; s <= to; s++)
            least = fmin(least, writes ? table[state * n_other + s]
                                       : table[s * var->n_states + state]);
        sum += least;
    }
    return sum;
}

static void find_rest(struct state_search *c, int i)
{
    struct stage_var *var = &c->var[i];
    const struct stage_var *next = i + 1 < c->n ? &c->var[i + 1] : NULL;
    int n_before = i > 0 ? c->var[i - 1].n_states : 1;
    var->rest_s = NEW(c->arena, double, n_before);
    for (int before = 0; before < n_before; before++) {
        double least = INFINITY;
        for (int s = 0; s < var->n_states; s++)
            least = fmin(least, var->bound[s].own_s + least_exchange(c, i, before, s) +
                                    (next ? next->rest_s[s] : 0));
        var->rest_s[before] = least;
    }
    var->rest = least_of(var->bound, var->n_states);
    if (next)
        var->rest = both(&var->rest, &next->rest);
}

static void list_terms(struct state_search *c, struct stage_var *var)
{
    const struct submesh_model *m = &c->h->model;
    var->term = NEW(c->arena, const struct submesh_term *, m->n_terms);
    for (int t = 0; t < m->n_terms; t++) {
        const struct submesh_term *term = &m->term[t];
        int other = term->writer == var->v ? term->reader : term->writer;
        if ((term->writer == var->v || term->reader == var->v) && other <= var->v &&
            c->h->units.of_op[term->first] >= c->stage->lo)
            var->term[var->n_terms++] = term;
    }
}

static void add_variable(struct state_search *c, int v)
{
    struct stage_var *var = &c->var[c->n++];
    var->v = v;
    var->n_states = hp_states(&c->h->model, c->submesh, v)->n;
    var->bound = NEW(c->arena, struct state_bound, var->n_states);
    for (int s = 0; s < var->n_states; s++)
        var->bound[s] = bound_state(c, v, s);
    list_terms(c, var);
}

static void list_variables(struct state_search *c)
{
    const struct submesh_model *m = &c->h->model;
    const int *unit = c->h->units.first;
    int first = unit[c->stage->lo], end = unit[c->stage->hi];
    c->var = NEW(c->arena, struct stage_var, m->n_vars);
    for (int v = 0; v < m->n_vars; v++)
        if (m->var[v].op[0] >= first && m->var[v].op[0] < end)
            add_variable(c, v);
    for (int i = c->n - 1; i >= 0; i--)
        find_rest(c, i);
}

/* The search ----------------------------------------------------------------------------- */

/* Are all states of the i-th and later variables slower than the best, or too large? `before`:
 * the variables before the i-th, with the exchanges between them. */
static bool is_hopeless(const struct state_search *c, int i, const struct state_bound *before)
{
    const double rounding = 1 - 1e-9;
    struct state_bound all = *before;
    if (i < c->n) {
        all = both(before, &c->var[i].rest);
        all.own_s = before->own_s + c->var[i].rest_s[i > 0 ? c->state[c->var[i - 1].v] : 0];
    }
    return (c->best->size && all.own_s + all.last_s >= c->best->time_s) ||
           (all.fixed_bytes + (c->stage->in_flight - 1) * all.kept_bytes +
            fmax(all.kept_bytes, all.touched_bytes)) *
                   rounding >
               c->stage->room;
}

/* The time of the i-th variable's exchanges with earlier variables. */
static double exchange_seconds(const struct state_search *c, int i)
{
    double sum = 0;
    for (int t = 0; t < c->var[i].n_terms; t++) {
        const struct submesh_term *term = c->var[i].term[t];
        sum += hp_submesh_term(&c->h->model, c->submesh, term->class, c->state[term->writer],
                               c->state[term->reader]);
    }
    return sum;
}

/* Estimate the stage once all variables have states. */
static void estimate_all(struct state_search *c)
{
    struct arena_mark mark = hp_arena_mark(c->arena);
    struct stage_estimate found =
        hp_estimate_states(c->h, c->stage, c->submesh, c->state, c->arena);
    if (found.size && (c->best->size == 0 || found.time_s < c->best->time_s)) {
        memcpy(c->chosen->state, c->state, (size_t)c->h->model.n_vars * sizeof *c->state);
        c->chosen->resend = found.splitting->resend;
        *c->best = found;
        c->best->splitting = c->chosen;
    }
    hp_arena_release(c->arena, mark);
}

static void enumerate(struct state_search *c, int i, const struct state_bound *before)
{
    c->h->exhausted |= c->h->evaluated >= HP_MOST_ESTIMATES;
    if (c->h->exhausted || is_hopeless(c, i, before) ||
        hp_stopped(c->h->problem->options->stop))
        return;
    if (i == c->n) {
        estimate_all(c);
        return;
    }
    const struct stage_var *var = &c->var[i];
    for (int s = 0; s < var->n_states; s++) {
        c->state[var->v] = s;
        struct state_bound now = both(before, &var->bound[s]);
        now.own_s += exchange_seconds(c, i);
        enumerate(c, i + 1, &now);
    }
}

void hp_enumerate_states(struct hybrid *h, const struct stage *stage,
                         const struct submesh_splittings *list, struct arena *arena,
                         struct stage_estimate *best)
{
    struct state_search c = {
        .h = h, .stage = stage, .submesh = list->submesh, .arena = arena, .best = best
    };
    c.state = NEW(arena, int, h->model.n_vars);
    c.chosen = NEW(arena, struct splitting, 1);
    c.chosen->state = NEW(arena, int, h->model.n_vars);
    memcpy(c.state, list->splitting[0].state, (size_t)h->model.n_vars * sizeof *c.state);
    list_variables(&c);
    enumerate(&c, 0, &(struct state_bound){ 0 });
}
