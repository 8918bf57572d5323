/* Finds the device mesh of a plan: the digits of each operator, then one grid that has all
 * digits. */
#include "emit/mesh.h"

/* Devices that are `stride` apart differ by `weight` in their coordinate on `axis`; `length` of
 * them. */
struct digit {
    int axis, stride, length, weight;
};

/* The digits of one operator, innermost first. */
struct digits {
    int n;
    struct digit digit[MESH_MAX_DIMS];
};

/* The strides at which a digit of some operator begins, ascending; each divides the next. */
struct strides {
    int n;
    int at[MESH_MAX_DIMS + 1];
};

/* For each axis, the distance between the numbers of two neighbouring parts. */
static void part_strides(const struct nest *nest, const struct split *split,
                         int stride[MAX_AXES])
{
    int parts = 1;
    for (int a = nest->n_axes - 1; a >= 0; a--) {
        stride[a] = parts;
        parts *= hp_degree(split, a);
    }
}

/* Find the digit that begins at `stride`; part[place] is the part at a place. */
static bool next_digit(const struct nest *nest, const struct split *split, const int *part,
                       int n, int stride, struct digit *out)
{
    int each[MAX_AXES], coordinate[MAX_AXES], axis = -1;
    part_strides(nest, split, each);
    hp_part_coordinates(nest, split, part[stride], coordinate);
    for (int a = 0; a < nest->n_axes; a++) {
        if (coordinate[a] && axis >= 0)
            return false;
        axis = coordinate[a] ? a : axis;
    }
    if (axis < 0)
        return false;
    *out = (struct digit){ axis, stride, 2, coordinate[axis] };
    int degree = hp_degree(split, axis);
    for (; (int64_t)out->length * stride < n; out->length++) {
        int64_t along = (int64_t)out->length * out->weight;
        if (along >= degree || part[out->length * stride] != along * each[axis])
            break;
    }
    return n % ((int64_t)stride * out->length) == 0;
}

/* Do the digits give the part of every place, and is the outer of two digits of an axis the
 * more significant one? */
static bool are_digits(const struct nest *nest, const struct split *split, const int *part,
                       int n, const struct digits *digits)
{
    int each[MAX_AXES], weight[MAX_AXES];
    part_strides(nest, split, each);
    for (int a = 0; a < nest->n_axes; a++)
        weight[a] = 1;
    for (int i = 0; i < digits->n; i++) {
        const struct digit *d = &digits->digit[i];
        if (d->weight != weight[d->axis])
            return false;
        weight[d->axis] *= d->length;
    }
    for (int place = 0; place < n; place++) {
        int64_t expected = 0;
        for (int i = 0; i < digits->n; i++) {
            const struct digit *d = &digits->digit[i];
            expected += (int64_t)(place / d->stride % d->length) * d->weight * each[d->axis];
        }
        if (part[place] != expected)
            return false;
    }
    return true;
}

/* Fill part[place]: each of the `n` places of the stage has one part. */
static enum hypar_status place_parts(const struct mesh *mesh, const struct op_plan *mine,
                                     int *part, struct hypar_error *err)
{
    int n = mesh->n_devices;
    for (int i = 0; i < n; i++)
        part[i] = -1;
    for (int i = 0; i < mine->n_devices; i++) {
        int place = mesh->place[mine->device[i]];
        if (mine->n_devices != n || place < 0 || part[place] >= 0)
            return hp_fail(err, HYPAR_INFEASIBLE,
                           "%d part%s on %d devices, expected one on each: a split, or "
                           "copies (axis 'r')",
                           mine->n_devices, mine->n_devices == 1 ? "" : "s", n);
        part[place] = i;
    }
    return HYPAR_OK;
}

static enum hypar_status find_digits(const struct mesh *mesh, const struct hypar_plan *plan,
                                     int op, int *part, struct digits *out,
                                     struct hypar_error *err)
{
    const struct nest *nest = plan->graph->ops[op].nest;
    const struct split *split = &plan->ops[op].split;
    int n = mesh->n_devices;
    TRY(place_parts(mesh, &plan->ops[op], part, err));
    out->n = 0;
    bool found = true;
    for (int stride = 1; found && stride < n; stride *= out->digit[out->n++].length) {
        found = out->n < MESH_MAX_DIMS &&
                next_digit(nest, split, part, n, stride, &out->digit[out->n]);
        if (!found)
            break;
    }
    if (!found || !are_digits(nest, split, part, n, out))
        return hp_fail(err, HYPAR_INFEASIBLE,
                       "its parts are on devices in an order that no mesh has, expected rows "
                       "of equal length");
    return HYPAR_OK;
}

/* Add a stride at which a digit begins. */
static bool add_stride(struct strides *s, int stride)
{
    int i = 0;
    while (i < s->n && s->at[i] < stride)
        i++;
    if (i < s->n && s->at[i] == stride)
        return true;
    if (s->n > MESH_MAX_DIMS || (i < s->n && s->at[i] % stride) ||
        (i > 0 && stride % s->at[i - 1]))
        return false;
    for (int j = s->n++; j > i; j--)
        s->at[j] = s->at[j - 1];
    s->at[i] = stride;
    return true;
}

