A script for PyTorch, of a model that came from it: tests/cli/gpt2-torch.json is Hugging Face's in small. Stages, tensor and sequence parallelism.
$ p() { printf '{"format": "hypar-plan/1", "model": "%s/tests/cli/gpt2-torch.json", "batch": 8, "machine": "full:%s", %s}\n' "$PWD" $1 "$2"; }; p 4 '"layout": {"tensor": 2, "pipeline": 2, "micro_batches": 4, "sequence_parallel": true}' > $TMP/3d.json; hypar export $TMP/3d.json --to torch
> hypar: note: whole on each device: 'transformer.h.*.attn.c_attn', which computes
>        several things at once that are taken apart behind it; a layer for each
>        of them (queries, keys and values, or a gate and what it multiplies) is
>        divided
> hypar: note: the script runs operator by operator, the plan counts the memory of
>        kernels that are 'compiled', which may be less: expected --as fsdp, or a
>        plan made with --for torch
> """GPT2LMHeadModel, batch 8, on 4 devices: 2 stages, schedule 1f1b. Written by hypar; PyTorch alone is needed.
>
>     torchrun --nproc-per-node 4 FILE package.module:function [STEPS] [--measure]
>
> trains what the function returns: a model, or a function that makes one, its arguments (a tensor, a tuple or a dict
> of keywords), and a target where the model does not return its loss. A function that makes the model leaves its parameters
> without memory; each rank then fills its own shards. --measure: bytes sent and memory of the last step, beside the plan."""
> from collections import Counter
> from contextlib import contextmanager, nullcontext, redirect_stderr, suppress
> from datetime import timedelta
> import copy
> import importlib
> import inspect
> import logging
> import math
> import os
> import pickle
> import re
> import sys
> import traceback
> import weakref
> import zlib
>
> import torch
> import torch.distributed as dist
> import torch.distributed.checkpoint as dcp
> from torch import nn
> from torch.distributed.device_mesh import init_device_mesh
> from torch.distributed.pipelining import PipelineStage, Schedule1F1B, SplitPoint, pipe_split, pipeline
> from torch.distributed.tensor import DTensor, Replicate, Shard, distribute_tensor
> from torch.distributed.tensor.experimental import implicit_replication
> from torch.distributed.tensor.parallel import loss_parallel
> from torch.nn.attention import SDPBackend, sdpa_kernel
> from torch.utils._python_dispatch import TorchDispatchMode
> from torch.utils._pytree import tree_leaves, tree_map_only
>
> MESH = {"stage": 2, "tensor": 2}
> MICRO_BATCHES = 4
> PLANNED = {"sent": 514440, "memory": 198144, "tensors": 198144, "saved": 84736}  # bytes of a step: of all processes; the most of one, on a GPU; on the CPU, and what is saved of that
> CUTS = {  # where the next stage begins
>     "transformer.h.1": SplitPoint.BEGINNING,
> }
> TIED = [  # a parameter's names, by stage
>     {0: "transformer.wte.weight", 1: "lm_head.weight"},
> ]
> PLACEMENTS = {  # over the tensor dimension of the mesh: parameters, and what modules take and give
>     "transformer.wte": {"weight": [Shard(0)], "output": [Shard(1)]},
>     "transformer.h.*.ln_1": {"input": [Shard(1)]},
>     "transformer.h.*.attn.c_attn": {"input": [Shard(1)], "output": [Replicate()]},
>     "transformer.h.*.attn.c_proj": {"input": [Shard(1)]},
>     "transformer.h.*.ln_2": {"input": [Shard(1)], "output": [Replicate()]},
>     "transformer.h.*.mlp.c_fc": {"weight": [Shard(1)], "bias": [Shard(0)]},
>     "transformer.h.*.mlp.c_proj": {"input": [Shard(2)], "weight": [Shard(0)], "output": [Shard(1)]},
>     "transformer.ln_f": {"input": [Shard(1)], "output": [Replicate()]},
>     "lm_head": {"weight": [Shard(0)]},
> }
>
>
> class Refused(ValueError):
>     """The model, the batch or the processes are not those of the plan, which all ranks find."""
>
>
> def key(table, name):
>     """A module's entry: its path, or that with * for numbers. A trace calls the second call of a module path@1."""
>     name = re.sub("@[0-9]+", "", name)
>     return next((k for k in (name, re.sub(r"(?<![^.])[0-9]+(?![^.])", "*", name)) if k in table), None)
>
>
> def check(model, *tables):
>     """The plan was made for this model."""
>     for table in tables:
>         missing = set(table) - {key(table, name) for name, _ in model.named_modules()}
>         if missing:
>             raise Refused(f"the model has no module '{min(missing)}': this is the plan of another")
>
>
> def loss_of(output, target):
>     """The model's own loss, or that of its first output."""
>     if isinstance(output, dict):
>         output = output["loss"] if target is None and "loss" in output else [*output.values()]
>     if target is None:
>         return output if torch.is_tensor(output) else next(
>             x for x in output if torch.is_tensor(x) and x.dim() == 0)
>     if isinstance(output, (tuple, list)):
>         output = output[0]
>     last = output.numel() == target.numel() * output.shape[-1]  # or, of images and of what the target tells, second
>     if last and (output.dim() < 4 or output.shape[:1] + output.shape[2:] != target.shape):
>         output, target = output.flatten(0, -2), target.flatten()
>     return nn.functional.cross_entropy(output, target)
>
>
> def place(model, mesh):
>     """Parameters become DTensors; modules take and give what PLACEMENTS says."""
>     whole, made = [Replicate()] * mesh.ndim, {}
>
>     def move(x, placements):
>         x = x if isinstance(x, DTensor) else DTensor.from_local(x, mesh, whole, run_check=False)
>         given, how = x, (x._version, *placements)
>         before, (said_how, known) = x.placements, getattr(x, "moved", (None, None))
>         if said_how == how and known() is not None:  # for a module before this one: the errors of both are summed together
>             return known()
>         x = x.redistribute(placements=placements)
>         given.moved = how, weakref.ref(x)
>         if x.requires_grad:  # partial sums of its gradient are added up, by what is undone behind this or else here
>             x.register_hook(lambda grad: grad.redistribute(placements=[
>                 g if b.is_shard() else p for g, b, p in zip(grad.placements, before, placements)]))
>         return x
>
>     rows = [(m, PLACEMENTS.get(key(PLACEMENTS, name), {})) for name, m in model.named_modules()]
>     said = {p: row[k] for m, row in reversed(rows) for k, p in m.named_parameters(recurse=False) if k in row}
>     for module, row in rows:
>         for k, p in list(module.named_parameters(recurse=False)):
>             if p not in made:  # tied parameters stay tied: they lie as the first row with one of them says
>                 made[p] = nn.Parameter(distribute_tensor(p.detach(), mesh, said.get(p, whole), src_data_rank=None), p.requires_grad)
>             module.register_parameter(k, made[p])
>         if "input" in row:
>             module.register_forward_pre_hook(lambda _, args, to=row["input"]: (move(args[0], to), *args[1:]))
>         if "output" in row:
>             module.register_forward_hook(lambda _, args, out, to=row["output"]:
>                                          tree_map_only(torch.Tensor, lambda x: move(x, to), out))
>
>
> def attention(query, key, value, attn_mask=None, *args, **kwargs):
>     """Attention whose samples or heads are divided: each rank computes its own, by a kernel for plain tensors."""
>     inputs = query, key, value
>     if isinstance(attn_mask, DTensor) and all(p.is_replicate() for p in attn_mask.placements):
>         attn_mask = attn_mask.to_local()
>     shards = [(p, query.device_mesh.size(i)) for i, p in enumerate(query.placements) if not p.is_replicate()] if isinstance(query, DTensor) else []
>     alike = all(p.is_shard() and p.dim < 2 and not any(x.shape[p.dim] % n for x in inputs) for p, n in shards)
>     one_mask = attn_mask is None or all(attn_mask.dim() < 4 or attn_mask.shape[p.dim] == 1 for p, _ in shards if p.is_shard())
>     if not all(isinstance(x, DTensor) for x in inputs) or isinstance(attn_mask, DTensor) or not alike or not one_mask:
>         return DIVIDED(*inputs, attn_mask, *args, **kwargs)
>     mesh, placements = query.device_mesh, query.placements
>     mine = [x.redistribute(mesh, placements).to_local() for x in inputs]
>     with sdpa_kernel([SDPBackend.FLASH_ATTENTION, SDPBackend.EFFICIENT_ATTENTION, SDPBackend.MATH]):
>         return DTensor.from_local(DIVIDED(*mine, attn_mask, *args, **kwargs), mesh, placements, run_check=False)
>
>
> DIVIDED = nn.functional.scaled_dot_product_attention  # DTensor's, which has not all kernels
>
>
> @contextmanager
> def local_attention():
>     nn.functional.scaled_dot_product_attention = attention
>     try:
>         yield
>     finally:
>         nn.functional.scaled_dot_product_attention = DIVIDED
>
>
> def constants(traced):
>     """What depends on no parameter and on no number (masks, tables of rotations): its value, or None where it follows from integers of the batch."""
>     values, changed = {}, set()
>     for n in traced.graph.nodes:  # what is written into, through views too
>         x = n.args[0] if isinstance(n.target, torch._ops.OpOverload) and n.target._schema.is_mutable else None
>         while isinstance(x, torch.fx.Node):
>             changed.add(x)
>             x = x.args[0] if x.args else None
>     for n in traced.graph.nodes:
>         of, value = n.meta.get("val"), None
>         if n.op == "get_attr":
>             value = dict(traced.named_buffers(remove_duplicate=False)).get(n.target)
>         elif n.op == "placeholder" and isinstance(of, torch.Tensor) and not of.is_floating_point():
>             values[n] = None
>         elif isinstance(n.target, torch._ops.OpOverload) and n not in changed and all(x in values for x in n.all_input_nodes):
>             if n.target._schema.is_mutable or torch.Tag.nondeterministic_seeded in n.target.tags:
>                 continue
>             if all(values[x] is not None for x in n.all_input_nodes):
>                 value = n.target(*torch.fx.map_arg(n.args, values.get), **torch.fx.map_arg(n.kwargs, values.get))
>             elif isinstance(of, torch.Tensor):
>                 values[n] = None
>         if isinstance(value, torch.Tensor):
>             values[n] = value
>     return values
>
>
> def repeat_inside(attention):
>     """Keys and values whose heads a model repeats beside a mask are repeated by attention itself, which saves them once."""
>     aten, before = torch.ops.aten, []
>     for last in attention.args[1:3]:
>         steps = [last]
>         while steps[-1].target in (aten.reshape.default, aten.view.default, aten.expand.default) and len(steps) < 3:
>             steps.append(steps[-1].args[0])
>         if len(steps) < 3 or steps[1].target is not aten.expand.default or steps[2].target is not aten.unsqueeze.default or steps[2].args[1] != 2:
>             return
>         before.append(steps)
>     attention.args = (attention.args[0], *(steps[2].args[0] for steps in before), *attention.args[3:])
>     attention.kwargs = {**attention.kwargs, "enable_gqa": True}
>     for n in [n for steps in before for n in steps]:
>         if not n.users:
>             attention.graph.erase_node(n)
>
>
> def in_each_stage(traced):
>     """A constant, and what follows from the batch's integers, is made in each stage that reads it; a mask that all, or all earlier, words pass is none."""
>     graph, values = traced.graph, constants(traced)
>     for n in [*graph.nodes]:
>         if "_assert_" in str(n.target):  # which DTensor does not know, and which would read masks that nothing else reads
>             graph.erase_node(n)
>             continue
>         mask = values.get(n.args[3]) if n.target is torch.ops.aten.scaled_dot_product_attention.default and len(n.args) > 3 else None
>         if mask is not None and mask.dtype == torch.bool and not any(n.args[4:]):
>             if mask.all():
>                 n.args = n.args[:3]
>             elif mask.shape[-1] == mask.shape[-2] and (mask == torch.ones(mask.shape[-2:], dtype=torch.bool).tril()).all():
>                 n.args = (*n.args[:3], None, 0.0, True)
>             if n.args[3:4] in ((), (None,)):
>                 repeat_inside(n)
>     made, cut = {}, None  # by constant, the one of the stage at hand; where that stage begins
>
>     def remake(n):
>         if n not in values or n.op in ("get_attr", "placeholder"):
>             return n
>         if n not in made:
>             made[n] = graph.node_copy(n, remake)
>             values[made[n]], stack = values[n], n.meta["nn_module_stack"]
>             made[n].meta["nn_module_stack"] = dict([*stack.items()][:1])  # of the model itself: modules stay in one piece
>         return made[n]
>
>     for n in [*graph.nodes]:
>         if "pipe_split" in str(n.target):
>             made, cut = {}, n.next
>             continue
>         with graph.inserting_before(cut or n):
>             n.args, n.kwargs = (torch.fx.map_arg(x, remake) for x in (n.args, n.kwargs))
>         if n in values:
>             made[n] = n
>     for n in reversed([*graph.nodes]):
>         if n in values and not n.users and n.op != "placeholder":
>             graph.erase_node(n)
>     traced.recompile()
>     return traced
>
>
> @contextmanager
> def all_layers():
>     """A layer that is left out at random, by a number that is drawn for it (LayerDrop), is not left out: a stage has all its layers."""
>     draw = torch.rand
>     torch.rand = lambda *size, **kwargs: 1.0 if size in ((), ([],), ((),)) else draw(*size, **kwargs)
>     try:
>         yield
>     finally:
>         torch.rand = draw
>
>
> @contextmanager
> def quiet():
>     """Without what PyTorch tells of a model that it cannot trace, which is screens long."""
>     before = logging.root.manager.disable
>     logging.disable(logging.CRITICAL)
>     try:
>         with open(os.devnull, "w") as nowhere, redirect_stderr(nowhere):
>             yield
>     finally:
>         logging.disable(before)
>
>
> def not_traced(model, why):
>     """One line of an exception: the module and the line of its code at which the trace ends, the cause, and the remedy."""
>     names, path, line = {id(m): name for name, m in model.named_modules()}, "", "source not known"
>     others = os.path.dirname(torch.__file__), not_traced.__code__.co_filename, "<"
>     step = why.__traceback__
>     while step:
>         code = step.tb_frame.f_code
>         path = names.get(id(step.tb_frame.f_locals.get("self")), "") or path
>         if not code.co_filename.startswith(others):
>             line = f"{code.co_filename}:{step.tb_lineno}"
>         step = step.tb_next
>     cause = f"{type(why).__name__}: {(str(why).strip().splitlines() or [''])[0].rstrip()}"
>     if "data-dependent" in cause or "DataDependent" in cause:
>         cause = "what the model does here depends on numbers that it computes; torch.where, or torch.cond, traces both ways"
>     where = f"module '{path}'" if path else "the model"
>     return f"{where} ({line}) cannot be traced, which stages need: {cause}; a plan without stages needs no trace"
>
>
> def trace(model, batch):
>     """The model in stages, by what it does with a batch."""
>     try:
>         with torch.no_grad(), all_layers(), quiet():  # blocks that are under no_grad anyway stay in line
>             return pipeline(model, (), batch, split_policy=in_each_stage)
>     except Exception as why:  # of whatever kind: PyTorch's own is behind that of pipeline()
>         raise Refused(not_traced(model, why.__cause__ or why)) from why
>
>
> class Stage(nn.Module):
>     """Takes what the stage before hands on, and the batch; hands on what later ones need."""
>
>     def __init__(self, pipe, index, model, device):
>         super().__init__()
>         self.module, self.index, self.tried = pipe.get_stage_module(index), index, False
>         self.kept = {*model.state_dict()}  # names; the trace has buffers beside them
>         self.tie(dict(model.named_parameters(remove_duplicate=False)))
>         nodes = pipe.split_gm.graph.nodes
>         self.inputs, self.calls = ([n for n in nodes if n.op == op] for op in ("placeholder", "call_module"))
>         self.writer = {n: self.calls.index(n.args[0] if n.op == "call_function" else n)
>                        for n in nodes if n.op in ("call_module", "call_function")}
>         self.taken, self.handed = self.crossing(index), self.crossing(index + 1)
>         for m in self.module.modules():
>             for n in [*getattr(getattr(m, "graph", None), "nodes", ())]:
>                 if "device" in n.kwargs:  # where it was traced
>                     n.kwargs = {**n.kwargs, "device": device}
>                 if n.target is torch.ops.aten.view.default:  # the trace leaves out .contiguous() where it was idle
>                     n.target = torch.ops.aten.reshape.default
>                 elif n.target is torch.ops.aten.scaled_dot_product_attention.default:
>                     n.target = attention
>             if isinstance(m, torch.fx.GraphModule):
>                 m.recompile()
>
>     def tie(self, params):
>         """A parameter that has several names, or whose module is called again, is one, of this stage alone: the trace has one for each."""
>         of = {name: params.get(re.sub("@[0-9]+", "", name)) for name, _ in self.module.named_parameters(remove_duplicate=False)}
>         names, calls, one = Counter(params.values()), Counter(of.values()), {}
>         for name, p in [*self.module.named_parameters(remove_duplicate=False)]:
>             if of[name] is not None and max(names[of[name]], calls[of[name]]) > 1:
>                 path, _, last = name.rpartition(".")
>                 p = one.setdefault(of[name], nn.Parameter(p.detach().clone(), p.requires_grad))
>                 self.module.get_submodule(path).register_parameter(last, p)
>
>     def crossing(self, index):
>         """What stages before `index` write and it or later ones read."""
>         read = [n for call in self.calls[index:] for n in call.args]
>         return [n for n in dict.fromkeys(read) if self.writer.get(n, index) < index]
>
>     def forward(self, *taken, **batch):
>         if self.tried:
>             return self.run(taken, batch)
>         self.tried, buffers = True, {b: b.clone() for b in self.buffers()}
>         for x in taken:  # first PyTorch tries what sizes there are, with memory as it comes: numbers of words must be some
>             x.data.zero_()
>         out = self.run(taken, batch)
>         for b, before in buffers.items():  # statistics are not of that
>             b.data.copy_(before)
>         return out
>
>     def run(self, taken, batch):
>         call, taken = self.calls[self.index], [x.view_as(x) for x in taken]
>         for x in taken:  # what is sent, back and forth, lies in order
>             if x.requires_grad:
>                 x.register_hook(torch.Tensor.contiguous)
>         values = dict(zip([*self.taken, *self.inputs], [*taken, *tree_leaves(batch)]))
>         out = self.module(*(values[n] for n in call.args))
>         for n in self.handed:
>             if n not in values:
>                 values[n] = out if n is call else out[n.args[1]]
>         return tuple(values[n].contiguous() for n in self.handed) or out
>
>
> def local(x):
>     return x.to_local() if hasattr(x, "to_local") else x
>
>
> def tied_gradients(stages, mesh):
>     """A function that sums gradients of a parameter that several stages have; each divides it as PLACEMENTS says."""
>     rows, shared = mesh.mesh.reshape(MESH["stage"], -1).T, []
>     for copies in TIED:
>         ranks = rows[:, sorted({stage % MESH["stage"] for stage in copies})].tolist()
>         group, _ = dist.new_subgroups_by_enumeration(ranks)
>         params = [(stages[i].module, name) for i, name in copies.items() if i in stages]
>         if params:
>             module, name = params[0]
>             lie = [None] * group.size()
>             dist.all_gather_object(lie, getattr(module.get_parameter(name), "placements", None), group=group)
>             shared.append((group, params, lie[0]))
>
>     def add_up():
>         for group, params, lies in shared:  # gradients are moved to where the first stage has its own, and back
>             grads = [module.get_parameter(name).grad for module, name in params]
>             parts = [local(g.redistribute(placements=lies) if lies else g) for g in grads]
>             total = sum(parts[1:], parts[0]).contiguous()
>             dist.all_reduce(total, group=group)
>             for g in grads:
>                 back = total
>                 if lies:
>                     back = DTensor.from_local(total, g.device_mesh, lies, run_check=False, shape=g.shape, stride=g.stride())
>                     back = local(back.redistribute(placements=g.placements))
>                 local(g).copy_(back)
>     return add_up
>
>
> class Writes(TorchDispatchMode):
>     """Notes what a constructor writes to parameters on meta, which begin() then writes to tensors with memory."""
>     whole = "normal_", "uniform_", "fill_", "zero_", "copy_"  # values from before them do not count
>
>     def __init__(self):
>         super().__init__()
>         self.params, self.unset = {}, set()  # by memory: parameters; tensors to which nothing was written
>
>     def __torch_dispatch__(self, func, types, args=(), kwargs=None):
>         kwargs, name = kwargs or {}, func._schema.name.partition("::")[2]
>         tensors = [x for x in args if isinstance(x, torch.Tensor)]
>         if name.endswith("_") and tensors and tensors[0] is args[0]:
>             self.note(func, name, *args, **kwargs)
>         out = func(*args, **kwargs)
>         if isinstance(out, torch.Tensor) and memory(out) not in map(memory, tensors):
>             (self.unset.add if "empty" in name else self.unset.discard)(memory(out))
>         return out
>
>     def note(self, func, name, x, *args, generator=None, **kwargs):
>         self.unset.discard(memory(x))
>         if memory(x) not in self.params:
>             return
>         shape, stride, _, calls = self.params[memory(x)].written
>         if name in self.whole and (x.shape, x.stride()) == (shape, stride):
>             calls.clear()
>         known = not any(isinstance(y, torch.Tensor) and y.is_meta for y in args)
>         args = [y.clone() if isinstance(y, torch.Tensor) and known else y for y in args]
>         calls.append((func, (x.shape, x.stride(), x.storage_offset()), args, kwargs) if known else None)
>
>     def noted(self, function):
>         """A function of nn.init that leaves tensors on meta alone: note() keeps the call."""
>         def call(x, *args, **kwargs):
>             if not x.is_meta:
>                 return function(x, *args, **kwargs)
>             self.note(function, "copy_", x, *args, **kwargs)
>             return x
>         return call
>
>     def on_meta(self, p):
>         """The parameter on meta; a constant, as torch.ones() makes, is written to it."""
>         flat, at = p.detach().flatten(), memory(p)
>         p = p if p.is_meta else nn.Parameter(p.to("meta"), p.requires_grad)
>         calls = []
>         if not flat.is_meta and len(flat) and at not in self.unset:
>             constant = torch.ops.aten.fill_.Scalar, (p.shape, p.stride(), 0), [flat[0].item()], {}
>             calls.append(constant if (flat == flat[0]).all() else None)
>         p.written = p.shape, p.stride(), p.dtype, calls
>         self.params[memory(p)] = p  # which stays, so that no other tensor gets its memory
>         return p
>
>
> def memory(x):
>     return x.untyped_storage()._cdata
>
>
> def empty(make):
>     """The model that a function makes, its parameters on meta: they take no memory. Buffers have their values."""
>     register, writes = nn.Module.register_parameter, Writes()
>     idle = {name: getattr(nn.init, name) for name in ("_no_grad_trunc_normal_", "orthogonal_", "dirac_", "sparse_", "eye_")}
>     for name, function in idle.items():
>         setattr(nn.init, name, writes.noted(function))
>     nn.Module.register_parameter = lambda module, name, p: register(
>         module, name, p if p is None or hasattr(p, "written") else writes.on_meta(p))
>     try:
>         with writes:
>             return make()
>     finally:
>         nn.Module.register_parameter = register
>         for name, function in idle.items():
>             setattr(nn.init, name, function)
>
>
> def without_memory(model):
>     """A copy of a model whose parameters are on meta, None if they are not; its own get addresses that nothing is
>     written to, for which the host has no memory yet."""
>     if not any(p.is_meta for p in model.parameters()):
>         return None
>     blank, made = copy.deepcopy(model), {}
>     for p, other in zip(model.parameters(), blank.parameters()):
>         other.written = getattr(p, "written", None)
>     for module in model.modules():
>         for name, p in [*module.named_parameters(recurse=False)]:
>             if p.is_meta and p not in made:  # tied parameters stay tied
>                 made[p] = nn.Parameter(torch.empty_like(p, device="cpu"), p.requires_grad)
>             module.register_parameter(name, made.get(p, p))
>     return blank
>
>
> def fill(modules, blank, state):
>     """Give this rank's shards the values of `state`, or those that modules begin with, one module after another."""
>     mine = [stage.module for stage in modules] if isinstance(modules, nn.ModuleList) else [modules]
>     shards = {name: p for m in mine for name, p in m.named_parameters(remove_duplicate=False)}
>     first, begun = {}, (None, None)  # tied parameters begin in the first module that has them
>     for path, module in blank.named_modules() if blank else ():
>         for k, p in module.named_parameters(recurse=False):
>             if p.is_meta:
>                 first.setdefault(p, (path, k))
>     begins = {} if state else {path: begin(blank, path) for path, _ in first.values()}
>     for name, p in blank.named_parameters(remove_duplicate=False) if blank else ():
>         if p in first and name in shards:
>             path, k = first[p]
>             if not state and begun[0] != path:
>                 begun = path, begins[path]()
>             put(shards[name], state[name] if state else begun[1][k])
>
>
> def begin(model, path):
>     """A function that makes the values that a module begins with, the same on all ranks: those of its constructor, if
>     empty() made the model, else those of reset_parameters() and, of Hugging Face, of _init_weights()."""
>     module, above = model.get_submodule(path), path
>     params = {k: p for k, p in module.named_parameters(recurse=False) if p.is_meta}
>     again = {k: p.written for k, p in params.items() if p.written and p.written[3]}
>     while above and not hasattr(model.get_submodule(above), "_init_weights"):
>         above = above.rpartition(".")[0]
>     init = getattr(model.get_submodule(above), "_init_weights", None)
>     for k in params:
>         if None in again[k][3] if k in again else not init and not hasattr(module, "reset_parameters"):
>             raise Refused(f"parameter '{path + '.' if path else ''}{k}': its values cannot be made shard by shard: return "
>                           "the model itself in place of a function that makes it, or pass `state` to parallelize()")
>
>     def values():
>         made = {k: torch.empty_like(p, device="cpu") for k, p in params.items()}
>         with torch.random.fork_rng(devices=[]), torch.no_grad():
>             torch.manual_seed(zlib.crc32(path.encode()))
>             if again.keys() != params.keys():
>                 like = copy.deepcopy(module)
>                 for k in made:
>                     like.register_parameter(k, nn.Parameter(made[k], params[k].requires_grad))
>                 getattr(like, "reset_parameters", lambda: None)()
>                 if init:
>                     init(like)
>             for k, (shape, stride, dtype, calls) in again.items():
>                 made[k] = torch.empty_strided(shape, stride, dtype=dtype)
>                 for func, view, args, kwargs in calls:
>                     func(made[k].as_strided(*view), *args, **kwargs)
>         return made
>     return values
>
>
> def put(p, value):
>     """Copy this rank's shard of a value."""
>     value = value.to(p.device).view(p.shape)
>     if isinstance(p, DTensor):
>         value = distribute_tensor(value, p.device_mesh, p.placements, src_data_rank=None).to_local()
>         p = p.to_local()
>     p.detach().copy_(value)
>
>
> ATTENTION = {  # that DTensor divides
>     "cpu": [SDPBackend.MATH],
>     "cuda": [SDPBackend.FLASH_ATTENTION, SDPBackend.EFFICIENT_ATTENTION, SDPBackend.MATH],
> }
>
>
> def parallelize(model, mesh, *args, target=None, state=None, **kwargs):
>     """The modules of this rank, and a function of a batch of this replica that does forward and backward and
>     returns the mean loss of all. args, kwargs, target: such a batch; state: the values of parameters that are on meta."""
>     names, blank = inspect.signature(model.forward), without_memory(model)
>     check(model, CUTS, PLACEMENTS)
>     for module in model.modules():  # of Hugging Face: training reads no cache of keys and values
>         if getattr(getattr(module, "config", None), "use_cache", False):
>             module.config.use_cache = False
>     forward, device = model.forward, this_device(mesh)
>
>     def batch_of(args, kwargs, target):
>         return names.bind(*args, **kwargs).arguments | ({} if target is None else {"target_": target})
>
>     model.forward = lambda target_=None, **batch: loss_of(forward(**batch), target_)
>     batch = batch_of(args, kwargs, target)
>     for name, point in CUTS.items():  # pipeline() takes them or a policy
>         module = model.get_submodule(name)
>         hook = module.register_forward_pre_hook if point is SplitPoint.BEGINNING else module.register_forward_hook
>         hook(lambda *_: pipe_split())
>     pipe = trace(model, tree_map_only(torch.Tensor, lambda x: x.cpu().chunk(MICRO_BATCHES)[0], batch))
>     stages = {i: Stage(pipe, i, model, device) for i in range(mesh.get_local_rank("stage"), pipe.num_stages, MESH["stage"])}
>     modules = nn.ModuleList(stages.values())
>     for stage in modules:
>         place(stage.module, mesh["tensor"])
>     modules.to(device)
>     fill(modules, blank, state)
>     add_up = tied_gradients(stages, mesh)
>     runs = [PipelineStage(stage, i, pipe.num_stages, device, group=mesh.get_group("stage"), get_mesh=lambda *_: mesh["tensor"])
>             for i, stage in stages.items()]
>     schedule = Schedule1F1B(runs[0], MICRO_BATCHES, loss_fn=lambda loss, _: loss)
>
>     @implicit_replication()  # what the model makes itself (masks, positions) is the same everywhere
>     @loss_parallel()  # of logits that are divided by class
>     @sdpa_kernel(ATTENTION[mesh.device_type])
>     @local_attention()
>     def step(*args, target=None, **kwargs):
>         batch, losses = batch_of(args, kwargs, target), []
>         any_ = next(x for x in tree_leaves(batch) if isinstance(x, torch.Tensor))
>         schedule.step(**batch, target=any_, losses=losses, return_outputs=False)
>         for p in modules.parameters():
>             if p.grad is not None:  # partial sums, where a parameter is on several devices
>                 p.grad = p.grad.redistribute(placements=p.placements)
>         add_up()
>         total = sum((x.detach().full_tensor() for x in losses), torch.zeros((), device=device))
>         total = total / MICRO_BATCHES * MESH["stage"] / mesh.size()
>         dist.all_reduce(total)
>         return total
>
>     return modules, step
>
>
> def clip(modules, mesh, most=1):
>     """Scale the gradients of all ranks to a norm of at most `most`; returns the norm before."""
>     again = {stage.module.get_parameter(row[stage.index]) for stage in modules for row in TIED
>              if stage.index in row and stage.index != min(row)}
>     params = [*modules.parameters()]
>     norm = nn.utils.get_total_norm([p.grad for p in params if p.grad is not None and p not in again])
>     norm = norm.full_tensor() if isinstance(norm, DTensor) else norm.to(mesh.device_type)
>     norm = norm.square()
>     dist.all_reduce(norm, group=mesh.get_group("stage"))
>     norm = norm.sqrt()
>     nn.utils.clip_grads_with_norm_(params, most, norm)
>     return norm
>
>
> def named(modules):
>     """Parameters and buffers of this rank, by the model's own names: a plan of it has no others."""
>     return {name: x for stage in modules for name, x in stage.module.state_dict(keep_vars=True).items() if name in stage.kept}
>
>
> def save(folder, modules, optimizer, **more):
>     """Write a checkpoint, from which every plan of the model can go on; `more`: what else load() returns."""
>     groups = [{k: x for k, x in g.items() if k != "params"} for g in optimizer.param_groups]
>     state = {"more": pickle.dumps((groups, more))}
>     for name, p in named(modules).items():
>         state[f"model.{name}"] = p.detach()
>         state.update({f"optimizer.{name}.{k}": x for k, x in optimizer.state.get(p, {}).items()})
>     dcp.save(state, checkpoint_id=folder)
>
>
> def load(folder, modules, optimizer):
>     """Go on from a checkpoint of this plan or of another; returns what else was saved."""
>     if not os.path.exists(os.path.join(folder, ".metadata")):
>         raise Refused(f"load: '{folder}' is no folder that save() wrote")
>     mine, places = named(modules), {}
>     state = {"more": None, **{f"model.{name}": p.detach() for name, p in mine.items()}}
>     for saved, what in dcp.FileSystemReader(folder).read_metadata().state_dict_metadata.items():
>         kind, _, rest = saved.partition(".")
>         name, _, k = rest.rpartition(".")
>         if kind == "optimizer" and name in mine:
>             p, size = mine[name].detach(), getattr(what, "size", None)
>             state[saved] = None if size is None else torch.zeros(
>                 size, dtype=what.properties.dtype) if size != p.shape else torch.zeros_like(p, dtype=what.properties.dtype)
>             places[saved] = mine[name], k
>     dcp.load(state, checkpoint_id=folder)
>     for saved, (p, k) in places.items():
>         optimizer.state[p][k] = state[saved]
>     groups, more = pickle.loads(state["more"])
>     for g, saved in zip(optimizer.param_groups, groups):
>         g.update(saved)
>     optimizer.load_state_dict(optimizer.state_dict())  # on the devices that it wants it on
>     return more
>
>
> class Measured(TorchDispatchMode):
>     """Counts what this process sends in a step, by operator (of a sum over n processes 2 (n - 1) / n of its bytes, of a gathering or
>     a scattered sum half of that), and the most bytes of tensors at once."""
>     times = {"allreduce": 2, "all_reduce": 2, "allgather": 1, "_allgather_base": 1, "all_gather_into_tensor": 1, "reduce_scatter": 1,
>              "_reduce_scatter_base": 1, "reduce_scatter_tensor": 1, "alltoall_base": 1, "all_to_all_single": 1}
>     second = "_reduce_scatter_base", "alltoall_base"  # what is sent is their second argument
>     gloo = torch.ops.aten.split.Tensor, torch.ops.aten.copy_.default  # of tensors of gloo's own, which other backends do not need
>
>     def __init__(self, tensors):
>         super().__init__()
>         self.sent, self.held, self.now, self.most = {}, {}, 0, 0
>         self.follow(tensors)
>
>     def __enter__(self):
>         self.resize = torch.UntypedStorage.resize_
>
>         def resize(storage, size):  # by which fully_shard() frees what it gathered
>             self.resize(storage, size)
>             self.note(storage)
>         torch.UntypedStorage.resize_ = resize
>         return super().__enter__()
>
>     def __exit__(self, *args):
>         torch.UntypedStorage.resize_ = self.resize
>         return super().__exit__(*args)
>
>     def note(self, storage):
>         key, size = storage._cdata, storage.nbytes()
>         if key not in self.held:
>             weakref.finalize(storage, self.forget, key)
>         self.now += size - self.held.get(key, 0)
>         self.held[key], self.most = size, max(self.most, self.now)
>
>     def forget(self, key):
>         self.now -= self.held.pop(key, 0)
>
>     def follow(self, tensors):
>         for x in tree_leaves(tensors):
>             if isinstance(x, torch.Tensor) and not x.is_meta and x.layout == torch.strided:
>                 self.note((x.to_local() if isinstance(x, DTensor) else x).untyped_storage())
>
>     def __torch_dispatch__(self, func, types, args=(), kwargs=None):
>         if DTensor in types:
>             return NotImplemented  # what it is made of comes by
>         known = func not in self.gloo
>         self.follow((args, kwargs) if known else ())
>         out = func(*args, **(kwargs or {}))
>         self.follow(out if known else ())
>         space, _, name = func._schema.name.partition("::")
>         if space in ("c10d", "_c10d_functional"):
>             self.count(name.rstrip("_"), args, out)
>         return out
>
>     def count(self, name, args, out):
>         groups = [a if isinstance(a, str) else dist.ProcessGroup.unbox(a).group_name for a in args
>                   if isinstance(a, str) and a not in ("sum", "avg", "max") or isinstance(a, torch.ScriptObject) and "ProcessGroup" in str(a._type())]
>         n = dist.distributed_c10d._resolve_process_group(groups[0]).size() if groups else dist.get_world_size()
>         what = out if name == "all_gather_into_tensor" else args[name in self.second]
>         size = sum(x.nbytes for x in tree_leaves(what) if isinstance(x, torch.Tensor))
>         if name == "send" or name in self.times:
>             self.sent[name] = self.sent.get(name, 0) + size * (1 if name == "send" else self.times[name] * (n - 1) / n)
>
>     def tell(self, mesh):
>         """Print planned and measured bytes: those that all processes send, and the most on one process."""
>         cuda, every = mesh.device_type == "cuda", [None] * dist.get_world_size()
>         dist.all_gather_object(every, (sum(self.sent.values()), torch.cuda.max_memory_allocated() if cuda else self.most))
>         if dist.get_rank() == 0:
>             beside = f"; on a GPU {PLANNED['memory']:.0f}, with its workspaces" if PLANNED["memory"] != PLANNED["tensors"] and not cuda else ""
>             for what, found, planned, more in (("sent by all processes", sum(s for s, _ in every), PLANNED["sent"], ""),
>                                                ("allocated, at most" if cuda else "tensors at once, at most", max(m for _, m in every),
>                                                 PLANNED["memory" if cuda else "tensors"], beside)):
>                 print(f"bytes {what}: measured {found:.0f}, planned {planned:.0f} ({found / planned if planned else 1:.3f}){more}")
>
>
> def own(x, mesh):
>     """Of a batch, the samples of this rank's replica."""
>     return x.to(mesh.device_type)
>
>
> def agreed(make, what):
>     """What a function of the user's returns; if it fails on some rank, all end, and one line says why."""
>     made, why, every = None, None, [None] * dist.get_world_size()
>     try:
>         made = make()
>     except Exception as failed:
>         first = (str(failed).splitlines() or [""])[0]
>         code, line = [(f.f_code, n) for f, n in traceback.walk_tb(failed.__traceback__)][-1]
>         why = f"{what}: {type(failed).__name__}: {first} ({code.co_filename}:{line})"
>     dist.all_gather_object(every, why)
>     ranks = [r for r, other in enumerate(every) if other]
>     if ranks:
>         where = "" if len(ranks) == len(every) else f"rank {ranks[0]}: "
>         raise Refused(where + every[ranks[0]])
>     return made
>
>
> def fails_first():
>     """Is this the first rank that fails? The others fail because it has ended."""
>     try:
>         store = dist.TCPStore(os.environ["MASTER_ADDR"], int(os.environ["MASTER_PORT"]), is_master=False, timeout=timedelta(seconds=10))
>         return store.add("hypar/failed", 1) == 1
>     except (KeyError, ValueError, RuntimeError):  # rank 0 has the store, and may have ended
>         return "MASTER_ADDR" not in os.environ
>
>
> def tell_failure(kind, why, trace):
>     """One line in place of the tracebacks of all ranks: what all refuse, or what the first rank that failed says."""
>     rank, first = os.environ.get("RANK", "0"), (str(why).splitlines() or [""])[0]
>     if os.environ.get("HYPAR_DEBUG") or not issubclass(kind, Exception):
>         sys.__excepthook__(kind, why, trace)
>     elif issubclass(kind, Refused):
>         sys.stderr.write(f"{sys.argv[0]}: {why}\n" * (rank == "0"))
>     elif fails_first():
>         lines = [(f.f_code.co_filename, n) for f, n in traceback.walk_tb(trace)]
>         file, line = ([x for x in lines if not x[0].startswith((os.path.dirname(torch.__file__), "<"))] or lines)[-1]
>         print(f"{sys.argv[0]}: rank {rank}: {kind.__name__}: {first} ({file}:{line}; HYPAR_DEBUG=1 in the environment shows all)", file=sys.stderr, flush=True)
>
>
> def this_device(mesh):
>     return torch.device(mesh.device_type, *([torch.cuda.current_device()] if mesh.device_type == "cuda" else []))
>
>
> def device_mesh():
>     """The mesh over all ranks of torchrun. What fails from now on is told in one line."""
>     sys.excepthook = tell_failure
>     planned = math.prod(MESH.values())
>     started = dist.get_world_size() if dist.is_initialized() else int(os.environ.get("WORLD_SIZE", 1))
>     by_torchrun = dist.is_initialized() or "WORLD_SIZE" in os.environ
>     if planned != started:
>         raise Refused(f"this plan is for {planned} processes, " + (f"torchrun started {started}" if by_torchrun else "torchrun starts them"))
>     if not by_torchrun:
>         dist.init_process_group(store=dist.HashStore(), rank=0, world_size=1)
>     kind = "cuda" if torch.cuda.is_available() else "cpu"
>     if kind == "cuda":
>         torch.cuda.set_device(int(os.environ.get("LOCAL_RANK", 0)))
>     mesh = init_device_mesh(kind, tuple(MESH.values()), mesh_dim_names=tuple(MESH))
>     sys.excepthook = tell_failure  # init_process_group() puts one of its own before it
>     return mesh
>
>
> def main(function, steps=5, measure=False):
>     """Train what the function returns; a loop over your data goes here. measure: the last step, beside the plan."""
>     mesh = device_mesh()
>     torch.manual_seed(0)  # the same weights everywhere
>     sys.path.insert(0, os.getcwd())
>     module, _, name = function.partition(":")
>     try:
>         make = getattr(importlib.import_module(module), name)
>     except (ImportError, AttributeError, ValueError) as why:
>         raise Refused(f"{function}: {type(why).__name__}: {why}") from why
>     made = agreed(make, function)
>     if not isinstance(made, tuple) or len(made) not in (2, 3):
>         raise Refused(f"{function}: returns {type(made).__name__}, expected a model, or a function that makes it, and its arguments")
>     model, given, target = (*made, None)[:3]
>     model = model if isinstance(model, nn.Module) else empty(model)
>     args, kwargs = ((), given) if isinstance(given, dict) else (given if isinstance(given, tuple) else (given,), {})
>     args, kwargs, target = tree_map_only(torch.Tensor, lambda x: own(x, mesh), (args, kwargs, target))
>     with suppress(TypeError):  # which check_batch() tells
>         bound = inspect.signature(model.forward).bind(*args, **kwargs)
>         args, kwargs = bound.args, bound.kwargs
>     modules, step = parallelize(model, mesh, *args, target=target, **kwargs)
>     params = [*modules.parameters()] or [torch.zeros(())]  # a stage may have none, an optimizer wants some
>     optimizer = torch.optim.SGD(params, lr=0.01)
>     for i in range(int(steps)):
>         last = measure and i + 1 == int(steps)
>         if last:
>             counts = Measured([modules.state_dict(), args, kwargs, target, [*optimizer.state.values()]])
>             if mesh.device_type == "cuda":
>                 torch.cuda.reset_peak_memory_stats()
>         with counts if last else nullcontext():
>             loss = step(*args, target=target, **kwargs)
>             optimizer.step()
>             optimizer.zero_grad()
>         if dist.get_rank() == 0:
>             print(f"step {i + 1}: loss {loss.item():.7g}")
>         if last:
>             counts.tell(mesh)
>     dist.destroy_process_group()
>
>
> if __name__ == "__main__":
>     words = [word for word in sys.argv[1:] if word != "--measure"]
>     asked = {"-h", "--help"} & {*words}
>     if asked or len(words) not in (1, 2) or not all(steps.isdecimal() for steps in words[1:]):
>         if os.environ.get("RANK", "0") == "0":
>             print(__doc__)
>         raise SystemExit(0 if asked else 2)
>     try:
>         main(*words, measure="--measure" in sys.argv)
>     except Refused as why:
>         if dist.is_initialized():  # when one rank has ended, torchrun ends the others
>             dist.barrier()
>         raise SystemExit(f"{sys.argv[0]}: {why}" if os.environ.get("RANK", "0") == "0" else 1) from None

