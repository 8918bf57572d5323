/* hypar/search.h - finding a plan.
 *
 * Data flow: model -> graph -> SEARCH -> plan -> program -> sim | run -> report
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

/* The criterion by which plans are compared. */
enum hypar_objective { HYPAR_TIME, HYPAR_COMM, HYPAR_ENERGY };

/* The formulas by which `pipedream` cuts: those of the published optimizer, or the paper's. */
enum hypar_recurrence { HYPAR_RECURRENCE_CODE, HYPAR_RECURRENCE_PAPER };

/* How optcnn's cost model counts: with collectives, as steps are simulated and run (gradients
 * by all-reduce; a node receives data that several of its devices read once), or as its paper's
 * runtime did (parameter servers; every device for itself). */
enum hypar_sync { HYPAR_SYNC_ALL_REDUCE, HYPAR_SYNC_SERVER };

/* The progress of a long search. */
struct hypar_search_progress {
    double best_s; /* the step of the best plan so far, which may turn out not to fit;
                      pipedream: the mean of all simulated minibatches */
    int64_t proposals, accepted;
    double seconds;
};

/* Planners that auto tried and that have no plan that fits, with the reasons. */
enum { HYPAR_MAX_REFUSALS = 64 }; /* more than there are planners, own ones included */
struct hypar_refusals {
    int n;
    struct {
        const char *planner; /* static */
        struct hypar_error why;
    } by[HYPAR_MAX_REFUSALS];
};

struct hypar_search_options {
    const char *planner; /* NULL: "auto" */
    const char *model; /* the argument of hypar_import(), to be written into the plan; NULL: the
                          graph's name */
    const char
        *machine; /* the argument of hypar_machine_read(); NULL: written out as an object */
    bool joint;   /* hypar, accpar: all levels at once instead of from the top */
    const char
        *target; /* only plans that this framework can run (hypar/emit.h): "torch"; NULL: any */
    double memory_bytes; /* limit per device; 0: the device's own */
    bool unlimited;      /* plans may exceed this limit; the fill of devices is still reported
                            against it */
    enum hypar_objective objective; /* auto: by which the best plan is chosen */
    bool objective_given;           /* it was asked for, even if it is the default */
    enum hypar_precision precision;
    bool fp32_gradients; /* gradients of shorter parameters are fp32; else as short as these */
    enum hypar_masks masks; /* of dropouts */
    double framework_bytes; /* on each device, not available to the plan */
    double
        memory_certainty; /* the required probability that a plan fits into the devices' own
                             memory, below 1; 0: 0.95. Ignored if `memory_bytes` sets a limit */
    enum hypar_optimizer optimizer;
    double clip; /* the largest norm of all gradients together; 0: any */
    enum hypar_recompute recompute;
    bool recompute_given; /* it was asked for, even if it is none; else planners may choose */
    /* Sharding: the state that devices with the same elements of a parameter divide among them,
     * and among how many of them (0: all). Planners ignore sharding: memory is checked after
     * dividing. */
    enum hypar_shard shard;
    bool shard_given; /* as recompute_given */
    int shard_over;
    int64_t seed;
    /* Simulate the result like this, and also within the search of flexflow and exhaustive;
     * NULL: only auto and these two simulate, with the defaults. Must outlive the call. */
    const struct hypar_sim_options *simulation;
    /* pipedream: */
    enum hypar_recurrence recurrence;
    bool recurrence_given;
    bool straight;       /* every stage on one device */
    bool use_fewer;      /* some devices may stay unused */
    bool free_transfers; /* between stages cost nothing */
    bool vertical_sync;  /* a minibatch uses one version of the weights in all stages */
    /* gpipe, 1f1b, zb-h1, zb-h2; 0: chosen. Plans without stages have this many micro-batches,
     * one after another; 0: one */
    int64_t stages, micro_batches;
    /* 3d (hybrid: schedule, sequence_parallel): members that are 0 are chosen; if all degrees
     * are given, the defaults are schedule 1f1b and 1 chunk */
    struct hypar_layout layout;
    /* 3d, hybrid: upper limits of the parts of a layer, and of the groups of devices on which
     * stages lie; 0: none. Planners of pipelines take max_pipeline. */
    int max_tensor, max_pipeline;
    enum hypar_sync sync; /* optcnn */
    bool sync_given;
    const char *axes;                    /* optcnn: what may be divided, of "nkhwtc"; NULL:
                                            "nkhw" */
    const struct hypar_profile *profile; /* optcnn: measured times; may be NULL */
    /* "OP:n=2,k=2": split this operator like this, over devices 0, 1, 2, ... of its stage, or
     * of all without stages; "OP:unsplit": do not split it. flexflow, exhaustive, hybrid; other
     * planners refuse. */
    const char *const *fix;
    int n_fix;
    /* "NAME=VALUE" each: for a planner of one's own, which defines their meaning
     * (hypar_planner_option()). */
    const char *const *planner_option;
    int n_planner_options;
    /* flexflow: */
    const struct hypar_plan *start; /* a plan to be improved, of this graph and machine; may be
                                       NULL. The result has the settings above, not its own */
    int64_t proposals;              /* this many; 0: until no more are found */
    /* No more proposals after this time; 0: no limit. The number made repeats the result. auto
     * asks no further planner after it, once it has a plan; `stop` ends the running one. */
    double budget_s;
    int threads; /* at most; 0: one for each core. The plan does not depend on it */
    void (*progress)(void *who, const struct hypar_search_progress *progress); /* or NULL */
    void *who;
    struct hypar_refusals *refusals; /* auto: filled in, also if the search fails; or NULL */
    /* If not NULL: when it becomes nonzero, as a signal handler may set it, the search ends
     * soon with the best plan so far; HYPAR_INFEASIBLE if it has none. */
    const volatile sig_atomic_t *stop;
};

