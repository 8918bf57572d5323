/* Cutting units into the stages of a pipeline, by dynamic programming from the end.
 *
 * A step grows with the sum of the stages' times and with the longest of them. For each bound
 * of the longest, from none downwards to each that is reached, the least sum is found; the best
 * of these results is the optimum. A stage's memory depends on the number of stages behind it,
 * because this number determines its micro-batches in flight. So stages are counted from the
 * end. */
#include "search/hybrid/pipeline.h"

#include <math.h>

#include "cost/work.h"
#include "plan/schedules.h"
#include "search/evaluate/room.h"

static struct pipeline_size size_of(const struct pipeline_shape *s)
{
    return (struct pipeline_size){ s->groups, s->chunks, s->step.micro_batches };
}

static double step_seconds(const struct pipeline_shape *s, const struct stages_time *t)
{
    struct pipeline_size size = size_of(s);
    return hp_schedule[s->schedule].seconds(&size, t);
}

static int fastest_device(const struct hybrid *h)
{
    const struct hypar_machine *machine = h->problem->machine;
    enum hypar_precision precision = h->problem->options->precision;
    int fastest = 0;
    for (int d = 1;
         d < hypar_machine_device_count(machine) && !hypar_machine_is_uniform(machine); d++)
        if (hp_dense_op_per_s(hypar_machine_device(machine, d), precision) >
            hp_dense_op_per_s(hypar_machine_device(machine, fastest), precision))
            fastest = d;
    return fastest;
}

double hp_shape_bound(struct hybrid *h, const struct pipeline_shape *shape)
{
    struct submesh_shape one = { .first = fastest_device(h),
                                 .size = 1,
                                 .samples =
                                     h->problem->graph->batch / shape->step.micro_batches };
    const struct submesh_splittings *list = hp_submesh_splittings(h, &one);
    if (list->n == 0)
        return 0;
    const double *sum = list->splitting[0].unit[h->units.n].sum;
    int each = shape->n_devices, all = each * shape->groups;
    double all_s = sum[COMPUTE_S];
    if (shape->unequal) {
        all = hypar_machine_device_count(h->problem->machine);
        each = all - (shape->groups - 1) * each;
    }
    struct stages_time times = { .sum_s = all_s / each,
                                 .most_s = all_s / (all * shape->chunks),
                                 .load_s = all_s / all,
                                 .gradient_part = sum[GRADIENT_S] / all_s };
    return step_seconds(shape, &times);
}

/* Micro-batches that the k-th stage from the end has begun and not ended. */
static double in_flight(const struct pipeline_shape *s, int k)
{
    struct pipeline_size size = size_of(s);
    return hp_in_flight(s->schedule, &size, s->groups * s->chunks - k);
}

/* Groups of devices begin at whole multiples of a quantum, the devices of the smallest. */
struct cutting {
    struct hybrid *h;
    const struct pipeline_shape *shape;
    int n_units, n_stages, longest; /* units of a stage, at most */
    int n_quanta;                   /* of all devices */
    /* How many quanta a group may have, and of which size its submeshes are (0: any). */
    int n_blocks, block[HP_FEW * HP_FEW], size[HP_FEW * HP_FEW];
    bool alike; /* all stages are on devices of one kind */
    struct stage_time {
        bool known, exchanges;
        double time_s, border_bytes, gradient_s;
    } * time;      /* [k][at][block][how it begins and ends, or lo][units] */
    double *sum_s; /* [k][at][lo]: least of the stages from unit lo on */
    struct cut {   /* units and devices of the first of these stages */
        int at, lo, hi, block;
    } * first;
    struct cut *cut;         /* [stage]: the cut with the least sum */
    struct line *hop;        /* [at][block]: into a stage there */
    double *load_s, *link_s; /* scratch: [group]: of devices, of links */
};

/* The first quantum of the k-th stage from the end, where all groups have the same. */
static int equal_place(const struct cutting *c, int k)
{
    struct pipeline_size size = size_of(c->shape);
    return hp_stage_group(c->shape->schedule, &size, c->n_stages - k);
}

