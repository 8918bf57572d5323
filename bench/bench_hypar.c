/* HyPar's evaluation (Song et al., HPCA 2019), the paper's figures beside ours. No input:
 *
 *     make bench-hypar                 build/bench_hypar [--csv FOLDER] [--svg FOLDER]
 *     make figure-hypar                    [--figure NAME] [quick]
 *                                      quick: without all levels at once, for the whole zoo
 *
 * Ours come from the model as published (cost/papers/partition.h) and from the array's fitted
 * time and its energy (cost/papers/array.h). Nothing is adjusted to the paper beyond that fit;
 * where ours differ, the line says so. */
#include <hypar/explore.h>
#include <hypar/report.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "bench/bench.h"
#include "bench/figures.h"
#include "cost/papers/array.h"
#include "search/explore/explore.h"
#include "tests/papers/hypar_printed.h"

/* One model on one machine or several. */
struct study {
    struct hypar_graph *graph;
    struct hypar_machine *machine;
    struct hypar_exploration *found;
};

static struct study explore(const char *model, const char *machine,
                            const struct hypar_explore_options *options)
{
    struct study s;
    struct hypar_error err;
    must(hypar_import(&s.graph, model, NULL, &err), &err);
    must(hypar_machine_read(&s.machine, machine, &err), &err);
    must(hypar_explore(&s.found, s.graph, s.machine, options, &err), &err);
    return s;
}

static void release(struct study *s)
{
    hypar_exploration_free(s->found);
    hypar_machine_free(s->machine);
    hypar_graph_free(s->graph);
}

/* The choice of that name on a site. */
static const struct hypar_explore_choice *choice(const struct study *s, int site,
                                                 const char *name)
{
    for (int i = 0; i < hypar_exploration_site(s->found, site).n_choices; i++) {
        const struct hypar_explore_choice *c = hypar_exploration_choice(s->found, site, i);
        if (strcmp(c->name, name) == 0)
            return c;
    }
    fprintf(stderr, "bench_hypar: no choice '%s'\n", name);
    exit(1);
}

static const struct hypar_explored *cost(const struct study *s, int site, const char *name)
{
    return &choice(s, site, name)->cost;
}

static double percent(double ours, double paper)
{
    return 100 * (ours / paper - 1);
}

/* Geometric means of several columns, row by row. */
struct means {
    double log_sum[8];
    int n;
};

static void mean_add(struct means *m, const double *value, int n)
{
    for (int i = 0; i < n; i++)
        m->log_sum[i] += log(value[i]);
    m->n++;
}

static double mean(const struct means *m, int i)
{
    return exp(m->log_sum[i] / m->n);
}

static void heading(const char *text)
{
    printf("\n%s\n", text);
    for (const char *c = text; *c; c++)
        putchar('-');
    putchar('\n');
}

/* Below the pictures that show mp of the VGGs. */
static const char vgg_note[] = "for mp of the VGGs the paper prints half of the bytes that its "
                               "formulas give; why is an open question";

/* Figure 5 ---------------------------------------------------------------------------- */

/* Adds a network's maps to the picture; the columns are the layers with weights. */
static void add_map(struct figures *f, const struct study *s, const char *paper,
                    const char *ours)
{
    struct figure_map *m = figure_map(f);
    if (!m)
        return;
    m->n_columns = 0;
    snprintf(m->row, sizeof m->row, "%s", hypar_graph_info(s->graph).name);
    snprintf(m->printed, sizeof m->printed, "%s", paper);
    snprintf(m->ours, sizeof m->ours, "%s", ours);
    for (int op = 0; op < s->graph->n_ops && m->n_columns < FIGURE_COLUMNS; op++)
        if (hp_op_weighted(s->graph, op))
            snprintf(m->column[m->n_columns++], FIGURE_TEXT, "%.60s", s->graph->ops[op].name);
}

