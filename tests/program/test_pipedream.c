/* PipeDream's schedule: the order of a 4-stage pipeline, and the versions of the weights
 * against the paper's formulas and against an emulation of the orders with real
 * dependencies. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/random.h"
#include "program/pipedream.h"
#include "program/schedule.h"

enum { MAX_STAGES = 6, MAX_REPLICAS = 6, MAX_MINIBATCHES = 720 };

/* Figure 4 of the paper: start-up, then strict alternation. */
static void four_stages_alternate(void **state)
{
    static const int ones[4] = { 1, 1, 1, 1 };
    const struct pipedream p = { 4, ones };
    (void)state;
    for (int s = 0; s < 4; s++) {
        struct slot slot[2 * 12];
        int admitted = 4 - s;
        assert_int_equal(hp_pipedream_stage_in_flight(&p, s), admitted); /* NOAM = 4 at 0 */
        hp_alternate(slot, s, 12, admitted);
        for (int i = 0; i < admitted; i++)
            assert_true(slot[i].phase == PHASE_FORWARD && slot[i].micro == i);
        for (int i = admitted; i < 24 - admitted; i++) {
            int step = i - admitted;
            assert_int_equal(slot[i].phase, step % 2 == 0 ? PHASE_BACKWARD : PHASE_FORWARD);
            assert_int_equal(slot[i].micro, step % 2 == 0 ? step / 2 : admitted + step / 2);
            assert_int_equal(slot[i].stage, s);
        }
        for (int i = 24 - admitted; i < 24; i++)
            assert_int_equal(slot[i].phase, PHASE_BACKWARD);
    }
}

static void noam_is_workers_over_input_replicas(void **state)
{
    static const struct {
        int n, replicas[4], noam;
    } rows[] = { { 2, { 3, 1 }, 2 },       { 3, { 13, 2, 1 }, 2 }, { 2, { 15, 1 }, 2 },
                 { 4, { 1, 1, 1, 1 }, 4 }, { 3, { 2, 1, 1 }, 2 },  { 1, { 8 }, 1 } };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const struct pipedream p = { rows[i].n, rows[i].replicas };
        assert_int_equal(hp_pipedream_stage_in_flight(&p, 0), rows[i].noam);
    }
}

/* w^(t-n+s) at stage s of n (section 3.3), and w^(t-n+1) everywhere with vertical sync. */
static void straight_pipelines_lag_as_the_paper_says(void **state)
{
    static const int ones[MAX_STAGES] = { 1, 1, 1, 1, 1, 1 };
    (void)state;
    for (int n = 1; n <= MAX_STAGES; n++)
        for (int s = 1; s <= n; s++)
            for (int t = n; t < 50; t++) {
                const struct pipedream p = { n, ones };
                assert_int_equal(hp_pipedream_version(&p, s - 1, t, false), t - n + s);
                assert_int_equal(hp_pipedream_version(&p, s - 1, t, true), t - n + 1);
                assert_int_equal(hp_pipedream_newest(&p, s - 1, t), t);
                assert_int_equal(hp_pipedream_delay(&p, s - 1, false), n - s);
                assert_int_equal(hp_pipedream_delay(&p, s - 1, true), n - 1);
            }
}

/* Replicas of one stage begin when all have updated: what hypar_plan_updates() says. */
static void one_stage_sees_the_last_update(void **state)
{
    static const int replicas[MAX_STAGES] = { 3, 2, 2, 1, 1, 1 };
    (void)state;
    for (int r = 1; r <= MAX_REPLICAS; r++)
        for (int b = 0; b < 50; b++) {
            const struct pipedream p = { 1, &r };
            assert_int_equal(hp_pipedream_version(&p, 0, b, false),
                             hp_pipedream_newest(&p, 0, b));
        }
    for (int n = 2; n <= MAX_STAGES; n++) {
        const struct pipedream p = { n, replicas };
        assert_true(hp_pipedream_version(&p, 0, 40, false) < hp_pipedream_newest(&p, 0, 40));
    }
}

/* Emulation ---------------------------------------------------------------------------- */

struct emulation {
    struct pipedream p;
    int n; /* minibatches: whole periods of every stage */
    struct slot order[MAX_STAGES][2 * MAX_MINIBATCHES];
    int at[MAX_STAGES][MAX_REPLICAS]; /* next slot */
    bool forward[MAX_STAGES][MAX_MINIBATCHES], backward[MAX_STAGES][MAX_MINIBATCHES];
    int version[MAX_STAGES]; /* updates done */
    int used[MAX_STAGES][MAX_MINIBATCHES], newest[MAX_STAGES][MAX_MINIBATCHES];
};

