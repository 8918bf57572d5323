/* The text of a kernel from the nest of an operator, and the numbers that it is called with. */
#include "run/backend/cuda/generate.h"

#include <math.h>
#include <string.h>

#include "run/backend/cuda/affine.h"
#include "run/backend/cuda/generator.h"
#include "run/backend/cuda/sources.h"
#include "run/backend/narrow.h"

/* The kernel ---------------------------------------------------------------------------- */

static void say_body(struct generator *g)
{
    const struct target *t = g->target;
    hp_gen_say_derived(g);
    for (int o = 0; o < g->nest->n_operands; o++)
        if (hp_gen_is_read(g, o, false) || hp_gen_is_read(g, o, true))
            hp_gen_say_checks(g, o);
    hp_gen_say_windows(g);
    if (t->formula)
        hp_gen_expand(g, t->formula, (int)strlen(t->formula));
    else
        hp_gen_say_product(g);
    hp_gen_say(g, "\n");
}

static enum combine combine_of(const struct generator *g)
{
    return g->target->grad ? COMBINE_SUM : g->nest->operand[g->target->to].combine;
}

/* The end of the names of functions that combine so. */
static const char *const combine_name[] = {
    [COMBINE_SUM] = "sum", [COMBINE_MAX] = "max", [COMBINE_SOFTMAX] = "softmax"
};

/* Put acc, and acc1 of pairs, into the target. */
static void say_write(struct generator *g)
{
    const struct instead first = { '*', NONE, 1, "0" }, none = { 0, NONE, 0, NULL };
    const struct place *p = hp_gen_place_of(g, g->target->to, g->target->grad);
    bool fresh = g->target->fresh && !g->out->leaves_out;
    const char *type = hp_gen_type_of(g, g->target->to, g->target->grad);
    hp_gen_say(g, "%s *to = (%s *)p.data[%d] + (", type, type, p->data);
    hp_gen_say_index(g, p, g->pair ? &first : &none);
    hp_gen_say(g, ");\nput_%s%s<%s>(to, ", combine_name[combine_of(g)],
               g->pair && combine_of(g) == COMBINE_SUM ? "s" : "", fresh ? "true" : "false");
    if (g->pair)
        hp_gen_say(g, "p.v[%d], ", p->whole == NONE ? hp_gen_number(g, 0) : p->whole);
    hp_gen_say(g, g->pair ? "acc, acc1);\n" : "acc);\n");
}

static void say_inside(struct generator *g)
{
    const struct operand *o = &g->nest->operand[g->target->to];
    for (int d = 0; d < o->n_dims; d++)
        if (o->dim[d].kind == DIM_AXIS &&
            hp_cuda_follows(g->nest, g->target, &o->dim[d]) == FOLLOWS_AXIS &&
            hp_cuda_may_leave(g->nest, g->target, o, d)) {
            hp_gen_say(g, " && !");
            hp_gen_say_outside(g, o, d);
        }
}

static void say_beginning(struct generator *g)
{
    hp_gen_say(g, "double acc = %s, acc1 = 0;\n",
               combine_of(g) == COMBINE_SUM ? "0" : "p.least");
}

/* Constants of the formula, and indices of axes that have joined others. */
static void say_head(struct generator *g, const char *name)
{
    const struct target *t = g->target;
    hp_gen_say(g,
               "extern \"C\" __global__ void %s%s%s_%s%c(cuda_call p)\n{\n"
               "const double k0 = p.c[0], k1 = p.c[1], k2 = p.c[2], k3 = p.c[3];\n"
               "(void)k0, (void)k1, (void)k2, (void)k3;\n",
               g->out->in_columns ? "__launch_bounds__(CUDA_COLUMN_THREADS) " : "", name,
               hp_op[g->nest->kind].name, t->grad ? "d" : "", g->nest->operand[t->to].name[0]);
    for (int a = 0; a < g->nest->n_axes; a++)
        if (hp_gen_has_axis(g->joined, a))
            hp_gen_say(g, "const Index a%d = Index(p.v[%d]);\n", a,
                       hp_gen_number(g, g->call->range[a].lo));
}

