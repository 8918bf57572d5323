#!/usr/bin/env python3
"""parity.py [--hypar FILE] [NAME...] - train networks with PyTorch and with `hypar train`, compare the losses.

Both work in fp64 on the same samples, from the same weights, which hypar reads from the ONNX file that
tools/export-onnx.py writes, with the running statistics of batch norms. In the end both are tested on all samples. Without
NAMEs, all networks of the table below. Losses may differ by 1e-6."""
import argparse
import importlib.util
import json
import math
import os
import subprocess
import sys
import tempfile
from fnmatch import fnmatch

try:
    import numpy
    import torch
except ImportError as missing:
    print(f"skipped: {missing}")
    sys.exit(77)
import torch.nn.functional as F
from torch import nn

STEPS = 20
CLOSE = 1e-6
SAMPLES = 40
ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")


# Networks ---------------------------------------------------------------------------------------------------------


def lenet5():
    return nn.Sequential(nn.Conv2d(1, 6, 5, padding=2), nn.Tanh(), nn.AvgPool2d(2), nn.Conv2d(6, 16, 5), nn.Tanh(),
                         nn.AvgPool2d(2), nn.Flatten(), nn.Linear(400, 120), nn.Tanh(), nn.Linear(120, 84), nn.Tanh(),
                         nn.Linear(84, 10))


def alexnet():
    """AlexNet's layers for images of 64 x 64, an eighth as wide."""
    return nn.Sequential(nn.Conv2d(3, 8, 11, 4, 2), nn.ReLU(), nn.MaxPool2d(3, 2), nn.Conv2d(8, 24, 5, padding=2),
                         nn.ReLU(), nn.MaxPool2d(3, 2), nn.Conv2d(24, 48, 3, padding=1), nn.ReLU(),
                         nn.Conv2d(48, 32, 3, padding=1), nn.ReLU(), nn.Conv2d(32, 32, 3, padding=1), nn.ReLU(),
                         nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Dropout(), nn.Linear(32, 64), nn.ReLU(),
                         nn.Dropout(), nn.Linear(64, 10))


class Block(nn.Module):
    """A residual block of ResNet-18."""

    def __init__(self, width, out, stride):
        super().__init__()
        self.conv1 = nn.Conv2d(width, out, 3, stride, 1, bias=False)
        self.bn1 = nn.BatchNorm2d(out)
        self.conv2 = nn.Conv2d(out, out, 3, 1, 1, bias=False)
        self.bn2 = nn.BatchNorm2d(out)
        self.down = None
        if stride != 1:
            self.down = nn.Sequential(nn.Conv2d(width, out, 1, stride, bias=False), nn.BatchNorm2d(out))

    def forward(self, x):
        y = self.bn2(self.conv2(F.relu(self.bn1(self.conv1(x)))))
        return F.relu(y + (self.down(x) if self.down else x))


def resnet18(width=4):
    """ResNet-18 for images of 32 x 32, a sixteenth as wide."""
    layers = [nn.Conv2d(3, width, 3, 1, 1, bias=False), nn.BatchNorm2d(width), nn.ReLU()]
    for i in range(4):
        inside, out = width * 2 ** max(i - 1, 0), width * 2 ** i
        layers += [Block(inside, out, 1 if i == 0 else 2), Block(out, out, 1)]
    return nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(8 * width, 10))


class Encoder(nn.Module):
    """Tokens, positions and a Transformer encoder; a class from the mean of all tokens."""

    def __init__(self, vocab=50, width=32, length=12):
        super().__init__()
        self.embed = nn.Embedding(vocab, width)
        self.position = nn.Parameter(torch.randn(1, length, width) * 0.02)
        layer = nn.TransformerEncoderLayer(width, 4, 64, activation="gelu", batch_first=True)
        self.encoder = nn.TransformerEncoder(layer, 2)
        self.head = nn.Linear(width, 10)

    def forward(self, tokens):
        return self.head(self.encoder(self.embed(tokens) + self.position).mean(1))


