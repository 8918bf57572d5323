/* The matcher of operator patterns: each word of a pattern, on one small graph. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "model/onnx/rewrite/pattern.h"

enum { X, SIGMOID, PRODUCT, HALF, QUOTIENT, RELU, TENSORS };

static int add(struct graph_builder *b, enum op_kind kind, const char *name, int n, int x,
               int y, const struct attrs *attrs)
{
    int in[2] = { x, y }, out[MAX_OPERANDS];
    struct hypar_error err = { 0 };
    assert_int_equal(
        hp_build_op(b, &(struct op_request){ kind, name, n, in, attrs }, out, &err), HYPAR_OK);
    return out[0];
}

/* The product of x and its sigmoid has two readers. */
static struct hypar_graph *small_graph(int *t)
{
    struct graph_builder *b = hp_build("small", 2);
    struct hypar_graph *g;
    struct hypar_error err = { 0 };
    t[X] = hp_build_input(b, "x", &(struct hypar_shape){ 2, { 2, 4 } }, false, 0);
    t[SIGMOID] = add(b, OP_SIGMOID, "sigmoid", 1, t[X], -1, NULL);
    t[PRODUCT] = add(b, OP_MUL, "product", 2, t[SIGMOID], t[X], NULL);
    t[HALF] = add(b, OP_AFFINE, "half", 1, t[PRODUCT], -1, ATTRS({ ATTR_ALPHA, 1, V(0.5) }));
    t[QUOTIENT] = add(b, OP_DIV, "quotient", 2, t[X], t[SIGMOID], NULL);
    t[RELU] = add(b, OP_RELU, "relu", 1, t[PRODUCT], -1, NULL);
    assert_int_equal(hp_build_finish(b, &g, &err), HYPAR_OK);
    return g;
}

static bool never(const struct rewriting *rw, const struct match *m)
{
    (void)rw;
    (void)m;
    return false;
}

static void test_words(void **state)
{
    static const struct {
        int tensor;
        const char *pattern;
        bool matches;
        int x; /* that the letter x captures, -1: any */
    } cases[] = {
        { X, "x", true, X },
        { X, "sigmoid(x)", false, -1 },
        { SIGMOID, "sigmoid(x)", true, X },
        { SIGMOID, "sigmoid(sigmoid(x))", false, -1 },
        { PRODUCT, "mul(x sigmoid(x))", true, X }, /* in either order */
        { PRODUCT, "mul[x sigmoid(x)]", false, -1 },
        { PRODUCT, "mul[sigmoid(x) x]", true, X },
        { PRODUCT, "mul(x x)", false, -1 }, /* one letter is one tensor */
        { PRODUCT, "mul(x)", false, -1 },
        { PRODUCT, "mul(x ...)", true, SIGMOID },
        { PRODUCT, "mul(...)", true, -1 },
        { PRODUCT, "add/mul(...)", true, -1 },
        { PRODUCT, "add/sub(...)", false, -1 },
        { PRODUCT, "<add(x y) | mul(sigmoid(y) x)>", true, X },
        { QUOTIENT, "div(x sigmoid(x))", true, X },
        { QUOTIENT, "div(sigmoid(x) x)", false, -1 },
        { HALF, "affine{alpha=0.5 beta=0}(x)", true, PRODUCT },
        { HALF, "affine{alpha=0.25 beta=0}(x)", false, -1 },
        { HALF, "affine{alpha=a}(x=mul(...))", true, PRODUCT },
        { HALF, "Half(x)", true, PRODUCT },
        { HALF, "affine{alpha=a}(!mul(x y))", false, -1 }, /* relu reads it, too */
        { QUOTIENT, "!div(x y)", false, -1 },              /* nobody reads it */
        { RELU, "@relu/dropout mul(x y)", true, SIGMOID },
        { RELU, "@dropout mul(x y)", false, -1 },
        { RELU, "softmax(causal(x))", false, -1 },
    };
    (void)state;
    int t[TENSORS];
    struct arena arena = { 0 };
    struct hypar_graph *g = small_graph(t);
    struct importing im = { 0 };
    struct rewriting rw = { .im = &im, .g = g, .arena = &arena };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct match m;
        const struct pattern *p = hp_pattern(&rw, cases[i].pattern);
        bool matches = hp_match(&rw, p, t[cases[i].tensor], NULL, &m);
        if (matches != cases[i].matches)
            fail_msg("%s: %d", cases[i].pattern, matches);
        if (matches && cases[i].x >= 0)
            assert_int_equal(hp_captured(&m, 'x'), t[cases[i].x]);
        assert_false(hp_match(&rw, p, t[cases[i].tensor], never, &m));
        assert_ptr_equal(p, hp_pattern(&rw, cases[i].pattern)); /* parsed once */
    }
    hypar_graph_free(g);
    hp_arena_free(&arena);
}

/* A captured attribute, and a mask by which a query sees no later key. */
static void test_captures(void **state)
{
    (void)state;
    int t[TENSORS];
    struct arena arena = { 0 };
    struct hypar_graph *g = small_graph(t);
    struct importing im = { .n_causal = g->n_ops };
    struct rewriting rw = { .im = &im, .g = g, .arena = &arena };
    struct match m;
    im.causal = NEW(&arena, int, g->n_ops);
    im.causal[g->tensors[t[PRODUCT]].producer] = 2; /* of its second operand */
    assert_true(hp_match(&rw, hp_pattern(&rw, "affine{alpha=s}(x)"), t[HALF], NULL, &m));
    assert_true(m.number['s' - 'a'] == 0.5);
    assert_true(hp_match(&rw, hp_pattern(&rw, "relu(causal(x))"), t[RELU], NULL, &m));
    assert_int_equal(hp_captured(&m, 'x'), t[X]);
    assert_int_equal(m.op, g->tensors[t[RELU]].producer);
    hypar_graph_free(g);
    hp_arena_free(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_words),
        cmocka_unit_test(test_captures),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
