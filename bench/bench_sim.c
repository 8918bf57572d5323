/* How fast a step is simulated: in full, and by delta when one operator changes.
 *
 * Full: a data-parallel step of several networks. "lower" is plan to lowering, "first" the
 * timing's first simulation, in which what each kind of pass and message takes is worked out,
 * "again" one more of the same timing: writing its task graph and simulating it. Tasks per
 * second are those of "again"; the aim is five million. gpt3-175b (gpt3.h) has micro-batches
 * under 1F1B; it is to take seconds.
 *
 * Proposals: from the data-parallel plan one random operator is split and placed otherwise
 * (search/mcmc/propose.h), lowered, simulated, and all is put back: by delta, and in full from
 * nothing. "early" is the mean of the first proposals, while layouts and patterns are still
 * new, "later" of those after. The aims: alexnet on 4 devices under 40 us, resnet101 and
 * inception-v3 under 400 us; by delta at least five times faster than in full on 16 devices and
 * more.
 *
 * "published" is the full simulation of FlexFlow's published code, one proposal on one arm64
 * core; it has no delta simulation.
 *
 *     bench_sim [MODEL...]      only these */
#include "bench/gpt3.h"
#include "search/mcmc/propose.h"
#include "sim/delta/delta.h"
#include "sim/full/timeline.h"

enum { RUNS = 5, EARLY = 100, LATER = 2000, MAX_FULL = 40 };

static const struct network {
    const char *model;
    int batch; /* for each device, as FlexFlow has it */
    bool local_bn;
    double published_us[3], aim_us; /* on 4, 16, 64 devices; on 4 */
} networks[] = {
    { "alexnet", 256, false, { 32, 490, 0 }, 40 },
    { "resnet101", 64, true, { 293, 0, 0 }, 400 },
    { "resnet101", 64, false, { 293, 0, 0 }, 400 },
    { "inception-v3", 64, true, { 380, 0, 0 }, 400 },
    { "inception-v3", 64, false, { 380, 0, 0 }, 400 },
    { "densenet121", 64, true, { 829, 0, 0 }, 0 },
    { "nmt", 64, false, { 248, 0, 0 }, 0 },
    { "bert-base", 16, false, { 0, 0, 0 }, 0 },
};

static const struct {
    int devices;
    const char *word;
} machines[] = {
    { 4, "cluster:1x4,device=p100" },
    { 16, "cluster:4x4,device=p100" },
    { 64, "cluster:16x4,device=p100" },
};

/* Full ------------------------------------------------------------------------------------- */

struct full_run {
    double lower_s, first_s, again_s;
    int64_t tasks;
    ticks length;
};

static struct full_run run_in_full(const struct hypar_plan *plan,
                                   const struct hypar_sim_options *options, int runs)
{
    struct full_run r = { .again_s = 1e9 };
    struct lowering *lowering;
    struct hypar_error err;
    double start_s = now_s();
    must(hp_lowering_make(&lowering, plan, &options->lower, NULL, &err), &err);
    r.lower_s = now_s() - start_s;
    start_s = now_s();
    struct timing *timing = hp_timing_new(lowering, NULL, options, NULL);
    struct timeline timeline;
    r.length = hp_timeline_run(timing, &timeline);
    r.tasks = timeline.n_instances;
    hp_timeline_end(&timeline);
    r.first_s = now_s() - start_s;
    for (int i = 0; i < runs; i++) {
        start_s = now_s();
        hp_timeline_run(timing, NULL);
        double took_s = now_s() - start_s;
        r.again_s = took_s < r.again_s ? took_s : r.again_s;
    }
    hp_timing_free(timing);
    hp_lowering_free(lowering);
    return r;
}

static void print_full(const char *name, int devices, const char *how, const struct full_run *r)
{
    printf("%-13s %5d  %-11s %10lld %9.2f %9.2f %9.2f %8.2f %9.3f\n", name, devices, how,
           (long long)r->tasks, 1e3 * r->lower_s, 1e3 * r->first_s, 1e3 * r->again_s,
           1e-6 * (double)r->tasks / r->again_s, 1e3 * hp_seconds(r->length));
    fflush(stdout);
}

static void bench_full(const struct network *n)
{
    for (size_t m = 0; m < sizeof machines / sizeof *machines; m++) {
        struct found_plan f =
            find_plan(n->model, n->batch * machines[m].devices, machines[m].word, "dp");
        for (int expand = 0; expand < 2; expand++) {
            struct hypar_sim_options options = { .lower = { .local_bn = n->local_bn },
                                                 .expand_collectives = expand };
            struct full_run r = run_in_full(hypar_found_plan(f.found), &options, RUNS);
            print_full(n->model, machines[m].devices,
                       expand        ? "expanded"
                       : n->local_bn ? "local bn"
                                     : "",
                       &r);
        }
        free_found(&f);
    }
}

static void bench_gpt3(void)
{
    struct hypar_graph *graph;
    struct hypar_machine *machine;
    struct hypar_plan *plan = gpt3_plan(&graph, &machine);
    struct full_run r = run_in_full(plan, &(struct hypar_sim_options){ 0 }, 1);
    print_full("gpt3-175b", TENSOR * PIPELINE * DATA, "1f1b", &r);
    printf("%-13s peak memory %.0f MB\n", "", peak_memory_mb());
    hypar_plan_free(plan);
    hypar_machine_free(machine);
    hypar_graph_free(graph);
}

