/* Building a graph: tensors and operators are appended. Each operator gets a row of the
 * operator table fitted to its inputs; equal operators share the result. */
#include <string.h>

#include "base/table.h"
#include "base/utf8.h"
#include "graph/autocast.h"
#include "graph/binding.h"

static const double max_elements = 0x1p50;

struct graph_builder {
    struct hypar_graph *graph;
    int op_capacity, tensor_capacity, nest_capacity;
    struct table op_names, tensor_names, nests, likes;
    struct arena scratch;
    struct hypar_error
        first; /* of an input or parameter: the next call that can fail reports it */
    bool failed;
};

struct graph_builder *hp_build(const char *name, int64_t batch)
{
    struct arena arena = { 0 };
    struct hypar_graph *graph = NEW(&arena, struct hypar_graph, 1);
    graph->arena = arena;
    graph->name = hp_clean_text(hp_arena_strdup(&graph->arena, name),
                                '?'); /* the name may come from a file */
    graph->batch = batch;
    graph->loss = -1;

    struct arena scratch = { 0 };
    struct graph_builder *b = NEW(&scratch, struct graph_builder, 1);
    b->scratch = scratch;
    b->graph = graph;
    return b;
}

const struct hypar_graph *hp_build_graph(const struct graph_builder *b)
{
    return b->graph;
}

static void free_builder(struct graph_builder *b)
{
    struct arena scratch = b->scratch; /* the builder lives in it */
    hp_arena_free(&scratch);
}

void hp_build_abandon(struct graph_builder *b)
{
    hypar_graph_free(b->graph);
    free_builder(b);
}

/* Tensors ----------------------------------------------------------------------------- */

static enum hypar_status check_shape(const struct hypar_shape *shape, struct hypar_error *err)
{
    double elements = 1;
    if (shape->n_dims < 0 || shape->n_dims > MAX_DIMS)
        return hp_fail(err, HYPAR_INVALID, "%d dimensions, expected at most %d", shape->n_dims,
                       MAX_DIMS);
    for (int d = 0; d < shape->n_dims; d++) {
        if (shape->dim[d] < 1)
            return hp_fail(err, HYPAR_INVALID, "dimension %d has %lld, expected at least 1", d,
                           (long long)shape->dim[d]);
        elements *= (double)shape->dim[d];
    }
    if (elements >= max_elements)
        return hp_fail(err, HYPAR_INVALID, "%g elements, expected less than 2^50", elements);
    return HYPAR_OK;
}

static enum hypar_status add_tensor(struct graph_builder *b, struct tensor t, int *out,
                                    struct hypar_error *err)
{
    struct hypar_graph *g = b->graph;
    TRY(hp_in(err, check_shape(&t.shape, err), "tensor '%s'", t.name));
    if (g->n_tensors == HP_MAX_TENSORS)
        return hp_fail(err, HYPAR_INVALID, "more than %d tensors", HP_MAX_TENSORS);
    t.name = hp_arena_strdup(&g->arena, t.name);
    if (hp_table_put(&b->tensor_names, &g->arena, t.name, strlen(t.name), g->n_tensors) !=
        g->n_tensors)
        return hp_fail(err, HYPAR_INVALID, "tensor '%s' is there already", t.name);
    g->tensors = GROW(&g->arena, struct tensor, g->tensors, g->n_tensors, &b->tensor_capacity);
    g->tensors[g->n_tensors] = t;
    *out = g->n_tensors++;
    return HYPAR_OK;
}

/* Add an input or a parameter; a failure is kept for the next call that can report it. */
static int add_source(struct graph_builder *b, struct tensor t)
{
    struct hypar_error err;
    int index = -1;
    enum hypar_status status = add_tensor(b, t, &index, &err);
    if (status == HYPAR_OK && t.sample_dim >= 0 &&
        (t.sample_dim >= t.shape.n_dims || t.shape.dim[t.sample_dim] != b->graph->batch))
        status = hp_fail(&err, HYPAR_INVALID,
                         "input '%s': dimension %d does not hold the batch of %lld", t.name,
                         t.sample_dim, (long long)b->graph->batch);
    if (status != HYPAR_OK && !b->failed) {
        b->first = err;
        b->failed = true;
    }
    return index;
}

int hp_build_input(struct graph_builder *b, const char *name, const struct hypar_shape *shape,
                   bool index, int sample_dim)
{
    return add_source(b, (struct tensor){ .name = name,
                                          .shape = *shape,
                                          .kind = TENSOR_INPUT,
                                          .index = index,
                                          .wide = !index,
                                          .sample_dim = sample_dim,
                                          .producer = -1 });
}

