/* Quantities: numbers with units are read, printed and read back, in any locale. */
#include "base/number.h"
#include "base/random.h"

#include <hypar/tool.h>

#include <locale.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static const struct {
    const char *text;
    enum hypar_unit unit;
    double value; /* -1: refused */
} cases[] = {
    { "12", HYPAR_UNIT_COUNT, 12 },
    { "4k", HYPAR_UNIT_COUNT, 4000 },
    { "1.5M", HYPAR_UNIT_COUNT, 1.5e6 },
    { "2Ki", HYPAR_UNIT_COUNT, 2048 },
    { "0", HYPAR_UNIT_COUNT, 0 },
    { "12s", HYPAR_UNIT_COUNT, -1 },
    { "80GB", HYPAR_UNIT_BYTES, 80e9 },
    { "80 GB", HYPAR_UNIT_BYTES, 80e9 },
    { "64MiB", HYPAR_UNIT_BYTES, 64.0 * 1024 * 1024 },
    { "1TiB", HYPAR_UNIT_BYTES, 0x1p40 },
    { "7kB", HYPAR_UNIT_BYTES, 7000 },
    { "7KB", HYPAR_UNIT_BYTES, 7000 },
    { "100", HYPAR_UNIT_BYTES, 100 },
    { "80Gb", HYPAR_UNIT_BYTES, -1 },
    { "80GB/s", HYPAR_UNIT_BYTES, -1 },
    { "80G", HYPAR_UNIT_BYTES, -1 },
    { "8mB", HYPAR_UNIT_BYTES, -1 },
    { "2us", HYPAR_UNIT_SECONDS, 2e-6 },
    { "3us", HYPAR_UNIT_SECONDS, 3e-6 },
    { "1.7\xc2\xb5s", HYPAR_UNIT_SECONDS, 1.7e-6 },
    { "10s", HYPAR_UNIT_SECONDS, 10 },
    { ".5ms", HYPAR_UNIT_SECONDS, 5e-4 },
    { "5.ns", HYPAR_UNIT_SECONDS, 5e-9 },
    { "1e-6", HYPAR_UNIT_SECONDS, 1e-6 },
    { "1E-6s", HYPAR_UNIT_SECONDS, 1e-6 },
    { "2ks", HYPAR_UNIT_SECONDS, -1 },
    { "2m", HYPAR_UNIT_SECONDS, -1 },
    { "2m", HYPAR_UNIT_DURATION, 120 },
    { "2 min", HYPAR_UNIT_DURATION, 120 },
    { "1.5h", HYPAR_UNIT_DURATION, 5400 },
    { "30s", HYPAR_UNIT_DURATION, 30 },
    { "30", HYPAR_UNIT_DURATION, 30 },
    { "20ms", HYPAR_UNIT_DURATION, 0.02 },
    { "2mm", HYPAR_UNIT_DURATION, -1 },
    { "2mh", HYPAR_UNIT_DURATION, -1 },
    { "2d", HYPAR_UNIT_DURATION, -1 },
    { "2u", HYPAR_UNIT_SECONDS, -1 },
    { "450GB/s", HYPAR_UNIT_BANDWIDTH, 450e9 },
    { "1.6Gb/s", HYPAR_UNIT_BANDWIDTH, 0.2e9 },
    { "100Gbps", HYPAR_UNIT_BANDWIDTH, 12.5e9 },
    { "100Gbit/s", HYPAR_UNIT_BANDWIDTH, 12.5e9 },
    { "3GiB/s", HYPAR_UNIT_BANDWIDTH, 3 * 0x1p30 },
    { "1e9", HYPAR_UNIT_BANDWIDTH, 1e9 },
    { "450GB", HYPAR_UNIT_BANDWIDTH, -1 },
    { "84GOPS", HYPAR_UNIT_RATE, 84e9 },
    { "15.7TFLOP/s", HYPAR_UNIT_RATE, 15.7e12 },
    { "15.7T", HYPAR_UNIT_RATE, 15.7e12 },
    { "1PFLOPS", HYPAR_UNIT_RATE, 1e15 },
    { "640pJ", HYPAR_UNIT_JOULES, 640e-12 },
    { "3.7pJ", HYPAR_UNIT_JOULES, 3.7e-12 },
    { "2kJ", HYPAR_UNIT_JOULES, 2000 },
    { "2kWh", HYPAR_UNIT_JOULES, -1 },
    { "", HYPAR_UNIT_COUNT, -1 },
    { " 1", HYPAR_UNIT_COUNT, -1 },
    { "1 ", HYPAR_UNIT_BYTES, -1 },
    { "1  B", HYPAR_UNIT_BYTES, -1 },
    { "-1", HYPAR_UNIT_COUNT, -1 },
    { "+1", HYPAR_UNIT_COUNT, -1 },
    { ".", HYPAR_UNIT_COUNT, -1 },
    { "nan", HYPAR_UNIT_COUNT, -1 },
    { "inf", HYPAR_UNIT_COUNT, -1 },
    { "0x10", HYPAR_UNIT_COUNT, -1 },
    { "1e999", HYPAR_UNIT_COUNT, -1 },
    { "1e308k", HYPAR_UNIT_COUNT, -1 },
    { "1e", HYPAR_UNIT_COUNT, -1 },
    { "1.2.3", HYPAR_UNIT_COUNT, -1 },
    { "1,5", HYPAR_UNIT_COUNT, -1 },
};

