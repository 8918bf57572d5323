/* The memory layout of a rank: intervals of time are packed into intervals of memory. */
#include "run/exec/memory_layout.h"

#include <limits.h>

#include "base/sort.h"

/* A buffer of a body and the time during which it exists. Pass p is time 2 p + 1; actions meet
 * at the even time between their passes. */
struct interval {
    int buffer;
    int begin, end;
    size_t bytes, offset;
};

struct packer {
    const struct rank *rank;
    const size_t *bytes;
    struct memory_layout *out;
    int stage;                             /* current */
    struct interval *kept, *lane, *common; /* placed so far */
    int n_kept, n_lane, n_common;
};

static int by_begin(const void *a, const void *b)
{
    const struct interval *x = a, *y = b;
    return x->begin != y->begin ? x->begin - y->begin : x->buffer - y->buffer;
}

static int by_size(const void *a, const void *b)
{
    const struct interval *x = a, *y = b;
    return x->bytes != y->bytes ? (x->bytes < y->bytes ? 1 : -1) : x->buffer - y->buffer;
}

static int by_offset(const void *a, const void *b)
{
    const struct interval *x = a, *y = b;
    return x->offset < y->offset ? -1 : x->offset > y->offset;
}

/* Add those of `from` that exist at the same time as `i`; returns how many. */
static int add_conflicts(const struct interval *i, const struct interval *from, int n,
                         struct interval *to)
{
    int found = 0;
    for (int k = 0; k < n; k++)
        if (from[k].begin <= i->end && i->begin <= from[k].end)
            to[found++] = from[k];
    return found;
}

/* The lowest free place between these buffers, which are sorted here. */
static size_t lowest(const struct interval *i, struct interval *busy, int n)
{
    size_t at = 0;
    hp_sort(busy, n, sizeof *busy, by_offset);
    for (int k = 0; k < n; k++) {
        if (at + i->bytes <= busy[k].offset)
            break;
        size_t end = busy[k].offset + busy[k].bytes;
        at = end > at ? end : at;
    }
    return at;
}

static size_t larger(size_t a, size_t b)
{
    return a > b ? a : b;
}

/* Place a buffer that is not kept: in the lane of a micro-batch if there is room, or in
 * common. */
static void place(struct packer *p, struct interval *i, size_t lane, struct interval *busy)
{
    int n = add_conflicts(i, p->kept, p->n_kept, busy);
    n += add_conflicts(i, p->lane, p->n_lane, busy + n);
    i->offset = lowest(i, busy, n);
    if (i->offset + i->bytes <= lane) {
        p->out->spot[i->buffer] = (struct spot){ REGION_LANE, p->stage, i->offset };
        p->lane[p->n_lane++] = *i;
        return;
    }
    n = add_conflicts(i, p->common, p->n_common, busy);
    i->offset = lowest(i, busy, n);
    p->out->spot[i->buffer] = (struct spot){ REGION_COMMON, 0, i->offset };
    p->out->common_bytes = larger(p->out->common_bytes, i->offset + i->bytes);
    p->common[p->n_common++] = *i;
}

/* The action in which a buffer begins, or ends, among the rank's. */
static int own_action(const struct packer *p, int action)
{
    return hp_own_action(p->rank->program->schedule, p->rank->slots, action);
}

static struct interval interval_of(const struct packer *p, int body, int buffer)
{
    const struct schedule *s = p->rank->program->schedule;
    const struct buffer *b = &p->rank->buffers.buffer[buffer];
    const int *first_pass = p->rank->body[body].first_pass;
    struct interval i = { .buffer = buffer, .bytes = hp_aligned(p->bytes[buffer]) };
    if (b->kept && hp_is_loose(s, p->rank->slots)) { /* actions come in any order */
        i.end = INT_MAX;
        return i;
    }
    i.begin = b->begin < 0 ? 2 * first_pass[own_action(p, b->action) + 1] : 2 * b->begin + 1;
    i.end = b->held_until_action ? 2 * first_pass[own_action(p, b->last)] : 2 * b->end + 1;
    return i;
}

/* The stage, among the rank's, in whose lane a buffer lies: all its uses are between this
 * stage's forward and backward slots. */
