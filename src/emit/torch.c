/* Writes a plan as a Python file for PyTorch: classifies the mesh's dimensions, refuses plans
 * that PyTorch cannot run, and makes tables that give each module the plan of its operators. */
#include "emit/torch.h"

#include <math.h>
#include <string.h>

#include "emit/torch_limits.h"
#include "plan/memory_terms.h"
#include "plan/schedules.h"
#include "program/memory/memory.h"

/* Dimensions of the mesh ------------------------------------------------------------------ */

/* Does each operator divide its samples over this dimension? Operators without samples, which
 * read only parameters, must be copied along it. */
static bool divides_samples(const struct torch_script *s, int dim)
{
    for (int op = 0; op < s->graph->n_ops; op++) {
        const struct nest *nest = s->graph->ops[op].nest;
        int sample = hp_sample_axis(nest);
        uint32_t dims[MAX_AXES];
        hp_mesh_dims(&s->mesh, s->plan, op, dims);
        if (!(dims[sample >= 0 ? sample : nest->n_axes - 1] >> dim & 1))
            return false;
    }
    return true;
}

static void name_dims(struct torch_script *s)
{
    bool over = false; /* dimensions of samples must be consecutive */
    for (int d = 0; d < s->mesh.n_dims; d++) {
        if (!over && divides_samples(s, d)) {
            s->data |= (uint32_t)1 << d;
        } else {
            over |= s->data != 0;
            s->tensor[s->n_tensor++] = d;
        }
    }
}

/* Refusals -------------------------------------------------------------------------------- */

static bool is_trained(const struct hypar_graph *graph, int tensor)
{
    return graph->tensors[tensor].kind == TENSOR_PARAM && graph->tensors[tensor].needs_grad;
}

/* Find the sharding that all parameters share, except those used by several stages. */
static enum hypar_status find_shard(struct torch_script *s, struct hypar_error *err)
{
    const struct hypar_graph *graph = s->graph;
    int first = -1;
    for (int t = 0; t < graph->n_tensors; t++) {
        if (!is_trained(graph, t) || hp_param_crosses_stages(s->plan, t))
            continue;
        const struct op_plan *user = hp_param_user(s->plan, t);
        const struct op_plan *other = first < 0 ? user : hp_param_user(s->plan, first);
        if (user->shard != other->shard || user->shard_over != other->shard_over)
            return hp_fail(err, HYPAR_INFEASIBLE,
                           "parameter '%s' has shard '%s', '%s' has '%s'; PyTorch's stage has "
                           "one for all",
                           graph->tensors[t].name, hypar_shard_text(user->shard),
                           graph->tensors[first].name, hypar_shard_text(other->shard));
        first = first < 0 ? t : first;
        s->shard = user->shard;
    }
    if (s->shard != HYPAR_SHARD_NONE && !s->data)
        return hp_fail(err, HYPAR_INFEASIBLE,
                       "parameters are sharded, but no dimension of the mesh divides the "
                       "samples of all operators; fully_shard() needs one");
    int dims = hp_torch_data_dims(s), most = s->shard == HYPAR_SHARD_NONE ? 1 : 2;
    if (dims > most)
        return hp_fail(err, HYPAR_INFEASIBLE,
                       "%d dimensions of the mesh divide the samples of all operators, "
                       "PyTorch's %s has at most %d",
                       dims, most == 1 ? "replicate()" : "fully_shard()", most);
    return HYPAR_OK;
}

/* Parameters, gradients and optimizer state that each device of a stage keeps. */
struct kept {
    double planned, beyond; /* bytes as the plan counts them; extra bytes of the script */
    int tensor;             /* the parameter with most extra bytes, and the devices that divide
                             * it */
    int devices;
    double most;
};

/* Limit of the script's extra bytes as a share of the plan's count: norms and biases, which a
 * tensor layout copies. With twice this limit, a device could have 2 % more state than the plan
 * says: 1.6 GB of 80 GB, while the count should be right within 3 %. */
static const double MOST_BEYOND = 0.01;

/* The size of the mesh's dimension "data": of two dimensions that divide samples, the
 * second. */
