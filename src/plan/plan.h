/* plan/plan.h - the inside of a plan, and how a planner builds one. Internal.
 *
 *     struct hypar_plan *plan = hp_plan_new(graph, machine, &settings);
 *     hp_plan_add_stage(plan, &stage);               first, if there are stages
 *     hp_plan_set_schedule(plan, &schedule);
 *     hp_plan_set(plan, op, &split, devices);        for each op; else unsplit on one device
 *     TRY(hypar_plan_check(plan, err));
 */
#ifndef PLAN_PLAN_H
#define PLAN_PLAN_H

#include <hypar/plan.h>

#include "base/arena.h"
#include "base/error.h"
#include "base/precision.h"
#include "graph/graph.h"
#include "plan/framework.h"
#include "split/split.h"

enum {
    HP_MAX_MICRO_BATCHES = 1 << 20,
    HP_MAX_PARTS = 1 << 20,      /* of one operator */
    HP_MAX_PLACEMENTS = 1 << 27, /* of all operators: 512 MiB of device numbers */
    HP_MAX_STAGES = 1 << 16,
    HP_GATHER_AHEAD = 1, /* by default */
    HP_MAX_GATHER_AHEAD = 1 << 20,
    HP_MAX_CHUNKS = 21, /* stages of one device: three slots of each are bits of 64 */
};

/* Room for sizes of parts. */
struct sizes_room {
    int64_t *own;
    int capacity;
};

/* One operator. */
struct op_plan {
    struct split split; /* sizes: only where not even */
    int n_parts;        /* the product of the degrees */
    int n_devices;      /* n_parts, or replicas * n_parts where its stage shares minibatches */
    const int *device;
    int stage; /* -1: the plan has none */
    bool recompute;
    bool resend; /* copies of its result on other devices are dropped, and sent again for the
                    backward half */
    enum hypar_shard shard;
    int shard_over; /* devices that divide a piece; 0: all that hold it */
    int *own;       /* room for `capacity` devices, reused when the split changes; or NULL */
    int capacity;
    struct sizes_room room[2]; /* in turn: the sizes of the split, and those before */
    bool in_second;            /* where they are now */
};

struct hypar_plan {
    struct arena arena; /* holds everything but graph and machine, the plan itself included */
    const struct hypar_graph *graph;
    const struct hypar_machine *machine;
    struct hypar_graph *own_graph;     /* the same, if they are to be released with the plan */
    struct hypar_machine *own_machine; /* likewise; else NULL */
    const char *model;                 /* as written in the file */
    const char *machine_word;          /* word or path as written; NULL: an object */
    enum hypar_precision precision;
    enum hypar_optimizer optimizer;
    bool fp32_gradients; /* of parameters that are shorter */
    enum hypar_masks masks;
    double framework_bytes;    /* of each device: used by the framework, not by the plan */
    double memory_limit_bytes; /* that each device may use; 0: its own memory */
    double memory_certainty;   /* the probability with which a planner wants the plan to fit;
                                  0: memory counts as predicted */
    int64_t seed;              /* >= 0 */
    struct hypar_simulation simulation;
    double clip;      /* gradients have at most this norm, all together; 0: any */
    int gather_ahead; /* operators whose divided parameters are gathered before their turn */
    struct op_plan *ops;
    int n_stages, stage_capacity;
    struct hypar_stage *stages;
    struct hypar_schedule schedule;
    int n_orders; /* schedule 'slots': lists of slots, by group of devices (slots.h) */
    struct slot_order *order;
    bool has_layout;
    struct hypar_layout layout;       /* that it was made from; operators may differ from it */
    struct hypar_plan_search *search; /* how it was found; NULL: nobody knows */
    const int *all_devices; /* 0, 1, 2, ...: the default placement, shared by all ops */
    int n_all_devices;
};

/* A plan with every operator unsplit on device 0, without stages. Graph and machine must
 * outlive it; the texts are copied. Parameters are gathered HP_GATHER_AHEAD, whatever the
 * settings say. */
struct hypar_plan *hp_plan_new(const struct hypar_graph *graph,
                               const struct hypar_machine *machine,
                               const struct hypar_plan_settings *settings);