class LanguageModel(nn.Module):
    """An LSTM of two layers that tells the next token, the samples first."""

    def __init__(self, vocab=50, width=24):
        super().__init__()
        self.embed = nn.Embedding(vocab, width)
        self.lstm = nn.LSTM(width, width, 2, batch_first=True)
        self.head = nn.Linear(width, vocab)

    def forward(self, tokens):
        return self.head(self.lstm(self.embed(tokens))[0])


class GruModel(nn.Module):
    """Like it, a GRU that reads both ways; the class of a sequence from its last states."""

    def __init__(self, vocab=50, width=16):
        super().__init__()
        self.embed = nn.Embedding(vocab, width)
        self.gru = nn.GRU(width, width, 1, batch_first=True, bidirectional=True)
        self.head = nn.Linear(2 * width, 10)

    def forward(self, tokens):
        return self.head(self.gru(self.embed(tokens))[0].mean(1))


class UNet(nn.Module):
    """Down and up again: transposed convolutions, both ways to resize, features joined."""

    def __init__(self):
        super().__init__()
        self.down1, self.down2 = nn.Conv2d(3, 6, 3, padding=1), nn.Conv2d(6, 8, 3, 2, 1)
        self.down3 = nn.Conv2d(8, 8, 3, 2, 1)
        self.up1 = nn.ConvTranspose2d(8, 8, 2, 2)
        self.up2 = nn.ConvTranspose2d(16, 6, 3, 2, 1, output_padding=1, groups=2)
        self.mix = nn.Conv2d(6 + 6 + 8 + 8, 10, 1)

    def forward(self, x):
        a = F.relu(self.down1(x))
        b = F.relu(self.down2(a))
        c = F.relu(self.down3(b))
        up = F.relu(self.up2(torch.cat((F.relu(self.up1(c)), b), 1)))
        smooth = F.interpolate(c, size=(16, 16), mode="bilinear", align_corners=False)
        coarse = F.interpolate(b, scale_factor=2, mode="nearest")
        return self.mix(torch.cat((a, up, coarse, smooth), 1)).mean((2, 3))


def video():
    """Windows in three dimensions."""
    return nn.Sequential(nn.Conv3d(2, 6, (3, 3, 3), (1, 2, 2), 1), nn.BatchNorm3d(6), nn.ReLU(), nn.MaxPool3d(2),
                         nn.Conv3d(6, 8, 3, padding=1), nn.GELU(approximate="tanh"), nn.AvgPool3d((1, 2, 2)),
                         nn.Flatten(), nn.Linear(96, 10))


class Causal(nn.Module):
    """A block of GPT-2: attention to what came before, then a perceptron."""

    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

    def forward(self, x):
        n, t, c = x.shape
        q, k, v = (y.view(n, t, self.heads, c // self.heads).transpose(1, 2)
                   for y in self.qkv(self.norm1(x)).split(c, dim=2))
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.out(y.transpose(1, 2).reshape(n, t, c))
        return x + self.down(F.gelu(self.up(self.norm2(x)), approximate="tanh"))


class Gpt(nn.Module):
    """GPT-2 in small; the table of tokens is the output layer, too."""

    def __init__(self, vocab=50, width=32, length=12):
        super().__init__()
        self.tokens = nn.Embedding(vocab, width)
        self.places = nn.Embedding(length, width)
        self.blocks = nn.Sequential(Causal(width, 4), Causal(width, 4))
        self.norm = nn.LayerNorm(width)
        nn.init.normal_(self.tokens.weight, std=0.1)
        self.register_buffer("place", torch.arange(length), persistent=False)

    def forward(self, tokens):
        x = self.tokens(tokens) + self.places(self.place)
        return F.linear(self.norm(self.blocks(x)), self.tokens.weight)


class Regression(nn.Module):
    """One number for each sample: the loss is the mean of squares."""

    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(12, 20), nn.SiLU(), nn.Linear(20, 1))

    def forward(self, x):
        return self.layers(x)


def images(*shape):
    return torch.randn(SAMPLES, *shape), torch.randint(0, 10, (SAMPLES,))


