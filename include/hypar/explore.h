/* hypar/explore.h - examining many choices at once, or many batches and machines.
 *
 * Data flow: model -> graph -> SEARCH -> plan -> program -> sim | run -> report
 *
 * HyPar's exploration evaluates every choice of some layers or some levels, one by one, and
 * ranks the planners' own choices among them; also over sizes, topologies and bandwidths of the
 * machine. Layers and levels that are not explored keep the types that the first planner chose.
 *
 * A sweep searches for the plan of each planner, of any kind, for every batch on every machine:
 * which batch, how many devices, which machine, which planner? */
#ifndef HYPAR_EXPLORE_H
#define HYPAR_EXPLORE_H

#include <hypar/search.h>
#include <hypar/tool.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A figure in which machines differ: the machine itself, topology, bandwidth and other options
 * of their words, devices; in this order, the last varying fastest. */
struct hypar_explore_axis {
    const char *name;
    int n_values;
    bool words;  /* values are words; their numbers only count them */
    bool shapes; /* the `shape` of a machine contains it */
    enum hypar_unit unit;
};

/* The value of one machine on such an axis. */
struct hypar_explore_value {
    const char *text; /* as it was asked for */
    double number;
};

/* How the time of a step is computed. */
enum hypar_explore_cost {
    HYPAR_COST_AUTO,   /* paper if the devices (of all machines) are HyPar's accelerators, or if
                          choices of levels or layers are enumerated; else simulated */
    HYPAR_COST_PAPER,  /* array if the devices are HyPar's accelerators, else levels */
    HYPAR_COST_ARRAY,  /* HyPar's evaluation: all bytes one after another, times their hops */
    HYPAR_COST_LEVELS, /* as hypar_search() predicts: the machine's levels in turn */
    HYPAR_COST_SIMULATED, /* by hypar_simulate(), for the plan of each choice */
};

/* Lists are written as on the command line; NULL: none. */
struct hypar_explore_options {
    const char *levels;     /* "H1,H4": every choice of all layers at these levels */
    const char *layers;     /* "conv5_2,fc1": every choice of these layers at all levels */
    const char *fix;        /* "H2=0010,H3=0000": fixed; 0 = dp (I), 1 = mp (II), 2 = III */
    const char *mark;       /* "0011/0010/0000/0011,...": whole choices to be ranked as well */
    const char *devices;    /* "1..64" (doubling), "16,48": sizes in place of the machine's */
    const char *topologies; /* "htree,torus" */
    const char *bandwidths; /* "0.1GB/s,1.6Gb/s", "1GB/s..8GB/s" (doubling): of a link and
                               direction */
    const char *const
        *sweeps; /* "latency=1us,2us": any numeric option of a word; values as for bandwidths;
                    "nvlink.latency=0.5x,2x": of a class of listed links, values or factors */
    int n_sweeps;
    const char *machine; /* its name in reports; NULL: its word */
    /* Further machines, each varied likewise, and their names; they must outlive the result.
     * Without `devices` and `topologies`. */
    const struct hypar_machine *const *others;
    const char *const *other_names;
    int n_others;
    const char *planners; /* the compared planners; the first one fills in; NULL: "hypar,dp" */
    bool joint;           /* also hypar and accpar with all levels at once */
    enum hypar_explore_cost cost;
    const struct hypar_sim_options
        *simulation; /* for HYPAR_COST_SIMULATED; NULL: the defaults */
    enum hypar_objective objective;
    enum hypar_precision precision;
    bool fp32_gradients;     /* of parameters that are shorter */
    double framework_bytes;  /* on each device, not available to the plan */
    double memory_certainty; /* as in struct hypar_search_options */
    enum hypar_optimizer optimizer;
    /* As in a search: the result has the machines that are done by then; HYPAR_INFEASIBLE if
     * none is. */
    const volatile sig_atomic_t *stop;
};

/* The cost model that AUTO or PAPER stands for on a machine. */
HYPAR_API enum hypar_explore_cost
hypar_explore_cost(const struct hypar_explore_options *options,
                   const struct hypar_machine *machine);

struct hypar_exploration; /* opaque; made by hypar_explore() */

enum { HYPAR_MAX_EXPLORED = 1 << 20 }; /* choices, of all machines together */

/* Explore. Sizes, topologies and bandwidths are varied from `machine`. Graph and machine must
 * outlive the result. Fails with the wrong word: HYPAR_USAGE if it cannot be understood,
 * HYPAR_INVALID if it does not fit the model or the machine. */
