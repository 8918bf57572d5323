#!/usr/bin/env python3
"""measure_steps.py [-o steps.csv] - seconds of whole training steps on a GPU under PyTorch, eager and compiled.

The models are those of hypar's zoo, layer by layer (`hypar models NAME`): queries, keys and values are three layers, attention is
fused (scaled_dot_product_attention) and without dropout of its weights. parameters=bf16: everything is kept in bf16;
parameters=fp32: fp32 parameters under autocast to bf16. Optimisers are PyTorch's fused ones: AdamW, for resnet50 SGD with
momentum. step_s: median between the starts of neighbouring steps; kernel_s and n_kernels: time and number of kernels in a step
(CUPTI through torch.profiler). --kernels keeps the longest kernels of each run, --launch the time of one launch.

    python3 measure_steps.py -o steps.csv --kernels kernels.txt --launch launch.csv --limit 520
    python3 measure_steps.py --device cpu --quick          a trial without a GPU, tiny models"""
import argparse
import csv
import os
import statistics
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext

import torch
from torch import nn
from torch.nn import functional as F

# Models ----------------------------------------------------------------------------------------------------------------------


class Attention(nn.Module):
    def __init__(self, hidden, heads, causal, merged=False):
        super().__init__()
        self.heads, self.causal, self.merged = heads, causal, merged
        if merged:
            self.qkv = nn.Linear(hidden, 3 * hidden)
        else:
            self.q, self.k, self.v = (nn.Linear(hidden, hidden) for _ in range(3))
        self.out = nn.Linear(hidden, hidden)

    def forward(self, x):
        def apart(y):
            return y.view(y.shape[0], y.shape[1], self.heads, -1).transpose(1, 2)
        q, k, v = self.qkv(x).chunk(3, -1) if self.merged else (self.q(x), self.k(x), self.v(x))
        y = F.scaled_dot_product_attention(apart(q), apart(k), apart(v), is_causal=self.causal)
        return self.out(y.transpose(1, 2).reshape(x.shape))


class Mlp(nn.Module):
    def __init__(self, hidden, ffn):
        super().__init__()
        self.up, self.down = nn.Linear(hidden, ffn), nn.Linear(ffn, hidden)

    def forward(self, x):
        return self.down(F.gelu(self.up(x)))


class PreNorm(nn.Module):
    """A layer of GPT-2 and of the vision transformer."""

    def __init__(self, hidden, heads, causal, dropout, eps, merged=False):
        super().__init__()
        self.ln_1, self.ln_2 = nn.LayerNorm(hidden, eps), nn.LayerNorm(hidden, eps)
        self.attn, self.mlp = Attention(hidden, heads, causal, merged), Mlp(hidden, 4 * hidden)
        self.drop = nn.Dropout(dropout) if dropout else nn.Identity()

    def forward(self, x):
        x = x + self.drop(self.attn(self.ln_1(x)))
        return x + self.drop(self.mlp(self.ln_2(x)))


class Gpt2(nn.Module):
    def __init__(self, layers, hidden, heads, seq, vocab, merged=False):
        super().__init__()
        self.wte, self.wpe = nn.Embedding(vocab, hidden), nn.Parameter(torch.randn(seq, hidden) * 0.02)
        nn.init.normal_(self.wte.weight, std=0.02)
        self.drop = nn.Dropout(0.1)
        self.h = nn.ModuleList(PreNorm(hidden, heads, True, 0.1, 1e-5, merged) for _ in range(layers))
        self.ln_f = nn.LayerNorm(hidden, 1e-5)

    def forward(self, tokens, labels):
        x = self.drop(self.wte(tokens) + self.wpe)
        for layer in self.h:
            x = layer(x)
        logits = F.linear(self.ln_f(x), self.wte.weight)
        return F.cross_entropy(logits.view(-1, logits.shape[-1]), labels.view(-1))


