/* The tables: what their columns are called, how their jobs were run, which rows are left out.
 */
#include <math.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "bench/truth/truth.h"
#include "tests/papers/measured.h"

#define PLAIN "dropout_percent=0,biases=0"

static const struct truth_table tables[] = {
    { .name = "steps-a100",
      .what = "Megatron-LM of 2021 and 2022",
      .framework = "megatron-2021",
      .optimizer = "adam",
      .search = true },
    { .name = "scaling-a100",
      .what = "NeMo of 2022",
      .framework = "megatron-2022",
      .optimizer = "adam" },
    { .name = "fsdp-foundry",
      .what = "PyTorch FSDP",
      .framework = "llm-foundry",
      .optimizer = "adamw",
      .network = PLAIN },
    { .name = "steps-dgxc",
      .what = "NeMo of 2025",
      .framework = "nemo",
      .optimizer = "adam",
      .network = PLAIN ",tied=0",
      .sequence_parallel = true,
      .context_as_data = true },
    { .name = "steps-bridge",
      .what = "Megatron-Bridge and NeMo",
      .framework = "nemo",
      .optimizer = "adam",
      .network = PLAIN ",tied=0",
      .sequence_parallel = true,
      .context_as_data = true },
    { .name = "best-of-sweep-h100",
      .what = "nanotron",
      .framework = "nanotron",
      .optimizer = "adamw",
      .sequence_parallel = true,
      .whose = FIRST_DEVICE,
      .reserved = true },
    { .name = "megatron-ci-a100",
      .what = "Megatron-LM's own tests",
      .framework = "megatron-ci",
      .optimizer = "adam",
      .context_as_data = true,
      .whose = LAST_DEVICE,
      .cases = true,
      .padded_vocab = true },
    { .name = "steps-h200",
      .path = "bench/h200/steps.csv",
      .what = "PyTorch on an H200",
      .optimizer = "adamw",
      .one_device = "h200" },
};

const struct truth_table *truth_table(int i)
{
    return i < (int)(sizeof tables / sizeof tables[0]) ? &tables[i] : NULL;
}

enum { NAMES = 2 };

/* Columns by their names in the tables; a row has the value of the first that is there. */
#define MEMBER(m) offsetof(struct truth_row, m)
static const struct text_column {
    size_t member;
    const char *name[NAMES], *missing;
} texts[] = {
    { MEMBER(source), { "source" }, "" },
    { MEMBER(model), { "case", "model" }, "" },
    { MEMBER(device), { "device" }, "a100" },
    { MEMBER(precision), { "precision" }, "fp16" },
    { MEMBER(recompute), { "recompute" }, "none" },
    { MEMBER(zero), { "zero" }, "none" },
    { MEMBER(gradients), { "mp_mode" }, "" },
    { MEMBER(attention), { "attention_backend" }, "" },
    { MEMBER(framework), { "framework" }, "" },
    { MEMBER(parameters), { "parameters" }, "" },
    { MEMBER(container), { "env" }, "" },
};
static const struct number_column {
    size_t member;
    const char *name[NAMES];
    int missing;
} numbers[] = {
    { MEMBER(devices), { "devices", "gpus" }, 0 },
    { MEMBER(layers), { "layers" }, 0 },
    { MEMBER(hidden), { "hidden" }, 0 },
    { MEMBER(heads), { "heads" }, 0 },
    { MEMBER(kv_heads), { "kv_heads", "kv_groups" }, 0 },
    { MEMBER(ffn), { "ffn" }, 0 },
    { MEMBER(seq), { "seq" }, 0 },
    { MEMBER(vocab), { "vocab" }, 0 },
    { MEMBER(tied), { "tied" }, 0 },
    { MEMBER(untied), { "untied" }, 0 },
    { MEMBER(gated), { "swiglu" }, 0 },
    { MEMBER(moe), { "moe" }, 0 },
    { MEMBER(batch), { "global_batch", "batch" }, 0 },
    { MEMBER(micro_batch), { "micro_batch" }, 0 },
    { MEMBER(tensor), { "tp", "tensor" }, 1 },
    { MEMBER(data), { "dp", "data" }, 0 },
    { MEMBER(pipeline), { "pp", "pipeline" }, 1 },
    { MEMBER(chunks), { "vp", "interleave" }, 0 },
    { MEMBER(context), { "cp" }, 1 },
    { MEMBER(sequence_parallel), { "sequence_parallel" }, -1 },
    { MEMBER(latent), { "mla" }, 0 },
    { MEMBER(deterministic), { "deterministic" }, 0 },
};
static const struct measured_column {
    size_t member;
    const char *name[NAMES];
    double unit;
} measured[] = {
    { MEMBER(step_s), { "step_s", "seconds" }, 1 },
    { MEMBER(state_bytes), { "mem_allocated_last_rank_bytes" }, 1 },
    { MEMBER(peak_bytes), { "mem_max_allocated_last_rank_bytes" }, 1 },
    { MEMBER(peak_bytes), { "memory_gb" }, 1 << 30 },
};

