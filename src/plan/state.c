/* Memory that a plan needs on each device for what lives from step to step: parameters, their
 * gradients and the optimizer's state. Activations are counted by the program (program/memory).
 */
#include <math.h>
#include <string.h>

#include "cost/work.h"
#include "plan/memory_terms.h"
#include "split/cover.h"

/* Mixed precision keeps a master copy of short weights, and its moments, in 32 bits. */
struct param_bytes hp_param_bytes(enum hypar_precision precision, bool fp32_gradients,
                                  enum hypar_optimizer optimizer)
{
    double weight = hp_precision_bytes(precision);
    double gradient = hp_precision_bytes(hp_gradient_precision(precision, fp32_gradients));
    double master = hp_precision_bytes(hp_master_precision(precision));
    return (struct param_bytes){ weight, gradient,
                                 master * hp_optimizer_moments(optimizer) +
                                     (weight < master ? master : 0) };
}

struct param_how hp_param_how(const struct hypar_plan *plan)
{
    return (struct param_how){
        .precision = plan->precision,
        .fp32_gradients = plan->fp32_gradients,
        .optimizer = plan->optimizer,
        .framework = &plan->simulation.framework,
        .again = plan->n_stages > 1 || plan->schedule.micro_batches > 1,
    };
}

enum hypar_shard hp_shard_as_run(const struct param_how *how, enum hypar_shard shard)
{
    bool scatters = how->framework->kernels == HYPAR_KERNELS_EAGER && !how->again &&
                    !how->framework->memory.flat_gradients;
    return shard == HYPAR_SHARD_OPTIMIZER && scatters ? HYPAR_SHARD_GRADIENTS : shard;
}

/* Does each step compute with weights that are cast from their masters? Weights are not cast
 * where they, like gradients, have buffers that last. */
static bool casts_weights(const struct param_how *how)
{
    return hp_goes_by_modules(how->framework) && !how->framework->memory.flat_gradients &&
           hp_precision_bytes(how->precision) <
               hp_precision_bytes(hp_master_precision(how->precision));
}

struct shared_bytes hp_shared_element(const struct param_how *how, enum hypar_shard shard)
{
    struct param_bytes each =
        hp_param_bytes(how->precision, how->fp32_gradients, how->optimizer);
    bool divided = shard == HYPAR_SHARD_PARAMETERS;
    bool lasts = !casts_weights(how) || (how->again && !divided);
    bool begun = !how->forward || !hp_gradients_begin(how->framework);
    double part[HYPAR_SHARD_COUNT] = { [HYPAR_SHARD_OPTIMIZER] = each.state,
                                       [HYPAR_SHARD_GRADIENTS] = begun ? each.gradient : 0,
                                       [HYPAR_SHARD_PARAMETERS] = lasts ? each.weight : 0 };
    struct shared_bytes out = { 0, 0 };
    for (int what = HYPAR_SHARD_OPTIMIZER; what < HYPAR_SHARD_COUNT; what++)
        *(what <= (int)shard ? &out.owned : &out.held) += part[what];
    return out;
}

static struct shared_bytes shared_bytes(const struct hypar_plan *plan,
                                        const struct param_how *how, int tensor)
{
    enum hypar_shard shard = hp_param_shard(plan, tensor);
    double weight = hp_precision_bytes(plan->precision);
    if (plan->graph->tensors[tensor].needs_grad)
        return hp_shared_element(how, shard);
    return shard == HYPAR_SHARD_PARAMETERS ? (struct shared_bytes){ 0, weight }
                                           : (struct shared_bytes){ weight, 0 };
}

struct shared_bytes hp_shared_bytes(const struct hypar_plan *plan, int tensor)
{
    struct param_how how = hp_param_how(plan);
    return shared_bytes(plan, &how, tensor);
}

double hp_plan_param_bytes(const struct hypar_plan *plan, const struct param_how *how,
                           int tensor)
{
    return plan->graph->tensors[tensor].needs_grad
               ? hp_shared_element(how, HYPAR_SHARD_NONE).held
               : hp_precision_bytes(plan->precision);
}

