/* Decides whether PyTorch can run a plan: a table of operators, a table of schedules, and a
 * mesh for all operators. */
#include "emit/torch_limits.h"

#include <string.h>

#include "emit/target.h"
#include "emit/torch.h"
#include "plan/check.h"

/* The axes by which DTensor divides an operator. Samples and copies are always divided. */
struct torch_row {
    const char *axes; /* letters; "*": all that a plan may split; "=": axes that index all of
                       * the operator's tensors alike, element by element; NULL: none */
    bool even;        /* parts must be equal, because dimensions are cut or joined or means are
                       * taken; parts of positions (t, heads) must always be equal */
    const char *why;  /* why other axes are not split; NULL: DTensor has no rule for them */
};

static const char CONV[] = "PyTorch's DTensor splits a convolution by samples alone, it has no "
                           "halo exchange and no rule for channels";
static const char WINDOW[] = "PyTorch's DTensor has no halo exchange";
static const char WHOLE_LINE[] = "PyTorch's DTensor gathers what is normalised";
static const char RECURRENT[] = "PyTorch runs a recurrent layer whole";

#define ELEMENT_WISE     \
    {                    \
        "*", false, NULL \
    }
#define MEAN            \
    {                   \
        "*", true, NULL \
    } /* the mean of the parts' means */
#define VIEW            \
    {                   \
        "*", true, NULL \
    }
#define ALONG                                                                 \
    {                                                                         \
        "=", true, "PyTorch's DTensor gathers what is joined or cut along it" \
    }

/* An operator that is not listed is split only by samples and copies. */
static const struct torch_row rows[OP_KIND_COUNT] = {
    [OP_LINEAR] = { "tukc", false, NULL },
    [OP_EMBEDDING] = { "tukv", false, NULL },
    [OP_CONV] = { NULL, true, CONV },
    [OP_GROUP_CONV] = { NULL, true, CONV },
    [OP_CONV_TRANSPOSE] = { NULL, true, CONV },
    [OP_GROUP_CONV_TRANSPOSE] = { NULL, true, CONV },
    [OP_LSTM] = { NULL, true, RECURRENT },
    [OP_LSTM_CELL] = { NULL, true, RECURRENT },
    [OP_GRU] = { NULL, true, RECURRENT },
    [OP_GRU_CELL] = { NULL, true, RECURRENT },
    [OP_MATMUL] = { "bmkc", true, NULL },
    [OP_ATTENTION] = { "a", true, "PyTorch's DTensor splits attention by samples and heads" },
    [OP_MAX_POOL] = { "c", false, WINDOW },
    [OP_AVG_POOL] = { NULL, true, WINDOW },
    [OP_ADAPTIVE_MAX_POOL] = { NULL, true, WINDOW },
    [OP_ADAPTIVE_AVG_POOL] = { "c", false, WINDOW },
    [OP_RESIZE_NEAREST] = { "c", false, WINDOW },
    [OP_RESIZE_LINEAR] = { "c", false, WINDOW },
    [OP_LRN] = { NULL, true, WINDOW },
    [OP_BATCH_NORM] = { "c", false, WHOLE_LINE },
    [OP_LAYER_NORM] = { "tu", false, WHOLE_LINE },
    [OP_RMS_NORM] = { "tu", false, WHOLE_LINE },
    [OP_SOFTMAX] = { "tu", false, WHOLE_LINE },
    [OP_LOG_SOFTMAX] = { "tu", false, WHOLE_LINE },
    [OP_CROSS_ENTROPY] = { "tuc", false, NULL },
    [OP_MSE_LOSS] = MEAN,
    [OP_ADD] = ELEMENT_WISE,
    [OP_SUB] = ELEMENT_WISE,
    [OP_MUL] = ELEMENT_WISE,
    [OP_DIV] = ELEMENT_WISE,
    [OP_MINIMUM] = ELEMENT_WISE,
    [OP_MAXIMUM] = ELEMENT_WISE,
    [OP_WHERE] = ELEMENT_WISE,
    [OP_RELU] = ELEMENT_WISE,
    [OP_GELU] = ELEMENT_WISE,
    [OP_GELU_TANH] = ELEMENT_WISE,
    [OP_SILU] = ELEMENT_WISE,
    [OP_SIGMOID] = ELEMENT_WISE,
    [OP_TANH] = ELEMENT_WISE,
    [OP_LEAKY_RELU] = ELEMENT_WISE,
    [OP_ELU] = ELEMENT_WISE,
    [OP_SOFTPLUS] = ELEMENT_WISE,
    [OP_CLIP] = ELEMENT_WISE,
    [OP_EXP] = ELEMENT_WISE,
    [OP_LOG] = ELEMENT_WISE,
    [OP_SQRT] = ELEMENT_WISE,
    [OP_SIN] = ELEMENT_WISE,
    [OP_COS] = ELEMENT_WISE,
    [OP_POW] = ELEMENT_WISE,
    [OP_ERF] = ELEMENT_WISE,
    [OP_ABS] = ELEMENT_WISE,
    [OP_NEG] = ELEMENT_WISE,
    [OP_AFFINE] = ELEMENT_WISE,
    [OP_DROPOUT] = ELEMENT_WISE,
    [OP_IDENTITY] = ELEMENT_WISE,
    [OP_ROPE] = { "ta", true, NULL },
    [OP_CUMSUM] = ELEMENT_WISE,
    [OP_CONCAT] = ALONG,
    [OP_SPLIT] = ALONG,
    [OP_SLICE] = ALONG,
    [OP_PAD] = ALONG,
    [OP_TRANSPOSE] = VIEW,
    [OP_RESHAPE] = VIEW,
    [OP_FLATTEN] = VIEW,
    [OP_SQUEEZE] = VIEW,
    [OP_UNSQUEEZE] = VIEW,
    [OP_EXPAND] = VIEW,
    [OP_REDUCE_SUM] = ELEMENT_WISE,
    [OP_REDUCE_MEAN] = MEAN,
    [OP_REDUCE_MAX] = ELEMENT_WISE,
    [OP_GLOBAL_AVG_POOL] = MEAN,
};

