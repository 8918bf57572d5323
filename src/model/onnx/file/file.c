/* Unpacks the protobuf message of an ONNX file into the structs of file.h, and sorts the
 * nodes. Only this file includes protobuf-c. */
#include "model/onnx/file/file.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/csr.h"
#include "base/number.h"
#include "base/utf8.h"

static enum hypar_status order_nodes(struct onnx_file *file, struct hypar_error *err);

#ifdef HYPAR_WITH_PROTOBUF_C

#include <onnx.pb-c.h>

/* Everything is unpacked into the file's arena, and released with it. */
static void *take(void *arena, size_t bytes)
{
    return hp_arena_alloc(arena, bytes ? bytes : 1, 1, alignof(max_align_t));
}

static void leave(void *arena, void *bytes)
{
    (void)arena;
    (void)bytes;
}

/* A name that can be printed and written to JSON as it is. */
static const char *text(struct onnx_file *file, const char *from)
{
    return hp_clean_text(hp_arena_strdup(&file->arena, from ? from : ""), '_');
}

static enum hypar_status read_shape(const int64_t *dims, size_t n, struct onnx_tensor *t,
                                    struct hypar_error *err)
{
    double elements = 1;
    if (n > MAX_DIMS)
        return hp_fail(err, HYPAR_UNSUPPORTED, "%zu dimensions, expected at most %d", n,
                       MAX_DIMS);
    t->shape.n_dims = (int)n;
    for (size_t d = 0; d < n; d++) {
        if (dims[d] < 0)
            return hp_fail(err, HYPAR_INVALID, "dimension %zu has %lld, expected 0 or more", d,
                           (long long)dims[d]);
        t->shape.dim[d] = dims[d];
        elements *= (double)dims[d];
        if (elements >= 0x1p50) /* each time: a 0 to come makes nothing smaller */
            return hp_fail(err, HYPAR_INVALID, "%g elements, expected less than 2^50",
                           elements);
    }
    t->elements = (int64_t)elements;
    return HYPAR_OK;
}

static enum hypar_status read_place(const char *key, const char *value, int64_t *out,
                                    struct hypar_error *err)
{
    char *end;
    errno = 0;
    long long number = strtoll(value, &end, 10);
    if (end == value || *end || errno || number < 0)
        return hp_fail(err, HYPAR_INVALID, "external data: %s is '%.40s', expected bytes", key,
                       value);
    *out = number;
    return HYPAR_OK;
}

static enum hypar_status read_external(struct onnx_file *file, const Onnx__Tensor *from,
                                       struct onnx_tensor *t, struct hypar_error *err)
{
    bool plain = true;
    t->external = true;
    t->field = 9;
    t->copy = NULL;
    t->offset = 0;
    t->size = t->elements * hp_onnx_type_bytes(t->type);
    for (size_t i = 0; i < from->n_external_data; i++) {
        const char *key = text(file, from->external_data[i]->key);
        const char *value = text(file, from->external_data[i]->value);
        if (strcmp(key, "location") == 0) {
            t->location = value;
            plain = !from->external_data[i]->value ||
                    !hp_has_control(from->external_data[i]->value);
        } else if (strcmp(key, "offset") == 0) {
            TRY(read_place(key, value, &t->offset, err));
        } else if (strcmp(key, "length") == 0) {
            TRY(read_place(key, value, &t->size, err));
        }
    }
    if (!t->location || !*t->location)
        return hp_fail(err, HYPAR_INVALID, "external data without a location");
    if (!plain)
        return hp_fail(err, HYPAR_INVALID,
                       "external data is in '%.80s', expected a name in UTF-8 without control "
                       "characters",
                       t->location);
    if (t->location[0] == '/' || strstr(t->location, ".."))
        return hp_fail(err, HYPAR_INVALID,
                       "external data is in '%.80s', expected a file beside the model",
                       t->location);
    return HYPAR_OK;
}

