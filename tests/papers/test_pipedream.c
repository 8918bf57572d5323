/* Every row of the published optimizer's results, recomputed from the published profiles. The
 * profiles are others' data and are outside the repository; without them the test tests nothing
 * and says so. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include <hypar/search.h>

#include "tests/papers/pipedream_printed.h"

enum { SKIPPED = 77 };

static void assert_near(double x, double y, double tolerance)
{
    if (!(fabs(x - y) <= tolerance))
        fail_msg("%.9g, expected %.9g within %g", x, y, tolerance);
}

static void check_row(const struct pipedream_row *row)
{
    const double last_digit = 5.1e-7; /* of what is printed; below 1e-5 of most of it */
    char path[256], replicas[200];
    struct hypar_graph *graph;
    struct hypar_machine *machine;
    struct hypar_found *found;
    struct hypar_error err;
    struct hypar_search_options options = { .planner = "pipedream",
                                            .straight = row->straight,
                                            .free_transfers = row->free_transfers };
    pipedream_profile(path, sizeof path, row->profile);
    if (hypar_import(&graph, path, NULL, &err) ||
        hypar_machine_read(&machine, row->machine, &err) ||
        hypar_search(&found, graph, machine, &options, &err))
        fail_msg("%s", err.text);
    const struct hypar_pipeline_view *view = hypar_found_pipeline(found);
    pipedream_replicas(view, replicas);
    printf("%-8s %-44s %.6f %s (published %.6f %s)\n", row->profile, row->machine,
           view->bottleneck_s, replicas, row->bottleneck_s, row->replicas);
    assert_int_equal(view->n_states, row->states);
    assert_near(view->one_worker_s, row->one_worker_s, last_digit);
    assert_near(view->bottleneck_s, row->bottleneck_s, last_digit);
    if (row->dp_speedup > 0) {
        assert_near(view->one_worker_s / view->dp_bottleneck_s, row->dp_speedup, 5.1e-4);
        assert_near(view->dp_bottleneck_s / view->bottleneck_s, row->over_dp, 5.1e-4);
    }
    if (row->unique)
        assert_string_equal(replicas, row->replicas);
    int workers = 0;
    for (int s = 0; s < view->n_stages; s++)
        workers += view->stage[s].replicas;
    assert_int_equal(workers, hypar_machine_device_count(machine));
    hypar_found_free(found);
    hypar_machine_free(machine);
    hypar_graph_free(graph);
}

static void the_published_results_come_out(void **state)
{
    (void)state;
    for (int i = 0; i < N_PIPEDREAM_ROWS; i++)
        check_row(&pipedream_rows[i]);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(the_published_results_come_out) };
    char path[256];
    pipedream_profile(path, sizeof path, "vgg16");
    if (access(path, R_OK) != 0) {
        printf("skipped: %s, a published profile, is not there\n", path);
        return SKIPPED;
    }
    return cmocka_run_group_tests(tests, NULL, NULL);
}
