#!/usr/bin/env python3
"""forms.py - what hypar.torch makes of single forms, and what it says of those that it does not know."""
import argparse
import contextlib
import importlib.util
import json
import math
import os
import random
import re
import subprocess
import sys
import tempfile
import unittest
import warnings

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
sys.path.insert(0, os.path.join(ROOT, "python"))
try:
    import torch
except ImportError as missing:
    print(f"skipped: {missing}")
    sys.exit(77)
import apart
import hypar.torch
import models
from hypar.torch import losses, patterns, views
from models import HUGGING, Chosen, Compared, classes_and_boxes, detector
from torch import nn


def graph(model, *args, **options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return hypar.torch.graph(model, args, **options)


def network():
    """A function for the command."""
    return nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 3)), torch.randn(2, 4)


def one():
    """A function for the command, with one sample, and with a function that makes the network."""
    return lambda: network()[0], torch.randn(1, 4)


def compared():
    """With a target."""
    return nn.Sequential(nn.Linear(4, 3)), torch.randn(2, 4), torch.randn(2, 3)


def absolute(output, target):
    """A loss for the command."""
    return (output - target).abs().mean()


class Linears(nn.Module):
    """Two heads."""

    def __init__(self):
        super().__init__()
        self.a, self.b = nn.Linear(4, 3), nn.Linear(4, 2)


def branching():
    """What PyTorch cannot export, and tells at length."""
    class Branching(nn.Module):
        def forward(self, x):
            return x if x.sum() > 0 else -x
    return Branching(), torch.randn(2, 4)


def identity():
    """What the command refuses, as a graph has operators."""
    return nn.Identity(), torch.randn(2, 4)


