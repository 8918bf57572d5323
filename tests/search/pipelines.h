/* What the tests of pipelines share: models, machines, a search that must succeed. Include
 * cmocka.h before. */
#ifndef TESTS_SEARCH_PIPELINES_H
#define TESTS_SEARCH_PIPELINES_H

#include <math.h>

#include <hypar/search.h>

static inline struct hypar_machine *machine_of(const char *word)
{
    struct hypar_machine *machine;
    struct hypar_error err;
    if (hypar_machine_read(&machine, word, &err))
        fail_msg("%s", err.text);
    return machine;
}

static inline struct hypar_graph *graph_of(const char *model)
{
    struct hypar_graph *graph;
    struct hypar_error err;
    if (hypar_import(&graph, model, NULL, &err))
        fail_msg("%s", err.text);
    return graph;
}

static inline struct hypar_found *search(const struct hypar_graph *graph,
                                         const struct hypar_machine *machine,
                                         struct hypar_search_options options)
{
    struct hypar_found *found;
    struct hypar_error err;
    options.planner = options.planner ? options.planner : "pipedream";
    if (hypar_search(&found, graph, machine, &options, &err))
        fail_msg("%s", err.text);
    return found;
}

static inline void assert_near(double x, double y)
{
    if (!(fabs(x - y) <= 1e-9 * fmax(fabs(x), fabs(y))))
        fail_msg("%.17g, expected %.17g", x, y);
}

#endif /* TESTS_SEARCH_PIPELINES_H */
