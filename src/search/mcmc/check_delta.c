/* Compares delta simulation with full simulation after each of many random changes. */
#include <string.h>
#include <time.h>

#include <hypar/sim.h>

#include "base/random.h"
#include "search/mcmc/propose.h"
#include "sim/delta/delta.h"
#include "sim/full/timeline.h"

/* Processor time of this thread, which does all the work: other load on the machine does not
 * count. */
static double now_us(void)
{
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return 1e6 * (double)t.tv_sec + 1e-3 * (double)t.tv_nsec;
}

struct checking {
    struct hypar_plan *plan;
    struct delta *delta;
    const struct hypar_sim_options *options;
    struct random random;
    struct proposer proposer;
    struct proposal was, now; /* the changed operators' configurations */
    struct hypar_delta_check *out;
};

static void note_mismatch(struct checking *c, int64_t change, const char *what, int block,
                          int task)
{
    if (c->out->mismatches++ == 0)
        snprintf(c->out->first_mismatch, sizeof c->out->first_mismatch,
                 "change %lld (%s): %s, block %d task %d", (long long)change,
                 c->plan->graph->ops[c->now.op[0]].name, what, block, task);
}

/* Compare the delta's timeline with that of the full simulation, task by task. */
static void compare(struct checking *c, int64_t change, const struct blocks *full,
                    const struct timeline *timeline)
{
    const struct blocks *mine = hp_delta_timing(c->delta)->blocks;
    if (timeline->length != hp_delta_length(c->delta)) {
        note_mismatch(c, change, "another length", -1, -1);
        return;
    }
    if (hp_has_order(full->lowering) || c->options->lower.bucket_bytes > 0)
        return; /* both are simulated as a whole */
    for (int i = 0; i < full->n_blocks; i++) {
        if (full->size[i] != mine->size[i]) {
            note_mismatch(c, change, "another number of tasks", i, mine->size[i]);
            return;
        }
        for (int t = 0; t < full->size[i]; t++) {
            int id = full->first[i] + t;
            int row =
                hp_in_tail(&timeline->rows, id); /* the micro-batch, or its update period */
            struct times theirs = timeline->times[row][hp_row_place(&timeline->rows, row, id)];
            struct times ours = hp_delta_times(c->delta, i, t);
            if (theirs.ready != ours.ready || theirs.start != ours.start ||
                theirs.end != ours.end) {
                note_mismatch(c, change, "other times", i, t);
                return;
            }
        }
    }
}

/* Lower and simulate the changed plan from scratch. */
static enum hypar_status do_in_full(struct checking *c, int64_t change, struct hypar_error *err)
{
    struct lowering *lowering;
    struct timeline timeline;
    double began_us = now_us();
    TRY(hp_lowering_make(&lowering, c->plan, &c->options->lower, NULL, err));
    struct timing *timing = hp_timing_new(lowering, NULL, c->options, NULL);
    hp_timeline_run(timing, &timeline);
    c->out->full_us += now_us() - began_us;
    c->out->tasks = timeline.n_instances;
    compare(c, change, timing->blocks, &timeline);
    hp_timeline_end(&timeline);
    hp_timing_free(timing);
    hp_lowering_free(lowering);
    return HYPAR_OK;
}

/* Change one random operator. A change that cannot be lowered is undone, and another one is
 * drawn. */
static enum hypar_status change_one(struct checking *c, struct hypar_error *err)
{
    enum { TRIES = 100 };
    for (int i = 0; i < TRIES; i++) {
        if (!hp_propose(&c->proposer, &c->random, MOVE_ONE, &c->now)) { /* none: no change */
            struct op_config same = hp_config_of(c->plan, 0, &c->now.arena);
            hp_proposal_add(&c->now, &same);
        }
        hp_proposal_save(c->plan, &c->now, &c->was);
        hp_proposal_apply(c->plan, &c->now);
        double began_us = now_us();
        enum hypar_status status =
            hp_delta_change(c->delta, c->now.op, c->now.n, HP_MAX_TICKS, err);
        c->out->delta_us += now_us() - began_us;
        if (status == HYPAR_OK)
            return status;
        hp_proposal_apply(c->plan, &c->was);
        hp_delta_undo(c->delta);
    }
    return hp_fail(err, HYPAR_UNSUPPORTED, "no operator can be split or placed otherwise");
}

static enum hypar_status check_changes(struct checking *c, int64_t changes,
                                       struct hypar_error *err)
{
    for (int64_t i = 0; i < changes; i++) {
        TRY(change_one(c, err));
        TRY(do_in_full(c, i, err));
        c->out->changes++;
        if (hp_random_below(&c->random, 4) == 0) {
            hp_delta_keep(c->delta);
        } else { /* the next comparison checks the undo */
            hp_proposal_apply(c->plan, &c->was);
            hp_delta_undo(c->delta);
        }
    }
    return HYPAR_OK;
}

/* Check that the plan is small enough to simulate message by message. */
static enum hypar_status check_size(const struct checking *c, const struct hypar_plan *plan,
                                    struct hypar_error *err)
{
    struct lowering *lowering;
    if (!c->options->expand_collectives)
        return HYPAR_OK;
    TRY(hp_lowering_make(&lowering, plan, &c->options->lower, NULL, err));
    enum hypar_status status = hp_check_messages(lowering, c->options, NULL, err);
    hp_lowering_free(lowering);
    return status;
}

enum hypar_status hypar_check_delta(struct hypar_delta_check *out,
                                    const struct hypar_plan *plan,
                                    const struct hypar_sim_options *options, int64_t changes,
                                    int64_t seed, struct hypar_error *err)
{
    struct checking c = { .out = out, .random = { (uint64_t)seed } };
    *out = (struct hypar_delta_check){ 0 };
    struct hypar_sim_options planned = hypar_as_planned(plan, NULL);
    c.options = options ? options : &planned;
    TRY(hp_check_sim_options(c.options, err));
    TRY(hp_check_lowerable(plan, err));
    TRY(check_size(&c, plan, err));
    c.plan = hp_plan_copy(plan);
    hp_take_simulation(c.plan, c.options);
    hp_proposer_begin(&c.proposer, c.plan, NULL);
    hp_proposal_begin(&c.now, c.plan->graph);
    hp_proposal_begin(&c.was, c.plan->graph);
    enum hypar_status status = hp_delta_new(&c.delta, c.plan, c.options, NULL, err);
    if (status == HYPAR_OK)
        status = check_changes(&c, changes, err);
    if (out->changes) {
        out->full_us /= (double)out->changes;
        out->delta_us /= (double)out->changes;
    }
    hp_delta_free(c.delta);
    hp_proposal_end(&c.now);
    hp_proposal_end(&c.was);
    hp_proposer_end(&c.proposer);
    hypar_plan_free(c.plan);
    return status;
}
