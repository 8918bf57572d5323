/* Planner 3d: plans of data x tensor x pipeline degrees. Degrees that are
 * not asked for are chosen among all factorisations of the devices, each with the
 * micro-batches, recomputation and sharding that are fastest in closed form; the best few that
 * fit are simulated, and the best of these is changed step by step as long as that makes it
 * faster. */
#include <math.h>

#include "base/divisor.h"
#include "base/sort.h"
#include "base/stop.h"
#include "cost/papers/array.h"
#include "machine/machine.h"
#include "plan/schedules.h"
#include "search/evaluate/fit.h"
#include "search/evaluate/judge.h"
#include "search/evaluate/verdict.h"
#include "search/micro_batch.h"
#include "search/predict.h"
#include "search/threed/look.h"

enum {
    MOST_TRIED = 48,     /* choices of degrees that are built */
    MOST_SIMULATED = 24, /* of those that fit */
    MOST_STARTS = 4,     /* of these, that are changed */
    MOST_CHUNKS = 8,
};

/* Closed forms of a plan and of a changed one tell better which is faster than those of
 * different degrees do: what is slower than the best by more than that is not simulated. */
static const double WORTH = 1.5;

struct choice {
    const struct problem *problem;
    struct weighing weighing[HYPAR_RECOMPUTE_COUNT];
    struct hypar_layout asked; /* 0: to be chosen */
    bool recompute_asked, shard_asked, schedule_asked;
    struct weighed *weighed; /* one for each choice of degrees */
    int n, capacity;
    int n_shapes; /* degrees that are as asked */
    bool fixed;   /* they follow from what is asked: nothing but micro-batches is chosen */
    struct batch_limit limit; /* of micro-batches, unless asked */
    int64_t evaluated;
};

/* The next number of micro-batches above m: those that divide the samples of a replica, or the
 * one that is asked for; 0: there is none. */
static int64_t next_number(const struct choice *c, const struct hypar_layout *layout, int64_t m)
{
    bool in_turn = hp_schedule[layout->schedule].interleaves; /* as many at a time */
    int64_t each = c->problem->graph->batch / layout->data, asked = c->asked.micro_batches;
    if (asked)
        return m < asked ? asked : 0;
    do
        m = hp_next_divisor(each, m);
    while (in_turn && m % layout->pipeline != 0);
    return m <= hp_most_micro_batches(&c->limit, layout->data) ? m : 0;
}

/* Few micro-batches are better kernels: the least number whose step is within 5 % of the best,
 * of those that fit; if none does, the one that needs least. */
static bool choose_micro_batches(struct choice *c, struct weighed *w)
{
    const double tolerance = 1.05, room = hp_least_room(c->problem);
    struct weighed least = { .memory_bytes = INFINITY };
    double best_s = INFINITY;
    for (int64_t m = 0; (m = next_number(c, &w->layout, m));) {
        w->layout.micro_batches = m;
        if (!hp_weigh(&c->weighing[w->layout.recompute], w))
            return false;
        c->evaluated++;
        if (w->memory_bytes <= room)
            best_s = fmin(best_s, w->step_s);
        if (w->memory_bytes < least.memory_bytes)
            least = *w;
    }
    for (int64_t m = 0; best_s < INFINITY && (m = next_number(c, &w->layout, m));) {
        w->layout.micro_batches = m;
        hp_weigh(&c->weighing[w->layout.recompute], w);
        if (w->memory_bytes <= room && w->step_s <= tolerance * best_s)
            return true;
    }
    *w = least;
    return least.memory_bytes < INFINITY;
}

/* Of what is not asked for, the fastest that fits, the plainest among equals; if none fits,
 * what needs least. */
