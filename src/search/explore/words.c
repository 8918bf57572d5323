/* Parses the lists that say what to explore. */
#include <string.h>

#include "search/explore/explore.h"

enum hypar_status hp_explore_list(struct arena *arena, const char *what, const char *text,
                                  char ***items, int *n, struct hypar_error *err)
{
    int capacity = 0;
    *items = NULL;
    *n = 0;
    while (text) {
        size_t length = strcspn(text, ",");
        if (!length)
            return hp_fail(err, HYPAR_USAGE, "%s: empty item, expected a list such as a,b,c",
                           what);
        *items = GROW(arena, char *, *items, *n, &capacity);
        (*items)[(*n)++] = hp_arena_strndup(arena, text, length);
        text = text[length] ? text + length + 1 : NULL;
    }
    return HYPAR_OK;
}

enum hypar_status hp_explore_level(const struct site *site, const char *what, const char *word,
                                   int *level, struct hypar_error *err)
{
    int n_levels = site->problem.n_levels;
    for (*level = 0; *level < n_levels; ++*level) {
        char name[16];
        snprintf(name, sizeof name, "H%d", *level + 1);
        if (strcmp(name, word) == 0)
            return HYPAR_OK;
    }
    if (!n_levels)
        return hp_fail(err, HYPAR_INVALID, "%s: '%.20s': %s is one device and has no levels",
                       what, word, site->text.word);
    return hp_fail(err, HYPAR_INVALID, "%s: '%.20s' is no level of %s, expected H1%s%.0d", what,
                   word, site->text.word, n_levels > 1 ? " to H" : "",
                   n_levels > 1 ? n_levels : 0);
}

enum hypar_status hp_explore_layer(const struct hypar_exploration *e, const char *name,
                                   int *layer, struct hypar_error *err)
{
    const struct layered *l = e->layered;
    for (*layer = 0; *layer < l->n_layers; ++*layer)
        if (strcmp(e->graph->ops[l->node[l->layer[*layer]].op].name, name) == 0)
            return HYPAR_OK;
    bool known = hypar_graph_find_op(e->graph, name) >= 0;
    return hp_fail(err, HYPAR_INVALID,
                   "layers: '%.40s' is %s of %s, expected a weighted layer such as '%.40s'",
                   name, known ? "an operator without weights" : "no operator", e->graph->name,
                   l->n_layers ? e->graph->ops[l->node[l->layer[0]].op].name : "none");
}

/* The node's own type for a digit, or -1. */
static int type_of_digit(const struct layer_node *node, char digit)
{
    static const unsigned means[] = { 1u << TYPE_I, 1u << TYPE_II | 1u << TYPE_CHANNEL,
                                      1u << TYPE_III };
    unsigned types = digit >= '0' && digit <= '2' ? node->types & means[digit - '0'] : 0;
    for (int t = 0; t < TYPE_COUNT; t++)
        if (types >> t & 1)
            return t;
    return -1;
}

enum hypar_status hp_explore_digits(const struct hypar_exploration *e, const char *what,
                                    const char *digits, enum layer_type *types,
                                    struct hypar_error *err)
{
    const struct layered *l = e->layered;
    int n = (int)strlen(digits);
    if (n != l->n_layers)
        return hp_fail(err, HYPAR_INVALID,
                       "%s: '%.60s' has %d digits, expected %d: one for each weighted layer of "
                       "%s",
                       what, digits, n, l->n_layers, e->graph->name);
    for (int i = 0; i < n; i++) {
        const struct layer_node *node = &l->node[l->layer[i]];
        int type = type_of_digit(node, digits[i]);
        if (type < 0)
            return hp_fail(err, HYPAR_INVALID,
                           "%s: '%c' for layer '%.40s', expected 0 (dp)%s%s", what, digits[i],
                           e->graph->ops[node->op].name,
                           node->types & (1u << TYPE_II | 1u << TYPE_CHANNEL) ? ", 1 (mp)" : "",
                           node->types & 1u << TYPE_III ? ", 2 (III)" : "");
        types[l->layer[i]] = (enum layer_type)type;
    }
    return HYPAR_OK;
}
