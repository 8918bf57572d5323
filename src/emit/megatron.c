/* Megatron-LM: writes the flags of its training script. It runs transformers with equal layers
 * under a data x tensor x pipeline layout (plan/threed). */
#include "emit/layouts.h"
#include "emit/transformer.h"

/* Limit of operators from the first operator of a rotary embedding to attention: halves, a
 * sign, a concatenation, two products, a sum, and moves of elements. */
enum { MOST_ROTARY_STEPS = 8 };

/* Check that the sizes and the activation of a layer that the flags need are known. */
static enum hypar_status check_layer(const struct transformer *t, struct hypar_error *err)
{
    const char *unknown = t->hidden < 1     ? "hidden size, which is that of its norms"
                          : t->ffn < 1      ? "size of its feed-forward part"
                          : t->sequence < 1 ? "sequence length"
                                            : NULL;
    if (unknown)
        return hp_fail(err, HYPAR_INFEASIBLE, "a layer has no %s; Megatron-LM needs it",
                       unknown);
    if (t->gelu == t->silu || t->gated != t->silu)
        return hp_fail(err, HYPAR_INFEASIBLE,
                       "the activation of a layer is neither gelu nor swiglu, which "
                       "Megatron-LM's flags are written for");
    return HYPAR_OK;
}

static bool is_adam(const struct hypar_plan *plan)
{
    return plan->optimizer == HYPAR_ADAM || plan->optimizer == HYPAR_ADAMW;
}

/* Does the operator compute an operand of attention, without a layer in between? */
static bool leads_to_attention(const struct hypar_graph *graph, int op, int steps)
{
    const struct op *node = &graph->ops[op];
    if (node->kind == OP_ATTENTION)
        return true;
    if (steps == 0)
        return false;
    for (int o = node->nest->n_inputs; o < node->nest->n_operands; o++) {
        int y = node->tensor[o];
        for (int u = graph->use_start[y]; u < graph->use_start[y + 1]; u++) {
            int next = graph->use[u].op;
            bool is_layer = hp_op_has_params(graph, next);
            if (!is_layer && leads_to_attention(graph, next, steps - 1))
                return true;
        }
    }
    return false;
}

/* A hint for a message: the flag that an operator whose result attention reads probably needs.
 */
static const char *unknown_hint(const struct hypar_graph *graph, int op)
{
    enum op_kind kind = graph->ops[op].kind;
    if (!leads_to_attention(graph, op, MOST_ROTARY_STEPS))
        return "";
    if (kind == OP_RMS_NORM || kind == OP_LAYER_NORM)
        return "; Megatron-LM's --qk-layernorm is a norm of queries and keys over each head, "
               "like the other norms of a layer";
    return "; operators between the products of queries and keys and attention are usually a "
           "rotary embedding that was not recognised: write it as q * cos + rotate_half(q) * "
           "sin, with tables of one base, and import the model with values in its tables (not "
           "on meta)";
}

/* Refuse a network with causal attention whose input or loss the flags cannot say: that of
 * pretrain_gpt.py is fixed. note_attention() says of others that they need another script. */
static enum hypar_status check_outside(const struct hypar_graph *graph,
                                       const struct transformer *t, struct hypar_error *err)
{
    if (t->outside < 0 || !t->causal)
        return HYPAR_OK;
    const struct op *op = &graph->ops[t->outside];
    if (t->behind)
        return hp_fail(err, HYPAR_INFEASIBLE,
                       "op '%s': behind its layers Megatron-LM has a norm, a linear layer and "
                       "the cross entropy of each word; its flags have no word for '%s'%s, and "
                       "would train with another loss",
                       op->name, hp_op[op->kind].name,
                       op->kind == OP_CROSS_ENTROPY ? " of fewer positions" : "");
    return hp_fail(err, HYPAR_INFEASIBLE,
                   "op '%s': before its layers Megatron-LM has tables of words and positions; "
                   "its flags have no word for '%s', and would describe another network",
                   op->name, hp_op[op->kind].name);
}

static enum hypar_status takes(const struct hypar_graph *graph, struct hypar_error *err)
{
    struct transformer t;
    int op;
    if (hp_transformer(graph, &t, &op)) {
        TRY(check_layer(&t, err));
        if (t.unknown >= 0)
            return hp_fail(err, HYPAR_INFEASIBLE,
                           "op '%s': Megatron-LM's flags have no word for '%s' at this place "
                           "of a layer, and would describe another network%s",
                           graph->ops[t.unknown].name, hp_op[graph->ops[t.unknown].kind].name,
                           unknown_hint(graph, t.unknown));
        return check_outside(graph, &t, err);
    }
    return hp_fail(err, HYPAR_INFEASIBLE,
                   "%s%s%sMegatron-LM runs transformers, whose layers are alike and have one "
                   "attention each",
                   op < 0 ? "" : "op '", op < 0 ? "" : graph->ops[op].name,
                   op < 0 ? "" : "': ");
}

