/* Planner hybrid: its closed-form result against all candidates, and its plans against those of
 * other planners. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "cost/calibration.h"
#include "cost/work.h"
#include "program/lowering.h"
#include "search/evaluate/room.h"
#include "search/hybrid/candidates.h"
#include "tests/length.h"
#include "tests/random_graph.h"
#include "tests/simulated.h"

/* Random graphs --------------------------------------------------------------------------- */

static const char *const machines[] = {
    "full:4",
    "cluster:2x2,device=a100",
    "htree:4",
    "ring:3",
    "cluster:1x2,device=h100+cluster:1x2,device=a100",
};
enum { N_MACHINES = sizeof machines / sizeof *machines };

struct case_of {
    struct arena arena;
    struct hypar_graph *graph;
    struct hypar_machine *machine;
    struct hypar_search_options options;
    struct problem problem;
    struct hybrid h;
};

/* False: such a graph cannot be lowered, or is too large for looking at everything. */
static bool make_case(struct case_of *c, uint64_t seed)
{
    enum { MOST_OPS = 6 };
    struct random random = { seed * 0x9e3779b97f4a7c15 };
    struct hypar_error err;
    *c = (struct case_of){ .options = { .simulation = NULL } };
    c->graph = random_graph(&random, OP_KIND_COUNT);
    if (hypar_machine_read(&c->machine, machines[seed % N_MACHINES], &err))
        fail_msg("%s", err.text);
    c->problem =
        (struct problem){ .graph = c->graph, .machine = c->machine, .options = &c->options };
    return c->graph->n_ops <= MOST_OPS &&
           hp_hybrid_begin(&c->h, &c->arena, &c->problem, &err) == HYPAR_OK;
}

static void end_case(struct case_of *c)
{
    hp_hybrid_end(&c->h);
    hypar_graph_free(c->graph);
    hypar_machine_free(c->machine);
    hp_arena_free(&c->arena);
}

static int n_graphs(void)
{
    return (int)length_of("HYPAR_HYBRID_GRAPHS", 400, 1200, 2000);
}

/* Every choice of states, one after another; false: that was the last. */
static bool next_choice(const struct case_of *c, const struct submesh *submesh, int *state)
{
    for (int v = 0; v < c->h.model.n_vars; v++) {
        if (++state[v] < submesh->states[c->h.model.var[v].class].n)
            return true;
        state[v] = 0;
    }
    return false;
}

static double cost_of(struct case_of *c, const struct submesh *submesh, const double *sync_s,
                      const int *state)
{
    struct submesh_model *m = &c->h.model;
    double sum = 0;
    for (int op = 0; op < c->graph->n_ops; op++) {
        const struct op_cost *cost = hp_op_cost(m, submesh, op, state[m->var_of[op]]);
        sum += cost->forward_s + cost->backward_s +
               cost->param_elements * sync_s[cost->param_parts];
    }
    for (int t = 0; t < m->n_terms; t++)
        sum += hp_submesh_term(m, submesh, m->term[t].class, state[m->term[t].writer],
                               state[m->term[t].reader]);
    return sum;
}

/* The solver's choice of splits is the best of all, though few exchanges were worked out; none
 * of their patterns is kept. */
