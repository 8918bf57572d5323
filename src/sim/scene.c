#include "sim/scene.h"

#include <string.h>

/* Units ------------------------------------------------------------------------------- */

/* Steps without multiply-adds of their own, whose input nobody else waits for, may be one task
 * with the step before. */
static void find_followers(struct scene *s)
{
    const struct sketch *sketch = s->sketch;
    const struct skeleton *k = &sketch->skeleton;
    for (int i = 0; i < k->n_steps; i++) {
        const struct step *step = &k->step[i];
        const struct nest *nest = sketch->graph->ops[step->op].nest;
        bool follows = k->port_start[i + 1] > k->port_start[i];
        for (int p = 0; p < nest->n_passes; p++)
            follows &= nest->pass[p].macs <= 0;
        for (int p = k->port_start[i]; p < k->port_start[i + 1]; p++) {
            const struct deal *deal = &k->deal[k->port[p].deal];
            int producer = deal->n_writers == 1 ? deal->writer[0].op : -1;
            follows &= producer >= 0;
            for (int r = 0; r < deal->n_readers; r++)
                follows &= deal->reader[r].op == step->op || deal->reader[r].op == producer;
        }
        s->may_follow[i] = follows;
    }
}

/* The unit that `step` belongs to. It follows if all that it waits for is done by one unit,
 * part by part, where it is. */
static int unit_of(const struct scene *s, int b, int step)
{
    const struct skeleton *k = &s->sketch->skeleton;
    int unit = -1;
    if (!s->may_follow[step])
        return step;
    for (int p = k->port_start[step]; p < k->port_start[step + 1]; p++) {
        int d = k->port[p].deal;
        const struct source *from = &k->deal[d].writer[0];
        if (!s->sketch->body[b].pattern[d]->aligned)
            return step;
        int theirs = s->unit[b][k->step_of[from->op][from->pass]];
        if (unit >= 0 && unit != theirs)
            return step;
        unit = theirs;
    }
    return k->step[unit].backward == k->step[step].backward ? unit : step;
}

void hp_find_units(struct scene *s, int b)
{
    const struct skeleton *k = &s->sketch->skeleton;
    struct arena_mark mark = hp_arena_mark(&s->acts->scratch);
    int *last = NEW(&s->acts->scratch, int, k->n_steps);
    for (int i = 0; i < k->n_steps; i++) {
        int unit = unit_of(s, b, i);
        s->unit[b][i] = unit;
        s->next[b][i] = -1;
        if (unit != i)
            s->next[b][last[unit]] = i;
        last[unit] = i;
    }
    hp_arena_release(&s->acts->scratch, mark);
}

const struct pattern_act *hp_deal_act(struct scene *s, int b, int deal)
{
    int tail = deal - s->sketch->skeleton.n_deals;
    if (tail >= 0 && s->tail_act)
        return s->tail_act[tail];
    const struct place *place = &s->sketch->skeleton.deal[deal].place;
    return hp_pattern_act(s->acts, hp_deal_pattern(s->sketch, b, deal),
                          hp_message_bytes(s->sketch->plan, place->tensor));
}

int hp_comm_at(const struct pattern_act *act, int n_comms, int local)
{
    int lo = 0, hi = n_comms - 1;
    while (lo < hi) { /* the last that begins no later */
        int mid = (lo + hi + 1) / 2;
        if (act->comm[mid].first <= local)
            lo = mid;
        else
            hi = mid - 1;
    }
    return lo;
}

/* Gradients in buckets are not shared between deals that are alike. */
static void fill_buckets(struct scene *s)
{
    const struct skeleton *k = &s->sketch->skeleton;
    s->buckets = hp_find_buckets(s->sketch, &s->arena);
    s->tail_act = NEW(&s->arena, struct pattern_act *, k->n_tail);
    for (int x = 0; x < k->n_tail; x++)
        s->tail_act[x] = hp_make_bucket_act(
            s->acts, &s->buckets, x, s->sketch->tail[x],
            hp_message_bytes(s->sketch->plan, k->deal[k->n_deals + x].place.tensor));
}

void hp_scene_update(struct scene *s)
{
    for (int b = 0; b < s->sketch->n_bodies; b++)
        hp_find_units(s, b);
    if (s->sketch->options.bucket_bytes > 0)
        fill_buckets(s);
}