static int stage_of(const struct packer *p, const struct buffer *b)
{
    const struct schedule *s = p->rank->program->schedule;
    int first = s->place[hp_action_stage(s, b->action)];
    int last = b->held_until_done ? first : s->place[hp_action_stage(s, b->last)];
    return first < last ? first : last;
}

/* Place kept buffers one after another, and the others where there is room. Returns the lane's
 * bytes. */
static size_t pack_around_kept(struct packer *p, struct interval *other, int others,
                               struct interval *busy)
{
    size_t lane = 0;
    hp_sort(p->kept, p->n_kept, sizeof *p->kept, by_begin);
    for (int i = 0; i < p->n_kept; i++) {
        p->kept[i].offset = lane;
        p->out->spot[p->kept[i].buffer] = (struct spot){ REGION_LANE, p->stage, lane };
        lane += p->kept[i].bytes;
    }
    hp_sort(other, others, sizeof *other, by_size);
    for (int i = 0; i < others; i++)
        place(p, &other[i], lane, busy);
    return lane;
}

/* Place all buffers of a body in its lane, the largest first: for micro-batches that never
 * coexist. False: this takes more than `most`. */
static bool pack_together(struct packer *p, struct interval *all, int n, size_t most,
                          struct interval *busy)
{
    hp_sort(all, n, sizeof *all, by_size);
    for (int i = 0; i < n; i++) {
        int conflicts = add_conflicts(&all[i], all, i, busy);
        all[i].offset = lowest(&all[i], busy, conflicts);
        if (all[i].offset + all[i].bytes > most)
            return false;
    }
    for (int i = 0; i < n; i++)
        p->out->spot[all[i].buffer] = (struct spot){ REGION_LANE, p->stage, all[i].offset };
    return true;
}

/* Place messages to other stages. */
static void pack_over(struct packer *p, int body)
{
    const struct rank *rank = p->rank;
    size_t over = 0;
    for (int i = rank->buffers.first[body]; i < rank->buffers.first[body + 1]; i++)
        if (rank->buffers.buffer[i].held_past_slot) {
            p->out->spot[i] = (struct spot){ REGION_OVER, 0, over };
            over += hp_aligned(p->bytes[i]);
        }
    p->out->over_bytes = larger(p->out->over_bytes, over);
}

/* Place the buffers of a body in the lane of a stage. */
static void pack_stage(struct packer *p, int body, int stage)
{
    const struct rank *rank = p->rank;
    int first = rank->buffers.first[body], n = rank->buffers.first[body + 1] - first;
    int others = 0;
    struct arena scratch = { 0 };
    struct interval *other = NEW(&scratch, struct interval, n + 1),
                    *busy = NEW(&scratch, struct interval, 2 * n + 1);
    size_t common = p->out->common_bytes;
    p->stage = stage;
    p->kept = NEW(&scratch, struct interval, n + 1);
    p->lane = NEW(&scratch, struct interval, n + 1);
    p->common = NEW(&scratch, struct interval, n + 1);
    p->n_kept = p->n_lane = p->n_common = 0;
    for (int i = first; i < first + n; i++) {
        const struct buffer *b = &rank->buffers.buffer[i];
        if (b->held_past_slot || stage_of(p, b) != stage)
            continue;
        if (b->kept)
            p->kept[p->n_kept++] = interval_of(p, body, i);
        else
            other[others++] = interval_of(p, body, i);
    }
    size_t lane = pack_around_kept(p, other, others, busy);
    size_t both = lane + p->out->common_bytes, one = both - both / 100;
    for (int i = 0; i < p->n_kept; i++)
        other[others++] = p->kept[i];
    if (p->out->n_stages == 1 && p->out->n_lanes[stage] == 1 &&
        pack_together(p, other, others, one, busy)) {
        p->out->common_bytes = common;
        lane = 0;
        for (int i = 0; i < others; i++)
            lane = larger(lane, other[i].offset + other[i].bytes);
    }
    p->out->lane_bytes[stage] = larger(p->out->lane_bytes[stage], lane);
    hp_arena_free(&scratch);
}

