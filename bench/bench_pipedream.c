/* PipeDream (Narayanan et al., SOSP 2019) beside hypar's planner `pipedream`:
 *
 *     make bench-pipedream             build/bench_pipedream [--csv FOLDER] [--svg FOLDER]
 *     make figure-pipedream                [--figure NAME]
 *
 * 1. The published optimizer's results on its published profiles (skipped where these are not
 *    there, see tests/papers/pipedream_printed.h): bottleneck, replicas, planning time.
 * 2. Table 1 of the paper, whose speed-ups are measured in time to accuracy, beside what the
 *    recurrences predict for the time of a minibatch: of the plan that the paper names
 *    (bench/pipedream_config.h), and of the plan that the recurrence finds. Networks of the zoo
 *    stand in for profiles that are not there; their rows say so. The zoo's networks are also
 *    simulated, with the paper's plan and with ours.
 * 3. Depth and memory: from one stage to a straight pipeline.
 * 4. Plans of the zoo's networks, simulated: the time of a minibatch in steady state beside the
 *    recurrence's, and why they differ.
 * 5. How long planning takes for many states, levels and nodes, on synthetic profiles.
 * Times are processor time, the least of several runs. */
#include <hypar/search.h>
#include <hypar/sim.h>

#include <math.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/random.h"
#include "bench/bench.h"
#include "bench/figures.h"
#include "bench/pipedream_config.h"
#include "model/pipedream/pipedream.h"
#include "tests/papers/pipedream_printed.h"

static bool has_profile(const char *name)
{
    char path[256];
    pipedream_profile(path, sizeof path, name);
    return access(path, R_OK) == 0;
}

static const struct pipedream_stand_in *stand_in_of(const char *name)
{
    const struct pipedream_stand_in *s = pipedream_stand_ins;
    while (strcmp(s->profile, name) != 0)
        s++;
    return s;
}

/* The published profile, or the network that stands in for it. */
static struct hypar_graph *profile_graph(const char *name)
{
    char path[256];
    struct hypar_graph *graph;
    struct hypar_error err;
    const struct pipedream_stand_in *s = stand_in_of(name);
    struct hypar_import_options import = { .batch = s->batch };
    pipedream_profile(path, sizeof path, name);
    if (has_profile(name))
        must(hypar_import(&graph, path, NULL, &err), &err);
    else
        must(hypar_import(&graph, s->model, &import, &err), &err);
    return graph;
}

/* "vgg16" of a published profile; "vgg16, stand-in". */
static const char *profile_text(const char *name, char *text, size_t size)
{
    snprintf(text, size, "%s%s", name, has_profile(name) ? "" : ", stand-in");
    return text;
}

/* What the published profile has for one minibatch on one worker; 0: there is none. */
static double published_one_worker_s(const char *name)
{
    for (int i = 0; i < N_PIPEDREAM_ROWS; i++)
        if (strcmp(pipedream_rows[i].profile, name) == 0)
            return pipedream_rows[i].one_worker_s;
    return 0;
}

static void explain_stand_in(const struct pipedream_stand_in *s)
{
    struct found_plan f = find_plan(s->model, s->batch, "cluster:1x4,intra=1GB/s", "pipedream");
    double published_s = published_one_worker_s(s->profile);
    char ours[32], profile[32];
    printf("  %-8s the zoo's %s, minibatch %lld (%s): %s on one worker", s->profile, s->model,
           (long long)s->batch, s->batch_from,
           hypar_format_quantity(ours, hypar_found_pipeline(f.found)->one_worker_s,
                                 HYPAR_UNIT_SECONDS));
    if (published_s > 0)
        printf(", in the profile %s",
               hypar_format_quantity(profile, published_s, HYPAR_UNIT_SECONDS));
    putchar('\n');
    free_found(&f);
}

static void explain_stand_ins(void)
{
    bool any = false;
    for (size_t i = 0; i < sizeof pipedream_stand_ins / sizeof *pipedream_stand_ins; i++) {
        const struct pipedream_stand_in *s = &pipedream_stand_ins[i];
        if (has_profile(s->profile))
            continue;
        if (!any)
            puts("\nStand-in: no published profile is at hand. The zoo's network stands in "
                 "for it, with times that\nthe simulator predicts for a V100, not with the "
                 "authors' measured ones. The shorter a minibatch\nis, the more do sums of "
                 "gradients matter, and with them the speed-up over data parallel:");
        any = true;
        explain_stand_in(s);
    }
}

