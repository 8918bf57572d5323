/* Makes a plan from measured choices: finds the cut states, searches for stages, and puts them
 * on consecutive devices. */
#include <math.h>

#include "search/choices/choices.h"
#include "search/choices/solve.h"
#include "search/evaluate/room.h"
#include "search/limits.h"
#include "search/pipeline/work.h"

/* Options ---------------------------------------------------------------------------------- */

static enum hypar_status check_asked(const struct planner *self, const struct problem *problem,
                                     struct hypar_error *err)
{
    const struct hypar_search_options *o = problem->options;
    const struct hypar_graph *g = problem->graph;
    const char *name = self->info.name;
    for (int op = 0; op < g->n_ops; op++)
        if (!g->ops[op].choices)
            return hp_fail(err, HYPAR_INFEASIBLE,
                           "%s: '%s' has no choices, expected all operators to have some", name,
                           g->ops[op].name);
    if (o->micro_batches && o->micro_batches != g->batch)
        return hp_fail(err, HYPAR_INFEASIBLE,
                       "%s: %lld micro-batches, expected %lld: operators were measured for "
                       "one sample each",
                       name, (long long)o->micro_batches, (long long)g->batch);
    if (g->batch > HP_MAX_MICRO_BATCHES)
        return hp_fail(
            err, HYPAR_INFEASIBLE,
            "%s: a batch of %lld samples, expected at most %d: each is a micro-batch", name,
            (long long)g->batch, HP_MAX_MICRO_BATCHES);
    if (o->layout.schedule && o->layout.schedule != HYPAR_SCHEDULE_1F1B)
        return hp_fail(err, HYPAR_INFEASIBLE,
                       "%s: operators were measured whole, forward and backward, expected "
                       "schedule 1f1b",
                       name);
    if (o->recompute_given && o->recompute == HYPAR_RECOMPUTE_SELECTIVE)
        return hp_fail(err, HYPAR_INFEASIBLE,
                       "%s: operators were measured with full recomputation or none", name);
    if (o->n_fix || o->layout.sequence_parallel)
        return hp_fail(err, HYPAR_INFEASIBLE,
                       "%s: %s, but operators have the degrees that were measured", name,
                       o->n_fix ? "fix" : "sequence_parallel");
    if (o->shard_given && o->shard)
        return hp_fail(err, HYPAR_INFEASIBLE,
                       "%s: operators were not measured with parameters that are divided",
                       name);
    return HYPAR_OK;
}

static struct choice_bounds bounds_of(const struct problem *problem)
{
    const struct hypar_search_options *o = problem->options;
    return (struct choice_bounds){
        .max_degree = o->max_tensor,
        .none = o->recompute_given && o->recompute == HYPAR_RECOMPUTE_NONE,
        .full = o->recompute_given && o->recompute == HYPAR_RECOMPUTE_FULL,
    };
}

/* The least bandwidth between two devices. */
static double least_bytes_per_s(const struct problem *problem)
{
    struct pipeline_machine machine = hp_pipeline_machine(problem);
    double least = INFINITY;
    for (int l = 0; l < machine.n_levels; l++)
        least = fmin(least, machine.bytes_per_s[l]);
    return least;
}

/* The states at which the graph may be cut: in any order that its edges allow, if there are few
 * enough, or (`chain`) in the order of its operators. */
static struct cut_states *find_states(struct arena *arena, const struct problem *problem,
                                      const struct choice_problem *p, bool chain)
{
    /* a stage of prefixes is estimated faster than other stages */
    double most = sqrt(64.0 * HP_MOST_ESTIMATES / fmax(1, hp_choice_shapes(p)));
    int max_prefixes = most < HP_SOME ? HP_SOME : (int)most;
    struct pipeline_layers *layers = hp_pipeline_layers(arena, problem, false);
    for (int i = 0; i < layers->n; i++) {
        layers->forward_s[i] = p->model->work_s[i];
        layers->backward_s[i] = 0;
    }
    layers->every = true;
    return hp_cut_states(arena, layers, chain ? 0 : 2 * HP_MANY, max_prefixes);
}