static int first_device(const struct cutting *c, int at, int block)
{
    int quantum = c->shape->n_devices, n = hypar_machine_device_count(c->h->problem->machine);
    return c->shape->reversed ? n - (at + block) * quantum : at * quantum;
}

static struct stage stage_at(const struct cutting *c, int k, const struct cut *cut)
{
    const struct pipeline_shape *s = c->shape;
    int block = c->block[cut->block];
    struct stage stage = { .step = s->step,
                           .lo = cut->lo,
                           .hi = cut->hi,
                           .first = first_device(c, cut->at, block),
                           .n_devices = s->n_devices * block,
                           .size = c->size[cut->block],
                           .in_flight = in_flight(s, k) };
    stage.first = hp_same_place(c->h, stage.first, stage.n_devices);
    stage.room = c->h->room[stage.first];
    for (int d = 1; d < stage.n_devices && !c->alike; d++)
        stage.room = fmin(stage.room, c->h->room[stage.first + d]);
    stage.room *= s->room / s->chunks;
    return stage;
}

/* The times of stages from unit `lo` on, by their number of units. Units between the first and
 * the last are alike where layers are repeated. */
static struct stage_time *times_from(struct cutting *c, int k, int at, int b, int lo, bool last)
{
    int n = c->n_units, begin = lo, kinds = c->h->units.layers ? 4 : n;
    if (c->h->units.layers)
        begin = (lo == 0 ? 0 : 1) + (last ? 2 : 0);
    /* where groups are equal, the stage tells where it is */
    size_t i = c->alike || !c->shape->unequal ? (size_t)k : (size_t)(k * c->n_quanta + at);
    i = (i * (size_t)c->n_blocks + (size_t)b) * (size_t)kinds + (size_t)begin;
    return &c->time[i * (size_t)(c->longest + 1)];
}

static void find_time(struct cutting *c, int k, const struct cut *cut, struct stage_time *out)
{
    struct stage stage = stage_at(c, k, cut);
    struct stage_estimate e;
    bool fits = hp_estimate_stage(c->h, &stage, &e);
    *out = (struct stage_time){ true, hp_stage_exchanges(&e), fits ? e.time_s : INFINITY,
                                e.border_bytes, e.gradient_s };
}

/* The hop into a stage: its devices receive from equally many devices before them (the first
 * group of a round: from the last group). */
static struct line hop_into(struct cutting *c, int at, int b)
{
    int n = c->block[b] * c->shape->n_devices, to = first_device(c, at, c->block[b]);
    int from = at == 0 ? first_device(c, c->shape->groups - 1, c->block[b])
                       : to + (c->shape->reversed ? n : -n);
    return hp_hop_line(c->h, from < 0 ? 0 : from, to, n);
}

static double border_seconds(const struct line *hop, const struct stage_time *t)
{
    return hp_border_seconds(hop, t->border_bytes, t->exchanges);
}

/* The time for which the activations and errors of a micro-batch occupy the links of a stage.
 */
static double link_seconds(const struct cutting *c, const struct line *hop,
                           const struct stage_time *t)
{
    if (t->border_bytes == 0 || c->n_stages <= 2)
        return border_seconds(hop, t);
    return 2 * hop->fixed_s + hop->both_s_per_byte * t->border_bytes;
}

static size_t cell(const struct cutting *c, int k, int at, int lo)
{
    return ((size_t)k * (size_t)c->n_quanta + (size_t)at) * (size_t)(c->n_units + 1) +
           (size_t)lo;
}

/* The least sum of k stages from unit `lo` and quantum `at` on, each with a time of at most
 * `bound`. */
