/* Better machines: is auto's plan for a lesser machine, carried to a better one, faster there
 * than auto's plan for it? It should not be: what was found with less is there to be found with
 * more.
 *
 *     make bench-better                 build/bench_better [PAIRS, 20] [K/N] [SEED, 1]
 *                                       K/N: the K-th of N shares, to be run side by side
 *
 * A pair is a random model of the zoo, a random machine of 2 to 32 devices, and the same
 * machine with a bandwidth, its peak or its memory doubled, with whole nodes added, or with
 * another cluster joined to it; devices keep their numbers. Each row has the step of auto's
 * plan on the lesser machine, of the same plan on the better one, of auto's plan there, and by
 * how much the carried plan is faster. Exits with 1 if it is faster by more than 1 % too often.
 */
#include <hypar/search.h>

#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "base/random.h"
#include "bench/bench.h"
#include "plan/plan.h"

enum { WORD = 512 };
static const double FASTER = 0.01, MUCH_FASTER = 0.03; /* that a carried plan is at most */
static const double EXCEPTIONS = 0.01;                 /* of all pairs */

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

/* Models ----------------------------------------------------------------------------------- */

static void draw_mlp(struct random *r, char *word)
{
    static const int widths[] = { 10, 64, 500, 784, 1024, 3000, 4096, 8192 };
    append(word, "mlp:%d", PICK(r, widths));
    for (int layers = 1 + below(r, 5); layers > 0; layers--)
        append(word, "-%d", PICK(r, widths));
}

static void draw_transformer(struct random *r, char *word)
{
    static const char *const families[] = { "bert", "gpt", "llama" };
    static const int heads[] = { 2, 4, 6, 8, 12, 16 }, seqs[] = { 32, 64, 128, 256, 512 };
    int h = PICK(r, heads);
    append(word, "%s:layers=%d,hidden=%d,heads=%d,seq=%d,vocab=%d", PICK(r, families),
           1 + below(r, 5), h * (32 << below(r, 3)), h, PICK(r, seqs), 1000 << below(r, 6));
}

static void draw_recurrent(struct random *r, char *word)
{
    static const char *const families[] = { "rnnlm", "rnntc", "nmt" };
    append(word, "%s:steps=%d,layers=%d,hidden=%d", PICK(r, families), 2 + below(r, 9),
           1 + below(r, 2), 128 << below(r, 5));
}

static void draw_model(struct random *r, char *word)
{
    static const char *const networks[] = {
        "sfc",
        "sconv",
        "lenet-c",
        "cifar-c",
        "alexnet-t",
        "lenet5",
        "alexnet",
        "vgg-a",
        "vgg11",
        "alexnet-optcnn",
        "vgg:image=64",
        "resnet18",
        "vgg16",

        "mobilenet-v2",
        "resnet:depth=18,image=64",
        "vit-b-16:layers=3",
        "alexnet-hypar",
    };
    *word = '\0';
    switch (below(r, 4)) {
    case 0:
        draw_mlp(r, word);
        break;
    case 1:
        draw_transformer(r, word);
        break;
    case 2:
        draw_recurrent(r, word);
        break;
    default:
        append(word, "%s", PICK(r, networks));
    }
}

/* Machines --------------------------------------------------------------------------------- */

/* What a machine's word is made of; all that may be doubled is said. */
struct drawn_machine {
    const char *topology;
    const char *device;
    int n_sizes, size[3];
    double peak, memory, memory_bandwidth; /* of a device */
    double bandwidth, inter;               /* of links; `inter` of clusters */
    const char *precision;                 /* that the peak is of */
};

static struct hypar_device device_of(const char *name)
{
    int i = 0;
    while (strcmp(hypar_device_type(i)->device.name, name) != 0)
        i++;
    return hypar_device_type(i)->device;
}

static void draw_sizes(struct random *r, struct drawn_machine *m)
{
    static const int grids[][2] = {
        { 2, 2 }, { 2, 3 }, { 2, 4 }, { 3, 3 }, { 4, 4 }, { 4, 8 }
    };
    static const int clusters[][2] = { { 1, 2 }, { 1, 4 }, { 2, 1 }, { 2, 2 }, { 2, 4 },
                                       { 4, 2 }, { 3, 2 }, { 1, 8 }, { 4, 4 }, { 2, 8 },
                                       { 3, 4 }, { 8, 2 }, { 4, 8 } };
    static const int lines[] = { 2, 3, 4, 6, 8, 12, 16 };
    bool cluster = strcmp(m->topology, "cluster") == 0;
    m->n_sizes = cluster || strcmp(m->topology, "torus") == 0 ? 2 : 1;
    m->size[0] = PICK(r, lines);
    if (m->n_sizes == 2)
        memcpy(m->size, cluster ? PICK(r, clusters) : PICK(r, grids), sizeof grids[0]);
}

