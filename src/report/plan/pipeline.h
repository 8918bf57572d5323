/* report/plan/pipeline.h - the stages of a pipeline, as text and as JSON. Internal to report/.
 */
#ifndef REPORT_PIPELINE_H
#define REPORT_PIPELINE_H

#include <hypar/search.h>

#include "base/files/json.h"

/* The member "pipedream" of a plan under that schedule, else "pipeline". */
void hp_put_pipeline(struct json_writer *w, const struct hypar_found *found);

/* A table of the stages, the pace, and how the weights lag. */
void hp_pipeline_text(FILE *to, struct arena *arena, const struct hypar_found *found);

#endif /* REPORT_PIPELINE_H */