int hp_build_param(struct graph_builder *b, const char *name, const struct hypar_shape *shape)
{
    return add_source(b, (struct tensor){ .name = name,
                                          .shape = *shape,
                                          .kind = TENSOR_PARAM,
                                          .wide = true,
                                          .needs_grad = true,
                                          .sample_dim = -1,
                                          .producer = -1 });
}

void hp_build_untrained(struct graph_builder *b, int param)
{
    struct tensor *t = param < 0 ? NULL : &b->graph->tensors[param];
    if (!t)
        return; /* the tensor could not be made; the builder has kept the reason */
    t->untrained = true;
    t->needs_grad = false;
}

void hp_build_mark_output(struct graph_builder *b, int tensor)
{
    b->graph->tensors[tensor].is_output = true;
}

/* Operators --------------------------------------------------------------------------- */

/* The number of inputs and parameters of a row; -1: any number from one. */
static int row_inputs(const struct op_traits *row)
{
    int n = 0;
    const char *text = row->operands;
    for (struct op_operand o = { 0 }; hp_op_next_operand(&text, &o); n++) {
        if (o.part == 'o' || o.part == 's')
            break;
        if (o.many)
            return -1;
    }
    return n;
}

/* Operand `i` of the row; the last operand may stand for many. */
static struct op_operand row_operand(const struct op_traits *row, int i)
{
    struct op_operand o = { 0 };
    const char *text = row->operands;
    while (hp_op_next_operand(&text, &o) && !o.many && i > 0)
        i--;
    return o;
}

/* Is operand `i` of the row a parameter that is made if none is given? */
static bool made_by_default(const struct op_traits *row, int i)
{
    struct op_operand o = row_operand(row, i);
    return o.part == 'p' && !o.optional;
}

static enum hypar_status gather_inputs(struct graph_builder *b,
                                       const struct op_request *request,
                                       struct binding *binding, struct hypar_error *err)
{
    const struct hypar_graph *g = b->graph;
    int wanted = row_inputs(binding->row);
    if (request->n_inputs > (wanted < 0 ? MAX_OPERANDS - 2 : wanted))
        return hp_fail(err, HYPAR_INVALID, "%d inputs, expected at most %d", request->n_inputs,
                       wanted < 0 ? MAX_OPERANDS - 2 : wanted);
    binding->n_inputs = wanted < 0 ? request->n_inputs : wanted;
    for (int i = 0; i < binding->n_inputs; i++) {
        int t = i < request->n_inputs              ? request->inputs[i]
                : made_by_default(binding->row, i) ? HP_MAKE
                                                   : HP_ABSENT;
        if (t >= g->n_tensors || t < HP_MAKE)
            return hp_fail(err, HYPAR_INVALID, "input %d is no tensor", i);
        if (t == HP_MAKE && row_operand(binding->row, i).part != 'p')
            return hp_fail(err, HYPAR_INVALID, "input %d is no parameter that could be made",
                           i);
        if (t >= 0 && t == g->loss)
            return hp_fail(err, HYPAR_INVALID, "input %d is the loss, which nothing may read",
                           i);
        binding->input[i] = t >= 0 ? &g->tensors[t] : NULL;
        binding->make[i] = t == HP_MAKE;
        if (!binding->input[i] && (i == 0 || wanted < 0 || binding->row->axes[0] == '*'))
            return hp_fail(err, HYPAR_INVALID, "input %d is missing, expected a tensor's name",
                           i);
        bool index = row_operand(binding->row, i).index;
        if (binding->input[i] && (binding->row->bind || binding->row->axes[0] == '*') &&
            !(binding->row->flags & ROW_OPAQUE) && binding->input[i]->index != index)
            return hp_fail(err, HYPAR_INVALID, "input %d holds %s, expected %s", i,
                           index ? "numbers" : "integers", index ? "integers" : "numbers");
    }
    if (binding->n_inputs && hp_takes_letters(binding->row))
        hp_bind_letters(binding, g, request->inputs[0]);
    return binding->n_inputs ? HYPAR_OK
                             : hp_fail(err, HYPAR_INVALID, "no inputs, expected at least one");
}

/* The inputs that autocast holds in fp32: parameters, and tensors that say so. */
static operand_set wide_inputs(const struct binding *b)
{
    operand_set wide = 0;
    for (int i = 0; i < b->n_inputs; i++)
        if (b->input[i] ? b->input[i]->wide : b->make[i])
            wide |= (operand_set)1 << i;
    return wide;
}

