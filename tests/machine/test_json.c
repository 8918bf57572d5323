/* Machines in JSON: routes over explicit links, figures and classes of links, writing back, bad
 * files. */
#include "tests/machine/check.h"

#include <math.h>

#include "machine/network.h"

#define HEAD "{\"format\":\"hypar-machine/1\","

/* Four devices on two switches, a slow and a fast way between the switches, a shortcut 0-3. */
static const char two_switches[] =
    HEAD "\"devices\":[{\"name\":\"a100\",\"count\":3},\"k80\"],\"switches\":2,\"links\":["
         "{\"from\":0,\"to\":4,\"bytes_per_s\":100},{\"from\":1,\"to\":4,\"bytes_per_s\":100},"
         "{\"from\":5,\"to\":2,\"bytes_per_s\":100},{\"from\":3,\"to\":5,\"bytes_per_s\":100},"
         "{\"from\":4,\"to\":5,\"bytes_per_s\":10},{\"from\":5,\"to\":4,\"bytes_per_s\":50},"
         "{\"from\":0,\"to\":3,\"bytes_per_s\":1,\"latency_s\":0,\"energy_j_per_bit\":0}]}";

static struct hypar_machine *machine_of_json(const char *text)
{
    struct hypar_machine *machine;
    struct hypar_error err;
    if (read_json(&machine, text, &err) != HYPAR_OK)
        fail_msg("%s", err.text);
    return machine;
}

static void explicit_routes_are_short_then_wide(void **state)
{
    (void)state;
    struct hypar_machine *machine = machine_of_json(two_switches);
    int links[4];
    assert_int_equal(hypar_machine_device_count(machine), 4);
    assert_int_equal(hypar_machine_switch_count(machine), 2);
    assert_int_equal(hypar_machine_longest_route(machine), 3);
    assert_string_equal(hypar_machine_topology(machine), "explicit");
    assert_string_equal(hypar_machine_device(machine, 2)->name, "a100");
    assert_string_equal(hypar_machine_device(machine, 3)->name, "k80");
    assert_null(hypar_machine_word(machine));

    assert_int_equal(hypar_machine_route(machine, 0, 3, links, 4), 1); /* shorter, if slower */
    assert_int_equal(links[0], 2 * 6);
    assert_int_equal(hypar_machine_route(machine, 1, 2, links, 4), 3);
    assert_int_equal(links[0], 2 * 1);
    assert_int_equal(links[1], 2 * 5 + 1); /* the wider of two, against its direction */
    assert_int_equal(links[2], 2 * 2);
    for (int a = 0; a < 4; a++)
        for (int b = 0; b < 4; b++)
            assert_int_equal(check_route(machine, a, b), check_route(machine, b, a));
    check_links(machine);
    check_levels(machine);
    hypar_machine_free(machine);
}

/* 16 devices below 4 leaves below 4 spines: every link between switches carries equally many
 * routes, so nothing is lost to a single switch above all devices. */
static void equal_routes_are_spread(void **state)
{
    (void)state;
    enum { DEVICES = 16, LEAF = 16, SPINE = 20, LINKS = 32, MAX_TEXT = 1 << 12 };
    char text[MAX_TEXT];
    int at = snprintf(text, MAX_TEXT,
                      HEAD "\"devices\":[{\"name\":\"v100\",\"count\":%d}],"
                           "\"switches\":8,\"links\":[",
                      DEVICES);
    for (int l = 0; l < LINKS; l++) {
        int up = l - DEVICES;
        at += snprintf(text + at, (size_t)(MAX_TEXT - at),
                       "%s{\"from\":%d,\"to\":%d,\"bytes_per_s\":50e9}", l ? "," : "",
                       l < DEVICES ? l : LEAF + up / 4,
                       l < DEVICES ? LEAF + l / 4 : SPINE + up % 4);
    }
    snprintf(text + at, (size_t)(MAX_TEXT - at), "]}");
    struct hypar_machine *machine = machine_of_json(text);
    int load[2 * LINKS] = { 0 }, links[4];
    for (int a = 0; a < DEVICES; a++)
        for (int b = 0; b < DEVICES; b++) {
            int n = hypar_machine_route(machine, a, b, links, 4);
            assert_int_equal(check_route(machine, a, b), n);
            for (int i = 0; i < n; i++)
                load[links[i]]++;
        }
    for (int l = 0; l < 2 * LINKS; l++)
        assert_int_equal(load[l], l < 2 * DEVICES ? 15 : 12);
    struct hypar_level levels[HYPAR_MAX_LEVELS];
    hypar_machine_levels(machine, levels);
    assert_true(levels[0].bytes_per_s == 8 * 50e9); /* as if there were one switch */
    hypar_machine_free(machine);
}

