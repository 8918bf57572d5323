/* Every operator kind, every splittable axis: the regions of the parts, element by element,
 * against the elements that the operator touches. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "tests/op_cases.h"

#include "base/random.h"
#include "split/split.h"

enum { MAX_ELEMENTS = 1 << 12, MAX_PARTS = 256 };

/* Where a failure is: printed by check(). */
struct place {
    const struct op_case *c;
    const struct nest *nest;
    const struct split *split;
    int operand;
};

static void check(bool good, const struct place *at, const char *what)
{
    if (good)
        return;
    char text[128] = "";
    size_t n = 0;
    for (int a = 0; a < at->nest->n_axes; a++)
        if (at->split->degree[a] > 1)
            n += (size_t)snprintf(text + n, sizeof text - n, " %c:%d",
                                  at->nest->axis[a].name[0], at->split->degree[a]);
    fail_msg("%s (%s), operand %s, split%s: %s", hp_op[at->c->kind].name, at->c->label,
             at->nest->operand[at->operand].name, text, what);
}

/* The same of dimensions that are resized, or that adaptive pooling covers. */
static void mark_scaled(const struct nest *nest, int d, struct range out, bool *mark)
{
    const struct operand *operand = &nest->operand[0];
    double size = (double)operand->size[d];
    double extent = (double)nest->axis[operand->dim[d].axis[0]].extent;
    bool corners = hp_attr_int(nest->attrs, ATTR_ALIGN_CORNERS, 0, 0);
    for (int64_t i = out.lo; i < out.hi; i++) {
        double at = floor((double)i * size / extent + 1e-9), last = at;
        if (nest->kind == OP_ADAPTIVE_MAX_POOL || nest->kind == OP_ADAPTIVE_AVG_POOL)
            last = ceil((double)(i + 1) * size / extent - 1e-9) - 1;
        if (nest->kind == OP_RESIZE_LINEAR) {
            at = corners ? (extent > 1 ? (double)i * (size - 1) / (extent - 1) : 0)
                         : ((double)i + 0.5) * size / extent - 0.5;
            at = floor(at + 1e-9);
            last = at + 1;
        }
        for (; at <= last; at++)
            mark[(int)fmax(0, fmin(size - 1, at))] = true;
    }
}

/* What the operator touches, from attributes and not from the index map: positions of dimension
 * `d` of operand `o` that outputs [lo, hi) of the windowed axis read. False: not windowed. */
static bool touched(const struct nest *nest, int o, int d, struct range out, bool *mark)
{
    const struct attrs *attrs = nest->attrs;
    const struct operand *operand = &nest->operand[o];
    const struct dim_map *map = &operand->dim[d];
    int s = d - 2, spatial = operand->n_dims - 2;
    int64_t kernel, dilation = 1, stride = 1, pad;
    if (o != 0 || map->kind != DIM_AXIS)
        return false;
    if (nest->operand[0].dim[d].divide && !map->taps) {
        memset(mark, 0, (size_t)operand->size[d] * sizeof *mark);
        mark_scaled(nest, d, out, mark);
        return true;
    }
    if (hp_attr_get(attrs, ATTR_KERNEL) && s >= 0) {
        kernel = hp_attr_int(attrs, ATTR_KERNEL, s, 1);
        dilation = hp_attr_int(attrs, ATTR_DILATION, s, 1);
        stride = hp_attr_int(attrs, ATTR_STRIDE, s, 1);
        pad = hp_attr_int(attrs, ATTR_PAD, s, 0);
        assert_true(spatial <= 3);
    } else if (nest->kind == OP_LRN && d == 1) {
        kernel = hp_attr_int(attrs, ATTR_SIZE, 0, 1);
        pad = (kernel - 1) / 2;
    } else if (nest->kind == OP_SLICE && d == hp_attr_int(attrs, ATTR_AXIS, 0, 0)) {
        kernel = 1;
        stride = hp_attr_int(attrs, ATTR_STEP, 0, 1);
        pad = -hp_attr_int(attrs, ATTR_START, 0, 0);
    } else {
        return false;
    }
    memset(mark, 0, (size_t)operand->size[d] * sizeof *mark);
    for (int64_t i = out.lo; i < out.hi; i++)
        for (int64_t k = 0; k < kernel; k++) {
            int64_t at = i * stride - pad + k * dilation;
            if (map->divide) { /* transposed: i = at * stride - pad + k * dilation */
                at = i + pad - k * dilation;
                at = at % stride ? -1 : at / stride;
            }
            if (at >= 0 && at < operand->size[d])
                mark[at] = true;
        }
    return true;
}

/* Whether the windows of dimension `d` leave no gaps between taps or between each other. */
static bool dense(const struct nest *nest, int d)
{
    const struct attrs *attrs = nest->attrs;
    return hp_attr_int(attrs, ATTR_DILATION, d - 2, 1) == 1 &&
           hp_attr_int(attrs, ATTR_STRIDE, d - 2, 1) <=
               hp_attr_int(attrs, ATTR_KERNEL, d - 2, 1);
}

