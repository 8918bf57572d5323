/* report/plan/layerwise.h - reports OptCNN's view of a plan. Internal. */
#ifndef REPORT_LAYERWISE_H
#define REPORT_LAYERWISE_H

#include <hypar/search.h>

#include "base/files/json.h"

/* Write the member "optcnn". */
void hp_put_layerwise(struct json_writer *w, const struct hypar_layerwise_view *view);

/* Print the split of each operator, and the terms of OptCNN's cost. */
void hp_layerwise_text(FILE *to, struct arena *arena, const struct hypar_plan *plan,
                       const struct hypar_layerwise_view *view);

/* The verdict on the step found, as the end of a sentence. */
const char *hp_layerwise_verdict(struct arena *arena, const struct hypar_search_info *info,
                                 double step_s, const struct hypar_layerwise_view *view);

#endif /* REPORT_LAYERWISE_H */
