#!/usr/bin/env python3
"""measure_power.py --out DIR [--seconds N] - rates and power of kernels and of training steps that run for seconds on one GPU.

Kernels are repeated without a pause, each after a pause in which the device cools. Three files, flushed row by row:
    power-runs.csv    run, work, window_begin_s, window_end_s, calls, seconds, op_per_s, bytes_per_s, power_w, sm_mhz, joule
                      seconds: of one call in this window, by the device's own events; power_w: mean by the device's energy
                      counter (by its samples where it has none); joule: of one call
    power-rates.csv   run, second, seconds: one row for each piece of about 20 ms of a run
    power-trace.csv   second, run, instant_w, average_w, energy_j, sm_mhz, memory_mhz, celsius, reasons (why clocks are low)
                      seconds since the script began
Networks are those of measure_steps.py. They are compiled in processes of their own beside the kernels. Work is done in the order
of its value; what does not fit into --seconds is left out.

--steps measures whole steps alone: five networks with fp32 parameters under autocast, captured for 60 s, compiled and eager for 10.

    python3 measure_power.py --out DIR --seconds 300
    python3 measure_power.py --out DIR --seconds 580 --steps
    python3 measure_power.py --dry --out /tmp/power          a trial without a GPU, tiny shapes"""
import time

BEGIN = time.time()

import argparse
import csv
import ctypes
import os
import subprocess
import sys
import threading
from collections import deque
from contextlib import nullcontext

import torch
from torch.nn import functional as F

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import measure_steps

# The driver's figures --------------------------------------------------------------------------------------------------------


class FieldValue(ctypes.Structure):
    _fields_ = [("field", ctypes.c_uint), ("scope", ctypes.c_uint), ("timestamp", ctypes.c_longlong),
                ("latency", ctypes.c_longlong), ("type", ctypes.c_uint), ("status", ctypes.c_uint), ("value", ctypes.c_ulonglong)]


class Nvml:
    """The driver's library, called directly: the Python package for it may be missing."""

    def __init__(self):
        self.lib = ctypes.CDLL("libnvidia-ml.so.1")
        self.device = ctypes.c_void_p()
        if self.lib.nvmlInit_v2() or self.lib.nvmlDeviceGetHandleByIndex_v2(0, ctypes.byref(self.device)):
            raise OSError("nvmlInit_v2 failed")

    def number(self, function, *arguments, kind=ctypes.c_uint):
        value = kind()
        call = getattr(self.lib, function, None)
        return value.value if call and call(self.device, *arguments, ctypes.byref(value)) == 0 else None

    def instant_w(self):
        field = FieldValue(field=186)  # NVML_FI_DEV_POWER_INSTANT, milliwatt
        if self.lib.nvmlDeviceGetFieldValues(self.device, 1, ctypes.byref(field)) or field.status:
            return None
        return (field.value & 0xffffffff) * 1e-3

    def sample(self):
        average, energy = self.number("nvmlDeviceGetPowerUsage"), self.number("nvmlDeviceGetTotalEnergyConsumption",
                                                                              kind=ctypes.c_ulonglong)
        return (self.instant_w(), average and average * 1e-3, energy and energy * 1e-3,
                self.number("nvmlDeviceGetClockInfo", 1), self.number("nvmlDeviceGetClockInfo", 2),
                self.number("nvmlDeviceGetTemperature", 0),
                self.number("nvmlDeviceGetCurrentClocksThrottleReasons", kind=ctypes.c_ulonglong))

    def about(self):
        limit, rated = self.number("nvmlDeviceGetEnforcedPowerLimit"), self.number("nvmlDeviceGetPowerManagementDefaultLimit")
        return (f"power limit {limit and limit * 1e-3} W, default {rated and rated * 1e-3} W; most MHz: "
                f"{self.number('nvmlDeviceGetMaxClockInfo', 1)} of multiprocessors, {self.number('nvmlDeviceGetMaxClockInfo', 2)} "
                f"of memory")


class Smi:
    """The same by nvidia-smi, which writes a line every 100 ms."""
    QUERY = "power.draw.instant,power.draw.average,clocks.sm,clocks.mem,temperature.gpu,clocks_event_reasons.active"

    def __init__(self):
        self.process = subprocess.Popen(["nvidia-smi", f"--query-gpu={self.QUERY}", "--format=csv,noheader,nounits", "-lms", "100"],
                                        stdout=subprocess.PIPE, text=True)
        self.last = (None,) * 7
        threading.Thread(target=self.read, daemon=True).start()

    def read(self):
        for line in self.process.stdout:
            words = [w.strip() for w in line.split(",")]
            try:
                values = [float(w) if w.replace(".", "").isdigit() else None for w in words[:5]]
                self.last = (values[0], values[1], None, values[2], values[3], values[4], int(words[5], 16))
            except (ValueError, IndexError):
                pass

    def sample(self):
        return self.last

    def about(self):
        return subprocess.run(["nvidia-smi", "--query-gpu=power.limit,power.default_limit,clocks.max.sm,clocks.max.mem",
                               "--format=csv"], capture_output=True, text=True, check=False).stdout