static void say_elements(struct generator *g, int outer)
{
    hp_gen_say(
        g,
        "for (long long at = (long long)blockIdx.x * blockDim.x + threadIdx.x; at < p.v[%d]; "
        "at += (long long)gridDim.x * blockDim.x) {\nIndex rest = Index(at);\n",
        outer);
    hp_gen_say_indices(g, g->outer, g->n_outer);
    hp_gen_say(g, "if (!(true");
    say_inside(g);
    hp_gen_say(g, ")) continue;\n");
}

/* From now on, of the target or of the others beside it. */
static void take(struct generator *g, const struct target *t)
{
    g->target = t;
    g->pair = hp_gen_is_pair(t);
}

/* The result of one element. A thread computes those of several before it writes any, so that
 * it waits for memory once. */
static void say_several(struct generator *g, int outer)
{
    enum { MANY_ELEMENTS = 1 << 19 };
    if (g->out->outer >= MANY_ELEMENTS)
        g->out->items /= GENERATED_AT_ONCE;
    say_head(g, GENERATED_PREFIX);
    hp_gen_say(g, "const auto find = [&](long long at, double &acc, double &acc1) {\n"
                  "Index rest = Index(at);\n");
    hp_gen_say_indices(g, g->outer, g->n_outer);
    hp_gen_say(g, "if (!(true");
    say_inside(g);
    hp_gen_say(g, ")) return false;\nacc = %s;\nacc1 = 0;\n",
               combine_of(g) == COMBINE_SUM ? "0" : "p.least");
    hp_gen_say(g, "for (bool once = true; once; once = false) {\n");
    say_body(g);
    hp_gen_say(g, "}\nreturn true;\n};\n"
                  "const auto put = [&](long long at, double acc, double acc1) {\n"
                  "(void)acc1;\nIndex rest = Index(at);\n");
    hp_gen_say_indices(g, g->outer, g->n_outer);
    say_write(g);
    hp_gen_say(
        g,
        "};\nconst long long step = (long long)gridDim.x * blockDim.x;\n"
        "for (long long at = (long long)blockIdx.x * blockDim.x + threadIdx.x; at < p.v[%d]; "
        "at += %d * step) {\n"
        "double acc[%d], acc1[%d];\nbool there[%d];\n"
        "#pragma unroll\nfor (int i = 0; i < %d; i++)\n"
        "there[i] = at + i * step < p.v[%d] && find(at + i * step, acc[i], acc1[i]);\n"
        "#pragma unroll\nfor (int i = 0; i < %d; i++)\n"
        "if (there[i]) put(at + i * step, acc[i], acc1[i]);\n}\n}\n",
        outer, GENERATED_AT_ONCE, GENERATED_AT_ONCE, GENERATED_AT_ONCE, GENERATED_AT_ONCE,
        GENERATED_AT_ONCE, outer, GENERATED_AT_ONCE);
}

