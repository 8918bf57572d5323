/* A plan as a table: repeated layers with equal splits are one row. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <hypar/report.h>

#include "plan/plan.h"

static struct hypar_plan *read(const char *model, const char *machine, const char *rest)
{
    char text[16384];
    struct hypar_plan *plan;
    struct hypar_error err;
    int n = snprintf(text, sizeof text,
                     "{\"format\":\"hypar-plan/1\",\"model\":\"%s\",\"batch\":3072,\"machine\":"
                     "\"%s\",%s}",
                     model, machine, rest);
    if (hp_plan_read_text(&plan, text, (size_t)n, "plan", NULL, &err) != HYPAR_OK)
        fail_msg("%s", err.text);
    return plan;
}

static char *draw(const struct hypar_plan *plan)
{
    char *text = NULL;
    size_t length = 0;
    FILE *file = open_memstream(&text, &length);
    hypar_report_plan(file, plan, NULL, HYPAR_TEXT);
    assert_int_equal(fclose(file), 0);
    return text;
}

static int count_lines(const char *text)
{
    int n = 0;
    for (; *text; text++)
        n += *text == '\n';
    return n;
}

static void must_have(const char *text, const char *line)
{
    if (!strstr(text, line))
        fail_msg("no '%s' in\n%s", line, text);
}

/* The published runs of Megatron-LM (SC 2021; MLSys 2023), in few lines. */
static void draws_layers_once(void **state)
{
    (void)state;
    static const struct {
        const char *model, *machine, *layout, *layers, *first, *middle;
    } cases[] = {
        { "gpt3-175b", "cluster:128x8",
          "\"layout\":{\"data\":8,\"tensor\":8,\"pipeline\":16,\"micro_batches\":192}",
          "\nh.0 .. h.95      96 x  n=8: ln_1 r=8, attn.q .. attn.v k=8, attn a=8, ",
          "\n0      wte .. drop, h.0 .. h.5     6 layers + 3  0-63 ",
          "\n1-14   h.6 .. h.89                 6 layers      64-959, 64 each " },
        { "gpt3-175b", "cluster:128x8",
          "\"layout\":{\"data\":4,\"tensor\":8,\"pipeline\":32,\"micro_batches\":192,"
          "\"recompute\":\"full\",\"shard\":\"optimizer\"}",
          "; recomputed but mlp.add, optimizer sharded\n",
          "\n0      wte .. drop, h.0 .. h.2     3 layers + 3  0-31 ",
          "\n1-30   h.3 .. h.92                 3 layers      32-991, 32 each " },
        { "gpt:layers=105,hidden=20480,heads=128,seq=2048,vocab=51200", "cluster:280x8",
          "\"layout\":{\"data\":8,\"tensor\":8,\"pipeline\":35,\"sequence_parallel\":true}",
          "\nh.0 .. h.104     105 x  n=8: ln_1 t=8, ",
          "\n0      wte .. drop, h.0 .. h.2       3 layers + 3  0-63 ",
          "\n1-33   h.3 .. h.101 " },
        { "gpt:layers=128,hidden=25600,heads=160,seq=2048,vocab=51200", "cluster:64x8",
          "\"layout\":{\"tensor\":8,\"pipeline\":64,\"sequence_parallel\":true}",
          "\nh.0 .. h.127     128 x  ln_1 t=8, ", "\n0      wte .. drop, h.0 .. h.1 ",
          "\n1-62   h.2 .. h.125 " },
    };
    for (int i = 0; i < 4; i++) {
        struct hypar_plan *plan = read(cases[i].model, cases[i].machine, cases[i].layout);
        char *text = draw(plan);
        must_have(text, cases[i].layers);
        must_have(text, cases[i].first);
        must_have(text, cases[i].middle);
        if (count_lines(text) > 20) /* 40 with all that a report says beside it */
            fail_msg("%s", text);
        free(text);
        hypar_plan_free(plan);
    }
}

