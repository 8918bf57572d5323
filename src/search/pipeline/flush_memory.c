/* Whether a pipeline that flushes fits: by the simulator's model of memory. That takes a
 * program, up to seconds of a large network on many devices, and most candidates are far from
 * the limit; so there are two bounds, which a pass over the operators gives. */
#include <math.h>

#include "plan/plan.h"
#include "program/memory/memory.h"
#include "search/pipeline/flush.h"

int64_t hp_flush_in_flight(const struct choosing *c, const struct candidate *k, int s)
{
    int64_t from_here = k->cut->n_stages - s;
    bool in_turn = c->schedule == HYPAR_SCHEDULE_1F1B;
    return in_turn && from_here < k->micro_batches ? from_here : k->micro_batches;
}

double hp_flush_closed_bytes(const struct choosing *c, const struct candidate *k, int s)
{
    const struct pipeline_states *cost = &c->states->cost;
    const struct pipeline_piece *p = &k->cut->piece[s];
    double share = (double)hp_flush_in_flight(c, k, s) / (double)k->micro_batches;
    return hp_piece_sum(cost->weight_bytes, p) + hp_piece_sum(cost->fixed_bytes, p) +
           share / k->cut->replicas * hp_piece_sum(cost->activation_bytes, p);
}

/* Operators ---------------------------------------------------------------------------- */

/* Elements that an operator reads or writes of an operand. */
static double reached(const struct op *op, int o)
{
    struct range range[MAX_AXES];
    hp_whole_ranges(op->nest, range);
    struct box box = hp_region(op->nest, o, range);
    return (double)hp_box_elements(&box);
}

/* A parameter lasts: at least what its first reader reads, if replicas do not divide that; at
 * most at each of them, with room for a message as large as its gradient. */
static void add_param(struct op_needs *n, const struct hypar_plan *plan, int tensor)
{
    const struct hypar_graph *g = plan->graph;
    double elements = (double)hp_shape_elements(&g->tensors[tensor].shape);
    double each = hp_plan_param_bytes(plan, tensor);
    for (int u = g->use_start[tensor]; u < g->use_start[tensor + 1]; u++)
        n->most_state[g->use[u].op] += (each + hp_message_bytes(plan, tensor)) * elements;
    if (g->use_start[tensor] == g->use_start[tensor + 1])
        return;
    struct use first = g->use[g->use_start[tensor]];
    if (hp_sample_dim(g->ops[first.op].nest, first.operand) < 0)
        n->least_state[first.op] += each * reached(&g->ops[first.op], first.operand);
}

/* All that an operator touches, if it were there at once. What it does not read by samples is
 * there as a whole. */
static void add_touched(struct op_needs *n, const struct hypar_plan *plan, int op, bool sampled)
{
    const struct op *at = &plan->graph->ops[op];
    for (int o = 0; o < at->nest->n_operands; o++) {
        const struct tensor *tensor =
            at->tensor[o] < 0 ? NULL : &plan->graph->tensors[at->tensor[o]];
        if (!tensor || tensor->kind == TENSOR_PARAM)
            continue;
        bool shared_out = sampled && tensor->sample_dim >= 0 &&
                          hp_sample_dim(at->nest, o) == tensor->sample_dim;
        double *sum = shared_out ? &n->sampled[op] : &n->whole[op];
        *sum +=
            hp_message_bytes(plan, at->tensor[o]) * (double)hp_shape_elements(&tensor->shape);
    }
}

/* Do the backward passes of an operator read all of what they read, and does each replica have
 * its share of that? (A stride may step over the end of a tensor; who takes other things
 * than the batch's samples for samples may have fewer of them than there are replicas.) */
static bool reads_all(const struct hypar_graph *g, int i)
{
    const struct op *op = &g->ops[i];
    uint32_t passes = hp_backward_passes(g, op);
    operand_set reads = 0;
    for (int a = 0; a < op->nest->n_axes; a++)
        if (op->nest->axis[a].role == HYPAR_SAMPLE && op->nest->axis[a].extent != g->batch)
            return false;
    for (int p = 0; p < op->nest->n_passes; p++)
        reads |= passes >> p & 1 ? op->nest->pass[p].reads : 0;
    for (int o = 0; o < op->nest->n_operands; o++)
        if (reads >> o & 1 && op->tensor[o] >= 0 &&
            reached(op, o) < (double)hp_shape_elements(&g->tensors[op->tensor[o]].shape))
            return false;
    return true;
}

/* What a device keeps of a tensor from the forward half on ends with the last task that reads
 * it; wherever its operator is, what that one reads is kept. */
static void add_program(struct op_needs *n, const struct hypar_program *program)
{
    const struct hypar_graph *g = program->plan->graph;
    struct memory_model *model = hp_memory(program, NULL);
    for (int i = 0; i < model->order[0].n; i++) {
        int op = program->lowering->training.op_pass[model->order[0].at[i].op_pass].op;
        if (reads_all(g, op))
            n->kept[op] += model->delta[0][i].end_kept;
    }
    for (int t = 0; t < g->n_tensors; t++)
        if (g->tensors[t].kind == TENSOR_PARAM)
            add_param(n, program->plan, t);
    hp_memory_free(model);
}