static enum hypar_status add_digits(struct strides *s, const struct nest *nest,
                                    const struct digits *digits, struct hypar_error *err)
{
    for (int i = 0; i < digits->n; i++) {
        const struct digit *d = &digits->digit[i];
        if (!add_stride(s, d->stride) || !add_stride(s, d->stride * d->length))
            return hp_fail(err, HYPAR_INFEASIBLE,
                           "axis '%c' is split over rows of %d devices, which do not fit those "
                           "of the operators before it in one mesh",
                           nest->axis[d->axis].name[0], d->stride * d->length);
    }
    return HYPAR_OK;
}

/* Do groups of `over` devices, among those that hold the same elements of a parameter, end at
 * the boundary of a digit? Operand `o` is the parameter. */
static bool add_shard(struct strides *s, const struct nest *nest, const struct digits *digits,
                      int o, int over)
{
    for (int i = 0; i < digits->n && over > 1; i++) {
        const struct digit *d = &digits->digit[i];
        bool divides = nest->operand[o].axes >> d->axis & 1;
        if (divides)
            continue;
        if (over < d->length)
            return d->length % over == 0 && add_stride(s, d->stride * over);
        if (over % d->length)
            return false;
        over /= d->length;
    }
    return over <= 1;
}

static enum hypar_status add_shards(struct strides *s, const struct hypar_plan *plan, int op,
                                    const struct digits *digits, struct hypar_error *err)
{
    const struct op *node = &plan->graph->ops[op];
    const struct op_plan *mine = &plan->ops[op];
    for (int o = 0; mine->shard_over > 1 && o < node->nest->n_operands; o++) {
        int tensor = node->tensor[o];
        if (tensor >= 0 && plan->graph->tensors[tensor].kind == TENSOR_PARAM &&
            !add_shard(s, node->nest, digits, o, mine->shard_over))
            return hp_fail(
                err, HYPAR_INFEASIBLE,
                "a parameter is divided among %d devices, expected devices that form "
                "dimensions of the mesh",
                mine->shard_over);
    }
    return HYPAR_OK;
}

/* Number the devices of each stage, or without stages those of the first operator. */
static enum hypar_status place_devices(struct mesh *out, int *place,
                                       const struct hypar_plan *plan, struct hypar_error *err)
{
    for (int d = 0; d < plan->n_all_devices; d++)
        place[d] = -1;
    for (int s = 0; s < plan->n_stages; s++) {
        const struct hypar_stage *stage = &plan->stages[s];
        if (stage->n_devices != plan->stages[0].n_devices)
            return hp_fail(err, HYPAR_INFEASIBLE,
                           "stage %d has %d devices, stage 0 has %d; expected as many", s,
                           stage->n_devices, plan->stages[0].n_devices);
        for (int i = 0; i < stage->n_devices; i++) {
            if (place[stage->device[i]] >= 0 && place[stage->device[i]] != i)
                return hp_fail(err, HYPAR_INFEASIBLE,
                               "stage %d has its devices in another order than an earlier one "
                               "on them",
                               s);
            place[stage->device[i]] = i;
        }
        out->n_devices = stage->n_devices;
    }
    for (int i = 0; plan->n_stages == 0 && i < plan->ops[0].n_devices; i++)
        place[plan->ops[0].device[i]] = 0;
    for (int d = 0; plan->n_stages == 0 && d < plan->n_all_devices; d++)
        if (place[d] >= 0)
            place[d] = out->n_devices++;
    return HYPAR_OK;
}

enum hypar_status hp_find_mesh(struct mesh *out, struct arena *arena,
                               const struct hypar_plan *plan, struct hypar_error *err)
{
    const struct hypar_graph *graph = plan->graph;
    int *place = NEW(arena, int, plan->n_all_devices);
    int *part = NEW(arena, int, plan->n_all_devices);
    struct strides strides = { .n = 1, .at = { 1 } };
    struct digits digits;
    *out = (struct mesh){ .place = place };
    if (graph->n_ops == 0)
        return hp_fail(err, HYPAR_INFEASIBLE, "the model has no operators");
    TRY(place_devices(out, place, plan, err));
    for (int op = 0; op < graph->n_ops; op++) {
        const struct op *node = &graph->ops[op];
        TRY(hp_in(err, find_digits(out, plan, op, part, &digits, err), "op '%s'", node->name));
        TRY(hp_in(err, add_digits(&strides, node->nest, &digits, err), "op '%s'", node->name));
        TRY(hp_in(err, add_shards(&strides, plan, op, &digits, err), "op '%s'", node->name));
    }
    out->n_dims = strides.n - 1;
    for (int i = 0; i < out->n_dims; i++) {
        int inner = out->n_dims - 1 - i;
        out->stride[i] = strides.at[inner];
        out->size[i] = strides.at[inner + 1] / strides.at[inner];
    }
    return HYPAR_OK;
}

void hp_mesh_dims(const struct mesh *mesh, const struct hypar_plan *plan, int op,
                  uint32_t dims[MAX_AXES])
{
    struct arena scratch = { 0 };
    int *part = NEW(&scratch, int, mesh->n_devices);
    struct digits digits = { 0 };
    for (int a = 0; a < MAX_AXES; a++)
        dims[a] = 0;
    if (find_digits(mesh, plan, op, part, &digits, NULL) != HYPAR_OK)
        digits.n = 0;
    for (int i = 0; i < digits.n; i++) {
        const struct digit *d = &digits.digit[i];
        for (int j = 0; j < mesh->n_dims; j++)
            if (mesh->stride[j] >= d->stride && mesh->stride[j] < d->stride * d->length)
                dims[d->axis] |= (uint32_t)1 << j;
    }
    hp_arena_free(&scratch);
}
