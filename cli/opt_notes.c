/* Notes of commands on standard error. */
#include "cli/opt.h"

#include <limits.h>
#include <stdarg.h>
#include <string.h>

void opt_note(const struct args *args, const char *fmt, ...)
{
    static const char who[] = "hypar: ";
    char text[2 * PATH_MAX];
    int n = snprintf(text, sizeof text, "note: ");
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(text + n, sizeof text - (size_t)n, fmt, ap);
    va_end(ap);
    if (args->quiet)
        return;
    fputs(who, stderr);
    hypar_report_text(stderr, hypar_clean_text(text), (int)strlen(who));
}

void opt_note_unused(const struct args *args, bool given, const char *option, const char *why)
{
    if (given)
        opt_note(args, "%s: not used, as %s", option, why);
}

void opt_note_idle(const struct args *args, const struct hypar_plan *plan)
{
    int idle = hypar_plan_idle_devices(plan);
    if (idle > 0)
        opt_note(args, "%d of %d devices %s nothing to do", idle,
                 hypar_machine_device_count(hypar_plan_machine(plan)),
                 idle == 1 ? "has" : "have");
}

void opt_note_sharding(const struct args *args, const struct hypar_plan *plan)
{
    static const char *const what[HYPAR_SHARD_COUNT] = {
        [HYPAR_SHARD_OPTIMIZER] = "the optimizer's state",
        [HYPAR_SHARD_GRADIENTS] = "gradients and the optimizer's state",
        [HYPAR_SHARD_PARAMETERS] = "parameters, gradients and the optimizer's state",
    };
    struct hypar_plan_settings settings = hypar_plan_settings(plan);
    enum hypar_shard most = HYPAR_SHARD_NONE;
    for (int op = 0; op < hypar_graph_info(hypar_plan_graph(plan)).n_ops; op++) {
        enum hypar_shard shard = hypar_plan_op(plan, op).shard;
        most = shard > most ? shard : most;
    }
    if (most != HYPAR_SHARD_NONE && settings.simulation.framework.replicates)
        opt_note(args,
                 "the plan shards %s, which %s cannot: each of its replicas has all of them",
                 what[most], settings.simulation.framework.name);
}

/* The number of stages that a pipeline can have at least: a cut is between two operators, and
 * operators that share a parameter stay together. */
static int possible_stages(const struct hypar_graph *graph)
{
    int n = 0, last = 0; /* operator that must be in this stage */
    for (int op = 0; op < hypar_graph_info(graph).n_ops; op++) {
        for (int i = 0; i < hypar_graph_op(graph, op).n_operands; i++) {
            int t = hypar_graph_operand(graph, op, i).tensor;
            struct hypar_tensor tensor = hypar_graph_tensor(graph, t < 0 ? 0 : t);
            if (t < 0 || tensor.kind != HYPAR_TENSOR_PARAMETER)
                continue;
            int reader = hypar_graph_reader(graph, t, tensor.n_readers - 1);
            last = reader > last ? reader : last;
        }
        n += last <= op;
    }
    return n;
}

void opt_note_one_stage(const struct args *args, const struct hypar_plan *plan)
{
    if (hypar_plan_updates(plan) != HYPAR_UPDATES_BATCHES)
        return;
    bool straight = possible_stages(hypar_plan_graph(plan)) >=
                    hypar_machine_device_count(hypar_plan_machine(plan));
    opt_note(args,
             "the pipeline is one stage with %d replicas: data parallelism, without stages "
             "in turn and without late weights%s",
             hypar_plan_stage(plan, 0).replicas,
             straight ? "; 'hypar plan MODEL --planner pipedream --straight -o plan.json' "
                        "plans one stage for each device"
                      : "");
}

void opt_note_statistics(const struct args *args, const struct hypar_plan *plan)
{
    int64_t micro = hypar_plan_schedule(plan).micro_batches;
    int64_t samples = hypar_graph_info(hypar_plan_graph(plan)).batch / (micro > 0 ? micro : 1);
    if (!hypar_plan_divides_statistics(plan))
        return;
    opt_note(
        args,
        "batch norms take the statistics of each micro-batch, %lld sample%s: losses are not "
        "those of the whole batch, which --micro-batches 1 keeps together",
        (long long)samples, samples == 1 ? "" : "s");
}

void opt_note_target(const struct args *args, const struct hypar_plan *plan, const char *target)
{
    char text[512];
    for (int i = 0; hypar_emit_note(plan, target, i, text, sizeof text); i++)
        opt_note(args, "%s", text);
}

void opt_note_recompute(const struct args *args, const struct hypar_plan *plan,
                        enum hypar_recompute asked)
{
    int n = hypar_graph_info(hypar_plan_graph(plan)).n_ops, op = 0;
    while (op < n && !hypar_plan_op(plan, op).recompute)
        op++;
    if (op < n || asked == HYPAR_RECOMPUTE_NONE)
        return;
    opt_note(args, "recompute %s: nothing is computed again; the network has no %s",
             hypar_recompute_text(asked),
             asked == HYPAR_RECOMPUTE_FULL
                 ? "layers that repeat"
                 : "attention that is written out as products and a softmax (--recompute full "
                   "is of whole layers)");
}

void opt_note_profile(const struct args *args, const struct hypar_sim_measured *m)
{
    if (args->profile && m->asked && !m->measured && !m->interpolated && !m->calibrated)
        opt_note(args,
                 "%s: knows none of the %d passes of this step, nor its devices' "
                 "efficiency; no measured time was used",
                 args->profile, m->passes);
}

enum hypar_status opt_check_fits(const struct hypar_sim *sim, struct hypar_error *err)
{
    struct hypar_sim_summary s = hypar_sim_summary(sim);
    struct hypar_error why;
    if (s.fits || !hypar_sim_plan(sim))
        return HYPAR_OK;
    struct hypar_memory fullest = hypar_sim_device(sim, s.fullest_device).memory;
    enum hypar_status status =
        hypar_check_fullest(hypar_sim_plan(sim), &fullest, s.fullest_device, &why);
    snprintf(err->text, sizeof err->text, "the plan does not fit: %.200s", why.text);
    return status;
}

void opt_note_precision(const struct args *args, const struct hypar_machine *machine,
                        enum hypar_precision precision)
{
    bool bf16 = precision == HYPAR_BF16;
    if (!bf16 && precision != HYPAR_FP16)
        return;
    for (int d = 0; d < hypar_machine_device_count(machine); d++) {
        const struct hypar_device *device = hypar_machine_device(machine, d);
        double rate = bf16 ? device->bf16_op_per_s : device->fp16_op_per_s;
        double other = bf16 ? device->fp16_op_per_s : device->bf16_op_per_s;
        if (rate >= other)
            continue;
        opt_note(args, "%s computes %s at %.3g times the rate of %s", device->name,
                 hypar_precision_text(precision), rate / other, bf16 ? "fp16" : "bf16");
        return;
    }
}
