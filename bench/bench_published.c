/* Published steps and collectives beside what is predicted for them:
 *
 *     build/bench_published [--csv FOLDER] [--svg FOLDER] [OPTIONS [FIRST STRIDE]]
 *
 * 1. All-reduces within a node of A100s, of which every second was fitted.
 * 2. Steps of GPT-like models on A100s, in 16 bits with Adam, as Megatron-LM ran them in 2021
 *    and 2022 (src/plan/frameworks.c). Where the micro-batch or the stages of each device were
 *    not printed, the least over those that fit into memory, chosen without data parallelism.
 * The files lie beside the tree (tests/papers/measured.h); without them there is nothing to do.
 * OPTIONS are appended to the machine's word; STRIDE 2 takes every second step. */
#include <hypar/plan.h>
#include <hypar/sim.h>

#include <unistd.h>

#include "bench/bench.h"
#include "bench/figures.h"
#include "tests/papers/measured.h"

static void collectives(struct figures *f, const char *options)
{
    struct nccl_row rows[NCCL_MAX];
    struct hypar_machine *machine;
    struct hypar_error err;
    char word[1024];
    int n = nccl_rows(rows);
    if (n == 0) {
        printf("No measured collectives beside the tree.\n\n");
        return;
    }
    snprintf(word, sizeof word, "cluster:1x8,device=a100%s", options);
    must(hypar_machine_read(&machine, word, &err), &err);
    printf("All-reduce within a node of A100s, mean error\n\ndevices  fitted sizes  others\n");
    for (int devices = 2; devices <= 8; devices *= 2)
        printf("%7d %11.1f %% %5.1f %%\n", devices,
               100 * nccl_error(machine, rows, n, 0, devices),
               100 * nccl_error(machine, rows, n, 1, devices));
    printf("    all %11.1f %% %5.1f %%\n\n", 100 * nccl_error(machine, rows, n, 0, 0),
           100 * nccl_error(machine, rows, n, 1, 0));
    figure(f, "NCCL", "all-reduce among A100s", "s");
    for (int i = 0; i < n; i++) {
        char row[FIGURE_TEXT], series[FIGURE_TEXT];
        snprintf(row, sizeof row, "%.0f bytes", rows[i].bytes);
        snprintf(series, sizeof series, "%d devices", rows[i].devices);
        figure_point(f, row, series, rows[i].seconds, nccl_predicted_s(machine, &rows[i]));
    }
    hypar_machine_free(machine);
}

/* --- steps --- */

/* A row of steps-a100.csv; micro_batch or chunks 0: not known. */
struct step_row {
    char source[32], model[16], recompute[16];
    int gpus, layers, hidden, heads, seq, vocab, batch, micro_batch, tensor, data, pipeline;
    int chunks, sequence_parallel;
    double measured_s, predicted_s;
};

enum { MAX_STEPS = 256 };

/* Fields without what lies between two commas that follow each other: strtok() would skip it.
 */
static const char *next_field(char **at)
{
    char *field = *at, *comma = strchr(field, ',');
    *at = comma ? comma + 1 : field + strlen(field);
    if (comma)
        *comma = '\0';
    return field;
}

static struct step_row parse_step(char *line)
{
    struct step_row r = { .measured_s = 0 };
    snprintf(r.source, sizeof r.source, "%s", next_field(&line));
    snprintf(r.model, sizeof r.model, "%s", next_field(&line));
    int *const before[] = { &r.gpus,   &r.layers, &r.hidden,   &r.heads,
                            &r.seq,    &r.vocab,  &r.batch,    &r.micro_batch,
                            &r.tensor, &r.data,   &r.pipeline, &r.chunks };
    for (size_t i = 0; i < sizeof before / sizeof *before; i++)
        *before[i] = atoi(next_field(&line));
    snprintf(r.recompute, sizeof r.recompute, "%s", next_field(&line));
    r.sequence_parallel = atoi(next_field(&line));
    r.measured_s = atof(next_field(&line));
    return r;
}

