/* Shared by the planners of pipelines: layers with their times, the machine by levels, and the
 * plan for a list of stages. */
#include "search/pipeline/work.h"

#include <math.h>

#include "cost/kernel.h"
#include "machine/machine.h"
#include "search/estimate/needs.h"
#include "search/limits.h"
#include "search/predict.h"

/* Layers ------------------------------------------------------------------------------- */

static const struct hypar_device *slowest(const struct problem *problem)
{
    const struct hypar_machine *machine = problem->machine;
    struct arena scratch = { 0 };
    int n = hypar_machine_is_uniform(machine) ? 0 : hypar_machine_device_count(machine);
    int slow = 0;
    const double *speed = n ? hp_device_speeds(&scratch, problem, n) : NULL;
    for (int d = 1; d < n; d++)
        slow = speed[d] < speed[slow] ? d : slow;
    hp_arena_free(&scratch);
    return hypar_machine_device(machine, slow);
}

static void time_layer(struct pipeline_layers *l, const struct problem *problem, int i,
                       const struct hypar_device *device)
{
    const struct op *op = &problem->graph->ops[i];
    struct range range[MAX_AXES];
    uint32_t backward = hp_backward_passes(problem->graph, op);
    uint32_t forward = hp_done_passes(problem->graph, op) & ~backward;
    hp_whole_ranges(op->nest, range);
    struct kernel_place at = hp_kernel_place(device, problem->settings.precision,
                                             &problem->settings.simulation.framework);
    l->forward_s[i] = hp_op_seconds(op->nest, forward, range, hp_present(op), &at);
    l->backward_s[i] = hp_op_seconds(op->nest, backward, range, hp_present(op), &at);
}

/* Set the sizes of a layer. Parameters count at their first use. */
static void size_layer(struct pipeline_layers *l, const struct problem *problem, int i)
{
    const struct hypar_graph *g = problem->graph;
    const struct op *op = &g->ops[i];
    double bytes = hp_element_bytes(problem->options->precision, false);
    double kept = hp_param_state_bytes(problem, true);
    for (int o = 0; o < op->nest->n_operands; o++) {
        int t = op->tensor[o];
        if (t < 0)
            continue;
        double elements = (double)hp_shape_elements(&g->tensors[t].shape);
        if (op->nest->operand[o].role == OPERAND_OUTPUT)
            l->output_bytes[i] += bytes * elements;
        struct use first = { -1, -1 };
        if (g->tensors[t].kind == TENSOR_PARAM)
            first = g->use[g->use_start[t]];
        if (first.op == i && first.operand == o) {
            l->weight_bytes[i] += bytes * elements;
            l->fixed_bytes[i] += g->tensors[t].needs_grad ? (kept - bytes) * elements : 0;
        }
    }
}

static void measured_layer(struct pipeline_layers *l, const struct problem *problem, int i,
                           const struct op_measure *m)
{
    double kept = hp_measured_state_bytes(problem);
    l->forward_s[i] = m->forward_s;
    l->backward_s[i] = m->backward_s;
    l->output_bytes[i] = m->output_bytes;
    l->weight_bytes[i] = m->parameter_bytes;
    l->fixed_bytes[i] = (kept - 4) * m->parameter_bytes / 4;
}

/* Find the readers of each operator's outputs, each once. */
static void find_readers(struct arena *arena, struct pipeline_layers *l,
                         const struct hypar_graph *g)
{
    struct arena scratch = { 0 };
    int *seen = NEW(&scratch, int, g->n_ops), capacity = 0, n = 0;
    for (int i = 0; i < g->n_ops; i++)
        seen[i] = -1;
    l->after_start = NEW(arena, int, g->n_ops + 1);
    for (int i = 0; i < g->n_ops; i++) {
        const struct op *op = &g->ops[i];
        for (int o = op->nest->n_inputs; o < op->nest->n_operands; o++) {
            int t = op->tensor[o];
            for (int u = t < 0 ? 0 : g->use_start[t]; u < (t < 0 ? 0 : g->use_start[t + 1]);
                 u++) {
                int reader = g->use[u].op;
                if (reader == i || seen[reader] == i)
                    continue;
                seen[reader] = i;
                l->after = GROW(arena, int, l->after, n, &capacity);
                l->after[n++] = reader;
            }
        }
        l->after_start[i + 1] = n;
    }
    hp_arena_free(&scratch);
}

/* Number the sets of operators that share parameters; -1 for operators that share none. */
static int *shared_sets(struct arena *arena, const struct hypar_graph *g)
{
    const struct sharing *shared = hp_sharing(arena, g, NULL);
    int *together = NEW(arena, int, g->n_ops), n = 0;
    for (int i = 0; i < g->n_ops; i++) {
        int first = shared[i].first;
        together[i] = -1;
        if (first != i && together[first] < 0)
            together[first] = n++;
        together[i] = together[first];
    }
    return together;
}

struct pipeline_layers *hp_pipeline_layers(struct arena *arena, const struct problem *problem,
                                           bool keep_shared)
{
    const struct hypar_graph *g = problem->graph;
    struct pipeline_layers *l = NEW(arena, struct pipeline_layers, 1);
    const struct hypar_device *device = slowest(problem);
    *l = (struct pipeline_layers){ .n = g->n_ops,
                                   .borders = problem->limits.borders,
                                   .forward_s = NEW(arena, double, g->n_ops),
                                   .backward_s = NEW(arena, double, g->n_ops),
                                   .weight_bytes = NEW(arena, double, g->n_ops),
                                   .output_bytes = NEW(arena, double, g->n_ops),
                                   .fixed_bytes = NEW(arena, double, g->n_ops) };
    for (int i = 0; i < g->n_ops; i++) {
        struct op_measure measure;
        if (hp_op_measured(g, i, &measure)) {
            measured_layer(l, problem, i, &measure);
            continue;
        }
        time_layer(l, problem, i, device);
        size_layer(l, problem, i);
    }
    find_readers(arena, l, g);
    if (keep_shared)
        l->together = shared_sets(arena, g);
    return l;
}