static struct drawn_machine draw_machine(struct random *r, const char *topology,
                                         enum hypar_precision precision)
{
    static const char *const devices[] = { "v100", "p100", "k80", "a100", "h100", "t4" };
    static const double links[] = { 1e9, 5e9, 12.5e9, 25e9, 100e9, 300e9 };
    struct drawn_machine m = { .topology = topology, .device = PICK(r, devices) };
    struct hypar_device device = device_of(m.device);
    draw_sizes(r, &m);
    m.precision = hypar_precision_text(precision);
    m.peak = precision == HYPAR_BF16 ? device.bf16_op_per_s : device.fp32_op_per_s;
    m.memory = (double)device.memory_bytes / (1 << 3 * below(r, 3));
    m.memory_bandwidth = device.memory_bytes_per_s;
    m.bandwidth = PICK(r, links);
    m.inter = fmin(m.bandwidth, PICK(r, links));
    return m;
}

static void write_machine(const struct drawn_machine *m, char *word)
{
    append(word, "%s:%d", m->topology, m->size[0]);
    for (int i = 1; i < m->n_sizes; i++)
        append(word, "x%d", m->size[i]);
    append(word, ",device=%s,%s=%.4gTFLOP/s,memory=%.4gGB,memory-bandwidth=%.4gGB/s", m->device,
           m->precision, 1e-12 * m->peak, 1e-9 * m->memory, 1e-9 * m->memory_bandwidth);
    if (strcmp(m->topology, "cluster") == 0)
        append(word, ",intra=%.4gGB/s,inter=%.4gGB/s", 1e-9 * m->bandwidth, 1e-9 * m->inter);
    else
        append(word, ",bandwidth=%.4gGB/s", 1e-9 * m->bandwidth);
}

/* Make the machine better; returns what was done. */
static const char *improve(struct random *r, struct drawn_machine *m, bool cluster)
{
    switch (below(r, cluster ? 6 : 4)) {
    case 0:
        m->bandwidth *= 2;
        return "links";
    case 1:
        m->peak *= 2;
        return "peak";
    case 2:
        m->memory *= 2;
        return "memory";
    case 3:
        m->memory_bandwidth *= 2;
        return "memory bandwidth";
    case 4:
        m->inter *= 2;
        return "links between nodes";
    default:
        m->size[0] += 1 + below(r, m->size[0]);
        return "nodes";
    }
}

/* Pairs ------------------------------------------------------------------------------------ */

struct pair {
    char model[WORD], lesser[WORD], better[WORD];
    const char *change;
    int64_t batch;
    enum hypar_optimizer optimizer;
    enum hypar_precision precision;
};

static void draw_machines(struct random *r, struct pair *p)
{
    static const char *const topologies[] = { "cluster", "cluster", "cluster", "cluster",
                                              "torus",   "htree",   "ring",    "full" };
    const char *topology = PICK(r, topologies);
    bool cluster = strcmp(topology, "cluster") == 0;
    struct drawn_machine first = draw_machine(r, topology, p->precision);
    struct drawn_machine second = draw_machine(r, "cluster", p->precision);
    bool mixed = cluster && below(r, 5) == 0, joined = cluster && below(r, 5) == 0;
    write_machine(&first, p->lesser);
    if (mixed) {
        second.size[1] = first.size[1];
        append(p->lesser, "+");
        write_machine(&second, p->lesser);
    }
    if (joined) {
        struct drawn_machine third = draw_machine(r, "cluster", p->precision);
        append(p->better, "%s+", p->lesser);
        write_machine(&third, p->better);
        p->change = "a machine";
        return;
    }
    /* nodes are added to what is last, so that devices keep their numbers */
    p->change = improve(r, mixed ? &second : &first, cluster);
    write_machine(&first, p->better);
    if (mixed) {
        append(p->better, "+");
        write_machine(&second, p->better);
    }
}

static struct pair draw_pair(uint64_t seed)
{
    static const int64_t batches[] = { 8, 16, 24, 32, 64, 100, 128, 256, 512 };
    struct random r = { seed };
    r.state = hp_random_u64(&r); /* not a stream that another seed's is a part of */
    struct pair p = { .batch = PICK(&r, batches),
                      .optimizer = (enum hypar_optimizer)below(&r, HYPAR_OPTIMIZER_COUNT),
                      .precision = below(&r, 2) ? HYPAR_BF16 : HYPAR_FP32 };
    draw_model(&r, p.model);
    draw_machines(&r, &p);
    return p;
}

/* Plans ------------------------------------------------------------------------------------ */

/* What auto finds for a pair's model; step_s 0: nothing that fits, or it is not simulated. */
struct outcome {
    struct hypar_machine *machine;
    struct hypar_found *found;
    double step_s;
    const char *planner;
};

