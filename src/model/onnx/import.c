/* Reads an ONNX file as a network: finds the batch, makes the inputs and initializers,
 * translates the nodes one by one, and finds the outputs. */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "base/utf8.h"
#include "base/word.h"
#include "model/onnx/onnx.h"

enum { OPEN_BATCH = 32 }; /* samples where neither file nor user tells */

/* Options: "name=number,..." -----------------------------------------------------------------
 */

/* The number that a list has for `name`; false: none. */
static bool listed(const char *list, const char *name, int64_t *out)
{
    size_t n = strlen(name);
    for (const char *p = list; p && *p; p += strcspn(p, ","), p += *p == ',')
        if (strncmp(p, name, n) == 0 && p[n] == '=') {
            *out = strtoll(p + n + 1, NULL, 10);
            return true;
        }
    return false;
}

/* The names that a list may have: of inputs, or of the symbols among their dimensions. */
static const char **known_names(struct importing *im, bool inputs, int *n)
{
    const struct onnx_file *file = im->file;
    const char **names =
        NEW(&im->arena, const char *, (int64_t)file->n_inputs *(inputs ? 1 : MAX_DIMS));
    struct table seen = { 0 };
    *n = 0;
    for (int i = 0; i < file->n_inputs; i++)
        for (int d = 0; d < (inputs ? 1 : file->input[i].n_dims); d++) {
            const char *name = inputs ? file->input[i].name : file->input[i].dim[d].symbol;
            if (*name && hp_table_put(&seen, &im->arena, name, strlen(name), *n) == *n)
                names[(*n)++] = name;
        }
    return names;
}

/* Is it a list, and is each name in it one of these? */
static enum hypar_status check_list(struct importing *im, const char *list, bool inputs)
{
    int n;
    const char **known = known_names(im, inputs, &n);
    for (const char *p = list; p && *p;) {
        int length = (int)strcspn(p, ","), k = 0;
        const char *sign = memchr(p, '=', (size_t)length);
        char *end = NULL, names[256];
        if (sign)
            strtoll(sign + 1, &end, 10);
        if (!sign || end == sign + 1 || end != p + length)
            return hp_fail(im->err, HYPAR_INVALID, "'%.*s' is not NAME=NUMBER", length, p);
        int name = (int)(sign - p);
        while (k < n && (strncmp(known[k], p, (size_t)name) != 0 || known[k][name]))
            k++;
        if (k == n)
            return hp_fail(im->err, HYPAR_INVALID, "the model has no %s '%.*s'%s%s",
                           inputs ? "input" : "symbolic dimension", name, p,
                           n ? "; it has " : "", hp_word_list(names, sizeof names, known, n));
        p += length + (p[length] == ',');
    }
    return HYPAR_OK;
}

/* Inputs ---------------------------------------------------------------------------------- */

static bool names_batch(const char *symbol)
{
    static const char batch[] = "batch";
    for (; *symbol; symbol++) {
        int n = 0;
        while (batch[n] && tolower((unsigned char)symbol[n]) == batch[n])
            n++;
        if (!batch[n])
            return true;
    }
    return false;
}

static bool is_initializer(struct importing *im, const char *name)
{
    return hp_onnx_find(im, name) != NULL;
}

/* What the file calls the samples (im->symbol), or how many it has (file->batch): a symbol with
 * "batch" in it, else the first input's first dimension, or the one that the user names. */
static void find_batch(struct importing *im)
{
    struct onnx_file *file = im->file;
    const char *dims = im->options->batch_dims;
    file->batch = 0;
    for (int i = 0; i < file->n_inputs && !dims; i++)
        for (int d = 0; d < file->input[i].n_dims; d++)
            if (names_batch(file->input[i].dim[d].symbol)) {
                im->symbol = file->input[i].dim[d].symbol;
                return;
            }
    for (int i = 0; i < file->n_inputs; i++) {
        const struct onnx_info *info = &file->input[i];
        int64_t dim = 0;
        listed(dims, info->name, &dim);
        if (is_initializer(im, info->name) || dim < 0 || dim >= info->n_dims)
            continue;
        if (info->dim[dim].size > 0)
            file->batch = info->dim[dim].size;
        else
            im->symbol = info->dim[dim].symbol;
        return;
    }
}