static int read_steps(struct step_row *rows)
{
    FILE *file = measured_open("steps-a100.csv", "source,model,gpus,layers,hidden,heads,seq,");
    char line[MEASURED_LINE];
    int n = 0;
    while (file && n < MAX_STEPS && fgets(line, sizeof line, file))
        rows[n++] = parse_step(line);
    if (file)
        fclose(file);
    return n;
}

static void write_plan(FILE *to, const struct step_row *r, const char *options)
{
    int n = r->data * r->tensor * r->pipeline, node = n < 8 ? n : 8;
    fprintf(
        to,
        "{\"format\": \"hypar-plan/1\", \"model\": \"gpt:layers=%d,hidden=%d,heads=%d,seq=%d,"
        "vocab=%d\", \"batch\": %d,\n",
        r->layers, r->hidden, r->heads, r->seq, r->vocab, r->batch);
    fprintf(
        to,
        "\"machine\": \"cluster:%dx%d,device=a100%s\", \"precision\": \"fp16\", \"clip\": 1,\n"
        "\"optimizer\": \"adam\", \"as\": \"megatron-%s\",\n",
        n / node, node, options, r->sequence_parallel ? "2022" : "2021");
    fprintf(
        to,
        "\"layout\": {\"data\": %d, \"tensor\": %d, \"pipeline\": %d, \"micro_batches\": %d, "
        "\"chunks\": %d,\n\"sequence_parallel\": %s, \"recompute\": \"%s\"}}\n",
        r->data, r->tensor, r->pipeline, r->batch / r->data / r->micro_batch, r->chunks,
        r->sequence_parallel ? "true" : "false", r->recompute);
}

/* Seconds of a row in which all is known; INFINITY if it does not fit or there is no such plan.
 */
static double simulate(const struct step_row *r, const char *options)
{
    char path[] = "/tmp/hypar-published-XXXXXX";
    struct hypar_plan *plan = NULL;
    struct hypar_sim *sim = NULL;
    struct hypar_error err;
    FILE *file = fdopen(mkstemp(path), "w");
    if (!file)
        must(HYPAR_RUNTIME, &(struct hypar_error){ "no temporary file" });
    write_plan(file, r, options);
    fclose(file);
    double seconds = INFINITY;
    if (hypar_plan_read(&plan, path, NULL, &err) == HYPAR_OK &&
        hypar_simulate(&sim, plan, NULL, &err) == HYPAR_OK) {
        struct hypar_sim_summary summary = hypar_sim_summary(sim);
        seconds = summary.fits ? summary.step_s : INFINITY;
    } else {
        fprintf(stderr, "bench: %s: %s\n", r->model, err.text);
    }
    hypar_sim_free(sim);
    hypar_plan_free(plan);
    unlink(path);
    return seconds;
}

/* Can a replica's batch be run so? The layers are divided evenly where devices have several
 * stages, and micro-batches pass through them in rounds. */
static bool is_possible(const struct step_row *r)
{
    if (r->batch % r->micro_batch)
        return false;
    return r->chunks == 1 || (r->pipeline > 1 && r->layers % (r->chunks * r->pipeline) == 0 &&
                              r->batch / r->micro_batch % r->pipeline == 0);
}

/* The least over the stages of a device, fewest first, until they are slower than before. */
static double least_chunks(struct step_row *one, int known, const char *options)
{
    enum { MOST = 16 };
    double least_s = INFINITY;
    int best = known ? known : 1;
    for (one->chunks = best; one->chunks <= (known ? known : MOST); one->chunks++) {
        if (!is_possible(one))
            continue;
        double s = simulate(one, options);
        if (s > least_s)
            break;
        least_s = s;
        best = one->chunks;
    }
    one->chunks = best;
    return least_s;
}

/* Fill in what was not printed, as it is fastest for one replica. */
static void choose(struct step_row *r, const char *options)
{
    enum { MOST = 16 };
    struct step_row one = *r;
    double least_s = INFINITY;
    int first = r->micro_batch ? r->micro_batch : 1, last = r->micro_batch ? first : MOST;
    int known = r->chunks;
    if (r->micro_batch && r->chunks)
        return;
    one.batch /= one.data;
    one.data = 1;
    for (one.micro_batch = first; one.micro_batch <= last; one.micro_batch *= 2) {
        double s = least_chunks(&one, known, options);
        if (s > least_s)
            break;
        least_s = s;
        r->micro_batch = one.micro_batch;
        r->chunks = one.chunks;
    }
}