static void add_degrees(struct choice *c, int data, int tensor, int pipeline)
{
    const double faster = 0.99, room = hp_least_room(c->problem);
    struct weighed best = { .memory_bytes = INFINITY };
    bool found = false;
    struct hypar_layout l = c->asked;
    l.data = data;
    l.tensor = tensor;
    l.pipeline = pipeline;
    l.chunks = l.chunks ? l.chunks : 1;
    if (!c->schedule_asked)
        l.schedule = hp_layout_schedule(&l);
    for (int again = 0; again < HYPAR_RECOMPUTE_COUNT; again++)
        for (int shard = 0; shard < HYPAR_SHARD_COUNT; shard++) {
            struct weighed w = { .layout = l };
            bool as_asked = again == (int)l.recompute && shard == (int)l.shard;
            if ((c->fixed && !as_asked) ||
                (c->recompute_asked ? again != (int)l.recompute
                                    : hp_weighing_repeats(c->weighing, again)) ||
                (c->shard_asked ? shard != (int)l.shard : shard > 0 && data == 1))
                continue;
            w.layout.recompute = (enum hypar_recompute)again;
            w.layout.shard = (enum hypar_shard)shard;
            if (!choose_micro_batches(c, &w))
                continue;
            bool fits = w.memory_bytes <= room, fitted = best.memory_bytes <= room;
            if (!found || (fits && !fitted) ||
                (fits == fitted &&
                 (fits ? w.step_s < faster * best.step_s : w.memory_bytes < best.memory_bytes)))
                best = w;
            found = true;
        }
    if (!found)
        return;
    c->weighed = GROW(c->weighing[0].arena, struct weighed, c->weighed, c->n, &c->capacity);
    c->weighed[c->n++] = best;
}

/* Is this number of parts as asked, and at most `most` (0: any)? */
static bool may_be(int degree, int asked, int most)
{
    return asked ? degree == asked : !most || degree <= most;
}

static bool is_as_asked(const struct choice *c, const struct hypar_layout *l)
{
    const struct hypar_search_options *o = c->problem->options;
    const struct hypar_layout *a = &c->asked;
    return may_be(l->tensor, a->tensor, o->max_tensor) &&
           may_be(l->pipeline, a->pipeline, o->max_pipeline) && may_be(l->data, a->data, 0) &&
           l->data <= c->problem->graph->batch;
}

/* Count the degrees that are as asked, or weigh them. */
static void each_degrees(struct choice *c, bool add)
{
    int n = hypar_machine_device_count(c->problem->machine);
    for (int t = 1; t <= n; t++)
        for (int p = 1; n % t == 0 && p <= n / t; p++) {
            struct hypar_layout l = { .data = n / t / p, .tensor = t, .pipeline = p };
            if (n / t % p != 0 || !is_as_asked(c, &l))
                continue;
            c->n_shapes += !add;
            if (add)
                add_degrees(c, l.data, t, p);
        }
}

static void add_all(struct choice *c)
{
    const struct hypar_layout *a = &c->asked;
    each_degrees(c, false);
    c->fixed = c->n_shapes == 1 && (a->data || a->tensor || a->pipeline);
    each_degrees(c, true);
}

static int by_step(const void *a, const void *b)
{
    const struct weighed *x = a, *y = b;
    if (x->step_s != y->step_s)
        return x->step_s < y->step_s ? -1 : 1;
    return x->layout.tensor != y->layout.tensor ? x->layout.tensor - y->layout.tensor
                                                : x->layout.pipeline - y->layout.pipeline;
}

static int by_memory(const void *a, const void *b)
{
    const struct weighed *x = a, *y = b;
    if (x->memory_bytes != y->memory_bytes)
        return x->memory_bytes < y->memory_bytes ? -1 : 1;
    return by_step(a, b);
}

/* Those that fit by closed form, the fastest first; then the others, the smallest first. */
static void sort(struct choice *c)
{
    double room = hp_least_room(c->problem);
    int fit = 0;
    if (c->n == 0)
        return;
    hp_sort(c->weighed, c->n, sizeof *c->weighed, by_memory);
    while (fit < c->n && c->weighed[fit].memory_bytes <= room)
        fit++;
    hp_sort(c->weighed, fit, sizeof *c->weighed, by_step);
}

/* Changes --------------------------------------------------------------------------------- */

/* The largest number of micro-batches up to m that samples and schedule allow; 0: none. */
static int64_t number_up_to(const struct choice *c, const struct hypar_layout *l, int64_t m)
{
    int64_t last = 0;
    for (int64_t next = 0; (next = next_number(c, l, next)) && next <= m;)
        last = next;
    return last;
}

