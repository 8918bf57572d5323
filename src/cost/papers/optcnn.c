/* OptCNN's cost of one operator in one configuration (t_C and t_S), partial results, and the
 * paper's count of moved numbers. */
#include "cost/papers/optcnn.h"

#include <math.h>
#include <string.h>

#include "cost/papers/sync.h"

char hp_optcnn_dimension(const struct hypar_axis *axis)
{
    if (!axis->splittable)
        return '\0';
    switch (axis->role) {
    case HYPAR_SAMPLE:
        return 'n';
    case HYPAR_PARAMETER:
        return 'k';
    case HYPAR_REDUCTION:
        return 'c';
    case HYPAR_ATTRIBUTE:
        break;
    default:
        return '\0';
    }
    switch (axis->name[0]) {
    case 'h':
    case 'w':
        return axis->name[0];
    case 't':
    case 'u':
    case 'q':
    case 'm':
        return 't';
    default:
        return 'k'; /* channels of a pooling, heads of an attention */
    }
}

/* t_C ------------------------------------------------------------------------------------ */

/* Axes along which windows of neighbouring parts overlap. */
static axis_set overlapping_axes(const struct nest *nest)
{
    axis_set axes = 0;
    for (int o = 0; o < nest->n_operands; o++)
        for (int d = 0; d < nest->operand[o].n_dims; d++) {
            const struct dim_map *map = &nest->operand[o].dim[d];
            if (map->kind == DIM_AXIS && map->span > 1)
                axes |= (axis_set)1 << map->axis[0];
        }
    return axes;
}

static double part_s(const struct optcnn_model *m, int op, uint32_t passes,
                     const struct range range[MAX_AXES], const struct hypar_device *device)
{
    const struct op *o = &m->graph->ops[op];
    struct kernel_place at = hp_kernel_place(device, m->precision, m->framework);
    at.profile = m->profile;
    return hp_op_seconds(o->nest, passes, range, hp_present(o), &at);
}

/* The slowest device among those that have a part. */
static double slowest_s(const struct optcnn_model *m, int op, uint32_t passes,
                        const struct range range[MAX_AXES], int n_parts)
{
    const struct topology_view *f = m->topology;
    double most = 0;
    for (int r = 0; r < f->n_runs && f->run[r] < n_parts; r++)
        most = fmax(most,
                    part_s(m, op, passes, range, hypar_machine_device(f->machine, f->run[r])));
    return most;
}

/* Sizes of parts differ by at most one, larger ones first. Where a window reaches over a part's
 * border, the second part reads more than the first, whose window is clipped. So the longest
 * part is the first or, along overlapping axes, the second. */
double hp_optcnn_compute_s(const struct optcnn_model *m, int op,
                           const struct placement *placement)
{
    const struct nest *nest = m->graph->ops[op].nest;
    axis_set overlapping = overlapping_axes(nest), divided = 0;
    uint32_t passes = hp_done_passes(m->graph, &m->graph->ops[op]);
    struct range range[MAX_AXES];
    double most = 0;
    for (int a = 0; a < nest->n_axes; a++)
        if (placement->axis[a].degree > 1 && overlapping >> a & 1)
            divided |= (axis_set)1 << a;
    axis_set second = 0; /* runs through all subsets of the divided overlapping axes */
    do {
        for (int a = 0; a < nest->n_axes; a++)
            range[a] = nest->axis[a].role == HYPAR_COPY
                           ? (struct range){ 0, nest->axis[a].extent }
                           : hp_even_part(nest->axis[a].extent, placement->axis[a].degree,
                                          second >> a & 1);
        most = fmax(most, slowest_s(m, op, passes, range, placement->n_parts));
        second = (second - divided) & divided;
    } while (second);
    return most;
}

/* Partial results ------------------------------------------------------------------------ */

/* Divided axes along which pass `p` leaves partial results of operand `o`. */
static axis_set partial_axes(const struct nest *nest, int p, int o,
                             const struct placement *placement)
{
    axis_set axes = hp_written_axes(nest, p, o, WRITE_PARTIAL);
    for (int a = 0; axes >> a; a++)
        if (placement->axis[a].degree <= 1)
            axes &= ~((axis_set)1 << a);
    return axes;
}