/* Not every planner takes every option. HYPAR_USAGE, with the planners that do, for a given
 * option that none of these planners takes. hypar_search() checks this for its planner; auto
 * tries only planners that take all given options. */
HYPAR_API enum hypar_status hypar_check_options(const struct hypar_search_options *options,
                                                const char *const *planner, int n,
                                                struct hypar_error *err);

/* Drop the options that this planner does not take, to compare it with others. */
HYPAR_API void hypar_keep_options(struct hypar_search_options *options, const char *planner);

struct hypar_found; /* opaque; a plan, and what is known about it */

/* Search. Graph and machine must outlive the result. HYPAR_INVALID for an option that is NaN,
 * negative or not in its enum. HYPAR_INFEASIBLE if there is no plan whose weights, gradients
 * and optimizer state fit, HYPAR_USAGE for an unknown planner; then *out is NULL. Whether
 * activations fit too is known only from the simulated step (hypar_found_simulated()). auto
 * prefers plans that fit. If there is none, it returns the one that needs least, if that was
 * simulated; otherwise HYPAR_INFEASIBLE. */
HYPAR_API enum hypar_status hypar_search(struct hypar_found **out,
                                         const struct hypar_graph *graph,
                                         const struct hypar_machine *machine,
                                         const struct hypar_search_options *options,
                                         struct hypar_error *err);

/* Write what makes a plan fit where hypar_search() with these options fails for lack of memory
 * (HYPAR_CAUSE_MEMORY), or finds a plan that does not fit: "fits with --recompute full (71.2 GB
 * of 80 GB)", in the words of the command line; or that none of recomputation, micro-batches,
 * sharding and stages does. "" with a start plan or measured operators. It searches again with
 * each of them, and with planner hybrid. */
HYPAR_API void hypar_memory_remedy(char *text, size_t size, const struct hypar_graph *graph,
                                   const struct hypar_machine *machine,
                                   const struct hypar_search_options *options);
HYPAR_API void hypar_found_free(struct hypar_found *found); /* the plan too; NULL is allowed */

enum { HYPAR_MAX_BATCH = 1000000000 };

/* A model with any number of samples. */
struct hypar_batches {
    /* Make the graph with this many, to be released with hypar_graph_free(). */
    enum hypar_status (*graph)(void *who, int64_t batch, struct hypar_graph **out,
                               struct hypar_error *err);
    void (*tried)(void *who, int64_t batch, bool fits); /* called after every search; or NULL */
    void *who;                                          /* passed to both */
};

/* Search for the largest batch for which a plan fits, including activations: as simulated, or
 * else as its program counts them. The batch is a multiple of the number of devices and of
 * micro-batches; there is one micro-batch unless options->micro_batches says otherwise, because
 * with enough of them nearly any batch fits. The batch is less than the number of devices if so
 * many samples do not fit. Smaller batches are assumed to fit too. *graph is to be released
 * after *out. HYPAR_INFEASIBLE if not even one sample fits. */