/* Search in the order of the graph's operators first, which is fast. Then search all orders for
 * a faster pipeline. Returns the states that *out refers to. */
static const struct cut_states *solve(struct arena *arena, const struct problem *problem,
                                      struct choice_problem *p, struct chosen *out)
{
    struct chosen faster;
    struct cut_states *chain = find_states(arena, problem, p, true),
                      *all = find_states(arena, problem, p, false);
    p->states = chain;
    p->known_s = INFINITY;
    hp_choices_solve(arena, p, out);
    out->exact = false;
    if (!all->all || hp_stopped(p->stop))
        return chain;
    p->states = all;
    p->known_s = out->n_stages ? out->load_s : INFINITY;
    p->max_evaluated = 8 * HP_MOST_ESTIMATES; /* measured: a look-up each */
    hp_choices_solve(arena, p, &faster);
    faster.evaluated += out->evaluated;
    if (!faster.n_stages) { /* no faster pipeline: keep the first result */
        out->exact = faster.exact;
        out->evaluated = faster.evaluated;
        return chain;
    }
    *out = faster;
    return all;
}

/* The plan --------------------------------------------------------------------------------- */

/* The choice of operator `op` in a stage. */
static const struct op_choice *chosen_way(const struct hypar_graph *g, const struct chosen *c,
                                          const struct chosen_stage *stage, int op)
{
    const struct op_choices *choices = g->ops[op].choices;
    for (int i = 0; i < choices->n; i++)
        if (choices->choice[i].degree == stage->degree &&
            choices->choice[i].recompute == c->again[op])
            return &choices->choice[i];
    return NULL;
}

/* Describe a stage under the chosen ways of its operators. Returns the stage's seconds for a
 * sample. */
static double describe(const struct problem *problem, const struct cut_states *states,
                       const struct chosen *c, int s, struct hypar_pipeline_stage *out)
{
    const struct chosen_stage *stage = &c->stage[s];
    *out = (struct hypar_pipeline_stage){ .replicas = stage->replicas,
                                          .tensor = stage->degree,
                                          .time_s = stage->load_s,
                                          .in_flight = stage->in_flight,
                                          .versions = 1 };
    double seconds = 0;
    for (int op = 0; op < problem->graph->n_ops; op++) {
        if (!hp_state_has(states, stage->last, op) || hp_state_has(states, stage->after, op))
            continue;
        const struct op_choice *way = chosen_way(problem->graph, c, stage, op);
        out->weight_bytes += way->parameter_bytes;
        out->activation_bytes += way->stash_bytes;
        out->memory_bytes += stage->in_flight * way->stash_bytes + way->fixed_bytes;
        out->recomputed += way->recompute;
        seconds += way->seconds;
    }
    return seconds;
}

/* Make the stages. *busiest_s becomes the largest computation time of a device per sample of
 * the batch. */
static struct planned_stage *write_stages(const struct problem *problem,
                                          const struct cut_states *states,
                                          const struct chosen *c, struct arena *arena,
                                          double *busiest_s)
{
    struct planned_stage *stage = NEW(arena, struct planned_stage, c->n_stages);
    int device = 0;
    for (int s = 0; s < c->n_stages; s++) {
        int n = c->stage[s].degree * c->stage[s].replicas;
        stage[s] = (struct planned_stage){ .after = c->stage[s].after,
                                           .last = c->stage[s].last,
                                           .n_devices = n,
                                           .device = NEW(arena, int, n) };
        for (int i = 0; i < n; i++)
            stage[s].device[i] = device++;
        double seconds = describe(problem, states, c, s, &stage[s].about);
        *busiest_s = fmax(*busiest_s, seconds / c->stage[s].replicas);
    }
    return stage;
}

/* Put each operator on all devices of each replica of its stage. How the measured operator
 * divides its work is not known. */
