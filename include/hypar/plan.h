/* hypar/plan.h - a plan: how every operator is split, and where its parts run.
 *
 * Data flow: model -> graph -> search -> PLAN -> program -> sim | run -> report
 *
 * Each operator has a split (a degree for each of its axes) and one device for each part; the
 * whole may be cut into pipeline stages under a schedule. The file form of a plan,
 * hypar-plan/1, is JSON for people to read and edit. */
#ifndef HYPAR_PLAN_H
#define HYPAR_PLAN_H

#include <hypar/base.h>
#include <hypar/framework.h>
#include <hypar/graph.h>
#include <hypar/machine.h>

#ifdef __cplusplus
extern "C" {
#endif

struct hypar_plan; /* opaque; made by hypar_search() or hypar_plan_read() */

/* Seeds are 0..HYPAR_MAX_SEED, which every JSON reader represents exactly. */
#define HYPAR_MAX_SEED ((int64_t)1 << 53)

/* Of tensors and of arithmetic. */
enum hypar_precision {
    HYPAR_FP32,
    HYPAR_BF16,
    HYPAR_FP64,
    HYPAR_FP16,
    HYPAR_TF32, /* fp32 in memory, multiplied by matrix units with a shorter mantissa */
    HYPAR_PRECISION_COUNT,
};

/* The optimizer: how parameters are updated, and what state it keeps in memory. */
enum hypar_optimizer {
    HYPAR_SGD,
    HYPAR_MOMENTUM,
    HYPAR_ADAM,
    HYPAR_ADAMW,
    HYPAR_OPTIMIZER_COUNT,
};

/* The values that the backward half recomputes instead of keeping. */
enum hypar_recompute {
    HYPAR_RECOMPUTE_NONE,
    HYPAR_RECOMPUTE_SELECTIVE, /* scores of attention, their softmax and dropout */
    HYPAR_RECOMPUTE_FULL,      /* repeated layers, except the values between them */
    HYPAR_RECOMPUTE_COUNT,
};

/* How the backward half knows which elements a dropout kept. */
enum hypar_masks {
    HYPAR_MASKS_DRAWN, /* it draws the same random numbers again */
    HYPAR_MASKS_KEPT,  /* a byte for each element, kept from forward on */
    HYPAR_MASKS_COUNT,
};

enum hypar_schedule_kind {
    HYPAR_SCHEDULE_NONE,        /* micro-batches one after another */
    HYPAR_SCHEDULE_GPIPE,       /* all forward, all backward, flush */
    HYPAR_SCHEDULE_1F1B,        /* one forward, one backward, flush */
    HYPAR_SCHEDULE_PIPEDREAM,   /* 1F1B without flush */
    HYPAR_SCHEDULE_INTERLEAVED, /* 1F1B, each device in several stages */
    HYPAR_SCHEDULE_ZB_H1,       /* zero bubble: separate gradients, as many in flight as 1F1B */
    HYPAR_SCHEDULE_ZB_H2,       /* zero bubble: twice as many in flight, and hardly a bubble */
    HYPAR_SCHEDULE_SLOTS,       /* the plan lists the slots */
    HYPAR_SCHEDULE_COUNT,
};

/* How the replicas of a stage share the work. */
enum hypar_share {
    HYPAR_SHARE_BATCH,     /* every batch: the sample axis is split over them */
    HYPAR_SHARE_MINIBATCH, /* whole minibatches, in turn (PipeDream) */
    HYPAR_SHARE_COUNT,
};

/* When parameters are updated. */
enum hypar_updates {
    HYPAR_UPDATES_BATCH,   /* by each batch, before the next begins */
    HYPAR_UPDATES_BATCHES, /* after one batch of each replica, before their next (pipedream with
                              one stage) */
    HYPAR_UPDATES_DELAYED, /* after later batches have begun (pipedream with several stages) */
    HYPAR_UPDATES_COUNT,
};

/* Sharding: the state that devices with the same piece of an operator's parameters divide among
 * them. Each kind includes the one before it. */
enum hypar_shard {
    HYPAR_SHARD_NONE,
    HYPAR_SHARD_OPTIMIZER,  /* the optimizer's state, and the update (ZeRO-1) */
    HYPAR_SHARD_GRADIENTS,  /* also gradients, summed in each micro-batch (ZeRO-2) */
    HYPAR_SHARD_PARAMETERS, /* also parameters, gathered before each use (ZeRO-3, FSDP) */
    HYPAR_SHARD_COUNT,
};

/* The names that files and options use: "adam", "1f1b". */
HYPAR_API const char *hypar_precision_text(enum hypar_precision precision);
HYPAR_API const char *hypar_optimizer_text(enum hypar_optimizer optimizer);
HYPAR_API const char *hypar_masks_text(enum hypar_masks masks);
HYPAR_API const char *hypar_schedule_text(enum hypar_schedule_kind kind);
HYPAR_API const char *hypar_share_text(enum hypar_share share);
HYPAR_API const char *hypar_recompute_text(enum hypar_recompute recompute);
HYPAR_API const char *hypar_shard_text(enum hypar_shard shard);

/* The enum to which a name belongs. */
enum hypar_name {
    HYPAR_NAME_PRECISION,
    HYPAR_NAME_OPTIMIZER,
    HYPAR_NAME_MASKS,
    HYPAR_NAME_SCHEDULE,
    HYPAR_NAME_SHARE,
    HYPAR_NAME_RECOMPUTE,
    HYPAR_NAME_SHARD,
    HYPAR_NAME_KERNELS,
    HYPAR_NAME_COUNT,
};

/* The enum value called `name`, in upper or lower case; accepts usual synonyms ("half",
 * "fsdp"). -1: the name is unknown. */
HYPAR_API int hypar_name_find(enum hypar_name kind, const char *name);

struct hypar_schedule {
    enum hypar_schedule_kind kind;
    int64_t micro_batches; /* of one batch; their sizes differ by at most one sample */
    bool stash;            /* pipedream: a minibatch's backward uses its forward's weights */
    bool vertical_sync;    /* pipedream: ... and the same version in every stage */
    int chunks;            /* interleaved: stages of each device; else 0 or 1 */
};

/* The degrees of a plan, from which the whole plan follows; the member "layout" of the file
 * form. The product of the degrees is the number of devices. Device numbers: tensor innermost,
 * then data, then pipeline. */
struct hypar_layout {
    int data;     /* replicas that divide the samples of each micro-batch */
    int tensor;   /* parts of each layer: columns, then rows; heads; the vocabulary */
    int pipeline; /* groups of devices on which stages lie, in turn */
    int chunks;   /* stages of each group, 1 unless the schedule interleaves them */
    int64_t micro_batches;
    enum hypar_schedule_kind schedule;
    bool sequence_parallel; /* activations between the layers are divided by sequence, else
                               copied */
    enum hypar_recompute recompute;
    enum hypar_shard shard;        /* of every operator with parameters, among its replicas */
    int first_layers, last_layers; /* of the first and of the last stage, the others have even
                                      shares of the rest; 0: as without */
    int shard_over; /* replicas that divide each parameter; 0: all of its stage */
};

/* How the step of a plan is simulated (hypar/sim.h); zero: the defaults. */
struct hypar_simulation {
    char all_reduce[32]; /* the all-reduce algorithm; "": the fastest */
    bool local_bn;       /* batch norm over each part's own samples */
    bool half_duplex, one_class, expand_collectives;
    struct hypar_framework framework;
};

/* One pipeline stage; the lists are owned by the plan. */
struct hypar_stage {
    int n_ops;
    const int *op; /* ascending */
    int n_devices;
    const int *device; /* share "minibatch": `replicas` equal groups, one after another */
    int replicas;
    enum hypar_share share;
};

/* A plan of another planner, as a search compared it. */
struct hypar_other {
    const char *planner;
    double step_s;    /* the compared step: simulated, if possible */
    double compute_s; /* of this, on the device that computes longest; 0: unknown */
    double comm_bytes, energy_j;
    const char *how;     /* the plan in a few words: "n=4 of 9 operators, k=4 of 2" */
    const char *same_as; /* hypar_found_info(): the planner, better or before it, that found the
                            very same plan; else NULL */
};

/* A planner without a plan that fits, or whose plan was not examined. */
struct hypar_left_out {
    const char *planner, *why;
};

/* How a plan was found: the member "search" of its file. */
struct hypar_plan_search {
    const char *asked;   /* the planner that was asked for: "auto" */
    const char *options; /* that restricted the search: "--memory 16GB --for torch"; "": none */
    const char *made_for;    /* another machine for which it was made, in words; NULL: none */
    const char *exact;       /* in what no other choice is better; NULL: unknown */
    double lower_bound_s;    /* of the planner's own cost; 0: unknown */
    struct hypar_other self; /* the plan as it was found, and by whom; .how is NULL */
    uint64_t plan_hash; /* of the plan as found; it differs if the plan was changed since */
    int n_others, n_left_out;
    const struct hypar_other *other; /* less good plans that fit, the best first */
    const struct hypar_left_out *left_out;
};

struct hypar_plan_read_options {
    const char *model;                       /* replaces the file's; NULL: as the file says */
    const char *machine;                     /* likewise */
    const struct hypar_framework *framework; /* likewise */
    bool follow_links; /* of the model: as in struct hypar_import_options */
    /* As in struct hypar_import_options: called before a file of the plan's model or machine is
     * read. */
    enum hypar_status (*reads)(void *who, const char *path, struct hypar_error *err);
    void *who;
};

/* Read the plan at `path` ("-": standard input) with its model and its machine, and check it;
 * the plan owns both. Paths in the file are relative to its folder, after following links.
 * `options` may be NULL. On success *out is to be released with hypar_plan_free(). On failure
 * *out is NULL: HYPAR_UNREADABLE, HYPAR_SYNTAX or HYPAR_INVALID if it is no plan (or its model
 * or machine cannot be made), HYPAR_INFEASIBLE if it does not fit the model or the machine. */
HYPAR_API enum hypar_status hypar_plan_read(struct hypar_plan **out, const char *path,
                                            const struct hypar_plan_read_options *options,
                                            struct hypar_error *err);

/* Release a plan and everything that it owns. NULL is allowed. */
HYPAR_API void hypar_plan_free(struct hypar_plan *plan);

/* Write `plan` in the form hypar-plan/1, one operator per line; it reads back identically.
 * Write errors stay in the stream. */
HYPAR_API void hypar_plan_write(const struct hypar_plan *plan, FILE *to);

/* Check that the plan fits its graph and machine; else HYPAR_INFEASIBLE with the operator and
 * the reason. */
HYPAR_API enum hypar_status hypar_plan_check(const struct hypar_plan *plan,
                                             struct hypar_error *err);

/* Bytes of parameters, gradients and optimizer state on each device: fills bytes[device]. */
HYPAR_API void hypar_plan_state_bytes(const struct hypar_plan *plan, double *bytes);

/* HYPAR_INFEASIBLE if these do not fit: into `limit_bytes`, or, if that is 0, into the plan's
 * limit, or, if that is 0 too, into a device's own memory. */
HYPAR_API enum hypar_status hypar_plan_check_memory(const struct hypar_plan *plan,
                                                    double limit_bytes,
                                                    struct hypar_error *err);

/* The graph and the machine of the plan; owned by it or by its maker, valid as long as the
 * plan. */
HYPAR_API const struct hypar_graph *hypar_plan_graph(const struct hypar_plan *plan);
HYPAR_API const struct hypar_machine *hypar_plan_machine(const struct hypar_plan *plan);
HYPAR_API const char *hypar_plan_model(const struct hypar_plan *plan); /* as in the file */

/* All settings of a plan except splits, stages and schedule. */
struct hypar_plan_settings {
    const char *model;        /* what hypar_import() took; NULL: the graph's name */
    const char *machine_word; /* what hypar_machine_read() took; NULL: written as an object */
    enum hypar_precision precision;
    bool fp32_gradients; /* gradients of shorter parameters are fp32; else as short as these */
    enum hypar_optimizer optimizer;
    enum hypar_masks masks;
    double framework_bytes;    /* that the framework takes on each device, besides the plan's */
    double memory_limit_bytes; /* that a device may use, for the plan and the framework; 0: its
                                  own memory */
    double memory_certainty;   /* of planners: that a plan fits into devices' own memory */
    double clip; /* upper limit of the norm of all gradients together: larger gradients are
                    scaled down to it before the update. 0: no limit */
    int64_t seed;
    int gather_ahead; /* how many operators ahead divided parameters are gathered: 1 */
    /* If set, as hypar_plan_recompute_all() does. HYPAR_RECOMPUTE_NONE, which
     * hypar_plan_settings() returns, leaves the operators as they are. */
    enum hypar_recompute recompute;
    /* How the step was simulated during the search, or as the plan's file says. */
    struct hypar_simulation simulation;
};
HYPAR_API struct hypar_plan_settings hypar_plan_settings(const struct hypar_plan *plan);

/* The precision of parameter gradients: that of the parameters, or fp32 for shorter ones. */
HYPAR_API enum hypar_precision hypar_plan_gradient_precision(const struct hypar_plan *plan);

/* Operator `op`: the degree of one of its axes, and the extent of part i of that axis. */
HYPAR_API int hypar_plan_degree(const struct hypar_plan *plan, int op, int axis);
HYPAR_API int64_t hypar_plan_part_size(const struct hypar_plan *plan, int op, int axis, int i);

/* The plan of an operator, except its axes. For an invalid index: zeros, stage -1. */
struct hypar_plan_op {
    int n_parts; /* the product of its degrees */
    /* The device of each part: row-major in the order of its axes; under share "minibatch"
     * those of replica 0, then of 1, ... The plan owns the list, which is valid until the plan
     * changes. */
    int n_devices;
    const int *device;
    int stage;      /* -1: no stages */
    bool recompute; /* its result is computed again in the backward half, and not kept */
    bool resend;    /* copies of its result that other devices received are sent again, and not
                       kept */
    /* How the operator's parameters are sharded, and among how many of the devices with the
     * same piece (0: all of them). */
    enum hypar_shard shard;
    int shard_over;
};
HYPAR_API struct hypar_plan_op hypar_plan_op(const struct hypar_plan *plan, int op);

/* The number of devices without work. */
HYPAR_API int hypar_plan_idle_devices(const struct hypar_plan *plan);

/* Are there batch norms and several micro-batches, each with its own statistics? Unless asked
 * for, planners then make no micro-batches with fewer samples than this. */
enum { HYPAR_LEAST_NORM_SAMPLES = 8 };
HYPAR_API bool hypar_plan_divides_statistics(const struct hypar_plan *plan);

/* Equal for plans of one graph with the same precision, optimizer, splits, devices, stages and
 * schedule. */
HYPAR_API uint64_t hypar_plan_hash(const struct hypar_plan *plan);

HYPAR_API int hypar_plan_stage_count(const struct hypar_plan *plan);
HYPAR_API struct hypar_stage hypar_plan_stage(const struct hypar_plan *plan, int stage);
HYPAR_API struct hypar_schedule hypar_plan_schedule(const struct hypar_plan *plan);
HYPAR_API enum hypar_updates hypar_plan_updates(const struct hypar_plan *plan);

/* The layout from which the plan was made, if its file says so; operators may differ from it.
 * NULL: none; owned by the plan. */
HYPAR_API const struct hypar_layout *hypar_plan_layout(const struct hypar_plan *plan);

/* How the plan was found, if a search or its file says so; NULL: unknown; owned by the plan. */
HYPAR_API const struct hypar_plan_search *hypar_plan_search(const struct hypar_plan *plan);

/* Changing a plan ----------------------------------------------------------------------
 *
 * The caller may change a plan that it owns (hypar_plan_new() in hypar/search.h,
 * hypar_plan_copy(), hypar_plan_read()) while no program, simulation or result made from the
 * plan is in use. Each function refuses a change that is valid in no plan, and then changes
 * nothing. hypar_plan_check() checks the plan as a whole; lowering, simulating and training
 * call it. */

/* A copy of the plan. Its graph and machine must outlive it; so must a plan that owns these. To
 * be released with hypar_plan_free(). */
HYPAR_API struct hypar_plan *hypar_plan_copy(const struct hypar_plan *plan);

/* How one operator is split, and where its parts run. */
struct hypar_split {
    int op;
    int degree[HYPAR_MAX_AXES];           /* of each of its axes; 0 counts as 1 */
    const int64_t *sizes[HYPAR_MAX_AXES]; /* of the parts of an axis; NULL: even */
    const int *device; /* in the order of struct hypar_plan_op; NULL: the first devices of its
                          stage, or, without stages, of the machine */
};

/* The split of operator `op`; its lists belong to the plan and are valid until it changes. */
HYPAR_API struct hypar_split hypar_plan_split(const struct hypar_plan *plan, int op);

/* Split and place an operator; everything is copied. If this changes the operator, the plan has
 * no layout any more (hypar_plan_layout(): NULL). HYPAR_INFEASIBLE, with the axis or the
 * device. */
HYPAR_API enum hypar_status hypar_plan_set_op(struct hypar_plan *plan,
                                              const struct hypar_split *split,
                                              struct hypar_error *err);

/* Set all settings, whose texts are copied; begin with the current ones: hypar_plan_settings().
 * HYPAR_INFEASIBLE. */
HYPAR_API enum hypar_status hypar_plan_set_settings(struct hypar_plan *plan,
                                                    const struct hypar_plan_settings *settings,
                                                    struct hypar_error *err);

/* Cut the graph into `n` new stages; 0: none. Every operator is then unsplit, on the first
 * device of its stage. Everything is copied. HYPAR_INFEASIBLE, with the stage. */
HYPAR_API enum hypar_status hypar_plan_set_stages(struct hypar_plan *plan,
                                                  const struct hypar_stage *stage, int n,
                                                  struct hypar_error *err);

/* Set schedule and micro-batches, after the stages. HYPAR_INFEASIBLE. */
HYPAR_API enum hypar_status hypar_plan_set_schedule(struct hypar_plan *plan,
                                                    const struct hypar_schedule *schedule,
                                                    struct hypar_error *err);

/* A schedule by hand: for each group of devices with stages, in the order of the stages, the
 * slots in turn, as in the file form: "F0.0 F0.1 B0.0 B0.1" (phase, stage, micro-batch; W:
 * separate gradients). HYPAR_INFEASIBLE. */
HYPAR_API enum hypar_status hypar_plan_set_slots(struct hypar_plan *plan, int64_t micro_batches,
                                                 const char *const *slots, int n,
                                                 struct hypar_error *err);

/* Recompute an operator's result in the backward half, or keep it; and the same for all
 * operators, by kind. HYPAR_INFEASIBLE. */
HYPAR_API enum hypar_status hypar_plan_set_recompute(struct hypar_plan *plan, int op,
                                                     bool recompute, struct hypar_error *err);
HYPAR_API enum hypar_status hypar_plan_recompute_all(struct hypar_plan *plan,
                                                     enum hypar_recompute recompute,
                                                     struct hypar_error *err);

/* Divide an operator's parameters, among how many of the devices that hold the same (0: all);
 * all users of a parameter must agree. For all operators at once: hypar_plan_shard_all() in
 * hypar/program.h. HYPAR_INFEASIBLE. */
HYPAR_API enum hypar_status hypar_plan_set_shard(struct hypar_plan *plan, int op,
                                                 enum hypar_shard shard, int over,
                                                 struct hypar_error *err);

/* Make the whole plan anew from a layout: stages, schedule, splits, devices, recomputation,
 * sharding. Members that are 0 mean 1, and the usual schedule. HYPAR_INFEASIBLE if graph or
 * machine do not fit it; then every operator is unsplit and there are no stages. */
HYPAR_API enum hypar_status hypar_plan_set_layout(struct hypar_plan *plan,
                                                  const struct hypar_layout *layout,
                                                  struct hypar_error *err);

#ifdef __cplusplus
}
#endif

#endif /* HYPAR_PLAN_H */
