/* Delta simulation of a plan: a change rewrites the blocks that it touches, and the timeline
 * replays them; then the change is kept or undone. */
#include "sim/delta/delta.h"

#include <string.h>

#include "sim/delta/targets.h"
#include "sim/full/timeline.h"

/* The ids of a block are consecutive; ranges have 1, 2, 4, ... ids. */
enum { N_CLASSES = 31 };

struct spare {
    int *first;
    int n, capacity;
};

/* The state of a block before the change. */
struct block_before {
    int number, first, size;
};

struct delta {
    struct arena arena;
    struct hypar_plan *plan;
    struct lowering *lowering;
    struct timing *timing;
    bool whole; /* several micro-batches, or a schedule with other slots: replayed as a whole */
    bool gathers; /* divided parameters are gathered after passes of other operators */
    ticks length, old_length;
    struct delta_timeline *timeline;
    int next_id;
    struct spare spare[N_CLASSES];
    struct targets targets;
    /* the current change */
    int *op, n_ops, change;
    int *marked; /* by block: the change in which it was listed */
    int *list, n_list;
    struct block_before *before;
    int n_before;
    int *group, *next; /* before the change */
    bool groups_changed;
    /* before the change: each op's parts, by body and then of the tail, and the patterns of the
     * exchanges that it accesses, by body, op after op */
    const struct op_parts ***parts;
    const struct pattern ***pattern;
    double *busy;                      /* by device: a lower bound of its computing time */
    struct sim_cache *own, *sim_cache; /* its own, or a shared one */
    bool laid_out_only; /* the change was given up before its tasks were written */
    struct sim_task *task;
    int *after, task_capacity, after_capacity;
};

/* Ids --------------------------------------------------------------------------------- */

static int class_of(int n)
{
    int class = 0;
    while (1 << class < n)
        class ++;
    return class;
}

static int take_ids(struct delta *d, int n)
{
    int class = class_of(n);
    if (d->spare[class].n)
        return d->spare[class].first[--d->spare[class].n];
    int first = d->next_id;
    d->next_id += 1 << class;
    return first;
}

static void give_ids(struct delta *d, int first, int n)
{
    if (!n)
        return;
    struct spare *s = &d->spare[class_of(n)];
    s->first = GROW(&d->arena, int, s->first, s->n, &s->capacity);
    s->first[s->n++] = first;
}

/* The blocks that a change touches -----------------------------------------------------------
 */

static int block_of_target(const struct delta *d, int target)
{
    const struct training_graph *k = &d->lowering->training;
    if (target < k->n_op_passes)
        return hp_pass_block(d->timing->blocks, 0, target);
    if (target < k->n_op_passes + k->n_exchanges + k->n_tail)
        return hp_exchange_block(d->timing->blocks, 0, target - k->n_op_passes);
    return hp_update_block(d->timing->blocks, target - k->n_op_passes - k->n_tail);
}

static void mark(struct delta *d, int block)
{
    if (d->marked[block] == d->change)
        return;
    d->marked[block] = d->change;
    d->list[d->n_list++] = block;
}

static void mark_passes(struct delta *d, int op)
{
    const struct training_graph *k = &d->lowering->training;
    for (int p = 0; p < 2 * MAX_PASSES; p++) {
        int op_pass = hp_op_pass(k, op, p / 2, p % 2);
        if (op_pass < 0)
            continue;
        mark(d, k->op_pass[d->group[op_pass]].item);
        mark(d, hp_pass_block(d->timing->blocks, 0, op_pass));
    }
}

/* Mark the blocks of the ops' passes, and of passes whose fusion group has changed. */
static void mark_groups(struct delta *d)
{
    const struct blocks *s = d->timing->blocks;
    const struct training_graph *k = &d->lowering->training;
    for (int i = 0; i < d->n_ops; i++)
        mark_passes(d, d->op[i]);
    for (int i = 0; d->groups_changed && i < k->n_op_passes; i++)
        if (d->group[i] != s->head[0][i]) {
            mark(d, k->op_pass[d->group[i]].item);
            mark(d, hp_pass_block(s, 0, i));
        }
}