static void splits_are_best(void **unused)
{
    (void)unused;
    enum { MOST_CHOICES = 20000 };
    int n = n_graphs(), looked = 0;
    for (uint64_t seed = 1; seed <= (uint64_t)n; seed++) {
        struct case_of c;
        double choices = 1, sync_s[8];
        struct submesh *submesh = NULL;
        for (int i = 0; i < 8; i++)
            sync_s[i] = (double)(seed % 3) * 1e-9 / (i ? i : 1);
        bool usable = make_case(&c, seed);
        int size = hypar_machine_device_count(c.machine);
        if (usable)
            submesh = hp_submesh(
                &c.h.model, &(struct submesh_shape){ .size = size, .samples = c.graph->batch });
        for (int v = 0; submesh && v < c.h.model.n_vars; v++)
            choices *= submesh->states[c.h.model.var[v].class].n;
        if (submesh && choices <= MOST_CHOICES) {
            int *state = NEW(&c.arena, int, c.h.model.n_vars),
                *tried = NEW(&c.arena, int, c.h.model.n_vars);
            double best_s = INFINITY;
            int n_patterns = c.h.model.lowering->cache->n_patterns;
            assert_int_equal(hp_submesh_solve(&c.h.model, submesh, 0, sync_s, state), HYPAR_OK);
            double found_s = cost_of(&c, submesh, sync_s, state);
            do
                best_s = fmin(best_s, cost_of(&c, submesh, sync_s, tried));
            while (next_choice(&c, submesh, tried));
            if (fabs(found_s - best_s) > 1e-9 * best_s)
                fail_msg("seed %llu: found %.12g s, best %.12g s", (unsigned long long)seed,
                         found_s, best_s);
            assert_int_equal(c.h.model.lowering->cache->n_patterns, n_patterns);
            looked++;
        }
        end_case(&c);
    }
    print_message("  %d graphs, every split of each\n", looked);
    assert_true(looked > n / 20);
}

/* Do the operators and exchanges of two submeshes take the same time, in all states? */
static bool same_times(struct submesh_model *m, const struct submesh *a,
                       const struct submesh *b)
{
    bool same = true;
    for (int c = 0; c < m->n_var_classes; c++) {
        const struct class_states *x = &a->states[c], *y = &b->states[c];
        same &= x->n == y->n;
        for (int i = 0; i < x->n * m->var[m->lead[c]].n_ops && same; i++)
            same = x->cost[i].forward_s == y->cost[i].forward_s &&
                   x->cost[i].backward_s == y->cost[i].backward_s;
    }
    for (int t = 0; t < m->n_term_classes && same; t++) {
        int from = hp_states(m, a, m->term_class[t].writer)->n;
        int to = hp_states(m, a, m->term_class[t].reader)->n;
        for (int k = 0; k < from * to && same; k++)
            same = hp_submesh_term(m, a, t, k / to, k % to) ==
                   hp_submesh_term(m, b, t, k / to, k % to);
    }
    return same;
}

/* Submeshes at places that count as the same take the same time; other places may differ. */
static void like_places(void **unused)
{
    (void)unused;
    static const struct {
        const char *machine;
        int size, first, same;
    } cases[] = {
        { "cluster:4x2,device=a100,node1.peak=0.5x", 2, 6, 0 },
        { "cluster:4x2,device=a100,node1.peak=0.5x", 2, 2, 2 },
        { "cluster:4x2,device=a100,node1.peak=0.5x", 2, 3, 3 },
        { "cluster:4x2,device=a100,node1.peak=0.5x", 3, 5, 5 },
        { "cluster:4x2,device=a100,node1.peak=0.5x", 1, 7, 1 },
        { "cluster:2x4,device=a100+cluster:2x4,device=h100", 2, 14, 10 },
        { "cluster:2x4,device=a100+cluster:2x4,device=h100", 4, 9, 9 },
        { "cluster:2x4,device=a100+cluster:2x4,device=h100", 4, 6, 6 },
        { "cluster:2x2,device=a100,rails=on+cluster:3x2,device=h100,rails=on", 3, 6, 4 },
        { "cluster:2x2,device=a100+cluster:1x2,device=t4+cluster:3x2,device=a100", 4, 8, 0 },
        { "cluster:2x2,device=a100+cluster:1x2,device=t4+cluster:3x2,device=a100", 6, 6, 6 },
        { "cluster:4x2,device=a100", 2, 4, 0 },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct case_of c = { .options = { .precision = HYPAR_BF16 } };
        struct submesh_shape at = { cases[i].first, cases[i].size, 24, true };
        struct hypar_error err;
        if (hypar_import(&c.graph, "mlp:96-96-48-10",
                         &(struct hypar_import_options){ .batch = 24 }, &err) ||
            hypar_machine_read(&c.machine, cases[i].machine, &err))
            fail_msg("%s", err.text);
        c.problem =
            (struct problem){ .graph = c.graph, .machine = c.machine, .options = &c.options };
        assert_int_equal(hp_hybrid_begin(&c.h, &c.arena, &c.problem, &err), HYPAR_OK);
        const struct submesh *here = hp_submesh(&c.h.model, &at);
        if (hp_same_place(&c.h, at.first, at.size) != cases[i].same)
            fail_msg("case %d: place %d", (int)i, hp_same_place(&c.h, at.first, at.size));
        at.first = cases[i].same;
        if (!same_times(&c.h.model, here, hp_submesh(&c.h.model, &at)))
            fail_msg("case %d: other times", (int)i);
        at.first = cases[i].first;
        const struct submesh_splittings *list = hp_submesh_splittings(&c.h, &at);
        at.first = cases[i].same;
        assert_ptr_equal(list, hp_submesh_splittings(&c.h, &at)); /* worked out once */
        end_case(&c);
    }
}

