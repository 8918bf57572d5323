/* From a row to its plan file, and to what the simulator says of it. */
#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <hypar/sim.h>

#include "bench/bench.h"
#include "bench/truth/truth.h"

/* Gated layers without biases and dropouts, rotary positions: or GPT's other ones, where names
 * of rows say what differs. */
static bool is_llama(const struct truth_row *r)
{
    return r->gated && !r->table->cases;
}

/* Options of a network's word that a row says. */
static void write_network(char *to, size_t size, const struct truth_row *r)
{
    if (*r->word) {
        snprintf(to, size, "%s", r->word);
        return;
    }
    int n = snprintf(to, size, "%s:layers=%d,hidden=%d,heads=%d,seq=%d,vocab=%d",
                     is_llama(r) ? "llama" : "gpt", r->layers, r->hidden, r->heads, r->seq,
                     r->vocab);
    if (r->kv_heads && r->kv_heads != r->heads)
        n += snprintf(to + n, size - (size_t)n, ",kv_heads=%d", r->kv_heads);
    if (r->ffn && (r->gated || r->ffn != 4 * r->hidden))
        n += snprintf(to + n, size - (size_t)n, ",ffn=%d", r->ffn);
    if (is_llama(r) && r->tied)
        n += snprintf(to + n, size - (size_t)n, ",tied=1");
    if (is_llama(r))
        return;
    if (r->gated)
        n += snprintf(to + n, size - (size_t)n, ",gated=1");
    if (r->untied)
        n += snprintf(to + n, size - (size_t)n, ",tied=0");
    if (strstr(r->model, "disable_bias"))
        n += snprintf(to + n, size - (size_t)n, ",biases=0");
    if (r->table->network)
        snprintf(to + n, size - (size_t)n, ",%s", r->table->network);
}

/* Nodes of eight devices, or the 64 of a rack whose links join them all. */
static int node_of(const struct truth_row *r)
{
    int node = strncmp(r->device, "gb", 2) == 0 ? 64 : 8;
    return r->devices < node ? r->devices : node;
}

static const char *recompute_of(const struct truth_row *r)
{
    return strcmp(r->recompute, "full") == 0 || strcmp(r->recompute, "selective") == 0
               ? r->recompute
               : "none";
}

static void write_layout(char *to, size_t size, const struct truth_row *r)
{
    bool sharded = r->data > 1 && strcmp(r->zero, "none") != 0;
    int n = snprintf(to, size,
                     "{\"data\": %d, \"tensor\": %d, \"pipeline\": %d, \"micro_batches\": %d, "
                     "\"chunks\": %d, \"sequence_parallel\": %s, \"recompute\": \"%s\", "
                     "\"shard\": \"%s\"",
                     r->data, r->tensor, r->pipeline, r->batch / r->data / r->micro_batch,
                     r->chunks, r->sequence_parallel ? "true" : "false", recompute_of(r),
                     sharded ? r->zero : "none");
    if (sharded && r->instances > 1)
        n += snprintf(to + n, size - (size_t)n, ", \"shard_over\": %d", r->data / r->instances);
    if (r->first_layers)
        n += snprintf(to + n, size - (size_t)n, ", \"first_layers\": %d", r->first_layers);
    if (r->last_layers)
        n += snprintf(to + n, size - (size_t)n, ", \"last_layers\": %d", r->last_layers);
    snprintf(to + n, size - (size_t)n, "}");
}

/* Operators with parameters outside of layers, as the layout divides them, but with whole
 * parameters. */
static void write_whole(char *to, size_t size, const struct truth_row *r)
{
    static const struct {
        const char *name, *axis;
    } ops[] = { { "wte", "v" }, { "wpe.add", "r" }, { "ln_f", "r" }, { "lm_head", "k" } };
    int n = snprintf(to, size, ", \"ops\": [");
    for (size_t i = 0; i < sizeof ops / sizeof ops[0]; i++)
        n += snprintf(to + n, size - (size_t)n,
                      "%s{\"name\": \"%s\", \"split\": {\"n\": %d, \"%s\": %d}, "
                      "\"shard\": \"gradients\"}",
                      i ? ", " : "", ops[i].name, r->data, ops[i].axis, r->tensor);
    snprintf(to + n, size - (size_t)n, "]");
}

