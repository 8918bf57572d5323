/* Walking over the indices of a part's axes, in global coordinates (kernel/walk.h). */
#include "kernel/walk.h"

#include <assert.h>
#include <string.h>

#include "base/number.h"

int hp_operand(const struct nest *nest, char name)
{
    for (int o = 0; o < nest->n_operands; o++)
        if (nest->operand[o].name[0] == name)
            return o;
    return -1;
}

double hp_extents(const struct nest *nest, axis_set axes)
{
    double product = 1;
    for (int a = 0; a < nest->n_axes; a++)
        if (axes >> a & 1)
            product *= (double)nest->axis[a].extent;
    return product;
}

static bool is_grad(const char *name)
{
    return name[0] == 'd' && name[1] >= 'a' && name[1] <= 'z';
}

static bool has(operand_set set, int o)
{
    return set >> o & 1;
}

const struct view *hp_call_view(const struct kernel_call *call, const char *name)
{
    const struct pass *pass = &call->nest->pass[call->pass];
    bool grad = is_grad(name);
    int o = hp_operand(call->nest, name[grad]);
    operand_set set = grad ? pass->reads_grad | pass->writes_grad
                           : (pass->reads & ~pass->adds) | pass->writes;
    if (o < 0 || !has(set, o))
        return NULL;
    const struct view *view = grad ? &call->grad[o] : &call->value[o];
    return view->data ? view : NULL;
}

bool hp_call_writes(const struct kernel_call *call, const char *name)
{
    const struct pass *pass = &call->nest->pass[call->pass];
    bool grad = is_grad(name);
    int o = hp_operand(call->nest, name[grad]);
    return o >= 0 && has(grad ? pass->writes_grad : pass->writes, o);
}

/* Maps -------------------------------------------------------------------------------- */

/* Does some index lead to a position before the tensor's first or after its last? */
static bool leaves(const struct walk *w, const struct walk_edge *edge)
{
    struct range r = w->range[edge->axis];
    int64_t span = edge->taps < 0 ? 0 : (w->range[edge->taps].hi - 1) * edge->dilation;
    return r.lo * edge->stride < edge->pad ||
           (r.hi - 1) * edge->stride - edge->pad + span >= edge->size;
}

static void map_axis(struct walk *w, struct walk_map *map, int o, int d)
{
    const struct nest *nest = w->call->nest;
    const struct dim_map *dim = &nest->operand[o].dim[d];
    int taps = dim->taps ? dim->taps : -1;
    map->has_windows |=
        dim->divide || (taps >= 0 && !(nest->pass[w->call->pass].axes >> taps & 1));
    if (dim->divide)
        return;
    struct walk_edge edge = { dim->axis[0], taps, dim->stride,
                              dim->pad,     0,    nest->operand[o].size[d] };
    if (taps >= 0) {
        if (!(nest->pass[w->call->pass].axes >> taps & 1))
            return;
        edge.dilation = hp_attr_int(nest->attrs, ATTR_DILATION, d - 2, 1);
        map->step[taps] += edge.dilation * map->stride[d];
    }
    map->step[edge.axis] += edge.stride * map->stride[d];
    map->start -= edge.pad * map->stride[d];
    if (leaves(w, &edge))
        map->edge[map->n_edges++] = edge;
}

static void map_product(struct walk *w, struct walk_map *map, const struct dim_map *dim, int d)
{
    int64_t stride = map->stride[d];
    for (int f = dim->n_axes - 1; f >= 0; f--) {
        map->step[dim->axis[f]] += stride;
        stride *= w->call->nest->axis[dim->axis[f]].extent;
    }
}

void hp_walk_add(struct walk *w, int o, const struct view *view)
{
    assert(w->n_maps < WALK_MAPS);
    struct walk_map *map = &w->map[w->n_maps++];
    *map = (struct walk_map){ .data = view ? view->data : NULL };
    if (!map->data)
        return;
    const struct operand *operand = &w->call->nest->operand[o];
    for (int d = operand->n_dims - 1; d >= 0; d--) {
        const struct dim_map *dim = &operand->dim[d];
        int64_t stride = map->stride[d] = view->stride[d];
        map->start -= view->box.dim[d].lo * stride;
        if (dim->kind == DIM_AXIS)
            map_axis(w, map, o, d);
        else if (dim->kind == DIM_PRODUCT)
            map_product(w, map, dim, d);
        else if (dim->kind == DIM_WHOLE && operand->size[d] > 1) {
            map->step[WALK_WHOLE] += stride;
            w->range[WALK_WHOLE].hi = operand->size[d];
        }
    }
}

