/* Reports the simulated step and the closed form of a plan. */
#include "cost/calibration.h"
#include "report/plan/found.h"

#include "machine/machine.h"
#include "plan/plan.h"
#include "plan/schedules.h"

double hp_exact_bytes(const struct hypar_found *found)
{
    enum { MAX_PARTS = 1 << 19 };
    const struct hypar_simulated *s = hypar_found_simulated(found);
    const struct hypar_partial_step part = hypar_found_info(found).part;
    const struct hypar_plan *plan = hypar_found_plan(found);
    struct hypar_program *program;
    if (s)
        return s->step.comm_bytes;
    if (hp_plan_parts(plan) > MAX_PARTS)
        return -1;
    if (part.step_s > 0 && part.comm_bytes >= 0) /* counted already, of all devices */
        return part.comm_bytes;
    if (hypar_lower(&program, plan, NULL, NULL) != HYPAR_OK)
        return -1;
    double bytes = hypar_program_totals(program).comm_bytes;
    hypar_program_free(program);
    return bytes;
}

/* Are the operations, and so their energy, known? A profile does not have them. */
static bool is_counted(const struct hypar_found *found)
{
    return hypar_graph_flops_per_sample(hypar_found_plan(found)->graph) > 0;
}

/* Does a profile change the simulated step but not the closed form? OptCNN's closed form uses
 * the profile. */
static bool is_measured(const struct hypar_found *found)
{
    const struct hypar_simulated *s = hypar_found_simulated(found);
    return s && s->step.measured.measured + s->step.measured.interpolated > 0 &&
           !hypar_found_layerwise(found);
}

/* The view of PipeDream's recurrence: the slowest of stages and transfers, which are not added
 * up. NULL: another planner's plan. */
static const struct hypar_pipeline_view *pipedream(const struct hypar_found *found)
{
    const struct hypar_pipeline_view *view = hypar_found_pipeline(found);
    bool is = view && !view->per_sample && hp_is_delayed(hypar_found_plan(found));
    return is ? view : NULL;
}

/* JSON -------------------------------------------------------------------------------- */

/* The formulas of the planner's closed form. */
static const char *closed_form(const struct hypar_found *found)
{
    return hypar_found_layerwise(found) ? "OptCNN's Eq. 1: t_C + t_X + t_S, no overlap"
           : pipedream(found) ? "PipeDream's recurrence: the slowest of stages and transfers"
           : is_measured(found)
               ? "closed form: no overlap, levels one after another, nothing of the profile"
               : "closed form: no overlap, levels one after another";
}

/* The figures of a step that was simulated in part, or that has a closed form alone. */
static struct hypar_sim_summary unsimulated_step(const struct hypar_found *found, bool in_part)
{
    struct hypar_prediction p = hypar_found_prediction(found);
    struct hypar_partial_step part = hypar_found_info(found).part;
    const struct hypar_plan *plan = hypar_found_plan(found);
    struct hypar_calibration calibration =
        hp_calibration(plan->machine, &plan->simulation.framework, false);
    struct less_known parts = { .convolutions = hp_convolution_share(plan->graph, plan->machine,
                                                                     plan->precision) };
    double exact = in_part ? part.comm_bytes : hp_exact_bytes(found);
    return (struct hypar_sim_summary){
        .step_s = in_part ? part.step_s : p.step_s,
        .interval = hp_interval(&calibration, in_part ? part.step_s : p.step_s, &parts),
        .samples_per_s = p.samples_per_s,
        .mfu = p.mfu,
        .comm_bytes = exact < 0 && !in_part ? p.comm_bytes : exact,
        .link_bytes = in_part ? part.link_bytes : NAN,
        .energy = part.energy,
        .peak_memory_bytes = in_part ? part.fullest.peak : NAN,
        .fullest_device = part.fullest_device,
        .fits = part.fullest.peak <= part.fullest.limit,
    };
}

