/* OptCNN's evaluation (Jia et al., ICML 2018), the paper's figures beside ours. No input:
 *
 *     make bench-optcnn                build/bench_optcnn [--csv FOLDER] [--svg FOLDER]
 *     make figure-optcnn                   [--figure NAME]
 *
 * The paper measured on 4 nodes of 4 P100; ours are predictions for that machine: searches by
 * its cost model, steps by the simulator. One number for each network is taken from the paper,
 * how fast one GPU is (OptCNN measures its t_C); where ours differ, it is said. */
#include <hypar/report.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "bench/bench.h"
#include "bench/figures.h"
#include "search/layerwise/optcnn.h"
#include "tests/papers/optcnn_printed.h"

static void heading(const char *text)
{
    printf("\n%s\n", text);
    for (const char *c = text; *c; c++)
        putchar('-');
    putchar('\n');
}

/* A model on so many GPUs of the paper's cluster, 32 images on each. */
struct study {
    struct hypar_graph *graph;
    struct hypar_machine *machine;
};

/* NVLink as the device table has it; 100 Gb/s EDR for each node. Devices are `speed` times as
 * fast as the table says. */
static struct study scaled_study(const char *model, int gpus, double speed)
{
    struct study s;
    struct hypar_error err;
    char word[160];
    snprintf(word, sizeof word,
             "cluster:%dx%d,device=p100,inter=12.5GB/s,fp32=%.9gTFLOP/s,"
             "memory-bandwidth=%.9gGB/s",
             gpus > 4 ? gpus / 4 : 1, gpus > 4 ? 4 : gpus, 10.6 * speed, 732 * speed);
    must(hypar_import(&s.graph, model,
                      &(struct hypar_import_options){ .batch = OPTCNN_IMAGES * gpus }, &err),
         &err);
    must(hypar_machine_read(&s.machine, word, &err), &err);
    return s;
}

static struct study study(const char *model, int gpus)
{
    return scaled_study(model, gpus, 1);
}

static void release(struct study *s)
{
    hypar_machine_free(s->machine);
    hypar_graph_free(s->graph);
}

/* "optcnn" counts with collectives, as steps are simulated; "server" is the same planner with
 * the paper's parameter servers. */
static struct hypar_found *search(const struct study *s, const char *planner)
{
    bool server = strcmp(planner, "server") == 0;
    struct hypar_search_options how = { .planner = server ? "optcnn" : planner,
                                        .unlimited = true,
                                        .sync = server ? HYPAR_SYNC_SERVER
                                                       : HYPAR_SYNC_ALL_REDUCE };
    struct hypar_found *found;
    struct hypar_error err;
    must(hypar_search(&found, s->graph, s->machine, &how, &err), &err);
    return found;
}

/* Search time -------------------------------------------------------------------------- */

/* Every choice of configurations, one by one, as the paper's baseline. */
static double depth_first(const struct optcnn_tables *t, int n_vars, int v, int *state,
                          double sum)
{
    double best = INFINITY;
    if (v == n_vars)
        return sum;
    for (state[v] = 0; state[v] < t->n_states[v]; state[v]++) {
        double with = sum + t->cost[v][state[v]];
        for (int e = 0; e < t->n_pairs; e++)
            if (t->pairs[e].v == v) /* layers come after what they read */
                with += t->pairs[e].pair[state[t->pairs[e].u] * t->n_states[v] + state[v]];
        double found = depth_first(t, n_vars, v + 1, state, with);
        best = found < best ? found : best;
    }
    return best;
}

