/* The step of a layout in closed form: computing, sums of tensor parts, messages between
 * stages, the bubble, and the sums of gradients that outlast the last backward half. Nothing
 * else overlaps (Narayanan et al., SC 2021, section 3). */
#include "search/threed/estimate.h"

#include "search/runnable.h"

#include <math.h>
#include <string.h>

#include "cost/kernel.h"
#include "graph/structure/repeated.h"
#include "plan/schedules.h"
#include "plan/threed/threed.h"
#include "search/estimate/needs.h"
#include "search/pipeline/work.h"

static bool is_indexed(const struct nest *nest, int o, int axis)
{
    return axis >= 0 && (nest->operand[o].axes >> axis & 1);
}

static void add(struct tensor_share *share, bool divided, double what)
{
    *(divided ? &share->divided : &share->whole) += what;
}

/* Does each part of its operator write a piece of the tensor? */
static bool is_written_divided(const struct hypar_graph *graph, int tensor,
                               const struct tensor_axis *axes)
{
    int from = graph->tensors[tensor].producer;
    const struct op *op = &graph->ops[from];
    return is_indexed(op->nest, hp_output_operand(op, tensor), axes[from].axis);
}

/* The tensors of one operator, each of which counts once. */
static void add_op(const struct layout_model *w, int i, const struct tensor_axis *axes,
                   bool *seen, bool *summed, struct tensor_shares *s)
{
    int axis = axes[i].axis;
    const struct hypar_graph *g = w->problem->graph;
    const struct op *op = &g->ops[i];
    bool weighted = hp_op_weighted(g, i);
    operand_set kept = hp_read_backward(g, op);
    add(&s->seconds, axis >= 0, w->op_s[i]);
    for (int o = 0; o < op->nest->n_operands; o++) {
        int t = op->tensor[o];
        if (t < 0)
            continue;
        const struct tensor *tensor = &g->tensors[t];
        double elements = (double)hp_shape_elements(&tensor->shape);
        bool divided = is_indexed(op->nest, o, axis);
        enum operand_role role = op->nest->operand[o].role;
        if (tensor->kind == TENSOR_PARAM && !seen[t])
            add(&s->params, divided, elements);
        else if (tensor->kind == TENSOR_ACTIVATION && !seen[t] && (kept >> o & 1) &&
                 !w->again[tensor->producer])
            add(&s->kept, is_written_divided(g, t, axes), elements);
        seen[t] |= tensor->kind == TENSOR_PARAM || (kept >> o & 1);
        bool partial = weighted && axis >= 0 && !divided && tensor->kind == TENSOR_ACTIVATION;
        if (partial && role == OPERAND_OUTPUT)
            s->summed += elements;
        else if (partial && role == OPERAND_INPUT && tensor->needs_grad && !summed[t]) {
            s->summed += elements;
            summed[t] = true;
        }
    }
}

static struct tensor_shares share_out(const struct layout_model *w,
                                      const struct hypar_layout *layout)
{
    struct arena scratch = { 0 };
    struct tensor_shares s = { 0 };
    struct tensor_axes axes;
    const struct hypar_graph *g = w->problem->graph;
    bool *seen = NEW(&scratch, bool, g->n_tensors), *summed = NEW(&scratch, bool, g->n_tensors);
    s.fits =
        hp_tensor_axes(&scratch, g, layout, w->problem->limits.axes, &axes, NULL) == HYPAR_OK;
    for (int op = 0; op < g->n_ops && s.fits; op++)
        add_op(w, op, axes.op, seen, summed, &s);
    hp_arena_free(&scratch);
    return s;
}

/* Shares of this tensor degree, with sequence parallelism or without, worked out once. */
static const struct tensor_shares *find_shares(struct layout_model *w,
                                               const struct hypar_layout *layout)
{
    int degree = layout->sequence_parallel ? -layout->tensor : layout->tensor;
    for (int i = 0; i < w->n_degrees; i++)
        if (w->degree[i] == degree)
            return &w->shares[i];
    w->degree[w->n_degrees] = degree;
    w->shares[w->n_degrees] = share_out(w, layout);
    return &w->shares[w->n_degrees++];
}

/* What passes from stage to stage: where layers are repeated, from layer to layer; else the
 * least that passes anywhere in the middle half. */
