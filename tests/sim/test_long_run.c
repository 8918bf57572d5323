/* A long run of changes needs no more memory than a short one. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include <hypar/search.h>

enum { PROPOSALS = 100000, EARLY = 1000 };

/* Bytes that the library has, each block behind a header that says how many they are. */
static size_t bytes_now;

union header {
    size_t bytes;
    max_align_t align;
};

static void *take(size_t bytes, void *arg)
{
    (void)arg;
    union header *block = malloc(sizeof *block + bytes);
    if (!block)
        return NULL;
    block->bytes = bytes;
    bytes_now += bytes;
    return block + 1;
}

static void give(void *memory, void *arg)
{
    (void)arg;
    if (!memory)
        return;
    union header *block = (union header *)memory - 1;
    bytes_now -= block->bytes;
    free(block);
}

struct problem {
    struct hypar_graph *graph;
    struct hypar_machine *machine;
    struct hypar_plan *plan;
    int op, sample;
    int64_t extent;
};

static int begin(void **state)
{
    static struct problem p;
    hypar_set_allocator(&(struct hypar_allocator){ take, give, NULL });
    assert_int_equal(hypar_import(&p.graph, "lenet5", NULL, NULL), HYPAR_OK);
    assert_int_equal(hypar_machine_read(&p.machine, "full:4", NULL), HYPAR_OK);
    p.plan = hypar_plan_new(p.graph, p.machine, NULL);
    p.op = hypar_graph_find_op(p.graph, "fc1");
    while (hypar_graph_axis(p.graph, p.op, p.sample).role != HYPAR_SAMPLE)
        p.sample++;
    p.extent = hypar_graph_axis(p.graph, p.op, p.sample).extent;
    *state = &p;
    return 0;
}

static int end(void **state)
{
    struct problem *p = *state;
    hypar_plan_free(p->plan);
    hypar_machine_free(p->machine);
    hypar_graph_free(p->graph);
    assert_int_equal(bytes_now, 0);
    return 0;
}

/* Change number `i`: two to four parts, of other sizes each time. */
static struct hypar_split change(const struct problem *p, int i, int64_t sizes[4])
{
    struct hypar_split split = { .op = p->op };
    int degree = 2 + i % 3;
    int64_t left = p->extent;
    for (int part = 0; part < degree; part++) {
        sizes[part] = part == degree - 1 ? left : (i / 3 + 7 * part) % (left / 2);
        left -= sizes[part];
    }
    split.degree[p->sample] = degree;
    split.sizes[p->sample] = sizes;
    return split;
}

static void changes_of_a_plan_reuse_its_room(void **state)
{
    const struct problem *p = *state;
    size_t early = 0;
    for (int i = 0; i < PROPOSALS; i++) {
        int64_t sizes[4];
        struct hypar_split split = change(p, i, sizes);
        assert_int_equal(hypar_plan_set_op(p->plan, &split, NULL), HYPAR_OK);
        early = i == EARLY ? bytes_now : early;
    }
    assert_int_equal(bytes_now, early);
}

static void proposals_reuse_room(void **state)
{
    const struct problem *p = *state;
    struct hypar_delta *delta;
    size_t early = 0, most = 0;
    double step_s;
    assert_int_equal(hypar_delta_begin(&delta, p->plan, NULL, NULL), HYPAR_OK);
    for (int i = 0; i < PROPOSALS; i++) {
        int64_t sizes[4];
        struct hypar_split split = change(p, i, sizes);
        assert_int_equal(hypar_delta_propose(delta, &split, 1, 0, &step_s, NULL), HYPAR_OK);
        if (i % 3 == 0)
            hypar_delta_accept(delta);
        early = i == EARLY ? bytes_now : early;
        most = bytes_now > most ? bytes_now : most;
    }
    print_message("%zu bytes early, %zu later, %zu at most\n", early, bytes_now, most);
    assert_true(most <= 2 * early);
    hypar_delta_free(delta);
}

/* No two of these are alike, and all that was seen before is remembered, but not without end.
 */
static void what_is_remembered_is_bounded(void **state)
{
    struct problem *p = *state;
    enum { N = 64, CHANGES = 20000 };
    struct hypar_machine *machine;
    struct hypar_delta *delta;
    size_t most = 0;
    double step_s, first_s = 0;
    uint64_t drawn = 1;
    assert_int_equal(hypar_machine_read(&machine, "full:64", NULL), HYPAR_OK);
    struct hypar_plan *plan = hypar_plan_new(p->graph, machine, NULL);
    assert_int_equal(hypar_delta_begin(&delta, plan, NULL, NULL), HYPAR_OK);
    for (int i = 0; i <= CHANGES; i++) {
        struct hypar_split split = { .op = p->op };
        int device[N];
        for (int part = 0; part < N; part++) {
            drawn = drawn * 6364136223846793005u + 1442695040888963407u;
            device[part] = i % CHANGES ? (int)(drawn >> 58) : part; /* the last is the first */
        }
        split.degree[p->sample] = N;
        split.device = device;
        assert_int_equal(hypar_delta_propose(delta, &split, 1, 0, &step_s, NULL), HYPAR_OK);
        if (i % 100 == 1)
            hypar_delta_accept(delta);
        first_s = i ? first_s : step_s;
        most = bytes_now > most ? bytes_now : most;
    }
    print_message("%zu bytes at the end, %zu at most\n", bytes_now, most);
    hypar_delta_free(delta);
    hypar_plan_free(plan);
    hypar_machine_free(machine);
    assert_true(step_s == first_s);
    assert_true(most < (size_t)256 << 20);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(changes_of_a_plan_reuse_its_room, begin, end),
        cmocka_unit_test_setup_teardown(proposals_reuse_room, begin, end),
        cmocka_unit_test_setup_teardown(what_is_remembered_is_bounded, begin, end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
