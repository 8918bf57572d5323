/* base/stop.h - a caller asks a long computation to stop. Internal.
 *
 * The caller owns the flag; NULL where nobody can ask. Long loops check the flag. A computation
 * that has a result by then returns it, any other fails. */
#ifndef BASE_STOP_H
#define BASE_STOP_H

#include <signal.h>

#include "base/error.h"

static inline bool hp_stopped(const volatile sig_atomic_t *stop)
{
    return stop && *stop;
}

/* The error of a search that was stopped without a result: HYPAR_INFEASIBLE. */
static inline enum hypar_status hp_check_stop(const volatile sig_atomic_t *stop,
                                              struct hypar_error *err)
{
    return hp_stopped(stop) ? hp_fail(err, HYPAR_INFEASIBLE, "interrupted before it had a plan")
                            : HYPAR_OK;
}

#endif /* BASE_STOP_H */
