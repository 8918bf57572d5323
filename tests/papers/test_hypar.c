/* HyPar's and AccPar's published results: the vectors that the communication model must
 * give. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "cost/papers/array.h"
#include "search/explore/explore.h"
#include "search/levels/partition.h"
#include "tests/papers/hypar_printed.h"

enum { TWO_TYPES = 1u << TYPE_I | 1u << TYPE_II, THREE_TYPES = TWO_TYPES | 1u << TYPE_III };

struct solved {
    struct hypar_graph *graph;
    struct arena arena;
    struct layered *layered;
    struct partition partition;
};

/* Partition `model` over n_levels of two sides with some types everywhere. */
static void solve(struct solved *s, const char *model, int64_t batch, int n_levels,
                  unsigned types, bool joint)
{
    struct hypar_error err;
    *s = (struct solved){ 0 };
    if (hypar_import(&s->graph, model, &(struct hypar_import_options){ .batch = batch }, &err))
        fail_msg("%s", err.text);
    s->layered = hp_layered(&s->arena, s->graph);
    struct partition_problem p = { .layered = s->layered,
                                   .n_levels = n_levels,
                                   .joint = joint };
    unsigned *allowed = NEW(&s->arena, unsigned, n_levels * s->layered->n_nodes);
    for (int i = 0; i < n_levels * s->layered->n_nodes; i++)
        allowed[i] = types | 1u << TYPE_CHANNEL;
    p.allowed = allowed;
    for (int h = 0; h < n_levels; h++)
        p.ways[h] = 2;
    if (hp_partition(&s->arena, &p, &s->partition, &err))
        fail_msg("%s", err.text);
}

static void release(struct solved *s)
{
    hp_arena_free(&s->arena);
    hypar_graph_free(s->graph);
}

static void map_text(const struct solved *s, int level, char *text)
{
    for (int i = 0; i < s->layered->n_layers; i++)
        text[i] =
            (char)('0' + s->partition.type[level * s->layered->n_nodes + s->layered->layer[i]]);
    text[s->layered->n_layers] = '\0';
}

static void vectors(void **state)
{
    (void)state;
    static const struct {
        const char *model;
        double level[4], total;
        const char *map[4]; /* NULL: not given */
    } cases[] = {
        { "sfc",
          { 9439744, 7866880, 6588928, 5638656 },
          96638464,
          { "1111", "1111", "0111", "1111" } },
        { "lenet-c",
          { 322460, 228000, 132380, 111550 },
          2200380,
          { "0011", "0000", "0011", "0010" } },
        { "vgg-a",
          { 15830720, 13700800, 12635840, 12103360 },
          190602560,
          { "00000000111", "00000000111", "00000000111", "00000000111" } },
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct solved s;
        char map[64];
        solve(&s, cases[i].model, 256, 4, TWO_TYPES, false);
        for (int h = 0; h < 4; h++) {
            map_text(&s, h, map);
            print_message("%s H%d %s %.0f (want %s %.0f)\n", cases[i].model, h + 1, map,
                          s.partition.level_elements[h], cases[i].map[h], cases[i].level[h]);
            assert_true(s.partition.level_elements[h] == cases[i].level[h]);
            assert_string_equal(map, cases[i].map[h]);
        }
        assert_true(s.partition.total_elements == cases[i].total);
        assert_true(s.partition.exact);
        release(&s);
    }
}

/* The authors' AccPar code on the full AlexNet, batch 512, seven levels. */
static void alexnet(void **state)
{
    (void)state;
    static const struct {
        unsigned types;
        const char *map[7];
    } cases[] = {
        { TWO_TYPES,
          { "00000111", "00000111", "00000111", "00000100", "00000111", "00001000",
            "00011111" } },
        { THREE_TYPES,
          { "00000121", "00000211", "00000121", "00000212", "00000121", "00021212",
            "00001121" } },
    };
    for (size_t i = 0; i < 2; i++) {
        struct solved s;
        solve(&s, "alexnet-hypar", 512, 7, cases[i].types, false);
        for (int h = 0; h < 7; h++) {
            char map[64];
            map_text(&s, h, map);
            print_message("alexnet-hypar H%d %s (want %s)\n", h + 1, map, cases[i].map[h]);
            assert_string_equal(map, cases[i].map[h]);
        }
        release(&s);
    }
}

/* Data parallel at 16: every weight's gradient is exchanged at 1 + 2 + 4 + 8 places, 8 bytes
 * each. The weights are the paper's: 120 bytes of each are what Figure 8 prints. */
static void data_parallel(void **state)
{
    (void)state;
    for (int i = 0; i < HYPAR_NETWORKS; i++) {
        struct solved s;
        const struct hypar_printed *printed = &hypar_printed[i];
        solve(&s, printed->model, 256, 4, 1u << TYPE_I, false);
        assert_true(8 * s.partition.total_elements == 120 * printed->weights);
        double gb = 8 * s.partition.total_elements / 1e9;
        print_message("%s dp %.4g GB (printed %.4g)\n", printed->model, gb, printed->dp_gb);
        assert_true(fabs(gb / printed->dp_gb - 1) < 0.005); /* three digits are printed */
        release(&s);
    }
}