def tokens(length=12, vocab=50):
    text = torch.randint(0, vocab, (SAMPLES, length + 1))
    return text[:, :-1].contiguous(), text[:, 1:].contiguous()


def regression():
    x = torch.randn(SAMPLES, 12)
    return x, torch.sin(x.sum(1, keepdim=True))


REFERENCE = ["--kernels", "reference"]
ONE_AFTER_ANOTHER = ["--ranks", "2", "--in-process"]

# Each: the network, its samples, hypar's optimizer, the learning rate, the norm to which gradients are clipped (0: not),
# and what hypar is told in each of its runs.
NETWORKS = {
    "lenet5": (lenet5, lambda: images(1, 28, 28), "momentum", 0.01, 0, [REFERENCE, []]),
    "alexnet": (alexnet, lambda: images(3, 64, 64), "momentum", 0.05, 0,
                [REFERENCE, ["--planner", "owt"] + ONE_AFTER_ANOTHER]),
    "resnet18": (resnet18, lambda: images(3, 32, 32), "momentum", 0.01, 2,
                 [REFERENCE, ["--planner", "dp"] + ONE_AFTER_ANOTHER]),
    "encoder": (Encoder, lambda: (tokens()[0], torch.randint(0, 10, (SAMPLES,))), "adam", 0.001, 0,
                [REFERENCE, ["--planner", "mp"] + ONE_AFTER_ANOTHER]),
    "lstm": (LanguageModel, tokens, "momentum", 0.5, 0.05, [REFERENCE, ["--planner", "dp"] + ONE_AFTER_ANOTHER]),
    "gru": (GruModel, lambda: (tokens()[0], torch.randint(0, 10, (SAMPLES,))), "adam", 0.01, 0,
            [REFERENCE, ["--planner", "dp"] + ONE_AFTER_ANOTHER]),
    "unet": (UNet, lambda: images(3, 16, 16), "momentum", 0.05, 0,
             [REFERENCE, ["--planner", "dp"] + ONE_AFTER_ANOTHER]),
    "video": (video, lambda: images(2, 6, 16, 16), "momentum", 0.02, 0,
              [REFERENCE, ["--planner", "mp"] + ONE_AFTER_ANOTHER]),
    "gpt": (Gpt, tokens, "adamw", 0.003, 0.5, [REFERENCE, ["--ranks", "2", "--planner", "mp"]]),
    "regression": (Regression, regression, "sgd", 0.05, 0, [REFERENCE]),
}
FROZEN = {"alexnet": "0.*,3.*", "encoder": "embed.*,*.norm1.weight"}  # parameters that are not trained
FILE_TYPE = {"gpt": torch.float32}  # of the weights in the file, where it is not fp64


# Training ---------------------------------------------------------------------------------------------------------


def mixed(key, x):
    """SplitMix64, as src/run/data/shuffle.c uses it."""
    mask = 2 ** 64 - 1
    z = ((key ^ x * 0xd1342543de82ef95) + 0x9e3779b97f4a7c15) & mask
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9 & mask
    z = (z ^ z >> 27) * 0x94d049bb133111eb & mask
    return z ^ z >> 31


def shuffled(seed, epoch, n, i):
    """The sample at place i of an epoch: src/run/data/shuffle.c."""
    key, half = mixed(seed, epoch + 1), 1
    while 4 ** half < n:
        half += 1
    mask = 2 ** half - 1
    while True:
        left, right = i >> half, i & mask
        for r in range(6):
            left, right = right, left ^ mixed(key + r & 2 ** 64 - 1, right) >> 16 & mask
        i = left << half | right
        if i < n:
            return i


