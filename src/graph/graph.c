/* Facts derived from a complete graph: uses, outputs, gradients, hash, passes of each
 * operator. */
#include "graph/binding.h"

#include <string.h>

#include "base/csr.h"

const char *hypar_role_text(enum hypar_role role)
{
    static const char *const text[] = {
        [HYPAR_SAMPLE] = "sample",       [HYPAR_ATTRIBUTE] = "attribute",
        [HYPAR_PARAMETER] = "parameter", [HYPAR_REDUCTION] = "reduction",
        [HYPAR_COPY] = "copy",           [HYPAR_INNER] = "inner",
    };
    return (int)role >= 0 && (size_t)role < sizeof text / sizeof *text ? text[role] : NULL;
}

int64_t hp_shape_elements(const struct hypar_shape *shape)
{
    int64_t n = 1;
    for (int d = 0; d < shape->n_dims; d++)
        n *= shape->dim[d];
    return n;
}

void hypar_graph_free(struct hypar_graph *graph)
{
    if (!graph)
        return;
    hp_arena_free(&graph->arena);
}

/* The readers of each tensor, by a counting sort. */
static void derive_uses(struct hypar_graph *g)
{
    g->use_start = hp_csr(&g->arena, g->n_tensors);
    for (int op = 0; op < g->n_ops; op++)
        for (int o = 0; o < g->ops[op].nest->n_inputs; o++)
            if (g->ops[op].tensor[o] >= 0)
                hp_csr_count(g->use_start, g->ops[op].tensor[o]);
    g->use = NEW(&g->arena, struct use, hp_csr_sum(g->use_start, g->n_tensors));
    for (int op = 0; op < g->n_ops; op++)
        for (int o = 0; o < g->ops[op].nest->n_inputs; o++) {
            int t = g->ops[op].tensor[o];
            if (t >= 0)
                g->use[hp_csr_place(g->use_start, t)] = (struct use){ op, o };
        }
}

static uint64_t hash_int(uint64_t hash, int64_t value)
{
    return hp_hash(hash, &value, sizeof value);
}

static uint64_t hash_graph(const struct hypar_graph *g)
{
    uint64_t hash = hash_int(HP_HASH_START, g->batch);
    for (int op = 0; op < g->n_ops; op++) {
        const struct op *o = &g->ops[op];
        hash = hp_hash(hash, o->name, strlen(o->name) + 1);
        hash = hp_hash(hash, hp_op[o->kind].name, strlen(hp_op[o->kind].name) + 1);
        for (int i = 0; i < o->nest->attrs->n; i++) {
            const struct attr *attr = &o->nest->attrs->attr[i];
            hash = hp_hash(hash, hp_attr_traits[attr->id].name,
                           strlen(hp_attr_traits[attr->id].name));
            hash = hp_hash(hash, attr->v, (size_t)attr->n * sizeof *attr->v);
        }
        for (int i = 0; i < o->nest->n_operands; i++)
            hash = hash_int(hash, o->tensor[i]);
        for (int a = 0; hp_takes_letters(&hp_op[o->kind]) && a < o->nest->n_axes; a++)
            hash = hash_int(hash, o->nest->axis[a].name[0]);
        if (o->choices)
            hash = hp_choices_hash(hash, o->choices);
        if (o->fp32) /* graphs without such operators have the hashes that they had before */
            hash = hp_hash(hash, "fp32", strlen("fp32"));
    }
    for (int t = 0; t < g->n_tensors; t++) {
        hash = hash_int(hash, g->tensors[t].kind);
        hash = hash_int(hash, g->tensors[t].sample_dim);
        for (int d = 0; d < g->tensors[t].shape.n_dims; d++)
            hash = hash_int(hash, g->tensors[t].shape.dim[d]);
    }
    return hash;
}

bool hp_op_trained(const struct hypar_graph *graph, const struct op *op)
{
    for (int o = op->nest->n_inputs; o < op->nest->n_operands; o++)
        if (op->nest->operand[o].role == OPERAND_OUTPUT &&
            graph->tensors[op->tensor[o]].needs_grad)
            return true;
    return false;
}

/* The tensors on which the loss depends, found backwards from the loss. */
static const bool *reached_by_loss(const struct hypar_graph *g, struct arena *arena)
{
    bool *reached = NEW(arena, bool, g->n_tensors);
    reached[g->loss] = true;
    for (int i = g->n_ops - 1; i >= 0; i--) {
        const struct op *op = &g->ops[i];
        bool used = false;
        for (int o = op->nest->n_inputs; o < op->nest->n_operands; o++)
            used |= reached[op->tensor[o]];
        for (int o = 0; used && o < op->nest->n_inputs; o++)
            if (op->tensor[o] >= 0)
                reached[op->tensor[o]] = true;
    }
    return reached;
}

/* A parameter on which the loss does not depend is not trained. */
static void derive_trained(struct hypar_graph *g)
{
    struct arena scratch = { 0 };
    const bool *reached = reached_by_loss(g, &scratch);
    for (int t = 0; t < g->n_tensors; t++)
        g->tensors[t].needs_grad &= reached[t];
    hp_arena_free(&scratch);
}

