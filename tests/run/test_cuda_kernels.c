/* The kernels of a card against the reference kernels: every operator, whole and in random
 * parts, adding and overwriting. The card is a stand-in (tests/cuda), or the machine's own
 * (HYPAR_TEST_CARD). */
#include <dlfcn.h>

#include "base/float_bits.h"

#include "tests/kernel/fast_cases.h"
#include "tests/kernel/harness.h"
#include "tests/length.h"

#include "tests/card_backend.h"
#include "tests/cuda_stand_in.h"

static const uint64_t seed = 20261119;

static double draw(const struct subject *s, int o, int64_t e, bool grad)
{
    struct random random = { seed + (uint64_t)(o * 2 + grad) * 1000003u + (uint64_t)e };
    double unit = hp_random_unit(&random);
    return positive(s->c->kind) && !grad ? 0.5 + 1.5 * unit : 3 * unit - 1.5;
}

/* Views on the card ---------------------------------------------------------------------- */

static struct view copy_of(const struct view *from, size_t bytes)
{
    struct view copy = *from;
    if (from->data) {
        copy = new_view(from->box, bytes);
        copy_view(&copy, from, bytes);
    }
    return copy;
}

/* Where numbers lie on the card: dense; dimension `inner` innermost, with gaps; dense, with the
 * channels of images innermost. */
enum places { DENSE, GAPS, CHANNELS_LAST };

static void place(struct view *view, enum places places, int inner)
{
    int n = view->box.n_dims;
    int64_t stride = 1;
    if (places != GAPS) {
        *view = hp_inner_view(NULL, &view->box, places == CHANNELS_LAST && n == 4 ? 1 : 0);
        return;
    }
    for (int i = 0; i < n; i++) {
        int d = (inner + i) % n;
        view->stride[d] = stride;
        stride *= view->box.dim[d].hi - view->box.dim[d].lo + (i < n - 1);
    }
}

/* The box of a view on the card. */
static struct view on_card(const struct backend *card, const struct view *from, size_t bytes,
                           bool narrow, enum places places, int inner)
{
    struct view view = { .box = from->box };
    struct view copy;
    int64_t stride = 1;
    place(&view, places, inner);
    for (int d = 0; d < view.box.n_dims; d++) {
        int64_t extent = view.box.dim[d].hi - view.box.dim[d].lo;
        stride += extent > 0 ? (extent - 1) * view.stride[d] : 0;
    }
    view.data = card->array_new(card, (size_t)(stride + 1) * bytes);
    if (!narrow) {
        hp_backend_put(card, &view, from, bytes);
        return view;
    }
    copy = copy_of(from, bytes);
    hp_backend_put_as(card, &view, REAL_BF16, &copy, REAL_F32);
    free(copy.data);
    return view;
}

struct moved {
    struct view *here[2 * MAX_OPERANDS + 1], there[2 * MAX_OPERANDS + 1];
    size_t bytes[2 * MAX_OPERANDS + 1];
    bool narrow[2 * MAX_OPERANDS + 1];
    int n;
};

static void move(struct moved *m, const struct backend *card, struct view *here,
                 struct view *there, size_t bytes, bool narrow, enum places places, int inner)
{
    if (!here->data)
        return;
    *there = on_card(card, here, bytes, narrow, places, inner);
    m->here[m->n] = here;
    m->bytes[m->n] = bytes;
    m->narrow[m->n] = narrow;
    m->there[m->n++] = *there;
}

/* The call on the card; its views receive the results. */
static void run_on_card(const struct subject *s, struct kernel_call *call, enum places places)
{
    struct backend card = card_backend(s->kernels);
    struct kernel_call there = *call;
    struct moved m = { .n = 0 };
    struct hypar_error err;
    for (int o = 0; o < s->nest->n_operands; o++) {
        bool narrow = call->narrow >> o & 1;
        move(&m, &card, &call->value[o], &there.value[o], element_bytes(s, o), narrow, places,
             o);
        move(&m, &card, &call->grad[o], &there.grad[o], element_bytes(s, o), narrow, places,
             o + 1);
    }
    move(&m, &card, &call->mask, &there.mask, 1, false, places, 0);
    there.workspace = card.array_new(&card, card.workspace(&card, &there) + 1);
    card.compute(&card, &there);
    for (int i = 0; i < m.n; i++)
        if (m.narrow[i])
            hp_backend_get_as(&card, m.here[i], REAL_F32, &m.there[i], REAL_BF16);
        else
            hp_backend_get(&card, m.here[i], &m.there[i], m.bytes[i]);
    card.array_free(&card, there.workspace);
    if (card.status(&card, &err) != HYPAR_OK)
        fail_msg("%s (%s): %s", hp_op[s->c->kind].name, s->c->label, err.text);
    for (int i = 0; i < m.n; i++)
        card.array_free(&card, m.there[i].data);
}