/* Of two devices, with the ends in any order: what planners' levels count is what routes carry.
 * Links of another latency, and those of switches, stay. */
static void parallel_links_of_devices_are_one(void **state)
{
    (void)state;
    struct hypar_machine *machine = machine_of_json(
        HEAD
        "\"devices\":[{\"name\":\"v100\",\"count\":2}],\"switches\":1,\"links\":["
        "{\"from\":0,\"to\":1,\"bytes_per_s\":30,\"latency_s\":1,\"energy_j_per_bit\":0},"
        "{\"from\":0,\"to\":2,\"bytes_per_s\":1},{\"from\":0,\"to\":2,\"bytes_per_s\":1},"
        "{\"from\":1,\"to\":0,\"bytes_per_s\":10,\"latency_s\":1,\"energy_j_per_bit\":4e-12},"
        "{\"from\":0,\"to\":1,\"bytes_per_s\":5,\"latency_s\":2}]}");
    int links[2];
    assert_int_equal(hypar_machine_link_count(machine), 4);
    assert_int_equal(hypar_machine_route(machine, 1, 0, links, 2), 1);
    struct hypar_link link = hypar_machine_link(machine, links[0] / 2);
    assert_true(link.bytes_per_s == 40 && link.latency_s == 1);
    assert_true(fabs(link.energy_j_per_bit - 1e-12) < 1e-24);
    struct hypar_level levels[HYPAR_MAX_LEVELS];
    hypar_machine_levels(machine, levels);
    assert_true(levels[0].bytes_per_s == 40);
    check_links(machine);
    hypar_machine_free(machine);
}

static void explicit_machines_are_written_back(void **state)
{
    (void)state;
    struct hypar_machine *machine = machine_of_json(two_switches);
    char *text = json_of(machine);
    struct hypar_machine *again = machine_of_json(text);
    char *text_again = json_of(again);
    assert_string_equal(text_again, text);
    test_free(text);
    test_free(text_again);
    hypar_machine_free(machine);
    hypar_machine_free(again);
}

/* A structured machine listed link by link has routes of the same length and the same levels.
 */
static void explicit_agrees_with_structured(void **state)
{
    (void)state;
    static const char *const words[] = { "htree:8",  "torus:4x4",
                                         "mesh:3x4", "ring:7",
                                         "full:6",   "cluster:4x4,nics=2,inter=10GB/s" };
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
        print_message("%s\n", words[i]);
        struct hypar_machine *machine = machine_of(words[i]);
        int n = hypar_machine_device_count(machine);
        FILE *file = tmpfile();
        assert_non_null(file);
        fprintf(file,
                HEAD
                "\"devices\":[{\"name\":\"v100\",\"count\":%d}],\"switches\":%d,\"links\":[",
                n, hypar_machine_switch_count(machine));
        for (int l = 0; l < hypar_machine_link_count(machine); l++) {
            struct hypar_link link = hypar_machine_link(machine, l);
            fprintf(file, "%s{\"from\":%d,\"to\":%d,\"bytes_per_s\":%.17g}", l ? "," : "",
                    link.from, link.to, link.bytes_per_s);
        }
        fputs("]}", file);
        long size = ftell(file);
        char *text = test_calloc((size_t)size + 1, 1);
        rewind(file);
        assert_int_equal(fread(text, 1, (size_t)size, file), size);
        fclose(file);

        struct hypar_machine *listed = machine_of_json(text);
        for (int a = 0; a < n; a++)
            for (int b = 0; b < n; b++)
                assert_int_equal(check_route(listed, a, b), check_route(machine, a, b));
        assert_int_equal(hypar_machine_longest_route(listed),
                         hypar_machine_longest_route(machine));
        check_levels(listed);
        test_free(text);
        hypar_machine_free(listed);
        hypar_machine_free(machine);
    }
}