/* The pass that writes the gradient of operand `o`, -1: none. */
static int gradient_pass(const struct hypar_graph *graph, const struct op *op, int o)
{
    const struct nest *nest = op->nest;
    bool trained = graph->tensors[op->tensor[o]].needs_grad;
    for (int p = 0; p < nest->n_passes && trained; p++)
        if (nest->pass[p].writes_grad >> o & 1)
            return p;
    return -1;
}

static double first_part_elements(const struct nest *nest, int o,
                                  const struct placement *placement)
{
    struct range range[MAX_AXES];
    struct split split = hp_placement_split(nest, placement);
    hp_part_ranges(nest, &split, 0, range);
    struct box box = hp_region(nest, o, range);
    return (double)hp_box_elements(&box);
}

double hp_optcnn_held_elements(const struct optcnn_model *m, int op, int o,
                               const struct placement *placement)
{
    return first_part_elements(m->graph->ops[op].nest, o, placement);
}

double hp_optcnn_sync_s(struct optcnn_model *m, int op, int o,
                        const struct placement *placement)
{
    const struct nest *nest = m->graph->ops[op].nest;
    int pass = gradient_pass(m->graph, &m->graph->ops[op], o);
    axis_set replicas = pass < 0 ? 0 : partial_axes(nest, pass, o, placement);
    if (!replicas)
        return 0;
    double bytes =
        first_part_elements(nest, o, placement) * hp_element_bytes(m->gradients, false);
    return hp_sync_s(m, nest, placement, replicas, bytes);
}

double hp_optcnn_sync_bytes(const struct optcnn_model *m, int op, int o,
                            const struct placement *placement)
{
    const struct nest *nest = m->graph->ops[op].nest;
    int pass = gradient_pass(m->graph, &m->graph->ops[op], o), r = 1, shards = 1;
    axis_set replicas = pass < 0 ? 0 : partial_axes(nest, pass, o, placement);
    for (int a = 0; a < nest->n_axes; a++)
        *(replicas >> a & 1 ? &r : &shards) *= placement->axis[a].degree;
    return 2.0 * (r - 1) * shards * first_part_elements(nest, o, placement) *
           hp_element_bytes(m->gradients, false);
}

int hp_optcnn_directions(const struct hypar_graph *graph, int t)
{
    return graph->tensors[t].needs_grad ? 2 : 1;
}

static int reader_count(const struct hypar_graph *graph, int t)
{
    return graph->use_start[t + 1] - graph->use_start[t];
}

double hp_optcnn_partial_s(struct optcnn_model *m, int op, const struct placement *placement)
{
    const struct op *o = &m->graph->ops[op];
    uint32_t backward = hp_backward_passes(m->graph, o);
    double sum = 0;
    for (int p = 0; p < o->nest->n_passes; p++) {
        if (o->nest->pass[p].backward && !(backward >> p & 1))
            continue;
        for (int w = 0; w < o->nest->n_operands; w++) {
            if (!(o->nest->pass[p].writes >> w & 1) || o->tensor[w] < 0)
                continue;
            axis_set replicas = partial_axes(o->nest, p, w, placement);
            bool read = o->nest->operand[w].role == OPERAND_OUTPUT &&
                        reader_count(m->graph, o->tensor[w]) > 0;
            if (!replicas || read) /* sums that have readers are made for the readers */
                continue;
            double bytes = first_part_elements(o->nest, w, placement) *
                           hp_element_bytes(m->precision, false);
            sum += hp_sync_s(m, o->nest, placement, replicas, bytes);
        }
    }
    return sum;
}

struct partial_output hp_optcnn_output(struct optcnn_model *m, int op, int o,
                                       const struct placement *placement)
{
    const struct nest *nest = m->graph->ops[op].nest;
    struct partial_output out = { .elements = first_part_elements(nest, o, placement) };
    axis_set replicas = 0;
    for (int p = 0; p < nest->n_passes; p++)
        if (!nest->pass[p].backward && nest->pass[p].writes >> o & 1)
            replicas |= partial_axes(nest, p, o, placement);
    if (!replicas)
        return out;
    out.copies = 1;
    for (int a = 0; a < nest->n_axes; a++)
        out.copies *= replicas >> a & 1 ? placement->axis[a].degree : 1;
    out.all_reduce_s = hp_sync_s(m, nest, placement, replicas,
                                 out.elements * hp_element_bytes(m->precision, false)) /
                       reader_count(m->graph, m->graph->ops[op].tensor[o]);
    return out;
}

