/* Writes the Python file with the parts that the plan needs: a description, imports, tables,
 * functions that apply them, and the training that torchrun starts. */
#include <inttypes.h>

#include "emit/target.h"
#include "emit/torch.h"
#include "emit/torch_limits.h"
#include "emit/torch_text.h"
#include "emit/torch_text_main.h"
#include "plan/schedules.h"

/* Does the mesh have a dimension "replica" besides "data"? Parameters are copied along
 * "replica" and sharded along "data", which has size 1 if nothing is sharded. */
static bool has_replicas(const struct torch_script *s)
{
    return s->data && (s->shard == HYPAR_SHARD_NONE || hp_torch_data_dims(s) > 1);
}

/* Does the script use fully_shard()? It shards parameters and gradients, sums gradients, and
 * computes in bf16 while parameters stay fp32. */
static bool is_wrapped(const struct torch_script *s)
{
    return s->data || s->plan->precision == HYPAR_BF16;
}

/* Does attention in bf16 have to take queries, keys and values of several precisions? */
static bool narrows_attention(const struct torch_script *s)
{
    return s->attention && s->plan->precision == HYPAR_BF16;
}

/* The names of dimensions: "replica", "data"; "tensor", "tensor_1", ... */
static const char *dim_name(const struct torch_script *s, int dim)
{
    if (s->data >> dim & 1)
        return has_replicas(s) && (s->data & (((uint32_t)1 << dim) - 1)) == 0 ? "replica"
                                                                              : "data";
    int i = 0;
    while (s->tensor[i] != dim)
        i++;
    return i == 0 ? "tensor" : hp_arena_printf(s->arena, "tensor_%d", i);
}

static bool has_tables(const struct torch_script *s, const struct torch_tables *t)
{
    return s->stages || s->n_tensor || is_wrapped(s) || t->recomputed.n > 0;
}

static void put_imports(const struct torch_script *s, const struct torch_tables *t, FILE *to)
{
    bool recompute = t->recomputed.n > 0;
    if (s->stages)
        fputs("from collections import Counter\n", to);
    bool contexts = s->stages || (s->n_tensor && s->attention) || narrows_attention(s);
    fprintf(to, "from contextlib import %snullcontext, %ssuppress\n",
            contexts ? "contextmanager, " : "", s->stages ? "redirect_stderr, " : "");
    fputs("from datetime import timedelta\n", to);
    if (t->frozen[0])
        fputs("from fnmatch import fnmatchcase\n", to);
    if (recompute || s->norms)
        fputs("from functools import partial\n", to);
    fputs("import copy\nimport importlib\nimport inspect\n", to);
    fprintf(to,
            "%simport math\nimport os\nimport pickle\n%simport sys\nimport traceback\nimport "
            "weakref\n"
            "import zlib\n\n",
            s->stages ? "import logging\n" : "", has_tables(s, t) ? "import re\n" : "");
    fputs("import torch\nimport torch.distributed as dist\n"
          "import torch.distributed.checkpoint as dcp\nfrom torch import nn\n",
          to);
    fputs("from torch.distributed.device_mesh import init_device_mesh\n", to);
    if (is_wrapped(s))
        fprintf(to, "from torch.distributed.fsdp import %sfully_shard\n",
                s->plan->precision == HYPAR_BF16 ? "MixedPrecisionPolicy, " : "");
    if (s->stages)
        fprintf(to,
                "from torch.distributed.pipelining import PipelineStage, %s, SplitPoint, "
                "pipe_split, pipeline\n",
                hp_torch_schedule(s->plan->schedule.kind));
    fprintf(to, "from torch.distributed.tensor import DTensor, %sdistribute_tensor\n",
            s->n_tensor ? "Replicate, Shard, " : "");
    if (s->n_tensor)
        fputs("from torch.distributed.tensor.experimental import implicit_replication\n", to);
    if (s->sharded_vocabulary)
        fputs("from torch.distributed.tensor.parallel import loss_parallel\n", to);
    if (s->n_tensor && s->attention)
        fputs("from torch.nn.attention import SDPBackend, sdpa_kernel\n", to);
    if (recompute)
        fputs("from torch.utils.checkpoint import checkpoint\n", to);
    fputs("from torch.utils._python_dispatch import TorchDispatchMode\n"
          "from torch.utils._pytree import ",
          to);
    fprintf(to, "%stree_leaves, tree_map_only\n\n",
            s->graph->n_arguments > 0 ? "tree_flatten_with_path, " : "");
}

