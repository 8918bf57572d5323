/* cli/launch.h - starting this command again as the ranks of a run. */
#ifndef CLI_LAUNCH_H
#define CLI_LAUNCH_H

#include "cli/opt.h"

/* Of a rank that a launching process has started: takes what that process tells its ranks out
 * of the command line, which is then as the user wrote it. */
void launch_read_words(int *argc, char ***argv);

/* The plan file for those that the launching process has started; NULL: nobody has. */
const char *launch_plan(void);

/* Does it hand the plan itself on, as rank 0's standard input? */
bool launch_hands_on(void);

/* Does this process's standard output end on a terminal? Of a rank the launcher knows. */
bool launch_on_terminal(void);

/* A rank that the launching process has started is bound to cores of its own, one for each of
 * its threads, unless --bind none or a variable of mpirun's says otherwise, or there are fewer
 * cores than all ranks want. */
void launch_bind(const struct args *args);

/* Note it where the ranks of this host have more threads than it has cores. */
void launch_note_cores(const struct args *args);

/* Rank 0 tells the launching process, if there is one, that all ranks can take signals. */
void launch_ready(void);

/* How a rank ends. One that the launching process has started ends well where training was
 * stopped by a signal, as mpirun would tell of any other end; the first rank lets the launching
 * process know. */
enum hypar_status launch_end(enum hypar_status status, bool first);

/* HYPAR_USAGE: more than can be started here. To be asked before anything is planned for them.
 */
enum hypar_status launch_check(const struct args *args, int ranks, struct hypar_error *err);

/* Is there an mpirun that would be started? */
bool launch_finds_mpirun(void);

/* Run this very command on `ranks` processes, of this machine or of the hosts of --hostfile, by
 * mpirun, with the plan at `plan`, or if that is NULL with what can be read from `input`;
 * returns when all have ended. Ctrl-C and SIGTERM reach them as a wish to stop after
 * the step at hand; a second one ends them, and this process. What they print goes where it
 * goes here. Returns what they did, with *err empty if a rank has told why; HYPAR_RUNTIME if
 * they cannot be started, or one has died. */
enum hypar_status launch_ranks(const struct args *args, int ranks, const char *plan, int input,
                               struct hypar_error *err);

#endif /* CLI_LAUNCH_H */
