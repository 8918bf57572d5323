/* report/plan/pipeline.h - reports the stages of a pipeline, as text and as JSON. Internal to
 * report/. */
#ifndef REPORT_PIPELINE_H
#define REPORT_PIPELINE_H

#include <hypar/search.h>

#include "base/files/json.h"

/* Write the member "pipedream" for a plan under this schedule, else "pipeline". */
void hp_put_pipeline(struct json_writer *w, const struct hypar_found *found);

/* Print a table of the stages, the pace, and the delay of the weights. */
void hp_pipeline_text(FILE *to, struct arena *arena, const struct hypar_found *found);

#endif /* REPORT_PIPELINE_H */
