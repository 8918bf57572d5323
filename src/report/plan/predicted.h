/* report/plan/predicted.h - reports the predicted cost of a plan, as text and JSON. Internal to
 * report/. */
#ifndef REPORT_PREDICTED_H
#define REPORT_PREDICTED_H

#include <hypar/search.h>

#include "base/files/json.h"

/* The bytes that the plan's program sends; -1 if there is no program (no loss, an opaque
 * operator) or if writing it takes too long. */
double hp_exact_bytes(const struct hypar_found *found);

/* Write the members "predicted", simulated if possible, and "closed_form". */
void hp_put_predicted(struct json_writer *w, const struct hypar_found *found);

/* Print the prediction in a few lines. */
void hp_predicted_text(FILE *to, struct arena *arena, const struct hypar_found *found);

#endif /* REPORT_PREDICTED_H */