static void parse(struct truth_row *r, const struct csv *csv, const struct csv_row *row)
{
    char *at = (char *)r;
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        const char *text = measured_field(csv, row, texts[i].name, NAMES);
        *(const char **)(void *)(at + texts[i].member) = *text ? text : texts[i].missing;
    }
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++) {
        const char *text = measured_field(csv, row, numbers[i].name, NAMES);
        *(int *)(void *)(at + numbers[i].member) = *text ? atoi(text) : numbers[i].missing;
    }
    for (size_t i = 0; i < sizeof measured / sizeof measured[0]; i++) {
        double value =
            measured[i].unit * atof(measured_field(csv, row, measured[i].name, NAMES));
        if (value > 0)
            *(double *)(void *)(at + measured[i].member) = value;
    }
}

/* What the name of a case says of its settings (the configurations are beside the figures, in
 * Megatron-LM's tests/functional_tests), as members of its framework. */
static const struct case_word {
    const char *in_name, *members;
    const char *older; /* the container whose figure is the older one; NULL: "lts" */
} case_words[] = {
    /* Compiled: the kept probabilities, a copy of them that becomes the error, and the error in
     * 16 bits. The file of "dev" on A100s is of 2025; that of "lts" was measured again in 2026,
     * and its tensors are as large as those on H100 and GB200 in the files of that year. */
    { "cross_entropy_loss_fusion", ",logits_fp32=2.5", "dev" },
    { "defer_embedding_wgrad", ",deferred_logits=2", NULL }, /* --wgrad-deferral-limit 2 */
};

static bool says(const struct truth_row *r, const char *word)
{
    return r->table->cases && strstr(r->model, word);
}

static void add_members(struct truth_row *r, const char *members)
{
    size_t n = strlen(r->members);
    snprintf(r->members + n, sizeof r->members - n, "%s", members);
}

/* Two workspaces of cuBLAS. Deterministic tests set CUBLAS_WORKSPACE_CONFIG=:4096:8. Attention
 * that Megatron-LM writes out has one more, as large as a layer's scores in 16 bits, which
 * lasts (get_global_memory_buffer() in dot_product_attention.py). */
static void read_workspaces(struct truth_row *r, bool plain)
{
    enum { WORKSPACES = 2, USUAL = 8519680, DETERMINISTIC = 33554432, SCORE = 2 };
    double each = r->deterministic ? DETERMINISTIC : USUAL;
    double scores = (double)r->micro_batch * r->heads / r->tensor * r->seq * r->seq;
    char member[64];
    snprintf(member, sizeof member, ",workspace_bytes=%.0f",
             each + (plain ? SCORE * scores / WORKSPACES : 0));
    if (plain || r->deterministic)
        add_members(r, member);
}

/* Names without "te" are without Transformer Engine: attention is written out. Megatron-LM sums
 * gradients in fp32 beside bf16 alone. */
static void read_case(struct truth_row *r)
{
    bool plain = strncmp(r->model, "gpt/gpt3_mcore_tp", 17) == 0;
    if (plain || strcmp(r->attention, "unfused") == 0 || strcmp(r->attention, "local") == 0)
        add_members(r, ",attention=unfused,attention_dropout=0.1");
    read_workspaces(r, plain);
    if (strcmp(r->precision, "fp16") == 0)
        add_members(r, ",gradients=short,sums=short");
    for (size_t i = 0; i < sizeof case_words / sizeof case_words[0]; i++)
        if (says(r, case_words[i].in_name))
            add_members(r, case_words[i].members);
    if (says(r, "multi_dist_optimizer_instances"))
        r->instances = 2;
    /* Megatron-FSDP frees what it gathered of its units, which are layers
     * (mcore_fsdp_adapter.py, release_module_parameters()) */
    if (says(r, "fsdp_dtensor"))
        r->layers_alone = true;
    if (says(r, "uneven_pipeline"))
        r->first_layers = r->last_layers = 2;
}

/* Composer's mixed_precision DEFAULT converts gradients to fp32 before they are divided and
 * summed: 2 + 2, 2 + 4 and 4 + 4 bytes of an element (src/plan/frameworks.c). */
static void read_composer(struct truth_row *r)
{
    if (strcmp(r->gradients, "DEFAULT") == 0)
        add_members(r, ",sums=fp32,sum_copy_bytes=18");
}

/* Nanotron cuts stages by arithmetic: a stage ends with the layer that goes past its share. */
static void read_nanotron(struct truth_row *r)
{
    double layer = 4. * r->hidden * r->hidden + 3. * r->ffn * r->hidden;
    double all = layer * r->layers + (double)r->vocab * r->hidden;
    if (r->pipeline > 1)
        r->first_layers = (int)(all / r->pipeline / layer) + 1;
}

