/* Simulating a plan's step and summing it up: step time, devices, links, energy, memory, steady
 * state of PipeDream. */
#include "sim/sim.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "cost/calibration.h"
#include "machine/machine.h"
#include "sim/step_totals.h"
#include "sim/tally.h"

/* Sums made during the simulation. */
struct counting {
    struct hypar_sim *sim;
    struct arena arena;
    const struct task_graph *graph;
    struct tally tally;
    int64_t compute, comms, update;
    ticks *begins; /* by stage and minibatch: when the stage begins with it */
};

static void cover(struct counting *c, int device, const struct served *s)
{
    hp_cover(&c->tally.comm[device], &c->arena, s->now, s->times.start, s->times.end);
    hp_cover(&c->tally.either[device], &c->arena, s->now, s->times.start, s->times.end);
}

/* Count a comm's task for the devices that take part. */
static void cover_devices(struct counting *c, const struct block *block, int local,
                          const struct served *served)
{
    struct timing *timing = c->sim->timing;
    const struct pattern *p = hp_exchange_pattern(timing->lowering, block->body, block->index);
    const struct pattern_cost *cost = hp_exchange_cost(timing, block->body, block->index);
    int k = hp_comm_at(cost, p->n_comms, local);
    const struct message *m = hp_message_at(cost, k, local);
    if (m) {
        cover(c, m->from, served);
        cover(c, m->to, served);
        return;
    }
    for (int i = 0; i < p->comm[k].n_devices; i++)
        cover(c, p->comm[k].device[i], served);
}

static ticks *begins_of(const struct counting *c, int stage)
{
    return c->begins + (size_t)stage * (size_t)c->sim->timing->lowering->iteration.n_micro;
}

/* A stage begins with a minibatch when the first of its tasks starts. */
static void note_begin(struct counting *c, int op_pass, int micro, ticks start)
{
    const struct lowering *s = c->sim->timing->lowering;
    const struct op_pass *what = &s->training.op_pass[op_pass];
    ticks *begin = &begins_of(c, c->sim->program->schedule->stage_of_op[what->op])[micro];
    if (!what->backward && (*begin < 0 || start < *begin))
        *begin = start;
}

static void count_task(void *who, int task, int micro, const struct served *served)
{
    struct counting *c = who;
    struct hypar_sim *sim = c->sim;
    const struct timing *timing = sim->timing;
    int number = sim->block_of[task];
    struct block block = hp_block_at(timing->blocks, number);
    const struct sim_task *what = &c->graph->task[task];
    if (block.kind != BLOCK_EXCHANGE && block.kind != BLOCK_TAIL_EXCHANGE) {
        c->tally.busy[what->queue] = hp_later(c->tally.busy[what->queue], what->duration);
        hp_cover(&c->tally.either[what->queue], &c->arena, served->now, served->times.start,
                 served->times.end);
        c->compute += block.kind == BLOCK_COMPUTE;
        c->update += block.kind != BLOCK_COMPUTE;
        if (block.kind == BLOCK_COMPUTE && c->begins)
            note_begin(c, block.index, micro, served->times.start);
        return;
    }
    c->comms++;
    for (int i = 0; i < what->n_holds; i++)
        if (what->hold[i].queue >= timing->costs->n_devices) {
            ticks *busy = &c->tally.busy[what->hold[i].queue];
            *busy = hp_later(*busy, what->hold[i].busy);
        }
    cover_devices(c, &block, task - timing->blocks->first[number], served);
}

/* Summary ------------------------------------------------------------------------------ */

