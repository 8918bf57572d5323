/* What a machine costs: time to read its word, memory, routes answered in a second.
 *
 *     bench_machine          prints one line per machine */
#include "base/random.h"
#include "bench/bench.h"

#include <hypar/machine.h>

#include <stdio.h>
#include <sys/resource.h>

static long peak_memory_kib(void)
{
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    return usage.ru_maxrss;
}

/* The best of several: what the code needs, not what the computer was doing. */
static double read_s(const char *word)
{
    double best_s = 1e9;
    for (int i = 0; i < 20; i++) {
        struct hypar_machine *machine;
        double start_s = wall_s();
        if (hypar_machine_read(&machine, word, NULL) != HYPAR_OK)
            return -1;
        double time_s = wall_s() - start_s;
        best_s = time_s < best_s ? time_s : best_s;
        hypar_machine_free(machine);
    }
    return best_s;
}

static void measure(const char *word)
{
    enum { ROUTES = 200000, MAX_LINKS = 2048 };
    int links[MAX_LINKS];
    struct hypar_machine *machine;
    struct random random = { 1 };
    double time_s = read_s(word);
    if (hypar_machine_read(&machine, word, NULL) != HYPAR_OK) {
        printf("%-32s cannot be read\n", word);
        return;
    }
    int n = hypar_machine_device_count(machine);
    double start_s = wall_s();
    long long hops = 0;
    for (int i = 0; i < ROUTES; i++) {
        int from = (int)hp_random_below(&random, n), to = (int)hp_random_below(&random, n);
        hops += hypar_machine_route(machine, from, to, links, MAX_LINKS);
    }
    double routes_s = wall_s() - start_s;
    struct hypar_level levels[HYPAR_MAX_LEVELS];
    start_s = wall_s();
    int n_levels = hypar_machine_levels(machine, levels);
    printf("%-32s %8d devices %8d links  read %7.1f us  %6.2f M routes/s (%.1f links each)  "
           "%d levels in %.1f us  peak memory %ld KiB\n",
           word, n, hypar_machine_link_count(machine), 1e6 * time_s, ROUTES / routes_s / 1e6,
           (double)hops / ROUTES, n_levels, 1e6 * (wall_s() - start_s), peak_memory_kib());
    hypar_machine_free(machine);
}

int main(int argc, char **argv)
{
    take_words(argc, argv, 0, "");
    static const char *const words[] = {
        "htree:16",        "cluster:4x8",    "full:1024",
        "torus:64x64",     "torus:16x16x16", "cluster:512x8,nics=8",
        "torus:1024x1024", "htree:1048576",  "examples/machines/dgx1-v100.json",
    };
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++)
        measure(words[i]);
    return 0;
}
