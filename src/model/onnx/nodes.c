/* The table of ONNX operators, and the translation of one node: the row decides whether the
 * node is computed now, becomes operators, or becomes opaque. */
#include <string.h>

#include "model/onnx/onnx.h"

/* clang-format off */
static const struct onnx_row rows[] = {
    /* Layers */
    { "Conv", OP_CONV, NULL, hp_onnx_conv, NULL },
    { "ConvTranspose", OP_CONV_TRANSPOSE, NULL, hp_onnx_conv_transpose, NULL },
    { "Gemm", OP_LINEAR, NULL, hp_onnx_gemm, NULL },
    { "MatMul", OP_MATMUL, NULL, hp_onnx_matmul, hp_fold_matmul },
    { "Einsum", OP_MATMUL, NULL, hp_onnx_einsum, NULL },
    { "LSTM", OP_LSTM, NULL, hp_onnx_lstm, NULL },
    { "GRU", OP_GRU, NULL, hp_onnx_gru, NULL },
    { "Gather", OP_EMBEDDING, NULL, hp_onnx_gather, NULL },
    { "MaxPool", OP_MAX_POOL, NULL, hp_onnx_pool, NULL },
    { "AveragePool", OP_AVG_POOL, NULL, hp_onnx_pool, NULL },
    { "GlobalAveragePool", OP_GLOBAL_AVG_POOL, NULL, hp_onnx_global_pool, NULL },
    { "GlobalMaxPool", OP_GLOBAL_MAX_POOL, NULL, hp_onnx_global_pool, NULL },
    { "Resize", OP_RESIZE_NEAREST, NULL, hp_onnx_resize, NULL },
    { "Upsample", OP_RESIZE_NEAREST, NULL, hp_onnx_resize, NULL },
    { "LRN", OP_LRN, NULL, hp_onnx_lrn, NULL },
    { "BatchNormalization", OP_BATCH_NORM, NULL, hp_onnx_batch_norm, NULL },
    { "LayerNormalization", OP_LAYER_NORM, NULL, hp_onnx_layer_norm, NULL },
    { "RMSNormalization", OP_RMS_NORM, NULL, hp_onnx_rms_norm, NULL },
    { "Attention", OP_ATTENTION, NULL, hp_onnx_attention, NULL },
    { "RotaryEmbedding", OP_ROPE, NULL, hp_onnx_rotary, NULL },
    { "InstanceNormalization", OP_GROUP_NORM, NULL, hp_onnx_instance_norm, NULL },
    { "Softmax", OP_SOFTMAX, NULL, hp_onnx_softmax, NULL },
    { "LogSoftmax", OP_LOG_SOFTMAX, NULL, hp_onnx_softmax, NULL },
    { "Dropout", OP_DROPOUT, NULL, hp_onnx_dropout, NULL },
    /* Element-wise, one input */
    { "Relu", OP_RELU, NULL, hp_onnx_unary, hp_fold_unary },
    { "Sigmoid", OP_SIGMOID, NULL, hp_onnx_unary, hp_fold_unary },
    { "Tanh", OP_TANH, NULL, hp_onnx_unary, hp_fold_unary },
    { "LeakyRelu", OP_LEAKY_RELU, "alpha=0.01", hp_onnx_unary, NULL },
    { "Elu", OP_ELU, "alpha=1", hp_onnx_unary, NULL },
    { "Selu", OP_ELU, NULL, hp_onnx_selu, NULL },
    { "PRelu", OP_MUL, NULL, hp_onnx_prelu, NULL },
    { "Gelu", OP_GELU, NULL, hp_onnx_gelu, NULL },
    { "Softplus", OP_SOFTPLUS, NULL, hp_onnx_unary, NULL },
    { "HardSigmoid", OP_HARD_SIGMOID, "alpha=0.2 beta=0.5", hp_onnx_unary, NULL },
    { "HardSwish", OP_HARD_SWISH, NULL, hp_onnx_unary, NULL },
    { "Clip", OP_CLIP, NULL, hp_onnx_clip, NULL },
    { "Exp", OP_EXP, NULL, hp_onnx_unary, hp_fold_unary },
    { "Log", OP_LOG, NULL, hp_onnx_unary, hp_fold_unary },
    { "Sqrt", OP_SQRT, NULL, hp_onnx_unary, hp_fold_unary },
    { "Sin", OP_SIN, NULL, hp_onnx_unary, hp_fold_unary },
    { "Cos", OP_COS, NULL, hp_onnx_unary, hp_fold_unary },
    { "Pow", OP_POW, NULL, hp_onnx_pow, hp_fold_binary },
    { "Reciprocal", OP_POW, NULL, hp_onnx_reciprocal, hp_fold_unary },
    { "Erf", OP_ERF, NULL, hp_onnx_unary, hp_fold_unary },
    { "Abs", OP_ABS, NULL, hp_onnx_unary, hp_fold_unary },
    { "Neg", OP_NEG, NULL, hp_onnx_unary, hp_fold_unary },
    /* Element-wise, several inputs */
    { "Add", OP_ADD, NULL, hp_onnx_binary, hp_fold_binary },
    { "Sub", OP_SUB, NULL, hp_onnx_binary, hp_fold_binary },
    { "Mul", OP_MUL, NULL, hp_onnx_binary, hp_fold_binary },
    { "Div", OP_DIV, NULL, hp_onnx_binary, hp_fold_binary },
    { "Min", OP_MINIMUM, NULL, hp_onnx_sum, hp_fold_binary },
    { "Max", OP_MAXIMUM, NULL, hp_onnx_sum, hp_fold_binary },
    { "Sum", OP_ADD, NULL, hp_onnx_sum, NULL },
    { "Mean", OP_ADD, NULL, hp_onnx_sum, NULL },
    { "Where", OP_WHERE, NULL, hp_onnx_where, hp_fold_where },
    { "CumSum", OP_CUMSUM, NULL, hp_onnx_cumsum, hp_fold_cumsum },
    { "GatherElements", OP_GATHER_ELEMENTS, NULL, hp_onnx_gather_elements,
      hp_fold_gather_elements },
    { "ScatterElements", OP_SCATTER_ADD, NULL, hp_onnx_scatter_elements, NULL },
    { "GatherND", OP_INDEX_SELECT, NULL, hp_onnx_gather_nd, hp_fold_gather_nd },
    { "ScatterND", OP_OPAQUE, NULL, hp_onnx_opaque_like, hp_fold_scatter_nd },
    { "IsNaN", OP_OPAQUE, NULL, hp_onnx_is_nan, NULL },
    /* Reductions */
    { "ReduceMean", OP_REDUCE_MEAN, NULL, hp_onnx_reduce, hp_fold_reduce },
    { "ReduceSum", OP_REDUCE_SUM, NULL, hp_onnx_reduce, hp_fold_reduce },
    { "ReduceL2", OP_REDUCE_SUM, NULL, hp_onnx_reduce, NULL },
    { "ReduceMax", OP_REDUCE_MAX, NULL, hp_onnx_reduce, hp_fold_reduce },
    { "ReduceMin", OP_OPAQUE, NULL, NULL, hp_fold_reduce },
    { "ReduceProd", OP_OPAQUE, NULL, NULL, hp_fold_reduce },
    /* Shapes */
    { "Reshape", OP_RESHAPE, NULL, hp_onnx_reshape, NULL },
    { "Flatten", OP_FLATTEN, NULL, hp_onnx_flatten, NULL },
    { "Squeeze", OP_SQUEEZE, NULL, hp_onnx_squeeze, NULL },
    { "Unsqueeze", OP_UNSQUEEZE, NULL, hp_onnx_unsqueeze, NULL },
    { "Transpose", OP_TRANSPOSE, NULL, hp_onnx_transpose, NULL },
    { "Slice", OP_SLICE, NULL, hp_onnx_slice, NULL },
    { "Concat", OP_CONCAT, NULL, hp_onnx_concat, NULL },
    { "Expand", OP_EXPAND, NULL, hp_onnx_expand, NULL },
    { "Tile", OP_EXPAND, NULL, hp_onnx_tile, NULL },
    { "Split", OP_SPLIT, NULL, hp_onnx_split, NULL },
    { "Pad", OP_PAD, NULL, hp_onnx_pad, NULL },
    { "Identity", OP_IDENTITY, NULL, hp_onnx_alias, NULL },
    { "Cast", OP_IDENTITY, NULL, hp_onnx_cast, NULL },
    { "CastLike", OP_IDENTITY, NULL, hp_onnx_cast_like, NULL },
    { "SplitToSequence", OP_SPLIT, NULL, hp_onnx_split_to_sequence, NULL },
    { "SequenceAt", OP_IDENTITY, NULL, hp_onnx_sequence_at, NULL },
    /* Known while importing */
    { "Constant", OP_OPAQUE, NULL, hp_onnx_constant_node, NULL },
    { "ConstantOfShape", OP_OPAQUE, NULL, hp_onnx_constant_of_shape, NULL },
    { "Shape", OP_OPAQUE, NULL, hp_onnx_shape_of, NULL },
    { "Size", OP_OPAQUE, NULL, hp_onnx_size_of, NULL },
    { "Range", OP_OPAQUE, NULL, hp_fold_range, NULL },
    /* Drawn at random */
    { "RandomUniform", OP_DROPOUT, NULL, hp_onnx_random, NULL },
    { "RandomUniformLike", OP_DROPOUT, NULL, hp_onnx_random, NULL },
    { "RandomNormal", OP_OPAQUE, NULL, hp_onnx_random, NULL },
    { "RandomNormalLike", OP_OPAQUE, NULL, hp_onnx_random, NULL },
    { "Bernoulli", OP_DROPOUT, NULL, hp_onnx_random, NULL },
    { "Multinomial", OP_OPAQUE, NULL, hp_onnx_multinomial, NULL },
    /* Opaque, but of a shape that follows from the inputs */
    { "Trilu", OP_OPAQUE, NULL, hp_onnx_opaque_like, hp_fold_triangle },
    { "Not", OP_OPAQUE, NULL, hp_onnx_opaque_like, hp_fold_unary },
    { "Floor", OP_OPAQUE, NULL, hp_onnx_opaque_like, hp_fold_unary },
    { "Ceil", OP_OPAQUE, NULL, hp_onnx_opaque_like, hp_fold_unary },
    { "Round", OP_OPAQUE, NULL, hp_onnx_opaque_like, hp_fold_unary },
    { "Sign", OP_OPAQUE, NULL, hp_onnx_opaque_like, NULL },
    { "Tan", OP_OPAQUE, NULL, hp_onnx_opaque_like, NULL },
    { "Atan", OP_OPAQUE, NULL, hp_onnx_opaque_like, NULL },
    { "Sinh", OP_OPAQUE, NULL, hp_onnx_opaque_like, NULL },
    { "Cosh", OP_OPAQUE, NULL, hp_onnx_opaque_like, NULL },
    { "Mish", OP_OPAQUE, NULL, hp_onnx_opaque_like, NULL },
    { "Celu", OP_OPAQUE, NULL, hp_onnx_opaque_like, NULL },
    { "Softsign", OP_OPAQUE, NULL, hp_onnx_opaque_like, NULL },
    { "ThresholdedRelu", OP_OPAQUE, NULL, hp_onnx_opaque_like, NULL },
    { "Shrink", OP_OPAQUE, NULL, hp_onnx_opaque_like, NULL },
    { "Hardmax", OP_OPAQUE, NULL, hp_onnx_opaque_like, NULL },
    { "MeanVarianceNormalization", OP_OPAQUE, NULL, hp_onnx_opaque_like, NULL },
    { "RNN", OP_OPAQUE, NULL, hp_onnx_opaque_sequence, NULL },
    { "Mod", OP_OPAQUE, NULL, hp_onnx_opaque_broadcast, hp_fold_binary },
    { "And", OP_OPAQUE, NULL, hp_onnx_opaque_broadcast, hp_fold_binary },
    { "Or", OP_OPAQUE, NULL, hp_onnx_opaque_broadcast, hp_fold_binary },
    { "Equal", OP_OPAQUE, NULL, hp_onnx_opaque_broadcast, hp_fold_binary },
    { "Greater", OP_OPAQUE, NULL, hp_onnx_opaque_broadcast, hp_fold_binary },
    { "GreaterOrEqual", OP_OPAQUE, NULL, hp_onnx_opaque_broadcast, hp_fold_binary },
    { "Less", OP_OPAQUE, NULL, hp_onnx_opaque_broadcast, hp_fold_binary },
    { "LessOrEqual", OP_OPAQUE, NULL, hp_onnx_opaque_broadcast, hp_fold_binary },
    /* Which nodes run depends on the data */
    { "If", OP_OPAQUE, NULL, hp_onnx_control, NULL },
    { "Loop", OP_OPAQUE, NULL, hp_onnx_control, NULL },
    { "Scan", OP_OPAQUE, NULL, hp_onnx_control, NULL },
};
/* clang-format on */

