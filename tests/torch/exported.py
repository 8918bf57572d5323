"""Networks and plans in bf16 with AdamW: exported scripts beside what their plans say. `bench/torch_scripts.sh` prints the table."""
import torch
from measured import BATCH, LENGTH, SIZES, VOCABULARY, WIDTH, drawn, hugging, numbers, vit, whisper
from torch import nn

F = nn.functional


class Dlrm(nn.Module):
    """Tables of categories, of which each sample has several rows of each, and numbers beside them; their products two by two."""

    def __init__(self, rows=(4000, 1000, 300), width=32):
        super().__init__()
        self.tables = nn.ModuleList(nn.EmbeddingBag(n, width, mode="sum") for n in rows)
        self.bottom = nn.Sequential(nn.Linear(13, 64), nn.ReLU(), nn.Linear(64, width), nn.ReLU())
        pairs = (len(rows) + 1) * len(rows) // 2
        self.top = nn.Sequential(nn.Linear(width + pairs, 128), nn.ReLU(), nn.Linear(128, 64), nn.ReLU(), nn.Linear(64, 2))
        self.register_buffer("pairs", torch.tril_indices(len(rows) + 1, len(rows) + 1, -1), persistent=False)

    def forward(self, x, a, b, c):
        x = self.bottom(x)
        every = torch.stack([x, *(table(ids) for table, ids in zip(self.tables, (a, b, c)))], 1)
        products = every @ every.transpose(1, 2)
        return self.top(torch.cat([x, products[:, self.pairs[0], self.pairs[1]]], 1))


def dlrm():
    return Dlrm(), {"x": drawn(BATCH, 13), "a": numbers(4000, BATCH, 20), "b": numbers(1000, BATCH, 5), "c": numbers(300, BATCH, 3)}, numbers(2, BATCH)


class Words(nn.Module):
    """A recurrent language model."""

    def __init__(self, kind, width=WIDTH, layers=2):
        super().__init__()
        self.embed, self.cells, self.head = nn.Embedding(VOCABULARY, width), kind(width, width, layers, batch_first=True), nn.Linear(width, VOCABULARY)

    def forward(self, ids):
        return self.head(self.cells(self.embed(ids))[0])