static double border_elements(struct arena *arena, const struct hypar_graph *graph)
{
    struct repeated_layers layers = hp_repeated_layers(graph);
    const int64_t *crossing = hp_crossing(arena, graph, true);
    if (layers.count > 1)
        return (double)crossing[layers.first + layers.n_ops];
    double least = INFINITY;
    for (int op = graph->n_ops / 4; op < graph->n_ops - graph->n_ops / 4; op++)
        if (crossing[op] > 0)
            least = fmin(least, (double)crossing[op]);
    return least < INFINITY ? least : 0;
}

/* The time of one sample, on the first device. */
static double sample_seconds(const struct problem *problem, int i, bool again)
{
    const struct op *op = &problem->graph->ops[i];
    struct kernel_place at = hp_problem_place(problem, 0);
    uint32_t backward = hp_backward_passes(problem->graph, op);
    uint32_t forward = hp_done_passes(problem->graph, op) & ~backward;
    struct range range[MAX_AXES];
    int sample = hp_sample_axis(op->nest);
    hp_whole_ranges(op->nest, range);
    if (sample >= 0)
        range[sample].hi = range[sample].lo + 1;
    double once_s = hp_op_seconds(op->nest, forward, range, hp_present(op), &at);
    return (again ? 2 : 1) * once_s +
           hp_op_seconds(op->nest, backward, range, hp_present(op), &at);
}

/* The time of all operators that does not shrink with the number of samples. */
static double fixed_seconds(const struct problem *problem, const double *op_s,
                            const bool *again)
{
    struct op_measure measure;
    double batch = (double)problem->graph->batch, sum = 0;
    for (int op = 0; op < problem->graph->n_ops && batch > 1; op++)
        if (!hp_op_measured(problem->graph, op, &measure))
            sum += fmax(0, sample_seconds(problem, op, again[op]) - op_s[op] / batch);
    return sum;
}

static double update_seconds(const struct problem *problem)
{
    const struct hypar_search_options *o = problem->options;
    const double many = 1e9;
    struct kernel_place at = hp_problem_place(problem, 0);
    struct work work =
        hp_update_work(many, o->precision,
                       hp_gradient_precision(o->precision, o->fp32_gradients), o->optimizer);
    return hp_stream_seconds(&work, &at) / many;
}

struct layout_model hp_layout_model(struct arena *arena, const struct problem *problem,
                                    enum hypar_recompute recompute)
{
    const struct pipeline_layers *layers = hp_pipeline_layers(arena, problem, false);
    int most = hypar_machine_device_count(problem->machine), n = 0;
    for (int t = 1; t <= most; t++)
        n += most % t == 0;
    double *op_s = NEW(arena, double, problem->graph->n_ops);
    const bool *again = hp_recomputed(arena, problem, recompute);
    for (int op = 0; op < problem->graph->n_ops; op++)
        op_s[op] = (again[op] ? 2 : 1) * layers->forward_s[op] + layers->backward_s[op];
    double touched = 0, macs_again = 0;
    for (int op = 0; op < problem->graph->n_ops; op++) {
        touched += 2 * layers->output_bytes[op] + layers->weight_bytes[op];
        macs_again += again[op] ? hp_nest_macs(problem->graph->ops[op].nest, false) : 0;
    }
    return (struct layout_model){
        .problem = problem,
        .arena = arena,
        .op_s = op_s,
        .again = again,
        .each_s = fixed_seconds(problem, op_s, again),
        .update_s = update_seconds(problem),
        .macs_again = macs_again,
        .touched_bytes = touched,
        .element_bytes = hp_element_bytes(problem->options->precision, false),
        .border = border_elements(arena, problem->graph),
        .degree = NEW(arena, int, 2 * n),
        .shares = NEW(arena, struct tensor_shares, 2 * n),
    };
}

bool hp_repeats_recompute(const struct layout_model *model, int i)
{
    size_t bytes = (size_t)model->problem->graph->n_ops * sizeof *model->again;
    for (int before = 0; before < i; before++)
        if (memcmp(model[before].again, model[i].again, bytes) == 0)
            return true;
    return false;
}

/* What each of `count` devices, `stride` apart, can send to the next: all groups of `stride`
 * such neighbours send at once, over the links of the groups that they leave. */
static double ring_bytes_per_s(const struct problem *problem, int count, int stride)
{
    double least = INFINITY;
    int size = 1; /* devices in one group of the level */
    for (int h = problem->n_levels - 1; h >= 0; h--) {
        const struct hypar_level *level = &problem->level[h];
        if ((int64_t)count * stride > size)
            least = fmin(least, level->bytes_per_s / (stride < size ? stride : size));
        size *= level->ways;
    }
    return least;
}