static void add_note(struct hypar_graph *g, const char *note)
{
    const char **notes = NEW(&g->arena, const char *, g->n_notes + 1);
    if (g->n_notes)
        memcpy(notes, g->notes, (size_t)g->n_notes * sizeof *notes);
    notes[g->n_notes++] = note;
    g->notes = notes;
}

void hp_graph_note_untrained(struct hypar_graph *g)
{
    struct arena scratch = { 0 };
    const char *first = NULL;
    int n = 0;
    if (g->loss < 0)
        return;
    const bool *reached = reached_by_loss(g, &scratch);
    for (int t = 0; t < g->n_tensors; t++) {
        const struct tensor *tensor = &g->tensors[t];
        if (tensor->kind != TENSOR_PARAM || tensor->untrained || reached[t])
            continue;
        first = n++ ? first : tensor->name;
    }
    if (n == 1)
        add_note(g,
                 hp_arena_printf(&g->arena,
                                 "'%s' is not trained: the loss does not depend on it", first));
    else if (n)
        add_note(g, hp_arena_printf(&g->arena,
                                    "'%s' and %d other parameters are not trained: the loss "
                                    "does not depend on them",
                                    first, n - 1));
    hp_arena_free(&scratch);
}

enum hypar_status hp_graph_seal(struct hypar_graph *g, struct hypar_error *err)
{
    derive_uses(g);
    TRY(hp_choices_finish(g, err));
    if (g->loss >= 0)
        derive_trained(g);
    for (int t = 0; t < g->n_tensors; t++)
        if (g->tensors[t].kind == TENSOR_ACTIVATION && t != g->loss &&
            g->use_start[t] == g->use_start[t + 1] && g->loss < 0)
            g->tensors[t].is_output = true;
    g->hash = hash_graph(g);
    return HYPAR_OK;
}

int hp_output_operand(const struct op *op, int tensor)
{
    int o = op->nest->n_inputs;
    while (op->tensor[o] != tensor)
        o++;
    return o;
}

int hp_first_output(const struct op *op)
{
    int o = op->nest->n_inputs;
    while (op->nest->operand[o].role != OPERAND_OUTPUT)
        o++;
    return o;
}

int hp_only_reader(const struct hypar_graph *graph, int op)
{
    const struct op *o = &graph->ops[op];
    int reader = -1;
    for (int i = o->nest->n_inputs; i < o->nest->n_operands; i++) {
        int t = o->tensor[i];
        if (t < 0 || graph->tensors[t].kind != TENSOR_ACTIVATION)
            continue;
        for (int u = graph->use_start[t]; u < graph->use_start[t + 1]; u++) {
            if (reader >= 0 && graph->use[u].op != reader)
                return -1;
            reader = graph->use[u].op;
        }
    }
    return reader;
}

bool hp_op_weighted(const struct hypar_graph *graph, int op)
{
    return (hp_op[graph->ops[op].kind].flags & ROW_WEIGHTED) != 0;
}

bool hp_op_measured(const struct hypar_graph *graph, int op, struct op_measure *out)
{
    const struct attrs *attrs = graph->ops[op].nest->attrs;
    const struct op_choices *choices = graph->ops[op].choices;
    *out = (struct op_measure){ .output_bytes = hp_attr(attrs, ATTR_OUTPUT_BYTES, 0, 0),
                                .choices = choices };
    if (choices) {
        double seconds = choices->choice[0].seconds * (double)graph->batch;
        out->forward_s = seconds / 3;
        out->backward_s = seconds - out->forward_s;
        out->parameter_bytes = choices->choice[0].parameter_bytes;
        return true;
    }
    if (!hp_attr_get(attrs, ATTR_FORWARD_S) || !hp_attr_get(attrs, ATTR_BACKWARD_S))
        return false;
    out->forward_s = hp_attr(attrs, ATTR_FORWARD_S, 0, 0);
    out->backward_s = hp_attr(attrs, ATTR_BACKWARD_S, 0, 0);
    out->parameter_bytes = hp_attr(attrs, ATTR_PARAMETER_BYTES, 0, 0);
    return true;
}

bool hp_counts_minibatches(const struct hypar_graph *graph)
{
    struct op_measure measure;
    bool all_measured = graph->batch == 1 && graph->loss < 0 && graph->n_ops > 0;
    for (int op = 0; all_measured && op < graph->n_ops; op++)
        all_measured = hp_op_measured(graph, op, &measure) && !measure.choices;
    return all_measured;
}

const char *hp_rate_unit(const struct hypar_graph *graph)
{
    return hp_counts_minibatches(graph) ? "minibatches/s" : "samples/s";
}

operand_set hp_present(const struct op *op)
{
    operand_set present = 0;
    for (int o = 0; o < op->nest->n_operands; o++)
        if (op->tensor[o] >= 0)
            present |= (operand_set)1 << o;
    return present;
}

/* Does the operator confuse samples with another dimension of a tensor? An operator with
 * samples may read a model input without samples: the whole input is there. */