static void find_first(struct cutting *c, int k, int at, int lo, double bound)
{
    int n = c->n_units, most = lo + c->longest < n - k + 1 ? lo + c->longest : n - k + 1;
    double *best = &c->sum_s[cell(c, k, at, lo)], none = 0;
    *best = INFINITY;
    for (int b = 0; b < c->n_blocks; b++) {
        int block = c->block[b], then = at + block;
        if (c->shape->unequal && (at % block != 0 || then + k - 1 > c->n_quanta))
            continue;
        if (!c->shape->unequal && k > 1)
            then = equal_place(c, k - 1);
        const struct line *hop = &c->hop[at * c->n_blocks + b];
        struct stage_time *inner = times_from(c, k, at, b, lo, false);
        struct stage_time *last = times_from(c, k, at, b, lo, true);
        const double *rest = k == 1 ? &none : &c->sum_s[cell(c, k - 1, then, 0)];
        for (int hi = k == 1 ? n : lo + 1; hi <= most; hi++) {
            double after_s = rest[k == 1 ? 0 : hi];
            if (!(after_s < *best))
                continue;
            struct stage_time *t = (hi == n ? last : inner) + (hi - lo);
            struct cut cut = { at, lo, hi, b };
            if (!t->known)
                find_time(c, k, &cut, t);
            if (t->time_s > bound)
                break; /* with more units it takes longer */
            double border_s = border_seconds(hop, t);
            if (link_seconds(c, hop, t) > bound || t->time_s + after_s + 2 * border_s >= *best)
                continue;
            *best = t->time_s + 2 * border_s + after_s;
            c->first[cell(c, k, at, lo)] = cut;
        }
    }
}

/* The least sum of times with none above `bound`, in c->cut; false: there is no such cut. */
static bool cut_below(struct cutting *c, double bound)
{
    int n = c->n_units, p = c->n_stages, lo = 0, place = 0;
    for (int k = 1; k <= p; k++) {
        int from = c->shape->unequal ? p - k : equal_place(c, k);
        int to = !c->shape->unequal ? from : k == p ? 0 : c->n_quanta - k;
        for (int at = from; at <= to; at++)
            for (int unit = p - k; unit <= (k == p ? 0 : n - k); unit++)
                find_first(c, k, at, unit, bound);
    }
    if (!(c->sum_s[cell(c, p, 0, 0)] < INFINITY))
        return false;
    for (int k = p; k > 0; k--) {
        struct cut cut = c->cut[p - k] = c->first[cell(c, k, place, lo)];
        lo = cut.hi;
        place = c->shape->unequal ? place + c->block[cut.block] : equal_place(c, k - 1);
    }
    return true;
}

static struct stages_time times_of(struct cutting *c)
{
    struct stages_time all = { .sum_s = c->sum_s[cell(c, c->n_stages, 0, 0)] };
    struct pipeline_size size = size_of(c->shape);
    double gradients_s = 0, times_s = 0;
    for (int g = 0; g < c->shape->groups; g++)
        c->load_s[g] = c->link_s[g] = 0;
    for (int s = 0; s < c->n_stages; s++) {
        const struct cut *cut = &c->cut[s];
        const struct stage_time *t = times_from(c, c->n_stages - s, cut->at, cut->block,
                                                cut->lo, cut->hi == c->n_units) +
                                     (cut->hi - cut->lo);
        double link_s = link_seconds(c, &c->hop[cut->at * c->n_blocks + cut->block], t);
        int group = hp_stage_group(c->shape->schedule, &size, s);
        all.most_s = fmax(all.most_s, fmax(t->time_s, link_s));
        c->load_s[group] += t->time_s;
        c->link_s[group] += link_s;
        gradients_s += t->gradient_s;
        times_s += t->time_s;
    }
    for (int g = 0; g < c->shape->groups; g++)
        all.load_s = fmax(all.load_s, fmax(c->load_s[g], c->link_s[g]));
    all.gradient_part = gradients_s / times_s;
    return all;
}