/* What tables say before an exchange is worked out is no more than what it takes. */
static void bounds_are_below(void **unused)
{
    (void)unused;
    int n = n_graphs();
    for (uint64_t seed = 1; seed <= (uint64_t)n; seed++) {
        struct case_of c;
        struct submesh *submesh = NULL;
        if (make_case(&c, seed))
            submesh = hp_submesh(&c.h.model, &(struct submesh_shape){
                                                 .size = hypar_machine_device_count(c.machine),
                                                 .samples = c.graph->batch });
        for (int t = 0; submesh && t < c.h.model.n_term_classes; t++) {
            const struct term_class *term = &c.h.model.term_class[t];
            int n_to = hp_states(&c.h.model, submesh, term->reader)->n;
            for (int i = 0; i < hp_states(&c.h.model, submesh, term->writer)->n; i++)
                for (int j = 0; j < n_to; j++) {
                    if (term->writer == term->reader && i != j)
                        continue;
                    double bound_s = submesh->term_s[t][i * n_to + j];
                    double exact_s = hp_submesh_term(&c.h.model, submesh, t, i, j);
                    if (bound_s > exact_s + 1e-11) /* times are whole picoseconds */
                        fail_msg("seed %llu, tensor %d: %.12g s, bounded by %.12g s",
                                 (unsigned long long)seed, term->exchange->place.tensor,
                                 exact_s, bound_s);
                }
        }
        end_case(&c);
    }
}

/* What comes into a stage of `n` devices from `first` on, from the devices before it. */
static struct line hop_into(struct hybrid *h, int first, int n, bool reversed)
{
    int from = reversed ? first + n : first - n;
    return hp_hop_line(h, from < 0 ? 0 : from, first, n);
}

/* How long links are held by what comes in from both sides. */
static double link_seconds(const struct line *hop, const struct stage_estimate *c, int n_stages)
{
    return n_stages > 2 && c->border_bytes > 0
               ? 2 * hop->fixed_s + hop->both_s_per_byte * c->border_bytes
               : hp_border_seconds(hop, c->border_bytes, hp_stage_exchanges(c));
}

