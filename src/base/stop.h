/* base/stop.h - somebody does not want to wait any longer. Internal.
 *
 * A flag that is the caller's, NULL where nobody can ask for it. Loops that take long look at
 * it: those that have something to give by then give it, the others fail. */
#ifndef BASE_STOP_H
#define BASE_STOP_H

#include <signal.h>

#include "base/error.h"

static inline bool hp_stopped(const volatile sig_atomic_t *stop)
{
    return stop && *stop;
}

/* What a search that has nothing to give says: HYPAR_INFEASIBLE. */
static inline enum hypar_status hp_check_stop(const volatile sig_atomic_t *stop,
                                              struct hypar_error *err)
{
    return hp_stopped(stop) ? hp_fail(err, HYPAR_INFEASIBLE, "interrupted before it had a plan")
                            : HYPAR_OK;
}

#endif /* BASE_STOP_H */