/* Schedules of torch.distributed.pipelining. Without stages, micro-batches are a loop; with a
 * single micro-batch, all schedules are equal. */
static const char *const schedules[HYPAR_SCHEDULE_COUNT] = {
    [HYPAR_SCHEDULE_NONE] = "ScheduleGPipe",
    [HYPAR_SCHEDULE_GPIPE] = "ScheduleGPipe",
    [HYPAR_SCHEDULE_1F1B] = "Schedule1F1B",
    [HYPAR_SCHEDULE_INTERLEAVED] = "ScheduleInterleaved1F1B",
};

const char *hp_torch_schedule(enum hypar_schedule_kind kind)
{
    return kind < HYPAR_SCHEDULE_COUNT ? schedules[kind] : NULL;
}

/* Does the axis index a whole dimension, in order, of every tensor that it indexes? */
static bool is_plain(const struct nest *nest, int axis)
{
    for (int o = 0; o < nest->n_operands; o++) {
        const struct operand *x = &nest->operand[o];
        for (int d = 0; d < x->n_dims; d++) {
            const struct dim_map *map = &x->dim[d];
            if (map->n_axes == 0 || map->axis[0] != axis)
                continue;
            if (map->kind != DIM_AXIS || map->stride != 1 || map->pad != 0 || map->span != 1 ||
                x->size[d] != nest->axis[axis].extent)
                return false;
        }
    }
    return true;
}

static bool may_split(const struct nest *nest, int axis)
{
    const struct hypar_axis *a = &nest->axis[axis];
    const char *axes = rows[nest->kind].axes;
    if (!a->splittable)
        return false;
    if (a->role == HYPAR_SAMPLE || a->role == HYPAR_COPY)
        return true;
    if (!axes)
        return false;
    return axes[0] == '*' ||
           (axes[0] == '=' ? is_plain(nest, axis) : strchr(axes, a->name[0]) != NULL);
}

