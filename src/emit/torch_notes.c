/* Notes for a user who runs a plan with PyTorch. */
#include <string.h>

#include "base/word.h"
#include "emit/torch.h"
#include "emit/torch_limits.h"
#include "machine/machine.h"
#include "plan/check.h"

static int degree_of(const struct hypar_plan *plan, int op, char name)
{
    int axis = hp_nest_axis(plan->graph->ops[op].nest, name);
    return axis < 0 ? 1 : hp_degree(&plan->ops[op].split, axis);
}

static bool is_divided(const struct hypar_plan *plan, int op)
{
    return degree_of(plan, op, 'k') > 1 || degree_of(plan, op, 'c') > 1;
}

/* Does the operator split the features, the last dimension, into parts? */
static bool takes_apart(const struct hypar_graph *graph, int op)
{
    const struct nest *nest = graph->ops[op].nest;
    if (nest->kind != OP_SPLIT && nest->kind != OP_SLICE)
        return false;
    const struct operand *x = &nest->operand[0], *y = &nest->operand[nest->n_inputs];
    return x->n_dims > 0 && x->size[x->n_dims - 1] != y->size[y->n_dims - 1];
}

/* Is it a linear layer that computes several at once? The parts of its output are then not on
 * the devices of its columns. */
static bool is_joint(const struct hypar_graph *graph, int op)
{
    const struct op *node = &graph->ops[op];
    if (node->kind != OP_LINEAR || !hp_op_has_params(graph, op))
        return false;
    int y = node->tensor[node->nest->n_inputs];
    for (int u = graph->use_start[y]; u < graph->use_start[y + 1]; u++)
        if (takes_apart(graph, graph->use[u].op))
            return true;
    return false;
}

/* Is the operator copied on devices that do not divide samples? */
static bool is_copied(const struct hypar_plan *plan, int op)
{
    int sample = hp_sample_axis(plan->graph->ops[op].nest);
    int replicas = sample < 0 ? 1 : hp_degree(&plan->ops[op].split, sample);
    return !is_divided(plan, op) && plan->ops[op].n_devices > replicas;
}

/* Note joint layers that are copied while other layers are divided. */
static bool note_joint(const struct hypar_plan *plan, char *text, size_t size)
{
    const struct hypar_graph *graph = plan->graph;
    struct arena arena = { 0 };
    struct table seen = { 0 };
    const char *names = "";
    bool divided = false;
    for (int op = 0; op < graph->n_ops; op++) {
        bool linear = graph->ops[op].kind == OP_LINEAR;
        divided |= linear && is_divided(plan, op);
        if (!is_joint(graph, op) || !is_copied(plan, op))
            continue;
        const char *name = hp_without_numbers(&arena, graph->ops[op].name);
        if (hp_table_put(&seen, &arena, name, strlen(name), op) == op)
            names = hp_arena_printf(&arena, "%s%s'%s'", names, names[0] ? ", " : "", name);
    }
    snprintf(text, size,
             "whole on each device: %.200s, which computes several things at once that are "
             "taken apart behind it; a layer for each of them (queries, keys and values, or a "
             "gate and what it multiplies) is divided",
             names);
    bool any = divided && names[0];
    hp_arena_free(&arena);
    return any;
}

static bool note_modules(const struct hypar_plan *plan, char *text, size_t size)
{
    snprintf(text, size,
             "the graph does not tell PyTorch's modules: the script is for a model whose "
             "modules are named like its operators (python -m hypar.torch makes the graph of a "
             "model)");
    return plan->graph->n_modules == 0;
}

/* fully_shard() keeps gradients in the precision of the parameters that it shards: fp32. */
static bool note_gradients(const struct hypar_plan *plan, char *text, size_t size)
{
    snprintf(text, size,
             "PyTorch keeps the gradients of bf16 parameters in fp32, the plan counts 2 bytes "
             "for each: expected --gradient-precision fp32, or a plan made with --for torch");
    return plan->precision == HYPAR_BF16 && !plan->fp32_gradients;
}

/* Operators that run one by one save more tensors for the backward half. */
static bool note_framework(const struct hypar_plan *plan, char *text, size_t size)
{
    snprintf(text, size,
             "the script runs operator by operator, the plan counts the memory of kernels "
             "that are '%s', which may be less: expected --as fsdp, or a plan made with --for "
             "torch",
             hypar_kernel_mode_text(plan->simulation.framework.kernels));
    return plan->simulation.framework.kernels != HYPAR_KERNELS_EAGER;
}

/* For devices whose kernels are known and launched one by one: GPUs; one was measured. */
static bool note_step(const struct hypar_plan *plan, char *text, size_t size)
{
    const struct hypar_device *device = hypar_machine_device(plan->machine, 0);
    snprintf(text, size,
             "measured scripts took 1.1 to 2.0 times the predicted step on an H200: "
             "docs/formats-torch.md");
    return plan->simulation.framework.kernels == HYPAR_KERNELS_EAGER &&
           device->kernels.eager_launch_s > 0 && hp_kernels_known(device);
}

target_note *const hp_torch_notes[] = {
    note_modules, note_joint, note_gradients, note_framework, note_step, NULL,
};