/* Everything that determines a nest but for precisions, as bytes. */
static size_t nest_key(const struct binding *b, enum op_kind kind, int64_t *key)
{
    size_t n = 0;
    key[n++] = (int64_t)kind;
    for (int i = 0; i < b->n_inputs; i++) {
        const struct tensor *t = b->input[i];
        key[n++] = t            ? t->shape.n_dims * 1000 + t->sample_dim * 10 + t->index
                   : b->make[i] ? -2
                                : -1;
        for (int d = 0; t && d < t->shape.n_dims; d++)
            key[n++] = t->shape.dim[d];
    }
    for (int d = 0; hp_takes_letters(b->row) && d < b->input[0]->shape.n_dims; d++) {
        key[n++] = b->letters[d].n;
        for (int i = 0; i < b->letters[d].n; i++)
            key[n++] = b->letters[d].outer[i] * 256 + b->letters[d].name[i];
    }
    for (int i = 0; i < b->attrs->n; i++) {
        const struct attr *attr = &b->attrs->attr[i];
        key[n++] = (int64_t)attr->id * 100 + attr->n;
        memcpy(key + n, attr->v, (size_t)attr->n * sizeof *attr->v);
        n += (size_t)attr->n;
    }
    return n * sizeof *key;
}

enum {
    NEST_KEY_WORDS = 2 + MAX_OPERANDS * (MAX_DIMS + 1) + MAX_DIMS * (MAX_FACTORS + 1) +
                     ATTR_COUNT * (ATTR_MAX_VALUES + 1)
};

/* May axis `a` be split? In a product only the outermost factor larger than 1 may. */
static bool splittable(const struct binding *b, int a)
{
    if (b->axis[a].role == HYPAR_INNER)
        return false;
    for (int o = 0; o < b->n_operands; o++)
        for (int d = 0; d < b->operand[o].n_dims; d++) {
            const struct dim_map *map = &b->operand[o].dim[d];
            for (int i = 0; i < map->n_axes && map->axis[i] != a; i++) {
                bool later = false;
                for (int j = i + 1; j < map->n_axes; j++)
                    later |= map->axis[j] == a;
                if (later && b->axis[map->axis[i]].extent > 1)
                    return false;
            }
        }
    return true;
}

static struct nest *keep_nest(struct graph_builder *b, struct binding *binding,
                              enum op_kind kind)
{
    struct arena *arena = &b->graph->arena;
    struct nest *nest = NEW(arena, struct nest, 1);
    *nest = (struct nest){ .kind = kind,
                           .id = b->graph->n_nests,
                           .n_axes = binding->n_axes + 1,
                           .n_operands = binding->n_operands,
                           .n_passes = binding->n_passes,
                           .n_inputs = binding->n_inputs,
                           .attrs = binding->attrs };
    nest->axis = NEW(arena, struct hypar_axis, nest->n_axes);
    nest->operand = NEW(arena, struct operand, nest->n_operands);
    nest->pass = NEW(arena, struct pass, nest->n_passes);
    for (int a = 0; a < binding->n_axes; a++)
        binding->axis[a].splittable = splittable(binding, a);
    binding->axis[binding->n_axes] =
        (struct hypar_axis){ .name = "r", .role = HYPAR_COPY, .extent = 1, .splittable = true };
    memcpy(nest->axis, binding->axis, (size_t)nest->n_axes * sizeof *nest->axis);
    memcpy(nest->operand, binding->operand, (size_t)nest->n_operands * sizeof *nest->operand);
    memcpy(nest->pass, binding->pass, (size_t)nest->n_passes * sizeof *nest->pass);

    struct hypar_graph *g = b->graph;
    g->nests = GROW(arena, const struct nest *, g->nests, g->n_nests, &b->nest_capacity);
    g->nests[g->n_nests++] = nest;
    return nest;
}

