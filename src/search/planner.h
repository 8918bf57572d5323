/* search/planner.h - what every search algorithm is. Internal.
 *
 * One algorithm, one row; the table in planner.c is the only place that knows them all, and
 * `hypar plan --planner`, `hypar planners` and the help are made from it. Rows that callers of
 * the library add stand behind it (own.c). */
#ifndef SEARCH_PLANNER_H
#define SEARCH_PLANNER_H

#include <hypar/search.h>

#include "base/arena.h"
#include "base/error.h"
#include "plan/plan.h"
#include "search/levels/partition.h"
#include "search/options.h"

static const double HP_UNLIMITED_BYTES = 1e300;

struct target; /* a framework that runs plans (emit/target.h) */

struct problem {
    const struct hypar_graph *graph;
    const struct hypar_machine *machine;
    const struct hypar_search_options *options; /* its memory_bytes: what planners keep to */
    const struct target *target; /* whose plans alone are looked for; NULL: any plan will do */
    axis_set *axes;              /* by nest, those that may be split; NULL: all */
    const bool *borders; /* by operator, whether a stage may begin there; NULL: anywhere */
    double limit_bytes;  /* by which devices are told to be full; 0: their own memory */
    struct plan_settings settings;
    const struct hypar_plan *known; /* flexflow: to begin with, beside others' plans; or NULL */
    bool lesser; /* auto asks itself about a machine with less: it asks no further */
    struct layered *layered; /* the papers' view of the graph */
    int n_levels;
    struct hypar_level level[HYPAR_MAX_LEVELS];
};

/* What there is to search, with these options; its view of the graph is in `arena`. */
struct problem hp_problem(struct arena *arena, const struct hypar_graph *graph,
                          const struct hypar_machine *machine,
                          const struct hypar_search_options *options);

/* What plans have of the options of a search. */
struct plan_settings hp_settings(const struct hypar_search_options *options);

/* How kernels are run in steps that are simulated. */
static inline enum hypar_framework hp_framework(const struct problem *problem)
{
    const struct hypar_sim_options *how = problem->options->simulation;
    return how ? how->framework : HYPAR_FRAMEWORK_COMPILED;
}

/* A plan and what is known about it; lives in its own arena. */
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

/* Was a part of it simulated (reduced.h)? */
static inline bool hp_in_part(const struct hypar_found *found)
{
    return found->info.part.step_s > 0;
}

/* Is its step known from a simulation, of the whole or of a part? */
static inline bool hp_is_judged(const struct hypar_found *found)
{
    return found->has_simulated || hp_in_part(found);
}

struct level_rules; /* what a planner that divides level by level allows (levels/levels.h) */

struct planner {
    struct hypar_planner_info info;
    enum hypar_status (*plan)(const struct planner *self, const struct problem *problem,
                              struct hypar_found *found, struct hypar_error *err);
    const struct level_rules *rules;   /* NULL: it does not divide level by level */
    enum hypar_schedule_kind schedule; /* of a planner of pipelines */
    /* It judges the plans of all others, and lets this one search at random; that one also has
     * what it is asked to fix or to begin with. NULL: it makes a plan of its own. */
    const struct planner *random_search;
    bool checks_memory; /* its plan fits by its exact need (fit.h) */
    bool not_in_auto;   /* another training than the others', or a long search */
    /* TAKES_X | TAKES_Y (options.h): of the options that not every planner takes, those that
     * its function looks at; any other that is given is refused, with a line that names who
     * takes it. */
    unsigned takes;
    bool seeds;        /* a random search begins with its plan */
    bool weighs_links; /* links that are faster or slower may change what it chooses */
    bool shards;       /* what is to be divided of parameters is divided in its plan already */
    const struct hypar_planner *own; /* that was registered; NULL: a row of the table */
};

extern const struct planner hp_planner_auto, hp_planner_dp, hp_planner_mp, hp_planner_owt,
    hp_planner_hypar, hp_planner_accpar, hp_planner_optcnn, hp_planner_gpipe, hp_planner_1f1b,
    hp_planner_zb_h1, hp_planner_zb_h2, hp_planner_pipedream, hp_planner_3d, hp_planner_hybrid,
    hp_planner_flexflow, hp_planner_exhaustive;

/* Planner `i`, 0, 1, ...: those of the table, then those that were registered (own.c); NULL
 * past the last. */
const struct planner *hp_planner_at(int i);

/* Registered planner `i`; NULL past the last. */
const struct planner *hp_own_planner(int i);

/* Run one planner: a new plan, predicted; it may need more memory than there is. */
enum hypar_status hp_try_planner(const struct planner *planner, const struct problem *problem,
                                 struct hypar_found **out, struct hypar_error *err);

/* Micro-batches that are asked for: a planner of pipelines has seen to it, plans without stages
 * do one after another (gradient accumulation). */
void hp_divide_batch(const struct problem *problem, struct hypar_plan *plan);

/* ... with its parameters divided as the options ask, also by planners that do not see to it.
 */
enum hypar_status hp_try_divided(const struct planner *planner, const struct problem *problem,
                                 struct hypar_found **out, struct hypar_error *err);

/* Are the weights, gradients and optimizer state of its plan within memory? HYPAR_INFEASIBLE.
 */
enum hypar_status hp_check_state(const struct planner *planner, const struct problem *problem,
                                 const struct hypar_found *found, struct hypar_error *err);

/* Both: a new plan, predicted, whose state is within memory. */
enum hypar_status hp_run_planner(const struct planner *planner, const struct problem *problem,
                                 struct hypar_found **out, struct hypar_error *err);

/* The best of all planners by simulated step, within memory (auto.c). */
enum hypar_status hp_run_auto(const struct planner *self, const struct problem *problem,
                              struct hypar_found **out, struct hypar_error *err);

/* Are parameters to be divided in what this planner finds, as it does not do so itself? Its
 * plan has to fit then, not before. */
bool hp_divided_later(const struct planner *planner,
                      const struct hypar_search_options *options);

/* Simulate what was found, or note why not (judge.c). `options` may be NULL. */
void hp_simulate_found(const struct problem *problem, const struct hypar_sim_options *options,
                       struct hypar_found *found);

/* The planner of that name; NULL: there is none. */
const struct planner *hp_find_planner(const char *name);

#endif /* SEARCH_PLANNER_H */
