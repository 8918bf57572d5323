/* report/plan/layerwise.h - OptCNN's view of a plan, as part of a report. Internal. */
#ifndef REPORT_LAYERWISE_H
#define REPORT_LAYERWISE_H

#include <hypar/search.h>

#include "base/files/json.h"

/* The member "optcnn". */
void hp_put_layerwise(struct json_writer *w, const struct hypar_layerwise_view *view);

/* How each operator is divided, and what OptCNN's cost is made of. */
void hp_layerwise_text(FILE *to, struct arena *arena, const struct hypar_plan *plan,
                       const struct hypar_layerwise_view *view);

/* What is known about the step that was found: the end of a sentence. */
const char *hp_layerwise_verdict(struct arena *arena, const struct hypar_search_info *info,
                                 double step_s, const struct hypar_layerwise_view *view);

#endif /* REPORT_LAYERWISE_H */
