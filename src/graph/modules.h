/* graph/modules.h - the modules of a PyTorch model, found from the names of operators, which
 * are paths of modules. Internal.
 *
 * In a module with several operators, the operator's kind follows the path:
 * "layers.0.add_2". */
#ifndef GRAPH_MODULES_H
#define GRAPH_MODULES_H

#include "graph/graph.h"

/* The path of a module that has operators under it. */
struct module {
    const char *path; /* `length` characters of an operator's name */
    size_t length;
    int parent;      /* the module that contains it; -1: the model */
    int first, last; /* operators under it */
    bool numbered;   /* its name is a number: it is an element of a list */
    int calls; /* number of calls. If the graph does not say: 1 for a module that is an operator
                  or has one beside its modules. Lists of modules are not called */
    bool cut;  /* a stage begins where the module begins or ends */
    bool
        kept; /* an operator under it is not recomputed, and no other module reads its output */
};

struct modules {
    int n, capacity;
    struct module *module;
    int *of_op; /* by operator; -1: the model */
};

struct modules hp_find_modules(const struct hypar_graph *graph, struct arena *arena);

/* Is the operator a module by itself? */
bool hp_is_module(const struct hypar_graph *graph, int op);

/* The repeated layer of an operator: the outermost module that is an element of a list; -1:
 * none. Its parameters are gathered and summed together. */
int hp_unit_of(const struct modules *modules, int op);

/* The same where nobody tells which modules are called: the outermost module whose name is a
 * number, by operator; -1: none. */
int *hp_find_layers(const struct hypar_graph *graph, struct arena *arena);

/* The part of a path behind the last dot. */
const char *hp_last_part(const char *name);

#endif /* GRAPH_MODULES_H */
