/* Integers and truth values that the model computes from its inputs: positions counted from
 * ids, masks made by comparison. No operator of ours computes them, and training does not
 * need them. Where a layer reads such values they become an input of the network. */
#include <string.h>

#include "model/onnx/onnx.h"

/* An input of integers, or what follows from some. */
static bool is_integers(const struct importing *im, const struct value *v)
{
    if (v->kind == VALUE_INDEX)
        return true;
    return v->kind == VALUE_NUMBERS && hp_onnx_family(v->type) == ONNX_INTEGERS &&
           hp_build_graph(im->b)->tensors[v->tensor].kind == TENSOR_INPUT;
}

bool hp_onnx_follows_from_integers(struct importing *im)
{
    bool any = false;
    for (int i = 0; i < im->node->n_inputs; i++) {
        const struct value *v = hp_onnx_input(im, i);
        if (!v || v->kind == VALUE_CONSTANT)
            continue;
        if (!is_integers(im, v))
            return false;
        any = true;
    }
    return any && im->node->n_outputs == 1;
}

/* The type of what the node at hand writes. */
static int type_of(struct importing *im)
{
    const struct onnx_info *info = hp_onnx_told(im, im->node->output[0]);
    if (im->row->flags & IS_TRUTH)
        return ONNX_BOOL;
    if (strcmp(im->node->op, "Cast") == 0)
        return (int)hp_onnx_int(im->node, "to", ONNX_FLOAT);
    return info && info->type ? info->type : ONNX_INT64;
}

enum hypar_status hp_onnx_computed(struct importing *im)
{
    struct hypar_shape shape = { 0 };
    bool known =
        hp_onnx_told_shape(im, 0, &shape) || hp_onnx_broadcast_inputs(im, &shape) == HYPAR_OK;
    if (!known || !shape.n_dims)
        return hp_fail(im->err, HYPAR_UNSUPPORTED, "integers of a shape that is not known");
    TRY(hp_onnx_check_dims(im, &shape));
    return hp_onnx_define(im, 0,
                          (struct value){ .kind = VALUE_INDEX,
                                          .type = type_of(im),
                                          .shape = shape,
                                          .tensor = -1,
                                          .computed = true,
                                          .label = im->node->output[0] });
}

enum hypar_status hp_onnx_computed_input(struct importing *im, struct value *v, bool index,
                                         int *out)
{
    if (v->shuffle)
        return hp_fail(im->err, HYPAR_UNSUPPORTED, "integers in another order");
    if (v->tensor < 0) {
        int samples = v->shape.dim[0] == im->batch && v->shape.n_dims > 1 ? 0 : -1;
        TRY(hp_onnx_make(im, v->label, index ? MADE_INDEX : MADE_NUMBERS, samples,
                         (struct weight_source){ .whole = v->shape }, &v->tensor));
        hp_onnx_note(im, "'%.80s' %s: it is an input itself",
                     hp_build_graph(im->b)->tensors[v->tensor].name,
                     v->drawn                    ? "is drawn at random"
                     : v->kind == VALUE_CONSTANT ? "follows from constants, how is not known"
                                                 : "follows from integers that are inputs");
    }
    *out = v->tensor;
    if (hp_build_graph(im->b)->tensors[*out].index != index)
        return hp_fail(im->err, HYPAR_UNSUPPORTED, "integers that are looked up, and numbers");
    return HYPAR_OK;
}

enum hypar_status hp_onnx_constant_index(struct importing *im, const struct value *v,
                                         const struct hypar_shape *shape, int *out)
{
    const char *label =
        v->label ? v->label : hp_arena_printf(&im->arena, "%s.ids", im->node->name);
    return hp_onnx_make(
        im, label, MADE_INDEX, -1,
        (struct weight_source){ .whole = *shape, .constant = v->data, .uniform = v->uniform },
        out);
}