static bool mistakes_samples(const struct hypar_graph *g, const struct op *op, int o)
{
    const struct tensor *t = &g->tensors[op->tensor[o]];
    return hp_sample_dim(op->nest, o) != t->sample_dim &&
           !(t->kind == TENSOR_INPUT && t->sample_dim < 0);
}

bool hp_op_mixes_samples(const struct hypar_graph *graph, const struct op *op)
{
    bool samples = false, loss = hp_op[op->kind].flags & ROW_LOSS;
    for (int a = 0; a < op->nest->n_axes; a++)
        samples |= op->nest->axis[a].role == HYPAR_SAMPLE;
    for (int o = 0; o < op->nest->n_operands; o++) {
        bool in =
            o < op->nest->n_inputs && op->tensor[o] >= 0 && mistakes_samples(graph, op, o);
        bool out = op->nest->operand[o].role == OPERAND_OUTPUT && samples && !loss &&
                   hp_sample_dim(op->nest, o) < 0;
        if (in || out)
            return true;
    }
    return false;
}

bool hp_has_batch_norm(const struct hypar_graph *graph)
{
    for (int op = 0; op < graph->n_ops; op++)
        if (graph->ops[op].kind == OP_BATCH_NORM)
            return true;
    return false;
}

static bool writes_needed(const struct hypar_graph *g, const struct op *op,
                          const struct pass *pass)
{
    for (int o = 0; o < op->nest->n_operands; o++)
        if (pass->writes_grad >> o & 1 && op->tensor[o] >= 0 &&
            g->tensors[op->tensor[o]].needs_grad)
            return true;
    return false;
}

uint32_t hp_backward_passes(const struct hypar_graph *graph, const struct op *op)
{
    uint32_t passes = 0;
    operand_set wanted = 0; /* statistics that passes found so far read */
    for (int p = op->nest->n_passes - 1; p >= 0 && hp_op_trained(graph, op); p--) {
        const struct pass *pass = &op->nest->pass[p];
        if (pass->backward && (writes_needed(graph, op, pass) || pass->writes & wanted)) {
            passes |= 1u << p;
            wanted |= pass->reads;
        }
    }
    return passes;
}

operand_set hp_read_backward(const struct hypar_graph *graph, const struct op *op)
{
    uint32_t passes = hp_backward_passes(graph, op);
    operand_set reads = 0;
    for (int p = 0; p < op->nest->n_passes; p++)
        reads |= passes >> p & 1 ? op->nest->pass[p].reads : 0;
    return reads;
}

uint32_t hp_done_passes(const struct hypar_graph *graph, const struct op *op)
{
    uint32_t passes = hp_backward_passes(graph, op);
    for (int p = 0; p < op->nest->n_passes; p++)
        passes |= (uint32_t)!op->nest->pass[p].backward << p;
    return passes;
}

bool hp_is_running(const struct hypar_graph *graph, int tensor)
{
    const struct tensor *t = &graph->tensors[tensor];
    if (t->kind != TENSOR_STAT || graph->ops[t->producer].kind != OP_BATCH_NORM)
        return false;
    const struct op *op = &graph->ops[t->producer];
    for (int p = 0; p < op->nest->n_passes; p++)
        for (int o = op->nest->n_inputs; o < op->nest->n_operands; o++)
            if (op->tensor[o] == tensor && op->nest->pass[p].writes >> o & 1)
                return !op->nest->pass[p].backward;
    return false;
}

uint32_t hp_inference_passes(const struct hypar_graph *graph, const struct op *op)
{
    uint32_t passes = 0;
    for (int p = 0; p < op->nest->n_passes; p++) {
        bool done = !op->nest->pass[p].backward;
        for (int o = op->nest->n_inputs; o < op->nest->n_operands; o++)
            if (op->nest->pass[p].writes >> o & 1)
                done &= !hp_is_running(graph, op->tensor[o]);
        passes |= (uint32_t)done << p;
    }
    return passes;
}

int hypar_graph_layer_count(const struct hypar_graph *graph)
{
    int n = 0;
    for (int op = 0; op < graph->n_ops; op++)
        n += hp_op_weighted(graph, op);
    return n;
}

int64_t hypar_graph_params(const struct hypar_graph *graph)
{
    int64_t n = 0;
    for (int t = 0; t < graph->n_tensors; t++)
        if (graph->tensors[t].kind == TENSOR_PARAM)
            n += hp_shape_elements(&graph->tensors[t].shape);
    return n;
}

double hypar_graph_flops_per_sample(const struct hypar_graph *graph)
{
    double flops = 0;
    for (int op = 0; op < graph->n_ops; op++)
        flops += 2 * hp_nest_macs(graph->ops[op].nest, false);
    return flops / (double)graph->batch;
}

double hp_step_flops_per_sample(const struct hypar_graph *graph)
{
    double untrained = 0;
    for (int op = 0; op < graph->n_ops; op++)
        if (!hp_op_trained(graph, &graph->ops[op]))
            untrained += 2 * hp_nest_macs(graph->ops[op].nest, false);
    return 3 * hypar_graph_flops_per_sample(graph) - 2 * untrained / (double)graph->batch;
}