/* A plan, and the least time that finding it took. */
static struct hypar_found *plan(const struct hypar_graph *graph, const char *word,
                                struct hypar_search_options options, double *seconds)
{
    struct hypar_machine *machine;
    struct hypar_found *found = NULL;
    struct hypar_error err;
    double spent_s = 0;
    options.planner = "pipedream";
    *seconds = INFINITY;
    must(hypar_machine_read(&machine, word, &err), &err);
    for (int run = 0; run < 50 && spent_s < 0.5; run++) {
        hypar_found_free(found);
        double start_s = now_s();
        must(hypar_search(&found, graph, machine, &options, &err), &err);
        double run_s = now_s() - start_s;
        *seconds = fmin(*seconds, run_s);
        spent_s += run_s;
    }
    hypar_machine_free(machine); /* not looked at from here on */
    return found;
}

static struct hypar_sim *simulated(const struct hypar_plan *plan,
                                   struct hypar_sim_options options)
{
    struct hypar_sim *sim;
    struct hypar_error err;
    must(hypar_simulate(&sim, plan, &options, &err), &err);
    return sim;
}

/* Where a row was planned. */
static const char *where(const struct pipedream_row *row, char *text, size_t size)
{
    snprintf(text, size, "%s%s", row->machine,
             row->straight         ? " straight"
             : row->free_transfers ? " free transfers"
                                   : "");
    return text;
}

static void published_results(struct figures *f)
{
    double planning_s[N_PIPEDREAM_ROWS];
    char text[200], label[300];
    figure(f, "Optimizer", "bottleneck of a minibatch", "s");
    printf("The published optimizer's results (bottleneck in seconds for one minibatch)\n\n");
    printf("%-8s %-42s %9s %9s %8s  %-18s %-16s %8s %9s\n", "profile", "machine", "published",
           "ours", "off", "published replicas", "ours", "its CPU", "ours");
    for (int i = 0; i < N_PIPEDREAM_ROWS; i++) {
        const struct pipedream_row *row = &pipedream_rows[i];
        struct hypar_graph *graph = profile_graph(row->profile);
        char replicas[200];
        struct hypar_found *found =
            plan(graph, row->machine,
                 (struct hypar_search_options){ .straight = row->straight,
                                                .free_transfers = row->free_transfers },
                 &planning_s[i]);
        const struct hypar_pipeline_view *view = hypar_found_pipeline(found);
        snprintf(label, sizeof label, "%s %s", row->profile, where(row, text, sizeof text));
        figure_point(f, label, "", row->bottleneck_s, view->bottleneck_s);
        printf("%-8s %-42s %9.6f %9.6f %8.0e  %-18s %-16s %6.2f s %6.2f ms%s\n", row->profile,
               text, row->bottleneck_s, view->bottleneck_s,
               fabs(view->bottleneck_s / row->bottleneck_s - 1), row->replicas,
               pipedream_replicas(view, replicas), row->cpu_s, 1e3 * planning_s[i],
               planning_s[i] < 5e-3 ? "" : "  (goal 5 ms MISSED)");
        hypar_found_free(found);
        hypar_graph_free(graph);
    }
    puts("Replicas of the stages in order; 4x1: four stages with one replica each. Where they "
         "differ, several\nplans have the same bottleneck.");
    figure(f, "Planning", "time of a search", "s");
    for (int i = 0; i < N_PIPEDREAM_ROWS; i++) {
        const struct pipedream_row *row = &pipedream_rows[i];
        snprintf(label, sizeof label, "%s %s", row->profile, where(row, text, sizeof text));
        figure_point(f, label, "", row->cpu_s, planning_s[i]);
    }
}

/* Where the time of data parallelism goes, of the row that gains most. */
struct sums {
    const char *model, *on;
    double dp_s[2], pipeline_s[2]; /* by the code's and by the paper's recurrence */
    double computing_s, weight_bytes;
};

