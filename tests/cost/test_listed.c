/* Collectives on machines whose links are listed one by one. They are compared with machines
 * from a word, for any numbering of the devices, and with rings in the order of these
 * numbers. */
#include "cost/collective.h"
#include "tests/cost/list_links.h"

#include <math.h>
#include <string.h>

enum { MAX_DEVICES = 64, SEED = 30417 };

static const enum comm_kind kinds[] = { COMM_ALL_REDUCE, COMM_REDUCE_SCATTER, COMM_ALL_GATHER };

enum { N_KINDS = sizeof kinds / sizeof *kinds };

static double time_of(const struct hypar_machine *machine, enum comm_kind kind,
                      const int *device, int n, double bytes)
{
    struct arena arena = { 0 };
    struct comm_group group = { kind, n, device, 0 };
    const struct comm_way *way =
        hp_comm_best_way(hp_comm_model(&arena, machine, &group), bytes);
    double time_s = way->fixed_s + bytes * way->s_per_byte;
    hp_arena_free(&arena);
    return time_s;
}

struct pair {
    const struct hypar_machine *word, *listed;
    const int *number; /* in `listed`, of a device of `word` */
};

/* The devices first, first + stride, ... as planners group them: never more than `allowed`
 * times as slow as on the word's machine. */
static void compare_group(const struct pair *pair, int first, int stride, int n, double bytes,
                          double allowed)
{
    int device[MAX_DEVICES], renumbered[MAX_DEVICES];
    for (int i = 0; i < n; i++) {
        device[i] = first + i * stride;
        renumbered[i] = pair->number[device[i]];
    }
    for (int k = 0; k < N_KINDS; k++) {
        double word_s = time_of(pair->word, kinds[k], device, n, bytes);
        double listed_s = time_of(pair->listed, kinds[k], renumbered, n, bytes);
        if (listed_s > word_s * allowed)
            fail_msg("%s, %d devices from %d on, %d apart, %s, %g bytes: %g s, expected %g s",
                     hypar_machine_word(pair->word), n, first, stride, hp_comm_text(kinds[k]),
                     bytes, listed_s, word_s);
    }
}

/* All devices, and all rows and columns of `columns` devices a row. */
static void compare_groups(const struct pair *pair, int columns, double bytes, double allowed)
{
    int n = pair->word->n_devices, rows = n / columns;
    compare_group(pair, 0, 1, n, bytes, allowed);
    for (int r = 0; r < rows && columns < n; r++)
        compare_group(pair, r * columns, 1, columns, bytes, allowed);
    for (int c = 0; c < columns && rows > 1; c++)
        compare_group(pair, c, columns, rows, bytes, allowed);
}

static const struct {
    const char *word;
    int columns;
} shapes[] = {
    { "ring:5,bandwidth=1GB/s", 5 },    { "ring:16,bandwidth=1GB/s", 16 },
    { "torus:3x3,bandwidth=1GB/s", 3 }, { "torus:4x4,bandwidth=1GB/s", 4 },
    { "torus:3x5,bandwidth=1GB/s", 5 }, { "torus:5x5,bandwidth=1GB/s", 5 },
    { "torus:6x4,bandwidth=1GB/s", 4 }, { "torus:7x7,bandwidth=1GB/s", 7 },
    { "torus:8x8,bandwidth=1GB/s", 8 }, { "torus:4x4x4,bandwidth=1GB/s", 4 },
    { "mesh:4x4,bandwidth=1GB/s", 4 },  { "mesh:2x8,bandwidth=1GB/s", 8 },
    { "mesh:3x5,bandwidth=1GB/s", 5 },  { "mesh:6x7,bandwidth=1GB/s", 7 },
    { "mesh:8x8,bandwidth=1GB/s", 8 },  { "mesh:4x3x2,bandwidth=1GB/s", 2 },
    { "htree:8,bandwidth=1GB/s", 4 },   { "htree:12,bandwidth=1GB/s", 3 },
    { "htree:16,bandwidth=1GB/s", 4 },  { "htree:64,bandwidth=1GB/s", 8 },
    { "full:8,bandwidth=1GB/s", 4 },
};

