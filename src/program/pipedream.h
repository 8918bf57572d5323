/* program/pipedream.h - PipeDream's schedule: who does what when, with which weights. Internal.
 *
 * Minibatch b runs on replica b mod r of a stage with r replicas (1F1B-RR), forward and
 * backward. The r minibatches r u .. r u + r - 1 are period u of that stage: its replicas sum
 * their gradients and update once, which makes version u + 1 of its weights; version 0 is the
 * first. They are summed, not averaged: one update by r gradients goes as far as the r updates
 * of a stage with one replica, so all stages learn at the same rate, that of a batch. With
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

/* Minibatches that one of `replicas` replicas has begun and not ended, where
 * `workers_from_here` workers, its own stage included, have to be kept busy: the paper's NOAM
 * (section 3.2) for the input stage. A stage keeps that many versions of its weights. */
int hp_pipedream_in_flight(int workers_from_here, int replicas);

/* The same for stage `s` of a pipeline. */
int hp_pipedream_stage_in_flight(const struct pipedream *p, int s);

/* The version of the weights of stage `s` that minibatch b uses, forward and (stashed)
 * backward. Paper, section 3.3, for a straight pipeline of n stages counted from 1: stage s
 * uses w^(t-n+s); with vertical sync all use the input stage's w^(t-n+1). Where stages have
 * different replicas, versions are those that hold the same minibatches' updates. */
int64_t hp_pipedream_version(const struct pipedream *p, int s, int64_t b, bool vertical_sync);

/* The newest version when the backward pass of minibatch b begins there: what it would use
 * without stashing, which is another one than its forward pass saw. */
int64_t hp_pipedream_newest(const struct pipedream *p, int s, int64_t b);

#endif /* PROGRAM_PIPEDREAM_H */