/* A message played by itself would keep its sender from receiving: queues cannot say "either
 * computing, or sending and receiving". */
enum hypar_status hp_check_settings(const struct sim_settings *settings,
                                    struct hypar_error *err)
{
    if (settings->expand_collectives && settings->no_overlap)
        return hp_fail(
            err, HYPAR_USAGE,
            "collectives cannot be expanded without overlap, expected one of the two");
    return HYPAR_OK;
}

enum hypar_status hp_check_length(ticks length, struct hypar_error *err)
{
    if (length >= HP_MAX_TICKS)
        return hp_fail(err, HYPAR_UNSUPPORTED, "a step takes more than %g s, expected less",
                       hp_seconds(HP_MAX_TICKS));
    return HYPAR_OK;
}

struct scene *hp_scene_new(struct sketch *sketch, const struct sim_settings *settings,
                           struct acts *acts)
{
    const struct skeleton *k = &sketch->skeleton;
    struct arena arena = { 0 };
    struct scene *s = NEW(&arena, struct scene, 1);
    s->arena = arena;
    s->sketch = sketch;
    s->acts = acts ? acts : &s->own;
    if (!acts)
        hp_acts_begin(&s->own, sketch->plan, settings);
    s->n_blocks = sketch->n_bodies * k->n_items + 2 * k->n_tail;
    s->may_follow = NEW(&s->arena, bool, k->n_steps);
    s->first = NEW(&s->arena, int, s->n_blocks);
    s->size = NEW(&s->arena, int, s->n_blocks);
    find_followers(s);
    s->unit = NEW(&s->arena, int *, sketch->n_bodies);
    s->next = NEW(&s->arena, int *, sketch->n_bodies);
    for (int b = 0; b < sketch->n_bodies; b++) {
        s->unit[b] = NEW(&s->arena, int, k->n_steps);
        s->next[b] = NEW(&s->arena, int, k->n_steps);
    }
    hp_scene_update(s);
    return s;
}

void hp_scene_free(struct scene *s)
{
    if (!s)
        return;
    hp_acts_end(&s->own);
    struct arena arena = s->arena; /* it lives in it */
    hp_arena_free(&arena);
}

/* Blocks ------------------------------------------------------------------------------ */

struct block hp_block_at(const struct scene *s, int number)
{
    const struct skeleton *k = &s->sketch->skeleton;
    int tail = number - s->sketch->n_bodies * k->n_items;
    if (tail >= 0)
        return (struct block){ tail < k->n_tail ? BLOCK_TAIL_COMM : BLOCK_UPDATE, 0,
                               k->n_deals + tail % k->n_tail };
    const struct item *item = &k->item[number % k->n_items];
    return (struct block){ item->is_step ? BLOCK_UNIT : BLOCK_COMM, number / k->n_items,
                           item->index };
}

static const struct update_act *updates_of(struct scene *s, int deal)
{
    return hp_update_act(s->acts, &s->sketch->skeleton.deal[deal],
                         hp_deal_pattern(s->sketch, 0, deal), s->sketch->step_layout);
}

static const struct part_layout *layout_of(const struct scene *s, int b, int step)
{
    return s->sketch->body[b].layout[s->sketch->skeleton.step[step].op];
}

int hp_block_size(struct scene *s, int number)
{
    struct block block = hp_block_at(s, number);
    switch (block.kind) {
    case BLOCK_UNIT:
        return s->unit[block.body][block.index] == block.index
                   ? layout_of(s, block.body, block.index)->n_live
                   : 0;
    case BLOCK_UPDATE:
        return s->sketch->skeleton.deal[block.index].place.grad
                   ? updates_of(s, block.index)->n_devices
                   : 0;
    default:
        return hp_deal_pattern(s->sketch, block.body, block.index)->n_comms
                   ? hp_deal_act(s, block.body, block.index)->n_tasks
                   : 0;
    }
}