static int data_size(const struct torch_script *s)
{
    int size = 1;
    for (int d = 0; d < s->mesh.n_dims; d++)
        size = s->data >> d & 1 ? s->mesh.size[d] : size;
    return size;
}

/* Count a parameter. In the plan, all devices that hold the same elements divide them.
 * fully_shard() divides them only along the mesh's dimension "data". */
static void add_param(const struct torch_script *s, int tensor, struct kept *kept)
{
    const struct hypar_graph *graph = s->graph;
    const struct use *use = &graph->use[graph->use_start[tensor]];
    const struct nest *nest = graph->ops[use->op].nest;
    struct shared_bytes bytes = hp_shared_bytes(s->plan, tensor);
    int limit = s->plan->ops[use->op].shard_over, pieces = 1, data = data_size(s);
    uint32_t dims[MAX_AXES], divided = 0;
    hp_mesh_dims(&s->mesh, s->plan, use->op, dims);
    for (int a = 0; a < nest->n_axes; a++)
        if (nest->operand[use->operand].axes >> a & 1)
            divided |= dims[a];
    for (int d = 0; d < s->mesh.n_dims; d++)
        pieces *= divided >> d & 1 ? s->mesh.size[d] : 1;
    int copies = s->mesh.n_devices / pieces;
    int over = limit > 0 && limit < copies ? limit : copies;
    double piece = (double)hp_shape_elements(&graph->tensors[tensor].shape) / pieces;
    double beyond = over > data ? piece * bytes.owned * (1. / data - 1. / over) : 0;
    kept->planned += piece * (bytes.held + bytes.owned / over);
    kept->beyond += beyond;
    if (beyond > kept->most) {
        kept->tensor = tensor;
        kept->devices = over;
        kept->most = beyond;
    }
}

/* Check that a device's state has the size that the plan says. */
static enum hypar_status check_state(const struct torch_script *s, struct hypar_error *err)
{
    const struct hypar_graph *graph = s->graph;
    for (int stage = 0; stage == 0 || stage < s->plan->n_stages; stage++) {
        struct kept kept = { 0 };
        for (int t = 0; t < graph->n_tensors; t++)
            if (graph->tensors[t].kind == TENSOR_PARAM &&
                graph->use_start[t] < graph->use_start[t + 1] &&
                (s->plan->n_stages == 0 || hp_param_user(s->plan, t)->stage == stage))
                add_param(s, t, &kept);
        if (kept.beyond <= MOST_BEYOND * kept.planned)
            continue;
        return hp_fail(err, HYPAR_INFEASIBLE,
                       "parameter '%s': %d devices divide its state, PyTorch's fully_shard() "
                       "divides it among the %d that divide the samples of all operators: a "
                       "device would have %.3g times the plan's state; expected samples split "
                       "alike in all operators, or no sharding",
                       graph->tensors[kept.tensor].name, kept.devices, data_size(s),
                       1 + kept.beyond / kept.planned);
    }
    return HYPAR_OK;
}

static enum hypar_status check_settings(const struct torch_script *s, struct hypar_error *err)
{
    if (s->plan->precision == HYPAR_FP16)
        return hp_fail(
            err, HYPAR_INFEASIBLE,
            "precision 'fp16' needs a loss that is scaled, which the script has not; "
            "expected bf16");
    return HYPAR_OK;
}

/* Batch norms over the samples of all replicas must be modules, because the script replaces
 * their forward function. */
static enum hypar_status find_norms(struct torch_script *s, struct hypar_error *err)
{
    for (int op = 0; op < s->graph->n_ops && s->data && !s->plan->simulation.local_bn; op++) {
        if (s->graph->ops[op].kind != OP_BATCH_NORM)
            continue;
        if (!hp_is_module(s->graph, op))
            return hp_fail(err, HYPAR_INFEASIBLE,
                           "op '%s': a batch norm that is no module has the statistics of each "
                           "replica's own samples in PyTorch; expected a plan with --local-bn",
                           s->graph->ops[op].name);
        s->norms = true;
    }
    return HYPAR_OK;
}

