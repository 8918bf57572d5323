/* search/explore/explore.h - the contents of an exploration. Internal. */
#ifndef SEARCH_EXPLORE_EXPLORE_H
#define SEARCH_EXPLORE_EXPLORE_H

#include <hypar/explore.h>

#include "search/levels/levels.h"
#include "search/predict.h"

enum { MAX_SITES = 1024 };

/* One of the explored machines. */
struct explored_machine {
    const struct hypar_machine *machine;
    struct hypar_machine *own;               /* freed with the exploration; NULL: the caller
                                              * owns the machine */
    const char *word, *shape;                /* as in struct hypar_explore_site */
    const struct hypar_explore_value *value; /* by axis */
};

struct explored_machines {
    const char *name; /* of the machine that varies */
    int n;
    struct explored_machine *at;
    int n_axes;
    struct hypar_explore_axis *axis;
};

/* One choice to make: the type of one variable at one level. */
struct cell {
    int level, var;
    int n_nodes, *node; /* nodes of the variable; the first is a weighted layer */
    struct var_types types;
};

/* Cells that are enumerated together: all cells of one level, or of one layer. */
struct group {
    const char *name;
    int first, n_cells;
    int64_t n_values;
};

/* One machine, and all choices evaluated on it. */
struct site {
    struct hypar_explore_site text;
    struct problem problem;
    struct hypar_search_options search;
    struct step_work work;
    double memory_bytes;            /* of the device with the least memory */
    double hops[MAX_LEVELS];        /* weight of a level's bytes in the array's time */
    struct partition_problem plain; /* nothing fixed; gives ways and shares for every
                                     * evaluation */
    struct partition dp;            /* data parallel, for comparison */
    struct partition base;          /* the first planner's partition: types of the cells that
                                     * are not explored */
    int n_cells;
    struct cell *cell;
    struct group *group;
    struct hypar_explored *point;
    struct hypar_explore_choice *choice;
    int64_t best; /* point, -1: none */
};

struct hypar_exploration {
    struct arena arena; /* owns all memory, including this struct */
    const struct hypar_graph *graph;
    struct hypar_explore_options options;
    struct layered *layered;
    double array_macs; /* multiply-adds of one step, as the array's time counts them */
    int n_planners;
    const struct planner **planner;    /* each divides level by level */
    struct explored_machines machines; /* one for each site */
    int n_sites;
    struct site *site;
    bool interrupted; /* the exploration was stopped before the last site */
};

/* Words ------------------------------------------------------------------------------- */

/* The items of "a,b,c"; `what` names the list in messages. 0 items if `text` is NULL. */
enum hypar_status hp_explore_list(struct arena *arena, const char *what, const char *text,
                                  char ***items, int *n, struct hypar_error *err);

/* "H3" -> 2. */
enum hypar_status hp_explore_level(const struct site *site, const char *what, const char *word,
                                   int *level, struct hypar_error *err);

/* The number of the weighted layer with this name. */
enum hypar_status hp_explore_layer(const struct hypar_exploration *e, const char *name,
                                   int *layer, struct hypar_error *err);

/* Read "0010": one digit for each layer. Writes the layers' own types to types[node]. */
enum hypar_status hp_explore_digits(const struct hypar_exploration *e, const char *what,
                                    const char *digits, enum layer_type *types,
                                    struct hypar_error *err);

/* Machines ---------------------------------------------------------------------------- */

/* The lists that machines vary by, as text; NULL: none. */
struct machine_lists {
    const char *machine; /* name of the machine; NULL: its word */
    const char *devices, *topologies, *bandwidths;
    const char *const *sweeps; /* "latency=1us,2us" */
    int n_sweeps;
    const struct hypar_machine *const *others; /* as in struct hypar_explore_options */
    const char *const *other_names;
    int n_others;
};

/* Make `machine` with all combinations of the lists' values, or unchanged. The caller frees
 * `all`, also after a failure. */
enum hypar_status hp_explore_machines(struct arena *arena, const struct hypar_machine *machine,
                                      const struct machine_lists *lists,
                                      struct explored_machines *all, struct hypar_error *err);

/* Free the machines from `first` on. */
void hp_explore_machines_free(struct explored_machines *all, int first);

/* Read the numbers of "16,48" and "1..64" (a range doubles): each from 1 to `most`. */
enum hypar_status hp_explore_counts(struct arena *arena, const char *what, const char *text,
                                    int64_t most, int64_t **counts, int *n,
                                    struct hypar_error *err);

/* Choices ----------------------------------------------------------------------------- */

/* Find the explored cells and groups of a site, and the number of their combinations. */
enum hypar_status hp_explore_cells(struct hypar_exploration *e, struct site *site,
                                   struct hypar_error *err);

/* Evaluate all combinations. */
enum hypar_status hp_explore_points(struct hypar_exploration *e, struct site *site,
                                    struct hypar_error *err);

/* The types of point `i` in the explored cells; other cells have the types of site->base. */
void hp_explore_types(const struct hypar_exploration *e, const struct site *site, int64_t i,
                      enum layer_type *types);

/* Evaluate the weighted layers' types, [level * n_nodes + node]. The best types of joins are
 * chosen and filled in. */
enum hypar_status hp_explore_evaluate(struct hypar_exploration *e, const struct site *site,
                                      enum layer_type *types, struct hypar_explored *out,
                                      struct hypar_error *err);

/* The simulated step of the whole graph on one device. */
enum hypar_status hp_explore_one_device(const struct hypar_exploration *e,
                                        const struct site *site, double *step_s,
                                        struct hypar_error *err);

/* The costs of a complete partition; the rules say which types its plan uses. */
enum hypar_status hp_explore_cost(struct hypar_exploration *e, const struct site *site,
                                  const struct level_rules *rules,
                                  const struct partition *partition, struct hypar_explored *out,
                                  struct hypar_error *err);

/* Write the digits of all layers and levels to text[hypar_exploration_text_size()]. */
char *hp_explore_levels_text(const struct hypar_exploration *e, const struct site *site,
                             const enum layer_type *types, char *text);

/* A copy of the options for reports; NULL for NULL. */
const struct hypar_sim_options *hp_keep_simulation(struct arena *arena,
                                                   const struct hypar_sim_options *how);

/* HyPar's array ----------------------------------------------------------------------- */

/* Multiply-adds of one forward pass of the whole batch, as the fitted formula of
 * cost/papers/array.h takes them: a convolution's are counted on its input map. */
double hp_array_macs(const struct hypar_graph *graph);

/* The distance between the partners of each level: the mean number of links between device i
 * and its counterparts in the other sides of its group. If switches are between them, as in the
 * H-tree, the distance is 1: the switches' links are wide enough for all. */
void hp_array_hops(const struct hypar_machine *machine, double *hops);

#endif /* SEARCH_EXPLORE_EXPLORE_H */
