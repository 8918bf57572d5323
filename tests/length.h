/* How much of a long test is run. `make test` runs its short form: every kind of case, few of
 * each. HYPAR_TEST_LENGTH=full, which `make check` sets, runs all of it. */
#ifndef TESTS_LENGTH_H
#define TESTS_LENGTH_H

#include <stdbool.h>
#include <stdint.h>

bool full_length(void);

/* How many cases: the number in the environment variable `name` (NULL: there is no such
 * variable), else `full` or `few`. */
int64_t length_of(const char *name, int64_t few, int64_t full);

/* Whether case `i` is run: in the short form one of every `step` cases is. */
bool in_length(int i, int step);

#endif