class Pretended:
    """For a trial without a GPU."""

    def sample(self):
        return 100.0, 100.0, 100 * (time.time() - BEGIN), 1000, 1000, 40, 0

    def about(self):
        return "pretended"


class Sampler(threading.Thread):
    def __init__(self, source, path):
        super().__init__(daemon=True)
        self.source, self.run_name, self.samples, self.ends = source, "", [], False
        self.file = open(path, "w", newline="", encoding="utf-8")
        self.rows = csv.writer(self.file)
        self.rows.writerow(("second", "run", "instant_w", "average_w", "energy_j", "sm_mhz", "memory_mhz", "celsius", "reasons"))

    def run(self):
        while not self.ends:
            at, values = time.time() - BEGIN, self.source.sample()
            self.samples.append((at, *values))
            self.rows.writerow((f"{at:.3f}", self.run_name, *("" if v is None else f"{v:.10g}" for v in values)))
            self.file.flush()
            time.sleep(0.05)

    def mean(self, begin, end):
        """Mean power and clock between two seconds of the script. The energy counter steps every 20 to 100 ms."""
        inside = [s for s in self.samples if begin <= s[0] <= end]
        around = [s for s in self.samples if begin - 0.06 <= s[0] <= end + 0.06]
        power, clocks = None, [s[4] for s in inside if s[4] is not None]
        if end - begin >= 0.4 and len(around) > 2 and around[0][3] is not None:
            power = (around[-1][3] - around[0][3]) / (around[-1][0] - around[0][0])
        elif inside:
            known = [s[1] if s[1] is not None else s[2] for s in inside if s[1] is not None or s[2] is not None]
            power = sum(known) / len(known) if known else None
        return power, sum(clocks) / len(clocks) if clocks else None


# A run -----------------------------------------------------------------------------------------------------------------------


class PretendedEvent:
    def record(self):
        self.at = time.perf_counter()

    def synchronize(self):
        pass

    def elapsed_time(self, later):
        return (later.at - self.at) * 1e3


