/* Lanes: elements that lie one after the other in memory and are computed by one thread, which
 * reads and writes them at once. */
#include "run/backend/cuda/generator.h"

#include "run/backend/cuda/affine.h"
#include "run/backend/narrow.h"

static const struct view *view_of(const struct generator *g, int o, bool grad)
{
    return grad ? &g->call->grad[o] : &g->call->value[o];
}

/* How the numbers of an operand lie along the axis of the lanes. */
enum lies {
    LIES_SAME,  /* all lanes have one number */
    LIES_CHUNK, /* one after the other, from an aligned place on */
    LIES_PAIRS, /* the same of pairs */
    LIES_NEXT,  /* one after the other */
    LIES_APART,
};

/* Has the kernel an index of the axis? Else a formula gives one. */
static bool has_index(const struct generator *g, int axis)
{
    for (int i = 0; i < g->n_outer + g->n_inner; i++) {
        const struct loop *loop = i < g->n_outer ? &g->outer[i] : &g->inner[i - g->n_outer];
        if (loop->kind == LOOP_AXIS && loop->i == axis)
            return true;
    }
    return hp_gen_has_axis(g->joined, axis);
}

static enum lies lies_of(const struct generator *g, int o, bool grad, int axis, int lanes)
{
    const struct operand *operand = &g->nest->operand[o];
    const struct view *view = view_of(g, o, grad);
    struct affine f = hp_cuda_affine_of(g->call, g->target, o, view);
    int64_t start = f.base;
    for (int d = 0; d < operand->n_dims; d++)
        if (f.has_position[d] || hp_cuda_may_leave(g->nest, g->target, operand, d))
            return LIES_APART;
    bool ids = operand->index && !grad && lanes < HP_CHUNK_BYTES / (int)sizeof(int32_t);
    if (!hp_gen_has_axis(f.axes, axis) || f.step[axis] == 0 || ids)
        return LIES_SAME; /* a few ids, no whole chunk, are read one by one */
    bool pairs = !grad && f.step[axis] == 2 && f.whole == 1 && f.whole_extent == 2;
    if (f.step[axis] != 1 && !pairs)
        return LIES_APART;
    bool aligned =
        (uintptr_t)view->data % HP_CHUNK_BYTES == 0 && (pairs || f.whole % lanes == 0);
    for (int a = 0; a < g->nest->n_axes; a++) {
        struct range r = g->call->range[a];
        if (hp_gen_has_axis(f.axes, a) && !has_index(g, a))
            return LIES_APART;
        start += f.step[a] * r.lo;
        aligned &= a == axis || r.hi - r.lo == 1 || f.step[a] % lanes == 0;
    }
    aligned &= start % lanes == 0;
    return !aligned ? LIES_NEXT : pairs ? LIES_PAIRS : LIES_CHUNK;
}

/* What the target and those beside it read. */
static void reads_of(const struct generator *g, operand_set *value, operand_set *grad)
{
    *value = *grad = 0;
    for (const struct target *t = g->target; t; t = t->also) {
        *value |= t->reads;
        *grad |= t->reads_grad;
    }
}

/* Lanes along an axis, as far as reads allow them: chunks, or with `spread` any numbers that
 * lie one after the other. */
static bool reads_fit(struct generator *g, struct lanes *lanes, bool spread)
{
    operand_set set[2];
    int n = 0;
    lanes->value = lanes->grad = lanes->pairs = 0;
    reads_of(g, &set[0], &set[1]);
    for (int o = 0; o < g->nest->n_operands; o++)
        for (int grad = 0; grad < 2; grad++) {
            if (!(set[grad] >> o & 1) || !view_of(g, o, grad)->data)
                continue;
            enum lies lies = lies_of(g, o, grad, lanes->axis, lanes->n);
            if (lies == LIES_APART || (lies == LIES_NEXT && !spread))
                return false;
            n += lies != LIES_SAME;
            if ((lies == LIES_CHUNK || lies == LIES_PAIRS) && !spread)
                *(grad ? &lanes->grad : &lanes->value) |= (operand_set)1 << o;
            if (lies == LIES_PAIRS && !spread)
                lanes->pairs |= (operand_set)1 << o;
        }
    return n > 0;
}

