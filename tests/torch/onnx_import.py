#!/usr/bin/env python3
"""onnx_import.py [OPTIONS] [NAME...] - networks of PyTorch by ONNX, as its default exporter writes them, compared with PyTorch.

Of each: operators that are opaque, attention, the elements of the file that are trained and those that are constants; of a
file written with optimize=False the parameters, which are PyTorch's, and of those in small (models.py) the loss. Those in TRAINED
are exported in training mode, by both exporters: what is drawn at random must come in as dropout."""
import argparse
import contextlib
import io
import json
import logging
import math
import os
import re
import subprocess
import sys
import tempfile
import time
import traceback
import warnings

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
try:
    import numpy
    import onnx
    import onnxscript  # noqa: F401 (the exporter needs it)
    import torch
except ImportError as missing:
    print(f"skipped: {missing}")
    sys.exit(77)
import models

CLOSE = 2e-5
FIRST = ("mlp", "resnet", "unet", "lstm", "bilstm", "gru", "transformer", "encoder", "bert", "roberta", "gpt2", "llama", "qwen3",
         "phi", "t5", "swin", "whisper")  # in CI
BRIEF = {"mlp", "resnet", "lstm", "bert", "llama", "residual", "gpt2"}  # of these and of TRAINED, in the short form of the test


def residual(depth):
    """Blocks that are left out at random, as torchvision writes them, and dropout in place."""
    class Dropped(torch.nn.Module):
        def forward(self, x):
            if not self.training:
                return x
            return x * torch.empty([x.shape[0], 1, 1, 1]).bernoulli_(0.8).div_(0.8)

    class Net(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.blocks = torch.nn.ModuleList(
                torch.nn.Sequential(torch.nn.Conv2d(8, 8, 3, padding=1, bias=False), torch.nn.BatchNorm2d(8), torch.nn.Hardswish(), Dropped())
                for _ in range(depth))
            self.head = torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Dropout(0.3, inplace=True), torch.nn.Linear(512, 7))

        def forward(self, x):
            for block in self.blocks:
                x = x + block(x)
            return self.head(x)
    return Net(), (torch.randn(2, 8, 8, 8),), {}


def hugging(config, model, image=0, target=False, **options):
    """A model of Hugging Face's with its dropouts as they are."""
    import transformers
    c = getattr(transformers, config)(**options)
    c.use_cache = False
    kwargs = {"pixel_values": torch.randn(2, 3, image, image)} if image else {"input_ids": models.tokens(2, 16, 90)}
    if target:
        kwargs["decoder_input_ids"] = models.tokens(2, 16, 90)
    return getattr(transformers, model)(c), (), kwargs


TRAINED = {  # with how many dropouts outside attention
    "residual": (3, lambda: residual(2)),
    "vit": (5, lambda: hugging("ViTConfig", "ViTForImageClassification", 16, hidden_size=32, intermediate_size=64, num_hidden_layers=2,
                               num_attention_heads=4, image_size=16, patch_size=4, hidden_dropout_prob=0.1)),
    "swin": (3, lambda: hugging("SwinConfig", "SwinForImageClassification", 32, image_size=32, patch_size=2, embed_dim=8, depths=[2, 2],
                                num_heads=[2, 4], window_size=4, drop_path_rate=0.2)),
    "convnext": (2, lambda: hugging("ConvNextConfig", "ConvNextForImageClassification", 32, hidden_sizes=[8, 16], depths=[1, 2], num_stages=2,
                                    drop_path_rate=0.2)),
    "bert": (5, lambda: hugging("BertConfig", "BertForMaskedLM", **models.SIZES)),
    "gpt2": (5, lambda: hugging("GPT2Config", "GPT2LMHeadModel", vocab_size=96, n_embd=32, n_layer=2, n_head=4, n_positions=32)),
    "t5": (18, lambda: hugging("T5Config", "T5ForConditionalGeneration", target=True, vocab_size=96, d_model=32, d_kv=8, d_ff=64, num_layers=2,
                               num_heads=4, decoder_start_token_id=0)),
}