static double all_reduce_s(const struct problem *problem, int count, int stride, double bytes)
{
    if (count == 1)
        return 0;
    return 2.0 * (count - 1) / count * bytes / ring_bytes_per_s(problem, count, stride);
}

static struct pipeline_size size_of(const struct hypar_layout *l)
{
    return (struct pipeline_size){ l->pipeline, l->chunks, l->micro_batches };
}

/* All micro-batches through all stages, where a device takes each_s for each of them. */
static double pipeline_seconds(const struct hypar_layout *l, double each_s)
{
    struct pipeline_size size = size_of(l);
    struct stages_time t = { .sum_s = l->pipeline * each_s,
                             .most_s = each_s / l->chunks,
                             .load_s = each_s,
                             .gradient_part = HP_USUAL_GRADIENT_PART };
    return hp_schedule[l->schedule].seconds(&size, &t);
}

/* Replicas with each other: in each micro-batch, and at the end. */
struct synchronizing {
    double each_s, last_s;
};

/* Beside what is computed, a third of it forward; a sum in halves (reduce-scatter, all-gather)
 * takes half as long. */
static struct synchronizing synchronize(enum hypar_shard shard, double sum_s, double compute_s)
{
    double forward_s = compute_s / 3, backward_s = 2 * compute_s / 3;
    if (shard == HYPAR_SHARD_PARAMETERS)
        return (struct synchronizing){
            fmax(0, sum_s / 2 - forward_s) + fmax(0, sum_s - backward_s), 0
        };
    if (shard == HYPAR_SHARD_GRADIENTS)
        return (struct synchronizing){ fmax(0, sum_s / 2 - backward_s), sum_s / 2 };
    return (struct synchronizing){ 0, fmax(0, sum_s - backward_s) };
}

/* How often the parameters' bytes pass among replicas, a sum of gradients being once: halves of
 * it, as above, in each of m micro-batches and at the end. */
static double sums(enum hypar_shard shard, double m)
{
    return shard == HYPAR_SHARD_PARAMETERS  ? 1.5 * m
           : shard == HYPAR_SHARD_GRADIENTS ? (m + 1) / 2
                                            : 1;
}

bool hp_estimate_layout(struct layout_model *model, struct layout_estimate *w)
{
    const struct problem *problem = model->problem;
    const struct hypar_layout *l = &w->layout;
    const struct tensor_shares *s = find_shares(model, l);
    double e = model->element_bytes, t = l->tensor, d = l->data, p = l->pipeline;
    double m = (double)l->micro_batches;
    if (!s->fits)
        return false;
    double compute_s =
        (s->seconds.divided / t + s->seconds.whole) / (d * p * m) + model->each_s / p;
    double sum_s = all_reduce_s(problem, l->tensor, 1, s->summed * e / (d * p * m));
    double sent = model->border * e / (d * m);
    double hop_s = 0;
    if (l->pipeline > 1)
        hop_s = 2 * l->chunks * sent / t /
                ring_bytes_per_s(problem, l->pipeline, l->data * l->tensor);
    double params = (s->params.divided / t + s->params.whole) / p;
    double gradients_s = all_reduce_s(problem, l->data, l->tensor, params * e);
    struct synchronizing sync = synchronize(l->shard, gradients_s, compute_s);
    double update_s = params * model->update_s / (l->shard ? d : 1);
    w->compute_s = m * compute_s;
    w->step_s =
        pipeline_seconds(l, compute_s + sum_s + hop_s + sync.each_s) + sync.last_s + update_s;
    w->comm_s = w->step_s - w->compute_s;
    struct pipeline_size size = size_of(l);
    double in_flight = hp_in_flight(l->schedule, &size, 0);
    bool again = l->micro_batches > 1 || l->pipeline > 1;
    w->memory_bytes = params * hp_element_state_bytes(problem, again, l->shard, l->data) +
                      in_flight * e * (s->kept.divided / t + s->kept.whole) / (p * d * m);
    w->comm_bytes =
        2 * (t - 1) * s->summed * e +
        2 * (p * l->chunks - 1) * model->border * e * (l->sequence_parallel ? 1 : t) +
        2 * (d - 1) * e * sums(l->shard, m) * (s->params.divided + t * s->params.whole);
    return true;
}