static void put_rows(const struct torch_script *s, const char *name, const char *about,
                     const struct table_rows *rows, FILE *to)
{
    fprintf(to, "%s = {  # %s\n", name, about);
    for (int i = 0; i < rows->n; i++)
        fprintf(to, "    \"%s\": %s,\n", hp_python_text(s->arena, rows->row[i].name),
                rows->row[i].text);
    fputs("}\n", to);
}

/* Write only the names of the rows. */
static void put_names(const struct torch_script *s, const char *name, const char *about,
                      const struct table_rows *rows, FILE *to)
{
    fprintf(to, "%s = [", name);
    for (int i = 0; i < rows->n; i++)
        fprintf(to, "%s\"%s\"", i ? ", " : "", hp_python_text(s->arena, rows->row[i].name));
    fprintf(to, "]  # %s\n", about);
}

static int count_replicas(const struct torch_script *s)
{
    int replicas = 1;
    for (int d = 0; d < s->mesh.n_dims; d++)
        replicas *= s->data >> d & 1 ? s->mesh.size[d] : 1;
    return replicas;
}

/* The script averages the losses of micro-batches and replicas, also where the model's loss is
 * a sum over samples: the factor, as text, by which their mean is that sum. */
static const char *sum_factor(const struct torch_script *s)
{
    int64_t parts = s->plan->schedule.micro_batches * count_replicas(s);
    return s->graph->summed_loss && parts > 1 ? hp_arena_printf(s->arena, " * %" PRId64, parts)
                                              : "";
}

static void put_mesh(const struct torch_script *s, FILE *to)
{
    const char *comma = "";
    fputs("MESH = {", to);
    if (s->stages) {
        fprintf(to, "\"stage\": %d", s->groups);
        comma = ", ";
    }
    bool is_first = !s->data && (is_wrapped(s) || s->stages + s->mesh.n_dims == 0);
    if (is_first) {
        fprintf(to, "%s\"data\": 1", comma);
        comma = ", ";
    }
    for (int d = 0; d < s->mesh.n_dims; d++, comma = ", ") {
        fprintf(to, "%s\"%s\": %d", comma, dim_name(s, d), s->mesh.size[d]);
        if (s->data >> d & 1 && s->shard == HYPAR_SHARD_NONE)
            fputs(", \"data\": 1", to);
    }
    fputs("}\n", to);
    fprintf(to, "MICRO_BATCHES = %" PRId64 "\n", s->plan->schedule.micro_batches);
}

/* The tensors of a replica's batch, as text: "float32 [4, 12]". */
static void put_batch(const struct torch_script *s, FILE *to)
{
    int replicas = count_replicas(s);
    fputs("BATCH = {  # the tensors of a replica\n", to);
    for (int i = 0; i < s->graph->n_arguments; i++) {
        const struct torch_argument *argument = &s->graph->arguments[i];
        fprintf(to, "    \"%s\": \"%s [", hp_python_text(s->arena, argument->name),
                hp_python_text(s->arena, argument->type));
        for (int d = 0; d < argument->shape.n_dims; d++)
            fprintf(to, "%s%" PRId64, d ? ", " : "",
                    argument->shape.dim[d] / (d == argument->sample_dim ? replicas : 1));
        fputs("]\",\n", to);
    }
    fputs("}\n", to);
}

