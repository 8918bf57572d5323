/* Reads a graph in hypar-graph/1 (docs/formats-graph.md). The tensors keep the numbers that
 * they had when the graph was written: an input or a parameter is made at its first use. */
#include <ctype.h>
#include <string.h>
#include <unistd.h>

#include "base/files/json.h"
#include "base/table.h"
#include "graph/op_json.h"
#include "model/beside.h"
#include "model/json_choices.h"
#include "model/json_graph.h"
#include "model/model.h"
#include "model/piper/piper.h"

static const int64_t max_dim = (int64_t)1 << 50;

/* A name of the file: declared in "inputs" or "params", or written by an operator. */
struct entry {
    const char *name;
    int tensor; /* -1: declared, not made yet */
    bool param;
    struct hypar_shape shape; /* of what is declared */
    bool index, untrained;
    int sample_dim;
    int place; /* in its list */
};

struct reading {
    struct arena arena;
    struct hypar_error *err;
    const char *file;
    int64_t file_batch,
        batch; /* the batch that the file was written for; the batch that is wanted */
    const char *name, *values; /* values: the file of them; NULL: none */
    struct json inputs, params, ops, outputs;
    struct graph_builder *builder;
    struct table names;
    struct entry *entries;
    int n_entries, capacity;
};

/* Names -------------------------------------------------------------------------------- */

static bool add_entry(struct reading *r, struct entry entry)
{
    if (hp_table_put(&r->names, &r->arena, entry.name, strlen(entry.name), r->n_entries) !=
        r->n_entries)
        return false;
    r->entries = GROW(&r->arena, struct entry, r->entries, r->n_entries, &r->capacity);
    r->entries[r->n_entries++] = entry;
    return true;
}

static struct entry *find_entry(struct reading *r, const char *name)
{
    int i = hp_table_get(&r->names, name, strlen(name));
    return i < 0 ? NULL : &r->entries[i];
}

/* The tensor of an entry, made now if this is its first use. */
static int entry_tensor(struct reading *r, struct entry *e)
{
    if (e->tensor >= 0)
        return e->tensor;
    e->tensor = e->param
                    ? hp_build_param(r->builder, e->name, &e->shape)
                    : hp_build_input(r->builder, e->name, &e->shape, e->index, e->sample_dim);
    if (e->untrained)
        hp_build_untrained(r->builder, e->tensor);
    return e->tensor;
}

/* Declarations ------------------------------------------------------------------------- */

enum hypar_status hp_read_shape(const struct json *at, struct hypar_shape *shape,
                                struct hypar_error *err)
{
    TRY(hp_json_array(at, HYPAR_MAX_DIMS, err));
    shape->n_dims = hp_json_length(at);
    double elements = 1;
    for (struct json dim = { 0 }; hp_json_each(at, &dim);) {
        TRY(hp_json_int(&dim, 1, max_dim, &shape->dim[dim.index], err));
        elements *= (double)shape->dim[dim.index];
    }
    if (elements >= (double)max_dim)
        return hp_json_fail(at, err, "%g elements, expected less than 2^50", elements);
    return HYPAR_OK;
}

/* The samples of an input; their number becomes the batch that is asked for. */
static enum hypar_status read_samples(struct reading *r, const struct json *input,
                                      struct entry *e)
{
    struct json at = hp_json_member(input, "sample_dim"),
                shape = hp_json_member(input, "shape");
    int64_t dim = e->shape.n_dims ? 0 : -1;
    if (at.value)
        TRY(hp_json_int(&at, -1, e->shape.n_dims - 1, &dim, r->err));
    e->sample_dim = (int)dim;
    if (dim < 0)
        return HYPAR_OK;
    if (e->shape.dim[dim] != r->file_batch)
        return hp_json_fail(&shape, r->err,
                            "dimension %d has %lld, expected the batch of %lld (or "
                            "\"sample_dim\": -1)",
                            (int)dim, (long long)e->shape.dim[dim], (long long)r->file_batch);
    e->shape.dim[dim] = r->batch;
    return HYPAR_OK;
}

