/* cuda_stand_in.h - a card for tests: the stand-in of tests/cuda, which the host runs. */
#ifndef TESTS_CUDA_STAND_IN_H
#define TESTS_CUDA_STAND_IN_H

#include <stdbool.h>

/* Let the back end find the stand-in, and keep compiled code beside it. With HYPAR_TEST_CARD
 * set in the environment, the machine's own card is used instead. False: there is no C++
 * compiler for it. To be called before the back end is first used. */
bool cuda_stand_in(void);

/* Is the machine's own card used? */
bool cuda_real_card(void);

#endif /* TESTS_CUDA_STAND_IN_H */
