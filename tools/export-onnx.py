#!/usr/bin/env python3
"""export-onnx.py [OPTIONS] DIR [NAME...] - write networks of PyTorch and torchvision as ONNX files into DIR.

On Debian: apt-get install python3-torch python3-torchvision (and python3-onnx for --shapes-only). Weights are random:
nothing is fetched. Without NAMEs, all networks of the table below. A network of your own is FILE.py:FUNCTION, where the
function returns the model (with its weights), an input, and the dimension of that which holds the samples.

The files are exported for training (the graph as it is trained, nothing folded: batch norms are BatchNormalization
nodes), or with --inference for inference; auxiliary heads and stochastic depth are off. A model's output are logits
[samples, ..., classes], or numbers: `hypar train` adds the loss itself, cross-entropy against an input 'labels' or the
mean of squares against an input 'target'. Beside each file one line of NAME.txt says what PyTorch itself knows: the
parameters and the output's shape."""
import argparse
import importlib.util
import math
import os
import warnings

import torch
from torch import nn


class Encoder(nn.Module):
    """Tokens, positions and a Transformer encoder, then logits for every token. Its layers are those of
    nn.TransformerEncoderLayer, which itself is exported only as one fused operator of PyTorch's."""

    def __init__(self, vocab=1000, width=64, heads=4, layers=2, ffn=256, length=32):
        super().__init__()
        self.embed = nn.Embedding(vocab, width)
        self.position = nn.Parameter(torch.randn(1, length, width))
        layer = nn.TransformerEncoderLayer(width, heads, ffn, dropout=0.1, activation="gelu", batch_first=True)
        self.encoder = nn.TransformerEncoder(layer, layers)
        self.head = nn.Linear(width, vocab)

    def forward(self, tokens):
        return self.head(self.encoder(self.embed(tokens) + self.position))


class LanguageModel(nn.Module):
    """An LSTM language model, sequence first as PyTorch's own example has it. (PyTorch does not export the dropout
    between the layers of nn.LSTM.)"""

    def __init__(self, vocab=1000, width=128, layers=2):
        super().__init__()
        self.embed = nn.Embedding(vocab, width)
        self.drop = nn.Dropout(0.2)
        self.lstm = nn.LSTM(width, width, layers)
        self.head = nn.Linear(width, vocab)

    def forward(self, tokens):
        return self.head(self.drop(self.lstm(self.drop(self.embed(tokens)))[0]))


def vision(name, size=224, **options):
    """A network of torchvision and its input."""
    def make():
        import torchvision
        return getattr(torchvision.models, name)(weights=None, **options), torch.randn(2, 3, size, size), 0
    return make


NETWORKS = {
    "alexnet": vision("alexnet"),
    "vgg16": vision("vgg16"),
    "resnet50": vision("resnet50"),
    "inception_v3": vision("inception_v3", 299, aux_logits=False, init_weights=False),
    "googlenet": vision("googlenet", aux_logits=False, init_weights=False),
    "densenet121": vision("densenet121"),
    "mobilenet_v2": vision("mobilenet_v2"),
    "efficientnet_b0": vision("efficientnet_b0", stochastic_depth_prob=0.0),
    "vit_b_16": vision("vit_b_16"),
    "squeezenet1_0": vision("squeezenet1_0"),
    "encoder": lambda: (Encoder(), torch.randint(0, 1000, (2, 32)), 0),
    "lstm_lm": lambda: (LanguageModel(), torch.randint(0, 1000, (20, 2)), 1),
}


def strip(path):
    """Leave shapes only: drop the values of everything that is not an integer or a scalar, and long names of tensors
    between nodes."""
    import onnx
    model = onnx.load(path)
    kept = {t.name for t in list(model.graph.initializer) + list(model.graph.input) + list(model.graph.output)}
    short = {}
    for node in model.graph.node:
        for names in (node.output, node.input):
            for i, name in enumerate(names):
                if name and name not in kept:
                    names[i] = short.setdefault(name, "t%d" % len(short))
    for tensor in model.graph.initializer:
        if tensor.data_type == onnx.TensorProto.FLOAT and math.prod(tensor.dims) > 1:
            tensor.ClearField("raw_data")
            tensor.ClearField("float_data")
    onnx.save(model, path)


def no_dropout(model):
    """Set the rate of every dropout to 0, those inside attentions and LSTMs too."""
    for module in model.modules():
        if isinstance(module, nn.modules.dropout._DropoutNd):
            module.p = 0.0
        elif isinstance(getattr(module, "dropout", None), float):
            module.dropout = 0.0


def write(model, x, path, batch_dim=0, opset=17, inference=False):
    """A model and an example of its input as an ONNX file, with its weights."""
    mode = torch.onnx.TrainingMode.EVAL if inference else torch.onnx.TrainingMode.TRAINING
    model.train(not inference)
    norms = [module for module in model.modules() if getattr(module, "momentum", None)]
    kept = [module.momentum for module in norms]
    for module in norms:
        module.momentum = 0.0  # the model is run once: running statistics stay as they are, in the file too
    options = {"dynamo": False} if "dynamo" in torch.onnx.export.__kwdefaults__ else {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        torch.onnx.export(model, (x,), path, training=mode, do_constant_folding=inference, opset_version=opset,
                          input_names=["x"], output_names=["y"],
                          dynamic_axes={"x": {batch_dim: "batch"}, "y": {batch_dim: "batch"}}, **options)
    for module, momentum in zip(norms, kept):
        module.momentum = momentum


def find(name):
    """The model of a name, an input and the dimension of the samples."""
    if name in NETWORKS:
        return NETWORKS[name]()
    file, function = name.rsplit(":", 1)
    spec = importlib.util.spec_from_file_location("network", file)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return getattr(module, function)()


def export(name, args):
    torch.manual_seed(1)
    model, x, batch_dim = find(name)
    if args.no_dropout:
        no_dropout(model)
    name = name.rsplit(":", 1)[-1]
    path = os.path.join(args.dir, name + ".onnx")
    write(model, x, path, batch_dim, args.opset, args.inference)
    shape = list(model(x).shape)
    if args.shapes_only:
        strip(path)
    parameters = sum(p.numel() for p in model.parameters())
    with open(os.path.join(args.dir, name + ".txt"), "w") as about:
        about.write(f"{name} parameters {parameters} output {' '.join(map(str, shape))}\n")


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--inference", action="store_true", help="export for inference")
    parser.add_argument("--opset", type=int, default=14)
    parser.add_argument("--no-dropout", action="store_true", help="set the rate of every dropout to 0")
    parser.add_argument("--shapes-only", action="store_true", help="without the weights' values")
    parser.add_argument("dir")
    parser.add_argument("names", nargs="*", metavar="NAME")
    args = parser.parse_args()
    os.makedirs(args.dir, exist_ok=True)
    for name in args.names or NETWORKS:
        if name not in NETWORKS and ":" not in name:
            parser.error(f"unknown network '{name}', expected FILE.py:FUNCTION or one of {', '.join(NETWORKS)}")
        export(name, args)


if __name__ == "__main__":
    main()
