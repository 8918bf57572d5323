/* All-reduces by a given algorithm: the step as one task and message by message, by delta and
 * in a search; and unknown names. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>
#include <hypar/search.h>

#include "cost/collective_rounds.h"
#include "plan/plan.h"
#include "tests/all_reduces.h"
#include "tests/simulated.h"

enum { MAX_WORDS = 16, WORD_BYTES = 32 };

/* The words of all rows: a row added without being reachable fails here. */
struct words {
    int n;
    char word[MAX_WORDS][WORD_BYTES];
    const char *name[MAX_WORDS];
    bool asked_for[MAX_WORDS]; /* alone */
};

static void list_words(struct words *w)
{
    const struct comm_algorithm *row;
    w->n = 0;
    for (int i = 0; (row = hp_comm_algorithm(i)); i++) {
        if (row->kind != COMM_ALL_REDUCE)
            continue;
        assert_true(w->n < MAX_WORDS && strlen(row->name) < WORD_BYTES);
        snprintf(w->word[w->n], WORD_BYTES, "%s", row->name);
        for (char *c = w->word[w->n]; *c; c++)
            *c = *c == ' ' ? '-' : *c;
        w->asked_for[w->n] = row->asked_for;
        w->name[w->n++] = row->name;
    }
}

struct setting {
    struct hypar_graph *graph;
    struct hypar_machine *machine;
    struct hypar_found *found;
    const struct hypar_plan *plan;
};

static struct setting data_parallel(const char *model, int batch, const char *machine)
{
    struct setting s;
    struct hypar_error err;
    struct hypar_import_options import = { .batch = batch };
    struct hypar_search_options search = { .planner = "dp", .memory_bytes = 1e15 };
    if (hypar_import(&s.graph, model, &import, &err) != HYPAR_OK ||
        hypar_machine_read(&s.machine, machine, &err) != HYPAR_OK ||
        hypar_search(&s.found, s.graph, s.machine, &search, &err) != HYPAR_OK)
        fail_msg("%s", err.text);
    s.plan = hypar_found_plan(s.found);
    return s;
}

static void release(struct setting *s)
{
    hypar_found_free(s->found);
    hypar_machine_free(s->machine);
    hypar_graph_free(s->graph);
}

static const char *const machines[] = { "full:2", "full:4", "cluster:2x3", "ring:5",
                                        "htree:8" };
enum { MACHINES = sizeof machines / sizeof machines[0] };

/* All devices do the same, so without overlap a step is computing and all-reduces. */
static void a_step_is_computing_and_sums(void **state)
{
    (void)state;
    struct words words;
    list_words(&words);
    for (int m = 0; m < MACHINES; m++) {
        struct setting s = data_parallel("lenet5", 40, machines[m]);
        struct hypar_sim_options how = { .no_overlap = true };
        double rest_s = summary_of(s.plan, &how).step_s - all_reduces_s(s.plan, NULL);
        how.all_reduce = "auto";
        double auto_s = summary_of(s.plan, &how).step_s;
        expect_near("auto", auto_s, rest_s + all_reduces_s(s.plan, NULL), 1e-12);
        for (int w = 0; w < words.n; w++) {
            how.all_reduce = words.word[w];
            double step_s = summary_of(s.plan, &how).step_s;
            expect_near(words.word[w], step_s, rest_s + all_reduces_s(s.plan, words.name[w]),
                        1e-6);
            assert_true(step_s >= auto_s * (1 - 1e-9) || words.asked_for[w]);
        }
        release(&s);
    }
}

/* On grids, too, a ring passes from neighbour to neighbour: a step that is little but one sum
 * takes what its bytes take on links of their own, as one task and message by message. */
static void rings_follow_neighbours(void **state)
{
    (void)state;
    static const char *const grids[] = { "mesh:4x4",  "mesh:2x8",  "torus:2x2x2x2",
                                         "torus:4x4", "torus:3x4", "ring:16" };
    const double bytes = 4 * 1024 * 1024, bytes_per_s = 1e6;
    for (size_t g = 0; g < sizeof grids / sizeof *grids; g++) {
        char word[64];
        snprintf(word, sizeof word, "%s,bandwidth=1MB/s,latency=0", grids[g]);
        struct setting s = data_parallel("mlp:1024-1024", 48, word);
        double n = hypar_machine_device_count(s.machine);
        double one_way_s = 2 * (n - 1) / n * bytes / bytes_per_s;
        for (int expand = 0; expand < 2; expand++) {
            struct hypar_sim_options how = { .expand_collectives = expand };
            expect_near(grids[g], summary_of(s.plan, &how).step_s, one_way_s / 2, .01);
            how.all_reduce = "ring";
            expect_near(grids[g], summary_of(s.plan, &how).step_s, one_way_s, .01);
        }
        release(&s);
    }
}

/* Direct: on links of its own for each pair 1/n of the bytes there, and as much back. */
static void direct_takes_all_links(void **state)
{
    (void)state;
    const double bytes = 4 * 1024 * 1024, bytes_per_s = 1e6;
    static const int sizes[] = { 4, 6, 16 };
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        char word[64];
        snprintf(word, sizeof word, "full:%d,bandwidth=1MB/s,latency=0", sizes[i]);
        struct setting s = data_parallel("mlp:1024-1024", 48, word);
        for (int expand = 0; expand < 2; expand++) {
            struct hypar_sim_options how = { .expand_collectives = expand,
                                             .all_reduce = "direct" };
            expect_near(word, summary_of(s.plan, &how).step_s,
                        2 * bytes / sizes[i] / bytes_per_s, .01);
        }
        release(&s);
    }
}

