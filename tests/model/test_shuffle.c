/* Shuffles against the elements themselves: random chains of reshapes and transposes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/random.h"
#include "model/onnx/rewrite/shuffle.h"

enum { CHAINS = 20000, MAX_ELEMENTS = 720 };

/* A tensor whose elements are the numbers of the base's. */
struct numbers {
    struct hypar_shape shape;
    int64_t at[MAX_ELEMENTS];
};

static void transpose(struct numbers *x, const int *perm)
{
    struct numbers was = *x;
    int64_t n = hp_shape_elements(&x->shape), stride[MAX_DIMS], next = 1;
    for (int d = x->shape.n_dims - 1; d >= 0; d--) {
        stride[d] = next;
        next *= was.shape.dim[d];
    }
    for (int d = 0; d < x->shape.n_dims; d++)
        x->shape.dim[d] = was.shape.dim[perm[d]];
    for (int64_t i = 0; i < n; i++) {
        int64_t left = i, from = 0;
        for (int d = x->shape.n_dims - 1; d >= 0; d--) {
            from += left % x->shape.dim[d] * stride[perm[d]];
            left /= x->shape.dim[d];
        }
        x->at[i] = was.at[from];
    }
}

/* The same elements in a random shape. */
static struct hypar_shape random_shape(struct random *random, int64_t elements)
{
    struct hypar_shape shape = { .n_dims = 1 + (int)hp_random_below(random, MAX_DIMS) };
    for (int d = 0; d < shape.n_dims; d++) {
        int64_t size = d == shape.n_dims - 1 ? elements : 1 + hp_random_below(random, elements);
        while (elements % size)
            size--;
        shape.dim[d] = size;
        elements /= size;
    }
    return shape;
}

static void random_perm(struct random *random, int n, int *perm)
{
    for (int d = 0; d < n; d++) {
        int other = (int)hp_random_below(random, d + 1);
        perm[d] = d;
        perm[d] = perm[other];
        perm[other] = d;
    }
}

/* Element `i` of the result is this one of the base. */
static int64_t element(const struct shuffle *s, int64_t i)
{
    int64_t at = 0;
    for (int f = s->first[s->n_dims] - 1; f >= 0; f--) {
        at += i % s->size[f] * s->stride[f];
        i /= s->size[f];
    }
    return at;
}

static void check(const struct shuffle *s, const struct numbers *x, uint64_t seed)
{
    struct hypar_shape shape = hp_shuffle_shape(s);
    assert_int_equal(shape.n_dims, x->shape.n_dims);
    for (int d = 0; d < shape.n_dims; d++)
        assert_int_equal(shape.dim[d], x->shape.dim[d]);
    for (int64_t i = 0; i < hp_shape_elements(&shape); i++)
        if (element(s, i) != x->at[i])
            fail_msg("seed %llu: element %lld", (unsigned long long)seed, (long long)i);
}

/* A random step on both; false: the shuffle cannot follow, and has not changed. */
static bool step(struct random *random, struct shuffle *s, struct numbers *x)
{
    int perm[MAX_DIMS];
    if (hp_random_below(random, 2)) {
        random_perm(random, x->shape.n_dims, perm);
        hp_shuffle_transpose(s, perm);
        transpose(x, perm);
        return true;
    }
    struct hypar_shape to = random_shape(random, hp_shape_elements(&x->shape));
    struct shuffle before = *s;
    if (!hp_shuffle_reshape(s, &to)) {
        assert_memory_equal(&before, s, sizeof before);
        return false;
    }
    x->shape = to;
    return true;
}

