/* Finds the states of operators in a submesh and their costs, the costs of exchanges between
 * them, and the states of least total cost. */
#include "search/hybrid/submesh.h"

#include <math.h>
#include <string.h>

#include "program/lowering.h"
#include "search/estimate/estimate.h"
#include "search/estimate/needs.h"
#include "search/runnable.h"
#include "search/solver/eliminate.h"
#include "sim/task_costs.h"

/* States --------------------------------------------------------------------------------- */

static bool may_divide(const struct submesh_model *m, const struct submesh_var *var, int axis,
                       int degree)
{
    for (int i = 0; i < var->n_ops; i++) {
        const struct nest *nest = m->problem->graph->ops[var->op[i]].nest;
        const struct hypar_axis *a = &nest->axis[axis];
        if (!(hp_allowed_axes(m->problem, nest) >> axis & 1) || !a->splittable ||
            (a->role != HYPAR_COPY && a->extent < degree))
            return false;
    }
    return true;
}

static int sample_axis(const struct submesh_model *m, const struct submesh_var *var)
{
    return hp_sample_axis(m->problem->graph->ops[var->op[0]].nest);
}

/* May a variable be divided by this axis and degree, also by the options? */
static bool may_choose(const struct submesh_model *m, const struct submesh_var *var, int a,
                       int degree)
{
    int most = m->problem->options->max_tensor, sequence = m->sequence_axis[var->op[0]];
    return may_divide(m, var, a, degree) && (!most || degree <= most) &&
           (sequence < 0 || a == sequence);
}

/* List the states of a variable. Writes them to `out` unless it is NULL; returns their
 * number. */
static int list_states(const struct submesh_model *m, const struct submesh_var *var,
                       const struct submesh_shape *shape, struct submesh_state *out)
{
    int sample = sample_axis(m, var), n = 0;
    const struct nest *nest = m->problem->graph->ops[var->op[0]].nest;
    const struct fix *fix = hp_submesh_fix(m, var->op[0]);
    if (fix && fix->n_parts <= shape->size) {
        if (out)
            out[0] = (struct submesh_state){ 1, -1, 1, fix };
        return 1;
    }
    for (int by = 1; by <= shape->size; by++) {
        int degree = shape->size / by;
        bool mixed = by > 1 && degree > 1;
        if (shape->size % by != 0 || by > shape->samples || (sample < 0 && by > 1) ||
            (mixed && shape->size > LARGE_SUBMESH && shape->samples >= shape->size))
            continue;
        if (degree == 1) {
            if (out)
                out[n] = (struct submesh_state){ by, -1, 1, NULL };
            n++;
            continue;
        }
        for (int a = 0; a < nest->n_axes; a++) {
            if (a == sample || !may_choose(m, var, a, degree))
                continue;
            if (out)
                out[n] = (struct submesh_state){ by, a, degree, NULL };
            n++;
        }
    }
    return n;
}

/* Sizes of the parts of an axis in proportion to the speed of their devices; of samples, whole
 * ones in each micro-batch. NULL, which is even parts, where a part would be empty. */
static const int64_t *share_axis(const struct submesh_model *m, const struct nest *nest,
                                 const struct split *split, int axis, const int *device,
                                 int64_t micro_batches, struct arena *arena)
{
    int n = hp_part_count(nest, split), degree = split->degree[axis], coordinate[MAX_AXES];
    int64_t extent = nest->axis[axis].extent, batch = m->problem->graph->batch, unit = 1;
    int64_t *sizes = NEW(arena, int64_t, degree);
    double *weight = NEW(arena, double, degree);
    for (int i = 0; i < n; i++) {
        hp_part_coordinates(nest, split, i, coordinate);
        weight[coordinate[axis]] += m->speed[device[i]];
    }
    if (nest->axis[axis].role == HYPAR_SAMPLE)
        unit = extent / batch * (batch % micro_batches == 0 ? micro_batches : 1);
    hp_weighted_sizes(extent / unit, degree, weight, sizes);
    for (int i = 0; i < degree; i++) {
        if (sizes[i] == 0)
            return NULL;
        sizes[i] *= unit;
    }
    return sizes;
}

