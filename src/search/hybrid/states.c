/* All states of the operators of a small stage, but those that cannot be faster than what is
 * known.
 *
 * Prices of memory, and of sums that are partly hidden, reach the convex hull of what there is;
 * of few choices, all are looked at. */
#include <math.h>
#include <string.h>

#include "base/stop.h"
#include "search/hybrid/stage.h"

struct state_search {
    struct hybrid *h;
    const struct step_shape *step;
    const struct stage_place *place;
    const struct submesh *submesh;
    int lo, hi;
    int n, *var;    /* those of the stage */
    double *rest_s; /* [i]: what variables from the i-th on take at least */
    int *state;
    struct arena *arena;
    struct stage_choice *best;
    struct splitting *chosen; /* of the best, if it was found here */
};

static double compute_seconds(const struct state_search *c, int v, int state)
{
    const struct submesh_var *var = &c->h->model.var[v];
    const struct class_states *s = &c->submesh->states[var->class];
    double sum = 0;
    for (int k = 0; k < var->n_ops; k++)
        sum += s->cost[state * var->n_ops + k].forward_s +
               s->cost[state * var->n_ops + k].backward_s;
    return sum;
}

/* Variables of the stage. */
static void list_variables(struct state_search *c)
{
    const struct submesh_model *m = &c->h->model;
    int first = c->h->units.first[c->lo], end = c->h->units.first[c->hi];
    c->var = NEW(c->arena, int, m->n_vars);
    for (int v = 0; v < m->n_vars; v++)
        if (m->var[v].op[0] >= first && m->var[v].op[0] < end)
            c->var[c->n++] = v;
    c->rest_s = NEW(c->arena, double, c->n + 1);
    for (int i = c->n - 1; i >= 0; i--) {
        double least = INFINITY;
        for (int s = 0; s < c->submesh->states[m->var[c->var[i]].class].n; s++)
            least = fmin(least, compute_seconds(c, c->var[i], s));
        c->rest_s[i] = c->rest_s[i + 1] + least;
    }
}

/* What the i-th variable exchanges with those before it. */
static double exchange_seconds(const struct state_search *c, int i)
{
    struct submesh_model *m = &c->h->model;
    double sum = 0;
    for (int t = 0; t < m->n_terms; t++) {
        const struct submesh_term *term = &m->term[t];
        int other = term->writer == c->var[i] ? term->reader : term->writer;
        if ((term->writer == c->var[i] || term->reader == c->var[i]) && other <= c->var[i] &&
            c->h->units.of_op[term->first] >= c->lo)
            sum += hp_submesh_term(m, c->submesh, term->class, c->state[term->writer],
                                   c->state[term->reader]);
    }
    return sum;
}

static void choose_from(struct state_search *c, int i, double before_s)
{
    if ((c->best->size && before_s + c->rest_s[i] >= c->best->time_s) ||
        hp_stopped(c->h->problem->options->stop))
        return;
    if (i == c->n) {
        struct arena_mark mark = hp_arena_mark(c->arena);
        struct stage_choice found = hp_weigh_states(c->h, c->step, c->place, c->lo, c->hi,
                                                    c->submesh, c->state, c->arena);
        if (found.size && (c->best->size == 0 || found.time_s < c->best->time_s)) {
            memcpy(c->chosen->state, c->state, (size_t)c->h->model.n_vars * sizeof *c->state);
            c->chosen->resend = found.splitting->resend;
            *c->best = found;
            c->best->splitting = c->chosen;
        }
        hp_arena_release(c->arena, mark);
        return;
    }
    int v = c->var[i], n = c->submesh->states[c->h->model.var[v].class].n;
    for (int s = 0; s < n; s++) {
        c->state[v] = s;
        choose_from(c, i + 1, before_s + compute_seconds(c, v, s) + exchange_seconds(c, i));
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
    choose_from(&c, 0, 0);
}
