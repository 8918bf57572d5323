/* Cut points of a network: between repeated layers, else where one activation passes. */
#include "graph/structure/cut_points.h"

static bool may_begin(const struct cut_rule *rule, int op)
{
    return !(rule->inside && rule->inside[op]) && (!rule->borders || rule->borders[op]);
}

static void add_point(struct cut_points *points, int op)
{
    points->first[points->n++] = op;
}

/* Layers ----------------------------------------------------------------------------------- */

/* Do layers take most of the time, so that a network is cut between them alone? */
static bool are_most(const struct repeated_layers *layers, const double *op_s, int n_ops)
{
    double all_s = 0, layers_s = 0;
    int end = layers->first + layers->count * layers->n_ops;
    for (int op = 0; op < n_ops; op++) {
        all_s += op_s[op];
        layers_s += op >= layers->first && op < end ? op_s[op] : 0;
    }
    return layers->count > 1 && layers_s > all_s / 2;
}

/* Layers that begin so many operators later, as many as are alike. */
static struct repeated_layers move_layers(const struct hypar_graph *g,
                                          const struct repeated_layers *layers, int moved)
{
    struct repeated_layers out = *layers;
    int n = layers->n_ops, last = layers->first + (layers->count - 1) * n;
    int op = moved < 0 ? layers->first + moved : last + n; /* the first that is in no layer */
    int end = moved < 0 ? layers->first : last + n + moved;
    for (; op < end; op++) {
        int like = moved < 0 ? op + n : op - n;
        if (op < 0 || op >= g->n_ops || g->ops[op].nest->like != g->ops[like].nest->like)
            break;
    }
    out.first += moved;
    if (op < end) {
        out.first += moved < 0 ? n : 0;
        out.count--;
    }
    return out;
}

/* May a stage begin with each layer but the first? */
static bool may_begin_all(const struct cut_rule *rule, const struct repeated_layers *layers)
{
    for (int i = 1; i < layers->count; i++)
        if (!may_begin(rule, layers->first + i * layers->n_ops))
            return false;
    return true;
}

/* Does a layer begin, or the last one end, with `op`? */
static bool is_layer_border(const struct repeated_layers *layers, int op)
{
    int after = op - layers->first;
    return layers->count > 1 && after >= 0 && after % layers->n_ops == 0 &&
           after <= layers->count * layers->n_ops;
}

/* The cuts -------------------------------------------------------------------------------- */

/* Where one activation alone passes, and a product or a layer begins. Where stages may begin at
 * some operators alone, at each of these that one activation passes. */
static void add_narrow(struct cut_points *points, struct arena *arena,
                       const struct hypar_graph *g, const struct cut_rule *rule,
                       const struct repeated_layers *layers)
{
    const int64_t *crossing = hp_crossing(arena, g, false);
    for (int op = 1; op < g->n_ops; op++) {
        bool begins =
            rule->borders || hp_multiplies(g->ops[op].nest) || is_layer_border(layers, op);
        if (may_begin(rule, op) && (rule->anywhere || (crossing[op] == 1 && begins)))
            add_point(points, op);
    }
}

struct cut_points hp_cut_points(struct arena *arena, const struct hypar_graph *g,
                                const struct cut_rule *rule)
{
    struct repeated_layers layers = hp_repeated_layers(g);
    struct cut_points points = { .n = 1, .first = NEW(arena, int, g->n_ops + 2) };
    int moved, first = layers.first, last = layers.first + layers.count * layers.n_ops;
    bool at_borders = hp_layers_at_borders(&layers, rule->borders, &moved);
    bool most = are_most(&layers, rule->op_s, g->n_ops);
    layers = move_layers(g, &layers, moved);
    points.layers = at_borders && !rule->anywhere && most && may_begin_all(rule, &layers);
    for (int i = 0; i <= layers.count && points.layers; i++) {
        int op = layers.first + i * layers.n_ops;
        bool end = op - moved == first || op - moved == last;
        if (op > 0 && op < g->n_ops && may_begin(rule, op) && (!end || rule->ends))
            add_point(&points, op);
    }
    if (!points.layers)
        add_narrow(&points, arena, g, rule, &layers);
    points.first[points.n] = g->n_ops;
    return points;
}