/* What --as takes; of sequence parallelism the older Megatron-LM knew nothing. */
static const char *framework_of(const struct truth_row *r)
{
    static const struct {
        const char *row, *word;
    } words[] = {
        { "compiled-graph", "compiled" },
        { "compiled", "compiled,launches=eager" },
    };
    if (strcmp(r->framework, "megatron-2021") == 0 && r->sequence_parallel)
        return "megatron-2022";
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++)
        if (strcmp(r->framework, words[i].row) == 0)
            return words[i].word;
    return r->framework;
}

void truth_plan(const struct truth_row *r, const char *options, char text[TRUTH_PLAN])
{
    char network[TRUTH_TEXT], layout[TRUTH_TEXT], whole[TRUTH_TEXT] = "";
    int node = node_of(r);
    bool bf16 = strstr(r->precision, "bf16");
    write_network(network, sizeof network, r);
    write_layout(layout, sizeof layout, r);
    if (r->layers_alone)
        write_whole(whole, sizeof whole, r);
    snprintf(text, TRUTH_PLAN,
             "{\"format\": \"hypar-plan/1\", \"model\": \"%s\", \"batch\": %d,\n"
             "\"machine\": \"cluster:%dx%d,device=%s%s\", \"precision\": \"%s\",%s\n"
             "\"optimizer\": \"%s\", \"clip\": 1, \"as\": \"%s%s\", \"layout\": %s%s}\n",
             network, r->batch, r->devices / node, node, r->device, options,
             bf16 ? "bf16" : "fp16",
             strcmp(r->gradients, "PURE") == 0 ? " \"gradient_precision\": \"bf16\"," : "",
             r->table->optimizer, framework_of(r), r->members, layout, whole);
}

/* Simulation ---------------------------------------------------------------------------- */

static void note_times(struct truth_prediction *p, const struct hypar_sim *sim)
{
    struct hypar_sim_summary summary = hypar_sim_summary(sim);
    p->step_s = summary.step_s;
    p->launch_s = summary.launch_s;
    for (int d = 0; d < summary.n_devices; d++) {
        struct hypar_sim_device device = hypar_sim_device(sim, d);
        p->compute_s += device.busy_s / summary.n_devices;
        p->waiting_s += device.waiting_s / summary.n_devices;
    }
    p->messages_s = p->step_s - p->compute_s - p->waiting_s;
    p->parts = (struct less_known){ .messages = p->messages_s / p->step_s,
                                    .launches = p->launch_s / p->step_s };
}

/* Tables tell what lasts behind a step. Then gradients that are short have been copied in fp32
 * for the optimizer, by whoever has its state. */
static void note_memory(struct truth_prediction *p, const struct hypar_sim *sim,
                        const struct truth_row *r)
{
    struct hypar_sim_summary summary = hypar_sim_summary(sim);
    int device = r->table->whose == FIRST_DEVICE  ? 0
                 : r->table->whose == LAST_DEVICE ? summary.n_devices - 1
                                                  : summary.fullest_device;
    struct hypar_memory m = hypar_sim_device(sim, device).memory;
    bool divided = strcmp(r->zero, "none") != 0;
    p->state_bytes = m.parameters + m.gradients + m.optimizer + m.workspaces;
    if (strstr(r->members, "gradients=short"))
        p->state_bytes += 2 * m.gradients / (divided ? r->data : 1);
    p->peak_bytes = m.allocated > 0 ? r->table->reserved ? m.reserved : m.allocated : m.peak;
    p->probability = hypar_memory_probability(&m);
}

static struct truth_prediction simulate(const char *text, const struct truth_row *row)
{
    struct truth_prediction p = { .step_s = INFINITY };
    char path[] = "/tmp/hypar-truth-XXXXXX";
    struct hypar_plan *plan = NULL;
    struct hypar_sim *sim = NULL;
    struct hypar_error err;
    FILE *file = fdopen(mkstemp(path), "w");
    if (!file)
        must(HYPAR_RUNTIME, &(struct hypar_error){ .text = "no temporary file" });
    fputs(text, file);
    fclose(file);
    if (hypar_plan_read(&plan, path, NULL, &err) == HYPAR_OK &&
        hypar_simulate(&sim, plan, NULL, &err) == HYPAR_OK) {
        note_times(&p, sim);
        snprintf(p.device, sizeof p.device, "%s",
                 hypar_machine_device(hypar_plan_machine(plan), 0)->name);
        note_memory(&p, sim, row);
    } else {
        const char *at = strstr(err.text, path);
        snprintf(p.failure, sizeof p.failure, "%s", at ? at + sizeof path : err.text);
    }
    hypar_sim_free(sim);
    hypar_plan_free(plan);
    unlink(path);
    return p;
}

