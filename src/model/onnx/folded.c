/* Recognises initializers that the exporter computed from a parameter: a transposed copy, a
 * copy for each sample, or elements chosen by constant indices. The network trains the
 * parameter, once. */
#include <math.h>
#include <string.h>

#include "base/sort.h"
#include "model/onnx/onnx.h"

bool hp_onnx_is_made_up(const char *name)
{
    return strncmp(name, "onnx::", 6) == 0 || (strncmp(name, "val_", 4) == 0 && name[4] &&
                                               !name[4 + strspn(name + 4, "0123456789")]);
}

/* Transposed --------------------------------------------------------------------------------
 */

/* Has matrix `a` the values of `b`, transposed? A few are compared; where there are none, the
 * file's word is enough, if it gives one. Values that are all alike say nothing. */
static bool is_transposed(struct importing *im, const struct onnx_tensor *a,
                          const struct onnx_tensor *b, bool told)
{
    enum { COMPARED = 32 };
    int64_t rows = a->shape.dim[0], columns = a->shape.dim[1];
    double first = 0;
    bool differ = false;
    for (int64_t i = 0; i < COMPARED && i < a->elements; i++) {
        int64_t at = a->elements / COMPARED ? i * (a->elements / COMPARED) : i;
        double one, other;
        if (hp_onnx_read_data(im->file, a, at, 1, &one, im->err) != HYPAR_OK ||
            hp_onnx_read_data(im->file, b, at % columns * rows + at / columns, 1, &other,
                              im->err) != HYPAR_OK)
            return told && im->absent[a - im->file->initializer];
        if (one != other)
            return false;
        first = i ? first : one;
        differ |= one != first;
    }
    return told || differ;
}

/* May `t` be `of`, transposed? */
static bool could_be_tied(const struct importing *im, const struct onnx_tensor *t,
                          const struct onnx_tensor *of)
{
    const struct onnx_tensor *all = im->file->initializer;
    return t != of && im->trained[t - all] && im->trained[of - all] && t->shape.n_dims == 2 &&
           of->shape.n_dims == 2 && t->elements > 0 && t->shape.dim[0] == of->shape.dim[1] &&
           t->shape.dim[1] == of->shape.dim[0] && of->label == of->name;
}

/* The tables that rows are looked up in; returns how many. */
static int find_tables(struct importing *im, int *table)
{
    const struct onnx_file *file = im->file;
    bool *seen = NEW(&im->arena, bool, file->n_initializers);
    int n = 0;
    for (int i = 0; i < file->n_nodes; i++) {
        const struct onnx_node *node = &file->node[i];
        bool gather = strcmp(node->op, "Gather") == 0 && node->n_inputs > 0;
        int at = gather ? hp_onnx_initializer(im, node->input[0]) : -1;
        if (at < 0 || seen[at] || hp_onnx_is_made_up(file->initializer[at].name))
            continue;
        seen[at] = true;
        table[n++] = at;
    }
    return n;
}

/* The exporter stored a tied parameter twice, once transposed: treat the copy as the original.
 * The newer exporter names the original; the older one gives a transposed embedding a name of
 * its own. */
void hp_onnx_find_tied(struct importing *im)
{
    enum { TABLES = 8 }; /* each is compared with every matrix of its size */
    struct onnx_file *file = im->file;
    int *table = NEW(&im->arena, int, file->n_initializers);
    int n_tables = file->signature ? 0 : find_tables(im, table);
    for (int i = 0; i < file->n_initializers; i++) {
        const struct onnx_tensor *t = &file->initializer[i], *all = file->initializer;
        int j = t->label == t->name ? -1 : hp_onnx_initializer(im, t->label);
        if (j >= 0 && could_be_tied(im, t, &all[j]) && is_transposed(im, t, &all[j], true))
            im->copy_of[i] = j;
        for (int k = 0; k < n_tables && k < TABLES && hp_onnx_is_made_up(t->name); k++)
            if (could_be_tied(im, t, &all[table[k]]) &&
                is_transposed(im, t, &all[table[k]], false))
                im->copy_of[i] = table[k];
    }
}