/* All axes at once. */
static void share_out(const struct submesh_model *m, const struct nest *nest,
                      const struct submesh_place *place, struct arena *arena,
                      struct split *split, const int *device)
{
    for (int a = 0; a < nest->n_axes && m->speed && place->shares; a++)
        if (split->degree[a] > 1 && nest->axis[a].role != HYPAR_COPY)
            split->sizes[a] =
                share_axis(m, nest, split, a, device, place->micro_batches, arena);
}

void hp_submesh_split(const struct submesh_model *m, int op, const struct submesh_state *state,
                      const struct submesh_place *place, struct arena *arena,
                      struct split *split, int *device)
{
    const struct nest *nest = m->problem->graph->ops[op].nest;
    int sample = hp_sample_axis(nest), copies = nest->n_axes - 1, coordinate[MAX_AXES];
    if (state->fix) {
        *split = state->fix->split;
        for (int i = 0; i < state->fix->n_parts; i++)
            device[i] = place->first + i;
        return;
    }
    *split = (struct split){ .degree = { 0 } };
    split->degree[sample >= 0 ? sample : copies] = place->replicas * state->samples;
    if (state->axis >= 0) {
        int *degree = &split->degree[state->axis];
        *degree = (*degree > 1 ? *degree : 1) * state->degree;
    }
    int n = place->replicas * state->samples * state->degree;
    for (int i = 0; i < n; i++) {
        hp_part_coordinates(nest, split, i, coordinate);
        int by_samples = coordinate[sample >= 0 ? sample : copies];
        int at = state->axis < 0 || (sample < 0 && state->axis == copies)
                     ? by_samples
                     : by_samples * state->degree + coordinate[state->axis];
        device[i] = place->first + at;
    }
    share_out(m, nest, place, arena, split, device);
}

/* Costs of an operator ------------------------------------------------------------------- */

static double part_seconds(const struct submesh_model *m, int op, uint32_t passes,
                           const struct op_parts *parts, int part)
{
    const struct op *o = &m->problem->graph->ops[op];
    struct kernel_place place = hp_costs_place(m->costs, parts->device[part]);
    if (parts->empty[part] || !passes)
        return 0;
    return hp_op_seconds(o->nest, passes, parts->range + part * o->nest->n_axes, hp_present(o),
                         &place);
}

/* Do two parts do the same work on equal devices? */
static bool are_alike(const struct submesh_model *m, const struct op_parts *parts, int a, int b)
{
    const struct hypar_machine *machine = m->problem->machine;
    int n = parts->nest->n_axes;
    return !parts->empty[a] && !parts->empty[b] &&
           hypar_machine_device(machine, parts->device[a]) ==
               hypar_machine_device(machine, parts->device[b]) &&
           hp_same_work(parts->range + a * n, parts->range + b * n, n,
                        hp_positional_axes(parts->nest));
}

/* The time of the slowest part. Of even parts the first is the largest; inner parts have more
 * of a window than parts at the borders; the last part has most of a causal operator. So only
 * three of these are timed. Of parts in proportion to the speed of their devices all are timed
 * that differ from the one before. */
static double slowest_seconds(const struct submesh_model *m, int op, uint32_t passes,
                              const struct op_parts *parts)
{
    int n = parts->n_parts, looked_at[3] = { 0, n / 2, n - 1 };
    double most = 0;
    for (int part = 0; m->speed && part < n; part++)
        if (part == 0 || !are_alike(m, parts, part - 1, part))
            most = fmax(most, part_seconds(m, op, passes, parts, part));
    if (m->speed)
        return most;
    for (int i = 0; i < (n > 2 ? 3 : n); i++)
        if (i == 0 || !are_alike(m, parts, looked_at[i - 1], looked_at[i]))
            most = fmax(most, part_seconds(m, op, passes, parts, looked_at[i]));
    return most;
}

