/* Writes a graph in hypar-graph/1 (docs/formats-graph.md): one input, parameter or operator
 * per line. */
#include "graph/op_json.h"
#include "model/json_choices.h"
#include "model/json_graph.h"
#include "model/model.h"

void hp_write_shape(struct json_writer *w, const struct hypar_shape *shape)
{
    hp_json_begin_array(w, "shape", true);
    for (int d = 0; d < shape->n_dims; d++)
        hp_json_put_int(w, NULL, shape->dim[d]);
    hp_json_end_array(w);
}

/* Tensors of a kind; parameters that nothing reads are left out. */
static void write_tensors(struct json_writer *w, const struct hypar_graph *graph,
                          const char *key, enum tensor_kind kind)
{
    hp_json_begin_array(w, key, false);
    for (int t = 0; t < graph->n_tensors; t++) {
        const struct tensor *tensor = &graph->tensors[t];
        bool input = kind == TENSOR_INPUT, read = graph->use_start[t] < graph->use_start[t + 1];
        if (tensor->kind != kind || !(input || read))
            continue;
        hp_json_begin_object(w, NULL, true);
        hp_json_put_string(w, "name", tensor->name);
        hp_write_shape(w, &tensor->shape);
        if (input && tensor->index)
            hp_json_put_bool(w, "index", true);
        if (input && tensor->sample_dim != 0)
            hp_json_put_int(w, "sample_dim", tensor->sample_dim);
        if (tensor->untrained)
            hp_json_put_bool(w, "trained", false);
        hp_json_end_object(w);
    }
    hp_json_end_array(w);
}

static void write_op(struct json_writer *w, const struct hypar_graph *graph, int op)
{
    const struct op *o = &graph->ops[op];
    int n = o->nest->n_inputs;
    while (n > 0 && o->tensor[n - 1] < 0)
        n--;
    hp_json_begin_object(w, NULL, true);
    hp_json_put_string(w, "name", o->name);
    hp_json_put_string(w, "kind", hp_op[o->kind].name);
    hp_json_begin_array(w, "inputs", true);
    for (int i = 0; i < n; i++) {
        if (o->tensor[i] < 0)
            hp_json_put_null(w, NULL);
        else
            hp_json_put_string(w, NULL, graph->tensors[o->tensor[i]].name);
    }
    hp_json_end_array(w);
    hp_attrs_write(w, o->nest->attrs);
    if (o->fp32)
        hp_json_put_bool(w, "fp32", true);
    hp_choices_write(w, o->choices);
    hp_json_end_object(w);
}

void hp_graph_write_json(struct json_writer *w, const char *key,
                         const struct hypar_graph *graph)
{
    hp_json_begin_object(w, key, false);
    hp_json_put_string(w, "format", "hypar-graph/1");
    hp_json_put_string(w, "name", graph->name);
    hp_json_put_int(w, "batch", graph->batch);
    if (graph->values_name)
        hp_json_put_string(w, "weights", graph->values_name);
    write_tensors(w, graph, "inputs", TENSOR_INPUT);
    write_tensors(w, graph, "params", TENSOR_PARAM);
    hp_json_begin_array(w, "ops", false);
    for (int op = 0; op < graph->n_ops; op++)
        write_op(w, graph, op);
    hp_json_end_array(w);
    hp_json_begin_array(w, "outputs", true);
    for (int t = 0; t < graph->n_tensors; t++)
        if (graph->tensors[t].is_output)
            hp_json_put_string(w, NULL, graph->tensors[t].name);
    hp_json_end_array(w);
    hp_write_torch(w, graph);
    hp_json_end_object(w);
}

void hypar_graph_write(const struct hypar_graph *graph, FILE *to)
{
    struct json_writer w = { .file = to };
    hp_graph_write_json(&w, NULL, graph);
}
