/* report/explain/terms.h - by which bytes HyPar chose dp or mp. Internal. */
#ifndef REPORT_TERMS_H
#define REPORT_TERMS_H

#include <hypar/search.h>
#include <stdio.h>

#include "base/files/json.h"
#include "graph/graph.h"

/* A row for each layer at each level; nothing where `view` is NULL. */
void hp_terms_text(FILE *to, const struct hypar_partition_view *view,
                   const struct hypar_graph *graph);

/* The same as the array "terms". */
void hp_put_terms(struct json_writer *w, const struct hypar_partition_view *view,
                  const struct hypar_graph *graph);

#endif /* REPORT_TERMS_H */
