/* Replaces each node that calls a function of the file by the function's own nodes. The
 * caller's tensors and attributes take the place of the function's. */
#include <string.h>

#include "model/onnx/file/file.h"

enum {
    MAX_DEPTH = 32,        /* of calls in calls: a function that calls itself has no end */
    MAX_INLINED = 1 << 18, /* nodes and calls in all: those that double would be too many */
    MAX_NAMES = 1 << 26,   /* bytes of names, which grow with each call */
};

struct inlining {
    struct onnx_file *file;
    struct onnx_node *node;
    int n, capacity;
    int steps;            /* nodes and calls */
    size_t names;         /* bytes */
    struct table by_name; /* functions, by domain and name */
    struct hypar_error *err;
};

/* A call: names of the function's tensors begin with the caller's name, but for those that the
 * caller hands over. */
struct call {
    const struct onnx_function *function;
    const struct onnx_node *caller;
    struct table names; /* to `actual` */
    const char **actual;
    int n;
};

static const char *key_of(struct arena *arena, const char *domain, const char *name)
{
    return hp_arena_printf(arena, "%s\n%s", domain, name);
}

/* The function that a node calls; NULL: it is an operator. */
static const struct onnx_function *find_function(struct inlining *in,
                                                 const struct onnx_node *node)
{
    const char *key = key_of(&in->file->arena, node->domain, node->op);
    int i = hp_table_get(&in->by_name, key, strlen(key));
    return i < 0 ? NULL : &in->file->function[i];
}

static void hand_over(struct inlining *in, struct call *call, const char *formal,
                      const char *actual)
{
    call->actual[call->n] = actual;
    hp_table_put(&call->names, &in->file->arena, formal, strlen(formal), call->n++);
}

static const char *actual_name(struct inlining *in, const struct call *call, const char *name)
{
    int i = *name ? hp_table_get(&call->names, name, strlen(name)) : -1;
    if (i >= 0 || !*name)
        return i >= 0 ? call->actual[i] : name;
    in->names += strlen(call->caller->name) + strlen(name);
    return hp_arena_printf(&in->file->arena, "%s/%s", call->caller->name, name);
}

static const struct onnx_attr *find_attr(const struct call *call, const char *name)
{
    const struct onnx_attr *given = hp_onnx_attr(call->caller, name);
    for (int i = 0; !given && i < call->function->n_defaults; i++)
        if (strcmp(call->function->otherwise[i].name, name) == 0)
            given = &call->function->otherwise[i];
    return given;
}

/* A node of the function with the attributes that this caller gives; others are absent. */
static struct onnx_node as_called(struct inlining *in, const struct call *call,
                                  const struct onnx_node *from)
{
    struct arena *arena = &in->file->arena;
    struct onnx_node node = *from;
    in->names += strlen(call->caller->name) + strlen(from->name);
    node.name = hp_arena_printf(arena, "%s/%s", call->caller->name, from->name);
    node.input = NEW(arena, const char *, from->n_inputs);
    node.output = NEW(arena, const char *, from->n_outputs);
    node.attr = NEW(arena, struct onnx_attr, from->n_attrs);
    node.n_attrs = 0;
    for (int i = 0; i < from->n_inputs; i++)
        node.input[i] = actual_name(in, call, from->input[i]);
    for (int i = 0; i < from->n_outputs; i++)
        node.output[i] = actual_name(in, call, from->output[i]);
    for (int i = 0; i < from->n_attrs; i++) {
        const struct onnx_attr *a = &from->attr[i];
        const struct onnx_attr *given = *a->refers ? find_attr(call, a->refers) : a;
        if (!given)
            continue;
        node.attr[node.n_attrs] = *given;
        node.attr[node.n_attrs++].name = a->name;
    }
    return node;
}

static enum hypar_status add_node(struct inlining *in, const struct onnx_node *node, int depth)
{
    const struct onnx_function *function = find_function(in, node);
    if (in->steps++ == MAX_INLINED || in->names > MAX_NAMES)
        return hp_fail(in->err, HYPAR_UNSUPPORTED,
                       "functions called in full: more than %d nodes and calls, or %d bytes of "
                       "names",
                       MAX_INLINED, MAX_NAMES);
    if (!function) {
        in->node = GROW(&in->file->arena, struct onnx_node, in->node, in->n, &in->capacity);
        in->node[in->n++] = *node;
        return HYPAR_OK;
    }
    if (depth == MAX_DEPTH)
        return hp_fail(in->err, HYPAR_UNSUPPORTED,
                       "function '%.60s': calls in more than %d functions", function->name,
                       MAX_DEPTH);
    struct call call = { .function = function, .caller = node };
    call.actual = NEW(&in->file->arena, const char *, function->n_inputs + function->n_outputs);
    for (int i = 0; i < function->n_inputs; i++)
        hand_over(in, &call, function->input[i], i < node->n_inputs ? node->input[i] : "");
    for (int i = 0; i < function->n_outputs; i++)
        if (i < node->n_outputs && *node->output[i])
            hand_over(in, &call, function->output[i], node->output[i]);
    for (int i = 0; i < function->n_nodes; i++) {
        struct onnx_node inner = as_called(in, &call, &function->node[i]);
        TRY(add_node(in, &inner, depth + 1));
    }
    return HYPAR_OK;
}

enum hypar_status hp_onnx_inline(struct onnx_file *file, struct hypar_error *err)
{
    struct inlining in = { .file = file, .err = err };
    if (!file->n_functions)
        return HYPAR_OK;
    for (int i = 0; i < file->n_functions; i++) {
        const char *key =
            key_of(&file->arena, file->function[i].domain, file->function[i].name);
        hp_table_put(&in.by_name, &file->arena, key, strlen(key), i);
    }
    for (int i = 0; i < file->n_nodes; i++)
        TRY(add_node(&in, &file->node[i], 0));
    file->node = in.node;
    file->n_nodes = in.n;
    return HYPAR_OK;
}
