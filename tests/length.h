/* How much of a long test is run. `make test` runs its short form: every kind of case, few of
 * each. HYPAR_TEST_LENGTH=full, which `make check` sets, runs large cases too and more of each
 * kind. HYPAR_TEST_LENGTH=soak, which `make soak` sets, runs all cases. */
#ifndef TESTS_LENGTH_H
#define TESTS_LENGTH_H

#include <stdbool.h>
#include <stdint.h>

bool full_length(void); /* full or soak */
bool soak_length(void);

/* How many cases: the number in the environment variable `name` (NULL: there is no such
 * variable), else `few`, `full` or `all`. */
int64_t length_of(const char *name, int64_t few, int64_t full, int64_t all);

/* Whether case `i` is run: one of every `step` cases is in the short form, one of every
 * `full_step` at full length, and all of them in `make soak`. */
bool in_length(int i, int step, int full_step);

#endif
