/* Estimates stages in closed form: finds the fastest way to run some units as a stage that fits
 * in memory. */
#include "search/hybrid/stage.h"

#include <math.h>
#include <string.h>

#include "cost/collective.h"
#include "machine/machine.h"
#include "search/estimate/needs.h"
#include "search/evaluate/room.h"
#include "sim/task_costs.h"

/* A stage under a splitting. */
struct split_stage {
    struct hybrid *h;
    const struct stage *stage;
    const struct submesh *submesh;
    struct splitting *s;
};

/* A sum over the units of the stage. */
static double sum_of(const struct split_stage *w, int what)
{
    const struct unit_cost *unit = w->s->unit;
    return unit[w->stage->hi].sum[what] - unit[w->stage->lo].sum[what];
}

/* Bytes of parameters on a device: the state that it keeps from step to step, and divided
 * parameters that are gathered at one time. */
static double parameter_bytes(const struct split_stage *w)
{
    const struct stage *g = w->stage;
    double sum = 0, most = 0;
    for (int i = 0; i < w->s->n_partitions; i++)
        sum += sum_of(w, PARAMS + i) *
               hp_element_state_bytes(w->h->problem, hp_computes_again(w->h, g), g->step.shard,
                                      g->n_devices / w->s->partition[i]);
    for (int u = g->lo; u < g->hi && g->step.shard >= HYPAR_SHARD_PARAMETERS; u++)
        most = fmax(most, w->s->unit[u].gathered[g->step.far_ahead]);
    return sum + most;
}

/* Kinds of groups that a device exchanges with: with other samples, with other parts of an
 * operator, other stages. */
static int kinds_of_groups(const struct split_stage *w)
{
    const struct stage *g = w->stage;
    bool samples = w->s->by_samples || g->n_devices > w->submesh->shape.size;
    return samples + w->s->by_axes + (g->lo > 0 || g->hi < w->h->units.n);
}

/* Bytes of activations of all micro-batches in flight. The micro-batch being computed holds
 * activations of the units up to the current one only. */
static double activation_bytes(const struct split_stage *w, enum hypar_recompute word,
                               int recomputed, double *each)
{
    const struct stage *g = w->stage;
    double kept = 0, most = 0;
    for (int u = g->lo; u < g->hi; u++) {
        const struct unit_cost *unit = &w->s->unit[u];
        int what = KEPT_BYTES + (u < g->lo + recomputed ? (int)word : 0);
        most = fmax(most, kept + unit->peak);
        kept += unit[1].sum[what] - unit->sum[what];
    }
    double errors = g->step.apart ? sum_of(w, ERROR_BYTES) / 2 : 0; /* roughly */
    *each = kept + errors;
    return (g->in_flight - 1) * *each + errors + most;
}

/* The end of a step. */
struct tail {
    double sum_s, own_link_s; /* to sum all gradients; part of it on the links of one device */
    double last_s;            /* least time after the last gradient */
    double update_s;
    /* Time to gather parameters: of all operators, one after another; of the first operator; of
     * the last operator. */
    double gathers_s, first_gather_s, last_gather_s;
};

struct element_cost hp_element_cost(struct hybrid *h, const struct stage *stage, int parts)
{
    const struct hypar_search_options *o = h->problem->options;
    double gradient =
        hp_precision_bytes(hp_gradient_precision(o->precision, o->fp32_gradients));
    struct line line = hp_sum_line(h, stage->first, stage->n_devices, parts);
    int holders = stage->n_devices / parts;
    return (struct element_cost){
        .sum_s = gradient * line.s_per_byte,
        .own_link_s = gradient * line.own_link_s_per_byte,
        .update_s = h->update_s / (stage->step.shard >= HYPAR_SHARD_OPTIMIZER ? holders : 1),
        .last_s = line.fixed_s,
    };
}

/* Time to gather `elements` parameter elements of one operator: half an all-reduce over the
 * devices that hold them. */
static double gather_seconds(struct hybrid *h, int first, int n, int parts, double elements)
{
    struct line line = hp_sum_line(h, first, n, parts);
    double bytes = elements * hp_precision_bytes(h->problem->options->precision);
    if (!line.comm)
        return 0;
    const struct comm_way *way = hp_comm_best_way(line.comm, bytes);
    return (way->fixed_s + bytes * way->s_per_byte) / 2;
}