static enum hypar_status read_tensor(struct onnx_file *file, const Onnx__Tensor *from,
                                     struct onnx_tensor *t, struct hypar_error *err)
{
    *t = (struct onnx_tensor){ .name = text(file, from->name), .type = from->data_type };
    t->label = t->name;
    if (hp_onnx_family(t->type) == ONNX_OTHER)
        return hp_fail(err, HYPAR_UNSUPPORTED, "element type %s is not supported",
                       hp_onnx_type_name(t->type));
    TRY(read_shape(from->dims, from->n_dims, t, err));
    if (from->has_value_field) {
        t->field = (int)from->value_field;
        t->offset = (int64_t)from->value_offset;
        t->size = (int64_t)from->value_size;
        if (from->value_copy.len == from->value_size) /* all of them, or none */
            t->copy = from->value_copy.data;
    }
    return from->data_location == 1 ? read_external(file, from, t, err) : HYPAR_OK;
}

/* A float is meant as the shortest number that reads back as it: 0.001, not 0.0010000000475. */
static double as_written(float f)
{
    char digits[32];
    for (int n = 6; n < 9; n++) {
        snprintf(digits, sizeof digits, "%.*g", n, (double)f);
        double value;
        const char *p = digits + (*digits == '-');
        if (!hp_number_read(p, &value))
            break;
        value = *digits == '-' ? -value : value;
        if ((float)value == f)
            return value;
    }
    return (double)f;
}

static enum hypar_status read_attr(struct onnx_file *file, const Onnx__Attribute *from,
                                   struct onnx_attr *a, struct hypar_error *err)
{
    *a = (struct onnx_attr){ .name = text(file, from->name),
                             .i = from->i,
                             .f = as_written(from->f),
                             .refers = text(file, from->ref_attr_name) };
    if (from->n_ints > ONNX_MAX_FOLDED || from->n_floats > ONNX_MAX_FOLDED)
        return hp_fail(err, HYPAR_UNSUPPORTED, "attribute '%.60s' has too many values",
                       a->name);
    a->s = text(file, from->s.len ? hp_arena_strndup(&file->arena, (const char *)from->s.data,
                                                     from->s.len)
                                  : "");
    a->n_ints = (int)from->n_ints;
    a->ints = from->ints;
    a->n_floats = (int)from->n_floats;
    a->floats = from->floats;
    if (!from->t)
        return HYPAR_OK;
    struct onnx_tensor *t = NEW(&file->arena, struct onnx_tensor, 1);
    a->t = t;
    return hp_in(err, read_tensor(file, from->t, t, err), "attribute '%.60s'", a->name);
}

static const char **read_names(struct onnx_file *file, char **from, size_t n)
{
    const char **names = NEW(&file->arena, const char *, n);
    for (size_t i = 0; i < n; i++)
        names[i] = text(file, from[i]);
    return names;
}

/* The value of an entry of metadata, as it is; NULL: none. */
static const char *find_metadata(Onnx__Entry **entry, size_t n, int which)
{
    const char *key = hp_onnx_metadata_key(which);
    for (size_t i = 0; i < n; i++)
        if (entry[i]->key && entry[i]->value && strcmp(entry[i]->key, key) == 0)
            return entry[i]->value;
    return NULL;
}

/* The name of a node: of the module that it comes from, where the file says so. */
static const char *node_name(struct onnx_file *file, const Onnx__Node *from, int number)
{
    const char *scopes =
                   find_metadata(from->metadata_props, from->n_metadata_props, ONNX_SCOPES),
               *name = scopes ? hp_onnx_scoped_name(&file->arena, text(file, scopes)) : NULL;
    if (!name)
        name = text(file, from->name);
    if (*name)
        return name;
    return from->n_output && *from->output[0]
               ? text(file, from->output[0])
               : hp_arena_printf(&file->arena, "node_%d", number);
}

static enum hypar_status read_node(struct onnx_file *file, const Onnx__Node *from, int number,
                                   struct onnx_node *node, struct hypar_error *err)
{
    *node = (struct onnx_node){ .op = text(file, from->op_type),
                                .domain = text(file, from->domain),
                                .n_inputs = (int)from->n_input,
                                .n_outputs = (int)from->n_output,
                                .n_attrs = (int)from->n_attribute };
    node->input = read_names(file, from->input, from->n_input);
    node->output = read_names(file, from->output, from->n_output);
    node->attr = NEW(&file->arena, struct onnx_attr, node->n_attrs);
    node->name = node_name(file, from, number);
    for (int i = 0; i < node->n_attrs; i++)
        TRY(hp_in(err, read_attr(file, from->attribute[i], &node->attr[i], err),
                  "node '%.80s' (%.40s)", node->name, node->op));
    return HYPAR_OK;
}

