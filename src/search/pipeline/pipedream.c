/* PipeDream (Narayanan et al., SOSP 2019): cuts the graph into consecutive stages. Each stage
 * has replicas on devices of its own, which take whole minibatches in turn. The slowest stage
 * is as fast as possible. */
#include <math.h>

#include "program/pipedream.h"
#include "search/evaluate/room.h"
#include "search/pipeline/work.h"

/* Lists the stages of a solution: those of the lowest level, in order. */
struct flattening {
    const struct pipeline_problem *problem;
    struct arena *arena;
    bool vertical_sync;
    int span[PIPELINE_MAX_LEVELS]; /* devices of one component */
    struct planned_stage *stage;
    int n, capacity;
    int workers[PIPELINE_MAX_LEVELS]; /* of the stages that contain the current one */
    bool first[PIPELINE_MAX_LEVELS];  /* the containing stage is the first of its range */
};

/* The time of one minibatch in a stage: at each level the stage waits only for its own
 * weights. */
static double stage_s(const struct flattening *f, const struct planned_stage *stage)
{
    const struct pipeline_problem *p = f->problem;
    const double *time_s = p->states->cost.time_s;
    double seconds = hp_range_sum(time_s, stage->after, stage->last);
    for (int l = 0; l < p->machine.n_levels; l++) {
        double sync_s = hp_pipeline_sync_s(&p->rules, stage->about.weight_bytes, f->workers[l],
                                           p->machine.bytes_per_s[l]);
        if (f->first[l])
            sync_s /= hp_pipeline_below(&p->rules, &p->machine, l);
        seconds = hp_pipeline_stage_s(&p->rules, seconds, sync_s, f->workers[l]);
    }
    return seconds;
}

static void add_stage(struct flattening *f, const struct pipeline_stage *from, int *device,
                      int n_devices)
{
    struct planned_stage stage = {
        .after = from->after, .last = from->last, .n_devices = n_devices, .device = device
    };
    stage.about.replicas = n_devices;
    hp_pipeline_sizes(f->problem->states, &stage);
    stage.about.time_s = stage_s(f, &stage);
    f->stage = GROW(f->arena, struct planned_stage, f->stage, f->n, &f->capacity);
    f->stage[f->n++] = stage;
}

/* Add the stages at `level`, in every group of components whose first device is in base[]. */
static void flatten(struct flattening *f, const struct pipeline_stage *stage, int n_stages,
                    int level, const int *base, int n_bases)
{
    for (int p = 0, first = 0; p < n_stages; first += stage[p++].workers) {
        int n = n_bases * stage[p].workers;
        int *begin = NEW(f->arena, int, n);
        for (int i = 0; i < n; i++)
            begin[i] =
                base[i / stage[p].workers] + (first + i % stage[p].workers) * f->span[level];
        f->workers[level] = stage[p].workers;
        f->first[level] = p == 0;
        if (level == 0)
            add_stage(f, &stage[p], begin, n);
        else
            flatten(f, stage[p].inner, stage[p].n_inner, level - 1, begin, n);
    }
}

static void flatten_all(struct flattening *f, const struct pipeline *pipeline)
{
    const struct pipeline_machine *machine = &f->problem->machine;
    int base = 0;
    f->span[0] = 1;
    for (int l = 1; l < machine->n_levels; l++)
        f->span[l] = f->span[l - 1] * machine->workers[l - 1];
    flatten(f, pipeline->stage, pipeline->n_stages, machine->n_levels - 1, &base, 1);
}

/* Compute minibatches in flight, versions and memory of each stage. Returns the largest memory.
 * The paper's formula has as many versions as minibatches in flight; vertical sync keeps
 * more. */
static double count_memory(struct flattening *f)
{
    int *replicas = NEW(f->arena, int, f->n);
    double most = 0;
    for (int s = 0; s < f->n; s++)
        replicas[s] = f->stage[s].about.replicas;
    const struct pipedream pipe = { f->n, replicas };
    for (int s = 0; s < f->n; s++) {
        struct hypar_pipeline_stage *about = &f->stage[s].about;
        const double *fixed = f->problem->states->cost.fixed_bytes;
        about->in_flight = hp_pipedream_stage_in_flight(&pipe, s);
        about->delay = hp_pipedream_delay(&pipe, s, f->vertical_sync);
        about->versions = about->delay + 1;
        about->memory_bytes = hp_pipeline_memory(
            about->weight_bytes, about->activation_bytes,
            hp_range_sum(fixed, f->stage[s].after, f->stage[s].last), about->in_flight);
        about->memory_bytes += (about->versions - about->in_flight) * about->weight_bytes;
        most = fmax(most, about->memory_bytes);
    }
    return most;
}