/* Opaque operators: their number, and their share of the computing time. */
static void count_opaque(struct hypar_sim *sim)
{
    const struct lowering *s = sim->timing->lowering;
    const struct training_graph *k = &s->training;
    double opaque_s = 0, busy_s = 0;
    for (int op = 0; op < s->graph->n_ops; op++) {
        struct op_measure measure;
        bool opaque = (hp_op[s->graph->ops[op].kind].flags & ROW_OPAQUE) != 0;
        sim->summary.opaque += opaque;
        sim->summary.opaque_measured += opaque && hp_op_measured(s->graph, op, &measure);
    }
    for (int b = 0; sim->summary.opaque && b < s->n_bodies; b++)
        for (int i = 0; i < k->n_op_passes; i++) {
            const struct op *op = &s->graph->ops[k->op_pass[i].op];
            const struct op_parts *l = s->body[b].parts[k->op_pass[i].op];
            double times = (double)hp_body_times(&s->iteration, b) / s->iteration.n_batches;
            if (!(hp_op[op->kind].flags & ROW_OPAQUE) || k->op_pass[i].resend)
                continue;
            for (int part = 0; part < l->n_parts; part++) {
                if (l->empty[part])
                    continue;
                struct kernel_place at = hp_costs_place(sim->timing->costs, l->device[part]);
                opaque_s += times * hp_op_seconds(l->nest, (uint32_t)1 << k->op_pass[i].pass,
                                                  l->range + part * l->nest->n_axes,
                                                  hp_present(op), &at);
            }
        }
    for (int d = 0; d < sim->summary.n_devices; d++)
        busy_s += sim->device[d].busy_s;
    if (busy_s > 0)
        sim->summary.opaque_share = fmin(1, opaque_s / busy_s);
}

/* The positions of a sample in a sequence model: from the first input of ids; else 0. */
static double positions(const struct hypar_graph *g)
{
    for (int t = 0; t < g->n_tensors; t++)
        if (g->tensors[t].kind == TENSOR_INPUT && g->tensors[t].index &&
            g->tensors[t].shape.n_dims >= 2)
            return (double)hp_shape_elements(&g->tensors[t].shape) / (double)g->batch;
    return 0;
}

/* The number of minibatches, a multiple of `period`, after which a stage repeats itself until
 * the end of the window: the last minibatches begin later than those before by a constant. A
 * start does not depend on whether another minibatch follows, so the end of the window does not
 * disturb this. 0: `n` minibatches show no repetition. */
static int period(const ticks *begins, int last, int n, int period)
{
    for (int p = period; 2 * p <= n; p += period) {
        ticks later = begins[last] - begins[last - p];
        bool same = true;
        for (int i = 1; i <= p && same; i++) {
            ticks other = begins[last - i] - begins[last - i - p];
            same = llabs(other - later) <= later / 1000000;
        }
        if (same)
            return p;
    }
    return 0;
}

/* Seconds for one minibatch, between corresponding points of the last two periods of a stage.
 * If it never repeats itself: over the later half of the window, if there is one (*steady
 * tells). */
static double stage_s(const struct hypar_sim *sim, const ticks *begins, int full, bool *steady)
{
    const struct iteration *r = sim->program->iteration;
    int last = r->n_micro - 1, window = period(begins, last, last - full, r->n_bodies);
    *steady = window > 0;
    if (!*steady)
        window = (last - full) / (2 * r->n_bodies) * r->n_bodies;
    return window > 0 ? hp_seconds(begins[last] - begins[last - window]) / window
                      : sim->pipeline.window_s / r->n_micro;
}

/* The input stage waits for errors, so it is as fast as the other stages allow. If no errors
 * come back, because the loss does not depend on this stage or on a later one, a slower stage
 * falls behind. The step time is then that of the slower stage, if it exceeds the tolerance of
 * period(). */
static double steady_s(struct hypar_sim *sim, const struct counting *c, ticks length)
{
    const struct iteration *r = sim->program->iteration;
    struct hypar_sim_pipeline *p = &sim->pipeline;
    p->minibatches = r->n_micro;
    p->noam = hp_pipedream_stage_in_flight(&r->pipe, 0);
    p->window_s = hp_seconds(length);
    p->n_stages = sim->program->schedule->n_stages;
    int full = p->noam * r->pipe.replicas[0], last = r->n_micro - 1;
    p->startup_s = full <= last ? hp_seconds(c->begins[full]) : p->window_s;
    double longest_s = stage_s(sim, c->begins, full, &p->steady);
    for (int s = 1; s < p->n_stages; s++) {
        bool steady;
        double own_s = stage_s(sim, begins_of(c, s), full, &steady);
        if (steady && own_s > longest_s * (1 + 2e-6)) {
            longest_s = own_s;
            p->steady = true;
        }
    }
    return longest_s;
}