static enum hypar_status read_info(struct onnx_file *file, const Onnx__ValueInfo *from,
                                   struct onnx_info *info, struct hypar_error *err)
{
    const char *folded =
        find_metadata(from->metadata_props, from->n_metadata_props, ONNX_FOLDED_FROM);
    *info = (struct onnx_info){ .name = text(file, from->name),
                                .folded_from = folded ? text(file, folded) : NULL };
    const Onnx__TensorType *type = from->type ? from->type->tensor_type : NULL;
    if (!type)
        return HYPAR_OK;
    info->type = type->elem_type;
    info->shaped = type->shape != NULL;
    size_t n = type->shape ? type->shape->n_dim : 0;
    if (n > MAX_DIMS)
        return hp_fail(err, HYPAR_UNSUPPORTED,
                       "tensor '%.80s': %zu dimensions, expected at most %d", info->name, n,
                       MAX_DIMS);
    info->n_dims = (int)n;
    for (size_t d = 0; d < n; d++) {
        const Onnx__Dimension *dim = type->shape->dim[d];
        info->dim[d].size = dim->has_dim_value ? dim->dim_value : -1;
        info->dim[d].symbol = text(file, dim->dim_param);
    }
    return HYPAR_OK;
}

static enum hypar_status read_infos(struct onnx_file *file, Onnx__ValueInfo **from, size_t n,
                                    struct onnx_info **out, int *n_out, struct hypar_error *err)
{
    *out = NEW(&file->arena, struct onnx_info, n);
    *n_out = (int)n;
    for (size_t i = 0; i < n; i++)
        TRY(read_info(file, from[i], &(*out)[i], err));
    return HYPAR_OK;
}

static enum hypar_status read_function(struct onnx_file *file, const Onnx__Function *from,
                                       struct onnx_function *f, struct hypar_error *err)
{
    *f = (struct onnx_function){ .name = text(file, from->name),
                                 .domain = text(file, from->domain),
                                 .n_inputs = (int)from->n_input,
                                 .n_outputs = (int)from->n_output,
                                 .n_nodes = (int)from->n_node,
                                 .n_defaults = (int)from->n_attribute_proto };
    f->input = read_names(file, from->input, from->n_input);
    f->output = read_names(file, from->output, from->n_output);
    f->node = NEW(&file->arena, struct onnx_node, from->n_node);
    f->otherwise = NEW(&file->arena, struct onnx_attr, from->n_attribute_proto);
    for (int i = 0; i < f->n_nodes; i++)
        TRY(read_node(file, from->node[i], i, &f->node[i], err));
    for (int i = 0; i < f->n_defaults; i++)
        TRY(read_attr(file, from->attribute_proto[i], &f->otherwise[i], err));
    return HYPAR_OK;
}

static enum hypar_status read_functions(struct onnx_file *file, const Onnx__Model *model,
                                        struct hypar_error *err)
{
    file->n_functions = (int)model->n_functions;
    file->function = NEW(&file->arena, struct onnx_function, model->n_functions);
    for (int i = 0; i < file->n_functions; i++)
        TRY(hp_in(err, read_function(file, model->functions[i], &file->function[i], err),
                  "function '%.60s'",
                  model->functions[i]->name ? text(file, model->functions[i]->name) : ""));
    return hp_onnx_inline(file, err);
}

