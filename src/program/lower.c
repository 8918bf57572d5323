/* Lowering a plan to a program: numbering all tasks and writing all blocks. Also the ranges,
 * boxes and bytes of tasks in each micro-batch. */
#include <math.h>

#include "program/blocks.h"

/* Micro-batches are contiguous; their sizes differ by at most one, the larger ones come
 * first. */
struct range hp_micro_samples(const struct hypar_program *p, int micro)
{
    int64_t batch = p->plan->graph->batch;
    return p->iteration->delayed ? (struct range){ 0, batch }
                                 : hp_even_part(batch, p->iteration->n_micro, micro);
}

int hp_task_body(const struct hypar_program *p, int task)
{
    const struct lowering *s = p->lowering;
    return hp_is_tail(p, task) ? p->n_bodies : p->task[task].block / s->training.n_items;
}

double hp_task_times(const struct hypar_program *p, int task)
{
    const struct iteration *r = p->iteration;
    int times = hp_is_tail(p, task) ? hp_period_count(r, hp_update_group(p, task))
                                    : hp_body_times(r, hp_task_body(p, task));
    return (double)times / r->n_batches;
}

struct place hp_task_place(const struct hypar_program *p, int task)
{
    return p->lowering->training.exchange[p->task[task].index].place;
}

const struct pattern *hp_task_pattern(const struct hypar_program *p, int task)
{
    int b = hp_task_body(p, task);
    return hp_exchange_pattern(p->lowering, b == p->n_bodies ? 0 : b, p->task[task].index);
}

const struct comm *hp_task_comm(const struct hypar_program *p, int task)
{
    return &hp_task_pattern(p, task)->comm[p->task[task].comm];
}

double hp_task_bytes(const struct hypar_program *p, int task)
{
    return hp_task_comm(p, task)->sent_elements *
           hp_message_bytes(p->plan, hp_task_place(p, task));
}

__extension__ typedef __int128 wide; /* a product of two extents */

/* Part i of an axis, restricted to a window of `length` elements from `begin` on: an even part,
 * or one in proportion to the sizes given for the whole `extent`. */
static struct range part_within(const struct split *split, int axis, int64_t extent, int i,
                                int64_t begin, int64_t length)
{
    int degree = split->degree[axis] ? split->degree[axis] : 1;
    struct range r = hp_even_part(length, degree, i);
    if (split->sizes[axis]) {
        int64_t before = split->begins[axis][i];
        r.lo = (int64_t)((wide)before * length / extent);
        r.hi = (int64_t)((wide)(before + split->sizes[axis][i]) * length / extent);
    }
    return (struct range){ begin + r.lo, begin + r.hi };
}

bool hp_micro_ranges(const struct hypar_graph *g, int op, const struct split *split, int part,
                     struct range samples, struct range range[MAX_AXES])
{
    const struct nest *nest = g->ops[op].nest;
    bool whole = samples.lo == 0 && samples.hi == g->batch;
    bool any = hp_part_ranges(nest, split, part, range);
    int coordinate[MAX_AXES];
    if (whole)
        return any;
    hp_part_coordinates(nest, split, part, coordinate);
    any = true;
    for (int a = 0; a < nest->n_axes; a++) {
        if (nest->axis[a].role == HYPAR_SAMPLE) {
            int64_t rows = nest->axis[a].extent / g->batch;
            range[a] = part_within(split, a, nest->axis[a].extent, coordinate[a],
                                   samples.lo * rows, (samples.hi - samples.lo) * rows);
        }
        any &= nest->axis[a].role == HYPAR_COPY || !hp_range_empty(range[a]);
    }
    return any;
}

struct box hp_micro_box(const struct hypar_program *p, int tensor, const struct box *box,
                        int micro)
{
    const struct tensor *t = &p->plan->graph->tensors[tensor];
    struct box out = *box;
    int first = hp_first_micro(p->iteration, hp_body_number(p->iteration, micro));
    if (t->sample_dim >= 0) {
        int64_t rows = t->shape.dim[t->sample_dim] / p->plan->graph->batch;
        int64_t shift = (hp_micro_samples(p, micro).lo - hp_micro_samples(p, first).lo) * rows;
        out.dim[t->sample_dim].lo += shift;
        out.dim[t->sample_dim].hi += shift;
    }
    return out;
}