bool hp_gathers_are_late(struct hybrid *h, int n, int64_t micro_batches)
{
    if (!(h->weighted > 0))
        return false;
    double op_s = h->forward_s / h->weighted / n / (double)micro_batches;
    return gather_seconds(h, 0, n, 1, h->elements / h->weighted) > GATHER_AHEAD * op_s;
}

/* Add the times of gathering. The share of each partition is taken to be the same for all
 * operators. */
static void add_gathers(const struct split_stage *w, struct tail *t)
{
    const struct stage *g = w->stage;
    double weighted = sum_of(w, WEIGHTED), all = 0;
    for (int i = 0; i < w->s->n_partitions; i++)
        all += sum_of(w, PARAMS + i);
    for (int i = 0; i < w->s->n_partitions; i++) {
        double elements = sum_of(w, PARAMS + i);
        const double of_op[] = { all / weighted, w->s->unit[g->lo].first_elements,
                                 w->s->unit[g->hi - 1].last_elements };
        double *sum[] = { &t->gathers_s, &t->first_gather_s, &t->last_gather_s };
        for (int k = 0; k < 3 && elements > 0; k++)
            *sum[k] +=
                (k == 0 ? weighted : 1) * elements / all *
                gather_seconds(w->h, g->first, g->n_devices, w->s->partition[i], of_op[k]);
    }
}

static struct tail tail_of(const struct split_stage *w)
{
    struct tail t = { 0 };
    for (int i = 0; i < w->s->n_partitions; i++) {
        double elements = sum_of(w, PARAMS + i);
        struct element_cost cost = hp_element_cost(w->h, w->stage, w->s->partition[i]);
        t.sum_s += elements * cost.sum_s;
        t.own_link_s += elements * cost.own_link_s;
        t.last_s = fmax(t.last_s, elements > 0 ? cost.last_s : 0);
        t.update_s += elements * cost.update_s;
    }
    if (w->stage->step.shard >= HYPAR_SHARD_PARAMETERS)
        add_gathers(w, &t);
    return t;
}

/* The time that gathering adds to one half of a micro-batch. The first operator waits for its
 * own parameters. The gather of a later operator starts when the operator hp_gather_ahead()
 * before it is done, so this many gathers are in progress at once. */
static double wait_for_gathers(const struct split_stage *w, const struct tail *t,
                               double first_s, double links_s, double half_s)
{
    double in_turn_s = (t->gathers_s + half_s) / (hp_gather_ahead(&w->stage->step) + 1);
    return fmax(first_s, fmax(links_s, in_turn_s) - half_s);
}

/* The time that exchanges wait for gathers on the same links: for all gathers under way, in
 * proportion to the time that the links are busy with gathers. */
static double waiting_seconds(const struct split_stage *w, const struct tail *tail,
                              double own_s)
{
    double gathered = sum_of(w, WEIGHTED), busy_s = 1.5 * tail->own_link_s;
    if (!(gathered > 0) || !(own_s > 0))
        return 0;
    return GATHER_AHEAD * sum_of(w, EXCHANGES) * fmin(1, busy_s / own_s) * tail->own_link_s /
           2 / gathered;
}

/* Add the end of the step. Sums of gradients overlap with the last backward half. Gathers of
 * divided parameters overlap with computation but not with other exchanges, because they share
 * links. A reduce-scatter or an all-gather takes half the time of the sum. */
static void add_tail(const struct split_stage *w, struct stage_estimate *c)
{
    double backward_s = sum_of(w, BACKWARD_S);
    double forward_s = c->compute_s - backward_s;
    struct tail t = tail_of(w);
    struct lost lost = hp_stage_lost(w->h, w->stage, w->submesh, w->s);
    bool whole = w->stage->step.shard == HYPAR_SHARD_NONE;
    switch (w->stage->step.shard) {
    case HYPAR_SHARD_NONE:
    case HYPAR_SHARD_OPTIMIZER:
        c->tail_s = fmax(t.sum_s / (w->stage->hi - w->stage->lo + 1) +
                             (whole ? lost.sum_s : lost.scatter_s),
                         t.sum_s - backward_s) +
                    t.last_s + t.update_s;
        break;
    case HYPAR_SHARD_GRADIENTS:
        c->own_s += fmax(lost.scatter_s, t.sum_s / 2 - backward_s);
        c->tail_s = t.update_s + t.last_s + t.sum_s / 2;
        break;
    default:
        forward_s += lost.gather_s;
        backward_s += lost.gather_s + lost.scatter_s;
        c->own_s += 2 * lost.gather_s + lost.scatter_s + waiting_seconds(w, &t, c->own_s) +
                    wait_for_gathers(w, &t, t.first_gather_s, t.sum_s / 2, forward_s) +
                    wait_for_gathers(w, &t, t.last_gather_s, t.sum_s, backward_s);
        c->tail_s = t.update_s + fmax(t.last_s, t.first_gather_s);
    }
    c->time_s = c->own_s + c->tail_s / (double)w->stage->step.micro_batches;
}

