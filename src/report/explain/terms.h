/* report/explain/terms.h - reports the bytes by which HyPar chose dp or mp. Internal. */
#ifndef REPORT_TERMS_H
#define REPORT_TERMS_H

#include <hypar/search.h>
#include <stdio.h>

#include "base/files/json.h"
#include "graph/graph.h"

/* Print a row for each layer at each level; nothing if `view` is NULL. */
void hp_terms_text(FILE *to, const struct hypar_partition_view *view,
                   const struct hypar_graph *graph);

/* Write the rows as the array "terms". */
void hp_put_terms(struct json_writer *w, const struct hypar_partition_view *view,
                  const struct hypar_graph *graph);

#endif /* REPORT_TERMS_H */