/* The dimension of an input that holds the samples, -1: none. */
static enum hypar_status find_samples(struct importing *im, const struct onnx_info *info,
                                      int *out)
{
    int64_t dim, batch = im->file->batch;
    *out = -1;
    if (listed(im->options->batch_dims, info->name, &dim)) {
        if (dim < -1 || dim >= info->n_dims)
            return hp_fail(im->err, HYPAR_INVALID,
                           "input '%.80s' has %d dimensions, the samples cannot be in %lld",
                           info->name, info->n_dims, (long long)dim);
        *out = (int)dim;
        return HYPAR_OK;
    }
    for (int d = 0; d < info->n_dims && im->symbol && *out < 0; d++)
        if (*im->symbol && strcmp(info->dim[d].symbol, im->symbol) == 0)
            *out = d;
    bool first = info->n_dims > 0 && *out < 0;
    if (first && im->symbol ? info->dim[0].size < 1 && !*im->symbol
                            : first && batch && info->dim[0].size == batch)
        *out = 0;
    return HYPAR_OK;
}

static enum hypar_status input_shape(struct importing *im, const struct onnx_info *info,
                                     int samples, struct hypar_shape *shape)
{
    *shape = (struct hypar_shape){ .n_dims = info->n_dims };
    for (int d = 0; d < info->n_dims; d++) {
        const struct onnx_dim *dim = &info->dim[d];
        shape->dim[d] = d == samples ? im->batch : dim->size;
        if (shape->dim[d] < 1 && *dim->symbol)
            listed(im->options->dims, dim->symbol, &shape->dim[d]);
        if (shape->dim[d] < 1)
            return hp_fail(im->err, HYPAR_INVALID,
                           "input '%.80s': dimension %d ('%.40s') has no size, expected one "
                           "from --dim %.40s=N",
                           info->name, d, dim->symbol, *dim->symbol ? dim->symbol : "NAME");
    }
    return HYPAR_OK;
}

/* Which inputs are looked up with, perhaps in another shape? The others are numbers, even if
 * they are written as integers (masks). */
static bool *find_indices(struct importing *im)
{
    const struct onnx_file *file = im->file;
    struct table from = { 0 };
    bool *index = NEW(&im->arena, bool, file->n_inputs);
    for (int i = 0; i < file->n_inputs; i++)
        hp_table_put(&from, &im->arena, file->input[i].name, strlen(file->input[i].name), i);
    for (int n = 0; n < file->n_nodes; n++) {
        const struct onnx_node *node = &file->node[n];
        bool gather = hp_onnx_lists("Gather GatherElements ScatterElements", node->op);
        bool view = hp_onnx_lists("Identity Cast Reshape Unsqueeze Squeeze Flatten Transpose",
                                  node->op);
        const char *name = gather && node->n_inputs > 1 ? node->input[1]
                           : view && node->n_inputs > 0 ? node->input[0]
                                                        : "";
        int input = *name ? hp_table_get(&from, name, strlen(name)) : -1;
        if (input >= 0 && gather)
            index[input] = true;
        else if (input >= 0 && node->n_outputs > 0 && *node->output[0])
            hp_table_put(&from, &im->arena, node->output[0], strlen(node->output[0]), input);
    }
    return index;
}

static enum hypar_status read_input(struct importing *im, const struct onnx_info *info,
                                    bool index)
{
    struct hypar_shape shape;
    int samples;
    enum onnx_family family = hp_onnx_family(info->type);
    if (family == ONNX_OTHER)
        return hp_fail(im->err, HYPAR_UNSUPPORTED,
                       "input '%.80s': element type %s is not supported", info->name,
                       hp_onnx_type_name(info->type));
    if (!info->shaped)
        return hp_fail(im->err, HYPAR_INVALID, "input '%.80s' has no shape", info->name);
    TRY(find_samples(im, info, &samples));
    TRY(input_shape(im, info, samples, &shape));
    index = index && family == ONNX_INTEGERS;
    int t = hp_build_input(im->b, hp_onnx_unique(im, info->name), &shape, index, samples);
    if (t < 0)
        return hp_fail(im->err, HYPAR_INVALID, "input '%.80s' is too large or there twice",
                       info->name);
    return hp_onnx_enter(im, info->name,
                         (struct value){ .kind = index ? VALUE_INDEX : VALUE_NUMBERS,
                                         .type = info->type,
                                         .shape = shape,
                                         .tensor = t });
}

