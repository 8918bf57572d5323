/* A plan editor: shows the operators of a plan, or splits one of them otherwise and writes the
 * plan that this makes, with what it does to the step.
 *
 *     cc edit_plan.c $(pkg-config --cflags --libs hypar) -o edit_plan
 *     ./edit_plan plan.json
 *     ./edit_plan plan.json fc1 k=16 >changed.json */
#include <hypar/sim.h>
#include <stdlib.h>
#include <string.h>

/* Each operator: how it is split, and who reads what it writes. */
static void show(const struct hypar_plan *plan)
{
    const struct hypar_graph *graph = hypar_plan_graph(plan);
    for (int op = 0; op < hypar_graph_info(graph).n_ops; op++) {
        struct hypar_op about = hypar_graph_op(graph, op);
        printf("%s (%s, %.3g GFLOP):", about.name, about.kind, about.forward_flops / 1e9);
        for (int a = 0; a < about.n_axes; a++)
            if (hypar_graph_axis(graph, op, a).splittable)
                printf(" %s=%d", hypar_graph_axis(graph, op, a).name,
                       hypar_plan_degree(plan, op, a));
        printf(", read by");
        for (int o = 0; o < about.n_operands; o++) {
            struct hypar_operand y = hypar_graph_operand(graph, op, o);
            int n =
                y.written && y.tensor >= 0 ? hypar_graph_tensor(graph, y.tensor).n_readers : 0;
            for (int i = 0; i < n; i++)
                printf(" %s",
                       hypar_graph_op(graph, hypar_graph_reader(graph, y.tensor, i)).name);
        }
        putchar('\n');
    }
}

/* "k=16": that degree of the axis; false: there is no such axis. */
static bool read_degree(struct hypar_split *split, const struct hypar_graph *graph,
                        const char *word)
{
    for (int a = 0; a < hypar_graph_op(graph, split->op).n_axes; a++)
        if (word[0] == hypar_graph_axis(graph, split->op, a).name[0] && word[1] == '=') {
            split->degree[a] = atoi(word + 2);
            return true;
        }
    return false;
}

static enum hypar_status change(struct hypar_plan *plan, const struct hypar_split *split,
                                struct hypar_error *err)
{
    struct hypar_delta *delta;
    double step_s = 0;
    enum hypar_status status = hypar_delta_begin(&delta, plan, NULL, err);
    if (status != HYPAR_OK)
        return status;
    double was_s = hypar_delta_step_s(delta);
    status = hypar_delta_propose(delta, split, 1, 0, &step_s, err);
    if (status == HYPAR_OK)
        status = hypar_plan_set_op(plan, split, err);
    if (status == HYPAR_OK)
        fprintf(stderr, "a step of %.4g ms, before of %.4g ms\n", step_s * 1e3, was_s * 1e3);
    hypar_delta_free(delta);
    return status;
}

int main(int argc, char **argv)
{
    struct hypar_error err;
    struct hypar_plan *plan;
    if (argc < 2 || hypar_plan_read(&plan, argv[1], NULL, &err) != HYPAR_OK) {
        fprintf(stderr, "%s\n",
                argc < 2 ? "edit_plan PLAN [OPERATOR AXIS=DEGREE ...]" : err.text);
        return 2;
    }
    const struct hypar_graph *graph = hypar_plan_graph(plan);
    struct hypar_split split = { .op = argc > 2 ? hypar_graph_find_op(graph, argv[2]) : -1 };
    enum hypar_status status = HYPAR_OK;
    for (int i = 3; i < argc && status == HYPAR_OK; i++)
        if (split.op >= 0 && !read_degree(&split, graph, argv[i])) {
            snprintf(err.text, sizeof err.text, "%s: no axis of %s", argv[i], argv[2]);
            status = HYPAR_USAGE;
        }
    if (argc == 2)
        show(plan);
    else if (status == HYPAR_OK)
        status = change(plan, &split, &err);
    if (argc > 2 && status == HYPAR_OK)
        hypar_plan_write(plan, stdout);
    if (status != HYPAR_OK)
        fprintf(stderr, "%s\n", err.text);
    hypar_plan_free(plan);
    return hypar_status_exit_code(status);
}