static void keep_sums(struct sums *most, const struct pipedream_printed *row,
                      const struct hypar_pipeline_view *view[2])
{
    int workers = 0;
    for (int s = 0; s < view[0]->n_stages; s++)
        workers += view[0]->stage[s].replicas;
    if (view[0]->dp_bottleneck_s / view[0]->bottleneck_s <
        (most->model ? most->dp_s[0] / most->pipeline_s[0] : 0))
        return;
    *most = (struct sums){ .model = row->model,
                           .on = row->cluster,
                           .computing_s = view[0]->one_worker_s / workers };
    for (int r = 0; r < 2; r++) {
        most->dp_s[r] = view[r]->dp_bottleneck_s;
        most->pipeline_s[r] = view[r]->bottleneck_s;
    }
    for (int s = 0; s < view[0]->n_stages; s++)
        most->weight_bytes += view[0]->stage[s].weight_bytes;
}

static double step_s(const struct hypar_plan *plan)
{
    struct hypar_sim *sim = simulated(plan, (struct hypar_sim_options){ 0 });
    double seconds = hypar_sim_summary(sim).step_s;
    hypar_sim_free(sim);
    return seconds;
}

/* The step that a planner's plan takes, simulated. */
static double planned_s(const char *model, const char *machine, const char *planner,
                        int64_t batch)
{
    struct found_plan f = find_plan(model, batch, machine, planner);
    double seconds = step_s(hypar_found_plan(f.found));
    free_found(&f);
    return seconds;
}

/* Data parallelism, for one minibatch: each worker has a minibatch of its own in a step. */
static double data_parallel_s(const char *model, const char *word, int64_t batch)
{
    struct hypar_machine *machine;
    struct hypar_error err;
    must(hypar_machine_read(&machine, word, &err), &err);
    int workers = hypar_machine_device_count(machine);
    hypar_machine_free(machine);
    return planned_s(model, word, "dp", workers * batch) / workers;
}

static bool is_data_parallel(const struct pipedream_printed *row)
{
    int replicas[2];
    return configured_replicas(row->config, replicas) == 1;
}

/* The paper's plan of a row, simulated with the zoo's network. */
static double its_plan_s(const struct pipedream_printed *row,
                         const struct pipedream_stand_in *s)
{
    struct hypar_graph *graph;
    struct hypar_error err;
    struct hypar_import_options import = { .batch = s->batch };
    must(hypar_import(&graph, s->model, &import, &err), &err);
    struct configured its = configure(graph, row->machine, row->config);
    double seconds = step_s(its.plan);
    free_configured(&its);
    hypar_graph_free(graph);
    return seconds;
}

static void simulate_row(struct figures *f, const struct pipedream_printed *row,
                         const struct pipedream_stand_in *s)
{
    char text[200], replicas[200];
    struct found_plan ours = find_plan(s->model, s->batch, row->machine, "pipedream");
    const struct hypar_pipeline_view *view = hypar_found_pipeline(ours.found);
    int workers = hypar_machine_device_count(ours.machine);
    double dp_s = data_parallel_s(s->model, row->machine, s->batch);
    double its_s = is_data_parallel(row) ? dp_s : its_plan_s(row, s);
    double our_s = step_s(hypar_found_plan(ours.found));
    printf("%-10s %-6s %-10s %5.2fx %7.1f ms %7.1f ms %7.1f ms %6.2fx %7.1f ms %6.2fx  %s\n",
           row->model, row->cluster, row->config, row->speedup,
           1e3 * view->one_worker_s / workers, 1e3 * dp_s, 1e3 * its_s, dp_s / its_s,
           1e3 * our_s, dp_s / our_s, pipedream_replicas(view, replicas));
    snprintf(text, sizeof text, "%s %s", row->model, row->cluster);
    figure_point(f, text, "with the paper's plan", row->speedup, dp_s / its_s);
    figure_point(f, text, "with the plan found", row->speedup, dp_s / our_s);
    free_found(&ours);
}