const struct onnx_row *hp_onnx_row(const char *op)
{
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        if (strcmp(rows[i].op, op) == 0)
            return &rows[i];
    return NULL;
}

const struct onnx_row *hp_onnx_row_at(int i)
{
    return i < (int)(sizeof rows / sizeof rows[0]) ? &rows[i] : NULL;
}

enum hypar_status hp_onnx_control(struct importing *im)
{
    return hp_fail(im->err, HYPAR_INVALID,
                   "%s is not read: which nodes run depends on the data. Export the model with "
                   "a fixed path",
                   im->row->op);
}

/* Nodes that integers of an input pass unchanged, or only in another shape. */
static bool keeps_integers(const struct onnx_row *row)
{
    return row->translate == hp_onnx_shape_of || row->translate == hp_onnx_size_of ||
           row->translate == hp_onnx_reshape || row->translate == hp_onnx_flatten ||
           row->translate == hp_onnx_squeeze || row->translate == hp_onnx_unsqueeze ||
           row->translate == hp_onnx_transpose || row->translate == hp_onnx_alias ||
           row->translate == hp_onnx_gather || row->translate == hp_onnx_gather_elements ||
           row->translate == hp_onnx_is_nan || row->translate == hp_onnx_cast ||
           row->translate == hp_onnx_cast_like || row->translate == hp_onnx_random ||
           row->translate == hp_onnx_multinomial;
}