/* The step of the pipeline whose stages begin at the units that `cuts` has bits of. */
static double step_of(struct case_of *c, const struct pipeline_shape *shape, unsigned cuts)
{
    double sum_s = 0, most_s = 0;
    int n = c->h.units.n, lo = 0, k = shape->groups;
    for (int hi = 1; hi <= n; hi++) {
        if (hi < n && !(cuts >> hi & 1))
            continue;
        struct stage_estimate choice;
        struct stage stage = { .step = shape->step,
                               .lo = lo,
                               .hi = hi,
                               .n_devices = shape->n_devices,
                               .in_flight = fmin((double)shape->step.micro_batches, k),
                               .room = INFINITY,
                               .size = shape->size };
        stage.first =
            hypar_machine_is_uniform(c->machine) ? 0 : (shape->groups - k) * shape->n_devices;
        if (!hp_estimate_stage(&c->h, &stage, &choice))
            return INFINITY;
        struct line hop =
            hop_into(&c->h, (shape->groups - k) * shape->n_devices, shape->n_devices, false);
        sum_s += choice.time_s +
                 2 * hp_border_seconds(&hop, choice.border_bytes, hp_stage_exchanges(&choice));
        most_s = fmax(most_s, choice.time_s);
        most_s = fmax(most_s, link_seconds(&hop, &choice, shape->groups));
        lo = hi;
        k--;
    }
    return k ? INFINITY : sum_s + (double)(shape->step.micro_batches - 1) * most_s;
}

/* No other cut has a shorter step, in closed form. */
static void cuts_are_best(void **unused)
{
    (void)unused;
    int n = n_graphs(), looked = 0;
    for (uint64_t seed = 1; seed <= (uint64_t)n; seed++) {
        struct case_of c;
        bool usable = make_case(&c, seed);
        int devices = hypar_machine_device_count(c.machine);
        for (int groups = 2; usable && groups <= devices && groups <= c.h.units.n; groups++) {
            struct pipeline_shape shape = { .n_devices = devices / groups,
                                            .room = 1,
                                            .size = 1,
                                            .groups = groups,
                                            .chunks = 1,
                                            .schedule = HYPAR_SCHEDULE_1F1B,
                                            .step = { .micro_batches = 1 + (int)(seed % 3) } };
            struct candidate found;
            double best_s = INFINITY;
            bool fits = hp_cut_pipeline(&c.h, &shape, &found);
            for (unsigned cuts = 0; cuts < 1u << c.h.units.n; cuts += 2)
                if (__builtin_popcount(cuts) == groups - 1)
                    best_s = fmin(best_s, step_of(&c, &shape, cuts));
            if (fits != (best_s < INFINITY) ||
                (fits && fabs(found.step_s - best_s) > 1e-9 * best_s))
                fail_msg("seed %llu, %d stages: found %.12g s, best %.12g s",
                         (unsigned long long)seed, groups, found.step_s, best_s);
            looked++;
        }
        end_case(&c);
    }
    print_message("  %d pipelines, every cut of each\n", looked);
    assert_true(looked > n / 10);
}

/* Everything ------------------------------------------------------------------------------ */

/* All plans of some micro-batches and some sharding, from one end of the machine. */
struct everything {
    struct candidates *found;
    struct step_shape step;
    bool reversed;
    int n_devices, n_units;
    struct known {
        bool known;
        int n; /* of the submeshes: the fastest stage of each size */
        double time_s[4], border_s[4], link_s[4];
    } known[5][5][5][8][8]; /* [stages from here on][first device][devices][lo][hi] */
    int n_stages;
    double best_s;
};

static bool next_states(const struct hybrid *h, const struct submesh *submesh, int lo, int hi,
                        int *state)
{
    for (int v = 0; v < h->model.n_vars; v++) {
        int unit = h->units.of_op[h->model.var[v].op[0]];
        if (unit < lo || unit >= hi)
            continue;
        if (++state[v] < submesh->states[h->model.var[v].class].n)
            return true;
        state[v] = 0;
    }
    return false;
}

/* Of a stage's devices: the first of a kind that none is slower than. */
static int slowest_device(const struct hypar_machine *machine, const struct stage *place)
{
    int slowest = place->first;
    for (int d = place->first; d < place->first + place->n_devices; d++)
        if (hp_dense_op_per_s(hypar_machine_device(machine, d), HYPAR_FP32) <
            hp_dense_op_per_s(hypar_machine_device(machine, slowest), HYPAR_FP32))
            slowest = d;
    return slowest;
}