/* The machine -------------------------------------------------------------------------- */

/* The least bandwidth on the route between the first two devices. */
static double neighbour_bytes_per_s(const struct hypar_machine *machine)
{
    struct arena scratch = { 0 };
    int max = hypar_machine_longest_route(machine);
    int *links = NEW(&scratch, int, max + 1);
    int n = hypar_machine_route(machine, 0, 1, links, max);
    double least = INFINITY;
    for (int i = 0; i < n; i++)
        least = fmin(least, hypar_machine_link(machine, links[i] / 2).bytes_per_s);
    hp_arena_free(&scratch);
    return least;
}

struct pipeline_machine hp_pipeline_machine(const struct problem *problem)
{
    struct pipeline_machine m = { .n_levels = 0 };
    for (int h = problem->n_levels - 1; h >= 0; h--) {
        const struct hypar_level *level = &problem->level[h];
        bool lowest = h == problem->n_levels - 1;
        if (lowest || level->bytes_per_s < problem->level[h + 1].bytes_per_s) {
            m.workers[m.n_levels] = 1;
            m.bytes_per_s[m.n_levels++] =
                lowest ? neighbour_bytes_per_s(problem->machine) : level->bytes_per_s;
        }
        m.workers[m.n_levels - 1] *= level->ways;
    }
    if (m.n_levels == 0) { /* a single device sends nothing */
        m.workers[0] = 1;
        m.bytes_per_s[m.n_levels++] = INFINITY;
    }
    return m;
}

struct cut_states *hp_pipeline_states(struct arena *arena, const struct pipeline_layers *layers,
                                      const struct pipeline_machine *machine)
{
    int n = HP_MANY;
    while (n > HP_FEW && (hp_pipeline_work(machine, n) > HP_MOST_ADDITIONS ||
                          8 * hp_pipeline_room(machine, n) > HP_MOST_BYTES))
        n = n * 15 / 16;
    return hp_cut_states(arena, layers, n, n);
}

/* The plan ----------------------------------------------------------------------------- */

void hp_pipeline_sizes(const struct cut_states *states, struct planned_stage *stage)
{
    const struct pipeline_states *c = &states->cost;
    stage->about.weight_bytes = hp_range_sum(c->weight_bytes, stage->after, stage->last);
    stage->about.activation_bytes =
        hp_range_sum(c->activation_bytes, stage->after, stage->last);
}

struct hypar_plan *hp_pipeline_plan(const struct problem *problem,
                                    const struct cut_states *states,
                                    const struct planned_stage *stage, int n_stages,
                                    enum hypar_share share)
{
    struct arena scratch = { 0 };
    int *ops = NEW(&scratch, int, problem->graph->n_ops);
    struct hypar_plan *plan = hp_plan_new(problem->graph, problem->machine, &problem->settings);
    for (int s = 0; s < n_stages; s++) {
        int n = hp_stage_layers(states, stage[s].after, stage[s].last, ops);
        hp_plan_add_stage(plan, &(struct hypar_stage){ .n_ops = n,
                                                       .op = ops,
                                                       .n_devices = stage[s].n_devices,
                                                       .device = stage[s].device,
                                                       .replicas = stage[s].about.replicas,
                                                       .share = share });
    }
    hp_arena_free(&scratch);
    return plan;
}

/* Each phase reads or writes each tensor once, as for the other planners. */
static void predict(const struct problem *problem, struct hypar_found *found,
                    const struct cut_states *states)
{
    const struct pipeline_states *c = &states->cost;
    double bytes = 2 * c->activation_bytes[c->n - 1] + c->weight_bytes[c->n - 1];
    found->prediction.comm_bytes = found->pipeline.transfer_bytes + found->pipeline.sync_bytes;
    hp_predict_closed(problem, 0, 3 * bytes / 4, found);
}

void hp_pipeline_keep(const struct problem *problem, struct hypar_found *found,
                      const struct cut_states *states, const struct planned_stage *stage,
                      int n_stages)
{
    struct hypar_pipeline_view *view = &found->pipeline;
    struct hypar_pipeline_stage *about =
        NEW(&found->arena, struct hypar_pipeline_stage, n_stages);
    found->has_pipeline = true;
    view->transfer_bytes = view->sync_bytes = 0;
    for (int s = 0; s < n_stages; s++) {
        about[s] = stage[s].about;
        if (s < n_stages - 1)
            view->transfer_bytes += 2 * states->cost.cut_bytes[stage[s].last];
        double per_update = 2.0 * (about[s].replicas - 1) * about[s].weight_bytes;
        view->sync_bytes += hypar_plan_stage(found->plan, s).share == HYPAR_SHARE_MINIBATCH
                                ? per_update / about[s].replicas
                                : per_update;
    }
    view->n_stages = n_stages;
    view->stage = about;
    view->n_states = states->n;
    view->all_states = states->all;
    view->states_left_out = states->n_skipped;
    view->states_parted = states->n_parted;
    predict(problem, found, states);
}