/* The paper's plan beside ours, in one model: is it the plan or the model that differs? */
static void simulated_plans(struct figures *f)
{
    figure(f, "Table 1, simulated", "speed-up over dp", "");
    figure_bars(f);
    figure_note(f, "the paper's are measured; ours are the zoo's networks, simulated with the "
                   "plan that the paper names and with the plan that our planner finds");
    puts(
        "\nIs the plan different, or the model? The zoo's networks, simulated: a minibatch "
        "data parallel, with the\npaper's plan and with ours, and the speed-ups over data "
        "parallel. If the paper's plan gained as much\nhere as measured, the plan would be the "
        "difference. Where it gains less, the model is: a pipeline can\nonly save what dp "
        "takes beyond its computing (a minibatch on one worker, over the workers), and the\n"
        "simulator hides most sums of gradients behind backward passes.\n");
    printf("%-10s %-6s %-17s %10s %10s %18s %18s\n", "model", "on", "paper, measured",
           "computing", "dp", "the paper's plan", "our plan");
    for (size_t i = 0; i < sizeof pipedream_table1 / sizeof pipedream_table1[0]; i++)
        if (pipedream_table1[i].profile)
            simulate_row(f, &pipedream_table1[i], stand_in_of(pipedream_table1[i].profile));
}

static void explain_sums(const struct sums *s)
{
    enum { BATCH = 64 };
    const char *on = "cluster:4x4,intra=10GB/s,inter=1.25GB/s";
    double dp_s = data_parallel_s("gnmt8", on, BATCH);
    double pipeline_s = planned_s("gnmt8", on, "pipedream", BATCH);
    printf(
        "\nWhy ours gains so much where links are slow: in closed form data parallel waits "
        "for sums of gradients.\n"
        "%s on %s: all workers together compute a minibatch every %.1f ms, and sum %.0f MB of "
        "gradients.\n"
        "  code:  data parallel %.0f ms, the pipeline %.1f ms. A sum is added to computing: "
        "nothing hides it. The two\n"
        "         directions of a link take turns: 4 (m-1)/m W/B for m nodes, twice the "
        "time of a ring.\n"
        "  paper: data parallel %.0f ms, the pipeline %.1f ms. A sum goes on beside "
        "computing, but takes 2 (m-1) W/B,\n"
        "         and nodes sum for each minibatch of a node, not once for a minibatch of "
        "each of its workers.\n"
        "What is measured may hide sums behind backward passes, and use both directions at "
        "once. So does the\n"
        "simulator: the zoo's gnmt8, minibatch %d, on 4x4 A takes %.1f ms data parallel and "
        "%.1f ms as a pipeline, %.2fx.\n",
        s->model, s->on, 1e3 * s->computing_s, s->weight_bytes / 1e6, 1e3 * s->dp_s[0],
        1e3 * s->pipeline_s[0], 1e3 * s->dp_s[1], 1e3 * s->pipeline_s[1], BATCH, 1e3 * dp_s,
        1e3 * pipeline_s, dp_s / pipeline_s);
}

/* A row that gains much less than the paper measured: which term differs, and by how much. The
 * code's recurrence adds sums of gradients to computing. */
struct short_gain {
    const char *model, *on;
    double paper, workers, weight_bytes;
    double dp_s, computing_s, pipeline_s, stage_s;
};

static const double MUCH_LESS = 0.8;

static int keep_short(struct short_gain *out, const struct pipedream_printed *row,
                      const struct hypar_pipeline_view *view)
{
    struct short_gain g = { .model = row->model,
                            .on = row->cluster,
                            .paper = row->speedup,
                            .dp_s = view->dp_bottleneck_s,
                            .pipeline_s = view->bottleneck_s };
    for (int s = 0; s < view->n_stages; s++) {
        g.workers += view->stage[s].replicas;
        g.weight_bytes += view->stage[s].weight_bytes;
        g.stage_s = fmax(g.stage_s, view->stage[s].time_s);
    }
    g.computing_s = view->one_worker_s / g.workers;
    *out = g;
    return g.dp_s / g.pipeline_s < MUCH_LESS * g.paper;
}