/* Repeated, and chosen from -----------------------------------------------------------------
 */

/* Are elements there more than once? Parameters often begin all alike: then only a buffer, the
 * numbers to choose by, tells. */
static bool is_chosen_from(double *data, int64_t n, bool buffered)
{
    int64_t distinct = n > 0;
    hp_sort_doubles(data, n);
    for (int64_t i = 1; i < n; i++)
        distinct += data[i] != data[i - 1];
    return (distinct > 1 || buffered) && distinct <= n / 2;
}

/* Many numbers of 16 bits are equal by chance. */
static bool is_fine(int type)
{
    return type == ONNX_FLOAT || type == ONNX_DOUBLE;
}

static enum hypar_status look_at(struct importing *im, int i, int64_t batch)
{
    const struct onnx_tensor *t = &im->file->initializer[i];
    int64_t samples = t->shape.n_dims > 2 && batch > 1 && t->shape.dim[0] == batch ? batch : 1;
    int64_t n = t->elements / samples;
    double *data;
    bool copies = samples > 1;
    if (!t->field || im->absent[i] || t->elements > ONNX_MAX_FOLDED || n < 1 ||
        (!copies && !t->mixed))
        return HYPAR_OK;
    TRY(hp_onnx_fold_room(im, t->elements, &data));
    TRY(hp_onnx_read_data(im->file, t, 0, t->elements, data, im->err));
    for (int64_t k = n; k < t->elements && copies; k++)
        copies = data[k] == data[k - n];
    if (t->mixed && is_fine(t->type) &&
        is_chosen_from(data, copies ? n : t->elements, t->buffered)) {
        im->folded_as[i] = FOLDED_TABLE;
        im->trained[i] = false;
    } else if (copies) {
        im->folded_as[i] = FOLDED_COPIES;
    }
    return HYPAR_OK;
}

enum hypar_status hp_onnx_look_at_folded(struct importing *im, int64_t batch)
{
    const struct onnx_file *file = im->file;
    for (int i = 0; i < file->n_initializers; i++) {
        const struct onnx_tensor *t = &file->initializer[i];
        bool own = !file->signature && hp_onnx_is_made_up(t->name);
        if (im->trained[i] && (t->mixed || own))
            TRY(hp_in(im->err, look_at(im, i, batch), "initializer '%.80s'", t->name));
    }
    return HYPAR_OK;
}

/* The parameter, and as many of it as there are samples. */
static enum hypar_status make_copy(struct importing *im, int i)
{
    const struct onnx_tensor *t = &im->file->initializer[i];
    struct value *v = hp_onnx_find(im, t->name);
    struct weight_range *range = NEW(&im->arena, struct weight_range, 1);
    struct hypar_shape shape = t->shape;
    double dims[MAX_DIMS];
    int param, wide;
    *range = (struct weight_range){ i, 0, t->elements / shape.dim[0] };
    shape.dim[0] = 1;
    TRY(hp_onnx_make(im, t->label, MADE_PARAM, -1,
                     (struct weight_source){ .n_ranges = 1, .range = range, .whole = shape },
                     &param));
    for (int d = 0; d < shape.n_dims; d++)
        dims[d] = (double)(d ? shape.dim[d] : im->batch);
    const char *op = hp_onnx_unique(im, hp_arena_printf(&im->arena, "%s.copies", t->label));
    TRY(hp_build_op(im->b,
                    &(struct op_request){ OP_EXPAND, op, 1, &param,
                                          ATTRS({ ATTR_SHAPE, shape.n_dims, dims }) },
                    &wide, im->err));
    *v = hp_onnx_tensor_value(im, wide);
    return HYPAR_OK;
}

enum hypar_status hp_onnx_make_copies(struct importing *im)
{
    for (int i = 0; i < im->file->n_initializers; i++)
        if (im->folded_as[i] == FOLDED_COPIES)
            TRY(make_copy(im, i));
    return HYPAR_OK;
}