/* Comparing ------------------------------------------------------------------------------ */

/* The distance of two tensors beside the norm of the second. */
static double distance(const struct view *x, const struct view *y, enum real real)
{
    double difference = 0, norm = 0;
    for (int64_t e = 0, n = hp_box_elements(&x->box); e < n; e++) {
        double have = get(x, e, real), want = get(y, e, real);
        if (have == want)
            continue; /* infinite ones too */
        difference += (have - want) * (have - want);
        norm += want * want;
    }
    return difference == 0 ? 0 : sqrt(difference) / (sqrt(norm) + 1e-3);
}

static const double bf16_rounding = 1. / 512; /* relative, at most */

static double farthest;
static int failures; /* all are told of, and then the test fails */

static void compare(const struct subject *s, const struct kernel_call *call,
                    const struct kernel_call *right, const char *how)
{
    /* The reference adds the terms of a sum one after the other in the precision of the
     * numbers, kernels add them in double precision and in slices: the two differ by what the
     * reference rounds. */
    double f32 = cuda_real_card() ? 1e-4 : 1e-5;
    double most = call->narrow ? 4 * bf16_rounding : s->real == REAL_F32 ? f32 : 1e-12;
    const char *real = call->narrow ? "bf16" : s->real == REAL_F32 ? "f32" : "f64";
    for (int o = 0; o < s->nest->n_operands; o++)
        for (int grad = 0; grad < 2; grad++) {
            const struct view *x = grad ? &call->grad[o] : &call->value[o];
            const struct view *y = grad ? &right->grad[o] : &right->value[o];
            if (!x->data || s->nest->operand[o].index)
                continue;
            double far = distance(x, y, s->real);
            farthest = far > farthest ? far : farthest;
            if (far <= most)
                continue;
            failures++;
            print_error("%s (%s), %s, %s, pass %d: %s%s is off by %g\n", hp_op[s->c->kind].name,
                        s->c->label, real, how, call->pass, grad ? "d" : "",
                        s->nest->operand[o].name, far);
        }
    if (call->mask.data)
        assert_memory_equal(call->mask.data, right->mask.data,
                            (size_t)hp_box_elements(&call->mask.box));
}

static void round_view(const struct view *view)
{
    for (int64_t e = 0, n = view->data ? hp_box_elements(&view->box) : 0; e < n; e++)
        put(view, e, REAL_F32, hp_bf16_number(hp_bf16_bits((float)get(view, e, REAL_F32))));
}

/* Let the card have all but statistics in bf16. */
static void make_narrow(const struct subject *s, struct kernel_call *call)
{
    for (int o = 0; o < s->nest->n_operands; o++) {
        if (s->nest->operand[o].index || s->nest->operand[o].role == OPERAND_STAT)
            continue;
        call->narrow |= (operand_set)1 << o;
        round_view(&call->value[o]);
        round_view(&call->grad[o]);
    }
    call->narrow_grad = call->narrow;
}

static bool narrow_calls;

/* The same call by the reference kernel and by the card, from the same contents. */
static void check_call(const struct subject *s, struct kernel_call *call, enum places places,
                       const char *how)
{
    if (narrow_calls)
        make_narrow(s, call);
    struct kernel_call right = *call;
    right.narrow = right.narrow_grad = 0;
    for (int o = 0; o < s->nest->n_operands; o++) {
        right.value[o] = copy_of(&call->value[o], element_bytes(s, o));
        right.grad[o] = copy_of(&call->grad[o], element_bytes(s, o));
    }
    right.mask = copy_of(&call->mask, 1);
    hp_kernel(s->kernels, &right);
    run_on_card(s, call, places);
    compare(s, call, &right, how);
    for (int o = 0; o < s->nest->n_operands; o++) {
        free(right.value[o].data);
        free(right.grad[o].data);
    }
    free(right.mask.data);
}

static struct range even_part(struct range range, int degree, int i)
{
    struct range part = hp_even_part(range.hi - range.lo, degree, i);
    return (struct range){ range.lo + part.lo, range.lo + part.hi };
}

/* A part of a random split of some axes. */
static void draw_part(const struct subject *s, struct random *random, struct kernel_call *call)
{
    for (int a = 0; a < s->nest->n_axes - 1; a++) {
        int degree = 1 + (int)hp_random_below(random, 3);
        int64_t extent = s->nest->axis[a].extent;
        if (!s->nest->axis[a].splittable || extent < degree)
            continue;
        call->range[a] = even_part((struct range){ 0, extent }, degree,
                                   (int)hp_random_below(random, degree));
    }
}