class PostNorm(nn.Module):
    """A layer of BERT."""

    def __init__(self, hidden, heads, dropout):
        super().__init__()
        self.norm1, self.norm2 = nn.LayerNorm(hidden, 1e-12), nn.LayerNorm(hidden, 1e-12)
        self.attention, self.mlp = Attention(hidden, heads, False), Mlp(hidden, 4 * hidden)
        self.drop = nn.Dropout(dropout)

    def forward(self, x):
        x = self.norm1(x + self.drop(self.attention(x)))
        return self.norm2(x + self.drop(self.mlp(x)))


class Bert(nn.Module):
    def __init__(self, layers, hidden, heads, seq, vocab):
        super().__init__()
        self.word, self.segment = nn.Embedding(vocab, hidden), nn.Embedding(2, hidden)
        self.position = nn.Parameter(torch.randn(seq, hidden) * 0.02)
        self.norm, self.drop = nn.LayerNorm(hidden, 1e-12), nn.Dropout(0.1)
        self.layers = nn.ModuleList(PostNorm(hidden, heads, 0.1) for _ in range(layers))
        self.pooler = nn.Linear(hidden, hidden)

    def forward(self, tokens, types, target):
        x = self.drop(self.norm(self.word(tokens) + self.position + self.segment(types)))
        for layer in self.layers:
            x = layer(x)
        return F.mse_loss(torch.tanh(self.pooler(x[:, 0])), target)