/* Move the smallest prime factor of one degree to another. */
static bool move_factor(int *from, int *to)
{
    int64_t factor = hp_next_divisor(*from, 1);
    if (!factor)
        return false;
    *from /= (int)factor;
    *to *= (int)factor;
    return true;
}

static bool change_degrees(struct hypar_layout *l, int which)
{
    int *degree[] = { &l->data, &l->tensor, &l->pipeline };
    int from = which / 2, to = (from + 1 + which % 2) % 3;
    return move_factor(degree[from], degree[to]);
}

/* What goes with the degrees. */
static bool complete(const struct choice *c, struct hypar_layout *l)
{
    if (l->pipeline == 1 && !c->asked.chunks)
        l->chunks = 1;
    if (!c->schedule_asked)
        l->schedule = hp_layout_schedule(l);
    if (l->data == 1 && !c->shard_asked)
        l->shard = HYPAR_SHARD_NONE;
    if (l->tensor == 1)
        l->sequence_parallel = c->asked.sequence_parallel;
    l->micro_batches = number_up_to(c, l, l->micro_batches);
    return l->micro_batches > 0 && l->data <= c->problem->graph->batch;
}

enum {
    MORE,
    FEWER,
    CHUNKS,
    LESS_CHUNKS,
    SEQUENCE,
    SHARD,
    AGAIN = SHARD + HYPAR_SHARD_COUNT,
    DEGREES = AGAIN + HYPAR_RECOMPUTE_COUNT,
    N_CHANGES = DEGREES + 6
};

/* Change number `which` of a layout; false: it is not possible, or not as asked. */
static bool change(const struct choice *c, struct hypar_layout *l, int which)
{
    bool may_chunk = !c->schedule_asked && !c->asked.chunks && l->pipeline > 1;
    switch (which) {
    case MORE:
        l->micro_batches = next_number(c, l, l->micro_batches);
        break;
    case FEWER:
        l->micro_batches = number_up_to(c, l, l->micro_batches - 1);
        break;
    case CHUNKS:
    case LESS_CHUNKS:
        if (!may_chunk || (which == CHUNKS ? l->chunks >= MOST_CHUNKS : l->chunks == 1))
            return false;
        l->chunks = which == CHUNKS ? 2 * l->chunks : l->chunks / 2;
        break;
    case SEQUENCE:
        if (c->asked.sequence_parallel || l->tensor == 1)
            return false;
        l->sequence_parallel = !l->sequence_parallel;
        break;
    default:
        if (which < AGAIN && (c->shard_asked || l->data == 1))
            return false;
        if (which >= AGAIN && which < DEGREES &&
            (c->recompute_asked || hp_weighing_repeats(c->weighing, which - AGAIN)))
            return false;
        if (which < AGAIN)
            l->shard = (enum hypar_shard)(which - SHARD);
        else if (which < DEGREES)
            l->recompute = (enum hypar_recompute)(which - AGAIN);
        else if (!change_degrees(l, which - DEGREES) || !is_as_asked(c, l))
            return false;
    }
    return l->micro_batches > 0 && complete(c, l);
}

/* Change a layout as long as that makes it better. */
static void climb(struct choice *c, struct looking *looking, struct looked now)
{
    for (bool better = true; better;) {
        better = false;
        for (int i = 0; i < N_CHANGES && !hp_looked_enough(looking); i++) {
            struct weighed w = { .layout = now.weighed.layout };
            struct looked other;
            if (!change(c, &w.layout, i) || !hp_weigh(&c->weighing[w.layout.recompute], &w))
                continue;
            c->evaluated++;
            bool worth = now.memory.part > 1 || w.step_s <= WORTH * now.weighed.step_s;
            if (worth && hp_look(looking, &w, &other) && hp_looks_better(&other, &now)) {
                now = other;
                better = true;
            }
        }
    }
}

/* The best of the first `n` that is not better than the last one. */
static const struct looked *next_start(const struct looking *looking, int n,
                                       const struct looked *last)
{
    const struct looked *best = NULL;
    for (int i = 0; i < n; i++) {
        const struct looked *l = &looking->looked[i];
        if (l->step_s < INFINITY && (!last || hp_looks_better(last, l)) &&
            (!best || hp_looks_better(l, best)))
            best = l;
    }
    return best;
}

