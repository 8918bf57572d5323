/* The table of ONNX operators, and the translation of one node: the row decides whether the
 * node is computed now, becomes operators, or becomes opaque. */
#include <math.h>
#include <string.h>

#include "model/onnx/onnx.h"

/* clang-format off */
#define OF_ONE(name, expression) static double name(double x) { return expression; }
OF_ONE(negative, -x)
OF_ONE(negation, x == 0)
OF_ONE(reciprocal, 1 / x)
OF_ONE(relu, x > 0 ? x : 0)
OF_ONE(sigmoid, 1 / (1 + exp(-x)))

#define OF_TWO(name, expression) static double name(double x, double y) { return expression; }
OF_TWO(sum, x + y)
OF_TWO(difference, x - y)
OF_TWO(product, x * y)
OF_TWO(quotient, x / y)
OF_TWO(modulo, y == 0 ? (double)NAN : x - y * floor(x / y)) /* with the sign of the second */
OF_TWO(least, x < y ? x : y)
OF_TWO(most, x > y ? x : y)
OF_TWO(both, x != 0 && y != 0)
OF_TWO(either, x != 0 || y != 0)
OF_TWO(equal, x == y)
OF_TWO(greater, x > y)
OF_TWO(greater_or_equal, x >= y)
OF_TWO(less, x < y)
OF_TWO(less_or_equal, x <= y)