/* The maps of Figure 5: where the rules as published give them, and how far they are elsewhere
 * (cells that differ). */
static void figure_5(void **state)
{
    (void)state;
    static const int differing[HYPAR_NETWORKS] = { 0, 0, 4, 1, 0, 1, 1, 0, 1, 1 };
    for (int i = 0; i < HYPAR_NETWORKS; i++) {
        struct solved s;
        int n = 0;
        solve(&s, hypar_printed[i].model, 256, 4, TWO_TYPES, false);
        const char *printed = hypar_printed[i].map;
        for (int h = 0; h < 4; h++, printed++) {
            char map[64];
            map_text(&s, h, map);
            for (int k = 0; k < s.layered->n_layers; k++)
                n += map[k] != *printed++;
        }
        assert_int_equal(n, differing[i]);
        release(&s);
    }
}

/* The fitted time: fed with the printed bytes, all 20 bars of Figure 6 within 1 %. */
static void figure_6(void **state)
{
    (void)state;
    for (int i = 0; i < HYPAR_NETWORKS; i++) {
        const struct hypar_printed *p = &hypar_printed[i];
        struct hypar_graph *graph;
        assert_int_equal(hypar_import(&graph, p->model, NULL, NULL), HYPAR_OK);
        assert_int_equal(hypar_graph_info(graph).batch, 256);
        double macs = hp_array_macs(graph);
        double dp_s = hp_array_step_s(macs, 16, p->dp_gb * 1e9);
        double mp = dp_s / hp_array_step_s(macs, 16, p->mp_gb * 1e9);
        double hypar = dp_s / hp_array_step_s(macs, 16, p->hypar_gb * 1e9);
        print_message("%s mp %.4g (printed %.4g), hypar %.4g (printed %.4g)\n", p->model, mp,
                      p->mp_gain, hypar, p->hypar_gain);
        assert_true(fabs(mp / p->mp_gain - 1) < 0.01);
        assert_true(fabs(hypar / p->hypar_gain - 1) < 0.01);
        hypar_graph_free(graph);
    }
}

/* The exploration of lenet-c: H1 x H4 with H2 and H3 as printed. Every point is evaluated again
 * here; the printed choice, which is the peak in the paper, is it with our bytes too, and so
 * are the greedy and the joint one. */
static void exploration(void **state)
{
    (void)state;
    struct hypar_graph *graph;
    struct hypar_machine *machine;
    struct hypar_exploration *e;
    struct hypar_error err;
    struct hypar_explore_options options = { .levels = "H1,H4",
                                             .fix = "H2=0010,H3=0000",
                                             .planners = "hypar",
                                             .joint = true,
                                             .mark = "0011/0010/0000/0011,"
                                                     "0011/0000/0011/0010" };
    assert_int_equal(hypar_import(&graph, "lenet-c", NULL, &err), HYPAR_OK);
    assert_int_equal(hypar_machine_read(&machine, "htree:16", &err), HYPAR_OK);
    assert_int_equal(hypar_explore(&e, graph, machine, &options, &err), HYPAR_OK);
    struct hypar_explore_site site = hypar_exploration_site(e, 0);
    assert_int_equal(site.n_points, 256);
    double least = INFINITY, dp_s = site.dp.step_s;
    char seen[256] = { 0 }, text[64];
    for (int i = 0; i < 256; i++) {
        hypar_exploration_levels(e, 0, i, text);
        assert_int_equal(strlen(text), 19);
        assert_memory_equal(text + 5, "0010/0000", 9);
        int number = 0;
        for (int k = 0; k < 8; k++)
            number = 2 * number + (text[k < 4 ? k : 11 + k] - '0');
        seen[number] = 1;
        least = fmin(least, hypar_exploration_point(e, 0, i)->step_s);
    }
    assert_null(memchr(seen, 0, sizeof seen));
    for (int c = 0; c < site.n_choices; c++) {
        const struct hypar_explore_choice *choice = hypar_exploration_choice(e, 0, c);
        print_message("%s %s: gain %.4g, %lld better\n", choice->name, choice->levels,
                      dp_s / choice->cost.step_s, (long long)choice->better);
        assert_int_equal(choice->better, 0);
        assert_true(choice->cost.step_s <= least * (1 + 1e-12));
    }
    assert_int_equal(site.n_choices, 5); /* best, hypar, hypar joint, two marks */
    hypar_exploration_free(e);
    hypar_machine_free(machine);
    hypar_graph_free(graph);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(vectors),  cmocka_unit_test(alexnet),  cmocka_unit_test(data_parallel),
        cmocka_unit_test(figure_5), cmocka_unit_test(figure_6), cmocka_unit_test(exploration),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
