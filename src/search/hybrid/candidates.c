/* Shapes that are tried, and the best cut of each. */
#include "search/hybrid/candidates.h"

#include <math.h>

#include "base/divisor.h"
#include "base/sort.h"
#include "base/stop.h"
#include "plan/schedules.h"
#include "search/limits.h"
#include "search/options.h"
#include "search/runnable.h"

/* Numbers of micro-batches ----------------------------------------------------------------- */

static bool has_few_divisors(int64_t batch)
{
    int n = 0;
    for (int64_t m = 0; (m = hp_next_divisor(batch, m)) && n <= HP_FEW;)
        n++;
    return n <= HP_FEW;
}

static void add_number(struct candidates *s, int64_t number)
{
    s->number = GROW(s->h.arena, int64_t, s->number, s->n_numbers, &s->number_capacity);
    s->number[s->n_numbers++] = number;
}

/* Numbers of micro-batches that divide the batch; of many, each about twice the one before. */
static void list_numbers(struct candidates *s)
{
    s->all_numbers = has_few_divisors(s->problem->graph->batch);
    int factor = s->all_numbers ? 1 : 2;
    const struct hypar_search_options *o = s->problem->options;
    int64_t batch = s->problem->graph->batch;
    s->limit = hp_batch_limit(s->problem);
    if (o->micro_batches) {
        add_number(s, o->micro_batches);
        return;
    }
    int64_t last = 0, most = hp_most_micro_batches(&s->limit, 1);
    for (int64_t m = 0; (m = hp_next_divisor(batch, m)) && m <= most;)
        if (m >= last * factor) {
            add_number(s, m);
            last = m;
        }
}

/* Candidates ------------------------------------------------------------------------------- */

/* Is there a candidate of the same shape and step? It is almost certainly the same plan. */
static bool is_known(const struct candidates *s, const struct candidate *c)
{
    for (int i = 0; i < s->n; i++) {
        const struct pipeline_shape *a = &s->candidate[i].shape, *b = &c->shape;
        if (s->candidate[i].step_s == c->step_s && a->n_devices == b->n_devices &&
            a->groups == b->groups && a->chunks == b->chunks && a->schedule == b->schedule &&
            a->step.micro_batches == b->step.micro_batches && a->step.shard == b->step.shard &&
            a->step.far_ahead == b->step.far_ahead && a->step.shares == b->step.shares)
            return true;
    }
    return false;
}

static void add_cut(struct candidates *s, const struct pipeline_shape *shape, double below_s)
{
    struct candidate c;
    if (!hp_cut_pipeline(&s->h, shape, &c) || c.step_s > below_s || is_known(s, &c))
        return;
    if (shape->room <= 1) /* else it may not fit */
        s->best_s = fmin(s->best_s, c.step_s);
    s->candidate = GROW(s->h.arena, struct candidate, s->candidate, s->n, &s->capacity);
    c.number = s->n_found++;
    s->candidate[s->n++] = c;
}

/* Does the target have the schedule, with so many micro-batches? */
static bool may_run(const struct candidates *s, const struct pipeline_shape *shape,
                    enum hypar_schedule_kind kind)
{
    return hp_has_schedule(s->problem, kind) &&
           shape->step.micro_batches >=
               hp_least_micro_batches(s->problem, kind, shape->groups * shape->chunks);
}

/* Can no cut of the shape be the best? */
static bool is_too_slow(struct candidates *s, const struct pipeline_shape *shape)
{
    double beat_s = s->problem->beat_s > 0 ? s->problem->beat_s : INFINITY;
    double best_s = s->all || s->h.small ? INFINITY : s->best_s;
    double most_s = fmin(HP_OFF_LITTLE * HP_OFF_LITTLE * best_s, HP_OFF_MUCH * beat_s);
    return most_s < INFINITY && hp_shape_bound(&s->h, shape) > most_s;
}

void hp_try_shape(struct candidates *s, const struct pipeline_shape *shape)
{
    enum hypar_schedule_kind asked = s->problem->options->layout.schedule;
    enum hypar_schedule_kind leaner = hp_leaner_schedule(shape->schedule);
    if (!may_run(s, shape, shape->schedule) ||
        (asked == HYPAR_SCHEDULE_NONE && leaner != shape->schedule &&
         may_run(s, shape, leaner)))
        return; /* the leaner schedule takes as long in closed form, and less memory */
    if ((asked != HYPAR_SCHEDULE_NONE && shape->schedule != asked) ||
        hp_stopped(s->problem->options->stop))
        return;
    if (!s->problem->options->micro_batches &&
        shape->step.micro_batches > hp_most_micro_batches(&s->limit, shape->n_devices))
        return;
    if (shape->unequal && hp_equal_shares(s->problem))
        return;
    int64_t stages = s->problem->options->stages;
    if (stages && shape->groups * shape->chunks != stages)
        return;
    if (is_too_slow(s, shape))
        return;
    s->h.is_short = false;
    add_cut(s, shape, INFINITY);
    if (s->h.is_short && !s->h.small && shape->room == 1) {
        s->tight = GROW(s->h.arena, struct candidate, s->tight, s->n_tight, &s->tight_capacity);
        s->tight[s->n_tight] = (struct candidate){ .shape = *shape,
                                                   .step_s = hp_shape_bound(&s->h, shape),
                                                   .number = s->n_tight };
        s->n_tight++;
    }
}

