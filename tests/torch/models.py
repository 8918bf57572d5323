"""Networks that are exported: each function returns a model and its arguments, as `python -m hypar.torch` takes them.

Weights are random, nothing is fetched. `small` networks are run against PyTorch, gradient by gradient; those of torchvision
are in their usual sizes."""
import torch
from torch import nn

# Written here ---------------------------------------------------------------------------------------------------------


def mlp():
    return nn.Sequential(nn.Linear(12, 20), nn.ReLU(), nn.Linear(20, 20), nn.Tanh(), nn.Linear(20, 5)), torch.randn(4, 12)


class Detector(nn.Module):
    """Classes and boxes of an image and of numbers beside it; with targets, the loss of both behind them."""

    def __init__(self):
        super().__init__()
        self.trunk = nn.Sequential(nn.Linear(12, 32), nn.ReLU(), nn.Linear(32, 32), nn.ReLU())
        self.side, self.classes, self.boxes = nn.Linear(5, 32), nn.Linear(32, 7), nn.Linear(32, 4)

    def forward(self, x, side, labels=None, boxes=None):
        y = self.trunk(x) + self.side(side)
        found = self.classes(y), self.boxes(y)
        return found if labels is None else (found[0], classes_and_boxes(found, {"labels": labels, "boxes": boxes}))


def classes_and_boxes(found, target):
    """A loss of several outputs and of targets of two kinds."""
    return nn.functional.cross_entropy(found[0], target["labels"]) + 0.5 * nn.functional.mse_loss(found[1], target["boxes"])


def detector(inside):
    def make():
        g = torch.Generator().manual_seed(1)
        inputs = {"x": torch.randn(8, 12, generator=g), "side": torch.randn(8, 5, generator=g)}
        target = {"labels": torch.randint(0, 7, (8,), generator=g), "boxes": torch.randn(8, 4, generator=g)}
        return (Detector(), {**inputs, **target}) if inside else (Detector(), inputs, target)
    return make


def lenet():
    return nn.Sequential(nn.Conv2d(1, 6, 5, padding=2), nn.Tanh(), nn.AvgPool2d(2), nn.Conv2d(6, 16, 5), nn.ReLU(inplace=True),
                         nn.MaxPool2d(2), nn.Flatten(), nn.Linear(400, 84), nn.Tanh(), nn.Linear(84, 10)), torch.randn(4, 1, 28, 28)


class Block(nn.Module):
    """A residual block."""

    def __init__(self, width, out, stride):
        super().__init__()
        self.conv1 = nn.Conv2d(width, out, 3, stride, 1, bias=False)
        self.bn1 = nn.BatchNorm2d(out)
        self.conv2 = nn.Conv2d(out, out, 3, 1, 1, groups=2, bias=False)
        self.bn2 = nn.BatchNorm2d(out)
        self.relu = nn.ReLU(inplace=True)
        self.down = None
        if stride != 1:
            self.down = nn.Sequential(nn.Conv2d(width, out, 1, stride, bias=False), nn.BatchNorm2d(out))

    def forward(self, x):
        y = self.bn2(self.conv2(self.relu(self.bn1(self.conv1(x)))))
        y += self.down(x) if self.down else x
        return self.relu(y)


def resnet():
    layers = [nn.Conv2d(3, 4, 3, 1, 1, bias=False), nn.BatchNorm2d(4), nn.ReLU()]
    return nn.Sequential(*layers, Block(4, 4, 1), Block(4, 8, 2), nn.AdaptiveAvgPool2d(1), nn.Flatten(),
                         nn.Linear(8, 10)), torch.randn(4, 3, 16, 16)


