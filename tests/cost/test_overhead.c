/* The time of comms besides their messages: by hand, and against measured all-reduces. */
#include "cost/collective.h"
#include "tests/machine/check.h"
#include "tests/papers/measured.h"

static void near(double got, double want)
{
    if (!(fabs(got - want) <= 1e-12 * fabs(want)))
        fail_msg("got %.17g, want %.17g", got, want);
}

static const struct comm_way *only_way(struct arena *arena, const struct hypar_machine *machine,
                                       enum comm_kind kind, const char *name)
{
    static const int device[] = { 0, 1, 2, 3 };
    struct comm_group group = { kind, kind == COMM_SEND ? 2 : 4, device, 0 };
    return hp_comm_model_named(arena, machine, &group, name)->way;
}

/* Bandwidth 100 GB/s of which half is reached, 1 us for a route, 10 us for a comm, copies at
 * 1 TB/s. */
static void by_hand(void **state)
{
    (void)state;
    struct arena arena = { 0 };
    struct hypar_machine *machine =
        machine_of("full:4,bandwidth=100GB/s,latency=1us,link-efficiency=0.5,comm-latency=10us,"
                   "copy-bandwidth=1TB/s");
    static const struct {
        enum comm_kind kind;
        const char *name;
        double fixed_us, wire_ns, copies;
    } rows[] = {
        { COMM_SEND, "direct", 11, .02, 1 },
        { COMM_ALL_REDUCE, "ring", 10 + 6, 1.5 * .02, 2 },
        { COMM_ALL_GATHER, "ring", 10 + 3, .75 * .02, 1 },
        { COMM_REDUCE_SCATTER, "ring", 10 + 3, .75 * .02, 1 },
        { COMM_BROADCAST, "tree", 10 + 2, 2 * .02, 1 },
        { COMM_ALL_TO_ALL, "all at once", 10 + 1, .02, 3 },
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const struct comm_way *way = only_way(&arena, machine, rows[i].kind, rows[i].name);
        near(way->fixed_s, 1e-6 * rows[i].fixed_us);
        near(way->s_per_byte, 1e-9 * (rows[i].wire_ns + .001 * rows[i].copies));
        near(way->overhead.fixed_s, 10e-6);
        near(way->overhead.s_per_byte, 1e-12 * rows[i].copies);
    }
    const struct message message[] = { { 0, 1, 1e6 }, { 0, 2, 2e6 }, { 3, 2, 3e6 } };
    struct comm_way way;
    hp_messages_way(&arena, machine, message, 3, &way);
    near(way.fixed_s, 11e-6);
    near(way.s_per_byte, 3e6 * .02e-9 + 5e6 * 1e-12); /* device 2 gets five */
    hypar_machine_free(machine);
    hp_arena_free(&arena);
}

/* Short collectives run in fewer of 24 channels: one for each 4 KiB of a sum, or of each
 * device's piece of a gather, of which 28 KiB and more take all. */
static void short_collectives_take_less(void **state)
{
    (void)state;
    static const struct {
        enum comm_kind kind;
        int n;
        double whole, channels;
    } rows[] = {
        { COMM_ALL_REDUCE, 8, 100, 1 },
        { COMM_ALL_REDUCE, 8, 5 * 4096 + 1, 5 },
        { COMM_ALL_REDUCE, 512, 23.5 * 4096, 23 },
        { COMM_ALL_REDUCE, 8, 1e9, 24 },
        { COMM_ALL_GATHER, 8, 5 * 8 * 4096, 5 },
        { COMM_ALL_GATHER, 64, 5 * 8 * 4096, 1 },
        { COMM_REDUCE_SCATTER, 64, 7 * 64 * 4096, 7 },
        { COMM_REDUCE_SCATTER, 64, 7 * 64 * 4096 + 1, 24 },
        { COMM_ALL_TO_ALL, 64, 100, 24 },
    };
    struct hypar_machine *machine = machine_of("full:2,comm-share=0.24");
    const struct hypar_device *device = hypar_machine_device(machine, 0);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct comm_group group = { rows[i].kind, rows[i].n, NULL, 0 };
        struct comm_way way = { .fixed_s = 43e-6, .overhead = { 33e-6, 1e-12 } };
        double taken_s = 10e-6 + 4e-6 + 1e-12 * rows[i].whole;
        near(hp_lost_beside_s(device, &group, rows[i].whole, &way, rows[i].whole, 4e-6),
             0.01 * rows[i].channels * taken_s);
    }
    hypar_machine_free(machine);
}

/* One that knows no overhead has none. */
static void without(void **state)
{
    (void)state;
    struct arena arena = { 0 };
    struct hypar_machine *machine = machine_of("full:4");
    const struct comm_way *way = only_way(&arena, machine, COMM_ALL_REDUCE, "ring");
    assert_true(way->overhead.fixed_s == 0 && way->overhead.s_per_byte == 0);
    hypar_machine_free(machine);
    hp_arena_free(&arena);
}

static void as_measured(void **state)
{
    (void)state;
    struct nccl_row rows[NCCL_MAX];
    int n = nccl_rows(rows);
    if (n == 0) {
        print_message("no measured all-reduces beside the tree (tests/papers/measured.h)\n");
        skip();
    }
    struct hypar_machine *machine = machine_of("cluster:1x8,device=a100");
    print_message("devices     bytes   measured  predicted  error\n");
    for (int i = 0; i < n; i++) {
        double s = nccl_predicted_s(machine, &rows[i]);
        print_message("%7d %9.0f %7.1f us %7.1f us %5.1f %%%s\n", rows[i].devices,
                      rows[i].bytes, 1e6 * rows[i].seconds, 1e6 * s,
                      100 * (s / rows[i].seconds - 1), i % 2 ? "" : "  fitted");
    }
    for (int devices = 2; devices <= 8; devices *= 2)
        assert_true(nccl_error(machine, rows, n, 1, devices) < 0.1);
    assert_true(nccl_error(machine, rows, n, 1, 0) < 0.06);
    hypar_machine_free(machine);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(by_hand),
        cmocka_unit_test(short_collectives_take_less),
        cmocka_unit_test(without),
        cmocka_unit_test(as_measured),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
