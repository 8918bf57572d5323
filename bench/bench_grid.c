/* What planner auto finds beside all others and beside a sweep of 3-D plans:
 *
 *     build/bench_grid [--all] [--models A,B] [--machines 1,5] [--memory own|tight]
 *                      [--part K/N] [--no-sweep]
 *     build/bench_grid --large [--models A,B] [--part K/N] [--share K/N]
 *
 * Rows are models x machines x memory (`own`: what devices have; `tight`: half of what auto's
 * plan needed of that, or 0.6, 0.7, 0.8, 0.9 of it where nothing fits into less). Every plan is
 * measured alike, whatever its planner says: simulated, where it is large from a part of it
 * (reduced.h).
 *
 * The sweep has every data x tensor x pipeline of all devices, number of micro-batches that
 * divides a replica's samples, recomputation, sharding, 1f1b and interleaved, estimated in
 * closed form (search/threed/estimate.h); the best 20 that fit are simulated, up to 64 devices
 * all within 25 % of the best, each that divides layers also with sequence parallelism.
 *
 * A row is BEHIND where auto's step is longer than that of another planner, or more than 1 %
 * longer than the sweep's best. Without --all some models on small machines. Part K of N takes
 * every N-th pair of model and machine, part 0 of N prints the head of the table, so that cores
 * can share them (bench/grid.sh). With
 * --large planner hybrid is asked for large transformers, beside the sweep, and how far from
 * the bound it is. Share K of N of a sweep looks at every N-th of its layouts, where one core
 * would take an hour: the best of all shares is the best of the sweep.
 */
#include <hypar/search.h>

#include <math.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/divisor.h"
#include "bench/bench.h"
#include "search/evaluate/judge.h"
#include "search/evaluate/reduced.h"
#include "search/threed/estimate.h"

/* The k-th of so many shares. */
struct share {
    int k, of;
};

struct model {
    const char *name, *word;
    int each; /* samples for each device, up to 256 of them */
    bool transformer;
};

/* clang-format off */
static const struct model models[] = {
    { "mlp", "mlp:4096-8192-8192-1000", 64, false },
    { "alexnet", "alexnet", 64, false },
    { "vgg16", "vgg16", 32, false },
    { "resnet50", "resnet50", 32, false },
    { "inception-v3", "inception-v3", 32, false },
    { "rnnlm", "rnnlm", 16, false },
    { "nmt", "nmt", 16, false },
    { "vit-b-16", "vit-b-16", 32, true },
    { "bert-large", "bert-large", 8, true },
    { "gpt2-xl", "gpt2-xl", 4, true },
    { "llama2-7b", "llama2-7b", 4, true },
    { "gpt3-13b", "gpt:layers=40,hidden=5120,heads=40,seq=2048", 4, true },
};

static const char *const machines[] = {
    "cluster:1x2,device=h100",
    "ring:6,device=v100-32gb",
    "cluster:4x4,device=v100-32gb,nics=1",
    "htree:16",
    "cluster:1x8,device=h100+cluster:1x8,device=a100",
    "torus:8x8,device=tpu-v4",
    "cluster:32x8,device=a100",
    "cluster:128x8,device=h100",
};

static const struct large {
    const char *model, *machine;
    int64_t batch;
} large[] = {
    { "bert-large", "cluster:4x8,device=a100", 256 },
    { "gpt2-xl", "cluster:1x4,device=a100", 512 },
    { "gpt2-xl", "cluster:1x8,device=a100", 512 },
    { "gpt2-xl", "cluster:2x8,device=a100", 512 },
    { "llama2-7b", "cluster:2x8,device=h100", 256 },
    { "llama2-7b", "cluster:4x8,device=h100", 512 },
    { "llama2-7b", "cluster:8x8,device=h100", 512 },
    { "llama2-7b", "cluster:16x8,device=h100", 1024 },
    { "llama2-70b", "cluster:8x8,device=h100", 1024 },
    { "llama2-70b", "cluster:32x8,device=h100", 1024 },
    { "llama2-70b", "cluster:64x8,device=h100", 1024 },
    { "gpt3-175b", "cluster:128x8,device=a100", 1536 },
};
/* clang-format on */