/* The first row that has the name counts. */
static const struct onnx_row rows[] = {
    /* Layers */
    { "Conv", OP_CONV, hp_onnx_conv, .needs = { "the weight" } },
    { "ConvTranspose", OP_CONV_TRANSPOSE, hp_onnx_conv_transpose, .needs = { "the weight" } },
    { "Gemm", OP_LINEAR, hp_onnx_gemm, .needs = { "an input" } },
    { "MatMul", OP_MATMUL, hp_onnx_matmul, .needs = { "an input" }, .shape = hp_shape_with_vector,
      .fold = hp_fold_matmul },
    { "Einsum", OP_MATMUL, hp_onnx_einsum, .shape = hp_shape_summed },
    { "LSTM", OP_LSTM, hp_onnx_lstm, .shape = hp_shape_recurrent },
    { "GRU", OP_GRU, hp_onnx_gru, .shape = hp_shape_recurrent },
    { "Gather", OP_EMBEDDING, hp_onnx_gather, .needs = { "the list of indices" },
      .shape = hp_shape_gathered, .flags = PASSES_INTEGERS },
    { "MaxPool", OP_MAX_POOL, hp_onnx_pool, .shape = hp_shape_pooled },
    { "AveragePool", OP_AVG_POOL, hp_onnx_pool, .shape = hp_shape_pooled },
    { "GlobalAveragePool", OP_GLOBAL_AVG_POOL, hp_onnx_apply_row, .attrs = "keep:1" },
    { "GlobalMaxPool", OP_GLOBAL_MAX_POOL, hp_onnx_apply_row, .attrs = "keep:1" },
    { "Resize Upsample", OP_RESIZE_NEAREST, .translate = hp_onnx_resize },
    { "LRN", OP_LRN, hp_onnx_apply_row, .attrs = "size=1 alpha=0.0001 beta=0.75 bias=1",
      .shape = hp_shape_like_first },
    { "BatchNormalization", OP_BATCH_NORM, hp_onnx_batch_norm, .shape = hp_shape_like_first },
    { "LayerNormalization", OP_LAYER_NORM, hp_onnx_norm, .shape = hp_shape_like_first },
    { "RMSNormalization", OP_RMS_NORM, hp_onnx_norm, .needs = { "the scale" },
      .shape = hp_shape_like_first },
    { "Attention", OP_ATTENTION, .translate = hp_onnx_attention },
    { "RotaryEmbedding", OP_ROPE, hp_onnx_rotary, .shape = hp_shape_like_first },
    { "InstanceNormalization", OP_GROUP_NORM, hp_onnx_instance_norm, .shape = hp_shape_like_first },
    { "Softmax", OP_SOFTMAX, hp_onnx_softmax, .shape = hp_shape_like_first },
    { "LogSoftmax", OP_LOG_SOFTMAX, hp_onnx_softmax, .shape = hp_shape_like_first },
    { "Dropout", OP_DROPOUT, hp_onnx_dropout, .shape = hp_shape_like_first },
    /* Element-wise, one input */
    { "Relu", OP_RELU, hp_onnx_apply_row, .of_one = relu },
    { "Sigmoid", OP_SIGMOID, hp_onnx_apply_row, .of_one = sigmoid },
    { "Tanh", OP_TANH, hp_onnx_apply_row, .of_one = tanh },
    { "LeakyRelu", OP_LEAKY_RELU, hp_onnx_apply_row, .attrs = "alpha=0.01" },
    { "Elu", OP_ELU, hp_onnx_apply_row, .attrs = "alpha=1" },
    { "Selu", OP_ELU, .translate = hp_onnx_selu },
    { "PRelu", OP_MUL, hp_onnx_prelu, .needs = { "the slope" } },
    { "Gelu", OP_GELU, .translate = hp_onnx_gelu },
    { "Softplus", OP_SOFTPLUS, .translate = hp_onnx_apply_row },
    { "HardSigmoid", OP_HARD_SIGMOID, hp_onnx_apply_row, .attrs = "alpha=0.2 beta=0.5" },
    { "HardSwish", OP_HARD_SWISH, .translate = hp_onnx_apply_row },
    { "Clip", OP_CLIP, hp_onnx_clip, .shape = hp_shape_like_first },
    { "Exp", OP_EXP, hp_onnx_apply_row, .of_one = exp },
    { "Log", OP_LOG, hp_onnx_apply_row, .of_one = log },
    { "Sqrt", OP_SQRT, hp_onnx_apply_row, .of_one = sqrt },
    { "Sin", OP_SIN, hp_onnx_apply_row, .of_one = sin },
    { "Cos", OP_COS, hp_onnx_apply_row, .of_one = cos },
    { "Pow", OP_POW, hp_onnx_pow, .needs = { "the exponent" }, .shape = hp_shape_broadcast,
      .of_two = pow },
    { "Reciprocal", OP_POW, hp_onnx_apply_row, .attrs = "exponent:-1", .of_one = reciprocal },
    { "Erf", OP_ERF, hp_onnx_apply_row, .of_one = erf },
    { "Abs", OP_ABS, hp_onnx_apply_row, .of_one = fabs },
    { "Neg", OP_NEG, hp_onnx_apply_row, .of_one = negative },
    /* Element-wise, several inputs */
    { "Add", OP_ADD, hp_onnx_binary, .needs = { "an input" }, .of_two = sum },
    { "Sub", OP_SUB, hp_onnx_binary, .needs = { "an input" }, .of_two = difference },
    { "Mul", OP_MUL, hp_onnx_binary, .needs = { "an input" }, .of_two = product },
    { "Div", OP_DIV, hp_onnx_binary, .needs = { "an input" }, .of_two = quotient },
    { "Min", OP_MINIMUM, hp_onnx_sum, .of_two = least },
    { "Max", OP_MAXIMUM, hp_onnx_sum, .of_two = most },
    { "Sum Mean", OP_ADD, .translate = hp_onnx_sum },
    { "Where", OP_WHERE, hp_onnx_where, .needs = { "an input", "an input" },
      .shape = hp_shape_broadcast, .fold = hp_fold_where },
    { "CumSum", OP_CUMSUM, hp_onnx_cumsum, .shape = hp_shape_like_first, .fold = hp_fold_cumsum },
    { "GatherElements", OP_GATHER_ELEMENTS, hp_onnx_gather_elements,
      .needs = { "the list of indices" }, .shape = hp_shape_like_second,
      .fold = hp_fold_gather_elements, .flags = PASSES_INTEGERS },
    { "ScatterElements", OP_SCATTER_ADD, hp_onnx_scatter_elements,
      .needs = { "the list of indices", "what is scattered" }, .shape = hp_shape_like_first },
    { "GatherND", OP_INDEX_SELECT, hp_onnx_gather_nd, .fold = hp_fold_gather_nd },
    { "ScatterND", OP_OPAQUE, hp_onnx_opaque_node, .shape = hp_shape_like_first,
      .fold = hp_fold_scatter_nd },
    { "IsNaN", OP_OPAQUE, hp_onnx_is_nan, .flags = PASSES_INTEGERS | PASSES_DRAWN },
    /* Reductions */
    { "ReduceMean", OP_REDUCE_MEAN, hp_onnx_reduce, .shape = hp_shape_reduced,
      .fold = hp_fold_reduce, .of_two = sum },
    { "ReduceSum", OP_REDUCE_SUM, hp_onnx_reduce, .shape = hp_shape_reduced,
      .fold = hp_fold_reduce, .of_two = sum },
    { "ReduceL2", OP_REDUCE_SUM, hp_onnx_reduce, .shape = hp_shape_reduced },
    { "ReduceMax", OP_REDUCE_MAX, hp_onnx_reduce, .shape = hp_shape_reduced,
      .fold = hp_fold_reduce, .of_two = fmax },
    { "ReduceMin", OP_OPAQUE, .shape = hp_shape_reduced, .fold = hp_fold_reduce, .of_two = fmin },
    { "ReduceProd", OP_OPAQUE, .shape = hp_shape_reduced, .fold = hp_fold_reduce,
      .of_two = product },
    /* Shapes */
    { "Reshape", OP_RESHAPE, hp_onnx_reshape, .needs = { "the shape" },
      .flags = PASSES_INTEGERS | PASSES_DRAWN },
    { "Flatten", OP_FLATTEN, hp_onnx_flatten, .flags = PASSES_INTEGERS | PASSES_DRAWN },
    { "Squeeze", OP_SQUEEZE, hp_onnx_squeeze, .flags = PASSES_INTEGERS | PASSES_DRAWN },
    { "Unsqueeze", OP_UNSQUEEZE, hp_onnx_unsqueeze, .flags = PASSES_INTEGERS | PASSES_DRAWN },
    { "Transpose", OP_TRANSPOSE, hp_onnx_transpose, .flags = PASSES_INTEGERS },
    { "Slice", OP_SLICE, hp_onnx_slice, .shape = hp_shape_sliced },
    { "Concat", OP_CONCAT, .translate = hp_onnx_concat },
    { "Expand", OP_EXPAND, hp_onnx_expand, .needs = { "the shape" } },
    { "Tile", OP_EXPAND, .translate = hp_onnx_tile },
    { "Split", OP_SPLIT, .translate = hp_onnx_split },
    { "Pad", OP_PAD, hp_onnx_pad, .shape = hp_shape_padded },
    { "Identity", OP_IDENTITY, hp_onnx_alias, .flags = PASSES_INTEGERS | PASSES_DRAWN },
    { "Cast", OP_IDENTITY, hp_onnx_cast, .shape = hp_shape_like_first,
      .flags = PASSES_INTEGERS | PASSES_DRAWN },
    { "CastLike", OP_IDENTITY, hp_onnx_cast_like, .needs = { "a type" },
      .flags = PASSES_INTEGERS | PASSES_DRAWN },
    { "SplitToSequence", OP_SPLIT, .translate = hp_onnx_split_to_sequence },
    { "SequenceAt", OP_IDENTITY, .translate = hp_onnx_sequence_at },
    /* Known while importing */
    { "Constant", OP_OPAQUE, hp_onnx_constant_node, .flags = READS_NOTHING },
    { "ConstantOfShape", OP_OPAQUE, .translate = hp_onnx_constant_of_shape },
    { "Shape", OP_OPAQUE, hp_onnx_shape_of, .flags = PASSES_INTEGERS | PASSES_DRAWN },
    { "Size", OP_OPAQUE, hp_onnx_size_of, .flags = PASSES_INTEGERS | PASSES_DRAWN },
    { "Range", OP_OPAQUE, .translate = hp_fold_range },
    /* Drawn at random */
    { "RandomUniform RandomUniformLike Bernoulli", OP_DROPOUT, hp_onnx_random,
      .shape = hp_shape_like_first, .flags = PASSES_INTEGERS | PASSES_DRAWN | READS_NOTHING },
    { "RandomNormal RandomNormalLike", OP_OPAQUE, hp_onnx_random,
      .flags = PASSES_INTEGERS | PASSES_DRAWN | READS_NOTHING },
    { "Multinomial", OP_OPAQUE, hp_onnx_multinomial, .flags = PASSES_INTEGERS | PASSES_DRAWN },
    /* Opaque, but of a shape that follows from the inputs */
    { "Trilu", OP_OPAQUE, hp_onnx_opaque_node, .shape = hp_shape_like_first,
      .fold = hp_fold_triangle },
    { "Not", OP_OPAQUE, hp_onnx_opaque_node, .shape = hp_shape_like_first, .of_one = negation,
      .flags = IS_TRUTH },
    { "Floor", OP_OPAQUE, hp_onnx_opaque_node, .shape = hp_shape_like_first, .of_one = floor },
    { "Ceil", OP_OPAQUE, hp_onnx_opaque_node, .shape = hp_shape_like_first, .of_one = ceil },
    { "Round", OP_OPAQUE, hp_onnx_opaque_node, .shape = hp_shape_like_first, .of_one = rint },
    { "Sign Tan Atan Sinh Cosh Mish Celu Softsign ThresholdedRelu Shrink Hardmax "
      "MeanVarianceNormalization", OP_OPAQUE, hp_onnx_opaque_node, .shape = hp_shape_like_first },
    { "RNN", OP_OPAQUE, hp_onnx_opaque_node, .shape = hp_shape_recurrent },
    { "Mod", OP_OPAQUE, hp_onnx_opaque_node, .shape = hp_shape_broadcast, .of_two = modulo },
    { "And", OP_OPAQUE, hp_onnx_opaque_node, .shape = hp_shape_broadcast, .of_two = both,
      .flags = IS_TRUTH },
    { "Or", OP_OPAQUE, hp_onnx_opaque_node, .shape = hp_shape_broadcast, .of_two = either,
      .flags = IS_TRUTH },
    { "Equal", OP_OPAQUE, hp_onnx_opaque_node, .shape = hp_shape_broadcast, .of_two = equal,
      .flags = IS_TRUTH },
    { "Greater", OP_OPAQUE, hp_onnx_opaque_node, .shape = hp_shape_broadcast, .of_two = greater,
      .flags = IS_TRUTH },
    { "GreaterOrEqual", OP_OPAQUE, hp_onnx_opaque_node, .shape = hp_shape_broadcast,
      .of_two = greater_or_equal, .flags = IS_TRUTH },
    { "Less", OP_OPAQUE, hp_onnx_opaque_node, .shape = hp_shape_broadcast, .of_two = less,
      .flags = IS_TRUTH },
    { "LessOrEqual", OP_OPAQUE, hp_onnx_opaque_node, .shape = hp_shape_broadcast,
      .of_two = less_or_equal, .flags = IS_TRUTH },
    /* Unknown, but of a shape that follows from the inputs */
    { "GroupNormalization LpNormalization ReverseSequence Acos Asin Acosh Asinh Atanh Swish "
      "Scatter BitwiseNot IsInf QuantizeLinear DequantizeLinear", .shape = hp_shape_like_first },
    { "Xor BitShift BitwiseAnd BitwiseOr BitwiseXor", .shape = hp_shape_broadcast },
    { "ReduceL1 ReduceLogSum ReduceLogSumExp ReduceSumSquare", .shape = hp_shape_reduced },
    { "ArgMax ArgMin", .shape = hp_shape_place_of },
    { "TopK", .shape = hp_shape_largest },
    { "LpPool", .shape = hp_shape_pooled },
    { "DepthToSpace SpaceToDepth", .shape = hp_shape_blocks },
    { "GridSample", .shape = hp_shape_sampled },
    /* Which nodes run depends on the data */
    { "If Loop Scan", OP_OPAQUE, hp_onnx_control, .flags = READS_NOTHING },
};
/* clang-format on */