/* Links that are listed with their bandwidth alone have every other figure of the word's, those
 * between switches that of a cluster's between its nodes. */
static void listed_links_have_figures_of_words(void **state)
{
    (void)state;
    enum { MAX_TEXT = 1 << 13 };
    static const struct {
        const char *device, *word;
    } cases[] = {
        { "a100", "ring:16,bandwidth=100GB/s" },
        { "h200", "mesh:3x4,bandwidth=100GB/s" },
        { "k80", "full:6,bandwidth=100GB/s" },
        { "a100", "cluster:4x4,nics=2,bandwidth=100GB/s" },
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char word[128], text[MAX_TEXT];
        snprintf(word, sizeof word, "%s,device=%s", cases[i].word, cases[i].device);
        print_message("%s\n", word);
        struct hypar_machine *machine = machine_of(word);
        int n = hypar_machine_link_count(machine);
        int at = snprintf(text, MAX_TEXT,
                          HEAD "\"devices\":[{\"name\":\"%s\",\"count\":%d}],"
                               "\"switches\":%d,\"bytes_per_s\":100e9,\"links\":[",
                          cases[i].device, hypar_machine_device_count(machine),
                          hypar_machine_switch_count(machine));
        for (int l = 0; l < n; l++) {
            struct hypar_link link = hypar_machine_link(machine, l);
            at += snprintf(text + at, (size_t)(MAX_TEXT - at), "%s{\"from\":%d,\"to\":%d}",
                           l ? "," : "", link.from, link.to);
        }
        snprintf(text + at, (size_t)(MAX_TEXT - at), "]}");
        struct hypar_machine *listed = machine_of_json(text);
        assert_int_equal(hypar_machine_link_count(listed), n);
        for (int l = 0; l < n; l++) {
            struct hypar_link a = hypar_machine_link(machine, l),
                              b = hypar_machine_link(listed, l);
            assert_true(a.bytes_per_s == b.bytes_per_s && a.latency_s == b.latency_s &&
                        a.energy_j_per_bit == b.energy_j_per_bit);
        }
        hypar_machine_free(listed);
        hypar_machine_free(machine);
    }
}

/* What a link says goes before what is said of all, and that before the device's. */
static void figures_of_all_links_and_of_one(void **state)
{
    (void)state;
    struct hypar_machine *machine = machine_of_json(
        HEAD "\"devices\":[{\"name\":\"a100\",\"count\":3}],\"bytes_per_s\":1e9,"
             "\"link_efficiency\":0.5,\"latency_s\":3e-6,\"links\":[{\"from\":0,\"to\":1},"
             "{\"from\":1,\"to\":2,\"bytes_per_s\":4e9,\"link_efficiency\":1},"
             "{\"from\":2,\"to\":1,\"bytes_per_s\":4e9,\"latency_s\":3e-6}]}");
    struct hypar_link first = hypar_machine_link(machine, 0),
                      second = hypar_machine_link(machine, 1);
    assert_true(first.bytes_per_s == 0.5e9 && first.latency_s == 3e-6);
    assert_true(second.bytes_per_s == 6e9); /* 4 and 2 together */
    char *text = json_of(machine);
    struct hypar_machine *again = machine_of_json(text);
    assert_true(hypar_machine_link(again, 1).bytes_per_s == 6e9);
    assert_null(strstr(text, "\"bytes_per_s\": 8000000000"));
    assert_non_null(strstr(text, "\"bytes_per_s\": 4000000000, \"link_efficiency\": 1,"));
    assert_non_null(strstr(text, "\"bytes_per_s\": 4000000000, \"link_efficiency\": 0.5,"));
    test_free(text);
    hypar_machine_free(again);
    hypar_machine_free(machine);
}

