/* Plan VGG-16 on 16 devices, simulate a step, and print how long it takes and what it moves.
 *
 *     cc plan.c $(pkg-config --cflags --libs hypar) -o plan && ./plan */
#include <hypar/hypar.h>

static int fail(enum hypar_status status, const struct hypar_error *err)
{
    fprintf(stderr, "%s\n", err->text);
    return hypar_status_exit_code(status);
}

int main(void)
{
    struct hypar_error err;
    struct hypar_graph *graph = NULL;
    struct hypar_machine *machine = NULL;
    struct hypar_found *found = NULL;
    struct hypar_sim *sim = NULL;
    struct hypar_import_options batch = { .batch = 512 };
    struct hypar_search_options how = { .planner = "hypar", .joint = true };

    enum hypar_status status = hypar_import(&graph, "vgg16", &batch, &err);
    if (status == HYPAR_OK)
        status = hypar_machine_read(&machine, "cluster:2x8,device=a100", &err);
    if (status == HYPAR_OK)
        status = hypar_search(&found, graph, machine, &how, &err);
    if (status == HYPAR_OK)
        status = hypar_simulate(&sim, hypar_found_plan(found), NULL, &err);
    if (status == HYPAR_OK)
        printf("%.3g GB sent in a step of %.3g ms\n", hypar_sim_summary(sim).comm_bytes / 1e9,
               hypar_sim_summary(sim).step_s * 1e3);
    hypar_sim_free(sim);
    hypar_found_free(found);
    hypar_machine_free(machine);
    hypar_graph_free(graph);
    return status == HYPAR_OK ? 0 : fail(status, &err);
}