static void maps(struct figures *f, struct study *study)
{
    int differing = 0, cells = 0;
    figure(f, "Figure 5", "cells of a map as printed", "");
    heading("Figure 5: chosen parallelisms, H1/H2/H3/H4, 1 = mp (^ where they differ)");
    for (int i = 0; i < HYPAR_NETWORKS; i++) {
        const char *paper = hypar_printed[i].map, *ours = choice(&study[i], 0, "hypar")->levels;
        bool differ = strcmp(paper, ours) != 0;
        add_map(f, &study[i], paper, ours);
        printf("%-10s paper  %s\n%10s ours   %s%s\n", hypar_printed[i].model, paper, "", ours,
               differ ? "" : "   same");
        int last = 0, differing_before = differing, cells_before = cells;
        for (int k = 0; paper[k]; k++) {
            cells += paper[k] != '/';
            differing += paper[k] != ours[k];
            last = paper[k] != ours[k] ? k : last;
        }
        figure_point(f, hypar_printed[i].model, "", cells - cells_before,
                     cells - cells_before - (differing - differing_before));
        if (differ)
            printf("%10s        ", "");
        for (int k = 0; differ && k <= last; k++)
            putchar(paper[k] == ours[k] ? ' ' : '^');
        if (differ)
            putchar('\n');
    }
    printf("%d of %d cells differ. No single reading of the rules gives all ten printed maps; "
           "these are\nthe rules as published.\n",
           differing, cells);
}

/* Figure 8 ---------------------------------------------------------------------------- */

static void communication(struct figures *f, struct study *study)
{
    static const char *const names[] = { "dp", "mp", "hypar" };
    struct means ours = { 0 };
    figure(f, "Figure 8", "communication of a step", "GB");
    figure_note(f, vgg_note);
    heading("Figure 8: communication of a step in GB, paper | ours (deviation)");
    printf("%-10s %28s %28s %28s\n", "", "dp", "mp", "hypar");
    for (int i = 0; i < HYPAR_NETWORKS; i++) {
        const struct hypar_printed *p = &hypar_printed[i];
        double gb[3] = { cost(&study[i], 0, "dp")->comm_bytes / 1e9,
                         cost(&study[i], 0, "mp")->comm_bytes / 1e9,
                         cost(&study[i], 0, "hypar")->comm_bytes / 1e9 };
        double paper[3] = { p->dp_gb, p->mp_gb, p->hypar_gb };
        mean_add(&ours, gb, 3);
        printf("%-10s", p->model);
        for (int k = 0; k < 3; k++) {
            printf(" %9.4g | %7.4g (%+5.1f %%)", paper[k], gb[k], percent(gb[k], paper[k]));
            figure_point(f, p->model, names[k], paper[k], gb[k]);
        }
        putchar('\n');
    }
    printf("%-10s %9.4g | %7.4g %21.4g | %7.4g %21.4g | %7.4g\n", "gmean",
           hypar_printed_mean.dp_gb, mean(&ours, 0), hypar_printed_mean.mp_gb, mean(&ours, 1),
           hypar_printed_mean.hypar_gb, mean(&ours, 2));
    printf("The printed mp bytes of the VGGs are about half of what the paper's formulas "
           "give.\n");
}

/* Figure 6 ---------------------------------------------------------------------------- */

/* Bars from the printed bytes: the fitted time alone is tested. */
static void fitted(const struct study *study, int i, double *bars)
{
    const struct hypar_printed *p = &hypar_printed[i];
    double macs = hp_array_macs(study->graph);
    double dp = hp_array_step_s(macs, 16, p->dp_gb * 1e9);
    bars[0] = dp / hp_array_step_s(macs, 16, p->mp_gb * 1e9);
    bars[1] = dp / hp_array_step_s(macs, 16, p->hypar_gb * 1e9);
}