Replicas that divide parameters, and layers that are computed again.
$ p() { printf '{"format": "hypar-plan/1", "model": "%s/tests/cli/gpt2-torch.json", "batch": 8, "machine": "full:%s", %s}\n' "$PWD" $1 "$2"; }; p 4 '"freeze": "transformer.w?e.*", "clip": 1, "optimizer": "adamw", "precision": "bf16", "layout": {"data": 4, "micro_batches": 2, "shard": "parameters", "recompute": "full"}' > $TMP/zero.json; hypar export $TMP/zero.json --to torch | sed '/^def key/,/^def replicas/d'
> hypar: note: PyTorch keeps the gradients of bf16 parameters in fp32, the plan
>        counts 2 bytes for each: expected --gradient-precision fp32, or a plan
>        made with --for torch
> hypar: note: the script runs operator by operator, the plan counts the memory of
>        kernels that are 'compiled', which may be less: expected --as fsdp, or a
>        plan made with --for torch
> """GPT2LMHeadModel, batch 8, on 4 devices. Written by hypar; PyTorch alone is needed.
>
>     torchrun --nproc-per-node 4 FILE package.module:function [STEPS] [--measure]
>
> trains what the function returns: a model, or a function that makes one, its arguments (a tensor, a tuple or a dict
> of keywords), and a target where the model does not return its loss. A function that makes the model leaves its parameters
> without memory; each rank then fills its own shards. --measure: bytes sent and memory of the last step, beside the plan."""
> from contextlib import contextmanager, nullcontext, suppress
> from datetime import timedelta
> from fnmatch import fnmatchcase
> from functools import partial
> import copy
> import importlib
> import inspect
> import math
> import os
> import pickle
> import re
> import sys
> import traceback
> import weakref
> import zlib
>
> import torch
> import torch.distributed as dist
> import torch.distributed.checkpoint as dcp
> from torch import nn
> from torch.distributed.device_mesh import init_device_mesh
> from torch.distributed.fsdp import MixedPrecisionPolicy, fully_shard
> from torch.distributed.tensor import DTensor, distribute_tensor
> from torch.utils.checkpoint import checkpoint
> from torch.utils._python_dispatch import TorchDispatchMode
> from torch.utils._pytree import tree_leaves, tree_map_only
>
> MESH = {"data": 4}
> MICRO_BATCHES = 2
> PLANNED = {"sent": 995760, "memory": 156936, "tensors": 156936, "saved": 6268}  # bytes of a step: of all processes; the most of one, on a GPU; on the CPU, and what is saved of that
> FROZEN = ["transformer.w?e.*"]  # parameters that are not trained
> RECOMPUTED = ["transformer.h.*"]  # modules that are computed again in the backward half
> UNITS = ["transformer.h.*"]  # modules that are gathered, and summed, together
>
>
> class Refused(ValueError):
>     """The model, the batch or the processes are not those of the plan, which all ranks find."""
>
>
>     """Replicas divide parameters, gradients and the optimizer's state: ZeRO-3."""
>     for module in [*model.modules()]:
>         for k, p in [*module.named_parameters(recurse=False)]:
>             if p.dim() == 0:  # fully_shard() divides along a dimension
>                 module.register_parameter(k, nn.Parameter(p.detach().view(1), p.requires_grad))
>     units = [m for name, m in model.named_modules() if key(UNITS, name) and any(True for _ in m.parameters())]
>     for module in [*units, root]:
>         fully_shard(module, mesh=mesh, reshard_after_forward=True, mp_policy=MixedPrecisionPolicy(torch.bfloat16, torch.bfloat16))
>
>
> class Writes(TorchDispatchMode):
>     """Notes what a constructor writes to parameters on meta, which begin() then writes to tensors with memory."""
>     whole = "normal_", "uniform_", "fill_", "zero_", "copy_"  # values from before them do not count
>
>     def __init__(self):
>         super().__init__()
>         self.params, self.unset = {}, set()  # by memory: parameters; tensors to which nothing was written
>
>     def __torch_dispatch__(self, func, types, args=(), kwargs=None):
>         kwargs, name = kwargs or {}, func._schema.name.partition("::")[2]
>         tensors = [x for x in args if isinstance(x, torch.Tensor)]
>         if name.endswith("_") and tensors and tensors[0] is args[0]:
>             self.note(func, name, *args, **kwargs)
>         out = func(*args, **kwargs)
>         if isinstance(out, torch.Tensor) and memory(out) not in map(memory, tensors):
>             (self.unset.add if "empty" in name else self.unset.discard)(memory(out))
>         return out
>
>     def note(self, func, name, x, *args, generator=None, **kwargs):
>         self.unset.discard(memory(x))
>         if memory(x) not in self.params:
>             return
>         shape, stride, _, calls = self.params[memory(x)].written
>         if name in self.whole and (x.shape, x.stride()) == (shape, stride):
>             calls.clear()
>         known = not any(isinstance(y, torch.Tensor) and y.is_meta for y in args)
>         args = [y.clone() if isinstance(y, torch.Tensor) and known else y for y in args]
>         calls.append((func, (x.shape, x.stride(), x.storage_offset()), args, kwargs) if known else None)
>
>     def noted(self, function):
>         """A function of nn.init that leaves tensors on meta alone: note() keeps the call."""
>         def call(x, *args, **kwargs):
>             if not x.is_meta:
>                 return function(x, *args, **kwargs)
>             self.note(function, "copy_", x, *args, **kwargs)
>             return x
>         return call
>
>     def on_meta(self, p):
>         """The parameter on meta; a constant, as torch.ones() makes, is written to it."""
>         flat, at = p.detach().flatten(), memory(p)
>         p = p if p.is_meta else nn.Parameter(p.to("meta"), p.requires_grad)
>         calls = []
>         if not flat.is_meta and len(flat) and at not in self.unset:
>             constant = torch.ops.aten.fill_.Scalar, (p.shape, p.stride(), 0), [flat[0].item()], {}
>             calls.append(constant if (flat == flat[0]).all() else None)
>         p.written = p.shape, p.stride(), p.dtype, calls
>         self.params[memory(p)] = p  # which stays, so that no other tensor gets its memory
>         return p
>
>
> def memory(x):
>     return x.untyped_storage()._cdata
>
>
> def empty(make):
>     """The model that a function makes, its parameters on meta: they take no memory. Buffers have their values."""
>     register, writes = nn.Module.register_parameter, Writes()
>     idle = {name: getattr(nn.init, name) for name in ("_no_grad_trunc_normal_", "orthogonal_", "dirac_", "sparse_", "eye_")}
>     for name, function in idle.items():
>         setattr(nn.init, name, writes.noted(function))
>     nn.Module.register_parameter = lambda module, name, p: register(
>         module, name, p if p is None or hasattr(p, "written") else writes.on_meta(p))
>     try:
>         with writes:
>             return make()
>     finally:
>         nn.Module.register_parameter = register
>         for name, function in idle.items():
>             setattr(nn.init, name, function)
>
>
> def without_memory(model):
>     """A copy of a model whose parameters are on meta, None if they are not; its own get addresses that nothing is
>     written to, for which the host has no memory yet."""
>     if not any(p.is_meta for p in model.parameters()):
>         return None
>     blank, made = copy.deepcopy(model), {}
>     for p, other in zip(model.parameters(), blank.parameters()):
>         other.written = getattr(p, "written", None)
>     for module in model.modules():
>         for name, p in [*module.named_parameters(recurse=False)]:
>             if p.is_meta and p not in made:  # tied parameters stay tied
>                 made[p] = nn.Parameter(torch.empty_like(p, device="cpu"), p.requires_grad)
>             module.register_parameter(name, made.get(p, p))
>     return blank
>
>
> def fill(modules, blank, state):
>     """Give this rank's shards the values of `state`, or those that modules begin with, one module after another."""
>     mine = [stage.module for stage in modules] if isinstance(modules, nn.ModuleList) else [modules]
>     shards = {name: p for m in mine for name, p in m.named_parameters(remove_duplicate=False)}
>     first, begun = {}, (None, None)  # tied parameters begin in the first module that has them
>     for path, module in blank.named_modules() if blank else ():
>         for k, p in module.named_parameters(recurse=False):
>             if p.is_meta:
>                 first.setdefault(p, (path, k))
>     begins = {} if state else {path: begin(blank, path) for path, _ in first.values()}
>     for name, p in blank.named_parameters(remove_duplicate=False) if blank else ():
>         if p in first and name in shards:
>             path, k = first[p]
>             if not state and begun[0] != path:
>                 begun = path, begins[path]()
>             put(shards[name], state[name] if state else begun[1][k])
>
>
> def begin(model, path):
>     """A function that makes the values that a module begins with, the same on all ranks: those of its constructor, if
>     empty() made the model, else those of reset_parameters() and, of Hugging Face, of _init_weights()."""
>     module, above = model.get_submodule(path), path
>     params = {k: p for k, p in module.named_parameters(recurse=False) if p.is_meta}
>     again = {k: p.written for k, p in params.items() if p.written and p.written[3]}
>     while above and not hasattr(model.get_submodule(above), "_init_weights"):
>         above = above.rpartition(".")[0]
>     init = getattr(model.get_submodule(above), "_init_weights", None)
>     for k in params:
>         if None in again[k][3] if k in again else not init and not hasattr(module, "reset_parameters"):
>             raise Refused(f"parameter '{path + '.' if path else ''}{k}': its values cannot be made shard by shard: return "
>                           "the model itself in place of a function that makes it, or pass `state` to parallelize()")
>
>     def values():
>         made = {k: torch.empty_like(p, device="cpu") for k, p in params.items()}
>         with torch.random.fork_rng(devices=[]), torch.no_grad():
>             torch.manual_seed(zlib.crc32(path.encode()))
>             if again.keys() != params.keys():
>                 like = copy.deepcopy(module)
>                 for k in made:
>                     like.register_parameter(k, nn.Parameter(made[k], params[k].requires_grad))
>                 getattr(like, "reset_parameters", lambda: None)()
>                 if init:
>                     init(like)
>             for k, (shape, stride, dtype, calls) in again.items():
>                 made[k] = torch.empty_strided(shape, stride, dtype=dtype)
>                 for func, view, args, kwargs in calls:
>                     func(made[k].as_strided(*view), *args, **kwargs)
>         return made
>     return values
>
>
> def put(p, value):
>     """Copy this rank's shard of a value."""
>     value = value.to(p.device).view(p.shape)
>     if isinstance(p, DTensor):
>         value = distribute_tensor(value, p.device_mesh, p.placements, src_data_rank=None).to_local()
>         p = p.to_local()
>     p.detach().copy_(value)
>
>
> def parallelize(model, mesh, *args, target=None, state=None, **kwargs):
>     """The modules of this rank, and a function of a batch of this replica that does forward and backward and
>     returns the mean loss of all. args, kwargs, target: such a batch; state: the values of parameters that are on meta."""
>     names, blank = inspect.signature(model.forward), without_memory(model)
>     for name, b in model.named_buffers():
>         if b.is_meta:
>             raise Refused(f"buffer '{name}' is on meta and has no values: expected a function that makes the model, as in 'return lambda: Model(), inputs'")
>         b.data = b.data.to(mesh.device_type)
>     check(model, RECOMPUTED, UNITS)
>     for module in model.modules():  # of Hugging Face: training reads no cache of keys and values
>         if getattr(getattr(module, "config", None), "use_cache", False):
>             module.config.use_cache = False
>     for name, module in model.named_modules():
>         if key(RECOMPUTED, name) and type(module).forward is nn.Module.forward:
>             raise Refused(f"module '{name}' is a list whose modules are called by others: it cannot be computed again")
>     for module in model.modules():
>         if any(True for _ in module.parameters(recurse=False)):
>             module.register_forward_pre_hook(narrow, with_kwargs=True)
>     for name, p in model.named_parameters():
>         if any(fnmatchcase(name, pattern) for pattern in FROZEN):
>             p.requires_grad_(False)
>     recompute(model)
>     replicas(model, mesh["data"], model)
>     fill(model, blank, state)
>
>     @one_precision()
>     def step(*args, target=None, **kwargs):
>         total = 0
>         for i in range(MICRO_BATCHES):
>             a, k, t = tree_map_only(torch.Tensor, lambda x: x.chunk(MICRO_BATCHES)[i], (args, kwargs, target))
>             loss = loss_of(model(*a, **k), t) / MICRO_BATCHES
>             loss.backward()
>             loss = loss.detach()
>             total = total + loss.to(torch.promote_types(loss.dtype, torch.float32))  # a model may compute its own in bf16
>         total = total / mesh.size()
>         dist.all_reduce(total)
>         return total
>
>     return model, step
>
>
> def clip(modules, mesh, most=1):
>     """Scale the gradients of all ranks to a norm of at most `most`; returns the norm before."""
>     params = [*modules.parameters()]
>     norm = nn.utils.get_total_norm([p.grad for p in params if p.grad is not None])
>     norm = norm.full_tensor() if isinstance(norm, DTensor) else norm.to(mesh.device_type)
>     nn.utils.clip_grads_with_norm_(params, most, norm)
>     return norm
>
>
> def named(modules):
>     """Parameters and buffers of this rank, by the model's own names: a plan of it has no others."""
>     return modules.state_dict(keep_vars=True)
>
>
> def save(folder, modules, optimizer, **more):
>     """Write a checkpoint, from which every plan of the model can go on; `more`: what else load() returns."""
>     groups = [{k: x for k, x in g.items() if k != "params"} for g in optimizer.param_groups]
>     state = {"more": pickle.dumps((groups, more))}
>     for name, p in named(modules).items():
>         state[f"model.{name}"] = p.detach()
>         state.update({f"optimizer.{name}.{k}": x for k, x in optimizer.state.get(p, {}).items()})
>     dcp.save(state, checkpoint_id=folder)
>
>
> def load(folder, modules, optimizer):
>     """Go on from a checkpoint of this plan or of another; returns what else was saved."""
>     if not os.path.exists(os.path.join(folder, ".metadata")):
>         raise Refused(f"load: '{folder}' is no folder that save() wrote")
>     mine, places = named(modules), {}
>     state = {"more": None, **{f"model.{name}": p.detach() for name, p in mine.items()}}
>     for saved, what in dcp.FileSystemReader(folder).read_metadata().state_dict_metadata.items():
>         kind, _, rest = saved.partition(".")
>         name, _, k = rest.rpartition(".")
>         if kind == "optimizer" and name in mine:
>             p, size = mine[name].detach(), getattr(what, "size", None)
>             state[saved] = None if size is None else torch.zeros(
>                 size, dtype=what.properties.dtype) if size != p.shape else torch.zeros_like(p, dtype=what.properties.dtype)
>             places[saved] = mine[name], k
>     dcp.load(state, checkpoint_id=folder)
>     for saved, (p, k) in places.items():
>         optimizer.state[p][k] = state[saved]
>     groups, more = pickle.loads(state["more"])
>     for g, saved in zip(optimizer.param_groups, groups):
>         g.update(saved)
>     optimizer.load_state_dict(optimizer.state_dict())  # on the devices that it wants it on
>     return more
>
>
> class Measured(TorchDispatchMode):
>     """Counts what this process sends in a step, by operator (of a sum over n processes 2 (n - 1) / n of its bytes, of a gathering or
>     a scattered sum half of that), and the most bytes of tensors at once."""
>     times = {"allreduce": 2, "all_reduce": 2, "allgather": 1, "_allgather_base": 1, "all_gather_into_tensor": 1, "reduce_scatter": 1,
>              "_reduce_scatter_base": 1, "reduce_scatter_tensor": 1, "alltoall_base": 1, "all_to_all_single": 1}
>     second = "_reduce_scatter_base", "alltoall_base"  # what is sent is their second argument
>     gloo = torch.ops.aten.split.Tensor, torch.ops.aten.copy_.default  # of tensors of gloo's own, which other backends do not need
>
>     def __init__(self, tensors):
>         super().__init__()
>         self.sent, self.held, self.now, self.most = {}, {}, 0, 0
>         self.follow(tensors)
>
>     def __enter__(self):
>         self.resize = torch.UntypedStorage.resize_
>
>         def resize(storage, size):  # by which fully_shard() frees what it gathered
>             self.resize(storage, size)
>             self.note(storage)
>         torch.UntypedStorage.resize_ = resize
>         return super().__enter__()
>
>     def __exit__(self, *args):
>         torch.UntypedStorage.resize_ = self.resize
>         return super().__exit__(*args)
>
>     def note(self, storage):
>         key, size = storage._cdata, storage.nbytes()
>         if key not in self.held:
>             weakref.finalize(storage, self.forget, key)
>         self.now += size - self.held.get(key, 0)
>         self.held[key], self.most = size, max(self.most, self.now)
>
>     def forget(self, key):
>         self.now -= self.held.pop(key, 0)
>
>     def follow(self, tensors):
>         for x in tree_leaves(tensors):
>             if isinstance(x, torch.Tensor) and not x.is_meta and x.layout == torch.strided:
>                 self.note((x.to_local() if isinstance(x, DTensor) else x).untyped_storage())
>
>     def __torch_dispatch__(self, func, types, args=(), kwargs=None):
>         if DTensor in types:
>             return NotImplemented  # what it is made of comes by
>         known = func not in self.gloo
>         self.follow((args, kwargs) if known else ())
>         out = func(*args, **(kwargs or {}))
>         self.follow(out if known else ())
>         space, _, name = func._schema.name.partition("::")
>         if space in ("c10d", "_c10d_functional"):
>             self.count(name.rstrip("_"), args, out)
>         return out
>
>     def count(self, name, args, out):
>         groups = [a if isinstance(a, str) else dist.ProcessGroup.unbox(a).group_name for a in args
>                   if isinstance(a, str) and a not in ("sum", "avg", "max") or isinstance(a, torch.ScriptObject) and "ProcessGroup" in str(a._type())]
>         n = dist.distributed_c10d._resolve_process_group(groups[0]).size() if groups else dist.get_world_size()
>         what = out if name == "all_gather_into_tensor" else args[name in self.second]
>         size = sum(x.nbytes for x in tree_leaves(what) if isinstance(x, torch.Tensor))
>         if name == "send" or name in self.times:
>             self.sent[name] = self.sent.get(name, 0) + size * (1 if name == "send" else self.times[name] * (n - 1) / n)
>
>     def tell(self, mesh):
>         """Print planned and measured bytes: those that all processes send, and the most on one process."""
>         cuda, every = mesh.device_type == "cuda", [None] * dist.get_world_size()
>         dist.all_gather_object(every, (sum(self.sent.values()), torch.cuda.max_memory_allocated() if cuda else self.most))
>         if dist.get_rank() == 0:
>             beside = f"; on a GPU {PLANNED['memory']:.0f}, with its workspaces" if PLANNED["memory"] != PLANNED["tensors"] and not cuda else ""
>             for what, found, planned, more in (("sent by all processes", sum(s for s, _ in every), PLANNED["sent"], ""),
>                                                ("allocated, at most" if cuda else "tensors at once, at most", max(m for _, m in every),
>                                                 PLANNED["memory" if cuda else "tensors"], beside)):
>                 print(f"bytes {what}: measured {found:.0f}, planned {planned:.0f} ({found / planned if planned else 1:.3f}){more}")
>
>
> def own(x, mesh):
>     """Of a batch, the samples of this rank's replica."""
>     data = mesh["data"]
>     if len(x) % data.size():  # else means of unequal parts would be averaged
>         raise Refused(f"{len(x)} samples, expected a multiple of {data.size()}")
>     mine = x.chunk(data.size())[data.get_local_rank()]
>     return mine.to(mesh.device_type, copy=True)  # the whole batch need not stay
>
>
> def agreed(make, what):
>     """What a function of the user's returns; if it fails on some rank, all end, and one line says why."""
>     made, why, every = None, None, [None] * dist.get_world_size()
>     try:
>         made = make()
>     except Exception as failed:
>         first = (str(failed).splitlines() or [""])[0]
>         code, line = [(f.f_code, n) for f, n in traceback.walk_tb(failed.__traceback__)][-1]
>         why = f"{what}: {type(failed).__name__}: {first} ({code.co_filename}:{line})"
>     dist.all_gather_object(every, why)
>     ranks = [r for r, other in enumerate(every) if other]
>     if ranks:
>         where = "" if len(ranks) == len(every) else f"rank {ranks[0]}: "
>         raise Refused(where + every[ranks[0]])
>     return made
>
>
> def fails_first():
>     """Is this the first rank that fails? The others fail because it has ended."""
>     try:
>         store = dist.TCPStore(os.environ["MASTER_ADDR"], int(os.environ["MASTER_PORT"]), is_master=False, timeout=timedelta(seconds=10))
>         return store.add("hypar/failed", 1) == 1
>     except (KeyError, ValueError, RuntimeError):  # rank 0 has the store, and may have ended
>         return "MASTER_ADDR" not in os.environ
>
>
> def tell_failure(kind, why, trace):
>     """One line in place of the tracebacks of all ranks: what all refuse, or what the first rank that failed says."""
>     rank, first = os.environ.get("RANK", "0"), (str(why).splitlines() or [""])[0]
>     if os.environ.get("HYPAR_DEBUG") or not issubclass(kind, Exception):
>         sys.__excepthook__(kind, why, trace)
>     elif issubclass(kind, Refused):
>         sys.stderr.write(f"{sys.argv[0]}: {why}\n" * (rank == "0"))
>     elif fails_first():
>         lines = [(f.f_code.co_filename, n) for f, n in traceback.walk_tb(trace)]
>         file, line = ([x for x in lines if not x[0].startswith((os.path.dirname(torch.__file__), "<"))] or lines)[-1]
>         print(f"{sys.argv[0]}: rank {rank}: {kind.__name__}: {first} ({file}:{line}; HYPAR_DEBUG=1 in the environment shows all)", file=sys.stderr, flush=True)
>
>
> def this_device(mesh):
>     return torch.device(mesh.device_type, *([torch.cuda.current_device()] if mesh.device_type == "cuda" else []))
>
>
> def device_mesh():
>     """The mesh over all ranks of torchrun. What fails from now on is told in one line."""
>     sys.excepthook = tell_failure
>     planned = math.prod(MESH.values())
>     started = dist.get_world_size() if dist.is_initialized() else int(os.environ.get("WORLD_SIZE", 1))
>     by_torchrun = dist.is_initialized() or "WORLD_SIZE" in os.environ
>     if planned != started:
>         raise Refused(f"this plan is for {planned} processes, " + (f"torchrun started {started}" if by_torchrun else "torchrun starts them"))
>     if not by_torchrun:
>         dist.init_process_group(store=dist.HashStore(), rank=0, world_size=1)
>     kind = "cuda" if torch.cuda.is_available() else "cpu"
>     if kind == "cuda":
>         torch.cuda.set_device(int(os.environ.get("LOCAL_RANK", 0)))
>     mesh = init_device_mesh(kind, tuple(MESH.values()), mesh_dim_names=tuple(MESH))
>     sys.excepthook = tell_failure  # init_process_group() puts one of its own before it
>     return mesh
>
>
> def main(function, steps=5, measure=False):
>     """Train what the function returns; a loop over your data goes here. measure: the last step, beside the plan."""
>     mesh = device_mesh()
>     torch.manual_seed(0)  # the same weights everywhere
>     sys.path.insert(0, os.getcwd())
>     module, _, name = function.partition(":")
>     try:
>         make = getattr(importlib.import_module(module), name)
>     except (ImportError, AttributeError, ValueError) as why:
>         raise Refused(f"{function}: {type(why).__name__}: {why}") from why
>     made = agreed(make, function)
>     if not isinstance(made, tuple) or len(made) not in (2, 3):
>         raise Refused(f"{function}: returns {type(made).__name__}, expected a model, or a function that makes it, and its arguments")
>     model, given, target = (*made, None)[:3]
>     model = model if isinstance(model, nn.Module) else empty(model)
>     args, kwargs = ((), given) if isinstance(given, dict) else (given if isinstance(given, tuple) else (given,), {})
>     args, kwargs, target = tree_map_only(torch.Tensor, lambda x: own(x, mesh), (args, kwargs, target))
>     with suppress(TypeError):  # which check_batch() tells
>         bound = inspect.signature(model.forward).bind(*args, **kwargs)
>         args, kwargs = bound.args, bound.kwargs
>     modules, step = parallelize(model, mesh, *args, target=target, **kwargs)
>     params = [*modules.parameters()] or [torch.zeros(())]  # a stage may have none, an optimizer wants some
>     optimizer = torch.optim.AdamW(params, lr=0.001, fused=True)
>     for i in range(int(steps)):
>         last = measure and i + 1 == int(steps)
>         if last:
>             counts = Measured([modules.state_dict(), args, kwargs, target, [*optimizer.state.values()]])
>             if mesh.device_type == "cuda":
>                 torch.cuda.reset_peak_memory_stats()
>         with counts if last else nullcontext():
>             loss = step(*args, target=target, **kwargs)
>             clip(modules, mesh)
>             optimizer.step()
>             optimizer.zero_grad()
>         if dist.get_rank() == 0:
>             print(f"step {i + 1}: loss {loss.item():.7g}")
>         if last:
>             counts.tell(mesh)
>     dist.destroy_process_group()
>
>
> if __name__ == "__main__":
>     words = [word for word in sys.argv[1:] if word != "--measure"]
>     asked = {"-h", "--help"} & {*words}
>     if asked or len(words) not in (1, 2) or not all(steps.isdecimal() for steps in words[1:]):
>         if os.environ.get("RANK", "0") == "0":
>             print(__doc__)
>         raise SystemExit(0 if asked else 2)
>     try:
>         main(*words, measure="--measure" in sys.argv)
>     except Refused as why:
>         if dist.is_initialized():  # when one rank has ended, torchrun ends the others
>             dist.barrier()
>         raise SystemExit(f"{sys.argv[0]}: {why}" if os.environ.get("RANK", "0") == "0" else 1) from None