class Bench:
    def __init__(self, args):
        self.args, self.dry = args, args.dry
        self.device = "cpu" if args.dry else "cuda"
        self.runs, self.rates = self.table("power-runs.csv"), self.table("power-rates.csv")
        self.write(self.runs, "run", "work", "window_begin_s", "window_end_s", "calls", "seconds", "op_per_s", "bytes_per_s",
                   "power_w", "sm_mhz", "joule")
        self.write(self.rates, "run", "second", "seconds")
        try:
            source = Pretended() if args.dry else Nvml()
        except OSError as error:
            print(f"nvml: {error}; nvidia-smi instead", flush=True)
            source = Smi()
        print(source.about(), flush=True)
        self.sampler = Sampler(source, os.path.join(args.out, "power-trace.csv"))
        self.sampler.start()

    def table(self, name):
        file = open(os.path.join(self.args.out, name), "w", newline="", encoding="utf-8")
        return file, csv.writer(file)

    @staticmethod
    def write(table, *row):
        table[1].writerow(["" if v is None else f"{v:.7g}" if isinstance(v, float) else v for v in row])
        table[0].flush()

    def left(self):
        return self.args.seconds - (time.time() - BEGIN)

    def sync(self):
        if not self.dry:
            torch.cuda.synchronize()

    def event(self):
        return PretendedEvent() if self.dry else torch.cuda.Event(enable_timing=True)

    def tensor(self, *shape, dtype=torch.bfloat16, grad=False):
        return torch.randn(*shape, device=self.device, dtype=dtype).requires_grad_(grad)

    def hold(self, run, fn, seconds, work="", op=0, size=0, windows=((0, 0.1), (0.5, 1)), pause=1.0, warm=3, piece=0.02):
        """Repeat fn for `seconds`; one row for each window and one for the last half of the run. op, size: operations and bytes."""
        if self.dry:
            seconds, pause = 0.02 * seconds, 0
        if seconds + pause + 1 > self.left():
            print(f"{time.time() - BEGIN:6.1f} s: no time left for {run}", flush=True)
            return
        try:
            for _ in range(warm):
                fn()
            self.sync()
            times, begin = self.repeat(fn, seconds, pause, piece, run)
        except Exception as error:  # one failure costs one run
            print(f"{time.time() - BEGIN:6.1f} s: {run}: {type(error).__name__}: {str(error)[:300]}", flush=True)
            self.sampler.run_name = ""
            return
        length, said = times[-1][0], []
        for first, last in [w for w in windows if w[1] < length] + [(length / 2, length)]:
            inside = [(n, t) for end, n, t in times if first < end <= last + 1e-9] or [times[0][1:]]
            calls = sum(n for n, _ in inside)
            each = sum(t for _, t in inside) / calls
            power, mhz = self.sampler.mean(begin + first, begin + min(last, length))
            self.write(self.runs, run, work, float(first), float(last), calls, each, op / each, size / each, power, mhz,
                       power * each if power is not None else None)
            rate = f"{op / each * 1e-12:.1f} Top/s" if op else f"{size / each * 1e-9:.1f} GB/s" if size else f"{each * 1e3:.3f} ms"
            said.append(f"{rate} {power or 0:.0f} W {mhz or 0:.0f} MHz")
        for end, n, t in times:
            self.write(self.rates, run, f"{end:.4f}", t / n)
        print(f"{time.time() - BEGIN:6.1f} s: {run}: {'; '.join(said)}", flush=True)

    def repeat(self, fn, seconds, pause, piece, run):
        """[(end since the start, calls, seconds of these calls)], and the second of the script at which they start."""
        first, second = self.event(), self.event()
        first.record()
        fn()
        second.record()
        self.sync()
        calls = max(1, min(2000, round(piece / max(1e-7, first.elapsed_time(second) * 1e-3))))
        time.sleep(pause)
        self.sampler.run_name = run
        start, waiting, marks = self.event(), deque(), []
        begin = time.time() - BEGIN
        start.record()
        while time.time() - BEGIN - begin < seconds:
            for _ in range(calls):
                fn()
            mark = self.event()
            mark.record()
            marks.append(mark)
            waiting.append(mark)
            if len(waiting) > 3:  # the host stays a little ahead
                waiting.popleft().synchronize()
        self.sync()
        time.sleep(0.06)
        self.sampler.run_name = ""
        times, before = [], start
        for mark in marks:
            times.append((start.elapsed_time(mark) * 1e-3, calls, before.elapsed_time(mark) * 1e-3))
            before = mark
        return times, begin

    # Kernels -----------------------------------------------------------------------------------------------------------------

    def idle(self):
        self.sampler.run_name = "idle"
        begin = time.time() - BEGIN
        time.sleep(0.02 if self.dry else 2)
        power, mhz = self.sampler.mean(begin, time.time() - BEGIN)
        self.sampler.run_name = ""
        self.write(self.runs, "idle", "", 0.0, time.time() - BEGIN - begin, 0, 0.0, 0.0, 0.0, power, mhz, None)
        print(f"{time.time() - BEGIN:6.1f} s: idle: {power} W {mhz} MHz", flush=True)

    def spin(self):
        """High clocks and one busy multiprocessor: what a device draws without work."""
        if not self.dry:
            self.hold("spin", lambda: torch.cuda._sleep(2_000_000), 1.5, "one multiprocessor counts cycles")

    def gemm(self, m, n, k, seconds, dtype=torch.bfloat16, tf32=False, share=None, windows=((0, 0.1), (0.5, 1), (1, 2), (2, 4))):
        shrink = 64 if self.dry else 1
        m, n, k = m // shrink, n // shrink, k // shrink
        name = "tf32" if tf32 else str(dtype).rsplit(".", maxsplit=1)[-1]
        torch.backends.cuda.matmul.allow_tf32 = tf32
        a, b = self.tensor(m, k, dtype=dtype), self.tensor(k, n, dtype=dtype)
        out = torch.empty(m, n, device=self.device, dtype=dtype)
        fn, run = (lambda: torch.mm(a, b, out=out)), f"gemm-{name}-{m}x{n}x{k}"
        if share:  # with pauses on the device between products
            run += f"-busy{share}"
            cycles = int(2 * m * n * k / 750e12 * 1.9e9 * (100 / share - 1))

            def fn():
                torch.mm(a, b, out=out)
                torch.cuda._sleep(cycles)
        if not (share and self.dry):
            self.hold(run, fn, seconds, name, 2 * m * n * k, (m * k + k * n + m * n) * a.element_size(), windows)

    def gemm_fp8(self, size, seconds):
        size = size // 64 if self.dry else size
        one = torch.ones((), device=self.device)
        try:
            a = self.tensor(size, size).to(torch.float8_e4m3fn)
            b = self.tensor(size, size).to(torch.float8_e4m3fn).t()
            self.hold(f"gemm-fp8-{size}x{size}x{size}", lambda: torch._scaled_mm(a, b, one, one, out_dtype=torch.bfloat16), seconds,
                      "fp8", 2 * size ** 3, 4 * size ** 2, ((0, 0.1), (0.5, 1), (1, 2), (2, 4)))
        except Exception as error:
            print(f"fp8: {type(error).__name__}: {str(error)[:300]}", flush=True)

    def streams(self, seconds):
        n = 1 << (16 if self.dry else 30)  # 2 GiB
        x, y = self.tensor(n), self.tensor(n)
        self.hold("copy", lambda: y.copy_(x), seconds, "bf16", 0, 4 * n)
        self.hold("add", lambda: torch.add(x, y, out=y), seconds, "bf16", n, 6 * n)
        self.hold("gelu", lambda: torch.ops.aten.gelu.out(x, out=y), 2, "bf16", n, 4 * n)
        rows = x.view(-1, 4096)
        self.hold("layer_norm", lambda: F.layer_norm(rows[: rows.shape[0] // 2], (4096,)), 2, "bf16", n // 2, 2 * n)

    def attention(self, backend, width, seq, causal, seconds=0.25, pause=0.15):
        from torch.nn.attention import SDPBackend, sdpa_kernel
        kinds = {"flash": "FLASH_ATTENTION", "cudnn": "CUDNN_ATTENTION", "efficient": "EFFICIENT_ATTENTION"}
        seq = seq // 64 if self.dry else seq
        tokens, hidden = (512, 64) if self.dry else (16384, 2048)  # as the papers of FlashAttention measure it
        batch, heads = max(1, tokens // seq), max(1, hidden // width)
        shape = (batch, heads, seq, width)
        if (pause + seconds) * 2 + 2 > self.left():
            return
        try:
            # as networks have it: the heads of one position lie together
            q, k, v = (self.tensor(batch, seq, heads, width).transpose(1, 2).detach().requires_grad_() for _ in range(3))
            how = nullcontext() if backend == "default" or self.dry else sdpa_kernel(getattr(SDPBackend, kinds[backend]))
            with how:
                y = F.scaled_dot_product_attention(q, k, v, is_causal=causal)
                dy = torch.randn_like(y)
                op = 4 * batch * heads * seq * seq * width * (0.5 if causal else 1)
                run = f"attention-{backend}-{width}-{seq}-{'causal' if causal else 'full'}"
                work, size = f"batch {batch} heads {heads}", q.numel() * 2
                piece = 0.02 if seconds < 1 else 0.1
                with torch.no_grad():
                    self.hold(run + "-forward", lambda: F.scaled_dot_product_attention(q, k, v, is_causal=causal), seconds, work,
                              op, 4 * size, ((0, 0.05),), pause, 2, piece)
                self.hold(run + "-backward", lambda: torch.autograd.grad(y, (q, k, v), dy, retain_graph=True), seconds, work,
                          2.5 * op, 8 * size, ((0, 0.05),), pause, 2, piece)
        except Exception as error:
            print(f"attention {backend} {shape}: {type(error).__name__}: {str(error)[:200]}", flush=True)

    # Steps -------------------------------------------------------------------------------------------------------------------

    def step(self, name, framework, seconds, parameters="bf16"):
        if seconds + (25 if framework != "eager" else 5) > self.left() and not self.dry:
            print(f"no time left for {name} {framework}", flush=True)
            return
        try:
            options = argparse.Namespace(quick=self.dry, device=self.device)
            batch = 2 if self.dry else measure_steps.BATCH[name]
            step = measure_steps.Step(options, name, batch, "eager" if self.dry else framework, parameters)
            for _ in range(5):
                step()
            self.sync()
            print(f"{time.time() - BEGIN:6.1f} s: {name} {framework} ready", flush=True)
            self.hold(f"step-{name}-{framework}", step, seconds, f"batch {batch} parameters {parameters}",
                      windows=((0, 0.3), (0.5, 1.5), (2, 4), (4, 6)), piece=0.05)
        except Exception as error:
            print(f"{name} {framework}: {type(error).__name__}: {str(error)[:300]}", flush=True)
        step = None
        if not self.dry:
            torch.cuda.empty_cache()


COMPILED = ("gpt2", "llama-1b", "resnet50")
NETWORKS = ("gpt2", "resnet50", "bert-large", "vit-b-16", "llama-1b")


def compile_ahead(args, networks, parameters):
    """Fill the compiler's cache by processes of their own."""
    if args.dry:
        return []
    command = [sys.executable, os.path.join(os.path.dirname(os.path.abspath(__file__)), "measure_steps.py"), "--frameworks",
               "compiled-graph", "--parameters", parameters, "--compile-only", "--models"]
    environment = dict(os.environ, TORCHINDUCTOR_COMPILE_THREADS="4")
    return [(name, subprocess.Popen(command + [name], env=environment, stdout=subprocess.DEVNULL,
                                    stderr=open(os.path.join(args.out, f"compile-{name}.txt"), "w", encoding="utf-8")))
            for name in networks]


def still(compilers):
    return [name for name, process in compilers if process.poll() is None]


def wait_for(compilers, bench, most):
    end = min(time.time() + most, time.time() + bench.left() - 40)
    while still(compilers) and time.time() < end:
        time.sleep(0.2)
    for name, process in compilers:
        if process.poll() is None:
            process.terminate()
            process.wait()
        print(f"{time.time() - BEGIN:6.1f} s: compiling {name} ahead: exit status {process.returncode}", flush=True)


def attentions():
    """(backend, width, sequence, causal), the most important first."""
    wide = (2048, 8192, 512, 32768, 1024, 4096, 16384)
    rows = [(backend, width, seq, causal) for causal in (True, False) for seq in wide for width in (128, 64)
            for backend in ("flash", "cudnn") if causal or seq in (512, 2048, 8192, 32768)]
    rows[8:8] = [("default", 128, 2048, True), ("default", 64, 1024, True), ("efficient", 64, 2048, True)]
    return rows


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--out", default=os.environ.get("OUT", "."))
    parser.add_argument("--seconds", type=float, default=300, help="of the whole script")
    parser.add_argument("--steps", action="store_true", help="whole steps alone")
    parser.add_argument("--dry", action="store_true", help="tiny shapes, no GPU")
    args = parser.parse_args()
    os.makedirs(args.out, exist_ok=True)
    bench = Bench(args)
    if not args.dry:
        print(torch.__version__, torch.version.cuda, torch.backends.cudnn.version(), torch.cuda.get_device_name(), flush=True)
        torch.zeros(1, device="cuda")
        bench.sync()
    bench.idle()
    (steps if args.steps else kernels)(args, bench)
    bench.sampler.ends = True
    bench.sampler.join()
    print(f"{time.time() - BEGIN:6.1f} s: end", flush=True)
    return 0


def steps(args, bench):
    wait_for(compile_ahead(args, NETWORKS, "fp32"), bench, 150)
    for name in NETWORKS:
        bench.step(name, "compiled-graph", 60, "fp32")
    for framework in ("eager", "compiled"):
        for name in NETWORKS:
            bench.step(name, framework, 10, "fp32")


def kernels(args, bench):
    compilers = compile_ahead(args, COMPILED, "bf16")
    bench.gemm(8192, 8192, 8192, 8)
    bench.spin()
    bench.gemm(2048, 2048, 2048, 4)
    bench.gemm(4096, 4096, 4096, 4)
    bench.streams(3)
    bench.gemm(8192, 4096, 14336, 4)
    bench.gemm_fp8(8192, 5)
    bench.gemm(8192, 8192, 8192, 3, torch.float32, True)
    bench.gemm(8192, 8192, 8192, 3, torch.float32)
    bench.gemm(8192, 8192, 8192, 2, share=50)
    bench.attention("flash", 128, 8192, True, 2, 1)
    todo = deque(attentions())
    while still(compilers) and todo and bench.left() > 175:
        bench.attention(*todo.popleft())
    wait_for(compilers, bench, 60)
    for name in COMPILED:
        bench.step(name, "compiled-graph", 12)
    for name, seconds in (("gpt2", 8), ("llama-1b", 8), ("bert-large", 12), ("vit-b-16", 8), ("resnet50", 6)):
        bench.step(name, "eager", seconds)
    while todo and bench.left() > 3:
        bench.attention(*todo.popleft())
    bench.gemm(8192, 8192, 8192, 2, share=25)
    bench.gemm(16384, 1024, 1024, 2)
    bench.gemm(8192, 768, 3072, 2)


if __name__ == "__main__":
    sys.exit(main())