/* The word's machine beside three that are listed: with its numbers, and with any. */
static void compare_machines(const char *shape, int columns, double bytes, double allowed)
{
    char word[64];
    struct random random = { SEED };
    int number[MAX_DEVICES];
    snprintf(word, sizeof word, "%s,latency=1us", shape);
    struct hypar_machine *machine = machine_of(word);
    for (int d = 0; d < machine->n_devices; d++)
        number[d] = d;
    for (int trial = 0; trial < 3; trial++) {
        if (trial > 0)
            shuffle(&random, number, machine->n_devices);
        struct hypar_machine *listed = list_links(&random, machine, number);
        struct pair pair = { machine, listed, number };
        compare_groups(&pair, columns, bytes, allowed);
        hypar_machine_free(listed);
    }
    hypar_machine_free(machine);
}

static void listed_links_cost_what_words_do(void **state)
{
    (void)state;
    print_message("seed %d\n", SEED);
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++)
        compare_machines(shapes[i].word, shapes[i].columns, 100e6, 1.03);
}

/* Behind switches, trees and blocks are found too; they decide for small messages. Algorithms
 * that know nodes are for clusters by word alone: links that are listed name no nodes. */
static void listed_trees_cost_what_words_do(void **state)
{
    (void)state;
    print_message("seed %d\n", SEED);
    for (double bytes = 1e3; bytes < 1e9; bytes *= 10) {
        compare_machines("htree:8", 4, bytes, 1.001);
        compare_machines("htree:12", 3, bytes, 1.001);
        compare_machines("htree:16", 4, bytes, 1.001);
        compare_machines("htree:64", 8, bytes, 1.001);
        compare_machines("cluster:4x4", 4, bytes, 1.1);
        compare_machines("cluster:8x8", 8, bytes, 1.1);
    }
}

/* Devices that have the word's numbers make groups of the same bandwidth. */
static void levels_are_those_of_words(void **state)
{
    (void)state;
    static const char *const words[] = { "ring:6",
                                         "ring:7",
                                         "torus:3x3",
                                         "torus:3x5",
                                         "torus:4x4",
                                         "torus:8x8",
                                         "mesh:2x8",
                                         "mesh:4x4",
                                         "mesh:3x3",
                                         "torus:4x4x4",
                                         "htree:12",
                                         "htree:16",
                                         "full:6",
                                         "full:8",
                                         "cluster:4x4,inter=10GB/s",
                                         "cluster:4x4,nics=2,inter=10GB/s" };
    struct random random = { SEED };
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        int number[MAX_DEVICES];
        for (int d = 0; d < MAX_DEVICES; d++)
            number[d] = d;
        struct hypar_machine *machine = machine_of(words[i]);
        struct hypar_machine *listed = list_links(&random, machine, number);
        struct hypar_level expected[HYPAR_MAX_LEVELS], level[HYPAR_MAX_LEVELS];
        int n = hypar_machine_levels(machine, expected);
        print_message("%s\n", words[i]);
        assert_int_equal(hypar_machine_levels(listed, level), n);
        for (int l = 0; l < n; l++) {
            assert_int_equal(level[l].ways, expected[l].ways);
            if (fabs(level[l].bytes_per_s / expected[l].bytes_per_s - 1) > 1e-12)
                fail_msg("level %d: %g, expected %g", l, level[l].bytes_per_s,
                         expected[l].bytes_per_s);
        }
        hypar_machine_free(listed);
        hypar_machine_free(machine);
    }
}

/* --- rings --- */

