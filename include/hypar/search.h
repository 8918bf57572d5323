/* hypar/search.h - finding a plan.
 *
 * In the way of the data: model -> graph -> SEARCH -> plan -> program -> sim | run -> report
 *
 * A planner is a row of one table; `auto` tries the others, simulates their plans and keeps the
 * best. */
#ifndef HYPAR_SEARCH_H
#define HYPAR_SEARCH_H

#include <hypar/plan.h>
#include <hypar/profile.h>
#include <hypar/sim.h>
#include <signal.h>

#ifdef __cplusplus
extern "C" {
#endif

/* What a plan is judged by. */
enum hypar_objective { HYPAR_TIME, HYPAR_COMM, HYPAR_ENERGY };

/* The formulas by which `pipedream` cuts: those of the published optimizer, or the paper's. */
enum hypar_recurrence { HYPAR_RECURRENCE_CODE, HYPAR_RECURRENCE_PAPER };

/* How optcnn's cost model counts: with collectives, as steps are simulated and run (gradients
 * by all-reduce, a node gets what its devices read once), or as its paper's runtime did it
 * (parameter servers, every device for itself). */
enum hypar_sync { HYPAR_SYNC_ALL_REDUCE, HYPAR_SYNC_SERVER };

/* How far a long search is. */
struct hypar_search_progress {
    double best_s; /* the step of the best plan so far, which may turn out not to fit;
                    * pipedream: of all minibatches that are simulated, the mean */
    int64_t proposals, accepted;
    double seconds;
};

/* Planners that auto tried and that have no plan that fits, and why. */
enum { HYPAR_MAX_REFUSALS = 64 }; /* more than there are planners, with one's own */
struct hypar_refusals {
    int n;
    struct {
        const char *planner; /* static */
        struct hypar_error why;
    } by[HYPAR_MAX_REFUSALS];
};

struct hypar_search_options {
    const char *planner; /* NULL: "auto" */
    const char
        *model; /* what hypar_import() took, to be written into the plan; NULL: its name */
    const char *machine; /* what hypar_machine_read() took; NULL: written out as an object */
    bool joint;          /* hypar, accpar: all levels at once instead of from the top */
    const char
        *target; /* plans that this framework can run (hypar/emit.h): "torch"; NULL: any */
    double memory_bytes; /* limit per device; 0: the device's own */
    bool unlimited;      /* plans may need more than that; how full devices would be is told by
                            it all the same */
    enum hypar_objective objective; /* auto: what the best is best at */
    bool objective_given;           /* though it may be what it is by default */
    enum hypar_precision precision;
    bool fp32_gradients;    /* of parameters that are shorter; else of their precision */
    enum hypar_masks masks; /* of dropouts */
    double framework_bytes; /* that are not there for the plan, on each device */
    enum hypar_optimizer optimizer;
    double clip; /* gradients have at most this norm, all together; 0: any */
    enum hypar_recompute recompute;
    bool recompute_given; /* also where it is none; else planners that can may choose */
    /* What devices that have the same of a parameter divide among them, and among how many of
     * them (0: all). Planners do not look at it: memory is checked when it has been divided. */
    enum hypar_shard shard;
    bool shard_given; /* as recompute_given */
    int shard_over;
    int64_t seed;
    /* Simulate what is found so, and in the search of flexflow and exhaustive; NULL: only auto
     * and those two simulate, as is the default. Must outlive the call. */
    const struct hypar_sim_options *simulation;
    /* pipedream: */
    enum hypar_recurrence recurrence;
    bool recurrence_given;
    bool straight;       /* every stage on one device */
    bool use_fewer;      /* devices may be left over */
    bool free_transfers; /* between stages cost nothing */
    bool vertical_sync;  /* a minibatch has one version of the weights in all stages */
    /* gpipe, 1f1b, zb-h1, zb-h2; 0: chosen. Plans without stages have so many micro-batches,
     * one after another; 0: one */
    int64_t stages, micro_batches;
    /* 3d (hybrid: schedule, sequence_parallel): members that are 0 are chosen; where all
     * degrees are given the schedule is 1f1b, chunks 1 by default */
    struct hypar_layout layout;
    /* 3d, hybrid: parts of a layer, groups of devices that stages lie on, at most; 0: any. Of
     * these planners of pipelines take max_pipeline. */
    int max_tensor, max_pipeline;
    enum hypar_sync sync; /* optcnn */
    bool sync_given;
    const char *axes;                    /* optcnn: what may be divided, of "nkhwtc"; NULL:
                                            "nkhw" */
    const struct hypar_profile *profile; /* optcnn: measured times; may be NULL */
    /* "OP:n=2,k=2": this operator is split so, over devices 0, 1, 2, ... of its stage, or of
     * all where there are no stages; "OP:unsplit" not at all. flexflow, exhaustive, hybrid; the
     * others refuse. */
    const char *const *fix;
    int n_fix;
    /* "NAME=VALUE" each: for a planner of one's own, which alone knows what they mean
     * (hypar_planner_option()). */
    const char *const *planner_option;
    int n_planner_options;
    /* flexflow: */
    const struct hypar_plan *start; /* to be improved, of this graph and machine; may be NULL.
                                     * What is found has the settings above, not its own */
    int64_t proposals;              /* so many; 0: until it finds no more */
    /* No more proposals after that; 0: never. The number made repeats it. auto asks no planner
     * after that, if it has a plan; `stop` ends the one that is under way. */
    double budget_s;
    int threads; /* at most; 0: as there are cores. The plan does not depend on it */
    void (*progress)(void *who, const struct hypar_search_progress *progress); /* or NULL */
    void *who;
    struct hypar_refusals *refusals; /* auto: filled, also where the search fails; or NULL */
    /* Not NULL: where it becomes other than 0, as a signal handler may set it, the search ends
     * soon with the best plan so far; HYPAR_INFEASIBLE if it has none yet. */
    const volatile sig_atomic_t *stop;
};

/* Not every planner takes every option: one that is given and that none of these planners takes
 * is HYPAR_USAGE, with those that do. hypar_search() does so for its planner; auto tries only
 * planners that take all that is given. */
HYPAR_API enum hypar_status hypar_check_options(const struct hypar_search_options *options,
                                                const char *const *planner, int n,
                                                struct hypar_error *err);

/* Keep the options that this planner takes, for it to be laid beside others. */
HYPAR_API void hypar_keep_options(struct hypar_search_options *options, const char *planner);

struct hypar_found; /* opaque; a plan, and what is known about it */

/* Search. Graph and machine must outlive the result. HYPAR_INVALID for an option that is no
 * number, below 0 or none of its enum. HYPAR_INFEASIBLE if there is no plan whose
 * weights, gradients and optimizer state fit, HYPAR_USAGE for an unknown planner; then *out is
 * NULL. Whether activations fit as well, only the simulated step tells
 * (hypar_found_simulated()); auto keeps to plans that do, and if there is none gives the one
 * that needs least, if it is simulated, and is HYPAR_INFEASIBLE otherwise. */
HYPAR_API enum hypar_status hypar_search(struct hypar_found **out,
                                         const struct hypar_graph *graph,
                                         const struct hypar_machine *machine,
                                         const struct hypar_search_options *options,
                                         struct hypar_error *err);
HYPAR_API void hypar_found_free(struct hypar_found *found); /* the plan too; NULL is allowed */

enum { HYPAR_MAX_BATCH = 1000000000 };

/* A model with any number of samples. */
struct hypar_batches {
    /* Make the graph of so many, to be released with hypar_graph_free(). */
    enum hypar_status (*graph)(void *who, int64_t batch, struct hypar_graph **out,
                               struct hypar_error *err);
    void (*tried)(void *who, int64_t batch, bool fits); /* told of every search; or NULL */
    void *who;                                          /* handed to both */
};

/* Search for the largest batch of which a plan fits, its activations included, as simulated or
 * else as its program counts them. It is a multiple of the number of devices and of
 * micro-batches, of which there is one unless options->micro_batches says otherwise, as with
 * more and more of them nearly any batch fits; it is less than the number of devices where so
 * many samples do not fit. What fits is taken to fit with fewer samples, too. *graph is to be
 * released after *out. HYPAR_INFEASIBLE if not even one sample fits. */
HYPAR_API enum hypar_status hypar_search_largest(struct hypar_found **out,
                                                 struct hypar_graph **graph,
                                                 const struct hypar_machine *machine,
                                                 const struct hypar_search_options *options,
                                                 const struct hypar_batches *batches,
                                                 struct hypar_error *err);

/* Owned by `found`. */
HYPAR_API const struct hypar_plan *hypar_found_plan(const struct hypar_found *found);

/* One training step as the closed-form model sees it: every device computes its share at its
 * device's speed, the levels of the machine exchange one after the other, nothing overlaps.
 * Of pipedream the slowest of stages and transfers; comm_s is by how much that is longer than
 * the busiest stage computes.
 * flexflow and exhaustive have no such model: it is the simulated step then. */
struct hypar_prediction {
    bool simulated;
    double step_s, compute_s, comm_s;
    double samples_per_s;
    double mfu; /* model-FLOP utilisation: 3 forward passes of multiply-adds over the peak (of
                   what is not trained, one) */
    double comm_bytes; /* the paper's count: both directions, every group of every level */
    double energy_j;
    double state_bytes; /* parameters, gradients and optimizer state of the fullest device */
};
HYPAR_API struct hypar_prediction hypar_found_prediction(const struct hypar_found *found);

/* The step as it is simulated. */
struct hypar_simulated {
    struct hypar_sim_summary step; /* `fits` is by the limit that was asked for */
    double compute_s, comm_s;      /* of the device that computes (communicates) longest */
    struct hypar_memory fullest;   /* of step.fullest_device */
    const struct hypar_sim_stage *stage; /* of a pipeline, each of its stages; else NULL */
};

/* ... of any step, but for its stages; `limit_bytes` as hypar_fullest_memory() has it. */
HYPAR_API void hypar_sum_up(const struct hypar_sim *sim, double limit_bytes,
                            struct hypar_simulated *out);

/* NULL if it was not: hypar_search_info.not_simulated says why. Owned by `found`. */
HYPAR_API const struct hypar_simulated *hypar_found_simulated(const struct hypar_found *found);

/* A step that no plan of the model on the machine is faster than, as steps are simulated,
 * whatever is chosen: stages, splits, micro-batches, schedule, recomputation, sharding,
 * devices. Not for pipedream, whose steps overlap. */
struct hypar_bound {
    double step_s;       /* 0: not known */
    const char *by;      /* what takes as long, in a few words; static */
    double work_s;       /* products, what else touches memory, and updates, on all devices */
    double arithmetic_s; /* of that, of the products; ... */
    double traffic_s;    /* ... what is read and written, at the memories' bandwidth */
    double way_s;        /* of a part of any sample to the loss and back */
};

/* A step simulated on one device of each kind, with the first micro-batches, and extrapolated
 * to all: of plans that would take long as a whole. */
struct hypar_part {
    double step_s;            /* 0: it was not simulated so */
    double error_s;           /* it may be off by about this */
    int devices, all_devices; /* that were simulated; that do something */
    int64_t micro_batches;    /* that were simulated */
    int fullest_device;
    double need_bytes, has_bytes; /* of it, without the framework */
    /* Of all devices and micro-batches, as in struct hypar_sim_summary: */
    double comm_bytes, link_bytes;
    struct hypar_energy energy;
};

/* How hypar_search_largest() came to its batch. */
struct hypar_largest {
    int64_t batch;                /* 0: it was not looked for */
    int64_t micro_batches;        /* that it is cut into */
    int64_t beyond;               /* the next one, which does not fit; 0: none is as large */
    double need_bytes, has_bytes; /* ... on its fullest device; 0: `why` tells */
    struct hypar_error why;       /* ... where it has no plan at all */
    int tried;                    /* batches that were searched for */
};

/* What was searched. */
struct hypar_search_info {
    const char *planner;  /* that made the plan: for auto, the one that won */
    const char *made_for; /* auto: what it was made for, where that is not all of the machine as
                             it is: "the first 16 of 32 devices", "links half as fast"; else
                             NULL */
    const char *target;   /* that can run it, as asked: "torch"; NULL: nobody asked */
    double seconds;       /* auto: simulating included */
    double processor_s;   /* ... of all threads of the process; also of searches beside this one
                           */
    int64_t evaluated;    /* states weighed; -1: a planner of one's own that reports nothing */
    bool chooses;         /* it weighed choices; dp, mp and owt have none to speak of */
    bool interrupted;     /* `stop` ended it, or was set when it ended */
    bool exact;           /* no other choice costs less in the planner's own model */
    double lower_bound_elements; /* of the exchange over all choices; 0: not known */
    double lower_bound_s; /* of the planner's own cost over all it may choose; 0: not known */
    struct hypar_bound bound; /* of the simulated step over all plans */
    const char *restricted;   /* auto: options that not all planners take, which left those that
                                 do; NULL: none was given */
    const char
        *refused;   /* auto: planners without a plan that fits, and why; "" or NULL: none */
    int n_left_out; /* ... one by one */
    const struct hypar_left_out *left_out;
    int n_others; /* auto: plans that fit, too, the best first; owned by what was found */
    const struct hypar_other *other;
    enum hypar_objective objective; /* ... at which they are less good */
    const char *not_simulated;      /* why; NULL: it was, or nobody asked for it */
    struct hypar_part part;      /* what was simulated instead; its step is the prediction's */
    int64_t proposals, accepted; /* flexflow; of one's own planner, as it last reported */
    /* flexflow: */
    int chains;
    double beta; /* a step longer by a part x of the first is accepted with exp(-beta x) */
    const char *start; /* the fastest of the plans that it began with, NULL: it has none ... */
    double start_s;    /* ... and its step */
    struct hypar_largest largest;
};
HYPAR_API struct hypar_search_info hypar_found_info(const struct hypar_found *found);

/* HyPar's view of the plan: a type for every weighted layer at every level (0 = dp, type I;
 * 1 = mp, type II; 2 = type III), and the elements exchanged between two sides of a group. */
struct hypar_partition_view {
    int n_levels, n_layers;
    const int *ways;          /* of each level, H1 first */
    const char *const *level; /* n_layers digits each */
    const int *layer_op;      /* the operator of each layer */
    const double *level_elements;
    double total_elements, total_bytes; /* 8 bytes an element: 4 each way */
};

/* NULL if the planner has no such view. Owned by `found`. */
HYPAR_API const struct hypar_partition_view *
hypar_found_partition(const struct hypar_found *found);

/* One stage of a pipeline, whose operators and devices are in the plan. Time and memory are in
 * closed form; hypar_simulated has those that are simulated. */
struct hypar_pipeline_stage {
    int replicas;
    double time_s; /* its share of a minibatch (gpipe, 1f1b: of the batch) */
    int in_flight; /* minibatches (gpipe, 1f1b: micro-batches) begun and not ended, at most, on
                      each replica */
    int versions;  /* of its weights that it keeps */
    int delay;     /* updates that the weights of a forward pass lag behind, in steady state */
    double weight_bytes, activation_bytes; /* of one version; of one minibatch or batch */
    double memory_bytes;                   /* of one device: all versions and all state */
    int tensor;     /* devices that divide each operator, where it was measured so; else 0 */
    int recomputed; /* operators that are computed again, where that was chosen for each */
};

/* A pipeline as PipeDream sees it. */
struct hypar_pipeline_view {
    double bottleneck_s;    /* of the slowest stage: the time between two minibatches */
    bool per_sample;        /* operators were measured in several ways: it is the time between
                               two samples, each of which is a micro-batch */
    double one_worker_s;    /* one minibatch on one device */
    double dp_bottleneck_s; /* all devices with a copy of everything */
    int noam;               /* minibatches in flight on each replica of the first stage */
    int n_stages;
    const struct hypar_pipeline_stage *stage;
    double transfer_bytes; /* between stages, there and back */
    double sync_bytes;     /* between the replicas of each stage */
    int n_states;          /* places where the graph could be cut, plus one */
    bool all_states;       /* all antichains of the graph; else prefixes of one order */
    int states_left_out;   /* of these, because there were too many */
    int states_parted;     /* and others, which part operators that share a parameter */
};

/* NULL if the plan has no stages. Owned by `found`. */
HYPAR_API const struct hypar_pipeline_view *
hypar_found_pipeline(const struct hypar_found *found);

/* OptCNN's view of the plan: the terms of its cost (Eq. 1), and how the least was found. */
struct hypar_layerwise_view {
    double compute_s, transfer_s, sync_s; /* t_C, t_X and t_S, all layers and edges */
    double transfer_bytes, sync_bytes;    /* of a step, that leave their device */
    int n_vars, n_edges;                  /* layers that choose; tensors between them */
    int64_t n_states;                     /* configurations of all of them */
    int n_tables; /* t_X tables that were filled: alike edges share one */
    int node_eliminations, edge_eliminations; /* Eq. 2, Eq. 3 */
    int general_eliminations;                 /* of layers with three neighbours and more */
    int width;                                /* most neighbours of a layer when eliminated */
    const char *method;                       /* of the solver, in a few words */
    bool thinned;     /* there were too many configurations to weigh them all */
    const char *axes; /* the dimensions that might be divided */
    enum hypar_sync sync;
};

/* NULL if the planner has no such view. Owned by `found`. */
HYPAR_API const struct hypar_layerwise_view *
hypar_found_layerwise(const struct hypar_found *found);

/* Row `i` of the table of planners, or NULL past the last. */
struct hypar_planner_info {
    const char *name, *summary, *source;
    const char *exact; /* what no other choice is better in, where its search is exact; NULL: it
                          never is */
    bool tries_others; /* its plan is the best of the others', and fits */
    bool small_only;   /* it refuses all but small problems */
    bool proposes;     /* options `proposals` and `budget_s` are for it */
    bool simple;       /* nothing is chosen: to be laid beside other planners' plans */
    bool baseline;     /* of all planners this one: speed-ups are told over its step */
};
HYPAR_API const struct hypar_planner_info *hypar_planner(int i);

/* The one of that name; NULL: there is none. */
HYPAR_API const struct hypar_planner_info *hypar_planner_find(const char *name);

/* A planner of one's own --------------------------------------------------------------- */

/* A plan to be made by hand: every operator unsplit on device 0, without stages, with what
 * `options` (NULL: the defaults) say of plans: precision, optimizer, recomputation, seed, how
 * gradients are clipped, how steps are simulated, ... Graph and machine must outlive it. NULL:
 * options that hypar_search() refuses, a number out of its range. */
HYPAR_API struct hypar_plan *hypar_plan_new(const struct hypar_graph *graph,
                                            const struct hypar_machine *machine,
                                            const struct hypar_search_options *options);

/* The value of option NAME of such a planner, the last where it is given several times; NULL:
 * it was not given. */
HYPAR_API const char *hypar_planner_option(const struct hypar_search_options *options,
                                           const char *name);

struct hypar_planner {
    unsigned abi; /* HYPAR_ABI_VERSION */
    const char *name, *summary;
    const char *source; /* the paper that it follows; NULL: none */
    /* Options that not every planner takes, and that this one looks at: "--proposals,--budget";
     * docs/library.md has them all. Others that are given are refused. NULL: none. */
    const char *takes;
    bool in_auto; /* auto tries it, too, also for fewer devices and other links */
    /* Make a plan: *out is the caller's, who checks and simulates it. `options` are as
     * hypar_search() has them, but for `clip`, which is set in what was found: `memory_bytes`
     * is the limit, `stop` ends it, `progress` (never NULL here) is to be told: what it is told
     * last is the effort that reports have; `threads` is the most that it may start. May be
     * called by several threads at once, as a sweep does. Anything but HYPAR_OK: there is no
     * plan, *err says why. */
    enum hypar_status (*plan)(struct hypar_plan **out, const struct hypar_graph *graph,
                              const struct hypar_machine *machine,
                              const struct hypar_search_options *options, void *who,
                              struct hypar_error *err);
    void *who; /* handed to it */
};

enum { HYPAR_MAX_OWN_PLANNERS = 32 };

/* From now on hypar_search(), hypar_planner() and `hypar planners` know this planner, which
 * must stay where it is. To be called before other threads use the library. HYPAR_INVALID for a
 * name that is taken or is none, HYPAR_UNSUPPORTED for another ABI version. A second time
 * nothing happens. */
HYPAR_API enum hypar_status hypar_planner_register(const struct hypar_planner *planner,
                                                   struct hypar_error *err);

/* What a shared library that has a planner defines. */
extern HYPAR_API const struct hypar_planner hypar_planner_plugin;
#define HYPAR_PLANNER_SYMBOL "hypar_planner_plugin"

/* Load such a library, for as long as the process lives, and register its planner, whose name
 * goes to *name. `path` without a '/' is looked for as the dynamic linker does.
 * HYPAR_UNREADABLE if it cannot be loaded or has no planner; or as hypar_planner_register(). */
HYPAR_API enum hypar_status hypar_planner_load(const char **name, const char *path,
                                               struct hypar_error *err);

#ifdef __cplusplus
}
#endif

#endif /* HYPAR_SEARCH_H */