/* Plans that were simulated, by their text, or are being simulated by another thread. */
static struct known {
    struct known *next;
    struct truth_prediction prediction;
    bool done;
    char text[TRUTH_PLAN];
} * known;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t some_done = PTHREAD_COND_INITIALIZER;

/* With the lock. Plans that nobody has begun are added; *begun says that there was one. */
static struct known *find_known(const char *text, bool *begun)
{
    struct known *k = known;
    while (k && strcmp(k->text, text) != 0)
        k = k->next;
    *begun = k != NULL;
    if (k)
        return k;
    k = calloc(1, sizeof *k);
    if (!k)
        must(HYPAR_RUNTIME, &(struct hypar_error){ .text = "out of memory" });
    strcpy(k->text, text);
    k->next = known;
    return known = k;
}

static struct truth_prediction predict(const struct truth_row *row, const char *options)
{
    char text[TRUTH_PLAN];
    bool begun;
    truth_plan(row, options, text);
    pthread_mutex_lock(&lock);
    struct known *k = find_known(text, &begun);
    while (begun && !k->done)
        pthread_cond_wait(&some_done, &lock);
    pthread_mutex_unlock(&lock);
    if (begun)
        return k->prediction;
    struct truth_prediction made = simulate(text, row);
    pthread_mutex_lock(&lock);
    k->prediction = made;
    k->done = true;
    pthread_cond_broadcast(&some_done);
    pthread_mutex_unlock(&lock);
    return made;
}

/* What was not printed ------------------------------------------------------------------- */

/* Can a replica's batch be run so? The layers are divided evenly where devices have several
 * stages, and micro-batches pass through them in rounds. */
static bool is_possible(const struct truth_row *r)
{
    if (r->batch % r->micro_batch)
        return false;
    return r->chunks == 1 || (r->pipeline > 1 && r->layers % (r->chunks * r->pipeline) == 0 &&
                              r->batch / r->micro_batch % r->pipeline == 0);
}

/* Infinite where it does not fit. */
static double fitting_s(const struct truth_row *r, const char *options)
{
    static const double most_bytes = 80e9;
    struct truth_prediction p = predict(r, options);
    return p.peak_bytes <= most_bytes ? p.step_s : INFINITY;
}

/* The least over the stages of a device, fewest first, until they are slower than before. */
static double least_chunks(struct truth_row *one, int given, const char *options)
{
    enum { MOST = 16 };
    double least_s = INFINITY;
    int best = given ? given : 1;
    for (one->chunks = best; one->chunks <= (given ? given : MOST); one->chunks++) {
        if (!is_possible(one))
            continue;
        double s = fitting_s(one, options);
        if (s > least_s)
            break;
        least_s = s;
        best = one->chunks;
    }
    one->chunks = best;
    return least_s;
}

/* Fill in what was not printed, as it is fastest for one replica. */
static void choose(struct truth_row *r, const char *options)
{
    enum { MOST = 16 };
    struct truth_row one = *r;
    double least_s = INFINITY;
    int first = r->micro_batch ? r->micro_batch : 1, last = r->micro_batch ? first : MOST;
    int given = r->chunks;
    one.batch /= one.data;
    one.devices /= one.data;
    one.data = 1;
    for (one.micro_batch = first; one.micro_batch <= last; one.micro_batch *= 2) {
        double s = least_chunks(&one, given, options);
        if (s > least_s)
            break;
        least_s = s;
        r->micro_batch = one.micro_batch;
        r->chunks = one.chunks;
    }
}

void truth_predict(struct truth_row *row, const char *options)
{
    if (!row->micro_batch || !row->chunks) {
        row->chosen = true;
        choose(row, options);
    }
    row->predicted = predict(row, options);
}