HYPAR_API enum hypar_status hypar_search_largest(struct hypar_found **out,
                                                 struct hypar_graph **graph,
                                                 const struct hypar_machine *machine,
                                                 const struct hypar_search_options *options,
                                                 const struct hypar_batches *batches,
                                                 struct hypar_error *err);

/* Owned by `found`. */
HYPAR_API const struct hypar_plan *hypar_found_plan(const struct hypar_found *found);

/* One training step in closed form: every device computes its share at its device's speed, the
 * levels of the machine exchange one after the other, nothing overlaps. For pipedream: the
 * slowest of stages and transfers; comm_s is its excess over the busiest stage's computing.
 * flexflow and exhaustive have no closed form: for them it is the simulated step. */
struct hypar_prediction {
    bool simulated;
    double step_s, compute_s, comm_s;
    double samples_per_s;
    double mfu;        /* as hypar_sim_summary.mfu */
    double comm_bytes; /* the paper's count: both directions, every group of every level */
    double energy_j;
    double state_bytes; /* parameters, gradients and optimizer state of the fullest device */
};
HYPAR_API struct hypar_prediction hypar_found_prediction(const struct hypar_found *found);

/* The simulated step. */
struct hypar_simulated {
    struct hypar_sim_summary step; /* `fits` refers to the limit that was asked for */
    double compute_s, comm_s;      /* of the device that computes (communicates) longest */
    struct hypar_memory fullest;   /* of step.fullest_device */
    const struct hypar_sim_stage *stage; /* of a pipeline: each of its stages; else NULL */
};

/* Sum up any simulated step, without its stages; `limit_bytes` as in hypar_fullest_memory(). */
HYPAR_API void hypar_sum_up(const struct hypar_sim *sim, double limit_bytes,
                            struct hypar_simulated *out);

/* NULL if it was not simulated: hypar_search_info.not_simulated says why. Owned by `found`. */
HYPAR_API const struct hypar_simulated *hypar_found_simulated(const struct hypar_found *found);

/* A lower bound of the simulated step of any plan of the model on the machine, for all stages,
 * splits, micro-batches, schedules, recomputation, sharding and devices. Not for pipedream,
 * whose steps overlap. */
struct hypar_bound {
    double step_s;       /* 0: unknown */
    const char *by;      /* what takes this long, in a few words; static */
    double work_s;       /* products, other memory traffic, and updates, on all devices */
    double arithmetic_s; /* of this, the products; ... */
    double traffic_s;    /* ... reads and writes, at the memories' bandwidth */
    double way_s;        /* a part of any sample to the loss and back */
};

/* A step simulated on one device of each kind, with the first micro-batches, and extrapolated
 * to all: for plans that would take long as a whole. */
struct hypar_partial_step {
    double step_s;            /* 0: not done */
    double error_s;           /* estimated error */
    int devices, all_devices; /* simulated devices; devices with work */
    int64_t micro_batches;    /* simulated ones */
    int fullest_device;
    struct hypar_memory fullest; /* of this */
    /* Of all devices and micro-batches, as in struct hypar_sim_summary: */
    double comm_bytes, link_bytes;
    struct hypar_energy energy;
};

/* How hypar_search_largest() found its batch. */
struct hypar_largest {
    int64_t batch;         /* 0: not searched for */
    int64_t micro_batches; /* into which it is divided */
    int64_t beyond;        /* the next larger one, which does not fit; 0: there is none */
    double need_bytes, has_bytes; /* ... on its fullest device; 0: see `why` */
    struct hypar_error why;       /* ... if it has no plan at all */
    int tried;                    /* batches that were searched for */
};

