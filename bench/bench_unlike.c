/* Unlike machines: is auto's plan ever behind one that another planner finds, on the whole
 * machine or on a part of it?
 *
 *     make bench-unlike                 build/bench_unlike [CASES, 60] [K/N] [SEED, 1]
 *                                       K/N: the K-th of N shares, to be run side by side
 *
 * A case is a small network and a machine of 2 to 4 classes of nodes: joined clusters of other
 * devices, other sizes or other cards, and perhaps a slow node or a node with a slow card.
 * Every planner but auto, flexflow and exhaustive is run on each union of classes, and on each
 * of these without one node; its plan is moved to the whole machine and simulated there. Each
 * row has auto's step, its processor time, the best of all these plans, the best of those on
 * the whole machine, and how far auto is ahead of both. Exits with 1 if auto is behind by more
 * than rounding, or if of 60 cases or more fewer than a sixth is won by more than 5 %. */
#include <hypar/search.h>

#include <math.h>
#include <stdarg.h>
#include <string.h>

#include "base/random.h"
#include "bench/bench.h"
#include "machine/machine.h"
#include "search/evaluate/judge.h"
#include "search/planner.h"

enum { WORD = 512, MOST_CLASSES = 5, MANY = 60 };
static const double ROUNDING = 1.001, CLEARLY = 1.05;
static const double WON = 1.0 / 6; /* share of the cases */

static int below(struct random *r, int n)
{
    return (int)hp_random_below(r, n);
}

#define PICK(r, list) ((list)[below((r), (int)(sizeof(list) / sizeof *(list)))])

/* Append to a word. */
static HYPAR_PRINTF(2, 3) void append(char *word, const char *format, ...)
{
    size_t n = strlen(word);
    va_list ap;
    va_start(ap, format);
    vsnprintf(word + n, WORD - n, format, ap);
    va_end(ap);
}

/* Cases ------------------------------------------------------------------------------------ */

struct unlike {
    char model[WORD], machine[WORD];
    int64_t batch;
    enum hypar_precision precision;
};

/* Most cases have few devices: planners take their time for each subset. */
static void draw_machine(struct random *r, char *word)
{
    static const char *const devices[] = { "a100", "h100", "v100", "l40s", "t4", "h200" };
    static const double links[] = { 1, 3, 12.5, 25, 50 };
    static const int sizes[] = { 1, 2, 2, 4, 4, 4, 8 }, nodes[] = { 1, 1, 2, 2, 3, 4 };
    int n = 1 + below(r, 3), each = PICK(r, sizes), grows = below(r, 8) == 0 ? 4 : 1;
    bool slow = n == 1 || below(r, 2);
    *word = '\0';
    for (int p = 0; p < n; p++) {
        int here = (n == 1 ? 3 : 0) + PICK(r, nodes);
        append(word, "%scluster:%dx%d,device=%s", p ? "+" : "", here * grows,
               below(r, 4) ? each : PICK(r, sizes), PICK(r, devices));
        if (below(r, 2))
            append(word, ",inter=%gGB/s", PICK(r, links));
        if (p < n - 1 || !slow)
            continue;
        static const char *const figures[] = { "peak=0.5x", "peak=0.8x", "inter=0.25x",
                                               "inter=0.1x" };
        append(word, ",node%d.%s", below(r, here * grows), PICK(r, figures));
    }
}

static struct unlike draw(uint64_t seed)
{
    static const char *const models[] = {
        "lenet5",
        "alexnet",
        "vgg:image=64",
        "resnet18",
        "mobilenet-v2",
        "mlp:784-4096-4096-4096-10",
        "mlp:1024-8192-1024-8192-1000",
        "bert:layers=2,hidden=512,heads=8,seq=128,vocab=8000",
        "gpt:layers=4,hidden=1024,heads=16,seq=256,vocab=16000",
        "gpt:layers=6,hidden=768,heads=12,seq=512,vocab=32000",
        "llama:layers=3,hidden=1024,heads=16,seq=256,vocab=8000",
        "vit-b-16:layers=3",
    };
    static const int64_t batches[] = { 16, 24, 48, 60, 64, 96, 120, 128, 240, 256 };
    struct random r = { seed };
    r.state = hp_random_u64(&r); /* not a stream that another seed's is a part of */
    struct unlike c = { .batch = PICK(&r, batches),
                        .precision = below(&r, 3) ? HYPAR_BF16 : HYPAR_FP32 };
    append(c.model, "%s", PICK(&r, models));
    draw_machine(&r, c.machine);
    return c;
}

