/* Enumerates the states of the operators of a small stage, except those that cannot be faster
 * than the best known choice or cannot fit in memory.
 *
 * The splittings at different prices of memory (and of sums that partly overlap) only reach the
 * convex hull of all choices. With few choices, all of them are tried. */
#include <math.h>
#include <string.h>

#include "base/stop.h"
#include "search/hybrid/stage.h"

/* Limit of evaluated choices over all stages: about a second. */
enum { MOST_EVALUATED = 1 << 18 };

/* A variable of the stage; arrays are indexed by its state. */
struct stage_var {
    int v, n_states;
    double *own_s;  /* least time without exchanges */
    double *last_s; /* least time after its last gradient */
    /* Least bytes: kept from step to step; of activations of a micro-batch; while it is
     * computed. */
    double *fixed_bytes, *kept_bytes, *touched_bytes;
    int n_terms; /* exchanges with earlier variables and with itself */
    const struct submesh_term **term;
    double *rest_s; /* [state of the previous variable]: least time of this variable and all
                     * later ones */
    /* Of this variable and all later ones, in any states: */
    double rest_last_s, rest_fixed_bytes, rest_kept_bytes, rest_touched_bytes;
};

struct state_search {
    struct hybrid *h;
    const struct step_shape *step;
    const struct stage_place *place;
    const struct submesh *submesh;
    int lo, hi;
    int n; /* variables of the stage */
    struct stage_var *var;
    int *state;
    struct arena *arena;
    struct stage_choice *best;
    struct splitting *chosen; /* states of the best choice, if it was found here */
};

/* Bounds --------------------------------------------------------------------------------- */

/* Compute a lower bound for a variable's cost in a state, including its share of the end of the
 * step that nothing overlaps. */
static void weigh_state(const struct state_search *c, struct stage_var *var, int state)
{
    const struct submesh_var *ops = &c->h->model.var[var->v];
    const struct op_cost *cost =
        &c->submesh->states[ops->class].cost[(size_t)state * (size_t)ops->n_ops];
    double m = (double)c->step->micro_batches;
    for (int k = 0; k < ops->n_ops; k++) {
        int holders = c->place->n_devices / cost[k].param_parts;
        struct element_cost element =
            hp_element_cost(c->h, c->step->shard, c->place, cost[k].param_parts);
        double hidden = c->step->shard == HYPAR_SHARD_PARAMETERS ? 0 : c->hi - c->lo + 1;
        double tail_s = element.update_s + (hidden > 0 ? element.sum_s / hidden : 0);
        var->own_s[state] +=
            cost[k].forward_s + cost[k].backward_s + cost[k].param_elements * tail_s / m;
        var->fixed_bytes[state] +=
            cost[k].param_elements * hp_element_state_bytes(c->h, c->step->shard, holders);
        var->kept_bytes[state] += hp_least_kept(&c->h->model, c->submesh, ops->op[k], state);
        var->touched_bytes[state] =
            fmax(var->touched_bytes[state],
                 hp_touched_bytes(&c->h->model, c->submesh, ops->op[k], state));
        if (cost[k].param_elements > 0)
            var->last_s[state] = fmax(var->last_s[state], element.last_s / m);
    }
}

static double least_of(const double *list, int n)
{
    double least = INFINITY;
    for (int i = 0; i < n; i++)
        least = fmin(least, list[i]);
    return least;
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
        int n_other = c->submesh->states[c->h->model.var[other].class].n;
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
            least = fmin(least, var->own_s[s] + least_exchange(c, i, before, s) +
                                    (next ? next->rest_s[s] : 0));
        var->rest_s[before] = least;
    }
    var->rest_last_s = fmax(least_of(var->last_s, var->n_states), next ? next->rest_last_s : 0);
    var->rest_fixed_bytes =
        least_of(var->fixed_bytes, var->n_states) + (next ? next->rest_fixed_bytes : 0);
    var->rest_kept_bytes =
        least_of(var->kept_bytes, var->n_states) + (next ? next->rest_kept_bytes : 0);
    var->rest_touched_bytes =
        fmax(least_of(var->touched_bytes, var->n_states), next ? next->rest_touched_bytes : 0);
}

static void list_terms(struct state_search *c, struct stage_var *var)
{
    const struct submesh_model *m = &c->h->model;
    var->term = NEW(c->arena, const struct submesh_term *, m->n_terms);
    for (int t = 0; t < m->n_terms; t++) {
        const struct submesh_term *term = &m->term[t];
        int other = term->writer == var->v ? term->reader : term->writer;
        if ((term->writer == var->v || term->reader == var->v) && other <= var->v &&
            c->h->units.of_op[term->first] >= c->lo)
            var->term[var->n_terms++] = term;
    }
}

