/* hypar/explore.h - looking at many choices at once, or at many batches and machines.
 *
 * In the way of the data: model -> graph -> SEARCH -> plan -> program -> sim | run -> report
 *
 * HyPar's exploration: every choice of some layers or some levels, evaluated one by one, and
 * how the planners' own choices rank among them; the same over sizes, topologies and bandwidths
 * of the machine. What is not explored stays as the first planner has it.
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

/* Something that machines differ in: the machine itself, topology, bandwidth and other options
 * of their words, devices; in this order, the last varying fastest. */
struct hypar_explore_axis {
    const char *name;
    int n_values;
    bool words;  /* values are words: their numbers only count them */
    bool shapes; /* `shape` of a machine tells it */
    enum hypar_unit unit;
};

/* What one machine has there. */
struct hypar_explore_value {
    const char *text; /* as it was asked for */
    double number;
};

/* Where the time of a step comes from. */
enum hypar_explore_cost {
    HYPAR_COST_AUTO,   /* paper where the devices (of all machines) are HyPar's accelerators, or
                          where choices of levels or layers are enumerated; else simulated */
    HYPAR_COST_PAPER,  /* array where the devices are HyPar's accelerators, else levels */
    HYPAR_COST_ARRAY,  /* HyPar's evaluation: all bytes one after another, times their hops */
    HYPAR_COST_LEVELS, /* as hypar_search() predicts: the machine's levels in turn */
    HYPAR_COST_SIMULATED, /* as hypar_simulate() has the plan of each choice */
};

/* The lists are as people write them; NULL: none. */
struct hypar_explore_options {
    const char *levels;     /* "H1,H4": every choice of all layers at these levels */
    const char *layers;     /* "conv5_2,fc1": every choice of these layers at all levels */
    const char *fix;        /* "H2=0010,H3=0000": stays so; 0 = dp (I), 1 = mp (II), 2 = III */
    const char *mark;       /* "0011/0010/0000/0011,...": whole choices to be ranked too */
    const char *devices;    /* "1..64" (doubling), "16,48": sizes in place of the machine's */
    const char *topologies; /* "htree,torus" */
    const char *bandwidths; /* "0.1GB/s,1.6Gb/s", "1GB/s..8GB/s" (doubling): of a link and
                               direction */
    const char *const *sweeps; /* "latency=1us,2us": any option of a word that is a number;
                                  values as of bandwidths; "nvlink.latency=0.5x,2x": of a
                                  class of listed links, values or factors */
    int n_sweeps;
    const char *machine; /* what it is called in reports; NULL: by its word */
    /* Machines that are told beside it, each varied likewise, and what they are called; they
     * must outlive the result. Then there are no `devices` and `topologies`. */
    const struct hypar_machine *const *others;
    const char *const *other_names;
    int n_others;
    const char *planners; /* what is compared, the first fills in; NULL: "hypar,dp" */
    bool joint;           /* hypar and accpar with all levels at once, too */
    enum hypar_explore_cost cost;
    const struct hypar_sim_options *simulation; /* HYPAR_COST_SIMULATED: how; NULL: plainly */
    enum hypar_objective objective;
    enum hypar_precision precision;
    bool fp32_gradients;    /* of parameters that are shorter */
    double framework_bytes; /* that are not there for the plan, on each device */
    enum hypar_optimizer optimizer;
    /* As for a search: machines that were done by then are what there is, HYPAR_INFEASIBLE if
     * none was. */
    const volatile sig_atomic_t *stop;
};

/* Where time comes from on that machine: what AUTO and PAPER mean there. */
HYPAR_API enum hypar_explore_cost
hypar_explore_cost(const struct hypar_explore_options *options,
                   const struct hypar_machine *machine);

struct hypar_exploration; /* opaque; made by hypar_explore() */

enum { HYPAR_MAX_EXPLORED = 1 << 20 }; /* choices, of all machines together */

/* Evaluate. `machine` is the one that sizes, topologies and bandwidths vary. Graph and machine
 * must outlive the result. Fails with the word that is wrong: HYPAR_USAGE if it cannot be
 * understood, HYPAR_INVALID if it does not fit the model or the machine. */
HYPAR_API enum hypar_status hypar_explore(struct hypar_exploration **out,
                                          const struct hypar_graph *graph,
                                          const struct hypar_machine *machine,
                                          const struct hypar_explore_options *options,
                                          struct hypar_error *err);
HYPAR_API void hypar_exploration_free(struct hypar_exploration *exploration); /* or NULL */

