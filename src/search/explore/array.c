/* Computes the inputs of HyPar's fitted time (cost/papers/array.h) from a model and a
 * machine. */
#include "graph/graph.h"
#include "search/explore/explore.h"

/* Elements of one channel of operand `o` of a convolution: its map. */
static double map_size(const struct nest *nest, int o)
{
    double size = 1;
    for (int d = 2; d < nest->operand[o].n_dims; d++)
        size *= (double)nest->operand[o].size[d];
    return size;
}

static double forward_macs(const struct op *op)
{
    const struct nest *nest = op->nest;
    double macs = hp_nest_macs(nest, false);
    if (op->kind != OP_CONV && op->kind != OP_GROUP_CONV)
        return macs;
    int y = 0;
    while (nest->operand[y].role != OPERAND_OUTPUT)
        y++;
    return macs * map_size(nest, 0) / map_size(nest, y);
}

double hp_array_macs(const struct hypar_graph *graph)
{
    double macs = 0;
    for (int op = 0; op < graph->n_ops; op++)
        macs += forward_macs(&graph->ops[op]);
    return macs;
}

void hp_array_hops(const struct hypar_machine *machine, double *hops)
{
    struct hypar_level level[HYPAR_MAX_LEVELS];
    int n_levels = hypar_machine_levels(machine, level);
    int n = hypar_machine_device_count(machine), below = n;
    bool switched = hypar_machine_switch_count(machine) > 0;
    for (int h = 0; h < n_levels; h++) {
        int ways = level[h].ways;
        double links = 0, pairs = 0;
        below /= ways;
        for (int d = 0; !switched && d < n; d++)
            for (int side = d / below % ways + 1; side < ways; side++) {
                int partner = d + (side - d / below % ways) * below;
                links += hypar_machine_route(machine, d, partner, NULL, 0);
                pairs++;
            }
        hops[h] = pairs > 0 ? links / pairs : 1;
    }
}
