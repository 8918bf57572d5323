/* program/iteration.h - the micro-batches of a program, their bodies, and when parameters are
 * updated. Internal.
 *
 * A program covers a window of micro-batches. Under synchronous schedules these are the
 * micro-batches of one batch, with one update after all their backward halves (one update
 * period). Under `pipedream` they are minibatches, each a whole batch. Minibatch m runs on
 * replica m mod r of a stage with r replicas; each r minibatches are an update period of this
 * stage, which ends with an update of its parameters.
 *
 * Micro-batches with the same tasks share a body. Synchronous micro-batches differ in size by
 * at most one sample: two bodies. Minibatches differ in the replicas that they run on: as many
 * bodies as the least common multiple of all r, in turn. */
#ifndef PROGRAM_ITERATION_H
#define PROGRAM_ITERATION_H

#include <hypar/program.h>

#include "base/arena.h"
#include "plan/plan.h"
#include "program/pipedream.h"

enum {
    HP_MAX_BODIES = 256,
    HP_MAX_SLOTS = 1 << 26, /* of all stages: 768 MiB */
};

struct iteration {
    int n_micro;
    int n_batches; /* batches that are trained on: 1, or (pipedream) n_micro */
    int n_bodies;  /* body b first occurs in micro-batch first_micro[b] */
    int n_larger;  /* synchronous: this many have body 0, the others body 1 */
    bool forward;  /* forward phases alone: parameters are not updated */
    bool apart;    /* gradient phases are separate slots, after the backward ones */
    bool delayed;  /* pipedream: the order of tasks changes results, weights have versions */
    bool stash;    /* pipedream: a backward pass uses the version of its forward pass */
    bool sync;     /* pipedream: this version is the same in all stages (vertical sync) */
    int n_groups; /* groups of parameters that are updated together: 1, or one for each stage */
    int *period;  /* by group: micro-batches in a period */
    struct pipedream
        pipe; /* stages, and the replicas that take turns in each: 1 if synchronous */
};

/* HYPAR_UNSUPPORTED: too many bodies or slots, or micro-batches within a minibatch. */
enum hypar_status hp_iteration_make(struct iteration *iteration, struct arena *arena,
                                    const struct hypar_plan *plan,
                                    const struct hypar_lower_options *options,
                                    struct hypar_error *err);

static inline int hp_body_number(const struct iteration *r, int micro)
{
    return r->delayed ? micro % r->n_bodies : micro >= r->n_larger;
}

static inline int hp_first_micro(const struct iteration *r, int body)
{
    return r->delayed ? body : body ? r->n_larger : 0;
}

/* How many micro-batches have this body. */
static inline int hp_body_times(const struct iteration *r, int body)
{
    return r->delayed         ? r->n_micro / r->n_bodies
           : r->n_bodies == 1 ? r->n_micro
           : body             ? r->n_micro - r->n_larger
                              : r->n_larger;
}

/* The replica of `stage` that runs a body. */
static inline int hp_replica_of(const struct iteration *r, int stage, int body)
{
    return body % r->pipe.replicas[stage];
}

/* The number of update periods of a group; they are numbered from 0. */
static inline int hp_period_count(const struct iteration *r, int group)
{
    return r->n_micro / r->period[group];
}

/* The last micro-batch of a period that has this body; -1: there is none. */
int hp_last_in_period(const struct iteration *r, int group, int period, int body);

/* Update periods whose micro-batches have the same bodies are of one kind: the number of the
 * period mod hp_period_kinds(). hp_period_kind() is the kind in which a body occurs. */
static inline int hp_period_kinds(const struct iteration *r, int group)
{
    return r->delayed ? r->n_bodies / r->period[group] : 1;
}

static inline int hp_period_kind(const struct iteration *r, int group, int body)
{
    return hp_first_micro(r, body) / r->period[group];
}

/* The version of its stage's parameters that a half of a micro-batch uses. Version 0 is the
 * first; period u turns version u into u + 1. Synchronous, or forward alone: 0. */
int hp_version_used(const struct iteration *r, int stage, int micro, bool backward);

/* How many versions a stage keeps, including the newest. */
int hp_versions_kept(const struct iteration *r, int stage);

#endif /* PROGRAM_ITERATION_H */
