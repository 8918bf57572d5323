/* Finds the pipeline whose slowest stage is fastest. For a limit T of every stage's time,
 *
 *     need(k, s) = least number of devices for the operators outside state k, in stages
 *                  that have s replicas in all
 *                = min over states j around k, degrees t and replicas d of
 *                      t d + need(j, s - d)   where stage j \ k takes at most T
 *
 * A replica of a stage in front of s - d other replicas has s / d samples in flight, rounded
 * up. For each (j, k, t, d), the search finds once the largest number of samples in flight for
 * which the stage takes at most T. T is bisected between a limit that failed and the best plan,
 * until no value is left between them. */
#include "search/choices/solve.h"

#include <math.h>
#include <string.h>

#include "base/stop.h"

enum { NO_DEVICES = 1 << 29 }; /* more than any machine has */

/* A stage with a degree and a number of replicas. */
struct option {
    double fast_s; /* its load if memory is unlimited */
    /* Limits of the samples in flight: if all operators use their fastest choices; within
     * memory; for a T that was too low; for a T that was enough; for the current T. */
    int16_t fast, least, low, high, now;
};

/* A degree and a number of replicas. */
struct shape {
    int t, degree, replicas;
};

/* The states around state k, and the options of the stages up to them; filled on first use. */
struct row {
    int n, *last;
    struct option **option;
};

struct solver {
    const struct choice_problem *problem;
    const struct cut_states *states;
    struct arena *arena; /* scratch */
    struct choice_stage stage;
    int after, at;   /* the states of the current `stage` */
    int t, replicas; /* ... its degree number and replicas; -1: not set */
    int n_rows;      /* row r belongs to state r - 1 */
    struct row *row;
    int n_shapes;
    struct shape *shape;   /* by replicas, then by degree */
    int most_devices;      /* of one stage */
    int most;              /* limit for the replicas of all stages */
    int n_layers;          /* by number of stages up to the end; 1: stages are not counted */
    int *need;             /* use at() */
    int *least_need;       /* of each row, in the layer that is read */
    struct option **asked; /* options whose `now` took a search under the current T */
    int n_asked, asked_capacity;
    int64_t evaluated;
};

static int *at(const struct solver *s, int layer, int r)
{
    size_t width = (size_t)s->most + 1;
    return s->need + ((size_t)layer * (size_t)s->n_rows + (size_t)r) * width;
}

static double work_s(const struct solver *s, int r)
{
    return r == 0 ? 0 : s->states->cost.time_s[r - 1];
}

static bool ended(const struct solver *s)
{
    return hp_stopped(s->problem->stop) ||
           (s->problem->max_evaluated && s->evaluated > s->problem->max_evaluated);
}

/* Setting up --------------------------------------------------------------------------- */

/* The largest number of replicas of all stages. */
static int most_replicas(const struct choice_problem *p)
{
    int64_t most = p->samples < p->n_devices ? p->samples : p->n_devices;
    return most < INT16_MAX ? (int)most : INT16_MAX - 1;
}

/* The number of degrees that can have this number of replicas. These are the first degrees. */
static int count_degrees(const struct choice_problem *p, int replicas)
{
    int n = 0;
    while (p->samples % replicas == 0 && n < p->model->n_degrees &&
           (int64_t)p->model->degree[n] * replicas <= p->n_devices)
        n++;
    return n;
}

int hp_choice_shapes(const struct choice_problem *p)
{
    int n = 0;
    for (int d = 1; d <= most_replicas(p); d++)
        n += count_degrees(p, d);
    return n;
}

static void find_shapes(struct solver *s)
{
    const struct choice_problem *p = s->problem;
    s->shape = NEW(s->arena, struct shape, hp_choice_shapes(p));
    for (int d = 1; d <= s->most; d++)
        for (int t = 0; t < count_degrees(p, d); t++) {
            int degree = p->model->degree[t];
            s->shape[s->n_shapes++] = (struct shape){ t, degree, d };
            if (degree * d > s->most_devices)
                s->most_devices = degree * d;
        }
}