static struct outcome plan_on(const struct pair *p, const struct hypar_graph *graph,
                              const char *word)
{
    struct outcome o = { .planner = "-" };
    struct hypar_error err;
    struct hypar_search_options options = { .model = p->model,
                                            .machine = word,
                                            .optimizer = p->optimizer,
                                            .precision = p->precision,
                                            .threads = 1 };
    must(hypar_machine_read(&o.machine, word, &err), &err);
    if (hypar_search(&o.found, graph, o.machine, &options, &err) != HYPAR_OK)
        return o;
    const struct hypar_simulated *s = hypar_found_simulated(o.found);
    o.planner = hypar_found_info(o.found).planner;
    o.step_s = s && s->step.fits ? s->step.step_s : 0;
    return o;
}

static void end(struct outcome *o)
{
    hypar_found_free(o->found);
    hypar_machine_free(o->machine);
}

/* The step of the same plan on another machine. */
static double carried_step(const struct hypar_plan *plan, const char *machine)
{
    struct hypar_plan_read_options options = { .machine = machine };
    struct hypar_error err;
    struct hypar_plan *carried;
    struct hypar_sim *sim;
    char *text = NULL;
    size_t length;
    FILE *to = open_memstream(&text, &length);
    struct hypar_plan *written = hp_plan_copy(plan);
    written->has_layout = false; /* it would have to fill the machine */
    hypar_plan_write(written, to);
    fclose(to);
    hypar_plan_free(written);
    must(hp_plan_read_text(&carried, text, length, "plan", &options, &err), &err);
    must(hypar_simulate(&sim, carried, NULL, &err), &err);
    double step_s = hypar_sim_summary(sim).step_s;
    hypar_sim_free(sim);
    hypar_plan_free(carried);
    free(text);
    return step_s;
}

struct tally {
    int pairs, without; /* and those without a plan on the lesser machine */
    int exceptions, large, lost;
    double worst;
    int slower;
    double most_slower;
    char list[1 << 16];
};

static void compare(struct tally *t, uint64_t seed)
{
    struct pair p = draw_pair(seed);
    struct hypar_error err;
    struct hypar_graph *graph;
    struct hypar_import_options import = { .batch = p.batch };
    double began_s = now_s();
    must(hypar_import(&graph, p.model, &import, &err), &err);
    struct outcome lesser = plan_on(&p, graph, p.lesser), better = plan_on(&p, graph, p.better);
    printf("%4llu %s, %lld, %s, %s; %s -> %s: %s", (unsigned long long)seed, p.model,
           (long long)p.batch, hypar_optimizer_text(p.optimizer),
           hypar_precision_text(p.precision), p.lesser, p.better, p.change);
    if (lesser.step_s > 0) {
        double same_s = carried_step(hypar_found_plan(lesser.found), p.better);
        double faster = better.step_s > 0 ? better.step_s / same_s - 1 : INFINITY;
        t->pairs++;
        t->exceptions += faster > FASTER;
        t->large += faster > MUCH_FASTER;
        t->worst = fmax(t->worst, faster);
        t->slower += same_s > lesser.step_s * (1 + 1e-9);
        t->most_slower = fmax(t->most_slower, same_s / lesser.step_s - 1);
        printf("; %s %.4g us, there %.4g us; %s %.4g us; %+.2f %%%s", lesser.planner,
               1e6 * lesser.step_s, 1e6 * same_s, better.planner, 1e6 * better.step_s,
               100 * faster, faster > FASTER ? " EXCEPTION" : "");
        if (faster > FASTER)
            append(t->list, " %llu (%.1f %%)", (unsigned long long)seed, 100 * faster);
    } else {
        t->without++;
        printf("; no plan on the lesser machine");
    }
    printf("; %.1f s\n", now_s() - began_s);
    fflush(stdout);
    end(&lesser);
    end(&better);
    hypar_graph_free(graph);
}

int main(int argc, char **argv)
{
    static struct tally t;
    take_words(argc, argv, 3, "[PAIRS [K/N [SEED]]]");
    int pairs = argc > 1 ? atoi(argv[1]) : 20, share = 1, shares = 1;
    long long seed = argc > 3 ? atoll(argv[3]) : 1;
    if (argc > 2 && (sscanf(argv[2], "%d/%d", &share, &shares) != 2 || shares < 1)) {
        fprintf(stderr, "bench_better: share '%s', expected K/N\n", argv[2]);
        return 2;
    }
    printf("seeds %lld to %lld, share %d of %d\n", seed, seed + pairs - 1, share, shares);
    for (int i = share - 1; i < pairs; i += shares)
        compare(&t, (uint64_t)(seed + i));
    printf(
        "%d pairs (%d more without a plan on the lesser machine): %d where the carried plan is "
        "faster by more than 1 %%, %d by more than 3 %%, at most by %.2f %%;%s\n",
        t.pairs, t.without, t.exceptions, t.large, 100 * t.worst, t.list);
    printf("a fixed plan is slower on the better machine %d times, at most by %.2f %%\n",
           t.slower, 100 * t.most_slower);
    return t.exceptions > EXCEPTIONS * pairs || t.large > 0;
}