/* Give a plan all settings but gather_ahead; the texts are copied. Recomputation is marked
 * where the settings ask for it, and never unmarked. */
void hp_plan_take_settings(struct hypar_plan *plan, const struct hypar_plan_settings *settings);

/* The same plan once more, for the same graph and machine, which it does not own. */
struct hypar_plan *hp_plan_copy(const struct hypar_plan *plan);

/* ... with other settings. */
struct hypar_plan *hp_plan_copy_with(const struct hypar_plan *plan,
                                     const struct hypar_plan_settings *settings);

/* ... on another machine, whose device[i] is device i of the plan's; NULL: all devices have the
 * same numbers there. */
struct hypar_plan *hp_plan_carry(const struct hypar_plan *plan,
                                 const struct hypar_machine *machine, const int *device,
                                 const struct hypar_plan_settings *settings);

/* Append a stage; its lists are copied, its ops sorted and moved to its first devices. */
void hp_plan_add_stage(struct hypar_plan *plan, const struct hypar_stage *stage);

/* Append a stage of the operators from .. to - 1 on n_devices devices from `first` on, whose
 * replicas share a batch. */
void hp_plan_add_range(struct hypar_plan *plan, int from, int to, int first, int n_devices,
                       int replicas);

void hp_plan_set_schedule(struct hypar_plan *plan, const struct hypar_schedule *schedule);

/* Which operators are computed again, as a word says (recompute.c). */
void hp_plan_set_recompute(struct hypar_plan *plan, enum hypar_recompute recompute);

/* The slots of each group of devices, under schedule 'slots'; all are copied. */
struct slot_order;
void hp_plan_set_orders(struct hypar_plan *plan, const struct slot_order *order, int n);

/* Split `op`; all is copied, even sizes are dropped. `device` names one for each part (and for
 * each replica of a stage that shares minibatches); NULL: the first ones of its stage (of each
 * replica's group), without stages of the machine, in order. At most HP_MAX_PARTS parts; NULL
 * only where hp_plan_has_default() says so. May be called again: room is reused. */
void hp_plan_set(struct hypar_plan *plan, int op, const struct split *split, const int *device);

/* Are two operator plans equal: parts, devices, recomputation, resending and sharding? Stages
 * are not compared. */
bool hp_same_op_plan(const struct nest *nest, const struct op_plan *a, const struct op_plan *b);

/* Are operators, devices and replicas of all stages the same; is one schedule the other? */
bool hp_same_stages(const struct hypar_plan *a, const struct hypar_plan *b);
bool hp_same_schedule(const struct hypar_schedule *a, const struct hypar_schedule *b);

/* How an operator is split: "n=4 k=2", or "whole". */
char *hp_plan_split_text(struct arena *arena, const struct hypar_plan *plan, int op);

/* How far ahead divided parameters are gathered: in layers where the framework says so, else in
 * operators. */
static inline int hp_gathers_ahead(const struct hypar_plan *plan)
{
    int layers = plan->simulation.framework.prefetch;
    return layers > 0 ? layers : plan->gather_ahead;
}

/* The first operator that uses a parameter: all of them divide it alike. */
static inline const struct op_plan *hp_param_user(const struct hypar_plan *plan, int tensor)
{
    const struct hypar_graph *g = plan->graph;
    return &plan->ops[g->use[g->use_start[tensor]].op];
}

/* The sharding of a parameter as the framework runs it. PyTorch scatters a gradient as soon as
 * it is computed, unless the gradient waits for later micro-batches: with one micro-batch
 * ZeRO-1 is ZeRO-2. */
enum hypar_shard hp_param_shard(const struct hypar_plan *plan, int tensor);

/* Does an operator have parameters? Is one used in several stages? */
bool hp_op_has_params(const struct hypar_graph *graph, int op);
bool hp_param_crosses_stages(const struct hypar_plan *plan, int tensor);

/* Make a new plan, every operator unsplit, what `layout` says (threed/threed.h): stages,
 * schedule, splits and devices. Members that are 0: data, tensor, pipeline, chunks and
 * micro-batches 1. HYPAR_INFEASIBLE where graph or machine do not fit it. */