/* Mark writer and reader of an exchange: whether their tensor reaches memory has changed. */
static void mark_ends(struct delta *d, int exchange)
{
    const struct exchange *e = &d->lowering->training.exchange[exchange];
    for (int i = 0; i < e->n_writers; i++)
        mark_passes(d, e->writer[i].op);
    for (int i = 0; i < e->n_readers; i++)
        mark_passes(d, e->reader[i].op);
}

static void mark_exchanges(struct delta *d)
{
    const struct training_graph *k = &d->lowering->training;
    const struct pattern *const *was = d->pattern[0];
    for (int i = 0; i < d->n_ops; i++)
        for (int t = k->access_start[d->op[i]]; t < k->access_start[d->op[i] + 1]; t++, was++) {
            int exchange = k->accessed[t];
            const struct pattern *now = hp_exchange_pattern(d->lowering, 0, exchange);
            if (*was == now)
                continue;
            if (hp_may_pass_on(d->timing, exchange) && (*was)->aligned != now->aligned)
                mark_ends(d, exchange);
            mark(d, hp_exchange_block(d->timing->blocks, 0, exchange));
            if (exchange >= k->n_exchanges && exchange < k->n_exchanges + k->n_sums)
                mark(d, hp_update_block(d->timing->blocks, exchange));
        }
}

static void mark_target(struct delta *d, int from)
{
    for (int i = d->targets.start[from]; i < d->targets.start[from + 1]; i++)
        mark(d, block_of_target(d, d->targets.target[i]));
}

/* Applying it ------------------------------------------------------------------------------ */

static void retask(struct delta *d, int number)
{
    struct blocks *s = d->timing->blocks;
    int size = hp_block_size(s, number), old = s->size[number];
    d->before[d->n_before++] = (struct block_before){ number, s->first[number], old };
    if (size != old) {
        for (int i = 0; i < old; i++)
            hp_delta_timeline_remove(d->timeline, s->first[number] + i);
        s->first[number] = size ? take_ids(d, size) : -1;
        s->size[number] = size;
    }
    while (d->task_capacity < size)
        d->task =
            GROW(&d->arena, struct sim_task, d->task, d->task_capacity, &d->task_capacity);
    if (!size)
        return;
    hp_block_tasks(d->timing, number, d->task);
    for (int i = 0; i < size; i++)
        hp_delta_timeline_put(d->timeline, s->first[number] + i, &d->task[i]);
}

/* Set the edges of a block's tasks in the timeline. */
static void rewait(struct delta *d, int number)
{
    struct blocks *s = d->timing->blocks;
    int n = s->size[number];
    hp_block_edges(s, number);
    while (d->after_capacity < s->n_edges + 2 * n + 2)
        d->after = GROW(&d->arena, int, d->after, d->after_capacity, &d->after_capacity);
    int *start = d->after, *id = d->after + n + 2;
    memset(start, 0, (size_t)(n + 2) * sizeof *start);
    hp_sort_edges(s, n, start, id);
    for (int i = 0; i < n; i++)
        hp_delta_timeline_set_after(d->timeline, s->first[number] + i, id + start[i],
                                    start[i + 1] - start[i]);
}

/* Mark the blocks that may wait for a rewritten block: all readers of a changed exchange, and
 * blocks with edges to ids of a fusion group that no longer exist. A gather waits for parts of
 * another operator by device; the devices may change though the number of tasks does not. */
static void mark_waiting(struct delta *d)
{
    const struct training_graph *k = &d->lowering->training;
    for (int i = 0; i < d->n_before; i++) {
        struct block block = hp_block_at(d->timing->blocks, d->list[i]);
        const struct block_before *before = &d->before[i];
        if (block.kind == BLOCK_EXCHANGE || block.kind == BLOCK_TAIL_EXCHANGE)
            mark_target(d, k->n_op_passes + block.index);
        if (block.kind == BLOCK_UPDATE)
            mark_target(d, k->n_op_passes + k->n_tail + block.index);
        if (block.kind != BLOCK_COMPUTE ||
            (!d->groups_changed && !d->gathers &&
             before->first == d->timing->blocks->first[before->number]))
            continue;
        for (int op_pass = block.index; op_pass >= 0; op_pass = d->next[op_pass])
            mark_target(d, op_pass);
        for (int op_pass = block.index; op_pass >= 0;
             op_pass = d->timing->blocks->next[0][op_pass])
            mark_target(d, op_pass);
    }
}