static void put_tables(const struct torch_script *s, const struct torch_tables *t, FILE *to)
{
    put_mesh(s, to);
    if (s->graph->n_arguments > 0)
        put_batch(s, to);
    fprintf(
        to,
        "PLANNED = {\"sent\": %.0f, \"memory\": %.0f, \"tensors\": %.0f, \"saved\": %.0f}  # "
        "bytes of a step: of all processes; the most of one, on a GPU; on the CPU, and what is "
        "saved of that\n",
        t->planned.sent_bytes, t->planned.memory_bytes, t->planned.tensor_bytes,
        t->planned.saved_bytes);
    if (s->stages)
        put_rows(s, "CUTS", "where the next stage begins", &t->cuts, to);
    if (t->tied[0])
        fprintf(to, "TIED = [  # a parameter's names, by stage\n%s]\n", t->tied);
    if (s->n_tensor)
        put_rows(s, "PLACEMENTS",
                 "over the tensor dimension of the mesh: parameters, and what modules take and "
                 "give",
                 &t->placements, to);
    if (t->frozen[0])
        fprintf(to, "FROZEN = [%s]  # parameters that are not trained\n", t->frozen);
    if (t->recomputed.n)
        put_names(s, "RECOMPUTED", "modules that are computed again in the backward half",
                  &t->recomputed, to);
    if (is_wrapped(s))
        put_names(s, "UNITS",
                  s->shard == HYPAR_SHARD_NONE
                      ? "modules whose gradients are summed together"
                      : "modules that are gathered, and summed, together",
                  &t->units, to);
    fputs("\n\n", to);
}

static const char *tensor_mesh(const struct torch_script *s)
{
    const char *names = "";
    for (int i = 0; i < s->n_tensor; i++)
        names = hp_arena_printf(s->arena, "%s%s\"%s\"", names, i ? ", " : "",
                                dim_name(s, s->tensor[i]));
    return hp_arena_printf(s->arena, "mesh[%s]", names);
}

static const char *data_mesh(const struct torch_script *s)
{
    return has_replicas(s) ? "mesh[\"replica\", \"data\"]" : "mesh[\"data\"]";
}

/* The replicas of all samples as one dimension. */
static const char *samples_mesh(const struct torch_script *s)
{
    return hp_torch_data_dims(s) > 1 ? "mesh[\"replica\", \"data\"]._flatten()"
           : has_replicas(s)         ? "mesh[\"replica\"]"
                                     : "mesh[\"data\"]";
}

static void put_replicas(const struct torch_script *s, FILE *to)
{
    static const char *const about[HYPAR_SHARD_COUNT] = {
        [HYPAR_SHARD_NONE] = "Gradients are summed over the replicas.",
        [HYPAR_SHARD_OPTIMIZER] = "Replicas divide the optimizer's state: ZeRO-1.",
        [HYPAR_SHARD_GRADIENTS] =
            "Replicas divide gradients and the optimizer's state: ZeRO-2.",
        [HYPAR_SHARD_PARAMETERS] =
            "Replicas divide parameters, gradients and the optimizer's state: ZeRO-3.",
    };
    const char *reshard = s->shard == HYPAR_SHARD_PARAMETERS ? "True" : "False", *policy = "";
    if (s->plan->precision == HYPAR_BF16)
        policy =
            hp_arena_printf(s->arena, ", mp_policy=MixedPrecisionPolicy(torch.bfloat16, %s)",
                            s->plan->fp32_gradients ? "torch.float32" : "torch.bfloat16");
    fprintf(to, "def replicas(model, mesh, root%s):\n    \"\"\"%s\"\"\"\n",
            s->fp32_norms ? ", norms" : "", about[s->shard]);
    if (s->fp32_norms)
        fprintf(to, TEXT_FP32_NORMS, reshard);
    fprintf(to, TEXT_UNITS, s->fp32_norms ? " and name not in norms" : "", reshard, policy);
}

/* Statistics that are DTensors are gathered on the tensor dimensions before they are summed
 * over the replicas. */
static void put_norms(const struct torch_script *s, FILE *to)
{
    const char *local = s->n_tensor ? ".to_local()" : "";
    fputs(TEXT_NORMALISE, to);
    fprintf(to, TEXT_NORMS,
            s->n_tensor
                ? "        mesh, whole = x.device_mesh, [Replicate()] * x.device_mesh.ndim\n"
                  "        mean = x.redistribute(placements=whole).to_local() / group.size()\n"
                  "        dist.all_reduce(mean, group=group)\n"
                  "        return DTensor.from_local(mean, mesh, whole, run_check=False)\n"
                : "        mean = x / group.size()\n"
                  "        dist.all_reduce(mean, group=group)\n"
                  "        return mean\n",
            local, local);
}

