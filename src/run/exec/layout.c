/* Where the buffers of a rank lie: intervals of time packed into intervals of memory. */
#include "run/exec/layout.h"

#include <stdlib.h>

/* A buffer of a body: from when to when it is there. Pass p is time 2 p + 1; the halves meet at
 * the even time between their passes. */
struct interval {
    int buffer;
    int begin, end;
    size_t bytes, offset;
};

struct packer {
    const struct rank *rank;
    const size_t *bytes;
    struct memory_layout *out;
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

/* Those of `from` that are there while `i` is; returns how many. */
static int add_conflicts(const struct interval *i, const struct interval *from, int n,
                         struct interval *to)
{
    int found = 0;
    for (int k = 0; k < n; k++)
        if (from[k].begin <= i->end && i->begin <= from[k].end)
            to[found++] = from[k];
    return found;
}

/* The lowest place between what is there meanwhile, which is sorted here. */
static size_t lowest(const struct interval *i, struct interval *busy, int n)
{
    size_t at = 0;
    qsort(busy, (size_t)n, sizeof *busy, by_offset);
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

/* What is not kept: in the lane of a micro-batch if there is room, or in common. */
static void place(struct packer *p, struct interval *i, size_t lane, struct interval *busy)
{
    int n = add_conflicts(i, p->kept, p->n_kept, busy);
    n += add_conflicts(i, p->lane, p->n_lane, busy + n);
    i->offset = lowest(i, busy, n);
    if (i->offset + i->bytes <= lane) {
        p->out->spot[i->buffer] = (struct spot){ REGION_LANE, i->offset };
        p->lane[p->n_lane++] = *i;
        return;
    }
    n = add_conflicts(i, p->common, p->n_common, busy);
    i->offset = lowest(i, busy, n);
    p->out->spot[i->buffer] = (struct spot){ REGION_COMMON, i->offset };
    p->out->common_bytes = larger(p->out->common_bytes, i->offset + i->bytes);
    p->common[p->n_common++] = *i;
}

static struct interval interval_of(const struct packer *p, int buffer, int half)
{
    const struct buffer *b = &p->rank->buffers.buffer[buffer];
    return (struct interval){ .buffer = buffer,
                              .begin = b->begin < 0 ? 2 * half : 2 * b->begin + 1,
                              .end = b->waits ? 2 * half : 2 * b->end + 1,
                              .bytes = hp_aligned(p->bytes[buffer]) };
}

/* What is kept one after another, and the rest where there is room. Returns the lane's bytes.
 */
static size_t pack_around_kept(struct packer *p, struct interval *other, int others,
                               struct interval *busy)
{
    size_t lane = 0;
    qsort(p->kept, (size_t)p->n_kept, sizeof *p->kept, by_begin);
    for (int i = 0; i < p->n_kept; i++) {
        p->kept[i].offset = lane;
        p->out->spot[p->kept[i].buffer] = (struct spot){ REGION_LANE, lane };
        lane += p->kept[i].bytes;
    }
    qsort(other, (size_t)others, sizeof *other, by_size);
    for (int i = 0; i < others; i++)
        place(p, &other[i], lane, busy);
    return lane;
}

/* All of a body in its lane, the largest first: of micro-batches that never meet. False: it
 * takes more than `most`. */
static bool pack_together(struct packer *p, struct interval *all, int n, size_t most,
                          struct interval *busy)
{
    qsort(all, (size_t)n, sizeof *all, by_size);
    for (int i = 0; i < n; i++) {
        int conflicts = add_conflicts(&all[i], all, i, busy);
        all[i].offset = lowest(&all[i], busy, conflicts);
        if (all[i].offset + all[i].bytes > most)
            return false;
    }
    for (int i = 0; i < n; i++)
        p->out->spot[all[i].buffer] = (struct spot){ REGION_LANE, all[i].offset };
    return true;
}

static void pack_body(struct packer *p, int body)
{
    const struct rank *rank = p->rank;
    int first = rank->buffers.first[body], n = rank->buffers.first[body + 1] - first;
    int half = rank->body[body].n_forward, others = 0;
    struct arena scratch = { 0 };
    struct interval *other = NEW(&scratch, struct interval, n + 1),
                    *busy = NEW(&scratch, struct interval, 2 * n + 1);
    size_t over = 0, common = p->out->common_bytes;
    p->kept = NEW(&scratch, struct interval, n + 1);
    p->lane = NEW(&scratch, struct interval, n + 1);
    p->common = NEW(&scratch, struct interval, n + 1);
    p->n_kept = p->n_lane = p->n_common = 0;
    for (int i = first; i < first + n; i++) {
        const struct buffer *b = &rank->buffers.buffer[i];
        if (b->kept) {
            p->kept[p->n_kept++] = interval_of(p, i, half);
        } else if (b->over) {
            p->out->spot[i] = (struct spot){ REGION_OVER, over };
            over += hp_aligned(p->bytes[i]);
        } else {
            other[others++] = interval_of(p, i, half);
        }
    }
    size_t lane = pack_around_kept(p, other, others, busy);
    size_t both = lane + p->out->common_bytes, one = both - both / 100;
    for (int i = 0; i < p->n_kept; i++)
        other[others++] = p->kept[i];
    if (p->out->n_lanes == 1 && pack_together(p, other, others, one, busy)) {
        p->out->common_bytes = common;
        lane = 0;
        for (int i = 0; i < others; i++)
            lane = larger(lane, other[i].offset + other[i].bytes);
    }
    p->out->lane_bytes = larger(p->out->lane_bytes, lane);
    p->out->over_bytes = larger(p->out->over_bytes, over);
    hp_arena_free(&scratch);
}

/* Each after the other. */
static void lay_out_body(struct packer *p, int body)
{
    const int *first = p->rank->buffers.first;
    size_t lane = 0;
    for (int i = first[body]; i < first[body + 1]; i++) {
        p->out->spot[i] = (struct spot){ REGION_LANE, lane };
        lane += hp_aligned(p->bytes[i]);
    }
    p->out->lane_bytes = larger(p->out->lane_bytes, lane);
}

/* Micro-batches that are under way at once, at most. */
static int count_lanes(const struct rank *rank)
{
    const struct slot_list *list = hp_slots_of(rank->program->schedule, rank->device);
    int n = 0, most = 0;
    for (int i = 0; i < list->n_slots; i++) {
        n += list->slot[i].phase == PHASE_FORWARD;
        most = n > most ? n : most;
        n -= list->slot[i].phase == hp_last_half(rank->program->iteration);
    }
    return most;
}

struct memory_layout hp_memory_layout(const struct rank *rank, const size_t *bytes,
                                      bool in_order, struct arena *arena)
{
    struct memory_layout out = { .spot = NEW(arena, struct spot, rank->buffers.n),
                                 .n_lanes = in_order ? count_lanes(rank)
                                                     : rank->program->iteration->n_micro };
    struct packer p = { .rank = rank, .bytes = bytes, .out = &out };
    for (int b = 0; b < rank->program->n_bodies; b++)
        if (in_order)
            pack_body(&p, b);
        else
            lay_out_body(&p, b);
    return out;
}