static void replay_whole(struct delta *d)
{
    hp_timing_update(d->timing);
    d->length = hp_timeline_run(d->timing, NULL);
}

static void update_groups(struct delta *d)
{
    const struct training_graph *k = &d->lowering->training;
    const struct pattern *const *was = d->pattern[0];
    size_t bytes = (size_t)k->n_op_passes * sizeof(int);
    memcpy(d->group, d->timing->blocks->head[0], bytes);
    memcpy(d->next, d->timing->blocks->next[0], bytes);
    d->groups_changed = false; /* groups depend only on which patterns are aligned */
    for (int i = 0; i < d->n_ops; i++)
        for (int t = k->access_start[d->op[i]]; t < k->access_start[d->op[i] + 1]; t++, was++)
            if (k->accessed[t] < k->n_exchanges)
                d->groups_changed |=
                    (*was)->aligned != d->lowering->body[0].pattern[k->accessed[t]]->aligned;
    if (d->groups_changed)
        hp_find_groups(d->timing->blocks, 0);
}

static void remember(struct delta *d, const int *op, int n_ops)
{
    const struct lowering *s = d->lowering;
    const struct training_graph *k = &s->training;
    memcpy(d->op, op, (size_t)n_ops * sizeof *op);
    d->n_ops = n_ops;
    for (int b = 0; b < s->n_bodies; b++) {
        const struct pattern **was = d->pattern[b];
        for (int i = 0; i < n_ops; i++) {
            d->parts[b][i] = s->body[b].parts[op[i]];
            for (int t = k->access_start[op[i]]; t < k->access_start[op[i] + 1]; t++)
                *was++ = hp_exchange_pattern(s, b, k->accessed[t]);
        }
    }
    for (int i = 0; i < n_ops; i++)
        d->parts[s->n_bodies][i] = s->tail_parts[op[i]];
}

/* Count the new parts of the ops in place of the remembered ones (+1), or the reverse (-1). */
static void recount(struct delta *d, int sign)
{
    for (int i = 0; i < d->n_ops; i++) {
        const struct op_parts *now = d->lowering->body[0].parts[d->op[i]];
        if (now == d->parts[0][i])
            continue;
        hp_loads_count(&d->sim_cache->loads, d->busy, d->op[i], now, sign);
        hp_loads_count(&d->sim_cache->loads, d->busy, d->op[i], d->parts[0][i], -sign);
    }
}

static void forget(struct delta *d)
{
    struct lowering *s = d->lowering;
    const struct training_graph *k = &s->training;
    if (!d->whole)
        recount(d, -1);
    for (int b = 0; b < s->n_bodies; b++) {
        const struct pattern *const *was = d->pattern[b];
        for (int i = 0; i < d->n_ops; i++) {
            s->body[b].parts[d->op[i]] = d->parts[b][i];
            for (int t = k->access_start[d->op[i]]; t < k->access_start[d->op[i] + 1]; t++)
                if (k->accessed[t] < k->n_exchanges)
                    s->body[b].pattern[k->accessed[t]] = *was++;
                else
                    s->tail[k->accessed[t] - k->n_exchanges] = *was++;
        }
    }
    for (int i = 0; i < d->n_ops; i++)
        s->tail_parts[d->op[i]] = d->parts[s->n_bodies][i];
}

/* A change that overloads one device is given up before its patterns are found ... */
static bool computes_too_long(struct delta *d, ticks limit)
{
    ticks busiest = hp_busiest(d->busy, d->sim_cache->costs.n_devices);
    d->laid_out_only = busiest > limit;
    if (d->laid_out_only)
        d->length = busiest;
    return d->laid_out_only;
}

/* ... and a change that overloads any queue before it is replayed. */
static bool is_hopeless(struct delta *d, ticks limit)
{
    ticks busiest = hp_delta_timeline_busiest(d->timeline);
    if (busiest <= limit)
        return false;
    d->length = busiest;
    return true;
}