double hp_divided_weight_bytes(const struct hypar_plan *plan)
{
    struct param_how how = hp_param_how(plan);
    return casts_weights(&how) ? 0 : hp_precision_bytes(plan->precision);
}

double hp_plan_device_memory(const struct hypar_plan *plan, int device, double limit_bytes)
{
    struct memory_how how = hp_memory_how(plan);
    return limit_bytes > 0 ? limit_bytes
           : plan->memory_limit_bytes > 0
               ? plan->memory_limit_bytes
               : hp_usable_bytes(hypar_machine_device(plan->machine, device), &how);
}

const char *hp_room_words(const struct hypar_machine *machine, double limit_bytes,
                          const struct memory_how *how, bool for_tensors)
{
    static const char *const words[2][3] = {
        { "", " besides what is kept free", " allowed by --memory" },
        { " beside the framework", " beside the framework and what is kept free",
          " beside the framework allowed by --memory" },
    };
    static const struct memory_how alone;
    bool allowed = limit_bytes > 0, beside = false, kept = false;
    for (int d = 0; d < hypar_machine_device_count(machine); d++) {
        const struct hypar_device *device = hypar_machine_device(machine, d);
        double usable = hp_usable_bytes(device, &alone), filled = hp_usable_bytes(device, how);
        allowed &= limit_bytes != (double)device->memory_bytes && limit_bytes != usable &&
                   limit_bytes != filled;
        kept |= filled < usable && limit_bytes != usable;
        beside |= for_tensors && hp_device_room(device, limit_bytes, how) <
                                     hp_device_room(device, limit_bytes, &alone);
    }
    return words[beside][allowed ? 2 : kept];
}

const char *hp_limit_words(const struct hypar_plan *plan, double limit_bytes)
{
    struct memory_how how = hp_memory_how(plan);
    return hp_room_words(plan->machine, limit_bytes, &how, false);
}

/* The bytes that devices hold for one parameter. */
struct holdings {
    struct arena *scratch;
    int *of_device; /* index of its cover, -1: none */
    int n, capacity;
    struct holding {
        int device;
        struct cover cover;
    } * holding;
};

static struct cover *held_by(struct holdings *h, int device)
{
    if (h->of_device[device] < 0) {
        h->holding = GROW(h->scratch, struct holding, h->holding, h->n, &h->capacity);
        h->holding[h->n] = (struct holding){ .device = device };
        h->of_device[device] = h->n++;
    }
    return &h->holding[h->of_device[device]].cover;
}

/* Add the elements of parameter operand `o` that each part of `op` reads to those that its
 * device holds. */
static void hold_operand(const struct hypar_plan *plan, int op, int o, struct holdings *h)
{
    const struct nest *nest = plan->graph->ops[op].nest;
    const struct op_plan *placed = &plan->ops[op];
    axis_set divided = hp_divided_axes(nest, &placed->split);
    bool same = !(nest->operand[o].axes & divided); /* every part has all of it */
    struct range range[MAX_AXES];
    hp_whole_ranges(nest, range);
    struct box box = hp_region(nest, o, range);
    for (int i = 0; i < placed->n_devices; i++) {
        int part = i % placed->n_parts; /* replicas follow one another */
        if (!same && !hp_part_ranges(nest, &placed->split, part, range))
            continue;
        if (!same)
            box = hp_region(nest, o, range);
        hp_cover_add(held_by(h, placed->device[i]), h->scratch, &box);
    }
}

int hp_state_copies(const struct hypar_plan *plan, int tensor)
{
    const struct hypar_graph *g = plan->graph;
    int copies = 1, begin = g->use_start[tensor];
    bool by_stage = hp_framework_memory(&plan->simulation)->state_by_stage;
    for (int u = begin + 1; by_stage && u < g->use_start[tensor + 1]; u++) {
        bool seen = false;
        for (int v = begin; v < u; v++)
            seen |= plan->ops[g->use[v].op].device[0] == plan->ops[g->use[u].op].device[0];
        copies += !seen;
    }
    return copies;
}