/* Of even parts the first is the largest. */
double hp_part_elements(const struct submesh_model *m, const struct op_parts *parts, int o)
{
    double most = 0;
    for (int part = 0; part < (m->speed ? parts->n_parts : 1); part++) {
        struct box box = hp_region(parts->nest, o, parts->range + part * parts->nest->n_axes);
        most = fmax(most, (double)hp_box_elements(&box));
    }
    return most;
}

double hp_part_bytes(const struct submesh_model *m, const struct op_parts *parts, int op, int o)
{
    const struct hypar_graph *g = m->problem->graph;
    return hp_part_elements(m, parts, o) *
           hp_element_bytes(m->problem->options->precision,
                            g->tensors[g->ops[op].tensor[o]].index);
}

const struct op_parts *hp_op_parts(const struct submesh_model *m, const struct submesh *submesh,
                                   int op, int state)
{
    int v = m->var_of[op];
    return hp_states(m, submesh, v)->parts[state][hp_place_in_var(&m->var[v], op)];
}

const struct op_cost *hp_op_cost(const struct submesh_model *m, const struct submesh *submesh,
                                 int op, int state)
{
    int v = m->var_of[op];
    return &hp_states(m, submesh, v)
                ->cost[state * m->var[v].n_ops + hp_place_in_var(&m->var[v], op)];
}

/* Backward passes that write only gradients of parameters. */
static uint32_t gradient_passes(const struct hypar_graph *g, const struct op *op)
{
    uint32_t backward = hp_backward_passes(g, op), found = 0;
    for (int p = 0; p < op->nest->n_passes; p++) {
        operand_set writes = op->nest->pass[p].writes_grad & hp_present(op);
        bool only = (backward >> p & 1) && writes && !op->nest->pass[p].writes;
        for (int o = 0; writes >> o && only; o++)
            if (writes >> o & 1)
                only = g->tensors[op->tensor[o]].kind == TENSOR_PARAM;
        found |= (uint32_t)only << p;
    }
    return found;
}

static struct op_cost cost_of(const struct submesh_model *m, int op,
                              const struct op_parts *parts)
{
    const struct hypar_graph *g = m->problem->graph;
    const struct op *o = &g->ops[op];
    uint32_t all = hp_done_passes(g, o), backward = hp_backward_passes(g, o);
    struct op_cost cost = { .param_parts = 1 };
    cost.forward_s = slowest_seconds(m, op, all & ~backward, parts);
    cost.backward_s = slowest_seconds(m, op, backward, parts);
    cost.gradient_s = slowest_seconds(m, op, gradient_passes(g, o), parts);
    for (int i = 0; i < o->nest->n_operands; i++) {
        const struct tensor *t = o->tensor[i] < 0 ? NULL : &g->tensors[o->tensor[i]];
        bool shared =
            t && t->kind == TENSOR_PARAM && g->use[g->use_start[o->tensor[i]]].op != op;
        if (!t || t->kind != TENSOR_PARAM || shared)
            continue;
        int pieces = 1;
        for (int a = 0; a < o->nest->n_axes; a++)
            pieces *= o->nest->operand[i].axes >> a & 1 ? hp_degree(parts->split, a) : 1;
        cost.param_elements += parts->empty[0] ? 0 : hp_part_elements(m, parts, i);
        cost.param_parts = pieces > cost.param_parts ? pieces : cost.param_parts;
    }
    return cost;
}

static double kept_bytes(const struct submesh_model *m, int op, const struct op_parts *parts)
{
    operand_set kept = hp_kept_operands(m->problem->graph, op);
    double bytes = 0;
    for (int i = 0; kept >> i && !parts->empty[0]; i++)
        if (kept >> i & 1)
            bytes += hp_part_bytes(m, parts, op, i);
    return bytes;
}