def network(name):
    """A model, its arguments, and the tensors by the names that the file has them under."""
    model, given = models.ALL[name]()
    for module in model.modules():  # torch.onnx.export refuses a model that returns a cache
        if getattr(getattr(module, "config", None), "use_cache", False):
            module.config.use_cache = False
    args = () if isinstance(given, dict) else given if isinstance(given, tuple) else (given,)
    kwargs = dict(given) if isinstance(given, dict) else {}
    labels = kwargs.pop("labels", None)
    if name in ("t5", "bart", "whisper"):
        kwargs["decoder_input_ids"] = labels
    return model.eval(), args, kwargs


def first_tensor(out):
    while not isinstance(out, torch.Tensor):
        out = next(iter(out.values())) if hasattr(out, "values") else out[0]
    return out


def hypar(command, *args):
    done = subprocess.run([command, *args], capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError(done.stderr.strip())
    return done.stdout, done.stderr


def imported(command, path):
    """The graph, and what is said about it."""
    graph = path[:-5] + ".json"
    _, notes = hypar(command, "import", path, "-o", graph)
    with open(graph) as file:
        return json.load(file), notes


def accounted(path, graph, notes):
    """Elements of the file that are neither trained nor said to be something else."""
    file = onnx.load(path, load_external_data=False).graph
    floats = sum(math.prod(t.dims) for t in file.initializer if t.data_type in (1, 10, 11, 16) and math.prod(t.dims) > 1)
    trained = sum(math.prod(p["shape"]) for p in graph["params"])
    said = " ".join(notes.split())  # notes are broken between words
    return floats - trained - sum(int(n) for n in re.findall(r"initializers? with (\d+) elements", said))


def loss(command, path, graph, model, args, kwargs):
    """The difference of the loss of a step, relative."""
    given = {**dict(zip((i["name"] for i in graph["inputs"]), args)), **kwargs}
    for info in graph["inputs"]:
        if info["name"] in given or info.get("sample_dim", 0) < 0:
            continue
        if info["name"] in ("labels", "target"):
            given[info["name"]] = torch.randint(0, 4, info["shape"]) if info.get("index") else torch.randn(info["shape"])
        else:  # positions that RoBERTa counts from its ids, without padding
            given[info["name"]] = torch.arange(2, 2 + info["shape"][1]).expand(info["shape"])
    model.train()
    with torch.no_grad():
        out = first_tensor(model(*args, **kwargs)).double()
    if "labels" in given:
        want = torch.nn.functional.cross_entropy(out.flatten(0, -2), given["labels"].flatten())
    else:
        want = torch.nn.functional.mse_loss(out, given["target"].double())
    files = []
    for name, array in given.items():
        files.append(f"{name}={path}.{len(files)}.npy")
        numpy.save(files[-1].split("=", 1)[1], array.numpy())
    text, _ = hypar(command, "train", path, "--data", ",".join(files), "--precision", "fp64", "--optimizer", "sgd", "--learning-rate",
                    "1e-3", "--steps", "1", "--json", "-q")
    have = next(line["loss"] for line in map(json.loads, text.splitlines()) if "step" in line)
    return abs(have - want.item()) / abs(want.item())


def check(name, command):
    torch.manual_seed(1)
    start = time.time()
    model, args, kwargs = network(name)
    wanted = sum(p.numel() for p in model.parameters())
    with tempfile.TemporaryDirectory() as folder:
        plain, optimized = os.path.join(folder, "plain.onnx"), os.path.join(folder, "optimized.onnx")
        with torch.no_grad(), contextlib.redirect_stdout(io.StringIO()):  # with gradients PyTorch cannot export T5's views
            program = torch.onnx.export(model, args, kwargs=kwargs, dynamo=True, optimize=False, verbose=False)
            program.save(plain)
            program.optimize()
            program.save(optimized)
        graph, notes = imported(command, plain)
        small, said = imported(command, optimized)
        trained = sum(math.prod(p["shape"]) for p in graph["params"])
        left = accounted(plain, graph, notes), accounted(optimized, small, said)
        apart = loss(command, plain, graph, model, args, kwargs) if name in models.SMALL else None
    kinds = [[op["kind"] for op in g["ops"]] for g in (graph, small)]
    opaque = [k.count("opaque") for k in kinds]
    attention = [k.count("attention") for k in kinds]
    expected = models.ATTENTION.get(name, 0)
    good = (not any(opaque) and trained == wanted and not any(left) and (apart is None or apart <= CLOSE) and
            all(a == expected for a in attention))
    norms = "batch norms" in said
    print(f"{name:18} {len(kinds[0]):4} / {len(kinds[1]):4} ops  opaque {opaque[0]} / {opaque[1]}  parameters {trained}"
          f"{'' if trained == wanted else f' NOT {wanted}'} / {sum(math.prod(p['shape']) for p in small['params'])}"
          f"{'' if not any(left) else f' NOT ACCOUNTED {left[0]} / {left[1]}'}  attention {attention[0]} / {attention[1]}"
          f"{'' if all(a == expected for a in attention) else f' NOT {expected}'}"
          f"{'  norms folded' if norms else ''}{'' if apart is None else f'  loss {apart:.1e}'}  {time.time() - start:.1f} s"
          f"{'' if good else '  FAILED'}", flush=True)
    return good


def check_trained(name, command):
    """Exports in training mode: by the newer exporter plain and optimized, and by the older one."""
    torch.manual_seed(1)
    start = time.time()
    dropouts, make = TRAINED[name]
    model, args, kwargs = make()
    wanted = sum(p.numel() for p in model.parameters())
    for p in model.parameters():  # or the exporter makes one of those that begin alike
        p.data.normal_()
    mode = torch.onnx.TrainingMode.TRAINING
    said, bad = [], False
    with tempfile.TemporaryDirectory() as folder:
        for form in ("plain", "optimized", "older"):
            path = os.path.join(folder, form + ".onnx")
            if form == "older" and name == "gpt2":
                continue  # that exporter does not know aten::diff
            with torch.no_grad(), contextlib.redirect_stdout(io.StringIO()):
                if form == "older":
                    torch.onnx.export(model.train(), args, path, kwargs=kwargs, dynamo=False, training=mode, do_constant_folding=False)
                elif form == "plain":
                    program = torch.onnx.export(model.train(), args, kwargs=kwargs, dynamo=True, optimize=False, training=mode, verbose=False)
                    program.save(path)
                else:
                    program.optimize()  # what the exporter does by optimize=True
                    program.save(path)
            graph, notes = imported(command, path)
            trained = sum(math.prod(p["shape"]) for p in graph["params"])
            kinds = [op["kind"] for op in graph["ops"]]
            exact = trained <= wanted and not accounted(path, graph, notes) if form == "optimized" else trained == wanted
            good = exact and "opaque" not in kinds and kinds.count("dropout") == dropouts
            bad |= not good
            said.append(f"{form} parameters {trained} dropout {kinds.count('dropout')} opaque {kinds.count('opaque')}{'' if good else ' WRONG'}")
    print(f"{name:18} trained: {', '.join(said)}; of {wanted} and {dropouts}  {time.time() - start:.1f} s{'  FAILED' if bad else ''}", flush=True)
    return not bad


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--hypar", default=os.path.join(ROOT, "build", "hypar"))
    parser.add_argument("--all", action="store_true", help="all networks, those of torchvision too")
    parser.add_argument("--trace", action="store_true", help="show where Python fails")
    parser.add_argument("names", nargs="*", metavar="NAME")
    args = parser.parse_args()
    torch.set_num_threads(1)
    warnings.simplefilter("ignore")
    logging.disable(logging.WARNING)
    bad = []
    brief = not args.all and os.environ.get("HYPAR_TEST_LENGTH") != "soak"
    jobs = [(check, name) for name in args.names or (models.ALL if args.all else FIRST) if name in models.ALL]
    jobs += [(check_trained, name) for name in args.names or TRAINED if name in TRAINED]
    jobs = [(job, name) for job, name in jobs if args.names or not brief or name in BRIEF]
    for job, name in jobs:
        try:
            if not job(name, args.hypar):
                bad.append(name)
        except ModuleNotFoundError as missing:
            known = missing.name in ("transformers", "torchvision")
            print(f"{name:18} {'skipped' if known else 'FAILED'}: {missing}", flush=True)
            bad += [] if known else [name]
        except Exception as why:
            bad.append(name)
            print(f"{name:18} FAILED: {type(why).__name__}: {str(why)[:300]}", flush=True)
            if args.trace:
                traceback.print_exc()
    if bad:
        raise SystemExit(f"not as it should be: {', '.join(bad)}")


if __name__ == "__main__":
    main()