One stage and one device is no pipeline; it is a script all the same.
$ p() { printf '{"format": "hypar-plan/1", "model": "%s/tests/cli/gpt2-torch.json", "batch": 8, "machine": "full:%s", %s}\n' "$PWD" $1 "$2"; }; p 1 '"ops": [{"name": "*", "split": {}}]' > $TMP/one.json; hypar export $TMP/one.json --to torch | sed -n '/^MESH/,/^def/p;/^def parallelize/,/^def own/p'
> hypar: note: the script runs operator by operator, the plan counts the memory of
>        kernels that are 'compiled', which may be less: expected --as fsdp, or a
>        plan made with --for torch
> MESH = {"data": 1}
> MICRO_BATCHES = 1
> PLANNED = {"sent": 0, "memory": 937476, "tensors": 937476, "saved": 618404}  # bytes of a step: of all processes; the most of one, on a GPU; on the CPU, and what is saved of that
>
>
> class Refused(ValueError):
>     """The model, the batch or the processes are not those of the plan, which all ranks find."""
>
>
> def loss_of(output, target):
> def parallelize(model, mesh, *args, target=None, state=None, **kwargs):
>     """The modules of this rank, and a function of a batch of this replica that does forward and backward and
>     returns the mean loss of all. args, kwargs, target: such a batch; state: the values of parameters that are on meta."""
>     names, blank = inspect.signature(model.forward), without_memory(model)
>     for name, b in model.named_buffers():
>         if b.is_meta:
>             raise Refused(f"buffer '{name}' is on meta and has no values: expected a function that makes the model, as in 'return lambda: Model(), inputs'")
>         b.data = b.data.to(mesh.device_type)
>     for module in model.modules():  # of Hugging Face: training reads no cache of keys and values
>         if getattr(getattr(module, "config", None), "use_cache", False):
>             module.config.use_cache = False
>     model.to(mesh.device_type)
>     fill(model, blank, state)
>
>     def step(*args, target=None, **kwargs):
>         total = 0
>         for i in range(MICRO_BATCHES):
>             a, k, t = tree_map_only(torch.Tensor, lambda x: x.chunk(MICRO_BATCHES)[i], (args, kwargs, target))
>             loss = loss_of(model(*a, **k), t) / MICRO_BATCHES
>             loss.backward()
>             loss = loss.detach()
>             total = total + loss.to(torch.promote_types(loss.dtype, torch.float32))  # a model may compute its own in bf16
>         total = total / mesh.size()
>         dist.all_reduce(total)
>         return total
>
>     return model, step
>
>
> def clip(modules, mesh, most=1):
>     """Scale the gradients of all ranks to a norm of at most `most`; returns the norm before."""
>     params = [*modules.parameters()]
>     norm = nn.utils.get_total_norm([p.grad for p in params if p.grad is not None])
>     norm = norm.full_tensor() if isinstance(norm, DTensor) else norm.to(mesh.device_type)
>     nn.utils.clip_grads_with_norm_(params, most, norm)
>     return norm
>
>
> def named(modules):
>     """Parameters and buffers of this rank, by the model's own names: a plan of it has no others."""
>     return modules.state_dict(keep_vars=True)
>
>
> def save(folder, modules, optimizer, **more):
>     """Write a checkpoint, from which every plan of the model can go on; `more`: what else load() returns."""
>     groups = [{k: x for k, x in g.items() if k != "params"} for g in optimizer.param_groups]
>     state = {"more": pickle.dumps((groups, more))}
>     for name, p in named(modules).items():
>         state[f"model.{name}"] = p.detach()
>         state.update({f"optimizer.{name}.{k}": x for k, x in optimizer.state.get(p, {}).items()})
>     dcp.save(state, checkpoint_id=folder)
>
>
> def load(folder, modules, optimizer):
>     """Go on from a checkpoint of this plan or of another; returns what else was saved."""
>     if not os.path.exists(os.path.join(folder, ".metadata")):
>         raise Refused(f"load: '{folder}' is no folder that save() wrote")
>     mine, places = named(modules), {}
>     state = {"more": None, **{f"model.{name}": p.detach() for name, p in mine.items()}}
>     for saved, what in dcp.FileSystemReader(folder).read_metadata().state_dict_metadata.items():
>         kind, _, rest = saved.partition(".")
>         name, _, k = rest.rpartition(".")
>         if kind == "optimizer" and name in mine:
>             p, size = mine[name].detach(), getattr(what, "size", None)
>             state[saved] = None if size is None else torch.zeros(
>                 size, dtype=what.properties.dtype) if size != p.shape else torch.zeros_like(p, dtype=what.properties.dtype)
>             places[saved] = mine[name], k
>     dcp.load(state, checkpoint_id=folder)
>     for saved, (p, k) in places.items():
>         optimizer.state[p][k] = state[saved]
>     groups, more = pickle.loads(state["more"])
>     for g, saved in zip(optimizer.param_groups, groups):
>         g.update(saved)
>     optimizer.load_state_dict(optimizer.state_dict())  # on the devices that it wants it on
>     return more
>
>
> class Measured(TorchDispatchMode):
>     """Counts what this process sends in a step, by operator (of a sum over n processes 2 (n - 1) / n of its bytes, of a gathering or
>     a scattered sum half of that), and the most bytes of tensors at once."""
>     times = {"allreduce": 2, "all_reduce": 2, "allgather": 1, "_allgather_base": 1, "all_gather_into_tensor": 1, "reduce_scatter": 1,
>              "_reduce_scatter_base": 1, "reduce_scatter_tensor": 1, "alltoall_base": 1, "all_to_all_single": 1}
>     second = "_reduce_scatter_base", "alltoall_base"  # what is sent is their second argument
>     gloo = torch.ops.aten.split.Tensor, torch.ops.aten.copy_.default  # of tensors of gloo's own, which other backends do not need
>
>     def __init__(self, tensors):
>         super().__init__()
>         self.sent, self.held, self.now, self.most = {}, {}, 0, 0
>         self.follow(tensors)
>
>     def __enter__(self):
>         self.resize = torch.UntypedStorage.resize_
>
>         def resize(storage, size):  # by which fully_shard() frees what it gathered
>             self.resize(storage, size)
>             self.note(storage)
>         torch.UntypedStorage.resize_ = resize
>         return super().__enter__()
>
>     def __exit__(self, *args):
>         torch.UntypedStorage.resize_ = self.resize
>         return super().__exit__(*args)
>
>     def note(self, storage):
>         key, size = storage._cdata, storage.nbytes()
>         if key not in self.held:
>             weakref.finalize(storage, self.forget, key)
>         self.now += size - self.held.get(key, 0)
>         self.held[key], self.most = size, max(self.most, self.now)
>
>     def forget(self, key):
>         self.now -= self.held.pop(key, 0)
>
>     def follow(self, tensors):
>         for x in tree_leaves(tensors):
>             if isinstance(x, torch.Tensor) and not x.is_meta and x.layout == torch.strided:
>                 self.note((x.to_local() if isinstance(x, DTensor) else x).untyped_storage())
>
>     def __torch_dispatch__(self, func, types, args=(), kwargs=None):
>         if DTensor in types:
>             return NotImplemented  # what it is made of comes by
>         known = func not in self.gloo
>         self.follow((args, kwargs) if known else ())
>         out = func(*args, **(kwargs or {}))
>         self.follow(out if known else ())
>         space, _, name = func._schema.name.partition("::")
>         if space in ("c10d", "_c10d_functional"):
>             self.count(name.rstrip("_"), args, out)
>         return out
>
>     def count(self, name, args, out):
>         groups = [a if isinstance(a, str) else dist.ProcessGroup.unbox(a).group_name for a in args
>                   if isinstance(a, str) and a not in ("sum", "avg", "max") or isinstance(a, torch.ScriptObject) and "ProcessGroup" in str(a._type())]
>         n = dist.distributed_c10d._resolve_process_group(groups[0]).size() if groups else dist.get_world_size()
>         what = out if name == "all_gather_into_tensor" else args[name in self.second]
>         size = sum(x.nbytes for x in tree_leaves(what) if isinstance(x, torch.Tensor))
>         if name == "send" or name in self.times:
>             self.sent[name] = self.sent.get(name, 0) + size * (1 if name == "send" else self.times[name] * (n - 1) / n)
>
>     def tell(self, mesh):
>         """Print planned and measured bytes: those that all processes send, and the most on one process."""
>         cuda, every = mesh.device_type == "cuda", [None] * dist.get_world_size()
>         dist.all_gather_object(every, (sum(self.sent.values()), torch.cuda.max_memory_allocated() if cuda else self.most))
>         if dist.get_rank() == 0:
>             beside = f"; on a GPU {PLANNED['memory']:.0f}, with its workspaces" if PLANNED["memory"] != PLANNED["tensors"] and not cuda else ""
>             for what, found, planned, more in (("sent by all processes", sum(s for s, _ in every), PLANNED["sent"], ""),
>                                                ("allocated, at most" if cuda else "tensors at once, at most", max(m for _, m in every),
>                                                 PLANNED["memory" if cuda else "tensors"], beside)):
>                 print(f"bytes {what}: measured {found:.0f}, planned {planned:.0f} ({found / planned if planned else 1:.3f}){more}")
>
>
> def own(x, mesh):