static void fill_states(struct submesh_model *m, struct submesh *submesh, int class,
                        int *device)
{
    const struct submesh_var *var = &m->var[m->lead[class]];
    struct class_states *s = &submesh->states[class];
    struct submesh_place place = { 1, submesh->shape.first, 1, submesh->shape.shares };
    s->n = list_states(m, var, &submesh->shape, NULL);
    s->state = NEW(m->arena, struct submesh_state, s->n);
    s->cost = NEW(m->arena, struct op_cost, s->n * var->n_ops);
    s->parts = NEW(m->arena, const struct op_parts **, s->n);
    list_states(m, var, &submesh->shape, s->state);
    for (int i = 0; i < s->n; i++) {
        s->parts[i] = NEW(m->arena, const struct op_parts *, var->n_ops);
        for (int k = 0; k < var->n_ops; k++) {
            int op = var->op[k];
            struct split split;
            struct arena_mark mark = hp_arena_mark(m->arena);
            hp_submesh_split(m, op, &s->state[i], &place, m->arena, &split, device);
            hp_plan_set(m->probe, op, &split, device);
            hp_arena_release(m->arena, mark);
            s->parts[i][k] =
                hp_parts_of(m->lowering, op, (struct range){ 0, submesh->shape.samples }, 0, 1);
            struct op_cost *cost = &s->cost[i * var->n_ops + k];
            *cost = cost_of(m, op, s->parts[i][k]);
            cost->kept_bytes = kept_bytes(m, op, s->parts[i][k]);
        }
    }
}

/* Costs of exchanges --------------------------------------------------------------------- */

/* Set m->parts of a term's operators for these states of its two variables. */
static void set_parts(const struct submesh_model *m, const struct submesh *submesh, int class,
                      int from, int to)
{
    int var[] = { m->term_class[class].writer, m->term_class[class].reader };
    int state[] = { from, to };
    for (int i = 0; i < 2; i++)
        for (int k = 0; k < m->var[var[i]].n_ops; k++)
            m->parts[m->var[var[i]].op[k]] = hp_states(m, submesh, var[i])->parts[state[i]][k];
}

static double term_seconds(struct submesh_model *m, const struct submesh *submesh, int class,
                           int from, int to)
{
    const struct term_class *term = &m->term_class[class];
    const struct pattern *pattern;
    struct arena scratch = { 0 };
    double seconds = INFINITY;
    set_parts(m, submesh, class, from, to);
    m->lowering->err = NULL;
    if (hp_pattern_once(m->lowering, term->exchange, m->parts, &scratch, &pattern) == HYPAR_OK)
        seconds = hp_comms_seconds_once(m->costs, pattern, term->element_bytes, &scratch) *
                  (term->over_samples ? m->on_path : 1);
    hp_arena_free(&scratch);
    return seconds;
}

/* The boxes of an operand's parts in one state. A writer has all of them, by device of the
 * submesh. A reader that reads the whole operand has the first, the second and the last, which
 * are enough for a bound. */
struct part_boxes {
    int n;
    struct box *box;
    double *elements; /* 0: the part is empty */
    int *device;      /* counted from the first device of the submesh */
};

static struct part_boxes boxes_of(struct arena *scratch, const struct submesh *submesh,
                                  const struct op_parts *parts, int o, const int *part, int n)
{
    struct part_boxes b = { n, NEW(scratch, struct box, n), NEW(scratch, double, n),
                            NEW(scratch, int, n) };
    for (int i = 0; i < n; i++) {
        int at = part ? part[i] : i;
        b.box[i] = hp_region(parts->nest, o, parts->range + at * parts->nest->n_axes);
        b.elements[i] = parts->empty[at] ? 0 : (double)hp_box_elements(&b.box[i]);
        b.device[i] = parts->device[at] - submesh->shape.first;
    }
    return b;
}

