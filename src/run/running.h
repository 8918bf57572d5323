/* run/running.h - running statistics of batch norm. Internal.
 *
 * Each forward pass in training moves them by a tenth towards the mean and the variance (of n
 * numbers, divided by n - 1) of the samples that belong together, as torch.nn.BatchNorm2d does;
 * forward phases alone take them instead. They lie in arrays like the statistics that they are
 * made from (hp_is_running()): pairs of a mean and a variance, one for each channel.
 *
 * A rank moves those of its channels by what the program's exchanges have brought it:
 * statistics of all samples, however they are split. Replicas of a pipedream stage see
 * minibatches of their own, as parts with statistics of their own (local_bn) see samples of
 * theirs: each keeps what it sees, and a checkpoint has what the first one kept. So does a rank
 * whose part is empty in the smaller micro-batches of a batch. */
#ifndef RUN_RUNNING_H
#define RUN_RUNNING_H

#include "graph/graph.h"
#include "kernel/kernel.h"

enum { RUNNING_MEAN, RUNNING_VARIANCE, RUNNING_COUNT };

/* The operand of a pass that training keeps running statistics of, if the pass reads it in its
 * forward phase; -1: none. */
int hp_running_operand(const struct hypar_graph *graph, const struct op *op, int pass);

/* Move `running` by what the call has read as that operand, over the call's channels. */
void hp_move_running(const struct kernel_call *call, int operand, const struct view *running);

/* A box of them, as they are before the first step: mean 0, variance 1. */
void hp_first_running(const struct view *running, enum real real);

/* "layer1.0.bn1.running_mean": named beside the weights of the operator that writes `tensor`,
 * else, and where an earlier one has those weights too, by the operator. */
const char *hp_running_name(struct arena *arena, const struct hypar_graph *graph, int tensor,
                            int which);

#endif /* RUN_RUNNING_H */