static struct row *row_of(struct solver *s, int r)
{
    struct row *row = &s->row[r];
    if (row->last)
        return row;
    int n = 0;
    for (int j = r; j < s->states->n; j++)
        n += hp_state_within(s->states, r - 1, j);
    row->last = NEW(s->arena, int, n);
    row->option = NEW(s->arena, struct option *, n);
    for (int j = r; j < s->states->n; j++)
        if (hp_state_within(s->states, r - 1, j))
            row->last[row->n++] = j;
    return row;
}

/* Set s->stage to a stage and shape; reuses the operators of the previous call if they are the
 * same. */
static bool set_stage(struct solver *s, int after, int last, const struct shape *shape)
{
    if (s->after != after || s->at != last) {
        hp_choice_stage_at(&s->stage, s->states, after, last);
        s->after = after;
        s->at = last;
        s->t = -1;
    }
    if (s->t != shape->t) {
        s->t = -1;
        s->replicas = -1;
        if (!hp_choice_stage_degree(&s->stage, shape->t))
            return false;
        s->t = shape->t;
    }
    if (s->replicas != shape->replicas)
        hp_choice_stage_replicas(&s->stage, shape->replicas);
    s->replicas = shape->replicas;
    return true;
}

/* Samples in flight on one replica if all stages have `most` replicas in all. */
static int most_in_flight(const struct solver *s, const struct shape *shape)
{
    return (s->most + shape->replicas - 1) / shape->replicas;
}

/* Make the options of a stage. The outer loop is over degrees, because a new degree sets up all
 * operators again. */
static struct option *make_options(struct solver *s, int after, int last)
{
    struct option *option = NEW(s->arena, struct option, s->n_shapes);
    for (int t = 0; t < s->problem->model->n_degrees; t++)
        for (int i = 0; i < s->n_shapes; i++) {
            const struct shape *shape = &s->shape[i];
            if (shape->t != t)
                continue;
            option[i].fast_s = INFINITY;
            if (!set_stage(s, after, last, shape))
                continue;
            int most = most_in_flight(s, shape);
            option[i] =
                (struct option){ .fast_s = s->stage.fast_s,
                                 .fast = (int16_t)hp_choice_fast_in_flight(&s->stage, most) };
            option[i].least = (int16_t)hp_choice_least_in_flight(&s->stage, most);
            option[i].high = option[i].least;
            s->evaluated++;
        }
    return option;
}

/* The largest number of samples in flight for which a stage takes at most `limit_s`; INFINITY:
 * no limit. */
static int in_flight_within(struct solver *s, int after, int last, const struct shape *shape,
                            struct option *o, double limit_s)
{
    if (o->fast_s > limit_s)
        return 0;
    if (o->fast == o->least || limit_s == INFINITY)
        return o->least;
    int fits = o->low > o->fast ? o->low : o->fast, above = o->high + 1;
    if (above - fits > 1)
        set_stage(s, after, last, shape);
    while (above - fits > 1) {
        int middle = fits + (above - fits) / 2;
        s->evaluated++;
        if (isfinite(hp_choice_load_s(&s->stage, middle, limit_s, true, NULL)))
            fits = middle;
        else
            above = middle;
    }
    o->now = (int16_t)fits;
    s->asked = GROW(s->arena, struct option *, s->asked, s->n_asked, &s->asked_capacity);
    s->asked[s->n_asked++] = o;
    return fits;
}

/* For one T ------------------------------------------------------------------------------ */

/* Update need(r - 1, s) with one shape of the stage up to state `last`. */
static void accept_shape(const struct solver *s, int *to, const int *from,
                         const struct shape *shape, int in_flight)
{
    int d = shape->replicas, devices = shape->degree * d;
    int end = (int64_t)in_flight * d < s->most ? in_flight * d : s->most;
    for (int i = d; i <= end; i++) {
        int n = from[i - d] + devices;
        to[i] = n < to[i] ? n : to[i];
    }
}

/* Update need() with all shapes of stage j \ k. Of several degrees with the same replicas, a
 * larger one is useful only if it allows more samples in flight. */