/* The recurrence knows only the workers of its own level. If stages of other levels keep more
 * minibatches in flight, solve again with less memory. */
static enum hypar_status solve(struct flattening *f, struct pipeline_problem *p,
                               struct pipeline *pipeline, struct hypar_error *err)
{
    double limit = p->memory_bytes;
    for (int i = 0; i < 24; i++) {
        TRY(hp_pipeline_solve(f->arena, p, pipeline, err));
        f->n = 0;
        flatten_all(f, pipeline);
        if (count_memory(f) <= limit || !(limit > 0))
            return HYPAR_OK;
        p->memory_bytes *= 0.85;
    }
    return hp_about(err, HYPAR_CAUSE_MEMORY,
                    hp_fail(err, HYPAR_INFEASIBLE, "no pipeline fits into memory"));
}

static struct pipeline_problem make_problem(const struct problem *problem, struct arena *arena)
{
    const struct hypar_search_options *o = problem->options;
    struct pipeline_layers *layers = hp_pipeline_layers(arena, problem, true);
    struct pipeline_problem p = { .machine = hp_pipeline_machine(problem),
                                  .rules = { .paper = o->recurrence == HYPAR_RECURRENCE_PAPER,
                                             .free_transfers = o->free_transfers },
                                  .straight = o->straight,
                                  .use_fewer = o->use_fewer,
                                  .memory_bytes = o->memory_bytes > 0 ? hp_room(problem, 0) : 0,
                                  .stop = o->stop };
    p.states = hp_pipeline_states(arena, layers, &p.machine);
    return p;
}

static enum hypar_status plan_pipedream(const struct planner *self,
                                        const struct problem *problem,
                                        struct hypar_found *found, struct hypar_error *err)
{
    struct arena *arena = &found->arena;
    struct pipeline_problem p = make_problem(problem, arena);
    const struct pipeline_states *cost = &p.states->cost;
    struct flattening f = { .problem = &p,
                            .arena = arena,
                            .vertical_sync = problem->options->vertical_sync };
    struct hypar_pipeline_view *view = &found->pipeline;
    struct pipeline pipeline;
    enum hypar_status status = solve(&f, &p, &pipeline, err);
    if (status == HYPAR_INFEASIBLE && !hp_stopped(p.stop) && p.straight && !p.use_fewer &&
        !(p.memory_bytes > 0))
        return hp_fail(
            err, status,
            "%s: a straight pipeline of %d stages, where the model can be cut into "
            "at most %d%s, expected --use-fewer",
            self->info.name, hypar_machine_device_count(problem->machine), p.states->n,
            p.states->n_parted ? " (operators that share a parameter stay together)" : "");
    TRY(hp_in(err, status, "%s", self->info.name));

    view->bottleneck_s = pipeline.bottleneck_s;
    view->one_worker_s = cost->time_s[cost->n - 1];
    view->dp_bottleneck_s = hp_pipeline_data_parallel_s(
        &p.rules, &p.machine, view->one_worker_s, cost->weight_bytes[cost->n - 1]);
    view->noam = f.stage[0].about.in_flight;
    found->info.evaluated = pipeline.evaluated;
    found->info.chooses = true;
    /* all devices count as the slowest one, so another cut may be better on unequal devices */
    found->info.exact = p.states->all && hypar_machine_is_uniform(problem->machine);
    found->prediction.step_s = view->bottleneck_s;
    for (int s = 0; s < f.n; s++) {
        double work = hp_range_sum(cost->time_s, f.stage[s].after, f.stage[s].last);
        found->prediction.compute_s =
            fmax(found->prediction.compute_s, work / f.stage[s].about.replicas);
    }
    found->plan = hp_pipeline_plan(problem, p.states, f.stage, f.n, HYPAR_SHARE_MINIBATCH);
    hp_plan_set_schedule(found->plan, &(struct hypar_schedule){
                                          .kind = HYPAR_SCHEDULE_PIPEDREAM,
                                          .micro_batches = 1,
                                          .stash = true,
                                          .vertical_sync = problem->options->vertical_sync });
    hp_pipeline_keep(problem, found, p.states, f.stage, f.n);
    return HYPAR_OK;
}

const struct planner hp_planner_pipedream = {
    .info = { "pipedream",
              "replicated stages of a pipeline, minibatches in turn, delayed updates",
              .source = "PipeDream, SOSP 2019",
              .exact = "no other cut has a faster slowest stage" },
    .plan = plan_pipedream,
    .schedule = HYPAR_SCHEDULE_PIPEDREAM,
    .takes = TAKES_RECURRENCE | TAKES_STRAIGHT | TAKES_USE_FEWER | TAKES_FREE_TRANSFERS |
             TAKES_VERTICAL_SYNC | TAKES_MINIBATCHES,
    .not_in_auto = true,
};