static void explain_short(const struct short_gain *g, int n)
{
    if (n)
        puts("\nWhy ours gains less in these rows (the code's recurrence): in closed form sums "
             "of gradients have all\nof the printed links, so that data parallel loses less "
             "than "
             "was measured. How slow its sums would\nhave to be for the paper's speed-up, "
             "beside "
             "our pipeline:");
    for (int i = 0; i < n; i++) {
        double sums_s = g[i].dp_s - g[i].computing_s;
        double needed_s = g[i].paper * g[i].pipeline_s - g[i].computing_s;
        printf(
            "%s on %s, %.2fx for %.2fx: data parallel takes %.1f ms = %.1f ms computing + "
            "%.1f ms sums of\n  %.0f MB, the pipeline %.1f ms (%s). For %.2fx the sums would "
            "take\n  %.1f ms, %.1f times ours: %.0f %% of the printed bandwidth.\n",
            g[i].model, g[i].on, g[i].dp_s / g[i].pipeline_s, g[i].paper, 1e3 * g[i].dp_s,
            1e3 * g[i].computing_s, 1e3 * sums_s, g[i].weight_bytes / 1e6,
            1e3 * g[i].pipeline_s,
            g[i].stage_s < g[i].pipeline_s ? "a transfer between stages" : "its slowest stage",
            g[i].paper, 1e3 * needed_s, needed_s / sums_s, 100 * sums_s / needed_s);
    }
}

/* The label of a row in the picture. */
static const char *row_text(const struct pipedream_printed *row, char *text, size_t size)
{
    snprintf(text, size, "%s %s%s", row->model, row->cluster,
             has_profile(row->profile) ? "" : ", stand-in");
    return text;
}

/* The speed-up of the paper's own plan over data parallel, which takes dp_s. */
static void add_its_plan(struct figures *f, const struct hypar_graph *graph,
                         const struct pipedream_printed *row, double dp_s)
{
    char text[200];
    if (is_data_parallel(row)) {
        printf(" %9s", "-");
        return;
    }
    struct configured its = configure(graph, row->machine, row->config);
    printf(" %8.2fx", dp_s / its.closed_s);
    figure_point(f, row_text(row, text, sizeof text), "the paper's plan", row->speedup,
                 dp_s / its.closed_s);
    free_configured(&its);
}

/* Data parallelism beside pipelines, for the explanations below Table 1. */
struct differences {
    struct sums most;
    struct short_gain shorter[sizeof pipedream_table1 / sizeof pipedream_table1[0]];
    int n_short;
};

static void add_row(struct figures *f, const struct hypar_graph *graph,
                    const struct pipedream_printed *row, struct differences *d)
{
    static const char *const recurrences[] = { "code's recurrence", "paper's recurrence" };
    struct hypar_found *found[2];
    const struct hypar_pipeline_view *views[2];
    char text[200];
    double seconds;
    for (int r = 0; r < 2; r++) {
        found[r] = plan(graph, row->machine,
                        (struct hypar_search_options){ .recurrence = (enum hypar_recurrence)r },
                        &seconds);
        views[r] = hypar_found_pipeline(found[r]);
    }
    add_its_plan(f, graph, row, views[0]->dp_bottleneck_s);
    for (int r = 0; r < 2; r++) {
        double gain = views[r]->dp_bottleneck_s / views[r]->bottleneck_s;
        printf("   %-22s %7.2fx", pipedream_replicas(views[r], text), gain);
        figure_point(f, row_text(row, text, sizeof text), recurrences[r], row->speedup, gain);
    }
    printf("   %s\n", profile_text(row->profile, text, sizeof text));
    keep_sums(&d->most, row, views);
    d->n_short += keep_short(&d->shorter[d->n_short], row, views[0]);
    for (int r = 0; r < 2; r++)
        hypar_found_free(found[r]);
}