/* The nest of an operator: an equal operator's, or a newly fitted row. */
static enum hypar_status find_nest(struct graph_builder *b, const struct op_request *request,
                                   struct binding *binding, const struct nest **out)
{
    int64_t *key = NEW(&b->scratch, int64_t, NEST_KEY_WORDS);
    size_t but_widths = nest_key(binding, request->kind, key), bytes = but_widths + sizeof *key;
    operand_set wide = wide_inputs(binding);
    memcpy((char *)key + but_widths, &wide, sizeof wide);
    int known = hp_table_get(&b->nests, key, bytes);
    if (known >= 0) {
        *out = b->graph->nests[known];
        return HYPAR_OK;
    }
    if (!hp_bind(binding))
        return binding->beyond ? HYPAR_UNSUPPORTED : HYPAR_INVALID;
    /* attributes that the nest keeps must outlive the scratch */
    TRY(hp_attrs_complete(&b->graph->arena, binding->row, request->attrs,
                          binding->input[0]->shape.n_dims, &binding->attrs, binding->err));
    int64_t *kept = NEW(&b->graph->arena, int64_t, bytes / sizeof *key);
    memcpy(kept, key, bytes);
    struct nest *nest = keep_nest(b, binding, request->kind);
    hp_find_widths(nest, wide);
    nest->like = hp_table_put(&b->likes, &b->graph->arena, kept, but_widths, nest->id);
    hp_table_put(&b->nests, &b->graph->arena, kept, bytes, nest->id);
    *out = nest;
    return HYPAR_OK;
}

static enum hypar_status add_operand_tensor(struct graph_builder *b, const char *op_name,
                                            const struct nest *nest, int o, bool needs_grad,
                                            int *out, struct hypar_error *err)
{
    const struct operand *operand = &nest->operand[o];
    struct tensor t = { .sample_dim = hp_sample_dim(nest, o), .producer = -1 };
    bool first = operand->role == OPERAND_OUTPUT &&
                 (o == 0 || nest->operand[o - 1].role != OPERAND_OUTPUT);
    switch (operand->role) {
    case OPERAND_OUTPUT:
        t.kind = TENSOR_ACTIVATION;
        t.wide = operand->wide;
        t.needs_grad = needs_grad;
        break;
    case OPERAND_STAT:
        t.kind = TENSOR_STAT;
        break;
    default:
        t.kind = TENSOR_PARAM;
        t.wide = t.needs_grad = true;
    }
    if (t.kind != TENSOR_PARAM)
        t.producer = b->graph->n_ops;
    t.name = first ? op_name
             : operand->role == OPERAND_OUTPUT
                 ? hp_arena_printf(&b->scratch, "%s:%s", op_name, operand->name)
                 : hp_arena_printf(&b->scratch, "%s.%s", op_name, operand->name);
    if (t.kind == TENSOR_STAT && /* a parameter of the user's may have this name */
        hp_table_get(&b->tensor_names, t.name, strlen(t.name)) >= 0)
        t.name = hp_arena_printf(&b->scratch, "%s:%s", op_name, operand->name);
    t.shape.n_dims = operand->n_dims;
    memcpy(t.shape.dim, operand->size, sizeof t.shape.dim);
    return add_tensor(b, t, out, err);
}

static enum hypar_status add_tensors(struct graph_builder *b, const struct op_request *request,
                                     const struct nest *nest, int *tensor, int *outputs,
                                     struct hypar_error *err)
{
    bool needs_grad = false;
    int n_outputs = 0;
    for (int o = 0; o < nest->n_operands; o++) {
        bool input = o < nest->n_inputs;
        int given = input && o < request->n_inputs                       ? request->inputs[o]
                    : input && made_by_default(&hp_op[request->kind], o) ? HP_MAKE
                                                                         : HP_ABSENT;
        tensor[o] = given;
        if (!input || given == HP_MAKE)
            TRY(add_operand_tensor(b, request->name, nest, o, needs_grad, &tensor[o], err));
        if (input && tensor[o] >= 0)
            needs_grad |= b->graph->tensors[tensor[o]].needs_grad;
        if (nest->operand[o].role == OPERAND_OUTPUT)
            outputs[n_outputs++] = tensor[o];
    }
    return HYPAR_OK;
}

/* Checks that the texts of a row cannot express. */
static enum hypar_status check_meaning(const struct nest *nest, struct hypar_error *err)
{
    double least = hp_attr(nest->attrs, ATTR_MIN, 0, 0),
           most = hp_attr(nest->attrs, ATTR_MAX, 0, 0);
    if (nest->kind == OP_CLIP && least > most)
        return hp_fail(err, HYPAR_INVALID, "attribute 'min' is %g, expected at most 'max', %g",
                       least, most);
    if (nest->kind == OP_SOFTMAX && hp_attr_int(nest->attrs, ATTR_CAUSAL, 0, 0) &&
        nest->operand[0].n_dims < 3)
        return hp_fail(err, HYPAR_INVALID, "causal, but %d dimensions, expected 3 or 4",
                       nest->operand[0].n_dims);
    int width = hp_nest_axis(nest, 'd');
    if (nest->kind == OP_ROPE && nest->axis[width].extent % 2)
        return hp_fail(err, HYPAR_INVALID, "heads are %lld wide, expected an even width",
                       (long long)nest->axis[width].extent);
    return HYPAR_OK;
}

