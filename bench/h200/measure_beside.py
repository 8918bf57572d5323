#!/usr/bin/env python3
"""measure_beside.py [-o FILE] - how much longer kernels take while a collective runs beside them, on one GPU.

NCCL's kernels occupy one multiprocessor for each channel, and move what they send and receive through the memory. A kernel of
our own does the same without a second GPU: CHANNELS blocks of 512 threads with 96 KB of shared memory copy (all-gather: one
read, one write) or add (reduce-scatter: two reads, one write) at the rate of the links, for 20 ms in each 30 to 40 ms of work.
    work, calls       what runs beside it, and how often
    held              repeated without a pause for about a second (1: the power limit holds it), or after a pause (0)
    channels, kind    blocks; gather, sum, or spin (no bytes)
    link_byte_per_s   asked: bytes that a device receives each second; moved_byte_per_s: as they were moved
    alone_s, beside_s all calls of the work
    collective_s      the time in which the collective ran
    lost              (beside_s - alone_s) / collective_s: the share of the collective's time that the work loses

    python3 measure_beside.py -o beside.csv          3 minutes"""
import argparse
import csv
import statistics
import sys
import time

import cupy
import torch
from torch.nn import functional as F

COLLECTIVE = r"""
extern "C" __global__ __launch_bounds__(512) void collective(const uint4 *a, const uint4 *b, uint4 *to, unsigned long long size,
                                                              int reads, double ns_per_chunk, double window_ns,
                                                              unsigned long long *ended)
{
    enum { PER_THREAD = 8, CHUNK = 512 * PER_THREAD };
    __shared__ unsigned long long begin, now;
    unsigned long long chunks = size / CHUNK, k = 0, at = blockIdx.x;
    if (threadIdx.x == 0)
        asm volatile("mov.u64 %0, %globaltimer;" : "=l"(begin));
    __syncthreads();
    for (;; k++, at = (at + gridDim.x) % chunks) {
        if (reads) {
            uint4 v[PER_THREAD];
            for (int i = 0; i < PER_THREAD; i++)
                v[i] = a[at * CHUNK + i * 512 + threadIdx.x];
            if (reads > 1)
                for (int i = 0; i < PER_THREAD; i++) {
                    uint4 w = b[at * CHUNK + i * 512 + threadIdx.x];
                    v[i].x += w.x, v[i].y += w.y, v[i].z += w.z, v[i].w += w.w;
                }
            for (int i = 0; i < PER_THREAD; i++)
                to[at * CHUNK + i * 512 + threadIdx.x] = v[i];
        }
        __syncthreads();
        if (threadIdx.x == 0)
            do
                asm volatile("mov.u64 %0, %globaltimer;" : "=l"(now));
            while (now - begin < (k + 1) * ns_per_chunk && now - begin < window_ns);
        __syncthreads();
        if (now - begin >= window_ns)
            break;
    }
    if (threadIdx.x == 0)
        ended[2 * blockIdx.x] = k + 1, ended[2 * blockIdx.x + 1] = now - begin;
}
"""
CHUNK_BYTES = 512 * 8 * 16
SHARED = 96 * 1024


class Collective:
    def __init__(self):
        self.kernel = cupy.RawKernel(COLLECTIVE, "collective")
        self.kernel.max_dynamic_shared_size_bytes = SHARED
        self.buffers = [torch.zeros(256 << 20, dtype=torch.uint8, device="cuda") for _ in range(3)]
        self.ended = torch.zeros(2 * 64, dtype=torch.int64, device="cuda")
        self.stream = torch.cuda.Stream(priority=-1)

    def start(self, channels, kind, link_byte_per_s, window_s):
        reads = {"spin": 0, "gather": 1, "sum": 2}[kind]
        ns = 1e9 * CHUNK_BYTES * channels / link_byte_per_s if link_byte_per_s else 1e6
        a, b, to = (x.data_ptr() for x in self.buffers)
        with cupy.cuda.ExternalStream(self.stream.cuda_stream):
            self.kernel((channels,), (512,), (a, b, to, self.buffers[0].numel() // 16, reads, ns, 1e9 * window_s,
                                              self.ended.data_ptr()), shared_mem=SHARED)

    def moved_byte_per_s(self, channels):
        pairs = self.ended.view(-1, 2)[:channels].double().cpu()
        return float((pairs[:, 0] * CHUNK_BYTES / (pairs[:, 1] * 1e-9)).sum())


# Work beside it -----------------------------------------------------------------------------------------------------------


def products(tokens, hidden):
    """Those of a layer: forward, gradients of the input and of the weights."""
    def make(*shape):
        return torch.randn(*shape, device="cuda", dtype=torch.bfloat16) * 0.05

    triples = [(make(tokens, k), make(n, k), make(tokens, n)) for k, n in
               ((hidden, 3 * hidden), (hidden, hidden), (hidden, 4 * hidden), (4 * hidden, hidden))]

    def call():
        for x, w, y in triples:
            x @ w.T
            y @ w
            y.T @ x
    return call


def attention(batch, heads, seq, head):
    q, k, v = (torch.randn(batch, heads, seq, head, device="cuda", dtype=torch.bfloat16, requires_grad=True) for _ in range(3))
    dy = torch.randn_like(q)

    def call():
        F.scaled_dot_product_attention(q, k, v, is_causal=True).backward(dy)
        q.grad = k.grad = v.grad = None
    return call