What PyTorch cannot do: schedules by name, operators by name and axis.
$ p() { printf '{"format": "hypar-plan/1", "model": "%s/tests/cli/gpt2-torch.json", "batch": 8, "machine": "full:%s", %s}\n' "$PWD" $1 "$2"; }; t() { p 2 "$1" > $TMP/no.json; hypar export $TMP/no.json --to torch -q 2>&1 | sed "s|$TMP/||"; }; for s in zb-h1 zb-h2; do t '"layout": {"pipeline": 2, "micro_batches": 4, "schedule": "'$s'"}'; done; t '"precision": "fp16", "layout": {"data": 2}'; t '"ops": [{"name": "*", "split": {"n": 2}}, {"name": "transformer.slice", "split": {"r": 2}}, {"name": "transformer.reshape", "split": {"r": 2}}, {"name": "transformer.h.0.attn.attention", "split": {"n": 2}, "recompute": true}]'; t '"ops": [{"name": "*", "split": {"n": 2}}, {"name": "transformer.slice", "split": {"r": 2}}, {"name": "transformer.reshape", "split": {"r": 2}}, {"name": "transformer.h.0.mlp.c_fc", "split": {"n": 2}, "shard": "optimizer"}]'; t '"ops": [{"name": "*", "split": {"n": 2}}, {"name": "transformer.slice", "split": {"r": 2}}, {"name": "transformer.reshape", "split": {"r": 2}}, {"name": "transformer.h.0.attn.attention", "split": {"q": 2}}]'
> hypar: no.json: PyTorch has no schedule 'zb-h1', expected gpipe, 1f1b, interleaved
> hypar: no.json: PyTorch has no schedule 'zb-h2', expected gpipe, 1f1b, interleaved
> hypar: no.json: precision 'fp16' needs a loss that is scaled, which the script has not; expected bf16
> hypar: no.json: op 'transformer.h.0.attn.attention': recompute: PyTorch recomputes whole modules; expected a module all of whose operators are recomputed, except those that others read (put layers into modules of their own, or plan with --recompute none)
> hypar: no.json: parameter 'transformer.h.0.mlp.c_fc.weight' has shard 'optimizer', 'transformer.wte.weight' has 'none'; PyTorch's stage has one for all
> hypar: no.json: op 'transformer.h.0.attn.attention': axis 'q' is split 2 ways, PyTorch's DTensor splits attention by samples and heads; expected one of n, a, r