/* The largest share that a holder owns of what it holds, where the mean share is `even`.
 * Pieces of rows are not even. */
static double owned_share(const struct hypar_plan *plan, const struct cover *cover, double even)
{
    const struct box *box = cover->n == 1 ? &cover->only : cover->box;
    double most = even;
    if (!plan->simulation.framework.row_shards || even >= 1)
        return even;
    for (int i = 0; i < cover->n && box[i].n_dims > 0; i++) {
        double rows = (double)(box[i].dim[0].hi - box[i].dim[0].lo);
        most = fmax(most, ceil(rows * even) / rows);
    }
    return most;
}

/* A parameter that several parts or operators on one device read is held there once. What its
 * holders divide is taken to be even, in elements or in rows: as often as each element is
 * there. */
static void count_param(const struct hypar_plan *plan, const struct param_how *how, int tensor,
                        struct holdings *h, double *bytes)
{
    const struct hypar_graph *g = plan->graph;
    if (g->use_start[tensor] == g->use_start[tensor + 1])
        return;
    struct shared_bytes size = shared_bytes(plan, how, tensor);
    double all = 0, one = (double)hp_shape_elements(&g->tensors[tensor].shape);
    struct arena_mark mark = hp_arena_mark(h->scratch);
    h->n = h->capacity = 0;
    for (int u = g->use_start[tensor]; u < g->use_start[tensor + 1]; u++)
        hold_operand(plan, g->use[u].op, g->use[u].operand, h);
    for (int i = 0; size.owned > 0 && i < h->n; i++)
        all += (double)hp_cover_elements(&h->holding[i].cover, h->scratch);
    int over = hp_param_user(plan, tensor)->shard_over;
    double share = all > one ? one / all : 1; /* of what a device holds */
    share = fmin(1, share * hp_state_copies(plan, tensor));
    if (over > 0 && share < 1. / over)
        share = 1. / over;
    for (int i = 0; i < h->n; i++) {
        const struct cover *cover = &h->holding[i].cover;
        double held = (double)hp_cover_elements(cover, h->scratch);
        bytes[h->holding[i].device] +=
            held * (size.held + owned_share(plan, cover, share) * size.owned);
        h->of_device[h->holding[i].device] = -1;
    }
    hp_arena_release(h->scratch, mark);
}

/* The state of each device by the plan's splits, before the plan is lowered. It is an upper
 * bound of the bytes that the program's tasks read: in the program parts may be empty, and
 * only the first of several parts reads a bias. One case may need more: if operators that are
 * split differently share a parameter, a device holds the box around the overlapping boxes
 * that they read. */
static void count_params(const struct hypar_plan *plan, const struct param_how *how,
                         double *bytes)
{
    const struct hypar_graph *g = plan->graph;
    struct arena scratch = { 0 };
    int n = hypar_machine_device_count(plan->machine);
    struct holdings h = { .scratch = &scratch, .of_device = NEW(&scratch, int, n) };
    for (int d = 0; d < n; d++) {
        bytes[d] = 0;
        h.of_device[d] = -1;
    }
    for (int t = 0; t < g->n_tensors; t++)
        if (g->tensors[t].kind == TENSOR_PARAM)
            count_param(plan, how, t, &h, bytes);
    hp_arena_free(&scratch);
}

void hypar_plan_state_bytes(const struct hypar_plan *plan, double *bytes)
{
    struct param_how how = hp_param_how(plan);
    count_params(plan, &how, bytes);
}

void hp_forward_state_bytes(const struct hypar_plan *plan, double *bytes)
{
    struct param_how how = hp_param_how(plan);
    how.forward = true;
    count_params(plan, &how, bytes);
}