static enum hypar_status read_graph(struct onnx_file *file, const Onnx__Graph *graph,
                                    struct hypar_error *err)
{
    file->n_nodes = (int)graph->n_node;
    file->node = NEW(&file->arena, struct onnx_node, graph->n_node);
    for (int i = 0; i < file->n_nodes; i++)
        TRY(read_node(file, graph->node[i], i, &file->node[i], err));
    file->n_initializers = (int)graph->n_initializer;
    file->initializer = NEW(&file->arena, struct onnx_tensor, graph->n_initializer);
    for (int i = 0; i < file->n_initializers; i++)
        TRY(hp_in(err, read_tensor(file, graph->initializer[i], &file->initializer[i], err),
                  "initializer '%.80s'",
                  graph->initializer[i]->name ? text(file, graph->initializer[i]->name) : ""));
    file->signature =
        find_metadata(graph->metadata_props, graph->n_metadata_props, ONNX_SIGNATURE);
    TRY(read_infos(file, graph->input, graph->n_input, &file->input, &file->n_inputs, err));
    TRY(read_infos(file, graph->output, graph->n_output, &file->output, &file->n_outputs, err));
    return read_infos(file, graph->value_info, graph->n_value_info, &file->info, &file->n_infos,
                      err);
}

static enum hypar_status read_model(struct onnx_file *file, const Onnx__Model *model,
                                    struct hypar_error *err)
{
    int64_t version = 0;
    for (size_t i = 0; i < model->n_opset_import; i++) {
        const char *domain = model->opset_import[i]->domain;
        if (!domain || !*domain || strcmp(domain, "ai.onnx") == 0)
            version = model->opset_import[i]->version;
    }
    if (!model->graph || !model->graph->n_node)
        return hp_fail(err, HYPAR_INVALID, "a model without nodes");
    if (version < ONNX_LEAST_OPSET || version > ONNX_MOST_OPSET)
        return hp_fail(err, HYPAR_UNSUPPORTED, "opset %lld, expected %d to %d",
                       (long long)version, ONNX_FIRST_OPSET, ONNX_LAST_OPSET);
    file->opset = (int)version;
    TRY(read_graph(file, model->graph, err));
    TRY(read_functions(file, model, err));
    hp_onnx_read_signature(file);
    return order_nodes(file, err);
}

static enum hypar_status unpack(struct onnx_file *file, struct hypar_error *err)
{
    const unsigned char *bytes;
    size_t size;
    TRY(hp_onnx_skim(&file->arena, file->stream, file->bytes, &bytes, &size, err));
    ProtobufCAllocator allocator = { take, leave, &file->arena };
    const Onnx__Model *model = onnx__model__unpack(&allocator, size, bytes);
    if (!model)
        return hp_fail(err, HYPAR_SYNTAX, "not an ONNX file: its fields contradict ONNX's");
    return read_model(file, model, err);
}

#else

static enum hypar_status unpack(struct onnx_file *file, struct hypar_error *err)
{
    (void)file;
    (void)order_nodes;
    return hp_fail(err, HYPAR_UNSUPPORTED,
                   "this build does not read ONNX: it was made without protobuf-c");
}

#endif

/* Order --------------------------------------------------------------------------------- */

/* Nodes by what they write. */
struct writers {
    struct table names;
    int *waits; /* inputs of a node that are not written yet */
};

static int writer_of(const struct writers *w, const char *name)
{
    return *name ? hp_table_get(&w->names, name, strlen(name)) : -1;
}

/* Walk from a node that waits to one that it waits for, until one comes again: it is on a
 * cycle. */
static const struct onnx_node *find_cycle(const struct onnx_file *file, const struct writers *w,
                                          int node)
{
    for (int steps = 0; steps <= file->n_nodes; steps++) {
        const struct onnx_node *at = &file->node[node];
        for (int i = 0; i < at->n_inputs; i++) {
            int writer = writer_of(w, at->input[i]);
            if (writer >= 0 && w->waits[writer] > 0) {
                node = writer;
                break;
            }
        }
    }
    return &file->node[node];
}

/* Who reads from each node, as a CSR list. */
static int *list_readers(struct arena *arena, const struct onnx_file *file, struct writers *w,
                         int **start_out)
{
    struct csr readers = { .arena = arena, .n_keys = file->n_nodes };
    while (hp_csr_pass(&readers))
        for (int i = 0; i < file->n_nodes; i++)
            for (int k = 0; k < file->node[i].n_inputs; k++) {
                int writer = writer_of(w, file->node[i].input[k]);
                if (writer < 0)
                    continue;
                hp_csr_put(&readers, writer, i);
                w->waits[i] += readers.item == NULL; /* counted once */
            }
    *start_out = readers.start;
    return readers.item;
}