static struct view mask_of(const struct subject *s, const struct range *range)
{
    return new_view(hp_region(s->nest, 1, range), 1);
}

static void check_pass(const struct subject *s, int pass, bool whole, enum cut cut,
                       struct random *random)
{
    struct kernel_call call = call_of(s, pass);
    if (!whole)
        draw_part(s, random, &call);
    take_views(s, &call, cut);
    if (s->c->kind == OP_DROPOUT && hp_random_below(random, 2))
        call.mask = mask_of(s, call.range);
    call.add_after = whole;
    for (int o = 0; whole && o < s->nest->n_operands; o++)
        if (in(s->nest->pass[pass].adds, o))
            call.value[o] = copy_of(&s->value[o], element_bytes(s, o));
    check_call(s, &call,
               cut == CUT_EXACT || cut == CUT_ROOMY_FRESH ? DENSE
               : cut == CUT_FRESH                         ? CHANNELS_LAST
                                                          : GAPS,
               whole ? "whole" : "a part");
    for (int o = 0; o < s->nest->n_operands; o++) {
        free(call.value[o].data);
        free(call.grad[o].data);
    }
    free(call.mask.data);
}

/* The reference gives every pass what it reads. */
static void check_case(const struct op_case *c, enum real real, int parts)
{
    struct subject s = subject_new(c, real);
    struct random random = { seed };
    fill(&s, draw);
    run_phase(&s, false);
    run_phase(&s, true);
    for (int p = 0; p < s.nest->n_passes; p++) {
        check_pass(&s, p, true, CUT_EXACT, &random);
        check_pass(&s, p, true, CUT_FRESH, &random);
        for (int i = 0; i < parts; i++)
            check_pass(&s, p, false, i % 2 ? CUT_ROOMY_FRESH : CUT_ROOMY, &random);
    }
    subject_free(&s);
}

static const struct op_case *case_at(int i)
{
    return i < OP_CASE_COUNT ? &op_cases[i] : &fast_cases[i - OP_CASE_COUNT];
}

enum { CASES = OP_CASE_COUNT + FAST_CASE_COUNT };

/* Of HYPAR_TEST_SHARES processes number HYPAR_TEST_SHARE has its share of the cases. */
static bool is_mine(int i)
{
    const char *share = getenv("HYPAR_TEST_SHARE"), *shares = getenv("HYPAR_TEST_SHARES");
    return !share || !shares || atoi(shares) < 1 || i % atoi(shares) == atoi(share);
}

/* The stand-in compiles each kernel for a second: in a short test it has a share of the cases.
 */
static void check_all(enum real real, int step, int full_step)
{
    const char *only = getenv("HYPAR_TEST_CASE");
    int n = 0;
    failures = 0;
    farthest = 0;
    if (only && atoi(only) < CASES)
        printf("%s (%s)\n", hp_op[case_at(atoi(only))->kind].name, case_at(atoi(only))->label);
    for (int i = 0; i < CASES; i++)
        if (hp_kernel_exists(case_at(i)->kind) &&
            (only ? atoi(only) == i : cuda_real_card() || in_length(i, step, full_step)) &&
            is_mine(i)) {
            check_case(case_at(i), real, 2);
            n++;
            if (getenv("HYPAR_TEST_SHARE")) /* it may be stopped */
                print_message("done: %s (%s)\n", hp_op[case_at(i)->kind].name,
                              case_at(i)->label);
        }
    print_message("%d cases, the farthest result is off by %g\n", n, farthest);
    assert_int_equal(failures, 0);
}

/* All passes that the card computes together, from pass `p` on. */
static void check_joint(const struct subject *s, int p, pass_set passes)
{
    struct kernel_call call = call_of(s, p);
    call.passes = passes;
    for (int q = p; q < s->nest->n_passes; q++)
        if (passes >> q & 1) {
            call.fresh |= s->nest->pass[q].writes;
            call.fresh_grad |= s->nest->pass[q].writes_grad;
        }
    for (int o = 0; o < s->nest->n_operands; o++) {
        call.value[o] = copy_of(&s->value[o], element_bytes(s, o));
        call.grad[o] = copy_of(&s->grad[o], element_bytes(s, o));
    }
    check_call(s, &call, CHANNELS_LAST, "several passes at once");
    for (int o = 0; o < s->nest->n_operands; o++) {
        free(call.value[o].data);
        free(call.grad[o].data);
    }
}