enum hypar_status hp_plan_set_layout(struct hypar_plan *plan, const struct hypar_layout *layout,
                                     struct hypar_error *err);

/* What a target allows of a layout; NULL: anything. */
struct layout_limits {
    const bool *borders;  /* by operator: whether a stage may begin with it */
    const axis_set *axes; /* by nest: axes that may be split */
};

/* ... within limits: operators whose tensor axis may not be split are whole. */
enum hypar_status hp_plan_set_layout_at(struct hypar_plan *plan,
                                        const struct hypar_layout *layout,
                                        const struct layout_limits *limits,
                                        struct hypar_error *err);

/* The schedule of a layout that names none. */
static inline enum hypar_schedule_kind hp_layout_schedule(const struct hypar_layout *layout)
{
    return layout->pipeline <= 1 ? HYPAR_SCHEDULE_NONE
           : layout->chunks > 1  ? HYPAR_SCHEDULE_INTERLEAVED
                                 : HYPAR_SCHEDULE_1F1B;
}

/* Bytes kept for one element of a parameter. */
struct param_bytes {
    double weight, gradient;
    double state; /* the optimizer's moments, and a master copy beside short weights */
};
struct param_bytes hp_param_bytes(enum hypar_precision precision, bool fp32_gradients,
                                  enum hypar_optimizer optimizer);

/* The settings that determine how a step keeps trained parameters. */
struct param_how {
    enum hypar_precision precision;
    bool fp32_gradients;
    enum hypar_optimizer optimizer;
    const struct hypar_framework *framework; /* that runs it */
    bool again;   /* a device computes several micro-batches, or there are stages */
    bool forward; /* in the first forward half: without gradients that begin later */
};

/* The sharding as the step is run. */
enum hypar_shard hp_shard_as_run(const struct param_how *how, enum hypar_shard shard);

/* Bytes of each element that a device holds of a parameter, and of each that it owns, where its
 * holders divide it. */
struct shared_bytes {
    double held, owned;
};
struct shared_bytes hp_shared_element(const struct param_how *how, enum hypar_shard shard);
struct shared_bytes hp_shared_bytes(const struct hypar_plan *plan, int tensor);

/* The precision of the gradients of parameters. */
static inline enum hypar_precision hp_plan_gradients(const struct hypar_plan *plan)
{
    return hp_gradient_precision(plan->precision, plan->fp32_gradients);
}

/* Bytes of each element of a parameter, where nothing is divided: one that is not trained has
 * neither gradient nor state. */
double hp_plan_param_bytes(const struct hypar_plan *plan, const struct param_how *how,
                           int tensor);

/* hypar_plan_state_bytes() in the first forward half. */
void hp_forward_state_bytes(const struct hypar_plan *plan, double *bytes);

struct param_how hp_param_how(const struct hypar_plan *plan);

/* Bytes of each element of a weight that its holders divide: a framework that runs operator by
 * operator gathers short weights from their masters, and has no short ones beside these. */
double hp_divided_weight_bytes(const struct hypar_plan *plan);

/* The memory that a device of the plan may use: `limit_bytes`, or the plan's limit if that is
 * 0, or the device's own memory if that is 0, too. */
double hp_plan_device_memory(const struct hypar_plan *plan, int device, double limit_bytes);

/* The phrase behind a limit in messages (hp_room_words()): nothing if the devices have as much
 * memory. */
const char *hp_limit_words(const struct hypar_plan *plan, double limit_bytes);

/* The fullest of the devices that were checked: the device with the largest ratio of need to
 * memory, the first among equals. */
struct fullest {
    int device;
    double need, has; /* bytes; `has` is 0 before the first look */
    double part;      /* need / has: it fits, and then all do, if that is at most 1 */
    double excess;    /* missing memory of all devices: the sum of squares of the missing parts,
                         which is least if all devices lack the same part */
};
void hp_note_memory(struct fullest *f, int device, double need, double has);

/* Does it fit, on all devices that were looked at? */
static inline bool hp_fits(const struct fullest *f)
{
    return f->part <= 1;
}