static void look_at_best(struct choice *c, struct looking *looking)
{
    struct looked looked, start;
    const struct looked *next = NULL;
    int fitting = 0;
    for (int i = 0; i < c->n && i < MOST_TRIED && fitting < MOST_SIMULATED; i++) {
        fitting += hp_look(looking, &c->weighed[i], &looked) && looked.memory.part <= 1;
        if (hp_looked_enough(looking))
            break;
    }
    for (int i = 0, n = looking->n; i < MOST_STARTS; i++) {
        next = next_start(looking, n, i ? &start : NULL);
        if (!next)
            return;
        start = *next;
        climb(c, looking, start);
    }
}

/* Degrees that are asked for have their say, whether they fit or not. */
static void take_asked(const struct choice *c, struct looking *looking)
{
    if (c->n > 0 && hp_threed_plan(c->problem, &c->weighed[0].layout, &looking->plan,
                                   &looking->first) == HYPAR_OK)
        looking->best.weighed = c->weighed[0];
}

static void predict(const struct choice *c, const struct looking *looking,
                    struct hypar_found *found)
{
    const struct weighed *w = &looking->best.weighed;
    struct step_work work = hp_step_work(c->problem);
    double samples = (double)c->problem->graph->batch;
    struct array_work energy = { .macs =
                                     work.macs + c->weighing[w->layout.recompute].macs_again,
                                 .dram_words = 3 * c->weighing[0].touched_bytes / 4,
                                 .sent_words = w->comm_bytes / 4 };
    found->plan = looking->plan;
    if (looking->best.part.step_s > 0 && hp_is_large(looking->plan))
        hp_note_part(found, &looking->best.part);
    found->info.evaluated = c->evaluated;
    found->info.chooses = !c->fixed;
    found->prediction = (struct hypar_prediction){
        .step_s = w->step_s,
        .compute_s = w->compute_s,
        .comm_s = w->comm_s,
        .samples_per_s = w->step_s > 0 ? samples / w->step_s : 0,
        .comm_bytes = w->comm_bytes,
        .energy_j = hp_array_energy_j(&energy, &work.device, work.link_j_per_bit,
                                      c->problem->options->precision) +
                    hp_idle_w(c->problem->machine) * w->step_s,
        .state_bytes = hp_plan_fullest(looking->plan, c->problem->limit_bytes).need,
    };
    if (w->step_s > 0)
        found->prediction.mfu = hp_step_flops_per_sample(c->problem->graph) * samples /
                                (work.peak_op_per_s * w->step_s);
}

/* " --data 4 --tensor 3": the degrees and bounds that the user gave. */
static const char *degrees_text(char *text, size_t size, const struct choice *c)
{
    const struct hypar_layout *a = &c->asked;
    const struct hypar_search_options *o = c->problem->options;
    const struct {
        const char *name;
        int degree;
    } given[] = { { "data", a->data },
                  { "tensor", a->tensor },
                  { "pipeline", a->pipeline },
                  { "max-tensor", o->max_tensor },
                  { "max-pipeline", o->max_pipeline } };
    size_t n = 0;
    *text = '\0';
    for (size_t i = 0; i < sizeof given / sizeof *given && n < size; i++)
        if (given[i].degree)
            n += (size_t)snprintf(text + n, size - n, " --%s %d", given[i].name,
                                  given[i].degree);
    return text;
}

/* No product of degrees is the number of devices. Either the degrees that were given do not
 * divide it, or the bounds on the others are too low. */
static enum hypar_status refuse_degrees(const struct choice *c, struct hypar_error *err)
{
    const struct hypar_layout *a = &c->asked;
    int devices = hypar_machine_device_count(c->problem->machine);
    int64_t batch = c->problem->graph->batch, product = 1;
    const int given[] = { a->data, a->tensor, a->pipeline };
    char degrees[128];
    degrees_text(degrees, sizeof degrees, c);
    for (size_t i = 0; i < sizeof given / sizeof *given && product <= devices; i++)
        product *= given[i] ? given[i] : 1;
    if (devices % product != 0)
        return hp_fail(err, HYPAR_INFEASIBLE,
                       "%s: expected degrees whose product divides the %d devices of the "
                       "machine",
                       degrees + 1, devices);
    return hp_fail(err, HYPAR_INFEASIBLE,
                   "%d devices%s%s: no data x tensor x pipeline is %d with at most %lld "
                   "replicas, the samples of the batch",
                   devices, *degrees ? " with" : "", degrees, devices, (long long)batch);
}