const struct op_needs *hp_flush_op_needs(const struct problem *problem, struct arena *arena)
{
    int n_ops = problem->graph->n_ops;
    struct hypar_plan *plan = hp_plan_new(problem->graph, problem->machine, &problem->settings);
    struct hypar_program *program;
    struct op_needs *n = NULL;
    if (hypar_lower(&program, plan, NULL, NULL) == HYPAR_OK) {
        n = NEW(arena, struct op_needs, 1);
        *n = (struct op_needs){ NEW(arena, double, n_ops), NEW(arena, double, n_ops),
                                NEW(arena, double, n_ops), NEW(arena, double, n_ops),
                                NEW(arena, double, n_ops) };
        for (int op = 0; op < n_ops; op++) {
            int axis = problem->layered->axis[op][TYPE_I];
            const struct nest *nest = problem->graph->ops[op].nest;
            add_touched(n, plan, op,
                        axis < nest->n_axes && nest->axis[axis].role == HYPAR_SAMPLE);
        }
        add_program(n, program);
        hypar_program_free(program);
    }
    hypar_plan_free(plan);
    return n;
}

/* Stages ------------------------------------------------------------------------------- */

static double device_has(const struct choosing *c, int device)
{
    return hp_device_room(c->problem->machine, device, c->problem->options->memory_bytes);
}

/* The device of a stage that has least. */
static int smallest_device(const struct choosing *c, const struct flush_cut *cut, int s)
{
    int least = s * cut->replicas;
    if (c->problem->options->memory_bytes > 0 || hypar_machine_is_uniform(c->problem->machine))
        return least;
    for (int d = least; d < (s + 1) * cut->replicas; d++)
        least = device_has(c, d) < device_has(c, least) ? d : least;
    return least;
}

void hp_flush_sum_up(const struct choosing *c, struct flush_cut *cut)
{
    const struct op_needs *n = c->needs;
    if (!n)
        return;
    cut->needs = NEW(c->arena, struct stage_needs, cut->n_stages);
    for (int s = 0; s < cut->n_stages; s++) {
        struct stage_needs *stage = &cut->needs[s];
        stage->has = device_has(c, smallest_device(c, cut, s));
        for (int op = 0; op < c->problem->graph->n_ops; op++) {
            if (!hp_state_has(c->states, cut->piece[s].last, op) ||
                hp_state_has(c->states, cut->piece[s].after, op))
                continue;
            stage->least_state += n->least_state[op];
            stage->kept += n->kept[op];
            stage->most_state += n->most_state[op];
            stage->sampled += n->sampled[op];
            stage->whole += n->whole[op];
        }
    }
}

/* The state, and what micro-batches in flight keep: of each as much as the smallest part. */
static double least_bytes(const struct choosing *c, const struct candidate *k, int s)
{
    int64_t batch = c->problem->graph->batch;
    int64_t samples = batch / k->micro_batches / k->cut->replicas;
    double share = (double)samples / (double)batch;
    return k->cut->needs[s].least_state +
           share * (double)hp_flush_in_flight(c, k, s) * k->cut->needs[s].kept;
}

/* Everything that the micro-batches in flight touch and, of the micro-batch at work, errors,
 * what is not kept, and messages: none of them is more than what it touches. */
static double most_bytes(const struct choosing *c, const struct candidate *k, int s)
{
    int64_t batch = c->problem->graph->batch, m = k->micro_batches, r = k->cut->replicas;
    int64_t samples = ((batch + m - 1) / m + r - 1) / r;
    const struct stage_needs *n = &k->cut->needs[s];
    double touched = n->whole + n->sampled * (double)samples / (double)batch;
    return n->most_state + (double)(hp_flush_in_flight(c, k, s) + 3) * touched;
}

void hp_flush_bound(const struct choosing *c, struct candidate *k)
{
    double most_part = 0;
    k->least_part = 0;
    if (!k->cut->needs) {
        k->least_part = hp_flush_fullness(c, k).part;
        k->verdict = k->least_part <= 1 ? FITS : TOO_LARGE;
        return;
    }
    for (int s = 0; s < k->cut->n_stages; s++) {
        double has = k->cut->needs[s].has;
        k->least_part = fmax(k->least_part, least_bytes(c, k, s) / has);
        most_part = fmax(most_part, most_bytes(c, k, s) / has);
    }
    k->verdict = k->least_part > 1 ? TOO_LARGE : most_part <= 1 ? FITS : UNKNOWN;
}

/* The whole ---------------------------------------------------------------------------- */

static struct fullness closed_fullness(const struct choosing *c, const struct candidate *k)
{
    struct fullness f = { .part = -1 };
    for (int s = 0; s < k->cut->n_stages; s++) {
        int device = smallest_device(c, k->cut, s);
        double need = hp_flush_closed_bytes(c, k, s), has = device_has(c, device);
        if (need / has > f.part)
            f = (struct fullness){ need / has, need, has, 0, device };
    }
    return f;
}

struct fullness hp_flush_fullness(const struct choosing *c, const struct candidate *k)
{
    struct fullness f;
    if (!k->cut->needs)
        return closed_fullness(c, k);
    struct hypar_plan *plan = hp_flush_plan(c, k);
    if (hp_fullness(c->problem, plan, NULL, &f, NULL) != HYPAR_OK)
        f = closed_fullness(c, k);
    hypar_plan_free(plan);
    return f;
}

bool hp_flush_fits(const struct choosing *c, struct candidate *k)
{
    if (k->verdict == UNKNOWN)
        k->verdict = hp_flush_fullness(c, k).part <= 1 ? FITS : TOO_LARGE;
    return k->verdict == FITS;
}
