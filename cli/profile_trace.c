/* hypar profile --measured: times come from PyTorch's profiler; nothing is run here. */
#include "cli/profile_trace.h"

#include <string.h>
#include <unistd.h>

static const char kernels[] = "PyTorch";

/* The plan or the model (on one device) that the trace is matched with. */
struct traced {
    const struct args *args;
    struct hypar_graph *graph;
    struct hypar_machine *machine;
    struct hypar_found *found;
    struct hypar_plan *own;
    const struct hypar_plan *plan;
    struct hypar_sim *sim;
    struct hypar_measured_step *step;
    struct hypar_profile *profile;
};

static enum hypar_status plan_of_model(struct traced *t, struct hypar_error *err)
{
    struct hypar_search_options how = { .planner = "dp", .unlimited = true };
    enum hypar_status status = opt_choices(t->args, &how, err);
    if (status == HYPAR_OK)
        status = opt_import(t->args, &t->graph, err);
    if (status == HYPAR_OK)
        status = hypar_machine_read(&t->machine,
                                    t->args->machine ? t->args->machine : "local:1", err);
    if (status == HYPAR_OK && hypar_machine_device_count(t->machine) != 1)
        return opt_usage(err, "profile: --on %.60s, expected one device, as full:1,device=h100",
                         t->args->machine);
    if (status == HYPAR_OK)
        status = hypar_search(&t->found, t->graph, t->machine, &how, err);
    if (status == HYPAR_OK)
        t->plan = hypar_found_plan(t->found);
    return status;
}

static enum hypar_status read_inputs(struct traced *t, struct hypar_error *err)
{
    const char *operand = t->args->operand[0];
    enum hypar_status status;
    if (opt_is_of_format(operand, "hypar-plan/")) {
        status = opt_read_plan(t->args, operand, NULL, &t->own, err);
        t->plan = t->own;
    } else {
        status = plan_of_model(t, err);
    }
    if (status == HYPAR_OK)
        status = hypar_measured_step_read(&t->step, t->args->measured, t->plan, err);
    if (status == HYPAR_OK)
        status = hypar_simulate(&t->sim, t->plan, NULL, err);
    return status;
}

/* Continue an existing profile file, if its times are PyTorch's. */
static enum hypar_status open_profile(struct traced *t, struct hypar_output *out,
                                      struct hypar_error *err)
{
    const char *path = t->args->output;
    TRY(hypar_output_open(out, path, err));
    if (access(path, R_OK) != 0) {
        t->profile = hypar_profile_new();
        return HYPAR_OK;
    }
    TRY(hypar_profile_read(&t->profile, path, err));
    const struct hypar_profile_machine *before = hypar_profile_info(t->profile).machine;
    if (!before || strcmp(before->kernels, kernels) == 0)
        return HYPAR_OK;
    snprintf(err->text, sizeof err->text,
             "%.120s: measured with kernels %.80s; remove it, or -o another", path,
             before->kernels);
    return HYPAR_INVALID;
}

static void set_machine(struct traced *t, const struct hypar_measured_added *added)
{
    const struct hypar_machine *machine = hypar_plan_machine(t->plan);
    const char *device = hypar_machine_device(machine, 0)->name;
    bool local = strcmp(device, "local") == 0;
    struct hypar_profile_machine at = {
        .processor = local           ? hypar_local_processor()
                     : added->device ? added->device
                                     : device,
        .kernels = kernels,
        .cores = local ? hypar_local_all_cores() : 1,
        .ranks = hypar_machine_device_count(machine),
        .threads = opt_threads(t->args),
    };
    hypar_profile_set_machine(t->profile, &at);
}

/* The measured time that no operator of the graph has, without rounding errors. */
static double not_matched_s(const struct hypar_measured_added *added)
{
    double left_s = added->computed_s - added->operators_s;
    return added->other_s + (left_s > 1e-7 * added->computed_s + 1e-11 ? left_s : 0);
}

static void report(const struct traced *t, const struct hypar_measured_added *added)
{
    char step[32], in[32], update[32], other[32];
    if (opt_format(t->args) == HYPAR_JSON) {
        printf("{\"calls\": %d, \"added\": %d, \"steps\": %lld, \"on_device\": %s, \"step_s\": "
               "%.9g, \"computed_s\": %.9g, \"operators_s\": %.9g, \"update_s\": %.9g, "
               "\"other_s\": %.9g}\n",
               hypar_profile_info(t->profile).n_passes, added->passes, (long long)added->steps,
               added->on_device ? "true" : "false", added->step_s, added->computed_s,
               added->operators_s, added->update_s, added->other_s);
        return;
    }
    if (t->args->quiet)
        return;
    printf("%s: %d calls known, %d from this trace\n", t->args->output,
           hypar_profile_info(t->profile).n_passes, added->passes);
    printf("%lld steps of %s: operators %s, update %s, not matched %s\n",
           (long long)added->steps,
           hypar_format_quantity(step, added->step_s, HYPAR_UNIT_SECONDS),
           hypar_format_quantity(in, added->operators_s, HYPAR_UNIT_SECONDS),
           hypar_format_quantity(update, added->update_s, HYPAR_UNIT_SECONDS),
           hypar_format_quantity(other, not_matched_s(added), HYPAR_UNIT_SECONDS));
}

static enum hypar_status add_trace(struct traced *t, struct hypar_error *err)
{
    struct hypar_measured_added added;
    struct hypar_output out;
    enum hypar_status status = open_profile(t, &out, err);
    if (status == HYPAR_OK) {
        status = hypar_measured_step_add(t->step, t->sim, t->profile, &added, err);
        opt_in_file(t->args->measured, status, err);
    }
    if (status == HYPAR_OK) {
        set_machine(t, &added);
        hypar_profile_write(t->profile, out.file);
    }
    status = opt_close(&out, status, err);
    if (status == HYPAR_OK)
        report(t, &added);
    return status;
}

enum hypar_status profile_trace(const struct args *args, struct hypar_error *err)
{
    struct traced t = { .args = args };
    if (!args->n_operands || !args->output)
        return opt_usage(err, "profile: --measured needs %s",
                         args->n_operands ? "-o FILE" : "a model or a plan");
    if (args->links || args->planner)
        return opt_usage(err, "profile: --measured does not go with --%s",
                         args->links ? "links" : "planner");
    enum hypar_status status = read_inputs(&t, err);
    if (status == HYPAR_OK)
        status = add_trace(&t, err);
    hypar_profile_free(t.profile);
    hypar_measured_step_free(t.step);
    hypar_sim_free(t.sim);
    hypar_plan_free(t.own);
    hypar_found_free(t.found);
    hypar_machine_free(t.machine);
    hypar_graph_free(t.graph);
    return status;
}