def elements(tokens, hidden):
    """A norm and a GELU, forward."""
    x = torch.randn(tokens, hidden, device="cuda", dtype=torch.bfloat16)
    y = torch.randn(tokens, 4 * hidden, device="cuda", dtype=torch.bfloat16)
    w = torch.ones(hidden, device="cuda", dtype=torch.bfloat16)

    def call():
        F.layer_norm(x, (hidden,), w)
        F.gelu(y)
    return call


class Layer(torch.nn.Module):
    def __init__(self, hidden, heads):
        super().__init__()
        self.heads = heads
        self.norms = torch.nn.ModuleList(torch.nn.LayerNorm(hidden, bias=False) for _ in range(2))
        self.qkv, self.out = torch.nn.Linear(hidden, 3 * hidden, bias=False), torch.nn.Linear(hidden, hidden, bias=False)
        self.up, self.down = torch.nn.Linear(hidden, 4 * hidden, bias=False), torch.nn.Linear(4 * hidden, hidden, bias=False)

    def forward(self, x):
        b, s, h = x.shape
        q, k, v = (t.view(b, s, self.heads, -1).transpose(1, 2) for t in self.qkv(self.norms[0](x)).chunk(3, -1))
        x = x + self.out(F.scaled_dot_product_attention(q, k, v, is_causal=True).transpose(1, 2).reshape(b, s, h))
        return x + self.down(F.gelu(self.up(self.norms[1](x))))


def layer(batch, seq, hidden, heads):
    net = Layer(hidden, heads).to("cuda", torch.bfloat16)
    x = torch.randn(batch, seq, hidden, device="cuda", dtype=torch.bfloat16, requires_grad=True)
    dy = torch.randn_like(x)

    def call():
        net(x).backward(dy)
        net.zero_grad(set_to_none=True)
        x.grad = None
    return call


WORK = {
    "products-4096x5120": lambda: products(4096, 5120),
    "products-16384x2560": lambda: products(16384, 2560),
    "attention-2x40x2048x128": lambda: attention(2, 40, 2048, 128),
    "elements-4096x5120": lambda: elements(4096, 5120),
    "layer-2x2048x5120": lambda: layer(2, 2048, 5120, 40),
}
# channels, kind, bytes that a device receives each second
HOW = [(24, "gather", 370e9), (24, "sum", 370e9), (16, "gather", 370e9), (16, "gather", 50e9), (16, "sum", 50e9), (8, "gather", 50e9),
       (32, "gather", 370e9), (24, "spin", 0)]

# Measuring ------------------------------------------------------------------------------------------------------------------


def timed(work, calls, start=None):
    begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    if start:
        start()
        time.sleep(0.0002)  # its blocks have multiprocessors before the work begins
    begin.record()
    for _ in range(calls):
        work()
    end.record()
    return begin, end


def seconds(pair):
    return pair[0].elapsed_time(pair[1]) * 1e-3


def after_pauses(work, calls, start, repeats=5):
    found = []
    for _ in range(repeats):
        torch.cuda.synchronize()
        time.sleep(0.1)
        pair = timed(work, calls, start)
        torch.cuda.synchronize()
        found.append(seconds(pair))
    return statistics.median(found)


def held(work, calls, start, about_s):
    """The last half of a run without pauses. The collective of a piece starts when the piece before it has ended."""
    pairs, stream = [], torch.cuda.current_stream()
    until = time.time() + about_s
    while time.time() < until:
        if len(pairs) > 2:
            pairs[-2][1].synchronize()
        if start:
            start[0].stream.wait_stream(stream)
            pairs.append(timed(work, calls, start[1]))
        else:
            pairs.append(timed(work, calls))
    torch.cuda.synchronize()
    half = pairs[len(pairs) // 2:]
    return half[0][0].elapsed_time(half[-1][1]) * 1e-3 / len(half)


def main():
    ask = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ask.add_argument("-o", default="beside.csv")
    ask.add_argument("--piece", type=float, default=0.035, help="seconds of work around a collective")
    ask.add_argument("--window", type=float, default=0.020)
    ask.add_argument("--hold", type=float, default=1.0)
    given = ask.parse_args()
    with open(given.o, "w", newline="", encoding="utf-8") as file:
        rows = csv.writer(file)
        rows.writerow(("work", "calls", "held", "channels", "kind", "link_byte_per_s", "moved_byte_per_s", "alone_s", "beside_s",
                       "collective_s", "lost"))
        collective = Collective()
        for name, make in WORK.items():
            work = make()
            for _ in range(3):
                work()
            torch.cuda.synchronize()
            calls = max(1, round(given.piece / (after_pauses(work, 10, None) / 10)))
            alone = {0: after_pauses(work, calls, None), 1: held(work, calls, None, given.hold)}
            for channels, kind, rate in HOW:
                def start(channels=channels, kind=kind, rate=rate):
                    collective.start(channels, kind, rate, given.window)
                for hot in (0, 1):
                    beside = held(work, calls, (collective, start), given.hold) if hot else after_pauses(work, calls, start)
                    row = (name, calls, hot, channels, kind, f"{rate:.4g}", f"{collective.moved_byte_per_s(channels):.4g}",
                           f"{alone[hot]:.6g}", f"{beside:.6g}", given.window, f"{(beside - alone[hot]) / given.window:.4f}")
                    rows.writerow(row)
                    file.flush()
                    print(*row, flush=True)
            alone_again = held(work, calls, None, given.hold)
            print(f"# {name}: alone, held again {alone_again:.6g}", flush=True)


if __name__ == "__main__":
    sys.exit(main())
