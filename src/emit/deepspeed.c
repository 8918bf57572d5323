/* DeepSpeed: writes its configuration. It runs replicas that shard optimizer, gradients and
 * parameters (ZeRO), and stages of equal layers; every operator is split by samples only. */
#include "emit/layouts.h"

#include "base/files/json.h"
#include "graph/structure/repeated.h"

static axis_set sample_axes(const struct hypar_graph *graph, int op)
{
    const struct nest *nest = graph->ops[op].nest;
    axis_set axes = 0;
    for (int a = 0; a < nest->n_axes; a++)
        if (nest->axis[a].role == HYPAR_SAMPLE || nest->axis[a].role == HYPAR_COPY)
            axes |= (axis_set)1 << a;
    return axes;
}

static enum hypar_status check_words(const struct hypar_layout *l, struct hypar_error *err)
{
    if (l->recompute == HYPAR_RECOMPUTE_SELECTIVE)
        return hp_fail(err, HYPAR_INFEASIBLE,
                       "recompute 'selective', DeepSpeed computes whole layers again; expected "
                       "'full' or 'none'");
    return HYPAR_OK;
}

/* Refuse a tensor degree, with the first operator that it would split. */
static enum hypar_status refuse_tensor(const struct hypar_graph *graph, int tensor,
                                       struct hypar_error *err)
{
    for (int op = 0; op < graph->n_ops; op++) {
        const struct nest *nest = graph->ops[op].nest;
        int axis = hp_nest_axis(nest, 'k');
        if (nest->kind == OP_LINEAR && axis >= 0)
            return hp_fail(err, HYPAR_INFEASIBLE,
                           "op '%s': axis 'k' is split %d ways, DeepSpeed splits samples "
                           "alone; expected tensor 1",
                           graph->ops[op].name, tensor);
    }
    return hp_fail(err, HYPAR_INFEASIBLE,
                   "tensor %d, DeepSpeed splits samples alone; expected 1", tensor);
}

static enum hypar_status allows(const struct hypar_plan *like, const struct hypar_layout *l,
                                struct hypar_error *err)
{
    const struct hypar_graph *graph = like->graph;
    struct repeated_layers layers = hp_repeated_layers(graph);
    if (l->tensor > 1)
        return refuse_tensor(graph, l->tensor, err);
    TRY(hp_check_equal_parts(&hp_target_deepspeed, graph, l, layers.count, err));
    return check_words(l, err);
}

/* The precision in which DeepSpeed adds up gradients of micro-batches: the plan's, if DeepSpeed
 * accepts it. Without ZeRO, DeepSpeed refuses fp32 sums of fp16 gradients; it refuses bf16 sums
 * of bf16 gradients except in a pipeline. */
static enum hypar_precision added_up_in(const struct hypar_plan *plan,
                                        const struct hypar_layout *l)
{
    enum hypar_precision planned = hp_plan_gradients(plan);
    if (l->shard != HYPAR_SHARD_NONE)
        return planned;
    if (plan->precision == HYPAR_FP16)
        return HYPAR_FP16;
    return plan->precision == HYPAR_BF16 && l->pipeline <= 1 ? HYPAR_FP32 : planned;
}

static void put_precision(struct json_writer *w, const struct hypar_plan *plan,
                          const struct hypar_layout *l)
{
    if (plan->precision != HYPAR_BF16 && plan->precision != HYPAR_FP16)
        return;
    hp_json_begin_object(w, hypar_precision_text(plan->precision), true);
    hp_json_put_bool(w, "enabled", true);
    hp_json_end_object(w);
    hp_json_put_string(w, "communication_data_type",
                       hypar_precision_text(hp_plan_gradients(plan)));
    hp_json_begin_object(w, "data_types", true);
    hp_json_put_string(w, "grad_accum_dtype", hypar_precision_text(added_up_in(plan, l)));
    hp_json_end_object(w);
}

