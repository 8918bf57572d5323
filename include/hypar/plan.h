/* hypar/plan.h - a plan: how every operator is split, and where its parts run.
 *
 * In the way of the data: model -> graph -> search -> PLAN -> program -> sim | run -> report
 *
 * Each operator has a split (a degree for each of its axes) and one device for each part; the
 * whole may be cut into pipeline stages under a schedule. A plan's file form, hypar-plan/1, is
 * JSON to be read and edited by people. */
#ifndef HYPAR_PLAN_H
#define HYPAR_PLAN_H

#include <hypar/base.h>
#include <hypar/graph.h>
#include <hypar/machine.h>

#ifdef __cplusplus
extern "C" {
#endif

struct hypar_plan; /* opaque; made by hypar_search() or hypar_plan_read() */

/* Seeds are 0..HYPAR_MAX_SEED, which every reader of JSON holds exactly. */
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

/* What the parameters' state costs in memory, and how they are updated. */
enum hypar_optimizer {
    HYPAR_SGD,
    HYPAR_MOMENTUM,
    HYPAR_ADAM,
    HYPAR_ADAMW,
    HYPAR_OPTIMIZER_COUNT,
};

/* What is computed again in the backward half instead of being kept for it. */
enum hypar_recompute {
    HYPAR_RECOMPUTE_NONE,
    HYPAR_RECOMPUTE_SELECTIVE, /* scores of attention, their softmax and its dropout */
    HYPAR_RECOMPUTE_FULL,      /* repeated layers, but for what passes from one to the next */
    HYPAR_RECOMPUTE_COUNT,
};

/* What backward knows of the elements that a dropout let through. */
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
    HYPAR_SCHEDULE_ZB_H1,       /* zero bubble: gradients apart, as many in flight as 1F1B */
    HYPAR_SCHEDULE_ZB_H2,       /* ... twice as many, and hardly a bubble */
    HYPAR_SCHEDULE_SLOTS,       /* as the plan lists it */
    HYPAR_SCHEDULE_COUNT,
};

/* What the replicas of a stage divide among them. */
enum hypar_share {
    HYPAR_SHARE_BATCH,     /* every batch: the sample axis is split over them */
    HYPAR_SHARE_MINIBATCH, /* whole minibatches, in turn (PipeDream) */
    HYPAR_SHARE_COUNT,
};

/* What the parameters are updated by, and when. */
enum hypar_updates {
    HYPAR_UPDATES_BATCH,   /* by each batch, before the next begins */
    HYPAR_UPDATES_BATCHES, /* by a batch of each replica, before their next (pipedream with one
                            * stage) */
    HYPAR_UPDATES_DELAYED, /* ... after later ones have begun (pipedream with several) */
    HYPAR_UPDATES_COUNT,
};

/* What the devices that hold the same piece of an operator's parameters divide among them,
 * instead of each having all of it. Each kind has the one before it. */
enum hypar_shard {
    HYPAR_SHARD_NONE,
    HYPAR_SHARD_OPTIMIZER,  /* the optimizer's state, and the update (ZeRO-1) */
    HYPAR_SHARD_GRADIENTS,  /* ... gradients, summed in each micro-batch (ZeRO-2) */
    HYPAR_SHARD_PARAMETERS, /* ... parameters, gathered before each use (ZeRO-3, FSDP) */
    HYPAR_SHARD_COUNT,
};

/* How kernels are made of passes and launched, on devices whose kernels were measured. */
enum hypar_framework {
    HYPAR_FRAMEWORK_COMPILED, /* what has no products is fused, matrices are padded */
    HYPAR_FRAMEWORK_EAGER,    /* operator by operator */
    HYPAR_FRAMEWORK_NONE,     /* pass by pass, launches cost nothing: the roofline */
    HYPAR_FRAMEWORK_COUNT,
};

