/* The planner of planner.c beside dp and the random search flexflow: steps, and processor
 * time for a proposal. Exits with 1 if it is not better than dp everywhere.
 *
 *     cc try_planner.c planner.c $(pkg-config --cflags --libs hypar) -o try_planner
 *     ./try_planner cluster:2x8,device=v100 4000 vgg16 alexnet */
#include <hypar/hypar.h>
#include <stdlib.h>
#include <time.h>

extern const struct hypar_planner hypar_planner_plugin;

/* What a planner's plan takes a step, after so many proposals; *took_s: of the processor. */
static enum hypar_status search(const struct hypar_graph *graph,
                                const struct hypar_machine *machine, const char *planner,
                                int64_t proposals, double *step_s, double *took_s,
                                struct hypar_error *err)
{
    struct hypar_sim_options simulation = { 0 };
    struct hypar_search_options how = {
        .planner = planner, .proposals = proposals, .simulation = &simulation, .threads = 1
    };
    struct hypar_found *found;
    clock_t began = clock();
    enum hypar_status status = hypar_search(&found, graph, machine, &how, err);
    if (status != HYPAR_OK)
        return status;
    *took_s = (double)(clock() - began) / CLOCKS_PER_SEC;
    *step_s = hypar_found_simulated(found)->step.step_s;
    hypar_found_free(found);
    return HYPAR_OK;
}

/* The step after `n` proposals, and the time of one: what twice as many take longer. */
static enum hypar_status time_proposals(const struct hypar_graph *graph,
                                        const struct hypar_machine *machine,
                                        const char *planner, int64_t n, double *step_s,
                                        double *each_s, struct hypar_error *err)
{
    double once_s = 0, twice_s = 0, longer_s;
    enum hypar_status status = search(graph, machine, planner, n, step_s, &once_s, err);
    if (status == HYPAR_OK)
        status = search(graph, machine, planner, 2 * n, &longer_s, &twice_s, err);
    *each_s = (twice_s - once_s) / (double)n;
    return status;
}

static enum hypar_status compare(const char *model, const struct hypar_machine *machine,
                                 int64_t proposals, bool *better, struct hypar_error *err)
{
    struct hypar_graph *graph;
    double dp_s, took_s, mine_s, mine_each_s, theirs_s, theirs_each_s;
    enum hypar_status status = hypar_import(&graph, model, NULL, err);
    if (status != HYPAR_OK)
        return status;
    const char *name = hypar_planner_plugin.name;
    status = search(graph, machine, "dp", 0, &dp_s, &took_s, err);
    if (status == HYPAR_OK)
        status = time_proposals(graph, machine, name, proposals, &mine_s, &mine_each_s, err);
    if (status == HYPAR_OK)
        status = time_proposals(graph, machine, "flexflow", proposals, &theirs_s,
                                &theirs_each_s, err);
    if (status == HYPAR_OK) {
        printf("%-10s dp %.4g ms; %s %.4g ms, %.3g us a proposal; flexflow %.4g ms, %.3g us: "
               "%.2f times as long\n",
               model, dp_s * 1e3, name, mine_s * 1e3, mine_each_s * 1e6, theirs_s * 1e3,
               theirs_each_s * 1e6, mine_each_s / theirs_each_s);
        *better &= mine_s < dp_s;
    }
    hypar_graph_free(graph);
    return status;
}

int main(int argc, char **argv)
{
    struct hypar_error err;
    struct hypar_machine *machine = NULL;
    bool better = true;
    if (argc < 4 || atoll(argv[2]) < 1) {
        fputs("try_planner MACHINE PROPOSALS MODEL ...\n", stderr);
        return 2;
    }
    enum hypar_status status = hypar_planner_register(&hypar_planner_plugin, &err);
    if (status == HYPAR_OK)
        status = hypar_machine_read(&machine, argv[1], &err);
    for (int i = 3; i < argc && status == HYPAR_OK; i++)
        status = compare(argv[i], machine, atoll(argv[2]), &better, &err);
    if (status != HYPAR_OK)
        fprintf(stderr, "%s\n", err.text);
    hypar_machine_free(machine);
    return status == HYPAR_OK && !better ? 1 : hypar_status_exit_code(status);
}
