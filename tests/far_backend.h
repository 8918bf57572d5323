/* far_backend.h - a back end whose arrays the process cannot read: their addresses lie far from
 * the memory that holds them, so that code which reads one without the back end crashes. */
#ifndef TESTS_FAR_BACKEND_H
#define TESTS_FAR_BACKEND_H

#include "run/backend/backend.h"

struct backend far_backend(const struct kernels *kernels);

#endif /* TESTS_FAR_BACKEND_H */
