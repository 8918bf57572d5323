"""Networks and plans, most of them in bf16, whose messages, saved tensors and fullest moment are compared with what the plan says.

Activations are large beside one layer's parameters, as they are in training."""
import torch
from torch import nn

BATCH, LENGTH, WIDTH, VOCABULARY = 8, 192, 64, 256
SIZES = {"vocab_size": VOCABULARY, "hidden_size": WIDTH, "intermediate_size": 4 * WIDTH, "num_hidden_layers": 2, "num_attention_heads": 4}


def drawn(*shape):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(1))


def numbers(most, *shape):
    return torch.randint(0, most, shape, generator=torch.Generator().manual_seed(1))


def hugging(config, model, own_loss, **options):
    """A model of Hugging Face's; `own_loss`: it computes the loss in fp32 itself (others do in bf16: there, the script does)."""
    def make():
        import transformers
        transformers.logging.set_verbosity_error()
        c = getattr(transformers, config)(**options)
        c.use_cache, c._attn_implementation = False, "sdpa"
        for key in [k for k in c.to_dict() if "drop" in k and isinstance(getattr(c, k), float)]:
            setattr(c, key, 0.0)
        ids = numbers(VOCABULARY, BATCH, LENGTH)
        batch = {"input_ids": ids, **({"labels": ids.clone()} if own_loss else {})}
        return getattr(transformers, model)(c), batch, None if own_loss else ids.clone()
    return make


