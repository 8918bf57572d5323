/* Writing a plan: one operator per line, in the graph's order, without default values. */
#include "base/files/json.h"
#include "machine/machine.h"
#include "plan/schedules.h"
#include "plan/slots.h"

#include <string.h>

static void put_sizes(struct json_writer *w, const struct nest *nest, const struct split *split)
{
    bool any = false;
    for (int a = 0; a < nest->n_axes; a++)
        any = any || split->sizes[a];
    if (!any)
        return;
    hp_json_begin_object(w, "sizes", true);
    for (int a = 0; a < nest->n_axes; a++) {
        if (!split->sizes[a])
            continue;
        hp_json_begin_array(w, nest->axis[a].name, true);
        for (int i = 0; i < split->degree[a]; i++)
            hp_json_put_int(w, NULL, split->sizes[a][i]);
        hp_json_end_array(w);
    }
    hp_json_end_object(w);
}

static void put_op(struct json_writer *w, const struct hypar_plan *plan, int op)
{
    const struct nest *nest = plan->graph->ops[op].nest;
    const struct op_plan *mine = &plan->ops[op];
    hp_json_begin_object(w, NULL, true);
    hp_json_put_string(w, "name", plan->graph->ops[op].name);
    hp_json_put_string(w, "kind", hp_op_kind(plan->graph, op));
    hp_json_begin_object(w, "split", true);
    for (int a = 0; a < nest->n_axes; a++)
        if (mine->split.degree[a] > 1)
            hp_json_put_int(w, nest->axis[a].name, mine->split.degree[a]);
    hp_json_end_object(w);
    put_sizes(w, nest, &mine->split);
    hp_json_put_ints(w, "devices", mine->device, mine->n_devices);
    if (mine->recompute)
        hp_json_put_bool(w, "recompute", true);
    if (mine->resend)
        hp_json_put_bool(w, "resend", true);
    if (mine->shard)
        hp_json_put_string(w, "shard", hypar_shard_text(mine->shard));
    if (mine->shard_over)
        hp_json_put_int(w, "shard_over", mine->shard_over);
    hp_json_end_object(w);
}

void hp_plan_put_machine(struct json_writer *w, const struct hypar_plan *plan)
{
    if (plan->machine_word)
        hp_json_put_string(w, "machine", plan->machine_word);
    else
        hp_machine_write_json(w, "machine", plan->machine);
}

void hp_plan_put_ops(struct json_writer *w, const struct hypar_plan *plan)
{
    hp_json_begin_array(w, "ops", false);
    for (int op = 0; op < plan->graph->n_ops; op++)
        put_op(w, plan, op);
    hp_json_end_array(w);
}

void hp_plan_put_layout(struct json_writer *w, const struct hypar_layout *layout)
{
    hp_json_begin_object(w, "layout", true);
    hp_json_put_int(w, "data", layout->data);
    hp_json_put_int(w, "tensor", layout->tensor);
    hp_json_put_int(w, "pipeline", layout->pipeline);
    hp_json_put_int(w, "micro_batches", layout->micro_batches);
    hp_json_put_string(w, "schedule", hypar_schedule_text(layout->schedule));
    if (layout->chunks > 1)
        hp_json_put_int(w, "chunks", layout->chunks);
    if (layout->first_layers)
        hp_json_put_int(w, "first_layers", layout->first_layers);
    if (layout->last_layers)
        hp_json_put_int(w, "last_layers", layout->last_layers);
    if (layout->sequence_parallel)
        hp_json_put_bool(w, "sequence_parallel", true);
    if (layout->recompute != HYPAR_RECOMPUTE_NONE)
        hp_json_put_string(w, "recompute", hypar_recompute_text(layout->recompute));
    if (layout->shard != HYPAR_SHARD_NONE)
        hp_json_put_string(w, "shard", hypar_shard_text(layout->shard));
    if (layout->shard_over)
        hp_json_put_int(w, "shard_over", layout->shard_over);
    hp_json_end_object(w);
}

void hp_plan_put_stages(struct json_writer *w, const struct hypar_plan *plan)
{
    hp_json_begin_array(w, "stages", false);
    for (int s = 0; s < plan->n_stages; s++) {
        const struct hypar_stage *stage = &plan->stages[s];
        hp_json_begin_object(w, NULL, true);
        hp_json_begin_array(w, "ops", true);
        for (int i = 0; i < stage->n_ops; i++)
            hp_json_put_string(w, NULL, plan->graph->ops[stage->op[i]].name);
        hp_json_end_array(w);
        hp_json_put_ints(w, "devices", stage->device, stage->n_devices);
        hp_json_put_int(w, "replicas", stage->replicas);
        hp_json_put_string(w, "share", hypar_share_text(stage->share));
        hp_json_end_object(w);
    }
    hp_json_end_array(w);
}

static void put_slots(struct json_writer *w, const struct hypar_plan *plan)
{
    char text[SLOT_TEXT_BYTES];
    hp_json_begin_array(w, "slots", true);
    for (int g = 0; g < plan->n_orders; g++) {
        hp_json_begin_array(w, NULL, true);
        for (int i = 0; i < plan->order[g].n; i++)
            hp_json_put_string(w, NULL, hp_slot_text(&plan->order[g].slot[i], text));
        hp_json_end_array(w);
    }
    hp_json_end_array(w);
}