static void reads_what_people_write(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        double value = -1;
        bool ok = hypar_parse_quantity(cases[i].text, cases[i].unit, &value);
        if (ok != (cases[i].value >= 0) || value != cases[i].value)
            fail_msg("'%s': got %.17g, want %.17g", cases[i].text, value, cases[i].value);
    }
}

static void knows_what_lacks_a_unit(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        enum hypar_unit unit;
        bool lacks;
    } rows[] = {
        { "8", HYPAR_UNIT_BYTES, true },      { "8B", HYPAR_UNIT_BYTES, false },
        { "0", HYPAR_UNIT_BYTES, false },     { "16e9", HYPAR_UNIT_BYTES, false },
        { "25", HYPAR_UNIT_BANDWIDTH, true }, { "25e9", HYPAR_UNIT_BANDWIDTH, false },
        { "15.7", HYPAR_UNIT_RATE, true },    { "15.7T", HYPAR_UNIT_RATE, false },
        { "2", HYPAR_UNIT_SECONDS, true },    { "2e-6", HYPAR_UNIT_SECONDS, false },
        { "640", HYPAR_UNIT_JOULES, true },   { "640e-12", HYPAR_UNIT_JOULES, false },
        { "8", HYPAR_UNIT_COUNT, false },     { "30", HYPAR_UNIT_DURATION, false },
        { "eight", HYPAR_UNIT_BYTES, false },
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        if (hypar_lacks_unit(rows[i].text, rows[i].unit) != rows[i].lacks)
            fail_msg("'%s'", rows[i].text);
}

static void every_unit_is_read_and_printed(void **state)
{
    (void)state;
    static const struct {
        enum hypar_unit unit;
        double value;
        const char *text;
    } rows[] = {
        { HYPAR_UNIT_COUNT, 0, "0" },
        { HYPAR_UNIT_COUNT, 12, "12" },
        { HYPAR_UNIT_COUNT, 999.9, "1 k" },
        { HYPAR_UNIT_COUNT, 25557032, "25.6 M" },
        { HYPAR_UNIT_BYTES, 80e9, "80 GB" },
        { HYPAR_UNIT_BYTES, 999499, "999 kB" },
        { HYPAR_UNIT_BYTES, 999500, "1 MB" },
        { HYPAR_UNIT_BYTES, 0.5, "0.5 B" },
        { HYPAR_UNIT_SECONDS, 2e-6, "2 us" },
        { HYPAR_UNIT_SECONDS, 0.01234, "12.3 ms" },
        { HYPAR_UNIT_SECONDS, 1e-12, "0.001 ns" },
        { HYPAR_UNIT_SECONDS, 8.47e-22, "0 s" },
        { HYPAR_UNIT_SECONDS, -0.49e-12, "0 s" },
        { HYPAR_UNIT_SECONDS, 5400, "5400 s" },
        { HYPAR_UNIT_BANDWIDTH, 12.5e9, "12.5 GB/s" },
        { HYPAR_UNIT_BANDWIDTH, 1e18, "1 EB/s" },
        { HYPAR_UNIT_RATE, 84e9, "84 GFLOP/s" },
        { HYPAR_UNIT_JOULES, 640e-12, "640 pJ" },
        { HYPAR_UNIT_JOULES, -1.5, "-1.5 J" },
        { HYPAR_UNIT_JOULES, INFINITY, "inf J" },
    };
    bool seen[HYPAR_UNIT_JOULES + 1] = { false };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        char buffer[32];
        assert_ptr_equal(hypar_format_quantity(buffer, rows[i].value, rows[i].unit), buffer);
        assert_string_equal(buffer, rows[i].text);
        seen[rows[i].unit] = true;
    }
    for (int u = 0; u <= HYPAR_UNIT_JOULES; u++)
        assert_true(seen[u]);
}