/* A part of a unit takes as long as its steps together. */
static void unit_tasks(struct scene *s, int b, int unit, struct sim_task *task)
{
    const struct part_layout *layout = layout_of(s, b, unit);
    for (int part = 0; part < layout->n_parts; part++)
        if (!layout->empty[part])
            task[layout->rank[part]] =
                (struct sim_task){ .n_holds = 1, .queue = layout->device[part] };
    for (int step = unit; step >= 0; step = s->next[b][step]) {
        const struct step *what = &s->sketch->skeleton.step[step];
        const struct part_layout *l = layout_of(s, b, step);
        const ticks *time = hp_pass_times(s->acts, what->op, what->pass, l);
        for (int part = 0; part < l->n_parts; part++)
            if (!l->empty[part])
                task[l->rank[part]].duration =
                    hp_later(task[l->rank[part]].duration, time[part]);
    }
}

void hp_block_tasks(struct scene *s, int number, struct sim_task *task)
{
    struct block block = hp_block_at(s, number);
    int n = s->size[number];
    if (block.kind == BLOCK_UNIT) {
        unit_tasks(s, block.body, block.index, task);
    } else if (block.kind == BLOCK_UPDATE) {
        memcpy(task, updates_of(s, block.index)->task, (size_t)n * sizeof *task);
    } else {
        const struct pattern *p = hp_deal_pattern(s->sketch, block.body, block.index);
        const struct pattern_act *act = hp_deal_act(s, block.body, block.index);
        for (int c = 0; c < p->n_comms; c++)
            memcpy(task + act->comm[c].first, act->comm[c].task,
                   (size_t)act->comm[c].n_tasks * sizeof *task);
    }
    for (int i = 0; i < n; i++)
        task[i].number = (int64_t)number << 32 | i;
}

/* Waits ------------------------------------------------------------------------------- */

static void add_pair(struct scene *s, int local, int id)
{
    s->pair = GROW(&s->arena, struct wait_pair, s->pair, s->n_pairs, &s->pair_capacity);
    s->pair[s->n_pairs++] = (struct wait_pair){ local, id };
}

/* The task of a part of a step; -1: it is empty. */
static int part_task(const struct scene *s, int b, int step, int part)
{
    const struct part_layout *layout = layout_of(s, b, step);
    return layout->empty[part] ? -1 : s->first[hp_step_block(s, b, step)] + layout->rank[part];
}

static void wait_for_part(struct scene *s, int local, int b, int step, int part)
{
    int id = part_task(s, b, step, part);
    if (id >= 0)
        add_pair(s, local, id);
}

/* The same of the tail's parts, in every body that has it. */
static void wait_for_bodies(struct scene *s, int local, const struct source *from, int part)
{
    int step = s->sketch->skeleton.step_of[from->op][from->pass];
    for (int b = 0; b < s->sketch->n_bodies; b++) {
        int live = hp_live_part(s->sketch, from->op, part, b);
        if (live >= 0)
            wait_for_part(s, local, b, step, live);
    }
}

/* `local` needs on `device` what a comm of a deal brings: its only task, or all messages to the
 * device and what lies there already. */
static void wait_for_comm(struct scene *s, int local, int b, int deal, int comm, int device)
{
    const struct deal *what = &s->sketch->skeleton.deal[deal];
    const struct pattern *p = hp_deal_pattern(s->sketch, b, deal);
    const struct comm_act *act = &hp_deal_act(s, b, deal)->comm[comm];
    int first = s->first[hp_deal_block(s, b, deal)] + act->first;
    if (!act->step) {
        add_pair(s, local, first);
        return;
    }
    int place = hp_comm_index(&p->comm[comm], device);
    for (int i = act->arrive_start[place]; i < act->arrive_start[place + 1]; i++)
        add_pair(s, local, first + act->arrive[i]);
    bool tail = deal >= s->sketch->skeleton.n_deals;
    for (int i = p->comm_feed[comm]; i < p->comm_feed[comm + 1]; i++) {
        const struct source *from = &what->writer[p->feed[i].writer];
        int step = s->sketch->skeleton.step_of[from->op][from->pass], part = p->feed[i].part;
        const struct part_layout *layout =
            tail ? s->sketch->step_layout[from->op] : layout_of(s, b, step);
        if (layout->device[part] != device)
            continue;
        if (tail)
            wait_for_bodies(s, local, from, part);
        else
            wait_for_part(s, local, b, step, part);
    }
}

/* Does a part's error come by way of what its own forward pass computed? Its readers' backward
 * passes come after their forward passes, which read it - if it was not a copy that they read.
 */