static void summarise(struct hypar_sim *sim, const struct counting *c, ticks length)
{
    const struct hypar_plan *plan = sim->program->plan;
    const struct hypar_graph *g = plan->graph;
    struct hypar_sim_summary *s = &sim->summary;
    double peak = 0;
    s->forward = sim->program->iteration->forward;
    s->step_s =
        sim->program->iteration->delayed ? steady_s(sim, c, length) : hp_seconds(length);
    s->kernels = hp_count_kernels(sim->timing, &s->launch_s);
    s->step_s = fmax(s->step_s, s->launch_s);
    s->compute = c->compute;
    s->comm = c->comms;
    s->update = c->update;
    s->tasks = c->compute + c->comms + c->update;
    hp_tally_end(&c->tally, length, sim->program->iteration->n_batches, sim);
    for (int d = 0; d < s->n_devices; d++)
        peak += hp_peak_op_per_s(hypar_machine_device(plan->machine, d), plan->precision);
    if (s->step_s > 0) {
        s->samples_per_s = (double)g->batch / s->step_s;
        s->tokens_per_s = positions(g) * s->samples_per_s;
        double flops =
            s->forward ? hypar_graph_flops_per_sample(g) : hp_step_flops_per_sample(g);
        s->mfu = flops * s->samples_per_s / peak;
    }
}

static void count_memory(struct hypar_sim *sim)
{
    struct hypar_sim_summary *s = &sim->summary;
    struct hypar_memory fullest;
    sim->memory = hp_memory(sim->program, NULL);
    s->fullest_device = hypar_fullest_memory(sim->memory->device, s->n_devices, 0, &fullest);
    s->peak_memory_bytes = fullest.peak;
    s->fits = fullest.peak <= fullest.limit;
    for (int d = 0; d < s->n_devices; d++)
        sim->device[d].memory = sim->memory->device[d];
}

static void begin_links(struct hypar_sim *sim)
{
    const struct hypar_machine *machine = sim->program->plan->machine;
    struct hypar_sim_summary *s = &sim->summary;
    s->n_devices = hypar_machine_device_count(machine);
    s->n_links = 2 * hypar_machine_link_count(machine);
    sim->device = NEW(&sim->arena, struct hypar_sim_device, s->n_devices);
    sim->link = NEW(&sim->arena, struct hypar_sim_link, s->n_links);
    for (int l = 0; l < s->n_links; l++) {
        struct hypar_link link = hypar_machine_link(machine, l / 2);
        sim->link[l].from = l % 2 ? link.to : link.from;
        sim->link[l].to = l % 2 ? link.from : link.to;
    }
}

static void begin_counting(void *who, const struct task_graph *graph)
{
    struct counting *c = who;
    struct hypar_sim *sim = c->sim;
    const struct blocks *blocks = sim->timing->blocks;
    sim->block_of = NEW(&sim->arena, int, graph->n_tasks + 1);
    for (int i = 0; i < blocks->n_blocks; i++)
        for (int t = 0; t < blocks->size[i]; t++)
            sim->block_of[blocks->first[i] + t] = i;
    c->graph = graph;
    const struct iteration *r = &blocks->lowering->iteration;
    if (r->delayed) {
        size_t n = (size_t)r->pipe.n_stages * (size_t)r->n_micro;
        c->begins = NEW(&c->arena, ticks, n);
        memset(c->begins, -1, n * sizeof *c->begins);
    }
    hp_tally_begin(&c->tally, &c->arena, graph->n_queues, sim->summary.n_devices);
}

