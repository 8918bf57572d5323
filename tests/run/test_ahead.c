/* Inputs that are filled ahead: by whom, once each, with errors, in areas that are used again.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <pthread.h>
#include <stdlib.h>

#include "base/error.h"
#include "run/exec/ahead.h"

enum { ROWS = 1 << 14, WIDTH = 8 };

static const struct box box = { .n_dims = 2, .dim = { { 2, 2 + ROWS }, { 0, WIDTH } } };

struct world {
    struct backend backend;
    pthread_t own;
    _Atomic int by_own, by_others; /* rows filled by the test's thread, and by others */
    int areas, finishes;
};

static struct world world;

static void *new_staging(const struct backend *b, size_t bytes)
{
    (void)b;
    world.areas++;
    return calloc(1, bytes + 1);
}

static void free_staging(const struct backend *b, void *area)
{
    (void)b;
    world.areas--;
    free(area);
}

static void finish(const struct backend *b)
{
    (void)b;
    world.finishes++;
}

/* Each number tells its batch, row and column. Batch 9 cannot be read. */
static enum hypar_status fill(void *who, const struct fill_request *request,
                              const struct view *to, struct hypar_error *err)
{
    struct world *w = who;
    struct range rows = to->box.dim[0];
    if (request->batch == 9)
        return hp_fail(err, HYPAR_INVALID, "no batch 9");
    for (int64_t r = rows.lo; r < rows.hi; r++)
        for (int64_t c = 0; c < WIDTH; c++)
            ((float *)to->data)[(r - rows.lo) * WIDTH + c] =
                (float)(request->batch * 1000000 + r * WIDTH + c);
    *(pthread_equal(pthread_self(), w->own) ? &w->by_own : &w->by_others) +=
        (int)(rows.hi - rows.lo);
    return HYPAR_OK;
}

static struct ahead *begin(void)
{
    world = (struct world){ .own = pthread_self() };
    world.backend = (struct backend){ .staging_new = new_staging,
                                      .staging_free = free_staging,
                                      .finish = finish };
    struct executor_settings settings = { .backend = &world.backend,
                                          .fill = fill,
                                          .who = &world };
    return hp_ahead_new(&settings);
}

static void check_batch(struct ahead *a, int64_t batch)
{
    struct fill_request request = { 3, -1, batch };
    struct hypar_error err;
    struct view view;
    assert_int_equal(hp_ahead_take(a, &request, &box, sizeof(float), &view, &err), HYPAR_OK);
    for (int64_t i = 0; i < ROWS * WIDTH; i++)
        if (((float *)view.data)[i] != (float)(batch * 1000000 + 2 * WIDTH + i))
            fail_msg("batch %d: element %d", (int)batch, (int)i);
}

static void ask(struct ahead *a, int64_t batch)
{
    struct fill_request request = { 3, -1, batch };
    hp_ahead_ask(a, &request, &box, sizeof(float));
}

/* What was asked for is filled once, by other threads; what was not, when it is taken. */
static void test_by_whom(void **state)
{
    (void)state;
    struct ahead *a = begin();
    ask(a, 1);
    ask(a, 2);
    check_batch(a, 1);
    check_batch(a, 2);
    assert_int_equal(world.by_own, 0);
    assert_int_equal(world.by_others, 2 * ROWS);
    check_batch(a, 4);
    assert_int_equal(world.by_own + world.by_others, 3 * ROWS);
    hp_ahead_free(a);
    assert_int_equal(world.areas, 0);
}

/* Two areas suffice for any number of steps. */
static void test_areas(void **state)
{
    (void)state;
    struct ahead *a = begin();
    for (int step = 0; step < 20; step++) {
        check_batch(a, step == 9 ? 10 : step);
        ask(a, step + 1 == 9 ? 10 : step + 1);
        hp_ahead_finished(a);
    }
    assert_int_equal(world.areas, 2);
    assert_int_equal(world.finishes, 0);
    hp_ahead_free(a);
}

/* A step that takes many arrays waits for the back end rather than for memory. */
static void test_many(void **state)
{
    (void)state;
    struct ahead *a = begin();
    for (int i = 10; i < 110; i++)
        check_batch(a, i);
    assert_true(world.areas < 20);
    assert_true(world.finishes > 0);
    hp_ahead_free(a);
}

static void test_error(void **state)
{
    (void)state;
    struct ahead *a = begin();
    struct fill_request request = { 3, -1, 9 };
    struct hypar_error err;
    struct view view;
    ask(a, 9); /* fails, and nobody has to know yet */
    check_batch(a, 1);
    assert_int_equal(hp_ahead_take(a, &request, &box, sizeof(float), &view, &err),
                     HYPAR_INVALID);
    assert_string_equal(err.text, "no batch 9");
    hp_ahead_free(a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_by_whom),
        cmocka_unit_test(test_areas),
        cmocka_unit_test(test_many),
        cmocka_unit_test(test_error),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
