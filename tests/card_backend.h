/* card_backend.h - a card as a back end for tests: the stand-in of tests/cuda, or the machine's
 * own. */
#ifndef TESTS_CARD_BACKEND_H
#define TESTS_CARD_BACKEND_H

#include "run/backend/backend.h"

/* The card, opened once in a process; skips the test, or fails it, where there is none. */
struct backend card_backend(const struct kernels *kernels);

#endif /* TESTS_CARD_BACKEND_H */