static void performance(struct figures *f, struct study *study)
{
    static const char *const names[] = { "mp", "hypar" };
    struct means formula = { 0 }, ours = { 0 };
    double worst = 0;
    heading("Figure 6: performance over data parallel");
    figure(f, "Figure 6", "performance over dp", "");
    figure_bars(f);
    figure_note(f, vgg_note);
    printf("%-10s %38s   %38s\n", "", "mp: paper, printed bytes, our bytes",
           "hypar: paper, printed bytes, our bytes");
    for (int i = 0; i < HYPAR_NETWORKS; i++) {
        const struct hypar_printed *p = &hypar_printed[i];
        double bars[2], own[2], paper[2] = { p->mp_gain, p->hypar_gain };
        double dp = cost(&study[i], 0, "dp")->step_s;
        fitted(&study[i], i, bars);
        own[0] = dp / cost(&study[i], 0, "mp")->step_s;
        own[1] = dp / cost(&study[i], 0, "hypar")->step_s;
        mean_add(&formula, bars, 2);
        mean_add(&ours, own, 2);
        printf("%-10s", p->model);
        figure_point(f, p->model, "dp", 1, 1);
        for (int k = 0; k < 2; k++) {
            worst = fmax(worst, fabs(percent(bars[k], paper[k])));
            figure_point(f, p->model, names[k], paper[k], own[k]);
            printf(" %7.4g %7.4g (%+4.1f %%) %7.4g (%+5.1f %%) ", paper[k], bars[k],
                   percent(bars[k], paper[k]), own[k], percent(own[k], paper[k]));
        }
        putchar('\n');
    }
    printf("%-10s %7.4g %7.4g %17.4g %20.4g %7.4g %17.4g\n", "gmean",
           hypar_printed_mean.mp_gain, mean(&formula, 0), mean(&ours, 0),
           hypar_printed_mean.hypar_gain, mean(&formula, 1), mean(&ours, 1));
    puts("dp is 1 in each row, the paper's and ours: the other bars are told over it.");
    figure_point(f, "Gmean", "dp", 1, 1);
    figure_point(f, "Gmean", "mp", hypar_printed_mean.mp_gain, mean(&ours, 0));
    figure_point(f, "Gmean", "hypar", hypar_printed_mean.hypar_gain, mean(&ours, 1));
    printf("With the printed bytes the fitted time is within %.1f %% of all 20 bars.\n", worst);
    puts(
        "With our bytes mp of the VGGs is about half as fast as printed: the paper prints half "
        "of the bytes that its formulas give.\nWhy is an open question (the end of "
        "docs/tutorial-student.md).");
}

/* Figure 7 ---------------------------------------------------------------------------- */

static void energy(struct figures *f, struct study *study)
{
    struct means ours = { 0 };
    figure(f, "Figure 7", "energy efficiency over dp", "");
    figure_bars(f);
    heading("Figure 7: energy efficiency over data parallel, paper | ours (deviation)");
    for (int i = 0; i < HYPAR_NETWORKS; i++) {
        const struct hypar_printed *p = &hypar_printed[i];
        double dp = cost(&study[i], 0, "dp")->energy_j;
        double own[2] = { dp / cost(&study[i], 0, "mp")->energy_j,
                          dp / cost(&study[i], 0, "hypar")->energy_j };
        mean_add(&ours, own, 2);
        printf("%-10s mp %7.4g | %7.4g (%+6.1f %%)   hypar %7.4g | %7.4g (%+6.1f %%)\n",
               p->model, p->mp_energy, own[0], percent(own[0], p->mp_energy), p->hypar_energy,
               own[1], percent(own[1], p->hypar_energy));
        figure_point(f, p->model, "mp", p->mp_energy, own[0]);
        figure_point(f, p->model, "hypar", p->hypar_energy, own[1]);
    }
    printf("%-10s mp %7.4g | %7.4g              hypar %7.4g | %7.4g\n", "gmean",
           hypar_printed_mean.mp_energy, mean(&ours, 0), hypar_printed_mean.hypar_energy,
           mean(&ours, 1));
    printf(
        "The paper's energies per operation, but how often each happens is assumed (one DRAM "
        "access for\neach word of each tensor and phase, three SRAM words for a "
        "multiply-add): the order agrees, the\nsizes do not.\n");
}

/* Figures 9 and 10 -------------------------------------------------------------------- */

/* Returns the gain over data parallel; `printed`: the paper's, or 0. */
static double rank_line(const struct study *s, const char *what, const char *name,
                        double printed)
{
    const struct hypar_explore_choice *c = choice(s, 0, name);
    struct hypar_explore_site site = hypar_exploration_site(s->found, 0);
    char paper[16] = "";
    if (printed > 0)
        snprintf(paper, sizeof paper, "%.2f", printed);
    printf("  %-20s %6s %6.2f %4lld of %lld  %s\n", what, paper,
           site.dp.step_s / c->cost.step_s, (long long)c->better, (long long)site.n_points,
           c->levels);
    return site.dp.step_s / c->cost.step_s;
}