class UNet(nn.Module):
    """Two levels down, and up again by transposed convolutions, with what was there before joined."""

    def __init__(self, width=8):
        super().__init__()
        def pair(a, b):
            return nn.Sequential(nn.Conv2d(a, b, 3, padding=1), nn.BatchNorm2d(b), nn.ReLU(inplace=True),
                                 nn.Conv2d(b, b, 3, padding=1), nn.BatchNorm2d(b), nn.ReLU(inplace=True))
        self.down1, self.down2 = pair(3, width), pair(width, 2 * width)
        self.pool = nn.MaxPool2d(2)
        self.bottom = pair(2 * width, 4 * width)
        self.up2, self.up1 = nn.ConvTranspose2d(4 * width, 2 * width, 2, 2), nn.ConvTranspose2d(2 * width, width, 2, 2)
        self.conv2, self.conv1 = pair(4 * width, 2 * width), pair(2 * width, width)
        self.head = nn.Conv2d(width, 4, 1)

    def forward(self, x):
        a = self.down1(x)
        b = self.down2(self.pool(a))
        c = self.bottom(self.pool(b))
        y = self.conv2(torch.cat([b, self.up2(c)], 1))
        return self.head(self.conv1(torch.cat([a, self.up1(y)], 1)))


def unet():
    return UNet(), torch.randn(2, 3, 16, 16)


class Recurrent(nn.Module):
    """A language model."""

    def __init__(self, kind, vocab=50, width=24, **options):
        super().__init__()
        self.embed = nn.Embedding(vocab, width)
        self.rnn = kind(width, width, **options)
        self.head = nn.Linear(width * (2 if options.get("bidirectional") else 1), vocab)

    def forward(self, tokens):
        return self.head(self.rnn(self.embed(tokens))[0])


def tokens(batch=4, length=12, vocab=50):
    return torch.randint(5, vocab, (batch, length))


def lstm():
    return Recurrent(nn.LSTM, num_layers=2, batch_first=True), tokens()


def bilstm():
    return Recurrent(nn.LSTM, num_layers=1, batch_first=True, bidirectional=True), tokens()


def gru():
    return Recurrent(nn.GRU, num_layers=2, batch_first=True), tokens()


class Transformer(nn.Module):
    """nn.Transformer between two embeddings and a head."""

    def __init__(self, vocab=50, width=32):
        super().__init__()
        self.source, self.target = nn.Embedding(vocab, width), nn.Embedding(vocab, width)
        self.transformer = nn.Transformer(width, 4, 2, 2, 64, dropout=0.0, batch_first=True)
        self.head = nn.Linear(width, vocab)
        self.register_buffer("mask", nn.Transformer.generate_square_subsequent_mask(12), persistent=False)

    def forward(self, source, target):
        return self.head(self.transformer(self.source(source), self.target(target), tgt_mask=self.mask, tgt_is_causal=True))


def transformer():
    return Transformer(), (tokens(), tokens())


class Encoder(nn.Module):
    """nn.TransformerEncoder on tokens, with the sequence before the samples inside."""

    def __init__(self, vocab=50, width=32):
        super().__init__()
        self.embed = nn.Embedding(vocab, width)
        layer = nn.TransformerEncoderLayer(width, 4, 64, dropout=0.0, activation="gelu", norm_first=True)
        self.encoder = nn.TransformerEncoder(layer, 2)
        self.head = nn.Linear(width, 10)

    def forward(self, x):
        return self.head(self.encoder(self.embed(x).transpose(0, 1)).mean(0))


def encoder():
    return Encoder(), tokens()


