/* run/running.h - running statistics of batch norm. Internal.
 *
 * Each forward pass in training moves them by a tenth towards the mean and the variance (of n
 * numbers, divided by n - 1) of the samples that belong together, as torch.nn.BatchNorm2d does;
 * forward phases alone use them as they are. Their arrays have the shape of the statistics
 * (hp_is_running()): pairs of a mean and a variance, one for each channel.
 *
 * A rank moves the statistics of its channels by the values that the program's exchanges bring:
 * statistics of all samples, however they are split. Replicas of a pipedream stage see their
 * own minibatches, and parts with local statistics (local_bn) their own samples: each keeps
 * what it sees, and a checkpoint contains the first one's. A rank whose part is empty in the
 * smaller micro-batches of a batch also keeps what it sees. */
#ifndef RUN_RUNNING_H
#define RUN_RUNNING_H

#include "graph/graph.h"
#include "kernel/kernel.h"

enum { RUNNING_MEAN, RUNNING_VARIANCE, RUNNING_COUNT };

/* The operand of a pass that has running statistics, if the pass reads it in its forward phase;
 * -1: none. */
int hp_running_operand(const struct hypar_graph *graph, const struct op *op, int pass);

/* Move `running` towards the values that the call has read as this operand, over the call's
 * channels. */
void hp_move_running(const struct kernel_call *call, int operand, const struct view *running);

/* How many numbers the mean of a channel covers. */
double hp_running_numbers(const struct kernel_call *call, int operand);

/* The initial values of a box: mean 0, variance 1. */
void hp_first_running(const struct view *running, enum real real);

/* "layer1.0.bn1.running_mean": named after the weights of the operator that writes `tensor`. If
 * it has none, or an earlier operator has the same weights, named after the operator. */
const char *hp_running_name(struct arena *arena, const struct hypar_graph *graph, int tensor,
                            int which);

#endif /* RUN_RUNNING_H */
