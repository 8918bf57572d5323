/* Does it fit: room, bounds of the need, and the exact need. */
#include "search/evaluate/fit.h"

#include <math.h>

#include "program/memory/buffers.h"
#include "program/memory/memory.h"
#include "search/evaluate/verdict.h"

/* Room --------------------------------------------------------------------------------- */

double hp_room(const struct problem *problem, int device)
{
    return hp_device_room(problem->machine, device, problem->options->memory_bytes,
                          problem->options->framework_bytes);
}

double hp_least_room(const struct problem *problem)
{
    double least = INFINITY;
    for (int d = 0; d < hypar_machine_device_count(problem->machine); d++)
        least = fmin(least, hp_room(problem, d));
    return least;
}

double hp_room_for_params(const struct problem *problem)
{
    return hp_least_room(problem) / hp_bytes_per_param(problem->options->precision,
                                                       problem->options->fp32_gradients,
                                                       problem->options->optimizer);
}

struct prices hp_prices(int lowest, int highest)
{
    return (struct prices){ lowest - 1, highest + 1, highest, highest };
}

bool hp_price(const struct prices *p, double *price)
{
    if (p->enough - p->too_low <= 1)
        return false;
    *price = ldexp(1, p->at);
    return true;
}

bool hp_price_tried(struct prices *p, bool fits)
{
    bool keep = fits || p->at == p->highest;
    *(fits ? &p->enough : &p->too_low) = p->at;
    p->at = (p->too_low + p->enough) / 2;
    return keep;
}

void hp_room_together(const struct problem *problem, double *need, double *has)
{
    struct arena scratch = { 0 };
    int n = hypar_machine_device_count(problem->machine);
    double *bytes = NEW(&scratch, double, n);
    struct hypar_plan *plan = hp_plan_new(problem->graph, problem->machine, &problem->settings);
    hypar_plan_state_bytes(plan, bytes); /* all of it is on the first device */
    *need = bytes[0];
    hypar_plan_free(plan);
    hp_arena_free(&scratch);
    *has = 0;
    for (int d = 0; d < n; d++)
        *has += hp_room(problem, d);
}

/* Bounds ------------------------------------------------------------------------------- */

/* Elements that an operator reads or writes of an operand. */
static double reached(const struct op *op, int o)
{
    struct range range[MAX_AXES];
    hp_whole_ranges(op->nest, range);
    struct box box = hp_region(op->nest, o, range);
    return (double)hp_box_elements(&box);
}

/* Of a parameter that `op` is the first to read: the bytes that last, if replicas do not divide
 * it. */
static double first_read_bytes(const struct hypar_plan *plan, int op, int o)
{
    const struct hypar_graph *g = plan->graph;
    int tensor = g->ops[op].tensor[o];
    if (tensor < 0 || g->tensors[tensor].kind != TENSOR_PARAM ||
        g->use[g->use_start[tensor]].op != op || g->use[g->use_start[tensor]].operand != o ||
        hp_sample_dim(g->ops[op].nest, o) >= 0)
        return 0;
    return hp_plan_param_bytes(plan, tensor) * reached(&g->ops[op], o);
}

static double least_state(const struct hypar_plan *plan, int op)
{
    double sum = 0;
    for (int o = 0; o < plan->graph->ops[op].nest->n_operands; o++)
        sum += first_read_bytes(plan, op, o);
    return sum;
}

const double *hp_least_state(const struct problem *problem, struct arena *arena)
{
    struct hypar_plan *plan = hp_plan_new(problem->graph, problem->machine, &problem->settings);
    double *bytes = NEW(arena, double, problem->graph->n_ops);
    for (int op = 0; op < problem->graph->n_ops; op++)
        bytes[op] = least_state(plan, op);
    hypar_plan_free(plan);
    return bytes;
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
            n[op].kept += model->delta[0][i].end_kept;
    }
    hp_memory_free(model);
}

const struct op_needs *hp_op_needs(const struct problem *problem, struct arena *arena)
{
    struct hypar_plan *plan = hp_plan_new(problem->graph, problem->machine, &problem->settings);
    struct hypar_program *program;
    struct op_needs *n = NULL;
    if (hypar_lower(&program, plan, NULL, NULL) == HYPAR_OK) {
        n = NEW(arena, struct op_needs, problem->graph->n_ops);
        for (int op = 0; op < problem->graph->n_ops; op++)
            n[op].least_state = least_state(plan, op);
        add_program(n, program);
        hypar_program_free(program);
    }
    hypar_plan_free(plan);
    return n;
}