/* The result of the lanes of an element. All are found before one is written. */
static void say_lanes(struct generator *g)
{
    const struct lanes *lanes = &g->lanes;
    const struct instead none = { 0, NONE, 0, NULL };
    const struct loop *last = &g->outer[g->n_outer - 1];
    int64_t extent = last->range.hi - last->range.lo, each = (int64_t)lanes->n * HP_SPREAD;
    int64_t segments = lanes->spread ? (extent + each - 1) / each : extent / lanes->n;
    int axis = lanes->axis, hi = hp_gen_number(g, last->range.hi);
    g->out->items = g->out->outer / extent * segments * (lanes->spread ? HP_SPREAD : 1);
    say_head(g, GENERATED_PREFIX);
    hp_gen_say(g,
               "for (long long at = (long long)blockIdx.x * blockDim.x + threadIdx.x; at < "
               "p.v[%d]; at += (long long)gridDim.x * blockDim.x) {\n",
               hp_gen_number(g, g->out->items));
    if (lanes->spread) {
        int n = hp_gen_number(g, segments);
        hp_gen_say(
            g,
            "Index rest = Index(at / %d);\nconst Index segment = rest %% Index(p.v[%d]);\n"
            "rest /= Index(p.v[%d]);\n",
            HP_SPREAD, n, n);
        hp_gen_say_indices(g, g->outer, g->n_outer - 1);
        hp_gen_say(g,
                   "const Index a%d = Index(p.v[%d]) + segment * %d + Index(at %% %d);\n"
                   "const Index end = Index(p.v[%d]);\nif (a%d >= end) continue;\n",
                   axis, hp_gen_number(g, last->range.lo), (int)each, HP_SPREAD, hi, axis);
    } else {
        hp_gen_say(g, "Index rest = Index(at) * %d;\n", lanes->n);
        hp_gen_say_indices(g, g->outer, g->n_outer);
    }
    hp_gen_say_chunks(g);
    hp_gen_say(g, "const Index first = a%d;\ndouble found[%d];\n", axis, lanes->n);
    hp_gen_say_lanes(g);
    hp_gen_say(g, "double &acc = found[lane];\nacc = 0;\n"
                  "for (bool once = true; once; once = false) {\n");
    say_body(g);
    hp_gen_say(g, "}\n}\n");
    const struct place *p = hp_gen_place_of(g, g->target->to, g->target->grad);
    const char *type = hp_gen_type_of(g, g->target->to, g->target->grad);
    hp_gen_say(g, "%s *to = (%s *)p.data[%d] + (", type, type, p->data);
    hp_gen_say_index(g, p, &none);
    hp_gen_say(g, ");\nput_%s<%s>(to, found, p.v[%d] - first);\n}\n}\n",
               lanes->spread ? "spread" : "chunk", g->target->fresh ? "true" : "false", hi);
}

/* A thread for each element, whose terms it adds up. */
static void say_threads(struct generator *g, int outer)
{
    say_head(g, GENERATED_PREFIX);
    say_elements(g, outer);
    say_beginning(g);
    for (int i = 0; i < g->n_inner; i++)
        hp_gen_say_nested_loop(g, &g->inner[i]);
    say_body(g);
    for (int i = 0; i < g->n_inner; i++)
        hp_gen_say(g, "}\n");
    say_write(g);
    hp_gen_say(g, "}\n}\n");
}

static int count(const struct target *t)
{
    int n = 0;
    for (; t; t = t->also)
        n++;
    return n;
}

/* The elements of a column of threads: `lanes` from number `at` on. */
static void say_column(struct generator *g, int outer, int lanes)
{
    hp_gen_say(g,
               "const long long at = ((long long)blockIdx.x * blockDim.x + threadIdx.x) * %d;\n"
               "bool mine = at < p.v[%d];\nIndex rest = mine ? Index(at) : 0;\n",
               lanes, outer);
    hp_gen_say_indices(g, g->outer, g->n_outer);
    hp_gen_say(g, "mine = mine");
    say_inside(g);
    hp_gen_say(g, ";\n");
}

/* The second kernel of columns that go over several blocks. */
static void say_joining(struct generator *g, int outer)
{
    const struct target *first = g->target, *t = first;
    say_head(g, JOINED_PREFIX);
    say_column(g, outer, 1);
    for (int i = 0; t; i++, t = t->also) {
        const char *combine;
        take(g, t);
        combine = combine_name[combine_of(g)];
        hp_gen_say(g, "{\n");
        say_beginning(g);
        hp_gen_say(
            g,
            "for (long long i = threadIdx.y; mine && i < p.n_slices; i += blockDim.y) {\n"
            "const Exact *found = p.slices + 2 * ((i * %d + %d) * p.v[%d] + at);\n"
            "join_two_%s(acc, acc1, found[0], found[1]);\n}\n"
            "join_column(acc, acc1, join_two_%s);\nif (mine && !threadIdx.y) {\n",
            count(first), i, outer, combine, combine);
        say_write(g);
        hp_gen_say(g, "}\n__syncthreads();\n}\n");
    }
    take(g, first);
    hp_gen_say(g, "}\n");
}