/* The region is the bounding box of what a part touches. Only at the tensor's borders, where
 * taps lie apart and some fall into the padding, it may begin before the first tap inside. */
static void check_part(const struct place *at, const struct range *range, const struct box *box)
{
    const struct operand *operand = &at->nest->operand[at->operand];
    bool mark[MAX_ELEMENTS];
    for (int d = 0; d < operand->n_dims; d++) {
        struct range r = box->dim[d];
        check(r.lo >= 0 && r.hi <= operand->size[d] && r.lo <= r.hi, at, "outside the tensor");
        if (!touched(at->nest, at->operand, d, range[operand->dim[d].axis[0]], mark))
            continue;
        int64_t first = -1, last = -1;
        for (int64_t i = 0; i < operand->size[d]; i++)
            if (mark[i]) {
                first = first < 0 ? i : first;
                last = i;
            }
        if (first < 0)
            continue; /* only padding: whatever the region is, it is needed by nobody */
        check(r.lo <= first && r.hi > last, at, "less than its window");
        if (operand->dim[d].divide && hp_attr_int(at->nest->attrs, ATTR_DILATION, d - 2, 1) > 1)
            continue; /* some taps meet no element */
        check(r.lo == first || r.lo == 0, at, "more than its window before");
        check(r.hi == last + 1 || r.hi == operand->size[d], at, "more than its window after");
        check(dense(at->nest, d) ? r.lo == first && r.hi == last + 1 : true, at,
              "not the bounding box of its window");
    }
}

static void count_box(const struct box *box, const int64_t *size, int *count)
{
    int64_t index[MAX_DIMS] = { 0 };
    for (int64_t e = 0, n = hp_box_elements(box); e < n; e++) {
        int64_t at = 0, rest = e;
        for (int d = box->n_dims - 1; d >= 0; d--) {
            int64_t extent = box->dim[d].hi - box->dim[d].lo;
            index[d] = box->dim[d].lo + rest % extent;
            rest /= extent;
        }
        for (int d = 0; d < box->n_dims; d++)
            at = at * size[d] + index[d];
        count[at]++;
    }
}

/* Elements that the unsplit operator really touches: all, but for windowed dimensions. */
static bool really_touched(const struct nest *nest, int o, int64_t element)
{
    const struct operand *operand = &nest->operand[o];
    bool mark[MAX_ELEMENTS];
    for (int d = operand->n_dims - 1; d >= 0; d--) {
        int64_t at = element % operand->size[d];
        element /= operand->size[d];
        struct range all = { 0, 0 };
        if (operand->dim[d].kind == DIM_AXIS)
            all.hi = nest->axis[operand->dim[d].axis[0]].extent;
        if (touched(nest, o, d, all, mark) && !mark[at])
            return false;
    }
    return true;
}

static bool windowed(const struct nest *nest, int o)
{
    bool mark[MAX_ELEMENTS];
    for (int d = 0; d < nest->operand[o].n_dims; d++)
        if (touched(nest, o, d, (struct range){ 0, 0 }, mark))
            return true;
    return false;
}

/* How many parts with work have the whole of a tensor that these axes do not index. */
static int copies(const struct place *at)
{
    int n = 1;
    for (int a = 0; a < at->nest->n_axes; a++) {
        if (at->nest->operand[at->operand].axes & (1u << a))
            continue;
        int degree = at->split->degree[a] > 1 ? at->split->degree[a] : 1, with_work = 0;
        for (int i = 0; i < degree; i++)
            with_work += !hp_range_empty(hp_axis_part(at->nest, at->split, a, i));
        n *= with_work;
    }
    return n;
}

static void check_operand(struct place *at, int o)
{
    const struct nest *nest = at->nest;
    const struct operand *operand = &nest->operand[o];
    struct box whole = hp_operand_box(nest, o);
    static int count[MAX_ELEMENTS];
    struct range range[MAX_AXES];
    int64_t elements = hp_box_elements(&whole);
    bool cut = false, window = windowed(nest, o);

    at->operand = o;
    assert_in_range(elements, 1, MAX_ELEMENTS);
    memset(count, 0, (size_t)elements * sizeof count[0]);
    for (int a = 0; a < nest->n_axes; a++)
        cut = cut || (at->split->degree[a] > 1 && operand->axes & (1u << a));
    for (int p = 0, n = hp_part_count(nest, at->split); p < n; p++) {
        if (!hp_part_ranges(nest, at->split, p, range))
            continue;
        struct box box = hp_region(nest, o, range);
        check_part(at, range, &box);
        if (!cut && !window)
            check(hp_box_equal(&box, &whole), at, "not whole though no split axis indexes it");
        count_box(&box, operand->size, count);
    }
    int expected = copies(at);
    for (int64_t e = 0; e < elements; e++) {
        if (!window)
            check(count[e] == expected, at, "an element is not covered exactly once");
        else if (really_touched(nest, o, e))
            check(count[e] >= expected, at, "an element of a window is not covered");
    }
}