static enum hypar_status read_declaration(struct reading *r, const struct json *at, bool param)
{
    struct entry e = { .tensor = -1, .param = param, .place = at->index, .sample_dim = -1 };
    struct json shape;
    bool trained = true;
    if (param)
        TRY(HP_JSON_READ(at, r->err, JSON_NAME("name", &e.name), JSON_ANY("shape", &shape),
                         JSON_BOOL("?trained", &trained)));
    else
        TRY(HP_JSON_READ(at, r->err, JSON_NAME("name", &e.name), JSON_ANY("shape", &shape),
                         JSON_BOOL("?index", &e.index), JSON_KEY("sample_dim")));
    TRY(hp_read_shape(&shape, &e.shape, r->err));
    e.untrained = !trained;
    if (!param)
        TRY(read_samples(r, at, &e));
    struct json name = hp_json_member(at, "name");
    if (!add_entry(r, e))
        return hp_json_fail(&name, r->err, "'%.60s' is defined already", e.name);
    return HYPAR_OK;
}

static enum hypar_status read_declarations(struct reading *r, const struct json *list,
                                           bool param)
{
    for (struct json at = { 0 }; hp_json_each(list, &at);)
        TRY(read_declaration(r, &at, param));
    return HYPAR_OK;
}

/* Operators ---------------------------------------------------------------------------- */

static bool of_whole_batch(enum attr_id id)
{
    return id == ATTR_FLOPS || id == ATTR_FORWARD_S || id == ATTR_BACKWARD_S ||
           id == ATTR_OUTPUT_BYTES;
}

/* Figures of the whole batch grow with the batch. */
static enum hypar_status read_attrs(struct reading *r, const struct json *op,
                                    const struct op_traits *row, struct attrs *out)
{
    TRY(hp_attrs_read(&r->arena, op, row, out, r->err));
    struct attr *list = NEW(&r->arena, struct attr, out->n);
    for (int i = 0; i < out->n; i++) {
        list[i] = out->attr[i];
        if (!of_whole_batch(list[i].id))
            continue;
        double *v = NEW(&r->arena, double, list[i].n);
        for (int k = 0; k < list[i].n; k++)
            v[k] = list[i].v[k] * ((double)r->batch / (double)r->file_batch);
        list[i].v = v;
    }
    out->attr = list;
    return HYPAR_OK;
}

/* true: a parameter to be made; false: none. */
static enum hypar_status read_make(struct reading *r, const struct json *at, int *input)
{
    bool make;
    TRY(hp_json_bool(at, &make, r->err));
    *input = make ? HP_MAKE : HP_ABSENT;
    return HYPAR_OK;
}

static enum hypar_status read_op_inputs(struct reading *r, const struct json *op,
                                        const char *name, int *inputs, int *n)
{
    struct json list = hp_json_member(op, "inputs");
    TRY(hp_json_array(&list, MAX_OPERANDS, r->err));
    *n = hp_json_length(&list);
    for (int i = 0; i < *n; i++) {
        struct json at = hp_json_element(&list, i);
        const char *input;
        inputs[i] = HP_ABSENT;
        if (!at.value) /* null */
            continue;
        if (hp_json_is_bool(&at)) {
            TRY(read_make(r, &at, &inputs[i]));
            continue;
        }
        TRY(hp_json_string(&at, &input, r->err));
        struct entry *e = find_entry(r, input);
        if (!e) {
            hp_fail(r->err, HYPAR_INVALID, "input '%.60s' is not defined before it", input);
            return hp_in(r->err, HYPAR_INVALID, "%s: ops[%d] '%.60s'", r->file, op->index,
                         name);
        }
        inputs[i] = entry_tensor(r, e);
    }
    return HYPAR_OK;
}

/* Enter what the operator has written, and the parameters that its row made. */
static enum hypar_status enter_outputs(struct reading *r, const struct json *op, int before)
{
    const struct hypar_graph *graph = hp_build_graph(r->builder);
    for (int t = before; t < graph->n_tensors; t++) {
        const struct tensor *tensor = &graph->tensors[t];
        if (tensor->kind == TENSOR_STAT)
            continue;
        struct entry e = { .name = tensor->name,
                           .tensor = t,
                           .param = tensor->kind == TENSOR_PARAM };
        if (!add_entry(r, e))
            return hp_json_fail(op, r->err, "'%.60s' is defined already", tensor->name);
    }
    return HYPAR_OK;
}

/* The ways in which the operator that has just been appended was measured. */
static enum hypar_status read_choices(struct reading *r, const struct json *op,
                                      const struct op_request *request)
{
    const struct op_choices *choices;
    TRY(hp_choices_read(&r->arena, op, request->n_inputs, &choices, r->err));
    if (!choices)
        return HYPAR_OK;
    if (!(hp_op[request->kind].flags & ROW_OPAQUE))
        return hp_json_fail(op, r->err, "%s '%.60s' has choices, which opaque operators have",
                            hp_op[request->kind].name, request->name);
    return hp_in(r->err, hp_build_choices(r->builder, choices, r->err), "%s: ops[%d]", r->file,
                 op->index);
}

