/* Writes a graph for Graphviz: a node for each operator, an edge for each tensor between two
 * operators. */
#include <hypar/report.h>

#include <string.h>

#include "graph/graph.h"
#include "report/columns.h"

/* Write a DOT string; quotes and backslashes are escaped. */
static void put_quoted(FILE *to, struct arena *arena, const char *text)
{
    fputc('"', to);
    for (text = hp_shown(arena, text); *text; text++)
        fprintf(to, "%s%c", strchr("\"\\", *text) ? "\\" : "", *text);
    fputc('"', to);
}

/* "64x128x28x28" */
static char *shape_text(struct arena *arena, const struct hypar_shape *shape)
{
    char *text = hp_arena_strdup(arena, "");
    for (int d = 0; d < shape->n_dims; d++)
        text = hp_arena_printf(arena, "%s%s%lld", text, d ? "x" : "", (long long)shape->dim[d]);
    return text;
}

static void put_edges(FILE *to, struct arena *arena, const struct hypar_graph *g, int tensor)
{
    const struct tensor *t = &g->tensors[tensor];
    for (int i = g->use_start[tensor]; t->producer >= 0 && i < g->use_start[tensor + 1]; i++) {
        if (g->use[i].op == t->producer) /* a tensor that an operator keeps for itself */
            continue;
        fprintf(to, "    %d -> %d [label=", t->producer, g->use[i].op);
        put_quoted(to, arena, shape_text(arena, &t->shape));
        fputs("];\n", to);
    }
}

void hypar_report_graph_dot(FILE *to, const struct hypar_graph *g)
{
    struct arena arena = { 0 };
    fputs("digraph ", to);
    put_quoted(to, &arena, g->name);
    fputs(" {\n    node [shape=box];\n", to);
    for (int op = 0; op < g->n_ops; op++) {
        fprintf(to, "    %d [label=", op);
        put_quoted(
            to, &arena,
            hp_arena_printf(&arena, "%s: %s", g->ops[op].name, hypar_graph_op_kind(g, op)));
        fputs("];\n", to);
    }
    for (int t = 0; t < g->n_tensors; t++)
        put_edges(to, &arena, g, t);
    fputs("}\n", to);
    hp_arena_free(&arena);
}
