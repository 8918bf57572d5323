/* Estimates stages in closed form: finds the fastest way to run some units as a stage that fits
 * in memory. */
#include "search/hybrid/stage.h"

#include <math.h>
#include <string.h>

#include "cost/collective.h"
#include "search/estimate/needs.h"
#include "search/evaluate/fit.h"
#include "sim/task_costs.h"

enum { GATHERS_AWAITED = 3 };

/* The stage under evaluation. */
struct weighing {
    struct hybrid *h; /* lines that are worked out are kept there */
    const struct step_shape *step;
    const struct stage_place *place;
    const struct submesh *submesh;
    const struct splitting *s;
    int lo, hi, size;
};

static double between(const double *sums, int lo, int hi)
{
    return sums[hi] - sums[lo];
}

double hp_element_state_bytes(const struct hybrid *h, enum hypar_shard shard, int holders)
{
    const struct hypar_search_options *o = h->problem->options;
    struct param_bytes b = hp_param_bytes(o->precision, o->fp32_gradients, o->optimizer);
    return b.weight / (shard >= HYPAR_SHARD_PARAMETERS ? holders : 1) +
           b.gradient / (shard >= HYPAR_SHARD_GRADIENTS ? holders : 1) +
           b.state / (shard >= HYPAR_SHARD_OPTIMIZER ? holders : 1);
}

/* Bytes of parameter state that a device keeps from step to step. */
static double state_bytes(const struct weighing *w)
{
    double sum = 0;
    for (int i = 0; i < w->s->n_partitions; i++)
        sum += between(w->s->sums.params[i], w->lo, w->hi) *
               hp_element_state_bytes(w->h, w->step->shard,
                                      w->place->n_devices / w->s->partition[i]);
    return sum;
}

/* Bytes of divided parameters that are gathered at one time. */
static double gathered_bytes(const struct weighing *w)
{
    const double *gathered = w->step->far_ahead ? w->s->gathered_far : w->s->gathered;
    double most = 0;
    for (int u = w->lo; u < w->hi && w->step->shard >= HYPAR_SHARD_PARAMETERS; u++)
        most = fmax(most, gathered[u]);
    return most;
}

/* Bytes of activations of all micro-batches in flight. The micro-batch being computed holds
 * activations of the units up to the current one only. */
