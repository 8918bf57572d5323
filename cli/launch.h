/* cli/launch.h - starting this command again as the ranks of a run. */
#ifndef CLI_LAUNCH_H
#define CLI_LAUNCH_H

#include "cli/opt.h"

/* In a rank that a launching process has started: remove the launcher's own words from the
 * command line. Then the command line is as the user wrote it. */
void launch_read_words(int *argc, char ***argv);

/* The plan file for ranks of a launching process; NULL: no launching process started this one.
 */
const char *launch_plan(void);

/* Does the launching process pass the plan as rank 0's standard input? */
bool launch_hands_on(void);

/* Does standard output end on a terminal? A rank is told by its launching process. */
bool launch_on_terminal(void);

/* Bind a rank that the launching process has started to cores of its own, one for each of its
 * threads. Not with --bind none or a binding variable of mpirun, nor if the ranks have more
 * threads than there are cores. */
void launch_bind(const struct args *args);

/* Note if the ranks of this host have more threads than the host has cores. */
void launch_note_cores(const struct args *args);

/* Rank 0 tells the launching process, if there is one, that all ranks can take signals. */
void launch_ready(void);

/* The status with which a rank ends. If a signal stopped the training, a rank of a launching
 * process ends with success, because mpirun would report any other status; rank 0 informs the
 * launching process. */
enum hypar_status launch_end(enum hypar_status status, bool first);

/* HYPAR_USAGE if so many ranks cannot be started here. Call this before planning. */
enum hypar_status launch_check(const struct args *args, int ranks, struct hypar_error *err);

/* Is mpirun installed? */
bool launch_finds_mpirun(void);

/* Run this command as `ranks` processes of mpirun, on this machine or on the hosts of
 * --hostfile, with the plan at `plan`, or, if `plan` is NULL, with the plan that can be read
 * from `input`. Returns when all ranks have ended. A first Ctrl-C or SIGTERM asks the ranks to
 * stop after the current step; a second one ends the ranks and this process. The ranks' output
 * goes to this process's output. Returns the ranks' status, with *err empty if a rank has
 * printed the reason; HYPAR_RUNTIME if ranks cannot be started, or one has died. */
enum hypar_status launch_ranks(const struct args *args, int ranks, const char *plan, int input,
                               struct hypar_error *err);

#endif /* CLI_LAUNCH_H */