static void table_1(struct figures *f)
{
    struct differences d = { .n_short = 0 };
    figure(f, "Table 1", "speed-up over dp", "");
    figure_bars(f);
    figure_note(f, "the paper's are measured, time to accuracy; ours are predicted in closed "
                   "form, one minibatch, where data parallel waits for sums of gradients");
    printf(
        "\nTable 1: speed-up over data parallel. The paper's is measured, in time to accuracy;"
        "\nours is predicted in closed form, of one minibatch, on machines with the printed "
        "links (inside a\nserver assumed: 10 GB/s PCIe, 30 GB/s NVLink).\n\n");
    puts("The paper's plan is read from its row: the replicas of the stages in order, as 15-1;"
         " 16 is data\nparallel (-), straight has a stage on each worker. The paper does not "
         "print its cuts. In the column\n\"its plan\" we cut where the code's recurrence is "
         "least for these replicas. The recurrence gives a stage\nwhole servers, and 15 "
         "replicas are not whole servers. So for the paper's plan all workers are joined\nby "
         "the links between servers, and it may gain more than the plan found.\nIn ours "
         "4x1 is four stages with one replica each.\n");
    printf("%-10s %-6s %-17s %9s   %-31s   %-31s   %s\n", "model", "on", "paper, measured",
           "its plan", "ours, the code's recurrence", "ours, the paper's recurrence",
           "profile");
    for (size_t i = 0; i < sizeof pipedream_table1 / sizeof pipedream_table1[0]; i++) {
        const struct pipedream_printed *row = &pipedream_table1[i];
        struct hypar_graph *graph = row->profile ? profile_graph(row->profile) : NULL;
        printf("%-10s %-6s %-10s %5.2fx", row->model, row->cluster, row->config, row->speedup);
        if (graph)
            add_row(f, graph, row, &d);
        else
            puts("   no profile to compare with");
        hypar_graph_free(graph);
    }
    explain_short(d.shorter, d.n_short);
    explain_sums(&d.most);
    explain_stand_ins();
    simulated_plans(f);
}

static double most_memory(const struct hypar_pipeline_view *view)
{
    double most = 0;
    for (int s = 0; s < view->n_stages; s++)
        most = fmax(most, view->stage[s].memory_bytes);
    return most;
}

/* What a worker of data parallelism keeps: one version of everything. */
static double dp_memory(const struct hypar_pipeline_view *view)
{
    double weights = 0, activations = 0;
    for (int s = 0; s < view->n_stages; s++) {
        weights += view->stage[s].weight_bytes;
        activations += view->stage[s].activation_bytes;
    }
    return 2 * weights + activations; /* with the gradient */
}

static void depth_and_memory(void)
{
    static const char *const profiles[] = { "vgg16", "gnmt" };
    printf(
        "\nDepth and memory on 4 workers, 1 GB/s (memory of the fullest worker; \"on par with "
        "data\nparallelism\", section 3.3)\n\n");
    printf("%-16s %-12s %-12s %5s %12s %12s %12s\n", "profile", "plan", "replicas", "NOAM",
           "bottleneck", "memory", "dp memory");
    for (int i = 0; i < 2; i++) {
        struct hypar_graph *graph = profile_graph(profiles[i]);
        for (int straight = 0; straight < 2; straight++) {
            char text[200], memory[32], dp[32], profile[64];
            double seconds;
            struct hypar_found *found =
                plan(graph, "cluster:1x4,intra=1GB/s",
                     (struct hypar_search_options){ .straight = straight }, &seconds);
            const struct hypar_pipeline_view *view = hypar_found_pipeline(found);
            printf("%-16s %-12s %-12s %5d %10.3f s %12s %12s\n",
                   profile_text(profiles[i], profile, sizeof profile),
                   straight ? "straight" : "fastest", pipedream_replicas(view, text),
                   view->noam, view->bottleneck_s,
                   hypar_format_quantity(memory, most_memory(view), HYPAR_UNIT_BYTES),
                   hypar_format_quantity(dp, dp_memory(view), HYPAR_UNIT_BYTES));
            hypar_found_free(found);
        }
        hypar_graph_free(graph);
    }
}

/* Simulated -------------------------------------------------------------------------------- */

/* Why the simulated time is not that of the recurrence. */
static const char *reason(const struct hypar_sim *sim, double bottleneck_s)
{
    struct hypar_sim_summary s = hypar_sim_summary(sim);
    double busiest_s = 0;
    for (int i = 0; i < hypar_sim_pipeline(sim).n_stages; i++)
        busiest_s = fmax(busiest_s, hypar_sim_stage(sim, i).busy_s);
    if (fabs(s.step_s / bottleneck_s - 1) <= 0.01)
        return "";
    if (s.step_s < bottleneck_s)
        return "gradients are summed during backward passes, links carry both ways at once";
    return busiest_s > 0.99 * s.step_s
               ? "updates, which the recurrence leaves out"
               : "transfers are not hidden: too few in flight, links shared by neighbours";
}