/* Put each node after the nodes that it reads from; otherwise keep the file's order. */
static enum hypar_status sort_nodes(struct onnx_file *file, struct writers *w,
                                    struct hypar_error *err)
{
    int n = file->n_nodes, done = 0, found = 0, *start;
    int *reader = list_readers(&file->arena, file, w, &start);
    int *queue = NEW(&file->arena, int, n);
    struct onnx_node *sorted = NEW(&file->arena, struct onnx_node, n);
    for (int i = 0; i < n; i++)
        if (!w->waits[i])
            queue[found++] = i;
    for (; done < found; done++) {
        sorted[done] = file->node[queue[done]];
        for (int k = start[queue[done]]; k < start[queue[done] + 1]; k++)
            if (--w->waits[reader[k]] == 0)
                queue[found++] = reader[k];
    }
    for (int i = 0; i < n && done < n; i++)
        if (w->waits[i]) {
            const struct onnx_node *node = find_cycle(file, w, i);
            return hp_fail(err, HYPAR_INVALID, "node '%.80s' (%.40s) is on a cycle", node->name,
                           node->op);
        }
    file->node = sorted;
    return HYPAR_OK;
}

static enum hypar_status order_nodes(struct onnx_file *file, struct hypar_error *err)
{
    struct writers w = { .waits = NEW(&file->arena, int, file->n_nodes) };
    for (int i = 0; i < file->n_nodes; i++)
        for (int k = 0; k < file->node[i].n_outputs; k++) {
            const char *name = file->node[i].output[k];
            if (*name && hp_table_put(&w.names, &file->arena, name, strlen(name), i) != i)
                return hp_fail(err, HYPAR_INVALID,
                               "node '%.80s' (%.40s) writes '%.80s', which another node writes",
                               file->node[i].name, file->node[i].op, name);
        }
    for (int i = 0; i < file->n_nodes; i++)
        for (int k = 0; k < file->node[i].n_inputs; k++)
            if (writer_of(&w, file->node[i].input[k]) >= i)
                return sort_nodes(file, &w, err);
    return HYPAR_OK;
}

/* Opening ------------------------------------------------------------------------------- */

enum hypar_status hp_onnx_open_stream(struct onnx_file **out, FILE *stream, const char *path,
                                      struct hypar_error *err)
{
    struct arena arena = { 0 };
    struct onnx_file *file = NEW(&arena, struct onnx_file, 1);
    file->arena = arena;
    file->path = hp_arena_strdup(&file->arena, path);
    file->stream = stream;
    *out = NULL;
    enum hypar_status status = HYPAR_OK;
    if (fseeko(stream, 0, SEEK_END) != 0 || (file->bytes = (int64_t)ftello(stream)) < 0 ||
        fseeko(stream, 0, SEEK_SET) != 0)
        status = hp_fail(err, HYPAR_UNREADABLE, "cannot read: %s", strerror(errno));
    if (status == HYPAR_OK)
        status = unpack(file, err);
    if (status == HYPAR_OK)
        *out = file;
    else
        hp_onnx_close(file);
    return hp_in(err, status, "%s", path);
}

enum hypar_status hp_onnx_open(struct onnx_file **out, const char *path,
                               struct hypar_error *err)
{
    struct stat about;
    *out = NULL;
    FILE *stream = hypar_or_out_of_memory(fopen(path, "rb"));
    if (!stream)
        return hp_fail(err, HYPAR_UNREADABLE, "%s: cannot open: %s", path, strerror(errno));
    if (fstat(fileno(stream), &about) != 0 || !S_ISREG(about.st_mode)) {
        fclose(stream);
        return hp_fail(err, HYPAR_UNREADABLE, "%s: cannot read: not a regular file", path);
    }
    return hp_onnx_open_stream(out, stream, path, err);
}

void hp_onnx_close(struct onnx_file *file)
{
    if (!file)
        return;
    fclose(file->stream);
    hp_arena_free(&file->arena);
}
