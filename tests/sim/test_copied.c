/* Messages copied between ranks of one computer: strided rows, and a rank that sends alone. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "profile/profile.h"
#include "tests/scratch_file.h"
#include "tests/simulated.h"

/* Half of fc1's columns are computed on device 1, and read with the others on device 0. */
static const char text[] =
    "{\"format\": \"hypar-plan/1\", \"batch\": 3, \"model\": \"mlp:4-8-4\", "
    "\"machine\": \"full:2,device=v100\", \"ops\": ["
    "{\"name\": \"fc1\", \"split\": {\"k\": 2}, \"devices\": [0, 1]}, "
    "{\"name\": \"*\"}]}";
enum { ROWS = 3 };

static struct hypar_plan *read_plan(void)
{
    struct hypar_plan *plan;
    struct hypar_error err;
    if (hypar_plan_read(&plan, scratch_file(0, text, sizeof text - 1), NULL, &err) != HYPAR_OK)
        fail_msg("%s", err.text);
    return plan;
}

static double seconds_of(const struct hypar_profile *profile, const char *name)
{
    struct hypar_plan *plan = read_plan();
    struct hypar_sim_options how = { .timeline = true, .profile = profile };
    struct hypar_sim *sim = simulate(plan, &how);
    struct hypar_sim_event event;
    double seconds = 0;
    for (int64_t i = 0; seconds == 0 && hypar_sim_event(sim, i, &event); i++)
        if (strncmp(event.name, name, strlen(name)) == 0)
            seconds = event.end_s - event.start_s;
    if (!(seconds > 0))
        fail_msg("no '%s'", name);
    hypar_sim_free(sim);
    hypar_plan_free(plan);
    return seconds;
}

static struct hypar_profile *profile_of_messages(double seconds)
{
    struct hypar_profile *profile = hypar_profile_new();
    hp_profile_add_point(profile, "v100", "message", 64, seconds);
    return profile;
}

/* Device 0 has whole rows, of which it scatters what it gets, and gathers what it sends; device
 * 1 has just these columns. */
static void rows_that_lie_apart(void **state)
{
    (void)state;
    struct hypar_profile *profile = profile_of_messages(1e-6);
    double forward = seconds_of(profile, "send fc1");
    hp_profile_add_point(profile, "v100", "row", 4, 1e-3);
    hp_profile_add_point(profile, "v100", "row", 16, 5e-3);
    expect_near("forward", seconds_of(profile, "send fc1"), forward + ROWS * 5e-3, 1e-9);
    expect_near("backward", seconds_of(profile, "send gradient of fc1"), ROWS * 5e-3 + 1e-6,
                1e-9);
    hypar_profile_free(profile);
}

static void one_sends_alone(void **state)
{
    (void)state;
    struct hypar_profile *profile = profile_of_messages(1e-6);
    double together = seconds_of(profile, "send fc1");
    hp_profile_add_point(profile, "v100", "message alone", 64, .5e-6);
    expect_near("alone", seconds_of(profile, "send fc1"), together / 2, 1e-9);
    hypar_profile_free(profile);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows_that_lie_apart),
        cmocka_unit_test(one_sends_alone),
    };
    return cmocka_run_group_tests_name("sim: copied", tests, NULL, NULL);
}
