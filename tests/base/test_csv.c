/* Reading CSV: fields, bad tables with their line, limits. */
#include "base/files/csv.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static enum hypar_status read(struct csv *csv, struct arena *arena, const char *text,
                              struct hypar_error *err)
{
    return hp_csv_read_text(csv, arena, text, strlen(text), "t.csv", err);
}

static void fields_are_read_as_written(void **state)
{
    (void)state;
    struct arena arena = { 0 };
    struct hypar_error err = { 0 };
    struct csv csv;
    const char *text = "\xef\xbb\xbf# a remark, with a comma\r\n"
                       "\r\n"
                       " Op ,shape,\"pass\"\r\n"
                       "linear,\"n=2, c=3\", y \r\n"
                       "  # another\n"
                       ",\"a \"\"quoted\"\" word\"\t,\n"
                       "\"'=cmd()\",''-5,'no formula\n";
    if (read(&csv, &arena, text, &err) != HYPAR_OK)
        fail_msg("%s", err.text);
    assert_int_equal(csv.n_columns, 3);
    assert_int_equal(csv.n_rows, 3);
    assert_int_equal(csv.line, 3);
    assert_int_equal(hp_csv_column(&csv, "op"), 0);
    assert_int_equal(hp_csv_column(&csv, "PASS"), 2);
    assert_int_equal(hp_csv_column(&csv, "passes"), -1);
    assert_int_equal(hp_csv_column(&csv, "pas"), -1);
    assert_int_equal(csv.row[0].line, 4);
    assert_string_equal(csv.row[0].field[1], "n=2, c=3");
    assert_string_equal(csv.row[0].field[2], "y");
    assert_int_equal(csv.row[1].line, 6);
    assert_string_equal(csv.row[1].field[0], "");
    assert_string_equal(csv.row[1].field[1], "a \"quoted\" word");
    assert_string_equal(csv.row[1].field[2], "");
    assert_string_equal(csv.row[2].field[0], "=cmd()");
    assert_string_equal(csv.row[2].field[1], "'-5");
    assert_string_equal(csv.row[2].field[2], "'no formula");
    hp_arena_free(&arena);
}

static void what_is_no_table_is_told_with_its_line(void **state)
{
    (void)state;
    static const struct {
        const char *text, *message;
    } cases[] = {
        { "", "t.csv: empty, expected a heading and rows" },
        { "# nothing\n\n", "t.csv: empty, expected a heading and rows" },
        { "a,b\n1\n", "t.csv:2: 1 field, expected 2 as in the heading" },
        { "a,b\n\n1,2,3\n", "t.csv:3: 3 fields, expected 2 as in the heading" },
        { "a,b\n1,\"2\n", "t.csv:2: a quote has no end, expected '\"' in its line" },
        { "a,b\n\"1\"x,2\n",
          "t.csv:2: text behind a quoted field, expected ',' or the end of the line" },
        { "a,b\n1,\x1b[31m\n", "t.csv:2: a character that cannot be shown, expected UTF-8" },
        { "a\n\xff\n", "t.csv:2: a character that cannot be shown, expected UTF-8" },
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct arena arena = { 0 };
        struct hypar_error err = { 0 };
        struct csv csv;
        assert_int_not_equal(read(&csv, &arena, cases[i].text, &err), HYPAR_OK);
        assert_string_equal(err.text, cases[i].message);
        hp_arena_free(&arena);
    }
}

static void limits_are_kept(void **state)
{
    (void)state;
    struct arena arena = { 0 };
    struct hypar_error err = { 0 };
    struct csv csv;
    char many[2 * CSV_MAX_COLUMNS + 2];
    memset(many, ',', sizeof many);
    many[CSV_MAX_COLUMNS - 1] = '\0';
    assert_int_equal(read(&csv, &arena, many, &err), HYPAR_OK);
    assert_int_equal(csv.n_columns, CSV_MAX_COLUMNS);
    many[CSV_MAX_COLUMNS - 1] = ',';
    many[CSV_MAX_COLUMNS] = '\0';
    assert_int_equal(read(&csv, &arena, many, &err), HYPAR_UNSUPPORTED);
    assert_int_equal(hp_csv_read_text(&csv, &arena, "a\0b", 3, "t.csv", &err), HYPAR_SYNTAX);
    assert_int_equal(hp_csv_read_file(&csv, &arena, "tests/none.csv", &err), HYPAR_UNREADABLE);
    hp_arena_free(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(fields_are_read_as_written),
        cmocka_unit_test(what_is_no_table_is_told_with_its_line),
        cmocka_unit_test(limits_are_kept),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