static enum hypar_status allows(const struct hypar_plan *like, const struct hypar_layout *l,
                                struct hypar_error *err)
{
    const struct hypar_graph *graph = like->graph;
    struct transformer t;
    int op;
    hp_transformer(graph, &t, &op);
    TRY(hp_check_equal_parts(&hp_target_megatron, graph, l, t.layers, err));
    if (t.kv_heads % l->tensor)
        return hp_fail(err, HYPAR_INFEASIBLE,
                       "%lld heads in %d parts, Megatron-LM has as many in each; expected "
                       "'tensor' to divide them",
                       (long long)t.kv_heads, l->tensor);
    if (l->shard == HYPAR_SHARD_OPTIMIZER && !is_adam(like))
        return hp_fail(
            err, HYPAR_INFEASIBLE,
            "shard 'optimizer' of '%s', Megatron-LM's distributed optimizer is Adam; "
            "expected optimizer adam or adamw, or no shard",
            hypar_optimizer_text(like->optimizer));
    return HYPAR_OK;
}

static void put_model(const struct transformer *t, FILE *to)
{
    fprintf(to, "--num-layers %d\n--hidden-size %lld\n--ffn-hidden-size %lld\n", t->layers,
            (long long)t->hidden, (long long)t->ffn);
    fprintf(to, "--num-attention-heads %lld\n", (long long)t->heads);
    if (t->kv_heads != t->heads)
        fprintf(to, "--group-query-attention\n--num-query-groups %lld\n",
                (long long)t->kv_heads);
    if (t->head * t->heads != t->hidden)
        fprintf(to, "--kv-channels %lld\n", (long long)t->head);
    fprintf(to, "--seq-length %lld\n--max-position-embeddings %lld\n", (long long)t->sequence,
            (long long)t->sequence);
    if (t->rotary_base > 0)
        fprintf(to, "--position-embedding-type rope\n--rotary-base %.0f\n", t->rotary_base);
    else if (!t->positions) /* Megatron-LM's default adds learned positions */
        fputs("--position-embedding-type none\n", to);
    if (t->rms_norm)
        fputs("--normalization RMSNorm\n", to);
    if (t->qk_norm)
        fputs("--qk-layernorm\n", to);
    if (t->epsilon > 0)
        fprintf(to, "--norm-epsilon %g\n", t->epsilon);
    if (t->gated && t->silu)
        fputs("--swiglu\n", to);
    if (!t->bias)
        fputs("--disable-bias-linear\n", to);
    if (!t->tied)
        fputs("--untie-embeddings-and-output-weights\n", to);
    fputs("--attention-dropout 0.0\n", to); /* no operator of a graph has attention dropout */
    if (!t->dropout)
        fputs("--hidden-dropout 0.0\n", to);
    if (t->vocabulary > 0)
        fprintf(to, "--vocab-size %lld\n", (long long)t->vocabulary);
}

static void put_layout(const struct hypar_plan *plan, const struct hypar_layout *l,
                       const struct transformer *t, FILE *to)
{
    int64_t batch = plan->graph->batch;
    fprintf(to, "--tensor-model-parallel-size %d\n--pipeline-model-parallel-size %d\n",
            l->tensor, l->pipeline);
    if (l->chunks > 1)
        fprintf(to, "--num-layers-per-virtual-pipeline-stage %d\n",
                t->layers / (l->pipeline * l->chunks));
    fprintf(to, "--micro-batch-size %lld\n--global-batch-size %lld\n",
            (long long)(batch / l->data / l->micro_batches), (long long)batch);
    if (l->sequence_parallel)
        fputs("--sequence-parallel\n", to);
    if (l->recompute == HYPAR_RECOMPUTE_FULL)
        fputs("--recompute-granularity full\n--recompute-method uniform\n"
              "--recompute-num-layers 1\n",
              to);
    if (l->recompute == HYPAR_RECOMPUTE_SELECTIVE)
        fputs("--recompute-granularity selective\n", to);
    if (l->data > 1 && l->shard <= HYPAR_SHARD_OPTIMIZER) /* as framework megatron has it */
        fputs("--overlap-grad-reduce\n", to);
    if (l->shard == HYPAR_SHARD_OPTIMIZER)
        fputs("--use-distributed-optimizer\n--overlap-param-gather\n", to);
    if (l->shard > HYPAR_SHARD_OPTIMIZER)
        fprintf(to,
                "--use-megatron-fsdp\n--data-parallel-sharding-strategy %s\n"
                "--ckpt-format fsdp_dtensor\n",
                l->shard == HYPAR_SHARD_GRADIENTS ? "optim_grads" : "optim_grads_params");
}

