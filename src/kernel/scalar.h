/* kernel/scalar.h - the functions of element-wise operators, and their slopes. Internal. */
#ifndef KERNEL_SCALAR_H
#define KERNEL_SCALAR_H

#include "graph/op.h"

/* alpha and beta of a row; min and max of clip; the exponent of pow is alpha. */
struct constants {
    double alpha, beta;
};

struct constants hp_constants(const struct attrs *attrs);

/* y = value(x); dx = dy slope(v), where v is what the row's backward pass reads: x, y, or
 * nothing. At a corner of the function the slope is PyTorch's. */
struct unary {
    double (*value)(double x, struct constants c);
    double (*slope)(double v, struct constants c);
};

/* z = value(x, y); dx = dz slope_x(x, y), dy = dz slope_y(x, y). */
struct binary {
    double (*value)(double x, double y);
    double (*slope_x)(double x, double y);
    double (*slope_y)(double x, double y);
};

extern const struct unary hp_unary[OP_KIND_COUNT];
extern const struct binary hp_binary[OP_KIND_COUNT];

double hp_sigmoid(double x);

/* A number in [0, 1) that depends on `key` and `index` alone. */
double hp_draw(uint64_t key, uint64_t index);

#endif /* KERNEL_SCALAR_H */