static enum hypar_status read_op(struct reading *r, const struct json *at)
{
    const char *name;
    struct json kind;
    int inputs[MAX_OPERANDS], outputs[MAX_OPERANDS];
    struct op_request request = { .inputs = inputs };
    struct attrs attrs;
    bool fp32 = false;

    TRY(HP_JSON_READ(at, r->err, JSON_NAME("name", &name), JSON_ANY("kind", &kind),
                     JSON_KEY("inputs"), JSON_KEY("attrs"), JSON_KEY("input_bytes"),
                     JSON_KEY("choices"), JSON_BOOL("?fp32", &fp32)));
    struct json name_at = hp_json_member(at, "name");
    if (strcmp(name, "*") == 0)
        return hp_json_fail(&name_at, r->err,
                            "'*' stands for the rest in a plan, expected another name");
    TRY(hp_op_read_kind(&kind, &request.kind, r->err));
    request.name = name;
    TRY(read_op_inputs(r, at, name, inputs, &request.n_inputs));
    TRY(read_attrs(r, at, &hp_op[request.kind], &attrs));
    request.attrs = &attrs;

    int before = hp_build_graph(r->builder)->n_tensors;
    TRY(hp_in(r->err, hp_build_op(r->builder, &request, outputs, r->err), "%s: ops[%d]",
              r->file, at->index));
    if (fp32)
        hp_build_fp32(r->builder);
    TRY(read_choices(r, at, &request));
    return enter_outputs(r, at, before);
}

/* The whole ---------------------------------------------------------------------------- */

static enum hypar_status read_outputs(struct reading *r)
{
    for (struct json at = { 0 }; hp_json_each(&r->outputs, &at);) {
        const char *name;
        TRY(hp_json_string(&at, &name, r->err));
        struct entry *e = find_entry(r, name);
        if (!e || e->tensor < 0 ||
            hp_build_graph(r->builder)->tensors[e->tensor].kind != TENSOR_ACTIVATION)
            return hp_json_fail(&at, r->err, "'%.60s' is not written by any operator", name);
        hp_build_mark_output(r->builder, e->tensor);
    }
    return HYPAR_OK;
}

/* An input that nobody reads is kept; a parameter could not be trained. */
static enum hypar_status make_unused(struct reading *r)
{
    for (int i = 0; i < r->n_entries; i++) {
        struct entry *e = &r->entries[i];
        if (e->tensor >= 0)
            continue;
        if (e->param)
            return hp_fail(r->err, HYPAR_INVALID,
                           "%s: params[%d]: '%.60s' is not used by any operator", r->file,
                           e->place, e->name);
        entry_tensor(r, e);
    }
    return HYPAR_OK;
}

static enum hypar_status read_body(struct reading *r)
{
    TRY(read_declarations(r, &r->inputs, false));
    TRY(read_declarations(r, &r->params, true));
    for (struct json at = { 0 }; hp_json_each(&r->ops, &at);)
        TRY(read_op(r, &at));
    TRY(read_outputs(r));
    return make_unused(r);
}

/* A graph may have no parameters. The file of values is in the model's folder. */
static enum hypar_status read_head(struct reading *r, const struct json *root)
{
    struct json values = hp_json_member(root, "weights");
    TRY(hp_json_format(root, "hypar-graph/1", r->err));
    TRY(HP_JSON_READ(
        root, r->err, JSON_KEY("format"), JSON_NAME("name", &r->name),
        JSON_INT("batch", &r->file_batch, 1, HP_MAX_BATCH), JSON_NAME("?weights", &r->values),
        JSON_LIST("inputs", &r->inputs, HP_MAX_TENSORS),
        JSON_LIST("?params", &r->params, HP_MAX_TENSORS), JSON_LIST("ops", &r->ops, HP_MAX_OPS),
        JSON_LIST("?outputs", &r->outputs, HP_MAX_TENSORS), JSON_KEY("modules"),
        JSON_KEY("arguments"), JSON_KEY("mixing"), JSON_KEY("undivided"),
        JSON_KEY("loss_function"), JSON_KEY("own_loss"), JSON_KEY("summed_loss")));
    if (r->values && strchr(r->values, '/'))
        return hp_json_fail(&values, r->err, "expected a file beside this one, not \"%.80s\"",
                            r->values);
    return HYPAR_OK;
}