static void put_training(const struct hypar_plan *plan, FILE *to)
{
    bool adam = is_adam(plan);
    bool is_short = plan->precision == HYPAR_BF16 || plan->precision == HYPAR_FP16;
    if (is_short)
        fprintf(to, "--%s\n", hypar_precision_text(plan->precision));
    if (is_short && plan->fp32_gradients)
        fputs("--accumulate-allreduce-grads-in-fp32\n", to);
    else if (plan->precision == HYPAR_BF16) /* Megatron-LM's default of bf16 is fp32 */
        fputs("--grad-reduce-in-bf16\n", to);
    fprintf(to, "--optimizer %s\n--lr %g\n--lr-decay-style constant\n", adam ? "adam" : "sgd",
            hp_usual_rate(plan->optimizer));
    if (!adam) /* Megatron-LM's default is 0.9 */
        fprintf(to, "--sgd-momentum %s\n", plan->optimizer == HYPAR_MOMENTUM ? "0.9" : "0.0");
    if (plan->optimizer == HYPAR_ADAMW)
        fprintf(to, "--weight-decay %g\n", HP_ADAMW_DECAY);
    else /* Megatron-LM's default is 0.01 */
        fputs("--weight-decay 0.0\n", to);
    fprintf(to, "--clip-grad %g\n", plan->clip);
}

/* Write one flag a line; a shell reads them by $(grep -v '^#' FILE). */
static enum hypar_status write_flags(const struct hypar_plan *plan, FILE *to,
                                     struct hypar_error *err)
{
    struct hypar_layout layout;
    struct transformer t;
    int op;
    TRY(hp_as_layout(&hp_target_megatron, plan, &layout, err));
    hp_transformer(plan->graph, &t, &op);
    fprintf(to,
            "# Megatron-LM, %s on %d devices: data %d, tensor %d, pipeline %d, %lld "
            "micro-batch%s\n",
            plan->model, plan->n_all_devices, layout.data, layout.tensor, layout.pipeline,
            (long long)layout.micro_batches, layout.micro_batches == 1 ? "" : "es");
    fputs("# ", to);
    hp_put_command(&hp_target_megatron, plan, "this-file", to);
    fputs(" and your data\n# A plan has no learning rate: replace --lr by yours.\n", to);
    put_layout(plan, &layout, &t, to);
    put_training(plan, to);
    put_model(&t, to);
    return HYPAR_OK;
}

/* Differences between the network and the one that the flags describe. */
static bool note_biases(const struct hypar_plan *plan, char *text, size_t size)
{
    struct transformer t;
    int op;
    snprintf(text, size,
             "not the same network: some linear layers of a layer have no bias, Megatron-LM "
             "gives each of them one");
    return hp_transformer(plan->graph, &t, &op) && t.bias && t.no_bias;
}

static bool note_attention(const struct hypar_plan *plan, char *text, size_t size)
{
    struct transformer t;
    int op;
    snprintf(text, size,
             "not the same network: attention is not causal, that of pretrain_gpt.py is; "
             "expected a script for models of the kind of BERT");
    return hp_transformer(plan->graph, &t, &op) && !t.causal;
}

/* A graph has the usual base also where its model does not say it. */
static bool note_rotary_base(const struct hypar_plan *plan, char *text, size_t size)
{
    struct transformer t;
    int op;
    snprintf(text, size,
             "--rotary-base %.0f is the usual one, which the model has or is assumed to have; "
             "another is to be put in its place",
             HP_USUAL_ROTARY_BASE);
    return hp_transformer(plan->graph, &t, &op) && t.rotary_base == HP_USUAL_ROTARY_BASE;
}

static target_note *const notes[] = { note_biases, note_attention, note_rotary_base, NULL };

const struct target hp_target_megatron = {
    .name = "megatron",
    .framework = "megatron",
    .title = "Megatron-LM",
    .summary = "the flags of its training script",
    .command = "torchrun [--nnodes NODES --rdzv-backend c10d --rdzv-endpoint HOST:29500 "
               "]--nproc-per-node RANKS "
               "pretrain_gpt.py $(grep -v '^#' FILE)",
    .schedules =
        1 << HYPAR_SCHEDULE_NONE | 1 << HYPAR_SCHEDULE_1F1B | 1 << HYPAR_SCHEDULE_INTERLEAVED,
    .takes = takes,
    .notes = notes,
    .check = hp_check_as_layout,
    .allows = allows,
    .write = write_flags,
};
