/* program/pipedream.h - PipeDream's schedule: the minibatches in flight, and the weights that
 * each uses. Internal.
 *
 * Minibatch b runs on replica b mod r of a stage with r replicas (1F1B-RR), forward and
 * backward. The r minibatches r u .. r u + r - 1 are period u of this stage: its replicas sum
 * their gradients and update once, which turns version u of the weights into version u + 1;
 * version 0 is the first. Gradients are summed, not averaged. One update by r gradients equals
 * r updates of a stage with one replica, so all stages learn at the rate of a batch. With
 * weight stashing a backward pass uses the version of its forward pass. */
#ifndef PROGRAM_PIPEDREAM_H
#define PROGRAM_PIPEDREAM_H

#include <stdbool.h>
#include <stdint.h>

/* A pipeline of n_stages stages with replicas[s] replicas each. */
struct pipedream {
    int n_stages;
    const int *replicas;
};

/* Minibatches that one of `replicas` replicas has begun and not ended, so that
 * `workers_from_here` workers, its own stage included, stay busy. For the input stage this is
 * the paper's NOAM (section 3.2). A stage keeps this many versions of its weights. */
int hp_pipedream_in_flight(int workers_from_here, int replicas);

/* The same for stage `s` of a pipeline. */
int hp_pipedream_stage_in_flight(const struct pipedream *p, int s);

/* The version of the weights of stage `s` that minibatch b uses, forward and (stashed)
 * backward. Paper, section 3.3, for a straight pipeline of n stages counted from 1: stage s
 * uses w^(t-n+s); with vertical sync all use the input stage's w^(t-n+1). Where stages have
 * different numbers of replicas, versions correspond if they contain the updates of the same
 * minibatches. */
int64_t hp_pipedream_version(const struct pipedream *p, int s, int64_t b, bool vertical_sync);

/* The most updates by which the version that a minibatch uses in stage `s` is older than the
 * newest one (below), in steady state. A stage that stashes keeps one version more than
 * that. */
int hp_pipedream_delay(const struct pipedream *p, int s, bool vertical_sync);

/* The newest version when the backward pass of minibatch b begins. Without stashing the
 * backward pass would use this version, which differs from that of its forward pass. */
int64_t hp_pipedream_newest(const struct pipedream *p, int s, int64_t b);

#endif /* PROGRAM_PIPEDREAM_H */
