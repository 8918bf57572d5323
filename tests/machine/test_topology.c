/* Topologies: route lengths against closed forms, levels, disjoint rings, figures of links. */
#include "tests/machine/check.h"

#include <math.h>
#include <string.h>

#include "machine/topology.h"

/* Closed forms for the number of links between two devices. */
static int closed_line(int a, int b, int size)
{
    int up = (b - a + size) % size;
    return up < size - up ? up : size - up;
}

static int grid_distance(const int *dim, int n_dims, bool closed, int a, int b)
{
    int sum = 0;
    for (int d = n_dims - 1; d >= 0; d--) {
        int x = a % dim[d], y = b % dim[d];
        sum += closed ? closed_line(x, y, dim[d]) : abs(x - y);
        a /= dim[d];
        b /= dim[d];
    }
    return sum;
}

static int torus_distance(const int *dim, int n_dims, int a, int b)
{
    return grid_distance(dim, n_dims, true, a, b);
}

static int mesh_distance(const int *dim, int n_dims, int a, int b)
{
    return grid_distance(dim, n_dims, false, a, b);
}

static int full_distance(const int *dim, int n_dims, int a, int b)
{
    (void)dim;
    (void)n_dims;
    return a != b;
}

/* Up to the common ancestor and down: the smallest factor is at the root. */
static int tree_distance(const int *dim, int n_dims, int a, int b)
{
    (void)n_dims;
    int distance = 0;
    for (int n = dim[0], p; n > 1 && a != b; n /= p) {
        p = 2;
        for (int q = 2; q <= n; q++) /* the largest prime of what is left is lowest */
            if (n % q == 0) {
                int r = 2;
                while (q % r != 0)
                    r++;
                p = r == q ? q : p;
            }
        a /= p;
        b /= p;
        distance += 2;
    }
    return distance;
}

static int cluster_distance(const int *dim, int n_dims, int a, int b)
{
    int per_node = dim[n_dims - 1];
    return a == b ? 0 : a / per_node == b / per_node ? 2 : 4;
}

/* A card at each device: straight to the same number, else through the own node first. */
static int rails_distance(const int *dim, int n_dims, int a, int b)
{
    int per_node = dim[n_dims - 1];
    if (a / per_node == b / per_node)
        return a == b ? 0 : 2;
    return a % per_node == b % per_node ? 2 : 4;
}

/* Four nodes behind each leaf switch: two links more to those of others. */
static int leaf_distance(const int *dim, int n_dims, int a, int b)
{
    int per_leaf = 4 * dim[n_dims - 1];
    return cluster_distance(dim, n_dims, a, b) + (a / per_leaf == b / per_leaf ? 0 : 2);
}

static int rails_leaf_distance(const int *dim, int n_dims, int a, int b)
{
    int per_leaf = 4 * dim[n_dims - 1];
    return rails_distance(dim, n_dims, a, b) + (a / per_leaf == b / per_leaf ? 0 : 2);
}