A residual network whose blocks end in functions is cut between its modules: by the search, and by the nearest plan.
$ for p in "hybrid --stages 2" "1f1b --stages 2" "3d --pipeline 2"; do hypar plan tests/cli/resnet-torch.json --on full:2,fp32=1GFLOP/s --planner $p --for torch -qo $TMP/cut.json && hypar export $TMP/cut.json --to torch | sed -n '/^CUTS/,/^}/p'; done
> CUTS = {  # where the next stage begins
>     "layer1.0": SplitPoint.BEGINNING,
> }
> CUTS = {  # where the next stage begins
>     "layer1.1": SplitPoint.BEGINNING,
> }
> CUTS = {  # where the next stage begins
>     "layer1.1": SplitPoint.BEGINNING,
> }

$ hypar plan tests/cli/resnet-torch.json --on full:2,fp32=1GFLOP/s --planner hybrid --stages 2 -qo $TMP/inside.json; hypar export $TMP/inside.json --to torch --nearest $TMP/near.json; hypar export $TMP/near.json --to torch | sed -n '/^CUTS/,/^}/p'
> hypar: note: the nearest plan that PyTorch can run: refused axes left unsplit,
>        stages cut where they may be, 1f1b; 1 of 27 operators differ
> hypar: note: not exported: PyTorch has no schedule 'zb-h2', expected gpipe,
>        1f1b, interleaved
> hypar: note: the script runs operator by operator, the plan counts the memory of
>        kernels that are 'compiled', which may be less: expected --as fsdp, or a
>        plan made with --for torch
> CUTS = {  # where the next stage begins
>     "layer1.1.conv2": SplitPoint.END,
> }

