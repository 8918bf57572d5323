/* Exploration: the enumerated choices, their ranks, the machines made from a word, and one
 * clear line for every bad list. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <hypar/report.h>

#include "search/explore/explore.h"
#include "tests/partition_oracle.h"

struct study {
    struct hypar_graph *graph;
    struct hypar_machine *machine;
    struct hypar_exploration *found;
};

static enum hypar_status try_explore(struct study *s, const char *model, const char *machine,
                                     const struct hypar_explore_options *options,
                                     struct hypar_error *err)
{
    *s = (struct study){ 0 };
    if (hypar_import(&s->graph, model, NULL, err) ||
        hypar_machine_read(&s->machine, machine, err))
        fail_msg("%s", err->text);
    return hypar_explore(&s->found, s->graph, s->machine, options, err);
}

static struct study explore(const char *model, const char *machine,
                            const struct hypar_explore_options *options)
{
    struct study s;
    struct hypar_error err;
    if (try_explore(&s, model, machine, options, &err))
        fail_msg("%s", err.text);
    return s;
}

static void release(struct study *s)
{
    hypar_exploration_free(s->found);
    hypar_machine_free(s->machine);
    hypar_graph_free(s->graph);
}

/* Every point's bytes against the papers' model written a second time, and the best and the
 * joint choice against the least of all: also with joins, which follow as is best. */
static void points(void **state)
{
    (void)state;
    static const struct {
        const char *model, *machine;
        struct hypar_explore_options options;
        int64_t n_points;
    } cases[] = {
        { "lenet-c", "htree:4", { .levels = "H1,H2", .joint = true }, 256 },
        { "lenet-c", "htree:4", { .layers = "conv1,conv2,fc1,fc2", .joint = true }, 256 },
        { "mlp:64-32-10",
          "full:6",
          { .levels = "H2,H1", .planners = "accpar", .joint = true },
          81 },
        { "rnnlm:steps=2,layers=1", "htree:8", { .levels = "H1,H2,H3", .joint = true }, 64 },
        { "gpt:layers=1", "full:2", { .levels = "H1", .joint = true }, 64 },
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct study s = explore(cases[i].model, cases[i].machine, &cases[i].options);
        const struct site *site = &s.found->site[0];
        struct hypar_explore_options options = cases[i].options;
        enum layer_type types[256];
        assert_int_equal(site->text.n_points, cases[i].n_points);
        for (int64_t k = 0; k < site->text.n_points; k++) {
            struct hypar_explored again;
            hp_explore_types(s.found, site, k, types);
            assert_int_equal(hp_explore_evaluate(s.found, site, types, &again, NULL), HYPAR_OK);
            double bytes = 8 * oracle_cost(&site->plain, types, NULL);
            assert_true(again.comm_bytes == site->point[k].comm_bytes);
            assert_true(bytes <= again.comm_bytes * (1 + 1e-9));
            assert_true(bytes >= again.comm_bytes * (1 - 1e-9));
        }
        options.objective = HYPAR_COMM;
        struct study comm = explore(cases[i].model, cases[i].machine, &options);
        const struct hypar_explore_choice *best = hypar_exploration_choice(comm.found, 0, 0),
                                          *joint = hypar_exploration_choice(comm.found, 0, 2);
        assert_string_equal(best->name, "best");
        assert_non_null(strstr(joint->name, " joint"));
        assert_int_equal(joint->better, 0);
        assert_true(joint->cost.comm_bytes <= best->cost.comm_bytes * (1 + 1e-12));
        release(&comm);
        release(&s);
    }
}

/* How many are strictly better is counted, and nothing else. */
static void ranks(void **state)
{
    (void)state;
    struct study s = explore("cifar-c", "htree:16",
                             &(struct hypar_explore_options){ .layers = "conv1,fc1",
                                                              .planners = "hypar,dp,mp,owt" });
    struct hypar_explore_site site = hypar_exploration_site(s.found, 0);
    assert_int_equal(site.n_choices, 5);
    for (int c = 0; c < site.n_choices; c++) {
        const struct hypar_explore_choice *choice = hypar_exploration_choice(s.found, 0, c);
        int better = 0, clearly = 0;
        for (int64_t i = 0; i < site.n_points; i++) {
            double step_s = hypar_exploration_point(s.found, 0, i)->step_s;
            better += step_s < choice->cost.step_s * (1 - 1e-12);
            clearly += step_s < choice->cost.step_s * (1 - 1e-6);
        }
        assert_int_equal(choice->better, better);
        assert_true(clearly <= better);
    }
    release(&s);
}