static enum hypar_status change_lowering(struct delta *d, ticks limit, struct hypar_error *err)
{
    enum hypar_status status = hp_lowering_lay_out(d->lowering, d->op, d->n_ops, err);
    if (!d->whole)
        recount(d, 1); /* on failure, those with new parts: forget() undoes it */
    TRY(status);
    if (!d->whole && computes_too_long(d, limit))
        return HYPAR_OK;
    return hp_lowering_exchange(d->lowering, d->op, d->n_ops, err);
}

enum hypar_status hp_delta_change(struct delta *d, const int *op, int n, ticks limit,
                                  struct hypar_error *err)
{
    remember(d, op, n);
    d->n_before = d->n_list = 0;
    d->old_length = d->length;
    d->laid_out_only = false;
    enum hypar_status status = change_lowering(d, limit, err);
    if (d->laid_out_only)
        return HYPAR_OK;
    if (d->whole) {
        TRY(status);
        replay_whole(d);
        return hp_check_length(d->length, err);
    }
    if (status != HYPAR_OK)
        forget(d); /* restore the state before the change */
    d->change++;
    update_groups(d);
    mark_groups(d);
    mark_exchanges(d);
    for (int i = 0; i < d->n_list; i++)
        retask(d, d->list[i]);
    if (status == HYPAR_OK && is_hopeless(d, limit))
        return HYPAR_OK;
    mark_waiting(d);
    for (int i = 0; i < d->n_list; i++)
        rewait(d, d->list[i]);
    d->length = hp_delta_timeline_update(d->timeline, limit);
    return status == HYPAR_OK ? hp_check_length(d->length, err) : status;
}

void hp_delta_keep(struct delta *d)
{
    if (d->whole)
        return;
    hp_delta_timeline_keep(d->timeline);
    for (int i = 0; i < d->n_before; i++) {
        const struct block_before *b = &d->before[i];
        if (b->first != d->timing->blocks->first[b->number])
            give_ids(d, b->first, b->size);
    }
    d->n_before = 0;
}

void hp_delta_undo(struct delta *d)
{
    struct blocks *s = d->timing->blocks;
    forget(d);
    d->length = d->old_length;
    if (d->laid_out_only)
        return;
    if (d->whole) {
        hp_timing_update(d->timing);
        return;
    }
    hp_delta_timeline_undo(d->timeline);
    for (int i = d->n_before - 1; i >= 0; i--) {
        const struct block_before *b = &d->before[i];
        if (b->first != s->first[b->number])
            give_ids(d, s->first[b->number], s->size[b->number]);
        s->first[b->number] = b->first;
        s->size[b->number] = b->size;
    }
    d->n_before = 0;
    size_t bytes = (size_t)d->lowering->training.n_op_passes * sizeof(int);
    memcpy(s->head[0], d->group, bytes);
    memcpy(s->next[0], d->next, bytes);
}

/* Beginning ---------------------------------------------------------------------------- */

static void run_all(struct delta *d)
{
    struct blocks *s = d->timing->blocks;
    d->timeline = hp_delta_timeline_new(d->timing->costs->n_queues);
    for (int i = 0; i < s->n_blocks; i++) {
        s->first[i] = -1;
        s->size[i] = 0;
    }
    for (int op = 0; op < d->plan->graph->n_ops; op++)
        hp_loads_count(&d->sim_cache->loads, d->busy, op, d->lowering->body[0].parts[op], 1);
    for (int i = 0; i < s->n_blocks; i++)
        retask(d, i);
    for (int i = 0; i < s->n_blocks; i++)
        if (s->size[i])
            rewait(d, i);
    d->length = hp_delta_timeline_update(d->timeline, HP_MAX_TICKS);
    hp_delta_keep(d);
}

static enum hypar_status lower_plan(struct lowering **out, const struct hypar_plan *plan,
                                    const struct hypar_sim_options *options,
                                    struct lowering_cache *cache, struct hypar_error *err)
{
    TRY(hp_lowering_make(out, plan, &options->lower, cache, err));
    enum hypar_status status = hp_check_messages(*out, options, NULL, err);
    if (status != HYPAR_OK)
        hp_lowering_free(*out);
    return status;
}