/* The loss function of the plan's graph, which takes what the model returns. */
static void put_given_loss(const struct torch_script *s, FILE *to)
{
    fprintf(
        to,
        "def loss_of(output, target):\n"
        "    \"\"\"The loss that the plan was made with.\"\"\"\n"
        "    module, _, name = \"%s\".partition(\":\")\n"
        "    try:\n"
        "        function = getattr(importlib.import_module(module), name)\n"
        "    except (ImportError, AttributeError) as why:\n"
        "        raise Refused(f\"the loss of the plan, {module}:{name}: {why}\") from why\n",
        hp_python_text(s->arena, s->graph->loss_function));
    if (s->plan->precision == HYPAR_BF16)
        fputs("    output = tree_map_only(torch.Tensor, lambda x: x.float() if "
              "x.is_floating_point() else x, output)  # sums of many terms, in fp32\n",
              to);
    fputs("    return function(output) if target is None else function(output, target)\n\n\n",
          to);
}

static void put_loss(const struct torch_script *s, FILE *to)
{
    if (s->graph->loss_function) {
        put_given_loss(s, to);
        return;
    }
    int op = s->graph->loss >= 0 ? s->graph->tensors[s->graph->loss].producer : -1;
    bool squares = op >= 0 && s->graph->ops[op].kind == OP_MSE_LOSS;
    fputs("def loss_of(output, target):\n"
          "    \"\"\"The model's own loss, or that of its first output.\"\"\"\n"
          "    if isinstance(output, dict):\n"
          "        output = output[\"loss\"] if target is None and \"loss\" in output else "
          "[*output.values()]\n"
          "    if target is None:\n"
          "        return output if torch.is_tensor(output) else next(\n"
          "            x for x in output if torch.is_tensor(x) and x.dim() == 0)\n",
          to);
    if (s->graph->own_loss) { /* never replace it by another objective */
        fputs("    raise Refused(\"the plan was made with a loss of your own: return "
              "the loss from the model, or write the loss into loss_of() of this script\")"
              "\n\n\n",
              to);
        return;
    }
    fputs("    if isinstance(output, (tuple, list)):\n"
          "        output = output[0]\n",
          to);
    if (s->plan->precision == HYPAR_BF16)
        fprintf(to, "    output%s = output.float()%s  # sums of many terms, in fp32\n",
                squares ? ", target" : "", squares ? ", target.float()" : "");
    fputs(squares ? "    return nn.functional.mse_loss(output, target)\n\n\n"
                  : "    last = output.numel() == target.numel() * output.shape[-1]  # or, of "
                    "images and of what the target tells, second\n"
                    "    if last and (output.dim() < 4 or output.shape[:1] + output.shape[2:] "
                    "!= target.shape):\n"
                    "        output, target = output.flatten(0, -2), target.flatten()\n"
                    "    return nn.functional.cross_entropy(output, target)\n\n\n",
          to);
}

/* The steps that prepare every module of this rank. */
static void put_steps(const struct torch_script *s, const struct torch_tables *t,
                      const char *module, const char *root, FILE *to)
{
    const char *indent = module == root ? "    " : "        ";
    if (s->n_tensor)
        fprintf(to, "%splace(%s, %s)\n", indent, module, tensor_mesh(s));
    if (s->norms)
        fprintf(to, "%ssynchronise(%s, norms, %s.get_group())\n", indent, module,
                samples_mesh(s));
    if (t->recomputed.n)
        fprintf(to, "%srecompute(%s)\n", indent, module);
    if (is_wrapped(s))
        fprintf(to, "%sreplicas(%s, %s, %s%s)\n", indent, module, data_mesh(s), root,
                s->fp32_norms ? ", norms" : "");
}

static void put_contexts(const struct torch_script *s, FILE *to)
{
    if (s->n_tensor)
        fputs(
            "    @implicit_replication()  # what the model makes itself (masks, positions) is "
            "the same everywhere\n",
            to);
    if (s->sharded_vocabulary)
        fputs("    @loss_parallel()  # of logits that are divided by class\n", to);
    if (s->n_tensor && s->attention)
        fputs("    @sdpa_kernel(ATTENTION[mesh.device_type])\n    @local_attention()\n", to);
    if (narrows_attention(s) && !s->stages)
        fputs("    @one_precision()\n", to);
}

