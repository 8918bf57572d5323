/* Tables: alignment, wrapping, no trailing blanks; the width and colour of a terminal. */
#define _XOPEN_SOURCE 700 /* posix_openpt */

#include "report/table.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <cmocka.h>

/* What a table without headings prints; cells are separated by '|', rows by '/'. The letters of
 * `align` are those of hp_print_cells(). */
static char *printed(const char *align, const char *cells)
{
    const char *row[8];
    char texts[32] = "", copy[400];
    struct table_writer table = { .texts = texts };
    int n = (int)strlen(align);
    for (int i = 0; i < n; i++)
        snprintf(texts + strlen(texts), sizeof texts - strlen(texts), "%s%s", i ? "|" : "",
                 align[i] == 'r'   ? ">"
                 : align[i] == 'w' ? "~"
                                   : "");
    char *text;
    size_t length;
    table.to = open_memstream(&text, &length);
    hp_table_begin(&table, NULL);
    snprintf(copy, sizeof copy, "%s", cells);
    for (char *p = copy; p;) {
        char *end = strchr(p, '/');
        if (end)
            *end = '\0';
        for (int i = 0; i < n; i++) {
            row[i] = p;
            p += strcspn(p, "|");
            p += *p ? (*p = '\0', 1) : 0;
        }
        hp_table_row(&table, row);
        p = end ? end + 1 : NULL;
    }
    hp_table_end(&table);
    fclose(table.to);
    memmove(text, text + 1, length); /* the line of headings */
    return text;
}

/* 10, 43 and 48 characters */
#define TEN   "tenletters"
#define FORTY TEN " " TEN " " TEN " " TEN
#define FIFTY FORTY " five"

static void test_tables(void **state)
{
    (void)state;
    static const struct {
        const char *align, *cells, *expected;
    } cases[] = {
        { "lr", "name|n/a|1/bcd|234", "name    n\na       1\nbcd   234\n" },
        { "ll", "a|/bc|", "a\nbc\n" },
        { "lrl", "op|n|/a||x/b|1|", "op  n\na      x\nb   1\n" },
        { "rl", "größe|x/b|y", "größe  x\n    b  y\n" },
        { "lw", "a|" FIFTY " " FIFTY, "a  " FIFTY " " FORTY "\n   five\n" },
        { "wr", FIFTY " " FIFTY "|z/b|c", FIFTY " " FORTY "   z\nfive\nb" },
        { "ww", FIFTY "|" FIFTY " " TEN, FORTY "      " FORTY "\nfive  " },
        { "w", FIFTY " " FORTY " conv1 .. relu3 k=8, end", /* a range is not broken */
          FIFTY " " FORTY "\nconv1 .. relu3 k=8, end\n" },
    };
    setenv("COLUMNS", "96", 1);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char *text = printed(cases[i].align, cases[i].cells);
        if (strncmp(text, cases[i].expected, strlen(cases[i].expected)) != 0)
            fail_msg("%s\n---got\n%s---want\n%s", cases[i].cells, text, cases[i].expected);
        assert_null(strstr(text, " \n"));
        free(text);
    }
    unsetenv("COLUMNS");
}

/* What does not fit is broken; where that is not enough columns stand closer, and where that is
 * not either, the last one that may be broken stands below its row. */
static void test_narrow(void **state)
{
    (void)state;
    static const struct {
        const char *align, *cells, *expected;
    } cases[] = {
        { "rrw", "n|m|text/1|2|" TEN " " TEN, "n  m  text\n1  2  " TEN "\n      " TEN "\n" },
        { "rrw", "n|m|text/123|45|0123456789012", "  n  m text\n123 45 0123456789012\n" },
        { "rwr", "n|text|m/1|01234567890123456|2",
          "n  m\n    text\n1  2\n    01234567890123456\n" },
        { "rrr", "n|m|k/1234567|2345678|3456789",
          "      n       m       k\n1234567 2345678 3456789\n" }, /* nothing gives way */
    };
    setenv("COLUMNS", "20", 1);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char *text = printed(cases[i].align, cases[i].cells);
        assert_string_equal(text, cases[i].expected);
        free(text);
    }
    unsetenv("COLUMNS");
}

/* A marked cell has a star, for which its column makes room; the others stay in line. */
static void test_marks(void **state)
{
    (void)state;
    static const struct row {
        const char *cell[3];
        bool marked[2];
    } rows[] = { { { "a", "12", "p" }, { true, false } },
                 { { "b", "3", "q" }, { false, true } } };
    static const struct column columns[] = {
        { "name", NULL, AS_TEXT, CELL(0) },
        { "n", NULL, AS_TEXT, CELL(1), TO_THE_RIGHT, .star = offsetof(struct row, marked[0]) },
        { "x", NULL, AS_TEXT, CELL(2), .star = offsetof(struct row, marked[1]) },
        { 0 },
    };
    struct table_writer table = { .column = columns };
    char *text;
    size_t length;
    table.to = open_memstream(&text, &length);
    hp_table_begin(&table, NULL);
    for (int i = 0; i < 2; i++)
        hp_table_row(&table, &rows[i]);
    hp_table_end(&table);
    fclose(table.to);
    assert_string_equal(text, "name   n   x\na     12*  p\nb      3   q*\n");
    free(text);
}