/* Seconds of a depth-first search, and the least that it finds; -1: too many choices. */
static double baseline(const struct study *s, double *least_s, double *choices)
{
    struct arena arena = { 0 };
    struct hypar_error err;
    struct hypar_search_options options = { 0 };
    struct topology_view topology;
    struct optcnn_space space;
    struct optcnn_tables tables;
    double start = wall_s();
    must(hp_topology_view(&topology, &arena, s->machine, &err), &err);
    topology.once = true; /* as the planner has it by default */
    struct optcnn_model model = { .arena = &arena,
                                  .graph = s->graph,
                                  .topology = &topology,
                                  .framework = hp_framework_row("compiled") };
    struct problem problem = { .graph = s->graph,
                               .machine = s->machine,
                               .options = &options,
                               .layered = hp_layered(&arena, s->graph) };
    hp_optcnn_space(&space, &arena, &problem, &topology, "nkhw", 1e9);
    hp_optcnn_tables(&tables, &model, &space);
    *choices = 1;
    for (int v = 0; v < space.n_vars; v++)
        *choices *= tables.n_states[v];
    bool feasible = *choices < 1e9;
    int *state = NEW(&arena, int, space.n_vars + 1);
    if (feasible)
        *least_s = depth_first(&tables, space.n_vars, 0, state, 0);
    hp_arena_free(&arena);
    return feasible ? wall_s() - start : -1;
}

static double fastest_search_s(const struct study *s, struct hypar_layerwise_view *view,
                               double *step_s)
{
    double least = INFINITY;
    for (int i = 0; i < 5; i++) {
        struct hypar_found *found = search(s, "optcnn");
        least = fmin(least, hypar_found_info(found).seconds);
        *view = *hypar_found_layerwise(found);
        *step_s = hypar_found_prediction(found).step_s;
        hypar_found_free(found);
    }
    return least;
}

static void search_times(struct figures *f)
{
    figure(f, "Search time", "on 4 GPUs", "s");
    heading("Search time on 4 GPUs: the paper, and ours on one core");
    printf("%-13s %6s %9s %9s | %6s %9s %9s %9s\n", "", "layers", "DFS", "theirs", "choose",
           "choices", "DFS", "ours");
    for (size_t i = 0; i < sizeof optcnn_printed_search / sizeof *optcnn_printed_search; i++) {
        const struct optcnn_printed_search *p = &optcnn_printed_search[i];
        struct study s = study(p->model, 4);
        struct hypar_layerwise_view view;
        char dfs[32] = "> 1 day", own[32] = "-", theirs[32], ours[32];
        double least_s = 0, choices, step_s, found_s = fastest_search_s(&s, &view, &step_s);
        double dfs_s = baseline(&s, &least_s, &choices);
        figure_point(f, p->name, "", p->elimination_s, found_s);
        if (p->depth_first_s > 0)
            hypar_format_quantity(dfs, p->depth_first_s, HYPAR_UNIT_SECONDS);
        if (dfs_s >= 0)
            hypar_format_quantity(own, dfs_s, HYPAR_UNIT_SECONDS);
        printf("%-13s %6d %9s %9s | %6d %9.2g %9s %9s  %s\n", p->name, p->layers, dfs,
               hypar_format_quantity(theirs, p->elimination_s, HYPAR_UNIT_SECONDS), view.n_vars,
               choices, own, hypar_format_quantity(ours, found_s, HYPAR_UNIT_SECONDS),
               dfs_s < 0                                        ? ""
               : fabs(least_s - step_s) <= 1e-9 * fabs(least_s) ? "same optimum"
                                                                : "NOT THE SAME OPTIMUM");
        release(&s);
    }
    printf("Fewer layers choose here: pooling, activations and normalisation lie as what they "
           "read.\n");
}

enum { DP, OWT, LAYERWISE, SERVER, N_PLANNERS };
static const char *const planners[N_PLANNERS] = { "dp", "owt", "optcnn", "server" };
static const char *const titles[] = { "data parallel", "one weird trick", "layer-wise" };

/* Fig. 8 ------------------------------------------------------------------------------- */

static double counted(const struct study *s, const char *planner)
{
    struct arena arena = { 0 };
    struct hypar_found *found = search(s, planner);
    const struct hypar_plan *plan = hypar_found_plan(found);
    struct split *split = NEW(&arena, struct split, s->graph->n_ops);
    for (int op = 0; op < s->graph->n_ops; op++)
        split[op] = plan->ops[op].split;
    double bytes = 4 * hp_optcnn_printed_numbers(s->graph, split);
    hp_arena_free(&arena);
    hypar_found_free(found);
    return bytes;
}

