/* A part of an operator is a range for each axis, so what divides an operator among devices
 * also divides a part of it among threads: along an axis that cuts all that is written. */
#include "kernel/divide.h"

/* Does a range of `axis` touch elements of operand `o` that no other range does, and all of
 * them together what all of the axis touches? Not so where windows overlap or leave some out.
 */
static bool cuts(const struct nest *nest, int o, int axis)
{
    const struct operand *operand = &nest->operand[o];
    for (int d = 0; d < operand->n_dims; d++) {
        const struct dim_map *dim = &operand->dim[d];
        if (dim->n_axes > 0 && dim->axis[0] == axis && dim->kind == DIM_AXIS)
            return dim->stride == 1 && dim->span == 1;
        if (dim->n_axes > 0 && dim->axis[0] == axis && dim->kind == DIM_PRODUCT)
            return true;
    }
    return false;
}

/* Of all passes of the call. */
struct operands {
    operand_set written, read;
};

static struct operands operands_of(const struct kernel_call *call)
{
    pass_set passes = call->passes ? call->passes : (pass_set)1 << call->pass;
    struct operands sets = { 0, 0 };
    for (int p = 0; p < call->nest->n_passes; p++) {
        const struct pass *pass = &call->nest->pass[p];
        if (!(passes >> p & 1))
            continue;
        sets.written |= pass->writes | pass->writes_grad;
        sets.read |= pass->reads | pass->reads_grad;
    }
    return sets;
}

/* Elements that a part reads and writes. */
static double elements_touched(const struct kernel_call *call, struct operands sets,
                               const struct range *range)
{
    double sum = 0;
    for (int o = 0; o < call->nest->n_operands; o++) {
        struct box box = hp_region(call->nest, o, range);
        double elements = (double)hp_box_elements(&box);
        sum += sets.written >> o & 1 ? elements : 0;
        sum += sets.read >> o & 1 ? elements : 0;
    }
    return sum;
}

static struct range part_of(struct range whole, int n, int i)
{
    struct range part = hp_even_part(whole.hi - whole.lo, n, i);
    return (struct range){ whole.lo + part.lo, whole.lo + part.hi };
}

struct division hp_divide(const struct kernel_call *call, int most, double least_elements)
{
    const struct nest *nest = call->nest;
    struct operands sets = operands_of(call);
    struct division best = { call, 1, -1 };
    double best_share = 0, best_elements = 0;
    double all = most > 1 ? elements_touched(call, sets, call->range) : 0;
    if (all / least_elements < most)
        most = (int)(all / least_elements);
    for (int a = 0; most > 1 && a < nest->n_axes; a++) {
        int64_t extent = call->range[a].hi - call->range[a].lo;
        bool possible = nest->axis[a].splittable && extent > 1;
        for (int o = 0; possible && o < nest->n_operands; o++)
            possible = !(sets.written >> o & 1) || cuts(nest, o, a);
        if (!possible)
            continue;
        struct division tried = { call, extent < most ? (int)extent : most, a };
        struct range range[MAX_AXES];
        for (int i = 0; i < MAX_AXES; i++)
            range[i] = call->range[i];
        range[a] = part_of(call->range[a], tried.n, 0);
        /* the share that one thread has of all; of the same shares what touches less */
        double share = (double)(range[a].hi - range[a].lo) / (double)extent;
        double elements = elements_touched(call, sets, range);
        if (best.n == 1 || share < best_share ||
            (share <= best_share && elements < best_elements)) {
            best = tried;
            best_share = share;
            best_elements = elements;
        }
    }
    return best;
}

void hp_division_part(const struct division *division, int i, struct kernel_call *part)
{
    *part = *division->call;
    part->range[division->axis] =
        part_of(division->call->range[division->axis], division->n, i);
}
