"""The memory of one process of PyTorch's: the bytes of all tensors that live at once.

Counted are storages, each once: parameters, gradients, the optimizer's state, buffers, the batch, what autograd saves, and what
operators write between (also what fully_shard() gathers and sums in). Not counted: what a kernel allocates inside of one operator,
and memory that an allocator keeps of tensors that are gone."""
import weakref

import torch
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves


class Live(TorchDispatchMode):
    """Follows storages from the operator that makes, or first reads, them."""

    def __init__(self, detailed=False):
        super().__init__()
        self.held, self.now, self.most = {}, 0, 0
        self.saved, self.saved_now, self.saved_most = set(), 0, 0  # for the backward half, beside parameters and buffers
        self.detail, self.saved_detail = {} if detailed else None, {}  # of the fullest moment, and all that is saved, by operator
        self.resize = torch.UntypedStorage.resize_

    def __enter__(self):
        follow, resize = self.follow, self.resize

        def resized(storage, size):
            resize(storage, size)
            follow(storage, "resize_")
        torch.UntypedStorage.resize_ = resized
        return super().__enter__()

    def __exit__(self, *args):
        torch.UntypedStorage.resize_ = self.resize
        return super().__exit__(*args)

    def follow(self, storage, name):
        key, n = storage._cdata, storage.nbytes()
        if key not in self.held:
            weakref.finalize(storage, self.gone, key)
            self.held[key] = [0, name]
        self.now += n - self.held[key][0]
        self.held[key][0] = n
        if self.now > self.most:
            self.most = self.now
            if self.detail is not None:
                self.detail = {}
                for size, what in self.held.values():
                    self.detail.setdefault(what, []).append(size)
                self.detail["AT"] = [name]

    def gone(self, key):
        n = self.held.pop(key, [0])[0]
        self.now -= n
        self.saved_now -= n if key in self.saved else 0
        self.saved.discard(key)

    def save(self, modules):
        """Hooks that count what forward halves save for backward halves."""
        def storage(x):
            return (x.to_local() if hasattr(x, "to_local") else x).untyped_storage()

        def pack(x):
            with torch.no_grad():
                s = storage(x)
                held = {storage(t).data_ptr() for t in [*modules.parameters(), *modules.buffers()]}
                if s.data_ptr() not in held and s._cdata not in self.saved and s.nbytes():
                    self.follow(s, "saved")
                    self.saved.add(s._cdata)
                    self.saved_now += s.nbytes()
                    if self.detail is not None:
                        self.saved_detail.setdefault(f"{self.held[s._cdata][1]} {str(x.dtype)[6:]}", []).append(s.nbytes())
                    self.saved_most = max(self.saved_most, self.saved_now)
            return x
        return torch.autograd.graph.saved_tensors_hooks(pack, lambda x: x)

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        if torch.distributed.tensor.DTensor in types:
            return NotImplemented  # what it is made of comes by
        kwargs = kwargs or {}
        if func in (torch.ops.aten.split.Tensor, torch.ops.aten.copy_.default):  # of tensors of gloo's own; they make none
            return func(*args, **kwargs)
        self.add((args, kwargs), "before")
        out = func(*args, **kwargs)
        self.add(out, func._schema.name)
        return out

    def add(self, tensors, name="before"):
        for x in tree_leaves(tensors):
            if isinstance(x, torch.Tensor) and x.device.type != "meta" and x.layout == torch.strided:
                x = x.to_local() if hasattr(x, "to_local") else x
                self.follow(x.untyped_storage(), name)
