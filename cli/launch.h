/* cli/launch.h - starting this command again as the ranks of a run. */
#ifndef CLI_LAUNCH_H
#define CLI_LAUNCH_H

#include "cli/opt.h"

/* The plan that the launching process found, for those that it starts; NULL: none. */
const char *launch_plan(void);

/* Run this very command on `ranks` processes of this machine, by mpirun, with the plan at
 * `plan`; returns when all have ended. Ctrl-C and SIGTERM reach them as a wish to stop after
 * the step at hand. What they print goes where it goes here. HYPAR_RUNTIME if they cannot be
 * started, or one has died. *exit_code is theirs, if they ended by themselves. */
enum hypar_status launch_ranks(const struct args *args, int ranks, const char *plan,
                               int *exit_code, struct hypar_error *err);

#endif /* CLI_LAUNCH_H */