/* The stages of a body, one after another. */
static void lay_out_body(struct packer *p, int body)
{
    const int *first = p->rank->buffers.first;
    size_t lane = 0;
    for (int i = first[body]; i < first[body + 1]; i++) {
        p->out->spot[i] = (struct spot){ REGION_LANE, 0, lane };
        lane += hp_aligned(p->bytes[i]);
    }
    p->out->lane_bytes[0] = larger(p->out->lane_bytes[0], lane);
}

/* The largest number of micro-batches that have something of a stage under way at once. */
static int count_lanes(const struct rank *rank, int stage, int *left)
{
    const struct schedule *s = rank->program->schedule;
    const struct slot_list *list = rank->slots;
    bool forward = rank->program->iteration->forward;
    int n = 0, most = 0;
    for (int i = 0; i < list->n_slots; i++)
        left[list->slot[i].micro] += list->slot[i].phase != PHASE_UPDATE;
    for (int i = 0; i < list->n_slots; i++) {
        const struct slot *slot = &list->slot[i];
        bool mine = slot->stage == list->stage[stage];
        if (slot->phase == PHASE_UPDATE)
            continue;
        n += mine && slot->phase == PHASE_FORWARD;
        most = n > most ? n : most;
        bool early = mine && hp_lane_ends(s, list, forward, slot->phase);
        bool over = --left[slot->micro] == 0 &&
                    !hp_lane_ends(s, list, forward, hp_last_phase(s, forward));
        n -= early || over;
    }
    return most;
}

/* The largest number of slots for which a message may stay; some messages begin in an earlier
 * slot of the micro-batch. */
static int count_over(const struct rank *rank, int *first)
{
    const struct slot_list *list = rank->slots;
    enum phase last = hp_last_half(rank->program->iteration);
    bool kept = false;
    for (int i = rank->buffers.first[0]; i < rank->buffers.n; i++)
        kept |= rank->buffers.buffer[i].held_past_slot && rank->buffers.buffer[i].kept;
    int most = hp_longest_hold(list);
    for (int i = 0; i < rank->program->iteration->n_micro; i++)
        first[i] = -1;
    for (int i = 0; kept && i < list->n_slots; i++) {
        const struct slot *slot = &list->slot[i];
        if (slot->phase == PHASE_UPDATE || slot->phase < last)
            continue;
        if (first[slot->micro] < 0)
            first[slot->micro] = i;
        int stays = hp_held_until(list, i) - first[slot->micro];
        most = stays > most ? stays : most;
    }
    return most + 1;
}

static void count(struct memory_layout *out, const struct rank *rank, bool in_order,
                  struct arena *arena)
{
    struct arena scratch = { 0 };
    int n_micro = rank->program->iteration->n_micro;
    int *by_micro = NEW(&scratch, int, n_micro);
    out->n_stages = rank->slots->n_stages > 0 ? rank->slots->n_stages : 1;
    out->n_lanes = NEW(arena, int, out->n_stages);
    out->lane_bytes = NEW(arena, size_t, out->n_stages);
    out->lanes_at = NEW(arena, size_t, out->n_stages);
    out->n_lanes[0] = in_order ? 0 : n_micro;
    for (int k = 0; in_order && k < rank->slots->n_stages; k++)
        out->n_lanes[k] = count_lanes(rank, k, by_micro);
    out->n_over = count_over(rank, by_micro);
    hp_arena_free(&scratch);
}

struct memory_layout hp_memory_layout(const struct rank *rank, const size_t *bytes,
                                      bool in_order, struct arena *arena)
{
    struct memory_layout out = { .spot = NEW(arena, struct spot, rank->buffers.n) };
    struct packer p = { .rank = rank, .bytes = bytes, .out = &out };
    count(&out, rank, in_order, arena);
    for (int b = 0; b < rank->program->n_bodies; b++) {
        if (!in_order)
            lay_out_body(&p, b);
        for (int k = 0; in_order && k < rank->slots->n_stages; k++)
            pack_stage(&p, b, k);
        if (in_order)
            pack_over(&p, b);
    }
    for (int k = 0; k < out.n_stages; k++) {
        out.lanes_at[k] = out.lanes_bytes;
        out.lanes_bytes += (size_t)out.n_lanes[k] * out.lane_bytes[k];
    }
    return out;
}