static void put_gradients(const struct torch_script *s, const struct torch_tables *t,
                          const char *modules, FILE *to)
{
    if (s->n_tensor)
        fprintf(to,
                "        for p in %s.parameters():\n"
                "            if p.grad is not None:  # partial sums, where a parameter is on "
                "several devices\n"
                "                p.grad = p.grad.redistribute(placements=p.placements)\n",
                modules);
    if (t->tied[0])
        fputs("        add_up()\n", to);
}

static void put_check(const struct torch_script *s, const struct torch_tables *t, FILE *to)
{
    if (has_tables(s, t))
        fprintf(to, "    check(model%s%s%s%s)\n", s->stages ? ", CUTS" : "",
                s->n_tensor ? ", PLACEMENTS" : "", t->recomputed.n ? ", RECOMPUTED" : "",
                is_wrapped(s) ? ", UNITS" : "");
    fputs("    for module in model.modules():  # of Hugging Face: training reads no cache of "
          "keys and values\n"
          "        if getattr(getattr(module, \"config\", None), \"use_cache\", False):\n"
          "            module.config.use_cache = False\n",
          to);
    if (t->recomputed.n)
        fputs(
            "    for name, module in model.named_modules():\n"
            "        if key(RECOMPUTED, name) and type(module).forward is nn.Module.forward:\n"
            "            raise Refused(f\"module '{name}' is a list whose modules are "
            "called "
            "by others: it cannot be computed again\")\n",
            to);
    if (s->norms || s->fp32_norms)
        fputs("    norms = batch_norms(model)\n", to);
    if (s->plan->precision == HYPAR_BF16)
        fprintf(to,
                "    for %smodule in model.%smodules():\n"
                "        if %sany(True for _ in module.parameters(recurse=False)):\n"
                "            module.register_forward_pre_hook(narrow, with_kwargs=True)\n",
                s->stages ? "name, " : "", s->stages ? "named_" : "",
                s->stages ? "key(UNITS, name) or " : "");
    if (t->frozen[0])
        fputs("    for name, p in model.named_parameters():\n"
              "        if any(fnmatchcase(name, pattern) for pattern in FROZEN):\n"
              "            p.requires_grad_(False)\n",
              to);
}

/* Each step checks its batch before it computes. */
static void put_step_begin(const struct torch_script *s, FILE *to)
{
    fprintf(to, "    def step(*args, target=None, **kwargs):\n%s",
            s->graph->n_arguments > 0 ? "        check_batch(names, args, kwargs, target)\n"
                                      : "");
}

static void put_step(const struct torch_script *s, const struct torch_tables *t, FILE *to)
{
    const char *model = "model";
    bool at_end = is_wrapped(s) && s->shard <= HYPAR_SHARD_OPTIMIZER;
    bool kept = is_wrapped(s) && s->shard != HYPAR_SHARD_PARAMETERS;
    put_check(s, t, to);
    put_steps(s, t, model, model, to);
    if (!s->n_tensor && !is_wrapped(s))
        fputs("    model.to(mesh.device_type)\n", to);
    fputs("    fill(model, blank, state)\n\n", to);
    put_contexts(s, to);
    put_step_begin(s, to);
    fputs("        total = 0\n"
          "        for i in range(MICRO_BATCHES):\n"
          "            a, k, t = tree_map_only(torch.Tensor, lambda x: "
          "x.chunk(MICRO_BATCHES)[i], (args, kwargs, "
          "target))\n",
          to);
    if (at_end)
        fputs("            model.set_requires_gradient_sync(i + 1 == MICRO_BATCHES)\n", to);
    if (kept)
        fputs("            model.set_reshard_after_backward(i + 1 == MICRO_BATCHES)\n", to);
    fprintf(to,
            "            loss = loss_of(model(*a, **k), t)%s / MICRO_BATCHES\n"
            "            loss.backward()\n",
            sum_factor(s));
    fprintf(to,
            "            loss = loss.detach()%s\n"
            "            total = total + loss.to(torch.promote_types(loss.dtype, "
            "torch.float32))  # a model "
            "may compute its own in bf16\n",
            s->n_tensor ? ".full_tensor()" : "");
    put_gradients(s, t, "model", to);
    fputs("        total = total / mesh.size()\n"
          "        dist.all_reduce(total)\n"
          "        return total\n"
          "\n"
          "    return model, step\n\n\n",
          to);
}