axis_set hp_torch_axes(const struct nest *nest)
{
    axis_set axes = 0;
    for (int a = 0; a < nest->n_axes; a++)
        if (may_split(nest, a))
            axes |= (axis_set)1 << a;
    return axes;
}

static enum hypar_status refuse_axis(const struct nest *nest, int axis, int degree,
                                     struct hypar_error *err)
{
    char list[AXIS_LIST_BYTES] = "";
    size_t n = 0;
    const char *why = rows[nest->kind].why;
    for (int a = 0; a < nest->n_axes; a++)
        if (may_split(nest, a))
            n += (size_t)snprintf(list + n, sizeof list - n, "%s%c", n ? ", " : "",
                                  nest->axis[a].name[0]);
    return hp_fail(err, HYPAR_INFEASIBLE, "axis '%c' is split %d ways, %s; expected one of %s",
                   nest->axis[axis].name[0], degree,
                   why ? why : "PyTorch's DTensor has no rule for it", list);
}

/* Each device must have the same number of whole samples of a micro-batch. */
static enum hypar_status check_samples(const struct hypar_plan *plan, const struct nest *nest,
                                       int axis, int degree, struct hypar_error *err)
{
    int64_t batch = plan->graph->batch, micro_batches = plan->schedule.micro_batches;
    if (batch % (micro_batches * degree) == 0)
        return HYPAR_OK;
    return hp_fail(err, HYPAR_INFEASIBLE,
                   "axis '%c' is split %d ways in each of %lld micro-batch%s, PyTorch's have "
                   "equal parts; expected a batch that they divide, not %lld",
                   nest->axis[axis].name[0], degree, (long long)micro_batches,
                   micro_batches == 1 ? "" : "es", (long long)batch);
}

/* Do the parts have the sizes that torch.chunk() gives along each dimension of the mesh in
 * turn? A chunk has the quotient's size, rounded up; the last chunk may be shorter but not
 * empty. Without `sizes`, the function only refuses empty parts. */
static bool are_chunks(const struct mesh *mesh, uint32_t dims, int64_t extent, int degree,
                       const int64_t *sizes)
{
    for (int part = 0; part < degree; part++) {
        int64_t size = extent;
        int below = degree, rest = part;
        for (int d = 0; d < mesh->n_dims; d++) {
            if (!(dims >> d & 1))
                continue;
            below /= mesh->size[d];
            int64_t chunk = (size + mesh->size[d] - 1) / mesh->size[d];
            int64_t before = chunk * (rest / below);
            size = size - before < chunk ? size - before : chunk;
            rest %= below;
        }
        if (size < 1 || (sizes && sizes[part] != size))
            return false;
    }
    return true;
}

/* nn.MultiheadAttention keeps queries, keys and values in one parameter, and splits its product
 * into three. */
static bool is_packed(const struct hypar_graph *graph, int op)
{
    const struct op *node = &graph->ops[op];
    int weight = node->kind == OP_LINEAR ? node->tensor[1] : -1;
    return weight >= 0 && !hp_is_module(graph, op) &&
           strcmp(hp_last_part(graph->tensors[weight].name), "in_proj_weight") == 0;
}

static enum hypar_status check_packed(const struct hypar_plan *plan, int op,
                                      struct hypar_error *err)
{
    int axis = hp_nest_axis(plan->graph->ops[op].nest, 'k');
    int degree = axis < 0 ? 1 : hp_degree(&plan->ops[op].split, axis);
    if (3 % degree == 0 || !is_packed(plan->graph, op))
        return HYPAR_OK;
    return hp_fail(err, HYPAR_INFEASIBLE,
                   "axis 'k' is split %d ways, PyTorch's MultiheadAttention has queries, keys "
                   "and values in it; expected 3 parts or none",
                   degree);
}

static axis_set op_axes(const struct hypar_graph *graph, int op)
{
    const struct nest *nest = graph->ops[op].nest;
    axis_set axes = hp_torch_axes(nest);
    return is_packed(graph, op) ? axes & ~((axis_set)1 << hp_nest_axis(nest, 'k')) : axes;
}

