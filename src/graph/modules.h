/* graph/modules.h - the modules of a PyTorch model, from the names of operators, which are
 * paths of modules. Internal.
 *
 * An operator of a module that has several has its kind behind the path: "layers.0.add_2". */
#ifndef GRAPH_MODULES_H
#define GRAPH_MODULES_H

#include "graph/graph.h"

/* The path of a module that has operators under it. */
struct module {
    const char *path; /* `length` characters of an operator's name */
    size_t length;
    int parent;      /* the module that contains it; -1: the model */
    int first, last; /* operators under it */
    bool numbered;   /* its name is a number: it is one of a list */
    int calls;       /* how often; where the graph does not say, 1 of those that are an operator
                        or have one beside their modules. Lists of modules are not called */
    bool cut;        /* a stage begins where it begins or ends */
    bool kept; /* an operator under it is not computed again and read by no other module */
};

struct modules {
    int n, capacity;
    struct module *module;
    int *of_op; /* by operator; -1: the model */
};

struct modules hp_find_modules(const struct hypar_graph *graph, struct arena *arena);

/* Is the operator a module of its own? */
bool hp_is_module(const struct hypar_graph *graph, int op);

/* The repeated layer that an operator is in, whose parameters are gathered, and summed,
 * together: the outermost module that is one of a list; -1: none. */
int hp_unit_of(const struct modules *modules, int op);

/* Of a path, what follows the last dot. */
const char *hp_last_part(const char *name);

#endif /* GRAPH_MODULES_H */
