/* base/precision.h - bytes of a number, and the precision of gradients and master copies.
 * Internal. */
#ifndef BASE_PRECISION_H
#define BASE_PRECISION_H

#include <hypar/plan.h>

/* Bytes of one number in memory and in messages. */
static inline int hp_precision_bytes(enum hypar_precision precision)
{
    switch (precision) {
    case HYPAR_BF16:
    case HYPAR_FP16:
        return 2;
    case HYPAR_FP64:
        return 8;
    default:
        return 4;
    }
}

/* The precision of parameter gradients: that of the parameters, or fp32 for shorter ones if
 * `fp32_gradients` asks for it. */
static inline enum hypar_precision hp_gradient_precision(enum hypar_precision precision,
                                                         bool fp32_gradients)
{
    return fp32_gradients && hp_precision_bytes(precision) < 4 ? HYPAR_FP32 : precision;
}

/* The precision in which parameters are updated: short parameters have fp32 master copies. */
static inline enum hypar_precision hp_master_precision(enum hypar_precision precision)
{
    return precision == HYPAR_FP64 ? HYPAR_FP64 : HYPAR_FP32;
}

#endif /* BASE_PRECISION_H */