/* The model is traced in the precision that it runs in, because a trace contains the types of
 * its casts. The master weights are put back into the stages afterwards. */
static void put_trace(const struct torch_script *s, FILE *to)
{
    bool is_short = s->plan->precision == HYPAR_BF16;
    fprintf(to,
            "    forward, device = model.forward, this_device(mesh)\n"
            "\n"
            "    def batch_of(args, kwargs, target):\n"
            "        return names.bind(*args, **kwargs).arguments | ({} if target is None else "
            "{\"target_\": target})\n"
            "\n"
            "    model.forward = lambda target_=None, **batch: loss_of(forward(**batch), "
            "target_)%s\n"
            "    batch = batch_of(args, kwargs, target)\n",
            sum_factor(s));
    if (is_short)
        fprintf(
            to,
            "    whole = {name: p.detach() for name, p in "
            "model.named_parameters(remove_duplicate=False)}\n"
            "    for name, p in model.named_parameters():  # traced in the precision that it "
            "is run in\n"
            "        %sp.data = torch.empty_like(p, dtype=torch.bfloat16) if blank else "
            "p.data.to(torch.bfloat16)\n",
            s->fp32_norms ? "if name.rpartition(\".\")[0] not in norms:\n            " : "");
    fputs(
        "    for name, point in CUTS.items():  # pipeline() takes them or a policy\n"
        "        module = model.get_submodule(name)\n"
        "        hook = module.register_forward_pre_hook if point is SplitPoint.BEGINNING else "
        "module.register_forward_hook\n"
        "        hook(lambda *_: pipe_split())\n",
        to);
    fprintf(to,
            "    pipe = trace(model, tree_map_only(torch.Tensor, lambda x: "
            "x.cpu().chunk(MICRO_BATCHES)[0]%s, batch))\n"
            "    stages = {i: Stage(pipe, i, model, device) for i in "
            "range(mesh.get_local_rank(\"stage\"), "
            "pipe.num_stages, MESH[\"stage\"])}\n"
            "    modules = nn.ModuleList(stages.values())\n",
            is_short ? ".to(torch.bfloat16 if x.is_floating_point() else x.dtype)" : "");
    if (is_short)
        fputs("    for stage in modules:\n"
              "        for name, p in stage.module.named_parameters():\n"
              "            p.data = whole[name].clone()\n",
              to);
}

static void put_pipeline(const struct torch_script *s, const struct torch_tables *t, FILE *to)
{
    bool several = hp_schedule_of(s->plan)->interleaves;
    put_check(s, t, to);
    put_trace(s, to);
    if (s->n_tensor || is_wrapped(s) || t->recomputed.n)
        fputs("    for stage in modules:\n", to);
    put_steps(s, t, "stage.module", "stage", to);
    fputs("    modules.to(device)\n    fill(modules, blank, state)\n", to);
    if (t->tied[0])
        fputs("    add_up = tied_gradients(stages, mesh)\n", to);
    fprintf(to,
            "    runs = [PipelineStage(stage, i, pipe.num_stages, device, "
            "group=mesh.get_group(\"stage\")%s%s)\n"
            "            for i, stage in stages.items()]\n"
            "    schedule = %s(%s, MICRO_BATCHES, loss_fn=lambda loss, _: loss)\n\n",
            s->n_tensor ? ", get_mesh=lambda *_: " : "", s->n_tensor ? tensor_mesh(s) : "",
            hp_torch_schedule(s->plan->schedule.kind), several ? "runs" : "runs[0]");
    put_contexts(s, to);
    put_step_begin(s, to);
    fputs("        batch, losses = batch_of(args, kwargs, target), []\n"
          "        any_ = next(x for x in tree_leaves(batch) if isinstance(x, torch.Tensor))\n"
          "        schedule.step(**batch, target=any_, losses=losses, return_outputs=False)\n",
          to);
    put_gradients(s, t, "modules", to);
    fprintf(to,
            "        total = sum((x.detach()%s for x in losses), torch.zeros((), "
            "device=device))\n"
            "        total = total / MICRO_BATCHES * MESH[\"stage\"] / mesh.size()\n"
            "        dist.all_reduce(total)\n"
            "        return total\n"
            "\n"
            "    return modules, step\n\n\n",
            s->n_tensor ? ".full_tensor()" : "");
}