static void put_closed_form(struct json_writer *w, const struct hypar_found *found)
{
    struct hypar_prediction p = hypar_found_prediction(found);
    bool counted = is_counted(found);
    bool minibatches = hp_counts_minibatches(hypar_found_plan(found)->graph);
    PUT_OBJECT(
        w, "closed_form", false, TEXT("model", closed_form(found)), NUMBER("step_s", p.step_s),
        NUMBER("compute_s", p.compute_s), NUMBER("comm_s", p.comm_s),
        NUMBER("samples_per_s", minibatches ? NAN : p.samples_per_s),
        ONLY_IF(minibatches, NUMBER("minibatches_per_s", p.samples_per_s)),
        NUMBER("mfu", counted ? p.mfu : NAN), NUMBER("comm_bytes", p.comm_bytes),
        NUMBER("energy_j", counted ? p.energy_j : NAN), NUMBER("state_bytes", p.state_bytes));
}

void hp_put_predicted(struct json_writer *w, const struct hypar_found *found)
{
    const struct hypar_simulated *s = hypar_found_simulated(found);
    const char *why = hypar_found_info(found).not_simulated;
    struct hypar_partial_step part = hypar_found_info(found).part;
    struct hypar_prediction p = hypar_found_prediction(found);
    bool counted = is_counted(found), in_part = !s && part.step_s > 0, closed = !s && !in_part;
    bool minibatches = closed && hp_counts_minibatches(hypar_found_plan(found)->graph);
    struct hypar_sim_summary step = s ? s->step : unsimulated_step(found, in_part);
    double energy_j = closed ? p.energy_j : hypar_energy_total_j(&step.energy);
    const struct hypar_memory *fullest = s ? &s->fullest : in_part ? &part.fullest : NULL;
    hp_json_begin_object(w, "predicted", false);
    PUT(w,
        TEXT("model", s         ? "simulated"
                      : in_part ? "simulated in part, extrapolated"
                                : closed_form(found)),
        ONLY_IF(!s && why, TEXT("not_simulated", why)),
        ONLY_IF(in_part, INT("simulated_devices", part.devices)),
        ONLY_IF(in_part, INT("devices", part.all_devices)), NUMBER("step_s", step.step_s),
        ONLY_IF(in_part, NUMBER("error_s", part.error_s)),
        ONLY_IF(!in_part, NUMBER("compute_s", s ? s->compute_s : p.compute_s)),
        ONLY_IF(!in_part, NUMBER("comm_s", s ? s->comm_s : p.comm_s)),
        ONLY_IF(!closed, FIELDS(hp_interval_columns, &step.interval)),
        NUMBER("samples_per_s", minibatches ? NAN : step.samples_per_s),
        ONLY_IF(minibatches, NUMBER("minibatches_per_s", step.samples_per_s)),
        ONLY_IF(s, POSITIVE("tokens_per_s", step.tokens_per_s)),
        NUMBER("mfu", counted ? step.mfu : NAN), NUMBER("comm_bytes", step.comm_bytes),
        ONLY_IF(closed || (s && !p.simulated), NUMBER("comm_bytes_paper", p.comm_bytes)),
        NUMBER("link_bytes", step.link_bytes), NUMBER("energy_j", counted ? energy_j : NAN),
        ONLY_IF(!closed, RECORD("energy", hp_energy_columns, counted ? &step.energy : NULL)),
        NUMBER("peak_memory_bytes", step.peak_memory_bytes),
        ONLY_IF(in_part, NUMBER("limit_bytes", part.fullest.limit)),
        NUMBER("state_bytes", p.state_bytes),
        ONLY_IF(!closed, INT("fullest_device", step.fullest_device)),
        ONLY_IF(!closed, RECORD("memory", hp_memory_columns, fullest)),
        ONLY_IF(!closed, FLAG("fits", step.fits)),
        ONLY_IF(fullest && fullest->error_spread > 0,
                NUMBER("fits_probability", hypar_memory_probability(fullest))));
    if (s)
        hp_put_profile(w, &step);
    hp_json_end_object(w);
    if (!p.simulated && !(part.step_s > 0))
        put_closed_form(w, found);
}

/* Text -------------------------------------------------------------------------------- */