/* Two parallel links of two classes, which are one link of the machine, and one of none. */
static const char classes[] =
    HEAD "\"devices\":[{\"name\":\"v100\",\"count\":3}],\"latency_s\":1e-6,\"links\":["
         "{\"from\":0,\"to\":1,\"bytes_per_s\":25e9,\"class\":\"nvlink\"},"
         "{\"from\":1,\"to\":0,\"bytes_per_s\":10e9,\"class\":\"pcie-4.0\"},"
         "{\"from\":1,\"to\":2,\"bytes_per_s\":50e9,\"class\":\"nvlink\"},"
         "{\"from\":0,\"to\":2,\"bytes_per_s\":1e9}]}";

static void check_classes(const struct hypar_machine *machine)
{
    static const int class[] = { 0, 1, 0, -1 };
    const struct network *network = machine->network;
    assert_int_equal(network->n_classes, 2);
    assert_string_equal(network->class[0], "nvlink");
    assert_string_equal(network->class[1], "pcie-4.0");
    assert_int_equal(network->n_listed, 4);
    for (int l = 0; l < 4; l++)
        assert_int_equal(network->listed[l].class, class[l]);
    assert_int_equal(machine->n_links, 3);
}

static void classes_of_links_are_written_back(void **state)
{
    (void)state;
    struct hypar_machine *machine = machine_of_json(classes);
    check_classes(machine);
    char *text = json_of(machine);
    struct hypar_machine *again = machine_of_json(text);
    char *text_again = json_of(again);
    check_classes(again);
    assert_string_equal(text_again, text);
    test_free(text);
    test_free(text_again);
    hypar_machine_free(machine);
    hypar_machine_free(again);
}

/* Figures of all, then of a class, then all bandwidths; classes stay. */
static void figures_of_a_class(void **state)
{
    (void)state;
    static const struct class_figure figure[] = {
        { "nvlink", OPTION_BANDWIDTH, true, 2 },
        { "pcie-4.0", OPTION_BANDWIDTH, false, 20e9 },
        { "nvlink", OPTION_LATENCY, true, 3 },
    };
    struct network_changes changes = { .class = figure, .n_classes = 2, .links = 0.5 };
    struct hypar_machine *machine = machine_of_json(classes), *other;
    struct hypar_error err;
    for (int o = 0; o < OPTION_COUNT; o++)
        changes.value[o] = o == OPTION_LATENCY ? 2e-6 : NAN;
    assert_int_equal(hp_network_with(&other, machine, &changes, &err), HYPAR_OK);
    check_classes(other);
    assert_true(hypar_machine_link(other, 0).bytes_per_s == (50e9 + 20e9) / 2);
    assert_true(hypar_machine_link(other, 1).bytes_per_s == 100e9 / 2);
    assert_true(hypar_machine_link(other, 2).bytes_per_s == 1e9 / 2);
    assert_true(hypar_machine_link(other, 1).latency_s == 2e-6);
    hypar_machine_free(other);

    changes.n_classes = 3; /* another latency: the parallel links are two */
    assert_int_equal(hp_network_with(&other, machine, &changes, &err), HYPAR_OK);
    assert_int_equal(other->n_links, 4);
    assert_true(hypar_machine_link(other, 0).latency_s == 3 * 2e-6);
    assert_true(hypar_machine_link(other, 1).latency_s == 2e-6);
    hypar_machine_free(other);
    hypar_machine_free(machine);
}

