/* Frameworks: rows, words and files. */
#define _GNU_SOURCE /* mkstemps */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "plan/framework.h"

#define COUNT(array) (sizeof(array) / sizeof(array)[0])

static struct hypar_framework *must_read(const char *word)
{
    struct hypar_framework *framework;
    struct hypar_error err;
    if (hypar_framework_read(&framework, word, &err) != HYPAR_OK)
        fail_msg("%s: %s", word, err.text);
    return framework;
}

static void every_row_is_whole(void **state)
{
    (void)state;
    const struct hypar_framework *row;
    for (int i = 0; (row = hypar_framework_at(i)); i++) {
        struct hypar_framework *read = must_read(row->name);
        assert_true(row->summary && row->source);
        assert_int_equal(hp_check_framework(row, NULL), HYPAR_OK);
        assert_true(hp_framework_same(read, row));
        assert_ptr_equal(hp_framework_row(row->name), row);
        for (int k = 0; k < i; k++)
            assert_string_not_equal(hypar_framework_at(k)->name, row->name);
        hypar_framework_free(read);
    }
    assert_null(hypar_framework_at(-1));
    static const struct hypar_framework nothing;
    assert_true(hp_framework_same(hypar_framework_at(0), &nothing));
}

/* A word says the row and what differs from it, in the order of the members. */
static void words_are_read_and_written(void **state)
{
    (void)state;
    static const char *const rows[][2] = {
        { "compiled", "compiled" },
        { "eager,kernels=eager", "eager" },
        { "eager,kernels=compiled", "eager,kernels=compiled" },
        { "fsdp,prefetch=2,kernels=none", "fsdp,kernels=none,prefetch=2" },
        { "compiled,bucket_bytes=25MB,layer_s=20us",
          "compiled,bucket_bytes=25000000,layer_s=2e-05" },
        { "compiled,overlap=none", "compiled,overlap=none" },
        { "compiled,overlap=stages+gathers", "compiled,overlap=gathers+stages" },
        { "megatron-2021,overlap=all,keeps_masks=no",
          "megatron-2021,keeps_masks=no,overlap=all" },
        { "compiled,fragmentation=0.05,attention=unfused,attention_dropout=0.1",
          "compiled,attention=unfused,attention_dropout=0.1,fragmentation=0.05" },
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct arena scratch = { 0 };
        struct hypar_framework *framework = must_read(rows[i][0]);
        const char *word = hp_framework_word(&scratch, framework);
        assert_string_equal(word, rows[i][1]);
        struct hypar_framework *again = must_read(word);
        assert_true(hp_framework_same(framework, again));
        hypar_framework_free(again);
        hypar_framework_free(framework);
        hp_arena_free(&scratch);
    }
}

static void bad_words_say_what_was_expected(void **state)
{
    (void)state;
    static const char *const rows[][2] = {
        { "megatrn", "unknown framework 'megatrn', did you mean megatron?" },
        { "", "unknown framework ''" },
        { "fsdp,", "framework: unknown member ''" },
        { "fsdp,kernel=eager", "framework: unknown member 'kernel', did you mean kernels?" },
        { "fsdp,kernels=fast",
          "framework: kernels=fast: expected one of compiled, eager, none" },
        { "fsdp,keeps_masks=1", "framework: keeps_masks=1: expected yes or no" },
        { "fsdp,prefetch=1.5", "framework: prefetch=1.5: expected a whole number from 0 to" },
        { "fsdp,fragmentation=1", "framework: fragmentation=1: expected a number from 0 to" },
        { "fsdp,bucket_bytes=-1", "framework: bucket_bytes=-1: expected a size such as" },
        { "fsdp,overlap=gradient", "framework: overlap=gradient: expected all, none, or" },
        { "nowhere.json", "nowhere.json: " },
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct hypar_framework *framework;
        struct hypar_error err;
        assert_int_not_equal(hypar_framework_read(&framework, rows[i][0], &err), HYPAR_OK);
        assert_null(framework);
        if (strncmp(err.text, rows[i][1], strlen(rows[i][1])) != 0)
            fail_msg("%s: \"%s\", expected \"%s...\"", rows[i][0], err.text, rows[i][1]);
    }
}

static void read_file(const char *text, struct hypar_framework **out, struct hypar_error *err)
{
    char path[] = "/tmp/hypar-framework-XXXXXX.json";
    FILE *file = fdopen(mkstemps(path, 5), "w");
    assert_non_null(file);
    fputs(text, file);
    fclose(file);
    hypar_framework_read(out, path, err);
    remove(path);
}

static void files_are_read(void **state)
{
    (void)state;
    struct hypar_framework *mine;
    struct hypar_error err = { 0 };
    read_file("{\"format\": \"hypar-framework/1\", \"name\": \"mine\", \"like\": \"fsdp\", "
              "\"kernels\": \"compiled\", \"overlap\": \"all\", \"context_bytes\": 5e8, "
              "\"calibrated_rows\": 7, \"calibrated_on\": \"our cluster\"}",
              &mine, &err);
    if (!mine)
        fail_msg("%s", err.text);
    assert_string_equal(mine->name, "mine");
    assert_int_equal(mine->kernels, HYPAR_KERNELS_COMPILED);
    assert_int_equal(mine->prefetch, 1); /* as in fsdp */
    assert_false(hp_waits_for_any(mine));
    assert_true(mine->memory.context_bytes == 5e8);
    assert_int_equal(mine->calibration.rows, 7);
    assert_string_equal(mine->calibration.on, "our cluster");

    char *text = NULL;
    size_t size;
    FILE *to = open_memstream(&text, &size);
    hypar_framework_write(mine, to);
    fclose(to);
    struct hypar_framework *again;
    read_file(text, &again, &err);
    if (!again)
        fail_msg("%s", err.text);
    assert_true(hp_framework_same(mine, again));
    free(text);
    hypar_framework_free(again);
    hypar_framework_free(mine);
}

static void bad_files_are_refused(void **state)
{
    (void)state;
    static const char *const rows[] = {
        "[]",
        "{\"name\": \"mine\"}",
        "{\"format\": \"hypar-framework/1\"}",
        "{\"format\": \"hypar-framework/1\", \"name\": \"a,b\"}",
        "{\"format\": \"hypar-framework/1\", \"name\": \"mine\", \"like\": \"jax\"}",
        "{\"format\": \"hypar-framework/1\", \"name\": \"mine\", \"kernels\": 1}",
        "{\"format\": \"hypar-framework/1\", \"name\": \"mine\", \"overlap\": \"some\"}",
        "{\"format\": \"hypar-framework/1\", \"name\": \"mine\", \"prefetch\": -1}",
        "{\"format\": \"hypar-framework/1\", \"name\": \"mine\", \"bucket\": 1}",
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct hypar_framework *framework;
        struct hypar_error err = { 0 };
        read_file(rows[i], &framework, &err);
        assert_null(framework);
        assert_true(err.text[0]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_row_is_whole),
        cmocka_unit_test(words_are_read_and_written),
        cmocka_unit_test(bad_words_say_what_was_expected),
        cmocka_unit_test(files_are_read),
        cmocka_unit_test(bad_files_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