static void try_schedules(struct candidates *s, struct pipeline_shape shape)
{
    shape.chunks = 1;
    if (shape.groups == 1) {
        shape.schedule = HYPAR_SCHEDULE_NONE;
        hp_try_shape(s, &shape);
        return;
    }
    for (int kind = 0; kind < hp_n_schedules; kind++) {
        shape.schedule = (enum hypar_schedule_kind)kind;
        shape.step.apart = hp_schedule[kind].apart;
        if (hp_is_straight(shape.schedule))
            hp_try_shape(s, &shape);
    }
    shape.step.apart = false;
    if (shape.unequal)
        return;
    for (int kind = 0; kind < hp_n_schedules; kind++) {
        shape.schedule = (enum hypar_schedule_kind)kind;
        bool taken =
            hp_schedule[kind].interleaves &&
            hp_takes_micro_batches(shape.schedule, shape.groups, shape.step.micro_batches);
        for (shape.chunks = 2; shape.chunks <= HP_FEW && taken; shape.chunks++)
            hp_try_shape(s, &shape);
    }
}

/* From the first device on and, where devices differ, from the last; with equal parts, and with
 * parts in proportion to the speed of their devices. */
static void try_directions(struct candidates *s, struct pipeline_shape shape)
{
    bool differ = s->h.model.speed != NULL;
    for (int shares = 0; shares <= (differ && !hp_equal_shares(s->problem)); shares++)
        for (int reversed = 0; reversed <= differ; reversed++) {
            shape.step.shares = shares;
            shape.reversed = reversed;
            try_schedules(s, shape);
        }
}

static void try_shards(struct candidates *s, struct pipeline_shape shape)
{
    const struct hypar_search_options *o = s->problem->options;
    for (int shard = 0; shard <= HYPAR_SHARD_PARAMETERS; shard++) {
        if (o->shard_given && o->shard != (enum hypar_shard)shard)
            continue;
        shape.step.shard = (enum hypar_shard)shard;
        try_directions(s, shape);
    }
    shape.step.far_ahead =
        shape.step.shard == HYPAR_SHARD_PARAMETERS &&
        hp_gathers_are_late(&s->h, shape.n_devices, shape.step.micro_batches);
    if (shape.step.far_ahead)
        try_directions(s, shape);
}

/* More and more micro-batches, until they have made it worse twice. */
static void try_numbers(struct candidates *s, struct pipeline_shape shape)
{
    double best_s = INFINITY;
    for (int i = 0, falls = 0; i < s->n_numbers && (falls < 2 || s->h.small); i++) {
        int before = s->n;
        double now_s = INFINITY;
        shape.step.micro_batches = s->number[i];
        try_shards(s, shape);
        for (int c = before; c < s->n; c++)
            now_s = fmin(now_s, s->candidate[c].step_s);
        falls = best_s < INFINITY && now_s > HP_ABOUT_EQUAL * best_s ? falls + 1 : 0;
        best_s = fmin(best_s, now_s);
    }
}

static bool may_have_stages(const struct candidates *s, int n)
{
    const struct hypar_search_options *o = s->problem->options;
    return n <= s->h.units.n && (!o->max_pipeline || n <= o->max_pipeline) &&
           (!o->stages || o->stages % n == 0);
}

/* Stages of `each` devices, on all devices of the machine, or on fewer. */
static void try_each(struct candidates *s, int each)
{
    int n = hypar_machine_device_count(s->problem->machine), most = n / each;
    for (int groups = most; groups >= 1; groups = n <= HP_FEW ? groups - 1 : groups / 2) {
        bool all = groups == most;
        bool few = n <= HP_FEW || (n <= HP_SOME && groups * each * 4 >= n);
        struct pipeline_shape shape = { .n_devices = each, .groups = groups, .room = 1 };
        if (!(all || few) || !may_have_stages(s, groups))
            continue;
        try_numbers(s, shape);
        shape.size = 1; /* closed forms are most accurate for stages that are only replicated */
        if (groups == 1)
            try_numbers(s, shape);
    }
}

/* The unit of devices of unequal groups: the least divisor of the devices with at most HP_FEW
 * units. */
static int quantum_of(const struct candidates *s)
{
    int n = hypar_machine_device_count(s->problem->machine), quantum = 1;
    while (n % quantum != 0 || n / quantum > HP_FEW)
        quantum++;
    return quantum;
}