static void accept_stage(struct solver *s, int *to, const int *from, struct row *row, int i,
                         int r, int devices, double limit_s)
{
    int replicas = 0, most = 0;
    if (!row->option[i])
        row->option[i] = make_options(s, r - 1, row->last[i]);
    for (int o = 0; o < s->n_shapes; o++) {
        const struct shape *shape = &s->shape[o];
        struct option *option = &row->option[i][o];
        if (shape->replicas > devices)
            break;
        if (shape->replicas != replicas)
            most = 0;
        replicas = shape->replicas;
        if (option->fast_s > limit_s || option->high <= most ||
            shape->degree * replicas > devices)
            continue;
        int in_flight = in_flight_within(s, r - 1, row->last[i], shape, option, limit_s);
        if (in_flight > most) {
            accept_shape(s, to, from, shape, in_flight);
            most = in_flight;
        }
    }
}

/* A lower bound for the devices of the operators before row r. */
static int least_before(const struct solver *s, int r, double limit_s)
{
    double n = work_s(s, r) * (1 - 1e-9) / limit_s;
    return n < s->problem->n_devices ? (int)ceil(n) : s->problem->n_devices + 1;
}

/* Compute need(r - 1, .) in layer `to` from layer `from`. */
static void fill_row(struct solver *s, int from, int to, int r, double limit_s)
{
    struct row *row = row_of(s, r);
    int room = s->problem->n_devices - least_before(s, r, limit_s);
    int most = room < s->most_devices ? room : s->most_devices;
    for (int i = 0; i < row->n; i++) {
        int around = row->last[i] + 1, devices = room - s->least_need[around];
        double work = (work_s(s, around) - work_s(s, r)) * (1 - 1e-9);
        if (work > limit_s * most)
            break; /* later states have more work */
        devices = devices < most ? devices : most;
        if (devices >= 1 && work <= limit_s * devices)
            accept_stage(s, at(s, to, r), at(s, from, around), row, i, r, devices, limit_s);
    }
}

static void find_least_need(struct solver *s, int layer, int r)
{
    const int *need = at(s, layer, r);
    s->least_need[r] = NO_DEVICES;
    for (int i = 0; i <= s->most; i++)
        s->least_need[r] = need[i] < s->least_need[r] ? need[i] : s->least_need[r];
}

/* Fill need() for stages that take at most `limit_s`. Returns the layer of a pipeline that the
 * devices suffice for; -1: none. */
static int fill(struct solver *s, double limit_s)
{
    int top = s->n_rows - 1;
    size_t n = (size_t)s->n_layers * (size_t)s->n_rows * ((size_t)s->most + 1);
    for (size_t i = 0; i < n; i++)
        s->need[i] = NO_DEVICES;
    at(s, 0, top)[0] = 0;
    for (int r = 0; r < top; r++)
        s->least_need[r] = NO_DEVICES;
    s->least_need[top] = 0;
    for (int layer = s->n_layers == 1 ? 0 : 1; layer < s->n_layers; layer++) {
        int from = s->n_layers == 1 ? 0 : layer - 1;
        for (int r = top - 1; r >= 0 && !ended(s); r--) {
            fill_row(s, from, layer, r, limit_s);
            if (s->n_layers == 1)
                find_least_need(s, layer, r);
        }
        for (int r = 0; s->n_layers > 1 && r <= top; r++)
            find_least_need(s, layer, r);
        if (layer >= s->problem->min_stages && s->least_need[0] <= s->problem->n_devices)
            return layer;
    }
    return -1;
}

/* Record the result for the options that took a search: T was enough, or too low. */
static void settle(struct solver *s, bool enough)
{
    for (int i = 0; i < s->n_asked; i++)
        *(enough ? &s->asked[i]->high : &s->asked[i]->low) = s->asked[i]->now;
    s->n_asked = 0;
}

/* Trace back ------------------------------------------------------------------------------- */

/* Find the first stage of need(r - 1, replicas) in `layer`: sets out->last, degree and
 * replicas. */
static bool find_stage(struct solver *s, int layer, int r, int replicas, double limit_s,
                       struct chosen_stage *out)
{
    int from = s->n_layers == 1 ? 0 : layer - 1, need = at(s, layer, r)[replicas];
    struct row *row = row_of(s, r);
    for (int i = 0; i < row->n; i++)
        for (int o = 0; row->option[i] && o < s->n_shapes; o++) {
            const struct shape *shape = &s->shape[o];
            int d = shape->replicas, in_flight = (replicas + d - 1) / d;
            struct option *option = &row->option[i][o];
            if (d > replicas || option->fast_s > limit_s || in_flight > option->high ||
                at(s, from, row->last[i] + 1)[replicas - d] + shape->degree * d != need)
                continue;
            if (in_flight > in_flight_within(s, r - 1, row->last[i], shape, option, limit_s))
                continue;
            set_stage(s, r - 1, row->last[i], shape);
            *out = (struct chosen_stage){ .after = r - 1,
                                          .last = row->last[i],
                                          .degree = shape->degree,
                                          .replicas = d,
                                          .in_flight = in_flight };
            return true;
        }
    return false;
}