Batch norms have the statistics of all replicas, unless the plan says otherwise; one that is a function cannot.
$ for l in "" --local-bn; do hypar plan resnet18:image=32 --on full:2 --planner dp $l -qo $TMP/bn.json && hypar export $TMP/bn.json --to torch -q | grep -c synchronise; done; hypar import resnet18:image=32 --batch 2 -qo $TMP/bn1.json; sed 's/"bn1"/"batch_norm"/g' $TMP/bn1.json > $TMP/function.json; hypar plan $TMP/function.json --on full:2 --planner dp --for torch
> 2
> 0
> hypar: dp: op 'batch_norm': a batch norm that is no module has the statistics of each replica's own samples in PyTorch; expected a plan with --local-bn (or plan without --for, then 'hypar export --to torch --nearest FILE')
? 1

nn.MultiheadAttention has queries, keys and values in one parameter: its columns are not cut in two, and the search does not.
$ p() { printf '{"format": "hypar-plan/1", "model": "%s/tests/cli/packed-torch.json", "machine": "full:%s", "ops": [{"name": "*", "split": {"r": %s}}, {"name": "attention.linear", "split": {"k": %s}}]}\n' "$PWD" $1 $1 $1; }; for n in 2 3; do p $n > $TMP/packed.json; hypar export $TMP/packed.json --to torch -q | grep in_proj; done; for p in hypar hybrid '3d --tensor 2'; do hypar plan tests/cli/packed-torch.json --on full:2 --planner $p --for torch -qo $TMP/found.json && hypar export $TMP/found.json --to torch | sed -n '/^PLACEMENTS/,/^}/p'; done
> hypar: $TMP/packed.json: op 'attention.linear': axis 'k' is split 2 ways, PyTorch's MultiheadAttention has queries, keys and values in it; expected 3 parts or none
>     "attention": {"in_proj_weight": [Shard(0)], "in_proj_bias": [Shard(0)]},
> hypar: note: 1 of 2 devices has nothing to do
> hypar: note: whole on each device: 'attention.linear', which computes several
>        things at once that are taken apart behind it; a layer for each of them
>        (queries, keys and values, or a gate and what it multiplies) is divided
> PLACEMENTS = {  # over the tensor dimension of the mesh: parameters, and what modules take and give
>     "embed": {"weight": [Shard(0)], "output": [Replicate()]},
>     "up": {"input": [Replicate()], "weight": [Shard(0)], "bias": [Shard(0)]},
>     "down": {"input": [Shard(2)], "weight": [Shard(1)], "output": [Replicate()]},
>     "head": {"input": [Replicate()], "weight": [Shard(0)], "bias": [Shard(0)]},
> }