def words(kind):
    def make():
        ids = numbers(VOCABULARY, BATCH, LENGTH // 2 + 1)
        return Words(kind), {"ids": ids[:, :-1]}, ids[:, 1:]
    return make


def t5():
    """With dropout, as its configuration has it."""
    import transformers
    c = transformers.T5Config(vocab_size=VOCABULARY, d_model=WIDTH, d_kv=16, d_ff=4 * WIDTH, num_layers=2, num_heads=4, dropout_rate=0.1, decoder_start_token_id=0, use_cache=False)
    ids = numbers(VOCABULARY, BATCH, 96)
    return transformers.T5ForConditionalGeneration(c), {"input_ids": ids, "labels": ids.clone()}, None


def mixtral():
    import transformers
    c = transformers.MixtralConfig(**{**SIZES, "num_hidden_layers": 4, "intermediate_size": WIDTH}, num_key_value_heads=2, num_local_experts=4, use_cache=False)
    c._attn_implementation = "sdpa"
    ids = numbers(VOCABULARY, BATCH, LENGTH)
    return transformers.MixtralForCausalLM(c), {"input_ids": ids, "labels": ids.clone()}, None


def bert():
    """Words that are padded, in a table of positions that has more rows than the sentences have words."""
    model, batch, _ = hugging("BertConfig", "BertForSequenceClassification", True, max_position_embeddings=512, **SIZES)()
    mask = torch.arange(LENGTH) < numbers(LENGTH // 2, BATCH, 1) + LENGTH // 2
    return model, {**batch, "attention_mask": mask.long(), "labels": numbers(2, BATCH)}, None


def double(inputs, outputs):
    return nn.Sequential(nn.Conv2d(inputs, outputs, 3, padding=1), nn.GroupNorm(4, outputs), nn.SiLU(), nn.Conv2d(outputs, outputs, 3, padding=1), nn.GroupNorm(4, outputs), nn.SiLU())


class UNet(nn.Module):
    """Noise that is to be found in images, with the step of time embedded."""

    def __init__(self, width=16):
        super().__init__()
        self.time = nn.Sequential(nn.Linear(32, 4 * width), nn.SiLU(), nn.Linear(4 * width, 2 * width))
        self.inside, self.down1, self.down2 = double(3, width), nn.Conv2d(width, 2 * width, 3, 2, 1), double(2 * width, 2 * width)
        self.up, self.outside, self.last = nn.ConvTranspose2d(2 * width, width, 2, 2), double(2 * width, width), nn.Conv2d(width, 3, 1)
        self.register_buffer("frequencies", torch.exp(-torch.arange(16) / 2), persistent=False)

    def forward(self, x, t):
        angles = t[:, None] * self.frequencies
        t = self.time(torch.cat([angles.sin(), angles.cos()], 1))
        a = self.inside(x)
        b = self.down2(self.down1(a) + t[:, :, None, None])
        return self.last(self.outside(torch.cat([self.up(b), a], 1)))


def unet():
    return UNet(), {"x": drawn(BATCH, 3, 32, 32), "t": drawn(BATCH).abs()}, drawn(BATCH, 3, 32, 32)


class Vae(nn.Module):
    """Returns its loss: what is lost, and how far from normal the code is."""

    def __init__(self, width=16, code=32):
        super().__init__()
        self.down = nn.Sequential(nn.Conv2d(3, width, 3, 2, 1), nn.ReLU(), nn.Conv2d(width, 2 * width, 3, 2, 1), nn.ReLU(), nn.Flatten())
        self.mean, self.spread = nn.Linear(2 * width * 64, code), nn.Linear(2 * width * 64, code)
        self.fill = nn.Linear(code, 2 * width * 64)
        self.up = nn.Sequential(nn.Unflatten(1, (2 * width, 8, 8)), nn.ConvTranspose2d(2 * width, width, 4, 2, 1), nn.ReLU(), nn.ConvTranspose2d(width, 3, 4, 2, 1))

    def forward(self, x, noise):
        y = self.down(x)
        mean, spread = self.mean(y), self.spread(y)
        z = mean + noise * (0.5 * spread).exp()
        return F.mse_loss(self.up(self.fill(z)), x) + 0.01 * (mean.square() + spread.exp() - spread - 1).mean()


def vae():
    return Vae(), {"x": drawn(BATCH, 3, 32, 32), "noise": drawn(BATCH, 32)}, None


def clip():
    """Images and words of each sample are compared with those of all samples."""
    import transformers
    text = {"vocab_size": VOCABULARY, "hidden_size": WIDTH, "intermediate_size": 4 * WIDTH, "num_hidden_layers": 2, "num_attention_heads": 4, "max_position_embeddings": 32, "eos_token_id": 2}
    image = {"hidden_size": WIDTH, "intermediate_size": 4 * WIDTH, "num_hidden_layers": 2, "num_attention_heads": 4, "image_size": 64, "patch_size": 8}
    c = transformers.CLIPConfig(text_config=text, vision_config=image, projection_dim=WIDTH)
    ids = numbers(VOCABULARY - 3, BATCH, 32) + 3
    ids[:, -1] = 2
    return transformers.CLIPModel(c), {"input_ids": ids, "pixel_values": drawn(BATCH, 3, 64, 64), "return_loss": True}, None


class NextBlock(nn.Module):
    """ConvNeXt's: a convolution of each channel by itself, a norm of channels, a scale."""

    def __init__(self, width):
        super().__init__()
        self.conv, self.norm = nn.Conv2d(width, width, 7, padding=3, groups=width), nn.LayerNorm(width)
        self.up, self.down, self.scale = nn.Linear(width, 4 * width), nn.Linear(4 * width, width), nn.Parameter(torch.full((width,), 0.1))

    def forward(self, x):
        y = self.down(F.gelu(self.up(self.norm(self.conv(x).permute(0, 2, 3, 1)))))
        return x + (y * self.scale).permute(0, 3, 1, 2)


class Next(nn.Module):
    def __init__(self, width=24):
        super().__init__()
        self.stem = nn.Conv2d(3, width, 4, 4)
        self.stages = nn.Sequential(*(NextBlock(width) for _ in range(2)), nn.Conv2d(width, 2 * width, 2, 2), *(NextBlock(2 * width) for _ in range(2)))
        self.norm, self.head = nn.LayerNorm(2 * width), nn.Linear(2 * width, 10)

    def forward(self, x):
        return self.head(self.norm(self.stages(self.stem(x)).mean((2, 3))))


def convnext():
    return Next(), {"x": drawn(BATCH, 3, 64, 64)}, numbers(10, BATCH)


class Inverted(nn.Module):
    """MobileNet's: wide, by channel, squeezed, narrow."""

    def __init__(self, width, more=4):
        super().__init__()
        wide = more * width
        self.up, self.n1 = nn.Conv2d(width, wide, 1, bias=False), nn.BatchNorm2d(wide)
        self.each, self.n2 = nn.Conv2d(wide, wide, 3, padding=1, groups=wide, bias=False), nn.BatchNorm2d(wide)
        self.squeeze, self.excite = nn.Conv2d(wide, width, 1), nn.Conv2d(width, wide, 1)
        self.down, self.n3 = nn.Conv2d(wide, width, 1, bias=False), nn.BatchNorm2d(width)

    def forward(self, x):
        y = F.hardswish(self.n2(self.each(F.hardswish(self.n1(self.up(x))))))
        y = y * F.hardsigmoid(self.excite(F.relu(self.squeeze(F.adaptive_avg_pool2d(y, 1)))))
        return x + self.n3(self.down(y))


class Mobile(nn.Module):
    def __init__(self, width=16):
        super().__init__()
        self.stem, self.norm = nn.Conv2d(3, width, 3, 2, 1, bias=False), nn.BatchNorm2d(width)
        self.blocks, self.head = nn.Sequential(*(Inverted(width) for _ in range(3))), nn.Linear(width, 10)

    def forward(self, x):
        x = self.blocks(F.hardswish(self.norm(self.stem(x))))
        return self.head(F.adaptive_avg_pool2d(x, 1).flatten(1))


def mobile():
    return Mobile(), {"x": drawn(BATCH, 3, 48, 48)}, numbers(10, BATCH)


class Mixer(nn.Module):
    """Patches are mixed, then channels."""

    def __init__(self, width=WIDTH, patches=64, layers=4):
        super().__init__()
        self.patch = nn.Conv2d(3, width, 8, 8)
        self.layers = nn.ModuleList(nn.ModuleDict({
            "n1": nn.LayerNorm(width), "a": nn.Linear(patches, 2 * patches), "b": nn.Linear(2 * patches, patches),
            "n2": nn.LayerNorm(width), "c": nn.Linear(width, 4 * width), "d": nn.Linear(4 * width, width)}) for _ in range(layers))
        self.norm, self.head = nn.LayerNorm(width), nn.Linear(width, 10)

    def forward(self, x):
        x = self.patch(x).flatten(2).transpose(1, 2)
        for m in self.layers:
            x = x + m["b"](F.gelu(m["a"](m["n1"](x).transpose(1, 2)))).transpose(1, 2)
            x = x + m["d"](F.gelu(m["c"](m["n2"](x))))
        return self.head(self.norm(x).mean(1))


def mixer():
    return Mixer(), {"x": drawn(BATCH, 3, 64, 64)}, numbers(10, BATCH)


class Tagged(nn.Module):
    """nn.TransformerEncoder on words, a tag for each."""

    def __init__(self):
        super().__init__()
        self.embed, self.position = nn.Embedding(VOCABULARY, WIDTH), nn.Embedding(256, WIDTH)
        layer = nn.TransformerEncoderLayer(WIDTH, 4, 4 * WIDTH, 0.0, "gelu", batch_first=True, norm_first=True)
        self.encoder, self.head = nn.TransformerEncoder(layer, 2, enable_nested_tensor=False), nn.Linear(WIDTH, 16)
        self.register_buffer("places", torch.arange(256), persistent=False)

    def forward(self, ids):
        return self.head(self.encoder(self.embed(ids) + self.position(self.places[:ids.shape[1]])))


def tagged():
    return Tagged(), {"ids": numbers(VOCABULARY, BATCH, LENGTH)}, numbers(16, BATCH, LENGTH)


class Widened(nn.Module):
    """Each block computes a part of itself in fp32: it casts what that part reads, and the part's result back."""

    def __init__(self, width=WIDTH):
        super().__init__()
        self.first, self.second, self.norm = nn.Linear(width, 4 * width), nn.Linear(2 * width, width), nn.LayerNorm(width)
        self.rate = nn.Parameter(torch.zeros(2 * width))

    def forward(self, x):
        a, b = self.first(self.norm(x)).chunk(2, -1)
        a, b = a.float(), b.float()
        y = torch.exp(-torch.exp(self.rate.float()) * a.abs()) * b + a.tanh() * b.sigmoid()
        return x + self.second(y.to(x.dtype))


class Wide(nn.Module):
    def __init__(self, layers=3):
        super().__init__()
        self.embed, self.head = nn.Embedding(VOCABULARY, WIDTH), nn.Linear(WIDTH, 16)
        self.blocks = nn.ModuleList(Widened() for _ in range(layers))

    def forward(self, ids):
        x = self.embed(ids)
        for block in self.blocks:
            x = block(x)
        return self.head(x)


def wide():
    return Wide(), {"ids": numbers(VOCABULARY, BATCH, LENGTH)}, numbers(16, BATCH, LENGTH)


def mamba():
    import transformers
    c = transformers.MambaConfig(vocab_size=VOCABULARY, hidden_size=WIDTH, num_hidden_layers=2, use_cache=False)
    ids = numbers(VOCABULARY, BATCH, 16)
    return transformers.MambaForCausalLM(c), {"input_ids": ids, "labels": ids.clone()}, None


LLAMA = {**SIZES, "num_key_value_heads": 2}
NETS = {
    "dlrm": dlrm, "lstm-words": words(nn.LSTM), "gru-words": words(nn.GRU), "t5-dropout": t5, "mixtral-4": mixtral, "bert-512": bert, "unet-time": unet, "vae-images": vae,
    "clip": clip, "whisper-64": whisper(4 * WIDTH, 16, 128, 64), "vit-3": vit(3, 96, 10, True), "convnext": convnext, "mobile": mobile, "mixer": mixer, "tagged": tagged, "wide": wide, "mamba": mamba,
    "llama-4": hugging("LlamaConfig", "LlamaForCausalLM", True, **{**LLAMA, "num_hidden_layers": 4}),
    "gpt2-4": hugging("GPT2Config", "GPT2LMHeadModel", True, vocab_size=VOCABULARY, n_embd=WIDTH, n_layer=4, n_head=4, n_positions=256),
    "qwen3": hugging("Qwen3Config", "Qwen3ForCausalLM", True, head_dim=16, **LLAMA),
    "opt": hugging("OPTConfig", "OPTForCausalLM", True, vocab_size=VOCABULARY, hidden_size=WIDTH, ffn_dim=4 * WIDTH, num_hidden_layers=4, num_attention_heads=4,
                   max_position_embeddings=256, word_embed_proj_dim=WIDTH),
    "olmo2": hugging("Olmo2Config", "Olmo2ForCausalLM", True, pad_token_id=0, **LLAMA),
}
# A network, processes, and words of `hypar plan --planner 3d`
PLANS = [
    ("dlrm", 2, "--data 2"),
    ("dlrm", 2, "--pipeline 2 --micro-batches 2"),
    ("dlrm", 2, "--data 2 --shard parameters"),
    ("lstm-words", 2, "--data 2"),
    ("lstm-words", 2, "--data 2 --shard parameters"),
    ("t5-dropout", 2, "--tensor 2"),
    ("mixtral-4", 4, "--pipeline 4 --micro-batches 4 --schedule gpipe"),
    ("bert-512", 4, "--data 2 --tensor 2"),
    ("unet-time", 2, "--data 2"),
    ("vae-images", 2, "--data 2 --shard gradients"),
    ("clip", 2, "--pipeline 2 --schedule gpipe"),
    ("whisper-64", 2, "--pipeline 2 --micro-batches 2 --schedule gpipe"),
    ("vit-3", 4, "--data 4 --shard parameters"),
    ("convnext", 4, "--data 4 --shard parameters"),
    ("mobile", 2, "--data 2 --shard gradients"),
    ("mixer", 2, "--pipeline 2 --micro-batches 4 --schedule 1f1b"),
    ("tagged", 4, "--tensor 2 --pipeline 2 --micro-batches 2"),
    ("llama-4", 8, "--data 2 --tensor 2 --pipeline 2 --micro-batches 2"),
    ("gpt2-4", 2, "--pipeline 2 --chunks 2 --micro-batches 2"),
    ("qwen3", 4, "--data 4 --shard gradients --micro-batches 2"),
    ("opt", 4, "--data 2 --pipeline 2 --micro-batches 2"),
    ("olmo2", 4, "--data 2 --tensor 2"),
    ("gru-words", 2, "--data 2 --micro-batches 2"),
    ("wide", 2, "--data 2"),
    ("mamba", 2, "--data 2"),
]
HOW = {"precision": "bf16", "gradient_precision": "fp32", "optimizer": "adamw", "measured": True}
CASES = [(words.replace("--", "").replace(" ", "-"), net, ranks, {"words": words, **HOW}) for net, ranks, words in PLANS]
