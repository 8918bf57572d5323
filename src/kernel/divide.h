/* kernel/divide.h - dividing a call among threads. Internal to kernel/. */
#ifndef KERNEL_DIVIDE_H
#define KERNEL_DIVIDE_H

#include "kernel/kernel.h"

enum { DIVISION_AXES = 2 };

/* A call in parts, along one axis or two: part i is part i / n[1] of axis[0] and i % n[1] of
 * axis[1]. Either the parts write disjoint outputs, or several parts write partial sums that
 * have to be combined. */
struct division {
    const struct kernel_call *call;
    int parts;
    int n[DIVISION_AXES], axis[DIVISION_AXES]; /* n 1: not divided */
    operand_set
        sums[DIVISION_AXES]; /* values of which the parts of an axis have partial sums */
    operand_set sums_grad[DIVISION_AXES]; /* and gradients */
};

/* Divide into at most `most` parts, each of which touches about `least_elements` or more. */
struct division hp_divide(const struct kernel_call *call, int most, double least_elements);

/* Part i: the call on its range. It adds to a partial sum that an earlier part began. */
void hp_division_part(const struct division *division, int i, struct kernel_call *part);

/* How many parts before part i have partial sums of the same piece of operand `o`. */
int hp_division_turn(const struct division *division, int i, int o, bool grad);

#endif /* KERNEL_DIVIDE_H */
