/* The number of messages of expanded collectives is known before they are expanded. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "sim/timing.h"
#include "tests/random_plan.h"

enum { PLANS = 300 };

/* Has it communications whose messages are only bounded by the estimate? */
static bool has_exchanges(const struct pattern *p)
{
    for (int c = 0; c < p->n_comms; c++)
        if (p->comm[c].kind == COMM_EXCHANGE || p->comm[c].kind == COMM_ALL_TO_ALL)
            return true;
    return false;
}

static double count_messages(struct lowering *lowering, bool *exact)
{
    struct hypar_sim_options options = { .expand_collectives = true };
    struct timing *timing = hp_timing_new(lowering, NULL, &options, NULL);
    double sum = 0;
    *exact = true;
    for (int i = 0; i < timing->blocks->n_blocks; i++) {
        struct block block = hp_block_at(timing->blocks, i);
        if (block.kind != BLOCK_EXCHANGE && block.kind != BLOCK_TAIL_EXCHANGE)
            continue;
        sum += hp_block_size(timing->blocks, i);
        *exact &= !has_exchanges(hp_exchange_pattern(lowering, block.body, block.index));
    }
    hp_timing_free(timing);
    return sum;
}

/* One plan in three with its gradients in buckets. */
static void the_estimate_is_right(void **state)
{
    static const char *const words[] = { "full:6", "cluster:2x4", "ring:5", "htree:8" };
    (void)state;
    int n_exact = 0, n_made = 0;
    for (uint64_t seed = 1; seed <= PLANS; seed++) {
        struct random random = { seed * 0x9e3779b97f4a7c15 };
        struct plan_focus none = { -1, -1, -1, false };
        struct hypar_lower_options lower = { .bucket_bytes = seed % 3 ? 0 : 200 };
        struct hypar_machine *machine;
        struct lowering *lowering;
        bool exact;
        assert_int_equal(hypar_machine_read(&machine, words[seed % 4], NULL), HYPAR_OK);
        struct hypar_graph *graph = random_graph(&random, OP_KIND_COUNT);
        struct hypar_plan *plan = random_plan(&random, graph, machine, &none);
        if (hp_lowering_make(&lowering, plan, &lower, NULL, NULL) == HYPAR_OK) {
            double is = count_messages(lowering, &exact);
            double expected = hp_estimate_messages(lowering);
            if (exact ? is != expected : is > expected)
                fail_msg("seed %llu: %.0f messages, expected %.0f", (unsigned long long)seed,
                         is, expected);
            n_exact += exact;
            n_made++;
            hp_lowering_free(lowering);
        }
        hypar_plan_free(plan);
        hypar_graph_free(graph);
        hypar_machine_free(machine);
    }
    print_message("  %d plans, %d of them without exchanges of no pattern\n", n_made, n_exact);
    assert_true(n_made > PLANS / 2 && n_exact > PLANS / 10);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(the_estimate_is_right) };
    return cmocka_run_group_tests_name("sim: messages", tests, NULL, NULL);
}