/* The names that files and options use ("adam", "1f1b"), and back: false if unknown. */
HYPAR_API const char *hypar_precision_text(enum hypar_precision precision);
HYPAR_API const char *hypar_optimizer_text(enum hypar_optimizer optimizer);
HYPAR_API const char *hypar_masks_text(enum hypar_masks masks);
HYPAR_API const char *hypar_schedule_text(enum hypar_schedule_kind kind);
HYPAR_API const char *hypar_share_text(enum hypar_share share);
HYPAR_API const char *hypar_recompute_text(enum hypar_recompute recompute);
HYPAR_API const char *hypar_shard_text(enum hypar_shard shard);
HYPAR_API const char *hypar_framework_text(enum hypar_framework framework);
HYPAR_API bool hypar_precision_find(const char *name, enum hypar_precision *out);
HYPAR_API bool hypar_optimizer_find(const char *name, enum hypar_optimizer *out);
HYPAR_API bool hypar_masks_find(const char *name, enum hypar_masks *out);
HYPAR_API bool hypar_schedule_find(const char *name, enum hypar_schedule_kind *out);
HYPAR_API bool hypar_share_find(const char *name, enum hypar_share *out);
HYPAR_API bool hypar_recompute_find(const char *name, enum hypar_recompute *out);
HYPAR_API bool hypar_framework_find(const char *name, enum hypar_framework *out);
HYPAR_API bool hypar_shard_find(const char *name, enum hypar_shard *out);

struct hypar_schedule {
    enum hypar_schedule_kind kind;
    int64_t micro_batches; /* of one batch; their sizes differ by at most one sample */
    bool stash;            /* pipedream: a minibatch's backward uses its forward's weights */
    bool vertical_sync;    /* pipedream: ... and the same version in every stage */
    int chunks;            /* interleaved: stages of each device; else 0 or 1 */
};

/* An expert's plan in a few words, the member "layout" of the file form: degrees whose product
 * is the number of devices. Device number: tensor innermost, then data, then pipeline. */
struct hypar_layout {
    int data;     /* replicas that divide the samples of each micro-batch */
    int tensor;   /* parts of each layer: columns, then rows; heads; the vocabulary */
    int pipeline; /* groups of devices that stages lie on, in turn */
    int chunks;   /* stages of each group, 1 unless the schedule interleaves them */
    int64_t micro_batches;
    enum hypar_schedule_kind schedule;
    bool sequence_parallel; /* what is between the layers is divided by sequence, else copied */
    enum hypar_recompute recompute;
    enum hypar_shard shard; /* of every operator that has parameters, among its replicas */
};

/* How the step of a plan is simulated (hypar/sim.h); zero: by default. */
struct hypar_simulation {
    char all_reduce[32]; /* how all-reduces are done; "": whatever is fastest */
    double bucket_bytes; /* gradients are summed in buckets of about this size; 0: one by one */
    bool local_bn;       /* batch norm over each part's own samples */
    bool no_overlap, half_duplex, one_class, expand_collectives;
    enum hypar_framework framework;
};

/* One pipeline stage; the lists are owned by the plan. */
struct hypar_stage {
    int n_ops;
    const int *op; /* ascending */
    int n_devices;
    const int *device; /* share "minibatch": in `replicas` equal groups, one after another */
    int replicas;
    enum hypar_share share;
};

/* A planner's plan beside others', as a search compared them. */
struct hypar_other {
    const char *planner;
    double step_s;    /* as steps were compared: simulated, where they could be */
    double compute_s; /* of that, of the device that computes longest; 0: not known */
    double comm_bytes, energy_j;
    const char *how; /* the plan in a few words: "n=4 of 9 operators, k=4 of 2" */
};

/* A planner without a plan that fits, or whose plan was not looked at. */
struct hypar_left_out {
    const char *planner, *why;
};