/* Every submesh, and every split in it, of a stage. */
static void try_stage(struct everything *e, const struct stage *place, int first,
                      struct known *out)
{
    int lo = place->lo, hi = place->hi;
    struct hybrid *h = &e->found->h;
    struct arena scratch = { 0 };
    int64_t samples = h->problem->graph->batch / e->step.micro_batches;
    for (int size = 1; size <= place->n_devices; size++) {
        int replicas = place->n_devices / size;
        if (place->n_devices % size || replicas > samples)
            continue;
        int slowest = slowest_device(h->problem->machine, place) - place->first;
        struct submesh_shape shape = { place->first + slowest / size * size, size,
                                       (samples + replicas - 1) / replicas, false };
        if (place->step.shares)
            shape = hp_stage_submesh(h, place, size);
        const struct submesh_splittings *list = hp_submesh_splittings(h, &shape);
        if (list->n == 0)
            continue;
        int *state = NEW(&scratch, int, h->model.n_vars);
        memcpy(state, list->splitting[0].state, (size_t)h->model.n_vars * sizeof *state);
        for (int v = 0; v < h->model.n_vars; v++)
            if (h->units.of_op[h->model.var[v].op[0]] >= lo &&
                h->units.of_op[h->model.var[v].op[0]] < hi)
                state[v] = 0;
        struct line hop = hop_into(h, first, place->n_devices, e->reversed);
        double *time_s = &out->time_s[out->n];
        *time_s = INFINITY;
        do {
            struct arena_mark mark = hp_arena_mark(&scratch);
            struct stage_estimate c =
                hp_estimate_states(h, place, list->submesh, state, &scratch);
            if (c.size && c.time_s < *time_s) {
                *time_s = c.time_s;
                out->border_s[out->n] =
                    hp_border_seconds(&hop, c.border_bytes, hp_stage_exchanges(&c));
                out->link_s[out->n] = link_seconds(&hop, &c, e->n_stages);
            }
            hp_arena_release(&scratch, mark);
        } while (next_states(h, list->submesh, lo, hi, state));
        out->n += *time_s < INFINITY;
    }
    hp_arena_free(&scratch);
}

static const struct known *stage_of(struct everything *e, int k, int at, int n, int lo, int hi)
{
    struct known *known = &e->known[k][at][n][lo][hi];
    const struct problem *problem = e->found->problem;
    if (!known->known) {
        struct stage place = { .step = e->step,
                               .lo = lo,
                               .hi = hi,
                               .n_devices = n,
                               .in_flight = fmin((double)e->step.micro_batches, k) };
        int first = e->reversed ? e->n_devices - at - n : at;
        place.room = hp_room(problem, first);
        for (int d = 1; d < n; d++)
            place.room = fmin(place.room, hp_room(problem, first + d));
        place.first = hypar_machine_is_uniform(problem->machine) ? 0 : first;
        try_stage(e, &place, first, known);
        known->known = true;
    }
    return known;
}

/* k more stages from unit `lo` and device `at` on, in every way. */
static void try_stages(struct everything *e, int k, int at, int lo, double sum_s, double most_s)
{
    for (int n = 1; n <= e->n_devices - at - (k - 1); n++) {
        if (e->n_devices % n || at % n)
            continue;
        for (int hi = k == 1 ? e->n_units : lo + 1; hi <= e->n_units - (k - 1); hi++) {
            const struct known *s = stage_of(e, k, at, n, lo, hi);
            for (int i = 0; i < s->n; i++) {
                double sum = sum_s + s->time_s[i] + 2 * s->border_s[i];
                double most = fmax(most_s, fmax(s->time_s[i], s->link_s[i]));
                if (k == 1)
                    e->best_s =
                        fmin(e->best_s, sum + (double)(e->step.micro_batches - 1) * most);
                else
                    try_stages(e, k - 1, at + n, hi, sum, most);
            }
        }
    }
}