static void put_parallelize(const struct torch_script *s, const struct torch_tables *t,
                            FILE *to)
{
    if (s->n_tensor && s->attention)
        fputs("ATTENTION = {  # that DTensor divides\n"
              "    \"cpu\": [SDPBackend.MATH],\n"
              "    \"cuda\": [SDPBackend.FLASH_ATTENTION, SDPBackend.EFFICIENT_ATTENTION, "
              "SDPBackend.MATH],\n"
              "}\n\n\n",
              to);
    fputs("def parallelize(model, mesh, *args, target=None, state=None, **kwargs):\n"
          "    \"\"\"The modules of this rank, and a function of a batch of this replica that "
          "does "
          "forward and backward and\n"
          "    returns the mean loss of all. args, kwargs, target: such a batch; state: the "
          "values of parameters that are on meta.\"\"\"\n"
          "    names, blank = inspect.signature(model.forward), without_memory(model)\n",
          to);
    if (s->stages && s->graph->n_arguments > 0)
        fputs("    check_batch(names, args, kwargs, target)\n", to);
    if (!s->stages)
        fputs("    for name, b in model.named_buffers():\n"
              "        if b.is_meta:\n"
              "            raise Refused(f\"buffer '{name}' is on meta and has no values: "
              "expected a function that makes the model, as in 'return lambda: Model(), "
              "inputs'\")\n"
              "        b.data = b.data.to(mesh.device_type)\n",
              to);
    if (s->stages)
        put_pipeline(s, t, to);
    else
        put_step(s, t, to);
}

static void put_own(const struct torch_script *s, FILE *to)
{
    fputs("def own(x, mesh):\n"
          "    \"\"\"Of a batch, the samples of this rank's replica.\"\"\"\n",
          to);
    if (s->data)
        fprintf(
            to,
            "    data = %s\n"
            "    if len(x) %% data.size():  # else means of unequal parts would be averaged\n"
            "        raise Refused(f\"{len(x)} samples, expected a multiple of "
            "{data.size()}\")\n"
            "    mine = x.chunk(data.size())[data.get_local_rank()]\n"
            "    return mine.to(mesh.device_type, copy=True)  # the whole batch need not "
            "stay\n\n\n",
            samples_mesh(s));
    else
        fputs("    return x.to(mesh.device_type)\n\n\n", to);
}

static void put_main(const struct torch_script *s, FILE *to)
{
    static const struct {
        const char *name, *more;
    } optimizers[HYPAR_OPTIMIZER_COUNT] = {
        [HYPAR_SGD] = { "SGD", "" },
        [HYPAR_MOMENTUM] = { "SGD", ", momentum=0.9" },
        [HYPAR_ADAM] = { "Adam", ", fused=True" }, /* without tensors of its own */
        [HYPAR_ADAMW] = { "AdamW", ", fused=True" },
    };
    enum hypar_optimizer kind = s->plan->optimizer;
    char optimizer[64];
    snprintf(optimizer, sizeof optimizer, "torch.optim.%s(params, lr=%g%s)",
             optimizers[kind].name, hp_usual_rate(kind), optimizers[kind].more);
    put_own(s, to);
    fputs(TEXT_AGREED, to);
    fputs(TEXT_FAILED, to);
    fprintf(to, TEXT_MAIN,
            s->plan->precision == HYPAR_TF32
                ? "    torch.set_float32_matmul_precision(\"high\")\n"
                : "",
            optimizer, s->plan->clip > 0 ? "            clip(modules, mesh)\n" : "");
}

/* Clip gradients by their norm over all shards and stages. A parameter that several stages have
 * counts once. */