/* The search: planner, effort, bounds and comparisons. */
struct hypar_search_info {
    const char *planner;  /* that made the plan; for auto, the winner */
    const char *made_for; /* auto: the machine that the plan was made for, if not this one: "the
                             first 16 of 32 devices", "links half as fast"; else NULL */
    const char *idle;   /* why the plan leaves out devices that differ from the others: "node 14
                           would slow the step by 19 %"; NULL: it uses all */
    const char *target; /* a framework that can run it, as asked: "torch"; NULL: not asked */
    const char *for_target; /* how the plan differs from what the planner asked for, because the
                               target refuses that: "conv1 is kept whole: ..."; NULL: it does
                               not */
    double seconds;         /* auto: including simulation */
    double processor_s; /* of all threads of the process; includes searches at the same time */
    int64_t evaluated;  /* candidates examined; -1: an own planner that reports nothing */
    bool chooses;       /* it had choices; dp, mp and owt have hardly any */
    bool interrupted;   /* `stop` ended it, or was set when it ended */
    bool exact;         /* no other choice costs less in the planner's own model */
    double lower_bound_elements; /* of the exchange over all choices; 0: unknown */
    double lower_bound_s;     /* of the planner's own cost over all its choices; 0: unknown */
    struct hypar_bound bound; /* of the simulated step over all plans */
    const char *restricted;   /* auto: given options that not all planners take; only planners
                                 that take them were tried; NULL: none */
    const char *safer;        /* auto: why it was chosen among equals; NULL: there are none */
    const char *simpler; /* auto: a simpler plan that may be as fast; NULL: none is known */
    int n_left_out;      /* auto: planners without a plan that fits, and why */
    const struct hypar_left_out *left_out;
    int n_others; /* auto: other plans that fit, the best first; owned by the result */
    const struct hypar_other *other;
    enum hypar_objective objective; /* by which they are worse */
    const char *not_simulated;      /* the reason; NULL: it was simulated, or nobody asked */
    struct hypar_partial_step part; /* simulated instead; its step is the prediction's */
    int64_t proposals, accepted;    /* flexflow; of an own planner, as it last reported */
    /* flexflow: */
    int chains;
    int64_t seed;
    double beta;       /* a step longer by a share x of the first is accepted with probability
                          exp(-beta x) */
    const char *start; /* the fastest initial plan, NULL: none ... */
    double start_s;    /* ... and its step */
    struct hypar_largest largest;
};
HYPAR_API struct hypar_search_info hypar_found_info(const struct hypar_found *found);

/* The bytes that HyPar compares for a layer of one type at one level, over all groups of the
 * level, while all other layers keep their types. NAN: the layer cannot be of this type. */
struct hypar_type_terms {
    double own_bytes;      /* Table 1: of gradients under dp, of partial sums under mp */
    double previous_bytes; /* Table 2: between the layers that it reads from and this layer */
    double next_bytes;     /* Table 2: between this layer and the layers that read from it */
};

struct hypar_layer_terms {
    struct hypar_type_terms dp, mp;
};

/* HyPar's view of the plan: a type for every weighted layer at every level (0 = dp, type I;
 * 1 = mp, type II; 2 = type III), and the elements exchanged between two sides of a group. */
struct hypar_partition_view {
    int n_levels, n_layers;
    const int *ways;          /* of each level, H1 first */
    const char *const *level; /* n_layers digits each */
    const int *layer_op;      /* the operator of each layer */
    const double *level_elements;
    double total_elements, total_bytes;    /* 8 bytes an element: 4 each way */
    const struct hypar_layer_terms *terms; /* [level * n_layers + layer] */
};

/* NULL if the planner has no such view. Owned by `found`. */
HYPAR_API const struct hypar_partition_view *
hypar_found_partition(const struct hypar_found *found);

/* One stage of a pipeline; the plan has its operators and devices. Time and memory are in
 * closed form; hypar_simulated has the simulated ones. */
struct hypar_pipeline_stage {
    int replicas;
    double time_s; /* its share of a minibatch (gpipe, 1f1b: of the batch) */
    int in_flight; /* minibatches (gpipe, 1f1b: micro-batches) begun and not ended, at most, on
                      each replica */
    int versions;  /* of its weights that it keeps */
    int delay;     /* updates by which the weights of a forward pass lag, in steady state */
    double weight_bytes, activation_bytes; /* of one version; of one minibatch or batch */
    double memory_bytes;                   /* of one device: all versions and all state */
    int tensor;     /* devices that divide each operator, if it was measured so; else 0 */
    int recomputed; /* recomputed operators, if this was chosen for each */
};

/* A pipeline as PipeDream sees it. */
struct hypar_pipeline_view {
    double bottleneck_s;    /* of the slowest stage: the time between two minibatches */
    bool per_sample;        /* operators were measured in several configurations: it is the time
                               between two samples, each of which is a micro-batch */
    double one_worker_s;    /* one minibatch on one device */
    double dp_bottleneck_s; /* all devices with a copy of everything */
    int noam;               /* minibatches in flight on each replica of the first stage */
    int n_stages;
    const struct hypar_pipeline_stage *stage;
    double transfer_bytes; /* between stages, there and back */
    double sync_bytes;     /* between the replicas of each stage */
    int n_states;          /* positions where the graph could be cut, plus one */
    bool all_states;       /* all antichains of the graph; else prefixes of one order */
    int states_left_out;   /* because there were too many */
    int states_parted;     /* because they separate operators that share a parameter */
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
    int width;          /* the most neighbours of a layer when it is eliminated */
    const char *method; /* of the solver, in a few words */
    bool thinned;       /* there were too many configurations to examine all */
    const char *axes;   /* the dimensions that might be divided */
    enum hypar_sync sync;
};