enum hypar_precision hp_fp32_precision(const struct hypar_plan *plan)
{
    bool casts = plan->simulation.framework.kernels == HYPAR_KERNELS_EAGER;
    return casts ? hp_master_precision(plan->precision) : plan->precision;
}

int hp_held_bytes(const struct hypar_plan *plan, struct place place)
{
    const struct tensor *tensor = &plan->graph->tensors[place.tensor];
    if (tensor->index) /* PyTorch's have 64 bits */
        return plan->simulation.framework.kernels == HYPAR_KERNELS_EAGER ? 8 : 4;
    if (place.tensor ==
        plan->graph->loss) /* also for the norm of gradients, which has the same place */
        return hp_precision_bytes(hp_master_precision(plan->precision));
    /* sums over many numbers; eager PyTorch's are counted as it keeps them (saved.c) */
    if (tensor->kind == TENSOR_STAT &&
        plan->simulation.framework.kernels != HYPAR_KERNELS_EAGER)
        return hp_precision_bytes(hp_master_precision(plan->precision));
    bool gradient = place.grad && tensor->kind == TENSOR_PARAM;
    return hp_precision_bytes(gradient       ? hp_plan_gradients(plan)
                              : tensor->fp32 ? hp_fp32_precision(plan)
                                             : plan->precision);
}

int hp_viewed_param(const struct hypar_plan *plan, int t)
{
    const struct hypar_graph *g = plan->graph;
    bool slices = hp_goes_by_modules(&plan->simulation.framework);
    int first = t;
    for (int op = g->tensors[t].producer;
         op >= 0 &&
         (hp_is_view(g->ops[op].nest) || (slices && g->ops[op].nest->kind == OP_SLICE));
         op = g->tensors[t].producer)
        t = g->ops[op].tensor[0];
    return t != first && g->tensors[t].kind == TENSOR_PARAM ? t : -1;
}

int hp_slice_of_param(const struct hypar_plan *plan, int param)
{
    const struct hypar_graph *g = plan->graph;
    const struct op *op = &g->ops[g->use[g->use_start[param]].op];
    bool alone = g->use_start[param + 1] - g->use_start[param] == 1;
    bool slice =
        alone && op->nest->kind == OP_SLICE && hp_goes_by_modules(&plan->simulation.framework);
    return slice ? op->tensor[op->nest->n_inputs] : param;
}

/* The gradient of a view of a parameter is summed by an exchange of its own, before the
 * parameter's gradient is divided. PyTorch sums and divides it in one reduce-scatter in the
 * gradients' precision, which moves half the bytes of this sum. */
static int usual_bytes(const struct hypar_plan *plan, struct place place)
{
    int param = place.grad ? hp_viewed_param(plan, place.tensor) : -1;
    if (param < 0)
        return hp_held_bytes(plan, place);
    int bytes = hp_precision_bytes(hp_plan_gradients(plan));
    if (hp_param_user(plan, param)->shard == HYPAR_SHARD_NONE)
        return bytes;
    return plan->simulation.framework.kernels == HYPAR_KERNELS_EAGER
               ? bytes / 2
               : hp_held_bytes(plan, place);
}

/* PyTorch's batch norms compute statistics in fp32, and have parameters in fp32. */
static bool is_of_batch_norm(const struct hypar_plan *plan, int t)
{
    const struct hypar_graph *g = plan->graph;
    const struct tensor *tensor = &g->tensors[t];
    if (plan->simulation.framework.kernels != HYPAR_KERNELS_EAGER)
        return false;
    if (tensor->kind == TENSOR_PARAM)
        return g->ops[g->use[g->use_start[t]].op].kind == OP_BATCH_NORM;
    int op = tensor->producer;
    return op >= 0 && g->ops[op].kind == OP_BATCH_NORM &&
           g->ops[op].tensor[g->ops[op].nest->n_inputs] != t;
}

/* A framework may send gradients and gathered parameters in another precision than it has
 * them. */
