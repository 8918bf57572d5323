/* Devices that read alike share a row; past the most rows the rest is left to the caller. */
#include "report/simulate/devices.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

/* A digit for each device. */
static void cells(const void *of, int device, struct columns *table, struct arena *arena)
{
    hp_cell(table, arena, "%c", ((const char *)of)[device]);
    hp_cell(table, arena, "same");
}

static void test_rows(void **state)
{
    (void)state;
    static const struct {
        const char *devices;
        int max, shown;
        const char *names; /* of the rows, separated by blanks */
    } cases[] = {
        { "", 4, 0, "" },
        { "7", 4, 1, "0 " },
        { "7777", 4, 4, "0-3 " },
        { "7778", 4, 4, "0-2 3 " },
        { "7878", 4, 4, "0 1 2 3 " },
        { "778899", 2, 4, "0-1 2-3 " },
        { "7787778", 3, 6, "0-1 2 3-5 " },
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct arena arena = { 0 };
        struct columns table = { .align = "lrr" };
        struct device_rows rows = { (int)strlen(cases[i].devices), cases[i].devices, cells };
        char names[64] = "";
        assert_int_equal(hp_device_rows(&table, &arena, &rows, cases[i].max), cases[i].shown);
        for (int c = 0; c < table.n_cells; c += 3) {
            size_t n = strlen(names);
            snprintf(names + n, sizeof names - n, "%s ", table.cell[c]);
        }
        assert_string_equal(names, cases[i].names);
        hp_arena_free(&arena);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_rows) };
    return cmocka_run_group_tests_name("report/devices", tests, NULL, NULL);
}
