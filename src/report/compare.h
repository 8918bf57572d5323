/* report/compare.h - planners and plans side by side, for other reports. Internal. */
#ifndef REPORT_COMPARE_H
#define REPORT_COMPARE_H

#include <hypar/report.h>

#include "base/json.h"

/* All rows, as an array. */
void hp_put_comparison(struct json_writer *w, const char *key,
                       const struct hypar_comparison *comparison);

#endif /* REPORT_COMPARE_H */
