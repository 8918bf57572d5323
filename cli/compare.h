/* cli/compare.h - functions of `compare` that its files and other commands share. */
#ifndef CLI_COMPARE_H
#define CLI_COMPARE_H

#include "cli/opt.h"

/* Compare `plan` with plans of the planners of --planner for the same model and machine, with
 * the plan's settings for the searches and `how` for the simulations. The row of a planner
 * without a plan has the reason. `tell` gets the table, which is released when `tell` returns.
 */
enum hypar_status
compare_beside(const struct args *args, struct hypar_plan *plan,
               const struct hypar_sim_options *how,
               enum hypar_status (*tell)(void *who, const struct hypar_comparison *comparison,
                                         struct hypar_error *err),
               void *who, struct hypar_error *err);

/* HYPAR_USAGE for an option of searches if plans are compared. */
enum hypar_status compare_check_for_plans(const struct args *args, struct hypar_error *err);

/* Compare the simulated step (`given`) of the command line's plan with its measured step. */
enum hypar_status compare_measured(const struct args *args,
                                   const struct hypar_sim_options *given,
                                   struct hypar_error *err);

#endif /* CLI_COMPARE_H */