/* A map of all choices. */
static void draw_choices(const struct figures *f, const char *name, const struct study *s)
{
    FILE *to = figure_picture(f, name);
    if (!to)
        return;
    hypar_report_exploration(to, s->found, HYPAR_SVG);
    figure_close(to);
}

static void exploration(struct figures *f)
{
    figure(f, "Figures 9 and 10", "performance over dp", "");
    heading("Explorations: 256 points each, 16 accelerators");
    const char *printed = hypar_printed[2].map;
    struct study free_choice =
        explore("lenet-c", "htree:16",
                &(struct hypar_explore_options){ .planners = "hypar", .joint = true });
    const char *greedy = choice(&free_choice, 0, "hypar")->levels;
    const char *joint = choice(&free_choice, 0, "hypar joint")->levels;
    char marks[256];
    snprintf(marks, sizeof marks, "%s,%s,%s", printed, greedy, joint);
    struct study s = explore(
        "lenet-c", "htree:16",
        &(struct hypar_explore_options){
            .levels = "H1,H4", .fix = "H2=0010,H3=0000", .planners = "hypar", .mark = marks });
    draw_choices(f, "Figure 9", &s);
    printf("Gain over data parallelism  paper   ours  better ones\n"
           "Figure 9: lenet-c, every choice of H1 and H4, H2 and H3 as printed\n");
    figure_point(f, "Figure 9, lenet-c", "peak", 3.05, rank_line(&s, "peak", "best", 3.05));
    figure_point(f, "Figure 9, lenet-c", "HyPar's choice", 3.05,
                 rank_line(&s, "HyPar's choice", "hypar", 3.05));
    rank_line(&s, "the map of Figure 5", "marked 1", 0);
    rank_line(&s, "greedy, all levels", "marked 2", 0);
    rank_line(&s, "joint, all levels", "marked 3", 0);
    release(&s);
    release(&free_choice);
    s = explore("vgg-a", "htree:16",
                &(struct hypar_explore_options){ .layers = "conv5_2,fc1",
                                                 .planners = "hypar",
                                                 .joint = true,
                                                 .mark = hypar_printed[5].map });
    draw_choices(f, "Figure 10", &s);
    printf("Figure 10: vgg-a, every choice of conv5_2 and fc1 at H1 to H4\n");
    figure_point(f, "Figure 10, vgg-a", "peak", 5.05, rank_line(&s, "peak", "best", 5.05));
    figure_point(f, "Figure 10, vgg-a", "HyPar's choice", 4.97,
                 rank_line(&s, "HyPar's choice", "hypar", 4.97));
    rank_line(&s, "the map of Figure 5", "marked", 0);
    rank_line(&s, "joint", "hypar joint", 0);
    release(&s);
}

/* Figure 11 --------------------------------------------------------------------------- */

static void scaling(struct figures *f)
{
    static const double hypar[] = { 1, 1.99, 3.92, 7.20, 10.75, 11.21, 8.30 };
    static const double dp[] = { 1, 1.99, 3.50, 4.70, 3.97, 2.36, 1.26 };
    struct study s =
        explore("vgg-e", "htree:16", &(struct hypar_explore_options){ .devices = "1..4096" });
    bool without_dp = false;
    heading("Figure 11: vgg-e, gain over one accelerator, paper | ours (deviation)");
    figure(f, "Figure 11", "vgg-e over one accelerator", "");
    for (int i = 0; i < hypar_exploration_info(s.found).n_sites; i++) {
        struct hypar_explore_site site = hypar_exploration_site(s.found, i);
        double own[2] = { site.one_device_s / cost(&s, i, "hypar")->step_s,
                          site.one_device_s / cost(&s, i, "dp")->step_s };
        printf("%5d accelerators   ", hypar_machine_device_count(site.machine));
        if (i < 7) {
            char devices[32];
            snprintf(devices, sizeof devices, "%d accelerators",
                     hypar_machine_device_count(site.machine));
            figure_point(f, devices, "hypar", hypar[i], own[0]);
            figure_point(f, devices, "dp", dp[i], own[1]);
            printf("hypar %5.2f | %5.2f (%+4.1f %%)   dp %4.2f | %4.2f (%+4.1f %%)\n", hypar[i],
                   own[0], percent(own[0], hypar[i]), dp[i], own[1], percent(own[1], dp[i]));
        } else if (isnan(own[1])) {
            printf("hypar       | %5.2f             dp      |      -\n", own[0]);
            without_dp = true;
        } else {
            printf("hypar       | %5.2f             dp      | %6.4f\n", own[0], own[1]);
        }
    }
    if (without_dp)
        printf("-: data parallelism has fewer samples (%lld) than accelerators.\n",
               (long long)hypar_graph_info(s.graph).batch);
    release(&s);
}