static double best_of_all(struct candidates *found)
{
    struct everything *e = calloc(1, sizeof *e);
    double best_s = INFINITY;
    int n = hypar_machine_device_count(found->problem->machine);
    bool uniform = hypar_machine_is_uniform(found->problem->machine);
    for (int i = 0; i < found->n_numbers; i++)
        for (int shard = 0; shard <= HYPAR_SHARD_PARAMETERS; shard++)
            for (int way = 0; way < (uniform ? 1 : 4); way++) {
                *e = (struct everything){ .found = found,
                                          .reversed = way / 2,
                                          .n_devices = n,
                                          .n_units = found->h.units.n,
                                          .best_s = INFINITY };
                e->step.micro_batches = found->number[i];
                e->step.shard = (enum hypar_shard)shard;
                e->step.shares = way % 2;
                for (e->n_stages = 1; e->n_stages <= n && e->n_stages <= e->n_units;
                     e->n_stages++)
                    try_stages(e, e->n_stages, 0, 0, 0, 0);
                best_s = fmin(best_s, e->best_s);
            }
    free(e);
    return best_s;
}

/* The least step that the planner finds in closed form, of schedules without bubbles that are
 * filled; *need: of memory, at most. */
static double best_found(struct candidates *found, double *need)
{
    hp_find_candidates(found, false);
    for (int i = 0; i < found->n; i++) {
        const struct candidate *c = &found->candidate[i];
        if (c->shape.schedule != HYPAR_SCHEDULE_NONE &&
            c->shape.schedule != HYPAR_SCHEDULE_1F1B)
            continue;
        *need = 0;
        for (int s = 0; s < c->n_stages; s++)
            *need = fmax(*need, c->stage[s].estimate.memory_bytes);
        return c->step_s;
    }
    return INFINITY;
}

static double count_choices(struct candidates *found)
{
    struct submesh_shape shape = {
        .size = hypar_machine_device_count(found->problem->machine),
        .samples = found->problem->graph->batch,
    };
    const struct submesh *submesh = hp_submesh(&found->h.model, &shape);
    double choices = 1;
    for (int v = 0; submesh && v < found->h.model.n_vars; v++)
        choices *= submesh->states[found->h.model.var[v].class].n;
    return submesh ? choices : INFINITY;
}

/* No cut, no groups of devices, no splits and no micro-batches have a shorter step in closed
 * form, neither where memory is enough nor where it is short. */
static void everything_is_best(void **unused)
{
    (void)unused;
    enum { MOST_CHOICES = 3000 };
    int n = n_graphs() / 12, looked = 0, short_of = 0, none = 0;
    double worst = 1;
    for (uint64_t seed = 1; looked < n; seed++) {
        struct case_of c;
        struct candidates found;
        struct hypar_error err;
        if (make_case(&c, seed) && c.graph->batch <= 8 &&
            hp_candidates_begin(&found, &c.arena, &c.problem, &err) == HYPAR_OK) {
            double need, limited;
            if (found.h.small && count_choices(&found) <= MOST_CHOICES) {
                double best_s = best_of_all(&found), found_s = best_found(&found, &need);
                if (fabs(found_s - best_s) > 1e-9 * best_s)
                    fail_msg("seed %llu: found %.12g s, best %.12g s", (unsigned long long)seed,
                             found_s, best_s);
                c.options.memory_bytes = need * (0.3 + 0.1 * (double)(seed % 7));
                hp_candidates_end(&found);
                assert_int_equal(hp_candidates_begin(&found, &c.arena, &c.problem, &err),
                                 HYPAR_OK);
                best_s = best_of_all(&found);
                found_s = best_found(&found, &limited);
                if ((best_s < INFINITY) != (found_s < INFINITY))
                    fail_msg("seed %llu, %g bytes: found %.12g s, best %.12g s",
                             (unsigned long long)seed, c.options.memory_bytes, found_s, best_s);
                if (best_s < INFINITY && found_s > best_s * (1 + 1e-9))
                    print_message("  seed %llu, %g bytes: found %.12g s, best %.12g s\n",
                                  (unsigned long long)seed, c.options.memory_bytes, found_s,
                                  best_s);
                none += !(best_s < INFINITY);
                short_of += best_s < INFINITY;
                worst = best_s < INFINITY ? fmax(worst, found_s / best_s) : worst;
                looked++;
            }
            hp_candidates_end(&found);
        }
        end_case(&c);
    }
    print_message("  %d graphs, all plans of each; %d short of memory (%d more: nothing fits), "
                  "at worst %.2f %% longer\n",
                  looked, short_of, none, 100 * (worst - 1));
    assert_true(worst <= 1 + 1e-9);
}