enum { ROW_COUNT = sizeof rows / sizeof rows[0] };

const struct onnx_row *hp_onnx_row(const char *op)
{
    for (int i = 0; i < ROW_COUNT; i++)
        if (hp_onnx_lists(rows[i].ops, op))
            return &rows[i];
    return NULL;
}

const struct onnx_row *hp_onnx_row_at(int i)
{
    return i < ROW_COUNT ? &rows[i] : NULL;
}

enum hypar_status hp_onnx_control(struct importing *im)
{
    return hp_fail(im->err, HYPAR_INVALID,
                   "%s is not read: which nodes run depends on the data. Export the model with "
                   "a fixed path",
                   im->node->op);
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

/* Does the node compute integers from indices of a lookup, or from truths? */
static bool computes_integers(struct importing *im)
{
    bool index = false;
    for (int i = 0; i < im->node->n_inputs; i++)
        index |= hp_onnx_input(im, i) && hp_onnx_input(im, i)->kind == VALUE_INDEX;
    return index && hp_onnx_follows_from_integers(im);
}

/* Does the node read more of drawn numbers than their shape? */
static bool reads_drawn(struct importing *im, const struct onnx_row *row)
{
    bool any = false;
    for (int i = 0; i < im->node->n_inputs; i++)
        any |= hp_onnx_input(im, i) && hp_onnx_input(im, i)->kind == VALUE_DRAWN;
    return any && !(row && row->flags & PASSES_DRAWN);
}

/* Are the inputs there that the row needs? */
static enum hypar_status check_needs(struct importing *im, const struct onnx_row *row)
{
    if (!(row->flags & READS_NOTHING) && !hp_onnx_input(im, 0))
        return hp_onnx_missing(im, "its first input");
    for (int i = 0; i < MAX_NEEDS && row->needs[i]; i++)
        if (!hp_onnx_input(im, 1 + i))
            return hp_onnx_missing(im, row->needs[i]);
    return HYPAR_OK;
}

static enum hypar_status fold(struct importing *im, const struct onnx_row *row)
{
    return row->fold ? row->fold(im) : hp_fold_arithmetic(im);
}

static enum hypar_status translate(struct importing *im)
{
    const struct onnx_node *node = im->node;
    bool ours = !*node->domain || strcmp(node->domain, "ai.onnx") == 0;
    const struct onnx_row *row = im->row = ours ? hp_onnx_row(node->op) : NULL;
    bool constant, done = false;
    TRY(check_inputs(im, &constant));
    if (reads_drawn(im, row))
        TRY(hp_onnx_read_drawn(im, &done));
    if (done)
        return HYPAR_OK;
    bool folds = row && (row->fold || row->of_one || row->of_two);
    if (!row || (!row->translate && !folds))
        return hp_onnx_opaque(im, "unknown operator");
    TRY(check_needs(im, row));
    int before = im->n_values;
    enum hypar_status status = HYPAR_UNSUPPORTED;
    if (constant && folds)
        status = fold(im, row);
    else if (!(row->flags & PASSES_INTEGERS) && computes_integers(im))
        status = hp_onnx_computed(im);
    else if (row->translate)
        status = row->translate(im);
    else
        hp_fail(im->err, HYPAR_UNSUPPORTED, "not known of tensors");
    if (status != HYPAR_UNSUPPORTED || im->n_values != before)
        return status;
    if (!(row->flags & READS_NOTHING) && hp_onnx_follows_from_integers(im) &&
        hp_onnx_computed(im) == HYPAR_OK)
        return HYPAR_OK;
    struct hypar_error why = { 0 };
    snprintf(why.text, sizeof why.text, "%.200s", im->err->text);
    return hp_onnx_opaque(im, why.text);
}

enum hypar_status hp_onnx_node(struct importing *im)
{
    return hp_in(im->err, translate(im), "node '%.80s' (%.40s)", im->node->name, im->node->op);
}