/* The least number of units to recompute so that the activations fit in `room`; -1: recomputing
 * all is not enough. */
static int units_to_recompute(const struct split_stage *w, enum hypar_recompute word,
                              double room)
{
    int few = -1, enough = w->stage->hi - w->stage->lo; /* bisection: recomputing more units
                                                         * never needs more memory */
    double each;
    if (activation_bytes(w, word, enough, &each) > room)
        return -1;
    while (enough - few > 1) {
        int middle = (few + enough) / 2;
        *(activation_bytes(w, word, middle, &each) <= room ? &enough : &few) = middle;
    }
    return enough;
}

/* The time to sum statistics of a batch over replicas, one after another. */
static double replica_seconds(const struct split_stage *w)
{
    const struct stage *g = w->stage;
    int size = w->submesh->shape.size;
    double n = sum_of(w, REPLICA_SUMS);
    if (!(n > 0) || size == g->n_devices)
        return 0;
    double bytes = sum_of(w, REPLICA_BYTES) / n;
    const struct comm_way *way =
        hp_comm_best_way(hp_sum_line(w->h, g->first, g->n_devices, size).comm, bytes);
    return w->h->model.on_path * n * (way->fixed_s + bytes * way->s_per_byte);
}

/* Keep the faster of two. */
static void accept(struct stage_estimate *best, const struct stage_estimate *e)
{
    if (e->size && (best->size == 0 || e->time_s < best->time_s))
        *best = *e;
}

/* Estimate the stage with one setting of recomputation, and accept it if it fits. */
static void estimate_word(const struct split_stage *w, enum hypar_recompute word,
                          struct stage_estimate *best)
{
    const struct hypar_search_options *o = w->h->problem->options;
    const struct stage *g = w->stage;
    double fixed = parameter_bytes(w) + kinds_of_groups(w) * w->h->group_bytes;
    int recomputed = word == HYPAR_RECOMPUTE_NONE ? 0
                     : o->recompute_given         ? g->hi - g->lo
                                          : units_to_recompute(w, word, g->room - fixed);
    /* recomputed or resent tensors would have to stay until the parameter gradients are
     * computed */
    if (recomputed < 0 || (g->step.apart && (recomputed > 0 || w->s->resend)))
        return;
    struct stage_estimate e = { .size = w->submesh->shape.size,
                                .submesh = w->submesh,
                                .splitting = w->s,
                                .recompute = word,
                                .recomputed = recomputed };
    e.memory_bytes = fixed + activation_bytes(w, word, recomputed, &e.each_bytes);
    if (e.memory_bytes > g->room)
        return;
    const struct unit_cost *unit = w->s->unit;
    e.own_s = sum_of(w, TIME_S) + unit[g->lo + recomputed].sum[AGAIN_S + word] -
              unit[g->lo].sum[AGAIN_S + word] + replica_seconds(w);
    for (int u = g->lo + 1; u < g->hi; u++)
        e.own_s += unit[u].entering_s;
    e.gradient_s = sum_of(w, GRADIENT_S);
    e.compute_s = sum_of(w, COMPUTE_S);
    add_tail(w, &e);
    e.border_bytes = g->lo ? unit[g->lo].border : 0;
    accept(best, &e);
}

static void estimate(const struct split_stage *w, struct stage_estimate *best)
{
    const struct hypar_search_options *o = w->h->problem->options;
    for (int word = 0; word < HYPAR_RECOMPUTE_COUNT; word++)
        if (!o->recompute_given || o->recompute == (enum hypar_recompute)word)
            estimate_word(w, (enum hypar_recompute)word, best);
    w->h->evaluated++;
}

