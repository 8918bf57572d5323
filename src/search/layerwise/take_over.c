/* Derives the placement of operators that have no state of their own from the operator they
 * read or share a parameter with. */
#include "search/layerwise/optcnn.h"

/* The leading axis of dimension `d` of an operand, the only axis there that may be divided; -1:
 * it may not be. */
static int leading_axis(const struct nest *nest, int o, int d)
{
    int a = hp_leading_axis(nest, o, d);
    return a >= 0 && nest->axis[a].splittable ? a : -1;
}

/* Multiply the degree of an axis by `parts`: the samples, else the first axis that is not
 * summed and is long enough. Returns false if there is no such axis. */
static bool give(const struct nest *nest, int *degree, int parts)
{
    for (int turn = 0; turn < 2; turn++)
        for (int a = 0; a < nest->n_axes; a++) {
            enum hypar_role role = nest->axis[a].role;
            bool suits = turn ? role == HYPAR_ATTRIBUTE || role == HYPAR_PARAMETER
                              : role == HYPAR_SAMPLE;
            if (suits && nest->axis[a].splittable &&
                (int64_t)degree[a] * parts <= nest->axis[a].extent) {
                degree[a] *= parts;
                return true;
            }
        }
    return false;
}

/* Give axis `to` of the reader the placement `from` of the writer's axis. Returns false if the
 * axis cannot have it. */
static bool take(const struct nest *reader, int to, const struct axis_placement *from,
                 struct placement *p)
{
    if (to < 0 || p->axis[to].degree > 1 || from->degree > reader->axis[to].extent)
        return false;
    p->axis[to] = *from;
    return true;
}

/* Place the operator on the first devices if some degrees found no axis: keeps the degrees that
 * did, and gives the others to axes with room. */
static struct placement place_anew(struct topology_view *topology, const struct nest *nest,
                                   const struct placement *found, const int *lost, int n_lost)
{
    int degree[MAX_AXES];
    for (int a = 0; a < MAX_AXES; a++)
        degree[a] = found->axis[a].degree > 1 ? found->axis[a].degree : 1;
    for (int i = 0; i < n_lost; i++)
        give(nest, degree, lost[i]);
    return hp_place_row_major(topology, nest, degree);
}

struct placement hp_take_over(struct topology_view *topology, const struct nest *writer, int wo,
                              const struct placement *at, const struct nest *reader, int ro)
{
    struct placement p = { 0 };
    axis_set taken = 0;
    int lost[MAX_AXES], n_lost = 0;
    for (int d = 0; d < writer->operand[wo].n_dims; d++) {
        int from = leading_axis(writer, wo, d), to = leading_axis(reader, ro, d);
        if (from >= 0 && at->axis[from].degree > 1 && !(taken >> from & 1) &&
            take(reader, to, &at->axis[from], &p))
            taken |= (axis_set)1 << from;
    }
    for (int a = 0; a < writer->n_axes; a++)
        if (at->axis[a].degree > 1 && !(taken >> a & 1))
            lost[n_lost++] = at->axis[a].degree;
    if (n_lost)
        return place_anew(topology, reader, &p, lost, n_lost);
    hp_place(topology, reader, &p);
    return p;
}

/* The axis of `nest` with the same dimension and role as `axis`, with the same letter if
 * possible. */
static int like_axis(const struct nest *nest, const struct hypar_axis *axis)
{
    int found = -1;
    for (int a = 0; a < nest->n_axes; a++) {
        if (hp_optcnn_dimension(&nest->axis[a]) != hp_optcnn_dimension(axis) ||
            nest->axis[a].role != axis->role)
            continue;
        if (nest->axis[a].name[0] == axis->name[0])
            return a;
        found = found < 0 ? a : found;
    }
    return found;
}

struct placement hp_share_parameter(struct topology_view *topology, const struct nest *lead,
                                    int lo, const struct placement *at,
                                    const struct nest *other, int oo)
{
    if (lead == other)
        return *at;
    struct placement p = { 0 };
    axis_set taken = 0;
    for (int d = 0; lo >= 0 && d < lead->operand[lo].n_dims; d++) {
        int from = leading_axis(lead, lo, d), to = leading_axis(other, oo, d);
        if (from >= 0 && at->axis[from].degree > 1 && take(other, to, &at->axis[from], &p))
            taken |= (axis_set)1 << from;
    }
    for (int a = 0; a < lead->n_axes; a++)
        if (at->axis[a].degree > 1 && !(taken >> a & 1))
            take(other, like_axis(other, &lead->axis[a]), &at->axis[a], &p);
    return place_anew(topology, other, &p, NULL, 0);
}
