/* Dividing a call among threads. A part of an operator is a range for each axis, so a part can
 * be divided again, as an operator is divided among devices: along axes that cut the output, or
 * along axes of its sums. */
#include "kernel/divide.h"

#include <string.h>

/* An upper limit of the elements of partial sums beyond the first. */
static const double most_copied = 1 << 22;

/* Do ranges of `axis` touch disjoint elements of operand `o`, and together the same elements as
 * the whole axis? They do not if windows overlap or skip elements. */
static bool cuts(const struct nest *nest, int o, int axis)
{
    const struct operand *operand = &nest->operand[o];
    for (int d = 0; d < operand->n_dims; d++) {
        const struct dim_map *dim = &operand->dim[d];
        if (dim->n_axes > 0 && dim->axis[0] == axis && dim->kind == DIM_AXIS)
            return dim->stride == 1 && dim->span == 1 && !dim->divide;
        if (dim->n_axes > 0 && dim->axis[0] == axis && dim->kind == DIM_PRODUCT)
            return true;
    }
    return false;
}

/* The operands of all passes of the call. */
struct operands {
    operand_set written, written_grad, read, read_grad;
    operand_set added_to; /* a term is added to these once */
    double points;        /* of their loops */
};

static double points_of(const struct kernel_call *call, axis_set axes)
{
    double points = 1;
    for (int a = 0; a < call->nest->n_axes; a++)
        if (axes >> a & 1)
            points *= (double)(call->range[a].hi - call->range[a].lo);
    return points;
}

static struct operands operands_of(const struct kernel_call *call)
{
    pass_set passes = hp_passes_of(call);
    struct operands sets = { 0, 0, 0, 0, 0, 0 };
    for (int p = 0; p < call->nest->n_passes; p++) {
        const struct pass *pass = &call->nest->pass[p];
        if (!(passes >> p & 1))
            continue;
        sets.written |= pass->writes;
        sets.written_grad |= pass->writes_grad;
        sets.read |= pass->reads;
        sets.read_grad |= pass->reads_grad;
        sets.added_to |= call->add_after && pass->adds ? pass->writes : 0;
        sets.points += points_of(call, pass->axes);
    }
    return sets;
}

static struct range part_of(struct range whole, int n, int i)
{
    struct range part = hp_even_part(whole.hi - whole.lo, n, i);
    return (struct range){ whole.lo + part.lo, whole.lo + part.hi };
}

/* Can partial sums of the operand along the axis be combined later? They can if no pass of the
 * call reads the operand. */
static bool sums(const struct kernel_call *call, const struct operands *sets, int o, bool grad,
                 int axis)
{
    const struct nest *nest = call->nest;
    pass_set passes = hp_passes_of(call);
    if (hp_in_set(grad ? sets->read_grad : sets->read, o) ||
        (!grad && (hp_in_set(sets->added_to, o) || nest->operand[o].combine != COMBINE_SUM)))
        return false;
    for (int p = 0; p < nest->n_passes; p++) {
        const struct pass *pass = &nest->pass[p];
        if (passes >> p & 1 && hp_in_set(grad ? pass->writes_grad : pass->writes, o) &&
            hp_write_kind(nest, p, o, axis) != WRITE_PARTIAL)
            return false;
    }
    return true;
}

/* An axis along which the call may be divided. */
struct candidate {
    int axis;
    operand_set sums, sums_grad;
};

static bool is_candidate(const struct kernel_call *call, const struct operands *sets, int axis,
                         struct candidate *candidate)
{
    const struct nest *nest = call->nest;
    *candidate = (struct candidate){ axis, 0, 0 };
    if (!nest->axis[axis].splittable || call->range[axis].hi - call->range[axis].lo < 2)
        return false;
    for (int o = 0; o < nest->n_operands; o++)
        for (int grad = 0; grad < 2; grad++) {
            if (!hp_in_set(grad ? sets->written_grad : sets->written, o) || cuts(nest, o, axis))
                continue;
            if (!sums(call, sets, o, grad, axis))
                return false;
            *(grad ? &candidate->sums_grad : &candidate->sums) |= (operand_set)1 << o;
        }
    return true;
}

static double elements_of(const struct nest *nest, int o, const struct range *range)
{
    struct box box = hp_region(nest, o, range);
    return (double)hp_box_elements(&box);
}

static void part_ranges(const struct division *d, int i, struct range *range)
{
    const int at[DIVISION_AXES] = { i / d->n[1], i % d->n[1] };
    memcpy(range, d->call->range, sizeof d->call->range);
    for (int k = 0; k < DIVISION_AXES; k++)
        if (d->n[k] > 1)
            range[d->axis[k]] = part_of(range[d->axis[k]], d->n[k], at[k]);
}