static void classes_are_not_too_many(void **state)
{
    (void)state;
    for (int n = NETWORK_MAX_CLASSES; n <= NETWORK_MAX_CLASSES + 1; n++) {
        char text[8192];
        size_t used = (size_t)snprintf(text, sizeof text,
                                       HEAD "\"devices\":[\"v100\",\"v100\"],"
                                            "\"bytes_per_s\":1e9,\"links\":[");
        for (int l = 0; l < n; l++)
            used +=
                (size_t)snprintf(text + used, sizeof text - used,
                                 "%s{\"from\":0,\"to\":1,\"class\":\"c%d\"}", l ? "," : "", l);
        snprintf(text + used, sizeof text - used, "]}");
        struct hypar_machine *machine;
        struct hypar_error err = { 0 };
        bool fits = n <= NETWORK_MAX_CLASSES;
        assert_int_equal(read_json(&machine, text, &err), fits ? HYPAR_OK : HYPAR_INVALID);
        assert_string_equal(err.text,
                            fits ? "" : "m.json: links[64].class: more than 64 classes");
        hypar_machine_free(machine);
    }
}

/* Too many nodes for the table of next links: routes are searched for one by one. */
static void large_explicit_machines_work_without_a_table(void **state)
{
    (void)state;
    enum { N = 12000, MAX_TEXT = N * 60 };
    char *text = test_calloc(MAX_TEXT, 1);
    int at = snprintf(text, MAX_TEXT,
                      HEAD "\"devices\":[{\"name\":\"v100\",\"count\":%d}],\"links\":[", N);
    for (int i = 0; i < N; i++)
        at += snprintf(text + at, (size_t)(MAX_TEXT - at),
                       "%s{\"from\":%d,\"to\":%d,\"bytes_per_s\":1e9}", i ? "," : "", i,
                       (i + 1) % N);
    snprintf(text + at, (size_t)(MAX_TEXT - at), "]}");
    struct hypar_machine *machine = machine_of_json(text);
    assert_int_equal(check_route(machine, 10, 5000), 4990);
    assert_int_equal(check_route(machine, 10, 11000), 1010);
    assert_int_equal(check_route(machine, 7, 7), 0);
    check_levels(machine);
    hypar_machine_free(machine);
    test_free(text);
}

static void own_devices_need_their_figures_once(void **state)
{
    (void)state;
    struct hypar_machine *machine = machine_of_json(
        HEAD
        "\"topology\":\"ring\",\"shape\":[4],\"bytes_per_s\":5e9,\"device\":{\"name\":\"npu\","
        "\"fp32_op_per_s\":1e12,\"memory_bytes\":1000,\"memory_bytes_per_s\":1e9}}");
    const struct hypar_device *device = hypar_machine_device(machine, 0);
    assert_string_equal(device->name, "npu");
    assert_true(device->fp64_op_per_s == 5e11 && device->bf16_op_per_s == 1e12);
    assert_true(device->fp16_op_per_s == 1e12 && device->tf32_op_per_s == 1e12);
    assert_true(device->memory_bytes == 1000 && device->efficiency > 0);
    assert_null(hypar_machine_word(machine));
    char *text = json_of(machine);
    struct hypar_machine *again = machine_of_json(text);
    assert_string_equal(hypar_machine_device(again, 3)->name, "npu");
    test_free(text);
    hypar_machine_free(again);
    hypar_machine_free(machine);
}

/* What follows from a tiny peak is still a peak that can be read. */
static void the_slowest_device_is_read_back(void **state)
{
    (void)state;
    struct hypar_machine *machine = machine_of_json(
        HEAD "\"topology\":\"ring\",\"shape\":[4],\"bytes_per_s\":5e9,\"device\":{\"name\":"
             "\"abacus\","
             "\"fp32_op_per_s\":1,\"memory_bytes\":1000,\"memory_bytes_per_s\":1e9}}");
    assert_true(hypar_machine_device(machine, 0)->fp64_op_per_s == 1);
    char *text = json_of(machine);
    hypar_machine_free(machine_of_json(text));
    test_free(text);
    hypar_machine_free(machine);
}