enum {
    N_MODELS = sizeof models / sizeof *models,
    N_MACHINES = sizeof machines / sizeof *machines,
    N_LARGE = sizeof large / sizeof *large,
    FEW_DEVICES = 64,
    MOST_FITTING = 20,
};

static const double WITHIN = 1.25, /* of the best closed form */
    NO_LONGER = 1.001,             /* than another planner's step, but for rounding */
    AS_GOOD = 1.01;                /* as the sweep's best */

/* One model on one machine within a limit. */
struct instance {
    struct arena arena;
    struct hypar_graph *graph;
    struct hypar_machine *machine;
    struct hypar_search_options options;
    struct problem problem;
};

static void begin(struct instance *in, const char *model, int64_t batch, const char *machine,
                  bool transformer)
{
    struct hypar_error err;
    struct hypar_import_options import = { .batch = batch };
    *in = (struct instance){ .options = { .model = model } };
    must(hypar_import(&in->graph, model, &import, &err), &err);
    must(hypar_machine_read(&in->machine, machine, &err), &err);
    if (transformer) {
        in->options.precision = HYPAR_BF16;
        in->options.optimizer = HYPAR_ADAM;
    }
    in->problem = hp_problem(&in->arena, in->graph, in->machine, &in->options);
}

static void end(struct instance *in)
{
    hypar_machine_free(in->machine);
    hypar_graph_free(in->graph);
    hp_arena_free(&in->arena);
}

/* What a plan takes, whoever made it. */
struct measured {
    double step_s; /* INFINITY: there is none that fits */
    struct fullest memory;
};

static const struct measured NONE = { .step_s = INFINITY };

static struct measured measure(const struct problem *problem, const struct hypar_plan *plan)
{
    struct hypar_sim *sim;
    struct reduced_step r;
    struct measured m = NONE;
    if (hp_is_large(plan)) {
        if (hp_simulate_reduced(problem, plan, NULL, &r, NULL) == HYPAR_OK)
            m = (struct measured){ r.step_s, r.memory };
    } else if (hypar_simulate(&sim, plan, problem->options->simulation, NULL) == HYPAR_OK) {
        struct hypar_simulated s;
        hypar_sum_up(sim, problem->options->memory_bytes, &s);
        m.step_s = s.step.step_s;
        hp_note_device(&m.memory, problem, s.step.fullest_device, &s.fullest);
        hypar_sim_free(sim);
    }
    if (m.memory.part > 1)
        m.step_s = INFINITY;
    return m;
}

/* The sweep ----------------------------------------------------------------------------- */

struct sweep {
    const struct instance *in;
    struct layout_estimate *all;
    int n, capacity;
    int simulated, fitting;
    struct measured best;
    struct hypar_layout layout; /* of the best */
};

static void add_layout(struct sweep *s, struct layout_model *model, struct layout_estimate w)
{
    if (!hp_estimate_layout(model, &w))
        return;
    s->all = GROW(model->arena, struct layout_estimate, s->all, s->n, &s->capacity);
    s->all[s->n++] = w;
}

/* Numbers of micro-batches and schedules. */
static void add_schedules(struct sweep *s, struct layout_model *model, struct layout_estimate w,
                          bool mixes)
{
    struct hypar_layout *l = &w.layout;
    int64_t each = mixes ? 1 : s->in->graph->batch / l->data;
    for (int64_t m = 0; (m = hp_next_divisor(each, m)) && m <= HP_MAX_MICRO_BATCHES;) {
        l->micro_batches = m;
        l->chunks = 1;
        l->schedule = hp_layout_schedule(l);
        add_layout(s, model, w);
        l->schedule = HYPAR_SCHEDULE_INTERLEAVED;
        for (l->chunks = 2; l->chunks <= 8 && l->pipeline > 1 && m % l->pipeline == 0;
             l->chunks *= 2)
            add_layout(s, model, w);
    }
}

static void add_degrees(struct sweep *s, struct layout_model *model, enum hypar_recompute again,
                        bool mixes)
{
    int n = hypar_machine_device_count(s->in->machine);
    for (int t = 1; t <= n; t++)
        for (int p = 1; n % t == 0 && p <= n / t; p++) {
            int d = n / t / p;
            if (n / t % p != 0 || d > s->in->graph->batch)
                continue;
            struct layout_estimate w = { .layout = { d, t, p, .recompute = again } };
            for (int shard = 0; shard < (d > 1 ? HYPAR_SHARD_COUNT : 1); shard++) {
                w.layout.shard = (enum hypar_shard)shard;
                add_schedules(s, model, w, mixes);
            }
        }
}