/* Why a row cannot be told to hypar; NULL: it can. */
static const char *why_not(const struct truth_row *r)
{
    const struct {
        bool it;
        const char *why;
    } reasons[] = {
        { r->moe, "experts" },
        { r->context > 1 && !r->table->context_as_data, "context parallel" },
        { strstr(r->precision, "fp8") || strstr(r->precision, "fp4"), "fp8 or fp4" },
        { !*r->word && (strncmp(r->model, "t5", 2) == 0 || strncmp(r->model, "mt5", 3) == 0 ||
                        strncmp(r->model, "bert", 4) == 0),
          "T5, and BERT with the head that it is trained with" },
        { r->latent, "latent attention" },
        { says(r, "tunable_overlap"), "micro-batches in groups of another size than stages" },
        { says(r, "account_for_embedding"), "a stage without layers" },
        { says(r, "no_masked_softmax") || says(r, "uninstall_te"), "softmax in fp32" },
        { strcmp(r->parameters, "fp32") == 0 && strcmp(r->framework, "eager") != 0,
          "fp32 parameters under autocast, in fused kernels" },
        { !*r->word && (r->layers == 0 || r->batch == 0), "settings not printed" },
        { r->devices == 0, "number of devices not printed" },
        { r->step_s == 0, "step not printed" },
    };
    for (size_t i = 0; i < sizeof reasons / sizeof reasons[0]; i++)
        if (reasons[i].it)
            return reasons[i].why;
    return NULL;
}

/* The container with the older figures of a case. */
static const char *older_container(const struct truth_row *r)
{
    for (size_t i = 0; i < sizeof case_words / sizeof case_words[0]; i++)
        if (case_words[i].older && says(r, case_words[i].in_name))
            return case_words[i].older;
    return "lts";
}

/* A figure of an older container is left out where it is another than that of the newer one,
 * although both have the same settings: it is older than these, as the table says of some. */
static void leave_out_old(struct truth_row *rows, int n)
{
    static const double same = 0.1;
    for (int i = 0; i < n; i++)
        for (int k = 0; k < n && strcmp(rows[i].container, older_container(&rows[i])) == 0; k++)
            if (!rows[i].left_out && strcmp(rows[k].container, rows[i].container) != 0 &&
                strcmp(rows[i].model, rows[k].model) == 0 && rows[i].peak_bytes > 0 &&
                fabs(log(rows[i].peak_bytes / rows[k].peak_bytes)) > same)
                rows[i].left_out = "two containers' memory differs: older than the settings";
}

/* A step on one device. */
static void complete_single(struct truth_row *r)
{
    if (strcmp(r->parameters, "bf16") == 0)
        add_members(r, ",autocast=no");
    r->word = r->model;
    r->device = r->table->one_device;
    r->devices = r->data = r->chunks = 1;
    r->micro_batch = r->batch;
}

/* What follows from other columns. */
static void complete(struct truth_row *r)
{
    enum { BPE = 50257, PADDED_TO = 128 };
    int padded = PADDED_TO * r->tensor, vocab = r->vocab ? r->vocab : BPE;
    if (!r->data)
        r->data = r->devices / (r->tensor * r->pipeline * r->context);
    if (r->table->context_as_data) {
        r->data *= r->context;
        if (r->micro_batch % r->context == 0) /* as many tokens on each device */
            r->micro_batch /= r->context;
    }
    if (r->table->padded_vocab)
        r->vocab = (vocab + padded - 1) / padded * padded; /* as Megatron-LM does */
    if (r->sequence_parallel < 0)
        r->sequence_parallel = r->table->sequence_parallel;
    r->sequence_parallel = r->sequence_parallel && r->tensor > 1;
    if (r->pipeline == 1 || (!r->chunks && !r->table->search))
        r->chunks = 1;
    if (strncasecmp(r->model, "llama", 5) == 0)
        r->gated = 1;
    if (strcmp(r->framework, "nanotron") == 0)
        read_nanotron(r);
    if (r->gated && !r->ffn)
        r->ffn = r->hidden * 8 / 3 / 64 * 64; /* as Megatron-LM chooses */
    if (!r->left_out)
        snprintf(r->name, sizeof r->name, "%s %s d%d t%d p%d m%d s%d %s", r->model, r->device,
                 r->data, r->tensor, r->pipeline, r->micro_batch, r->seq, r->framework);
    else
        snprintf(r->name, sizeof r->name, "%s", r->model);
}

int truth_read(struct arena *arena, const struct truth_table *table, struct truth_row **rows)
{
    struct csv csv;
    if (!measured_read(&csv, arena, table->path ? table->path : table->name))
        return 0;
    *rows = NEW(arena, struct truth_row, csv.n_rows);
    for (int i = 0; i < csv.n_rows; i++) {
        struct truth_row *r = &(*rows)[i];
        *r = (struct truth_row){ .table = table };
        r->word = "";
        parse(r, &csv, &csv.row[i]);
        if (table->one_device)
            complete_single(r);
        if (!*r->framework)
            r->framework = table->framework;
        if (table->cases)
            read_case(r);
        read_composer(r);
        r->left_out = why_not(r);
        complete(r);
    }
    leave_out_old(*rows, csv.n_rows);
    return csv.n_rows;
}