static void simulate_one(const char *model, const char *word, bool straight)
{
    struct hypar_graph *graph;
    struct hypar_machine *machine;
    struct hypar_found *found;
    struct hypar_error err;
    char text[200];
    must(hypar_import(&graph, model, NULL, &err), &err);
    must(hypar_machine_read(&machine, word, &err), &err);
    must(hypar_search(
             &found, graph, machine,
             &(struct hypar_search_options){ .planner = "pipedream", .straight = straight },
             &err),
         &err);
    const struct hypar_pipeline_view *view = hypar_found_pipeline(found);
    const struct hypar_plan *chosen = hypar_found_plan(found);
    struct hypar_sim *sim = simulated(chosen, (struct hypar_sim_options){ 0 });
    struct hypar_sim *like = simulated(
        chosen, (struct hypar_sim_options){ .half_duplex = true, .lower.bucket_bytes = 1e15 });
    double step_s = hypar_sim_summary(sim).step_s, like_s = hypar_sim_summary(like).step_s;
    printf("%-9s %-31s %-14s %8.2f ms %8.2f ms %+6.1f %% %+6.1f %% %8.2f ms  %s\n", model, word,
           pipedream_replicas(view, text), 1e3 * view->bottleneck_s, 1e3 * step_s,
           100 * (step_s / view->bottleneck_s - 1), 100 * (like_s / view->bottleneck_s - 1),
           1e3 * hypar_sim_pipeline(sim).startup_s, reason(sim, view->bottleneck_s));
    hypar_sim_free(like);
    hypar_sim_free(sim);
    hypar_found_free(found);
    hypar_machine_free(machine);
    hypar_graph_free(graph);
}

static void simulations(void)
{
    static const struct {
        const char *model, *machine;
        bool straight;
    } row[] = {
        { "vgg16", "full:4", true },
        { "vgg16", "cluster:1x4,intra=10GB/s", false },
        { "vgg16", "cluster:1x4,intra=1GB/s", false },
        { "vgg16", "cluster:1x4,intra=1GB/s", true },
        { "vgg16", "cluster:1x16,intra=10GB/s", false },
        { "alexnet", "cluster:1x4,intra=1GB/s", false },
        { "resnet50", "cluster:1x4,intra=10GB/s", false },
        { "resnet50", "full:4", true },
        { "bert-base", "full:6", true },
        { "gpt2", "cluster:1x4,intra=10GB/s", false },
    };
    printf(
        "\nSimulated, batch 32: a minibatch in steady state. \"like it\": gradients are summed "
        "after the last\nbackward pass, and the directions of a link take turns, as the "
        "recurrence counts them.\n\n");
    printf("%-9s %-31s %-14s %11s %11s %8s %8s %11s\n", "model", "machine", "replicas",
           "recurrence", "simulated", "off", "like it", "start-up");
    for (size_t i = 0; i < sizeof row / sizeof row[0]; i++)
        simulate_one(row[i].model, row[i].machine, row[i].straight);
}

/* Synthetic profiles ---------------------------------------------------------------------- */

struct making {
    struct arena arena;
    struct text_profile profile;
    struct random random;
    int node_capacity, edge_capacity;
};

/* A node that reads `n` others; returns it. */
static int add(struct making *m, const int *reads, int n)
{
    struct text_profile *p = &m->profile;
    int node = p->n_nodes;
    p->node = GROW(&m->arena, struct profile_node, p->node, p->n_nodes, &m->node_capacity);
    p->node[p->n_nodes++] = (struct profile_node){
        .name = hp_arena_printf(&m->arena, "n%d", node),
        .description = "x",
        .forward_ms = 0.1 + hp_random_unit(&m->random),
        .backward_ms = 0.2 + 2 * hp_random_unit(&m->random),
        .activation_bytes = 1e5 + 1e6 * hp_random_unit(&m->random),
        .parameter_bytes = 4e6 * hp_random_unit(&m->random),
        .stage = -1,
    };
    for (int i = 0; i < n; i++) {
        p->edge = GROW(&m->arena, struct profile_edge, p->edge, p->n_edges, &m->edge_capacity);
        p->edge[p->n_edges++] = (struct profile_edge){ reads[i], node };
    }
    return node;
}