static void check_joint_cases(enum real real)
{
    int checked = 0;
    failures = 0;
    farthest = 0;
    for (int i = OP_CASE_COUNT; i < CASES; i++) {
        enum op_kind kind = case_at(i)->kind;
        if ((kind != OP_ATTENTION && kind != OP_BATCH_NORM && kind != OP_LAYER_NORM) ||
            !is_mine(i))
            continue;
        struct subject s = subject_new(case_at(i), real);
        struct backend card = card_backend(s.kernels);
        pass_set done = 0;
        fill(&s, draw);
        run_phase(&s, false);
        run_phase(&s, true);
        for (int p = 0; p < s.nest->n_passes; p++) {
            pass_set joint = card.joint(&card, s.nest, p);
            if (done >> p & 1)
                continue;
            check_joint(&s, p, joint);
            checked += joint != (pass_set)1 << p;
            done |= joint;
        }
        subject_free(&s);
    }
    print_message("%d calls, the farthest result is off by %g\n", checked, farthest);
    assert_int_equal(failures, 0);
    assert_true(checked > 0 || getenv("HYPAR_TEST_SHARE"));
}

static void test_joint(void **state)
{
    (void)state;
    check_joint_cases(REAL_F64);
}

/* Attention without scores in memory among them. */
static void test_narrow_joint(void **state)
{
    (void)state;
    narrow_calls = true;
    check_joint_cases(REAL_F32);
    narrow_calls = false;
}

/* How many convolutions the stand-in of cuDNN has computed. */
static int by_cudnn(void)
{
    char path[4096];
    snprintf(path, sizeof path, "%s/libcudnn.so.9", getenv("HYPAR_CUDA_PATH"));
    void *library = dlopen(path, RTLD_NOW | RTLD_NOLOAD);
    const int *count = library ? dlsym(library, "stand_in_convolutions") : NULL;
    return count ? *count : 0;
}

/* Each pass of a convolution is computed by cuDNN at least once, and its parts in some way. */
static void test_convolution(void **state)
{
    (void)state;
    int i = 0;
    while (case_at(i)->kind != OP_CONV || strcmp(case_at(i)->label, "many small images") != 0)
        i++;
    failures = 0;
    check_case(case_at(i), REAL_F32, 2);
    assert_int_equal(failures, 0);
    if (!cuda_real_card())
        assert_true(by_cudnn() >= 3);
}

static void test_double(void **state)
{
    (void)state;
    check_all(REAL_F64, 23, 13);
}

static void test_single(void **state)
{
    (void)state;
    check_all(REAL_F32, 97, 61);
}

static void test_narrow(void **state)
{
    (void)state;
    narrow_calls = true;
    check_all(REAL_F32, 29, 17);
    narrow_calls = false;
}

/* In a short test, too: products of cuDNN and cuBLAS, and calls that are converted. */
static void test_narrow_kinds(void **state)
{
    (void)state;
    narrow_calls = true;
    failures = 0;
    for (int i = 0; i < CASES; i++) {
        enum op_kind kind = case_at(i)->kind;
        bool first = i == 0 || case_at(i - 1)->kind != kind;
        bool image = kind == OP_CONV && strcmp(case_at(i)->label, "many small images") == 0;
        bool heads = strncmp(case_at(i)->label, "heads of", 8) == 0; /* no scores in memory */
        if (image || heads || (first && (kind == OP_ATTENTION || kind == OP_EMBEDDING)))
            check_case(case_at(i), REAL_F32, 1);
    }
    narrow_calls = false;
    assert_int_equal(failures, 0);
}

/* Rows of an odd number of columns, for which large products have copies of their matrices. */
static void test_narrow_product(void **state)
{
    struct random random = { seed };
    (void)state;
    struct subject s = subject_new(&odd_product, REAL_F32);
    narrow_calls = true;
    failures = 0;
    fill(&s, draw);
    for (int p = 0; p < s.nest->n_passes; p++) {
        check_pass(&s, p, true, CUT_EXACT, &random);
        check_pass(&s, p, true, CUT_ROOMY_FRESH, &random);
    }
    narrow_calls = false;
    subject_free(&s);
    assert_int_equal(failures, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_joint),        cmocka_unit_test(test_convolution),
        cmocka_unit_test(test_double),       cmocka_unit_test(test_single),
        cmocka_unit_test(test_narrow_joint), cmocka_unit_test(test_narrow_product),
        cmocka_unit_test(test_narrow_kinds), cmocka_unit_test(test_narrow)
    };
    cmocka_set_test_filter(getenv("HYPAR_TEST_ONLY")); /* on a card: one test of one case */
    return cmocka_run_group_tests_name("run: kernels of a card", tests, NULL, NULL);
}
