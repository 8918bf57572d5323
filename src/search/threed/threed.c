/* Planner 3d: candidates of data x tensor x pipeline degrees. Degrees that are not asked for
 * are all factorisations of the devices, each with the micro-batches, recomputation and
 * sharding that are fastest in closed form. Of candidates that turn out to be among the best,
 * others follow that differ in one step. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/divisor.h"
#include "base/stop.h"
#include "machine/machine.h"
#include "plan/schedules.h"
#include "search/evaluate/evaluate.h"
#include "search/limits.h"
#include "search/micro_batch.h"
#include "search/predict.h"
#include "search/runnable.h"
#include "search/threed/estimate.h"

struct threed_search {
    const struct problem *problem;
    struct arena *arena;
    struct evaluation evaluation;
    struct layout_model model[HYPAR_RECOMPUTE_COUNT];
    struct hypar_layout asked; /* 0: to be chosen */
    bool recompute_asked, shard_asked, schedule_asked;
    const struct layout_estimate *first; /* that was added; NULL: none */
    struct table layouts;                /* that were added */
    int n_shapes;                        /* degrees that are as asked */
    bool all;                            /* every layout is a candidate, however slow */
    bool fixed; /* they follow from what is asked: nothing but micro-batches is chosen */
    struct batch_limit limit; /* of micro-batches, unless asked */
    int64_t evaluated;
};

/* Candidates --------------------------------------------------------------------------------
 */

/* A layout as numbers: first those by which errors of closed forms differ. */
enum { ALIKE_WORDS = 7, KEY_WORDS = 9 };

static void write_key(const struct hypar_layout *l, int64_t key[KEY_WORDS])
{
    const int64_t words[KEY_WORDS] = { l->data,
                                       l->tensor,
                                       l->pipeline,
                                       l->chunks,
                                       l->micro_batches,
                                       (int64_t)l->schedule,
                                       l->sequence_parallel,
                                       (int64_t)l->recompute,
                                       (int64_t)l->shard };
    memcpy(key, words, sizeof words);
}

static void add_layout(struct threed_search *c, const struct layout_estimate *estimate)
{
    const struct hypar_layout *l = &estimate->layout;
    bool gathers = l->shard == HYPAR_SHARD_PARAMETERS;
    int64_t *key = NEW(c->arena, int64_t, KEY_WORDS);
    write_key(l, key);
    int n = c->layouts.used;
    if (hp_table_put(&c->layouts, c->arena, key, KEY_WORDS * sizeof *key, n) < n)
        return;
    struct layout_estimate *kept = NEW(c->arena, struct layout_estimate, 1);
    *kept = *estimate;
    c->first = c->first ? c->first : kept;
    struct estimate p = { .candidate = kept,
                          .step_s = estimate->step_s,
                          .memory = { .device = -1 },
                          .tasks = hp_reduced_tasks(c->problem, l->pipeline * l->chunks,
                                                    l->tensor, l->micro_batches),
                          .alike =
                              hp_hash(HP_HASH_START + gathers, key, ALIKE_WORDS * sizeof *key),
                          .family = 2u * (l->pipeline > 1) + gathers };
    hp_note_memory(&p.memory, 0, estimate->memory_bytes, hp_least_room(c->problem));
    hp_add_candidate(&c->evaluation, &p);
}

static enum hypar_status build(void *planner, const void *candidate, struct hypar_plan **out,
                               struct hypar_error *err)
{
    const struct threed_search *c = planner;
    const struct layout_estimate *estimate = candidate;
    const struct problem *problem = c->problem;
    *out = hp_plan_new(problem->graph, problem->machine, &problem->settings);
    return hp_plan_set_layout_at(*out, &estimate->layout, &problem->limits, err);
}

/* Degrees ---------------------------------------------------------------------------------- */

/* The next number of micro-batches above m: those that divide the samples of a replica and that
 * the target runs, or the one that is asked for; 0: there is none. */
static int64_t next_number(const struct threed_search *c, const struct hypar_layout *layout,
                           int64_t m)
{
    int64_t each = c->problem->graph->batch / layout->data, asked = c->asked.micro_batches;
    int64_t least =
        hp_least_micro_batches(c->problem, layout->schedule, layout->pipeline * layout->chunks);
    if (asked)
        return m < asked ? asked : 0;
    do
        m = hp_next_divisor(each, m);
    while (m && (m < least || !hp_takes_micro_batches(layout->schedule, layout->pipeline, m)));
    return m <= hp_most_micro_batches(&c->limit, layout->data) ? m : 0;
}

/* The fewest micro-batches that fit and are about as fast as the best; if none fit, those that
 * need least. */