static void put_optimizer(struct json_writer *w, enum hypar_optimizer optimizer,
                          enum hypar_shard shard)
{
    static const char *const types[HYPAR_OPTIMIZER_COUNT] = {
        [HYPAR_SGD] = "SGD",
        [HYPAR_MOMENTUM] = "SGD",
        [HYPAR_ADAM] = "Adam",
        [HYPAR_ADAMW] = "AdamW",
    };
    hp_json_begin_object(w, "optimizer", true);
    hp_json_put_string(w, "type", types[optimizer]);
    hp_json_begin_object(w, "params", true);
    hp_json_put_number(w, "lr", hp_usual_rate(optimizer));
    if (optimizer == HYPAR_MOMENTUM)
        hp_json_put_number(w, "momentum", 0.9);
    if (optimizer == HYPAR_ADAM)
        hp_json_put_bool(w, "adam_w_mode", false);
    if (optimizer == HYPAR_ADAMW) /* DeepSpeed's default is 0 */
        hp_json_put_number(w, "weight_decay", HP_ADAMW_DECAY);
    hp_json_end_object(w);
    hp_json_end_object(w);
    if (shard != HYPAR_SHARD_NONE && (optimizer == HYPAR_SGD || optimizer == HYPAR_MOMENTUM))
        hp_json_put_bool(w, "zero_allow_untested_optimizer", true);
}

/* In a pipeline, every layer except the last of each stage is recomputed from its input. */
static void put_stages(struct json_writer *w, const struct hypar_layout *l)
{
    if (l->pipeline <= 1)
        return;
    hp_json_begin_object(w, "pipeline", true);
    hp_json_put_int(w, "stages", l->pipeline);
    hp_json_put_string(w, "partition", "uniform");
    hp_json_put_int(w, "activation_checkpoint_interval",
                    l->recompute == HYPAR_RECOMPUTE_FULL ? 1 : 0);
    hp_json_end_object(w);
}

static enum hypar_status write_json(const struct hypar_plan *plan, FILE *to,
                                    struct hypar_error *err)
{
    struct json_writer w = { .file = to };
    struct hypar_layout l;
    TRY(hp_as_layout(&hp_target_deepspeed, plan, &l, err));
    int64_t batch = plan->graph->batch;
    hp_json_begin_object(&w, NULL, false);
    hp_json_put_int(&w, "train_batch_size", batch);
    hp_json_put_int(&w, "train_micro_batch_size_per_gpu", batch / l.data / l.micro_batches);
    hp_json_put_int(&w, "gradient_accumulation_steps", l.micro_batches);
    hp_json_begin_object(&w, "zero_optimization", true);
    hp_json_put_int(&w, "stage", (int)l.shard);
    hp_json_end_object(&w);
    put_stages(&w, &l);
    put_precision(&w, plan, &l);
    put_optimizer(&w, plan->optimizer, l.shard);
    if (plan->clip > 0)
        hp_json_put_number(&w, "gradient_clipping", plan->clip);
    hp_json_end_object(&w);
    return HYPAR_OK;
}

/* DeepSpeed's file tells a pipeline to recompute; without stages the model does it itself. */
static bool note_recomputation(const struct hypar_plan *plan, char *text, size_t size)
{
    struct hypar_layout l;
    snprintf(text, size,
             "the plan recomputes layers, but DeepSpeed's file has no word for that without "
             "stages: checkpoint the model's layers (as by gradient_checkpointing_enable()), "
             "or it takes more memory than planned");
    return hp_as_layout(&hp_target_deepspeed, plan, &l, NULL) == HYPAR_OK &&
           l.recompute == HYPAR_RECOMPUTE_FULL && l.pipeline <= 1;
}

static bool note_gradients(const struct hypar_plan *plan, char *text, size_t size)
{
    struct hypar_layout l;
    if (hp_as_layout(&hp_target_deepspeed, plan, &l, NULL) != HYPAR_OK)
        return false;
    enum hypar_precision planned = hp_plan_gradients(plan), real = added_up_in(plan, &l);
    snprintf(text, size,
             "gradients are planned in %s, but DeepSpeed without ZeRO adds up those of %s in "
             "%s%s: plan with --gradient-precision %s, or with --shard optimizer",
             hypar_precision_text(planned), hypar_precision_text(plan->precision),
             hypar_precision_text(real),
             real == HYPAR_FP32 ? ", and takes more memory than planned" : "",
             hypar_precision_text(real));
    return real != planned;
}

static target_note *const notes[] = { note_recomputation, note_gradients, NULL };

const struct target hp_target_deepspeed = {
    .name = "deepspeed",
    .framework = "deepspeed",
    .title = "DeepSpeed",
    .summary = "its configuration, JSON",
    .command = "deepspeed [--hostfile HOSTS --num_nodes NODES ]--num_gpus RANKS "
               "train.py --deepspeed_config FILE",
    .schedules = 1 << HYPAR_SCHEDULE_NONE | 1 << HYPAR_SCHEDULE_1F1B,
    .axes = sample_axes,
    .notes = notes,
    .check = hp_check_as_layout,
    .allows = allows,
    .write = write_json,
};