struct stage_estimate hp_estimate_states(struct hybrid *h, const struct stage *stage,
                                         const struct submesh *submesh, int *state,
                                         struct arena *arena)
{
    struct stage_estimate best = { 0 };
    for (int resend = 0; resend < 2; resend++) {
        struct splitting *s = NEW(arena, struct splitting, 1);
        s->state = state;
        s->resend = resend;
        hp_sum_up_splitting(&h->model, submesh, &h->units, stage->lo, stage->hi, arena, s);
        estimate(&(struct split_stage){ h, stage, submesh, s }, &best);
        if (best.size && best.recomputed == 0) /* resending saves nothing */
            break;
    }
    return best;
}

/* The largest number of parts of a fixed operator of the stage; 0: no operator is fixed. */
static int most_fixed_parts(const struct hybrid *h, const struct stage *stage)
{
    int most = 0;
    for (int i = 0; i < h->model.fixes.n; i++) {
        const struct fix *fix = &h->model.fixes.fix[i];
        int unit = h->units.of_op[fix->op];
        if (unit >= stage->lo && unit < stage->hi && fix->n_parts > most)
            most = fix->n_parts;
    }
    return most;
}

static bool may_have_size(const struct hybrid *h, const struct stage *stage, double samples,
                          int size, int fixed)
{
    int most = h->problem->options->max_tensor, replicas = stage->n_devices / size;
    if (stage->size && size != stage->size)
        return false;
    if (fixed) /* fixed operators use all devices of the stage */
        return replicas == 1 && fixed <= size && size <= HP_SOME;
    if (stage->n_devices % size || replicas > samples || (most && size > most))
        return false;
    if (size == hypar_machine_device_count(h->problem->machine) && size <= HP_SOME &&
        samples >= size)
        return true;
    return size <= LARGE_SUBMESH ||
           (stage->n_devices <= HP_SOME && stage->n_devices / LARGE_SUBMESH > samples);
}

int hp_same_place(const struct hybrid *h, int first, int n)
{
    const struct hypar_machine *machine = h->problem->machine;
    return hypar_machine_is_uniform(machine) ? 0 : hp_machine_like_place(machine, first, n);
}

/* The room of each device, worked out once for equal devices that follow one another. */
static const double *find_room(struct hybrid *h)
{
    const struct hypar_machine *machine = h->problem->machine;
    int n = hypar_machine_device_count(machine);
    double *room = NEW(h->arena, double, n);
    for (int d = 0; d < n; d++)
        room[d] =
            d > 0 && hypar_machine_device(machine, d) == hypar_machine_device(machine, d - 1)
                ? room[d - 1]
                : hp_room(h->problem, d);
    return room;
}

/* The first device of the stage's submesh that has its slowest device. */
static int slowest_submesh(const struct hybrid *h, const struct stage *stage, int size)
{
    const struct hypar_machine *machine = h->problem->machine;
    enum hypar_precision precision = h->problem->options->precision;
    int slowest = stage->first;
    if (hypar_machine_is_uniform(machine))
        return stage->first;
    for (int d = stage->first; d < stage->first + stage->n_devices; d++)
        if (hp_dense_op_per_s(hypar_machine_device(machine, d), precision) <
            hp_dense_op_per_s(hypar_machine_device(machine, slowest), precision))
            slowest = d;
    return stage->first + (slowest - stage->first) / size * size;
}

/* The submesh of a replica whose share of the samples takes longest. */
static struct submesh_shape busiest_submesh(struct hybrid *h, const struct stage *stage,
                                            int size, int64_t samples)
{
    struct arena_mark mark = hp_arena_mark(h->arena);
    int replicas = stage->n_devices / size, busiest = 0;
    int64_t *share = NEW(h->arena, int64_t, replicas);
    double *speed = NEW(h->arena, double, replicas);
    for (int d = 0; d < replicas * size; d++)
        speed[d / size] += h->model.speed[stage->first + d];
    hp_weighted_sizes(samples, replicas, speed, share);
    for (int r = 1; r < replicas; r++)
        if ((double)share[r] * speed[busiest] > (double)share[busiest] * speed[r])
            busiest = r;
    struct submesh_shape shape = { stage->first + busiest * size, size, share[busiest], true };
    hp_arena_release(h->arena, mark);
    return shape;
}