/* "21.3 % of peak, 81.6 mJ by counted operations; ", where operations are known. */
static char *work_text(struct arena *arena, const struct hypar_found *found, double mfu,
                       double energy_j)
{
    if (!is_counted(found))
        return hp_arena_strdup(arena, "");
    if (!(energy_j > 0))
        return hp_arena_printf(arena, "%.1f %% of peak; ", 100 * mfu);
    bool idle = hp_idle_w(hypar_plan_machine(hypar_found_plan(found))) > 0;
    return hp_arena_printf(arena, "%.1f %% of peak, %s by counted operations%s; ", 100 * mfu,
                           hp_energy_text(arena, energy_j), idle ? " and idle power" : "");
}

/* The extent of the simulated part: devices, or micro-batches if it has all devices. */
static const char *extent_text(struct arena *arena, const struct hypar_partial_step *part,
                               int64_t micro_batches)
{
    if (part->devices < part->all_devices)
        return hp_arena_printf(arena, "on %s of %s devices and extrapolated to all",
                               hp_thousands(arena, part->devices),
                               hp_thousands(arena, part->all_devices));
    if (part->micro_batches < micro_batches)
        return hp_arena_printf(arena, "with %s of %s micro-batches and extrapolated to all",
                               hp_thousands(arena, part->micro_batches),
                               hp_thousands(arena, micro_batches));
    return "on all devices";
}

/* The step and the fullest device, simulated on all devices or (`s` NULL) on a part of them. */
static char *simulated_text(struct arena *arena, const struct hypar_found *found,
                            const struct hypar_simulated *s,
                            const struct hypar_sim_summary *step,
                            const struct hypar_memory *fullest)
{
    struct hypar_partial_step part = hypar_found_info(found).part;
    struct memory_text memory = hp_memory_text(fullest->peak, fullest->limit);
    int64_t micro_batches = hypar_plan_schedule(hypar_found_plan(found)).micro_batches;
    const char *how = s ? hp_arena_printf(arena, " (the busiest device computes %s of it)",
                                          hp_time_text(arena, s->compute_s))
                        : hp_arena_printf(arena, " %s (by about %.1f %% off)",
                                          extent_text(arena, &part, micro_batches),
                                          100 * part.error_s / part.step_s);
    double energy_j =
        s ? hypar_energy_total_j(&step->energy) : hypar_found_prediction(found).energy_j;
    return hp_arena_printf(
        arena,
        "Predicted step %s, simulated%s, %s samples/s, %s%s sent, %s on links; %s of %s of "
        "memory%s on the fullest device%s.",
        hp_time_text(arena, step->step_s), how, hp_metric(arena, step->samples_per_s),
        work_text(arena, found, step->mfu, energy_j), hp_bytes_text(arena, step->comm_bytes),
        hp_bytes_text(arena, step->link_bytes), memory.need, memory.has,
        hp_limit_words(hypar_found_plan(found), fullest->limit), hp_fits_text(arena, fullest));
}

/* The work of devices that the closed form leaves out. Every closed form is of passes alone.
 * Level by level, passes take the time of their arithmetic; others also have the time of their
 * memory traffic. */
static const char *work_left_out(const struct hypar_found *found)
{
    return hypar_found_partition(found) ? "operators that memory bounds and updates of "
                                          "parameters"
                                        : "updates of parameters";
}

/* The reasons why the simulated step is longer: of the busiest device's work, of the rest, or
 * of both. */
static const char *longer(struct arena *arena, const struct hypar_found *found)
{
    const struct hypar_simulated *s = hypar_found_simulated(found);
    struct hypar_prediction p = hypar_found_prediction(found);
    double slack_s = 0.05 * s->step.step_s;
    bool work = s->compute_s > p.compute_s + slack_s;
    bool rest = s->step.step_s - s->compute_s > p.step_s - p.compute_s + slack_s;
    return hp_arena_printf(arena, "; it leaves out %s%s%s", work ? work_left_out(found) : "",
                           work && rest ? ", " : "",
                           rest ? work ? "contention on links, and waiting"
                                       : "contention on links and waiting"
                                : "");
}

/* Why the closed form differs, if it differs much from the simulated step or is below the lower
 * bound. */