static enum hypar_status read_inputs(struct importing *im)
{
    const bool *index = find_indices(im);
    int n = 0;
    for (int i = 0; i < im->file->n_inputs; i++) {
        if (is_initializer(im, im->file->input[i].name))
            continue; /* before version 4 of the format each was an input too */
        TRY(read_input(im, &im->file->input[i], index[i]));
        n++;
    }
    return n ? HYPAR_OK : hp_fail(im->err, HYPAR_INVALID, "a model without inputs");
}

/* Initializers ---------------------------------------------------------------------------- */

/* The initializers that are not weights: masks and tables, unless their name or the file says
 * that they are parameters. Only element-wise nodes, and nodes that take masks or tables, read
 * them. */
static bool *find_unweighted(struct importing *im)
{
    static const char element_wise[] =
        "Add Sub Mul Div Where Pow Equal Greater Less GreaterOrEqual LessOrEqual Expand Slice "
        "CastLike RotaryEmbedding Attention Cast";
    const struct onnx_file *file = im->file;
    bool *alone = NEW(&im->arena, bool, file->n_initializers);
    for (int i = 0; i < file->n_initializers; i++)
        alone[i] = true;
    for (int n = 0; n < file->n_nodes; n++) {
        bool plain = hp_onnx_lists(element_wise, file->node[n].op);
        for (int k = 0; k < file->node[n].n_inputs && !plain; k++) {
            int i = hp_onnx_initializer(im, file->node[n].input[k]);
            if (i >= 0)
                alone[i] = false;
        }
    }
    return alone;
}

/* Is an initializer a parameter? Where PyTorch says so; else if it is no integer, and no number
 * or mask of the exporter's own. */
static bool is_trained(const struct onnx_file *file, const struct onnx_tensor *t, bool alone)
{
    if (hp_onnx_family(t->type) == ONNX_INTEGERS || t->role == ROLE_CONSTANT)
        return false;
    if (t->role == ROLE_TRAINED)
        return true;
    if (t->elements == 1 && t->field && hp_onnx_is_made_up(t->name))
        return false;
    bool own = file->signature != NULL || hp_onnx_is_made_up(t->name);
    return !(own && alone);
}

/* Read values that may be computed with; false: there are none, or too many. */
static enum hypar_status read_constant(struct importing *im, const struct onnx_tensor *t,
                                       bool *read)
{
    double *data;
    bool integers = hp_onnx_family(t->type) == ONNX_INTEGERS;
    *read = (t->field || integers) && !im->absent[t - im->file->initializer] &&
            t->elements <= ONNX_MAX_FOLDED;
    if (!*read)
        return HYPAR_OK;
    TRY(hp_onnx_fold_room(im, t->elements, &data));
    TRY(hp_onnx_read_data(im->file, t, 0, t->elements, data, im->err));
    struct value v = hp_onnx_constant(t->type, &t->shape, data, false);
    v.label = t->label;
    return hp_onnx_enter(im, t->name, v);
}

static enum hypar_status read_initializer(struct importing *im, int i, bool alone)
{
    struct onnx_tensor *t = &im->file->initializer[i];
    bool read = false;
    im->absent[i] = hp_onnx_is_absent(im->file, t);
    TRY(hp_onnx_check_data(im->file, t, im->err));
    im->n_absent += im->absent[i];
    im->trained[i] = is_trained(im->file, t, alone);
    if (!im->trained[i])
        TRY(read_constant(im, t, &read));
    if (read)
        return HYPAR_OK;
    struct weight_range *range = NEW(&im->arena, struct weight_range, 1);
    *range = (struct weight_range){ i, 0, t->elements };
    return hp_onnx_enter(im, t->name,
                         (struct value){ .kind = VALUE_WEIGHT,
                                         .type = t->type,
                                         .shape = t->shape,
                                         .n_ranges = 1,
                                         .range = range,
                                         .tensor = -1 });
}

static enum hypar_status read_initializers(struct importing *im)
{
    int n = im->file->n_initializers;
    im->param = NEW(&im->arena, int, n);
    im->divided = NEW(&im->arena, bool, n);
    im->absent = NEW(&im->arena, bool, n);
    im->trained = NEW(&im->arena, bool, n);
    im->copy_of = NEW(&im->arena, int, n);
    im->folded_as = NEW(&im->arena, enum folded_as, n);
    for (int i = 0; i < n; i++) {
        const char *name = im->file->initializer[i].name;
        hp_table_put(&im->initializers, &im->arena, name, strlen(name), i);
        im->param[i] = im->copy_of[i] = -1;
    }
    const bool *alone = find_unweighted(im);
    for (int i = 0; i < n; i++)
        TRY(hp_in(im->err, read_initializer(im, i, alone[i]), "initializer '%.80s'",
                  im->file->initializer[i].name));
    hp_onnx_find_tied(im);
    return HYPAR_OK;
}

