/* cli/compare.h - what compare has in several files, and what other commands use of it. */
#ifndef CLI_COMPARE_H
#define CLI_COMPARE_H

#include "cli/opt.h"

/* `plan`, then what the planners of --planner find for its model and its machine, searched as
 * the plan is and simulated as `how` says. A planner that finds none has a row that says why.
 * `tell` is handed the table, which is gone when it returns. */
enum hypar_status
compare_beside(const struct args *args, struct hypar_plan *plan,
               const struct hypar_sim_options *how,
               enum hypar_status (*tell)(void *who, const struct hypar_comparison *comparison,
                                         struct hypar_error *err),
               void *who, struct hypar_error *err);

/* HYPAR_USAGE for an option that is of a search, where plans are compared. */
enum hypar_status compare_check_for_plans(const struct args *args, struct hypar_error *err);

/* The plan that the command line names, simulated as `given`, beside its measured step. */
enum hypar_status compare_measured(const struct args *args,
                                   const struct hypar_sim_options *given,
                                   struct hypar_error *err);

#endif /* CLI_COMPARE_H */