/* How a plan was found: what its file keeps of the search, its member "search". */
struct hypar_plan_search {
    const char *asked;    /* the planner that was asked for: "auto" */
    const char *options;  /* that bounded the search: "--memory 16GB --for torch"; "": none */
    const char *made_for; /* another machine than the one at hand, in words; NULL: it is not */
    const char *exact;    /* what no other choice is better in; NULL: nothing is known */
    double lower_bound_s; /* of the planner's own cost; 0: not known */
    struct hypar_other self; /* the plan as it was found, and who found it; .how is NULL */
    uint64_t plan_hash;      /* ... which differs where it was changed since */
    int n_others, n_left_out;
    const struct hypar_other *other; /* less good plans that fit, the best first */
    const struct hypar_left_out *left_out;
};

struct hypar_plan_read_options {
    const char *model;   /* instead of what the file says; NULL: as it says */
    const char *machine; /* likewise */
    bool follow_links;   /* of the model: as in struct hypar_import_options */
    /* As in struct hypar_import_options: called before a file of the model or the machine that
     * the plan names is read. */
    enum hypar_status (*reads)(void *who, const char *path, struct hypar_error *err);
    void *who;
};

/* Read the plan at `path` ("-": standard input) with its model and its machine, and check it;
 * the plan owns both. Paths in it start from the folder that the file lies in, behind links.
 * `options` may be NULL. On success *out is to be released with hypar_plan_free(). On failure
 * *out is NULL: HYPAR_UNREADABLE, HYPAR_SYNTAX or HYPAR_INVALID if it is not a plan (or its
 * model or machine cannot be made), HYPAR_INFEASIBLE if it does not fit the model or the
 * machine. */
HYPAR_API enum hypar_status hypar_plan_read(struct hypar_plan **out, const char *path,
                                            const struct hypar_plan_read_options *options,
                                            struct hypar_error *err);

/* Release a plan, with what it owns. NULL is allowed. */
HYPAR_API void hypar_plan_free(struct hypar_plan *plan);

/* Write `plan` in the form hypar-plan/1, one operator per line, which reads back identically.
 * Write errors are left in the stream. */
HYPAR_API void hypar_plan_write(const struct hypar_plan *plan, FILE *to);

/* Whether the plan fits its graph and machine; HYPAR_INFEASIBLE with the operator and reason.
 */
HYPAR_API enum hypar_status hypar_plan_check(const struct hypar_plan *plan,
                                             struct hypar_error *err);

/* Bytes of parameters, gradients and optimizer state on each device: fills bytes[device]. */
HYPAR_API void hypar_plan_state_bytes(const struct hypar_plan *plan, double *bytes);

/* HYPAR_INFEASIBLE if they do not fit: into `limit_bytes`, or a device's own memory if that is
 * 0. */
HYPAR_API enum hypar_status hypar_plan_check_memory(const struct hypar_plan *plan,
                                                    double limit_bytes,
                                                    struct hypar_error *err);

/* What the plan is for; owned by it or by whoever made it, valid as long as the plan. */
HYPAR_API const struct hypar_graph *hypar_plan_graph(const struct hypar_plan *plan);
HYPAR_API const struct hypar_machine *hypar_plan_machine(const struct hypar_plan *plan);
HYPAR_API const char *hypar_plan_model(const struct hypar_plan *plan); /* as in the file */
HYPAR_API enum hypar_precision hypar_plan_precision(const struct hypar_plan *plan);
HYPAR_API enum hypar_optimizer hypar_plan_optimizer(const struct hypar_plan *plan);
/* ... of the gradients of parameters: theirs, or fp32 beside shorter ones */
HYPAR_API enum hypar_precision hypar_plan_gradient_precision(const struct hypar_plan *plan);
HYPAR_API enum hypar_masks hypar_plan_masks(const struct hypar_plan *plan);
HYPAR_API int64_t hypar_plan_seed(const struct hypar_plan *plan);

/* The norm that the gradients of all parameters together may have: they are scaled down to it
 * before the update. 0: any. */
HYPAR_API double hypar_plan_clip(const struct hypar_plan *plan);

/* Bytes of each device that the framework takes, beside all that the plan needs. */
HYPAR_API double hypar_plan_framework_bytes(const struct hypar_plan *plan);