/* The whole ------------------------------------------------------------------------------- */

static void list_infos(struct importing *im)
{
    const struct onnx_file *file = im->file;
    for (int i = 0; i < file->n_infos; i++)
        hp_table_put(&im->infos, &im->arena, file->info[i].name, strlen(file->info[i].name), i);
    for (int i = 0; i < file->n_outputs; i++)
        hp_table_put(&im->infos, &im->arena, file->output[i].name, strlen(file->output[i].name),
                     file->n_infos + i);
}

/* The tensors that are outputs; constants and weights are none. */
static enum hypar_status find_outputs(struct importing *im, int *outputs, int *n)
{
    *n = 0;
    for (int i = 0; i < im->file->n_outputs; i++) {
        struct value *v = hp_onnx_find(im, im->file->output[i].name);
        if (!v)
            return hp_fail(im->err, HYPAR_INVALID, "output '%.80s' is not written by any node",
                           im->file->output[i].name);
        if (v->kind == VALUE_NUMBERS)
            outputs[(*n)++] = v->tensor;
    }
    return *n ? HYPAR_OK : hp_fail(im->err, HYPAR_INVALID, "a model without outputs");
}

static enum hypar_status read_nodes(struct importing *im, int *outputs, int *n_outputs)
{
    TRY(read_inputs(im));
    for (int i = 0; i < im->file->n_nodes; i++) {
        im->node = &im->file->node[i];
        TRY(hp_onnx_node(im));
    }
    return find_outputs(im, outputs, n_outputs);
}

static enum hypar_status build(struct importing *im, struct hypar_graph **out)
{
    struct hypar_graph *first;
    int n_outputs, *outputs = NEW(&im->arena, int, im->file->n_outputs + 1);
    list_infos(im);
    im->b = hp_build("nodes", im->batch);
    enum hypar_status status = hp_onnx_make_copies(im);
    if (status == HYPAR_OK)
        status = read_nodes(im, outputs, &n_outputs);
    if (status != HYPAR_OK) {
        hp_build_abandon(im->b);
        return status;
    }
    TRY(hp_build_finish(im->b, &first, im->err));
    status = hp_onnx_rewrite(im, first, outputs, n_outputs,
                             hp_model_name(&im->arena, im->file->path), out);
    hypar_graph_free(first);
    return status;
}

static enum hypar_status network(struct importing *im, struct hypar_graph **out)
{
    int64_t asked = im->options->batch, *told = &im->file->batch;
    TRY(check_list(im, im->options->batch_dims, true));
    TRY(check_list(im, im->options->dims, false));
    TRY(read_initializers(im));
    find_batch(im);
    im->batch = asked ? asked : *told ? *told : OPEN_BATCH;
    im->told = !*told || im->batch == *told;
    TRY(hp_onnx_look_at_folded(im, *told));
    if (!*told && !asked)
        hp_onnx_note(im, "the file leaves the batch open: %d samples, --batch changes it",
                     OPEN_BATCH);
    return build(im, out);
}

enum hypar_status hp_onnx_network(struct hypar_graph **out, struct onnx_file *file,
                                  const struct hypar_import_options *options,
                                  struct kept_sources *kept, struct hypar_error *err)
{
    struct hypar_error why; /* also written by attempts whose failure does not matter */
    struct importing im = { .file = file, .options = options, .kept = kept, .err = &why };
    *out = NULL;
    enum hypar_status status = network(&im, out);
    hp_arena_free(&im.arena);
    if (status != HYPAR_OK && err)
        *err = why;
    return hp_in(err, status, "%s", file->path);
}

/* A file with a fixed batch may have it in constants too: then another batch does not follow.
 * With a batch of 1 some operators are not needed, and only outputs can be compared. */
