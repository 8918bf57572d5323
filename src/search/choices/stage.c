/* Computes the cost of a stage of measured operators, and chooses the operators to
 * recompute. */
#include "search/choices/stage.h"

#include <math.h>
#include <stdalign.h>

/* `n` rows of N_WAYS elements. */
#define NEW_WAYS(arena, T, n) ((T(*)[N_WAYS])(void *)NEW(arena, T, (size_t)(n)*N_WAYS))

void hp_choice_stage_new(struct choice_stage *s, struct arena *arena,
                         const struct choice_model *model)
{
    int n = model->graph->n_ops;
    *s = (struct choice_stage){ .model = model,
                                .op = NEW(arena, int, n),
                                .inside = NEW(arena, bool, n),
                                .counted = NEW(arena, int64_t, n),
                                .cross_start = NEW(arena, int, n + 1),
                                .cross = NEW(arena, int, model->edge_start[n]),
                                .choice = NEW_WAYS(arena, const struct op_choice *, n),
                                .sample_s = NEW_WAYS(arena, double, n),
                                .fastest = NEW(arena, enum recompute_choice, n),
                                .saving = NEW(arena, struct saving, n) };
    hp_cover_new(&s->cover, arena, n);
}

/* Which operators -------------------------------------------------------------------------- */

static void find_crossing(struct choice_stage *s)
{
    const struct choice_model *m = s->model;
    int n = 0;
    s->shared_bytes = 0;
    s->stamp++;
    for (int i = 0; i < s->n; i++) {
        int op = s->op[i];
        s->cross_start[i] = n;
        for (int e = m->edge_start[op]; e < m->edge_start[op + 1]; e++) {
            const struct choice_edge *edge = &m->edge[m->edge_list[e]];
            if (s->inside[edge->from] && s->inside[edge->to])
                continue;
            s->cross[n++] = m->edge_list[e];
            if (!edge->once || s->counted[edge->from] == s->stamp)
                continue;
            s->shared_bytes += edge->bytes;
            s->counted[edge->from] = s->stamp;
        }
    }
    s->cross_start[s->n] = n;
}

void hp_choice_stage_at(struct choice_stage *s, const struct cut_states *states, int after,
                        int last)
{
    for (int i = 0; i < s->n; i++)
        s->inside[s->op[i]] = false;
    s->n = hp_stage_layers(states, after, last, s->op);
    for (int i = 0; i < s->n; i++)
        s->inside[s->op[i]] = true;
    find_crossing(s);
}

/* How they are divided --------------------------------------------------------------------- */

/* The bytes that an operator sends and receives across the stage's border, in one direction.
 * The shared bytes count at the first operator. */
static double sent_bytes(const struct choice_stage *s, int i, const struct op_choice *choice)
{
    double bytes = i == 0 ? s->shared_bytes : 0;
    for (int c = s->cross_start[i]; c < s->cross_start[i + 1]; c++) {
        const struct choice_edge *edge = &s->model->edge[s->cross[c]];
        bytes += edge->once ? 0 : edge->bytes;
        bytes += edge->to == s->op[i] ? choice->in_sync_bytes[edge->input]
                                      : choice->out_sync_bytes[edge->use];
    }
    return bytes;
}

bool hp_choice_stage_degree(struct choice_stage *s, int t)
{
    for (int i = 0; i < s->n; i++) {
        bool some = false;
        for (int w = 0; w < N_WAYS; w++) {
            const struct op_choice *choice = hp_way(s->model, s->op[i], t, w);
            s->choice[i][w] = choice;
            s->sample_s[i][w] = INFINITY;
            if (choice)
                s->sample_s[i][w] =
                    choice->seconds + 2 * sent_bytes(s, i, choice) / s->model->bytes_per_s;
            some |= choice != NULL;
        }
        if (!some)
            return false;
    }
    return true;
}

