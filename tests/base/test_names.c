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
    static const struct {
        const char *word;
        enum hypar_precision precision;
    } precisions[] = { { "fp16", HYPAR_FP16 },     { "FP16", HYPAR_FP16 },
                       { "float16", HYPAR_FP16 },  { "Half", HYPAR_FP16 },
                       { "bfloat16", HYPAR_BF16 }, { "BF16", HYPAR_BF16 },
                       { "float32", HYPAR_FP32 },  { "double", HYPAR_FP64 } };
    for (size_t i = 0; i < sizeof precisions / sizeof precisions[0]; i++)
        assert_int_equal(hypar_name_find(HYPAR_NAME_PRECISION, precisions[i].word),
                         precisions[i].precision);
    assert_int_equal(hypar_name_find(HYPAR_NAME_OPTIMIZER, "AdamW"), HYPAR_ADAMW);
    assert_int_equal(hypar_name_find(HYPAR_NAME_OPTIMIZER, "SGD"), HYPAR_SGD);
    assert_int_equal(hypar_name_find(HYPAR_NAME_SHARD, "ZeRO-1"), HYPAR_SHARD_OPTIMIZER);
    assert_int_equal(hypar_name_find(HYPAR_NAME_SHARD, "fsdp"), HYPAR_SHARD_PARAMETERS);
    assert_int_equal(hypar_name_find(HYPAR_NAME_SCHEDULE, "1F1B"), HYPAR_SCHEDULE_1F1B);
}

/* A word of one kind of choice is none of another. */
static void other_words_are_refused(void **state)
{
    (void)state;
    static const char *const wrong[] = { "", "fp", "fp165", "fp 16", "adam", "zero-1", "none" };
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++)
        assert_int_equal(hypar_name_find(HYPAR_NAME_PRECISION, wrong[i]), -1);
    assert_int_equal(hypar_name_find(HYPAR_NAME_OPTIMIZER, "half"), -1);
    assert_int_equal(hypar_name_find(HYPAR_NAME_SHARD, "half"), -1);
}

/* What is written is the word of the table. */
static void each_word_is_found_again(void **state)
{
    (void)state;
    for (int i = 0; i < HYPAR_PRECISION_COUNT; i++)
        assert_int_equal(hypar_name_find(HYPAR_NAME_PRECISION,
                                         hypar_precision_text((enum hypar_precision)i)),
                         i);
    for (int i = 0; i < HYPAR_SCHEDULE_COUNT; i++)
        assert_int_equal(hypar_name_find(HYPAR_NAME_SCHEDULE,
                                         hypar_schedule_text((enum hypar_schedule_kind)i)),
                         i);
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
