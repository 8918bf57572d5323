#include "cli/opt.h"

static const struct argp_option options[] = {
    { "model", OPT_MODEL, "MODEL", 0, "check against MODEL instead of the plan's", 0 },
    { "on", OPT_ON, "MACHINE", 0, "check against MACHINE instead of the plan's", 0 },
    { 0 },
};

/* Parts of all operators, those of every replica counted. */
static int64_t count_parts(const struct hypar_plan *plan)
{
    int n_ops = hypar_graph_op_count(hypar_plan_graph(plan));
    int64_t parts = 0;
    for (int op = 0; op < n_ops; op++)
        parts += hypar_plan_device_count(plan, op);
    return parts;
}

static void print_answer(FILE *to, const struct hypar_plan *plan, enum hypar_format format)
{
    const struct hypar_graph *graph = hypar_plan_graph(plan);
    struct hypar_schedule schedule = hypar_plan_schedule(plan);
    long long batch = hypar_graph_batch(graph), parts = count_parts(plan);
    int ops = hypar_graph_op_count(graph), stages = hypar_plan_stage_count(plan);
    int devices = hypar_machine_device_count(hypar_plan_machine(plan));

    if (format == HYPAR_JSON) {
        fprintf(
            to,
            "{\"ok\": true, \"batch\": %lld, \"ops\": %d, \"parts\": %lld, \"devices\": %d, "
            "\"stages\": %d, \"schedule\": \"%s\", \"micro_batches\": %lld}\n",
            batch, ops, parts, devices, stages, hypar_schedule_text(schedule.kind),
            (long long)schedule.micro_batches);
        return;
    }
    fprintf(to, "ok: %s, batch %lld: %d operators in %lld parts on a machine of %d devices",
            hypar_graph_name(graph), batch, ops, parts, devices);
    if (stages > 0)
        fprintf(to, "; %d stages, schedule %s, micro-batches %lld", stages,
                hypar_schedule_text(schedule.kind), (long long)schedule.micro_batches);
    fputc('\n', to);
}

static enum hypar_status run(const struct args *args, struct hypar_error *err)
{
    struct hypar_plan_read_options how = { .model = args->model, .machine = args->machine };
    struct hypar_plan *plan;
    enum hypar_status status = hypar_plan_read(&plan, args->operand[0], &how, err);
    if (status != HYPAR_OK)
        return status;

    struct hypar_output out;
    status = hypar_output_open(&out, opt_output(args), err);
    if (status == HYPAR_OK) {
        print_answer(out.file, plan, opt_format(args));
        status = hypar_output_close(&out, true, err);
    }
    hypar_plan_free(plan);
    return status;
}

const struct command cmd_check = {
    .name = "check",
    .operands = "PLAN",
    .min_operands = 1,
    .max_operands = 1,
    .summary = "does a plan fit its graph and its machine",
    .doc = "Read PLAN with the model and the machine that it names, and check that they fit "
           "together. If they do not, the message names the operator and the reason.",
    .options = options,
    .run = run,
};