/* Models ---------------------------------------------------------------------------------- */

static double planned_s(const char *model, int64_t batch, const char *machine,
                        struct hypar_search_options how, double *closed_s)
{
    struct hypar_import_options import = { .batch = batch };
    struct hypar_sim_options simulation = { .framework.kernels = HYPAR_KERNELS_COMPILED };
    struct hypar_graph *graph;
    struct hypar_machine *on;
    struct hypar_found *found;
    struct hypar_error err;
    double step_s = INFINITY;
    how.simulation = &simulation;
    if (hypar_import(&graph, model, &import, &err) || hypar_machine_read(&on, machine, &err))
        fail_msg("%s", err.text);
    if (hypar_search(&found, graph, on, &how, &err) == HYPAR_OK) {
        const struct hypar_simulated *s = hypar_found_simulated(found);
        assert_non_null(s);
        if (s->step.fits)
            step_s = s->step.step_s;
        if (closed_s)
            *closed_s = hypar_found_prediction(found).step_s;
        hypar_found_free(found);
    }
    hypar_graph_free(graph);
    hypar_machine_free(on);
    return step_s;
}

static const struct {
    const char *model;
    int64_t batch;
    const char *machine;
    double memory_bytes;
} trained[] = {
    { "gpt2", 64, "cluster:1x8,device=a100", 0 },
    { "gpt2", 64, "cluster:2x4,device=a100,nics=1", 3e9 },
    { "bert-base", 64, "cluster:2x4,device=h100", 0 },
    { "vgg16", 64, "cluster:1x8,device=v100", 0 },
    { "resnet50", 64, "torus:2x4", 0 },
    { "alexnet", 128, "htree:8", 0 },
    { "gpt2", 64, "cluster:8x8,device=h100",
      1.75e9 }, /* parameters come late from 64 devices */
};

/* The closed form is near what is simulated, and no plan of 3d is faster. */
static void beside_threed(void **unused)
{
    (void)unused;
    for (size_t i = 0; i < sizeof trained / sizeof *trained; i++) {
        double closed_s;
        struct hypar_search_options how = { .planner = "hybrid",
                                            .precision = HYPAR_BF16,
                                            .optimizer = HYPAR_ADAM,
                                            .memory_bytes = trained[i].memory_bytes };
        double hybrid_s =
            planned_s(trained[i].model, trained[i].batch, trained[i].machine, how, &closed_s);
        how.planner = "3d";
        double threed_s =
            planned_s(trained[i].model, trained[i].batch, trained[i].machine, how, NULL);
        print_message("  %-10s %-32s %8.4g s, closed form %8.4g s; 3d %8.4g s\n",
                      trained[i].model, trained[i].machine, hybrid_s, closed_s, threed_s);
        assert_true(hybrid_s < INFINITY);
        assert_true(hybrid_s <= 1.01 * threed_s);
        assert_true(fabs(closed_s / hybrid_s - 1) < 0.15);
    }
}

/* Planners that choose among few plans are not ahead: where closed forms of pipelines are far
 * too low, as messages take others' links, and where links are slow, so that operators are best
 * divided over all devices. */
