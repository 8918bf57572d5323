/* bench.h - what several benchmarks need: a clock, an end to errors, a planner's plan. */
#ifndef BENCH_BENCH_H
#define BENCH_BENCH_H

#include <hypar/search.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

/* The process's own time on its core: what else the computer does is left out. */
static inline double now_s(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* For what runs on several cores. */
static inline double wall_s(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* Of the process so far. */
static inline double peak_memory_mb(void)
{
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    return (double)usage.ru_maxrss * 1024 / 1e6;
}

static inline void must(enum hypar_status status, const struct hypar_error *err)
{
    if (status == HYPAR_OK)
        return;
    fprintf(stderr, "bench: %s\n", err->text);
    exit(hypar_status_exit_code(status));
}

/* A program's arguments: at most `most` words, and no options. Others end it, in one line and
 * with exit code 2; --help tells what there is. */
static inline void take_words(int argc, char **argv, int most, const char *usage)
{
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--help") == 0) {
            printf("%s%s%s\n", argv[0], *usage ? " " : "", usage);
            exit(0);
        }
        if (argv[i][0] == '-' || i > most) {
            fprintf(stderr, "%s: '%s', expected %s\n", argv[0], argv[i],
                    *usage ? usage : "no arguments");
            exit(2);
        }
    }
}

/* A model on a machine, and what a planner makes of it; whatever the memory. */
struct found_plan {
    struct hypar_graph *graph;
    struct hypar_machine *machine;
    struct hypar_found *found;
};

static inline struct found_plan find_plan(const char *model, int64_t batch, const char *machine,
                                          const char *planner)
{
    struct found_plan f;
    struct hypar_error err;
    struct hypar_import_options import = { .batch = batch };
    struct hypar_search_options search = { .planner = planner, .memory_bytes = 1e15 };
    must(hypar_import(&f.graph, model, &import, &err), &err);
    must(hypar_machine_read(&f.machine, machine, &err), &err);
    must(hypar_search(&f.found, f.graph, f.machine, &search, &err), &err);
    return f;
}

static inline void free_found(struct found_plan *f)
{
    hypar_found_free(f->found);
    hypar_machine_free(f->machine);
    hypar_graph_free(f->graph);
}

#endif /* BENCH_BENCH_H */
