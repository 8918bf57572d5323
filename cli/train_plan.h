/* cli/train_plan.h - the plan that `hypar train` runs. */
#ifndef CLI_TRAIN_PLAN_H
#define CLI_TRAIN_PLAN_H

#include "cli/opt.h"

struct train_plan {
    struct hypar_plan *read; /* from a file, or */
    struct hypar_found *found;
    struct hypar_graph *graph;
    struct hypar_machine *machine;
    const struct hypar_plan *plan;
    struct hypar_profile *profile;
};

/* Do ranks compute on cards (--device cuda)? */
bool train_on_card(const struct args *args);

/* The device that this machine's card is: of those whose name the card's contains the longest
 * one, as h200 of "NVIDIA H200"; NULL: none. */
const char *train_card_device(void);

/* Is the first operand a plan, or is a plan handed on, so that nothing is searched? */
bool train_names_plan(const struct args *args);

/* Measured times: those of --profile, else of this machine, if there are some. They are put
 * into *how and *profile; the caller frees *profile. */
enum hypar_status train_profile(const struct args *args, const struct hypar_machine *machine,
                                struct hypar_sim_options *how, struct hypar_profile **profile,
                                struct hypar_error *err);

/* The plan that the first operand is, or one that a search finds for the model that it is. The
 * caller frees it, also on failure. */
enum hypar_status train_plan(const struct args *args, int ranks, struct train_plan *p,
                             struct hypar_error *err);

/* The same for ranks that another launcher has started: rank 0 finds the plan for all of them,
 * because a search may depend on the speed of its machine. */
enum hypar_status train_plan_together(const struct args *args, struct hypar_ranks *ranks,
                                      struct train_plan *p, struct hypar_error *err);

void train_plan_free(struct train_plan *p);

#endif /* CLI_TRAIN_PLAN_H */