/* What one choice costs in a step. */
struct hypar_explored {
    double step_s, compute_s, comm_s;
    double comm_bytes; /* the paper's count: both directions, every group of every level */
    double energy_j;
    struct hypar_energy energy; /* what that is made of, if simulated; else zeros */
    double state_bytes;         /* parameters, gradients, optimizer state of one device */
    double need_bytes; /* of memory: all that is held, if simulated, else state_bytes */
    bool fits;         /* ... into that of the fullest device, or of the smallest */
};

/* One machine of the exploration. */
struct hypar_explore_site {
    const struct hypar_machine *machine;
    const char *word;  /* that reads back as it, if not too long: then as `shape` */
    const char *shape; /* "torus:4x4"; NULL: of explicit nodes and links */
    const struct hypar_explore_value *value; /* by axis */
    int n_levels;
    int n_groups;                 /* levels or layers that are explored */
    int64_t n_points;             /* choices enumerated; 0: none */
    int n_choices;                /* choices with a name: best, planners, marks */
    double bandwidth_bytes_per_s; /* of its slowest link; 0: it has none */
    double one_device_s;          /* a step on one device; of the mean speed if they differ */
    struct hypar_explored dp;     /* data parallel, to compare with */
    bool has_dp; /* else the batch has too few samples for that, and dp counts parts of one */
};

/* What follows gives zeros, NULL or "" where an index is none. */
HYPAR_API int hypar_exploration_site_count(const struct hypar_exploration *exploration);
HYPAR_API struct hypar_explore_site
hypar_exploration_site(const struct hypar_exploration *exploration, int site);

/* What they differ in; and what the machine is called that they are variants of ("": more than
 * three). */
HYPAR_API const struct hypar_explore_axis *
hypar_exploration_axes(const struct hypar_exploration *exploration, int *n);
HYPAR_API const char *hypar_exploration_machine(const struct hypar_exploration *exploration);

/* Was it stopped before all machines were done? */
HYPAR_API bool hypar_exploration_interrupted(const struct hypar_exploration *exploration);

/* A choice with a name; owned by the exploration. */
struct hypar_explore_choice {
    const char *name;   /* "best", "hypar", "hypar joint", "dp", "marked" */
    const char *levels; /* a digit for each weighted layer, '/' between levels, H1 first */
    struct hypar_explored cost;
    int64_t better;  /* enumerated choices that are strictly better */
    const char *why; /* the planner has no plan, as hypar_search() says it: figures are NAN */
};

HYPAR_API const struct hypar_explore_choice *
hypar_exploration_choice(const struct hypar_exploration *exploration, int site, int i);

/* Enumerated choice `i`. Its levels, written as above, are at most
 * hypar_exploration_text_size() characters with the final 0. */
HYPAR_API const struct hypar_explored *
hypar_exploration_point(const struct hypar_exploration *exploration, int site, int64_t i);
HYPAR_API char *hypar_exploration_levels(const struct hypar_exploration *exploration, int site,
                                         int64_t i, char *text);
HYPAR_API size_t hypar_exploration_text_size(const struct hypar_exploration *exploration,
                                             int site);

/* A level or layer that is explored: a choice is one value of each, the first counting most. */
struct hypar_explore_group {
    const char *name;
    int64_t n_values;
};
HYPAR_API struct hypar_explore_group
hypar_exploration_group(const struct hypar_exploration *exploration, int site, int group);
HYPAR_API char *hypar_exploration_value(const struct hypar_exploration *exploration, int site,
                                        int group, int64_t value, char *text);

/* The graph and the options; cost is resolved: neither AUTO nor PAPER. */
HYPAR_API const struct hypar_graph *
hypar_exploration_graph(const struct hypar_exploration *exploration);
HYPAR_API struct hypar_explore_options
hypar_exploration_options(const struct hypar_exploration *exploration);

/* What the objective looks at: seconds, bytes or joules. */
HYPAR_API double hypar_exploration_merit(const struct hypar_exploration *exploration,
                                         const struct hypar_explored *cost);

/* Batches on machines ------------------------------------------------------------------- */

