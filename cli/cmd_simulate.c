#include "cli/opt.h"

#include <string.h>

static const struct argp_option options[] = {
    { "on", OPT_ON, "MACHINE", 0, "use MACHINE instead of the plan's", 0 },
    { "model", OPT_MODEL, "MODEL", 0, "use MODEL instead of the plan's", 0 },
    OPT_FOLLOW_LINKS_ROW,
    OPT_SIMULATION_ROWS,
    { "forward", OPT_FORWARD, NULL, 0, "forward phases alone, as for inference", 0 },
    { "trace", OPT_TRACE, "FILE", 0,
      "write the timeline to FILE, for Perfetto; packed if it is named .gz (-: standard "
      "output)",
      0 },
    { "trace-devices", OPT_TRACE_DEVICES, "LIST", 0,
      "--trace: only these devices and their links, as 0-7,16 (all)", 0 },
    { "trace-from", OPT_TRACE_FROM, "TIME", 0,
      "--trace: begin at this time, as 1.5ms (the beginning)", 0 },
    { "trace-to", OPT_TRACE_TO, "TIME", 0, "--trace: end at this time (the end)", 0 },
    { "trace-bars", OPT_TRACE_BARS, "N", 0, "--trace: at most the first N bars (200,000)", 0 },
    { "trace-names", OPT_TRACE_NAMES, "WHAT", 0,
      "--trace: name, and so colour, bars by kind or by task (task)", 0 },
    { "trace-arrows", OPT_TRACE_ARROWS, NULL, 0,
      "--trace: draw an arrow to each task from its last predecessor", 0 },
    { "timeline", OPT_TIMELINE, "FILE", 0,
      "write every task's times to FILE, as hypar-timeline/1", 0 },
    { "svg", OPT_SVG, "FILE", 0, "write a picture of the timeline to FILE", 0 },
    { "csv", OPT_CSV, "FILE", 0, "write the times of devices and the bytes of links to FILE",
      0 },
    { "fits", OPT_FITS, NULL, 0, "only check whether the plan fits in memory", 0 },
    { "memory", OPT_MEMORY, "BYTES", 0,
      "with --fits: limit per device (the plan's, else the device's own)", 0 },
    { "measured", OPT_MEASURED, "SECONDS", 0,
      "find the devices' efficiency from this measured step; -o writes it as a profile", 0 },
    { "check-delta", OPT_CHECK_DELTA, "N", 0,
      "check that delta and full simulation agree after N random changes of an operator", 0 },
    { "seed", OPT_SEED, "N", 0, "seed of these changes (0)", 0 },
    { 0 },
};

/* A report has been written to `out` whatever its answer is: "no" is one too. */
static enum hypar_status close_answer(struct hypar_output *out, enum hypar_status status,
                                      struct hypar_error *err)
{
    if (status != HYPAR_INFEASIBLE)
        return opt_close(out, status, err);
    struct hypar_error why = *err;
    enum hypar_status closed = opt_close(out, HYPAR_OK, err);
    if (closed == HYPAR_OK)
        *err = why;
    return closed == HYPAR_OK ? status : closed;
}

static enum hypar_status check_fits(const struct args *args, const struct hypar_plan *plan,
                                    const struct hypar_sim_options *how,
                                    struct hypar_error *err)
{
    struct hypar_output out;
    TRY(hypar_output_open(&out, opt_output(args), err));
    enum hypar_status status =
        hypar_report_memory(out.file, plan, how, args->memory_bytes, opt_format(args), err);
    return close_answer(&out, status, err);
}

static enum hypar_status check_delta(const struct args *args, const struct hypar_plan *plan,
                                     const struct hypar_sim_options *how,
                                     struct hypar_error *err)
{
    struct hypar_delta_check check;
    struct hypar_output out;
    TRY(hypar_check_delta(&check, plan, how, args->check_delta, args->seed, err));
    TRY(hypar_output_open(&out, opt_output(args), err));
    hypar_report_delta_check(out.file, &check, opt_format(args));
    enum hypar_status status = HYPAR_OK;
    if (check.mismatches) {
        snprintf(err->text, sizeof err->text, "full and delta simulation differ: %s",
                 check.first_mismatch);
        status = HYPAR_INFEASIBLE;
    }
    return close_answer(&out, status, err);
}

/* A profile with this efficiency for every kind of device. */
static enum hypar_status write_profile(const char *path, const struct hypar_machine *machine,
                                       double efficiency, struct hypar_error *err)
{
    struct hypar_output out;
    TRY(hypar_output_open(&out, path, err));
    struct hypar_profile *profile = hypar_profile_new();
    int n = hypar_machine_is_uniform(machine) ? 1 : hypar_machine_device_count(machine);
    for (int i = 0; i < n; i++)
        hypar_profile_set_efficiency(profile, hypar_machine_device(machine, i)->name,
                                     efficiency);
    hypar_profile_write(profile, out.file);
    hypar_profile_free(profile);
    return opt_close(&out, HYPAR_OK, err);
}