/* If a dimension does not divide the samples of all operators, activations are DTensors.
 * DTensor has no rule for the backward half of an average over windows, and a wrong rule for
 * group norms with divided samples (2.13). */
static enum hypar_status check_backward(const struct torch_script *s, struct hypar_error *err)
{
    if (s->graph->n_undivided > 0 && s->n_tensor > 0)
        return hp_fail(err, HYPAR_INFEASIBLE,
                       "%s: PyTorch's DTensor has no rule for it; expected splits of samples "
                       "alone in all operators",
                       s->graph->undivided[0]);
    for (int op = 0; op < s->graph->n_ops && s->n_tensor > 0; op++) {
        const struct nest *nest = s->graph->ops[op].nest;
        int sample = hp_sample_axis(nest);
        uint32_t dims[MAX_AXES];
        hp_mesh_dims(&s->mesh, s->plan, op, dims);
        bool divided = sample >= 0 && dims[sample] & ~s->data;
        if (nest->kind == OP_OPAQUE)
            return hp_fail(err, HYPAR_INFEASIBLE,
                           "op '%s' is opaque, and PyTorch's DTensor may have no rule for it; "
                           "expected splits of samples alone in all operators",
                           s->graph->ops[op].name);
        if (nest->kind == OP_AVG_POOL || (nest->kind == OP_GROUP_NORM && divided))
            return hp_fail(err, HYPAR_INFEASIBLE,
                           "op '%s': PyTorch's DTensor has no backward half of it; expected "
                           "splits of samples alone in all operators",
                           s->graph->ops[op].name);
    }
    return HYPAR_OK;
}

/* Parameters of several stages ------------------------------------------------------------ */

/* By stage, the parameter's name there: that of the module that reads it. */
static const char *tied_line(const struct torch_script *s, int tensor)
{
    const struct hypar_graph *graph = s->graph;
    const char *name = graph->tensors[tensor].name, *dot = strrchr(name, '.'), *line = "";
    int last = -1;
    for (int u = graph->use_start[tensor]; u < graph->use_start[tensor + 1]; u++) {
        int op = graph->use[u].op, stage = s->plan->ops[op].stage;
        if (stage == last)
            continue;
        const char *path = graph->ops[op].name;
        bool own = !hp_is_module(graph, op);
        const char *there =
            own ? name : hp_arena_printf(s->arena, "%s%s", path, dot ? dot : "");
        line = hp_arena_printf(s->arena, "%s%s%d: \"%s\"", line, last < 0 ? "" : ", ", stage,
                               hp_python_text(s->arena, there));
        last = stage;
    }
    return hp_arena_printf(s->arena, "    {%s},\n", line);
}

static const char *tied_lines(const struct torch_script *s)
{
    const char *lines = "";
    for (int t = 0; s->stages && t < s->graph->n_tensors; t++)
        if (is_trained(s->graph, t) && hp_param_crosses_stages(s->plan, t))
            lines = hp_arena_printf(s->arena, "%s%s", lines, tied_line(s, t));
    return lines;
}

/* The patterns of the parameters that the plan does not train, as a list. */
static const char *frozen_list(const struct torch_script *s)
{
    const char *list = "", *at = s->graph->frozen;
    while (at && *at) {
        size_t length = strcspn(at, ",");
        const char *one = hp_arena_strndup(s->arena, at, length);
        list = hp_arena_printf(s->arena, "%s%s\"%s\"", list, list[0] ? ", " : "",
                               hp_python_text(s->arena, one));
        at += length + (at[length] == ',');
    }
    return list;
}

/* Replicas and micro-batches of the script are parts of the first dimension, and have samples
 * of their own. */