/* Devices that have several stages are one row all the same. */
static void draws_interleaved_stages(void **state)
{
    (void)state;
    struct hypar_plan *plan =
        read("gpt3-175b", "cluster:128x8",
             "\"layout\":{\"data\":8,\"tensor\":8,\"pipeline\":16,\"micro_batches\":192,"
             "\"chunks\":3}");
    char *text = draw(plan);
    must_have(text, "\n0, 16, 32           wte .. drop, h.0 .. h.1, ");
    must_have(text,
              "\n1-14, 17-30, 33-46  h.2 .. h.29, h.34 .. h.61,   6 layers      64-959, ");
    must_have(text, "\n15, 31, 47          h.30 .. h.31, ");
    assert_in_range(count_lines(text), 10, 24);
    free(text);
    hypar_plan_free(plan);
}

/* A layer that is split otherwise stands by itself. */
static void draws_others_apart(void **state)
{
    (void)state;
    struct hypar_plan *plan =
        read("bert:layers=8,hidden=64,heads=8,seq=16,vocab=100", "full:4",
             "\"layout\":{\"data\":2,\"tensor\":2},\"ops\":[{\"name\":\"layer.2.ffn.gelu\","
             "\"split\":{\"n\":4}}]");
    char *text = draw(plan);
    must_have(text, "\nlayer.0 .. layer.1 ");
    must_have(text, "\nlayer.2  ");
    must_have(text, "ffn.gelu n=4, ");
    must_have(text, "\nlayer.3 .. layer.7 ");
    must_have(text, " 5 x  n=2: attention.q .. attention.v k=2, ");
    assert_null(strstr(text, "layer.5"));
    free(text);
    hypar_plan_free(plan);
}

/* Where no layer is as another, each is a row, the first of them. */
static void draws_few_of_many(void **state)
{
    (void)state;
    static const char *const ops[] = { "ln_1", "attn.q",   "attn.c_proj", "attn.add",
                                       "ln_2", "mlp.c_fc", "mlp.c_proj" };
    char rest[8192];
    size_t n = (size_t)snprintf(rest, sizeof rest, "\"ops\":[");
    for (int layer = 0; layer < 60; layer++)
        for (int i = 0; i < 7; i++)
            if ((layer * layer + 3 * i * layer + i) % 11 < 3)
                n += (size_t)snprintf(rest + n, sizeof rest - n,
                                      "{\"name\":\"h.%d.%s\",\"split\":{\"n\":2}},", layer,
                                      ops[i]);
    snprintf(rest + n, sizeof rest - n, "{\"name\":\"*\",\"split\":{\"n\":4}}]");
    struct hypar_plan *plan =
        read("gpt:layers=60,hidden=64,heads=8,seq=16,vocab=128", "full:4", rest);
    char *text = draw(plan);
    must_have(text, "\nh.1 ");
    must_have(text, " more rows of ");
    must_have(text, "n=2 on 0-1,");
    assert_in_range(count_lines(text), 10, 30);
    free(text);
    hypar_plan_free(plan);
}

/* So does one that is computed again, or whose parameters are divided, and it says so. */
static void draws_other_words_apart(void **state)
{
    (void)state;
    static const struct {
        const char *word, *told;
    } cases[] = { { "\"recompute\":true", "; recomputed: ffn.in\n" },
                  { "\"shard\":\"optimizer\"", "; optimizer sharded: ffn.in\n" } };
    for (int i = 0; i < 2; i++) {
        char rest[256];
        snprintf(rest, sizeof rest,
                 "\"layout\":{\"data\":2,\"tensor\":2},\"ops\":[{\"name\":\"layer.2.ffn.in\","
                 "\"split\":{\"n\":2,\"k\":2},%s}]",
                 cases[i].word);
        struct hypar_plan *plan =
            read("bert:layers=8,hidden=64,heads=8,seq=16,vocab=100", "full:4", rest);
        char *text = draw(plan);
        must_have(text, cases[i].told);
        must_have(text, "\nlayer.3 .. layer.7 ");
        free(text);
        hypar_plan_free(plan);
    }
}