struct memory_text hp_memory_text(double need, double has)
{
    struct memory_text text;
    hypar_format_quantity(text.need, need, HYPAR_UNIT_BYTES);
    hypar_format_quantity(text.has, has, HYPAR_UNIT_BYTES);
    if (strcmp(text.need, text.has) == 0) {
        snprintf(text.need, sizeof text.need, "%.0f B", need);
        snprintf(text.has, sizeof text.has, "%.0f B", has);
    }
    if (has <= 1) /* the least that hp_device_room() returns */
        snprintf(text.has, sizeof text.has, "nothing");
    return text;
}

enum hypar_status hp_fail_device(const struct fullest *f, const char *room_words,
                                 struct hypar_error *err)
{
    struct memory_text text = hp_memory_text(f->need, f->has);
    return hp_about(err, HYPAR_CAUSE_MEMORY,
                    hp_fail(err, HYPAR_INFEASIBLE, "device %d needs %s of memory, has %s%s",
                            f->device, text.need, text.has, room_words));
}

void hp_note_memory(struct fullest *f, int device, double need, double has)
{
    double part = need / has, lack = part > 1 ? part - 1 : 0, excess = f->excess + lack * lack;
    if (f->has == 0 || part > f->part)
        *f = (struct fullest){ device, need, has, part, 0 };
    f->excess = excess;
}

struct fullest hp_plan_fullest(const struct hypar_plan *plan, double limit_bytes)
{
    struct arena scratch = { 0 };
    int n = hypar_machine_device_count(plan->machine);
    double *bytes = NEW(&scratch, double, n);
    struct fullest fullest = { .device = -1 };
    struct memory_how how = hp_memory_how(plan);
    hypar_plan_state_bytes(plan, bytes);
    for (int d = 0; d < n; d++)
        hp_note_memory(&fullest, d, bytes[d],
                       hp_device_room(hypar_machine_device(plan->machine, d),
                                      hp_plan_device_memory(plan, d, limit_bytes), &how));
    hp_arena_free(&scratch);
    return fullest;
}

/* Bytes on the fullest device if its holders divided all of each parameter; the same as before
 * where some do already. */
static double need_if_sharded(const struct hypar_plan *plan, double limit_bytes, double need)
{
    struct arena scratch = { 0 };
    struct hypar_plan sharded = *plan;
    int n = plan->graph->n_ops;
    sharded.ops = NEW(&scratch, struct op_plan, n);
    bool any = false;
    for (int op = 0; op < n; op++) {
        any |= plan->ops[op].shard != HYPAR_SHARD_NONE;
        sharded.ops[op] = plan->ops[op];
        if (hp_op_has_params(plan->graph, op))
            sharded.ops[op].shard = HYPAR_SHARD_PARAMETERS;
    }
    if (!any)
        need = hp_plan_fullest(&sharded, limit_bytes).need;
    hp_arena_free(&scratch);
    return need;
}

enum hypar_status hypar_plan_check_memory(const struct hypar_plan *plan, double limit_bytes,
                                          struct hypar_error *err)
{
    struct fullest f = hp_plan_fullest(plan, limit_bytes);
    if (f.need <= f.has)
        return HYPAR_OK;
    struct memory_text text = hp_memory_text(f.need, f.has);
    double least = err ? need_if_sharded(plan, limit_bytes, f.need) : f.need;
    struct memory_how how = hp_memory_how(plan);
    char bytes[32], hint[80] = "";
    if (least <= f.has)
        snprintf(hint, sizeof hint, "; with --shard parameters they need %s",
                 hypar_format_quantity(bytes, least, HYPAR_UNIT_BYTES));
    hp_fail(err, HYPAR_INFEASIBLE,
            "weights, gradients and %s state need %s on device %d, which has %s%s%s",
            hypar_optimizer_text(plan->optimizer), text.need, f.device, text.has,
            hp_room_words(plan->machine, hp_plan_device_memory(plan, f.device, limit_bytes),
                          &how, true),
            hint);
    return hp_about(err, HYPAR_CAUSE_MEMORY, HYPAR_INFEASIBLE);
}