/* Torus and one weird trick ----------------------------------------------------------- */

static void torus(struct figures *f)
{
    struct means m = { 0 };
    heading("Torus instead of H-tree: gain of hypar over data parallel (our bytes)");
    printf("%-10s %10s %10s %22s\n", "", "H-tree", "torus", "torus, dp on H-tree");
    for (int i = 0; i < HYPAR_NETWORKS; i++) {
        struct study s =
            explore(hypar_printed[i].model, "htree:16",
                    &(struct hypar_explore_options){ .topologies = "htree,torus" });
        double tree_dp = cost(&s, 0, "dp")->step_s;
        double own[3] = { tree_dp / cost(&s, 0, "hypar")->step_s,
                          cost(&s, 1, "dp")->step_s / cost(&s, 1, "hypar")->step_s,
                          tree_dp / cost(&s, 1, "hypar")->step_s };
        mean_add(&m, own, 3);
        printf("%-10s %10.4g %10.4g %22.4g\n", hypar_printed[i].model, own[0], own[1], own[2]);
        release(&s);
    }
    printf("%-10s %10.4g %10.4g %22.4g   paper: 3.39 and about 2.22\n", "gmean", mean(&m, 0),
           mean(&m, 1), mean(&m, 2));
    figure(f, "Torus", "performance over dp", "");
    figure_point(f, "gmean", "H-tree", 3.39, mean(&m, 0));
    figure_point(f, "gmean", "torus", 2.22, mean(&m, 1));
    printf(
        "Partners i and i + half are 2, 1, 2 and 1 links apart on the 4 x 4 torus. The loss is "
        "smaller\nthan the paper's.\n");
}

static void one_weird_trick(struct figures *f)
{
    struct means m = { 0 };
    double most = 0;
    heading("Over one weird trick: performance, energy efficiency of hypar (our bytes)");
    for (int i = 0; i < HYPAR_NETWORKS; i++) {
        struct study s = explore(
            hypar_printed[i].model, "htree:16",
            &(struct hypar_explore_options){ .planners = "hypar,owt", .devices = "16" });
        double own[2] = { cost(&s, 0, "owt")->step_s / cost(&s, 0, "hypar")->step_s,
                          cost(&s, 0, "owt")->energy_j / cost(&s, 0, "hypar")->energy_j };
        mean_add(&m, own, 2);
        most = fmax(most, own[0]);
        printf("%-10s %10.4g %10.4g\n", hypar_printed[i].model, own[0], own[1]);
        release(&s);
    }
    printf("%-10s %10.4g %10.4g   at most %.4g; paper: up to 2.40, gmean 1.62, energy 1.22\n",
           "gmean", mean(&m, 0), mean(&m, 1), most);
    figure(f, "Comparison", "hypar over one weird trick", "");
    figure_point(f, "gmean", "performance", 1.62, mean(&m, 0));
    figure_point(f, "most", "largest", 2.40, most);
    figure_point(f, "gmean", "energy", 1.22, mean(&m, 1));
    printf("For the ten networks at batch 256 both choose nearly alike, so there is little to "
           "gain: "
           "the\nprinted gains are not reproduced.\n");
}

/* All levels at once ------------------------------------------------------------------ */

/* Words that only stand for a family build what another row builds. */
static bool is_family(const char *name)
{
    static const char *const families[] = { "mlp", "vgg", "resnet", "bert", "gpt", "llama" };
    for (size_t i = 0; i < sizeof families / sizeof families[0]; i++)
        if (strcmp(families[i], name) == 0)
            return true;
    return false;
}