/* NULL if the planner has no such view. Owned by `found`. */
HYPAR_API const struct hypar_layerwise_view *
hypar_found_layerwise(const struct hypar_found *found);

/* Row `i` of the table of planners, or NULL past the last. */
struct hypar_planner_info {
    const char *name, *summary, *source;
    const char *exact; /* in what no other choice is better, if its search is exact; NULL: it
                          never is */
    bool tries_others; /* its plan is the best of the others' plans, and fits */
    bool small_only;   /* it refuses all but small problems */
    bool proposes;     /* it takes the options `proposals` and `budget_s` */
    bool simple;       /* it chooses nothing: for comparison with other planners */
    bool baseline;     /* the planner whose step is the baseline of speed-ups */
};
HYPAR_API const struct hypar_planner_info *hypar_planner(int i);

/* The planner of this name; NULL: there is none. */
HYPAR_API const struct hypar_planner_info *hypar_planner_find(const char *name);

/* A planner of one's own --------------------------------------------------------------- */

/* A plan to be completed by hand: every operator unsplit on device 0, without stages, with the
 * settings of `options` (NULL: the defaults): precision, optimizer, recomputation, seed,
 * clipping, simulation, ... Graph and machine must outlive it. NULL if hypar_search() refuses
 * the options or a number is out of range. */
HYPAR_API struct hypar_plan *hypar_plan_new(const struct hypar_graph *graph,
                                            const struct hypar_machine *machine,
                                            const struct hypar_search_options *options);

/* The value of option NAME of such a planner, the last one if it is given several times; NULL:
 * not given. */
HYPAR_API const char *hypar_planner_option(const struct hypar_search_options *options,
                                           const char *name);

struct hypar_planner {
    unsigned abi; /* HYPAR_ABI_VERSION */
    const char *name, *summary;
    const char *source; /* the paper that it follows; NULL: none */
    /* The options, among those that not every planner takes, that this one takes:
     * "--proposals,--budget"; docs/library.md lists them all. Other given options are refused.
     * NULL: none. */
    const char *takes;
    bool in_auto; /* auto tries it too, also for fewer devices and other links */
    /* Make a plan: *out belongs to the caller, which checks and simulates it. `options` are
     * those of hypar_search(), except `clip`, which is set in the result. `memory_bytes` is the
     * limit, `stop` ends the search, `progress` (never NULL here) must be called: its last call
     * gives the effort in reports; `threads` is the most that it may start. Several threads may
     * call this at once, as a sweep does. Any status but HYPAR_OK: there is no plan, *err says
     * why. */
    enum hypar_status (*plan)(struct hypar_plan **out, const struct hypar_graph *graph,
                              const struct hypar_machine *machine,
                              const struct hypar_search_options *options, void *who,
                              struct hypar_error *err);
    void *who; /* passed to it */
};

enum { HYPAR_MAX_OWN_PLANNERS = 32 };

/* From now on hypar_search(), hypar_planner() and `hypar planners` know this planner, which
 * must stay in memory. Call before other threads use the library. HYPAR_INVALID for a name that
 * is taken or invalid, HYPAR_UNSUPPORTED for another ABI version. Registering it again has no
 * effect. */
HYPAR_API enum hypar_status hypar_planner_register(const struct hypar_planner *planner,
                                                   struct hypar_error *err);

/* The symbol that a shared library with a planner defines. */
extern HYPAR_API const struct hypar_planner hypar_planner_plugin;
#define HYPAR_PLANNER_SYMBOL "hypar_planner_plugin"

/* Load such a library, for the life of the process, and register its planner, whose name goes
 * to *name. A `path` without '/' is searched as the dynamic linker does. HYPAR_UNREADABLE if it
 * cannot be loaded or has no planner; or as hypar_planner_register(). */
HYPAR_API enum hypar_status hypar_planner_load(const char **name, const char *path,
                                               struct hypar_error *err);

#ifdef __cplusplus
}
#endif

#endif /* HYPAR_SEARCH_H */