/* Does the dimension have one element for each index of its axis? */
static bool is_plain(const struct nest *nest, int o, int d)
{
    const struct dim_map *map = &nest->operand[o].dim[d];
    return map->kind != DIM_AXIS ||
           (map->stride == 1 && map->pad == 0 && map->span == 1 &&
            nest->axis[map->axis[0]].extent == nest->operand[o].size[d]);
}

/* Does the nest touch every element of the operand exactly once? */
static bool is_whole(const struct nest *nest, int o)
{
    for (int d = 0; d < nest->operand[o].n_dims; d++)
        if (!is_plain(nest, o, d))
            return false;
    return true;
}

static struct part_boxes boxes_read(struct arena *scratch, const struct submesh *submesh,
                                    const struct op_parts *to, int o)
{
    int n = to->n_parts;
    if (!is_whole(to->nest, o))
        return boxes_of(scratch, submesh, to, o, NULL, n);
    return boxes_of(scratch, submesh, to, o, (int[]){ 0, 1, n - 1 }, n > 2 ? 3 : n);
}

/* The elements that part `i` of a reader reads and the writer's part on the same device has not
 * written. */
static double missing_elements(const struct part_boxes *from, const struct part_boxes *to,
                               int i)
{
    for (int k = 0; k < from->n && to->elements[i] > 0; k++)
        if (from->device[k] == to->device[i] && from->elements[k] > 0) {
            struct box both = hp_box_intersect(&to->box[i], &from->box[k]);
            return to->elements[i] - (double)hp_box_elements(&both);
        }
    return to->elements[i];
}

/* Do the parts of writer and readers determine the bytes that an exchange moves? This holds if
 * the writer writes each element once, the readers have the same shape, and sums are read as a
 * whole. */
static bool is_told_by_parts(const struct submesh_model *m, const struct exchange *x,
                             bool partial)
{
    const struct nest *writer = m->parts[x->writer[0].op]->nest;
    const struct operand *written = &writer->operand[x->writer[0].operand];
    if (x->n_writers > 1 || !is_whole(writer, x->writer[0].operand))
        return false;
    for (int r = 0; r < x->n_readers; r++) {
        const struct nest *reader = m->parts[x->reader[r].op]->nest;
        int o = x->reader[r].operand;
        const struct operand *read = &reader->operand[o];
        if (x->reader[r].only_adds || read->n_dims != written->n_dims ||
            (partial && !is_whole(reader, o)))
            return false;
        for (int d = 0; d < read->n_dims; d++)
            if (read->size[d] != written->size[d])
                return false;
    }
    return true;
}

/* The boxes of a term's states, for its lower bounds. */
struct term_bounds {
    const struct exchange *exchange;
    struct part_boxes *written; /* [state of the writer] */
    struct part_boxes **read;   /* [state of the reader][reader] */
};

static struct term_bounds begin_bounds(struct submesh_model *m, const struct submesh *submesh,
                                       int class, struct arena *scratch)
{
    const struct term_class *term = &m->term_class[class];
    const struct exchange *x = term->exchange;
    bool same = term->writer == term->reader;
    int n_from = hp_states(m, submesh, term->writer)->n;
    int n_to = hp_states(m, submesh, term->reader)->n;
    struct term_bounds b = { x, NEW(scratch, struct part_boxes, n_from),
                             NEW(scratch, struct part_boxes *, n_to) };
    for (int i = 0; i < n_from; i++) {
        set_parts(m, submesh, class, i, same ? i : 0);
        const struct op_parts *from = m->parts[x->writer[0].op];
        b.written[i] =
            boxes_of(scratch, submesh, from, x->writer[0].operand, NULL, from->n_parts);
    }
    for (int j = 0; j < n_to; j++) {
        set_parts(m, submesh, class, same ? j : 0, j);
        b.read[j] = NEW(scratch, struct part_boxes, x->n_readers);
        for (int r = 0; r < x->n_readers; r++)
            b.read[j][r] =
                boxes_read(scratch, submesh, m->parts[x->reader[r].op], x->reader[r].operand);
    }
    return b;
}