static void short_forms_are_read_like_words(void **state)
{
    (void)state;
    static const struct {
        const char *text, *word;
    } rows[] = {
        { "\"torus:4x4,latency=3us\"", "torus:4x4,latency=3us" },
        { HEAD "\"topology\":\"cluster\",\"shape\":[2,8],\"device\":\"h100\",\"nics\":8}",
          "cluster:2x8,device=h100" },
        { HEAD "\"topology\":\"htree\",\"shape\":[16]}", "htree:16" },
        { HEAD "\"topology\":\"ring\",\"shape\":[4],\"device\":{\"name\":\"v100\","
               "\"memory_bytes\":32000000000}}",
          "ring:4,memory=32GB" },
        { HEAD "\"parts\":[{\"topology\":\"cluster\",\"shape\":[1,2]}]}", "cluster:1x2" },
        { HEAD
          "\"parts\":[{\"topology\":\"cluster\",\"shape\":[1,2]},{\"topology\":\"cluster\","
          "\"shape\":[1,2],\"device\":\"a100\"}]}",
          "cluster:1x2+cluster:1x2,device=a100" },
        { HEAD "\"topology\":\"local\",\"shape\":[2],\"device\":\"local\"}", "local:2" },
        { HEAD "\"topology\":\"cluster\",\"shape\":[4,2],\"nodes\":[{\"node\":1,\"count\":2,"
               "\"memory_bytes\":8e9},{\"node\":3,\"times\":{\"peak\":0.5,"
               "\"inter_bytes_per_s\":0.25}}]}",
          "cluster:4x2,node1-2.memory=8GB,node3.peak=0.5x,node3.inter=0.25x" },
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct hypar_machine *machine = machine_of_json(rows[i].text);
        assert_string_equal(hypar_machine_word(machine), rows[i].word);
        hypar_machine_free(machine);
    }
}

#define CLUSTER HEAD "\"topology\":\"cluster\",\"shape\":[4,2],\"nodes\":"