static int by_step(const void *a, const void *b)
{
    const struct layout_estimate *x = a, *y = b;
    return x->step_s < y->step_s ? -1 : x->step_s > y->step_s;
}

/* Layouts in the order of their closed forms. */
static void list_layouts(struct sweep *s, struct arena *arena)
{
    const struct hypar_graph *g = s->in->graph;
    bool mixes = false;
    for (int op = 0; op < g->n_ops; op++)
        mixes |= hp_op_mixes_samples(g, &g->ops[op]);
    struct layout_model model[HYPAR_RECOMPUTE_COUNT];
    for (int again = 0; again < HYPAR_RECOMPUTE_COUNT; again++) {
        model[again] = hp_layout_model(arena, &s->in->problem, (enum hypar_recompute)again);
        if (!hp_repeats_recompute(model, again))
            add_degrees(s, &model[again], (enum hypar_recompute)again, mixes);
    }
    qsort(s->all, (size_t)s->n, sizeof *s->all, by_step);
}

static void try_layout(struct sweep *s, const struct hypar_layout *layout, bool *fits)
{
    const struct problem *problem = &s->in->problem;
    struct hypar_plan *plan = hp_plan_new(problem->graph, problem->machine, &problem->settings);
    struct reduced_step r;
    if (hp_plan_set_layout(plan, layout, NULL) == HYPAR_OK &&
        hypar_plan_check(plan, NULL) == HYPAR_OK &&
        hp_simulate_reduced(problem, plan, NULL, &r, NULL) == HYPAR_OK) {
        s->simulated++;
        *fits |= r.memory.part <= 1;
        if (r.memory.part <= 1 && r.step_s < s->best.step_s) {
            s->best = (struct measured){ r.step_s, r.memory };
            s->layout = *layout;
        }
    }
    hypar_plan_free(plan);
}

/* Closed forms leave out what operators need for themselves, so those that need up to twice of
 * what there is are looked at where nothing fits. */
static struct sweep sweep(const struct instance *in, struct share share)
{
    enum { MOST_TRIED = 60 };
    struct sweep s = { .in = in, .best = NONE };
    struct arena arena = { 0 };
    double room = hp_least_room(&in->problem), best_s = 0;
    bool few = hypar_machine_device_count(in->machine) <= FEW_DEVICES;
    list_layouts(&s, &arena);
    for (int i = 0, tried = 0; i < s.n; i++) {
        const struct layout_estimate *w = &s.all[i];
        bool fits = false;
        if (w->memory_bytes > room)
            continue;
        if (s.fitting > 0 &&
            (few ? w->step_s > WITHIN * best_s : s.fitting * share.of >= MOST_FITTING))
            break;
        if (!few && tried == MOST_TRIED)
            break;
        if (tried++ % share.of != share.k - 1)
            continue;
        struct hypar_layout layout = w->layout;
        try_layout(&s, &layout, &fits);
        layout.sequence_parallel = true;
        if (layout.tensor > 1)
            try_layout(&s, &layout, &fits);
        if (fits && s.fitting++ == 0)
            best_s = w->step_s;
    }
    s.all = NULL;
    hp_arena_free(&arena);
    return s;
}

static const char *layout_text(char text[96], const struct sweep *s)
{
    const struct hypar_layout *l = &s->layout;
    if (s->best.step_s == INFINITY)
        return s->in ? "none fits" : "not looked at";
    int n = snprintf(text, 96, "%dx%dx%d m%lld", l->data, l->tensor, l->pipeline,
                     (long long)l->micro_batches);
    if (l->chunks > 1)
        n += snprintf(text + n, 96 - (size_t)n, " chunks %d", l->chunks);
    if (l->recompute)
        n += snprintf(text + n, 96 - (size_t)n, " %s", hypar_recompute_text(l->recompute));
    if (l->shard)
        n += snprintf(text + n, 96 - (size_t)n, " shard %s", hypar_shard_text(l->shard));
    if (l->sequence_parallel)
        snprintf(text + n, 96 - (size_t)n, " sp");
    return text;
}

