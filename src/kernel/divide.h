/* kernel/divide.h - dividing a call among threads. Internal to kernel/. */
#ifndef KERNEL_DIVIDE_H
#define KERNEL_DIVIDE_H

#include "kernel/kernel.h"

/* A call in parts that write different elements, so that each may be another thread's. */
struct division {
    const struct kernel_call *call;
    int n, axis; /* parts, of this axis; n is 1 if there is no such axis */
};

/* In at most `most` parts, each of which touches about `least_elements` or more. */
struct division hp_divide(const struct kernel_call *call, int most, double least_elements);

/* Part i: the call on its range. */
void hp_division_part(const struct division *division, int i, struct kernel_call *part);

#endif /* KERNEL_DIVIDE_H */