static void trace(struct solver *s, int layer, double limit_s, struct chosen *out)
{
    int replicas = 0, r = 0, top = s->n_rows - 1;
    for (int i = 0; i <= s->most; i++)
        if (at(s, layer, 0)[i] < at(s, layer, 0)[replicas])
            replicas = i;
    out->load_s = 0;
    out->n_stages = 0;
    out->n_devices = at(s, layer, 0)[replicas];
    while (r < top) {
        struct chosen_stage *stage = &out->stage[out->n_stages++];
        if (!find_stage(s, layer, r, replicas, limit_s, stage)) {
            out->load_s = INFINITY;
            out->n_stages = 0;
            return;
        }
        stage->load_s =
            hp_choice_load_s(&s->stage, stage->in_flight, limit_s, false, out->again);
        out->load_s = fmax(out->load_s, stage->load_s);
        replicas -= stage->replicas;
        layer -= s->n_layers > 1;
        r = stage->last + 1;
    }
}

/* Is there a pipeline whose stages take at most `limit_s`? If so, it goes to *out. */
static bool probe(struct solver *s, double limit_s, struct chosen *out)
{
    int layer = fill(s, limit_s);
    if (layer >= 0)
        trace(s, layer, limit_s, out);
    settle(s, layer >= 0);
    return layer >= 0 && isfinite(out->load_s);
}

/* Searching for T ------------------------------------------------------------------------- */

static struct chosen new_chosen(const struct solver *s, struct arena *arena)
{
    return (struct chosen){ .load_s = s->problem->known_s,
                            .stage = NEW(arena, struct chosen_stage, s->n_rows),
                            .again = NEW(arena, bool, s->problem->model->graph->n_ops) };
}

/* The next limit: the mean of the bounds, geometric while they are far apart; at the end the
 * largest number below the best. */
static double next_limit(double low_s, double best_s)
{
    if (best_s > 2 * low_s && low_s > 0)
        return sqrt(low_s) * sqrt(best_s);
    return best_s - low_s > 1e-7 * best_s ? low_s + (best_s - low_s) / 2 : nextafter(best_s, 0);
}

static void search(struct solver *s, struct arena *arena, struct chosen *best)
{
    struct chosen other = new_chosen(s, arena);
    double low_s = work_s(s, s->n_rows - 1) * (1 - 1e-9) / (double)s->problem->n_devices;
    *best = new_chosen(s, arena);
    bool some = isfinite(best->load_s) || probe(s, INFINITY, best);
    while (some && best->load_s > low_s && !ended(s)) {
        double limit_s = next_limit(low_s, best->load_s);
        if (!probe(s, limit_s, &other)) {
            low_s = limit_s;
            if (limit_s == nextafter(best->load_s, 0))
                break;
            continue;
        }
        struct chosen swap = *best;
        *best = other;
        other = swap;
    }
    best->exact = !ended(s) && s->stage.cover.given_up == 0;
}

void hp_choices_solve(struct arena *arena, const struct choice_problem *problem,
                      struct chosen *out)
{
    struct arena scratch = { 0 };
    struct solver s = { .problem = problem,
                        .states = problem->states,
                        .arena = &scratch,
                        .after = -2,
                        .n_rows = problem->states->n + 1 };
    s.most = most_replicas(problem);
    s.n_layers = problem->max_stages ? problem->max_stages + 1 : 1;
    s.row = NEW(&scratch, struct row, s.n_rows);
    s.need = NEW(&scratch, int, (size_t)s.n_layers *(size_t)s.n_rows *((size_t)s.most + 1));
    s.least_need = NEW(&scratch, int, s.n_rows);
    hp_choice_stage_new(&s.stage, &scratch, problem->model);
    find_shapes(&s);
    search(&s, arena, out);
    out->evaluated = s.evaluated;
    hp_arena_free(&scratch);
}
