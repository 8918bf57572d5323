/* gpt3.h - Megatron's plan for gpt3-175b on 1,024 devices: tensor 8 x pipeline 16 x data 8,
 * 1F1B, batch 1,536, one sample for each replica in a micro-batch. */
#ifndef BENCH_GPT3_H
#define BENCH_GPT3_H

#include <string.h>

#include "bench/bench.h"
#include "plan/plan.h"

enum { TENSOR = 8, PIPELINE = 16, DATA = 8, GPT_LAYERS = 96, GPT_BATCH = 1536 };

/* The axis that the tensor-parallel devices divide: the first linear layer of a block its
 * outputs, the second its inputs, attention its heads; norms and sums are copies. */
static inline char tensor_axis(const struct op *op)
{
    switch (op->kind) {
    case OP_LINEAR:
        return strstr(op->name, "c_proj") ? 'c' : 'k';
    case OP_ATTENTION:
        return 'a';
    case OP_EMBEDDING:
        return 'v';
    case OP_GELU:
    case OP_CROSS_ENTROPY:
        return 'c';
    default:
        return 'r';
    }
}

static inline int stage_of(const struct op *op, bool after_layers)
{
    int layer;
    if (sscanf(op->name, "h.%d.", &layer) == 1)
        return layer * PIPELINE / GPT_LAYERS;
    return after_layers ? PIPELINE - 1 : 0;
}

static inline void add_stages(struct hypar_plan *plan)
{
    const struct hypar_graph *g = plan->graph;
    int *stage = malloc((size_t)g->n_ops * sizeof *stage);
    int *ops = malloc((size_t)g->n_ops * sizeof *ops);
    bool after = false;
    for (int op = 0; op < g->n_ops; op++) {
        stage[op] = stage_of(&g->ops[op], after);
        after |= strncmp(g->ops[op].name, "h.", 2) == 0;
    }
    for (int s = 0; s < PIPELINE; s++) {
        int device[DATA * TENSOR], n = 0;
        for (int i = 0; i < DATA * TENSOR; i++)
            device[i] = s * DATA * TENSOR + i;
        for (int op = 0; op < g->n_ops; op++)
            if (stage[op] == s)
                ops[n++] = op;
        hp_plan_add_stage(plan, &(struct hypar_stage){ .n_ops = n,
                                                       .op = ops,
                                                       .n_devices = DATA * TENSOR,
                                                       .device = device,
                                                       .replicas = DATA });
    }
    free(stage);
    free(ops);
}

/* Release it with the machine and graph that it is for. */
static inline struct hypar_plan *gpt3_plan(struct hypar_graph **graph,
                                           struct hypar_machine **machine)
{
    struct hypar_error err;
    struct hypar_import_options import = { .batch = GPT_BATCH };
    must(hypar_import(graph, "gpt3-175b", &import, &err), &err);
    must(hypar_machine_read(machine, "cluster:128x8,device=h100", &err), &err);
    struct hypar_plan *plan =
        hp_plan_new(*graph, *machine, &(struct hypar_plan_settings){ .precision = HYPAR_BF16 });
    add_stages(plan);
    hp_plan_set_schedule(plan, &(struct hypar_schedule){ .kind = HYPAR_SCHEDULE_1F1B,
                                                         .micro_batches = GPT_BATCH / DATA });
    for (int op = 0; op < (*graph)->n_ops; op++) {
        const struct nest *nest = (*graph)->ops[op].nest;
        struct split split = { .degree = { 0 } };
        int n = hp_nest_axis(nest, 'n');
        bool samples = nest->axis[n].role == HYPAR_SAMPLE;
        split.degree[samples ? n : nest->n_axes - 1] = DATA;
        if (samples)
            split.degree[hp_nest_axis(nest, tensor_axis(&(*graph)->ops[op]))] = TENSOR;
        else
            split.degree[nest->n_axes - 1] = DATA * TENSOR;
        hp_plan_set(plan, op, &split, NULL);
    }
    must(hypar_plan_check(plan, &err), &err);
    return plan;
}

#endif /* BENCH_GPT3_H */
