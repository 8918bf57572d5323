/* Tables by columns: the same rows as text, JSON and CSV; rows that read alike are joined. */
#include "report/table.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

struct part {
    double joules;
};

struct row {
    int number;
    const char *name;
    double seconds, bytes;
    int64_t count;
    bool fits, best;
    const struct part *part;
};

static const struct column part_columns[] = {
    { NULL, "part_j", AS_JOULES, AT(struct part, joules) },
    { 0 },
};

static const struct column columns[] = {
    { "row", NULL, AS_INT, AT(struct row, number), TO_THE_LEFT },
    { "name", "name", AS_TEXT, AT(struct row, name), .at = 3 },
    { "time", "time_s", AS_SECONDS, AT(struct row, seconds), .at = 2,
      .star = offsetof(struct row, best) },
    { "bytes", "bytes", AS_BYTES, AT(struct row, bytes), IF_ANY | LEFT_OUT },
    { "count", "count", AS_COUNT, AT(struct row, count), IF_POSITIVE, .when = 1 },
    { NULL, "fits", AS_BOOL, AT(struct row, fits), IF_POSITIVE | LEFT_OUT },
    { NULL, "part", AS_RECORD, AT(struct row, part), .of = part_columns },
    { 0 },
};

/* The rows in one form, which `table` has. */
static char *written(struct table_writer *table, struct json_writer *w, const struct row *row,
                     int n)
{
    char *text;
    size_t length;
    FILE *to = open_memstream(&text, &length);
    table->column = columns;
    table->to = w->file = to;
    hp_table_begin(table, NULL);
    for (int i = 0; i < n; i++)
        hp_table_row(table, &row[i]);
    hp_table_end(table);
    fclose(to);
    return text;
}

/* Three rows as one: texts of the first, numbers from the least to the most. */
static void test_range(void **state)
{
    static const struct row row[] = { { 3, "a .. c", .002, 2e9, 7, .fits = false },
                                      { 4, NULL, .0015, 2e6, 7, .fits = false },
                                      { 5, NULL, .004, 2e6, 7, .fits = false } };
    struct table_writer table = { .column = columns, .shows = 1 };
    char *text;
    size_t length;
    (void)state;
    table.to = open_memstream(&text, &length);
    hp_table_begin(&table, NULL);
    assert_true(hp_table_range(&table, row, 3, sizeof *row));
    hp_table_end(&table);
    fclose(table.to);
    assert_string_equal(strchr(text, '\n') + 1,
                        "3 to 5  1.5 to 4 ms  a .. c  up to 2 GB      7\n");
    free(text);
}

static void test_forms(void **state)
{
    (void)state;
    static const struct part part = { 3 };
    static const struct row rows[] = {
        { 0, "a \"b\"", 1.5e-3, NAN, 1234, true, true, &part },
        { 1, NULL, NAN, NAN, 0, false, false, NULL },
    };
    struct json_writer w = { .file = NULL };
    struct {
        struct table_writer table;
        const char *expected;
    } cases[] = {
        { { .shows = 1 },
          "row    time   name   count\n"
          "0    1.5 ms*  a \"b\"  1,234\n"
          "1         -   -          -\n" },
        { { .most = 1 }, "row    time   name\n0    1.5 ms*  a \"b\"\n" },
        { { .json = &w },
          "[\n"
          "  {\"name\": \"a \\\"b\\\"\", \"time_s\": 0.0015, \"count\": 1234, \"fits\": true, "
          "\"part\": {\"part_j\": 3}},\n"
          "  {\"name\": null, \"time_s\": null, \"count\": null, \"part\": null}\n"
          "]\n" },
        { { .csv = "part_j time_s name fits count" },
          "part_j,time_s,name,fits,count\n3,0.0015,\"a \"\"b\"\"\",1,1234\n,,,,\n" },
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char *text = written(&cases[i].table, &w, rows, 2);
        assert_string_equal(text, cases[i].expected);
        free(text);
    }
}

/* Neighbours that read alike are one row; behind the most rows the others are left out. */
static void test_alike(void **state)
{
    (void)state;
    static const struct {
        const char *digits; /* of each row */
        int most, shown;
        const char *names;
    } cases[] = {
        { "", 4, 0, "" },
        { "7", 4, 1, "0 " },
        { "7777", 4, 4, "0-3 " },
        { "7778", 4, 4, "0-2 3 " },
        { "7878", 4, 4, "0 1 2 3 " },
        { "778899", 2, 4, "0-1 2-3 " },
        { "7787778", 3, 6, "0-1 2 3-5 " },
        { "787", 1, 1, "0 " },
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct table_writer table = {
            .column = columns, .to = stdout, .most = cases[i].most, .alike = true
        };
        char names[64] = "";
        int shown = 0;
        hp_table_begin(&table, NULL);
        for (int r = 0; cases[i].digits[r]; r++)
            shown += hp_table_row(
                &table, &(struct row){ .number = r, .seconds = cases[i].digits[r] - '0' });
        assert_int_equal(shown, cases[i].shown);
        for (int c = table.n_shown; c < table.n_cells; c += table.n_shown)
            snprintf(names + strlen(names), sizeof names - strlen(names), "%s ", table.cell[c]);
        assert_string_equal(names, cases[i].names);
        hp_table_end(&table);
    }
}

/* Members of an object: each kind, null, left out; of a row with and without braces. */
static void test_members(void **state)
{
    (void)state;
    const struct part part = { .joules = 3 };
    char *text;
    size_t length;
    struct json_writer w = { .file = open_memstream(&text, &length) };
    PUT_OBJECT(&w, NULL, true, TEXT("text", "a"), INT("int", INT64_MAX), NUMBER("number", 0.5),
               NUMBER("nan", NAN), POSITIVE("positive", 2), POSITIVE("zero", 0),
               FLAG("flag", 1 << 8), ONLY_IF(false, TEXT("left_out", "b")),
               RECORD("record", part_columns, &part), RECORD("none", part_columns, NULL),
               FIELDS(part_columns, &part));
    fclose(w.file);
    assert_string_equal(text, "{\"text\": \"a\", \"int\": 9223372036854775807, "
                              "\"number\": 0.5, \"nan\": null, \"positive\": 2, "
                              "\"zero\": null, \"flag\": true, "
                              "\"record\": {\"part_j\": 3}, \"none\": null, "
                              "\"part_j\": 3}\n");
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_forms),
                                        cmocka_unit_test(test_alike),
                                        cmocka_unit_test(test_range),
                                        cmocka_unit_test(test_members) };
    return cmocka_run_group_tests_name("report/table", tests, NULL, NULL);
}
