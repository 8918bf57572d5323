"""PyTorch's functions, as nodes of an exported graph have them: their names, and the types of their numbers.

Where parameters are in 16 bits, values are, too, until the model casts them to fp32. A model that is traced in fp32 has the casts but not
their types: a cast of what is in fp32 already is taken for one back to 16 bits."""
import torch
from torch.utils._pytree import tree_leaves

CASTS = ("to", "_to_copy", "clone", "contiguous", "type_as", "float", "_assert_tensor_metadata")
GROUPED = {"_grouped_mm", "grouped_mm", "grouped_mm_fallback"}
PRODUCTS = {"linear", "matmul", "mm", "bmm", "addmm", "baddbmm", *GROUPED}
LAYERS = {*PRODUCTS, "embedding", "embedding_bag", "conv1d", "conv2d", "conv3d", "convolution", "conv_transpose1d", "conv_transpose2d", "conv_transpose3d",
          "batch_norm", "layer_norm", "group_norm", "rms_norm", "scaled_dot_product_attention", "lstm", "gru", "rnn_tanh", "rnn_relu"}


def base_name(target):
    """"aten::add_.Tensor" is add, in place."""
    schema = getattr(target, "_schema", None)
    if schema is None:
        return str(target)
    name = schema.name.split("::")[-1]
    return name[:-1] if name.endswith("_") and not name.endswith("__") else name


def name_of(node):
    return base_name(node.target) if isinstance(node, torch.fx.Node) and node.op == "call_function" else None


def is_cast(node):
    """Does a node give floating-point numbers another type, or would it, if they had another one?"""
    value = node.meta.get("val")
    return name_of(node) in ("to", "_to_copy", "float") and isinstance(value, torch.Tensor) and value.is_floating_point()


def widens(node, is_wide):
    """Does a cast give fp32, where parameters are in 16 bits? is_wide: is what it is given in fp32 there?"""
    before, after = node.args[0].meta["val"].dtype, node.meta["val"].dtype
    return after == torch.float32 and (before != torch.float32 or not is_wide)


def is_in_fp32(node, host):
    """Is the value of a node in fp32 where the parameters are in 16 bits? Products and layers are in 16 bits. Later readers of a tensor that a
    trace has cast to the type that it has are told to read the cast: so no more than what follows the last layer is looked at."""
    known = host.values.get(node)
    if node in host.values:
        return isinstance(known, torch.Tensor) and known.dtype == torch.float32 and known.dim() > 0
    if is_cast(node):
        return widens(node, is_in_fp32(node.args[0], host))
    if node.op != "call_function" or name_of(node) in LAYERS:
        return False
    return any(x is torch.float32 for x in tree_leaves((node.args, node.kwargs))) or any(is_in_fp32(a, host) for a in node.all_input_nodes)
