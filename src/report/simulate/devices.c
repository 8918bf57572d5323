/* Devices as rows of a table, devices that read alike in one row. */
#include "report/simulate/devices.h"

#include <stdbool.h>
#include <string.h>

static bool reads_alike(const struct device_rows *rows, int device, char *const *cell, int n,
                        struct arena *arena)
{
    struct arena_mark mark = hp_arena_mark(arena);
    struct columns other = { 0 };
    bool same = true;
    rows->cells(rows->of, device, &other, arena);
    for (int c = 0; c < n && same; c++)
        same = strcmp(cell[c], other.cell[c]) == 0;
    hp_arena_release(arena, mark);
    return same;
}

int hp_device_rows(struct columns *table, struct arena *arena, const struct device_rows *rows,
                   int max)
{
    int n = (int)strlen(table->align), device = 0;
    for (int row = 0; row < max && device < rows->n_devices; row++) {
        int first = device, name = table->n_cells;
        hp_cell(table, arena, "%s", "");
        rows->cells(rows->of, device, table, arena);
        for (device++; device < rows->n_devices; device++)
            if (!reads_alike(rows, device, table->cell + name + 1, n - 1, arena))
                break;
        table->cell[name] = device - first > 1
                                ? hp_arena_printf(arena, "%d-%d", first, device - 1)
                                : hp_arena_printf(arena, "%d", first);
    }
    return device;
}