static void bad_json_says_where(void **state)
{
    (void)state;
    static const struct {
        const char *text, *message; /* a beginning */
    } rows[] = {
        { "[]", "m.json: expected an object, not an array" },
        { "3", "m.json: expected an object, not 3" },
        { "\"ring:0\"", "m.json: size 0, expected 1..1048576" },
        { "{}", "m.json: format: missing, expected a string" },
        { "{\"format\":\"hypar-plan/1\"}",
          "m.json: format: expected \"hypar-machine/1\", not \"hypar-plan/1\"" },
        { HEAD "\"shape\":[4]}", "m.json: topology: missing, expected a string" },
        { HEAD "\"topology\":\"tours\",\"shape\":[4]}",
          "m.json: topology: unknown topology 'tours'" },
        { HEAD "\"topology\":\"ring\"}", "m.json: shape: missing, expected an array" },
        { HEAD "\"topology\":\"ring\",\"shape\":[0]}",
          "m.json: shape[0]: expected an integer in 1.." },
        { HEAD "\"topology\":\"ring\",\"shape\":[]}", "m.json: shape: ring has 0 sizes" },
        { HEAD "\"topology\":\"torus\",\"shape\":[1048576,1048576]}",
          "m.json: shape: more than 1048576 devices" },
        { HEAD "\"topology\":\"ring\",\"shape\":[1,1,1,1,1,1,1]}",
          "m.json: shape: has 7 elements, expected at most 6" },
        { HEAD "\"topology\":\"ring\",\"shape\":[4],\"nodes\":[]}",
          "m.json: unknown member 'nodes'" },
        { CLUSTER "[{\"node\":4}]}", "m.json: nodes[0].node: expected an integer in 0..3" },
        { CLUSTER "[{\"node\":3,\"count\":2}]}", "m.json: nodes[0].count: expected 1, not 2" },
        { CLUSTER "[{\"count\":2}]}", "m.json: nodes[0].node: missing" },
        { CLUSTER "[{\"node\":1,\"speed\":2}]}", "m.json: nodes[0]: unknown member 'speed'" },
        { CLUSTER "[{\"node\":1,\"times\":{\"peak\":0}}]}",
          "m.json: nodes[0].times.peak: expected a number in" },
        { CLUSTER "[{\"node\":1,\"times\":{\"peak\":0.5,\"fp32_op_per_s\":1}}]}",
          "m.json: nodes[0].times.fp32_op_per_s: fp32 is given twice" },
        { CLUSTER "[{\"node\":1,\"memory_bytes\":8e9},{\"node\":0,\"count\":2,"
                  "\"memory_bytes\":9e9}]}",
          "m.json: node 1: memory is given twice" },
        { HEAD "\"topology\":\"ring\",\"shape\":[4],\"nics\":2}",
          "m.json: unknown member 'nics'" },
        { HEAD "\"topology\":\"ring\",\"shape\":[4],\"latency_s\":-1}",
          "m.json: latency_s: expected a number in 0..1e+06, not -1" },
        { HEAD "\"topology\":\"cluster\",\"shape\":[2,4],\"nics\":5}",
          "m.json: nics: nics is 5, expected a whole number in 1..4" },
        { HEAD "\"topology\":\"ring\",\"shape\":[4],\"device\":\"h10\"}",
          "m.json: device: unknown device 'h10', did you mean h100, h100-pcie, h100-nvl?" },
        { HEAD "\"topology\":\"ring\",\"shape\":[4],\"device\":7}",
          "m.json: device: expected an object, not 7" },
        { HEAD "\"topology\":\"ring\",\"shape\":[4],\"device\":{}}",
          "m.json: device.name: missing, expected a string" },
        { HEAD "\"topology\":\"ring\",\"shape\":[4],\"device\":{\"name\":\"npu\"}}",
          "m.json: fp32_op_per_s (peak of 32-bit arithmetic) is missing: device 'npu'" },
        { HEAD "\"topology\":\"ring\",\"shape\":[4],\"device\":{\"name\":\"v100\",\"x\":1}}",
          "m.json: device: unknown member 'x'" },
        { HEAD "\"topology\":\"local\",\"shape\":[4],\"device\":\"v100\"}",
          "m.json: device: device 'v100', expected 'local'" },
        { HEAD "\"parts\":[]}", "m.json: parts: is empty" },
        { HEAD "\"parts\":[{\"topology\":\"ring\",\"shape\":[4]},{\"topology\":\"ring\","
               "\"shape\":[4]}]}",
          "m.json: parts: ring cannot be joined" },
        { HEAD "\"parts\":[3]}", "m.json: parts[0]: expected an object, not 3" },
        { HEAD "\"devices\":[],\"links\":[]}", "m.json: devices: is empty" },
        { HEAD "\"devices\":[{\"name\":\"v100\",\"count\":65537}],\"links\":[]}",
          "m.json: devices[0].count: expected an integer in 1..65536, not 65537" },
        { HEAD "\"devices\":[{\"name\":\"v100\",\"count\":65536},\"v100\"],\"links\":[]}",
          "m.json: devices: more than 65536 devices" },
        { HEAD "\"devices\":[\"v100\",\"v100\"]}",
          "m.json: links: missing, expected an array" },
        { HEAD "\"devices\":[\"v100\",\"v100\"],\"links\":[]}",
          "m.json: links: no links lead from device 0 to device 1" },
        { HEAD "\"devices\":[\"v100\"],\"switches\":65536,\"links\":[]}",
          "m.json: switches: expected an integer in 0..65535" },
        { HEAD "\"devices\":[\"v100\"],\"links\":[{\"from\":0,\"to\":1}]}",
          "m.json: links[0].to: expected 0, not 1" },
        { HEAD "\"devices\":[\"v100\"],\"links\":[{\"from\":0,\"to\":0}]}",
          "m.json: links[0]: joins node 0 to itself" },
        { HEAD "\"devices\":[\"v100\",\"v100\"],\"links\":[{\"from\":0,\"to\":1}]}",
          "m.json: links[0].bytes_per_s: missing, expected a number in 1..1e+18" },
        { HEAD "\"devices\":[\"v100\",\"v100\"],\"links\":[{\"from\":0,\"to\":1,"
               "\"bytes_per_s\":1,\"class\":7}]}",
          "m.json: links[0].class: expected a string, not 7" },
        { HEAD "\"devices\":[\"v100\",\"v100\"],\"links\":[{\"from\":0,\"to\":1,"
               "\"bytes_per_s\":1,\"class\":\"a=b\"}]}",
          "m.json: links[0].class: expected at most 100 letters, digits, '.', '_' and '-'" },
        { HEAD "\"devices\":[{\"name\":\"npu\"}],\"links\":[]}",
          "m.json: devices[0]: fp32_op_per_s" },
        { HEAD "\"devices\":[\"v100\"],\"links\":[],\"x\":1}", "m.json: unknown member 'x'" },
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct hypar_machine *machine;
        struct hypar_error err = { 0 };
        enum hypar_status status = read_json(&machine, rows[i].text, &err);
        assert_null(machine);
        assert_int_equal(hypar_status_exit_code(status), 3);
        if (strncmp(err.text, rows[i].message, strlen(rows[i].message)) != 0)
            fail_msg("'%s', want '%s'", err.text, rows[i].message);
        assert_int_equal(read_json(&machine, rows[i].text, NULL), status);
    }
}

