/* The tables: what their columns are called, how their jobs were run, which rows are left out.
 */
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
      .framework = "megatron,kernels=eager,attention=flash2,overlap=gathers+sequence+stages",
      .optimizer = "adamw",
      .sequence_parallel = true,
      .last_device = true },
    { .name = "megatron-ci-a100",
      .what = "Megatron-LM's own tests",
      .framework = "megatron",
      .optimizer = "adam",
      .last_device = true,
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
        { strcmp(r->parameters, "fp32") == 0, "fp32 parameters under autocast" },
        { !*r->word && (r->layers == 0 || r->batch == 0), "settings not printed" },
        { r->devices == 0, "number of devices not printed" },
        { r->step_s == 0, "step not printed" },
    };
    for (size_t i = 0; i < sizeof reasons / sizeof reasons[0]; i++)
        if (reasons[i].it)
            return reasons[i].why;
    return NULL;
}

/* A step on one device. */
static void complete_single(struct truth_row *r)
{
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
    if (r->table->context_as_data)
        r->data *= r->context;
    if (r->table->padded_vocab)
        r->vocab = (vocab + padded - 1) / padded * padded; /* as Megatron-LM does */
    if (r->sequence_parallel < 0)
        r->sequence_parallel = r->table->sequence_parallel;
    r->sequence_parallel = r->sequence_parallel && r->tensor > 1;
    if (r->pipeline == 1 || (!r->chunks && !r->table->search))
        r->chunks = 1;
    if (strncasecmp(r->model, "llama", 5) == 0)
        r->gated = 1;
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
        r->left_out = why_not(r);
        complete(r);
    }
    return csv.n_rows;
}
