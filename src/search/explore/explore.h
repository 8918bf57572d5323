/* search/explore/explore.h - the inside of an exploration. Internal. */
#ifndef SEARCH_EXPLORE_EXPLORE_H
#define SEARCH_EXPLORE_EXPLORE_H

#include <hypar/explore.h>

#include "search/levels/levels.h"
#include "search/predict.h"

enum { MAX_SITES = 1024 };

/* One machine of several. */
struct explored_machine {
    const struct hypar_machine *machine;
    struct hypar_machine *own;               /* to be released; NULL: the caller's */
    const char *word, *shape;                /* as in struct hypar_explore_site */
    const struct hypar_explore_value *value; /* by axis */
};

struct explored_machines {
    const char *name; /* of the one that varies */
    int n;
    struct explored_machine *at;
    int n_axes;
    struct hypar_explore_axis *axis;
};

/* One thing to choose: the type of one variable at one level. */
struct cell {
    int level, var;
    int n_nodes, *node; /* of the variable; the first is a weighted layer */
    struct var_types types;
};

/* Cells that belong together: all of one level, or of one layer. */
struct group {
    const char *name;
    int first, n_cells;
    int64_t n_values;
};

/* One machine, and all that was evaluated on it. */
struct site {
    struct hypar_explore_site text;
    struct problem problem;
    struct hypar_search_options search;
    struct step_work work;
    double memory_bytes;            /* of the device that has the least */
    double hops[MAX_LEVELS];        /* what a byte of a level counts in the array's time */
    struct partition_problem plain; /* nothing fixed; ways and shares for every evaluation */
    struct partition dp;            /* data parallel, to compare with */
    struct partition base;          /* the first planner's: what is not explored */
    int n_cells;
    struct cell *cell;
    struct group *group;
    struct hypar_explored *point;
    struct hypar_explore_choice *choice;
    int64_t best; /* point, -1: none */
};

struct hypar_exploration {
    struct arena arena; /* holds everything, the exploration itself included */
    const struct hypar_graph *graph;
    struct hypar_explore_options options;
    struct layered *layered;
    double array_macs; /* of one step, as the array's time counts them */
    int n_planners;
    const struct planner **planner;    /* all divide level by level */
    struct explored_machines machines; /* of the sites */
    int n_sites;
    struct site *site;
    bool interrupted; /* there would have been more of them */
};

/* Words ------------------------------------------------------------------------------- */

/* The items of "a,b,c"; `what` names the list in messages. 0 items if `text` is NULL. */
enum hypar_status hp_explore_list(struct arena *arena, const char *what, const char *text,
                                  char ***items, int *n, struct hypar_error *err);

/* "H3" -> 2. */
enum hypar_status hp_explore_level(const struct site *site, const char *what, const char *word,
                                   int *level, struct hypar_error *err);

/* The weighted layer (its number) of that name. */
enum hypar_status hp_explore_layer(const struct hypar_exploration *e, const char *name,
                                   int *layer, struct hypar_error *err);

/* "0010": one digit for each layer, written into types[node] as their own types. */
enum hypar_status hp_explore_digits(const struct hypar_exploration *e, const char *what,
                                    const char *digits, enum layer_type *types,
                                    struct hypar_error *err);

/* Machines ---------------------------------------------------------------------------- */

/* The lists that machines vary by, as people write them; NULL: none. */
struct machine_lists {
    const char *machine; /* what it is called; NULL: by its word */
    const char *devices, *topologies, *bandwidths;
    const char *const *sweeps; /* "latency=1us,2us" */
    int n_sweeps;
    const struct hypar_machine *const *others; /* as in struct hypar_explore_options */
    const char *const *other_names;
    int n_others;
};

/* `machine` with all values of the lists, or as it is; to be released, also where that fails.
 */
enum hypar_status hp_explore_machines(struct arena *arena, const struct hypar_machine *machine,
                                      const struct machine_lists *lists,
                                      struct explored_machines *all, struct hypar_error *err);

/* Release those from `first` on. */
void hp_explore_machines_free(struct explored_machines *all, int first);

/* The numbers of "16,48" and "1..64", which doubles: from 1 to `most`. */
enum hypar_status hp_explore_counts(struct arena *arena, const char *what, const char *text,
                                    int64_t most, int64_t **counts, int *n,
                                    struct hypar_error *err);

/* Choices ----------------------------------------------------------------------------- */

/* Find out what is explored on a site: cells and groups, and how many choices that makes. */
enum hypar_status hp_explore_cells(struct hypar_exploration *e, struct site *site,
                                   struct hypar_error *err);

/* Evaluate all of them. */
enum hypar_status hp_explore_points(struct hypar_exploration *e, struct site *site,
                                    struct hypar_error *err);

/* The types of point `i` in the explored cells, the rest as in site->base. */
void hp_explore_types(const struct hypar_exploration *e, const struct site *site, int64_t i,
                      enum layer_type *types);

/* What the weighted layers' types cost, [level * n_nodes + node]; joins follow them as is
 * best, and are filled in. */
enum hypar_status hp_explore_evaluate(struct hypar_exploration *e, const struct site *site,
                                      enum layer_type *types, struct hypar_explored *out,
                                      struct hypar_error *err);

/* The step with everything on one device, simulated. */
enum hypar_status hp_explore_one_device(const struct hypar_exploration *e,
                                        const struct site *site, double *step_s,
                                        struct hypar_error *err);

/* Costs of a complete partition, which is laid out by these rules. */
enum hypar_status hp_explore_cost(struct hypar_exploration *e, const struct site *site,
                                  const struct level_rules *rules,
                                  const struct partition *partition, struct hypar_explored *out,
                                  struct hypar_error *err);

/* The digits of all layers and levels, into text[hypar_exploration_text_size()]. */
char *hp_explore_levels_text(const struct hypar_exploration *e, const struct site *site,
                             const enum layer_type *types, char *text);

/* A copy, as reports look at it; of NULL it is NULL. */
const struct hypar_sim_options *hp_keep_simulation(struct arena *arena,
                                                   const struct hypar_sim_options *how);

/* HyPar's array ----------------------------------------------------------------------- */

/* Multiply-adds of one forward pass of the whole batch, a convolution's counted on its input
 * map: what the fitted formula of cost/papers/array.h takes. */
double hp_array_macs(const struct hypar_graph *graph);

/* How far the partners of each level are from each other: the mean number of links between
 * device i and its counterparts in the other sides of its group. Where switches lie between,
 * as in the H-tree, 1: their links are wide enough for all. */
void hp_array_hops(const struct hypar_machine *machine, double *hops);

#endif /* SEARCH_EXPLORE_EXPLORE_H */