/* Proposals -------------------------------------------------------------------------------- */

struct proposing {
    struct hypar_plan *plan;
    struct hypar_sim_options options;
    struct delta *delta;
    struct random random;
    struct proposer proposer;
    struct proposal was, now;
};

/* Draw a change of one operator, and apply it. */
static void propose(struct proposing *p)
{
    while (!hp_propose(&p->proposer, &p->random, MOVE_ONE, &p->now))
        ;
    hp_proposal_save(p->plan, &p->now, &p->was);
    hp_proposal_apply(p->plan, &p->now);
}

/* Seconds of one proposal by delta: changed, lowered, replayed, undone; 0: it cannot be lowered
 * (a batch norm split along rows has no local statistics). */
static double by_delta(struct proposing *p)
{
    struct hypar_error err;
    propose(p);
    double start_s = now_s();
    bool fine = hp_delta_change(p->delta, p->now.op, p->now.n, HP_MAX_TICKS, &err) == HYPAR_OK;
    hp_proposal_apply(p->plan, &p->was);
    hp_delta_undo(p->delta);
    return fine ? now_s() - start_s : 0;
}

static double in_full(struct proposing *p)
{
    struct lowering *lowering;
    struct hypar_error err;
    propose(p);
    double start_s = now_s();
    bool fine = hp_lowering_make(&lowering, p->plan, &p->options.lower, NULL, &err) == HYPAR_OK;
    if (fine) {
        struct timing *timing = hp_timing_new(lowering, NULL, &p->options, NULL);
        hp_timeline_run(timing, NULL);
        hp_timing_free(timing);
        hp_lowering_free(lowering);
    }
    double took_s = now_s() - start_s;
    hp_proposal_apply(p->plan, &p->was);
    return fine ? took_s : 0;
}

/* The mean of `n` proposals, or of as many as half a second has. */
static double mean_us(struct proposing *p, double (*one)(struct proposing *), int n)
{
    double sum_s = 0;
    int done = 0;
    while (done < n && (sum_s < .5 || done < 3)) {
        double took_s = one(p);
        sum_s += took_s;
        done += took_s > 0;
    }
    return 1e6 * sum_s / done;
}

static void print_or_blank(double figure)
{
    if (figure > 0)
        printf(" %9.0f", figure);
    else
        printf(" %9s", "");
}

static void bench_proposals(const struct network *n, int m)
{
    struct found_plan f =
        find_plan(n->model, n->batch * machines[m].devices, machines[m].word, "dp");
    struct proposing p = { .plan = hp_plan_copy(hypar_found_plan(f.found)),
                           .options = { .lower = { .local_bn = n->local_bn } },
                           .random = { 1 } };
    struct hypar_error err;
    hp_proposer_begin(&p.proposer, p.plan, NULL);
    hp_proposal_begin(&p.was, p.plan->graph);
    hp_proposal_begin(&p.now, p.plan->graph);
    must(hp_delta_new(&p.delta, p.plan, &p.options, NULL, &err), &err);
    double early_us = mean_us(&p, by_delta, EARLY), later_us = mean_us(&p, by_delta, LATER);
    double full_us = mean_us(&p, in_full, MAX_FULL);
    printf("%-13s %5d  %-9s %9.1f %9.1f %10.1f %7.1f x", n->model, machines[m].devices,
           n->local_bn ? "local bn" : "", early_us, later_us, full_us, full_us / later_us);
    print_or_blank(m == 0 ? n->aim_us : 0);
    print_or_blank(n->published_us[m]);
    printf("\n");
    fflush(stdout);
    hp_delta_free(p.delta);
    hp_proposal_end(&p.was);
    hp_proposal_end(&p.now);
    hp_proposer_end(&p.proposer);
    hypar_plan_free(p.plan);
    free_found(&f);
}

/* ------------------------------------------------------------------------------------------ */

static bool wanted(const char *model, int argc, char **argv)
{
    for (int i = 1; i < argc; i++)
        if (strcmp(argv[i], model) == 0)
            return true;
    return argc == 1;
}

static bool is_known(const char *model)
{
    bool known = strcmp(model, "gpt3-175b") == 0;
    for (size_t i = 0; i < sizeof networks / sizeof *networks; i++)
        known |= strcmp(model, networks[i].model) == 0;
    return known;
}

int main(int argc, char **argv)
{
    size_t n = sizeof networks / sizeof *networks;
    int known = 0;
    while (known + 1 < argc && is_known(argv[known + 1]))
        known++;
    take_words(argc, argv, known, "[MODEL...], those of its tables");
    printf("one proposal, us\n%-13s %5s  %-9s %9s %9s %10s %9s %9s %9s\n", "network", "on", "",
           "early", "later", "in full", "full/later", "aim", "published");
    for (size_t i = 0; i < n; i++)
        for (int m = 0; m < 3; m++)
            if (wanted(networks[i].model, argc, argv))
                bench_proposals(&networks[i], m);
    printf("\nfull simulation\n%-13s %5s  %-11s %10s %9s %9s %9s %8s %9s\n", "network", "on",
           "", "tasks", "lower ms", "first ms", "again ms", "M/s", "step ms");
    for (size_t i = 0; i < n; i++)
        if (wanted(networks[i].model, argc, argv))
            bench_full(&networks[i]);
    if (wanted("gpt3-175b", argc, argv))
        bench_gpt3();
    return 0;
}