/* All that a plan says of its step as a whole, beside stages and schedule. */
struct hypar_plan_settings {
    enum hypar_precision precision;
    bool fp32_gradients; /* of parameters that are shorter; else of their precision */
    enum hypar_optimizer optimizer;
    enum hypar_masks masks;
    double framework_bytes, clip;
    int64_t seed;
    int gather_ahead; /* operators whose divided parameters are gathered before their turn: 1 */
    struct hypar_simulation simulation;
};
HYPAR_API struct hypar_plan_settings hypar_plan_settings(const struct hypar_plan *plan);

/* As it was simulated when it was searched for, or as its file says; owned by the plan. */
HYPAR_API const struct hypar_simulation *hypar_plan_simulation(const struct hypar_plan *plan);

/* Operator `op`: the degree of one of its axes, the extent of part i of that axis, ... */
HYPAR_API int hypar_plan_degree(const struct hypar_plan *plan, int op, int axis);
HYPAR_API int64_t hypar_plan_part_size(const struct hypar_plan *plan, int op, int axis, int i);
/* ... the number of its parts (the product of its degrees), and the device of each: row-major
 * in the order of its axes; under share "minibatch" those of replica 0, then of 1, ... */
HYPAR_API int hypar_plan_part_count(const struct hypar_plan *plan, int op);
HYPAR_API int hypar_plan_device_count(const struct hypar_plan *plan, int op);
HYPAR_API int hypar_plan_device(const struct hypar_plan *plan, int op, int i);
HYPAR_API bool hypar_plan_recompute(const struct hypar_plan *plan, int op);
/* ... whether what other devices received of its result is not kept, but sent again */
HYPAR_API bool hypar_plan_resend(const struct hypar_plan *plan, int op);

/* What is divided of its parameters, and among how many of the devices that hold the same: 0 is
 * all of them. */
HYPAR_API enum hypar_shard hypar_plan_shard(const struct hypar_plan *plan, int op);
HYPAR_API int hypar_plan_shard_over(const struct hypar_plan *plan, int op);

HYPAR_API int hypar_plan_op_stage(const struct hypar_plan *plan, int op); /* -1: no stages */

/* How many devices of the machine have nothing to do. */
HYPAR_API int hypar_plan_idle_devices(const struct hypar_plan *plan);

/* Are there batch norms, and several micro-batches, of each of which they take the statistics?
 * Planners then make none of fewer samples than that, unless they are asked for. */
enum { HYPAR_LEAST_NORM_SAMPLES = 8 };
HYPAR_API bool hypar_plan_divides_statistics(const struct hypar_plan *plan);

HYPAR_API int hypar_plan_stage_count(const struct hypar_plan *plan);
HYPAR_API struct hypar_stage hypar_plan_stage(const struct hypar_plan *plan, int stage);
HYPAR_API struct hypar_schedule hypar_plan_schedule(const struct hypar_plan *plan);
HYPAR_API enum hypar_updates hypar_plan_updates(const struct hypar_plan *plan);

/* What the plan was made from, where its file says so; operators may differ from it. NULL: it
 * was not; owned by the plan. */
HYPAR_API const struct hypar_layout *hypar_plan_layout(const struct hypar_plan *plan);

/* How it was found, where a search or its file says so; NULL: nobody knows; owned by the plan.
 */
HYPAR_API const struct hypar_plan_search *hypar_plan_search(const struct hypar_plan *plan);

/* Is it still as it was found? */
HYPAR_API bool hypar_plan_is_as_found(const struct hypar_plan *plan);

/* Changing a plan ----------------------------------------------------------------------
 *
 * A plan that is one's own (hypar_plan_new() in hypar/search.h, hypar_plan_copy(),
 * hypar_plan_read()) may be changed while nobody else looks at it: no program, simulation or
 * result that was made from it is in use. Each function refuses, and changes nothing, what no
 * plan can hold; whether all of it together fits, hypar_plan_check() tells, and lowering,
 * simulating and training ask it. */

