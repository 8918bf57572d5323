/* report/train_ops.h - operators of a training run, predicted and measured. Internal.
 *
 * Times are of one step, over all ranks and all passes; an operator that follows its producer
 * is part of that one. */
#ifndef REPORT_TRAIN_OPS_H
#define REPORT_TRAIN_OPS_H

#include <hypar/report.h>

/* An empty line and a table of those that differ most. */
void hp_print_train_ops(FILE *to, const struct hypar_trace *trace, const struct hypar_sim *sim,
                        const struct hypar_graph *graph);

/* All of them, as one more member of a JSON object in one line. */
void hp_write_train_ops(FILE *to, const struct hypar_trace *trace, const struct hypar_sim *sim,
                        const struct hypar_graph *graph);

#endif /* REPORT_TRAIN_OPS_H */
