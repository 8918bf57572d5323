"""Writing tensors as a safetensors file: a length, a header as JSON, the elements one after another.

Checksums are in the metadata, as docs/formats-checkpoint.md describes them."""
import json
import struct
import zlib

import torch

TYPES = {torch.float64: "F64", torch.float32: "F32", torch.float16: "F16", torch.bfloat16: "BF16", torch.int64: "I64"}


def elements(tensor):
    return tensor.reshape(-1).view(torch.uint8).numpy()


def write(path, tensors):
    """`tensors`: by name; of types that are not in the table, as single precision or 64-bit integers."""
    checksums = {"header_crc32": "00000000"}
    header, parts, at = {"__metadata__": checksums}, [], 0
    for name, tensor in tensors.items():
        tensor = tensor.detach().cpu().contiguous()
        if tensor.dtype not in TYPES:
            tensor = tensor.float() if tensor.is_floating_point() else tensor.long()
        size = tensor.numel() * tensor.element_size()
        checksums["crc32." + name] = f"{zlib.crc32(elements(tensor)):08x}"
        header[name] = {"dtype": TYPES[tensor.dtype], "shape": list(tensor.shape), "data_offsets": [at, at + size]}
        parts.append(tensor)
        at += size
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    text = struct.pack("<Q", len(text)) + text
    own = f"{zlib.crc32(text):08x}".encode()
    with open(path, "wb") as file:
        file.write(text.replace(b"00000000", own, 1))  # the first text of the header
        for tensor in parts:
            file.write(elements(tensor).tobytes())