struct hypar_sweep_options {
    const char *batches;       /* "64..4096" (doubling), "64,96"; NULL: one, asked for as 0 */
    const char *devices;       /* these three as in struct hypar_explore_options */
    const char *topologies;    /* ... */
    const char *bandwidths;    /* ... */
    const char *const *sweeps; /* ... */
    int n_sweeps;
    const struct hypar_machine *const *others; /* ... */
    const char *const *other_names;
    int n_others;
    const char *planners; /* "3d,dp": a point for each; NULL: "auto" */
    /* How plans are searched for, simulated and compared (`objective`); `planner` and `model`
     * are not looked at, `machine` is what it is called in reports. `threads` are those of the
     * sweep: each search has one. Once `stop` is set, points that are not done are
     * HYPAR_SWEPT_NOT_TRIED; HYPAR_INFEASIBLE if none was done. */
    struct hypar_search_options search;
    /* Told after each point, by any of the threads; or NULL. */
    void (*progress)(void *who, int done, int all);
    void *who;
};

enum hypar_swept {
    HYPAR_SWEPT_FITS,
    HYPAR_SWEPT_TOO_LARGE, /* the plan that there is needs more memory than there is */
    HYPAR_SWEPT_NO_PLAN,   /* `why` tells */
    HYPAR_SWEPT_NOT_TRIED, /* there was no time for it */
};

/* One batch on one machine, by one planner. */
struct hypar_sweep_point {
    int64_t batch;
    const char *asked; /* the planner that was asked for the plan */
    const struct hypar_machine *machine;
    const char *word, *shape; /* these three as in struct hypar_explore_site */
    const struct hypar_explore_value *value;
    int devices;
    enum hypar_swept verdict;
    /* Of the plan, where there is one: */
    const char *planner; /* whose plan it is: of `asked`, or one that `asked` asked in turn */
    int data, tensor; /* parts by samples and otherwise of each layer that has weights; 0 where
                         layers differ */
    int pipeline;     /* groups of devices that stages lie on */
    int64_t micro_batches;
    int recomputed;         /* operators that are computed again in the backward pass */
    enum hypar_shard shard; /* the most that any operator shards */
    bool simulated;         /* else the step is that of a part, extrapolated, or in closed form:
                               simulating takes long */
    double step_s, samples_per_s, mfu;
    /* Of a step: each byte sent once; INFINITY: not known, where the planner has no closed form
     * of it, or operations are not. */
    double comm_bytes, energy_j;
    bool counted; /* both are sums over all tasks, also where the step is extrapolated; else
                     they are in closed form */
    struct hypar_energy energy;       /* what energy_j is made of, if counted */
    double memory_bytes, limit_bytes; /* of the fullest device; 0: not known */
    bool best; /* of all points that fit: the most samples a second (of several machines in all,
                  of sizes of one machine for a device), or the least bytes or energy a sample,
                  as the objective has it */
    struct hypar_error why;
    bool interrupted; /* the search was stopped: the best plan by then */
};

struct hypar_sweep; /* opaque */

enum { HYPAR_MAX_SWEPT = 4096 }; /* points */

/* Search for each planner's plan for every batch of a model on every machine. `machine` is the
 * one that sizes, topologies and bandwidths vary, and must outlive the result. Fails with the
 * word that is wrong: HYPAR_USAGE if it cannot be understood, HYPAR_INVALID if it does not fit
 * the machine; or as batches->graph() does. */
HYPAR_API enum hypar_status hypar_sweep(struct hypar_sweep **out,
                                        const struct hypar_batches *batches,
                                        const struct hypar_machine *machine,
                                        const struct hypar_sweep_options *options,
                                        struct hypar_error *err);
HYPAR_API void hypar_sweep_free(struct hypar_sweep *sweep); /* or NULL */

/* Its points: machine by machine, the batches of each in the order of the list, the planners of
 * each batch in the order of theirs. */
HYPAR_API int hypar_sweep_count(const struct hypar_sweep *sweep);
HYPAR_API const struct hypar_sweep_point *hypar_sweep_point(const struct hypar_sweep *sweep,
                                                            int i);

/* What their machines differ in; and what the machine is called that they are variants of ("":
 * more than three). */
HYPAR_API const struct hypar_explore_axis *hypar_sweep_axes(const struct hypar_sweep *sweep,
                                                            int *n);
HYPAR_API const char *hypar_sweep_machine(const struct hypar_sweep *sweep);

/* How many of them were done. */
HYPAR_API int hypar_sweep_done(const struct hypar_sweep *sweep);

/* The model, with the first of the batches; and the options. */
HYPAR_API const struct hypar_graph *hypar_sweep_graph(const struct hypar_sweep *sweep);
HYPAR_API struct hypar_sweep_options hypar_sweep_options(const struct hypar_sweep *sweep);

#ifdef __cplusplus
}
#endif

#endif /* HYPAR_EXPLORE_H */