static const struct {
    const char *word;
    int n_dims, dim[MACHINE_MAX_DIMS];
    int switches, links, longest;
    int (*distance)(const int *dim, int n_dims, int a, int b);
} cases[] = {
    { "htree:1", 1, { 1 }, 0, 0, 0, tree_distance },
    { "htree:2", 1, { 2 }, 1, 2, 2, tree_distance },
    { "htree:16", 1, { 16 }, 15, 30, 8, tree_distance },
    { "htree:12", 1, { 12 }, 7, 18, 6, tree_distance },
    { "htree:7", 1, { 7 }, 1, 7, 2, tree_distance },
    { "torus:1x1", 2, { 1, 1 }, 0, 0, 0, torus_distance },
    { "torus:2x2", 2, { 2, 2 }, 0, 4, 2, torus_distance },
    { "torus:4x4", 2, { 4, 4 }, 0, 32, 4, torus_distance },
    { "torus:3x5", 2, { 3, 5 }, 0, 30, 3, torus_distance },
    { "torus:2x3x4", 3, { 2, 3, 4 }, 0, 60, 4, torus_distance },
    { "torus:1x5x2", 3, { 1, 5, 2 }, 0, 15, 3, torus_distance },
    { "torus:2x2x2x2x3x1", 6, { 2, 2, 2, 2, 3, 1 }, 0, 144, 5, torus_distance },
    { "mesh:4x4", 2, { 4, 4 }, 0, 24, 6, mesh_distance },
    { "mesh:5", 1, { 5 }, 0, 4, 4, mesh_distance },
    { "mesh:2x3x4", 3, { 2, 3, 4 }, 0, 46, 6, mesh_distance },
    { "ring:8", 1, { 8 }, 0, 8, 4, torus_distance },
    { "ring:2", 1, { 2 }, 0, 1, 1, torus_distance },
    { "ring:1", 1, { 1 }, 0, 0, 0, torus_distance },
    { "full:8", 1, { 8 }, 0, 28, 1, full_distance },
    { "full:1", 1, { 1 }, 0, 0, 0, full_distance },
    { "cluster:4x8", 2, { 4, 8 }, 5, 36, 4, cluster_distance },
    { "cluster:4x8,nics=8", 2, { 4, 8 }, 5, 64, 4, cluster_distance },
    { "cluster:3x5,nics=2", 2, { 3, 5 }, 4, 21, 4, cluster_distance },
    { "cluster:1x8", 2, { 1, 8 }, 1, 8, 2, cluster_distance },
    { "cluster:4x2,nics=2,rails=on", 2, { 4, 2 }, 6, 16, 4, rails_distance },
    { "cluster:4x1,rails=on", 2, { 4, 1 }, 5, 8, 2, rails_distance },
    { "cluster:8x2,leaf=4,oversubscription=2", 2, { 8, 2 }, 11, 26, 6, leaf_distance },
    { "cluster:4x2,leaf=4,oversubscription=2", 2, { 4, 2 }, 5, 12, 4, leaf_distance },
    { "cluster:6x2,nics=2,rails=on,leaf=4", 2, { 6, 2 }, 12, 28, 6, rails_leaf_distance },
    { "cluster:2x4+cluster:3x4", 2, { 5, 4 }, 6, 25, 4, cluster_distance },
    { "local:4", 1, { 4 }, 1, 4, 2, cluster_distance },
};

enum { N_CASES = sizeof cases / sizeof cases[0] };

static void routes_have_their_closed_form_lengths(void **state)
{
    (void)state;
    for (int c = 0; c < N_CASES; c++) {
        print_message("%s\n", cases[c].word);
        struct hypar_machine *machine = machine_of(cases[c].word);
        int n = 1;
        for (int d = 0; d < cases[c].n_dims; d++)
            n *= cases[c].dim[d];
        assert_int_equal(hypar_machine_device_count(machine), n);
        assert_int_equal(hypar_machine_switch_count(machine), cases[c].switches);
        assert_int_equal(hypar_machine_link_count(machine), cases[c].links);
        assert_int_equal(hypar_machine_longest_route(machine), cases[c].longest);
        check_links(machine);
        check_levels(machine);
        for (int a = 0; a < n; a++)
            for (int b = 0; b < n; b++) {
                int want = cases[c].distance(cases[c].dim, cases[c].n_dims, a, b);
                assert_int_equal(check_route(machine, a, b), want);
                assert_int_equal(check_route(machine, b, a), want);
            }
        hypar_machine_free(machine);
    }
}

static void every_topology_has_a_case(void **state)
{
    (void)state;
    for (int t = 0; hypar_topology(t); t++) {
        const struct hypar_topology *topology = hypar_topology(t);
        size_t n = strlen(topology->name);
        bool found = false;
        for (int c = 0; c < N_CASES; c++)
            found |= strncmp(cases[c].word, topology->name, n) == 0 && cases[c].word[n] == ':';
        if (!found)
            fail_msg(
                "topology '%s' has no case: add one to cases in tests/machine/test_topology.c",
                topology->name);
        assert_true(strncmp(topology->syntax, topology->name, n) == 0);
        assert_true(strlen(topology->summary) > 5);
        char word[64]; /* the syntax shown is a word that can be read */
        snprintf(word, sizeof word, "%.*s", (int)strcspn(topology->syntax, " "),
                 topology->syntax);
        hypar_machine_free(machine_of(word));
    }
    assert_null(hypar_topology(-1));
}

static void big_machines_cost_nothing(void **state)
{
    (void)state;
    static const char *const words[] = { "torus:1024x1024", "htree:1048576",
                                         "ring:1048576",    "cluster:131072x8,nics=8",
                                         "full:5793",       "torus:101x103x97",
                                         "mesh:1048573" };
    struct random random = { 5 };
    print_message("seed 5\n");
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
        struct hypar_machine *machine = machine_of(words[i]);
        int n = hypar_machine_device_count(machine);
        check_levels(machine);
        for (int r = 0; r < 4; r++) {
            int a = (int)hp_random_below(&random, n), b = (int)hp_random_below(&random, n);
            assert_int_equal(check_route(machine, a, b), check_route(machine, b, a));
        }
        hypar_machine_free(machine);
    }
}