/* Rows ---------------------------------------------------------------------------------- */

struct asked {
    const char *models, *machines, *memory; /* NULL: all */
    bool all, large, no_sweep;
    struct share part; /* of the rows */
    struct share sweep;
};

struct outcome {
    struct measured measured;
    char planner[32];
    double seconds, cpu_s, bound_s, told_s;
    bool searched; /* at random, too */
};

static struct outcome ask(const struct instance *in, const char *planner)
{
    struct outcome o = { .measured = NONE };
    struct hypar_search_options options = in->options;
    struct hypar_refusals refusals = { 0 };
    struct hypar_found *found;
    struct hypar_error err;
    double wall = wall_s(), cpu = now_s();
    options.planner = planner;
    options.refusals = &refusals;
    enum hypar_status status = hypar_search(&found, in->graph, in->machine, &options, &err);
    o.seconds = wall_s() - wall;
    o.cpu_s = now_s() - cpu;
    o.searched = true;
    for (int i = 0; i < refusals.n; i++)
        o.searched &= strcmp(refusals.by[i].planner, "flexflow") != 0;
    snprintf(o.planner, sizeof o.planner, "none");
    if (status != HYPAR_OK)
        return o;
    struct hypar_search_info info = hypar_found_info(found);
    snprintf(o.planner, sizeof o.planner, "%s", info.planner);
    o.bound_s = info.bound.step_s;
    o.told_s = found->has_simulated   ? found->simulated.step.step_s
               : info.part.step_s > 0 ? info.part.step_s
                                      : found->prediction.step_s;
    o.measured = measure(&in->problem, found->plan);
    hypar_found_free(found);
    return o;
}

/* The best of all but pipedream, whose steps overlap, and exhaustive; flexflow where auto let
 * it search. */
static struct outcome ask_others(const struct instance *in, bool searched)
{
    struct outcome best = { .measured = NONE, .planner = "none" };
    for (int i = 0; hp_planner_at(i); i++) {
        const struct planner *p = hp_planner_at(i);
        bool random = p == &hp_planner_flexflow;
        if (p->random_search || (p->not_in_auto && !random) || (random && !searched))
            continue;
        struct outcome o = ask(in, p->info.name);
        if (o.measured.step_s < best.measured.step_s)
            best = o;
    }
    return best;
}

static const char *seconds_text(char text[32], double s)
{
    return s < INFINITY ? hypar_format_quantity(text, s, HYPAR_UNIT_SECONDS) : "-";
}

struct count {
    int rows, behind, wins, none;
};

static const char *verdict(const struct measured *mine, const struct outcome *other,
                           const struct sweep *s, struct count *count)
{
    double best_s = fmin(other->measured.step_s, s->best.step_s), x = mine->step_s;
    count->rows++;
    if (x == INFINITY && best_s == INFINITY) {
        count->none++;
        return "nothing fits";
    }
    bool ahead = x <= NO_LONGER * other->measured.step_s && x <= AS_GOOD * s->best.step_s;
    count->behind += !ahead;
    if (!ahead)
        return x > NO_LONGER * other->measured.step_s ? "BEHIND planner" : "BEHIND sweep";
    bool wins = s->in && AS_GOOD * x < s->best.step_s;
    count->wins += wins;
    return wins ? "wins" : "ok";
}

static void print_row(const struct instance *in, const char *name, const char *machine,
                      const char *memory, const struct outcome *mine,
                      const struct outcome *other, const struct sweep *s, struct count *count)
{
    char step[32], other_step[32], swept[32], need[32], layout[96], honest[64] = "";
    double x = mine->measured.step_s, best_s = fmin(other->measured.step_s, s->best.step_s);
    const char *word = verdict(&mine->measured, other, s, count);
    if (x < INFINITY && fabs(mine->told_s / x - 1) > 0.001)
        snprintf(honest, sizeof honest, ", TOLD %.4g s", mine->told_s);
    printf(
        "| %s %lld | %s | %s | %s | %s | %s | %.1f | %s | %s | %s | %s, %d | %.3f | %s%s |\n",
        name, (long long)in->graph->batch, machine, memory, mine->planner,
        seconds_text(step, x),
        hypar_format_quantity(need, mine->measured.memory.need, HYPAR_UNIT_BYTES), mine->cpu_s,
        other->planner, seconds_text(other_step, other->measured.step_s),
        layout_text(layout, s), seconds_text(swept, s->best.step_s), s->simulated, x / best_s,
        word, honest);
    fflush(stdout);
}

