/* The functions of element-wise operators, and their derivatives. */
#include "kernel/scalar.h"

#include <math.h>

#include "base/random.h"

static const double sqrt_half = 0.70710678118654752440;       /* 1 / sqrt(2) */
static const double one_by_sqrt_2pi = 0.39894228040143267794; /* 1 / sqrt(2 pi) */
static const double sqrt_two_by_pi = 0.79788456080286535588;  /* sqrt(2 / pi) */
static const double two_by_sqrt_pi = 1.12837916709551257390;  /* 2 / sqrt(pi) */

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

double hp_sigmoid(double x)
{
    return x >= 0 ? 1 / (1 + exp(-x)) : exp(x) / (1 + exp(x));
}

static double clamp(double x, double least, double most)
{
    return x < least ? least : x > most ? most : x;
}

/* The argument of tanh in the approximation of GELU (Hendrycks and Gimpel 2016). */
static double gelu_inner(double x)
{
    return sqrt_two_by_pi * (x + 0.044715 * x * x * x);
}

static double gelu_inner_slope(double x)
{
    return sqrt_two_by_pi * (1 + 3 * 0.044715 * x * x);
}

/* A row: y from x, the slope from x or y; alpha and beta are constants. */
#define UNARY(name, from, value, slope)                         \
    static double name##_value(double x, struct constants c)    \
    {                                                           \
        const double alpha = c.alpha, beta = c.beta;            \
        (void)alpha, (void)beta;                                \
        return value;                                           \
    }                                                           \
    static double name##_slope(double from, struct constants c) \
    {                                                           \
        const double alpha = c.alpha, beta = c.beta;            \
        (void)alpha, (void)beta, (void)from;                    \
        return slope;                                           \
    }

#define BINARY(name, value, slope_x, slope_y)        \
    static double name##_value(double x, double y)   \
    {                                                \
        return value;                                \
    }                                                \
    static double name##_slope_x(double x, double y) \
    {                                                \
        (void)x, (void)y;                            \
        return slope_x;                              \
    }                                                \
    static double name##_slope_y(double x, double y) \
    {                                                \
        (void)x, (void)y;                            \
        return slope_y;                              \
    }

/* clang-format off */
UNARY(relu, y, x < 0 ? 0 : x, y > 0)
UNARY(gelu, x, x * 0.5 * (1 + erf(x * sqrt_half)),
      0.5 * (1 + erf(x * sqrt_half)) + x * one_by_sqrt_2pi * exp(-0.5 * x * x))
UNARY(gelu_tanh, x, 0.5 * x * (1 + tanh(gelu_inner(x))),
      0.5 * (1 + tanh(gelu_inner(x))) +
          0.5 * x * (1 - tanh(gelu_inner(x)) * tanh(gelu_inner(x))) * gelu_inner_slope(x))
UNARY(silu, x, x * hp_sigmoid(x), hp_sigmoid(x) * (1 + x * (1 - hp_sigmoid(x))))
UNARY(sigmoid, y, hp_sigmoid(x), y * (1 - y))
UNARY(tanh, y, tanh(x), 1 - y * y)
UNARY(leaky_relu, x, x > 0 ? x : alpha * x, x > 0 ? 1 : alpha)
UNARY(elu, x, x > 0 ? x : alpha * expm1(x), x > 0 ? 1 : alpha * exp(x))
UNARY(softplus, x, (x > 0 ? x : 0) + log1p(exp(-fabs(x))), hp_sigmoid(x))
UNARY(hard_sigmoid, x, clamp(alpha * x + beta, 0, 1),
      alpha * x + beta > 0 && alpha * x + beta < 1 ? alpha : 0)
UNARY(hard_swish, x, x * clamp(x / 6 + 0.5, 0, 1), x < -3 ? 0 : x <= 3 ? x / 3 + 0.5 : 1)
UNARY(clip, x, clamp(x, alpha, beta), x >= alpha && x <= beta)
UNARY(exp, y, exp(x), y)
UNARY(log, x, log(x), 1 / x)
UNARY(sqrt, y, sqrt(x), 0.5 / y)
UNARY(sin, x, sin(x), cos(x))
UNARY(cos, x, cos(x), -sin(x))
UNARY(pow, x, pow(x, alpha), alpha == 0 ? 0 : alpha * pow(x, alpha - 1))
UNARY(erf, x, erf(x), two_by_sqrt_pi * exp(-x * x))
UNARY(abs, x, fabs(x), (x > 0) - (x < 0))
UNARY(neg, y, -x, -1)
UNARY(affine, y, alpha * x + beta, alpha)

/* At a tie x and y get half each. */
BINARY(add, x + y, 1, 1)
BINARY(sub, x - y, 1, -1)
BINARY(mul, x * y, y, x)
BINARY(div, x / y, 1 / y, -x / (y * y))
BINARY(minimum, x < y ? x : y, x < y ? 1 : x == y ? 0.5 : 0, y < x ? 1 : x == y ? 0.5 : 0)
BINARY(maximum, x > y ? x : y, x > y ? 1 : x == y ? 0.5 : 0, y > x ? 1 : x == y ? 0.5 : 0)

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