static enum hypar_status keep_rest(const struct reading *r, const struct json *root,
                                   struct hypar_graph *graph)
{
    if (r->values)
        graph->values_name = hp_arena_strdup(&graph->arena, r->values);
    return hp_read_torch(graph, root, r->file_batch, r->err);
}

static enum hypar_status read_graph(struct hypar_graph **out, const struct json *root,
                                    int64_t batch, struct hypar_error *err)
{
    struct reading r = { .err = err, .file = root->key };
    TRY(read_head(&r, root));
    r.batch = batch ? batch : r.file_batch;
    r.builder = hp_build(r.name, r.batch);
    enum hypar_status status = read_body(&r);
    if (status == HYPAR_OK)
        status = hp_in(err, hp_build_finish(r.builder, out, err), "%s", r.file);
    else
        hp_build_abandon(r.builder);
    hp_arena_free(&r.arena);
    if (status == HYPAR_OK)
        status = keep_rest(&r, root, *out);
    if (status != HYPAR_OK) {
        hypar_graph_free(*out);
        *out = NULL;
    }
    return status;
}

enum hypar_status hp_graph_read_json(struct hypar_graph **out, const struct json *at,
                                     struct hypar_error *err)
{
    *out = NULL;
    return read_graph(out, at, 0, err);
}

static enum hypar_status read_document(struct hypar_graph **out, struct json_document *document,
                                       int64_t batch, struct hypar_error *err)
{
    struct json root = hp_json_root(document);
    struct hypar_graph *as_written = NULL;
    if (hp_is_piper(&root)) {
        enum hypar_status status = hp_piper_graph(out, &root, batch, err);
        hp_json_free(document);
        return status;
    }
    enum hypar_status status = read_graph(&as_written, &root, 0, err);
    if (status == HYPAR_OK && batch && batch != as_written->batch) {
        status = read_graph(out, &root, batch, err);
        status = hp_in(err, status, "with a batch of %lld", (long long)batch);
        if (status == HYPAR_OK)
            status = hp_check_follows(as_written, *out, root.key, err);
    } else {
        *out = as_written;
        as_written = NULL;
    }
    if (status != HYPAR_OK) {
        hypar_graph_free(*out);
        *out = NULL;
    }
    hypar_graph_free(as_written);
    hp_json_free(document);
    return status;
}

enum hypar_status hp_graph_read_text(struct hypar_graph **out, const char *text, size_t length,
                                     const char *name, int64_t batch, struct hypar_error *err)
{
    struct json_document *document;
    *out = NULL;
    TRY(hp_json_read_text(&document, text, length, name, err));
    return read_document(out, document, batch, err);
}

/* Where the file of values is; planning does without it, so that it may be missing. */
static enum hypar_status find_values(struct hypar_graph *graph, const char *path,
                                     const struct hypar_import_options *options,
                                     struct hypar_error *err)
{
    char beside[PATH_MAX];
    bool missing = hp_path_beside(path, graph->values_name, beside) && access(beside, F_OK);
    if (!missing)
        TRY(hp_in(err,
                  hp_file_beside(path, graph->values_name, "weights", options->follow_links,
                                 beside, err),
                  "%s", path));
    graph->values_path = hp_arena_strdup(&graph->arena, beside);
    return options->reads ? options->reads(options->who, beside, err) : HYPAR_OK;
}

static enum hypar_status read_path(struct hypar_graph **out, const char *path,
                                   const struct hypar_import_options *options,
                                   struct hypar_error *err)
{
    struct json_document *document;
    *out = NULL;
    TRY(hp_json_read_file(&document, path, err));
    TRY(read_document(out, document, options->batch, err));
    struct hypar_graph *graph = *out;
    enum hypar_status status =
        graph->values_name ? find_values(graph, path, options, err) : HYPAR_OK;
    if (status == HYPAR_OK)
        return HYPAR_OK;
    hypar_graph_free(graph);
    *out = NULL;
    return status;
}

static bool begins(const char *head, size_t n)
{
    size_t i = 0;
    while (i < n && isspace((unsigned char)head[i]))
        i++;
    return i < n && head[i] == '{';
}

const struct model_reader hp_reader_json = { "hypar-graph/1 JSON", ".json", begins, read_path };