static double activation_bytes(const struct weighing *w, enum hypar_recompute word,
                               int recomputed, double *each)
{
    const struct unit_sums *sums = &w->s->sums;
    double kept = 0, most = 0;
    for (int u = w->lo; u < w->hi; u++) {
        most = fmax(most, kept + w->s->peak[u]);
        kept += between(sums->kept[u < w->lo + recomputed ? word : 0], u, u + 1);
    }
    double errors = w->step->apart ? between(sums->errors, w->lo, w->hi) / 2 : 0; /* roughly */
    *each = kept + errors;
    return (w->place->in_flight - 1) * *each + errors + most;
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

struct element_cost hp_element_cost(struct hybrid *h, enum hypar_shard shard,
                                    const struct stage_place *place, int parts)
{
    const struct hypar_search_options *o = h->problem->options;
    double gradient =
        hp_precision_bytes(hp_gradient_precision(o->precision, o->fp32_gradients));
    struct line line = hp_sum_line(h, place->first, place->n_devices, parts);
    int holders = place->n_devices / parts;
    return (struct element_cost){
        .sum_s = gradient * line.s_per_byte,
        .own_link_s = gradient * line.own_link_s_per_byte,
        .update_s = h->update_s / (shard >= HYPAR_SHARD_OPTIMIZER ? holders : 1),
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
static void add_gathers(const struct weighing *w, struct tail *t)
{
    double weighted = between(w->s->sums.weighted, w->lo, w->hi), all = 0;
    for (int i = 0; i < w->s->n_partitions; i++)
        all += between(w->s->sums.params[i], w->lo, w->hi);
    for (int i = 0; i < w->s->n_partitions; i++) {
        double elements = between(w->s->sums.params[i], w->lo, w->hi);
        const double of_op[] = { all / weighted, w->s->first_elements[w->lo],
                                 w->s->last_elements[w->hi - 1] };
        double *sum[] = { &t->gathers_s, &t->first_gather_s, &t->last_gather_s };
        for (int k = 0; k < 3 && elements > 0; k++)
            *sum[k] += (k == 0 ? weighted : 1) * elements / all *
                       gather_seconds(w->h, w->place->first, w->place->n_devices,
                                      w->s->partition[i], of_op[k]);
    }
}

static struct tail tail_of(const struct weighing *w)
{
    struct tail t = { 0 };
    for (int i = 0; i < w->s->n_partitions; i++) {
        double elements = between(w->s->sums.params[i], w->lo, w->hi);
        struct element_cost cost =
            hp_element_cost(w->h, w->step->shard, w->place, w->s->partition[i]);
        t.sum_s += elements * cost.sum_s;
        t.own_link_s += elements * cost.own_link_s;
        t.last_s = fmax(t.last_s, elements > 0 ? cost.last_s : 0);
        t.update_s += elements * cost.update_s;
    }
    if (w->step->shard >= HYPAR_SHARD_PARAMETERS)
        add_gathers(w, &t);
    return t;
}

/* The time that gathering adds to one half of a micro-batch. The first operator waits for its
 * own parameters. The gather of a later operator starts when the operator hp_gather_ahead()
 * before it is done, so this many gathers are in progress at once. */
static double wait_for_gathers(const struct weighing *w, const struct tail *t, double first_s,
                               double links_s, double half_s)
{
    double in_turn_s = (t->gathers_s + half_s) / (hp_gather_ahead(w->step) + 1);
    return fmax(first_s, fmax(links_s, in_turn_s) - half_s);
}

/* The time that exchanges wait for gathers on the same links. An exchange waits in proportion
 * to the time that the links are busy with gathers, and for more than the gather in progress:
 * GATHERS_AWAITED is the number that simulated steps show. */
static double waiting_seconds(const struct weighing *w, const struct tail *tail, double own_s)
{
    const struct unit_sums *sums = &w->s->sums;
    double gathered = between(sums->weighted, w->lo, w->hi), busy_s = 1.5 * tail->own_link_s;
    if (!(gathered > 0) || !(own_s > 0))
        return 0;
    return GATHERS_AWAITED * between(sums->exchanges, w->lo, w->hi) * fmin(1, busy_s / own_s) *
           tail->own_link_s / 2 / gathered;
}

/* Add the end of the step. Sums of gradients overlap with the last backward half. Gathers of
 * divided parameters overlap with computation but not with other exchanges, because they share
 * links. A reduce-scatter or an all-gather takes half the time of the sum. */
static void add_tail(const struct weighing *w, struct stage_choice *c)
{
    double backward_s = between(w->s->sums.backward_s, w->lo, w->hi);
    double forward_s = c->compute_s - backward_s;
    struct tail t = tail_of(w);
    switch (w->step->shard) {
    case HYPAR_SHARD_NONE:
    case HYPAR_SHARD_OPTIMIZER:
        c->tail_s =
            fmax(t.sum_s / (w->hi - w->lo + 1), t.sum_s - backward_s) + t.last_s + t.update_s;
        break;
    case HYPAR_SHARD_GRADIENTS:
        c->own_s += fmax(0, t.sum_s / 2 - backward_s);
        c->tail_s = t.update_s + t.last_s + t.sum_s / 2;
        break;
    default:
        c->own_s += waiting_seconds(w, &t, c->own_s) +
                    wait_for_gathers(w, &t, t.first_gather_s, t.sum_s / 2, forward_s) +
                    wait_for_gathers(w, &t, t.last_gather_s, t.sum_s, backward_s);
        c->tail_s = t.update_s + fmax(t.last_s, t.first_gather_s);
    }
    c->time_s = c->own_s + c->tail_s / (double)w->step->micro_batches;
}

/* The least number of units to recompute so that the activations fit in `room`; -1: recomputing
 * all is not enough. */
static int units_to_recompute(const struct weighing *w, enum hypar_recompute word, double room)
{
    int few = -1, enough = w->hi - w->lo; /* bisection: recomputing more units never needs more
                                           * memory */
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
static double replica_seconds(const struct weighing *w)
{
    const struct unit_sums *sums = &w->s->sums;
    double n = between(sums->replica_sums, w->lo, w->hi);
    if (!(n > 0) || w->size == w->place->n_devices)
        return 0;
    double bytes = between(sums->replica_bytes, w->lo, w->hi) / n;
    const struct comm_way *way = hp_comm_best_way(
        hp_sum_line(w->h, w->place->first, w->place->n_devices, w->size).comm, bytes);
    return w->h->model.on_path * n * (way->fixed_s + bytes * way->s_per_byte);
}

static void weigh(struct weighing *w, enum hypar_recompute word, struct stage_choice *best)
{
    const struct hypar_search_options *o = w->h->problem->options;
    const struct unit_sums *sums = &w->s->sums;
    double fixed = state_bytes(w) + gathered_bytes(w);
    int n = w->hi - w->lo,
        recomputed = word == HYPAR_RECOMPUTE_NONE ? 0
                     : o->recompute_given         ? n
                                          : units_to_recompute(w, word, w->place->room - fixed);
    /* recomputed or resent tensors would have to stay until the parameter gradients are
     * computed */
    if (recomputed < 0 || (w->step->apart && (recomputed > 0 || w->s->resend)))
        return;
    struct stage_choice c = { .size = w->size,
                              .submesh = w->submesh,
                              .splitting = w->s,
                              .recompute = word,
                              .recomputed = recomputed };
    c.memory_bytes = fixed + activation_bytes(w, word, recomputed, &c.each_bytes);
    if (c.memory_bytes > w->place->room)
        return;
    c.own_s = between(sums->time_s, w->lo, w->hi) +
              between(sums->again_s[word], w->lo, w->lo + recomputed) + replica_seconds(w);
    for (int u = w->lo + 1; u < w->hi; u++)
        c.own_s += w->s->entering_s[u];
    c.gradient_s = between(sums->gradient_s, w->lo, w->hi);
    c.compute_s = between(sums->compute_s, w->lo, w->hi);
    add_tail(w, &c);
    c.border_bytes = w->lo ? w->s->border[w->lo] : 0;
    if (best->size == 0 || c.time_s < best->time_s)
        *best = c;
}

/* Limit of devices for a submesh of the whole machine: a larger one takes too long. */
enum { LARGEST_SUBMESH = 256 };

/* The largest number of parts of a fixed operator in units lo .. hi - 1; 0: no operator is
 * fixed. */
static int most_fixed_parts(const struct hybrid *h, int lo, int hi)
{
    int most = 0;
    for (int i = 0; i < h->model.fixes.n; i++) {
        const struct fix *fix = &h->model.fixes.fix[i];
        if (h->units.of_op[fix->op] >= lo && h->units.of_op[fix->op] < hi &&
            fix->n_parts > most)
            most = fix->n_parts;
    }
    return most;
}

static bool may_have_size(const struct hybrid *h, const struct stage_place *place,
                          double samples, int size, int fixed)
{
    int most = h->problem->options->max_tensor, replicas = place->n_devices / size;
    if (place->size && size != place->size)
        return false;
    if (fixed) /* fixed operators use all devices of the stage */
        return replicas == 1 && fixed <= size && size <= FEW_DEVICES;
    if (place->n_devices % size || replicas > samples || (most && size > most))
        return false;
    if (size == hypar_machine_device_count(h->problem->machine) && size <= LARGEST_SUBMESH &&
        samples >= size)
        return true;
    return size <= LARGE_SUBMESH ||
           (place->n_devices <= FEW_DEVICES && place->n_devices / LARGE_SUBMESH > samples);
}

/* The first device of the stage's submesh that has its slowest device. */
static int slowest_submesh(const struct hybrid *h, const struct stage_place *place, int size)
{
    const struct hypar_machine *machine = h->problem->machine;
    int slowest = place->first;
    if (hypar_machine_is_uniform(machine))
        return place->first;
    for (int d = place->first; d < place->first + place->n_devices; d++)
        if (hp_dense_op_per_s(hypar_machine_device(machine, d),
                              h->problem->options->precision) <
            hp_dense_op_per_s(hypar_machine_device(machine, slowest),
                              h->problem->options->precision))
            slowest = d;
    return place->first + (slowest - place->first) / size * size;
}

/* A permanent copy of a splitting's states. */
static const struct splitting *keep_splitting(struct hybrid *h, const struct splitting *s)
{
    struct splitting *kept = NEW(h->arena, struct splitting, 1);
    kept->resend = s->resend;
    kept->state = NEW(h->arena, int, h->model.n_vars);
    memcpy(kept->state, s->state, (size_t)h->model.n_vars * sizeof *kept->state);
    return kept;
}

static struct stage_choice weigh_words(struct weighing *w)
{
    const struct hypar_search_options *o = w->h->problem->options;
    struct stage_choice best = { 0 };
    for (int word = 0; word < RECOMPUTE_WORDS; word++)
        if (!o->recompute_given || o->recompute == (enum hypar_recompute)word)
            weigh(w, (enum hypar_recompute)word, &best);
    return best;
}

static void take_faster(struct stage_choice *best, const struct stage_choice *c)
{
    if (c->size && (best->size == 0 || c->time_s < best->time_s))
        *best = *c;
}

struct stage_choice hp_weigh_states(struct hybrid *h, const struct step_shape *step,
                                    const struct stage_place *place, int lo, int hi,
                                    const struct submesh *submesh, int *state,
                                    struct arena *arena)
{
    struct stage_choice best = { 0 };
    for (int resend = 0; resend < 2; resend++) {
        struct splitting *s = NEW(arena, struct splitting, 1);
        s->state = state;
        s->resend = resend;
        hp_sum_up_splitting(&h->model, submesh, &h->units, lo, hi, arena, s);
        struct weighing w = { h, step, place, submesh, s, lo, hi, submesh->shape.size };
        struct stage_choice c = weigh_words(&w);
        take_faster(&best, &c);
        h->evaluated++;
        if (best.size && best.recomputed == 0) /* resending saves nothing */
            break;
    }
    return best;
}

/* Find the fastest of the submesh's splittings. */
static void choose_splitting(struct hybrid *h, const struct step_shape *step,
                             const struct stage_place *place, int lo, int hi,
                             const struct submesh_splittings *list, struct stage_choice *best)
{
    for (int i = 0; i < list->n; i++) {
        struct weighing w = { h,
                              step,
                              place,
                              list->submesh,
                              &list->splitting[i],
                              lo,
                              hi,
                              list->submesh->shape.size };
        struct stage_choice c = weigh_words(&w);
        take_faster(best, &c);
        h->evaluated++;
    }
}

/* Find the fastest of all combinations of states. */
static void choose_states(struct hybrid *h, const struct step_shape *step,
                          const struct stage_place *place, int lo, int hi,
                          const struct submesh_splittings *list, struct stage_choice *best)
{
    struct arena scratch = { 0 };
    const struct splitting *before = best->splitting;
    struct stage_choice c = hp_weigh_states(h, step, place, lo, hi, list->submesh,
                                            list->splitting[0].state, &scratch);
    take_faster(best, &c);
    hp_choose_states(h, step, place, lo, hi, list, &scratch, best);
    if (best->splitting != before)
        best->splitting = keep_splitting(h, best->splitting);
    hp_arena_free(&scratch);
}

/* Find the fastest way to run the stage that fits in place->room. */
static bool choose(struct hybrid *h, const struct step_shape *step,
                   const struct stage_place *place, int lo, int hi, struct stage_choice *out)
{
    double samples = (double)h->problem->graph->batch / (double)step->micro_batches;
    int fixed = most_fixed_parts(h, lo, hi);
    int covered = 0; /* a submesh whose splittings include those of smaller submeshes */
    *out = (struct stage_choice){ 0 };
    for (int size = place->n_devices; size >= 1; size--) {
        int replicas = place->n_devices / size;
        if ((covered && covered % size == 0) || !may_have_size(h, place, samples, size, fixed))
            continue;
        struct submesh_shape shape = { slowest_submesh(h, place, size), size,
                                       (int64_t)ceil(samples / replicas) };
        const struct submesh_splittings *list = hp_submesh_splittings(h, &shape);
        if (list->roomy && !h->small && size <= LARGE_SUBMESH)
            covered = size;
        if (list->n > 0)
            (h->small && !h->exhausted ? choose_states : choose_splitting)(h, step, place, lo,
                                                                           hi, list, out);
    }
    return out->size > 0;
}

/* Choose a way for the stage and add it to the known choices. */
static const struct known_choice *choose_anew(struct hybrid *h, const struct step_shape *step,
                                              const struct stage_place *place, int lo, int hi,
                                              int next)
{
    struct known_choice new = { .in_flight = place->in_flight,
                                .room = place->room,
                                .next = next };
    choose(h, step, place, lo, hi, &new.choice);
    h->choice =
        GROW(h->arena, struct known_choice, h->choice, h->n_choices, &h->choice_capacity);
    h->choice[h->n_choices] = new;
    return &h->choice[h->n_choices++];
}

/* The first known choice of a stage: the fastest way without a memory limit, which suits most
 * stages. Choices for less memory follow it in a list. */
static int first_known(struct hybrid *h, const struct step_shape *step,
                       const struct stage_place *place, int lo, int hi)
{
    int64_t key[] = { place->first,
                      place->n_devices,
                      place->size,
                      step->micro_batches,
                      step->shard,
                      step->far_ahead,
                      step->apart,
                      lo,
                      hi };
    int known = hp_table_get(&h->choice_keys, key, sizeof key);
    if (known < 0) {
        int64_t *kept = NEW(h->arena, int64_t, sizeof key / sizeof *key);
        struct stage_place unbound = *place;
        memcpy(kept, key, sizeof key);
        unbound.room = INFINITY;
        unbound.in_flight = 1;
        choose_anew(h, step, &unbound, lo, hi, -1);
        known = hp_table_put(&h->choice_keys, h->arena, kept, sizeof key, h->n_choices - 1);
    }
    return known;
}

/* Choose a way for the stage. The devices must hold each parameter at least once. A known
 * choice for more memory is also the fastest for less memory if it fits. If nothing fits in
 * more memory, nothing fits in less. */
bool hp_choose_stage(struct hybrid *h, const struct step_shape *step,
                     const struct stage_place *place, int lo, int hi, struct stage_choice *out)
{
    if (between(h->state_bytes, lo, hi) > place->n_devices * place->room) {
        *out = (struct stage_choice){ 0 };
        h->is_short = true;
        return false;
    }
    int first = first_known(h, step, place, lo, hi);
    for (int i = first; i >= 0; i = h->choice[i].next) {
        const struct known_choice *known = &h->choice[i];
        if (known->in_flight > place->in_flight || known->room < place->room)
            continue;
        *out = known->choice;
        out->memory_bytes += (place->in_flight - known->in_flight) * out->each_bytes;
        if (out->size == 0 || out->memory_bytes <= place->room)
            return out->size > 0;
        h->is_short = true;
    }
    const struct known_choice *new = choose_anew(h, step, place, lo, hi, h->choice[first].next);
    h->choice[first].next = h->n_choices - 1;
    *out = new->choice;
    return out->size > 0;
}

/* ---------------------------------------------------------------------------------------- */

/* The approximate time of each operator on one device; also adds up the totals in `h`. */
static double *op_seconds(struct hybrid *h)
{
    const struct hypar_graph *g = h->problem->graph;
    const struct submesh *one =
        hp_submesh(&h->model, &(struct submesh_shape){ 0, 1, g->batch });
    double *op_s = NEW(h->arena, double, g->n_ops);
    const int *state = NEW(h->arena, int, h->model.n_vars); /* each has one state */
    for (int op = 0; op < g->n_ops && one; op++) {
        const struct op_cost *c = hp_op_cost(&h->model, one, state, op);
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
    enum { MOST_CHOICES = 1 << 14, MOST_DEVICES = 8 };
    const struct submesh_model *m = &h->model;
    int n = hypar_machine_device_count(h->problem->machine);
    double choices = 1;
    if (h->units.n > FEW_UNITS || n > MOST_DEVICES || h->units.apart)
        return false;
    const struct submesh *all =
        hp_submesh(&h->model, &(struct submesh_shape){ 0, n, h->problem->graph->batch });
    for (int v = 0; v < m->n_vars && all; v++)
        choices *= all->states[m->var[v].class].n;
    return choices <= MOST_CHOICES;
}

enum hypar_status hp_hybrid_begin(struct hybrid *out, struct arena *arena,
                                  const struct problem *problem, struct hypar_error *err)
{
    *out = (struct hybrid){ .problem = problem, .arena = arena };
    TRY(hp_submesh_model(&out->model, arena, problem, err));
    out->update_s = hp_seconds(hp_update_time(out->model.costs, 0, 1e9)) / 1e9;
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

bool hp_stage_exchanges(const struct stage_choice *choice)
{
    const double little = 1.02;
    return choice->own_s > little * choice->compute_s;
}