HYPAR_API enum hypar_status hypar_explore(struct hypar_exploration **out,
                                          const struct hypar_graph *graph,
                                          const struct hypar_machine *machine,
                                          const struct hypar_explore_options *options,
                                          struct hypar_error *err);
HYPAR_API void hypar_exploration_free(struct hypar_exploration *exploration); /* or NULL */

/* The cost of one choice in a step. */
struct hypar_explored {
    double step_s, compute_s, comm_s;
    double comm_bytes; /* the paper's count: both directions, every group of every level */
    double energy_j;
    struct hypar_energy energy; /* its parts, if simulated; else zeros */
    double state_bytes;         /* parameters, gradients, optimizer state of one device */
    double need_bytes;          /* of memory: everything, if simulated; else state_bytes */
    bool fits; /* ... into the memory of the fullest device, or of the smallest */
};

/* An explored machine. */
struct hypar_explore_site {
    const struct hypar_machine *machine;
    const char *word; /* that reads back as this machine, unless it is too long: then `shape` */
    const char *shape; /* "torus:4x4"; NULL: of explicit nodes and links */
    const struct hypar_explore_value *value; /* by axis */
    int n_levels;
    int n_groups;                 /* levels or layers that are explored */
    int64_t n_points;             /* choices enumerated; 0: none */
    int n_choices;                /* named choices: best, planners, marks */
    double bandwidth_bytes_per_s; /* of its slowest link; 0: it has none */
    double one_device_s;          /* a step on one device; of the mean speed if they differ */
    struct hypar_explored dp;     /* data parallel, to compare with */
    bool has_dp; /* else the batch has too few samples, and dp counts fractions of one */
};

/* An exploration as a whole; the exploration owns everything but the graph. */
struct hypar_exploration_info {
    const struct hypar_graph *graph;
    const struct hypar_explore_options
        *options; /* as given; `cost` is resolved: neither AUTO nor PAPER */
    int n_sites;
    int n_axes; /* in which machines differ */
    const struct hypar_explore_axis *axis;
    const char *machine; /* the name of the machine that they vary; "": more than three */
    bool interrupted;    /* it was stopped before all machines were done */
};
HYPAR_API struct hypar_exploration_info
hypar_exploration_info(const struct hypar_exploration *exploration);

/* The following functions return zeros, NULL or "" for an invalid index. */
HYPAR_API struct hypar_explore_site
hypar_exploration_site(const struct hypar_exploration *exploration, int site);

/* A named choice; owned by the exploration. */
struct hypar_explore_choice {
    const char *name;   /* "best", "hypar", "hypar joint", "dp", "marked" */
    const char *levels; /* a digit for each weighted layer, '/' between levels, H1 first */
    struct hypar_explored cost;
    int64_t better;  /* enumerated choices that are strictly better */
    const char *why; /* why the planner has no plan, as in hypar_search(): figures are NAN */
};

HYPAR_API const struct hypar_explore_choice *
hypar_exploration_choice(const struct hypar_exploration *exploration, int site, int i);

/* Enumerated choice `i`. Its levels, written as above, take at most
 * hypar_exploration_text_size() characters including the final 0. */
HYPAR_API const struct hypar_explored *
hypar_exploration_point(const struct hypar_exploration *exploration, int site, int64_t i);
HYPAR_API char *hypar_exploration_levels(const struct hypar_exploration *exploration, int site,
                                         int64_t i, char *text);
HYPAR_API size_t hypar_exploration_text_size(const struct hypar_exploration *exploration,
                                             int site);

/* An explored level or layer: a choice has one value for each, the first counting most. */
struct hypar_explore_group {
    const char *name;
    int64_t n_values;
};
HYPAR_API struct hypar_explore_group
hypar_exploration_group(const struct hypar_exploration *exploration, int site, int group);
HYPAR_API char *hypar_exploration_value(const struct hypar_exploration *exploration, int site,
                                        int group, int64_t value, char *text);

/* The value of the objective: seconds, bytes or joules. */
HYPAR_API double hypar_exploration_merit(const struct hypar_exploration *exploration,
                                         const struct hypar_explored *cost);

/* Batches on machines ------------------------------------------------------------------- */