Operators of an ONNX file are no modules; of other graphs that did not come from PyTorch a note says so.
$ hypar plan examples/models/encoder.onnx --on full:2 --for torch -q; hypar plan examples/models/encoder.onnx --on full:2 --planner dp -qo $TMP/onnx.json; hypar export $TMP/onnx.json --to torch; hypar plan examples/models/residual.json --on full:2 --planner dp -qo $TMP/json.json; hypar export $TMP/json.json --to torch -o $TMP/json.py
> hypar: operators of an ONNX file are no modules of PyTorch; expected the graph of the model itself, by python -m hypar.torch
> hypar: $TMP/onnx.json: operators of an ONNX file are no modules of PyTorch; expected the graph of the model itself, by python -m hypar.torch
> hypar: note: the graph does not tell PyTorch's modules: the script is for a
>        model whose modules are named like its operators (python -m hypar.torch
>        makes the graph of a model)
> hypar: note: the script runs operator by operator, the plan counts the memory of
>        kernels that are 'compiled', which may be less: expected --as fsdp, or a
>        plan made with --for torch
> torchrun --nproc-per-node 2 $TMP/json.py package.module:function

Planners that are shown beside another, and that nobody asked for, are left out where they cannot.
$ hypar plan mlp:4-3-2 --batch 8 --on full:4 -p dp --for torch 2>&1 >/dev/null
> hypar: note: the graph does not tell PyTorch's modules: the script is for a
>        model whose modules are named like its operators (python -m hypar.torch
>        makes the graph of a model)