/* A tree of all nodes, so that each is reached, and some links more. */
static struct hypar_machine *random_network(struct random *random)
{
    struct hypar_machine *like = machine_of("ring:4");
    struct listed_link *links;
    int n = 4 + (int)hp_random_below(random, 28), switches = (int)hp_random_below(random, 6);
    int nodes = n + switches, n_links = nodes - 1 + (int)hp_random_below(random, 2 * nodes);
    int *node = test_calloc((size_t)nodes, sizeof *node);
    for (int v = 0; v < nodes; v++)
        node[v] = v;
    shuffle(random, node, nodes);
    struct hypar_machine *machine =
        hp_network_new(like->runs, like->n_runs, n, switches, n_links, &links);
    for (int l = 0; l < n_links; l++) {
        int to = l < nodes - 1 ? l + 1 : 1 + (int)hp_random_below(random, nodes - 1);
        links[l].link =
            (struct hypar_link){ .from = node[hp_random_below(random, to)],
                                 .to = node[to],
                                 .bytes_per_s = 1e9 * (1 + (double)hp_random_below(random, 3)),
                                 .latency_s = 1e-6 };
    }
    assert_int_equal(hp_network_finish(machine, NULL), HYPAR_OK);
    test_free(node);
    hypar_machine_free(like);
    return machine;
}

/* Some devices, rising. */
static int choose_devices(struct random *random, int n_devices, int *device)
{
    int n = 0, share = 1 + (int)hp_random_below(random, 4);
    for (int d = 0; d < n_devices; d++)
        if (hp_random_below(random, 4) < share)
            device[n++] = d;
    return n;
}

/* On any network no ring, one way or both, keeps a link busier than one in the order of
 * numbers. */
static void no_ring_is_slower_than_by_number(void **state)
{
    (void)state;
    struct random random = { SEED };
    int faster = 0, rings = 0;
    print_message("seed %d\n", SEED);
    for (int trial = 0; trial < 400; trial++) {
        struct arena arena = { 0 };
        struct hypar_machine *machine = random_network(&random);
        int device[MAX_DEVICES], n = choose_devices(&random, machine->n_devices, device);
        struct comm_group group = { kinds[trial % N_KINDS], n, device, 0 };
        struct topology by_number = *machine->topology;
        by_number.cycle = NULL;
        by_number.rank = NULL;
        for (int way = 0; n > 3 && way < 2; way++) {
            const char *name = way ? "two-way ring" : "ring";
            double now = hp_comm_model_named(&arena, machine, &group, name)->way->s_per_byte;
            machine->topology = &by_number;
            double before = hp_comm_model_named(&arena, machine, &group, name)->way->s_per_byte;
            machine->topology = &hp_explicit;
            assert_true(now <= before * (1 + 1e-12));
            faster += now < before * (1 - 1e-12);
            rings++;
        }
        hp_arena_free(&arena);
        hypar_machine_free(machine);
    }
    print_message("%d of %d rings are faster\n", faster, rings);
    assert_true(faster > rings / 2);
}

/* A ring is that of its devices, whatever their order, and is the same when asked again. */
static void rings_are_those_of_a_set(void **state)
{
    (void)state;
    struct random random = { SEED };
    for (int trial = 0; trial < 50; trial++) {
        struct arena arena = { 0 };
        struct hypar_machine *machine = random_network(&random);
        int n = machine->n_devices, device[MAX_DEVICES], order[2][MAX_DEVICES], start = 0;
        bool seen[MAX_DEVICES] = { false };
        for (int d = 0; d < n; d++)
            device[d] = d;
        assert_true(hp_network_cycle(&arena, machine, device, n, order[0]));
        shuffle(&random, device, n);
        assert_true(hp_network_cycle(&arena, machine, device, n, order[1]));
        while (device[order[1][start]] != order[0][0])
            start++;
        for (int i = 0; i < n; i++) {
            assert_int_equal(device[order[1][(start + i) % n]], order[0][i]);
            assert_false(seen[order[0][i]]);
            seen[order[0][i]] = true;
        }
        hp_arena_free(&arena);
        hypar_machine_free(machine);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(listed_links_cost_what_words_do),
        cmocka_unit_test(listed_trees_cost_what_words_do),
        cmocka_unit_test(levels_are_those_of_words),
        cmocka_unit_test(no_ring_is_slower_than_by_number),
        cmocka_unit_test(rings_are_those_of_a_set),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