static void the_examples_can_be_read(void **state)
{
    (void)state;
    static const char *const paths[] = {
        "examples/machines/dgx1-v100.json", "examples/machines/dragonfly.json",
        "examples/machines/fat-tree.json",  "examples/machines/hypar-array.json",
        "examples/machines/mixed.json",     "examples/machines/own-device.json",
    };
    for (size_t i = 0; i < sizeof paths / sizeof paths[0]; i++) {
        struct hypar_machine *machine = machine_of(paths[i]);
        int n = hypar_machine_device_count(machine);
        for (int a = 0; a < n; a++)
            for (int b = 0; b < n; b++)
                check_route(machine, a, b);
        check_links(machine);
        check_levels(machine);
        hypar_machine_free(machine);
    }
    struct hypar_machine *machine;
    struct hypar_error err;
    assert_int_equal(hypar_machine_read(&machine, "examples/machines/none.json", &err),
                     HYPAR_UNREADABLE);
    assert_null(machine);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(explicit_routes_are_short_then_wide),
        cmocka_unit_test(equal_routes_are_spread),
        cmocka_unit_test(parallel_links_of_devices_are_one),
        cmocka_unit_test(explicit_machines_are_written_back),
        cmocka_unit_test(explicit_agrees_with_structured),
        cmocka_unit_test(listed_links_have_figures_of_words),
        cmocka_unit_test(figures_of_all_links_and_of_one),
        cmocka_unit_test(classes_of_links_are_written_back),
        cmocka_unit_test(figures_of_a_class),
        cmocka_unit_test(classes_are_not_too_many),
        cmocka_unit_test(large_explicit_machines_work_without_a_table),
        cmocka_unit_test(own_devices_need_their_figures_once),
        cmocka_unit_test(the_slowest_device_is_read_back),
        cmocka_unit_test(short_forms_are_read_like_words),
        cmocka_unit_test(bad_json_says_where),
        cmocka_unit_test(the_examples_can_be_read),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