static int lanes_of(const struct generator *g)
{
    bool f32 = hp_is_narrow_call(g->call) || g->call->real == REAL_F32;
    return HP_CHUNK_BYTES / (hp_is_narrow_call(g->call) ? 2 : f32 ? 4 : 8);
}

/* Lanes along the last of some loops. */
static bool along(struct generator *g, struct lanes *lanes, const struct loop *loop, int n,
                  bool spread)
{
    const struct loop *last = n ? &loop[n - 1] : NULL;
    if (!last || last->kind != LOOP_AXIS)
        return false;
    lanes->n = lanes_of(g);
    lanes->axis = last->i;
    lanes->spread = spread;
    int64_t extent = last->range.hi - last->range.lo;
    bool fits = spread ? extent >= HP_SPREAD_LEAST : extent % lanes->n == 0;
    return fits && reads_fit(g, lanes, spread);
}

void hp_gen_find_lanes(struct generator *g, bool in_columns)
{
    struct lanes lanes = { .along = LANES_NONE };
    const struct target *t = g->target;
    bool sum = t->grad || g->nest->operand[t->to].combine == COMBINE_SUM;
    g->lanes = lanes;
    if (g->derived || g->out->leaves_out)
        return;
    if (in_columns) {
        if (along(g, &lanes, g->outer, g->n_outer, false))
            lanes.along = LANES_OUTER;
        else if (along(g, &lanes, g->inner, g->n_inner, false))
            lanes.along = LANES_INNER;
    } else if (g->n_inner == 0 && !g->pair && sum) {
        for (int spread = 0; spread < 2 && lanes.along == LANES_NONE; spread++) {
            enum lies to = LIES_APART;
            if (along(g, &lanes, g->outer, g->n_outer, spread))
                to = lies_of(g, t->to, t->grad, lanes.axis, lanes.n);
            if (to == LIES_CHUNK || (spread && to == LIES_NEXT))
                lanes.along = LANES_OUTER;
        }
    }
    if (lanes.along != LANES_NONE)
        g->lanes = lanes;
}

bool hp_gen_is_chunk(const struct generator *g, int o, bool grad)
{
    const struct lanes *lanes = &g->lanes;
    return lanes->along != LANES_NONE && (grad ? lanes->grad : lanes->value) >> o & 1;
}

bool hp_gen_is_pairs(const struct generator *g, int o, bool grad)
{
    return hp_gen_is_chunk(g, o, grad) && !grad && g->lanes.pairs >> o & 1;
}

void hp_gen_say_chunks(struct generator *g)
{
    const struct instead none = { 0, NONE, 0, NULL }, first = { '*', NONE, 1, "0" };
    for (int o = 0; o < g->nest->n_operands; o++)
        for (int grad = 0; grad < 2; grad++) {
            if (!hp_gen_is_chunk(g, o, grad))
                continue;
            const char *type = hp_gen_type_of(g, o, grad);
            const struct place *p = hp_gen_place_of(g, o, grad);
            bool pairs = hp_gen_is_pairs(g, o, grad);
            if (p->whole != NONE && !pairs)
                continue;
            hp_gen_say(g, "const chunk<%s, %d> %s%d((const %s *)p.data[%d] + (", type,
                       pairs ? 2 * g->lanes.n : g->lanes.n, grad ? "grad" : "value", o, type,
                       p->data);
            hp_gen_say_index(g, p, pairs ? &first : &none);
            hp_gen_say(g, "));\n");
        }
}

void hp_gen_say_lanes(struct generator *g)
{
    int axis = g->lanes.axis;
    hp_gen_say(g, "#pragma unroll\nfor (int lane = 0; lane < %d; lane++) {\n", g->lanes.n);
    if (g->lanes.spread) /* those beyond the end compute what the first one does */
        hp_gen_say(g,
                   "const Index a%d = first + lane * %d < end ? first + lane * %d : first;\n",
                   axis, HP_SPREAD, HP_SPREAD);
    else
        hp_gen_say(g, "const Index a%d = first + lane;\n", axis);
    hp_gen_say(g, "(void)a%d;\n", axis);
}