/* Few rows are drawn operator by operator, and of either kind devices that do nothing. */
static void draws_small_plans_as_they_are(void **state)
{
    (void)state;
    struct hypar_plan *plan =
        read("lenet-c", "full:8",
             "\"ops\":[{\"name\":\"conv1\",\"split\":{\"k\":2},\"devices\":[0,1]},"
             "{\"name\":\"conv2\",\"split\":{\"n\":2},\"devices\":[4,5]},{\"name\":\"*\"}]");
    char *text = draw(plan);
    must_have(text, "\nconv1                conv  k=2    0-1\n");
    must_have(text, "\ndevices 2-3, 6-7 idle\n");
    free(text);
    hypar_plan_free(plan);
    plan = read("gpt2", "full:4",
                "\"ops\":[{\"name\":\"h.3.attn.q\",\"split\":{\"k\":2},\"devices\":[0,2]},{"
                "\"name\":\"*\"}]");
    text = draw(plan);
    must_have(text, "\ndevices 1, 3 idle\n");
    free(text);
    hypar_plan_free(plan);
}

/* The number behind `word` in the text. */
static int number_behind(const char *text, const char *word)
{
    const char *at = strstr(text, word);
    assert_non_null(at);
    return atoi(at + strlen(word));
}

static int count_of(const char *text, const char *word)
{
    int n = 0;
    for (; (text = strstr(text, word)); text++)
        n++;
    return n;
}

/* The picture of a large plan is as small as its structure. */
static void draws_a_picture(void **state)
{
    (void)state;
    static const struct {
        const char *model, *machine, *rest, *stages, *layers;
    } cases[] = {
        { "gpt3-175b", "cluster:128x8",
          "\"layout\":{\"data\":8,\"tensor\":8,\"pipeline\":16,\"micro_batches\":192}",
          ">stages 1-14</text>", ">96 times, all n=8</text>" },
        { "gpt3-175b", "cluster:128x8",
          "\"layout\":{\"data\":8,\"tensor\":8,\"pipeline\":16,\"micro_batches\":192,"
          "\"chunks\":3}",
          ">stages 1-14, 17-30, 33-46</text>", ">attn.q .. attn.v</text>" },
        { "mlp", "full:4", "\"ops\":[{\"name\":\"fc1\",\"split\":{\"k\":2}},{\"name\":\"*\"}]",
          ">devices 2-3 idle</text>", ">fc1</text>" },
    };
    for (int i = 0; i < 3; i++) {
        struct hypar_plan *plan = read(cases[i].model, cases[i].machine, cases[i].rest);
        char *text = NULL;
        size_t length = 0;
        FILE *file = open_memstream(&text, &length);
        hypar_report_plan(file, plan, NULL, HYPAR_SVG);
        assert_int_equal(fclose(file), 0);
        must_have(text, cases[i].stages);
        must_have(text, cases[i].layers);
        assert_in_range(length, 1000, 12000);
        assert_int_equal(number_behind(text, " width=\""), 1000);
        assert_in_range(number_behind(text, " height=\""), 100, 700);
        assert_int_equal(count_of(text, "<text"), count_of(text, "</text>"));
        assert_string_equal(text + length - 7, "</svg>\n");
        free(text);
        hypar_plan_free(plan);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(draws_layers_once),
        cmocka_unit_test(draws_interleaved_stages),
        cmocka_unit_test(draws_others_apart),
        cmocka_unit_test(draws_few_of_many),
        cmocka_unit_test(draws_other_words_apart),
        cmocka_unit_test(draws_small_plans_as_they_are),
        cmocka_unit_test(draws_a_picture),
    };
    setenv("COLUMNS", "96", 1); /* as wide as what is expected */
    return cmocka_run_group_tests(tests, NULL, NULL);
}
