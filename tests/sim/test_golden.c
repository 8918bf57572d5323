/* FlexFlow (MLSys 2019), Figure 4: three layers, two unrolled steps, three devices. Every ready
 * and start time, by full simulation and by delta; units of time are seconds. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <hypar/sim.h>

#include "base/files/json.h"
#include "sim/delta/timeline.h"
#include "sim/flat/file.h"
#include "sim/full/timeline.h"

#define COUNT(array) ((int)(sizeof(array) / sizeof(array)[0]))

enum { IDS = 18, MAX_AFTER = 4 };

static const ticks SECOND = 1000000000000;

struct row {
    int id, ready, start;
};

/* Each layer in two parts; then the recurrent layer's first step (8, 9) in one. */
static const struct row before_rows[] = {
    { 0, 0, 0 },  { 1, 0, 2 },    { 2, 0, 4 },  { 3, 0, 6 },    /* embed, GPU 1 */
    { 4, 2, 2 },  { 5, 4, 4 },    { 6, 6, 6 },  { 7, 8, 8 },    /* 1 to 2 */
    { 8, 3, 3 },  { 9, 5, 5 },    { 10, 7, 7 }, { 11, 9, 9 },   /* recurrent, GPU 2 */
    { 12, 4, 4 }, { 13, 6, 6 },   { 14, 8, 8 }, { 15, 10, 10 }, /* 2 to 3 */
    { 16, 7, 7 }, { 17, 11, 11 },                               /* linear, GPU 3 */
};
static const struct row after_rows[] = {
    { 0, 0, 0 },  { 1, 0, 2 },    { 2, 0, 4 },  { 3, 0, 6 },    { 4, 2, 2 },  { 5, 4, 4 },
    { 6, 6, 6 },  { 7, 8, 8 },    { 8, 5, 5 },  { 10, 7, 7 },   { 11, 9, 9 }, { 12, 7, 7 },
    { 14, 8, 9 }, { 15, 10, 10 }, { 16, 9, 9 }, { 17, 11, 12 },
};

static const struct figure {
    const char *path;
    int makespan, n_rows;
    const struct row *row;
} before = { "examples/programs/flexflow-fig4.json", 14, COUNT(before_rows), before_rows },
  after = { "examples/programs/flexflow-fig4-after.json", 15, COUNT(after_rows), after_rows };

static struct flat_file *read_file(const struct figure *figure)
{
    struct flat_file *file;
    struct json_document *document;
    struct hypar_error err;
    if (hp_json_read_file(&document, figure->path, &err) != HYPAR_OK ||
        hp_flat_file_read(&file, document, NULL, &err) != HYPAR_OK)
        fail_msg("%s", err.text);
    hp_json_free(document);
    assert_int_equal(file->graph.n_tasks, figure->n_rows); /* every task of the figure */
    assert_int_equal(file->n_devices, 3);
    assert_int_equal(file->n_names, 2);
    return file;
}

static void expect_times(const struct figure *figure, const struct row *row, double ready,
                         double start)
{
    if (ready != row->ready || start != row->start)
        fail_msg("%s: task %d: ready %g, start %g, expected %d, %d", figure->path, row->id,
                 ready, start, row->ready, row->start);
}

/* Full ------------------------------------------------------------------------------------ */

static void check_graph(const struct figure *figure)
{
    struct flat_file *file = read_file(figure);
    struct times times[IDS];
    assert_int_equal(hp_run_graph(&file->graph, times, NULL), figure->makespan * SECOND);
    for (int i = 0; i < figure->n_rows; i++) {
        assert_int_equal(file->task[i].id, figure->row[i].id);
        expect_times(figure, &figure->row[i], hp_seconds(times[i].ready),
                     hp_seconds(times[i].start));
    }
    hp_flat_file_free(file);
}

/* The same by the public call. */
static void check_simulated(const struct figure *figure)
{
    struct hypar_sim_options options = { .timeline = true };
    struct hypar_sim *sim;
    struct hypar_error err;
    struct hypar_sim_event event;
    if (hypar_simulate_file(&sim, figure->path, NULL, &options, &err) != HYPAR_OK)
        fail_msg("%s", err.text);
    assert_true(hypar_sim_summary(sim).step_s == figure->makespan);
    assert_int_equal(hypar_sim_summary(sim).tasks, figure->n_rows);
    for (int i = 0; i < figure->n_rows; i++) {
        assert_true(hypar_sim_event(sim, i, &event));
        assert_int_equal(event.id, figure->row[i].id);
        expect_times(figure, &figure->row[i], event.ready_s, event.start_s);
    }
    assert_false(hypar_sim_event(sim, figure->n_rows, &event));
    hypar_sim_free(sim);
}