/* A lower bound for the elements of sums that a device receives on average. For each element,
 * all addends but one are sent to the device that sums it, and the sum is sent to all readers
 * but one. The bound takes the smallest parts, or the largest where this sends less. */
static double summed_elements(const struct op_parts *from, const struct part_boxes *written,
                              const struct part_boxes *read, int n_readers, axis_set partial)
{
    double addends = 1, smallest = INFINITY, largest = 0, most_read = 0;
    for (int a = 0; a < from->nest->n_axes; a++)
        addends *= partial >> a & 1 ? hp_degree(from->split, a) : 1;
    for (int i = 0; i < written->n; i++) {
        smallest = fmin(smallest, written->elements[i]);
        largest = fmax(largest, written->elements[i]);
    }
    for (int r = 0; r < n_readers; r++) {
        double least = INFINITY;
        for (int i = 0; i < read[r].n; i++)
            least = fmin(least, read[r].elements[i]);
        most_read = fmax(most_read, least);
    }
    return (addends - 1) / addends * smallest + fmax(0, most_read - largest / addends);
}

/* A lower bound for the time of an exchange: the time for the bytes that a device receives, or
 * a latency if any device receives bytes. The bound must not be too high, because the tables
 * become exact from below. `parts` of both ends are set. */
static double least_seconds(const struct submesh_model *m, const struct submesh *submesh,
                            const struct term_bounds *b, int class, int i, int j)
{
    const struct exchange *x = b->exchange;
    const struct source *source = &x->writer[0];
    const struct op_parts *from = m->parts[source->op];
    axis_set partial =
        hp_divided_axes(from->nest, from->split) &
        hp_written_axes(from->nest, source->pass, source->operand, WRITE_PARTIAL);
    /* elements that parts receive: uneven pieces are gathered as if they were even */
    double least = INFINITY, most = 0;
    if (!is_told_by_parts(m, x, partial))
        return 0;
    if (partial)
        least = most = summed_elements(from, &b->written[i], b->read[j], x->n_readers, partial);
    for (int r = 0; r < x->n_readers && !partial; r++)
        for (int k = 0; k < b->read[j][r].n; k++) {
            double missing = missing_elements(&b->written[i], &b->read[j][r], k);
            least = fmin(least, missing);
            most = fmax(most, missing);
        }
    if (!(most > 0))
        return 0;
    double waited = m->term_class[class].over_samples ? m->on_path : 1;
    return waited * fmax(submesh->least_s, least * m->term_class[class].element_bytes *
                                               submesh->least_s_per_byte);
}

static void fill_term(struct submesh_model *m, struct submesh *submesh, int class)
{
    const struct term_class *term = &m->term_class[class];
    int n_from = hp_states(m, submesh, term->writer)->n;
    int n_to = hp_states(m, submesh, term->reader)->n;
    bool same = term->writer == term->reader;
    struct arena scratch = { 0 };
    struct term_bounds bounds = begin_bounds(m, submesh, class, &scratch);
    double *out = submesh->term_s[class] = NEW(m->arena, double, n_from *n_to);
    submesh->term_exact[class] = NEW(m->arena, bool, n_from *n_to);
    for (int i = 0; i < n_from; i++)
        for (int j = same ? i : 0; j < (same ? i + 1 : n_to); j++) {
            set_parts(m, submesh, class, i, j);
            out[i * n_to + j] = least_seconds(m, submesh, &bounds, class, i, j);
        }
    hp_arena_free(&scratch);
}

/* Set the bounds for exchanges: the total bandwidth of a device's links to other devices of the
 * submesh, and the time of a comm without bytes. */
