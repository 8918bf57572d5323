"""Writing tensors as a safetensors file: a length, a header as JSON, the elements one after another."""
import json
import struct

import torch

TYPES = {torch.float64: "F64", torch.float32: "F32", torch.float16: "F16", torch.bfloat16: "BF16", torch.int64: "I64"}


def write(path, tensors):
    """`tensors`: by name; of types that are not in the table, as single precision or 64-bit integers."""
    header, parts, at = {}, [], 0
    for name, tensor in tensors.items():
        tensor = tensor.detach().cpu().contiguous()
        if tensor.dtype not in TYPES:
            tensor = tensor.float() if tensor.is_floating_point() else tensor.long()
        size = tensor.numel() * tensor.element_size()
        header[name] = {"dtype": TYPES[tensor.dtype], "shape": list(tensor.shape), "data_offsets": [at, at + size]}
        parts.append(tensor)
        at += size
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    with open(path, "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text)
        for tensor in parts:
            file.write(tensor.reshape(-1).view(torch.uint8).numpy().tobytes())