/* Degrees that are all asked for are built as they are, or the reason is theirs; of others some
 * must make the number of devices. */
static enum hypar_status refuse(const struct choice *c, const struct looking *looking,
                                struct hypar_error *err)
{
    const struct hypar_layout *a = &c->asked;
    if (looking->plan && !looking->best.state_fits)
        return hypar_plan_check_memory(looking->plan, c->problem->options->memory_bytes, err);
    if (looking->plan)
        return hp_fail_memory(&looking->best.memory, err);
    TRY(hp_check_stop(c->problem->options->stop, err));
    if (c->n > 0)
        return hp_fail(err, HYPAR_INFEASIBLE, "%s", looking->first.text);
    if (c->n_shapes == 0 && !(a->data && a->tensor && a->pipeline))
        return refuse_degrees(c, err);
    struct hypar_layout layout = *a;
    struct hypar_plan *plan;
    int others = (a->tensor ? a->tensor : 1) * (a->pipeline ? a->pipeline : 1);
    if (!layout.data) /* the others are at fault then */
        layout.data = hypar_machine_device_count(c->problem->machine) / others;
    if (layout.schedule == HYPAR_SCHEDULE_NONE)
        layout.schedule = hp_layout_schedule(&layout);
    enum hypar_status status = hp_threed_plan(c->problem, &layout, &plan, err);
    hypar_plan_free(plan);
    return status == HYPAR_OK
               ? hp_fail(err, HYPAR_INFEASIBLE, "no plan with these degrees and options")
               : status;
}

static enum hypar_status plan_threed(const struct planner *self, const struct problem *problem,
                                     struct hypar_found *found, struct hypar_error *err)
{
    const struct hypar_search_options *o = problem->options;
    struct choice c = { .problem = problem,
                        .asked = o->layout,
                        .limit = hp_batch_limit(problem) };
    struct looking looking = { .problem = problem, .arena = &found->arena };
    for (int again = 0; again < HYPAR_RECOMPUTE_COUNT; again++)
        c.weighing[again] = hp_weighing(&found->arena, problem, (enum hypar_recompute)again);
    if (!c.asked.micro_batches)
        c.asked.micro_batches = o->micro_batches;
    if (c.asked.recompute == HYPAR_RECOMPUTE_NONE)
        c.asked.recompute = o->recompute;
    if (c.asked.shard == HYPAR_SHARD_NONE)
        c.asked.shard = o->shard;
    c.recompute_asked = o->recompute_given || c.asked.recompute != HYPAR_RECOMPUTE_NONE;
    c.shard_asked = o->shard_given || c.asked.shard != HYPAR_SHARD_NONE;
    c.schedule_asked = c.asked.schedule != HYPAR_SCHEDULE_NONE;
    add_all(&c);
    sort(&c);
    if (c.fixed)
        take_asked(&c, &looking);
    else
        look_at_best(&c, &looking);
    if (!looking.plan || looking.best.memory.part > 1) {
        enum hypar_status status = refuse(&c, &looking, err);
        hypar_plan_free(looking.plan);
        return hp_in(err, status, "%s", self->info.name);
    }
    predict(&c, &looking, found);
    return HYPAR_OK;
}

/* clang-format off */
const struct planner hp_planner_3d = {
    .info = { "3d", "data x tensor x pipeline, columns then rows, heads, equal stages",
      .source = "Narayanan et al., SC 2021" },
    .plan = plan_threed,
    .takes = TAKES_MICRO_BATCHES | TAKES_DATA | TAKES_TENSOR | TAKES_PIPELINE | TAKES_CHUNKS |
             TAKES_SCHEDULE | TAKES_SEQUENCE_PARALLEL | TAKES_MAX_TENSOR | TAKES_MAX_PIPELINE,
    .checks_memory = true,
    .shards = true,
};
/* clang-format on */