/* False: nothing fits, and there is no row unless it is the `last` try. */
static bool one_row(struct instance *in, const struct asked *asked, const char *name,
                    const char *machine, const char *memory, const struct outcome *mine,
                    bool last, struct count *count)
{
    struct outcome other = ask_others(in, mine->searched);
    struct sweep s = { .best = NONE };
    if (!asked->no_sweep)
        s = sweep(in, asked->sweep);
    bool some =
        fmin(mine->measured.step_s, fmin(other.measured.step_s, s.best.step_s)) < INFINITY;
    if (some || last)
        print_row(in, name, machine, memory, mine, &other, &s, count);
    return some;
}

/* Half of what was needed, or more of it until something fits. */
static void tight_row(struct instance *in, const struct asked *asked, const char *name,
                      const char *machine, double need, struct count *count)
{
    bool some = false;
    for (int tenths = 5; tenths <= 9 && !some; tenths++) {
        char limit[32], text[48];
        in->options.memory_bytes = tenths * need / 10;
        struct outcome mine = ask(in, "auto");
        hypar_format_quantity(limit, in->options.memory_bytes, HYPAR_UNIT_BYTES);
        snprintf(text, sizeof text, "tight %s", limit);
        some = one_row(in, asked, name, machine, text, &mine, tenths == 9, count);
    }
}

static void both_rows(const struct asked *asked, const struct model *model, const char *machine,
                      struct count *count)
{
    struct instance in;
    struct hypar_machine *m;
    struct hypar_error err;
    must(hypar_machine_read(&m, machine, &err), &err);
    int n = hypar_machine_device_count(m);
    hypar_machine_free(m);
    begin(&in, model->word, (int64_t)model->each * (n < 256 ? n : 256), machine,
          model->transformer);
    struct outcome mine = ask(&in, "auto");
    if (!asked->memory || strcmp(asked->memory, "own") == 0)
        one_row(&in, asked, model->name, machine, "own", &mine, true, count);
    if ((!asked->memory || strcmp(asked->memory, "tight") == 0) &&
        mine.measured.step_s < INFINITY)
        tight_row(&in, asked, model->name, machine, mine.measured.memory.need, count);
    end(&in);
}

/* Planner hybrid, and what it took. */
static void large_row(const struct asked *asked, const struct large *l, struct count *count)
{
    struct instance in;
    char text[96], step[32], swept[32], need[32], layout[96];
    begin(&in, l->model, l->batch, l->machine, true);
    struct outcome mine = ask(&in, "hybrid");
    double peak_mb = peak_memory_mb(), x = mine.measured.step_s;
    struct sweep s = sweep(&in, asked->sweep);
    struct outcome other = { .measured = NONE };
    snprintf(text, sizeof text, "%s %lld", l->model, (long long)l->batch);
    printf("| %s | %s | %s | %s | %.1f %% | %s | %s, %d | %.3f | %.1f s | %.0f MB | %s |\n",
           text, l->machine, seconds_text(step, x),
           hypar_format_quantity(need, mine.measured.memory.need, HYPAR_UNIT_BYTES),
           100 * (x / mine.bound_s - 1), layout_text(layout, &s),
           seconds_text(swept, s.best.step_s), s.simulated, x / s.best.step_s, mine.cpu_s,
           peak_mb, verdict(&mine.measured, &other, &s, count));
    fflush(stdout);
    end(&in);
}

/* Is the word in a list with commas? */
static bool is_asked(const char *list, const char *word)
{
    size_t n = strlen(word);
    for (const char *at = list; at; at = strchr(at, ',')) {
        at += *at == ',';
        if (strncmp(at, word, n) == 0 && (at[n] == ',' || at[n] == '\0'))
            return true;
    }
    return !list;
}

