/* search/planner.h - the interface of every planner. Internal.
 *
 * Each planner is one row. Only the table in planner.c knows all of them; `hypar plan
 * --planner`, `hypar planners` and the help are made from it. Rows that callers of the library
 * add come after the table (registered.c). */
#ifndef SEARCH_PLANNER_H
#define SEARCH_PLANNER_H

#include <hypar/search.h>

#include "base/arena.h"
#include "base/error.h"
#include "cost/kernel.h"
#include "plan/plan.h"
#include "search/levels/partition.h"
#include "search/options.h"

struct straight_cuts;
struct target; /* a framework that runs plans (emit/target.h) */

struct problem {
    const struct hypar_graph *graph;
    const struct hypar_machine *machine;
    const struct hypar_search_options *options; /* its memory_bytes: the limit for planners;
                                                 * INFINITY: none */
    const struct target *target; /* the plan must run on this framework; NULL: any plan */
    struct layout_limits limits; /* what it allows of splits and stages */
    struct hypar_plan_settings settings;
    const struct hypar_plan *known; /* flexflow: a plan to start from, beside those of other
                                     * planners; or NULL */
    bool within_auto; /* auto runs itself for a smaller machine; inside that run this is set, so
                      it does not recurse */
    bool whole;    /* the caller tries subsets of the devices (subsets.h): planners need not */
    double beat_s; /* no plan that is as slow is wanted; 0: any is */
    struct straight_cuts *cuts; /* kept for all planners of a search (pipeline/solve.h); NULL:
                                 * each planner makes its own */
    struct layered *layered;    /* the graph as weighted layers */
    int n_levels;
    struct hypar_level level[HYPAR_MAX_LEVELS];
};

/* The problem of a search with these options; its layered graph is in `arena`. */
struct problem hp_problem(struct arena *arena, const struct hypar_graph *graph,
                          const struct hypar_machine *machine,
                          const struct hypar_search_options *options);

/* The settings of plans that follow from the options of a search. */
struct hypar_plan_settings hp_settings(const struct hypar_search_options *options);

/* How device `device` runs passes of the plan's steps. */
static inline struct kernel_place hp_problem_place(const struct problem *problem, int device)
{
    return hp_kernel_place(hypar_machine_device(problem->machine, device),
                           problem->settings.precision,
                           &problem->settings.simulation.framework);
}

/* A plan and its figures; lives in its own arena. */
struct hypar_found {
    struct arena arena;
    struct hypar_plan *plan;
    struct hypar_search_info info;
    struct hypar_prediction prediction;
    struct hypar_partition_view view;
    bool has_view;
    struct hypar_pipeline_view pipeline;
    bool has_pipeline;
    struct hypar_layerwise_view *layerwise; /* optcnn; else NULL */
    struct hypar_simulated simulated;
    bool has_simulated;
};

/* Was it simulated in part (reduced.h)? */
static inline bool hp_in_part(const struct hypar_found *found)
{
    return found->info.part.step_s > 0;
}

/* Is its step known from a simulation, of the whole plan or of a part? */
static inline bool hp_is_judged(const struct hypar_found *found)
{
    return found->has_simulated || hp_in_part(found);
}

struct level_rules; /* types that a level-by-level planner allows (levels/levels.h) */

struct planner {
    struct hypar_planner_info info;
    enum hypar_status (*plan)(const struct planner *self, const struct problem *problem,
                              struct hypar_found *found, struct hypar_error *err);
    const struct level_rules *rules;   /* NULL: the planner does not divide level by level */
    enum hypar_schedule_kind schedule; /* of a planner of pipelines */
    /* The random search that this planner runs in addition to evaluating the plans of all
     * others. The random search also gets the operators to fix and the plan to start from.
     * NULL: the planner makes a plan of its own. */
    const struct planner *random_search;
    bool checks_memory; /* its plans fit by their exact need (room.h) */
    bool not_in_auto;   /* trains differently from the others, or takes long */
    /* TAKES_X | TAKES_Y (options.h): the options that its function reads, among those that not
     * every planner takes. Any other given option is refused, with a line that names the
     * planners that take it. */
    unsigned takes;
    bool seeds;      /* a random search starts from its plan */
    bool slow;       /* its search takes long: auto runs it last, remedies do not repeat it */
    bool asks_links; /* its choice depends on the links' bandwidth */
    bool unequal_shares; /* the planner gives unlike devices unlike shares or stages; if plans
                          are large, only such planners are tried on subsets of unlike devices
                          (loaded planners set this, too) */
    bool shards;         /* it shards parameters itself, as the options ask */
    const struct hypar_planner *own; /* the registered row; NULL: a row of the table */
};

extern const struct planner hp_planner_auto, hp_planner_dp, hp_planner_mp, hp_planner_owt,
    hp_planner_hypar, hp_planner_accpar, hp_planner_optcnn, hp_planner_gpipe, hp_planner_1f1b,
    hp_planner_zb_h1, hp_planner_zb_h2, hp_planner_pipedream, hp_planner_3d, hp_planner_hybrid,
    hp_planner_flexflow, hp_planner_exhaustive;

/* Planner `i`, 0, 1, ...: first the table, then registered planners (registered.c); NULL past
 * the last. */
const struct planner *hp_planner_at(int i);

/* Registered planner `i`; NULL past the last. */
const struct planner *hp_own_planner(int i);

/* Run one planner: makes a plan with a prediction; the plan may need more memory than there
 * is. */
enum hypar_status hp_try_planner(const struct planner *planner, const struct problem *problem,
                                 struct hypar_found **out, struct hypar_error *err);

/* Divide the batch into the micro-batches that the options ask for. A planner of pipelines has
 * done so; plans without stages run them one after another (gradient accumulation). */
void hp_divide_batch(const struct problem *problem, struct hypar_plan *plan);

/* Run one planner as hp_try_planner(), then shard the plan's parameters as the options ask if
 * the planner does not. */
enum hypar_status hp_try_divided(const struct planner *planner, const struct problem *problem,
                                 struct hypar_found **out, struct hypar_error *err);

/* Do the weights, gradients and optimizer state of its plan fit in memory? Else
 * HYPAR_INFEASIBLE. */
enum hypar_status hp_check_state(const struct planner *planner, const struct problem *problem,
                                 const struct hypar_found *found, struct hypar_error *err);

/* Run one planner as hp_try_planner(), and check that its state fits in memory. */
enum hypar_status hp_run_planner(const struct planner *planner, const struct problem *problem,
                                 struct hypar_found **out, struct hypar_error *err);

/* Find the best plan of all planners by simulated step, within memory (auto.c). */
enum hypar_status hp_run_auto(const struct planner *self, const struct problem *problem,
                              struct hypar_found **out, struct hypar_error *err);

/* Are parameters sharded after this planner's search, because it does not do so itself? Then
 * its plan has to fit after sharding, not before. */
bool hp_divided_later(const struct planner *planner,
                      const struct hypar_search_options *options);

/* Simulate the plan found, or note why not (judge.c). `options` may be NULL. */
void hp_simulate_found(const struct problem *problem, const struct hypar_sim_options *options,
                       struct hypar_found *found);

/* The planner with this name; NULL: none. */
const struct planner *hp_find_planner(const char *name);

#endif /* SEARCH_PLANNER_H */