static void add_saving(struct choice_stage *s, int i, double extra_s)
{
    const struct op_choice *fast = s->choice[i][s->fastest[i]],
                           *other = s->choice[i][!s->fastest[i]];
    double stash = fast->stash_bytes - other->stash_bytes;
    double fixed = fast->fixed_bytes - other->fixed_bytes;
    if (stash > 0 || fixed > 0)
        s->saving[s->n_savings++] = (struct saving){ i, extra_s, stash, fixed };
}

void hp_choice_stage_replicas(struct choice_stage *s, int replicas)
{
    const struct choice_model *m = s->model;
    double d = replicas, resync = 4 * (d - 1) / d / (m->samples * m->bytes_per_s);
    s->fast_s = s->fast_stash = s->fast_fixed = 0;
    s->n_savings = 0;
    for (int i = 0; i < s->n; i++) {
        double load_s[N_WAYS];
        for (int w = 0; w < N_WAYS; w++)
            load_s[w] = s->choice[i][w]
                            ? s->sample_s[i][w] / d + resync * s->choice[i][w]->parameter_bytes
                            : INFINITY;
        enum recompute_choice fast = load_s[AGAIN] < load_s[KEEP] ? AGAIN : KEEP;
        s->fastest[i] = fast;
        s->fast_s += load_s[fast];
        s->fast_stash += s->choice[i][fast]->stash_bytes;
        s->fast_fixed += s->choice[i][fast]->fixed_bytes;
        if (s->choice[i][!fast])
            add_saving(s, i, load_s[!fast] - load_s[fast]);
    }
}

/* Memory ----------------------------------------------------------------------------------- */

static double missing(const struct choice_stage *s, int in_flight)
{
    return s->fast_stash * in_flight + s->fast_fixed - s->model->memory_bytes;
}

int hp_choice_fast_in_flight(const struct choice_stage *s, int most)
{
    if (missing(s, most) <= 0)
        return most;
    double n = (s->model->memory_bytes - s->fast_fixed) / s->fast_stash;
    int fits = n >= most ? most : n < 1 ? 0 : (int)n;
    return fits - (fits > 0 && missing(s, fits) > 0); /* because of rounding */
}

static bool least_fits(const struct choice_stage *s, int in_flight)
{
    double need = missing(s, in_flight);
    for (int i = 0; i < s->n_savings; i++)
        need -= fmax(0, s->saving[i].stash * in_flight + s->saving[i].fixed);
    return need <= 0;
}

/* The least memory grows with the samples in flight, so bisection works. */
int hp_choice_least_in_flight(const struct choice_stage *s, int most)
{
    int fits = hp_choice_fast_in_flight(s, most), above = most + 1;
    while (s->n_savings && above - fits > 1) {
        int middle = fits + (above - fits) / 2;
        if (least_fits(s, middle))
            fits = middle;
        else
            above = middle;
    }
    return fits;
}

double hp_choice_load_s(struct choice_stage *s, int in_flight, double most_s, bool any,
                        bool *again)
{
    struct cover *c = &s->cover;
    double need = missing(s, in_flight), load_s = s->fast_s;
    c->n = 0;
    for (int i = 0; need > 0 && i < s->n_savings; i++) {
        const struct saving *saving = &s->saving[i];
        double saved = saving->stash * in_flight + saving->fixed;
        if (saved > 0)
            c->item[c->n++] = (struct cover_item){ .extra_s = saving->extra_s,
                                                   .saved = saved,
                                                   .tag = saving->i };
    }
    c->any = any;
    if (need > 0)
        load_s = hp_cover_need(c, need, s->fast_s, most_s);
    if (!(load_s <= most_s))
        return INFINITY;
    for (int i = 0; again && i < s->n; i++)
        again[s->op[i]] = s->fastest[i] == AGAIN;
    for (int i = 0; again && i < c->n; i++)
        if (c->item[i].taken)
            again[s->op[c->item[i].tag]] = s->fastest[c->item[i].tag] == KEEP;
    return load_s;
}
