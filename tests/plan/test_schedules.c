/* Rows of plan/schedules.h against their own slots: a row's micro-batches in flight and step
 * time equal those of executing its slots one by one. */
#include "plan/schedules.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

enum { MOST_STAGES = 24, MOST_MICRO = 48 };

/* Slots of all groups of devices, and how far each group is. */
struct run {
    struct pipeline_size size;
    bool apart;
    int n_slots;
    struct slot slot[MOST_STAGES][3 * MOST_MICRO * MOST_STAGES];
    int next[MOST_STAGES];
    double free_s[MOST_STAGES]; /* when a group has done its last slot */
    double done_s[PHASE_UPDATE][MOST_STAGES][MOST_MICRO]; /* negative: not done */
};

static int stages_of(const struct run *r)
{
    return r->size.groups * r->size.chunks;
}

static void fill(struct run *r, enum hypar_schedule_kind kind)
{
    for (int g = 0; g < r->size.groups; g++) {
        int stage[MOST_STAGES], n = 0;
        for (int s = 0; s < stages_of(r); s++)
            if (hp_stage_group(kind, &r->size, s) == g)
                stage[n++] = s;
        assert_int_equal(n, r->size.chunks);
        r->n_slots = hp_schedule[kind].fill(&r->size, stage, r->slot[g]);
        r->next[g] = 0;
        r->free_s[g] = 0;
    }
    for (int phase = 0; phase < PHASE_UPDATE; phase++)
        for (int s = 0; s < stages_of(r); s++)
            for (int m = 0; m < r->size.n_micro; m++)
                r->done_s[phase][s][m] = -1;
}

/* Forward, backward and gradients take 1 s each; without slots of their own gradients are part
 * of the backward half. */
static double slot_seconds(const struct run *r, enum phase phase)
{
    return phase == PHASE_BACKWARD && !r->apart ? 2 : 1;
}

/* When a slot may begin; negative: what it waits for is not done yet. */
static double ready_s(const struct run *r, const struct slot *slot)
{
    int s = slot->stage, m = slot->micro;
    if (slot->phase == PHASE_FORWARD)
        return s == 0 ? 0 : r->done_s[PHASE_FORWARD][s - 1][m];
    if (slot->phase == PHASE_GRADIENT)
        return r->done_s[PHASE_BACKWARD][s][m];
    double own_s = r->done_s[PHASE_FORWARD][s][m];
    double error_s = s == stages_of(r) - 1 ? 0 : r->done_s[PHASE_BACKWARD][s + 1][m];
    return own_s < 0 || error_s < 0 ? -1 : fmax(own_s, error_s);
}

/* Go through all slots; returns when the last one is done. */
static double go_through(struct run *r)
{
    double end_s = 0;
    for (bool any = true; any;) {
        any = false;
        for (int g = 0; g < r->size.groups; g++)
            while (r->next[g] < r->n_slots) {
                const struct slot *slot = &r->slot[g][r->next[g]];
                double from_s = ready_s(r, slot);
                if (from_s < 0)
                    break;
                double done_s = fmax(from_s, r->free_s[g]) + slot_seconds(r, slot->phase);
                assert_true(r->done_s[slot->phase][slot->stage][slot->micro] < 0); /* once */
                r->done_s[slot->phase][slot->stage][slot->micro] = r->free_s[g] = done_s;
                end_s = fmax(end_s, done_s);
                r->next[g]++;
                any = true;
            }
    }
    for (int g = 0; g < r->size.groups; g++)
        assert_int_equal(r->next[g], r->n_slots); /* nobody waits without end */
    return end_s;
}

/* Micro-batches that a group keeps at most, all its stages together, each a part of a
 * micro-batch: from the forward slot to the last one that reads the activations. */
static double most_kept(const struct run *r, int g)
{
    int kept = 0, most = 0;
    for (int i = 0; i < r->n_slots; i++) {
        enum phase phase = r->slot[g][i].phase;
        kept += phase == PHASE_FORWARD;
        most = kept > most ? kept : most;
        kept -= phase == (r->apart ? PHASE_GRADIENT : PHASE_BACKWARD);
    }
    return (double)most / r->size.chunks;
}

/* Does some phase of a stage take a micro-batch after a later one? */
static bool reorders(const struct run *r, int group)
{
    int last[PHASE_UPDATE][MOST_STAGES] = { 0 };
    for (int i = 0; i < r->n_slots; i++) {
        const struct slot *slot = &r->slot[group][i];
        if (slot->micro < last[slot->phase][slot->stage])
            return true;
        last[slot->phase][slot->stage] = slot->micro;
    }
    return false;
}

static struct stages_time equal_stages(const struct run *r)
{
    return (struct stages_time){ .sum_s = 3.0 * stages_of(r),
                                 .most_s = 3,
                                 .load_s = 3.0 * r->size.chunks,
                                 .gradient_part = HP_USUAL_GRADIENT_PART };
}

static void check_row(struct run *r, enum hypar_schedule_kind kind)
{
    const struct schedule_row *row = &hp_schedule[kind];
    struct stages_time t = equal_stages(r);
    r->apart = row->apart;
    fill(r, kind);
    double simulated_s = go_through(r), closed_s = row->seconds(&r->size, &t);
    /* The closed form of zb-h2 leaves out that the last stage waits for the first micro-batch.
     */
    double left_out_s = kind == HYPAR_SCHEDULE_ZB_H2 ? r->size.groups - 1 : 0;
    if (closed_s > simulated_s + 1e-9 || closed_s < simulated_s - left_out_s - 1e-9)
        fail_msg(
            "%s, %d groups, %d chunks, %d micro-batches: %g s in closed form, %g s by slots",
            hypar_schedule_text(kind), r->size.groups, r->size.chunks, (int)r->size.n_micro,
            closed_s, simulated_s);
    for (int g = 0; g < r->size.groups; g++) {
        if (reorders(r, g) != (row->reorders && r->size.n_micro > 1))
            fail_msg("%s: the row says that micro-batches are %s", row->name,
                     row->reorders ? "reordered" : "in turn");
        double kept = most_kept(r, g), says = hp_in_flight(kind, &r->size, g);
        if (kept > says + 1e-9 || (g == 0 && kept < says - 1e-9))
            fail_msg(
                "%s, group %d of %d, %d chunks, %d micro-batches: keeps %g, the row says %g",
                hypar_schedule_text(kind), g, r->size.groups, r->size.chunks,
                (int)r->size.n_micro, kept, says);
    }
}

static void rows_agree_with_their_slots(void **state)
{
    struct run *r = calloc(1, sizeof *r);
    (void)state;
    assert_non_null(r);
    for (int kind = 0; kind < hp_n_schedules; kind++)
        for (int groups = 1; groups <= 8 && hp_schedule[kind].fill; groups++)
            for (int chunks = 1; chunks <= 3; chunks++)
                for (int m = 1; m <= MOST_MICRO; m += 1 + m / 4) {
                    bool interleaves = hp_schedule[kind].interleaves;
                    r->size = (struct pipeline_size){ groups, chunks, m };
                    if ((chunks > 1) != interleaves ||
                        !hp_takes_micro_batches((enum hypar_schedule_kind)kind, groups, m) ||
                        (kind == HYPAR_SCHEDULE_NONE && groups > 1))
                        continue;
                    check_row(r, (enum hypar_schedule_kind)kind);
                }
    free(r);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(rows_agree_with_their_slots) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