static enum hypar_status check_sizes(const struct mesh *mesh, uint32_t dims,
                                     const struct nest *nest, const struct split *split,
                                     int axis, struct hypar_error *err)
{
    int64_t extent = nest->axis[axis].extent;
    int degree = split->degree[axis];
    const struct torch_row *row = &rows[nest->kind];
    bool position = nest->axis[axis].role == HYPAR_ATTRIBUTE;
    bool even = row->even || (position && row->axes && row->axes[0] != '*');
    if (even ? extent % degree == 0 && !split->sizes[axis]
             : are_chunks(mesh, dims, extent, degree, split->sizes[axis]))
        return HYPAR_OK;
    if (extent % degree == 0)
        return hp_fail(err, HYPAR_INFEASIBLE,
                       "axis '%c' of %lld has %d unequal parts, PyTorch's are equal; expected "
                       "no \"sizes\"",
                       nest->axis[axis].name[0], (long long)extent, degree);
    return hp_fail(err, HYPAR_INFEASIBLE,
                   "axis '%c' of %lld is split %d ways, PyTorch's parts are %s; expected a "
                   "number that divides it",
                   nest->axis[axis].name[0], (long long)extent, degree,
                   even                 ? "equal"
                   : split->sizes[axis] ? "those of torch.chunk()"
                                        : "those of torch.chunk(), none empty");
}

static enum hypar_status check_op(const struct hypar_plan *plan, const struct mesh *mesh,
                                  int op, struct hypar_error *err)
{
    const struct nest *nest = plan->graph->ops[op].nest;
    const struct split *split = &plan->ops[op].split;
    uint32_t dims[MAX_AXES];
    hp_mesh_dims(mesh, plan, op, dims);
    for (int a = 0; a < nest->n_axes; a++) {
        if (split->degree[a] <= 1 || nest->axis[a].role == HYPAR_COPY)
            continue;
        if (nest->axis[a].role == HYPAR_SAMPLE)
            TRY(check_samples(plan, nest, a, split->degree[a], err));
        TRY(check_sizes(mesh, dims[a], nest, split, a, err));
    }
    return HYPAR_OK;
}

/* Samples are left out: a batch has the same parts in all operators. */
static axis_set *misfits(const struct hypar_plan *plan, struct arena *arena)
{
    axis_set *axes = NEW(arena, axis_set, plan->graph->n_ops);
    struct mesh mesh;
    if (hp_find_mesh(&mesh, arena, plan, NULL) != HYPAR_OK)
        return axes;
    for (int op = 0; op < plan->graph->n_ops; op++) {
        const struct nest *nest = plan->graph->ops[op].nest;
        const struct split *split = &plan->ops[op].split;
        uint32_t dims[MAX_AXES];
        hp_mesh_dims(&mesh, plan, op, dims);
        for (int a = 0; a < nest->n_axes; a++)
            if (hp_degree(split, a) > 1 && nest->axis[a].role != HYPAR_COPY &&
                nest->axis[a].role != HYPAR_SAMPLE &&
                check_sizes(&mesh, dims[a], nest, split, a, NULL) != HYPAR_OK)
                axes[op] |= (axis_set)1 << a;
    }
    return axes;
}

static enum hypar_status check_axes(const struct hypar_plan *plan, int op,
                                    struct hypar_error *err)
{
    const struct nest *nest = plan->graph->ops[op].nest;
    for (int a = 0; a < nest->n_axes; a++)
        if (plan->ops[op].split.degree[a] > 1 && !may_split(nest, a))
            return refuse_axis(nest, a, plan->ops[op].split.degree[a], err);
    return check_packed(plan, op, err);
}