/* One node ------------------------------------------------------------------------------- */

/* Every input is there; *constant: and all of them are constants. */
static enum hypar_status check_inputs(struct importing *im, bool *constant)
{
    *constant = true;
    for (int i = 0; i < im->node->n_inputs; i++) {
        const struct value *v = hp_onnx_input(im, i);
        if (*im->node->input[i] && !v)
            return hp_fail(im->err, HYPAR_INVALID, "input '%.80s' is not defined",
                           im->node->input[i]);
        *constant &= v && v->kind == VALUE_CONSTANT;
    }
    return HYPAR_OK;
}

/* Does the node at hand compute integers from what is looked up with, or from truths? */
static bool computes_integers(struct importing *im)
{
    bool index = false;
    for (int i = 0; i < im->node->n_inputs; i++)
        index |= hp_onnx_input(im, i) && hp_onnx_input(im, i)->kind == VALUE_INDEX;
    return index && hp_onnx_follows_from_integers(im);
}

/* Does it read numbers that are drawn, and more of them than their shape? */
static bool reads_drawn(struct importing *im, const struct onnx_row *row)
{
    bool any = false;
    for (int i = 0; i < im->node->n_inputs; i++)
        any |= hp_onnx_input(im, i) && hp_onnx_input(im, i)->kind == VALUE_DRAWN;
    bool view = row && keeps_integers(row) && row->translate != hp_onnx_transpose &&
                row->translate != hp_onnx_gather && row->translate != hp_onnx_gather_elements;
    return any && !view;
}

