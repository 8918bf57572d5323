/* Needs of operators, of stages and of plans, before there is a program. */
#include "search/estimate/needs.h"

#include <math.h>

#include "program/memory/buffers.h"
#include "program/memory/memory.h"
#include "search/evaluate/room.h"

/* Operators ---------------------------------------------------------------------------- */

static struct param_how param_how(const struct problem *problem, bool again)
{
    const struct hypar_plan_settings *s = &problem->settings;
    return (struct param_how){ .precision = s->precision,
                               .fp32_gradients = s->fp32_gradients,
                               .optimizer = s->optimizer,
                               .framework = &s->simulation.framework,
                               .again = again };
}

double hp_element_state_bytes(const struct problem *problem, bool again, enum hypar_shard shard,
                              int holders)
{
    struct param_how how = param_how(problem, again);
    struct shared_bytes bytes = hp_shared_element(&how, hp_shard_as_run(&how, shard));
    return bytes.held + bytes.owned / holders;
}

double hp_param_state_bytes(const struct problem *problem, bool again)
{
    return hp_element_state_bytes(problem, again, HYPAR_SHARD_NONE, 1);
}

double hp_measured_state_bytes(const struct problem *problem)
{
    struct param_how how = param_how(problem, true);
    how.precision = HYPAR_FP32;
    return hp_shared_element(&how, HYPAR_SHARD_NONE).held;
}

const bool *hp_recomputed(struct arena *arena, const struct problem *problem,
                          enum hypar_recompute word)
{
    struct hypar_plan *plan = hp_plan_new(problem->graph, problem->machine, &problem->settings);
    hp_plan_set_recompute(plan, word);
    bool *again = NEW(arena, bool, problem->graph->n_ops);
    for (int op = 0; op < problem->graph->n_ops; op++)
        again[op] = plan->ops[op].recompute;
    hypar_plan_free(plan);
    return again;
}

/* Elements that an operator reads or writes of an operand. */
static double reached(const struct op *op, int o)
{
    struct range range[MAX_AXES];
    hp_whole_ranges(op->nest, range);
    struct box box = hp_region(op->nest, o, range);
    return (double)hp_box_elements(&box);
}

/* The state of a parameter that `op` is the first to read, if replicas do not divide it. */
static double first_read_bytes(const struct hypar_plan *plan, const struct param_how *how,
                               int op, int o)
{
    const struct hypar_graph *g = plan->graph;
    int tensor = g->ops[op].tensor[o];
    if (tensor < 0 || g->tensors[tensor].kind != TENSOR_PARAM ||
        g->use[g->use_start[tensor]].op != op || g->use[g->use_start[tensor]].operand != o ||
        hp_sample_dim(g->ops[op].nest, o) >= 0)
        return 0;
    return hp_plan_param_bytes(plan, how, tensor) * reached(&g->ops[op], o);
}

static double state_bytes(const struct hypar_plan *plan, int op, bool forward)
{
    struct param_how how = hp_param_how(plan);
    double sum = 0;
    how.forward = forward;
    for (int o = 0; o < plan->graph->ops[op].nest->n_operands; o++)
        sum += first_read_bytes(plan, &how, op, o);
    return sum;
}

const double *hp_least_state(const struct problem *problem, struct arena *arena)
{
    struct hypar_plan *plan = hp_plan_new(problem->graph, problem->machine, &problem->settings);
    double *bytes = NEW(arena, double, problem->graph->n_ops);
    for (int op = 0; op < problem->graph->n_ops; op++)
        bytes[op] = state_bytes(plan, op, false);
    hypar_plan_free(plan);
    return bytes;
}

/* Bytes that part `i` of an operator writes of a whole batch. */
static double written_bytes(const struct hypar_plan *plan, int op, int i)
{
    const struct op *at = &plan->graph->ops[op];
    struct range range[MAX_AXES];
    double bytes = 0;
    if (!hp_part_ranges(at->nest, &plan->ops[op].split, i, range))
        return 0;
    for (int o = 0; o < at->nest->n_operands; o++) {
        if (at->tensor[o] < 0 || plan->graph->tensors[at->tensor[o]].producer != op)
            continue;
        struct box box = hp_region(at->nest, o, range);
        bytes += hp_held_bytes(plan, (struct place){ .tensor = at->tensor[o] }) *
                 (double)hp_box_elements(&box);
    }
    return bytes;
}

/* Do the backward passes of an operator read all elements of their operands, and does each
 * replica have its share of them? (A stride may step over the end of a tensor; an operator
 * whose sample axis is not the batch may have fewer samples than there are replicas.) */
static bool reads_all(const struct hypar_graph *g, int i)
{
    const struct op *op = &g->ops[i];
    operand_set reads = hp_read_backward(g, op);
    for (int a = 0; a < op->nest->n_axes; a++)
        if (op->nest->axis[a].role == HYPAR_SAMPLE && op->nest->axis[a].extent != g->batch)
            return false;
    for (int o = 0; o < op->nest->n_operands; o++)
        if (reads >> o & 1 && op->tensor[o] >= 0 &&
            reached(op, o) < (double)hp_shape_elements(&g->tensors[op->tensor[o]].shape))
            return false;
    return true;
}