int hp_message_bytes(const struct hypar_plan *plan, struct place place)
{
    const struct hypar_framework *framework = &plan->simulation.framework;
    enum hypar_width width = place.grad ? framework->sums : framework->gathers;
    int each = hp_precision_bytes(plan->precision), fp32 = hp_precision_bytes(HYPAR_FP32);
    bool param = plan->graph->tensors[place.tensor].kind == TENSOR_PARAM;
    if (each < fp32 && is_of_batch_norm(plan, place.tensor))
        return fp32;
    if (!param || width == HYPAR_WIDTH_USUAL || each >= fp32)
        return usual_bytes(plan, place);
    return width == HYPAR_WIDTH_FP32 ? fp32 : each;
}

int hp_param_stage(const struct hypar_program *p, int tensor)
{
    const struct hypar_graph *g = p->plan->graph;
    return p->schedule->stage_of_op[g->use[g->use_start[tensor]].op];
}

enum hypar_status hp_check_lowerable(const struct hypar_plan *plan, struct hypar_error *err)
{
    TRY(hypar_plan_check(plan, err));
    if (hp_has_choices(plan->graph)) /* operators with choices cannot be lowered */
        TRY(hypar_graph_lowerable(plan->graph, err));
    TRY(hp_check_resend(plan, err));
    return hp_check_clip(plan, err);
}

bool hp_adds_after(const struct op_parts *parts, int pass, int part)
{
    const struct pass *p = &parts->nest->pass[pass];
    axis_set partial = 0;
    if (!p->adds)
        return false;
    for (int o = 0; o < parts->nest->n_operands; o++)
        if (p->writes >> o & 1)
            partial |= hp_written_axes(parts->nest, pass, o, WRITE_PARTIAL);
    partial &= hp_divided_axes(parts->nest, parts->split);
    return !partial || hp_first_along(parts, part, partial);
}

/* Writing out -------------------------------------------------------------------------- */

static void write_computes(struct hypar_program *p, int number, const struct block *block)
{
    const struct op_parts *l = hp_pass_parts(p->blocks, block->body, block->index);
    enum phase phase = p->lowering->training.op_pass[block->index].phase;
    struct task *task = p->task + p->blocks->first[number];
    for (int part = 0; part < l->n_parts; part++)
        if (!l->empty[part])
            task[l->rank[part]] = (struct task){ .kind = TASK_COMPUTE,
                                                 .block = number,
                                                 .index = block->index,
                                                 .part = part,
                                                 .device = l->device[part],
                                                 .phase = phase };
}

/* The first comm of a bucket gives the bucket its number. */
static int bucket_of(const struct hypar_program *p, const struct block *block, int comm)
{
    const struct buckets *b = &p->blocks->buckets;
    int n_exchanges = p->lowering->training.n_exchanges;
    int lead = b->lead && block->kind == BLOCK_TAIL_EXCHANGE
                   ? b->lead[b->base[block->index - n_exchanges] + comm]
                   : -1;
    if (lead < 0)
        return -1;
    int exchange = b->exchange[lead];
    return p->blocks->first[hp_exchange_block(p->blocks, 0, n_exchanges + exchange)] + lead -
           b->base[exchange];
}

static void write_comms(struct hypar_program *p, int number, const struct block *block)
{
    const struct exchange *exchange = &p->lowering->training.exchange[block->index];
    enum phase phase = block->kind == BLOCK_TAIL_EXCHANGE ? PHASE_UPDATE
                       : exchange->backward               ? PHASE_BACKWARD
                                                          : PHASE_FORWARD;
    struct task *task = p->task + p->blocks->first[number];
    for (int c = 0; c < p->blocks->size[number]; c++)
        task[c] = (struct task){ .kind = TASK_COMM,
                                 .block = number,
                                 .index = block->index,
                                 .comm = c,
                                 .device = -1,
                                 .bucket = bucket_of(p, block, c),
                                 .phase = phase };
}

static void write_norm(struct hypar_program *p, int number, const struct block *block)
{
    struct task *task = p->task + p->blocks->first[number];
    for (int i = 0; i < p->blocks->size[number]; i++)
        task[i] = (struct task){ .kind = TASK_NORM,
                                 .block = number,
                                 .index = block->index,
                                 .device = p->lowering->norm.device[i],
                                 .phase = PHASE_UPDATE };
}

