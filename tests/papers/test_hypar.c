/* HyPar's and AccPar's published results: the vectors that the communication model must give.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "search/partition.h"

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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(vectors),
        cmocka_unit_test(alexnet),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