def masked():
    """Words that are padded, a mask that the model makes of theirs, and a loss of its own."""
    model, batch, _ = hugging("BertConfig", "BertForSequenceClassification", True, max_position_embeddings=LENGTH, **SIZES)()
    mask = torch.arange(LENGTH) < numbers(LENGTH // 2, BATCH, 1) + LENGTH // 2
    return model, {**batch, "attention_mask": mask.long(), "labels": numbers(2, BATCH)}, None


def whisper(inner, bins, positions, words):
    """Queries in the order of heads, so that attention's output is copied."""
    def make():
        import transformers
        c = transformers.WhisperConfig(vocab_size=VOCABULARY, d_model=WIDTH, encoder_layers=2, decoder_layers=2, encoder_attention_heads=4, decoder_attention_heads=4,
                                       encoder_ffn_dim=inner, decoder_ffn_dim=inner, num_mel_bins=bins, max_source_positions=positions, max_target_positions=positions,
                                       dropout=0.0, pad_token_id=0, bos_token_id=1, eos_token_id=2, decoder_start_token_id=1, use_cache=False)
        batch = {"input_features": drawn(BATCH, bins, 2 * positions), "labels": numbers(VOCABULARY, BATCH, words)}
        return transformers.WhisperForConditionalGeneration(c), batch, None
    return make


def vit(layers, image, kinds, own_loss):
    def make():
        import transformers
        c = transformers.ViTConfig(hidden_size=WIDTH, intermediate_size=4 * WIDTH, num_hidden_layers=layers, num_attention_heads=4, image_size=image,
                                   patch_size=8, hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.0, num_labels=kinds)
        images, labels = drawn(BATCH, 3, image, image), numbers(kinds, BATCH)
        batch = {"pixel_values": images, **({"labels": labels} if own_loss else {})}
        return transformers.ViTForImageClassification(c), batch, None if own_loss else labels
    return make


def mlp():
    layers = [nn.Linear(64, 128), nn.ReLU(), nn.Linear(128, 128), nn.Tanh(), nn.Linear(128, 128), nn.ReLU(), nn.Linear(128, 64)]
    return nn.Sequential(*layers), {"input": drawn(BATCH, LENGTH, 64)}, numbers(64, BATCH, LENGTH)


def wide():
    """Gradients outweigh activations, but where each device has the half of them."""
    layers = [layer for _ in range(4) for layer in (nn.Linear(256, 256), nn.ReLU())]
    return nn.Sequential(*layers, nn.Linear(256, 16)), {"input": drawn(BATCH, 96, 256)}, numbers(16, BATCH, 96)


def deep():
    """Parameters outweigh activations by far."""
    layers = [layer for _ in range(12) for layer in (nn.Linear(256, 256), nn.ReLU())]
    return nn.Sequential(*layers, nn.Linear(256, 16)), {"input": drawn(BATCH, 2, 256)}, numbers(16, BATCH, 2)


class Odd(nn.Module):
    """Many small parameters whose rows no number of processes divides."""

    def __init__(self, width=11, layers=12):
        super().__init__()
        self.inside, self.head = nn.Linear(7, width), nn.Linear(width, 3)
        self.layers = nn.ModuleList(nn.Sequential(nn.Linear(width, width), nn.LayerNorm(width), nn.GELU(), nn.Linear(width, 5), nn.Linear(5, width))
                                    for _ in range(layers))
        self.gains = nn.ParameterList(nn.Parameter(torch.ones(1, width)) for _ in range(layers))

    def forward(self, x):
        x = self.inside(x)
        for layer, gain in zip(self.layers, self.gains):
            x = x + layer(x) * gain
        return self.head(x)


def odd():
    return Odd(), {"x": drawn(BATCH, LENGTH, 7)}, numbers(3, BATCH, LENGTH)


class Block(nn.Module):
    def __init__(self, inputs, outputs, stride):
        super().__init__()
        self.conv1, self.bn1 = nn.Conv2d(inputs, outputs, 3, stride, 1, bias=False), nn.BatchNorm2d(outputs)
        self.conv2, self.bn2 = nn.Conv2d(outputs, outputs, 3, 1, 1, bias=False), nn.BatchNorm2d(outputs)
        self.short = nn.Sequential(nn.Conv2d(inputs, outputs, 1, stride, bias=False), nn.BatchNorm2d(outputs)) if stride > 1 else nn.Identity()

    def forward(self, x):
        y = self.bn2(self.conv2(nn.functional.relu(self.bn1(self.conv1(x)))))
        return nn.functional.relu(y + self.short(x))


class Resnet(nn.Module):
    """With batch norms."""

    def __init__(self):
        super().__init__()
        self.conv, self.bn = nn.Conv2d(3, 16, 3, 1, 1, bias=False), nn.BatchNorm2d(16)
        self.layer1, self.layer2 = nn.Sequential(Block(16, 16, 1), Block(16, 16, 1)), nn.Sequential(Block(16, 32, 2), Block(32, 32, 1))
        self.fc = nn.Linear(32, 10)

    def forward(self, x):
        x = self.layer2(self.layer1(nn.functional.relu(self.bn(self.conv(x)))))
        return self.fc(nn.functional.adaptive_avg_pool2d(x, 1).flatten(1))


def resnet():
    return Resnet(), {"x": drawn(BATCH, 3, 32, 32)}, numbers(10, BATCH)


class Layer(nn.Module):
    """LayerNorm, GELU, dropout."""

    def __init__(self, heads):
        super().__init__()
        self.heads, self.norm1, self.norm2, self.drop = heads, nn.LayerNorm(WIDTH), nn.LayerNorm(WIDTH), nn.Dropout(0.1)
        self.q, self.k, self.v, self.out = (nn.Linear(WIDTH, WIDTH) for _ in range(4))
        self.up, self.down = nn.Linear(WIDTH, 4 * WIDTH), nn.Linear(4 * WIDTH, WIDTH)

    def forward(self, x):
        y = self.norm1(x)
        q, k, v = (f(y).unflatten(-1, (self.heads, -1)).transpose(1, 2) for f in (self.q, self.k, self.v))
        y = nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.out(y.transpose(1, 2).flatten(2))
        return x + self.drop(self.down(nn.functional.gelu(self.up(self.norm2(x)))))


class Dropped(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed, self.position = nn.Embedding(VOCABULARY, WIDTH), nn.Parameter(torch.zeros(LENGTH, WIDTH))
        self.layers, self.norm, self.head = nn.Sequential(Layer(4), Layer(4)), nn.LayerNorm(WIDTH), nn.Linear(WIDTH, VOCABULARY)

    def forward(self, ids):
        return self.head(self.norm(self.layers(self.embed(ids) + self.position)))


def dropped():
    ids = numbers(VOCABULARY, BATCH, LENGTH + 1)
    return Dropped(), {"ids": ids[:, :-1]}, ids[:, 1:]


NETS = {
    "llama16": hugging("LlamaConfig", "LlamaForCausalLM", True, num_key_value_heads=2, **SIZES),
    "qwen16": hugging("Qwen2Config", "Qwen2ForCausalLM", True, num_key_value_heads=1, **SIZES),
    "gpt16": hugging("GPT2Config", "GPT2LMHeadModel", True, vocab_size=VOCABULARY, n_embd=WIDTH, n_layer=2, n_head=4, n_positions=LENGTH),
    "bert16": hugging("BertConfig", "BertForMaskedLM", False, max_position_embeddings=LENGTH, **SIZES),
    "mixtral16": hugging("MixtralConfig", "MixtralForCausalLM", True, num_key_value_heads=2, num_local_experts=4, **{**SIZES, "intermediate_size": WIDTH}),
    "vit16": vit(2, 112, 16, False), "mlp16": mlp, "wide16": wide, "deep16": deep, "resnet16": resnet, "dropped16": dropped, "odd16": odd, "masked16": masked,
    "whisper16": whisper(2 * WIDTH, 8, 96, 96),
}
FP32 = {"optimizer": "sgd", "as": "eager", "measured": True}
BF16 = {"precision": "bf16", "gradient_precision": "fp32", "optimizer": "adamw", "as": "eager", "measured": True}
CASES = [(name, net, ranks, {**layout, **BF16}) for name, net, ranks, layout in [
    ("dp", "llama16", 2, {"data": 2}),
    ("zero2", "llama16", 2, {"data": 2, "shard": "gradients"}),
    ("recompute", "llama16", 2, {"data": 2, "recompute": "full"}),
    ("tensor", "llama16", 2, {"tensor": 2}),
    ("zero3", "llama16", 4, {"data": 4, "shard": "parameters"}),
    ("3d", "llama16", 4, {"tensor": 2, "pipeline": 2, "micro_batches": 2}),
    ("zero2", "qwen16", 4, {"data": 2, "tensor": 2, "shard": "gradients", "shard_over": 2}),
    ("zero3", "gpt16", 2, {"data": 2, "shard": "parameters"}),
    ("1f1b", "gpt16", 2, {"pipeline": 2, "micro_batches": 4}),
    ("3d", "gpt16", 4, {"data": 2, "tensor": 2}),
    ("zero1", "bert16", 2, {"data": 2, "shard": "optimizer"}),
    ("zero2", "bert16", 4, {"data": 4, "shard": "gradients", "micro_batches": 2}),
    ("dp", "vit16", 2, {"data": 2}),
    ("recompute", "vit16", 4, {"data": 2, "tensor": 2, "recompute": "full"}),
    ("3d", "vit16", 4, {"data": 2, "pipeline": 2, "micro_batches": 2}),
    ("tensor", "mlp16", 2, {"tensor": 2}),
    ("zero3", "mlp16", 4, {"data": 4, "shard": "parameters"}),
    ("zero1", "wide16", 2, {"data": 2, "shard": "optimizer"}),
    ("dp", "deep16", 2, {"data": 2}),
    ("zero2", "deep16", 2, {"data": 2, "shard": "gradients"}),
    ("tensor", "deep16", 2, {"tensor": 2}),
    ("dp2", "deep16", 2, {"data": 2, "micro_batches": 2}),
    ("zero2", "deep16", 4, {"data": 4, "shard": "gradients", "micro_batches": 2}),
    ("1f1b", "deep16", 2, {"pipeline": 2, "micro_batches": 2}),
    ("3d", "deep16", 4, {"data": 2, "pipeline": 2, "micro_batches": 2}),
    ("dp", "resnet16", 2, {"data": 2}),
    ("zero3", "resnet16", 4, {"data": 4, "shard": "parameters"}),
    ("dp", "dropped16", 2, {"data": 2}),
    ("dp", "mixtral16", 2, {"data": 2}),  # experts are opaque: what is saved inside of them
    ("zero3", "odd16", 4, {"data": 4, "shard": "parameters"}),
    ("zero1", "odd16", 2, {"data": 2, "shard": "optimizer"}),
]] + [(f"fp32-{name}", net, ranks, {**layout, **FP32}) for name, net, ranks, layout in [
    ("dp", "gpt16", 2, {"data": 2}),
    ("stages", "masked16", 2, {"pipeline": 2, "micro_batches": 2}),
    ("3d", "masked16", 4, {"data": 2, "tensor": 2}),
    ("dp", "whisper16", 2, {"data": 2}),
    ("stages", "whisper16", 2, {"pipeline": 2, "micro_batches": 2}),
    ("zero1", "deep16", 2, {"data": 2, "shard": "optimizer"}),
    ("zero3", "wide16", 2, {"data": 2, "shard": "parameters"}),
    ("gpipe", "deep16", 2, {"pipeline": 2, "micro_batches": 2, "schedule": "gpipe"}),
    ("zero2", "odd16", 4, {"data": 2, "tensor": 2, "shard": "gradients", "shard_over": 2}),
    # samples of the loss alone are divided: no module is wrapped
    ("mixed", "deep16", 2, {"ops": [*({"name": f"{i}", "split": {"kccr"[i % 4]: 2}} for i in range(24)), {"name": "24", "split": {"r": 2}},
                                    {"name": "loss", "split": {"n": 2}}]}),
]]