Gradients are clipped by their norm over all stages and shards; in bf16 parameters stay fp32, and messages are as planned.
$ p() { printf '{"format": "hypar-plan/1", "model": "%s/tests/cli/gpt2-torch.json", "batch": 8, "machine": "full:%s", %s}\n' "$PWD" $1 "$2"; }; p 2 '"clip": 1, "layout": {"pipeline": 2, "micro_batches": 2}' > $TMP/clip.json; hypar export $TMP/clip.json --to torch | sed -n '/^def clip/,/^$/p'; for g in fp32 bf16; do p 2 '"precision": "bf16", "gradient_precision": "'$g'", "layout": {"data": 2, "shard": "gradients"}' > $TMP/short.json; hypar export $TMP/short.json --to torch | grep -e fully_shard -e '^MESH'; done
> hypar: note: the script runs operator by operator, the plan counts the memory of
>        kernels that are 'compiled', which may be less: expected --as fsdp, or a
>        plan made with --for torch
> def clip(modules, mesh, most=1):
>     """Scale the gradients of all ranks to a norm of at most `most`; returns the norm before."""
>     again = {stage.module.get_parameter(row[stage.index]) for stage in modules for row in TIED
>              if stage.index in row and stage.index != min(row)}
>     params = [*modules.parameters()]
>     norm = nn.utils.get_total_norm([p.grad for p in params if p.grad is not None and p not in again])
>     norm = norm.full_tensor() if isinstance(norm, DTensor) else norm.to(mesh.device_type)
>     norm = norm.square()
>     dist.all_reduce(norm, group=mesh.get_group("stage"))
>     norm = norm.sqrt()
>     nn.utils.clip_grads_with_norm_(params, most, norm)
>     return norm
>
> hypar: note: the script runs operator by operator, the plan counts the memory of
>        kernels that are 'compiled', which may be less: expected --as fsdp, or a
>        plan made with --for torch
> from torch.distributed.fsdp import MixedPrecisionPolicy, fully_shard
> MESH = {"data": 2}
>             if p.dim() == 0:  # fully_shard() divides along a dimension
>         fully_shard(module, mesh=mesh, reshard_after_forward=False, mp_policy=MixedPrecisionPolicy(torch.bfloat16, torch.float32))
>         def resize(storage, size):  # by which fully_shard() frees what it gathered
> hypar: note: PyTorch keeps the gradients of bf16 parameters in fp32, the plan
>        counts 2 bytes for each: expected --gradient-precision fp32, or a plan
>        made with --for torch
> hypar: note: the script runs operator by operator, the plan counts the memory of
>        kernels that are 'compiled', which may be less: expected --as fsdp, or a
>        plan made with --for torch
> from torch.distributed.fsdp import MixedPrecisionPolicy, fully_shard
> MESH = {"data": 2}
>             if p.dim() == 0:  # fully_shard() divides along a dimension
>         fully_shard(module, mesh=mesh, reshard_after_forward=False, mp_policy=MixedPrecisionPolicy(torch.bfloat16, torch.bfloat16))
>         def resize(storage, size):  # by which fully_shard() frees what it gathered

An opaque operator may have no rule in DTensor: no tensor layout of its network is promised.
$ sed 's/"kind": "gelu"/"kind": "opaque", "attrs": {"shape": [8, 8, 32]}/' tests/cli/packed-torch.json > $TMP/opaque.json; for l in "dp" "3d --tensor 2 --data 1"; do hypar plan $TMP/opaque.json --batch 8 --on full:2 --planner $l --for torch -qo $TMP/opaque-plan.json && hypar export $TMP/opaque-plan.json --to torch -qo $TMP/opaque.py; done
> hypar: 3d: op 'gelu' is opaque, and PyTorch's DTensor may have no rule for it; expected splits of samples alone in all operators (or plan without --for, then 'hypar export --to torch --nearest FILE')
? 1

On devices with units for bf16 plans for a framework have bf16 and adamw, unless others are asked for; what PyTorch saves operator by operator is counted.
$ for o in "" "--precision fp32 --optimizer sgd" "--gradient-precision bf16 --precision bf16" "--as compiled"; do hypar plan tests/cli/gpt2-torch.json --on full:2,device=h100 --planner dp --for torch $o -o $TMP/usual.json | head -1; grep -c eager $TMP/usual.json; done; for f in eager compiled; do hypar plan tests/cli/gpt2-torch.json --on full:2 --planner dp --as $f --json | grep -m1 -o '"saved_bytes": [0-9]*'; done
> hypar: note: measured scripts took 1.1 to 2.0 times the predicted step on an
>        H200: docs/formats-torch.md
> GPT2LMHeadModel (gpt2-torch.json), batch 2, bf16 with fp32 gradients, adamw, on 2 devices, for torch: planner dp
> 0
> hypar: note: measured scripts took 1.1 to 2.0 times the predicted step on an
>        H200: docs/formats-torch.md
> GPT2LMHeadModel (gpt2-torch.json), batch 2, on 2 devices, for torch: planner dp
> 0
> hypar: note: PyTorch keeps the gradients of bf16 parameters in fp32, the plan
>        counts 2 bytes for each: expected --gradient-precision fp32, or a plan
>        made with --for torch
> hypar: note: measured scripts took 1.1 to 2.0 times the predicted step on an
>        H200: docs/formats-torch.md
> GPT2LMHeadModel (gpt2-torch.json), batch 2, bf16, adamw, on 2 devices, for torch: planner dp
> 0
> hypar: note: PyTorch keeps the gradients of bf16 parameters in fp32, the plan
>        counts 2 bytes for each: expected --gradient-precision fp32, or a plan
>        made with --for torch
> hypar: note: the script runs operator by operator, the plan counts the memory of
>        kernels that are 'compiled', which may be less: expected --as fsdp, or a
>        plan made with --for torch
> GPT2LMHeadModel (gpt2-torch.json), batch 2, bf16, adamw, on 2 devices, for torch: planner dp
> 0
> "saved_bytes": 126964
> "saved_bytes": 77304

Parameters that are divided are there a layer at a time, as fully_shard() gathers them, and gradients while they are summed; a batch is fp32; what is computed again is saved again.
$ for o in "--shard parameters" "--recompute full" "--precision bf16"; do for f in eager compiled; do hypar plan tests/cli/gpt2-torch.json --on full:2 --planner dp $o --as $f --json | grep -m1 -o '"peak_memory_bytes": [0-9]*'; done; done
> "peak_memory_bytes": 343300
> "peak_memory_bytes": 249156
> "peak_memory_bytes": 393092
> "peak_memory_bytes": 292676
> hypar: note: v100 computes bf16 at 0.126 times the rate of fp16
> "peak_memory_bytes": 259396
> hypar: note: v100 computes bf16 at 0.126 times the rate of fp16
> "peak_memory_bytes": 281156

The Python package asks for the version of PyTorch that the documents name.
$ grep -o 'torch>=[0-9.]*' python/pyproject.toml; grep -oh '[0-9.]* or later, tested with 2.13' docs/formats-export.md docs/formats-torch.md
> torch>=2.11
> 2.11 or later, tested with 2.13
> 2.11 or later, tested with 2.13

PyTorch's 1f1b has at least as many micro-batches as stages: the planner chooses no fewer.
$ hypar plan tests/cli/gpt2-torch.json --batch 8 --on cluster:1x8,device=h100 --planner 1f1b --for torch -qo $TMP/filled.json && grep -o '"micro_batches": [0-9]*' $TMP/filled.json; grep -c '"replicas"' $TMP/filled.json
> "micro_batches": 2
> 2

A graph that ends in another loss than it says (hypar.torch writes "own_loss"): the script has none in its place.
$ for w in '"modules"' '"own_loss": true, "modules"'; do sed "s/\"modules\"/$w/" tests/cli/packed-torch.json > $TMP/own.json; hypar plan $TMP/own.json --on full:2 --planner dp --for torch -qo $TMP/own-plan.json && hypar export $TMP/own-plan.json --to torch -q | grep -c 'a loss of your own'; done
> 0
> 1

A loss that is a sum over samples (hypar.torch writes "summed_loss"): the means over replicas and micro-batches are sums again.
$ sed 's/"modules"/"summed_loss": true, "modules"/' tests/cli/packed-torch.json > $TMP/sum.json; for how in '--data 2' '--pipeline 2'; do hypar plan $TMP/sum.json --on full:2 --planner 3d $how --micro-batches 2 --for torch -qo $TMP/sum-plan.json && hypar export $TMP/sum-plan.json --to torch -q | grep ' loss_of(.*)' | grep -v def; done
>             loss = loss_of(model(*a, **k), t) * 4 / MICRO_BATCHES
>     model.forward = lambda target_=None, **batch: loss_of(forward(**batch), target_) * 2

A device keeps the state that the plan counts, but for biases that are not divided.
$ p() { printf '{"format": "hypar-plan/1", "model": "mlp:64-256-256-64", "batch": 8, "machine": "full:4", %s}\n' "$1" > $TMP/state.json; hypar export $TMP/state.json --to torch -q 2>&1 | sed "s|$TMP/||" | grep -E '^hypar|^MESH'; }; p '"ops": [{"name": "*", "split": {"n": 4}}, {"name": "fc2", "split": {"n": 4}, "shard": "gradients"}, {"name": "fc3", "split": {"n": 4}, "shard": "gradients"}, {"name": "fc1", "split": {"n": 2, "k": 2}, "shard": "gradients"}]'; p '"layout": {"data": 2, "tensor": 2, "shard": "gradients"}'
> hypar: state.json: parameter 'fc2.w': 4 devices divide its state, PyTorch's fully_shard() divides it among the 2 that divide the samples of all operators: a device would have 1.18 times the plan's state; expected samples split alike in all operators, or no sharding
> MESH = {"data": 2, "tensor": 2}