/* Spearman's: the correlation of ranks; of equal values the mean rank. */
static double rank_of(const struct step_row *rows, int n, double s, bool measured)
{
    double rank = 0;
    for (int i = 0; i < n; i++) {
        double other = measured ? rows[i].measured_s : rows[i].predicted_s;
        rank += other < s ? 1 : other == s ? 0.5 : 0;
    }
    return rank;
}

static double rank_correlation(const struct step_row *rows, int n)
{
    double xy = 0, xx = 0, yy = 0, mean = n / 2.;
    for (int i = 0; i < n; i++) {
        double x = rank_of(rows, n, rows[i].measured_s, true) - mean;
        double y = rank_of(rows, n, rows[i].predicted_s, false) - mean;
        xy += x * y;
        xx += x * x;
        yy += y * y;
    }
    return xy / sqrt(xx * yy);
}

static void summarise(const struct step_row *rows, int n)
{
    double mean = 0, bias = 0, worst = 0;
    for (int i = 0; i < n; i++) {
        double error = rows[i].predicted_s / rows[i].measured_s - 1;
        mean += fabs(error) / n;
        bias += error / n;
        worst = fmax(worst, fabs(error));
    }
    printf("\nmean error %.1f %%, bias %+.1f %%, worst %.1f %%, rank correlation %.3f\n",
           100 * mean, 100 * bias, 100 * worst, rank_correlation(rows, n));
}

static void steps(struct figures *f, const char *options, int first, int stride)
{
    figure(f, "Megatron-LM", "step on A100s", "s");
    struct step_row all[MAX_STEPS], rows[MAX_STEPS];
    int n_all = read_steps(all), n = 0;
    if (n_all == 0) {
        printf("No measured steps beside the tree.\n");
        return;
    }
    printf(
        "Steps of GPT-like models on A100s (t tensor, d data, p pipeline, m micro-batch, c "
        "stages of a device; in brackets: chosen)\n\n"
        "source             model    GPUs  t  d  p  m    c    recompute  measured  predicted  "
        "error\n");
    for (int i = first; i < n_all; i += stride) {
        struct step_row r = all[i];
        bool micro = r.micro_batch, chunks = r.chunks;
        choose(&r, options);
        r.predicted_s = simulate(&r, options);
        printf("%-18s %-7s %5d %2d %2d %2d %s%d%s  %s%d%s  %-9s %8.2f s %8.2f s %+6.1f %%\n",
               r.source, r.model, r.gpus, r.tensor, r.data, r.pipeline, micro ? " " : "[",
               r.micro_batch, micro ? " " : "]", chunks ? " " : "[", r.chunks,
               chunks ? " " : "]", r.recompute, r.measured_s, r.predicted_s,
               100 * (r.predicted_s / r.measured_s - 1));
        fflush(stdout);
        char row[FIGURE_TEXT];
        snprintf(row, sizeof row, "%s %d GPUs t%d d%d p%d", r.model, r.gpus, r.tensor, r.data,
                 r.pipeline);
        figure_point(f, row, r.source, r.measured_s, r.predicted_s);
        rows[n++] = r;
    }
    summarise(rows, n);
}

int main(int argc, char **argv)
{
    char options[512] = "";
    struct figures f;
    figures_begin(&f, "Published", &argc, argv);
    take_words(argc, argv, 3, FIGURES_USAGE " [OPTIONS [FIRST STRIDE]]");
    if (argc > 1 && *argv[1])
        snprintf(options, sizeof options, ",%s", argv[1]);
    if (figure_wanted(&f, "NCCL"))
        collectives(&f, options);
    if (figure_wanted(&f, "Megatron-LM"))
        steps(&f, options, argc > 2 ? atoi(argv[2]) : 0, argc > 3 ? atoi(argv[3]) : 1);
    figures_end(&f);
    return 0;
}