/* The machines that one word becomes. */
static void machines(void **state)
{
    (void)state;
    static const struct {
        const char *machine, *devices, *topologies, *bandwidths;
        const char *words; /* with spaces between */
    } cases[] = {
        { "htree:16", "1..8", NULL, NULL, "htree:1 htree:2 htree:4 htree:8" },
        { "htree:16", "3..20,5", NULL, NULL, "htree:3 htree:6 htree:12 htree:5" },
        { "htree:16", NULL, "htree,torus,full", NULL,
          "htree:16 torus:4x4,device=eyeriss-hmc full:16,device=eyeriss-hmc" },
        { "torus:8x2", "16,32", NULL, NULL, "torus:8x2 torus:8x4" },
        { "torus:4x2x2", "8,12", NULL, NULL, "torus:2x2x2 torus:3x2x2" },
        { "ring:4", "8", "mesh", NULL, "mesh:4x2" },
        { "cluster:2x4,device=h100,nics=2", "4..16", NULL, NULL,
          "cluster:1x4,device=h100,nics=2 cluster:2x4,device=h100,nics=2 "
          "cluster:4x4,device=h100,nics=2" },
        { "cluster:2x8,intra=100GB/s", NULL, "full", NULL, "full:16" },
        { "full:4,device=a100", NULL, NULL, "1GB/s,8Gb/s,2GB/s",
          "full:4,device=a100,bandwidth=1GB/s full:4,device=a100,bandwidth=1GB/s "
          "full:4,device=a100,bandwidth=2GB/s" },
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct study s =
            explore("lenet5", cases[i].machine,
                    &(struct hypar_explore_options){ .devices = cases[i].devices,
                                                     .topologies = cases[i].topologies,
                                                     .bandwidths = cases[i].bandwidths });
        char words[1024] = "";
        for (int k = 0; k < hypar_exploration_info(s.found).n_sites; k++) {
            size_t n = strlen(words);
            snprintf(words + n, sizeof words - n, "%s%s", k ? " " : "",
                     hypar_exploration_site(s.found, k).word);
        }
        assert_string_equal(words, cases[i].words);
        release(&s);
    }
}

/* On a 4 x 4 torus partners are 2, 1, 2, 1 links apart; half the bandwidth is twice the time of
 * the exchange; one device has none. */
static void array_time(void **state)
{
    (void)state;
    struct study s = explore("vgg-a", "htree:16",
                             &(struct hypar_explore_options){ .topologies = "htree,torus",
                                                              .bandwidths = "0.1GB/s,0.2GB/s",
                                                              .devices = "1,16" });
    assert_int_equal(hypar_exploration_info(s.found).n_sites, 8);
    const double hops[] = { 2, 1, 2, 1 };
    const struct site *tree = &s.found->site[3], *torus = &s.found->site[7];
    for (int h = 0; h < 4; h++) {
        assert_true(tree->hops[h] == 1);
        assert_true(torus->hops[h] == hops[h]);
    }
    for (int i = 0; i < 8; i += 2) { /* alone */
        assert_true(s.found->site[i].choice[0].cost.comm_s == 0);
        assert_true(s.found->site[i].text.one_device_s == tree->text.one_device_s);
    }
    double slow = s.found->site[1].choice[0].cost.comm_s;
    double fast = s.found->site[3].choice[0].cost.comm_s;
    assert_true(slow > 1.999 * fast && slow < 2.001 * fast);
    assert_true(torus->choice[0].cost.comm_s > tree->choice[0].cost.comm_s);
    assert_true(torus->choice[0].cost.comm_bytes == tree->choice[0].cost.comm_bytes);
    release(&s);
}