/* Half way round, both directions of a closed line carry the same. */
static void opposite_devices_use_both_directions(void **state)
{
    (void)state;
    struct hypar_machine *machine = machine_of("ring:8");
    int load[16] = { 0 }, links[4];
    for (int d = 0; d < 8; d++) {
        assert_int_equal(hypar_machine_route(machine, d, (d + 4) % 8, links, 4), 4);
        for (int i = 0; i < 4; i++)
            load[links[i]]++;
    }
    for (int l = 0; l < 16; l++)
        assert_int_equal(load[l], 2);
    hypar_machine_free(machine);
}

static void assert_near(double got, double want)
{
    if (fabs(got - want) > 1e-9 * fabs(want))
        fail_msg("got %.17g, want %.17g", got, want);
}

/* The link above a leaf switch is as wide as the cards below it, but for the oversubscription;
 * groups of several leaves share it. */
static void leaves_are_oversubscribed(void **state)
{
    (void)state;
    struct hypar_machine *machine = machine_of(
        "cluster:8x2,nics=2,inter=10GB/s,inter-efficiency=1,intra=1TB/s,leaf=4,oversubscription=2");
    struct hypar_level level[HYPAR_MAX_LEVELS];
    assert_near(hypar_machine_link(machine, 16 + 16).bytes_per_s, 4 * 2 * 10e9 / 2);
    int n = machine->topology->levels(machine, level);
    assert_int_equal(n, 4);
    assert_near(level[0].bytes_per_s, 4 * 2 * 10e9 / 2); /* four nodes, to the other leaf */
    assert_near(level[1].bytes_per_s, 2 * 2 * 10e9);     /* two nodes, inside a leaf */
    hypar_machine_free(machine);
    machine = machine_of(
        "cluster:8x2,nics=2,inter=10GB/s,inter-efficiency=1,rails=on,leaf=4,oversubscription=2");
    assert_near(hypar_machine_link(machine, 16 + 16).bytes_per_s, 4 * 10e9 / 2);
    hypar_machine_free(machine);
}

static void figures_reach_the_links(void **state)
{
    (void)state;
    struct hypar_machine *machine = machine_of(
        "cluster:2x4,intra=450GB/s,inter=50GB/s,nics=2,latency=2us,inter-latency=5us,"
        "energy=4pJ");
    struct hypar_link in = hypar_machine_link(machine, 7),
                      out = hypar_machine_link(machine, 11);
    assert_true(in.from == 7 && in.to == 9 && out.from == 9 && out.to == 10);
    assert_near(in.bytes_per_s, 450e9);
    assert_near(in.latency_s, 2e-6);
    assert_near(out.bytes_per_s, 50e9);
    assert_near(out.latency_s, 5e-6);
    assert_near(out.energy_j_per_bit, 4e-12);
    int links[4]; /* devices 2 and 3 of a node share its second card */
    assert_int_equal(hypar_machine_route(machine, 2, 4, links, 4), 4);
    assert_int_equal(links[0], 2 * 2);
    assert_int_equal(links[1], 2 * (8 + 1));
    assert_int_equal(links[2], 2 * (8 + 2) + 1);
    assert_int_equal(links[3], 2 * 4 + 1);
    hypar_machine_free(machine);

    machine = machine_of("htree:16"); /* HyPar: 1.6 Gb/s at the leaves, doubling upwards */
    assert_near(hypar_machine_link(machine, 29).bytes_per_s, 0.2e9);
    assert_near(hypar_machine_link(machine, 0).bytes_per_s, 1.6e9);
    hypar_machine_free(machine);
}