class Vit(nn.Module):
    def __init__(self, layers, hidden, heads, image, patch, classes):
        super().__init__()
        self.conv_proj = nn.Conv2d(3, hidden, patch, patch)
        self.class_token = nn.Parameter(torch.zeros(1, 1, hidden))
        self.position = nn.Parameter(torch.randn(1, (image // patch) ** 2 + 1, hidden) * 0.02)
        self.layers = nn.ModuleList(PreNorm(hidden, heads, False, 0, 1e-6) for _ in range(layers))
        self.ln, self.head = nn.LayerNorm(hidden, 1e-6), nn.Linear(hidden, classes)

    def forward(self, x, labels):
        x = self.conv_proj(x).flatten(2).transpose(1, 2)
        token = self.class_token.to(x.dtype).expand(x.shape[0], -1, -1)
        x = torch.cat((token, x), 1) + self.position
        for layer in self.layers:
            x = layer(x)
        return F.cross_entropy(self.head(self.ln(x)[:, 0]), labels)


class LlamaLayer(nn.Module):
    def __init__(self, hidden, heads, kv_heads, ffn):
        super().__init__()
        self.width, self.gqa = hidden // heads, kv_heads != heads
        self.input_norm, self.post_norm = nn.RMSNorm(hidden, 1e-5), nn.RMSNorm(hidden, 1e-5)
        kv = self.width * kv_heads
        self.q, self.k, self.v, self.o = (nn.Linear(hidden, n, bias=False) for n in (hidden, kv, kv, hidden))
        self.gate, self.up = nn.Linear(hidden, ffn, bias=False), nn.Linear(hidden, ffn, bias=False)
        self.down = nn.Linear(ffn, hidden, bias=False)

    def apart(self, y, turn=None):
        y = y.view(y.shape[0], y.shape[1], -1, self.width).transpose(1, 2)
        if turn is None:
            return y
        a, b = y.chunk(2, -1)
        return y * turn[0] + torch.cat((-b, a), -1) * turn[1]

    def forward(self, x, turn):
        h = self.input_norm(x)
        q, k, v = self.apart(self.q(h), turn), self.apart(self.k(h), turn), self.apart(self.v(h))
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True, enable_gqa=self.gqa)
        x = x + self.o(y.transpose(1, 2).reshape(x.shape))
        h = self.post_norm(x)
        return x + self.down(F.silu(self.gate(h)) * self.up(h))


class Llama(nn.Module):
    """hypar's llama:layers=16,hidden=2048,heads=32,kv_heads=8,ffn=8192"""

    def __init__(self, layers, hidden, heads, kv_heads, ffn, seq, vocab):
        super().__init__()
        self.embed = nn.Embedding(vocab, hidden)
        self.layers = nn.ModuleList(LlamaLayer(hidden, heads, kv_heads, ffn) for _ in range(layers))
        self.norm, self.lm_head = nn.RMSNorm(hidden, 1e-5), nn.Linear(hidden, vocab, bias=False)
        width = hidden // heads
        angle = torch.outer(torch.arange(seq).float(), 1e4 ** (-torch.arange(0, width, 2).float() / width)).repeat(1, 2)
        self.register_buffer("cos", angle.cos(), persistent=False)
        self.register_buffer("sin", angle.sin(), persistent=False)

    def forward(self, tokens, labels):
        x = self.embed(tokens)
        turn = self.cos.to(x.dtype), self.sin.to(x.dtype)
        for layer in self.layers:
            x = layer(x, turn)
        logits = self.lm_head(self.norm(x))
        return F.cross_entropy(logits.view(-1, logits.shape[-1]), labels.view(-1))


class Bottleneck(nn.Module):
    def __init__(self, inputs, width, stride):
        super().__init__()
        outputs = 4 * width
        self.body = nn.Sequential(
            nn.Conv2d(inputs, width, 1, bias=False), nn.BatchNorm2d(width), nn.ReLU(inplace=True),
            nn.Conv2d(width, width, 3, stride, 1, bias=False), nn.BatchNorm2d(width), nn.ReLU(inplace=True),
            nn.Conv2d(width, outputs, 1, bias=False), nn.BatchNorm2d(outputs))
        self.skip = nn.Identity() if stride == 1 and inputs == outputs else nn.Sequential(
            nn.Conv2d(inputs, outputs, 1, stride, bias=False), nn.BatchNorm2d(outputs))

    def forward(self, x):
        return F.relu(self.body(x) + self.skip(x), inplace=True)


class Resnet50(nn.Module):
    def __init__(self):
        super().__init__()
        layers = [nn.Conv2d(3, 64, 7, 2, 3, bias=False), nn.BatchNorm2d(64), nn.ReLU(inplace=True), nn.MaxPool2d(3, 2, 1)]
        inputs = 64
        for width, blocks, stride in ((64, 3, 1), (128, 4, 2), (256, 6, 2), (512, 3, 2)):
            for i in range(blocks):
                layers.append(Bottleneck(inputs, width, stride if i == 0 else 1))
                inputs = 4 * width
        self.body, self.fc = nn.Sequential(*layers), nn.Linear(2048, 1000)

    def forward(self, x, labels):
        return F.cross_entropy(self.fc(self.body(x).mean((2, 3))), labels)


def build(name, batch, quick):
    """The model, its inputs, and its parameters' number in the zoo."""
    kind = name.split("/")[0]
    if kind in ("gpt2", "gpt2-merged"):
        layers, hidden, heads, seq, vocab = (2, 32, 2, 16, 101) if quick else (12, 768, 12, 1024, 50257)
        tokens = torch.randint(0, vocab, (batch, seq))
        return Gpt2(layers, hidden, heads, seq, vocab, kind != "gpt2"), (tokens, tokens.roll(-1, 1)), 124439808
    if kind == "llama-1b":
        layers, hidden, heads, kv_heads, ffn, seq, vocab = (2, 32, 4, 2, 64, 16, 101) if quick else (16, 2048, 32, 8, 8192, 4096, 32000)
        tokens = torch.randint(0, vocab, (batch, seq))
        return Llama(layers, hidden, heads, kv_heads, ffn, seq, vocab), (tokens, tokens.roll(-1, 1)), 1104218112
    if kind == "bert-large":
        layers, hidden, heads, seq, vocab = (2, 32, 2, 16, 101) if quick else (24, 1024, 16, 512, 30522)
        inputs = (torch.randint(0, vocab, (batch, seq)), torch.randint(0, 2, (batch, seq)), torch.randn(batch, hidden))
        return Bert(layers, hidden, heads, seq, vocab), inputs, 335141888
    if kind == "vit-b-16":
        layers, hidden, heads, image = (2, 32, 2, 32) if quick else (12, 768, 12, 224)
        return (Vit(layers, hidden, heads, image, 16, 1000),
                (torch.randn(batch, 3, image, image), torch.randint(0, 1000, (batch,))), 86567656)
    size = 32 if quick else 224
    images = torch.randn(batch, 3, size, size).to(memory_format=torch.channels_last)
    return Resnet50().to(memory_format=torch.channels_last), (images, torch.randint(0, 1000, (batch,))), 25557032


BATCH = {"gpt2": 8, "gpt2-merged": 8, "resnet50": 128, "bert-large": 16, "vit-b-16": 64, "llama-1b": 2}
MODES = {"eager": None, "compiled": "default", "compiled-graph": "reduce-overhead"}

# A step ----------------------------------------------------------------------------------------------------------------------


class Step:
    def __init__(self, args, name, batch, framework, parameters):
        torch.manual_seed(17)
        model, inputs, expected = build(name, batch, args.quick)
        count = sum(p.numel() for p in model.parameters())
        if count != expected and not args.quick:
            print(f"  {name}: {count} parameters, the zoo has {expected}", flush=True)
        device, low = args.device, parameters == "bf16"
        model = model.to(device)
        inputs = tuple(x.to(device) for x in inputs)
        if low:
            model = model.bfloat16()
            inputs = tuple(x.bfloat16() if x.is_floating_point() else x for x in inputs)
        fused = {"fused": True} if device == "cuda" else {}
        self.optimizer = (torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9, **fused) if name.startswith("resnet") else
                          torch.optim.AdamW(model.parameters(), lr=1e-4, **fused))
        self.model, self.inputs = model, inputs
        self.context = nullcontext if low else lambda: torch.autocast(device, torch.bfloat16)
        self.graph = framework == "compiled-graph"
        if framework != "eager":
            torch._dynamo.reset()
            self.model = torch.compile(model, mode=MODES[framework], dynamic=False)

    def __call__(self):
        if self.graph:
            torch.compiler.cudagraph_mark_step_begin()
        with self.context():
            loss = self.model(*self.inputs)
        loss.backward()
        self.optimizer.step()
        self.optimizer.zero_grad(set_to_none=True)


def profile_steps(step, steps):
    """Seconds and number of kernels in a step, and {name: (number, seconds)}."""
    from torch.profiler import ProfilerActivity, profile
    torch.cuda.synchronize()
    with profile(activities=[ProfilerActivity.CUDA]) as trace:
        for _ in range(steps):
            step()
        torch.cuda.synchronize()
    kernels, total, count = {}, 0, 0
    for event in trace.profiler.kineto_results.events():
        waiting = event.name().startswith(("Context Sync", "Stream", "Event"))
        if "CUDA" not in str(event.device_type()) or event.duration_ns() <= 0 or waiting or "ProfilerStep" in event.name():
            continue
        seconds = event.duration_ns() * 1e-9
        n, s = kernels.get(event.name(), (0, 0))
        kernels[event.name()] = (n + 1, s + seconds)
        total, count = total + seconds, count + 1
    return total / steps, count / steps, {name: (n / steps, s / steps) for name, (n, s) in kernels.items()}


def time_steps(args, step):
    if args.device == "cpu":
        times = []
        for _ in range(3):
            start = time.perf_counter()
            step()
            times.append(time.perf_counter() - start)
        return statistics.median(times), 0, 0, {}
    for _ in range(6):
        step()
    torch.cuda.synchronize()
    marks = [torch.cuda.Event(enable_timing=True) for _ in range(args.steps + 1)]
    marks[0].record()
    for mark in marks[1:]:
        step()
        mark.record()
    torch.cuda.synchronize()
    median = statistics.median(a.elapsed_time(b) * 1e-3 for a, b in zip(marks, marks[1:]))
    try:
        return (median, *profile_steps(step, 3))
    except Exception as error:
        print(f"  no profile: {type(error).__name__}: {str(error)[:200]}", flush=True)
        return median, 0, 0, {}


# Launches --------------------------------------------------------------------------------------------------------------------


def per_call(fn, calls):
    for _ in range(50):
        fn()
    torch.cuda.synchronize()
    times = []
    for _ in range(5):
        start = time.perf_counter()
        for _ in range(calls):
            fn()
        torch.cuda.synchronize()
        times.append((time.perf_counter() - start) / calls)
    return statistics.median(times)


def captured(fn, calls):
    for _ in range(3):
        fn()
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        for _ in range(calls):
            fn()
    return per_call(graph.replay, 10) / calls


def empty_by_triton():
    import importlib.util
    import tempfile
    path = os.path.join(tempfile.mkdtemp(), "empty_kernel.py")
    with open(path, "w", encoding="utf-8") as file:
        file.write("import triton\n\n\n@triton.jit\ndef empty():\n    pass\n")
    spec = importlib.util.spec_from_file_location("empty_kernel", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return lambda: module.empty[(1,)]()


def empty_by_cupy():
    import cupy
    kernel = cupy.RawKernel('extern "C" __global__ void empty() {}', "empty")

    def launch():
        with cupy.cuda.ExternalStream(torch.cuda.current_stream().cuda_stream):
            kernel((1,), (32,), ())
    return launch


def launches(path):
    x = torch.zeros(1, device="cuda")
    a = torch.zeros(8, 8, device="cuda", dtype=torch.bfloat16)
    layer, y = nn.Linear(8, 8, device="cuda"), torch.ones(8, 8, device="cuda", requires_grad=True)
    trials = (("empty cupy", empty_by_cupy), ("empty triton", empty_by_triton), ("add_", lambda: lambda: x.add_(1)),
              ("mm", lambda: lambda: a @ a), ("linear with autograd", lambda: lambda: layer(y)))
    with open(path, "w", newline="", encoding="utf-8") as file:
        rows = csv.writer(file)
        rows.writerow(("kernel", "how", "seconds"))
        for name, make in trials:
            for how, timed in (("eager", lambda fn: per_call(fn, 1000)), ("graph", lambda fn: captured(fn, 1000))):
                try:
                    seconds = timed(make())
                    rows.writerow((name, how, f"{seconds:.4g}"))
                    print(f"  launch of {name}, {how}: {seconds * 1e6:.2f} us", flush=True)
                except Exception as error:
                    print(f"  launch of {name}, {how}: {type(error).__name__}: {str(error)[:150]}", flush=True)
                file.flush()


# All of them -----------------------------------------------------------------------------------------------------------------


def runs(args):
    """(model, batch, framework, parameters), the most important first."""
    models = args.models or ["gpt2", "resnet50", "bert-large", "vit-b-16"]
    rows = []
    for framework, parameters in (("eager", "bf16"), ("eager", "fp32"), ("compiled", "bf16"), ("compiled", "fp32"),
                                  ("compiled-graph", "bf16"), ("compiled-graph", "fp32")):
        if (not args.frameworks or framework in args.frameworks) and (not args.parameters or parameters in args.parameters):
            rows += [(name, args.batch or (2 if args.quick else BATCH[name]), framework, parameters) for name in models]
    if not args.models and not args.frameworks and not args.quick:
        # steps that wait for launches, larger ones, and the merged layer that checkpoints of GPT-2 have
        rows[8:8] = [("gpt2", 1, "eager", "bf16"), ("resnet50", 4, "eager", "bf16"), ("gpt2", 32, "eager", "bf16"),
                     ("resnet50", 32, "eager", "bf16"), ("gpt2-merged", 8, "eager", "bf16")]
        rows += [("gpt2-merged", 8, "compiled", "bf16"), ("gpt2", 1, "compiled", "bf16")]
    return rows


def compile_ahead(rows, seconds):
    """Fills the compiler's cache by several processes at once: a compiler uses few of the cores."""
    end = time.time() + seconds

    def one(row):
        name, batch, framework, parameters = row
        command = [sys.executable, os.path.abspath(__file__), "--models", name, "--frameworks", framework, "--parameters",
                   parameters, "--batch", str(batch), "--compile-only"]
        try:
            done = subprocess.run(command, env=dict(os.environ, TORCHINDUCTOR_COMPILE_THREADS="2"), capture_output=True, text=True,
                                  timeout=max(1, end - time.time()), check=False)
            return f"failed: {done.stderr[-300:]}" if done.returncode else "done"
        except subprocess.TimeoutExpired:
            return "took too long"

    rows = [row for row in rows if row[2] == "compiled"]
    with ThreadPoolExecutor(6) as pool:
        for row, text in zip(rows, pool.map(one, rows)):
            print(f"  compiling {row} ahead: {text}", flush=True)


def write_kernels(file, row, kernels):
    name, batch, framework, parameters = row
    file.write(f"\n{name} batch {batch}, {framework}, parameters {parameters}: {len(kernels)} kernels; number in a step, "
               "microseconds of them all, name\n")
    for kernel, (count, seconds) in sorted(kernels.items(), key=lambda item: -item[1][1])[:40]:
        file.write(f"{count:8.1f} {seconds * 1e6:10.1f}  {kernel[:200]}\n")
    file.flush()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("-o", "--output", default="steps.csv")
    parser.add_argument("--kernels", help="text: the 40 longest kernels of each run")
    parser.add_argument("--launch", help="CSV: seconds of a launch")
    parser.add_argument("--device", default="cuda", choices=("cuda", "cpu"))
    parser.add_argument("--limit", type=float, default=520, help="seconds")
    parser.add_argument("--ahead", type=float, default=150, help="seconds given to compiling in parallel before; 0: not")
    parser.add_argument("--steps", type=int, default=25)
    parser.add_argument("--models", nargs="+", choices=sorted(BATCH))
    parser.add_argument("--frameworks", nargs="+", choices=sorted(MODES))
    parser.add_argument("--parameters", nargs="+", choices=("bf16", "fp32"))
    parser.add_argument("--batch", type=int)
    parser.add_argument("--append", action="store_true")
    parser.add_argument("--quick", action="store_true", help="tiny models")
    parser.add_argument("--compile-only", action="store_true", help="two steps, nothing written")
    parser.add_argument("--cudnn-benchmark", action="store_true")
    args = parser.parse_args()
    begin = time.time()
    torch.backends.cudnn.benchmark = args.cudnn_benchmark
    rows = runs(args)
    if args.compile_only:
        step = Step(args, *rows[0])
        for _ in range(2):
            step()
        return 0
    if args.device == "cuda":
        print(torch.__version__, torch.version.cuda, torch.backends.cudnn.version(), torch.cuda.get_device_name(), flush=True)
    if args.launch and args.device == "cuda":
        launches(args.launch)
    output = open(args.output, "a" if args.append else "w", newline="", encoding="utf-8")
    kernels_file = open(args.kernels, "a" if args.append else "w", encoding="utf-8") if args.kernels else None
    table, ahead = csv.writer(output), args.ahead > 0 and args.device == "cuda"
    if not args.append:
        table.writerow(("model", "batch", "framework", "precision", "parameters", "step_s", "kernel_s", "n_kernels"))
    for row in rows:
        name, batch, framework, parameters = row
        if framework != "eager" and ahead:
            ahead = False
            compile_ahead(rows, args.ahead)
            print(f"{time.time() - begin:6.1f} s: compiled ahead", flush=True)
        if time.time() - begin > args.limit:
            print(f"time is up before {row}", flush=True)
            break
        try:
            step = Step(args, *row)
            step_s, kernel_s, count, kernels = time_steps(args, step)
            table.writerow((name, batch, framework, "bf16", parameters, f"{step_s:.6g}", f"{kernel_s:.6g}", f"{count:g}"))
            output.flush()
            if kernels_file:
                write_kernels(kernels_file, row, kernels)
            print(f"{time.time() - begin:6.1f} s: {name} batch {batch} {framework} parameters {parameters}: step "
                  f"{step_s * 1e3:.3f} ms, kernels {kernel_s * 1e3:.3f} ms, {count:g} of them", flush=True)
        except Exception as error:  # one failure costs one row
            print(f"{time.time() - begin:6.1f} s: {row}: {type(error).__name__}: {str(error)[:400]}", flush=True)
        step = None
        if args.device == "cuda":
            torch.cuda.empty_cache()
    return 0


if __name__ == "__main__":
    sys.exit(main())