static const struct {
    const char *model, *machine;
    struct hypar_explore_options options;
    enum hypar_status status;
    const char *text;
} bad[] = {
    { "lenet-c",
      "htree:16",
      { .levels = "H5" },
      HYPAR_INVALID,
      "levels: 'H5' is no level of htree:16, expected H1 to H4" },
    { "lenet-c",
      "htree:2",
      { .levels = "1" },
      HYPAR_INVALID,
      "levels: '1' is no level of htree:2, expected H1" },
    { "lenet-c",
      "htree:1",
      { .levels = "H1" },
      HYPAR_INVALID,
      "levels: 'H1': htree:1 is one device and has no levels" },
    { "lenet-c",
      "htree:4",
      { .levels = "H1,,H2" },
      HYPAR_USAGE,
      "levels: empty item, expected a list such as a,b,c" },
    { "lenet-c",
      "htree:4",
      { .levels = "H1,H1" },
      HYPAR_INVALID,
      "levels: nothing is left to choose at 'H1'" },
    { "lenet-c",
      "htree:4",
      { .layers = "fc9" },
      HYPAR_INVALID,
      "layers: 'fc9' is no operator of lenet-c, expected a weighted layer such as "
      "'conv1'" },
    { "lenet-c",
      "htree:4",
      { .layers = "pool1" },
      HYPAR_INVALID,
      "layers: 'pool1' is an operator without weights of lenet-c, expected a weighted "
      "layer "
      "such as 'conv1'" },
    { "lenet-c",
      "htree:4",
      { .levels = "H1", .fix = "H2" },
      HYPAR_USAGE,
      "fix: 'H2', expected a level and its digits such as H2=0010" },
    { "lenet-c",
      "htree:4",
      { .levels = "H1", .fix = "H2=001" },
      HYPAR_INVALID,
      "fix: '001' has 3 digits, expected 4: one for each weighted layer of lenet-c" },
    { "lenet-c",
      "htree:4",
      { .levels = "H1", .fix = "H2=0013" },
      HYPAR_INVALID,
      "fix: '3' for layer 'fc2', expected 0 (dp), 1 (mp), 2 (III)" },
    { "lenet-c",
      "htree:4",
      { .levels = "H1", .fix = "H1=0011" },
      HYPAR_INVALID,
      "levels: nothing is left to choose at 'H1'" },
    { "lenet-c",
      "htree:4",
      { .levels = "H1", .mark = "0011" },
      HYPAR_INVALID,
      "mark: 1 levels, expected 2 with '/' between them for htree:4" },
    { "lenet-c",
      "htree:4",
      { .levels = "H1", .mark = "0011/00x1" },
      HYPAR_INVALID,
      "mark: 'x' for layer 'fc1', expected 0 (dp), 1 (mp), 2 (III)" },
    { "lenet-c",
      "htree:4",
      { .devices = "0" },
      HYPAR_USAGE,
      "devices: '0' is not a whole number from 1 to 1048576" },
    { "lenet-c",
      "htree:4",
      { .devices = "8..2" },
      HYPAR_USAGE,
      "devices: 8..2 goes down, expected 2..8" },
    { "lenet-c",
      "htree:4",
      { .devices = "1..x" },
      HYPAR_USAGE,
      "devices: 'x' is not a whole number from 1 to 1048576" },
    { "lenet-c",
      "cluster:2x4",
      { .devices = "6" },
      HYPAR_INVALID,
      "devices: 6 do not fill nodes of 4" },
    { "lenet-c",
      "cluster:1x2,device=h100+cluster:1x2",
      { .devices = "6" },
      HYPAR_INVALID,
      "other sizes and topologies need a machine of one part, this one has 2; its bandwidths "
      "and other figures can be varied" },
    { "lenet-c",
      "examples/machines/dgx1-v100.json",
      { .bandwidths = "1GB/s" },
      HYPAR_INVALID,
      "sweep: bandwidth: links 0 and 2 differ in it, expected links that are alike, or "
      "links=0.5,2: all so many times as fast" },
    { "lenet-c",
      "tests/data/one-device.json",
      { .sweeps = (const char *const[]){ "nics=1,2" }, .n_sweeps = 1 },
      HYPAR_INVALID,
      "sweep: nics is no figure of links one by one, expected bandwidth, "
      "link-efficiency, latency or energy" },
    { "lenet-c",
      "tests/data/fast-link.json",
      { .sweeps = (const char *const[]){ "links=1,1000000" }, .n_sweeps = 1 },
      HYPAR_INVALID,
      "sweep: links: bandwidth is 2e+18, expected 1..1e+18" },
    { "lenet-c",
      "cluster:2x4,inter=2TB/s",
      { .sweeps = (const char *const[]){ "links=1,1000000" }, .n_sweeps = 1 },
      HYPAR_INVALID,
      "sweep: links: inter is 2e+18, expected 1..1e+18" },
    { "lenet-c",
      "examples/machines/dgx1-v100.json",
      { .devices = "4" },
      HYPAR_INVALID,
      "a machine of devices and links one by one has one size and topology, expected one such "
      "as torus:4x4, or figures (--sweep)" },
    { "lenet-c",
      "htree:4",
      { .topologies = "local" },
      HYPAR_INVALID,
      "topologies: local is this computer's own" },
    { "lenet-c",
      "htree:4",
      { .planners = "hypar,frob" },
      HYPAR_USAGE,
      "planners: 'frob' does not divide level by level, expected hypar, accpar, dp, mp or "
      "owt" },
    { "vgg-e",
      "htree:4",
      { .levels = "H1,H2" },
      HYPAR_UNSUPPORTED,
      "2.75e+11 choices on htree:4, expected at most 1048576: name fewer levels or "
      "layers" },
    { "lenet-c",
      "htree:16",
      { .levels = "H1,H2,H3,H4", .devices = "16..1024", .bandwidths = "1GB/s,2GB/s,3GB/s" },
      HYPAR_UNSUPPORTED,
      "1376256 choices on 21 machines, expected at most 1048576" },
};