/* The mean over devices. The bubble is as long as what devices compute makes it. */
static struct less_known less_known(const struct hypar_sim *sim, bool measured)
{
    const struct hypar_sim_summary *s = &sim->summary;
    const struct hypar_plan *plan = sim->program->plan;
    double exposed_s = 0;
    for (int d = 0; d < s->n_devices; d++)
        exposed_s += s->step_s - sim->device[d].busy_s - sim->device[d].waiting_s;
    if (!(s->step_s > 0))
        return (struct less_known){ 0 };
    double messages = fmax(0, exposed_s / s->n_devices / s->step_s);
    double convolutions =
        measured ? 0 : hp_convolution_share(plan->graph, plan->machine, plan->precision);
    return (struct less_known){ .messages = messages,
                                .launches = s->launch_s / s->step_s,
                                .convolutions = convolutions * (1 - messages) };
}

/* The interval of the measured step, from the errors of steps of such devices. */
static struct hypar_interval interval_of(const struct hypar_sim *sim)
{
    const struct hypar_sim_summary *s = &sim->summary;
    bool profiled = s->measured.asked && s->measured.measured_share > 0.5;
    struct hypar_calibration c =
        hp_calibration(sim->program->plan->machine, &s->how.framework, profiled);
    struct less_known parts = less_known(sim, c.rows > 0);
    return hp_interval(&c, s->step_s, &parts);
}

static enum hypar_status run(struct hypar_sim *sim, bool timeline, struct hypar_error *err)
{
    struct counting c = { .sim = sim };
    struct observer observer = { begin_counting, count_task, &c };
    double began_s = hp_now_s();
    ticks length = hp_timeline_observe(sim->timing, sim->program,
                                       timeline ? &sim->timeline : NULL, &observer);
    sim->summary.took_s = hp_now_s() - began_s;
    sim->has_timeline = timeline;
    summarise(sim, &c, length);
    count_opaque(sim);
    struct step_totals totals = hp_step_totals(sim->timing, sim->link);
    sim->summary.comm_bytes = totals.comm_bytes;
    sim->summary.link_bytes = totals.link_bytes;
    sim->summary.energy = totals.energy;
    hp_finish_energy(&sim->summary.energy, sim->program->plan->machine, sim->summary.step_s);
    sim->summary.interval = interval_of(sim);
    hp_arena_free(&c.arena);
    return hp_check_length(length, err);
}

/* Takes ownership of the program, also on failure. A timeline shows memory, too. */
static enum hypar_status simulate_program(struct hypar_sim **out, struct hypar_program *program,
                                          const struct hypar_sim_options *options, bool memory,
                                          struct hypar_error *err)
{
    struct arena arena = { 0 };
    enum hypar_status status = hp_check_messages(program->lowering, options, NULL, err);
    if (status != HYPAR_OK) {
        hypar_program_free(program);
        return status;
    }
    struct hypar_sim *sim = NEW(&arena, struct hypar_sim, 1);
    sim->arena = arena;
    sim->program = program;
    begin_links(sim);
    if (memory)
        count_memory(sim);
    sim->timing = hp_timing_new(program->lowering, program->blocks, options, NULL);
    sim->summary.how = hp_simulation_of(options);
    sim->summary.measured = hp_count_measured(program->lowering, options->profile);
    status = run(sim, options->timeline, err);
    if (status != HYPAR_OK) {
        hypar_sim_free(sim);
        return status;
    }
    if (options->timeline) {
        hp_make_events(sim);
        hp_make_memory_points(sim);
        hp_make_path(sim);
    }
    *out = sim;
    return HYPAR_OK;
}

enum hypar_status hp_simulate_program(struct hypar_sim **out, struct hypar_program *program,
                                      const struct hypar_sim_options *options,
                                      struct hypar_error *err)
{
    return simulate_program(out, program, options, true, err);
}