/* Elements that the first part reads and writes, including its share in combining sums;
 * negative: there would be too many partial sums. */
static double elements_touched(const struct division *d, const struct operands *sets)
{
    const struct nest *nest = d->call->nest;
    struct range range[MAX_AXES];
    double sum = 0;
    part_ranges(d, 0, range);
    for (int o = 0; o < nest->n_operands; o++) {
        int times = hp_in_set(sets->read, o) + hp_in_set(sets->read_grad, o) +
                    hp_in_set(sets->written, o) + hp_in_set(sets->written_grad, o);
        double elements = times ? elements_of(nest, o, range) : 0;
        sum += times * elements;
        for (int grad = 0; grad < 2; grad++) {
            int copies = 1;
            for (int i = 0; i < DIVISION_AXES; i++)
                if (hp_in_set(grad ? d->sums_grad[i] : d->sums[i], o))
                    copies *= d->n[i];
            if (copies > 1 && (d->parts - d->parts / copies) * elements > most_copied)
                return -1;
            sum += copies > 1 ? 2 * elements : 0;
        }
    }
    return sum;
}

/* The time of the first part, in elements touched; a multiply-add takes a fraction of an
 * element's. */
static double time_of(const struct division *d, const struct operands *sets)
{
    double share = 1, touched = elements_touched(d, sets);
    for (int i = 0; i < DIVISION_AXES; i++) {
        struct range whole = d->call->range[d->axis[i]];
        struct range part = part_of(whole, d->n[i], 0);
        share *= (double)(part.hi - part.lo) / (double)(whole.hi - whole.lo);
    }
    return touched < 0 ? -1 : share * sets->points / 32 + touched;
}

static void try_division(struct division *best, double *best_time, const struct division *tried,
                         const struct operands *sets)
{
    double time = time_of(tried, sets);
    if (time >= 0 && time < *best_time) {
        *best = *tried;
        *best_time = time;
    }
}

static struct division division_of(const struct kernel_call *call, struct candidate a,
                                   struct candidate b, int n_a, int n_b)
{
    return (struct division){ call,
                              n_a * n_b,
                              { n_a, n_b },
                              { a.axis, b.axis },
                              { a.sums, n_b > 1 ? b.sums : 0 },
                              { a.sums_grad, n_b > 1 ? b.sums_grad : 0 } };
}

static int extent_or(const struct kernel_call *call, int axis, int most)
{
    int64_t extent = call->range[axis].hi - call->range[axis].lo;
    return extent < most ? (int)extent : most;
}

struct division hp_divide(const struct kernel_call *call, int most, double least_elements)
{
    const struct nest *nest = call->nest;
    struct division best = { call, 1, { 1, 1 }, { 0, 0 }, { 0, 0 }, { 0, 0 } };
    if (most < 2)
        return best;
    struct operands sets = operands_of(call);
    struct candidate candidate[MAX_AXES];
    int n = 0;
    double all = elements_touched(&best, &sets), best_time = time_of(&best, &sets);
    if (all / least_elements < most)
        most = (int)(all / least_elements);
    for (int a = 0; most > 1 && a < nest->n_axes; a++)
        n += is_candidate(call, &sets, a, &candidate[n]);
    for (int i = 0; i < n; i++) {
        int n_i = extent_or(call, candidate[i].axis, most);
        struct division one = division_of(call, candidate[i], candidate[i], n_i, 1);
        try_division(&best, &best_time, &one, &sets);
        for (int j = 0; j < n; j++)
            for (n_i = 2; j != i && n_i <= most / 2; n_i *= 2) {
                int n_j = extent_or(call, candidate[j].axis, most / n_i);
                struct division two = division_of(call, candidate[i], candidate[j], n_i, n_j);
                if (n_i == extent_or(call, candidate[i].axis, n_i) && n_j > 1)
                    try_division(&best, &best_time, &two, &sets);
            }
    }
    return best;
}

void hp_division_part(const struct division *d, int i, struct kernel_call *part)
{
    const int at[DIVISION_AXES] = { i / d->n[1], i % d->n[1] };
    *part = *d->call;
    part_ranges(d, i, part->range);
    for (int k = 0; k < DIVISION_AXES; k++) {
        part->fresh &= ~(at[k] > 0 ? d->sums[k] : 0);
        part->fresh_grad &= ~(at[k] > 0 ? d->sums_grad[k] : 0);
    }
}

int hp_division_turn(const struct division *d, int i, int o, bool grad)
{
    const int at[DIVISION_AXES] = { i / d->n[1], i % d->n[1] };
    int turn = 0;
    for (int k = 0; k < DIVISION_AXES; k++)
        if (hp_in_set(grad ? d->sums_grad[k] : d->sums[k], o))
            turn = turn * d->n[k] + at[k];
    return turn;
}