/* Make room for the lists of a change. */
static void make_room(struct delta *d)
{
    struct arena *arena = &d->arena;
    const struct training_graph *k = &d->lowering->training;
    int n_blocks = d->timing->blocks->n_blocks, n_ops = d->plan->graph->n_ops;
    int n_bodies = d->lowering->n_bodies;
    d->marked = NEW(arena, int, n_blocks);
    d->list = NEW(arena, int, n_blocks);
    d->before = NEW(arena, struct block_before, n_blocks);
    d->group = NEW(arena, int, k->n_op_passes);
    d->next = NEW(arena, int, k->n_op_passes);
    d->op = NEW(arena, int, n_ops);
    d->busy = NEW(arena, double, d->sim_cache->costs.n_devices);
    d->parts = NEW(arena, const struct op_parts **, n_bodies + 1);
    d->pattern = NEW(arena, const struct pattern **, n_bodies);
    for (int b = 0; b <= n_bodies; b++)
        d->parts[b] = NEW(arena, const struct op_parts *, n_ops);
    for (int b = 0; b < n_bodies; b++)
        d->pattern[b] = NEW(arena, const struct pattern *, k->access_start[n_ops]);
}

enum hypar_status hp_delta_new(struct delta **out, struct hypar_plan *plan,
                               const struct hypar_sim_options *options,
                               struct sim_cache *sim_cache, struct hypar_error *err)
{
    struct lowering *lowering;
    struct arena arena = { 0 };
    *out = NULL;
    if (plan->clip > 0) /* a search clips gradients only in its result */
        return hp_fail(err, HYPAR_UNSUPPORTED,
                       "gradients are clipped, which no change is simulated with");
    TRY(hp_check_lowerable(plan, err));
    struct sim_cache *own = sim_cache ? NULL : hp_sim_cache_new(plan, options);
    sim_cache = sim_cache ? sim_cache : own;
    enum hypar_status status = lower_plan(&lowering, plan, options, &sim_cache->cache, err);
    if (status != HYPAR_OK) {
        hp_sim_cache_free(own);
        return status;
    }
    struct delta *d = NEW(&arena, struct delta, 1);
    d->arena = arena;
    d->plan = plan;
    d->own = own;
    d->sim_cache = sim_cache;
    d->lowering = lowering;
    d->timing = hp_timing_new(lowering, NULL, options, &sim_cache->costs);
    d->whole = hp_has_order(lowering) || lowering->options.bucket_bytes > 0;
    for (int i = 0; i < lowering->training.n_exchanges; i++)
        d->gathers |= lowering->training.exchange[i].division == DIVIDE_GATHER;
    make_room(d);
    if (!sim_cache->loads.costs)
        hp_loads_begin(&sim_cache->loads, &sim_cache->costs, &lowering->training);
    if (d->whole) {
        replay_whole(d);
    } else {
        d->targets = hp_find_targets(&d->arena, lowering);
        run_all(d);
    }
    status = hp_check_length(d->length, err);
    if (status == HYPAR_OK)
        *out = d;
    else
        hp_delta_free(d);
    return status;
}

void hp_delta_free(struct delta *d)
{
    if (!d)
        return;
    hp_delta_timeline_free(d->timeline);
    hp_timing_free(d->timing);
    hp_lowering_free(d->lowering);
    hp_sim_cache_free(d->own);
    hp_arena_free(&d->arena);
}

size_t hp_delta_remembered_bytes(const struct delta *d)
{
    return hp_sim_cache_bytes(d->sim_cache);
}

ticks hp_delta_length(const struct delta *d)
{
    return d->length;
}

ticks hp_delta_step(const struct delta *d)
{
    double launch_s;
    if (!d->timing->costs->any_launches)
        return d->length;
    hp_count_kernels(d->timing, &launch_s);
    return hp_latest(d->length, hp_ticks(launch_s));
}

struct timing *hp_delta_timing(const struct delta *d)
{
    return d->timing;
}

struct times hp_delta_times(const struct delta *d, int block, int local)
{
    return d->timeline->times[d->timing->blocks->first[block] + local];
}

const struct delta_timeline *hp_delta_timeline_of(const struct delta *d)
{
    return d->timeline;
}