/* The events say how it is done, and there are as many messages as that has. */
static int count_events(const struct hypar_plan *plan, struct hypar_sim_options how,
                        const char *name)
{
    char text[64];
    struct hypar_sim_event event;
    how.timeline = true;
    struct hypar_sim *sim = simulate(plan, &how);
    int n = 0;
    snprintf(text, sizeof text, "(%s)", name);
    for (int64_t i = 0; hypar_sim_event(sim, i, &event); i++)
        n += strstr(event.name, text) != NULL;
    hypar_sim_free(sim);
    return n;
}

static void expanded_messages_are_its_own(void **state)
{
    (void)state;
    struct words words;
    list_words(&words);
    struct setting s = data_parallel("lenet5", 32, "cluster:2x4,nvls=on,sharp=on");
    for (int w = 0; w < words.n; w++) {
        struct hypar_sim_options how = { .all_reduce = words.word[w] };
        struct hypar_sim_summary one = summary_of(s.plan, &how);
        assert_true(count_events(s.plan, how, words.name[w]) > 0);
        how.expand_collectives = true;
        struct hypar_sim_summary each = summary_of(s.plan, &how);
        assert_true(each.comm > one.comm && each.comm_bytes == one.comm_bytes);
        expect_near(words.word[w], each.link_bytes, one.link_bytes, 1e-9);
        if (strcmp(words.word[w], "server") == 0) /* everyone to it and back, nobody else */
            assert_int_equal(each.comm, one.comm * 2 * 7);
    }
    release(&s);
}

static void delta_finds_the_same(void **state)
{
    (void)state;
    struct words words;
    list_words(&words);
    struct setting s = data_parallel("lenet5", 32, "cluster:2x2");
    for (int w = 0; w < words.n; w++)
        for (int expand = 0; expand < 2; expand++) {
            struct hypar_sim_options how = { .all_reduce = words.word[w],
                                             .expand_collectives = expand };
            struct hypar_delta_check check;
            struct hypar_error err;
            if (hypar_check_delta(&check, s.plan, &how, 40, w + 1, &err) != HYPAR_OK)
                fail_msg("%s", err.text);
            if (check.mismatches)
                fail_msg("%s, seed %d: %s", words.word[w], w + 1, check.first_mismatch);
        }
    release(&s);
}

/* What a search says of its plan is what simulating it says, with the same options. */
static void searches_use_it(void **state)
{
    (void)state;
    struct setting s = data_parallel("lenet5", 32, "cluster:2x2");
    static const char *const planners[] = { "flexflow", "dp", "auto" };
    struct hypar_sim_options how = { .all_reduce = "server", .no_overlap = true };
    double step_s[3];
    for (int p = 0; p < 3; p++) {
        struct hypar_search_options search = { .planner = planners[p],
                                               .simulation = &how,
                                               .proposals = 200 };
        struct hypar_found *found;
        struct hypar_error err;
        hypar_keep_options(&search, planners[p]);
        if (hypar_search(&found, s.graph, s.machine, &search, &err) != HYPAR_OK)
            fail_msg("%s", err.text);
        step_s[p] = hypar_found_simulated(found)->step.step_s;
        assert_true(step_s[p] == summary_of(hypar_found_plan(found), &how).step_s);
        hypar_found_free(found);
    }
    assert_true(step_s[0] < step_s[1] && step_s[2] <= step_s[1]);
    release(&s);
}

static void unknown_names(void **state)
{
    (void)state;
    static const struct {
        const char *word, *text;
    } cases[] = {
        { "rign", "unknown all-reduce 'rign', did you mean ring?" },
        { "hierarchical-sever", "did you mean hierarchical-server" },
        { "frobnicate", "expected one of auto, ring, two-way-ring" },
        { "frobnicate", ", server, hierarchical-server" }, /* the last of them */
        { "", "expected one of auto, " },
        { "two way ring", "did you mean two-way-ring?" },
    };
    struct setting s = data_parallel("lenet5", 8, "full:2");
    struct hypar_error err;
    assert_int_equal(hypar_check_all_reduce(NULL, &err), HYPAR_OK);
    assert_int_equal(hypar_check_all_reduce("auto", &err), HYPAR_OK);
    assert_int_equal(hypar_check_all_reduce("server", NULL), HYPAR_OK);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct hypar_sim_options how = { .all_reduce = cases[i].word };
        struct hypar_search_options search = { .planner = "flexflow", .simulation = &how };
        struct hypar_delta_check check;
        struct hypar_found *found;
        struct hypar_sim *sim;
        assert_int_equal(hypar_check_all_reduce(cases[i].word, &err), HYPAR_USAGE);
        assert_non_null(strstr(err.text, cases[i].text));
        assert_int_equal(hypar_simulate(&sim, s.plan, &how, &err), HYPAR_USAGE);
        assert_null(sim);
        assert_int_equal(hypar_check_delta(&check, s.plan, &how, 1, 1, &err), HYPAR_USAGE);
        assert_int_equal(hypar_search(&found, s.graph, s.machine, &search, &err), HYPAR_USAGE);
        assert_non_null(strstr(err.text, cases[i].text));
    }
    release(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_step_is_computing_and_sums),
        cmocka_unit_test(rings_follow_neighbours),
        cmocka_unit_test(direct_takes_all_links),
        cmocka_unit_test(expanded_messages_are_its_own),
        cmocka_unit_test(delta_finds_the_same),
        cmocka_unit_test(searches_use_it),
        cmocka_unit_test(unknown_names),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