static void check_split(const struct op_case *c, const struct nest *nest,
                        const struct split *split)
{
    struct place at = { c, nest, split, 0 };
    assert_in_range(hp_part_count(nest, split), 1, MAX_PARTS);
    for (int o = 0; o < nest->n_operands; o++)
        if (nest->operand[o].n_dims > 0 || nest->operand[o].role != OPERAND_PARAM)
            check_operand(&at, o);
}

static const int degrees[] = { 2, 3, 4, 5, 7 };
enum { N_DEGREES = sizeof degrees / sizeof degrees[0] };

/* Sizes that differ by more than one, with an empty part. */
static void uneven(int64_t extent, int degree, int64_t *sizes)
{
    for (int i = 0; i < degree; i++)
        sizes[i] = 0;
    sizes[0] = extent - extent / 3;
    sizes[degree - 1] = extent / 3;
}

static void check_axis(const struct op_case *c, const struct nest *nest, int a)
{
    int64_t extent = nest->axis[a].extent, sizes[8];
    for (int i = 0; i < N_DEGREES; i++) {
        struct split split = { .degree = { 0 } };
        split.degree[a] = degrees[i];
        check_split(c, nest, &split);
        if (nest->axis[a].role == HYPAR_COPY)
            continue;
        uneven(extent, degrees[i], sizes);
        split.sizes[a] = sizes;
        check_split(c, nest, &split);
    }
    struct split above = { .degree = { 0 } };
    above.degree[a] = (int)extent + 3;
    check_split(c, nest, &above);
}

static void check_pairs(const struct op_case *c, const struct nest *nest, int a)
{
    static const int pairs[][2] = { { 2, 3 }, { 5, 4 }, { 7, 11 } };
    for (int b = a + 1; b < nest->n_axes; b++)
        for (int i = 0; nest->axis[b].splittable && i < 3; i++) {
            struct split split = { .degree = { 0 } };
            split.degree[a] = pairs[i][0];
            split.degree[b] = pairs[i][1];
            check_split(c, nest, &split);
        }
}

/* A splittable axis may index no operand twice: its parts would leave out the off-diagonal. */
static void check_once_per_operand(const struct nest *nest, int a)
{
    for (int o = 0; o < nest->n_operands; o++) {
        int uses = 0;
        for (int d = 0; d < nest->operand[o].n_dims; d++)
            for (int f = 0; f < nest->operand[o].dim[d].n_axes; f++)
                uses += nest->operand[o].dim[d].axis[f] == a;
        assert_in_range(uses, 0, 1);
        assert_int_equal(uses > 0, (nest->operand[o].axes >> a) & 1);
    }
}

static void test_every_operator_and_axis(void **state)
{
    (void)state;
    int axes = 0;
    for (int i = 0; i < OP_CASE_COUNT; i++) {
        struct hypar_graph *graph = op_case_build(&op_cases[i]);
        const struct nest *nest = graph->ops[graph->n_ops - 1].nest;
        assert_int_equal(nest->kind, op_cases[i].kind);
        check_split(&op_cases[i], nest, &(struct split){ .degree = { 0 } });
        for (int a = 0; a < nest->n_axes; a++) {
            if (!nest->axis[a].splittable)
                continue;
            check_once_per_operand(nest, a);
            check_axis(&op_cases[i], nest, a);
            check_pairs(&op_cases[i], nest, a);
            axes++;
        }
        hypar_graph_free(graph);
    }
    printf("%d cases, %d axes\n", OP_CASE_COUNT, axes);
}

/* Random splits of all axes at once. */
static void test_random_splits(void **state)
{
    (void)state;
    uint64_t seed = 20240917;
    printf("seed %llu\n", (unsigned long long)seed);
    struct random random = { seed };
    for (int i = 0; i < OP_CASE_COUNT; i++) {
        struct hypar_graph *graph = op_case_build(&op_cases[i]);
        const struct nest *nest = graph->ops[graph->n_ops - 1].nest;
        for (int round = 0; round < 4; round++) {
            struct split split = { .degree = { 0 } };
            for (int a = 0; a < nest->n_axes; a++)
                if (nest->axis[a].splittable && hp_part_count(nest, &split) <= MAX_PARTS / 4)
                    split.degree[a] = 1 + (int)hp_random_below(&random, 4);
            check_split(&op_cases[i], nest, &split);
        }
        hypar_graph_free(graph);
    }
}

/* A row without a case, or whose cases leave nothing to split, fails. */
static void test_every_row_has_a_case(void **state)
{
    (void)state;
    for (int kind = 0; kind < OP_KIND_COUNT; kind++) {
        int cases = 0;
        for (int i = 0; i < OP_CASE_COUNT; i++)
            cases += (int)op_cases[i].kind == kind;
        if (cases == 0)
            fail_msg("operator '%s' has no case: add one to tests/op_cases.h",
                     hp_op[kind].name);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_row_has_a_case),
        cmocka_unit_test(test_every_operator_and_axis),
        cmocka_unit_test(test_random_splits),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
