/* Makes short names of layers, and of operators within them. */
#include "plan/structure/names.h"

#include <string.h>

static bool is_end(char c)
{
    return c == '\0' || c == '.' || c == '/';
}

size_t hp_prefix_length(const struct hypar_graph *graph, int from, int to)
{
    const char *first = graph->ops[from].name;
    size_t n = strlen(first);
    for (int op = from + 1; op < to; op++) {
        const char *name = graph->ops[op].name;
        size_t same = 0;
        while (same < n && name[same] == first[same])
            same++;
        n = same;
        while (n > 0 && !(is_end(name[n]) && is_end(first[n])))
            n--;
    }
    while (n > 0 && first[n] == '\0') /* each operator must keep a non-empty name */
        for (n--; n > 0 && !is_end(first[n]);)
            n--;
    return n;
}

size_t hp_module_length(const struct hypar_graph *graph, int from, int to)
{
    const char *first = graph->ops[from].name;
    size_t n = 0;
    while (!is_end(first[n]) || (n == 0 && first[n]))
        n++;
    if (!first[n])
        return 0;
    for (int op = from + 1; op < to; op++)
        if (strncmp(graph->ops[op].name, first, n) != 0 || !is_end(graph->ops[op].name[n]))
            return 0;
    return n;
}

int hp_shared_parts(const struct hypar_graph *graph, int a, int b)
{
    const char *x = graph->ops[a].name, *y = graph->ops[b].name;
    int n = 0;
    for (size_t i = 0; x[i] == y[i] || (is_end(x[i]) && is_end(y[i])); i++) {
        n += is_end(x[i]);
        if (!x[i] || !y[i])
            break;
    }
    return n;
}

/* The length of the common end of the names, beginning at a part of each name. */
static size_t suffix_length(const struct hypar_graph *graph, int from, int to)
{
    const char *first = graph->ops[from].name, *end = first + strlen(first);
    size_t n = strlen(first);
    for (int op = from + 1; op < to; op++) {
        const char *name = graph->ops[op].name;
        size_t length = strlen(name), same = 0;
        while (same < n && same < length && name[length - same - 1] == *(end - same - 1))
            same++;
        n = same;
    }
    while (n > 0 && (n == strlen(first) || !is_end(*(end - n))))
        n--;
    return n;
}

struct short_names hp_short_names(const struct hypar_graph *graph, int from, int to)
{
    struct short_names names = { 0 };
    size_t prefix = hp_prefix_length(graph, from, to);
    if (prefix)
        names.prefix = prefix + 1;
    else if (to - from > 1)
        names.suffix = suffix_length(graph, from, to);
    return names;
}

static char *short_name(struct arena *arena, const struct hypar_graph *graph,
                        struct short_names names, int op)
{
    const char *name = graph->ops[op].name;
    size_t n = strlen(name);
    if (n <= names.prefix + names.suffix)
        return hp_arena_strdup(arena, name);
    return hp_arena_strndup(arena, name + names.prefix, n - names.prefix - names.suffix);
}

char *hp_ops_name(struct arena *arena, const struct hypar_graph *graph,
                  struct short_names names, int from, int to)
{
    char *first = short_name(arena, graph, names, from);
    if (to - from == 1)
        return first;
    return hp_arena_printf(arena, "%s .. %s", first, short_name(arena, graph, names, to - 1));
}

static char *layer_name(struct arena *arena, const struct hypar_graph *graph, int first,
                        size_t prefix)
{
    return hp_arena_strndup(arena, graph->ops[first].name, prefix);
}

bool hp_layers_named(const struct hypar_graph *graph, int first, int n_ops, int count)
{
    int last = first + (count - 1) * n_ops;
    size_t n = hp_prefix_length(graph, first, first + n_ops),
           m = hp_prefix_length(graph, last, last + n_ops);
    return n && m &&
           (count == 1 || n != m ||
            strncmp(graph->ops[first].name, graph->ops[last].name, n) != 0);
}

char *hp_layers_name(struct arena *arena, const struct hypar_graph *graph, int first, int n_ops,
                     int count)
{
    int last = first + (count - 1) * n_ops;
    if (!hp_layers_named(graph, first, n_ops, count))
        return hp_ops_name(arena, graph, (struct short_names){ 0 }, first, last + n_ops);
    char *name = layer_name(arena, graph, first, hp_prefix_length(graph, first, first + n_ops));
    if (count == 1)
        return name;
    size_t last_prefix = hp_prefix_length(graph, last, last + n_ops);
    return hp_arena_printf(arena, "%s .. %s", name,
                           layer_name(arena, graph, last, last_prefix));
}

/* The number of whole layers of one run from `from` to `to`. */
static int layers_from(const struct plan_structure *s, int from, int to)
{
    const struct run *layers = hp_layers_of(s, from);
    if (!layers || (from - layers->first) % layers->period)
        return 0;
    int end = layers->first + layers->period * layers->count;
    return ((end < to ? end : to) - from) / layers->period;
}

struct range_layers hp_layers_in(const struct plan_structure *s, int from, int to)
{
    struct range_layers sum = { 0 };
    while (from < to) {
        int here = layers_from(s, from, to), n_ops = here ? hp_layers_of(s, from)->period : 1;
        sum.layers += here;
        sum.n_ops += here * n_ops;
        from += here ? here * n_ops : 1;
    }
    return sum;
}

char *hp_range_name(struct arena *arena, const struct plan_structure *s, int from, int to)
{
    const struct hypar_graph *g = s->plan->graph;
    const struct short_names whole = { 0 };
    char *text = hp_arena_strdup(arena, "");
    for (int op = from; op < to;) {
        int n = layers_from(s, op, to), end = op;
        const char *name;
        if (n) {
            end = op + n * hp_layers_of(s, op)->period;
            name = hp_layers_name(arena, g, op, hp_layers_of(s, op)->period, n);
        } else {
            while (end < to && !hp_layers_of(s, end))
                end++;
            if (end < to && !layers_from(s, end, to)) /* the range cuts a layer */
                return hp_ops_name(arena, g, whole, from, to);
            name = hp_ops_name(arena, g, whole, op, end);
        }
        text = hp_arena_printf(arena, "%s%s%s", text, *text ? ", " : "", name);
        op = end;
    }
    return text;
}