/* One lane, or the only one, of elements or of terms. */
static void say_lane(struct generator *g)
{
    if (g->lanes.along == LANES_NONE)
        hp_gen_say(g, "{\nconst int lane = 0;\n(void)lane;\n");
    else
        hp_gen_say_lanes(g);
}

static int lanes_of(const struct generator *g, enum lanes_along along)
{
    return g->lanes.along == along ? g->lanes.n : 1;
}

/* The sums of a column: of each target and lane of elements acc, and acc1 of pairs. */
static void say_sums(struct generator *g)
{
    const struct target *first = g->target, *t = first;
    int n = count(first), lanes = lanes_of(g, LANES_OUTER), terms = lanes_of(g, LANES_INNER);
    hp_gen_say(g, "double sum[%d][%d], second[%d][%d] = {};\n", n, lanes, n, lanes);
    if (lanes > 1)
        hp_gen_say(g, "const Index first = a%d;\n", g->lanes.axis);
    for (int i = 0; t; i++, t = t->also) {
        take(g, t);
        hp_gen_say(g, "for (int i = 0; i < %d; i++)\nsum[%d][i] = %s;\n", lanes, i,
                   combine_of(g) == COMBINE_SUM ? "0" : "p.least");
    }
    hp_gen_say(g,
               "for (Index step = Index(blockIdx.y * blockDim.y + threadIdx.y); mine && step < "
               "p.v[%d]; step += Index(gridDim.y * blockDim.y)) {\nIndex rest = step * %d;\n",
               hp_gen_number(g, g->out->terms), terms);
    hp_gen_say_indices(g, g->inner, g->n_inner);
    hp_gen_say_chunks(g);
    if (terms > 1)
        hp_gen_say(g, "const Index first = a%d;\n", g->lanes.axis);
    say_lane(g);
    t = first;
    for (int i = 0; t; i++, t = t->also) {
        const char *lane = lanes > 1 ? "lane" : "0";
        take(g, t);
        hp_gen_say(g,
                   "for (bool once = true; once; once = false) {\n"
                   "double &acc = sum[%d][%s], &acc1 = second[%d][%s];\n(void)acc1;\n",
                   i, lane, i, lane);
        say_body(g);
        hp_gen_say(g, "}\n");
    }
    hp_gen_say(g, "}\n}\n");
    take(g, first);
}

/* A column of threads for each element, or for lanes of elements: the threads with the same
 * threadIdx.x, of one block, or of blocks that each have a slice of the terms. */
static void say_columns(struct generator *g, int outer)
{
    const struct target *first = g->target, *t = first;
    int lanes = lanes_of(g, LANES_OUTER), n = count(first);
    say_head(g, GENERATED_PREFIX);
    say_column(g, outer, lanes);
    say_sums(g);
    for (int i = 0; t; i++, t = t->also) {
        take(g, t);
        if (lanes > 1)
            hp_gen_say_lanes(g);
        else
            hp_gen_say(g, "{\nconst int lane = 0;\n");
        hp_gen_say(
            g,
            "join_column(sum[%d][lane], second[%d][lane], join_two_%s);\n"
            "const double acc = sum[%d][lane], acc1 = second[%d][lane];\n"
            "if (mine && !threadIdx.y && gridDim.y > 1) {\n"
            "Exact *found = p.slices + 2 * ((blockIdx.y * %d + %d) * p.v[%d] + at + lane);\n"
            "found[0] = acc;\nfound[1] = acc1;\n} else if (mine && !threadIdx.y) {\n",
            i, i, combine_name[combine_of(g)], i, i, n, i, outer);
        say_write(g);
        hp_gen_say(g, "}\n__syncthreads();\n}\n");
    }
    take(g, first);
    hp_gen_say(g, "}\n");
    say_joining(g, outer);
}

/* Are the elements that consecutive threads of different elements read next to each other, in
 * more of the operands than those of consecutive terms? */