static bool comes_after_forward(const struct scene *s, int b, int op)
{
    const struct skeleton *k = &s->sketch->skeleton;
    const struct op *o = &s->sketch->graph->ops[op];
    bool any = false;
    for (int i = o->nest->n_inputs; i < o->nest->n_operands; i++) {
        int t = o->tensor[i], d = t >= 0 ? k->value_deal[t] : -1;
        if (o->nest->operand[i].role != OPERAND_OUTPUT || d < 0)
            continue;
        any = true;
        if (s->sketch->body[b].pattern[d]->copied)
            return false;
    }
    return any;
}

/* Backward comes after forward of the same part; mostly it does so anyway. */
static void forward_waits(struct scene *s, int b, int unit)
{
    const struct skeleton *k = &s->sketch->skeleton;
    const struct part_layout *layout = layout_of(s, b, unit);
    struct arena_mark mark = hp_arena_mark(&s->acts->scratch);
    bool *waits = NEW(&s->acts->scratch, bool, layout->n_live); /* for an error */
    for (int i = k->port_start[unit]; i < k->port_start[unit + 1]; i++) {
        int d = k->port[i].deal, r = k->port[i].reader;
        const struct pattern *p = s->sketch->body[b].pattern[d];
        for (int w = p->reader_wait[r]; k->deal[d].place.grad && w < p->reader_wait[r + 1]; w++)
            waits[layout->rank[p->wait[w].part]] = true;
    }
    for (int step = unit; step >= 0; step = s->next[b][step]) {
        int forward = hp_last_forward_step(s->sketch, k->step[step].op);
        bool implied = comes_after_forward(s, b, k->step[step].op);
        for (int part = 0; part < layout->n_parts; part++)
            if (!layout->empty[part] && !(implied && waits[layout->rank[part]]))
                wait_for_part(s, layout->rank[part], b, forward, part);
    }
    hp_arena_release(&s->acts->scratch, mark);
}

static void unit_waits(struct scene *s, int b, int unit)
{
    const struct skeleton *k = &s->sketch->skeleton;
    const struct part_layout *layout = layout_of(s, b, unit);
    for (int i = k->port_start[unit]; i < k->port_start[unit + 1]; i++) {
        int d = k->port[i].deal, r = k->port[i].reader;
        const struct pattern *p = s->sketch->body[b].pattern[d];
        for (int w = p->reader_wait[r]; w < p->reader_wait[r + 1]; w++) {
            const struct wait *wait = &p->wait[w];
            int local = layout->rank[wait->part];
            if (wait->comm >= 0) {
                wait_for_comm(s, local, b, d, wait->comm, layout->device[wait->part]);
            } else {
                const struct source *from = &k->deal[d].writer[wait->writer];
                wait_for_part(s, local, b, k->step_of[from->op][from->pass], wait->writer_part);
            }
        }
    }
    if (k->step[unit].backward)
        forward_waits(s, b, unit);
}

/* What is fed to a comm of a deal, which `act` plays: its own, or the first of its bucket, over
 * the same devices. */
static void feed_comm(struct scene *s, int body, int deal, int comm, int local,
                      const struct comm_act *act)
{
    const struct skeleton *k = &s->sketch->skeleton;
    const struct pattern *p = hp_deal_pattern(s->sketch, body, deal);
    for (int i = p->comm_feed[comm]; i < p->comm_feed[comm + 1]; i++) {
        const struct source *from = &k->deal[deal].writer[p->feed[i].writer];
        int step = k->step_of[from->op][from->pass], part = p->feed[i].part;
        if (deal >= k->n_deals)
            part = hp_live_part(s->sketch, from->op, part, body);
        int id = part < 0 ? -1 : part_task(s, body, step, part);
        if (id >= 0 && !act->step)
            add_pair(s, local, id);
        if (id < 0 || !act->step)
            continue;
        int device = layout_of(s, body, step)->device[part];
        int place = hp_comm_index(&p->comm[comm], device);
        for (int m = act->depart_start[place]; m < act->depart_start[place + 1]; m++)
            add_pair(s, local + act->depart[m], id);
    }
}