struct partial_input hp_optcnn_input(const struct optcnn_model *m, int op, int o,
                                     const struct placement *placement)
{
    const struct op *at = &m->graph->ops[op];
    int pass = gradient_pass(m->graph, at, o);
    return (struct partial_input){
        .elements = first_part_elements(at->nest, o, placement),
        .partial_error = pass >= 0 && partial_axes(at->nest, pass, o, placement) != 0,
    };
}

/* A reduce-scatter is the first half of an all-reduce, an all-gather the second. */
double hp_optcnn_sum_s(const struct partial_output *from, const struct partial_input *to,
                       bool error_returns)
{
    if (from->copies < 2)
        return 0;
    double least = 1.0 / from->copies, half_s = from->all_reduce_s / 2;
    double more = fmax(0, fmin(1, to->elements / from->elements) - least) / (1 - least);
    double forward_s = half_s + more * half_s;
    if (!error_returns)
        return forward_s;
    return forward_s + (to->partial_error ? half_s + more * half_s : half_s - more * half_s);
}

/* Fig. 8 --------------------------------------------------------------------------------- */

/* Degrees by OptCNN's dimensions, so that layers of different kinds can be compared. */
static void configuration(const struct nest *nest, const struct split *split, int out[128])
{
    memset(out, 0, 128 * sizeof *out);
    for (int a = 0; a < nest->n_axes; a++)
        if (hp_degree(split, a) > 1)
            out[(int)hp_optcnn_dimension(&nest->axis[a])] = hp_degree(split, a);
}

/* Do all parts of the reader read just what the same part of the writer writes? */
static bool same_boxes(const struct op *from, int fo, const struct split *fs,
                       const struct op *to, int to_operand, const struct split *ts)
{
    int n = hp_part_count(from->nest, fs);
    if (n != hp_part_count(to->nest, ts))
        return false;
    for (int part = 0; part < n; part++) {
        struct range a[MAX_AXES], b[MAX_AXES];
        hp_part_ranges(from->nest, fs, part, a);
        hp_part_ranges(to->nest, ts, part, b);
        struct box x = hp_region(from->nest, fo, a), y = hp_region(to->nest, to_operand, b);
        if (!hp_box_equal(&x, &y))
            return false;
    }
    return true;
}

/* All numbers that the parts of an operator read of operand `o`, each for itself. */
static double read_numbers(const struct nest *nest, int o, const struct split *split)
{
    double sum = 0;
    for (int part = 0, n = hp_part_count(nest, split); part < n; part++) {
        struct range range[MAX_AXES];
        if (!hp_part_ranges(nest, split, part, range))
            continue;
        struct box box = hp_region(nest, o, range);
        sum += (double)hp_box_elements(&box);
    }
    return sum;
}

static double edge_numbers(const struct hypar_graph *g, const struct split *split, int op,
                           int o)
{
    int t = g->ops[op].tensor[o], from = g->tensors[t].producer, fo = 0;
    int a[128], b[128];
    while (g->ops[from].tensor[fo] != t || fo < g->ops[from].nest->n_inputs)
        fo++;
    configuration(g->ops[from].nest, &split[from], a);
    configuration(g->ops[op].nest, &split[op], b);
    if (memcmp(a, b, sizeof a) == 0 ||
        same_boxes(&g->ops[from], fo, &split[from], &g->ops[op], o, &split[op]))
        return 0;
    return hp_optcnn_directions(g, t) * read_numbers(g->ops[op].nest, o, &split[op]);
}

double hp_optcnn_printed_numbers(const struct hypar_graph *g, const struct split *split)
{
    double sum = 0;
    for (int op = 0; op < g->n_ops; op++) {
        const struct nest *nest = g->ops[op].nest;
        for (int o = 0; o < nest->n_inputs; o++) {
            int t = g->ops[op].tensor[o];
            if (t < 0)
                continue;
            double whole = (double)hp_shape_elements(&g->tensors[t].shape);
            double read =
                g->tensors[t].kind == TENSOR_PARAM ? read_numbers(nest, o, &split[op]) : 0;
            if (read > whole) /* replicated */
                sum += 2 * read;
            if (g->tensors[t].producer >= 0)
                sum += edge_numbers(g, split, op, o);
        }
    }
    return sum;
}