/* Where time comes from by default: whatever is varied, by one rule. */
static void default_costs(void **state)
{
    (void)state;
    static const struct {
        const char *machine;
        struct hypar_explore_options options;
        enum hypar_explore_cost cost;
    } by[] = {
        { "full:2", { .devices = "2" }, HYPAR_COST_SIMULATED },
        { "full:2", { .bandwidths = "1GB/s" }, HYPAR_COST_SIMULATED },
        { "full:2", { .levels = "H1" }, HYPAR_COST_LEVELS },
        { "full:2", { .layers = "conv1" }, HYPAR_COST_LEVELS },
        { "full:2", { .devices = "2", .cost = HYPAR_COST_PAPER }, HYPAR_COST_LEVELS },
        { "full:2", { .devices = "2", .cost = HYPAR_COST_ARRAY }, HYPAR_COST_ARRAY },
        { "htree:2", { .devices = "2" }, HYPAR_COST_ARRAY },
        { "htree:2", { .levels = "H1" }, HYPAR_COST_ARRAY },
        { "htree:2", { .cost = HYPAR_COST_PAPER }, HYPAR_COST_ARRAY },
        { "htree:2", { .cost = HYPAR_COST_SIMULATED }, HYPAR_COST_SIMULATED },
    };
    for (size_t i = 0; i < sizeof by / sizeof by[0]; i++) {
        struct study s = explore("lenet-c", by[i].machine, &by[i].options);
        assert_int_equal(hypar_exploration_info(s.found).options->cost, by[i].cost);
        release(&s);
    }
}

/* A simulated speedup is over a step that is simulated: on one device there is none. */
static void one_device(void **state)
{
    (void)state;
    struct study s = explore(
        "lenet5", "full:2,device=h100",
        &(struct hypar_explore_options){ .cost = HYPAR_COST_SIMULATED, .devices = "1,2" });
    struct hypar_explore_site one = hypar_exploration_site(s.found, 0);
    assert_int_equal(hypar_exploration_info(s.found).n_sites, 2);
    assert_true(one.one_device_s == one.dp.step_s);
    assert_true(hypar_exploration_site(s.found, 1).one_device_s == one.one_device_s);
    release(&s);
}

static void bad_lists(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        struct study s;
        struct hypar_error err = { 0 };
        enum hypar_status status =
            try_explore(&s, bad[i].model, bad[i].machine, &bad[i].options, &err);
        assert_string_equal(err.text, bad[i].text);
        assert_int_equal(status, bad[i].status);
        assert_null(s.found);
        release(&s);
    }
}

static void bad_machines(void **state)
{
    (void)state;
    struct study s;
    struct hypar_error err;
    struct hypar_explore_options frob = { .topologies = "htree,frob" };
    assert_int_not_equal(try_explore(&s, "lenet5", "full:2", &frob, &err), HYPAR_OK);
    assert_non_null(strstr(err.text, "topologies: unknown topology 'frob'"));
    release(&s);
    struct hypar_explore_options many = { .devices = "1..1048576", .bandwidths = NULL };
    char list[1024] = "1GB/s";
    for (size_t n = strlen(list); n + 7 < sizeof list; n += 6)
        memcpy(list + n, ",2GB/s", 7);
    many.bandwidths = list;
    many.topologies = "ring";
    assert_int_equal(try_explore(&s, "lenet5", "ring:2", &many, &err), HYPAR_UNSUPPORTED);
    assert_string_equal(err.text, "more than 1024 machines to explore");
    release(&s);
}