static const char *difference(struct arena *arena, const struct hypar_found *found,
                              double closed_s)
{
    double simulated_s = hypar_found_simulated(found)->step.step_s;
    struct hypar_bound bound = hypar_found_info(found).bound;
    if (is_measured(found))
        return "; it leaves out what was measured: times are by the device's peak";
    if (bound.step_s > closed_s)
        return hp_arena_printf(
            arena, "; it is below the lower bound, as it leaves out %s%s",
            bound.way_s > bound.work_s ? "what cannot be divided" : work_left_out(found),
            simulated_s > 1.25 * closed_s ? ", contention on links, and waiting" : "");
    if (simulated_s > 1.25 * closed_s)
        return longer(arena, found);
    if (simulated_s >= 0.8 * closed_s)
        return "";
    if (pipedream(found))
        return "; it leaves out that both directions of a link work at once";
    if (hypar_found_partition(found) &&
        hypar_found_prediction(found).comm_s > 1.25 * hypar_found_simulated(found)->comm_s)
        return hp_arena_printf(arena,
                               "; it exchanges level after level, each over that level's links "
                               "alone; simulated, the exchange takes %s",
                               hp_time_text(arena, hypar_found_simulated(found)->comm_s));
    return "; it leaves out that exchange and computing overlap";
}

/* PipeDream's recurrence in words: "40 ms in steady state, the slowest of stages and transfers
 * (the busiest stage computes 20 ms of it); 72 ms on one device, 76 ms data parallel, each
 * device with a minibatch of its own: 1.80 and 1.90 times as long" */
static char *recurrence_text(struct arena *arena, const struct hypar_pipeline_view *view,
                             double compute_s)
{
    return hp_arena_printf(
        arena,
        "%s in steady state, the slowest of stages and transfers (the busiest stage computes "
        "%s of it); %s on one device, %s data parallel, each device with a minibatch of its "
        "own: %.2f and %.2f times as long",
        hp_time_text(arena, view->bottleneck_s), hp_time_text(arena, compute_s),
        hp_time_text(arena, view->one_worker_s), hp_time_text(arena, view->dp_bottleneck_s),
        view->one_worker_s / view->bottleneck_s, view->dp_bottleneck_s / view->bottleneck_s);
}

static char *closed_text(struct arena *arena, const struct hypar_found *found,
                         const struct hypar_simulated *s)
{
    struct hypar_prediction p = hypar_found_prediction(found);
    const struct hypar_pipeline_view *view = pipedream(found);
    const struct hypar_graph *graph = hypar_found_plan(found)->graph;
    const char *step = hp_time_text(arena, p.step_s);
    const char *compute = hp_time_text(arena, p.compute_s);
    const char *comm = hp_time_text(arena, p.comm_s);
    if (s && view)
        return hp_arena_printf(arena, "In closed form one minibatch every %s%s.",
                               recurrence_text(arena, view, p.compute_s),
                               difference(arena, found, p.step_s));
    if (s)
        return hp_arena_printf(arena,
                               "In closed form %s: compute %s, exchange %s, no overlap%s.",
                               step, compute, comm, difference(arena, found, p.step_s));
    char *how = view ? hp_arena_printf(arena, ": one minibatch every %s",
                                       recurrence_text(arena, view, p.compute_s))
                     : hp_arena_printf(arena, " %s (compute %s, exchange %s; no overlap)", step,
                                       compute, comm);
    return hp_arena_printf(
        arena,
        "Predicted step%s%s %s %s%s, %sweights, gradients and optimizer state %s on the "
        "fullest device.",
        how, view ? "." : ",", hp_metric(arena, p.samples_per_s), hp_rate_unit(graph),
        hp_counts_minibatches(graph) ? " (samples/s with --batch N)" : "",
        work_text(arena, found, p.mfu, p.energy_j), hp_bytes_text(arena, p.state_bytes));
}

/* Report idle devices: more devices are not always faster. */
static void idle_text(FILE *to, const struct hypar_plan *plan)
{
    int n = hypar_machine_device_count(hypar_plan_machine(plan));
    int idle = hypar_plan_idle_devices(plan);
    if (idle > 0)
        fprintf(to, "%d of %d devices %s nothing to do.\n", idle, n,
                idle == 1 ? "has" : "have");
}

#define HARDLY_BUSY 0.01 /* share of a step */

/* The number of devices with stages that compute less than this share of the step, for example
 * only a loss. */