static bool find_micro_batches(struct threed_search *c, struct layout_estimate *w)
{
    struct arena scratch = { 0 };
    double *step_s = NULL, room = hp_least_room(c->problem);
    struct layout_estimate *estimate = NULL;
    int n = 0, capacity = 0, step_capacity = 0, best = 0;
    for (int64_t m = 0; (m = next_number(c, &w->layout, m)); n++) {
        w->layout.micro_batches = m;
        if (!hp_estimate_layout(&c->model[w->layout.recompute], w))
            break;
        c->evaluated++;
        estimate = GROW(&scratch, struct layout_estimate, estimate, n, &capacity);
        step_s = GROW(&scratch, double, step_s, n, &step_capacity);
        estimate[n] = *w;
        step_s[n] = w->memory_bytes <= room ? w->step_s : INFINITY;
        best = w->memory_bytes < estimate[best].memory_bytes ? n : best;
    }
    int few = hp_fewest_micro_batches(step_s, n);
    if (n > 0)
        *w = estimate[few < 0 ? best : few];
    hp_arena_free(&scratch);
    return n > 0;
}

/* The layout with every number of micro-batches, with and without sequence parallelism. */
static void add_all_numbers(struct threed_search *c, const struct layout_estimate *from)
{
    for (int sequence = 0; sequence <= (from->layout.tensor > 1); sequence++)
        for (int64_t m = 0; (m = next_number(c, &from->layout, m));) {
            struct layout_estimate w = *from;
            w.layout.micro_batches = m;
            w.layout.sequence_parallel |= sequence == 1;
            if (hp_estimate_layout(&c->model[w.layout.recompute], &w))
                add_layout(c, &w);
            c->evaluated++;
        }
}

/* Of recomputation and sharding, all that are not asked for. */
static void add_degrees(struct threed_search *c, int data, int tensor, int pipeline)
{
    struct hypar_layout l = c->asked;
    l.data = data;
    l.tensor = tensor;
    l.pipeline = pipeline;
    l.chunks = l.chunks ? l.chunks : 1;
    if (!c->schedule_asked)
        l.schedule = hp_layout_schedule(&l);
    for (int again = 0; again < HYPAR_RECOMPUTE_COUNT; again++)
        for (int shard = 0; shard < HYPAR_SHARD_COUNT; shard++) {
            struct layout_estimate w = { .layout = l };
            bool as_asked = again == (int)l.recompute && shard == (int)l.shard;
            if ((c->fixed && !as_asked) ||
                (c->recompute_asked ? again != (int)l.recompute
                                    : hp_repeats_recompute(c->model, again)) ||
                (c->shard_asked ? shard != (int)l.shard : shard > 0 && data == 1))
                continue;
            w.layout.recompute = (enum hypar_recompute)again;
            w.layout.shard = (enum hypar_shard)shard;
            if (c->all)
                add_all_numbers(c, &w);
            else if (find_micro_batches(c, &w))
                add_layout(c, &w);
        }
}

/* Is this number of parts as asked, and at most `most` (0: any)? */
static bool may_be(int degree, int asked, int most)
{
    return asked ? degree == asked : !most || degree <= most;
}

static bool is_as_asked(const struct threed_search *c, const struct hypar_layout *l)
{
    const struct hypar_search_options *o = c->problem->options;
    const struct hypar_layout *a = &c->asked;
    return may_be(l->tensor, a->tensor, o->max_tensor) &&
           may_be(l->pipeline, a->pipeline, o->max_pipeline) && may_be(l->data, a->data, 0) &&
           l->data <= c->problem->graph->batch;
}

/* Count the degrees that are as asked, or add them. */
static void each_degrees(struct threed_search *c, bool add)
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

static void add_all(struct threed_search *c)
{
    const struct hypar_layout *a = &c->asked;
    each_degrees(c, false);
    c->fixed = c->n_shapes == 1 && (a->data || a->tensor || a->pipeline);
    each_degrees(c, true);
}

/* Changes --------------------------------------------------------------------------------- */

/* The largest number of micro-batches up to m that samples and schedule allow; 0: none. */
static int64_t number_up_to(const struct threed_search *c, const struct hypar_layout *l,
                            int64_t m)
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

/* Choose the settings that follow from the degrees. */
static bool complete(const struct threed_search *c, struct hypar_layout *l)
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
static bool change(const struct threed_search *c, struct hypar_layout *l, int which)
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
        if (!may_chunk || (which == CHUNKS ? l->chunks >= HP_FEW : l->chunks == 1))
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
            (c->recompute_asked || hp_repeats_recompute(c->model, which - AGAIN)))
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

/* Adds the candidates that differ in one step from a candidate that is the best so far, or
 * about as fast. If that candidate does not fit, a neighbour that recomputes, shards or divides
 * more may. */
static void follow(void *planner, struct evaluation *e, const struct evaluated *now)
{
    struct threed_search *c = planner;
    const struct layout_estimate *from = now->estimate.candidate;
    bool worse = hp_is_better(&e->best, now);
    if (worse && !(hp_evaluation_fits(e) && now->state_fits && hp_is_near_best(e, now->step_s)))
        return;
    for (int i = 0; i < N_CHANGES; i++) {
        struct layout_estimate next = { .layout = from->layout };
        if (!change(c, &next.layout, i) ||
            !hp_estimate_layout(&c->model[next.layout.recompute], &next))
            continue;
        c->evaluated++;
        add_layout(c, &next);
    }
}