static void bound_exchanges(const struct submesh_model *m, struct submesh *submesh)
{
    const struct hypar_machine *machine = m->problem->machine;
    const struct submesh_shape *shape = &submesh->shape;
    int link[64], n = 0, route[256];
    double bytes_per_s = 0, latency_s = INFINITY, comm_s = INFINITY;
    for (int d = 0; d < shape->size; d++)
        comm_s = fmin(comm_s,
                      hypar_machine_device(machine, shape->first + d)->kernels.comm_latency_s);
    for (int d = 1; d < shape->size; d++) {
        int hops = hypar_machine_route(machine, shape->first, shape->first + d, route, 256);
        int k = 0;
        if (hops > 0)
            latency_s = fmin(latency_s, hypar_machine_link(machine, route[0] / 2).latency_s);
        while (k < n && hops > 0 && link[k] != route[0])
            k++;
        if (hops < 1 || k < n || n == 64)
            continue;
        link[n++] = route[0];
        bytes_per_s += hypar_machine_link(machine, route[0] / 2).bytes_per_s;
    }
    submesh->least_s_per_byte = bytes_per_s > 0 ? 1 / bytes_per_s : 0;
    submesh->least_s = bytes_per_s > 0 ? comm_s + latency_s : 0;
}

struct submesh *hp_submesh(struct submesh_model *m, const struct submesh_shape *shape)
{
    struct arena scratch = { 0 };
    struct submesh *submesh = NEW(m->arena, struct submesh, 1);
    bool complete = true;
    submesh->shape = *shape;
    submesh->states = NEW(m->arena, struct class_states, m->n_var_classes);
    submesh->term_s = NEW(m->arena, double *, m->n_term_classes);
    int *device = NEW(&scratch, int, shape->size);
    for (int c = 0; c < m->n_var_classes && complete; c++) {
        fill_states(m, submesh, c, device);
        complete = submesh->states[c].n > 0;
    }
    bound_exchanges(m, submesh);
    submesh->term_exact = NEW(m->arena, bool *, m->n_term_classes);
    for (int c = 0; c < m->n_term_classes && complete; c++)
        fill_term(m, submesh, c);
    hp_arena_free(&scratch);
    if (!complete)
        return NULL;
    submesh->like = submesh->before = m->last;
    while (submesh->like && submesh->like->shape.size != shape->size)
        submesh->like = submesh->like->before;
    m->last = submesh;
    return submesh;
}

double hp_submesh_term(struct submesh_model *m, const struct submesh *submesh, int class,
                       int from, int to)
{
    int at = from * hp_states(m, submesh, m->term_class[class].reader)->n + to;
    if (!submesh->term_exact[class][at])
        submesh->term_s[class][at] = term_seconds(m, submesh, class, from, to);
    submesh->term_exact[class][at] = true;
    return submesh->term_s[class][at];
}

/* The solver's problem: variables that represent themselves, and the terms between them. */
struct state_problem {
    struct submesh_model *m;
    const struct submesh *submesh;
    struct arena scratch;
    int n_vars, *place; /* [variable]: its number in the problem; -1: another represents it */
    int *n_states, *chosen;
    double **cost;
    double **pair; /* [edge]: the term's time, times the terms that it represents */
    struct elimination_edge *edge;
};

static double state_cost(const struct submesh_model *m, const struct class_states *s, int n_ops,
                         int state, double price, const double *sync_s)
{
    double sum = 0, bytes = hp_param_state_bytes(m->problem, true);
    for (int k = 0; k < n_ops; k++) {
        const struct op_cost *c = &s->cost[state * n_ops + k];
        sum += c->forward_s + c->backward_s + c->param_elements * sync_s[c->param_parts] +
               price * (c->param_elements * bytes + c->kept_bytes * USUAL_IN_FLIGHT);
    }
    return sum;
}

static void add_variables(struct state_problem *p, double price, const double *sync_s)
{
    struct submesh_model *m = p->m;
    p->place = NEW(&p->scratch, int, m->n_vars);
    p->n_states = NEW(&p->scratch, int, m->n_vars);
    p->chosen = NEW(&p->scratch, int, m->n_vars + 1);
    p->cost = NEW(&p->scratch, double *, m->n_vars);
    for (int v = 0; v < m->n_vars; v++) {
        p->place[v] = -1;
        if (m->stands_for[v] != v)
            continue;
        const struct class_states *s = hp_states(m, p->submesh, v);
        double *cost = p->cost[p->n_vars] = NEW(&p->scratch, double, s->n);
        for (int i = 0; i < s->n; i++)
            cost[i] = m->times[v] * state_cost(m, s, m->var[v].n_ops, i, price, sync_s);
        p->n_states[p->n_vars] = s->n;
        p->place[v] = p->n_vars++;
    }
}