static double random_magnitude(struct random *random)
{
    return (0.1 + hp_random_unit(random)) * pow(10, (double)hp_random_below(random, 40) - 14);
}

static void what_is_printed_reads_back(void **state)
{
    (void)state;
    struct random random = { 11 };
    print_message("seed 11\n");
    for (int i = 0; i < 20000; i++) {
        enum hypar_unit unit = (enum hypar_unit)hp_random_below(&random, HYPAR_UNIT_JOULES + 1);
        double value = random_magnitude(&random), back = -1;
        char buffer[32];
        hypar_format_quantity(buffer, value, unit);
        if (unit == HYPAR_UNIT_SECONDS && value < 0.5e-12)
            value = 0; /* such times are printed so */
        if (!hypar_parse_quantity(buffer, unit, &back) || fabs(back - value) > 0.006 * value)
            fail_msg("%.17g in unit %d: '%s' reads back as %.17g", value, (int)unit, buffer,
                     back);
    }
}

static void numbers_are_exact_and_short(void **state)
{
    (void)state;
    static const struct {
        double value;
        const char *text;
    } rows[] = {
        { 0.1, "0.1" },
        { 0, "0" },
        { -0.0, "0" },
        { 16e9, "16000000000" },
        { 2e-6, "2e-06" },
        { 1e300, "1e+300" },
        { 0.1 + 0.2, "0.30000000000000004" },
        { -3, "-3" },
    };
    char text[NUMBER_TEXT_BYTES];
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        assert_string_equal(hp_number_text(text, rows[i].value), rows[i].text);

    struct random random = { 3 };
    print_message("seed 3\n");
    for (int i = 0; i < 20000; i++) {
        double value = random_magnitude(&random), back = -1;
        hp_number_text(text, value);
        assert_true(hp_number_read(text, &back) == strlen(text) && back == value);
    }
}

static void a_locale_changes_nothing(void **state)
{
    (void)state;
    if (!setlocale(LC_NUMERIC, "de_DE.UTF-8") && !setlocale(LC_NUMERIC, "fr_FR.UTF-8"))
        skip();
    char text[NUMBER_TEXT_BYTES];
    double value = 0;
    assert_string_equal(hp_number_text(text, 1.5), "1.5");
    assert_true(hypar_parse_quantity("1.5GB", HYPAR_UNIT_BYTES, &value) && value == 1.5e9);
    setlocale(LC_NUMERIC, "C");
}

/* What messages offer as examples is accepted. */
static void examples_parse(void **state)
{
    (void)state;
    for (int unit = HYPAR_UNIT_COUNT; unit <= HYPAR_UNIT_JOULES; unit++) {
        char first[32], second[32];
        double value;
        const char *such = strstr(hypar_unit_text((enum hypar_unit)unit), "such as ");
        assert_non_null(such);
        assert_int_equal(sscanf(such, "such as %31s or %31s", first, second), 2);
        assert_true(hypar_parse_quantity(first, (enum hypar_unit)unit, &value));
        assert_true(hypar_parse_quantity(second, (enum hypar_unit)unit, &value));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reads_what_people_write),
        cmocka_unit_test(knows_what_lacks_a_unit),
        cmocka_unit_test(every_unit_is_read_and_printed),
        cmocka_unit_test(what_is_printed_reads_back),
        cmocka_unit_test(numbers_are_exact_and_short),
        cmocka_unit_test(a_locale_changes_nothing),
        cmocka_unit_test(examples_parse),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
