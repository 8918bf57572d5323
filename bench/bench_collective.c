/* What it takes to work out the ways of a collective: the search asks for many groups.
 *
 *     bench_collective       prints one line per machine, kind and size of group */
#include "base/arena.h"
#include "bench/bench.h"
#include "cost/collective.h"

#include <stdio.h>

/* The best of several: what the code needs, not what the computer was doing. */
static void measure(const struct hypar_machine *machine, const struct comm_group *group)
{
    double best_s = 1e9, end_s = wall_s() + .05;
    int ways = 0, links = 0;
    do {
        struct arena arena = { 0 };
        double start_s = wall_s();
        const struct comm_model *model = hp_comm_model(&arena, machine, group);
        double time_s = wall_s() - start_s;
        best_s = time_s < best_s ? time_s : best_s;
        ways = model->n_ways;
        links = hp_comm_best_way(model, 1e6)->n_links;
        hp_arena_free(&arena);
    } while (wall_s() < end_s);
    printf("%-22s %-14s %5d devices  %2d ways  %7d links  %10.2f us\n",
           hypar_machine_word(machine), hp_comm_text(group->kind), group->n_devices, ways,
           links, 1e6 * best_s);
}

int main(int argc, char **argv)
{
    take_words(argc, argv, 0, "");
    static const char *const words[] = { "cluster:128x8,nics=8", "torus:32x32", "full:1024",
                                         "htree:1024" };
    static const enum comm_kind kinds[] = { COMM_ALL_REDUCE, COMM_ALL_GATHER, COMM_ALL_TO_ALL };
    static const int sizes[] = { 2, 4, 8, 16, 64, 1024 };
    static int device[1024];
    for (int i = 0; i < 1024; i++)
        device[i] = i;
    for (size_t w = 0; w < sizeof words / sizeof *words; w++) {
        struct hypar_machine *machine;
        if (hypar_machine_read(&machine, words[w], NULL) != HYPAR_OK)
            return 1;
        for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++)
            for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++)
                measure(machine, &(struct comm_group){ kinds[k], sizes[s], device, 0 });
        hypar_machine_free(machine);
    }
    return 0;
}