/* What planner hypar exchanges on an H-tree. */
static double total(struct layered *layered, int n_levels, bool joint, bool *exact)
{
    struct arena arena = { 0 };
    struct hypar_error err;
    struct hypar_search_options options = { .joint = joint };
    struct problem problem = { .graph = layered->graph,
                               .options = &options,
                               .layered = layered };
    struct hypar_machine *machine;
    struct partition partition;
    char word[32];
    snprintf(word, sizeof word, "htree:%d", 1 << n_levels);
    must(hypar_machine_read(&machine, word, &err), &err);
    problem.machine = machine;
    problem.n_levels = hypar_machine_levels(machine, problem.level);
    struct partition_problem p = hp_set_up_partition(&problem, &arena, hp_planner_hypar.rules);
    must(hp_partition(&arena, &p, &partition, &err), &err);
    *exact = partition.exact;
    hypar_machine_free(machine);
    hp_arena_free(&arena);
    return partition.total_elements;
}

static void joint_row(const char *model, int most_levels)
{
    struct hypar_graph *graph;
    struct hypar_error err;
    struct arena arena = { 0 };
    double start = wall_s();
    bool exact = true, above = false;
    must(hypar_import(&graph, model, NULL, &err), &err);
    struct layered *l = hp_layered(&arena, graph);
    printf("%-14s", model);
    for (int h = 1; h <= most_levels; h++) {
        bool proven;
        double greedy = total(l, h, false, &proven);
        double joint = total(l, h, true, &proven);
        exact &= proven;
        above |= joint > greedy;
        printf(" %6.3f", 100 * (1 - joint / greedy));
        fflush(stdout);
    }
    printf("  %6.1f s%s%s\n", wall_s() - start, exact ? "" : "  not all proven",
           above ? "  ABOVE GREEDY" : "");
    hp_arena_free(&arena);
    hypar_graph_free(graph);
}

static void joint_table(void)
{
    enum { LEVELS = 10 };
    heading("All levels at once: % of exchange below greedy, two types, the zoo's own batch");
    printf("%-14s", "devices");
    for (int h = 1; h <= LEVELS; h++)
        printf(" %6d", 1 << h);
    printf("  %8s\n", "search");
    for (int i = 0; i < hypar_model_count(); i++)
        if (!is_family(hypar_model_at(i).name))
            joint_row(hypar_model_at(i).name, LEVELS);
}

/* The figures of the ten networks on 16 accelerators, and those that explore by themselves. */
static const struct {
    const char *name;
    void (*make)(struct figures *f, struct study *study);
} of_study[] = { { "Figure 5", maps },
                 { "Figure 6", performance },
                 { "Figure 7", energy },
                 { "Figure 8", communication } };

static const struct {
    const char *name;
    void (*make)(struct figures *f);
} alone[] = { { "Figures 9 and 10", exploration },
              { "Figure 11", scaling },
              { "Torus", torus },
              { "Comparison", one_weird_trick } };

int main(int argc, char **argv)
{
    struct study study[HYPAR_NETWORKS];
    struct figures f;
    figures_begin(&f, "HyPar", &argc, argv);
    take_words(argc, argv, argc > 1 && strcmp(argv[1], "quick") == 0, FIGURES_USAGE " [quick]");
    for (int i = 0; i < HYPAR_NETWORKS; i++)
        study[i] = explore(
            hypar_printed[i].model, "htree:16",
            &(struct hypar_explore_options){ .planners = "hypar,dp,mp", .devices = "16" });
    for (size_t i = 0; i < sizeof of_study / sizeof *of_study; i++)
        if (figure_wanted(&f, of_study[i].name))
            of_study[i].make(&f, study);
    for (int i = 0; i < HYPAR_NETWORKS; i++)
        release(&study[i]);
    for (size_t i = 0; i < sizeof alone / sizeof *alone; i++)
        if (figure_wanted(&f, alone[i].name))
            alone[i].make(&f);
    figures_end(&f);
    if (argc < 2 && !f.only)
        joint_table();
    return 0;
}