static void communication(struct figures *f)
{
    figure(f, "Figure 8", "AlexNet's bytes of a step", "MB");
    figure_bars(f);
    figure_note(f, "layer-wise: the paper keeps the linear layers on two GPUs; with our times "
                   "the least of Eq. 1 uses all, as one weird trick does");
    heading(
        "Figure 8: AlexNet, bytes of a step as the paper counts them, in MB (paper | ours)");
    printf("%4s %21s %21s %21s %13s\n", "GPUs", "data parallel", "one weird trick",
           "layer-wise", "with servers");
    for (int g = 2; g <= 16; g *= 2) {
        struct study s = study("alexnet-optcnn", g);
        double paper[3] = { 4e-6 * optcnn_printed_dp(g), 4e-6 * optcnn_printed_owt(g),
                            4e-6 * optcnn_printed_layerwise(g) };
        double ours[3];
        char gpus[32];
        snprintf(gpus, sizeof gpus, "%d GPUs", g);
        printf("%4d", g);
        for (int i = DP; i <= LAYERWISE; i++) {
            ours[i] = 1e-6 * counted(&s, planners[i]);
            printf(" %10.1f |%9.1f", paper[i], ours[i]);
            figure_point(f, gpus, titles[i], paper[i], ours[i]);
        }
        printf(" %13.1f\n", 1e-6 * counted(&s, planners[SERVER]));
        release(&s);
    }
    puts("Data parallel and one weird trick are the same to the byte. Layer-wise differs: the "
         "paper\n"
         "keeps the fully-connected layers on two GPUs, which by the roofline's times and "
         "these\n"
         "bandwidths is not the least of Eq. 1. With servers: the paper's parameter servers in "
         "t_S.");
}

/* Speed -------------------------------------------------------------------------------- */

/* Images per second, simulated: [0] as Eq. 1 has it, nothing overlapping, [1] with computing
 * and sending at once; and what Eq. 1 itself says of the layer-wise plan. */
static void simulate(const struct study *s, double rate[2][N_PLANNERS], double *eq1)
{
    struct hypar_error err;
    for (int i = 0; i < N_PLANNERS; i++) {
        struct hypar_found *found = search(s, planners[i]);
        if (i == LAYERWISE)
            *eq1 = hypar_found_prediction(found).samples_per_s;
        for (int overlap = 0; overlap < 2; overlap++) {
            struct hypar_sim *sim;
            must(hypar_simulate(&sim, hypar_found_plan(found),
                                &(struct hypar_sim_options){ .no_overlap = !overlap }, &err),
                 &err);
            rate[overlap][i] = hypar_sim_summary(sim).samples_per_s;
            hypar_sim_free(sim);
        }
        hypar_found_free(found);
    }
}

static void speeds_of(struct figures *f, const struct optcnn_printed_rates *p)
{
    double rate[2][N_PLANNERS], eq1;
    struct study one = study(p->model, 1);
    simulate(&one, rate, &eq1);
    double speed = p->dp[0] / rate[0][DP];
    release(&one);
    printf("\n%s, devices %.2f times as fast as by the table\n", p->name, speed);
    printf("%5s  %-32s   %s\n", "", "paper", "ours, simulated");
    printf("%5s %6s %6s %6s %7s %5s | %6s %6s %6s %6s %6s %7s %5s %9s %5s\n", "GPUs", "dp",
           "owt", "layer", "over dp", "owt", "dp", "owt", "layer", "server", "Eq. 1", "over dp",
           "owt", "overlap:", "owt");
    for (int k = 0, g = 1; k < 5; k++, g *= 2) {
        struct study s = scaled_study(p->model, g, speed);
        simulate(&s, rate, &eq1);
        const double *r = rate[0], *o = rate[1];
        printf("%5d %6.0f %6.0f %6.0f %7.2f %5.2f | %6.0f %6.0f %6.0f %6.0f %6.0f %7.2f %5.2f "
               "%9.2f %5.2f\n",
               g, p->dp[k], p->owt[k], p->layerwise[k], p->layerwise[k] / p->dp[k],
               p->layerwise[k] / p->owt[k], r[DP], r[OWT], r[LAYERWISE], r[SERVER], eq1,
               r[LAYERWISE] / r[DP], r[LAYERWISE] / r[OWT], o[LAYERWISE] / o[DP],
               o[LAYERWISE] / o[OWT]);
        const double paper[3] = { p->dp[k], p->owt[k], p->layerwise[k] };
        char row[FIGURE_TEXT];
        snprintf(row, sizeof row, "%s, %d GPUs", p->name, g);
        for (int i = DP; i <= LAYERWISE && g > 1; i++) /* one GPU's is taken from the paper */
            figure_point(f, row, titles[i], paper[i], r[i]);
        release(&s);
    }
}