static int hardly_busy(struct arena *arena, const struct hypar_plan *plan,
                       const struct hypar_simulated *s)
{
    int n_devices = hypar_machine_device_count(plan->machine);
    int n = n_devices - hypar_plan_idle_devices(plan);
    double *busy_s = NEW(arena, double, n_devices);
    for (int i = 0; i < hypar_plan_stage_count(plan); i++) {
        struct hypar_stage stage = hypar_plan_stage(plan, i);
        for (int d = 0; d < stage.n_devices; d++)
            busy_s[stage.device[d]] += s->stage[i].busy_s;
    }
    for (int d = 0; d < n_devices; d++)
        n -= busy_s[d] >= HARDLY_BUSY * s->step.step_s;
    return n;
}

static void hardly_busy_text(FILE *to, struct arena *arena, const struct hypar_plan *plan,
                             const struct hypar_simulated *s)
{
    int n = s->stage ? hardly_busy(arena, plan, s) : 0;
    if (n > 0)
        hp_put_line(to, "%d of %d devices %s less than %.0f %% of the step.", n,
                    hypar_machine_device_count(plan->machine), n == 1 ? "computes" : "compute",
                    100 * HARDLY_BUSY);
}

/* Operations have the energy of 45 nm. Counted so, units for matrices take more than any device
 * draws. */
static void power_text(FILE *to, const struct hypar_plan *plan,
                       const struct hypar_sim_summary *step)
{
    static const double MOST_W = 1000;
    int n = hypar_machine_device_count(plan->machine);
    double watts = hypar_energy_total_j(&step->energy) / step->step_s / n;
    if (watts > MOST_W)
        hp_put_line(to,
                    "The energy is that of operations at 45 nm: %.2g kW a device, more than a "
                    "device draws; it compares plans.",
                    watts / 1000);
}

/* Notes on a simulated step. */
static void simulated_notes(FILE *to, struct arena *arena, const struct hypar_found *found,
                            const struct hypar_simulated *s)
{
    char *tight = hp_tight_text(arena, &s->fullest);
    if (is_counted(found))
        power_text(to, hypar_found_plan(found), &s->step);
    if (tight)
        hp_wrap(to, tight, 0);
    char *line = hp_memory_line(arena, hypar_found_plan(found), s->step.fullest_device,
                                s->fullest.limit);
    if (line)
        hp_put_line(to, "%s", line);
    idle_text(to, hypar_found_plan(found));
    hardly_busy_text(to, arena, hypar_found_plan(found), s);
    if (s->step.kernels > 0)
        hp_put_line(to, "Kernels: %s.", hp_kernels_text(arena, &s->step));
    if (s->step.measured.asked)
        hp_put_line(to, "Profile: %s.", hp_measured_text(arena, &s->step.measured));
    if (s->step.opaque)
        hp_put_line(to, "Opaque: %s.", hp_opaque_text(arena, &s->step));
}

void hp_predicted_text(FILE *to, struct arena *arena, const struct hypar_found *found)
{
    const struct hypar_simulated *s = hypar_found_simulated(found);
    struct hypar_partial_step part = hypar_found_info(found).part;
    bool in_part = !s && part.step_s > 0;
    const char *why = hypar_found_info(found).not_simulated;
    const struct hypar_plan *plan = hypar_found_plan(found);
    const struct hypar_memory *fullest = s ? &s->fullest : &part.fullest;
    struct hypar_sim_summary step = { .fits = true };
    if (s || in_part) {
        step = s ? s->step : unsimulated_step(found, true);
        hp_put_line(to, "%s",
                    hp_run_as_text(arena, plan->machine, &plan->simulation.framework));
        hp_wrap(to, simulated_text(arena, found, s, &step, fullest), 0);
        hp_put_line(to, "%s", hp_interval_text(arena, &step.interval));
    }
    if (s)
        simulated_notes(to, arena, found, s);
    else if (in_part)
        idle_text(to, plan);
    if (!hypar_found_prediction(found).simulated && !in_part)
        hp_wrap(to, closed_text(arena, found, s), 0);
    if (!step.fits)
        hp_put_line(to, "IT DOES NOT FIT: device %d would hold %s.", step.fullest_device,
                    hp_memory_items(arena, fullest));
    if (why && !in_part)
        hp_put_line(to, "In closed form, not simulated: %s.", why);
}
