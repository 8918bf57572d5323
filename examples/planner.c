/* A planner of one's own, by delta simulation: begins with data parallelism, splits one
 * operator after another otherwise, at random, and keeps what makes the step shorter.
 *
 *     cc -shared -fPIC planner.c $(pkg-config --cflags hypar) -o planner.so
 *     hypar compare vgg16 --on cluster:2x8,device=v100 --planner dp,./planner.so */
#include <hypar/search.h>

static int below(uint64_t *random, int n)
{
    *random = *random * 6364136223846793005U + 1442695040888963407U;
    return (int)((*random >> 33) % (uint64_t)n);
}

/* Any operator, over all devices: some along one of its axes, the others along a second one. */
static struct hypar_split draw(uint64_t *random, const struct hypar_graph *graph, int devices)
{
    struct hypar_split split = { .op = below(random, hypar_graph_info(graph).n_ops) };
    int parts = 1 + below(random, devices);
    while (devices % parts)
        parts--;
    for (int i = 0; i < 2; i++, parts = devices / parts) {
        int a = below(random, hypar_graph_op(graph, split.op).n_axes);
        struct hypar_axis axis = hypar_graph_axis(graph, split.op, a);
        if (axis.splittable && axis.extent >= parts)
            split.degree[a] = parts;
    }
    return split;
}

static enum hypar_status plan(struct hypar_plan **out, const struct hypar_graph *graph,
                              const struct hypar_machine *machine,
                              const struct hypar_search_options *options, void *who,
                              struct hypar_error *err)
{
    (void)who;
    struct hypar_layout dp = { .data = hypar_machine_device_count(machine) };
    struct hypar_delta *delta = NULL;
    uint64_t random = (uint64_t)options->seed;
    int64_t n = options->proposals ? options->proposals : 100 * hypar_graph_info(graph).n_ops;
    struct hypar_search_progress done = { 0 };
    *out = hypar_plan_new(graph, machine, options);
    enum hypar_status status = hypar_plan_set_layout(*out, &dp, err);
    if (status == HYPAR_OK)
        status = hypar_delta_begin(&delta, *out, options->simulation, err);
    while (status == HYPAR_OK && done.proposals < n && !(options->stop && *options->stop)) {
        struct hypar_split change = draw(&random, graph, dp.data);
        double best_s = hypar_delta_step_s(delta), step_s;
        if (hypar_delta_propose(delta, &change, 1, best_s, &step_s, NULL) == HYPAR_OK &&
            step_s <= best_s) {
            hypar_delta_accept(delta);
            done.accepted++;
        }
        done.proposals++;
        if (done.proposals % 100 == 0 || done.proposals == n) {
            done.best_s = hypar_delta_step_s(delta);
            options->progress(options->who, &done);
        }
    }
    hypar_plan_free(*out);
    *out = status == HYPAR_OK ? hypar_plan_copy(hypar_delta_plan(delta)) : NULL;
    hypar_delta_free(delta);
    return status;
}

HYPAR_API const struct hypar_planner hypar_planner_plugin = {
    HYPAR_ABI_VERSION,      .name = "climb", .summary = "random changes that shorten the step",
    .takes = "--proposals", .plan = plan,
};