static bool is_along_outer(const struct generator *g)
{
    const struct loop *outer = g->n_outer ? &g->outer[g->n_outer - 1] : NULL;
    const struct loop *inner = g->n_inner ? &g->inner[g->n_inner - 1] : NULL;
    int score = 0;
    for (int o = 0; o < g->nest->n_operands; o++)
        for (int grad = 0; grad < 2; grad++) {
            const struct place *p = grad ? &g->grad[o] : &g->value[o];
            if (!hp_gen_is_read(g, o, grad) || !((grad ? g->has_grad : g->has_value) >> o & 1))
                continue;
            if (outer && outer->kind == LOOP_AXIS && p->axis[outer->i] != NONE)
                score += g->out->call.v[p->axis[outer->i]] == 1;
            if (inner && inner->kind == LOOP_AXIS && p->axis[inner->i] != NONE)
                score -= g->out->call.v[p->axis[inner->i]] == 1;
        }
    return score > 0;
}

static bool reads_windows(const struct generator *g)
{
    for (int i = 0; i < g->n_inner; i++)
        if (g->inner[i].kind == LOOP_AXIS && hp_gen_window_dim(g, g->inner[i].i) != NONE)
            return true;
    return false;
}

static void find_mask(struct generator *g)
{
    const struct view *mask = &g->call->mask;
    if (mask->data && g->nest->kind == OP_DROPOUT)
        g->mask = hp_gen_new_place(g, hp_gen_operand_called(g, 'y'), mask);
}

void hp_cuda_generate(struct generated *out, const struct kernel_call *call,
                      const struct target *target, bool in_columns)
{
    struct generator generator = { .out = out,
                                   .call = call,
                                   .nest = call->nest,
                                   .target = target,
                                   .pair = hp_gen_is_pair(target) };
    struct generator *g = &generator;
    out->leaves_out = false;
    hp_gen_find_outer(g);
    hp_gen_find_inner(g);
    hp_gen_join_loops(g, g->outer, &g->n_outer);
    hp_gen_join_loops(g, g->inner, &g->n_inner);
    out->outer = hp_gen_steps_of(g->outer, g->n_outer);
    out->inner = hp_gen_steps_of(g->inner, g->n_inner);
    out->in_columns = in_columns && g->n_inner > 0 && !reads_windows(g);
    hp_gen_find_lanes(g, out->in_columns);
    out->items = out->outer / lanes_of(g, LANES_OUTER);
    out->terms = out->inner / lanes_of(g, LANES_INNER);
    bool small = out->outer < INT32_MAX && out->inner < INT32_MAX;
    out->call.least = (double)-INFINITY;
    out->call.key = call->key;
    memcpy(out->call.c, target->constant, sizeof out->call.c);
    out->types = hp_is_narrow_call(call)
                     ? small ? "#define SINGLE\ntypedef float Real;\ntypedef int Index;\n"
                             : "#define SINGLE\ntypedef float Real;\ntypedef long long Index;\n"
                 : call->real == REAL_F32
                     ? small ? "typedef float Real;\ntypedef int Index;\n"
                             : "typedef float Real;\ntypedef long long Index;\n"
                 : small ? "typedef double Real;\ntypedef int Index;\n"
                         : "typedef double Real;\ntypedef long long Index;\n";
    find_mask(g);
    int outer = hp_gen_number(g, out->outer);
    if (out->in_columns)
        say_columns(g, outer);
    else if (g->lanes.along == LANES_OUTER)
        say_lanes(g);
    else if (g->n_inner == 0)
        say_several(g, outer);
    else
        say_threads(g, outer);
    out->along_outer =
        g->lanes.along == LANES_NONE ? is_along_outer(g) : g->lanes.along == LANES_OUTER;
}

char *hp_cuda_source(struct arena *arena, const struct generated *g)
{
    return hp_arena_printf(arena, "%s%s%s%s", g->types, hp_cuda_generic,
                           g->in_columns ? hp_cuda_columns : "", g->text);
}