class Tied(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed, self.head = nn.Embedding(11, 6), nn.Linear(6, 11, bias=False)
        self.head.weight = self.embed.weight
        self.norm = nn.LayerNorm(6)
        self.norm.weight.requires_grad = False
        self.register_buffer("shift", torch.arange(6.0))

    def forward(self, x):
        return self.head(self.norm(self.embed(x) + self.shift))


class Returned(nn.Module):
    """Outputs, and the loss behind them."""

    def __init__(self, loss):
        super().__init__()
        self.layer, self.loss = nn.Linear(6, 5), loss

    def forward(self, x, y):
        z = self.layer(x)
        return z, self.loss(z, y)


def paired(z, y):
    """Each sample beside all others."""
    z = nn.functional.normalize(z, dim=-1)
    return nn.functional.cross_entropy(z @ z.t() / 0.1, torch.arange(z.shape[0]))


class DropPath(nn.Module):
    """A factor drawn for each sample, in the two ways in which it is written."""

    def __init__(self, rounded=False):
        super().__init__()
        self.rounded = rounded

    def forward(self, x):
        if self.rounded:
            return x.div(0.9) * torch.floor(torch.rand(x.shape[0], 1) + 0.9)
        return x * x.new_empty((x.shape[0], 1)).bernoulli_(0.9).div_(0.9)


class Smoothed(nn.Module):
    """A language model with label smoothing."""

    def __init__(self, flat):
        super().__init__()
        self.embed, self.flat = nn.Embedding(11, 6), flat

    def forward(self, x, labels):
        z = self.flat(self.embed(x))
        return nn.functional.cross_entropy(z, labels[:, :z.shape[0] // x.shape[0]].flatten(), label_smoothing=0.1)


class Rotary(nn.Module):
    """Attention with a rotary embedding: heads before positions or behind, tables of the lead dimensions, rotated in either form."""

    def __init__(self, heads_first, lead, half):
        super().__init__()
        self.joint, self.heads_first, self.half = nn.Linear(16, 48), heads_first, half
        angles = torch.arange(8.0)[:, None] * 10000 ** (-torch.arange(0, 8, 2) / 8)
        angles = angles if half else torch.cat([angles, angles], 1)
        angles = angles if heads_first else angles[:, None]
        self.lead = lead
        self.register_buffer("cos", angles.cos(), persistent=False)
        self.register_buffer("sin", angles.sin(), persistent=False)

    def rotate(self, x, t):
        cos, sin = (table[:t].view(self.lead + table[:t].shape) for table in (self.cos, self.sin))
        a, b = x.chunk(2, -1)
        if self.half:
            return torch.cat([a * cos - b * sin, b * cos + a * sin], -1)
        return x * cos + torch.cat([-b, a], -1) * sin

    def forward(self, x):
        n, t, width = x.shape
        q, k, v = (part.view(n, t, 2, 8) for part in self.joint(x).split(width, -1))
        if self.heads_first:
            q, k, v = (part.transpose(1, 2) for part in (q, k, v))
        q, k = self.rotate(q, t), self.rotate(k, t)
        if not self.heads_first:
            q, k, v = (part.transpose(1, 2) for part in (q, k, v))
        y = nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True)
        return y.transpose(1, 2).reshape(n, t, width)


class Unknown(nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = nn.Sequential(nn.Linear(4, 4))
        self.odd = Odd()

    def forward(self, x):
        return self.odd(self.inner(x))


class Odd(nn.Module):
    def forward(self, x):
        return torch.special.i0e(x)


class Recorder:
    """Does what operators of ours do, on tensors."""

    def __init__(self, base):
        self.values = {"x": base}

    def add(self, kind, inputs, attrs, shape, sample):
        x = self.values[inputs[0].base]
        if kind == "slice":
            index = (slice(None),) * attrs["axis"] + (slice(attrs["start"], attrs["stop"], attrs["step"]),)
            y = x[index]
        elif kind == "transpose":
            y = x.permute(attrs["perm"])
        elif kind == "expand":
            y = x.expand(attrs["shape"])
        else:
            y = x.reshape([x.shape[d] if n == 0 else n for d, n in enumerate(attrs["shape"])])
        assert tuple(y.shape) == tuple(shape), (kind, attrs, y.shape, shape)
        name = str(len(self.values))
        self.values[name] = y
        return views.Tensor(name, shape, sample)


def random_view(x, draw):
    """Some views of a tensor, one after another."""
    for _ in range(4):
        if not x.dim():
            break
        d = draw.randrange(x.dim())
        what = draw.randrange(5)
        if what == 0:
            x = x.transpose(d, draw.randrange(x.dim()))
        elif what == 1 and x.shape[d] > 1:
            start = draw.randrange(x.shape[d] - 1)
            x = x.narrow(d, start, draw.randint(1, x.shape[d] - start))
        elif what == 2 and x.dim() < 6 and x.shape[d] % 2 == 0:
            x = x.unflatten(d, (2, -1))
        elif what == 3 and x.dim() > 1:
            x = x.select(d, draw.randrange(x.shape[d]))
        elif what == 4:
            x = x.unsqueeze(d).expand(*x.shape[:d], 2, *x.shape[d:]) if x.dim() < 5 else x
    return x


class Forms(unittest.TestCase):
    def test_views(self):
        """Operators put the elements where PyTorch's strides say that they are."""
        for seed in range(1500):
            draw = random.Random(seed)
            shape = [2] + [draw.choice([1, 2, 3, 4, 6]) for _ in range(draw.randint(1, 3))]
            base = torch.arange(torch.Size(shape).numel()).reshape(shape)
            tensor = views.Tensor("x", shape, 0)
            tensor = tensor.seen(random_view(tensor.view, random.Random(seed)))
            want = random_view(base, random.Random(seed))
            if views.possible(tensor):
                recorder = Recorder(base)
                got = views.settle(recorder.add, tensor)
                self.assertTrue(torch.equal(recorder.values[got.base], want), seed)

    def test_joined(self):
        """Samples and heads as one dimension and apart again are nothing."""
        t = views.Tensor("x", (2, 5, 12), 0)
        t = t.seen(t.view.transpose(0, 1)).reshaped((5, 6, 4))
        self.assertTrue(t.joined())
        t = t.moved(lambda v: v.transpose(0, 1)).reshaped((2, 3, 5, 4))
        self.assertFalse(t.joined())
        back = t.seen(t.view.transpose(1, 2)).reshaped((2, 5, 12))
        self.assertTrue(back.plain())

    def test_tied(self):
        made = graph(Tied(), torch.randint(0, 11, (2, 5)))
        self.assertEqual(list(made.params), ["embed.weight", "norm.weight", "norm.bias"])
        self.assertEqual(made.params["norm.weight"]["trained"], False)
        self.assertEqual([op.name for op in made.ops], ["embed", "add", "norm", "head", "loss"])
        self.assertEqual(made.ops[3].inputs, ["norm", "embed.weight"])
        (constant,) = made.constants.values()
        self.assertTrue(torch.equal(constant, torch.arange(6.0)))
        self.assertEqual(made.inputs["labels"]["shape"], [2, 5])

    def test_opaque(self):
        made = graph(Unknown(), torch.randn(2, 4))
        (found,) = made.opaque
        self.assertEqual((found["name"], found["module"], found["operator"]), ("odd", "odd", "aten.special_i0e.default"))
        self.assertIn("forms.py:", found["source"])
        self.assertEqual([op.kind for op in made.ops], ["linear", "opaque", "cross_entropy"])

    def test_decomposed(self):
        """What has no row is taken apart by PyTorch; what has one stays."""
        class Gated(nn.Module):
            def __init__(self):
                super().__init__()
                self.norm, self.layer = nn.LayerNorm(6), nn.Linear(6, 12)

            def forward(self, x):
                return nn.functional.glu(self.layer(self.norm(x)))
        made = graph(Gated(), torch.randn(2, 6))
        self.assertEqual([op.kind for op in made.ops], ["layer_norm", "linear", "split", "sigmoid", "mul", "cross_entropy"])

    def test_loss(self):
        made = graph(network()[0], torch.randn(2, 4), loss="mse_loss")
        self.assertEqual(made.ops[-1].kind, "mse_loss")

    def test_target(self):
        """The target says which loss it is."""
        x = torch.randn(2, 4)
        for target, kind in ((torch.randn(2, 3), "mse_loss"), (torch.tensor([0, 2]), "cross_entropy")):
            made = graph(network()[0], x, target=target)
            self.assertEqual(made.ops[-1].kind, kind)
            self.assertIn(f"{kind} of output 'output' [2, 3] and the target {list(target.shape)} of {str(target.dtype)[6:]}", made.loss)
        for target, loss, why in ((torch.randn(2, 5), None, "expected the same shape"), (torch.tensor([0, 3]), None, "label 3 is no class"),
                                  (torch.tensor([[0], [1]]), None, "one label for each row"), (torch.randn(2, 3), "cross_entropy", "expected integers"),
                                  (torch.tensor([0, 1]), "mse_loss", "expected floating-point")):
            with self.assertRaisesRegex(hypar.torch.Cannot, why):
                graph(network()[0], x, target=target, loss=loss)
        with self.assertRaisesRegex(hypar.torch.Cannot, r"^forward\(.*\) of the model does not take the arguments, 2 of them: .*arguments, target$"):
            graph(network()[0], x, torch.tensor([0, 1]))  # a target among the arguments

    def test_flat_target(self):
        """Samples and positions that are one dimension where the loss is."""
        made = graph(nn.Sequential(nn.Embedding(11, 6), nn.Flatten(0, 1)), torch.randint(0, 11, (2, 5)), target=torch.randint(0, 6, (10,)))
        self.assertEqual(made.inputs["labels"]["shape"], [2, 5])

        class Flat(nn.Module):
            def __init__(self):
                super().__init__()
                self.embed = nn.Embedding(11, 6)

            def forward(self, x, labels):
                return nn.functional.cross_entropy(self.embed(x).view(-1, 6), labels)
        made = graph(Flat(), torch.randint(0, 11, (2, 5)), torch.randint(0, 6, (10,)))
        self.assertEqual(made.inputs["labels"], {"name": "labels", "shape": [2, 5], "index": True})

    def test_own_loss(self):
        """The number that a model returns is its loss, wherever it stands, and whatever it is."""
        x, y = torch.randn(4, 6), torch.randint(0, 5, (4,))
        made = graph(Returned(lambda z, t: nn.functional.cross_entropy(z, t)), x, y)
        self.assertEqual(([op.kind for op in made.ops], made.ops[-1].inputs), (["linear", "cross_entropy"], ["layer", "y"]))
        self.assertRegex(made.loss, r"output '1' of the model \(.*forms.py:\d+\): cross_entropy")
        with self.assertRaisesRegex(hypar.torch.Cannot, "numbers alone"):
            graph(Compared(nn.functional.cross_entropy), x, y, loss="cross_entropy")
        for loss, opaque in ((lambda z, t: z.mean(), True), (lambda z, t: z.abs().mean() / 2, False),
                             (lambda z, t: z.logsumexp(1).sum() / z.shape[0], True),
                             (lambda z, t: nn.functional.cross_entropy(z, t) + 1e-4 * z.logsumexp(-1).square().mean(), False)):
            made = graph(Returned(loss), x, y)
            self.assertEqual((made.end.kind, made.end.name, len(made.params)), ("mse_loss", "loss", 2))
            self.assertEqual(made.loss.endswith(": opaque"), opaque, made.loss)
        made = graph(Returned(paired), x, y)
        self.assertEqual(([o["operator"] for o in made.opaque], made.end.kind), (["aten.matmul.default"], "cross_entropy"))

    def test_loss_function(self):
        """A function of what the model returns and of the target; the model is as it was afterwards."""
        model, x = network()
        made = graph(model, x, loss=nn.functional.binary_cross_entropy_with_logits, target=torch.rand(2, 3))
        self.assertEqual((made.opaque, list(made.inputs)), ([], ["input", "target", "loss.zero"]))
        self.assertEqual(json.loads(made.json())["loss_function"], "torch.nn.functional:binary_cross_entropy_with_logits")
        self.assertTrue({"own_loss", "loss_function"}.isdisjoint(json.loads(graph(model, x).json())))
        self.assertIn("binary_cross_entropy_with_logits", made.loss)
        self.assertEqual(model(x).shape, (2, 3))

    def test_targets(self):
        """Targets of two kinds: as inputs of the model, or of a loss function, whose name the graph has where a script can import it."""
        made = hypar.torch.graph(detector(True)()[0], (), detector(True)()[1])
        self.assertEqual((made.opaque, [op.kind for op in made.ops].count("log_softmax"), made.own_loss), ([], 1, True))
        model, inputs, target = detector(False)()
        made = hypar.torch.graph(model, (), inputs, loss="models:classes_and_boxes", target=target)
        self.assertEqual(([p for p in made.inputs if "target" in p], len(made.params)), (["target_boxes", "target_labels"], 10))
        self.assertEqual(json.loads(made.json())["loss_function"], "models:classes_and_boxes")
        made = hypar.torch.graph(model, (), inputs, loss=lambda out, t: classes_and_boxes(out, t), target=target)
        self.assertEqual((made.loss_function, made.own_loss), (None, True))
        self.assertIn("cannot import this loss", made.notes[0])
        for loss, said in ((None, "several targets need a loss that is a function"),
                           (lambda out, a, b: 0, "missing a required argument: 'b'; expected a function of what the model returns and of the target, one tensor, tuple or dict")):
            with self.assertRaisesRegex(hypar.torch.Cannot, said):
                hypar.torch.graph(model, (), inputs, loss=loss, target=target)

    def test_several_numbers(self):
        """Of two losses that a model returns, the second is no silent loss of parameters."""
        class Losses(Linears):
            def forward(self, x):
                return {"a": self.a(x).square().mean(), "b": self.b(x).square().mean()}
        with self.assertRaisesRegex(hypar.torch.Cannot, "output 'b' has 2 parameters that the loss does not reach"):
            graph(Losses(), torch.randn(2, 4))

    def test_undivided(self):
        """Functions for which DTensor has no rule, forward or backward, where they depend on parameters: no plan splits tensors."""
        class Patches(nn.Module):
            def __init__(self, after, function):
                super().__init__()
                self.up, self.down, self.after, self.function = nn.Linear(8, 32), nn.Linear(32, 8), after, function

            def forward(self, x):
                y = self.down(self.up(x).relu()) if self.after else x
                y = self.function(y)
                return (y if self.after else self.down(self.up(y).relu())).mean((1, 2))
        unfold, average = (lambda x: nn.functional.unfold(x, 3, padding=1)[:, :24, ::8].unflatten(1, (3, 8))), (lambda x: nn.functional.avg_pool2d(x, (1, 8)).expand(-1, -1, -1, 8))
        image = torch.randn(2, 3, 8, 8)
        for after, function, said in ((True, unfold, "im2col"), (True, average, "avg_pool2d_backward"), (False, unfold, None), (True, nn.functional.gelu, None)):
            made = graph(Patches(after, function), image, loss="mse_loss")
            self.assertEqual([re.search(r"forms.py:\d+\): aten\.(\w+)", text)[1] for text in made.undivided], [said] if said else [])
            with tempfile.TemporaryDirectory() as folder:
                path = os.path.join(folder, "m.json")
                made.write(path)
                for words in ["--planner", "3d", "--tensor", "2"], ["--planner", "hybrid"]:
                    planned = subprocess.run([os.environ["HYPAR"], "plan", path, "--on", "full:2,fp32=1GFLOP/s,memory-bandwidth=1GB/s", *words, "--for", "torch", "-qo", path + ".plan"],
                                             capture_output=True, text=True)
                    if said and "--tensor" in words:
                        self.assertEqual((planned.returncode, "PyTorch's DTensor has no rule for it; expected splits of samples alone" in planned.stderr), (1, True), planned.stderr)
                    else:
                        exported = subprocess.run([os.environ["HYPAR"], "export", path + ".plan", "--to", "torch", "-q"], capture_output=True, text=True)
                        self.assertEqual((planned.returncode, exported.returncode), (0, 0), planned.stderr + exported.stderr)
                        self.assertFalse(said and "PLACEMENTS = {" in exported.stdout)

    def test_mixing(self):
        """Where samples are mixed, in the network or in its loss, replicas and micro-batches would compute another loss."""
        class Pairs(nn.Module):
            def __init__(self, loss):
                super().__init__()
                self.a, self.b, self.loss = nn.Linear(6, 4), nn.Linear(6, 4), loss

            def forward(self, x, y):
                return self.loss(self.a(x), self.b(y))
        x, y = torch.randn(4, 6), torch.randn(4, 6)
        functional = nn.functional
        cases = [(Pairs(loss), x, y, said) for loss, said in (
            (lambda a, b: (a - b).abs().mean() + 0.5 * functional.mse_loss(a, b), None),
            (lambda a, b: functional.cross_entropy(a @ b.T, torch.arange(len(a))), "matmul"),  # len(a) fixes the batch of x, not that of y
            (lambda a, b: functional.mse_loss(a, b).sqrt(), "sqrt"), (lambda a, b: functional.mse_loss(a - a.mean(0), b), "sub"),
            (lambda a, b: (a - b).abs().sum() / len(a) + 0.5 * functional.mse_loss(a, b), None))]
        for *given, said in (*cases, (Returned(paired), x, torch.randint(0, 5, (4,)), "matmul")):
            made = graph(*given)
            self.assertEqual([re.search(r"forms.py:\d+\): aten\.(\w+)", text)[1] for text in made.mixing], [said] if said else [])
            with tempfile.TemporaryDirectory() as folder:
                path = os.path.join(folder, "m.json")
                made.write(path)
                planned = subprocess.run([os.environ["HYPAR"], "plan", path, "--on", "full:2", "--planner", "dp", "--for", "torch", "-qo", path + ".plan"], capture_output=True, text=True)
            self.assertEqual((planned.returncode, "mixes the samples of a batch: replicas and micro-batches, each with some of the samples, would compute another loss" in planned.stderr), (1, True) if said else (0, False), planned.stderr)

    def test_orders(self):
        """Samples may be sorted if they are put back, as experts do; a function along samples, or of neighbours in that order, mixes them."""
        class Ordered(nn.Module):
            def __init__(self, function):
                super().__init__()
                self.function = function

            def forward(self, x):
                order = x[:, 0].sort().indices
                return self.function(x, order)

        def put_back(x, order):
            back = torch.empty_like(order)
            back[order] = torch.arange(len(order))
            return x[order].relu()[back]
        functional = nn.functional
        for function, said in (
                (put_back, None), (lambda x, order: x[order].relu()[order.argsort()], None),
                (lambda x, order: torch.zeros_like(x).index_add(0, order, x[order].relu()), None),
                (lambda x, order: x[order].relu(), "sort"), (lambda x, order: x.sort(0).values, "sort"), (lambda x, order: x + x[order], "add"),
                (lambda x, order: (x[order] - x[order].roll(1, 0))[order.argsort()], "roll"),
                (lambda x, order: x[order].view(-1, 8).relu().view(-1, 4)[order.argsort()], "view"),
                (lambda x, order: x * functional.softmax(x, 0), "softmax"), (lambda x, order: x.cumsum(0), "cumsum"), (lambda x, order: x.flip(0) * x, "flip"),
                (lambda x, order: x.cumsum(1) * functional.softmax(x, -1), None)):
            made = graph(nn.Sequential(nn.Linear(6, 4), Ordered(function), nn.Linear(4, 3)), torch.randn(8, 6), loss="mse_loss")
            self.assertEqual([re.search(r"forms.py:\d+\): aten\.(\w+)", text)[1] for text in made.mixing], [said] if said else [])
        for name, how, said in (("mixtral", {}, []), ("qwen2_moe", {}, []), ("mixtral", {"output_router_logits": True}, ["mul"])):
            model, given = HUGGING[name]()
            vars(model.config).update(how)
            made = graph(model, kwargs={**given, "labels": given["input_ids"]})
            self.assertEqual([re.search(r"py:\d+\): aten\.(\w+)", text)[1] for text in made.mixing], said)
            if name == "mixtral":  # of each row: what is sorted, both products, the activation and its product, the weight
                config, rows = model.config, given["input_ids"].shape[1] * model.config.num_experts_per_tok
                saved = [op.attrs["saved"] for op in made.ops if op.kind == "opaque" and op.path.endswith("experts") and "saved" in op.attrs]
                self.assertEqual(saved, [rows * (2 * config.hidden_size + 4 * config.intermediate_size + 1)] * 2)

    def test_summed(self):
        """A loss that is a sum over samples is no mean: scripts of plans add up what parts of the batch have. One of each is neither."""
        class Compares(Linears):
            def __init__(self, loss):
                super().__init__()
                self.b, self.loss = nn.Linear(4, 3), loss

            def forward(self, x):
                return self.loss(self.a(x), self.b(x))
        functional = nn.functional
        for loss, is_sum, mixed in (
                (lambda a, b: functional.mse_loss(a, b, reduction="sum"), True, None),
                (lambda a, b: 0.5 * functional.kl_div(a, b, reduction="sum") + (a * b).sum(1).sum(), True, None),
                (lambda a, b: torch.einsum("ij,ij->", a, b), True, None),
                (lambda a, b: (a - b).square().sum() + 0.1 * len(a), True, None),  # a batch that is fixed
                (lambda a, b: (a - b).square().sum(1).mean(), False, None),
                (lambda a, b: (a - b).abs().sum() / a.shape[0], False, None),
                (lambda a, b: (a - b).abs().sum() / len(a), False, None),
                (lambda a, b: ((a - b).square() / a.shape[0]).sum(), False, None),
                (lambda a, b: functional.kl_div(a, b, reduction="batchmean"), False, None),
                (lambda a, b: functional.mse_loss(a, b, reduction="sum") + functional.mse_loss(a, b), False, "add"),
                (lambda a, b: (a - b).norm(), False, "linalg_vector_norm")):
            made = graph(Compares(loss), torch.randn(4, 4))
            found = [re.search(r"forms.py:\d+\): aten\.(\w+)", text)[1] for text in made.mixing]
            self.assertEqual((made.summed_loss, found, any("sum over samples" in note for note in made.notes)), (is_sum, [mixed] if mixed else [], is_sum), made.mixing)
            self.assertEqual(json.loads(made.json()).get("summed_loss", False), is_sum)

    def test_set_loss(self):
        """A loss that pairs outputs with targets is opaque: it reads the parameters behind it, and its line is that of the function."""
        class Boxes(nn.Module):
            def __init__(self):
                super().__init__()
                self.layer, self.weight = nn.Linear(6, 12), nn.Parameter(torch.zeros(2))

            def forward(self, x):
                return self.layer(x).view(-1, 3, 4), self.weight

        def paired_boxes(found, boxes):
            far = torch.cdist(found[0], boxes, 1.0)
            nearest = far.detach().argmin(-1, keepdim=True)
            return far.gather(-1, nearest).mean() * found[1][0].exp() + found[1][1]
        made = graph(Boxes(), torch.randn(4, 6), loss=paired_boxes, target=torch.rand(4, 3, 4))
        self.assertEqual(sorted(made.params), ["layer.bias", "layer.weight", "weight"])
        first = paired_boxes.__code__.co_firstlineno
        lines = {f"{paired_boxes.__code__.co_filename}:{first + i}" for i in range(1, 4)}
        self.assertTrue({o["source"] for o in made.opaque} <= lines, made.opaque)
        self.assertRegex(made.loss, r"paired_boxes \(.*forms.py:\d+\): opaque$")

    def test_causal_mask(self):
        """PyTorch's transformer compares its mask with a causal one, unless it is told: the refusal says how."""
        class Words(nn.Module):
            def __init__(self, **told):
                super().__init__()
                self.layers, self.told = nn.Transformer(8, 2, 1, 1, 8, batch_first=True), told

            def forward(self, x, y):
                return self.layers(x, y, tgt_mask=nn.Transformer.generate_square_subsequent_mask(y.shape[1]), **self.told)
        given = torch.randn(4, 5, 8), torch.randn(4, 6, 8)
        with self.assertRaisesRegex(hypar.torch.Cannot, r"^layers.decoder \(.*forms.py:\d+\): .* tgt_is_causal=True"):
            graph(Words(), *given)
        self.assertEqual([op.kind for op in graph(Words(tgt_is_causal=True), *given).ops].count("attention"), 3)

    def test_one_key_head(self):
        """Keys and values of one head that a model repeats for all heads: attention has that one."""
        class Shared(nn.Module):
            def __init__(self):
                super().__init__()
                self.q, self.kv = nn.Linear(16, 16), nn.Linear(16, 8)

            def forward(self, x):
                q = self.q(x).unflatten(-1, (4, 4)).transpose(1, 2)
                k, v = (y[:, None].expand(-1, 4, -1, -1) for y in self.kv(x).chunk(2, -1))
                return nn.functional.scaled_dot_product_attention(q, k, v).transpose(1, 2).flatten(2)
        made = json.loads(graph(Shared(), torch.randn(2, 6, 16), loss="mse_loss").json())
        sizes = [(op["attrs"]["heads"], op["attrs"]["kv_heads"]) for op in made["ops"] if op["kind"] == "attention"]
        self.assertEqual(sizes, [(4, 1)])

    def test_heads(self):
        """A second head is no silent loss of parameters."""
        class Heads(Linears):
            def forward(self, x):
                return {"a": self.a(x), "b": self.b(x)}
        with self.assertRaisesRegex(hypar.torch.Cannot, r"^b \(.*forms.py:\d+\): output 'b' has 2 parameters that the loss does not reach"):
            graph(Heads(), torch.randn(2, 4))
        made = graph(Heads(), torch.randn(2, 4), loss="mse_loss")
        self.assertIn("they are left out", made.notes[0])
        made = graph(Heads(), torch.randn(2, 4), loss=lambda out: out["a"].square().mean() + out["b"].square().mean())
        self.assertEqual(len(made.params), 4)

    def test_whole_module(self):
        """Elements that are chosen by what the network computes: the module is one opaque operator, told once."""
        class Experts(nn.Module):
            def __init__(self):
                super().__init__()
                self.weight = nn.Parameter(torch.randn(3, 4, 4))

            def forward(self, x):
                best = x[:, :3].topk(1, -1)[1].flatten()
                return torch.bmm(x[:, None], self.weight[best])[:, 0]
        made = graph(nn.Sequential(nn.Linear(4, 4), Experts(), nn.Linear(4, 4), Experts()), torch.randn(2, 4))
        self.assertEqual([op.kind for op in made.ops], ["linear", "opaque", "linear", "opaque", "cross_entropy"])
        self.assertEqual([(o["operator"], o["module"]) for o in made.opaque], [("Experts", "1"), ("Experts", "3")])
        self.assertEqual(made.ops[1].inputs, ["0", "1.weight"])
        # each sample saves the matrix that was chosen, and its number in 8 bytes
        self.assertEqual(made.ops[1].attrs, {"shape": [0, 4], "flops": 2 * 2 * 4 * 4, "saved": 4 * 4, "saved_bytes": 8})

    def test_branches(self):
        """torch.cond is opaque; what depends on numbers is refused by the user's line."""
        class Branches(nn.Module):
            def __init__(self, plain):
                super().__init__()
                self.layer, self.plain = nn.Linear(4, 4), plain

            def forward(self, x):
                if not self.plain:
                    return torch.cond(x.sum() > 0, self.layer, lambda y: y * 2, (x,))
                y = self.layer(x)
                return y if y.sum() > 0 else 2 * y
        made = graph(Branches(False), torch.randn(2, 4))
        self.assertEqual([o["operator"] for o in made.opaque], ["aten.gt.Scalar", "cond"])

        class Packed(nn.Module):
            def __init__(self):
                super().__init__()
                self.rnn = nn.LSTM(4, 4, batch_first=True)

            def forward(self, x, lengths):
                return self.rnn(nn.utils.rnn.pack_padded_sequence(x, lengths, batch_first=True, enforce_sorted=False))[1][0][-1]
        with self.assertRaisesRegex(hypar.torch.Cannot, r"^rnn \(.*forms.py:\d+\): torch.export: a packed sequence .* give the layer the padded batch"):
            graph(Packed(), torch.randn(2, 5, 4), torch.tensor([5, 3]))
        with self.assertRaisesRegex(hypar.torch.Cannot, r"^the model \(.*forms.py:\d+\): torch.export: .*torch.where"):
            graph(Branches(True), torch.randn(2, 4))

    def test_fails_itself(self):
        """A model that fails without torch.export, too, is told as such, on meta as well, with its line; its running statistics stay."""
        class Failing(nn.Module):
            def __init__(self, early):
                super().__init__()
                self.norm, self.layer, self.early = nn.BatchNorm1d(4), nn.Linear(4, 3), early

            def forward(self, x):
                if self.early:
                    return self.layer(self.missing(x))
                return self.layer(self.norm(x)) + torch.ones(2, 7)
        itself = r"^the model \(.*forms.py:\d+\): the model itself fails, without torch.export, too: "
        for early, why in (True, "AttributeError: 'Failing' object has no attribute 'missing'"), (False, "RuntimeError: The size of tensor"):
            model = Failing(early)
            with self.assertRaisesRegex(hypar.torch.Cannot, itself + why):
                graph(model, torch.randn(2, 4))
            self.assertEqual(model.norm.num_batches_tracked, 0)
        with torch.device("meta"):
            model = Failing(True)
        with self.assertRaisesRegex(hypar.torch.Cannot, itself + "AttributeError"):
            graph(model, torch.randn(2, 4))

    def test_written(self):
        """Norms and activations that are written out are operators of ours; parts in place are one concatenation."""
        made = graph(*models.written())
        kinds = [op.kind for op in made.ops]
        for kind, n in (("layer_norm", 2), ("gelu", 1), ("gelu_tanh", 1), ("silu", 1), ("hard_swish", 1), ("elu", 1), ("concat", 1), ("opaque", 0), ("erf", 0),
                        ("tanh", 0)):
            self.assertEqual(kinds.count(kind), n, kind)
        self.assertEqual([op.inputs[1:] for op in made.ops if op.kind == "layer_norm"], [["weight", "bias"]] * 2)
        steps = {op.kind: (op.attrs["forward_steps"], op.attrs["backward_steps"]) for op in made.ops if "forward_steps" in op.attrs}
        self.assertEqual({kind: n for kind, (n, _) in steps.items()}, {"layer_norm": 8, "gelu_tanh": 9, "gelu": 5, "silu": 4, "hard_swish": 4})
        self.assertTrue(all(n <= m <= 3 * n for n, m in steps.values()), steps)
        (joined,) = (op for op in made.ops if op.kind == "concat")
        self.assertEqual(len(joined.inputs), 2)
        (ids,) = (made.constants[op.inputs[1]] for op in made.ops if op.kind == "index_select" and made.constants[op.inputs[1]].numel() == 3)
        self.assertEqual(ids.tolist(), [5, 0, 4])
        made = graph(nn.Sequential(nn.Linear(6, 6), nn.GELU(), nn.LayerNorm(6), nn.RMSNorm(6)), torch.randn(3, 6))
        self.assertFalse(any("forward_steps" in op.attrs for op in made.ops))

    def test_widened(self):
        """What a model computes in fp32 where its parameters are in 16 bits: between its casts, and where one operand is in fp32."""
        class Scaled(nn.Module):
            def __init__(self, widen):
                super().__init__()
                self.first, self.second, self.rate, self.widen = nn.Linear(32, 64), nn.Linear(64, 5), nn.Parameter(torch.zeros(64)), widen

            def forward(self, x):
                x = self.first(x)
                y = x.float() if self.widen else x
                y = (torch.exp(y) * self.rate).to(x.dtype)
                return self.second(y + x)
        x = torch.randn(256, 32)
        made = graph(Scaled(True), x)
        self.assertEqual([(op.kind, op.wide) for op in made.ops], [
            ("linear", False), ("identity", True), ("exp", True), ("mul", True), ("identity", False), ("add", False), ("linear", False), ("cross_entropy", False)])
        self.assertEqual(made.ops[5].inputs, ["identity_2", "first"])  # what is behind a cast reads the tensor itself where the model does

        class Sliced(Scaled):
            def forward(self, x):
                y = self.first(x)
                return self.second((torch.exp(y.float()) * self.rate).to(y.dtype)[:, slice(0, None)])  # all of it: no operator in 16 bits
        self.assertEqual([(op.kind, op.wide) for op in graph(Sliced(True), x).ops], [
            ("linear", False), ("identity", True), ("exp", True), ("mul", True), ("identity", False), ("linear", False), ("cross_entropy", False)])
        plain = graph(Scaled(False), x)
        self.assertEqual([op.kind for op in plain.ops], ["linear", "exp", "mul", "add", "linear", "cross_entropy"])
        self.assertFalse(any(op.wide for op in plain.ops))
        peak = {}
        for name, of, kinds in (("wide", made, ["--as", "eager"]), ("plain", plain, ["--as", "eager"]), ("compiled", made, ["--as", "compiled"])):
            for precision in "fp32", "bf16":
                with tempfile.TemporaryDirectory() as folder:
                    path = os.path.join(folder, "m.json")
                    of.write(path)
                    self.assertEqual(hypar.run("import", path)["ops"], len(of.ops))
                    peak[name, precision] = hypar.run("plan", path, "--on", "full:1", "--planner", "dp", "--precision", precision, *kinds)["predicted"]["peak_memory_bytes"]
        one = 256 * 64 * 2  # bytes of [256, 64] in bf16
        self.assertEqual(peak["wide", "fp32"], peak["plain", "fp32"])
        self.assertGreaterEqual(peak["wide", "bf16"], peak["plain", "bf16"] + one)  # of exp, which the backward half reads
        self.assertLess(peak["compiled", "bf16"], peak["wide", "bf16"])

    def test_saved(self):
        """What PyTorch saves of norms and activations, of losses in 16 bits, of bags and of recurrent layers, as the model writes them."""
        class Norm(nn.Module):
            def __init__(self, narrow_first, stepwise):
                super().__init__()
                self.weight, self.narrow_first, self.stepwise = nn.Parameter(torch.ones(32)), narrow_first, stepwise

            def forward(self, x):
                y = x.to(torch.float32)
                y = y * torch.rsqrt(y.pow(2).mean(-1, keepdim=True) + 1e-6)
                x = (self.weight * y.to(x.dtype) if self.narrow_first else (self.weight * y).to(x.dtype)) + x
                return nn.functional.silu(torch.logaddexp(x, x)) if self.stepwise else x  # PyTorch knows it in smaller steps
        x = torch.randn(4, 3, 32)
        for narrow_first, short in (True, 4), (False, 6):
            for stepwise in False, True:
                made = graph(nn.Sequential(nn.Linear(32, 32), Norm(narrow_first, stepwise), nn.Linear(32, 5)), x)
                norm = next(op.attrs for op in made.ops if op.kind == "rms_norm")
                self.assertEqual((norm["saved_fp32"], norm["saved_short"]), (4, short))
        class Shifted(Norm):
            def forward(self, x):
                y = x.float()
                return (y * torch.rsqrt(y.pow(2).mean(-1, keepdim=True) + 1e-6) * (1 + self.weight.float())).type_as(x)
        made = graph(nn.Sequential(nn.Linear(32, 32), Shifted(False, False), nn.Linear(32, 5)), x)
        norm = next(op.attrs for op in made.ops if op.kind == "rms_norm")  # what it gives is an operand in fp32, in the graph in 16 bits
        self.assertEqual((norm["saved_fp32"], norm["saved_short"]), (0, 2 + 2))
        made = graph(nn.Sequential(nn.Linear(32, 32), nn.RMSNorm(32), nn.GELU(approximate="tanh"), nn.Linear(32, 5)), x)
        self.assertEqual([(op.kind, op.attrs["saved_fp32"], op.attrs["saved_short"]) for op in made.ops if "saved_short" in op.attrs],
                         [("rms_norm", 0, 0), ("gelu_tanh", 0, 0)])

        class Own(nn.Module):
            def __init__(self, cast):
                super().__init__()
                self.head, self.cast = nn.Linear(32, 5), cast

            def forward(self, x, labels):
                y = self.head(x)
                y = y.float() if self.cast else y
                return nn.functional.cross_entropy(y, labels)
        for cast, attrs in (True, {}), (False, {"upcast": 0}):
            self.assertEqual(graph(Own(cast), x[:, 0], torch.zeros(4, dtype=torch.int64)).end.attrs, attrs)
        self.assertEqual(graph(nn.Linear(32, 5), x[:, 0], target=torch.zeros(4, dtype=torch.int64), loss="cross_entropy").end.attrs, {})

        made = graph(nn.Sequential(nn.EmbeddingBag(9, 4, mode="sum"), nn.Linear(4, 5)), torch.randint(0, 9, (4, 3)))
        self.assertEqual(made.ops[0].attrs, {"saved_bytes": 8 + 8 + 3 * 8, "host_saved_bytes": 3 * 8})

        class Words(nn.Module):
            def __init__(self, batch_first, last):
                super().__init__()
                self.cells, self.head, self.last = nn.LSTM(32, 32, batch_first=batch_first), nn.Linear(32, 5), last

            def forward(self, x):
                y = self.cells(x)[0]
                return self.head(y[:, -1] if self.last else y)
        for batch_first, last, copies in (True, False, 1), (True, True, 0):
            kinds = [op.kind for op in graph(Words(batch_first, last), x).ops]
            self.assertEqual(kinds.count("affine"), copies, kinds)

    def test_documented(self):
        """The document names the operators that are put together again, and the loss functions that are written out."""
        with open(os.path.join(ROOT, "docs", "formats-torch.md"), encoding="utf-8") as file:
            text = file.read()
        together = text.split("**Put together again:**")[1].split("\n\n")[0]
        for kind in (*patterns.ACTIVATIONS, "rms_norm", "layer_norm", "rope", "attention"):
            self.assertIn(f"`{kind}`", together)
        written = text.split("| sums of such, and means of what is 0 or more (")[1].split(")")[0].lower()
        for words in losses.PAIRS:
            name = words.removesuffix("_with_logits").removesuffix("_loss").replace("_", " ")
            self.assertIn(name, written)

    def test_losses_of_pairs(self):
        """Losses of an output and its target that are 0 or more are written out."""
        x, y = torch.randn(4, 6), torch.randn(4, 5)
        for loss in (nn.functional.smooth_l1_loss, nn.functional.huber_loss, lambda z, t: nn.functional.softplus(-z).mean(),
                     lambda z, t: (0.5 + z - t).clamp_min(0).mean()):
            made = graph(Returned(loss), x, y)
            self.assertEqual((made.opaque, made.loss.rpartition(": ")[2]), ([], "written out"))

    def test_no_gradient(self):
        """What PyTorch computes without a gradient, and rows that it does not train, are told."""
        class Stopped(nn.Module):
            def __init__(self, form):
                super().__init__()
                self.form, self.embed, self.layer = form, nn.Embedding(9, 6, padding_idx=0), nn.Linear(6, 6)

            def forward(self, x):
                y = self.layer(self.embed(x))
                with torch.no_grad() if self.form == "no_grad" else contextlib.nullcontext():
                    z = self.layer(y)
                return y + (z.detach() if self.form == "detach" else z)
        for form in ("no_grad", "detach", ""):
            notes = " ".join(graph(Stopped(form), torch.tensor([[1, 0], [3, 4]])).notes)
            self.assertEqual("no gradient passes here" in notes, bool(form), notes)
            self.assertIn("row 0 (padding_idx)", notes)
        self.assertNotIn("padding_idx", " ".join(graph(Stopped(""), torch.tensor([[1, 2], [3, 4]])).notes))

    def test_remedies(self):
        """What torch.export cannot do has the remedy for its case."""
        class Foreign(nn.Module):
            def forward(self, x):
                return torch.from_numpy(x.detach().numpy() * 2)

        class Masked(nn.Module):
            def __init__(self):
                super().__init__()
                self.layer = nn.Linear(4, 4)

            def forward(self, x, mask=None):
                mask = mask if mask is not None or torch.compiler.is_compiling() else torch.ones(x.shape[0], 1)
                return self.layer(x) * mask[:, :1]
        with self.assertRaisesRegex(hypar.torch.Cannot, "^the model .*torch.library.custom_op"):
            graph(Foreign(), torch.randn(3, 4))
        with self.assertRaisesRegex(hypar.torch.Cannot, "NoneType.*give it all its arguments"):
            graph(Masked(), torch.randn(3, 4))

    def test_complex(self):
        """A complex parameter is refused; complex numbers of pairs are opaque where they are not turned by known ones."""
        class Waves(nn.Module):
            def __init__(self, is_complex):
                super().__init__()
                self.is_complex = is_complex
                self.factor = nn.Parameter(torch.randn(4, dtype=torch.cfloat) if is_complex else torch.randn(4, 2))

            def forward(self, x):
                waves = torch.fft.rfft(x)
                kept = torch.zeros_like(waves)
                kept[:, :4] = waves[:, :4] * (self.factor if self.is_complex else torch.view_as_complex(self.factor))
                return torch.fft.irfft(kept, n=x.shape[-1])
        with self.assertRaisesRegex(hypar.torch.Cannot, "^parameter 'factor' is complex64, expected real numbers: torch.view_as_complex"):
            graph(Waves(True), torch.randn(3, 8))
        made = graph(Waves(False), torch.randn(3, 8))
        self.assertTrue(made.opaque)
        self.assertEqual(list(made.params), ["factor"])

    def test_known_shapes(self):
        """Integers of the samples in the shape of what the network computes are inputs; labels that differ by sample end in an opaque loss."""
        class Spread(nn.Module):
            def __init__(self):
                super().__init__()
                self.layer = nn.Linear(4, 6)

            def forward(self, x, edges):
                y = self.layer(x)
                rows = y.gather(1, edges[:, 0, :, None].expand(-1, -1, 6))
                return torch.zeros_like(y).scatter_add(1, edges[:, 1, :, None].expand_as(rows), rows).mean(1)
        made = graph(Spread(), torch.randn(3, 5, 4), torch.randint(0, 5, (3, 2, 7)))
        self.assertEqual((made.opaque, [op.kind for op in made.ops].count("scatter_add")), ([], 1))

        class Contrasted(nn.Module):
            def __init__(self):
                super().__init__()
                self.layer = nn.Linear(4, 6)

            def forward(self, a, b):
                z, n = self.layer(torch.cat([a, b])), a.shape[0]
                s = (z @ z.t()).masked_fill(torch.eye(2 * n, dtype=torch.bool), -torch.inf)
                return nn.functional.cross_entropy(s, torch.cat([torch.arange(n) + n, torch.arange(n)]))
        made = graph(Contrasted(), torch.randn(4, 4), torch.randn(4, 4))
        self.assertEqual((len(made.opaque), len(made.mixing), made.end.kind), (2, 1, "cross_entropy"))

    def test_drop_path(self):
        """A factor for each sample is dropout, told once for all modules."""
        made = graph(nn.Sequential(nn.Linear(4, 4), DropPath(), nn.Linear(4, 4), DropPath(True)), torch.randn(2, 4))
        self.assertEqual([op.kind for op in made.ops], ["linear", "dropout", "linear", "dropout", "cross_entropy"])
        self.assertEqual((made.opaque, made.notes), ([], ["1 and 1 more: a factor drawn for each sample is planned as dropout"]))

    def test_meta(self):
        """A model without values: parameters stay so, buffers that nothing makes are told."""
        with torch.device("meta"):
            model, x = Tied(), torch.randint(0, 11, (2, 5))
        made = graph(model, x)
        self.assertEqual([op.name for op in made.ops], ["embed", "add", "norm", "head", "loss"])
        self.assertIn("Tied.shift", made.notes[0])
        self.assertTrue(all(t.is_meta for t in (*model.parameters(), *model.buffers())))
        with tempfile.TemporaryDirectory() as folder, self.assertRaisesRegex(hypar.Failed, "no values to write"):
            made.write(os.path.join(folder, "m.json"), os.path.join(folder, "m.safetensors"))

    def test_chosen(self):
        made = graph(Chosen(), torch.randn(2, 6), torch.randint(0, 8, (2, 3)))
        self.assertEqual(made.opaque, [])
        kinds = ["linear", "reduce_max", "gather_elements", "index_select", "index_select", "concat", "slice", "scatter_add", "clip", "mul"]
        self.assertEqual([op.kind for op in made.ops], kinds + ["cross_entropy"])
        self.assertEqual(made.inputs["ids"], {"name": "ids", "shape": [2, 3], "index": True})

    def test_ignored_labels(self):
        """Labels that some samples do not have are counted, and told to be refused."""
        class Own(nn.Module):
            def __init__(self):
                super().__init__()
                self.layer = nn.Linear(6, 8)

            def forward(self, x, labels):
                return nn.functional.cross_entropy(self.layer(x), labels)
        made = graph(Own(), torch.randn(4, 6), torch.tensor([1, -100, 2, 3]))
        self.assertEqual(made.notes, ["1 of 4 labels are -100, which the model ignores; hypar refuses samples with such labels"])

    def test_one_sample(self):
        """An example of one sample does not fix the batch."""
        made = graph(network()[0], torch.randn(1, 4), target=torch.tensor([1]))
        self.assertEqual((made.inputs["input"]["shape"], made.is_doubled), ([2, 4], True))
        self.assertFalse(graph(network()[0], torch.randn(2, 4)).is_doubled)

    @unittest.skipUnless(importlib.util.find_spec("transformers"), "transformers is not installed")
    def test_cache(self):
        """A model of Hugging Face that returns a cache of keys and values: the cache is turned off, and is on again afterwards."""
        model, given = HUGGING["gpt2"]()
        made = graph(model, kwargs=given)
        self.assertEqual([note for note in made.notes if "use_cache" in note],
                         ["the model is exported with use_cache = False: a training step reads no cache of keys and values"])
        self.assertEqual((model.config.use_cache, made.opaque), (True, []))

    def test_label_smoothing(self):
        """Samples and positions that are one dimension are told apart, as if they had not been joined."""
        ids = torch.randint(0, 11, (2, 5))
        for flat in (lambda z: z.flatten(0, 1), lambda z: z.view(-1, 6), lambda z: z[:, :-1].reshape(-1, 6)):
            made = graph(Smoothed(flat), ids, ids % 6)
            self.assertEqual((made.loss.endswith(": written out"), made.opaque), (True, []), made.loss)
        self.assertEqual(made.inputs["labels"]["shape"], [2, 4, 1])

    def test_computed_sizes(self):
        """Rows that the network chooses are as many as it computes: the module is one opaque operator."""
        class Experts(nn.Module):
            def __init__(self):
                super().__init__()
                self.gate, self.experts = nn.Linear(6, 2), nn.ModuleList(nn.Linear(6, 6) for _ in range(2))

            def forward(self, x):
                chosen, y = self.gate(x).argmax(-1), torch.zeros_like(x)
                for i, expert in enumerate(self.experts):
                    rows, = torch.where(chosen == i)
                    y = y.index_add(0, rows, expert(x[rows]))
                return y
        made = graph(nn.Sequential(nn.Linear(5, 6), Experts(), nn.Linear(6, 3)), torch.randn(4, 5))
        self.assertEqual([o["module"] for o in made.opaque], ["1"])
        self.assertEqual(sum(math.prod(p["shape"]) for p in made.params.values()), 36 + 14 + 84 + 21)
        with self.assertRaisesRegex(Exception, r"^the model \(.*forms.py:\d+\): .*a module of its own"):
            graph(Experts(), torch.randn(4, 6))

    def test_open_clip(self):
        """A bound that is infinite is none."""
        class Clipped(nn.Linear):
            def forward(self, x):
                return super().forward(x).clamp(0.0, math.inf)
        clip = next(op for op in graph(Clipped(4, 3), torch.randn(2, 4)).ops if op.kind == "clip")
        self.assertEqual(clip.attrs, {"min": 0.0, "max": 1e30})

    def test_opaque_line(self):
        """One line tells of all operators that are not known."""
        from hypar.torch.__main__ import opaque_text
        opaque = [{"name": f"o{i}", "operator": f"aten.k{i % 5}", "module": "m" if i else "", "source": f"n.py:{i}", "why": "why"} for i in range(6)]
        self.assertEqual(opaque_text(opaque), "6 opaque operators: o0 and 1 more: aten.k0 in the model or its loss (n.py:0): why; o1: aten.k1 in module 'm' "
                         "(n.py:1): why; o2: aten.k2 in module 'm' (n.py:2): why; 2 more kinds, which --debug tells")
        self.assertTrue(opaque_text(opaque, True).endswith("o4: aten.k4 in module 'm' (n.py:4): why"))

    def test_rope_tables(self):
        """Tables of a rotary embedding have dimensions of size 1, or leave out those before the positions."""
        for heads_first, lead in ((True, ()), (True, (1,)), (True, (1, 1)), (False, ())):
            for half in (False, True):
                for on in ("cpu", "meta"):
                    with torch.device(on):
                        model = Rotary(heads_first, lead, half)
                    made = graph(model, torch.randn(2, 6, 16))
                    self.assertEqual([op.kind for op in made.ops if op.kind not in ("reshape", "transpose", "split")],
                                     ["linear", "rope", "rope", "attention", "cross_entropy"], (heads_first, lead, half, on))
                    self.assertEqual(any("their base is taken to be 10000" in note for note in made.notes), on == "meta")

    def test_rope_frequencies(self):
        """Tables of frequencies on meta, turned in the forward half; a plain attribute on meta is refused by one line."""
        class Turned(Rotary):
            def __init__(self, plain):
                super().__init__(True, (), False)
                frequencies = 10000 ** (-torch.arange(0, 8, 2) / 8)
                self.plain = frequencies
                if not plain:
                    del self.plain
                    self.register_buffer("plain", frequencies, persistent=False)

            def rotate(self, x, t):
                angles = torch.outer(torch.arange(t, device=self.plain.device).float(), self.plain)
                angles = torch.cat([angles, angles], -1)
                a, b = x.chunk(2, -1)
                return x * angles.cos() + torch.cat([-b, a], -1) * angles.sin()
        with torch.device("meta"):
            buffer, plain = Turned(False), Turned(True)
        self.assertEqual([op.kind for op in graph(buffer, torch.randn(2, 6, 16)).ops].count("rope"), 2)
        with self.assertRaisesRegex(hypar.torch.Cannot, r"^the model \(.*forms.py:\d+\): .*on meta .*register_buffer"):
            graph(plain, torch.randn(2, 6, 16))

    def test_precisions(self):
        """A model in bf16 or fp16 is the same graph as in fp32: casts and rounded tables hide no pattern. Casts are kernels more."""
        def made(name, kind, on="cpu"):
            with torch.device(on):
                model, given = HUGGING[name]()
            given = {key: x.to(kind) if x.is_floating_point() else x for key, x in given.items()}
            of = hypar.torch.graph(model.to(kind), (), given)
            steps = {op.name: [op.attrs[half] for half in ("forward_steps", "backward_steps") if half in op.attrs] for op in of.ops}
            plain = [(op.name, op.kind, {key: x for key, x in op.attrs.items() if not key.endswith("_steps") and op.kind != "affine"})
                     for op in of.ops]  # the factor of affine is rounded
            return plain, steps

        def check(name, *how):
            (ops, steps), (wanted_ops, wanted_steps) = made(name, *how), wanted
            self.assertEqual(ops, wanted_ops, name)
            self.assertEqual({op: [n >= m for n, m in zip(steps[op], wanted_steps[op])] for op in steps},
                             {op: [True] * len(wanted_steps[op]) for op in steps}, name)
        for name in ("llama", "qwen2", "mistral", "gemma2", "gpt_neox", "bert", "vit"):
            wanted = made(name, torch.float32)
            check(name, torch.bfloat16)
            if name == "llama":
                check(name, torch.float16)
                check(name, torch.bfloat16, "meta")

    def test_rounded_tables(self):
        """Frequencies or tables of a rotary embedding that a type of fewer digits rounds have the base that they were made with;
        frequencies that are not those of one base have none."""
        for kind in (torch.float32, torch.bfloat16, torch.float16):
            eps = torch.finfo(kind).eps
            for base in (10000, 500000, 1000000, *((10001.5, 12345) if kind == torch.float32 else ())):
                exact = base ** (-torch.arange(0, 64, 2) / 64)
                scaled = torch.where(exact < 0.01, exact / 8, exact)
                for frequencies, rounds, wanted in ((exact.to(kind), False, base), (exact, True, base), (scaled, True, None), (scaled.to(kind), False, None)):
                    angles = torch.outer(torch.arange(2048).float(), frequencies.float()).repeat(1, 2)
                    tables = [v.to(kind) if rounds else v for v in (angles.cos(), angles.sin())]
                    self.assertEqual(hypar.torch.patterns._theta(*tables, eps), wanted, (kind, base, rounds))

    def test_pairs(self):
        """A rotary embedding that turns neighbours is told of; it is no 'rope'."""
        class Pairs(nn.Module):
            def __init__(self):
                super().__init__()
                self.layer, self.angle = nn.Linear(8, 8), torch.arange(6.0)[:, None] * 0.1 ** torch.arange(4)

            def forward(self, x):
                x = self.layer(x)
                a, b, cos, sin = x[..., ::2], x[..., 1::2], self.angle.cos(), self.angle.sin()
                return torch.stack((a * cos - b * sin, a * sin + b * cos), -1).flatten(-2)
        made = graph(Pairs(), torch.randn(2, 6, 8))
        self.assertEqual(len([note for note in made.notes if "turns pairs of neighbours" in note]), 1, made.notes)
        made = graph(Rotary(True, (), False), torch.randn(2, 6, 16))
        self.assertEqual([note for note in made.notes if "turns pairs" in note], [])

    def test_batch_dim(self):
        class Sequence(nn.Module):
            def __init__(self):
                super().__init__()
                self.rnn, self.head = nn.LSTM(4, 6), nn.Linear(6, 3)

            def forward(self, x):
                return self.head(self.rnn(x)[0])
        made = graph(Sequence(), torch.randn(7, 2, 4), batch_dims={"x": 1})
        self.assertEqual(made.inputs["x"], {"name": "x", "shape": [7, 2, 4], "sample_dim": 1})
        self.assertEqual([op.kind for op in made.ops if op.kind not in ("transpose",)], ["lstm", "linear", "cross_entropy"])

    def test_samples(self):
        """Arguments with other numbers of samples are named, with the option that helps."""
        class Messages(nn.Module):
            def __init__(self):
                super().__init__()
                self.layer = nn.Linear(4, 3)

            def forward(self, x, links):
                return self.layer(x[links[0]] + x[links[1]])
        x, links = torch.randn(6, 4), torch.randint(0, 6, (2, 6))
        with self.assertRaisesRegex(hypar.torch.Cannot, r"^argument 'x' \[6, 4\] has 6 samples and 'links' .* --batch-dim links=-1"):
            graph(Messages(), x, links)
        self.assertEqual(graph(Messages(), x, links, batch_dims={"links": None}).params.keys(), {"layer.weight", "layer.bias"})

    def test_ctc(self):
        """A loss that PyTorch has no shapes for: the network comes in, and its loss is opaque."""
        class Speech(nn.Module):
            def __init__(self):
                super().__init__()
                self.layer = nn.Linear(4, 6)

            def forward(self, x, y):
                z = self.layer(x).log_softmax(-1).transpose(0, 1)
                lengths = [torch.full((x.shape[0],), n) for n in (x.shape[1], y.shape[1])]
                return nn.functional.ctc_loss(z, y, *lengths)
        made = graph(Speech(), torch.randn(3, 8, 4), torch.randint(1, 6, (3, 2)))
        self.assertEqual(len(made.params), 2)
        self.assertTrue(made.opaque)
        self.assertTrue(made.loss.endswith(": opaque"), made.loss)

    def test_command(self):
        with tempfile.TemporaryDirectory() as folder:
            path, weights = (os.path.join(folder, name) for name in ("m.json", "m.safetensors"))
            folders = [os.path.join(ROOT, "python"), os.path.dirname(os.path.abspath(__file__))]
            environment = {**os.environ, "PYTHONPATH": os.pathsep.join(folders), "PYTHONWARNINGS": "ignore"}
            command = ["-m", "hypar.torch", "forms:network", "-o", path, "--weights", weights]
            done = subprocess.run([sys.executable, *command], env=environment, capture_output=True, text=True)
            self.assertEqual((done.returncode, done.stdout), (0, ""), done.stderr)
            with open(path) as file:
                self.assertEqual(json.load(file)["weights"], "m.safetensors")
            about = hypar.run("import", path)
            self.assertEqual(about["params"], 4 * 8 + 8 + 8 * 3 + 3)
            steps = hypar.run("train", path, "--steps", 2, "-q")
            self.assertEqual(len(steps), 3)
            with open(weights, "rb+") as file:  # the last byte: found by its checksum
                file.seek(-1, os.SEEK_END)
                last = file.read(1)[0]
                file.seek(-1, os.SEEK_END)
                file.write(bytes([last ^ 1]))
            done = subprocess.run([os.environ["HYPAR"], "train", path, "--steps", "1"], capture_output=True, text=True)
            self.assertEqual(done.returncode, 3, done.stderr)
            self.assertIn("is damaged: its checksum is ", done.stderr)
            for name, path_of, why in (("", folder, "the command 'hypar' is not on PATH, and HYPAR does not name it"), ("none", folder, "HYPAR=none: no such command")):
                at_once = {**environment, "HYPAR": name, "PATH": path_of, "PYTHONVERBOSE": "1"}  # which tells each module that is loaded
                done = subprocess.run([sys.executable, *command], env=at_once, capture_output=True, text=True)
                self.assertEqual((done.returncode, [line for line in done.stderr.splitlines() if line.startswith("hypar")]), (3, [f"hypar.torch: {why}"]))
                self.assertNotIn("import 'torch'", done.stderr)
            nowhere = os.path.join(folder, "nowhere", "net.json")
            done = subprocess.run([sys.executable, *command[:3], "-o", nowhere], env={**environment, "PYTHONVERBOSE": "1"}, capture_output=True, text=True)
            told = [line for line in done.stderr.splitlines() if line.startswith("hypar")]
            self.assertEqual((done.returncode, told), (4, [f"hypar.torch: {nowhere}: cannot write: No such directory"]))
            self.assertNotIn("import 'torch'", done.stderr)
            command[2] = "forms:nothing"
            done = apart.run(*command, environment=environment)
            self.assertEqual((done.returncode, done.stderr), (3, "hypar.torch: forms:nothing: AttributeError: module 'forms' has no attribute 'nothing'\n"))
            command[2] = "forms:branching"
            done = apart.run(*command, environment=environment)
            self.assertEqual((done.returncode, done.stderr.count("\n")), (3, 1), done.stderr)
            command[2:] = ["forms:one", "-o", path]
            done = apart.run(*command, environment=environment)
            self.assertIn(", batch 2 (the one sample was doubled, so that the batch stays open)\n", done.stderr)
            command[2:] = ["forms:compared", "-o", path, "--loss", "absolute"]
            done = apart.run(*command, environment=environment)
            self.assertIn("hypar.torch: loss: forms:absolute (", done.stderr)
            for words, code, told in ((["--loss", "nosuch"], 3, "loss forms:nosuch: forms has no 'nosuch'; expected cross_entropy, mse_loss, or MODULE:FUNCTION, "
                                                                "a function of what the model returns and of the target"),
                                      (["--loss", "ROOT"], 3, "loss forms:ROOT: forms.ROOT is a str; expected cross_entropy, mse_loss, or MODULE:FUNCTION, "
                                                              "a function of what the model returns and of the target"),
                                      (["--loss", "nomodule:f"], 3, "loss nomodule:f: No module named 'nomodule'; expected cross_entropy, mse_loss, or "
                                                                    "MODULE:FUNCTION, a function of what the model returns and of the target"),
                                      (["--batch-dim", "foo=1"], 2, "--batch-dim foo=1: the model is given no argument 'foo'; it is given 'input'")):
                command[2:] = ["forms:compared", "-o", path, *words]
                done = apart.run(*command, environment=environment)
                self.assertEqual((done.returncode, done.stderr), (code, f"hypar.torch: {told}\n"))
            command[2:] = ["forms:identity", "-o", path, "--weights", weights]
            os.remove(path)
            done = apart.run(*command, environment=environment)
            self.assertEqual((done.returncode, done.stderr.count("\n"), os.listdir(folder)), (3, 1, ["m.safetensors"]), done.stderr)
            command[-1] = path
            done = apart.run(*command, environment=environment)
            self.assertEqual((done.returncode, os.listdir(folder)), (3, ["m.safetensors"]), done.stderr)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--hypar", default=os.path.join(ROOT, "build", "hypar"))
    given, rest = parser.parse_known_args()
    os.environ["HYPAR"] = os.path.abspath(given.hypar)
    unittest.main(argv=[sys.argv[0]] + rest)
