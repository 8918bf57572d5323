#!/usr/bin/env python3
"""train_torch.py MODEL BATCH THREADS SECONDS - samples per second of PyTorch on this CPU, training in fp32 with SGD.

MODEL is resnet50, vgg16, bert-base (128 tokens) or gpt2 (256 tokens), built as the zoo has them. Both memory layouts are
tried for images; the faster one counts. bench/train.sh runs this beside hypar."""
import sys
import time

import torch
from torch import nn
from torch.nn import functional as F


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


def resnet50():
    layers = [nn.Conv2d(3, 64, 7, 2, 3, bias=False), nn.BatchNorm2d(64), nn.ReLU(inplace=True), nn.MaxPool2d(3, 2, 1)]
    inputs = 64
    for width, blocks, stride in ((64, 3, 1), (128, 4, 2), (256, 6, 2), (512, 3, 2)):
        for i in range(blocks):
            layers.append(Bottleneck(inputs, width, stride if i == 0 else 1))
            inputs = 4 * width
    return nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(2048, 1000))


def vgg16():
    layers, inputs = [], 3
    for width in (64, 64, 0, 128, 128, 0, 256, 256, 256, 0, 512, 512, 512, 0, 512, 512, 512, 0):
        if width:
            layers += [nn.Conv2d(inputs, width, 3, padding=1), nn.ReLU(inplace=True)]
            inputs = width
        else:
            layers.append(nn.MaxPool2d(2))
    return nn.Sequential(*layers, nn.Flatten(), nn.Linear(25088, 4096), nn.ReLU(inplace=True), nn.Dropout(),
                         nn.Linear(4096, 4096), nn.ReLU(inplace=True), nn.Dropout(), nn.Linear(4096, 1000))


class Block(nn.Module):
    def __init__(self, causal):
        super().__init__()
        self.causal = causal
        self.ln1, self.ln2 = nn.LayerNorm(768), nn.LayerNorm(768)
        self.qkv, self.out = nn.Linear(768, 2304), nn.Linear(768, 768)
        self.up, self.down = nn.Linear(768, 3072), nn.Linear(3072, 768)
        self.drop = nn.Dropout(0.1)

    def attend(self, x):
        n, t, c = x.shape
        q, k, v = (y.view(n, t, 12, 64).transpose(1, 2) for y in self.qkv(x).split(768, dim=2))
        y = F.scaled_dot_product_attention(q, k, v, is_causal=self.causal)
        return self.drop(self.out(y.transpose(1, 2).reshape(n, t, c)))

    def forward(self, x):
        if self.causal:
            x = x + self.attend(self.ln1(x))
            return x + self.drop(self.down(F.gelu(self.up(self.ln2(x)))))
        x = self.ln1(x + self.attend(x))
        return self.ln2(x + self.drop(self.down(F.gelu(self.up(x)))))


class Transformer(nn.Module):
    def __init__(self, vocab, tokens, causal):
        super().__init__()
        self.causal = causal
        self.wte, self.wpe, self.drop = nn.Embedding(vocab, 768), nn.Embedding(tokens, 768), nn.Dropout(0.1)
        self.blocks = nn.Sequential(*(Block(causal) for _ in range(12)))
        self.ln = nn.LayerNorm(768)
        self.head = nn.Linear(768, vocab, bias=False) if causal else nn.Linear(768, 2)
        self.pool = nn.Linear(768, 768)
        if causal:
            self.head.weight = self.wte.weight

    def forward(self, ids):
        x = self.wte(ids) + self.wpe.weight[:ids.shape[1]]
        x = self.drop(x) if self.causal else self.drop(self.ln(x))
        x = self.blocks(x)
        if self.causal:
            return self.head(self.ln(x)).flatten(0, 1)
        return self.head(torch.tanh(self.pool(x[:, 0])))


def build(name, batch):
    if name in ("resnet50", "vgg16"):
        model = resnet50() if name == "resnet50" else vgg16()
        return model, torch.randn(batch, 3, 224, 224), torch.randint(1000, (batch,))
    tokens = 128 if name == "bert-base" else 256
    vocab = 30522 if name == "bert-base" else 50257
    causal = name == "gpt2"
    labels = torch.randint(vocab, (batch * tokens,)) if causal else torch.randint(2, (batch,))
    return Transformer(vocab, tokens, causal), torch.randint(vocab, (batch, tokens)), labels


def samples_per_s(name, batch, seconds, layout):
    torch.manual_seed(0)
    model, x, labels = build(name, batch)
    if layout:
        model, x = model.to(memory_format=layout), x.to(memory_format=layout)
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-4)
    times = []
    begin = time.perf_counter()
    while len(times) < 2 or time.perf_counter() - begin < seconds:
        start = time.perf_counter()
        optimizer.zero_grad()
        F.cross_entropy(model(x), labels).backward()
        optimizer.step()
        times.append(time.perf_counter() - start)
    times = sorted(times[1:])
    return batch / times[len(times) // 2]


name, batch, threads, seconds = sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), float(sys.argv[4])
torch.set_num_threads(threads)
layouts = [None, torch.channels_last] if name in ("resnet50", "vgg16") else [None]
print(max(samples_per_s(name, batch, seconds / len(layouts), layout) for layout in layouts))