static void add_variable(struct state_search *c, int v)
{
    struct stage_var *var = &c->var[c->n++];
    var->v = v;
    var->n_states = c->submesh->states[c->h->model.var[v].class].n;
    var->own_s = NEW(c->arena, double, var->n_states);
    var->last_s = NEW(c->arena, double, var->n_states);
    var->fixed_bytes = NEW(c->arena, double, var->n_states);
    var->kept_bytes = NEW(c->arena, double, var->n_states);
    var->touched_bytes = NEW(c->arena, double, var->n_states);
    for (int s = 0; s < var->n_states; s++)
        weigh_state(c, var, s);
    list_terms(c, var);
}

static void list_variables(struct state_search *c)
{
    const struct submesh_model *m = &c->h->model;
    int first = c->h->units.first[c->lo], end = c->h->units.first[c->hi];
    c->var = NEW(c->arena, struct stage_var, m->n_vars);
    for (int v = 0; v < m->n_vars; v++)
        if (m->var[v].op[0] >= first && m->var[v].op[0] < end)
            add_variable(c, v);
    for (int i = c->n - 1; i >= 0; i--)
        find_rest(c, i);
}

/* The search ----------------------------------------------------------------------------- */

/* The costs of the variables before the i-th. */
struct so_far {
    double own_s, last_s, fixed_bytes, kept_bytes, touched_bytes;
};

static bool is_too_large(const struct state_search *c, const struct stage_var *rest,
                         const struct so_far *f)
{
    const double rounding = 1 - 1e-9;
    double fixed = f->fixed_bytes + (rest ? rest->rest_fixed_bytes : 0);
    double kept = f->kept_bytes + (rest ? rest->rest_kept_bytes : 0);
    double touched = fmax(f->touched_bytes, rest ? rest->rest_touched_bytes : 0);
    return (fixed + (c->place->in_flight - 1) * kept + fmax(kept, touched)) * rounding >
           c->place->room;
}

/* Are all states of the i-th and later variables slower than the best, or too large? */
static bool is_hopeless(const struct state_search *c, int i, const struct so_far *f)
{
    const struct stage_var *var = i < c->n ? &c->var[i] : NULL;
    double rest_s = var ? var->rest_s[i > 0 ? c->state[c->var[i - 1].v] : 0] : 0;
    double last_s = fmax(f->last_s, var ? var->rest_last_s : 0);
    return (c->best->size && f->own_s + rest_s + last_s >= c->best->time_s) ||
           is_too_large(c, var, f);
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

/* Evaluate the stage once all variables have states. */
static void weigh_all(struct state_search *c)
{
    struct arena_mark mark = hp_arena_mark(c->arena);
    struct stage_choice found =
        hp_weigh_states(c->h, c->step, c->place, c->lo, c->hi, c->submesh, c->state, c->arena);
    if (found.size && (c->best->size == 0 || found.time_s < c->best->time_s)) {
        memcpy(c->chosen->state, c->state, (size_t)c->h->model.n_vars * sizeof *c->state);
        c->chosen->resend = found.splitting->resend;
        *c->best = found;
        c->best->splitting = c->chosen;
    }
    hp_arena_release(c->arena, mark);
}

static void choose_from(struct state_search *c, int i, const struct so_far *before)
{
    c->h->exhausted |= c->h->evaluated >= MOST_EVALUATED;
    if (c->h->exhausted || is_hopeless(c, i, before) ||
        hp_stopped(c->h->problem->options->stop))
        return;
    if (i == c->n) {
        weigh_all(c);
        return;
    }
    const struct stage_var *var = &c->var[i];
    for (int s = 0; s < var->n_states; s++) {
        c->state[var->v] = s;
        struct so_far now = { before->own_s + var->own_s[s] + exchange_seconds(c, i),
                              fmax(before->last_s, var->last_s[s]),
                              before->fixed_bytes + var->fixed_bytes[s],
                              before->kept_bytes + var->kept_bytes[s],
                              fmax(before->touched_bytes, var->touched_bytes[s]) };
        choose_from(c, i + 1, &now);
    }
}

void hp_choose_states(struct hybrid *h, const struct step_shape *step,
                      const struct stage_place *place, int lo, int hi,
                      const struct submesh_splittings *list, struct arena *arena,
                      struct stage_choice *best)
{
    struct state_search c = { .h = h,
                              .step = step,
                              .place = place,
                              .submesh = list->submesh,
                              .lo = lo,
                              .hi = hi,
                              .arena = arena,
                              .best = best };
    c.state = NEW(arena, int, h->model.n_vars);
    c.chosen = NEW(arena, struct splitting, 1);
    c.chosen->state = NEW(arena, int, h->model.n_vars);
    memcpy(c.state, list->splitting[0].state, (size_t)h->model.n_vars * sizeof *c.state);
    list_variables(&c);
    choose_from(&c, 0, &(struct so_far){ 0 });
}
