/* report/explain/compare.h - planners and plans side by side, for other reports. Internal. */
#ifndef REPORT_COMPARE_H
#define REPORT_COMPARE_H

#include <hypar/report.h>

#include "base/files/json.h"

/* Why a row with a plan is not ranked: "does not fit", "updates are delayed"; "": it is
 * ranked. */
const char *hp_not_ranked(const struct hypar_compared *row);

/* Write all rows as an array. */
void hp_put_comparison(struct json_writer *w, const char *key,
                       const struct hypar_comparison *comparison);

#endif /* REPORT_COMPARE_H */