static enum hypar_status simulate(struct hypar_sim **out, const struct hypar_plan *plan,
                                  const struct hypar_sim_options *options, bool memory,
                                  struct hypar_error *err)
{
    struct hypar_sim_options planned = hypar_as_planned(plan, NULL);
    struct hypar_program *program;
    *out = NULL;
    TRY(hp_check_sim_options(options ? options : &planned, err));
    if (options)
        planned = hp_settled(options);
    struct hypar_plan *own = hp_simulated_plan(plan, &planned);
    planned.framework = (own ? own : plan)->simulation.framework; /* its texts live as long */
    enum hypar_status status = hypar_lower(&program, own ? own : plan, &planned.lower, err);
    if (status != HYPAR_OK) {
        hypar_plan_free(own);
        return status;
    }
    program->own_plan = own;
    return simulate_program(out, program, &planned, memory, err);
}

enum hypar_status hypar_simulate(struct hypar_sim **out, const struct hypar_plan *plan,
                                 const struct hypar_sim_options *options,
                                 struct hypar_error *err)
{
    return simulate(out, plan, options, true, err);
}

enum hypar_status hp_simulated_seconds(const struct hypar_plan *plan,
                                       const struct hypar_sim_options *options, double *step_s,
                                       struct hypar_error *err)
{
    struct hypar_sim *sim;
    enum hypar_status status = simulate(&sim, plan, options, false, err);
    if (status == HYPAR_OK)
        *step_s = sim->summary.step_s;
    hypar_sim_free(sim);
    return status;
}

const struct hypar_plan *hypar_sim_plan(const struct hypar_sim *sim)
{
    return sim->program ? sim->program->plan : NULL;
}

void hypar_sim_hidden_moves(const struct hypar_sim *sim, struct hypar_hidden_moves *out)
{
    *out = (struct hypar_hidden_moves){ .writer = -1, .reader = -1 };
    if (sim->program)
        hp_hidden_moves(sim->program->lowering, out);
}

void hypar_sim_free(struct hypar_sim *sim)
{
    if (!sim)
        return;
    hp_flat_file_free(sim->file);
    hp_timing_free(sim->timing);
    hp_memory_free(sim->memory);
    hypar_program_free(sim->program);
    hp_timeline_end(&sim->timeline);
    hp_arena_free(&sim->arena);
}

double hypar_energy_total_j(const struct hypar_energy *e)
{
    return e->arithmetic_j + e->sram_j + e->dram_j + e->link_j + e->idle_j;
}

struct hypar_sim_summary hypar_sim_summary(const struct hypar_sim *sim)
{
    return sim->summary;
}

struct hypar_sim_pipeline hypar_sim_pipeline(const struct hypar_sim *sim)
{
    return sim->pipeline;
}

struct hypar_sim_stage hypar_sim_stage(const struct hypar_sim *sim, int stage)
{
    if (!sim->program || stage < 0 || stage >= sim->program->plan->n_stages)
        return (struct hypar_sim_stage){ 0 };
    const struct hypar_stage *about = &sim->program->plan->stages[stage];
    double waiting_s = 0;
    struct hypar_sim_stage out = { .replicas = sim->program->iteration->pipe.replicas[stage],
                                   .in_flight = sim->memory->in_flight[stage],
                                   .versions = sim->memory->versions[stage] };
    for (int i = 0; i < about->n_devices; i++) {
        const struct hypar_sim_device *device = &sim->device[about->device[i]];
        if (i == 0 || device->busy_s > out.busy_s) {
            out.busy_s = device->busy_s;
            waiting_s = device->waiting_s;
        }
        out.peak_memory_bytes = device->memory.peak > out.peak_memory_bytes
                                    ? device->memory.peak
                                    : out.peak_memory_bytes;
    }
    if (sim->summary.step_s > 0)
        out.bubble = waiting_s / sim->summary.step_s;
    return out;
}

struct hypar_sim_device hypar_sim_device(const struct hypar_sim *sim, int device)
{
    return device >= 0 && device < sim->summary.n_devices ? sim->device[device]
                                                          : (struct hypar_sim_device){ 0 };
}

struct hypar_sim_link hypar_sim_link(const struct hypar_sim *sim, int link)
{
    return link >= 0 && link < sim->summary.n_links
               ? sim->link[link]
               : (struct hypar_sim_link){ .from = -1, .to = -1 };
}
