/* cost/normal.h - the standard normal distribution. */
#ifndef COST_NORMAL_H
#define COST_NORMAL_H

/* The share of values that are at most `value`. */
double hp_normal_share(double value);

/* The value that a share of all values is at most, 0 < share < 1. */
double hp_normal_value(double share);

#endif /* COST_NORMAL_H */