void hp_add_needs(struct op_needs *sum, const struct op_needs *needs)
{
    sum->least_state += needs->least_state;
    sum->kept += needs->kept;
}

/* The state, and what micro-batches in flight keep: of each as much as the smallest part. */
double hp_least_need(const struct op_needs *n, const struct batch_share *s)
{
    int64_t samples = s->batch / s->micro_batches / s->replicas;
    double share = (double)samples / (double)s->batch;
    return n->least_state + share * (double)s->in_flight * n->kept;
}

/* Exact -------------------------------------------------------------------------------- */

enum hypar_status hp_exact_need(const struct problem *problem, const struct hypar_plan *plan,
                                struct lowering_cache *cache, struct fullest *out,
                                struct hypar_error *err)
{
    struct arena scratch = { 0 };
    int n = hypar_machine_device_count(plan->machine);
    struct hypar_memory *memory = NEW(&scratch, struct hypar_memory, n);
    enum hypar_status status = hp_plan_memory(plan, NULL, cache, memory, err);
    *out = (struct fullest){ .device = -1 };
    for (int d = 0; d < n && status == HYPAR_OK; d++)
        hp_look_at_memory(out, d, memory[d].peak - memory[d].framework, hp_room(problem, d));
    hp_arena_free(&scratch);
    return status;
}

int hp_find_measured(const struct hypar_graph *graph)
{
    struct op_measure measure;
    for (int op = 0; op < graph->n_ops; op++)
        if (hp_op_measured(graph, op, &measure))
            return op;
    return -1;
}

static enum hypar_status check_need(const struct fullest *f, double framework_bytes,
                                    struct hypar_memory *fullest, struct hypar_error *err)
{
    *fullest = (struct hypar_memory){ .framework = framework_bytes,
                                      .peak = f->need + framework_bytes,
                                      .limit = f->has + framework_bytes };
    return hp_fits(f) ? HYPAR_OK : hp_fail_memory(f, err);
}

/* Of a plan that was simulated in part: what its program counts. */
static enum hypar_status part_fits(const struct hypar_found *found,
                                   struct hypar_memory *fullest, struct hypar_error *err)
{
    const struct hypar_part *part = &found->info.part;
    struct fullest f = { .device = -1 };
    hp_look_at_memory(&f, part->fullest_device, part->need_bytes, part->has_bytes);
    return check_need(&f, found->plan->framework_bytes, fullest, err);
}

/* Of a plan that would take long to lower: what it needs if everything is kept. */
static enum hypar_status large_fits(const struct hypar_plan *plan, double limit_bytes,
                                    struct hypar_memory *fullest, struct hypar_error *err)
{
    struct hypar_search_options options = { .memory_bytes = limit_bytes,
                                            .framework_bytes = plan->framework_bytes };
    struct problem problem = { .graph = plan->graph,
                               .machine = plan->machine,
                               .options = &options };
    struct fullest f = hp_closed_need(&problem, plan);
    return check_need(&f, plan->framework_bytes, fullest, err);
}

enum hypar_status hp_found_fits(const struct hypar_found *found, double limit_bytes,
                                struct hypar_memory *fullest, struct hypar_error *err)
{
    if (hp_in_part(found))
        return part_fits(found, fullest, err);
    if (!found->has_simulated && hp_is_large(found->plan))
        return large_fits(found->plan, limit_bytes, fullest, err);
    if (found->has_simulated) {
        *fullest = found->simulated.fullest;
        return hypar_check_fullest(found->plan, fullest, found->simulated.step.fullest_device,
                                   err);
    }
    *fullest = (struct hypar_memory){ 0 };
    enum hypar_status status = hypar_plan_fits(found->plan, limit_bytes, fullest, err);
    bool known = status == HYPAR_OK || status == HYPAR_INFEASIBLE;
    const struct planner *planner = hp_find_planner(found->info.planner);
    bool taken =
        (planner && planner->checks_memory) || hp_find_measured(found->plan->graph) >= 0;
    return !known && taken ? HYPAR_OK : status;
}

enum hypar_status hp_fail_memory(const struct fullest *f, struct hypar_error *err)
{
    struct memory_text text = hp_memory_text(f->need, f->has);
    return hp_fail(err, HYPAR_INFEASIBLE,
                   "no plan found that fits; the nearest needs %s on device %d, which has %s",
                   text.need, f->device, text.has);
}