struct submesh_shape hp_stage_submesh(struct hybrid *h, const struct stage *stage, int size)
{
    double samples = (double)h->problem->graph->batch / (double)stage->step.micro_batches;
    int64_t even = (int64_t)ceil(samples / (stage->n_devices / size));
    if (stage->step.shares && h->model.speed)
        return busiest_submesh(h, stage, size, (int64_t)ceil(samples));
    return (struct submesh_shape){ slowest_submesh(h, stage, size), size, even, false };
}

/* Find the fastest of all combinations of states; keep a copy of its states. */
static void estimate_all_states(struct hybrid *h, const struct stage *stage,
                                const struct submesh_splittings *list,
                                struct stage_estimate *best)
{
    struct arena scratch = { 0 };
    const struct splitting *before = best->splitting;
    struct stage_estimate first =
        hp_estimate_states(h, stage, list->submesh, list->splitting[0].state, &scratch);
    accept(best, &first);
    hp_enumerate_states(h, stage, list, &scratch, best);
    if (best->splitting != before) {
        struct splitting *kept = NEW(h->arena, struct splitting, 1);
        kept->resend = best->splitting->resend;
        kept->state = NEW(h->arena, int, h->model.n_vars);
        memcpy(kept->state, best->splitting->state,
               (size_t)h->model.n_vars * sizeof *kept->state);
        best->splitting = kept;
    }
    hp_arena_free(&scratch);
}

/* The fastest way to run the stage that fits in its room: of all submeshes, the splittings or,
 * if there are few, all states. */
static struct stage_estimate estimate_submeshes(struct hybrid *h, const struct stage *stage)
{
    double samples = (double)h->problem->graph->batch / (double)stage->step.micro_batches;
    int fixed = most_fixed_parts(h, stage);
    int covered = 0; /* a submesh whose splittings include those of smaller submeshes */
    struct stage_estimate best = { 0 };
    for (int size = stage->n_devices; size >= 1; size--) {
        if ((covered && covered % size == 0) || !may_have_size(h, stage, samples, size, fixed))
            continue;
        struct submesh_shape shape = hp_stage_submesh(h, stage, size);
        const struct submesh_splittings *list = hp_submesh_splittings(h, &shape);
        if (list->roomy && !h->small && size <= LARGE_SUBMESH)
            covered = size;
        if (list->n > 0 && h->small && !h->exhausted)
            estimate_all_states(h, stage, list, &best);
        else
            for (int i = 0; i < list->n; i++)
                estimate(&(struct split_stage){ h, stage, list->submesh, &list->splitting[i] },
                         &best);
    }
    return best;
}

/* The estimate of a stage with this number of micro-batches in flight and this much memory. */
struct known_estimate {
    double in_flight, room;
    struct stage_estimate estimate;
    struct known_estimate *next; /* of the same stage */
};

static struct known_estimate *estimate_anew(struct hybrid *h, const struct stage *stage,
                                            struct known_estimate *next)
{
    struct known_estimate *new = NEW(h->arena, struct known_estimate, 1);
    *new = (struct known_estimate){ stage->in_flight, stage->room, estimate_submeshes(h, stage),
                                    next };
    return new;
}

/* The first known estimate of a stage: the fastest way without a memory limit, which suits most
 * stages. Estimates for less memory follow it in a list. */
static struct known_estimate *first_known(struct hybrid *h, const struct stage *stage)
{
    const struct step_shape *step = &stage->step;
    int64_t key[] = { stage->first, stage->n_devices, stage->size, step->micro_batches,
                      step->shard,  step->far_ahead,  step->apart, step->shares,
                      stage->lo,    stage->hi };
    void **known = hp_memo(&h->estimates, h->arena, key, sizeof key);
    if (!*known) {
        struct stage unbound = *stage;
        unbound.room = INFINITY;
        unbound.in_flight = 1;
        *known = estimate_anew(h, &unbound, NULL);
    }
    return *known;
}

/* The devices must hold each parameter at least once. A known way for more memory is also the
 * fastest for less memory if it fits. If nothing fits in more memory, nothing fits in less. */