static void keep_cut(const struct cutting *c, struct candidate *out)
{
    for (int s = 0; s < c->n_stages; s++) {
        const struct cut *cut = &c->cut[s];
        out->stage[s] = (struct candidate_stage){
            .stage = stage_at(c, c->n_stages - s, cut),
            .first = first_device(c, cut->at, c->block[cut->block]),
        };
    }
}

/* A search that is exhaustive tries submeshes of all sizes: a slower one may send less. */
static void add_block(struct cutting *c, int block)
{
    int n = block * c->shape->n_devices, any = c->shape->size || !c->h->small;
    for (int size = any ? n : 1; size <= n; size++) {
        if (n % size != 0)
            continue;
        c->block[c->n_blocks] = block;
        c->size[c->n_blocks++] = any ? c->shape->size : size;
    }
}

/* The sizes of groups: all equal, or any number of quanta. */
static void list_blocks(struct cutting *c)
{
    int n = hypar_machine_device_count(c->h->problem->machine);
    c->n_quanta = c->shape->unequal ? n / c->shape->n_devices : c->shape->groups;
    for (int b = 1; b <= (c->shape->unequal ? c->n_quanta : 1); b++)
        if (c->n_quanta % b == 0)
            add_block(c, b);
}

static void begin_cutting(struct cutting *c, struct arena *scratch)
{
    int n = c->n_units, kinds = c->h->units.layers ? 4 : n;
    size_t places = (size_t)(c->n_stages + 1) * (size_t)c->n_quanta;
    c->longest = c->n_stages == 1 || n <= HP_FEW ? n : 2 + 2 * n / c->n_stages;
    c->longest = c->longest < n && !c->shape->unequal ? c->longest : n;
    c->time = NEW(scratch, struct stage_time,
                  (c->alike || !c->shape->unequal ? (size_t)(c->n_stages + 1) : places) *
                      (size_t)c->n_blocks * (size_t)kinds * (size_t)(c->longest + 1));
    c->sum_s = NEW(scratch, double, places *(size_t)(n + 1));
    c->first = NEW(scratch, struct cut, places * (size_t)(n + 1));
    c->cut = NEW(scratch, struct cut, c->n_stages);
    c->load_s = NEW(scratch, double, c->shape->groups);
    c->link_s = NEW(scratch, double, c->shape->groups);
    c->hop = NEW(scratch, struct line, c->n_quanta * c->n_blocks);
    for (int at = 0; at < c->n_quanta; at++)
        for (int b = 0; b < c->n_blocks; b++)
            if (at + c->block[b] <= c->n_quanta)
                c->hop[at * c->n_blocks + b] = hop_into(c, at, b);
}

bool hp_cut_pipeline(struct hybrid *h, const struct pipeline_shape *shape,
                     struct candidate *out)
{
    struct arena scratch = { 0 };
    struct cutting c = { .h = h, .shape = shape, .n_units = h->units.n };
    c.n_stages = shape->groups * shape->chunks;
    c.alike = hypar_machine_is_uniform(h->problem->machine);
    list_blocks(&c);
    if (c.n_stages > c.n_units || c.n_stages > c.n_quanta * shape->chunks)
        return false;
    begin_cutting(&c, &scratch);
    *out = (struct candidate){ .shape = *shape, .step_s = INFINITY, .n_stages = c.n_stages };
    out->stage = NEW(h->arena, struct candidate_stage, c.n_stages);
    double bound = INFINITY;
    bool all = c.n_units <= HP_FEW;
    for (int turn = 0; (all || turn < HP_SOME) && cut_below(&c, bound); turn++) {
        struct stages_time times = times_of(&c);
        double step_s = step_seconds(shape, &times);
        if (step_s < out->step_s) {
            out->step_s = step_s;
            keep_cut(&c, out);
        }
        bound = times.most_s * (1 - 1e-9);
    }
    hp_arena_free(&scratch);
    for (int s = 0; s < c.n_stages && out->step_s < INFINITY; s++)
        hp_estimate_stage(h, &out->stage[s].stage, &out->stage[s].estimate);
    return out->step_s < INFINITY;
}