static enum hypar_status calibrate(const struct args *args, const struct hypar_plan *plan,
                                   const struct hypar_sim_options *how, struct hypar_error *err)
{
    double efficiency;
    enum hypar_status status = hypar_calibrate(&efficiency, plan, how, args->measured_s, err);
    if (status == HYPAR_OK && args->output)
        status = write_profile(args->output, hypar_plan_machine(plan), efficiency, err);
    if (status == HYPAR_OK && opt_wants_summary(args))
        hypar_report_calibration(stdout, plan, args->measured_s, efficiency, opt_format(args));
    return status;
}

static enum hypar_status write_timeline(const struct hypar_sim *sim, const char *path,
                                        enum hypar_format format, struct hypar_error *err)
{
    struct hypar_output out;
    TRY(hypar_output_open(&out, path, err));
    hypar_report_timeline(out.file, sim, format);
    return opt_close(&out, HYPAR_OK, err);
}

static enum hypar_status write_report(const struct hypar_sim *sim,
                                      const struct hypar_plan *plan, const char *path,
                                      enum hypar_format format, struct hypar_error *err)
{
    struct hypar_output out;
    TRY(hypar_output_open(&out, path, err));
    hypar_report_simulation(out.file, sim, plan, format);
    return opt_close(&out, HYPAR_OK, err);
}

static struct hypar_trace_shown put_trace(FILE *to, const void *sim,
                                          const struct hypar_trace_options *how)
{
    return hypar_report_trace(to, sim, how);
}

/* Write trace, timeline, picture, table and report. If one of the files goes to standard
 * output, nothing else is printed there. */
static enum hypar_status tell(const struct args *args, const struct hypar_sim *sim,
                              const struct hypar_plan *plan, struct hypar_error *err)
{
    enum hypar_status status = HYPAR_OK;
    if (args->trace)
        status = opt_write_trace(
            args, &(struct trace){ put_trace, sim, hypar_sim_summary(sim).n_devices }, err);
    if (status == HYPAR_OK && args->timeline)
        status = write_timeline(sim, args->timeline, HYPAR_JSON, err);
    if (status == HYPAR_OK && args->svg)
        status = write_timeline(sim, args->svg, HYPAR_SVG, err);
    if (status == HYPAR_OK && args->csv)
        status = write_report(sim, plan, args->csv, HYPAR_CSV, err);
    bool alone = opt_is_standard(args->trace) || opt_is_standard(args->timeline) ||
                 opt_is_standard(args->svg) || opt_is_standard(args->csv);
    bool file = args->trace || args->timeline || args->svg || args->csv;
    bool silent = args->quiet && file && !args->json;
    if (status != HYPAR_OK || ((alone || silent) && !args->output))
        return status;
    return write_report(sim, plan, opt_output(args), opt_format(args), err);
}

static void note_unused_by_fits(const struct args *args)
{
    static const char why[] = "--fits looks at no times";
    opt_note_unused(args, args->profile, args->profile, why);
    opt_note_unused(args, args->all_reduce, "--all-reduce", why);
    opt_note_unused(args, args->expand_collectives, "--expand-collectives", why);
    opt_note_unused(args, args->no_overlap, "--no-overlap", why);
    opt_note_unused(args, args->half_duplex, "--half-duplex", why);
    opt_note_unused(args, args->one_class, "--one-class", why);
}

static enum hypar_status simulate_plan(const struct args *args, struct hypar_sim_options *how,
                                       struct hypar_error *err)
{
    struct hypar_plan *plan;
    struct hypar_sim *sim = NULL;
    TRY(opt_read_plan(args, args->operand[0], args->model, &plan, err));
    opt_note_idle(args, plan);
    opt_note_sharding(args, plan);
    struct hypar_profile *given = (struct hypar_profile *)how->profile, *own = given;
    *how = hypar_as_planned(plan, how);
    opt_local_profile(args, hypar_plan_machine(plan), how, &own);
    enum hypar_status status = HYPAR_OK;
    if (args->fits) {
        note_unused_by_fits(args);
        status = check_fits(args, plan, how, err);
    } else if (args->check_delta) {
        status = check_delta(args, plan, how, err);
    } else if (args->measured_s > 0) {
        status = calibrate(args, plan, how, err);
    } else {
        how->timeline = args->trace || args->timeline || args->svg;
        status = hypar_simulate(&sim, plan, how, err);
        if (status == HYPAR_OK) {
            struct hypar_sim_summary summary = hypar_sim_summary(sim);
            struct hypar_hidden_moves hidden;
            opt_note_profile(args, &summary.measured);
            opt_note_unmeasured(args, hypar_plan_machine(plan), how);
            hypar_sim_hidden_moves(sim, &hidden);
            if (hidden.count)
                opt_note(args, "%s", hidden.text);
            status = tell(args, sim, plan, err);
            if (status == HYPAR_OK)
                status = opt_check_fits(sim, err);
        }
    }
    hypar_sim_free(sim);
    hypar_plan_free(plan);
    if (own != given)
        hypar_profile_free(own);
    return opt_in_file(args->operand[0], status, err);
}