/* Say which operators the target keeps whole although the layout divides them. */
static void note_whole(const struct threed_search *c, const struct hypar_layout *layout,
                       struct hypar_found *found)
{
    const struct problem *problem = c->problem;
    const struct layout_limits limits = { .borders = problem->limits.borders };
    if (!problem->limits.axes || layout->tensor == 1)
        return;
    struct hypar_plan *wanted =
        hp_plan_new(problem->graph, problem->machine, &problem->settings);
    if (hp_plan_set_layout_at(wanted, layout, &limits, NULL) == HYPAR_OK)
        found->info.for_target = hp_changed_text(&found->arena, problem, wanted, found->plan);
    hypar_plan_free(wanted);
}

static void predict(const struct threed_search *c, const struct layout_estimate *w,
                    struct hypar_found *found)
{
    note_whole(c, &w->layout, found);
    found->info.evaluated = c->evaluated;
    found->info.chooses = !c->fixed;
    found->prediction = (struct hypar_prediction){
        .step_s = w->step_s,
        .compute_s = w->compute_s,
        .comm_bytes = w->comm_bytes,
    };
    hp_predict_closed(c->problem, c->model[w->layout.recompute].macs_again,
                      3 * c->model[0].touched_bytes / 4, found);
}

/* " --data 4 --tensor 3": the degrees and bounds that the user gave. */
static const char *degrees_text(char *text, size_t size, const struct threed_search *c)
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
static enum hypar_status refuse_degrees(const struct threed_search *c, struct hypar_error *err)
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
static enum hypar_status refuse(struct threed_search *c, struct hypar_error *err)
{
    const struct hypar_layout *a = &c->asked;
    if (c->first)
        return hp_refuse(&c->evaluation, err);
    TRY(hp_check_stop(c->problem->options->stop, err));
    if (c->n_shapes == 0 && !(a->data && a->tensor && a->pipeline))
        return refuse_degrees(c, err);
    struct layout_estimate asked = { .layout = *a };
    struct hypar_plan *plan;
    int others = (a->tensor ? a->tensor : 1) * (a->pipeline ? a->pipeline : 1);
    if (!asked.layout.data) /* the others are at fault then */
        asked.layout.data = hypar_machine_device_count(c->problem->machine) / others;
    if (asked.layout.schedule == HYPAR_SCHEDULE_NONE)
        asked.layout.schedule = hp_layout_schedule(&asked.layout);
    enum hypar_status status = hp_candidate_plan(&c->evaluation, &asked, &plan, err);
    hypar_plan_free(plan);
    return status == HYPAR_OK
               ? hp_fail(err, HYPAR_INFEASIBLE, "no plan with these degrees and options")
               : status;
}

static void read_asked(struct threed_search *c, const struct hypar_search_options *o)
{
    c->asked = o->layout;
    if (!c->asked.micro_batches)
        c->asked.micro_batches = o->micro_batches;
    if (c->asked.recompute == HYPAR_RECOMPUTE_NONE)
        c->asked.recompute = o->recompute;
    if (c->asked.shard == HYPAR_SHARD_NONE)
        c->asked.shard = o->shard;
    c->recompute_asked = o->recompute_given || c->asked.recompute != HYPAR_RECOMPUTE_NONE;
    c->shard_asked = o->shard_given || c->asked.shard != HYPAR_SHARD_NONE;
    c->schedule_asked = c->asked.schedule != HYPAR_SCHEDULE_NONE;
}

/* Nothing fits: evaluate every layout, those that need least first. Micro-batches may be as
 * small as a sample, even if batch norms have few samples then. */
static void evaluate_all(struct threed_search *c)
{
    c->all = true;
    c->limit.least = 1;
    hp_evaluate_further(&c->evaluation, 1);
    each_degrees(c, true);
    hp_evaluate_candidates(&c->evaluation);
}

static enum hypar_status plan_threed(const struct planner *self, const struct problem *problem,
                                     struct hypar_found *found, struct hypar_error *err)
{
    const struct generator generator = { .build = build, .follow = follow, .off = HP_OFF_MUCH };
    struct threed_search c = { .problem = problem,
                               .arena = &found->arena,
                               .limit = hp_batch_limit(problem) };
    hp_evaluation_begin(&c.evaluation, problem, c.arena, &generator, &c);
    for (int again = 0; again < HYPAR_RECOMPUTE_COUNT; again++)
        c.model[again] = hp_layout_model(c.arena, problem, (enum hypar_recompute)again);
    read_asked(&c, problem->options);
    add_all(&c);
    if (c.fixed && c.first) { /* what is asked for has its say, whether it fits or not */
        TRY(hp_in(err, hp_candidate_plan(&c.evaluation, c.first, &found->plan, err), "%s",
                  self->info.name));
        predict(&c, c.first, found);
        return HYPAR_OK;
    }
    hp_evaluate_candidates(&c.evaluation);
    if (!hp_evaluation_fits(&c.evaluation))
        evaluate_all(&c);
    if (!hp_evaluation_fits(&c.evaluation))
        return hp_in(err, refuse(&c, err), "%s", self->info.name);
    hp_accept(&c.evaluation, found);
    predict(&c, c.evaluation.best.estimate.candidate, found);
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
    .unequal_shares = true,
};
/* clang-format on */
