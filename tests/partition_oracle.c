#include "tests/partition_oracle.h"

#include <math.h>
#include <string.h>

/* What types do to a layer's input and output: B(atch), C(hannels), W(hole). */
static const char in_layout[TYPE_COUNT] = { 'B', 'C', 'W', 'C' };
static const char out_layout[TYPE_COUNT] = { 'B', 'W', 'C', 'C' };

/* What a layer still is, and what is left of a tensor between two layers. */
struct state {
    struct layer_sizes *layer;
    double *edge;
};

/* Elements exchanged so that a tensor of one element gets from one layout to the other; two
 * sides: .25 between batch and channel, .5 to have it whole. */
static double convert(const struct partition_problem *p, int level, char from, char to)
{
    double ways = p->ways[level], least = p->least_share[level];
    if (from == to || from == 'W')
        return 0;
    if (least > 0)
        return to == 'W' ? 1 - least : least * (1 - least);
    return to == 'W' ? (ways - 1) / 2 : (ways - 1) / (2 * ways);
}

static double level_cost(const struct partition_problem *p, int level, const struct state *s,
                         const enum layer_type *type)
{
    const struct layered *l = p->layered;
    double sum = 0, others = p->ways[level] - 1;
    for (int n = 0; n < l->n_nodes; n++) {
        if (!l->node[n].weighted)
            continue;
        bool frozen = s->layer[n].frozen > 0 && s->layer[n].frozen == s->layer[n].weight;
        if (type[n] == TYPE_I) /* dW is a partial sum, of what is trained */
            sum += others * (s->layer[n].weight - s->layer[n].frozen);
        if (type[n] == TYPE_II) /* F' is */
            sum += others * s->layer[n].out;
        if (type[n] == TYPE_III && !frozen) /* E is */
            sum += others * s->layer[n].in;
    }
    for (int e = 0; e < l->n_edges; e++) {
        char made = out_layout[type[l->edge[e].from]], read = in_layout[type[l->edge[e].to]];
        sum += s->edge[e] * (convert(p, level, made, read) + convert(p, level, read, made));
    }
    return sum;
}

static void divide(const struct partition_problem *p, int level, struct state *s,
                   const enum layer_type *type)
{
    const struct layered *l = p->layered;
    double ways = p->ways[level];
    for (int n = 0; n < l->n_nodes; n++) {
        if (in_layout[type[n]] != 'W')
            s->layer[n].in /= ways;
        if (out_layout[type[n]] != 'W')
            s->layer[n].out /= ways;
        if (type[n] != TYPE_I) {
            s->layer[n].weight /= ways;
            s->layer[n].frozen /= ways;
        }
    }
    for (int e = 0; e < l->n_edges; e++)
        if (in_layout[type[l->edge[e].to]] != 'W')
            s->edge[e] /= ways;
}

static struct state undivided(struct arena *arena, const struct layered *l)
{
    struct state s = { NEW(arena, struct layer_sizes, l->n_nodes + 1),
                       NEW(arena, double, l->n_edges + 1) };
    for (int n = 0; n < l->n_nodes; n++)
        s.layer[n] = l->node[n].sizes;
    for (int e = 0; e < l->n_edges; e++)
        s.edge[e] = l->edge[e].elements;
    return s;
}

static double cost_of_levels(struct arena *arena, const struct partition_problem *p,
                             const enum layer_type *types, int first, int last,
                             double *level_elements)
{
    struct state s = undivided(arena, p->layered);
    double groups = 1, sum = 0;
    for (int h = 0; h < last; h++) {
        const enum layer_type *type = types + (size_t)h * (size_t)p->layered->n_nodes;
        double elements = h >= first ? level_cost(p, h, &s, type) : 0;
        if (level_elements)
            level_elements[h] = elements;
        sum += groups * elements;
        groups *= p->ways[h];
        divide(p, h, &s, type);
    }
    return sum;
}

double oracle_cost(const struct partition_problem *p, const enum layer_type *types,
                   double *level_elements)
{
    struct arena arena = { 0 };
    double sum = cost_of_levels(&arena, p, types, 0, p->n_levels, level_elements);
    hp_arena_free(&arena);
    return sum;
}

/* Is state `type` of the variable allowed for all its nodes? */
static bool may(const struct partition_problem *p, int level, int var, enum layer_type type)
{
    const struct layered *l = p->layered;
    for (int n = 0; n < l->n_nodes; n++) {
        enum layer_type own = type;
        if (l->node[n].var != var)
            continue;
        if (l->node[n].swapped && type == TYPE_II)
            own = TYPE_III;
        if (l->node[n].swapped && type == TYPE_III)
            own = TYPE_II;
        unsigned allowed = l->node[n].types;
        if (p->allowed)
            allowed &= p->allowed[(size_t)level * (size_t)l->n_nodes + (size_t)n];
        if (!(allowed >> own & 1))
            return false;
    }
    return true;
}

double oracle_choices(const struct partition_problem *p, int first, int last)
{
    double choices = 1;
    for (int h = first; h < last; h++)
        for (int v = 0; v < p->layered->n_vars; v++) {
            int n = 0;
            for (int t = 0; t < TYPE_COUNT; t++)
                n += may(p, h, v, (enum layer_type)t);
            choices *= n;
        }
    return choices;
}

struct trial {
    struct arena arena;
    const struct partition_problem *p;
    enum layer_type *types;
    int first, last;
    double least;
};

/* Give variable `v` at level `h` each of its states in turn, then go on to the next. */
static void try_all(struct trial *t, int h, int v)
{
    const struct layered *l = t->p->layered;
    if (v == l->n_vars) {
        h++;
        v = 0;
    }
    if (h == t->last) {
        struct arena_mark mark = hp_arena_mark(&t->arena);
        t->least =
            fmin(t->least, cost_of_levels(&t->arena, t->p, t->types, t->first, t->last, NULL));
        hp_arena_release(&t->arena, mark);
        return;
    }
    for (int state = 0; state < TYPE_COUNT; state++) {
        if (!may(t->p, h, v, (enum layer_type)state))
            continue;
        for (int n = 0; n < l->n_nodes; n++)
            if (l->node[n].var == v) {
                enum layer_type own = (enum layer_type)state;
                if (l->node[n].swapped && own == TYPE_II)
                    own = TYPE_III;
                else if (l->node[n].swapped && own == TYPE_III)
                    own = TYPE_II;
                t->types[(size_t)h * (size_t)l->n_nodes + (size_t)n] = own;
            }
        try_all(t, h, v + 1);
    }
}

double oracle_least(const struct partition_problem *p, const enum layer_type *types, int first,
                    int last)
{
    struct trial t = { .p = p, .first = first, .last = last, .least = INFINITY };
    size_t n = (size_t)p->n_levels * (size_t)p->layered->n_nodes;
    t.types = NEW(&t.arena, enum layer_type, n + 1);
    NEW(&t.arena, char, 1); /* the arena has a block: marks are cheap */
    if (types)
        memcpy(t.types, types, n * sizeof *types);
    try_all(&t, first, 0);
    hp_arena_free(&t.arena);
    return t.least;
}
