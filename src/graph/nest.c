/* Questions about a loop nest: its axes, its sample dimension, and the effect of a split axis
 * on a written tensor. */
#include "graph/nest.h"

int hp_nest_axis(const struct nest *nest, char name)
{
    for (int a = 0; a < nest->n_axes; a++)
        if (nest->axis[a].name[0] == name)
            return a;
    return -1;
}

int hp_axis_of_role(const struct nest *nest, enum hypar_role role)
{
    for (int a = 0; a < nest->n_axes; a++)
        if (nest->axis[a].role == role && nest->axis[a].splittable)
            return a;
    return -1;
}

int hp_sample_dim(const struct nest *nest, int o)
{
    const struct operand *operand = &nest->operand[o];
    for (int d = 0; d < operand->n_dims; d++)
        if (operand->dim[d].n_axes && nest->axis[operand->dim[d].axis[0]].role == HYPAR_SAMPLE)
            return d;
    return -1;
}

double hp_nest_macs(const struct nest *nest, bool backward)
{
    double macs = 0;
    for (int p = 0; p < nest->n_passes; p++)
        if (nest->pass[p].backward == backward)
            macs += nest->pass[p].macs;
    return macs;
}

axis_set hp_written_axes(const struct nest *nest, int pass, int o, enum write_kind kind)
{
    axis_set cut = nest->operand[o].axes, looped = cut | nest->pass[pass].axes;
    return kind == WRITE_CUT ? cut : kind == WRITE_PARTIAL ? looped & ~cut : ~looped;
}

enum write_kind hp_write_kind(const struct nest *nest, int pass, int o, int axis)
{
    if (nest->operand[o].axes >> axis & 1)
        return WRITE_CUT;
    return hp_written_axes(nest, pass, o, WRITE_PARTIAL) >> axis & 1 ? WRITE_PARTIAL
                                                                     : WRITE_COPY;
}