/* Other planners --------------------------------------------------------------------------- */

struct contest {
    struct arena arena;
    struct hypar_graph *graph;
    struct hypar_machine *machine;
    struct hypar_search_options options;
    struct problem problem;
    int n_subsets;
    double best_s, whole_s;
    char best[WORD], whole[WORD];
};

/* The step of a plan on these devices, moved to the whole machine; INFINITY: it does not
 * fit. */
static double moved_step(const struct contest *c, const struct hypar_plan *plan,
                         const int *device)
{
    struct hypar_found found = { .info = { .planner = "dp" } };
    found.plan = hp_plan_carry(plan, c->machine, device, &c->problem.settings);
    double step_s = INFINITY;
    if (hp_judge(&c->problem, &found, NULL) == HYPAR_OK) {
        struct verdict v = hp_verdict(&c->problem, &found);
        step_s = hp_fits(&v.memory) ? v.step_s : INFINITY;
    }
    hypar_plan_free(found.plan);
    hp_arena_free(&found.arena);
    return step_s;
}

static void try_planner(struct contest *c, const struct planner *planner,
                        const struct hypar_machine *machine, const int *device, int n,
                        const char *name)
{
    struct arena scratch = { 0 };
    struct problem problem = hp_problem(&scratch, c->graph, machine, &c->options);
    struct hypar_found *found;
    bool whole = n == hypar_machine_device_count(c->machine);
    problem.whole = true;
    problem.settings.machine_word = NULL;
    if (hp_run_planner(planner, &problem, &found, NULL) == HYPAR_OK) {
        double step_s = moved_step(c, found->plan, device);
        if (step_s < c->best_s) {
            c->best_s = step_s;
            snprintf(c->best, sizeof c->best, "%s on %s", planner->info.name, name);
        }
        if (whole && step_s < c->whole_s) {
            c->whole_s = step_s;
            snprintf(c->whole, sizeof c->whole, "%s", planner->info.name);
        }
        hypar_found_free(found);
    }
    hp_arena_free(&scratch);
}

/* All planners on the devices of these nodes. */
static void try_subset(struct contest *c, const bool *kept, const char *name)
{
    const struct hypar_machine *m = c->machine;
    struct hypar_machine *there;
    int *device = NEW(&c->arena, int, m->n_devices), n = 0;
    for (int d = 0; d < m->n_devices; d++)
        if (kept[hp_machine_node(m, d)])
            device[n++] = d;
    if (n == 0 || hp_machine_subset(&there, m, device, n, NULL) != HYPAR_OK)
        return;
    c->n_subsets++;
    for (int i = 0; hp_planner_at(i); i++)
        if (!hp_planner_at(i)->random_search && !hp_planner_at(i)->not_in_auto &&
            hp_planner_at(i) != &hp_planner_flexflow)
            try_planner(c, hp_planner_at(i), there, device, n, name);
    hypar_machine_free(there);
}

/* Each union of parts, a run of equal nodes each, and each without one node of a part. */
static void try_subsets(struct contest *c)
{
    const struct hypar_machine *m = c->machine;
    bool *kept = NEW(&c->arena, bool, hp_machine_rows(m));
    int n = m->n_parts < MOST_CLASSES ? m->n_parts : MOST_CLASSES;
    for (int set = (1 << n) - 1; set > 0; set--)
        for (int out = -1; out < n; out++) {
            char name[64] = "parts";
            if (out >= 0 && (!(set >> out & 1) || m->parts[out].dim[0] < 2))
                continue;
            for (int p = 0; p < m->n_parts; p++)
                for (int i = 0; i < m->parts[p].dim[0]; i++)
                    kept[m->parts[p].first_node + i] =
                        (p >= n || set >> p & 1) && !(p == out && i == 0);
            for (int p = 0; p < n; p++)
                if (set >> p & 1)
                    append(name, " %d%s", p, p == out ? "-1" : "");
            try_subset(c, kept, set == (1 << n) - 1 && out < 0 ? "all" : name);
        }
}

/* Cases ------------------------------------------------------------------------------------ */