static void put_clip(const struct torch_script *s, const struct torch_tables *t, FILE *to)
{
    fprintf(
        to,
        "def clip(modules, mesh, most=%.17g):\n"
        "    \"\"\"Scale the gradients of all ranks to a norm of at most `most`; returns the "
        "norm before.\"\"\"\n",
        s->plan->clip > 0 ? s->plan->clip : 1.0);
    if (t->tied[0])
        fputs("    again = {stage.module.get_parameter(row[stage.index]) for stage in modules "
              "for "
              "row in TIED\n"
              "             if stage.index in row and stage.index != min(row)}\n",
              to);
    fprintf(
        to,
        "    params = [*modules.parameters()]\n"
        "    norm = nn.utils.get_total_norm([p.grad for p in params if p.grad is not None%s])\n"
        "    norm = norm.full_tensor() if isinstance(norm, DTensor) else "
        "norm.to(mesh.device_type)\n",
        t->tied[0] ? " and p not in again" : "");
    if (s->stages)
        fputs("    norm = norm.square()\n"
              "    dist.all_reduce(norm, group=mesh.get_group(\"stage\"))\n"
              "    norm = norm.sqrt()\n",
              to);
    fputs("    nn.utils.clip_grads_with_norm_(params, most, norm)\n"
          "    return norm\n\n\n",
          to);
}

static void put_about(const struct torch_script *s, FILE *to)
{
    int devices = s->mesh.n_devices * (s->stages ? s->groups : 1);
    fprintf(to, "\"\"\"%s, batch %" PRId64 ", on %d devices",
            hp_python_text(s->arena, s->graph->name), s->graph->batch, devices);
    if (s->stages)
        fprintf(to, ": %d stages, schedule %s", s->stages,
                hypar_schedule_text(s->plan->schedule.kind));
    fputs(". Written by hypar; PyTorch alone is needed.\n\n    ", to);
    hp_put_command(&hp_target_torch, s->plan, "FILE", to);
    fputs(" [STEPS] [--measure]\n\n"
          "trains what the function returns: a model, or a function that makes one, its "
          "arguments "
          "(a tensor, a tuple or a dict\nof keywords), and a target where the model does not "
          "return its loss. A function that makes the model leaves its parameters\nwithout "
          "memory; each rank then fills its own shards. --measure: bytes sent and memory of "
          "the last step, beside the plan.\"\"\"\n",
          to);
}

void hp_torch_write(const struct torch_script *s, const struct torch_tables *t, FILE *to)
{
    put_about(s, to);
    put_imports(s, t, to);
    put_tables(s, t, to);
    fputs(TEXT_REFUSED, to);
    if (has_tables(s, t)) {
        fputs(TEXT_KEY, to);
        fputs(TEXT_CHECK, to);
    }
    put_loss(s, to);
    if (s->n_tensor)
        fputs(TEXT_PLACE, to);
    if (s->n_tensor && s->attention)
        fputs(TEXT_ATTENTION, to);
    if (s->norms || s->fp32_norms)
        fputs(TEXT_BATCH_NORMS, to);
    if (s->norms)
        put_norms(s, to);
    if (s->plan->precision == HYPAR_BF16)
        fputs(TEXT_NARROW, to);
    if (narrows_attention(s))
        fputs(TEXT_ONE_PRECISION, to);
    if (t->recomputed.n)
        fputs(TEXT_RECOMPUTE, to);
    if (is_wrapped(s))
        put_replicas(s, to);
    if (s->stages) {
        fputs(TEXT_CONSTANTS, to);
        fputs(TEXT_IN_STAGES, to);
        fprintf(to, TEXT_TRACE, narrows_attention(s) ? "one_precision(), " : "");
    }
    if (s->stages)
        fprintf(to, TEXT_STAGE,
                s->n_tensor && s->attention
                    ? "                elif n.target is "
                      "torch.ops.aten.scaled_dot_product_attention.default:\n"
                      "                    n.target = attention\n"
                    : "");
    if (t->tied[0])
        fputs(TEXT_TIED, to);
    fputs(TEXT_EMPTY, to);
    fputs(TEXT_FILL, to);
    put_parallelize(s, t, to);
    put_clip(s, t, to);
    fprintf(to, TEXT_SAVE,
            s->stages ? "    return {name: x for stage in modules for name, x in "
                        "stage.module.state_dict(keep_vars=True).items() if name in "
                        "stage.kept}\n"
                      : "    return modules.state_dict(keep_vars=True)\n");
    if (s->graph->n_arguments > 0)
        fputs(TEXT_BATCH, to);
    fputs(TEXT_MEASURED, to);
    fputs(TEXT_TELL, to);
    put_main(s, to);
}
