/* report/simulate/devices.h - tables of devices, neighbours that read alike in one row. Internal. */
#ifndef REPORT_DEVICES_H
#define REPORT_DEVICES_H

#include "report/columns.h"

/* Where the rows come from: cells() adds all cells of a device but the first, its number. */
struct device_rows {
    int n_devices;
    const void *of;
    void (*cells)(const void *of, int device, struct columns *table, struct arena *arena);
};

/* Add at most `max` rows, "0-15" and the cells. Returns the first device that has none; the
 * number of devices if all have one. */
int hp_device_rows(struct columns *table, struct arena *arena, const struct device_rows *rows,
                   int max);

#endif /* REPORT_DEVICES_H */
