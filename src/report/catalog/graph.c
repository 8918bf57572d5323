/* Reports one graph: its figures and its operators. */
#include "graph/graph.h"

#include <hypar/report.h>

#include <string.h>

#include "report/put.h"

void hp_put_graph_figures(struct json_writer *w, const struct hypar_graph *graph)
{
    PUT(w, INT("params", hypar_graph_params(graph)),
        NUMBER("flops_per_sample", hypar_graph_flops_per_sample(graph)),
        INT("ops", graph->n_ops), INT("layers", hypar_graph_layer_count(graph)));
}

char *hp_graph_figures(struct arena *arena, const struct hypar_graph *graph)
{
    return hp_arena_printf(arena, "%s, %s per sample forward, %s, %s, batch %lld",
                           hp_count(arena, hypar_graph_params(graph), "parameter"),
                           hp_metric_unit(arena, hypar_graph_flops_per_sample(graph), "FLOP"),
                           hp_count(arena, graph->n_ops, "operator"),
                           hp_count(arena, hypar_graph_layer_count(graph), "weighted layer"),
                           (long long)graph->batch);
}

/* Write the tensors of the graph's inputs or outputs as an array. */
static void put_tensors(struct json_writer *w, const char *key, const struct hypar_graph *g,
                        bool outputs)
{
    hp_json_begin_array(w, key, false);
    for (int i = 0; i < g->n_tensors; i++) {
        const struct tensor *t = &g->tensors[i];
        if (!(outputs ? t->is_output : t->kind == TENSOR_INPUT))
            continue;
        hp_json_begin_object(w, NULL, true);
        hp_json_put_string(w, "name", t->name);
        hp_json_begin_array(w, "shape", true);
        for (int d = 0; d < t->shape.n_dims; d++)
            hp_json_put_int(w, NULL, t->shape.dim[d]);
        hp_json_end_array(w);
        hp_json_end_object(w);
    }
    hp_json_end_array(w);
}

static void graph_json(FILE *to, const struct hypar_graph *g)
{
    struct json_writer w = { .file = to };
    hp_json_begin_object(&w, NULL, false);
    PUT(&w, TEXT("name", g->name), INT("batch", g->batch));
    hp_put_graph_figures(&w, g);
    hp_json_begin_array(&w, "opaque", true);
    for (int op = 0; op < g->n_ops; op++)
        if (hp_op[g->ops[op].kind].flags & ROW_OPAQUE)
            hp_json_put_string(&w, NULL, g->ops[op].name);
    hp_json_end_array(&w);
    put_tensors(&w, "inputs", g, false);
    put_tensors(&w, "outputs", g, true);
    hp_json_end_object(&w);
}

static char *shape_text(struct arena *arena, const struct hypar_shape *shape)
{
    char *text = hp_arena_strdup(arena, "");
    for (int d = 0; d < shape->n_dims; d++)
        text = hp_arena_printf(arena, "%s%s%lld", text, d ? "x" : "", (long long)shape->dim[d]);
    return shape->n_dims ? text : hp_arena_strdup(arena, "scalar");
}

static long long op_params(const struct hypar_graph *g, const struct op *op)
{
    long long n = 0;
    for (int o = 0; o < op->nest->n_inputs; o++)
        if (op->tensor[o] >= 0 && g->tensors[op->tensor[o]].kind == TENSOR_PARAM)
            n += hp_shape_elements(&g->tensors[op->tensor[o]].shape);
    return n;
}

/* "n=32 k=64": the axes that a plan may split. */
static const char *axes_text(struct arena *arena, const struct nest *nest)
{
    const char *text = "";
    for (int a = 0; a < nest->n_axes - 1; a++)
        if (nest->axis[a].splittable)
            text = hp_arena_printf(arena, "%s%s%s=%lld", text, *text ? " " : "",
                                   nest->axis[a].name, (long long)nest->axis[a].extent);
    return text;
}

static void put_op(struct table_writer *table, struct arena *arena, const struct hypar_graph *g,
                   const struct op *op)
{
    const struct nest *nest = op->nest;
    int first = 0;
    while (nest->operand[first].role != OPERAND_OUTPUT)
        first++;
    long long n = op_params(g, op);
    double flop = (2 * hp_nest_macs(nest, false) + hp_attr(nest->attrs, ATTR_FLOPS, 0, 0)) /
                  (double)g->batch;
    hp_table_row(table, (const char *[]){
                            op->name, hp_op[op->kind].name,
                            shape_text(arena, &g->tensors[op->tensor[first]].shape),
                            n ? hp_thousands(arena, n) : "",
                            flop > 0 ? hp_metric(arena, flop) : "", axes_text(arena, nest) });
}

static void graph_text(FILE *to, const struct hypar_graph *g)
{
    struct arena arena = { 0 };
    struct table_writer table = { .to = to,
                                  .texts = "operator|kind|output|>params|>FLOP|~split along" };
    hp_table_begin(&table, NULL);
    for (int op = 0; op < g->n_ops; op++)
        put_op(&table, &arena, g, &g->ops[op]);
    hp_table_end(&table);
    fputc('\n', to);
    hp_put_line(to, "%s: %s", g->name, hp_graph_figures(&arena, g));
    hp_arena_free(&arena);
}

/* For Graphviz ------------------------------------------------------------------------ */

/* A string of DOT, in which a backslash would begin an escape. */
static void put_quoted(FILE *to, struct arena *arena, const char *text)
{
    fputc('"', to);
    for (text = hp_shown(arena, text); *text; text++)
        fprintf(to, "%s%c", strchr("\"\\", *text) ? "\\" : "", *text);
    fputc('"', to);
}

static void put_edges(FILE *to, struct arena *arena, const struct hypar_graph *g, int tensor)
{
    const struct tensor *t = &g->tensors[tensor];
    for (int i = g->use_start[tensor]; t->producer >= 0 && i < g->use_start[tensor + 1]; i++) {
        if (g->use[i].op == t->producer) /* what an operator keeps for itself */
            continue;
        fprintf(to, "    %d -> %d [label=", t->producer, g->use[i].op);
        put_quoted(to, arena, shape_text(arena, &t->shape));
        fputs("];\n", to);
    }
}

static void graph_dot(FILE *to, const struct hypar_graph *g)
{
    struct arena arena = { 0 };
    fputs("digraph ", to);
    put_quoted(to, &arena, g->name);
    fputs(" {\n    node [shape=box];\n", to);
    for (int op = 0; op < g->n_ops; op++) {
        fprintf(to, "    %d [label=", op);
        put_quoted(to, &arena,
                   hp_arena_printf(&arena, "%s: %s", g->ops[op].name, hp_op_kind(g, op)));
        fputs("];\n", to);
    }
    for (int t = 0; t < g->n_tensors; t++)
        put_edges(to, &arena, g, t);
    fputs("}\n", to);
    hp_arena_free(&arena);
}

void hypar_report_graph(FILE *to, const struct hypar_graph *graph, enum hypar_format format)
{
    if (format == HYPAR_JSON)
        graph_json(to, graph);
    else if (format == HYPAR_DOT)
        graph_dot(to, graph);
    else
        graph_text(to, graph);
}
