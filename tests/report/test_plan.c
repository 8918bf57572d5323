/* A plan as a table: repeated layers that are split alike are one layer. */
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
    char text[1024];
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
    hypar_report_plan(file, plan, HYPAR_TEXT);
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

/* The published runs of Megatron-LM (SC 2021; MLSys 2023). */
static void draws_layers_once(void **state)
{
    (void)state;
    static const struct {
        const char *model, *machine, *layout, *row;
    } cases[] = {
        { "gpt3-175b", "cluster:128x8",
          "\"layout\":{\"data\":8,\"tensor\":8,\"pipeline\":16,\"micro_batches\":192,"
          "\"chunks\":3}",
          " 0-47  layers 1-96, each as the first:  (96 x)" },
        { "gpt:layers=105,hidden=20480,heads=128,seq=2048,vocab=51200", "cluster:280x8",
          "\"layout\":{\"data\":8,\"tensor\":8,\"pipeline\":35,\"sequence_parallel\":true}",
          " 0-34  layers 1-105, each as the first:  (105 x)" },
        { "gpt:layers=128,hidden=25600,heads=160,seq=2048,vocab=51200", "cluster:64x8",
          "\"layout\":{\"tensor\":8,\"pipeline\":64,\"sequence_parallel\":true}",
          " 0-63  layers 1-128, each as the first:  (128 x)" },
    };
    for (int i = 0; i < 3; i++) {
        struct hypar_plan *plan = read(cases[i].model, cases[i].machine, cases[i].layout);
        char *text = draw(plan);
        if (!strstr(text, cases[i].row) || count_lines(text) > 30)
            fail_msg("%s", text);
        free(text);
        hypar_plan_free(plan);
    }
}

/* A layer that is split otherwise stands by itself; two alike are not worth folding. */
static void draws_others_apart(void **state)
{
    (void)state;
    struct hypar_plan *plan =
        read("bert:layers=8,hidden=64,heads=8,seq=16,vocab=100", "full:4",
             "\"layout\":{\"data\":2,\"tensor\":2},\"ops\":[{\"name\":\"layer.2.ffn.gelu\","
             "\"split\":{\"n\":4}}]");
    char *text = draw(plan);
    assert_null(strstr(text, "layers 1-"));
    assert_non_null(strstr(text, "layer.2.ffn.gelu "));
    assert_non_null(strstr(text, "layers 4-8, each as the first:"));
    assert_non_null(strstr(text, "(5 x)"));
    assert_null(strstr(text, "layer.5."));
    free(text);
    hypar_plan_free(plan);
}

/* So does one that is computed again, or whose parameters are divided, and it says so. */
static void draws_other_words_apart(void **state)
{
    (void)state;
    static const struct {
        const char *word, *told;
    } cases[] = { { "\"recompute\":true", "n=4, recompute" },
                  { "\"shard\":\"optimizer\"", "n=4, shard optimizer" } };
    for (int i = 0; i < 2; i++) {
        char rest[256];
        snprintf(rest, sizeof rest,
                 "\"layout\":{\"data\":4},\"ops\":[{\"name\":\"layer.2.ffn.in\","
                 "\"split\":{\"n\":4},%s}]",
                 cases[i].word);
        struct hypar_plan *plan =
            read("bert:layers=8,hidden=64,heads=8,seq=16,vocab=100", "full:4", rest);
        char *text = draw(plan);
        if (strstr(text, "layers 1-8") || !strstr(text, cases[i].told))
            fail_msg("%s", text);
        free(text);
        hypar_plan_free(plan);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(draws_layers_once),
        cmocka_unit_test(draws_others_apart),
        cmocka_unit_test(draws_other_words_apart),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