static void beside_simple_planners(void **unused)
{
    (void)unused;
    static const struct {
        const char *model, *machine, *other;
        int64_t batch;
        enum hypar_precision precision;
    } rows[] = {
        { "gpt2", "tests/data/ring-with-chords.json", "dp", 128, HYPAR_BF16 },
        { "vgg16", "ring:64,bandwidth=5GB/s", "owt", 256, HYPAR_FP16 },
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct hypar_search_options how = { .planner = "hybrid",
                                            .precision = rows[i].precision };
        double hybrid_s = planned_s(rows[i].model, rows[i].batch, rows[i].machine, how, NULL);
        how.planner = rows[i].other;
        assert_true(hybrid_s <=
                    planned_s(rows[i].model, rows[i].batch, rows[i].machine, how, NULL));
    }
}

/* An encoder and a decoder that share an embedding, every layer of the decoder reading what the
 * encoder wrote: planners of pipelines, which cut alone, are not ahead, but where hybrid takes
 * the simpler of equals. */
static void beside_pipelines(void **unused)
{
    (void)unused;
    static const char *const of_devices[] = { "full:2", "full:4" };
    static const char *const others[] = { "1f1b", "gpipe", "zb-h1", "zb-h2" };
    for (size_t m = 0; m < sizeof of_devices / sizeof *of_devices; m++) {
        struct hypar_search_options how = { .planner = "hybrid" };
        const char *model = "tests/data/encoder-decoder.json";
        double hybrid_s = planned_s(model, 8, of_devices[m], how, NULL);
        for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
            how.planner = others[i];
            double other_s = planned_s(model, 8, of_devices[m], how, NULL);
            assert_true(hybrid_s <= other_s || hp_are_equal(hybrid_s, other_s));
        }
    }
}

static struct hypar_found *plan_gpt2(const struct hypar_search_options *how,
                                     struct hypar_graph **graph, struct hypar_machine **machine)
{
    struct hypar_import_options import = { .batch = 32 };
    struct hypar_found *found;
    struct hypar_error err;
    if (hypar_import(graph, "gpt2", &import, &err) ||
        hypar_machine_read(machine, "cluster:1x8,device=a100", &err) ||
        hypar_search(&found, *graph, *machine, how, &err))
        fail_msg("%s", err.text);
    return found;
}

static void keeps_to_options(void **unused)
{
    (void)unused;
    struct hypar_search_options how = { .planner = "hybrid",
                                        .stages = 4,
                                        .micro_batches = 8,
                                        .max_tensor = 1,
                                        .recompute_given = true,
                                        .shard = HYPAR_SHARD_OPTIMIZER,
                                        .shard_given = true };
    struct hypar_graph *graph;
    struct hypar_machine *machine;
    struct hypar_found *found = plan_gpt2(&how, &graph, &machine);
    const struct hypar_plan *plan = hypar_found_plan(found);
    assert_int_equal(hypar_plan_stage_count(plan), 4);
    assert_int_equal(hypar_plan_schedule(plan).micro_batches, 8);
    for (int op = 0; op < graph->n_ops; op++) {
        assert_false(plan->ops[op].recompute);
        if (hp_op_has_params(graph, op))
            assert_int_equal(plan->ops[op].shard, HYPAR_SHARD_OPTIMIZER);
        for (int a = 0; a < graph->ops[op].nest->n_axes; a++)
            if (graph->ops[op].nest->axis[a].role != HYPAR_COPY)
                assert_true(a == hp_sample_axis(graph->ops[op].nest) ||
                            hp_degree(&plan->ops[op].split, a) == 1);
    }
    hypar_found_free(found);
    hypar_graph_free(graph);
    hypar_machine_free(machine);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(everything_is_best),
        cmocka_unit_test(bounds_are_below),
        cmocka_unit_test(like_places),
        cmocka_unit_test(splits_are_best),
        cmocka_unit_test(cuts_are_best),
        cmocka_unit_test(beside_threed),
        cmocka_unit_test(beside_pipelines),
        cmocka_unit_test(keeps_to_options),
        cmocka_unit_test(beside_simple_planners),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
