/* cost/stragglers.h - devices of one type differ in speed, and the slowest decides. Internal. */
#ifndef COST_STRAGGLERS_H
#define COST_STRAGGLERS_H

/* How many times as long as a usual device the slowest of n takes, if their times are normal with
 * this standard deviation, relative to the mean: 1 + jitter * E(n), where E(n) is the expected
 * maximum of n standard normals by Blom's formula ("Statistical estimates and transformed
 * beta-variables", 1958). It rises with n and with the jitter; 1 for n = 1. */
double hp_slowest_of(int n, double jitter);

#endif /* COST_STRAGGLERS_H */
