/* The modules of a PyTorch model, from the names of operators. */
#include "graph/modules.h"

#include <string.h>

const char *hp_last_part(const char *name)
{
    const char *dot = strrchr(name, '.');
    return dot ? dot + 1 : name;
}

/* Is `part` the kind of an operator, "add" or "add_2", behind the path of its module? */
static bool is_kind(const char *part, const char *kind)
{
    size_t length = strlen(kind);
    if (strncmp(part, kind, length) != 0)
        return false;
    part += length;
    if (*part == '\0')
        return true;
    size_t digits = *part == '_' ? strspn(part + 1, "0123456789") : 0;
    return digits > 0 && part[1 + digits] == '\0';
}

bool hp_is_module(const struct hypar_graph *graph, int op)
{
    const struct op *node = &graph->ops[op];
    if (strcmp(node->name, "loss") == 0)
        return false;
    if (graph->n_modules > 0)
        return hp_table_get(&graph->module_at, node->name, strlen(node->name)) >= 0;
    for (int o = 0; o < node->nest->n_inputs; o++) {
        int t = node->tensor[o];
        const char *name = t >= 0 ? graph->tensors[t].name : "";
        size_t length = strlen(node->name);
        if (t >= 0 && graph->tensors[t].kind == TENSOR_PARAM &&
            strncmp(name, node->name, length) == 0 && hp_last_part(name) == name + length + 1)
            return true;
    }
    return !is_kind(hp_last_part(node->name), hp_op_kind(graph, op));
}

/* The length of the module path in an operator's name. */
static size_t module_length(const struct hypar_graph *graph, int op)
{
    const char *name = graph->ops[op].name, *last = hp_last_part(name);
    if (hp_is_module(graph, op))
        return strlen(name);
    return last > name ? (size_t)(last - name) - 1 : 0;
}

static struct module new_module(const char *path, size_t length, size_t begin)
{
    size_t digits = strspn(path + begin, "0123456789");
    return (struct module){ .path = path,
                            .length = length,
                            .parent = -1,
                            .first = -1,
                            .numbered = digits > 0 && digits == length - begin };
}

/* The module of a path; it and the modules around it are added if they are new. -1: the model
 * itself. */
static int find_module(struct modules *m, struct table *known, struct arena *arena,
                       const char *path, size_t length)
{
    int inner = -1, first = -1;
    while (length > 0) {
        int found = hp_table_put(known, arena, path, length, m->n);
        bool is_new = found == m->n;
        first = inner < 0 ? found : first;
        if (inner >= 0)
            m->module[inner].parent = found;
        if (!is_new)
            break;
        size_t begin = length;
        while (begin > 0 && path[begin - 1] != '.')
            begin--;
        m->module = GROW(arena, struct module, m->module, m->n, &m->capacity);
        m->module[m->n++] = new_module(path, length, begin);
        length = begin > 0 ? begin - 1 : 0;
        inner = found;
    }
    return first;
}

struct modules hp_find_modules(const struct hypar_graph *graph, struct arena *arena)
{
    struct modules m = { .of_op = NEW(arena, int, graph->n_ops) };
    struct table known = { 0 };
    for (int op = 0; op < graph->n_ops; op++) {
        size_t length = module_length(graph, op);
        int own = find_module(&m, &known, arena, graph->ops[op].name, length);
        m.of_op[op] = own;
        for (int i = own; i >= 0; i = m.module[i].parent) {
            m.module[i].first = m.module[i].first < 0 ? op : m.module[i].first;
            m.module[i].last = op;
        }
        if (own >= 0 && graph->n_modules == 0)
            m.module[own].calls = 1;
    }
    for (int i = 0; i < graph->n_modules; i++) {
        int found = hp_table_get(&known, graph->modules[i], strlen(graph->modules[i]));
        if (found >= 0)
            m.module[found].calls++;
    }
    return m;
}

int *hp_find_layers(const struct hypar_graph *graph, struct arena *arena)
{
    struct modules m = hp_find_modules(graph, arena);
    int *layer_of = NEW(arena, int, graph->n_ops);
    for (int op = 0; op < graph->n_ops; op++) {
        layer_of[op] = graph->n_modules > 0 ? hp_unit_of(&m, op) : -1;
        for (int i = graph->n_modules > 0 ? -1 : m.of_op[op]; i >= 0; i = m.module[i].parent)
            layer_of[op] = m.module[i].numbered ? i : layer_of[op];
    }
    return layer_of;
}

int hp_unit_of(const struct modules *m, int op)
{
    int unit = -1;
    for (int i = m->of_op[op]; i >= 0; i = m->module[i].parent)
        if (m->module[i].numbered && m->module[i].calls > 0)
            unit = i;
    return unit;
}