static struct hypar_plan *make_plan(const struct problem *problem,
                                    const struct cut_states *states, const struct chosen *c,
                                    const struct planned_stage *stage)
{
    struct hypar_plan *plan =
        hp_pipeline_plan(problem, states, stage, c->n_stages, HYPAR_SHARE_MINIBATCH);
    hp_plan_set_schedule(plan,
                         &(struct hypar_schedule){ .kind = HYPAR_SCHEDULE_1F1B,
                                                   .micro_batches = problem->graph->batch });
    for (int op = 0; op < problem->graph->n_ops; op++) {
        const struct nest *nest = problem->graph->ops[op].nest;
        struct split split = { 0 };
        split.degree[nest->n_axes - 1] = stage[plan->ops[op].stage].about.tensor;
        hp_plan_set(plan, op, &split, NULL);
        plan->ops[op].recompute = c->again[op];
    }
    return plan;
}

static void keep(const struct problem *problem, const struct cut_states *states,
                 const struct chosen *c, struct hypar_found *found)
{
    double batch = (double)problem->graph->batch, busiest_s = 0;
    struct planned_stage *stage = write_stages(problem, states, c, &found->arena, &busiest_s);
    struct hypar_pipeline_view *view = &found->pipeline;
    found->plan = make_plan(problem, states, c, stage);
    view->bottleneck_s = c->load_s;
    view->one_worker_s = states->cost.time_s[states->n - 1];
    view->noam = stage[0].about.in_flight;
    view->per_sample = true;
    found->info.evaluated = c->evaluated;
    found->info.chooses = true;
    found->info.exact = c->exact;
    found->info.lower_bound_s = found->info.exact ? c->load_s * batch : 0;
    found->prediction.step_s = c->load_s * batch;
    found->prediction.compute_s = busiest_s * batch;
    hp_pipeline_keep(problem, found, states, stage, c->n_stages);
    view->all_states = c->exact || states->all;
    found->prediction.state_bytes = view->sync_bytes = 0;
    for (int s = 0; s < c->n_stages; s++) {
        const struct hypar_pipeline_stage *about = &stage[s].about;
        found->prediction.state_bytes =
            fmax(found->prediction.state_bytes,
                 about->memory_bytes - about->in_flight * about->activation_bytes);
        view->sync_bytes += 2.0 * (about->replicas - 1) * about->tensor * about->weight_bytes;
    }
}

enum hypar_status hp_plan_choices(const struct planner *self, const struct problem *problem,
                                  struct hypar_found *found, struct hypar_error *err)
{
    const struct hypar_search_options *o = problem->options;
    struct choice_bounds bounds = bounds_of(problem);
    struct chosen chosen;
    TRY(check_asked(self, problem, err));
    struct choice_model *model = hp_choice_model(&found->arena, problem->graph, &bounds);
    model->bytes_per_s = least_bytes_per_s(problem);
    model->memory_bytes = hp_least_room(problem);
    struct choice_problem p = { .model = model,
                                .n_devices = hypar_machine_device_count(problem->machine),
                                .samples = problem->graph->batch,
                                .min_stages = (int)o->stages,
                                .max_stages = o->stages ? (int)o->stages : o->max_pipeline,
                                .stop = o->stop };
    const struct cut_states *states = solve(&found->arena, problem, &p, &chosen);
    if (chosen.n_stages) {
        keep(problem, states, &chosen, found);
        return HYPAR_OK;
    }
    TRY(hp_in(err, hp_check_stop(o->stop, err), "%s", self->info.name));
    char room[32], stages[40] = "";
    if (p.max_stages)
        snprintf(stages, sizeof stages, " of %s%d stages", o->stages ? "" : "at most ",
                 p.max_stages);
    hp_fail(err, HYPAR_INFEASIBLE, "%s: no pipeline%s fits on %d devices with %s of memory",
            self->info.name, stages, p.n_devices,
            hypar_format_quantity(room, model->memory_bytes, HYPAR_UNIT_BYTES));
    return hp_about(err, HYPAR_CAUSE_MEMORY, HYPAR_INFEASIBLE);
}