struct tally {
    int cases, without, behind, won, won_whole;
    double auto_s, others_s; /* processor time */
    char list[1 << 12];
};

static double auto_step(struct contest *c, const char **planner, int *idle)
{
    struct hypar_found *found;
    *planner = "-";
    *idle = 0;
    if (hypar_search(&found, c->graph, c->machine, &c->options, NULL) != HYPAR_OK)
        return INFINITY;
    struct hypar_simulated const *s = hypar_found_simulated(found);
    double step_s = s ? s->step.step_s : hypar_found_prediction(found).step_s;
    *planner = hypar_found_info(found).planner;
    *idle = hypar_plan_idle_devices(hypar_found_plan(found));
    hypar_found_free(found);
    return step_s;
}

static void compare(struct tally *t, uint64_t seed)
{
    struct unlike u = draw(seed);
    struct hypar_error err;
    struct hypar_import_options import = { .batch = u.batch };
    struct hypar_sim_options how = { 0 };
    struct contest c = { .best_s = INFINITY, .whole_s = INFINITY, .best = "-", .whole = "-" };
    const char *planner;
    int idle;
    how = hp_settled(&how);
    c.options = (struct hypar_search_options){
        .model = u.model, .precision = u.precision, .threads = 1, .simulation = &how
    };
    must(hypar_import(&c.graph, u.model, &import, &err), &err);
    must(hypar_machine_read(&c.machine, u.machine, &err), &err);
    c.problem = hp_problem(&c.arena, c.graph, c.machine, &c.options);
    double began_s = now_s();
    double auto_s = auto_step(&c, &planner, &idle);
    double planned_s = now_s();
    try_subsets(&c);
    double ended_s = now_s();
    bool none = !(auto_s < INFINITY) && !(c.best_s < INFINITY);
    bool behind = !none && !(auto_s <= ROUNDING * c.best_s);
    t->cases++;
    t->without += none;
    t->behind += behind;
    t->won += c.best_s >= CLEARLY * auto_s;
    t->won_whole += c.whole_s >= CLEARLY * auto_s;
    t->auto_s += planned_s - began_s;
    t->others_s += ended_s - planned_s;
    printf(
        "%4llu %s, %lld, %s; %s, %d devices: %s %.4g us, %d idle; best of %d subsets %.4g us "
        "(%s), of all devices %.4g us (%s); ahead %.1f %%, %.1f %%%s; %.1f s, %.1f s\n",
        (unsigned long long)seed, u.model, (long long)u.batch,
        hypar_precision_text(u.precision), u.machine, c.machine->n_devices, planner,
        1e6 * auto_s, idle, c.n_subsets, 1e6 * c.best_s, c.best, 1e6 * c.whole_s, c.whole,
        100 * (c.best_s / auto_s - 1), 100 * (c.whole_s / auto_s - 1), behind ? " BEHIND" : "",
        planned_s - began_s, ended_s - planned_s);
    fflush(stdout);
    if (behind)
        append(t->list, " %llu", (unsigned long long)seed);
    hypar_graph_free(c.graph);
    hypar_machine_free(c.machine);
    hp_arena_free(&c.arena);
}

int main(int argc, char **argv)
{
    static struct tally t;
    take_words(argc, argv, 3, "[CASES [K/N [SEED]]]");
    int cases = argc > 1 ? atoi(argv[1]) : 60, share = 1, shares = 1;
    long long seed = argc > 3 ? atoll(argv[3]) : 1;
    if (argc > 2 && (sscanf(argv[2], "%d/%d", &share, &shares) != 2 || shares < 1)) {
        fprintf(stderr, "bench_unlike: share '%s', expected K/N\n", argv[2]);
        return 2;
    }
    for (int i = share - 1; i < cases; i += shares)
        compare(&t, (uint64_t)(seed + i));
    printf(
        "%d cases, %d without a plan that fits: auto is behind in %d%s%s; ahead by more than "
        "5 %% of all in %d, of the other planners on all devices in %d; auto took %.0f s, "
        "the others %.0f s\n",
        t.cases, t.without, t.behind, *t.list ? ":" : "", t.list, t.won, t.won_whole, t.auto_s,
        t.others_s);
    return t.behind > 0 || (t.cases >= MANY && t.won < WON * t.cases);
}
