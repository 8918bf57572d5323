/* report/plan/predicted.h - what a found plan will cost, as text and JSON. Internal to report/.
 */
#ifndef REPORT_PREDICTED_H
#define REPORT_PREDICTED_H

#include <hypar/search.h>

#include "base/files/json.h"

/* Bytes that the plan's program really sends; -1 where there is none (no loss, an opaque
 * operator) or it would take long to write out. */
double hp_exact_bytes(const struct hypar_found *found);

/* The members "predicted", simulated where that was possible, and "closed_form". */
void hp_put_predicted(struct json_writer *w, const struct hypar_found *found);

/* The same in a few lines. */
void hp_predicted_text(FILE *to, struct arena *arena, const struct hypar_found *found);

#endif /* REPORT_PREDICTED_H */
