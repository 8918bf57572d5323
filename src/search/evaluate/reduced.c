/* A step from one device of each kind and the first micro-batches. */
#include "search/evaluate/reduced.h"

#include <math.h>

#include "base/stop.h"
#include "machine/machine.h"
#include "plan/schedules.h"
#include "search/evaluate/room.h"
#include "search/limits.h"
#include "sim/sim.h"
#include "sim/subset.h"

enum { N_POINTS = 3 };

/* Micro-batches at which a step is simulated, ascending; one if there are not more of them. */
struct points {
    int n, at[N_POINTS];
};

/* The time of a step, as a function of the micro-batches of one body. */
struct lengths {
    double last_s;   /* with as many micro-batches as the last point has */
    double each_s;   /* what another micro-batch adds: between the last two points, */
    double before_s; /* and between the points before */
};

struct reducing {
    const struct hypar_plan *plan;
    struct hypar_program *program;
    struct timing *timing;
    struct arena arena;
    struct points points;
    const volatile sig_atomic_t *stop; /* NULL: nobody can */
    bool *device;                      /* those that were simulated, in any of its bodies */
    struct reduced_step *out;
};

/* A pipeline is full with as many micro-batches as it has stages, or as the first stage has in
 * flight (zb-h2); interleaved ones go by whole rounds. */
static struct points find_points(const struct hypar_plan *plan)
{
    const struct schedule_row *row = hp_schedule_of(plan);
    struct pipeline_size size = hp_pipeline_size(plan);
    int64_t stages = (int64_t)size.groups * size.chunks, m = size.n_micro;
    int64_t ahead = row->in_flight ? (int64_t)row->in_flight(&size, 0) : 0;
    int64_t at[N_POINTS] = { stages + 1, (3 * stages + 3) / 2, 2 * stages + 2 };
    for (int i = 0; i < N_POINTS; i++)
        at[i] = row->rounds ? (i + 2) * size.groups : ahead > stages ? ahead + 1 + i : at[i];
    if (m <= at[N_POINTS - 1] || row->listed || hp_plan_instances(plan) <= HP_MOMENT_TASKS / 2)
        return (struct points){ 1, { (int)m } };
    return (struct points){ N_POINTS, { (int)at[0], (int)at[1], (int)at[2] } };
}

static enum hypar_status check_stop(const struct reducing *r, struct hypar_error *err)
{
    return hp_stopped(r->stop) ? hp_fail(err, HYPAR_INFEASIBLE, "interrupted") : HYPAR_OK;
}

/* The first `n_micro` of the micro-batches, or all of them. */
static enum hypar_status simulate_part(struct reducing *r, const struct subset *subset,
                                       int n_micro, double *step_s, struct hypar_error *err)
{
    struct iteration few = *r->program->iteration;
    struct arena arena = { 0 };
    int period = n_micro;
    const struct timeline_part *part = &subset->part;
    few.n_micro = n_micro;
    few.n_bodies = part->n_bodies;
    few.n_larger = few.n_bodies == 1 ? n_micro : few.n_larger;
    few.period = &period;
    struct schedule schedule = hp_make_schedule(r->plan, &few, &arena);
    ticks length =
        hp_timeline_run_part(part, &few, &schedule, r->timing->costs->n_devices, r->stop);
    for (int b = 0; b < part->n_bodies; b++)
        r->out->instances +=
            (int64_t)hp_body_times(&few, b) * (part->first[b + 1] - part->first[b]);
    r->out->instances += part->first[part->n_bodies + 1] - part->first[part->n_bodies];
    if (n_micro > r->out->micro_batches)
        r->out->micro_batches = n_micro;
    hp_arena_free(&arena);
    *step_s = hp_seconds(length);
    TRY(check_stop(r, err));
    return hp_check_length(length, err);
}

static void note_subset(struct reducing *r, const struct subset *subset)
{
    struct reduced_step *out = r->out;
    for (int d = 0; d < r->timing->costs->n_devices; d++)
        r->device[d] |= subset->device[d];
    if (subset->n_devices > out->devices)
        out->devices = subset->n_devices;
    out->all_devices = subset->used_devices;
    /* in a full pipeline devices wait at the same time: their waits count once */
    double left_out_s = subset->body_s * (r->plan->n_stages + 1) + subset->tail_s;
    out->error_s = fmax(out->error_s, left_out_s);
}

static enum hypar_status find_lengths(struct reducing *r, int body, struct lengths *out,
                                      struct hypar_error *err)
{
    double step_s[N_POINTS];
    const struct points *p = &r->points;
    struct arena_mark mark = hp_arena_mark(&r->arena);
    struct subset subset = hp_find_subset(r->timing, r->program, body, &r->arena);
    TRY(check_stop(r, err));
    for (int i = 0; i < p->n; i++)
        TRY(simulate_part(r, &subset, p->at[i], &step_s[i], err));
    note_subset(r, &subset);
    hp_arena_release(&r->arena, mark);
    *out = (struct lengths){ .last_s = step_s[p->n - 1] };
    if (p->n == 1)
        return HYPAR_OK;
    out->each_s = (step_s[2] - step_s[1]) / (p->at[2] - p->at[1]);
    out->before_s = (step_s[1] - step_s[0]) / (p->at[1] - p->at[0]);
    return HYPAR_OK;
}