static enum hypar_status append_op(struct graph_builder *b, const struct op_request *request,
                                   int *outputs, struct hypar_error *err)
{
    struct hypar_graph *g = b->graph;
    struct binding *binding = NEW(&b->scratch, struct binding, 1);
    binding->row = &hp_op[request->kind];
    binding->batch = g->batch;
    binding->err = err;
    const struct nest *nest;

    if (g->n_ops == HP_MAX_OPS)
        return hp_fail(err, HYPAR_INVALID, "more than %d operators", HP_MAX_OPS);
    TRY(gather_inputs(b, request, binding, err));
    TRY(hp_attrs_complete(&b->scratch, binding->row, request->attrs,
                          binding->input[0]->shape.n_dims, &binding->attrs, err));
    TRY(find_nest(b, request, binding, &nest));

    TRY(check_meaning(nest, err));
    int *tensor = NEW(&g->arena, int, nest->n_operands);
    TRY(add_tensors(b, request, nest, tensor, outputs, err));
    if (hp_op[request->kind].flags & ROW_LOSS && g->loss >= 0)
        return hp_fail(err, HYPAR_INVALID, "the graph has a loss already: '%s'",
                       g->tensors[g->loss].name);
    if (hp_op[request->kind].flags & ROW_LOSS)
        g->loss = outputs[0];
    g->ops = GROW(&g->arena, struct op, g->ops, g->n_ops, &b->op_capacity);
    g->ops[g->n_ops] = (struct op){
        hp_arena_strdup(&g->arena, request->name), request->kind, nest, tensor, NULL, false
    };
    if (hp_table_put(&b->op_names, &g->arena, g->ops[g->n_ops].name, strlen(request->name),
                     g->n_ops) != g->n_ops)
        return hp_fail(err, HYPAR_INVALID, "there is an operator of that name already");
    g->n_ops++;
    return HYPAR_OK;
}

void hp_build_fp32(struct graph_builder *b)
{
    struct op *op = &b->graph->ops[b->graph->n_ops - 1];
    op->fp32 = true;
    for (int o = op->nest->n_inputs; o < op->nest->n_operands; o++)
        b->graph->tensors[op->tensor[o]].fp32 = true;
}

enum hypar_status hp_build_op(struct graph_builder *b, const struct op_request *request,
                              int *outputs, struct hypar_error *err)
{
    if (b->failed) {
        if (err)
            *err = b->first;
        return HYPAR_INVALID;
    }
    struct hypar_error local;
    struct arena_mark mark = hp_arena_mark(&b->scratch);
    enum hypar_status status = append_op(b, request, outputs, err ? err : &local);
    hp_arena_release(&b->scratch, mark);
    return hp_in(err, status, "%s '%s'", hp_op[request->kind].name, request->name);
}

enum hypar_status hp_build_choices(struct graph_builder *b, const struct op_choices *choices,
                                   struct hypar_error *err)
{
    struct op *op = &b->graph->ops[b->graph->n_ops - 1];
    return hp_in(
        err, hp_choices_copy(&b->graph->arena, choices, op->nest->n_inputs, &op->choices, err),
        "%s '%s'", hp_op[op->kind].name, op->name);
}

static double count_params(const struct hypar_graph *g)
{
    double n = 0;
    for (int t = 0; t < g->n_tensors; t++)
        if (g->tensors[t].kind == TENSOR_PARAM)
            n += (double)hp_shape_elements(&g->tensors[t].shape);
    return n;
}

enum hypar_status hp_build_finish(struct graph_builder *b, struct hypar_graph **out,
                                  struct hypar_error *err)
{
    enum hypar_status status = HYPAR_OK;
    *out = NULL;
    if (b->failed)
        status = hp_fail(err, HYPAR_INVALID, "%s", b->first.text);
    else if (count_params(b->graph) >= 0x1p62)
        status = hp_fail(err, HYPAR_INVALID, "%g parameters, expected less than 2^62",
                         count_params(b->graph));
    else if (b->graph->n_ops == 0)
        status = hp_fail(err, HYPAR_INVALID, "a graph without operators");
    if (status != HYPAR_OK) {
        hp_build_abandon(b);
        return status;
    }
    b->graph->op_names = b->op_names;
    status = hp_graph_seal(b->graph, err);
    if (status != HYPAR_OK)
        hypar_graph_free(b->graph);
    else
        *out = b->graph;
    free_builder(b);
    return status;
}