static void add_edges(struct state_problem *p)
{
    struct submesh_model *m = p->m;
    p->pair = NEW(&p->scratch, double *, m->n_alike);
    p->edge = NEW(&p->scratch, struct elimination_edge, m->n_alike);
    for (int i = 0; i < m->n_alike; i++) {
        const struct submesh_term *t = &m->alike[i];
        int u = p->place[t->writer], v = p->place[t->reader];
        int n = p->n_states[u] * p->n_states[v];
        p->pair[i] = NEW(&p->scratch, double, n);
        for (int k = 0; k < n; k++)
            p->pair[i][k] = t->times * p->submesh->term_s[t->class][k];
        p->edge[i] = (struct elimination_edge){ u, v, p->pair[i] };
    }
}

/* Compute the exact time of an edge in these states; true: a bound stood there. */
static bool make_exact(struct state_problem *p, int i, int from, int to)
{
    const struct submesh_term *t = &p->m->alike[i];
    double *pair = &p->pair[i][from * p->n_states[p->edge[i].v] + to], before = *pair;
    *pair = t->times * hp_submesh_term(p->m, p->submesh, t->class, from, to);
    return *pair != before;
}

/* Compute the exact times that a similar submesh needed, since this one probably needs them
 * too. */
static void make_likely_exact(struct state_problem *p)
{
    const struct submesh *like = p->submesh->like;
    for (int i = 0; i < p->m->n_alike && like; i++) {
        int class = p->m->alike[i].class;
        const struct term_class *term = &p->m->term_class[class];
        int n_to = p->n_states[p->edge[i].v], n = p->n_states[p->edge[i].u] * n_to;
        bool same = hp_states(p->m, like, term->writer)->n == n / n_to &&
                    hp_states(p->m, like, term->reader)->n == n_to;
        for (int k = 0; k < n && same; k++)
            if (like->term_exact[class][k])
                make_exact(p, i, k / n_to, k % n_to);
    }
}

/* Compute the exact times of the terms in the chosen states. Returns false if all were exact
 * already. Times that are not exact are lower bounds, so a solution whose times are all exact
 * is the minimum. */
static bool make_chosen_exact(struct state_problem *p)
{
    bool found = false;
    for (int i = 0; i < p->m->n_alike; i++)
        found |= make_exact(p, i, p->chosen[p->edge[i].u], p->chosen[p->edge[i].v]);
    return found;
}

enum hypar_status hp_submesh_solve(struct submesh_model *m, const struct submesh *submesh,
                                   double price, const double *sync_s, int *state)
{
    struct state_problem p = { .m = m, .submesh = submesh };
    struct elimination_result result;
    enum hypar_status status;
    add_variables(&p, price, sync_s);
    add_edges(&p);
    make_likely_exact(&p);
    struct elimination_problem problem = { .n_vars = p.n_vars,
                                           .n_states = p.n_states,
                                           .cost = (const double *const *)p.cost,
                                           .n_edges = m->n_alike,
                                           .edges = p.edge,
                                           .stop = m->problem->options->stop };
    do {
        result = (struct elimination_result){ .assignment = p.chosen };
        status = hp_eliminate(&p.scratch, &problem, NULL, &result, NULL);
    } while (status == HYPAR_OK && make_chosen_exact(&p));
    for (int v = 0; v < m->n_vars && status == HYPAR_OK; v++)
        state[v] = p.chosen[p.place[m->stands_for[v]]];
    hp_arena_free(&p.scratch);
    return status;
}
