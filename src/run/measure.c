/* The times of a training run's calls: of each rank the mean between the quartiles, then the
 * mean over the slowest ranks, for which the others wait. */
#include "run/measure.h"

#include <math.h>
#include <string.h>

#include "base/sort.h"
#include "base/table.h"
#include "kernel/blas.h"
#include "profile/profile.h"

/* A call of a kernel. Calls are equal if their nests, passes and extents are equal. */
struct work_key {
    int32_t kind; /* enum timed_kind */
    int32_t op;   /* the first operator that has its nest */
    uint32_t passes, unused;
    int64_t size[MAX_AXES]; /* extents; [0]: elements */
};

struct samples {
    struct work_key key;
    double *seconds;
    int n, capacity;
};

struct measuring {
    struct arena arena;
    const struct hypar_graph *graph;
    int32_t *first_alike; /* by operator */
    struct table keys;    /* -> samples */
    struct samples **samples;
    int n, capacity;
};

/* The time of one call on one rank. */
struct work_time {
    struct work_key key;
    double seconds, spread;
};

struct measuring *hp_measuring_new(const struct hypar_graph *graph)
{
    struct arena arena = { 0 };
    struct measuring *m = NEW(&arena, struct measuring, 1);
    m->arena = arena;
    m->graph = graph;
    m->first_alike = NEW(&m->arena, int32_t, graph->n_ops);
    for (int op = 0; op < graph->n_ops; op++)
        while (graph->ops[m->first_alike[op]].nest->like != graph->ops[op].nest->like)
            m->first_alike[op]++;
    return m;
}

void hp_measuring_free(struct measuring *m)
{
    if (!m)
        return;
    hp_arena_free(&m->arena);
}

const char *hypar_kernels_text(const char *kernels)
{
    const struct kernels *found = hp_kernels_find(kernels);
    return found && found == hp_kernels_find("fast") ? hp_blas_text() : "reference";
}

/* Taking times -------------------------------------------------------------------------- */

static struct work_key key_of(const struct measuring *m, const struct timed_work *work)
{
    struct work_key key;
    memset(&key, 0, sizeof key);
    key.kind = (int32_t)work->kind;
    key.size[0] = (int64_t)work->elements;
    if (work->kind != TIMED_CALL)
        return key;
    key.op = m->first_alike[work->op];
    key.passes = work->call->passes;
    for (int a = 0; a < work->call->nest->n_axes; a++)
        key.size[a] = work->call->range[a].hi - work->call->range[a].lo;
    return key;
}

static struct samples *samples_of(struct measuring *m, const struct work_key *key)
{
    int at = hp_table_get(&m->keys, key, sizeof *key);
    if (at >= 0)
        return m->samples[at];
    struct samples *s = NEW(&m->arena, struct samples, 1);
    s->key = *key;
    m->samples = GROW(&m->arena, struct samples *, m->samples, m->n, &m->capacity);
    m->samples[m->n] = s;
    hp_table_put(&m->keys, &m->arena, &s->key, sizeof s->key, m->n++);
    return s;
}

void hp_measure_work(void *who, const struct timed_work *work)
{
    enum { MOST = 4096 };
    struct measuring *m = ((struct trainer *)who)->measuring;
    struct work_key key = key_of(m, work);
    struct samples *s = samples_of(m, &key);
    if (s->n == MOST)
        return;
    s->seconds = GROW(&m->arena, double, s->seconds, s->n, &s->capacity);
    s->seconds[s->n++] = work->seconds;
}

/* Mean between quartiles ---------------------------------------------------------------- */

double hp_middle_mean(double *value, int64_t n, double *low, double *high)
{
    int64_t from = n / 4, to = n - n / 4;
    double sum = 0;
    hp_sort_doubles(value, n);
    for (int64_t i = from; i < to; i++)
        sum += value[i];
    *low = value[from];
    *high = value[to - 1];
    return sum / (double)(to - from);
}

/* The first quarter of the calls warms up. */
static struct work_time middle_of(struct samples *s)
{
    struct work_time time = { .key = s->key };
    int warm = s->n / 4;
    double low, high;
    time.seconds = hp_middle_mean(s->seconds + warm, s->n - warm, &low, &high);
    time.spread = time.seconds > 0 ? (high - low) / time.seconds : 0;
    return time;
}

/* All ranks ----------------------------------------------------------------------------- */

/* The times of one call on all ranks that ran it. */
struct rank_times {
    struct work_key key;
    double *seconds;
    int n, capacity;
    double spread;
};

struct gathered {
    struct arena arena;
    struct table keys; /* -> time */
    struct rank_times **time;
    int n, capacity;
};

static void gather(struct gathered *g, const struct work_time *time)
{
    int at = hp_table_get(&g->keys, &time->key, sizeof time->key);
    if (at < 0) {
        struct rank_times *new = NEW(&g->arena, struct rank_times, 1);
        new->key = time->key;
        g->time = GROW(&g->arena, struct rank_times *, g->time, g->n, &g->capacity);
        g->time[at = g->n++] = new;
        hp_table_put(&g->keys, &g->arena, &new->key, sizeof new->key, at);
    }
    struct rank_times *r = g->time[at];
    r->seconds = GROW(&g->arena, double, r->seconds, r->n, &r->capacity);
    r->seconds[r->n++] = time->seconds;
    r->spread = fmax(r->spread, time->spread);
}

/* The mean of the slowest eighth. Cores that compute the same differ, and a step ends with the
 * slowest, which varies from call to call. */