/* All backward passes of a period done: its weights are updated. */
static void update(struct emulation *e, int s)
{
    int r = e->p.replicas[s];
    for (;;) {
        int first = e->version[s] * r;
        for (int b = first; b < first + r; b++)
            if (b >= e->n || !e->backward[s][b])
                return;
        e->version[s]++;
    }
}

/* One slot of one replica, if what it waits for is there: also the update with the replica's
 * own last gradient. */
static bool step(struct emulation *e, int s, int replica)
{
    int r = e->p.replicas[s], *at = &e->at[s][replica];
    if (*at == 2 * (e->n / r))
        return false;
    struct slot slot = e->order[s][*at];
    int b = (int)slot.micro * r + replica;
    int ended = 0;
    for (int i = 0; i < *at; i++)
        ended += e->order[s][i].phase == PHASE_BACKWARD;
    if (e->version[s] < ended)
        return false;
    if (slot.phase == PHASE_BACKWARD) {
        if (s < e->p.n_stages - 1 && !e->backward[s + 1][b])
            return false;
        assert_true(e->forward[s][b]);
        e->newest[s][b] = e->version[s];
        e->backward[s][b] = true;
        update(e, s);
    } else {
        if (s > 0 && !e->forward[s - 1][b])
            return false;
        e->used[s][b] = e->version[s];
        e->forward[s][b] = true;
    }
    ++*at;
    return true;
}

static void emulate(struct emulation *e, struct random *random)
{
    for (bool moved = true; moved;) {
        moved = false;
        int turn = (int)hp_random_below(random, 1000); /* whoever comes first, the same */
        for (int i = 0; i < e->p.n_stages; i++) {
            int s = (i + turn) % e->p.n_stages;
            for (int k = 0; k < e->p.replicas[s]; k++)
                moved |= step(e, s, (k + turn) % e->p.replicas[s]);
        }
    }
}

static void check_pipeline(const int *replicas, int n_stages, int n, struct random *random)
{
    static struct emulation e;
    memset(&e, 0, sizeof e);
    e.p = (struct pipedream){ n_stages, replicas };
    e.n = n;
    for (int s = 0; s < n_stages; s++)
        hp_alternate(e.order[s], s, n / replicas[s], hp_pipedream_stage_in_flight(&e.p, s));
    emulate(&e, random);
    for (int s = 0; s < n_stages; s++) {
        int64_t late = 0, synced_late = 0;
        for (int b = 0; b < n; b++) {
            assert_true(e.backward[s][b]); /* nobody waits for ever */
            int64_t version = hp_pipedream_version(&e.p, s, b, false);
            assert_int_equal(e.used[s][b], version);
            assert_int_equal(e.newest[s][b], hp_pipedream_newest(&e.p, s, b));
            int64_t synced = hp_pipedream_version(&e.p, s, b, true);
            assert_true(synced <= version); /* it has been there, and is still kept */
            assert_true(e.newest[s][b] - version < hp_pipedream_stage_in_flight(&e.p, s));
            late = e.newest[s][b] - version > late ? e.newest[s][b] - version : late;
            if (e.newest[s][b] - synced > synced_late)
                synced_late = e.newest[s][b] - synced;
        }
        assert_int_equal(hp_pipedream_delay(&e.p, s, false), late);
        assert_int_equal(hp_pipedream_delay(&e.p, s, true), synced_late);
    }
}

static void emulated_versions_are_the_formula(void **state)
{
    enum { PIPELINES = 400, SEED = 7 };
    struct random random = { SEED };
    (void)state;
    printf("seed %d\n", SEED);
    for (int i = 0; i < PIPELINES; i++) {
        int replicas[MAX_STAGES], n = 1 + (int)hp_random_below(&random, MAX_STAGES);
        for (int s = 0; s < n; s++)
            replicas[s] = 1 + (int)hp_random_below(&random, MAX_REPLICAS);
        check_pipeline(replicas, n, 180, &random);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(four_stages_alternate),
        cmocka_unit_test(noam_is_workers_over_input_replicas),
        cmocka_unit_test(straight_pipelines_lag_as_the_paper_says),
        cmocka_unit_test(one_stage_sees_the_last_update),
        cmocka_unit_test(emulated_versions_are_the_formula),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