void hp_walk_begin(struct walk *w, const struct kernel_call *call, axis_set axes)
{
    w->call = call;
    w->axes = axes;
    w->points = w->started = false;
    w->n_maps = 0;
    memcpy(w->range, call->range, sizeof call->range);
    w->range[WALK_WHOLE] = (struct range){ 0, 1 };
}

void hp_walk(struct walk *w, const struct kernel_call *call, const char *names)
{
    hp_walk_begin(w, call, call->nest->pass[call->pass].axes);
    for (const char *p = names; *p; p += strspn(p, " ")) {
        hp_walk_add(w, hp_operand(call->nest, p[is_grad(p)]), hp_call_view(call, p));
        p += strcspn(p, " ");
    }
}

/* Loops ------------------------------------------------------------------------------- */

/* Runs go along the axis on which most operands have step 0 or 1; of several such axes, the
 * longest. The order of the other axes, and so the order of summation, does not change. */
static int choose_inner(const struct walk *w)
{
    int best = -1, best_dense = -1;
    int64_t best_extent = 0;
    for (int i = 0; i < w->n_loops && !w->points; i++) {
        int a = w->loop[i], dense = 0;
        int64_t extent = w->range[a].hi - w->range[a].lo;
        for (int m = 0; m < w->n_maps; m++)
            dense += w->map[m].step[a] <= 1;
        if (extent > 1 &&
            (dense > best_dense || (dense == best_dense && extent >= best_extent))) {
            best = a;
            best_dense = dense;
            best_extent = extent;
        }
    }
    return best;
}

static bool start(struct walk *w)
{
    w->started = true;
    w->n_loops = 0;
    memset(w->index, 0, sizeof w->index);
    for (int a = 0; a < WALK_AXES; a++) {
        if (!(w->axes >> a & 1))
            continue;
        if (hp_range_empty(w->range[a]))
            return false;
        w->index[a] = w->range[a].lo;
        w->loop[w->n_loops++] = a;
    }
    w->inner = choose_inner(w);
    for (int m = 0; m < w->n_maps; m++)
        w->map[m].run = w->inner < 0 ? 0 : w->map[m].step[w->inner];
    return true;
}

static bool advance(struct walk *w)
{
    for (int i = w->n_loops - 1; i >= 0; i--) {
        int a = w->loop[i];
        if (a == w->inner)
            continue;
        if (++w->index[a] < w->range[a].hi)
            return true;
        w->index[a] = w->range[a].lo;
    }
    return false;
}

/* Remove from `run` the indices at which the position is outside the tensor. */
static void clip(const struct walk *w, const struct walk_edge *edge, struct range *run)
{
    int64_t position = w->index[edge->axis] * edge->stride - edge->pad;
    if (edge->taps >= 0)
        position += w->index[edge->taps] * edge->dilation;
    int64_t step = w->inner < 0             ? 0
                   : w->inner == edge->axis ? edge->stride
                   : w->inner == edge->taps ? edge->dilation
                                            : 0;
    if (step == 0) {
        if (position < 0 || position >= edge->size)
            run->hi = run->lo;
        return;
    }
    int64_t first = hp_divide_up(-position, step),
            last = hp_divide_up(edge->size - position, step);
    run->lo = run->lo > first ? run->lo : first;
    run->hi = run->hi < last ? run->hi : last;
}

/* Set the positions of the operands in the current run; false if it has no point. */
static bool place(struct walk *w)
{
    struct range run = { 0, 1 };
    if (w->inner >= 0) {
        w->index[w->inner] = w->range[w->inner].lo;
        run.hi = w->range[w->inner].hi - w->range[w->inner].lo;
    }
    for (int m = 0; m < w->n_maps; m++)
        for (int e = 0; e < w->map[m].n_edges; e++)
            clip(w, &w->map[m].edge[e], &run);
    if (hp_range_empty(run))
        return false;
    if (w->inner >= 0)
        w->index[w->inner] += run.lo;
    w->count = run.hi - run.lo;
    for (int m = 0; m < w->n_maps; m++) {
        struct walk_map *map = &w->map[m];
        map->at = map->start;
        for (int i = 0; i < w->n_loops; i++)
            map->at += map->step[w->loop[i]] * w->index[w->loop[i]];
    }
    return true;
}

bool hp_walk_next(struct walk *w)
{
    do {
        if (!(w->started ? advance(w) : start(w)))
            return false;
    } while (!place(w));
    return true;
}