/* In a process of its own, whose memory is that of this pair alone. */
static void run_pair(const struct asked *asked, int model, int machine, struct count *count)
{
    int to[2];
    struct count mine = { 0 };
    if (pipe(to) != 0)
        exit(1);
    pid_t child = fork();
    if (child == 0) {
        if (asked->large)
            large_row(asked, &large[model], &mine);
        else
            both_rows(asked, &models[model], machines[machine], &mine);
        _exit(write(to[1], &mine, sizeof mine) == (ssize_t)sizeof mine ? 0 : 1);
    }
    close(to[1]);
    if (read(to[0], &mine, sizeof mine) != (ssize_t)sizeof mine)
        printf("| %s | %s | FAILED |\n", asked->large ? large[model].model : models[model].name,
               asked->large ? large[model].machine : machines[machine]);
    close(to[0]);
    waitpid(child, NULL, 0);
    count->rows += mine.rows;
    count->behind += mine.behind;
    count->wins += mine.wins;
    count->none += mine.none;
}

static bool wants(const struct asked *asked, int model, int machine)
{
    char number[16];
    if (asked->large)
        return machine == 0 && model < N_LARGE && is_asked(asked->models, large[model].model);
    snprintf(number, sizeof number, "%d", machine + 1);
    bool small = model < 5 && machine < 2;
    return model < N_MODELS && is_asked(asked->models, models[model].name) &&
           is_asked(asked->machines, number) &&
           (asked->all || asked->models || asked->machines || small);
}

static struct asked read_arguments(int argc, char **argv)
{
    struct asked a = { .part = { 1, 1 }, .sweep = { 1, 1 } };
    for (int i = 1; i < argc; i++) {
        const char *value = i + 1 < argc ? argv[i + 1] : "";
        const char **text = strcmp(argv[i], "--models") == 0     ? &a.models
                            : strcmp(argv[i], "--machines") == 0 ? &a.machines
                            : strcmp(argv[i], "--memory") == 0   ? &a.memory
                                                                 : NULL;
        struct share *share = strcmp(argv[i], "--part") == 0    ? &a.part
                              : strcmp(argv[i], "--share") == 0 ? &a.sweep
                                                                : NULL;
        bool shared = share && sscanf(value, "%d/%d", &share->k, &share->of) == 2 &&
                      share->of > 0 && share->k <= share->of;
        bool *flag = strcmp(argv[i], "--all") == 0        ? &a.all
                     : strcmp(argv[i], "--large") == 0    ? &a.large
                     : strcmp(argv[i], "--no-sweep") == 0 ? &a.no_sweep
                                                          : NULL;
        if (text)
            *text = value;
        if (flag)
            *flag = true;
        i += text || shared;
        if (!text && !shared && !flag) {
            fprintf(stderr, "bench_grid: what is '%s'?\n", argv[i]);
            exit(2);
        }
    }
    return a;
}

static const char head[] =
    "| model, batch | machine | memory | auto's plan | step | needs | planning, s | best other "
    "| step | best of the 3-D sweep | step, plans simulated | ratio | verdict |\n"
    "|---|---|---|---|---|---|---|---|---|---|---|---|---|";
static const char large_head[] =
    "| model, batch | machine | hybrid's step | memory | above the bound | best of the 3-D "
    "sweep | its step, plans simulated | ratio | planning | peak memory | verdict |\n"
    "|---|---|---|---|---|---|---|---|---|---|---|";

int main(int argc, char **argv)
{
    struct asked asked = read_arguments(argc, argv);
    struct count count = { 0 };
    int pair = 0;
    if (asked.part.k == 0 || asked.part.of == 1)
        puts(asked.large ? large_head : head);
    fflush(stdout);
    for (int machine = 0; machine < N_MACHINES; machine++)
        for (int model = 0; model < N_MODELS || model < N_LARGE; model++)
            if (wants(&asked, model, machine) && pair++ % asked.part.of == asked.part.k - 1)
                run_pair(&asked, model, machine, &count);
    if (asked.part.of == 1)
        printf("\n%d rows: %d behind, %d won by more than 1 %%, in %d nothing fits\n",
               count.rows, count.behind, count.wins, count.none);
    return count.behind > 0;
}