/* If micro-batches have two sizes, those of each size are simulated by themselves. */
static enum hypar_status extrapolate(struct reducing *r, struct hypar_error *err)
{
    const struct iteration *all = r->program->iteration;
    struct lengths larger, smaller = { 0 };
    bool whole = r->points.n == 1, both = all->n_bodies == 2 && !whole;
    TRY(find_lengths(r, whole ? -1 : 0, &larger, err));
    if (both)
        TRY(find_lengths(r, 1, &smaller, err));
    r->out->step_s = larger.last_s;
    if (whole)
        return HYPAR_OK;
    double more = all->n_larger - r->points.at[r->points.n - 1];
    double less = all->n_micro - all->n_larger;
    r->out->step_s += more * larger.each_s + less * smaller.each_s;
    r->out->error_s += fabs(more) * fabs(larger.each_s - larger.before_s) +
                       less * fabs(smaller.each_s - smaller.before_s);
    return HYPAR_OK;
}

/* Devices with the same tasks hold the same bytes, but may have memories of different sizes:
 * then all of them are checked. */
static void note_memory(struct reducing *r, const struct problem *problem)
{
    const bool *devices = r->device;
    int n = hypar_machine_device_count(problem->machine);
    for (int d = 1; d < n && devices; d++)
        if (hp_room(problem, d) != hp_room(problem, 0))
            devices = NULL;
    struct memory_model *model =
        hp_memory(r->program, &(struct memory_options){ .devices = devices, .stop = r->stop });
    struct fullest *f = &r->out->memory;
    *f = (struct fullest){ .device = -1 };
    for (int d = 0; d < model->n_devices; d++)
        if (!devices || devices[d])
            hp_note_device(f, problem, d, &model->device[d]);
    r->out->fullest = model->device[f->device];
    r->out->fullest.limit =
        hp_plan_device_memory(r->plan, f->device, problem->options->memory_bytes);
    hp_memory_free(model);
}

static void count_all(struct reducing *r)
{
    const struct hypar_program *p = r->program;
    for (int b = 0; b < p->n_bodies; b++)
        r->out->all_instances +=
            (int64_t)hp_body_times(p->iteration, b) * (p->first[b + 1] - p->first[b]);
    r->out->all_instances += p->first[p->n_bodies + 1] - p->first[p->n_bodies];
}

/* Simulate all devices and micro-batches of a plan that cannot be reduced. */
static enum hypar_status simulate_whole(struct reducing *r, const struct problem *problem,
                                        const struct hypar_sim_options *how,
                                        struct hypar_error *err)
{
    struct hypar_sim *sim;
    TRY(hypar_simulate(&sim, r->plan, how, err));
    struct hypar_sim_summary s = hypar_sim_summary(sim);
    r->program = sim->program;
    note_memory(r, problem);
    r->out->step_s = s.step_s;
    r->out->totals = (struct step_totals){ s.comm_bytes, s.link_bytes, s.energy };
    r->out->instances = r->out->all_instances = s.tasks;
    r->out->devices = r->out->all_devices = s.n_devices;
    r->out->micro_batches = r->program->iteration->n_micro;
    hypar_sim_free(sim);
    return HYPAR_OK;
}

/* A program that is lowered, timed. */
static enum hypar_status simulate_lowered(struct reducing *r, const struct problem *problem,
                                          const struct hypar_sim_options *how,
                                          struct hypar_error *err)
{
    double launch_s;
    TRY(hp_check_messages(r->program->lowering, how, &r->out->crossed, err));
    TRY(check_stop(r, err));
    r->timing = hp_timing_new(r->program->lowering, r->program->blocks, how, NULL);
    r->device = NEW(&r->arena, bool, r->timing->costs->n_devices);
    count_all(r);
    TRY(check_stop(r, err));
    TRY(extrapolate(r, err));
    note_memory(r, problem);
    TRY(check_stop(r, err));
    r->out->totals = hp_step_totals(r->timing, NULL);
    hp_count_kernels(r->timing, &launch_s);
    r->out->step_s = fmax(r->out->step_s, launch_s);
    hp_finish_energy(&r->out->totals.energy, r->plan->machine, r->out->step_s);
    return HYPAR_OK;
}

enum hypar_status hp_simulate_reduced(const struct problem *problem,
                                      const struct hypar_plan *plan,
                                      const volatile sig_atomic_t *stop,
                                      struct reduced_step *out, struct hypar_error *err)
{
    struct reducing r = { .plan = plan, .points = find_points(plan), .stop = stop, .out = out };
    struct hypar_sim_options planned = hypar_as_planned(plan, NULL);
    const struct hypar_sim_options *how =
        problem->options->simulation ? problem->options->simulation : &planned;
    *out = (struct reduced_step){ 0 };
    TRY(hp_check_sim_options(how, err));
    if (how->expand_collectives || hp_is_delayed(plan))
        return simulate_whole(&r, problem, how, err);
    TRY(hypar_lower(&r.program, plan, &how->lower, err));
    enum hypar_status status = simulate_lowered(&r, problem, how, err);
    hp_timing_free(r.timing);
    hypar_program_free(r.program);
    hp_arena_free(&r.arena);
    return status;
}
