/* The functions of element-wise operators, and their derivatives. */
#include "kernel/scalar.h"

#include <math.h>

#include "base/random.h"

struct constants hp_constants(const struct attrs *attrs)
{
    double alpha = hp_attr(attrs, ATTR_MIN, 0, hp_attr(attrs, ATTR_EXPONENT, 0, 0));
    double beta = hp_attr(attrs, ATTR_MAX, 0, 0);
    return (struct constants){ hp_attr(attrs, ATTR_ALPHA, 0, alpha),
                               hp_attr(attrs, ATTR_BETA, 0, beta) };
}

/* SplitMix64's output for state key + (index + 1) golden: a counter, not a sequence. */
double hp_draw(uint64_t key, uint64_t index)
{
    struct random random = { key + index * 0x9e3779b97f4a7c15u };
    return hp_random_unit(&random);
}

#define SCALAR static
#include "kernel/scalar.inc"

double hp_sigmoid(double x)
{
    return sigmoid_of(x);
}

/* clang-format off */
#define ROW(KIND, name) [OP_##KIND] = { name##_value, name##_slope }
const struct unary hp_unary[OP_KIND_COUNT] = {
    ROW(RELU, relu), ROW(GELU, gelu), ROW(GELU_TANH, gelu_tanh), ROW(SILU, silu), ROW(SIGMOID, sigmoid), ROW(TANH, tanh),
    ROW(LEAKY_RELU, leaky_relu), ROW(ELU, elu), ROW(SOFTPLUS, softplus),
    ROW(HARD_SIGMOID, hard_sigmoid), ROW(HARD_SWISH, hard_swish), ROW(CLIP, clip),
    ROW(EXP, exp), ROW(LOG, log), ROW(SQRT, sqrt), ROW(SIN, sin), ROW(COS, cos), ROW(POW, pow), ROW(ERF, erf), ROW(ABS, abs),
    ROW(NEG, neg), ROW(AFFINE, affine),
};
#undef ROW

#define ROW(KIND, name) [OP_##KIND] = { name##_value, name##_slope_x, name##_slope_y }
const struct binary hp_binary[OP_KIND_COUNT] = {
    ROW(ADD, add), ROW(SUB, sub), ROW(MUL, mul), ROW(DIV, div),
    ROW(MINIMUM, minimum), ROW(MAXIMUM, maximum),
};
#undef ROW
/* clang-format on */