static void test_chains(void **state)
{
    (void)state;
    static const int64_t sizes[] = { 1, 6, 16, 24, 60, 64, 120, 360, 720 };
    int followed = 0, refined = 0;
    for (uint64_t seed = 0; seed < CHAINS; seed++) {
        struct random random = { seed };
        struct numbers x;
        x.shape = random_shape(&random, sizes[hp_random_below(&random, 9)]);
        struct hypar_shape base = x.shape;
        struct shuffle s = hp_shuffle_start(&base);
        assert_true(hp_shuffle_is_plain(&s, &base));
        for (int64_t i = 0; i < hp_shape_elements(&base); i++)
            x.at[i] = i;
        for (int i = 0; i < 5; i++)
            followed += step(&random, &s, &x);
        check(&s, &x, seed);
        struct shuffle fine = s;
        if (hp_shuffle_refine(&fine, &base)) {
            check(&fine, &x, seed);
            refined++;
        }
        for (int d = 0; d < s.n_dims; d++) {
            int dim = hp_shuffle_whole_dim(&s, &base, d);
            assert_true(dim < 0 || base.dim[dim] == x.shape.dim[d]);
        }
    }
    printf("%d steps followed, %d refined\n", followed, refined);
    assert_true(followed > 3 * CHAINS && refined > CHAINS / 2);
}

/* One dimension of the base has another size: what is left of the base's elements is what is
 * left of the result's. */
static void test_rebase(void **state)
{
    (void)state;
    int done = 0;
    for (uint64_t seed = 0; seed < CHAINS; seed++) {
        struct random random = { seed };
        struct numbers x;
        x.shape = random_shape(&random, 360);
        struct hypar_shape base = x.shape, after = base;
        struct shuffle s = hp_shuffle_start(&base), moved;
        for (int64_t i = 0; i < 360; i++)
            x.at[i] = i;
        for (int i = 0; i < 4; i++)
            step(&random, &s, &x);
        int dim = (int)hp_random_below(&random, base.n_dims);
        after.dim[dim] = 1 + hp_random_below(&random, base.dim[dim]);
        moved = s;
        if (!hp_shuffle_rebase(&moved, &base, &after))
            continue;
        /* the elements that stay, in order, numbered as in the smaller base */
        int64_t inner = 1, kept = 0;
        for (int d = dim + 1; d < base.n_dims; d++)
            inner *= base.dim[d];
        for (int64_t i = 0; i < 360; i++) {
            int64_t e = x.at[i], place = e / inner % base.dim[dim];
            if (place >= after.dim[dim])
                continue;
            int64_t outer = e / inner / base.dim[dim];
            int64_t number = (outer * after.dim[dim] + place) * inner + e % inner;
            if (element(&moved, kept++) != number)
                fail_msg("seed %llu: element %lld", (unsigned long long)seed, (long long)i);
        }
        done++;
    }
    printf("%d rebased\n", done);
    assert_true(done > CHAINS / 10);
}

/* What is emitted has the shape, and undoes nothing: at most three operators. */
static void test_emit(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < 2000; seed++) {
        struct random random = { seed };
        struct numbers x;
        x.shape = random_shape(&random, 120);
        struct graph_builder *b = hp_build("shuffle", x.shape.dim[0]);
        int in = hp_build_input(b, "x", &x.shape, false, 0), out;
        struct shuffle s = hp_shuffle_start(&x.shape);
        struct hypar_error err = { 0 };
        for (int64_t i = 0; i < 120; i++)
            x.at[i] = i;
        for (int i = 0; i < 4; i++)
            step(&random, &s, &x);
        enum hypar_status status = hp_shuffle_emit(b, in, &s, "s", &out, &err);
        if (status == HYPAR_OK) {
            const struct hypar_graph *g = hp_build_graph(b);
            assert_int_equal(g->tensors[out].shape.n_dims, x.shape.n_dims);
            for (int d = 0; d < x.shape.n_dims; d++)
                assert_int_equal(g->tensors[out].shape.dim[d], x.shape.dim[d]);
            assert_in_range(g->n_ops, 0, 3);
        } else {
            assert_int_equal(status, HYPAR_UNSUPPORTED);
        }
        hp_build_abandon(b);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_chains),
        cmocka_unit_test(test_rebase),
        cmocka_unit_test(test_emit),
    };
    return cmocka_run_group_tests_name("model/shuffle", tests, NULL, NULL);
}