static double seconds_of(struct rank_times *r)
{
    int from = r->n - (r->n + 7) / 8;
    double sum = 0;
    hp_sort_doubles(r->seconds, r->n);
    for (int i = from; i < r->n; i++)
        sum += r->seconds[i];
    return sum / (r->n - from);
}

static void send_times(struct trainer *t)
{
    struct measuring *m = t->measuring;
    int32_t n = m->n;
    struct work_time *time = NEW(&m->arena, struct work_time, n + 1);
    for (int i = 0; i < n; i++)
        time[i] = middle_of(m->samples[i]);
    hp_send_now(&t->control, &n, sizeof n, 0, t->tag_trace);
    hp_send_now(&t->control, time, (size_t)n * sizeof *time, 0, t->tag_trace);
}

static void receive_times(struct trainer *t, struct gathered *g, int rank)
{
    int32_t n;
    hp_receive_now(&t->control, &n, sizeof n, rank, t->tag_trace);
    struct work_time *time = NEW(&g->arena, struct work_time, n + 1);
    hp_receive_now(&t->control, time, (size_t)n * sizeof *time, rank, t->tag_trace);
    for (int i = 0; i < n; i++)
        gather(g, &time[i]);
}

/* Into the profile ---------------------------------------------------------------------- */

/* Average with the known value: conditions change from plan to plan. */
static double with_before(double seconds, double before)
{
    seconds = fmax(seconds, 1e-9);
    return before > 0 ? (before + seconds) / 2 : seconds;
}

static enum hypar_status add_call(struct trainer *t, struct hypar_profile *profile,
                                  struct rank_times *time, struct hypar_error *err)
{
    const struct nest *nest = t->graph->ops[time->key.op].nest;
    int first = 0;
    if (hp_op[nest->kind].flags & ROW_OPAQUE)
        return HYPAR_OK;
    while (!(time->key.passes >> first & 1))
        first++;
    struct measured_pass at = { hypar_machine_device(hypar_plan_machine(t->plan), 0)->name,
                                t->plan->precision,
                                nest,
                                first,
                                time->key.size,
                                time->key.passes & ~((uint32_t)1 << first) };
    TRY(hp_profile_add(profile, &at,
                       with_before(seconds_of(time), hp_profile_find(profile, &at)), err));
    hp_profile_set_spread(profile, &at, time->spread);
    return HYPAR_OK;
}

static void add_elements(struct trainer *t, struct hypar_profile *profile,
                         struct rank_times *time)
{
    char of[64];
    const char *precision = hypar_precision_text(t->plan->precision);
    if (!time->key.size[0])
        return;
    if (time->key.kind == TIMED_SQUARES)
        hp_squares_word(of, sizeof of, precision);
    else
        hp_update_word(of, sizeof of, hypar_optimizer_text(t->plan->optimizer), precision);
    const char *device = hypar_machine_device(hypar_plan_machine(t->plan), 0)->name;
    double elements = (double)time->key.size[0];
    hp_profile_add_point(
        profile, device, of, elements,
        with_before(seconds_of(time), hp_profile_point(profile, device, of, elements)));
}

/* Multiply-adds of a call. */
static double macs_of(const struct nest *nest, const struct work_key *key)
{
    double sum = 0;
    for (int p = 0; p < nest->n_passes; p++) {
        double share = nest->pass[p].macs;
        for (int a = 0; a < nest->n_axes; a++)
            if (nest->pass[p].axes >> a & 1)
                share *= (double)key->size[a] / (double)nest->axis[a].extent;
        sum += key->passes >> p & 1 ? share : 0;
    }
    return sum;
}

/* The share of the device's peak that products reached, for passes that were not measured. */
static void calibrate(struct trainer *t, struct hypar_profile *profile,
                      const struct gathered *g)
{
    const struct hypar_device *device = hypar_machine_device(hypar_plan_machine(t->plan), 0);
    double operations = 0, seconds = 0;
    double peak = t->real == REAL_F64 ? device->fp64_op_per_s : device->fp32_op_per_s;
    for (int i = 0; i < g->n; i++) {
        double macs = g->time[i]->key.kind == TIMED_CALL
                          ? macs_of(t->graph->ops[g->time[i]->key.op].nest, &g->time[i]->key)
                          : 0;
        operations += 2 * macs;
        seconds += macs > 0 ? seconds_of(g->time[i]) : 0;
    }
    double share = seconds > 0 && peak > 0 ? operations / seconds / peak : 0;
    if (share > 0)
        hypar_profile_set_efficiency(profile, device->name, fmin(fmax(share, 1e-4), 1));
}

enum hypar_status hp_measuring_end(struct trainer *t, struct hypar_profile *profile,
                                   struct hypar_error *err)
{
    struct gathered g = { .n = 0 };
    enum hypar_status status = HYPAR_OK;
    if (t->rank != 0) {
        send_times(t);
        return HYPAR_OK;
    }
    for (int i = 0; i < t->measuring->n; i++) {
        struct work_time time = middle_of(t->measuring->samples[i]);
        gather(&g, &time);
    }
    for (int r = 1; r < t->n_ranks; r++)
        receive_times(t, &g, r);
    for (int i = 0; i < g.n && status == HYPAR_OK; i++)
        if (g.time[i]->key.kind != TIMED_CALL)
            add_elements(t, profile, g.time[i]);
        else
            status = add_call(t, profile, g.time[i], err);
    calibrate(t, profile, &g);
    hp_arena_free(&g.arena);
    return status;
}
