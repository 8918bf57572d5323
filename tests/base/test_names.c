/* Words for choices, as in files and as users write them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/names.h"

static void words_that_people_write(void **state)
{
    (void)state;
    enum hypar_precision precision;
    enum hypar_optimizer optimizer;
    enum hypar_shard shard;
    enum hypar_schedule_kind schedule;
    static const struct {
        const char *word;
        enum hypar_precision precision;
    } precisions[] = { { "fp16", HYPAR_FP16 },     { "FP16", HYPAR_FP16 },
                       { "float16", HYPAR_FP16 },  { "Half", HYPAR_FP16 },
                       { "bfloat16", HYPAR_BF16 }, { "BF16", HYPAR_BF16 },
                       { "float32", HYPAR_FP32 },  { "double", HYPAR_FP64 } };
    for (size_t i = 0; i < sizeof precisions / sizeof precisions[0]; i++) {
        assert_true(hypar_precision_find(precisions[i].word, &precision));
        assert_int_equal(precision, precisions[i].precision);
    }
    assert_true(hypar_optimizer_find("AdamW", &optimizer) && optimizer == HYPAR_ADAMW);
    assert_true(hypar_optimizer_find("SGD", &optimizer) && optimizer == HYPAR_SGD);
    assert_true(hypar_shard_find("ZeRO-1", &shard) && shard == HYPAR_SHARD_OPTIMIZER);
    assert_true(hypar_shard_find("fsdp", &shard) && shard == HYPAR_SHARD_PARAMETERS);
    assert_true(hypar_schedule_find("1F1B", &schedule) && schedule == HYPAR_SCHEDULE_1F1B);
}

/* A word of one kind of choice is none of another. */
static void other_words_are_refused(void **state)
{
    (void)state;
    enum hypar_precision precision;
    enum hypar_optimizer optimizer;
    enum hypar_shard shard;
    static const char *const wrong[] = { "", "fp", "fp165", "fp 16", "adam", "zero-1", "none" };
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++)
        assert_false(hypar_precision_find(wrong[i], &precision));
    assert_false(hypar_optimizer_find("half", &optimizer));
    assert_false(hypar_shard_find("half", &shard));
}

/* What is written is the word of the table. */
static void each_word_is_found_again(void **state)
{
    (void)state;
    for (int i = 0; i < HYPAR_PRECISION_COUNT; i++) {
        enum hypar_precision found;
        assert_true(
            hypar_precision_find(hypar_precision_text((enum hypar_precision)i), &found));
        assert_int_equal(found, i);
    }
    for (int i = 0; i < HYPAR_SCHEDULE_COUNT; i++) {
        enum hypar_schedule_kind found;
        assert_true(
            hypar_schedule_find(hypar_schedule_text((enum hypar_schedule_kind)i), &found));
        assert_int_equal(found, i);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(words_that_people_write),
        cmocka_unit_test(other_words_are_refused),
        cmocka_unit_test(each_word_is_found_again),
    };
    return cmocka_run_group_tests_name("base/names", tests, NULL, NULL);
}