/* A stage is a module that passes its output to the next stage; the last stage has the loss. */
static enum hypar_status check_stages(const struct hypar_plan *plan, struct hypar_error *err)
{
    const struct hypar_graph *graph = plan->graph;
    int last = plan->n_stages - 1;
    for (int s = 0; s <= last; s++) {
        if (plan->stages[s].n_ops == 0)
            return hp_fail(err, HYPAR_INFEASIBLE, "stage %d has no operators, expected some",
                           s);
        if (plan->stages[s].share == HYPAR_SHARE_MINIBATCH)
            return hp_fail(err, HYPAR_INFEASIBLE,
                           "stage %d: replicas take micro-batches in turn, PyTorch's divide "
                           "each; expected share 'batch'",
                           s);
    }
    if (last >= 0 && graph->loss >= 0) {
        int op = graph->tensors[graph->loss].producer;
        if (op >= 0 && plan->ops[op].stage != last)
            return hp_fail(err, HYPAR_INFEASIBLE,
                           "op '%s' is in stage %d, PyTorch has the loss in the last one, %d",
                           graph->ops[op].name, plan->ops[op].stage, last);
    }
    return HYPAR_OK;
}

static enum hypar_status check_schedule(const struct hypar_plan *plan, struct hypar_error *err)
{
    const struct hypar_schedule *schedule = &plan->schedule;
    const char *name = hypar_schedule_text(schedule->kind);
    bool in_turn = plan->n_stages > 1 && schedule->micro_batches > 1; /* one after another */
    TRY(hp_check_target_schedule(&hp_target_torch, schedule->kind, in_turn, err));
    if (schedule->micro_batches <
        hp_target_least_micro_batches(&hp_target_torch, schedule->kind, plan->n_stages))
        return hp_fail(err, HYPAR_INFEASIBLE,
                       "PyTorch's schedule '%s' has at least as many micro-batches as stages, "
                       "%d, not %lld; expected gpipe",
                       name, plan->n_stages, (long long)schedule->micro_batches);
    return HYPAR_OK;
}

enum hypar_status hp_torch_can_run(const struct hypar_plan *plan, struct mesh *mesh,
                                   struct arena *arena, struct hypar_error *err)
{
    const struct hypar_graph *graph = plan->graph;
    TRY(check_schedule(plan, err));
    TRY(check_stages(plan, err));
    for (int op = 0; op < graph->n_ops; op++)
        TRY(hp_in(err, check_axes(plan, op, err), "op '%s'", graph->ops[op].name));
    TRY(hp_find_mesh(mesh, arena, plan, err));
    for (int op = 0; op < graph->n_ops; op++)
        TRY(hp_in(err, check_op(plan, mesh, op, err), "op '%s'", graph->ops[op].name));
    return HYPAR_OK;
}

static enum hypar_status check(const struct target *self, const struct hypar_plan *plan,
                               struct hypar_error *err)
{
    (void)self;
    return hp_check_torch(plan, err);
}

static enum hypar_status takes(const struct hypar_graph *graph, struct hypar_error *err)
{
    if (!graph->weights.path)
        return HYPAR_OK;
    return hp_fail(err, HYPAR_INFEASIBLE,
                   "operators of an ONNX file are no modules of PyTorch; expected the graph of "
                   "the model itself, by python -m hypar.torch");
}

const struct target hp_target_torch = {
    .name = "torch",
    .title = "PyTorch",
    .summary = "a Python file that makes a model of PyTorch parallel, and trains it",
    .command = "torchrun [--nnodes NODES --rdzv-backend c10d --rdzv-endpoint HOST:29500 "
               "]--nproc-per-node RANKS "
               "FILE package.module:function",
    .framework = "fsdp",
    .schedules = 1 << HYPAR_SCHEDULE_NONE | 1 << HYPAR_SCHEDULE_GPIPE |
                 1 << HYPAR_SCHEDULE_1F1B | 1 << HYPAR_SCHEDULE_INTERLEAVED,
    .filled = 1 << HYPAR_SCHEDULE_1F1B,
    .takes = takes,
    .notes = hp_torch_notes,
    .axes = op_axes,
    .misfits = misfits,
    .borders = hp_torch_borders,
    .quick = true,
    .check = check,
    .write = hp_emit_torch,
};