struct hypar_sweep_options {
    const char *batches; /* "64..4096" (doubling), "64,96"; NULL: one, asked for as 0 */
    const char *devices; /* these as in struct hypar_explore_options */
    const char *topologies;
    const char *bandwidths;
    const char *const *sweeps;
    int n_sweeps;
    const struct hypar_machine *const *others;
    const char *const *other_names;
    int n_others;
    const char *planners; /* "3d,dp": a point for each; NULL: "auto" */
    /* How plans are searched for, simulated and compared (`objective`). `planner` and `model`
     * are ignored, `machine` is the name in reports. `threads` are those of the sweep: each
     * search has one. Once `stop` is set, remaining points are HYPAR_SWEPT_NOT_TRIED;
     * HYPAR_INFEASIBLE if none was done. */
    struct hypar_search_options search;
    /* Called after each point, by any of the threads; or NULL. */
    void (*progress)(void *who, int done, int all);
    void *who;
};

enum hypar_swept {
    HYPAR_SWEPT_FITS,
    HYPAR_SWEPT_TOO_LARGE, /* the plan needs more memory than there is */
    HYPAR_SWEPT_NO_PLAN,   /* `why` says the reason */
    HYPAR_SWEPT_NOT_TRIED, /* there was no time */
};

/* One batch on one machine, by one planner. */
struct hypar_sweep_point {
    int64_t batch;
    const char *asked; /* the planner that was asked */
    const struct hypar_machine *machine;
    const char *word, *shape; /* as in struct hypar_explore_site */
    const struct hypar_explore_value *value;
    int devices;
    enum hypar_swept verdict;
    /* Of the plan, where there is one: */
    const char *planner; /* whose plan it is: `asked`, or a planner that `asked` called */
    int data, tensor;    /* parts by samples, and otherwise, of each layer with weights; 0 if
                            layers differ */
    int pipeline;        /* groups of devices on which stages lie */
    int64_t micro_batches;
    int recomputed;         /* recomputed operators */
    enum hypar_shard shard; /* the largest kind of any operator */
    bool simulated; /* else the step is extrapolated from a part, or in closed form, because
                       simulating takes too long */
    double step_s, samples_per_s, mfu;
    /* Of a step: each byte counts once; INFINITY: unknown, if the planner has no closed form,
     * or operations are unknown. */
    double comm_bytes, energy_j;
    bool counted; /* both are sums over all tasks, even if the step is extrapolated; else they
                     are in closed form */
    struct hypar_energy energy;       /* the parts of energy_j, if counted */
    double memory_bytes, limit_bytes; /* of the fullest device; 0: not known */
    bool best; /* of all points that fit: the most samples a second (for several machines in
                  all, for sizes of one machine per device), or the least bytes or energy per
                  sample, by the objective */
    struct hypar_error why;
    bool interrupted; /* the search was stopped: the best plan until then */
};

struct hypar_sweep; /* opaque */

enum { HYPAR_MAX_SWEPT = 4096 }; /* points */

/* Search for each planner's plan for every batch of a model on every machine. Sizes, topologies
 * and bandwidths are varied from `machine`, which must outlive the result. Fails with the wrong
 * word: HYPAR_USAGE if it cannot be understood, HYPAR_INVALID if it does not fit the machine;
 * or as batches->graph(). */
HYPAR_API enum hypar_status hypar_sweep(struct hypar_sweep **out,
                                        const struct hypar_batches *batches,
                                        const struct hypar_machine *machine,
                                        const struct hypar_sweep_options *options,
                                        struct hypar_error *err);
HYPAR_API void hypar_sweep_free(struct hypar_sweep *sweep); /* or NULL */

/* A sweep as a whole; the sweep owns everything. */
struct hypar_sweep_info {
    const struct hypar_graph *graph; /* the model, with the first batch */
    const struct hypar_sweep_options *options;
    int n_points, n_done; /* all points; those that were done */
    int n_axes;           /* in which machines differ */
    const struct hypar_explore_axis *axis;
    const char *machine; /* the name of the machine that they vary; "": more than three */
};
HYPAR_API struct hypar_sweep_info hypar_sweep_info(const struct hypar_sweep *sweep);

/* Point `i`: machine by machine, the batches of each in the order of the list, the planners of
 * each batch in the order of theirs. NULL past the last. */
HYPAR_API const struct hypar_sweep_point *hypar_sweep_point(const struct hypar_sweep *sweep,
                                                            int i);

#ifdef __cplusplus
}
#endif

#endif /* HYPAR_EXPLORE_H */