/* The given option that needs a plan, not a program: a program is already lowered, or has its
 * tasks' times. NULL: none. */
static const char *needs_plan(const struct args *args, bool lowered)
{
    const char *lowering = args->fits               ? "fits"
                           : args->check_delta      ? "check-delta"
                           : args->measured_s > 0   ? "measured"
                           : args->model            ? "model"
                           : args->minibatches      ? "minibatches"
                           : args->forward          ? "forward"
                           : args->bucket_bytes > 0 ? "bucket"
                           : args->local_bn         ? "local-bn"
                                                    : NULL;
    if (lowering || lowered)
        return lowering ? lowering : args->machine ? "on" : NULL;
    return args->half_duplex          ? "half-duplex"
           : args->one_class          ? "one-class"
           : args->expand_collectives ? "expand-collectives"
           : args->all_reduce         ? "all-reduce"
           : args->no_overlap         ? "no-overlap"
           : args->as                 ? "as"
           : args->profile            ? "profile"
                                      : NULL;
}

static enum hypar_status simulate_program(const struct args *args, bool lowered,
                                          struct hypar_sim_options *how,
                                          struct hypar_error *err)
{
    struct hypar_machine *machine = NULL;
    struct hypar_sim *sim = NULL;
    enum hypar_status status = HYPAR_OK;
    const char *for_plans = needs_plan(args, lowered);
    if (for_plans)
        return opt_usage(err, "simulate: --%s needs a plan; '%s' is a program", for_plans,
                         args->operand[0]);
    if (args->machine)
        status = hypar_machine_read(&machine, args->machine, err);
    how->timeline = !lowered || args->trace || args->timeline ||
                    args->svg; /* by hand: the times of the tasks are the report */
    if (status == HYPAR_OK)
        status = hypar_simulate_file(&sim, args->operand[0], machine, how, err);
    if (status == HYPAR_OK) {
        struct hypar_sim_summary summary = hypar_sim_summary(sim);
        opt_note_profile(args, &summary.measured);
        status = tell(args, sim, hypar_sim_plan(sim), err);
        if (status == HYPAR_OK)
            status = opt_in_file(args->operand[0], opt_check_fits(sim, err), err);
    }
    hypar_sim_free(sim);
    hypar_machine_free(machine);
    return status;
}

static bool is_program(const char *path)
{
    return opt_is_of_format(path, "hypar-program/");
}

static enum hypar_status run(const struct args *args, struct hypar_error *err)
{
    struct hypar_sim_options how;
    struct hypar_profile *profile = NULL;
    bool times = args->trace || args->timeline || args->svg || args->csv;
    if (args->fits + (args->check_delta > 0) + (args->measured_s > 0) + times > 1)
        return opt_usage(err, "simulate: --fits, --check-delta, --measured and --trace, "
                              "--timeline, --svg or --csv exclude each other");
    if (args->memory_bytes > 0 && !args->fits)
        return opt_usage(err, "simulate: --memory goes with --fits");
    opt_note_unused(args, args->seed && !args->check_delta, "--seed",
                    "without --check-delta nothing is random");
    enum hypar_status status = opt_check_trace(args, err);
    if (status == HYPAR_OK)
        status = opt_simulation(args, &how, &profile, err);
    if (status == HYPAR_OK)
        status = is_program(args->operand[0])
                     ? simulate_program(args, opt_is_of_format(args->operand[0], "lowered\""),
                                        &how, err)
                     : simulate_plan(args, &how, err);
    hypar_profile_free(profile);
    return status;
}

const struct command cmd_simulate = {
    .name = "simulate",
    .operands = "PLAN",
    .min_operands = 1,
    .max_operands = 1,
    .summary = "predict one training step: time, traffic, memory, energy",
    .doc = "Simulate one training step of PLAN on its machine, and show its time: devices, "
           "links, bytes, energy, memory. PLAN may also be a program (hypar-program/1), "
           "written by 'hypar lower' or by hand.",
    .options = options,
    .run = run,
};