/* Is a number of stages asked for that makes groups which are not all devices? */
static bool is_asked(const struct candidates *s, int groups)
{
    int n = hypar_machine_device_count(s->problem->machine);
    return s->problem->options->stages && groups <= n && n % groups != 0 &&
           may_have_stages(s, groups);
}

/* Try `groups` groups of equal numbers of devices; some devices are left over. */
static void try_some(struct candidates *s, int groups)
{
    int n = hypar_machine_device_count(s->problem->machine), each = n / groups;
    while (n % each != 0)
        each--;
    try_numbers(s, (struct pipeline_shape){ .n_devices = each, .groups = groups, .room = 1 });
}

static void try_all(struct candidates *s)
{
    int n = hypar_machine_device_count(s->problem->machine);
    for (int each = n; each >= 1; each--)
        if (n % each == 0)
            try_each(s, each);
    for (int groups = 2; groups <= n && groups <= s->h.units.n; groups++)
        if (is_asked(s, groups))
            try_some(s, groups);
    for (int groups = 2; groups <= HP_FEW; groups++)
        if (s->h.small ? may_have_stages(s, groups) : is_asked(s, groups))
            try_numbers(s, (struct pipeline_shape){ .n_devices = quantum_of(s),
                                                    .groups = groups,
                                                    .unequal = true,
                                                    .room = 1 });
}

static int by_step(const void *a, const void *b)
{
    const struct candidate *x = a, *y = b;
    if (x->step_s != y->step_s)
        return x->step_s < y->step_s ? -1 : 1;
    return x->number < y->number ? -1 : x->number > y->number;
}

/* Stages on unequal groups of devices, with the micro-batches and the sharding of another. */
static void try_unequal(struct candidates *s, struct pipeline_shape shape)
{
    shape.n_devices = quantum_of(s);
    shape.unequal = true;
    shape.size = 0;
    for (shape.groups = 2; shape.groups <= HP_FEW; shape.groups++)
        if (may_have_stages(s, shape.groups))
            try_directions(s, shape);
}

/* Add variants of the best candidate: stages that are only replicated, unequal stages, and
 * numbers of micro-batches between those tried before. */
static void refine(struct candidates *s)
{
    int64_t batch = s->problem->graph->batch;
    for (int i = 0; i < HP_FEW_ALIKE && i < s->n; i++) {
        struct pipeline_shape shape = s->candidate[i].shape;
        int64_t m = shape.step.micro_batches;
        shape.size = 1;
        if (s->candidate[i].stage[0].estimate.size > 1)
            hp_try_shape(s, &shape);
        shape.size = 0;
        bool may_help = !hypar_machine_is_uniform(s->problem->machine) ||
                        (shape.groups > 1 && !s->h.units.layers);
        if (!s->h.small && may_help)
            try_unequal(s, shape);
        for (int64_t other = s->n_numbers > 1 ? m / 2 : 2 * m;
             (other = hp_next_divisor(batch, other)) && other < 2 * m;) {
            shape.step.micro_batches = other;
            bool taken = hp_takes_micro_batches(shape.schedule, shape.groups, other);
            bool known = false;
            for (int k = 0; k < s->n_numbers; k++)
                known |= s->number[k] == other;
            if (!known && taken)
                hp_try_shape(s, &shape);
        }
    }
}

static void sort(struct candidate *list, int n)
{
    if (n > 0)
        hp_sort(list, n, sizeof *list, by_step);
}

void hp_find_candidates(struct candidates *s, bool all)
{
    s->n = s->n_tight = 0;
    s->all = all;
    try_all(s);
    sort(s->candidate, s->n);
    refine(s);
    sort(s->candidate, s->n);
    s->least_s = s->n ? s->candidate[0].step_s : INFINITY;
}

void hp_find_larger(struct candidates *s, double below_s)
{
    s->n = 0;
    sort(s->tight, s->n_tight);
    for (int i = 0; i < s->n_tight && i < HP_SOME && s->tight[i].step_s < below_s &&
                    !hp_stopped(s->problem->options->stop);
         i++) {
        struct pipeline_shape larger = s->tight[i].shape;
        larger.room *= HP_OFF_LITTLE;
        add_cut(s, &larger, below_s);
    }
    sort(s->candidate, s->n);
}

enum hypar_status hp_candidates_begin(struct candidates *out, struct arena *arena,
                                      const struct problem *problem, struct hypar_error *err)
{
    *out = (struct candidates){ .problem = problem, .best_s = INFINITY };
    TRY(hp_hybrid_begin(&out->h, arena, problem, err));
    list_numbers(out);
    return HYPAR_OK;
}

void hp_candidates_end(struct candidates *s)
{
    hp_hybrid_end(&s->h);
}
