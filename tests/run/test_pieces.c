/* Pieces of strided arrays, gathered, scattered and added up, against single elements. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/random.h"
#include "run/exec/pieces.h"

enum { MOST = 4096, TURNS = 5000 };

/* A box of up to four dimensions in a larger one, laid out in any order of dimensions, and some
 * of its elements. */
static struct piece random_piece(struct random *random)
{
    struct piece p = { .view = { .box = { .n_dims = (int)hp_random_below(random, 5) } } };
    int n = p.view.box.n_dims, order[4] = { 0, 1, 2, 3 };
    int64_t held = 1, elements = 1;
    for (int i = n - 1; i > 0; i--) {
        int k = hp_random_below(random, 2) ? i : (int)hp_random_below(random, i + 1),
            t = order[i];
        order[i] = order[k];
        order[k] = t;
    }
    for (int i = n - 1; i >= 0; i--) {
        int d = order[i];
        int64_t extent = 1 + hp_random_below(random, 5),
                room = extent + hp_random_below(random, 3);
        int64_t at = hp_random_below(random, room - extent + 1);
        p.view.box.dim[d] = (struct range){ 0, extent };
        p.view.at.stride[d] = held;
        p.view.at.offset += at * held;
        held *= room;
        elements *= extent;
    }
    p.lo = hp_random_below(random, elements);
    p.hi = p.lo + 1 + hp_random_below(random, elements - p.lo);
    p.dense = hp_piece_is_dense(&p);
    return p;
}

/* Where element i of the box is. */
static int64_t place_of(const struct piece *p, int64_t i)
{
    int64_t at = p->view.at.offset;
    for (int d = p->view.box.n_dims - 1; d >= 0; d--) {
        at += i % p->view.box.dim[d].hi * p->view.at.stride[d];
        i /= p->view.box.dim[d].hi;
    }
    return at;
}

static bool lies_dense(const struct piece *p)
{
    for (int64_t i = p->lo; i < p->hi; i++)
        if (place_of(p, i) != place_of(p, p->lo) + i - p->lo)
            return false;
    return true;
}

static void elements_one_by_one(void **state)
{
    (void)state;
    static float data[MOST], before[MOST], apart[MOST];
    struct random random = { 7 };
    struct backend host = hp_host_backend(NULL);
    for (int turn = 0; turn < TURNS; turn++) {
        struct piece p = random_piece(&random);
        for (int i = 0; i < MOST; i++)
            data[i] = before[i] = (float)i;
        assert_int_equal(hp_piece_offset(&p), place_of(&p, p.lo));
        assert_true(!p.dense || lies_dense(&p));
        hp_piece_copy(&host, &p, sizeof *data, (char *)data, (char *)apart, true);
        for (int64_t i = p.lo; i < p.hi; i++)
            assert_true(apart[i - p.lo] == before[place_of(&p, i)]);
        hp_piece_combine(&host, &p, COMBINE_SUM, REAL_F32, (char *)data, (char *)apart);
        for (int64_t i = p.lo; i < p.hi; i++)
            before[place_of(&p, i)] *= 2;
        assert_memory_equal(data, before, sizeof data);
        for (int64_t i = p.lo; i < p.hi; i++)
            before[place_of(&p, i)] = apart[i - p.lo] = -(float)i;
        hp_piece_copy(&host, &p, sizeof *data, (char *)data, (char *)apart, false);
        assert_memory_equal(data, before, sizeof data);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(elements_one_by_one) };
    return cmocka_run_group_tests_name("run: pieces", tests, NULL, NULL);
}