static void full(void **state)
{
    (void)state;
    check_graph(&before);
    check_graph(&after);
    check_simulated(&before);
    check_simulated(&after);
}

/* Delta ----------------------------------------------------------------------------------- */

/* A task by its id in the file, which is its number too. */
struct entry {
    bool there;
    struct sim_task task;
    int after[MAX_AFTER], n_after;
};

static void list_entries(const struct flat_file *file, struct entry entry[IDS])
{
    memset(entry, 0, IDS * sizeof *entry);
    for (int i = 0; i < file->graph.n_tasks; i++) {
        struct entry *e = &entry[file->task[i].id];
        e->there = true;
        e->task = file->graph.task[i];
        e->task.number = file->task[i].id;
        for (int64_t a = file->graph.after_start[i]; a < file->graph.after_start[i + 1]; a++) {
            assert_true(e->n_after < MAX_AFTER);
            e->after[e->n_after++] = (int)file->task[file->graph.after[a]].id;
        }
    }
}

static bool same_waits(const struct entry *a, const struct entry *b)
{
    return a->n_after == b->n_after &&
           memcmp(a->after, b->after, (size_t)a->n_after * sizeof *a->after) == 0;
}

static bool same_task(const struct entry *a, const struct entry *b)
{
    return a->task.duration == b->task.duration && a->task.queue == b->task.queue &&
           a->task.n_holds == b->task.n_holds;
}

/* Tell the timeline what is different, and nothing else; returns in how many tasks. */
static int change(struct delta_timeline *timeline, const struct entry *from,
                  const struct entry *to)
{
    int changed = 0;
    for (int id = 0; id < IDS; id++) {
        int list[MAX_AFTER];
        bool fresh = to[id].there && !from[id].there, other = to[id].there && from[id].there;
        bool put = fresh || (other && !same_task(&from[id], &to[id]));
        bool waits = fresh || (other && !same_waits(&from[id], &to[id]));
        memcpy(list, to[id].after, sizeof list);
        if (from[id].there && !to[id].there)
            hp_delta_timeline_remove(timeline, id);
        if (put)
            hp_delta_timeline_put(timeline, id, &to[id].task);
        if (waits)
            hp_delta_timeline_set_after(timeline, id, list, to[id].n_after);
        changed += put || waits || from[id].there != to[id].there;
    }
    return changed;
}

static void check_timeline(const struct delta_timeline *timeline, const struct figure *figure)
{
    assert_int_equal(hp_delta_timeline_length(timeline), figure->makespan * SECOND);
    for (int i = 0; i < figure->n_rows; i++) {
        const struct times *t = &timeline->times[figure->row[i].id];
        expect_times(figure, &figure->row[i], hp_seconds(t->ready), hp_seconds(t->start));
    }
}

static void delta(void **state)
{
    (void)state;
    struct flat_file *file[2] = { read_file(&before), read_file(&after) };
    struct entry none[IDS] = { 0 }, entry[2][IDS];
    struct delta_timeline *timeline = hp_delta_timeline_new(file[0]->graph.n_queues);
    list_entries(file[0], entry[0]);
    list_entries(file[1], entry[1]);
    assert_int_equal(file[0]->graph.n_queues, file[1]->graph.n_queues);
    assert_int_equal(change(timeline, none, entry[0]), before.n_rows);
    assert_int_equal(hp_delta_timeline_update(timeline, HP_MAX_TICKS), 14 * SECOND);
    hp_delta_timeline_keep(timeline);
    check_timeline(timeline, &before);
    for (int round = 0; round < 2; round++) { /* undone, then kept */
        assert_int_equal(change(timeline, entry[0], entry[1]), 6);
        assert_int_equal(hp_delta_timeline_update(timeline, HP_MAX_TICKS), 15 * SECOND);
        check_timeline(timeline, &after);
        if (round == 0) {
            hp_delta_timeline_undo(timeline);
            check_timeline(timeline, &before);
        }
    }
    hp_delta_timeline_keep(timeline);
    check_timeline(timeline, &after);
    assert_int_equal(change(timeline, entry[1], entry[0]), 6); /* and back by delta */
    assert_int_equal(hp_delta_timeline_update(timeline, HP_MAX_TICKS), 14 * SECOND);
    check_timeline(timeline, &before);
    hp_delta_timeline_undo(timeline);
    check_timeline(timeline, &after);
    hp_delta_timeline_free(timeline);
    hp_flat_file_free(file[0]);
    hp_flat_file_free(file[1]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(full),
        cmocka_unit_test(delta),
    };
    return cmocka_run_group_tests_name("sim/golden", tests, NULL, NULL);
}