static enum hypar_status check_arguments(const struct torch_script *s, struct hypar_error *err)
{
    bool divided = s->data || s->plan->schedule.micro_batches > 1;
    if (s->graph->n_mixing > 0 && divided)
        return hp_fail(
            err, HYPAR_INFEASIBLE,
            "%s mixes the samples of a batch: replicas and micro-batches, each with "
            "some of the samples, would compute another loss; expected a plan whose "
            "replicas have all samples, as '--planner 3d --data 1 --micro-batches 1'",
            s->graph->mixing[0]);
    for (int i = 0; i < s->graph->n_arguments && divided; i++)
        if (s->graph->arguments[i].sample_dim != 0)
            return hp_fail(err, HYPAR_INFEASIBLE,
                           "argument '%s' of the model has no samples in its first dimension, "
                           "which replicas and micro-batches of the script divide; expected "
                           "samples first, or a plan without these",
                           s->graph->arguments[i].name);
    return HYPAR_OK;
}

/* The plan's predictions of a step, with which the script compares its measurements. */
static enum hypar_status find_planned(const struct torch_script *s, struct torch_tables *t,
                                      struct hypar_error *err)
{
    struct hypar_program *program;
    TRY(hypar_lower(&program, s->plan, NULL, err));
    struct memory_model *memory = hp_memory(program, NULL),
                        *host = hp_memory(program, &(struct memory_options){ .host = true });
    t->planned.sent_bytes = hypar_program_totals(program).comm_bytes;
    for (int d = 0; d < memory->n_devices; d++) {
        const struct hypar_memory *m = &memory->device[d];
        t->planned.memory_bytes =
            fmax(t->planned.memory_bytes, m->allocated > 0 ? m->allocated : m->peak);
        t->planned.tensor_bytes =
            fmax(t->planned.tensor_bytes, hp_tensor_bytes(&host->device[d]));
        t->planned.saved_bytes = fmax(t->planned.saved_bytes, host->device[d].saved);
    }
    hp_memory_free(host);
    hp_memory_free(memory);
    hypar_program_free(program);
    return HYPAR_OK;
}

/* Collect all that the script needs, or refuse the plan. */
static enum hypar_status prepare(struct torch_script *s, struct torch_tables *t,
                                 struct hypar_error *err)
{
    TRY(hp_torch_can_run(s->plan, &s->mesh, s->arena, err));
    s->stages = s->plan->n_stages > 1 ? s->plan->n_stages : 0;
    s->groups =
        hp_schedule_of(s->plan)->interleaves ? s->stages / s->plan->schedule.chunks : s->stages;
    name_dims(s);
    TRY(check_settings(s, err));
    TRY(check_arguments(s, err));
    TRY(check_backward(s, err));
    TRY(find_shard(s, err));
    if (s->shard != HYPAR_SHARD_NONE)
        TRY(check_state(s, err));
    TRY(find_norms(s, err));
    TRY(hp_torch_recomputed(s, &t->recomputed, err));
    return s->stages ? hp_torch_cuts(s, &t->cuts, err) : HYPAR_OK;
}

enum hypar_status hp_check_torch(const struct hypar_plan *plan, struct hypar_error *err)
{
    struct arena arena = { 0 };
    struct torch_script s = { .plan = plan, .graph = plan->graph, .arena = &arena };
    struct torch_tables t = { 0 };
    enum hypar_status status = prepare(&s, &t, err);
    hp_arena_free(&arena);
    return status;
}

enum hypar_status hp_emit_torch(const struct hypar_plan *plan, FILE *to,
                                struct hypar_error *err)
{
    struct arena arena = { 0 };
    struct torch_script s = { .plan = plan, .graph = plan->graph, .arena = &arena };
    struct torch_tables t = { 0 };
    enum hypar_status status = prepare(&s, &t, err);
    if (status == HYPAR_OK)
        status = find_planned(&s, &t, err);
    if (status == HYPAR_OK) {
        for (int op = 0; op < s.graph->n_ops; op++) {
            s.attention |= s.graph->ops[op].kind == OP_ATTENTION;
            s.fp32_norms |=
                s.graph->ops[op].kind == OP_BATCH_NORM && plan->precision == HYPAR_BF16;
        }
        hp_torch_placements(&s, &t.placements);
        hp_torch_units(&s, &t.units);
        t.tied = tied_lines(&s);
        t.frozen = frozen_list(&s);
        hp_torch_write(&s, &t, to);
    }
    hp_arena_free(&arena);
    return status;
}
