/* report/put.h - pieces that several reports share. Internal. */
#ifndef REPORT_PUT_H
#define REPORT_PUT_H

#include <hypar/graph.h>
#include <hypar/machine.h>

#include "base/json.h"

/* "params", "flops_per_sample", "ops", "layers" of a graph, into an open object. */
void hp_put_graph_figures(struct json_writer *w, const struct hypar_graph *graph);

/* The same as a line of text: "430,500 parameters, 4.59 MFLOP per sample forward, ...". */
char *hp_graph_figures(struct arena *arena, const struct hypar_graph *graph);

/* The figures of a device, into an open object. */
void hp_put_device(struct json_writer *w, const struct hypar_device *device);

#endif /* REPORT_PUT_H */