static void levels_are_as_documented(void **state)
{
    (void)state;
    static const struct {
        const char *word;
        int n;
        struct hypar_level levels[5];
    } rows[] = {
        { "ring:1", 0, { { 0 } } },
        { "htree:16,latency=1us",
          4,
          { { 2, 1.6e9, 8e-6 }, { 2, 0.8e9, 6e-6 }, { 2, 0.4e9, 4e-6 }, { 2, 0.2e9, 2e-6 } } },
        { "htree:6,latency=1us", 2, { { 2, 0.4e9, 4e-6 }, { 3, 0.2e9, 2e-6 } } },
        { "cluster:4x4,intra=100GB/s,inter=10GB/s,latency=1us",
          4,
          { { 2, 20e9, 4e-6 }, { 2, 10e9, 4e-6 }, { 2, 200e9, 2e-6 }, { 2, 100e9, 2e-6 } } },
        { "cluster:2x3,intra=1GB/s,inter=10GB/s,latency=1us,nics=3",
          2,
          { { 2, 3e9, 4e-6 }, { 3, 1e9, 2e-6 } } },
        { "cluster:1x2,device=h100,latency=1us,nics=1,link-efficiency=1,comm-latency=10us"
          "+cluster:1x2,device=a100,latency=1us,nics=1,link-efficiency=0.5",
          2,
          { { 2, 12.5e9, 14e-6 }, { 2, 150e9, 12e-6 } } },
        { "cluster:1x2,intra=5GB/s,inter=1GB/s,latency=1us+cluster:1x1,intra=5GB/s,inter=1GB/s,"
          "latency=1us",
          1,
          { { 3, 0.5e9, 2e-6 } } },
        { "torus:4x4,bandwidth=1GB/s,latency=1us",
          4,
          { { 2, 8e9, 2e-6 }, { 2, 4e9, 1e-6 }, { 2, 2e9, 2e-6 }, { 2, 1e9, 1e-6 } } },
        { "mesh:3x2,bandwidth=1GB/s,latency=1us", 2, { { 3, 2e9, 1e-6 }, { 2, 1e9, 1e-6 } } },
        { "full:6,bandwidth=1GB/s,latency=1us", 2, { { 2, 9e9, 1e-6 }, { 3, 2e9, 1e-6 } } },
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        print_message("%s\n", rows[i].word);
        struct hypar_level levels[HYPAR_MAX_LEVELS];
        struct hypar_machine *machine = machine_of(rows[i].word);
        assert_int_equal(hypar_machine_levels(machine, levels), rows[i].n);
        for (int l = 0; l < rows[i].n; l++) {
            assert_int_equal(levels[l].ways, rows[i].levels[l].ways);
            assert_near(levels[l].bytes_per_s, rows[i].levels[l].bytes_per_s);
            assert_near(levels[l].latency_s, rows[i].levels[l].latency_s);
        }
        hypar_machine_free(machine);
    }
}

/* Every torus whose lines all have three devices or more has a ring for each dimension. */
static void torus_has_disjoint_rings(const int *dim, int n_dims)
{
    struct arena arena = { 0 };
    struct hypar_machine *machine;
    char word[64] = "torus:";
    int n = 1;
    for (int d = 0; d < n_dims; d++) {
        size_t used = strlen(word);
        snprintf(word + used, sizeof word - used, "%s%d", d ? "x" : "", dim[d]);
        n *= dim[d];
    }
    machine = machine_of(word);
    int *device = NEW(&arena, int, n), *order = NEW(&arena, int, n *MACHINE_MAX_DIMS);
    bool *used = NEW(&arena, bool, hypar_machine_link_count(machine));
    for (int i = 0; i < n; i++)
        device[i] = n - 1 - i;
    if (hp_torus_cycles(&arena, machine, device, n, order) != n_dims)
        fail_msg("%s has fewer than %d rings", word, n_dims);
    for (int r = 0; r < n_dims; r++) {
        bool *seen = NEW(&arena, bool, n);
        for (int i = 0; i < n; i++) {
            int from = device[order[r * n + i]], to = device[order[r * n + (i + 1) % n]], link;
            assert_false(seen[from]);
            seen[from] = true;
            assert_int_equal(hypar_machine_route(machine, from, to, &link, 1), 1);
            assert_false(used[link / 2]);
            used[link / 2] = true;
        }
    }
    hypar_machine_free(machine);
    hp_arena_free(&arena);
}

static void tori_have_disjoint_rings(void **state)
{
    (void)state;
    for (int a = 3; a <= 16; a++)
        for (int b = 3; b <= 16; b++)
            torus_has_disjoint_rings((int[]){ a, b }, 2);
    for (int a = 3; a <= 6; a++)
        for (int b = 3; b <= 6; b++)
            for (int c = 3; c <= 6; c++)
                torus_has_disjoint_rings((int[]){ a, b, c }, 3);
    torus_has_disjoint_rings((int[]){ 3, 4, 3, 4 }, 4);
    torus_has_disjoint_rings((int[]){ 64, 64 }, 2);
    torus_has_disjoint_rings((int[]){ 16, 16, 16 }, 3);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(routes_have_their_closed_form_lengths),
        cmocka_unit_test(every_topology_has_a_case),
        cmocka_unit_test(big_machines_cost_nothing),
        cmocka_unit_test(opposite_devices_use_both_directions),
        cmocka_unit_test(figures_reach_the_links),
        cmocka_unit_test(leaves_are_oversubscribed),
        cmocka_unit_test(levels_are_as_documented),
        cmocka_unit_test(tori_have_disjoint_rings),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
