/* kernel/divide.h - dividing a call among threads. Internal to kernel/. */
#ifndef KERNEL_DIVIDE_H
#define KERNEL_DIVIDE_H

#include "kernel/kernel.h"

enum { DIVISION_AXES = 2 };

/* A call in parts, of one axis or of two: part i is part i / n[1] of axis[0] and i % n[1] of
 * axis[1]. What is written is cut, so that each part may be another thread's; or several parts
 * write partial sums of it, which are to be put together. */
struct division {
    const struct kernel_call *call;
    int parts;
    int n[DIVISION_AXES], axis[DIVISION_AXES]; /* n 1: not divided */
    operand_set sums[DIVISION_AXES];           /* values that the parts of an axis sum to */
    operand_set sums_grad[DIVISION_AXES];      /* and gradients */
};

/* In at most `most` parts, each of which touches about `least_elements` or more. */
struct division hp_divide(const struct kernel_call *call, int most, double least_elements);

/* Part i: the call on its range. What an earlier part has a partial sum of is added to. */
void hp_division_part(const struct division *division, int i, struct kernel_call *part);

/* Of the parts whose sum is the same piece of operand `o`: how many come before part i. */
int hp_division_turn(const struct division *division, int i, int o, bool grad);

#endif /* KERNEL_DIVIDE_H */