/* The same plan once more. Its graph and machine must outlive it, so a plan that owns them,
 * too. To be released with hypar_plan_free(). */
HYPAR_API struct hypar_plan *hypar_plan_copy(const struct hypar_plan *plan);

/* How one operator is split, and where its parts run. */
struct hypar_split {
    int op;
    int degree[HYPAR_MAX_AXES];           /* of each of its axes; 0 counts as 1 */
    const int64_t *sizes[HYPAR_MAX_AXES]; /* of the parts of an axis; NULL: as even as can be */
    const int *device; /* in the order of hypar_plan_device(); NULL: the first ones of its
                          stage, or without stages of the machine */
};

/* How operator `op` is; its lists are the plan's, and valid until that changes. */
HYPAR_API struct hypar_split hypar_plan_split(const struct hypar_plan *plan, int op);

/* Split and place an operator; all is copied. HYPAR_INFEASIBLE, with the axis or the device. */
HYPAR_API enum hypar_status hypar_plan_set_op(struct hypar_plan *plan,
                                              const struct hypar_split *split,
                                              struct hypar_error *err);

/* Set all of them; begin with those that it has: hypar_plan_settings(). HYPAR_INFEASIBLE. */
HYPAR_API enum hypar_status hypar_plan_set_settings(struct hypar_plan *plan,
                                                    const struct hypar_plan_settings *settings,
                                                    struct hypar_error *err);

/* Cut the graph into `n` stages in place of those that there were; 0: into none. Every operator
 * is then unsplit, on the first device of its stage. All is copied. HYPAR_INFEASIBLE, with the
 * stage. */
HYPAR_API enum hypar_status hypar_plan_set_stages(struct hypar_plan *plan,
                                                  const struct hypar_stage *stage, int n,
                                                  struct hypar_error *err);

/* Schedule and micro-batches; to be set after the stages. HYPAR_INFEASIBLE. */
HYPAR_API enum hypar_status hypar_plan_set_schedule(struct hypar_plan *plan,
                                                    const struct hypar_schedule *schedule,
                                                    struct hypar_error *err);

/* A schedule by hand: for each group of devices that stages are on, in the order of the stages,
 * what they do in turn, as plans' files have it: "F0.0 F0.1 B0.0 B0.1" (phase, stage,
 * micro-batch; W: gradients apart). HYPAR_INFEASIBLE. */
HYPAR_API enum hypar_status hypar_plan_set_slots(struct hypar_plan *plan, int64_t micro_batches,
                                                 const char *const *slots, int n,
                                                 struct hypar_error *err);

/* Compute an operator's result again in the backward half, or keep it; and the same of all
 * operators, by a word. HYPAR_INFEASIBLE. */
HYPAR_API enum hypar_status hypar_plan_set_recompute(struct hypar_plan *plan, int op,
                                                     bool recompute, struct hypar_error *err);
HYPAR_API enum hypar_status hypar_plan_recompute_all(struct hypar_plan *plan,
                                                     enum hypar_recompute recompute,
                                                     struct hypar_error *err);

/* What is divided of an operator's parameters, among how many of the devices that hold the same
 * (0: all); all users of a parameter must say the same. Of all operators at once:
 * hypar_plan_shard_all() in hypar/program.h. HYPAR_INFEASIBLE. */
HYPAR_API enum hypar_status hypar_plan_set_shard(struct hypar_plan *plan, int op,
                                                 enum hypar_shard shard, int over,
                                                 struct hypar_error *err);

/* All of it anew from a layout: stages, schedule, splits, devices, recomputation, what is
 * divided. Members that are 0: 1, and the usual schedule. HYPAR_INFEASIBLE where graph or
 * machine do not fit it, and then every operator is unsplit and there are no stages. */
HYPAR_API enum hypar_status hypar_plan_set_layout(struct hypar_plan *plan,
                                                  const struct hypar_layout *layout,
                                                  struct hypar_error *err);

#ifdef __cplusplus
}
#endif

#endif /* HYPAR_PLAN_H */