class WrittenOut(nn.Module):
    """Attention of windows as models write it out: a product, what is added to it, a softmax, a product."""

    def __init__(self, width, heads, windows, length):
        super().__init__()
        self.heads, self.windows, self.length = heads, windows, length
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.bias = nn.Parameter(torch.randn(1, heads, length, length))
        self.scale = nn.Parameter(torch.randn(heads, 1, 1))
        self.register_buffer("mask", torch.randn(windows, length, length).gt(1) * -100.0, persistent=False)

    def shifted(self, q, k, v):
        """Swin: windows are samples, until a mask of each is added."""
        scores = (q * q.shape[-1] ** -0.5).matmul(k.transpose(-2, -1)) + self.bias
        apart = scores.view(-1, self.windows, self.heads, self.length, self.length)
        scores = (apart + self.mask[:, None][None]).view(scores.shape)
        return nn.functional.dropout(nn.functional.softmax(scores, -1), 0.0, True).matmul(v)

    def cosine(self, q, k, v):
        """Swin v2: a factor for each head instead of a scale."""
        q, k = (nn.functional.normalize(x, dim=-1) for x in (q, k))
        return ((q @ k.transpose(-2, -1)) * self.scale.clamp(max=1).exp() + self.bias).softmax(-1) @ v

    def einsum(self, q, k, v):
        """MaxViT."""
        q, k, v = (x.unflatten(0, (-1, self.windows)) for x in (q, k, v))
        scores = torch.einsum("bghid,bghjd->bghij", q, k * k.shape[-1] ** -0.5)
        return torch.einsum("bghij,bghjd->bghid", (scores + self.bias).softmax(-1), v).flatten(0, 1)

    def joined(self, q, k, v):
        """Samples and heads as one dimension, and later queries do not count."""
        q, k, v = (x.flatten(0, 1) for x in (q, k, v))
        scores = torch.bmm(q, k.transpose(1, 2)) / 2
        later = torch.ones(self.length, self.length, dtype=torch.bool).triu(1)
        scores = scores.masked_fill(later, torch.finfo(scores.dtype).min)
        return torch.bmm(scores.softmax(-1), v).unflatten(0, (-1, self.heads))

    def forward(self, x):
        n, t, c = x.shape
        for form in (self.shifted, self.cosine, self.einsum, self.joined):
            qkv = self.qkv(x.view(-1, self.length, c)).reshape(-1, self.length, 3, self.heads, c // self.heads)
            y = form(*qkv.permute(2, 0, 3, 1, 4))
            x = x + self.out(y.transpose(1, 2).flatten(2)).view(n, t, c)
        return x.mean(1)


def windows():
    return WrittenOut(12, 2, 3, 5), torch.randn(2, 15, 12)


class Chosen(nn.Module):
    """Elements by number: of a dimension alike for all, or each sample its own."""

    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(6, 8)
        self.register_buffer("order", torch.tensor([3, 1, 1, 6]))

    def forward(self, x, ids):
        y = self.layer(x)
        top = y.max(1, keepdim=True)[0]
        y = torch.cat([y.gather(1, ids), y.index_select(1, self.order), y[:, self.order]], 1)
        return y.scatter_add(1, ids, y[:, :3]).clamp_max(2) * top


def chosen():
    return Chosen(), (torch.randn(4, 6), torch.randint(0, 8, (4, 3)))


class Edges(nn.Module):
    """A graph network of known edges, products with vectors, and what lies below a diagonal."""

    def __init__(self, nodes=5, width=6):
        super().__init__()
        self.layer, self.head = nn.Linear(300, width), nn.Linear(width, 5)
        self.vectors = nn.ParameterList(nn.Parameter(torch.randn(width)) for _ in range(2))
        self.register_buffer("edges", torch.tensor([[0, 1, 2, 3, 3, 4, 0], [1, 2, 0, 1, 4, 1, 4]]), persistent=False)
        self.register_buffer("below", torch.tril_indices(nodes, nodes, -1), persistent=False)

    def forward(self, x):
        y = self.layer(x)
        y = y.index_add(1, self.edges[1], y[:, self.edges[0]].tanh(), alpha=0.5)
        turned = torch.zeros_like(y)
        for i in range(y.shape[1]):
            turned[:, i] = y[:, i] * torch.sigmoid(turned[:, i - 1])
        y = y + turned
        y = y * (y @ self.vectors[0]).unsqueeze(-1) + torch.matmul(self.vectors[1], y.transpose(1, 2)).unsqueeze(-1)
        pairs = torch.bmm(y, y.transpose(1, 2))[:, self.below[0], self.below[1]]
        return self.head(y.mean(1)) + pairs.mean(1, keepdim=True)


def edges():
    return Edges(), torch.randn(4, 5, 300)

class Written(nn.Module):
    """Norms and activations step by step, sums of products by their letters, windows, elements counted from the end, a part in place."""

    def __init__(self, width=6):
        super().__init__()
        self.layer, self.weight, self.bias = nn.Linear(5, width), nn.Parameter(torch.randn(width)), nn.Parameter(torch.randn(width))
        self.mixed, self.third = nn.Parameter(torch.randn(width, 4)), nn.Parameter(torch.randn(4))
        self.register_buffer("last", torch.tensor([-1, 0, -2]), persistent=False)

    def norm(self, x, form):
        mean = x.mean(-1, keepdim=True)
        if form == "root":
            return (x - mean) * torch.rsqrt((x - mean).pow(2).mean(-1, keepdim=True) + 1e-5) * self.weight + self.bias
        return self.weight * ((x - mean) / torch.sqrt(x.var(-1, keepdim=True, unbiased=False) + 1e-5)) + self.bias

    def active(self, x, form):
        return {"tanh": lambda: x * 0.5 * (1 + torch.tanh(0.7978845608 * x * (1 + 0.044715 * x * x))), "erf": lambda: 0.5 * x * (1 + torch.erf(x / 2 ** 0.5)),
                "silu": lambda: x / (1 + torch.exp(-x)), "hard": lambda: x * nn.functional.relu6(x + 3) / 6}[form]()

    def forward(self, x):
        y = self.active(self.norm(self.layer(x), "root"), "tanh") + self.active(self.norm(self.layer(x), "variance"), "erf")
        y = y + self.active(y, "silu") + self.active(y, "hard")
        y = y + torch.einsum("...c,ck,k->...c", y, self.mixed, self.third) + torch.einsum("btc->bc", y)[:, None]
        pairs = torch.einsum("btc,bsc->btsc", y, y).mean(2)
        y = nn.functional.softplus(nn.functional.selu(pairs), beta=2) + y[:, :, self.last].sum(-1, keepdim=True)
        whole = torch.empty_like(y)
        whole[..., :2], whole[..., 2:] = y[..., 4:], y[..., :4]
        return whole.unfold(1, 3, 2).mean(-1)


def written():
    return Written(), torch.randn(4, 7, 5)



class Padded(nn.Module):
    """Attention with a mask of each sample's padding."""

    def __init__(self, vocab=50, width=24):
        super().__init__()
        self.embed, self.head = nn.Embedding(vocab, width), nn.Linear(width, vocab)

    def forward(self, x):
        y = self.embed(x)
        heads = y.unflatten(-1, (3, -1)).transpose(1, 2)
        seen = (x != 7)[:, None, None]
        y = nn.functional.scaled_dot_product_attention(heads, heads, heads, attn_mask=seen)
        return self.head(y.transpose(1, 2).flatten(2))


def padded():
    x = tokens(4, 9)
    x[:, 6:], x[:, 0] = 7, 9
    return Padded(), x


class Compared(nn.Module):
    """A network that returns its loss."""

    def __init__(self, loss):
        super().__init__()
        self.net, self.loss = nn.Sequential(nn.Linear(6, 8), nn.Tanh(), nn.Linear(8, 5)), loss

    def forward(self, x, y):
        return self.loss(self.net(x), y)


def two_terms(x, y):
    return nn.functional.cross_entropy(x, y) + 0.1 * x.pow(2).mean()


def z_loss(x, y):
    return nn.functional.cross_entropy(x, y) + 0.1 * torch.logsumexp(100 * x, -1).square().mean()


def smoothed(x, y):
    return nn.functional.cross_entropy(x, y, label_smoothing=0.2)


def smoothed_words():
    """Label smoothing of each word of a sentence."""
    return Compared(lambda x, y: smoothed(x.flatten(0, 1), y.flatten())), (torch.randn(4, 3, 6), torch.randint(0, 5, (4, 3)))


def compared(loss, labels):
    return lambda: (Compared(loss), (torch.randn(4, 6), torch.randint(0, 5, (4,)) if labels else torch.rand(4, 5)))


class Bag(nn.Module):
    """Sums of rows of a table."""

    def __init__(self):
        super().__init__()
        self.bag, self.head = nn.EmbeddingBag(50, 8, mode="mean"), nn.Linear(8, 5)

    def forward(self, x):
        return self.head(self.bag(x))


def bag():
    return Bag(), tokens(4, 6)


class Turned(nn.Module):
    """Rotary embeddings as models write them: of complex numbers, of halves, of halves that are turned."""

    def __init__(self, vocab=50, width=32, heads=4, length=12):
        super().__init__()
        self.embed, self.qkv, self.head = nn.Embedding(vocab, width), nn.Linear(width, 3 * width), nn.Linear(width, vocab)
        self.heads, half = heads, width // heads // 2
        angles = torch.outer(torch.arange(length).double(), 10000 ** (-torch.arange(half).double() / half)).to(torch.get_default_dtype())
        self.register_buffer("turn", torch.polar(torch.ones_like(angles), angles), persistent=False)
        self.register_buffer("cos", angles.cos()[None, :, None], persistent=False)
        self.register_buffer("sin", angles.sin()[None, :, None], persistent=False)

    def complex(self, x):
        pairs = torch.view_as_complex(x.float().reshape(*x.shape[:-1], -1, 2))
        return torch.view_as_real(pairs * self.turn[None, :, None]).flatten(3).type_as(x)

    def halves(self, x):
        a, b = x[..., :x.shape[-1] // 2], x[..., x.shape[-1] // 2:]
        return torch.cat([a * self.cos - b * self.sin, b * self.cos + a * self.sin], -1)

    def chunks(self, x):
        a, b = x.chunk(2, -1)
        return x * torch.cat([self.cos] * 2, -1) + torch.cat((-b, a), -1) * torch.cat([self.sin] * 2, -1)

    def forward(self, x):
        y = self.embed(x)
        for turn in (self.complex, self.halves, self.chunks):
            q, k, v = (z.unflatten(-1, (self.heads, -1)) for z in self.qkv(y).chunk(3, -1))
            q, k, v = (z.transpose(1, 2) for z in (turn(q), turn(k), v))
            y = y + nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True).transpose(1, 2).flatten(2)
        return self.head(y)


def turned():
    return Turned(), tokens()


# Hugging Face ---------------------------------------------------------------------------------------------------------

DROPOUTS = ("hidden_dropout_prob", "attention_probs_dropout_prob", "resid_pdrop", "embd_pdrop", "attn_pdrop", "dropout",
            "attention_dropout", "activation_dropout", "dropout_rate", "hidden_dropout", "classifier_dropout", "summary_first_dropout")
SIZES = {"vocab_size": 96, "hidden_size": 32, "intermediate_size": 64, "num_hidden_layers": 2, "num_attention_heads": 4}


def hugging(config, model, labels=True, drop=False, attention="sdpa", **options):
    """A model of Hugging Face's in small, with labels."""
    def make():
        import transformers
        c = getattr(transformers, config)(**options)
        for key in DROPOUTS:
            if not drop and isinstance(getattr(c, key, None), float):
                setattr(c, key, 0.0)
        if c._attn_implementation_internal is None:
            c._attn_implementation = attention
        net = getattr(transformers, model)(c).to(torch.get_default_dtype())
        ids = {"input_ids": tokens(2, 16, 90)}
        if labels:
            ids["labels"] = tokens(2, 16, 90)
        return net, ids
    return make


def hugging_vit():
    import transformers
    c = transformers.ViTConfig(hidden_size=32, intermediate_size=64, num_hidden_layers=2, num_attention_heads=4, image_size=16,
                               patch_size=4, hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.0, num_labels=7)
    return transformers.ViTForImageClassification(c), {"pixel_values": torch.randn(2, 3, 16, 16), "labels": torch.tensor([1, 4])}


def whisper():
    import transformers
    c = transformers.WhisperConfig(vocab_size=96, d_model=32, encoder_layers=2, decoder_layers=2, encoder_attention_heads=4,
                                   decoder_attention_heads=4, encoder_ffn_dim=64, decoder_ffn_dim=64, num_mel_bins=8,
                                   max_source_positions=20, max_target_positions=24, dropout=0.0, pad_token_id=0, bos_token_id=1,
                                   eos_token_id=2, decoder_start_token_id=1, use_cache=False, suppress_tokens=None, begin_suppress_tokens=None)
    return transformers.WhisperForConditionalGeneration(c), {"input_features": torch.randn(2, 8, 40), "labels": tokens(2, 16, 90)}


def swin():
    import transformers
    c = transformers.SwinConfig(image_size=32, patch_size=2, embed_dim=8, depths=[2, 2], num_heads=[2, 4], window_size=4,
                                hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.0, drop_path_rate=0.0, num_labels=7)
    return transformers.SwinForImageClassification(c), {"pixel_values": torch.randn(2, 3, 32, 32), "labels": torch.tensor([1, 4])}


def segformer():
    import transformers
    c = transformers.SegformerConfig(num_encoder_blocks=2, depths=[1, 1], sr_ratios=[2, 1], hidden_sizes=[8, 16], patch_sizes=[7, 3], strides=[4, 2],
                                     num_attention_heads=[1, 2], mlp_ratios=[2, 2], decoder_hidden_size=16, hidden_dropout_prob=0.0,
                                     attention_probs_dropout_prob=0.0, classifier_dropout_prob=0.0, drop_path_rate=0.0, num_labels=5)
    return transformers.SegformerForSemanticSegmentation(c), {"pixel_values": torch.randn(2, 3, 32, 32)}


LLAMA = {**SIZES, "num_key_value_heads": 2}
HUGGING = {
    "bert": hugging("BertConfig", "BertForMaskedLM", **SIZES),
    "roberta": hugging("RobertaConfig", "RobertaForMaskedLM", **SIZES),
    "distilbert": hugging("DistilBertConfig", "DistilBertForMaskedLM", vocab_size=96, dim=32, hidden_dim=64, n_layers=2, n_heads=4),
    "gpt2": hugging("GPT2Config", "GPT2LMHeadModel", vocab_size=96, n_embd=32, n_layer=2, n_head=4, n_positions=32),
    "gpt_neox": hugging("GPTNeoXConfig", "GPTNeoXForCausalLM", **SIZES),
    "opt": hugging("OPTConfig", "OPTForCausalLM", vocab_size=96, hidden_size=32, ffn_dim=64, num_hidden_layers=2,
                   num_attention_heads=4, word_embed_proj_dim=32),
    "llama": hugging("LlamaConfig", "LlamaForCausalLM", **LLAMA),
    "mistral": hugging("MistralConfig", "MistralForCausalLM", **LLAMA),
    "qwen2": hugging("Qwen2Config", "Qwen2ForCausalLM", **LLAMA),
    "qwen3": hugging("Qwen3Config", "Qwen3ForCausalLM", head_dim=8, **LLAMA),
    "gemma": hugging("GemmaConfig", "GemmaForCausalLM", head_dim=8, **LLAMA),
    "gemma2": hugging("Gemma2Config", "Gemma2ForCausalLM", attention="eager", head_dim=8, query_pre_attn_scalar=8, sliding_window=8, **LLAMA),
    "olmo2": hugging("Olmo2Config", "Olmo2ForCausalLM", pad_token_id=0, **LLAMA),
    "phi3": hugging("Phi3Config", "Phi3ForCausalLM", pad_token_id=0, bos_token_id=1, eos_token_id=2, **LLAMA),
    "phi": hugging("PhiConfig", "PhiForCausalLM", **SIZES),
    "t5": hugging("T5Config", "T5ForConditionalGeneration", vocab_size=96, d_model=32, d_kv=8, d_ff=64, num_layers=2, num_heads=4,
                  decoder_start_token_id=0),
    "bart": hugging("BartConfig", "BartForConditionalGeneration", vocab_size=96, d_model=32, encoder_layers=2, decoder_layers=2,
                    encoder_attention_heads=4, decoder_attention_heads=4, encoder_ffn_dim=64, decoder_ffn_dim=64,
                    max_position_embeddings=32, pad_token_id=1, bos_token_id=0, eos_token_id=2, decoder_start_token_id=2, forced_eos_token_id=None),
    "xlnet": hugging("XLNetConfig", "XLNetLMHeadModel", attention="eager", vocab_size=96, d_model=32, n_layer=2, n_head=4, d_inner=64),
    "deberta": hugging("DebertaV2Config", "DebertaV2ForMaskedLM", attention="eager", relative_attention=True, pos_att_type=["p2c", "c2p"],
                       max_position_embeddings=16, **SIZES),
    "mixtral": hugging("MixtralConfig", "MixtralForCausalLM", num_local_experts=4, pad_token_id=0, **LLAMA),
    "qwen2_moe": hugging("Qwen2MoeConfig", "Qwen2MoeForCausalLM", num_experts=4, num_experts_per_tok=2, moe_intermediate_size=16,
                         shared_expert_intermediate_size=16, **LLAMA),
    "vit": hugging_vit,
    "segformer": segformer,
    "swin": swin,
    "whisper": whisper,
}
HERE = {"mlp": mlp, "lenet": lenet, "resnet": resnet, "unet": unet, "lstm": lstm, "bilstm": bilstm, "gru": gru,
        "transformer": transformer, "encoder": encoder, "windows": windows, "padded": padded, "chosen": chosen,
        "edges": edges, "written": written, "detector": detector(True),
        "bag": bag, "turned": turned, "two_terms": compared(two_terms, True), "smoothed": compared(smoothed, True), "smoothed_words": smoothed_words, "z_loss": compared(z_loss, True),
        "binary": compared(nn.functional.binary_cross_entropy_with_logits, False)}
SMALL = {**HERE, **HUGGING}


# torchvision ----------------------------------------------------------------------------------------------------------


def load_torchvision():
    """torchvision, also where its compiled operators do not fit this PyTorch: the networks are Python."""
    whole = torch.library.register_fake
    torch.library.register_fake = lambda name, *args, **kwargs: (
        (lambda function: function) if str(name).startswith("torchvision::") else whole(name, *args, **kwargs))
    try:
        import torchvision
    finally:
        torch.library.register_fake = whole
    return torchvision


def vision(name, size=224, where="models", shape=None, **options):
    """A network of torchvision; blocks that are left out at random (stochastic depth) are not."""
    def make():
        models = load_torchvision().models
        for part in where.split(".")[1:]:
            models = getattr(models, part)
        model = getattr(models, name)(weights=None, **options)
        for module in model.modules():
            if type(module).__name__ == "StochasticDepth":
                module.p = 0.0
        return model, torch.randn(shape or (2, 3, size, size))
    return make


VISION = {
    "alexnet": vision("alexnet"), "vgg11": vision("vgg11"), "vgg16_bn": vision("vgg16_bn"), "resnet18": vision("resnet18"),
    "resnet50": vision("resnet50"), "resnext50": vision("resnext50_32x4d"), "wide_resnet50": vision("wide_resnet50_2"),
    "densenet121": vision("densenet121"), "inception_v3": vision("inception_v3", 299, aux_logits=False, init_weights=False),
    "googlenet": vision("googlenet", aux_logits=False, init_weights=False), "mobilenet_v2": vision("mobilenet_v2"),
    "mobilenet_v3_small": vision("mobilenet_v3_small"), "mobilenet_v3_large": vision("mobilenet_v3_large"),
    "mnasnet1_0": vision("mnasnet1_0"), "efficientnet_b0": vision("efficientnet_b0"),
    "efficientnet_v2_s": vision("efficientnet_v2_s"), "regnet_y_400mf": vision("regnet_y_400mf"),
    "regnet_x_400mf": vision("regnet_x_400mf"), "shufflenet_v2": vision("shufflenet_v2_x1_0"), "squeezenet1_0": vision("squeezenet1_0"),
    "convnext_tiny": vision("convnext_tiny"), "vit_b_16": vision("vit_b_16"), "swin_t": vision("swin_t"),
    "swin_v2_t": vision("swin_v2_t", 256), "maxvit_t": vision("maxvit_t"),
    "deeplabv3": vision("deeplabv3_resnet50", 128, "models.segmentation", weights_backbone=None),
    "fcn": vision("fcn_resnet50", 128, "models.segmentation", weights_backbone=None),
    "r3d_18": vision("r3d_18", where="models.video", shape=(2, 3, 8, 56, 56)),
}
ALL = {**SMALL, **VISION}
OPAQUE = {"mixtral": 6, "qwen2_moe": 6}  # how many operators of each are opaque: experts that are chosen by what the network computes
UNREAD = {"xlnet": 224}  # numbers of parameters that the model has for arguments which it is not given: segments, masked positions
ATTENTION = {  # how many each has
    "transformer": 6, "encoder": 2, "windows": 4, "padded": 1, "turned": 3, "t5": 6, "bart": 6, "whisper": 6, "swin": 4, "vit_b_16": 12, "swin_t": 12, "swin_v2_t": 12, "maxvit_t": 22,
    **{name: 2 for name in HUGGING if name not in ("t5", "bart", "whisper", "swin")},
}