static void speeds(struct figures *f)
{
    figure(f, "Throughput", "images per second", "");
    heading("Images per second: measured in the paper; ours simulated without overlap");
    for (size_t i = 0; i < sizeof optcnn_printed_rates / sizeof *optcnn_printed_rates; i++)
        speeds_of(f, &optcnn_printed_rates[i]);
    puts(
        "\nEq. 1 is what optcnn predicts for its plan (layer). Ours gain less than the "
        "paper's\n"
        "because the others are faster here: their gradients are summed by the best "
        "all-reduce,\n"
        "where the paper's runtime has parameter servers, and one weird trick's inputs come to "
        "a\n"
        "node once. With overlap (last columns, over dp and owt) gradients are summed behind "
        "the\n"
        "computation, of which Eq. 1 knows nothing: its optimum need not be the fastest then.\n"
        "server: the plan that is best by the paper's own t_S, on the same simulator.");
}

/* Strategies --------------------------------------------------------------------------- */

static void strategies(void)
{
    heading("VGG-16 on 4 GPUs: the optimum that the paper prints, and ours");
    printf("paper: first ten convolutions n=4; last three convolutions and pool h=2 w=2; fc1, "
           "fc2 k=4;\n       fc3 k=2; softmax whole\n\n");
    struct study s = study("vgg16", 4);
    struct hypar_found *found = search(&s, "optcnn");
    hypar_report_plan(stdout, hypar_found_plan(found), NULL, HYPAR_TEXT);
    printf("\nThe same for all but the last convolutions: with the roofline's times dividing "
           "their maps saves\nnothing over dividing samples, and their gradients cost little "
           "to sum over NVLink.\n");
    hypar_found_free(found);
    release(&s);
}

static void large_searches(void)
{
    static const char *const models[] = { "inception-v3", "resnet101", "densenet121",
                                          "bert-large", "nmt" };
    heading("Beyond the paper: searches on more devices, all exact unless said");
    for (size_t i = 0; i < sizeof models / sizeof *models; i++) {
        printf("%-13s", models[i]);
        for (int g = 4; g <= 64; g *= 4) {
            struct study s = study(models[i], g);
            struct hypar_found *found = search(&s, "optcnn");
            struct hypar_search_info info = hypar_found_info(found);
            char took[32];
            printf("   %2d: %9s%s", g,
                   hypar_format_quantity(took, info.seconds, HYPAR_UNIT_SECONDS),
                   info.exact ? "" : " not exact");
            hypar_found_free(found);
            release(&s);
        }
        putchar('\n');
    }
}

int main(int argc, char **argv)
{
    struct figures f;
    figures_begin(&f, "OptCNN", &argc, argv);
    take_words(argc, argv, 0, FIGURES_USAGE);
    if (figure_wanted(&f, "Search time"))
        search_times(&f);
    if (figure_wanted(&f, "Figure 8"))
        communication(&f);
    if (figure_wanted(&f, "Throughput"))
        speeds(&f);
    figures_end(&f);
    if (f.only)
        return 0;
    strategies();
    large_searches();
    return 0;
}