/* `blocks` blocks one after another, each of `width` branches of `length` nodes that meet. */
static struct hypar_graph *blocks(int n_blocks, int width, int length)
{
    struct making m = { .random = { 1 } };
    int last = add(&m, NULL, 0), ends[64];
    for (int b = 0; b < n_blocks; b++) {
        for (int w = 0; w < width; w++) {
            ends[w] = last;
            for (int i = 0; i < length; i++)
                ends[w] = add(&m, &ends[w], 1);
        }
        last = width > 1 ? add(&m, ends, width) : ends[0];
    }
    struct hypar_graph *graph;
    struct hypar_error err;
    must(hp_text_profile_graph(&graph, &m.profile, "blocks", 1, &err), &err);
    hp_arena_free(&m.arena);
    return graph;
}

static void planning_time(const char *what, struct hypar_graph *graph, const char *machine,
                          double goal_s)
{
    double seconds;
    struct hypar_found *found =
        plan(graph, machine, (struct hypar_search_options){ 0 }, &seconds);
    const struct hypar_pipeline_view *view = hypar_found_pipeline(found);
    printf("%-32s %5d nodes %5d %-10s  %-39s %7.3f s", what, hypar_graph_info(graph).n_ops,
           view->n_states, view->all_states ? "antichains" : "prefixes", machine, seconds);
    if (goal_s > 0)
        printf("   (goal %g s: %s)", goal_s, seconds <= goal_s ? "met" : "MISSED");
    putchar('\n');
    hypar_found_free(found);
    hypar_graph_free(graph);
}

static void scaling(void)
{
    const char *one = "cluster:1x16,intra=10GB/s";
    const char *two = "cluster:4x4,intra=10GB/s,inter=1.25GB/s";
    const char *more = "cluster:8x8,intra=10GB/s,inter=1.25GB/s";
    printf(
        "\nPlanning time (the published optimizer: 240 states on 16 workers 4.6 s, 430 in 16 s;"
        " 1,495\nstates on two levels not finished; more than 326 nodes only contracted)\n\n");
    planning_time("chain", blocks(1, 1, 239), one, 0);
    planning_time("chain", blocks(1, 1, 429), one, 0.2);
    planning_time("blocks of 2 branches of 4", blocks(62, 2, 4), two, 10);
    planning_time("chain", blocks(1, 1, 1494), two, 10);
    planning_time("Inception-like, 6 branches of 4", blocks(13, 6, 4), two, 30);
    planning_time("NASNet-like, 10 branches of 6", blocks(21, 10, 6), one, 30);
    planning_time("NASNet-like, 10 branches of 6", blocks(21, 10, 6), two, 30);
    planning_time("NASNet-like, 10 branches of 6", blocks(21, 10, 6), more, 30);
    planning_time("chain", blocks(1, 1, 2000), two, 30);
}

int main(int argc, char **argv)
{
    struct figures f;
    figures_begin(&f, "PipeDream", &argc, argv);
    take_words(argc, argv, 0, FIGURES_USAGE);
    char folder[256];
    pipedream_profiles(folder, sizeof folder);
    bool published = has_profile("vgg16") && has_profile("alexnet") && has_profile("gnmt");
    printf("profiles: %s\n", published ? folder : "none");
    if (published && (figure_wanted(&f, "Optimizer") || figure_wanted(&f, "Planning")))
        published_results(&f);
    else if (!published)
        puts("The published profiles are not there: the optimizer's results on them are left "
             "out; bench/README.md\ntells where they come from.");
    if (figure_wanted(&f, "Table 1"))
        table_1(&f);
    figures_end(&f);
    if (f.only)
        return 0;
    depth_and_memory();
    simulations();
    scaling();
    return 0;
}