static void write_updates(struct hypar_program *p, int number, const struct block *block)
{
    const int *device = hp_update_devices(p->lowering, block->index)->device;
    struct task *task = p->task + p->blocks->first[number];
    for (int i = 0; i < p->blocks->size[number]; i++)
        task[i] = (struct task){ .kind = TASK_UPDATE,
                                 .block = number,
                                 .index = block->index,
                                 .device = device[i],
                                 .phase = PHASE_UPDATE };
}

static void write_blocks(struct hypar_program *p)
{
    static void (*const write[])(struct hypar_program *, int, const struct block *) = {
        [BLOCK_COMPUTE] = write_computes,    [BLOCK_EXCHANGE] = write_comms,
        [BLOCK_TAIL_EXCHANGE] = write_comms, [BLOCK_NORM] = write_norm,
        [BLOCK_UPDATE] = write_updates,
    };
    for (int i = 0; i < p->blocks->n_blocks; i++) {
        struct block block = hp_block_at(p->blocks, i);
        if (p->blocks->size[i])
            write[block.kind](p, i, &block);
    }
}

static struct hypar_program *without_tasks(struct lowering *s)
{
    struct arena arena = { 0 };
    struct hypar_program *p = NEW(&arena, struct hypar_program, 1);
    p->arena = arena;
    p->plan = s->plan;
    p->lowering = s;
    p->blocks = hp_blocks_new(s, NULL, NULL);
    p->iteration = &s->iteration;
    p->schedule = &s->schedule;
    p->n_bodies = s->n_bodies;
    return p;
}

static void write_tasks(struct hypar_program *p)
{
    p->n_tasks = hp_number_tasks(p->blocks);
    p->task = NEW(&p->arena, struct task, p->n_tasks);
    write_blocks(p);
    struct task_edges edges = hp_all_edges(p->blocks, p->n_tasks, &p->arena);
    p->after_start = edges.start;
    p->after = edges.after;
    p->first = NEW(&p->arena, int, p->n_bodies + 2);
    for (int b = 0; b <= p->n_bodies; b++)
        p->first[b] = p->blocks->first[b * p->lowering->training.n_items];
    p->first[p->n_bodies + 1] = p->n_tasks;
    p->update_group = NEW(&p->arena, int, p->n_tasks - p->first[p->n_bodies]);
    for (int t = p->first[p->n_bodies]; t < p->n_tasks; t++)
        p->update_group[t - p->first[p->n_bodies]] =
            hp_exchange_group(p->lowering, p->task[t].index);
}

enum hypar_status hp_check_lower_options(const struct hypar_lower_options *options,
                                         struct hypar_error *err)
{
    if (!isfinite(options->bucket_bytes) || options->bucket_bytes < 0)
        return hp_fail(err, HYPAR_INVALID, "bucket_bytes %g, expected 0 or more",
                       options->bucket_bytes);
    if (options->minibatches < 0)
        return hp_fail(err, HYPAR_INVALID, "minibatches %lld, expected 0 or more",
                       (long long)options->minibatches);
    return HYPAR_OK;
}

enum hypar_status hp_lower(struct hypar_program **out, const struct hypar_plan *plan,
                           const struct hypar_lower_options *options,
                           struct lowering_cache *cache, struct hypar_error *err)
{
    struct hypar_lower_options planned = { .bucket_bytes =
                                               plan->simulation.framework.bucket_bytes,
                                           .local_bn = plan->simulation.local_bn };
    struct lowering *lowering;
    *out = NULL;
    if (options)
        TRY(hp_check_lower_options(options, err));
    TRY(hp_check_lowerable(plan, err));
    TRY(hp_lowering_make(&lowering, plan, options ? options : &planned, cache, err));
    enum hypar_status status = hp_check_divided(lowering, err);
    if (status == HYPAR_OK)
        *out = without_tasks(lowering);
    else
        hp_lowering_free(lowering);
    return status;
}

enum hypar_status hypar_lower(struct hypar_program **out, const struct hypar_plan *plan,
                              const struct hypar_lower_options *options,
                              struct hypar_error *err)
{
    TRY(hp_lower(out, plan, options, NULL, err));
    write_tasks(*out);
    return HYPAR_OK;
}

void hypar_program_free(struct hypar_program *program)
{
    if (!program)
        return;
    hp_blocks_free(program->blocks);
    hp_lowering_free(program->lowering);
    hypar_plan_free(program->own_plan);
    hp_arena_free(&program->arena);
}