bool hp_estimate_stage(struct hybrid *h, const struct stage *stage, struct stage_estimate *out)
{
    if (h->state_bytes[stage->hi] - h->state_bytes[stage->lo] >
        stage->n_devices * stage->room) {
        *out = (struct stage_estimate){ 0 };
        h->is_short = true;
        return false;
    }
    struct known_estimate *first = first_known(h, stage);
    for (const struct known_estimate *known = first; known; known = known->next) {
        if (known->in_flight > stage->in_flight || known->room < stage->room)
            continue;
        *out = known->estimate;
        out->memory_bytes += (stage->in_flight - known->in_flight) * out->each_bytes;
        if (out->size == 0 || out->memory_bytes <= stage->room)
            return out->size > 0;
        h->is_short = true;
    }
    first->next = estimate_anew(h, stage, first->next);
    *out = first->next->estimate;
    return out->size > 0;
}

/* ---------------------------------------------------------------------------------------- */

/* The approximate time of each operator on one device; also adds up the totals in `h`. */
static double *op_seconds(struct hybrid *h)
{
    const struct hypar_graph *g = h->problem->graph;
    const struct submesh *one =
        hp_submesh(&h->model, &(struct submesh_shape){ .size = 1, .samples = g->batch });
    double *op_s = NEW(h->arena, double, g->n_ops);
    for (int op = 0; op < g->n_ops && one; op++) {
        const struct op_cost *c = hp_op_cost(&h->model, one, op, 0); /* its one state */
        op_s[op] = c->forward_s + c->backward_s;
        h->forward_s += c->forward_s;
        h->weighted += c->param_elements > 0;
        h->elements += c->param_elements;
    }
    return op_s;
}

static double *sum_up_state(struct hybrid *h)
{
    const double *of_op = hp_least_state(h->problem, h->arena);
    double *sums = NEW(h->arena, double, h->units.n + 1);
    for (int u = 0; u < h->units.n; u++) {
        sums[u + 1] = sums[u];
        for (int op = h->units.first[u]; op < h->units.first[u + 1]; op++)
            sums[u + 1] += of_op[op];
    }
    return sums;
}

/* The time of the longest path through the graph as a share of the total time. */
static double part_on_path(struct hybrid *h, const double *op_s)
{
    const struct hypar_graph *g = h->problem->graph;
    double *end_s = NEW(h->arena, double, g->n_ops), all_s = 0, longest_s = 0;
    for (int op = 0; op < g->n_ops; op++) {
        double begin_s = 0;
        for (int o = 0; o < g->ops[op].nest->n_inputs; o++) {
            int t = g->ops[op].tensor[o], from = t < 0 ? -1 : g->tensors[t].producer;
            begin_s = fmax(begin_s, from < 0 ? 0 : end_s[from]);
        }
        end_s[op] = begin_s + op_s[op];
        longest_s = fmax(longest_s, end_s[op]);
        all_s += op_s[op];
    }
    return all_s > 0 ? longest_s / all_s : 1;
}

/* Are there so few operators and states that all plans can be enumerated? */
static bool is_small(struct hybrid *h)
{
    const struct submesh_model *m = &h->model;
    int n = hypar_machine_device_count(h->problem->machine);
    double choices = 1;
    if (h->units.n > HP_FEW || n > HP_FEW || h->units.apart)
        return false;
    const struct submesh *all = hp_submesh(
        &h->model, &(struct submesh_shape){ .size = n, .samples = h->problem->graph->batch });
    for (int v = 0; v < m->n_vars && all; v++)
        choices *= hp_states(m, all, v)->n;
    return choices <= 4 * HP_MANY;
}

enum hypar_status hp_hybrid_begin(struct hybrid *out, struct arena *arena,
                                  const struct problem *problem, struct hypar_error *err)
{
    *out = (struct hybrid){ .problem = problem, .arena = arena };
    TRY(hp_submesh_model(&out->model, arena, problem, err));
    out->update_s = hp_seconds(hp_update_time(out->model.costs, 0, 1e9)) / 1e9;
    out->group_bytes = hp_group_bytes(problem);
    out->room = find_room(out);
    const double *op_s = op_seconds(out);
    out->units = hp_units(&out->model, op_s);
    out->state_bytes = sum_up_state(out);
    out->model.on_path = part_on_path(out, op_s);
    out->small = is_small(out);
    return HYPAR_OK;
}

void hp_hybrid_end(struct hybrid *h)
{
    hp_submesh_model_end(&h->model);
}

bool hp_stage_exchanges(const struct stage_estimate *e)
{
    return e->own_s > HP_ABOUT_EQUAL * e->compute_s;
}