/* A tensor that is kept from the forward half on ends with the last task that reads it. The
 * tensor is kept on each device with an operator that reads it. */
static void add_kept(struct op_needs *n, const struct hypar_program *program)
{
    const struct hypar_graph *g = program->plan->graph;
    struct memory_model *model = hp_memory(program, NULL);
    for (int i = 0; i < model->order[0].n; i++) {
        int op = program->lowering->training.op_pass[model->order[0].at[i].op_pass].op;
        if (reads_all(g, op))
            n[op].kept += model->delta[0][i].end_kept;
    }
    hp_memory_free(model);
}

static struct op_needs own_needs(const struct problem *problem, const struct hypar_plan *plan,
                                 int op)
{
    struct op_measure m;
    if (!hp_op_measured(problem->graph, op, &m))
        return (struct op_needs){ .state = state_bytes(plan, op, false),
                                  .forward_state = state_bytes(plan, op, true),
                                  .written = written_bytes(plan, op, 0) };
    double state = hp_measured_state_bytes(problem) * m.parameter_bytes / 4;
    return (struct op_needs){ .state = state,
                              .forward_state = fmax(0, state - m.parameter_bytes),
                              .written = m.output_bytes };
}

const struct op_needs *hp_op_needs(const struct problem *problem, struct arena *arena)
{
    struct hypar_plan *plan = hp_plan_new(problem->graph, problem->machine, &problem->settings);
    struct hypar_program *program;
    struct op_needs *n = NEW(arena, struct op_needs, problem->graph->n_ops);
    bool lowered = hypar_lower(&program, plan, NULL, NULL) == HYPAR_OK;
    for (int op = 0; op < problem->graph->n_ops; op++) {
        n[op] = own_needs(problem, plan, op);
        n[op].kept = lowered ? 0 : n[op].written;
    }
    if (lowered)
        add_kept(n, program);
    hypar_program_free(program);
    hypar_plan_free(plan);
    return n;
}

void hp_add_needs(struct op_needs *sum, const struct op_needs *needs)
{
    sum->state += needs->state;
    sum->forward_state += needs->forward_state;
    sum->kept += needs->kept;
    sum->written += needs->written;
}

/* Stages and plans ----------------------------------------------------------------------- */

static double in_flight(enum need which, enum hypar_schedule_kind schedule,
                        const struct pipeline_size *size, int stage)
{
    return (which == NEED_LEAST ? hp_least_in_flight : hp_in_flight)(schedule, size, stage);
}

/* Activations are most in the first forward half, or with gradients beside them. */
static double sum_need(enum need which, double state, double forward_state, double kept)
{
    return which == NEED_LEAST ? fmax(state, forward_state + kept) : state + kept;
}

double hp_stage_need(enum need which, const struct op_needs *n, const struct sampled_stage *s)
{
    int64_t samples = s->batch / s->size.n_micro / s->replicas;
    double part = which == NEED_WRITTEN ? 1 / ((double)s->size.n_micro * s->replicas)
                                        : (double)samples / (double)s->batch;
    return sum_need(which, n->state, n->forward_state,
                    (which == NEED_WRITTEN ? n->written : n->kept) * part *
                        in_flight(which, s->schedule, &s->size, s->stage));
}

/* Each part keeps an equal share, or more where it copies: the fullest device has no less than
 * the mean of the parts. */
struct fullest hp_plan_need(enum need which, const struct problem *problem,
                            const struct op_needs *needs, const struct hypar_plan *plan)
{
    struct arena scratch = { 0 };
    struct fullest f = { .device = -1 };
    struct pipeline_size size = hp_pipeline_size(plan);
    int n = hypar_machine_device_count(plan->machine);
    double *state = NEW(&scratch, double, n), *forward = NEW(&scratch, double, n),
           *kept = NEW(&scratch, double, n);
    hypar_plan_state_bytes(plan, state);
    hp_forward_state_bytes(plan, forward);
    for (int op = 0; op < plan->graph->n_ops; op++) {
        const struct op_plan *placed = &plan->ops[op];
        double flying =
            plan->n_stages ? in_flight(which, plan->schedule.kind, &size, placed->stage) : 1;
        double part = flying / (double)plan->schedule.micro_batches;
        for (int i = 0; i < placed->n_devices; i++)
            kept[placed->device[i]] +=
                part * (which == NEED_WRITTEN ? written_bytes(plan, op, i % placed->n_parts)
                                              : needs[op].kept / (double)placed->n_parts);
    }
    for (int d = 0; d < n; d++)
        hp_note_memory(&f, d, sum_need(which, state[d], forward[d], kept[d]),
                       hp_room(problem, d));
    hp_arena_free(&scratch);
    return f;
}