void hp_plan_put_schedule(struct json_writer *w, const struct hypar_plan *plan)
{
    const struct hypar_schedule *schedule = &plan->schedule;
    hp_json_begin_object(w, "schedule", true);
    hp_json_put_string(w, "name", hypar_schedule_text(schedule->kind));
    hp_json_put_int(w, "micro_batches", schedule->micro_batches);
    hp_json_put_bool(w, "stash", schedule->stash);
    hp_json_put_bool(w, "vertical_sync", schedule->vertical_sync);
    if (hp_schedule_of(plan)->interleaves)
        hp_json_put_int(w, "chunks", schedule->chunks);
    if (hp_schedule_of(plan)->listed)
        put_slots(w, plan);
    hp_json_end_object(w);
}

static bool same_ints(const int *a, int n_a, const int *b, int n_b)
{
    return n_a == n_b && (n_a == 0 || memcmp(a, b, (size_t)n_a * sizeof *a) == 0);
}

bool hp_same_stages(const struct hypar_plan *a, const struct hypar_plan *b)
{
    bool same = a->n_stages == b->n_stages;
    for (int s = 0; s < a->n_stages && same; s++) {
        const struct hypar_stage *x = &a->stages[s], *y = &b->stages[s];
        same = same_ints(x->op, x->n_ops, y->op, y->n_ops) &&
               same_ints(x->device, x->n_devices, y->device, y->n_devices) &&
               x->replicas == y->replicas && x->share == y->share;
    }
    return same;
}

bool hp_same_schedule(const struct hypar_schedule *a, const struct hypar_schedule *b)
{
    return a->kind == b->kind && a->micro_batches == b->micro_batches && a->stash == b->stash &&
           a->vertical_sync == b->vertical_sync &&
           (a->chunks > 1 ? a->chunks : 1) == (b->chunks > 1 ? b->chunks : 1);
}

bool hp_same_op_plan(const struct nest *nest, const struct op_plan *a, const struct op_plan *b)
{
    for (int x = 0; x < nest->n_axes; x++)
        if (!hp_same_parts(&a->split, &b->split, x))
            return false;
    return same_ints(a->device, a->n_devices, b->device, b->n_devices) &&
           a->recompute == b->recompute && a->resend == b->resend && a->shard == b->shard &&
           a->shard_over == b->shard_over;
}

/* Write the operators that differ from the plan that the layout makes. False: other members
 * differ, too. */
static bool put_differences(struct json_writer *w, const struct hypar_plan *plan)
{
    const struct hypar_plan_settings settings = { .precision = plan->precision,
                                                  .optimizer = plan->optimizer };
    struct hypar_plan *made = hp_plan_new(plan->graph, plan->machine, &settings);
    bool same = plan->has_layout && hp_plan_set_layout(made, &plan->layout, NULL) == HYPAR_OK &&
                hp_same_stages(plan, made) &&
                hp_same_schedule(&plan->schedule, &made->schedule);
    bool any = false;
    if (same)
        hp_plan_put_layout(w, &plan->layout);
    for (int op = 0; op < plan->graph->n_ops && same; op++) {
        if (hp_same_op_plan(plan->graph->ops[op].nest, &plan->ops[op], &made->ops[op]))
            continue;
        if (!any)
            hp_json_begin_array(w, "ops", false);
        any = true;
        put_op(w, plan, op);
    }
    if (any)
        hp_json_end_array(w);
    hypar_plan_free(made);
    return same;
}

void hp_plan_write_json(struct json_writer *w, const char *key, const struct hypar_plan *plan)
{
    char hash[17];
    snprintf(hash, sizeof hash, "%016llx", (unsigned long long)plan->graph->hash);
    hp_json_begin_object(w, key, false);
    hp_json_put_string(w, "format", "hypar-plan/1");
    hp_json_put_string(w, "model", plan->model);
    hp_json_put_string(w, "graph_hash", hash);
    hp_json_put_int(w, "batch", plan->graph->batch);
    if (plan->graph->frozen)
        hp_json_put_string(w, "freeze", plan->graph->frozen);
    if (!key || plan->machine_word) /* as a part of a file that has the machine: its word */
        hp_plan_put_machine(w, plan);
    hp_json_put_string(w, "precision", hypar_precision_text(plan->precision));
    if (hp_plan_gradients(plan) != plan->precision ||
        hp_usual_fp32_gradients(plan->precision, &plan->simulation.framework))
        hp_json_put_string(w, "gradient_precision",
                           hypar_precision_text(hp_plan_gradients(plan)));
    hp_json_put_string(w, "optimizer", hypar_optimizer_text(plan->optimizer));
    if ((plan->masks == HYPAR_MASKS_KEPT) != plan->simulation.framework.keeps_masks)
        hp_json_put_string(w, "dropout_masks", hypar_masks_text(plan->masks));
    if (plan->framework_bytes > 0)
        hp_json_put_number(w, "framework_memory_bytes", plan->framework_bytes);
    if (plan->memory_limit_bytes > 0)
        hp_json_put_number(w, "memory_limit_bytes", plan->memory_limit_bytes);
    hp_json_put_int(w, "seed", plan->seed);
    if (plan->clip > 0)
        hp_json_put_number(w, "clip", plan->clip);
    if (plan->gather_ahead != HP_GATHER_AHEAD)
        hp_json_put_int(w, "gather_ahead", plan->gather_ahead);
    if (!put_differences(w, plan)) {
        hp_plan_put_ops(w, plan);
        hp_plan_put_stages(w, plan);
        hp_plan_put_schedule(w, plan);
    }
    hp_put_simulation(w, &plan->simulation);
    if (!key)
        hp_plan_put_search(w, plan);
    hp_json_end_object(w);
}

void hypar_plan_write(const struct hypar_plan *plan, FILE *to)
{
    struct json_writer w = { .file = to };
    hp_plan_write_json(&w, NULL, plan);
}