static enum hypar_status translate(struct importing *im)
{
    const struct onnx_node *node = im->node;
    bool ours = !*node->domain || strcmp(node->domain, "ai.onnx") == 0;
    const struct onnx_row *row = im->row = ours ? hp_onnx_row(node->op) : NULL;
    bool constant;
    TRY(check_inputs(im, &constant));
    bool done = false;
    if (reads_drawn(im, row))
        TRY(hp_onnx_read_drawn(im, &done));
    if (done)
        return HYPAR_OK;
    if (!row)
        return hp_onnx_opaque(im, "unknown operator");
    bool source = row->translate == hp_onnx_constant_node ||
                  row->translate == hp_onnx_control || row->translate == hp_onnx_random;
    if (!source && (!node->n_inputs || !hp_onnx_input(im, 0)))
        return hp_fail(im->err, HYPAR_INVALID, "its first input is missing");
    int before = im->n_values;
    enum hypar_status status = HYPAR_UNSUPPORTED;
    if (constant && row->fold)
        status = row->fold(im);
    else if (!keeps_integers(row) && computes_integers(im))
        status = hp_onnx_computed(im);
    else if (row->translate)
        status = row->translate(im);
    else
        hp_fail(im->err, HYPAR_UNSUPPORTED, "not known of tensors");
    if (status != HYPAR_UNSUPPORTED || im->n_values != before)
        return status;
    if (!source && hp_onnx_follows_from_integers(im) && hp_onnx_computed(im) == HYPAR_OK)
        return HYPAR_OK;
    struct hypar_error why = { "" };
    snprintf(why.text, sizeof why.text, "%.200s", im->err->text);
    return hp_onnx_opaque(im, why.text);
}

enum hypar_status hp_onnx_node(struct importing *im)
{
    return hp_in(im->err, translate(im), "node '%.80s' (%.40s)", im->node->name, im->node->op);
}