static enum hypar_status check_outputs(const struct hypar_graph *told,
                                       const struct hypar_graph *graph, const char *path,
                                       struct hypar_error *err)
{
    if (told->n_tensors == graph->n_tensors)
        return hp_check_follows(told, graph, path, err);
    for (int t = 0, u = 0; t < told->n_tensors; t++) {
        const struct tensor *was = &told->tensors[t];
        if (!was->is_output)
            continue;
        while (u < graph->n_tensors && !graph->tensors[u].is_output)
            u++;
        for (int d = 0; d < was->shape.n_dims && u < graph->n_tensors; d++)
            if (graph->tensors[u].shape.dim[d] !=
                (d == was->sample_dim ? graph->batch : was->shape.dim[d]))
                return hp_fail(err, HYPAR_INVALID,
                               "%s: cannot follow a batch of %lld: '%.60s' has %lld in "
                               "dimension %d",
                               path, (long long)graph->batch, was->name,
                               (long long)graph->tensors[u].shape.dim[d], d);
        u++;
    }
    return HYPAR_OK;
}

/* The file is right as it is, but another batch does not follow: say what would help. */
static enum hypar_status refuse_batch(const struct onnx_file *file, struct hypar_error *err)
{
    size_t n = strlen(file->path) + 2; /* "path: " stands before the reason */
    char why[256] = "";
    if (err)
        snprintf(why, sizeof why, "%.250s", strlen(err->text) > n ? err->text + n : err->text);
    return hp_fail(
        err, HYPAR_INVALID,
        "%s: it has a fixed batch of %lld: %s; dynamic_shapes of torch.onnx.export() "
        "leave the batch open",
        file->path, (long long)file->batch, why);
}

static enum hypar_status read_file(struct hypar_graph **out, struct onnx_file *file,
                                   const struct hypar_import_options *options,
                                   struct hypar_error *err)
{
    struct hypar_graph *told = NULL;
    struct hypar_import_options as_told = *options;
    as_told.batch = 0;
    enum hypar_status status = hp_onnx_network(out, file, options, NULL, err);
    bool other = file->batch && options->batch && file->batch != options->batch;
    if (other && hp_onnx_network(&told, file, &as_told, NULL, NULL) == HYPAR_OK) {
        if (status == HYPAR_OK)
            status = check_outputs(told, *out, file->path, err);
        if (status != HYPAR_OK)
            status = refuse_batch(file, err);
    }
    hypar_graph_free(told);
    if (status != HYPAR_OK) {
        hypar_graph_free(*out);
        *out = NULL;
    }
    return status;
}

static enum hypar_status read_open(struct hypar_graph **out, struct onnx_file *file,
                                   const struct hypar_import_options *options,
                                   struct hypar_error *err)
{
    file->options = options;
    file->follow_links = options->follow_links;
    enum hypar_status status = read_file(out, file, options, err);
    hp_onnx_close(file);
    return status;
}

enum hypar_status hp_onnx_read_stream(struct hypar_graph **out, FILE *stream, const char *path,
                                      const struct hypar_import_options *options,
                                      struct hypar_error *err)
{
    struct onnx_file *file;
    *out = NULL;
    TRY(hp_onnx_open_stream(&file, stream, path, err));
    return read_open(out, file, options, err);
}

static const char *copy_text(struct hypar_graph *graph, const char *text)
{
    return text ? hp_arena_strdup(&graph->arena, text) : NULL;
}

/* Note how values of its parameters are found again. */
static void note_file(struct hypar_graph *graph, const char *path,
                      const struct hypar_import_options *options)
{
    graph->weights = (struct weights_file){
        copy_text(graph, path),
        { .batch = graph->batch,
          .batch_dims = copy_text(graph, options->batch_dims),
          .dims = copy_text(graph, options->dims),
          .follow_links = options->follow_links },
    };
}

static enum hypar_status read_path(struct hypar_graph **out, const char *path,
                                   const struct hypar_import_options *options,
                                   struct hypar_error *err)
{
    struct onnx_file *file;
    *out = NULL;
    TRY(hp_onnx_open(&file, path, err));
    TRY(read_open(out, file, options, err));
    note_file(*out, path, options);
    return HYPAR_OK;
}

/* ir_version, then the producer's name or a graph: the fields in the order that all write. */
static bool begins(const char *head, size_t n)
{
    return n > 4 && head[0] == 8 && head[1] > 0 && head[1] < 32 &&
           (head[2] == 0x12 || head[2] == 0x1a || head[2] == 0x3a || head[2] == 0x42);
}

const struct model_reader hp_reader_onnx = { "ONNX", ".onnx", begins, read_path };
