/* report/plan/found.h - the parts of the report of a search: the predicted step, and the views
 * of the planners' papers. Internal. */
#ifndef REPORT_FOUND_H
#define REPORT_FOUND_H

#include <hypar/search.h>

#include "report/put.h"

/* The bytes that the plan's program sends; -1 if there is no program (no loss, an opaque
 * operator) or if writing it takes too long. */
double hp_exact_bytes(const struct hypar_found *found);

/* Write the members "predicted", simulated if possible, and "closed_form"; print the prediction
 * in a few lines. */
void hp_put_predicted(struct json_writer *w, const struct hypar_found *found);
void hp_predicted_text(FILE *to, struct arena *arena, const struct hypar_found *found);

/* A pipeline: write the member "pipedream" for a plan under this schedule, else "pipeline";
 * print a table of the stages, the pace, and the delay of the weights. */
void hp_put_pipeline(struct json_writer *w, const struct hypar_found *found);
void hp_pipeline_text(FILE *to, struct arena *arena, const struct hypar_found *found);

/* OptCNN: write the member "optcnn"; print the split of each operator and the terms of OptCNN's
 * cost; the verdict on the step found, as the end of a sentence. */
void hp_put_layerwise(struct json_writer *w, const struct hypar_layerwise_view *view);
void hp_layerwise_text(FILE *to, struct arena *arena, const struct hypar_plan *plan,
                       const struct hypar_layerwise_view *view);
const char *hp_layerwise_verdict(struct arena *arena, const struct hypar_search_info *info,
                                 double step_s, const struct hypar_layerwise_view *view);

/* HyPar's Figure 5: the choice of each layer at each level, by name if there is room, else by
 * letter. If this takes several lines of layers, repeated layers with the same choices are
 * drawn once. */
void hp_draw_levels(FILE *to, struct arena *arena, const struct hypar_partition_view *view,
                    const struct hypar_graph *graph);

#endif /* REPORT_FOUND_H */