/* Every picture is one closed element, names in it are escaped, and every point has a line. */
static void pictures(void **state)
{
    (void)state;
    static const struct {
        const char *machine;
        struct hypar_explore_options options;
        int lines;          /* of the CSV: a heading, choices with a name, points */
        const char *within; /* the picture */
    } cases[] = {
        { "htree:8", { .levels = "H1,H2" }, 1 + 3 + 256, "H1 0011, H2 0011: " },
        { "htree:8", { .levels = "H1,H2,H3" }, 1 + 3 + 4096, "choices that are better" },
        { "htree:8", { .levels = "H2" }, 1 + 3 + 16, "choices that are better" },
        { "htree:8", { .devices = "1..64" }, 1 + 14, "performance over one device" },
        { "htree:8", { .bandwidths = "1GB/s,2GB/s" }, 1 + 4, ">bandwidth</text>" },
        { "htree:8", { .topologies = "htree,torus" }, 1 + 4, ">torus:4x2</text>" },
        { "htree:8", { .devices = "8", .objective = HYPAR_COMM }, 1 + 2, "bytes exchanged" },
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct study s = explore("lenet-c", cases[i].machine, &cases[i].options);
        char *text;
        size_t size;
        FILE *file = open_memstream(&text, &size);
        hypar_report_exploration(file, s.found, HYPAR_SVG);
        fclose(file);
        assert_memory_equal(text, "<svg ", 5);
        assert_string_equal(text + size - 7, "</svg>\n");
        assert_non_null(strstr(text, cases[i].within));
        assert_null(strstr(text, "nan"));
        assert_null(strstr(text, "inf"));
        free(text);
        file = open_memstream(&text, &size);
        hypar_report_exploration(file, s.found, HYPAR_CSV);
        fclose(file);
        int lines = 0;
        for (const char *c = text; *c; c++)
            lines += *c == '\n';
        assert_int_equal(lines, cases[i].lines);
        free(text);
        release(&s);
    }
}

/* Getters past the ends: nothing, and no text. */
static void bad_indices(void **state)
{
    (void)state;
    static const int wrong[] = { -1, 1 << 20 };
    struct study s =
        explore("mlp:16-8-4", "htree:4", &(struct hypar_explore_options){ .levels = "H1,H2" });
    struct hypar_explore_site site = hypar_exploration_site(s.found, 0);
    char text[64];
    assert_true(site.n_points > 0 && site.n_groups > 0);
    assert_true(hypar_exploration_text_size(s.found, 0) <= sizeof text);
    for (int i = 0; i < 2; i++) {
        int at = wrong[i];
        assert_null(hypar_exploration_site(s.found, at).machine);
        assert_int_equal(hypar_exploration_text_size(s.found, at), 1);
        assert_null(hypar_exploration_choice(s.found, at, 0));
        assert_null(hypar_exploration_choice(s.found, 0, at));
        assert_null(hypar_exploration_point(s.found, at, 0));
        assert_null(hypar_exploration_point(s.found, 0, at));
        assert_string_equal(hypar_exploration_levels(s.found, at, 0, text), "");
        assert_string_equal(hypar_exploration_levels(s.found, 0, at, text), "");
        assert_null(hypar_exploration_group(s.found, at, 0).name);
        assert_null(hypar_exploration_group(s.found, 0, at).name);
        assert_string_equal(hypar_exploration_value(s.found, at, 0, 0, text), "");
        assert_string_equal(hypar_exploration_value(s.found, 0, at, 0, text), "");
        assert_string_equal(hypar_exploration_value(s.found, 0, 0, at, text), "");
    }
    assert_true(hypar_exploration_levels(s.found, 0, 0, text)[0]);
    assert_true(hypar_exploration_value(s.found, 0, 0, 0, text)[0]);
    release(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(points),     cmocka_unit_test(ranks),
        cmocka_unit_test(machines),   cmocka_unit_test(array_time),
        cmocka_unit_test(one_device), cmocka_unit_test(default_costs),
        cmocka_unit_test(bad_lists),  cmocka_unit_test(bad_machines),
        cmocka_unit_test(pictures),   cmocka_unit_test(bad_indices),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