/* ... of all devices, by parameters, gradients and optimizer state. `limit_bytes` as for
 * hp_plan_device_memory(). */
struct fullest hp_plan_fullest(const struct hypar_plan *plan, double limit_bytes);

/* Bytes that are needed and bytes that a device has, as texts of a message: whole bytes if the
 * short forms are equal. */
struct memory_text {
    char need[32], has[32];
};
struct memory_text hp_memory_text(double need, double has);

/* Fail because a device needs more memory than it has; `room_words` describe its memory
 * (hp_room_words()). */
enum hypar_status hp_fail_device(const struct fullest *f, const char *room_words,
                                 struct hypar_error *err);

/* Parts of all operators, those of every replica counted. */
int64_t hp_plan_parts(const struct hypar_plan *plan);

/* The devices that `op` may use: those of its stage, else all, in `groups` groups of `each`
 * devices, one group for each replica. */
struct device_pool {
    const int *device;
    int groups, each;
};
struct device_pool hp_device_pool(const struct hypar_plan *plan, int op);

/* Do two operators have the same devices in the same order? */
bool hp_same_devices(const struct op_plan *a, const struct op_plan *b);

/* How many devices `op` takes if it has `n_parts` parts. */
int64_t hp_plan_devices_needed(const struct hypar_plan *plan, int op, int64_t n_parts);

/* Whether there are devices enough for `n_parts` parts of `op` without naming them;
 * `*available` says how many there are for one replica. */
bool hp_plan_has_default(const struct hypar_plan *plan, int op, int64_t n_parts,
                         int *available);

/* As hypar_plan_read(), from a text; `name` stands in front of messages, paths are relative to
 * the current folder. */
enum hypar_status hp_plan_read_text(struct hypar_plan **out, const char *text, size_t length,
                                    const char *name,
                                    const struct hypar_plan_read_options *options,
                                    struct hypar_error *err);

/* A plan as a part of another file that has its graph and machine, too, which become the plan's
 * own, also on failure. */
struct json;
struct json_writer;
enum hypar_status hp_plan_read_json(struct hypar_plan **out, const struct json *at,
                                    struct hypar_graph *graph, struct hypar_machine *machine,
                                    struct hypar_error *err);
void hp_plan_write_json(struct json_writer *w, const char *key, const struct hypar_plan *plan);

/* Write members of the file form ("machine", "ops", "stages", "layout", "schedule"), also for
 * reports. */
void hp_plan_put_machine(struct json_writer *w, const struct hypar_plan *plan);
void hp_plan_put_ops(struct json_writer *w, const struct hypar_plan *plan);
void hp_plan_put_stages(struct json_writer *w, const struct hypar_plan *plan);
void hp_plan_put_layout(struct json_writer *w, const struct hypar_layout *layout);
void hp_plan_put_schedule(struct json_writer *w, const struct hypar_plan *plan);

/* A summary of a plan in a few words: "4 stages, 1f1b, 8 micro-batches; n=4 of 9 operators". */
char *hp_plan_summary(struct arena *arena, const struct hypar_plan *plan);

/* Record the search that found the plan; everything is copied. */
void hp_plan_set_search(struct hypar_plan *plan, const struct hypar_plan_search *search);

/* Write the member "search" of the file form, or nothing if the search is unknown; and the
 * plans of other planners in the search, also for reports. */
void hp_plan_put_search(struct json_writer *w, const struct hypar_plan *plan);
void hp_put_others(struct json_writer *w, const struct hypar_other *other, int n);

/* Is the plan unchanged since it was found? */
bool hp_plan_is_as_found(const struct hypar_plan *plan);

/* How a step is simulated (simulation.c): the members "as" and "simulation" of the file form,
 * nothing if that is by default; and the options that ask for it: "--as fsdp --half-duplex". */
void hp_put_simulation(struct json_writer *w, const struct hypar_simulation *simulation);
char *hp_simulation_text(struct arena *arena, const struct hypar_simulation *simulation);
bool hp_simulation_same(const struct hypar_simulation *a, const struct hypar_simulation *b);

#endif /* PLAN_PLAN_H */