def samples_of(step, batch):
    places = range(step * batch, (step + 1) * batch)
    return [shuffled(0, p // SAMPLES, SAMPLES, p % SAMPLES) for p in places]


def optimizer_of(name, model, rate):
    if name == "adam":
        return torch.optim.Adam(model.parameters(), rate)
    if name == "adamw":
        return torch.optim.AdamW(model.parameters(), rate, weight_decay=0.01)
    return torch.optim.SGD(model.parameters(), rate, momentum=0.9 if name == "momentum" else 0)


def loss_of(model, x, wanted):
    out = model(x)
    return (F.mse_loss(out, wanted) if wanted.is_floating_point()
            else F.cross_entropy(out.reshape(-1, out.shape[-1]), wanted.reshape(-1)))


def train_torch(model, x, y, batch, optimizer, clip):
    losses = []
    for step in range(STEPS):
        chosen = samples_of(step, batch)
        loss = loss_of(model, x[chosen], y[chosen])
        optimizer.zero_grad()
        loss.backward()
        if clip:
            nn.utils.clip_grad_norm_(model.parameters(), clip)
        optimizer.step()
        losses.append(loss.item())
    model.eval()
    return losses + [loss_of(model, x, y).item()]


def train_hypar(hypar, folder, batch, optimizer, rate, more):
    command = [hypar, "train", os.path.join(folder, "net.onnx"), "--data", f"{folder}/x.npy,{folder}/y.npy",
               "--batch", str(batch), "--precision", "fp64", "--optimizer", optimizer, "--learning-rate", str(rate),
               "--steps", str(STEPS), "--test-data", f"{folder}/x.npy,{folder}/y.npy", "--json", "-q"] + more
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        raise SystemExit(f"{' '.join(command)}: {done.stderr.strip()}")
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    return [line["loss"] for line in lines if "step" in line] + [lines[-1]["test"]["loss"]]


def differences(name, hypar, exporter, batch=8):
    """The largest difference of a loss, for each run of a network."""
    make, data, optimizer, rate, clip, runs = NETWORKS[name]
    torch.manual_seed(1)
    torch.set_default_dtype(FILE_TYPE.get(name, torch.float64))
    model = make()
    x, y = data()
    model(2 * x + 1 if x.is_floating_point() else x)  # moves running statistics
    with tempfile.TemporaryDirectory() as folder:
        exporter.no_dropout(model)
        exporter.write(model, x[:batch], os.path.join(folder, "net.onnx"))
        torch.set_default_dtype(torch.float64)
        model.double()
        numpy.save(os.path.join(folder, "x.npy"), x.numpy())
        numpy.save(os.path.join(folder, "y.npy"), y.numpy())
        frozen = FROZEN.get(name)
        for parameter, value in model.named_parameters():
            value.requires_grad = not (frozen and any(fnmatch(parameter, f) for f in frozen.split(",")))
        want = train_torch(model, x, y, batch, optimizer_of(optimizer, model, rate), clip)
        for more in runs:
            more = more + (["--clip", str(clip)] if clip else []) + (["--freeze", frozen] if frozen else [])
            have = train_hypar(hypar, folder, batch, optimizer, rate, more)
            worst = max(abs(a - b) for a, b in zip(want, have)) if len(have) == len(want) else math.inf
            print(f"{name:11} {optimizer:9} loss {want[0]:.6f} to {want[-2]:.6f}, test {want[-1]:.6f}, largest difference {worst:.1e}  "
                  f"{' '.join(more)}", flush=True)
            yield worst


def load_exporter():
    spec = importlib.util.spec_from_file_location("exporter", os.path.join(ROOT, "tools", "export-onnx.py"))
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--hypar", default=os.path.join(ROOT, "build", "hypar"))
    parser.add_argument("names", nargs="*", metavar="NAME")
    args = parser.parse_args()
    torch.set_num_threads(1)
    about = subprocess.run([args.hypar, "--version"], capture_output=True, text=True).stdout
    if "protobuf-c: yes" not in about:
        print("skipped: hypar does not read ONNX files")
        sys.exit(77)
    if "mpi: yes" not in about:
        NETWORKS["gpt"][-1][-1].append("--in-process")
    exporter = load_exporter()
    far = [name for name in args.names or NETWORKS
           if not max(differences(name, args.hypar, exporter)) <= CLOSE]
    if far:
        raise SystemExit(f"losses differ by more than {CLOSE:g}: {', '.join(far)}")


if __name__ == "__main__":
    main()