static void test_numbers(void **state)
{
    (void)state;
    struct arena arena = { 0 };
    assert_string_equal(hp_metric(&arena, 128), "128");
    assert_string_equal(hp_metric(&arena, 3.41e9), "3.41 G");
    char q[32]; /* a number half-way between two texts has one of them everywhere */
    assert_string_equal(hypar_format_quantity(q, 4.365e12, HYPAR_UNIT_RATE), "4.36 TFLOP/s");
    assert_string_equal(hp_metric_unit(&arena, 4.365e12, "FLOP/s"), "4.36 TFLOP/s");
    assert_string_equal(hp_metric_unit(&arena, 128, "FLOP"), "128 FLOP");
    assert_string_equal(hp_metric_unit(&arena, 999.7, "FLOP"), "1 kFLOP");
    assert_string_equal(hp_count(&arena, 1, "switch"), "1 switch");
    assert_string_equal(hp_count(&arena, 0, "switch"), "0 switches");
    assert_string_equal(hp_count(&arena, 12345, "switch"), "12,345 switches");
    assert_string_equal(hp_count(&arena, 1, "row was|rows were"), "1 row was");
    assert_string_equal(hp_count(&arena, 2, "row was|rows were"), "2 rows were");
    hp_arena_free(&arena);
}

/* A terminal of `columns`, and the stream that writes to it; false where there is none. */
static bool open_terminal(int columns, int *master, FILE **to)
{
    *master = posix_openpt(O_RDWR | O_NOCTTY);
    if (*master < 0 || grantpt(*master) != 0 || unlockpt(*master) != 0)
        return false;
    int fd = open(ptsname(*master), O_RDWR | O_NOCTTY);
    struct winsize size = { .ws_row = 24, .ws_col = (unsigned short)columns };
    if (fd < 0 || ioctl(fd, TIOCSWINSZ, &size) != 0)
        return false;
    *to = fdopen(fd, "w");
    return true;
}

static void test_terminal(void **state)
{
    (void)state;
    static const struct {
        int columns, width;
    } cases[] = { { 80, 80 }, { 200, 200 }, { 50, 50 }, { 3, 20 }, { 0, 80 } };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        int master;
        FILE *to;
        if (!open_terminal(cases[i].columns, &master, &to))
            skip();
        assert_int_equal(hypar_line_width(to), cases[i].width);
        unsetenv("NO_COLOR");
        setenv("TERM", "xterm", 1);
        assert_true(hp_has_colour(to));
        setenv("TERM", "dumb", 1);
        assert_false(hp_has_colour(to));
        setenv("TERM", "xterm", 1);
        setenv("NO_COLOR", "1", 1);
        assert_false(hp_has_colour(to));
        fclose(to);
        close(master);
    }
}

/* Text is broken at the width of the terminal, and stays whole words. */
static void test_wrap(void **state)
{
    (void)state;
    int master;
    FILE *to;
    char got[400] = "";
    if (!open_terminal(40, &master, &to))
        skip();
    hp_wrap(to, FIFTY, 4);
    fclose(to);
    size_t n = 0;
    for (ssize_t more = 1; more > 0 && n<sizeof got - 1; n += more> 0 ? (size_t)more : 0)
        more = read(master, got + n, sizeof got - 1 - n); /* a line at a time */
    close(master);
    assert_string_equal(got, TEN " " TEN " " TEN "\r\n    " TEN " five\r\n");
}

/* What is no terminal has lines of 80 characters and no colour. */
static void test_file(void **state)
{
    (void)state;
    FILE *to = tmpfile();
    assert_non_null(to);
    assert_int_equal(hypar_line_width(to), 80);
    assert_false(hp_has_colour(to));
    fclose(to);
}

/* COLUMNS says it for what is no terminal too; what is no number says nothing. */
static void test_said(void **state)
{
    (void)state;
    static const struct {
        const char *said;
        int width;
    } cases[] = { { "132", 132 }, { "1", 20 },  { "1e9", 1000 }, { "", 80 },
                  { "0", 80 },    { "-5", 80 }, { "wide", 80 } };
    FILE *to = tmpfile();
    assert_non_null(to);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        setenv("COLUMNS", cases[i].said, 1);
        assert_int_equal(hypar_line_width(to), cases[i].width);
    }
    unsetenv("COLUMNS");
    fclose(to);
}

/* A number and its unit stay on one line; other words do not count as units. */
static void test_units(void **state)
{
    (void)state;
    static const struct {
        const char *end;
        bool stays;
    } cases[] = {
        { "44.7 MB, more", true }, { "48.5 % of it", true }, { "7 s.", true },
        { "12 us; more", true },   { "4.04 k more", true },  { "3 J)", true },
        { "25 GB/s more", true },  { "8 devices", false },   { "9 more", false },
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char text[200], got[200] = "";
        size_t number = strcspn(cases[i].end, " ");
        snprintf(text, sizeof text, "%0*d %s", 79 - (int)number, 0, cases[i].end);
        FILE *to = tmpfile();
        assert_non_null(to);
        hp_wrap(to, text, 0);
        rewind(to);
        assert_non_null(fgets(got, sizeof got, to));
        assert_int_equal(strlen(got), cases[i].stays ? 80 - number : 81);
        fclose(to);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_tables),   cmocka_unit_test(test_marks),
        cmocka_unit_test(test_narrow),   cmocka_unit_test(test_numbers),
        cmocka_unit_test(test_terminal), cmocka_unit_test(test_wrap),
        cmocka_unit_test(test_file),     cmocka_unit_test(test_said),
        cmocka_unit_test(test_units),
    };
    return cmocka_run_group_tests_name("report/columns", tests, NULL, NULL);
}
