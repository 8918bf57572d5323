/* Data that several devices hold and several others read: each holder sends a piece, and the
 * readers gather them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "tests/scratch_file.h"
#include "tests/simulated.h"

/* What passes from stage to stage has 2 x 16 x 64 elements of 4 bytes, on four devices. */
enum { BYTES = 2 * 16 * 64 * 4 };

static struct hypar_plan *plan_on(const char *machine)
{
    struct hypar_plan *plan;
    struct hypar_error err;
    char text[512];
    int n = snprintf(text, sizeof text,
                     "{\"format\": \"hypar-plan/1\", \"batch\": 2, \"model\": "
                     "\"gpt:layers=2,hidden=64,heads=4,seq=16,vocab=64\", \"machine\": \"%s\", "
                     "\"layout\": {\"tensor\": 4, \"pipeline\": 2}}",
                     machine);
    if (hypar_plan_read(&plan, scratch_file(0, text, (size_t)n), NULL, &err) != HYPAR_OK)
        fail_msg("%s", err.text);
    return plan;
}

/* How long the first comm takes whose name has this in it. */
static double seconds_of(const char *machine, const char *name)
{
    struct hypar_plan *plan = plan_on(machine);
    struct hypar_sim *sim = simulate(plan, &(struct hypar_sim_options){ .timeline = true });
    struct hypar_sim_event event;
    double seconds = 0;
    for (int64_t i = 0; seconds == 0 && hypar_sim_event(sim, i, &event); i++)
        if (strstr(event.name, name))
            seconds = event.end_s - event.start_s;
    hypar_sim_free(sim);
    hypar_plan_free(plan);
    return seconds;
}

/* A card for each device: a quarter over each of them, then a gathering in the node. */
static void each_by_its_card(void **state)
{
    (void)state;
    double s = seconds_of("cluster:2x4,intra=100GB/s,inter=1GB/s,nics=4,latency=0us",
                          "broadcast h.0.mlp.add (from copies, all-gather)");
    expect_near("from copies", s, BYTES / 4 / 1e9 + .75 * BYTES / 100e9, 1e-6);
    s = seconds_of("cluster:2x4,intra=100GB/s,inter=1GB/s,nics=4,latency=0us",
                   "broadcast gradient of h.0.mlp.add (from copies, all-gather)");
    expect_near("gradient", s, BYTES / 4 / 1e9 + .75 * BYTES / 100e9, 1e-6);
}

/* One card: as much crosses it as one sender has for all, and no less. */
static void all_by_one_card(void **state)
{
    (void)state;
    double s = seconds_of("cluster:2x4,intra=100GB/s,inter=1GB/s,nics=1,latency=0us",
                          "broadcast h.0.mlp.add (");
    assert_true(s >= BYTES / 1e9 && s < 1.1 * BYTES / 1e9);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_by_its_card),
        cmocka_unit_test(all_by_one_card),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