/* The first of a bucket waits for all of it; another one for the first. */
static void bucket_waits(struct scene *s, int body, int deal, int comm)
{
    const struct skeleton *k = &s->sketch->skeleton;
    const struct buckets *b = &s->buckets;
    const struct comm_act *act = &hp_deal_act(s, 0, deal)->comm[comm];
    int me = b->base[deal - k->n_deals] + comm, lead = b->lead[me];
    for (int i = me; lead == me && i >= 0; i = b->next[i])
        feed_comm(s, body, k->n_deals + b->deal[i], i - b->base[b->deal[i]], act->first, act);
    if (lead == me)
        return;
    int theirs = k->n_deals + b->deal[lead];
    const struct comm_act *first =
        &hp_deal_act(s, 0, theirs)->comm[lead - b->base[b->deal[lead]]];
    for (int t = 0; t < first->n_tasks; t++)
        add_pair(s, act->first, s->first[hp_deal_block(s, 0, theirs)] + first->first + t);
}

static void comm_waits(struct scene *s, int b, int deal, int number)
{
    const struct skeleton *k = &s->sketch->skeleton;
    const struct pattern *p = hp_deal_pattern(s->sketch, b, deal);
    const struct pattern_act *acts = hp_deal_act(s, b, deal);
    bool tail = deal >= k->n_deals;
    for (int c = 0; c < p->n_comms; c++) {
        const struct comm_act *act = &acts->comm[c];
        for (int i = 0; act->step && i < act->n_tasks; i++)
            for (int a = 0; a < act->step[i].n_after; a++)
                add_pair(s, act->first + i,
                         s->first[number] + act->first + act->step[i].after[a]);
    }
    for (int body = tail ? 0 : b; body < (tail ? s->sketch->n_bodies : b + 1); body++)
        for (int c = 0; c < p->n_comms; c++) {
            bool bucketed = tail && s->tail_act &&
                            s->buckets.lead[s->buckets.base[deal - k->n_deals] + c] >= 0;
            if (bucketed)
                bucket_waits(s, body, deal, c);
            else
                feed_comm(s, body, deal, c, acts->comm[c].first, &acts->comm[c]);
        }
}

/* The passes that read a parameter last: a part's backward comes after its forward anyway. */
static uint32_t last_reads(const struct sketch *s, const struct reader *r)
{
    const struct nest *nest = s->graph->ops[r->op].nest;
    uint32_t backward = 0;
    for (int p = 0; p < nest->n_passes; p++)
        backward |= (uint32_t)nest->pass[p].backward << p;
    return r->passes & backward ? r->passes & backward : r->passes;
}

/* An update waits for the sum, and for its device's passes that read the parameter: they want
 * the old one. */
static void update_waits(struct scene *s, int deal)
{
    const struct sketch *sketch = s->sketch;
    const struct skeleton *k = &sketch->skeleton;
    const struct deal *what = &k->deal[deal];
    const struct pattern *p = hp_deal_pattern(sketch, 0, deal);
    const struct update_act *updates = updates_of(s, deal);
    for (int i = 0; i < p->n_waits; i++) {
        const struct wait *wait = &p->wait[i];
        int device = sketch->step_layout[what->reader[wait->reader].op]->device[wait->part];
        int local = updates->of_device[device];
        if (wait->comm >= 0)
            wait_for_comm(s, local, 0, deal, wait->comm, device);
        else
            wait_for_bodies(s, local, &what->writer[wait->writer], wait->writer_part);
    }
    for (int b = 0; b < sketch->n_bodies; b++)
        for (int r = 0; r < what->n_readers; r++) {
            const struct part_layout *layout = sketch->body[b].layout[what->reader[r].op];
            uint32_t passes = last_reads(sketch, &what->reader[r]);
            for (int pass = 0; passes >> pass; pass++)
                for (int part = 0; passes >> pass & 1 && part < layout->n_parts; part++)
                    if (updates->of_device[layout->device[part]] >= 0)
                        wait_for_part(s, updates->of_device[layout->device[part]], b,
                                      k->step_of[what->reader[r].op][pass], part);
        }
}

void hp_block_waits(struct scene *s, int number)
{
    struct block block = hp_block_at(s, number);
    s->n_pairs = 0;
    if (!s->size[number])
        return;
    if (block.kind == BLOCK_UNIT)
        unit_waits(s, block.body, block.index);
    else if (block.kind == BLOCK_UPDATE)
        update_waits(s, block.index);
    else
        comm_waits(s, block.body, block.index, number);
}
