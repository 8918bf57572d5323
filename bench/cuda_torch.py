# A training step of a network in PyTorch on a card: NETWORK BATCH PRECISION STEPS [MODE] prints the median in
# milliseconds and the peak of memory in GiB. The first three steps are left out. Parameters are in fp32; bf16 is autocast.
# Without MODE it runs eager, as the network is written. With one, optimizers are fused, images have channels innermost, and
# gpt2 has dropout; it is "eager" or a mode of torch.compile (default, reduce-overhead, ...), whose first six steps are left out.
import statistics
import sys
import time

import torch


def gpt2(batch, tuned):
    from transformers import GPT2Config, GPT2LMHeadModel

    rate = 0.1 if tuned else 0
    model = GPT2LMHeadModel(GPT2Config(resid_pdrop=rate, embd_pdrop=rate, attn_pdrop=0))
    ids = torch.randint(0, 50257, (batch, 1024), device="cuda")
    return model, torch.optim.AdamW, lambda: model(ids, labels=ids).loss


def resnet50(batch, tuned):
    import torchvision

    layout = torch.channels_last if tuned else torch.contiguous_format
    model = torchvision.models.resnet50().to(memory_format=layout)
    x = torch.randn(batch, 3, 224, 224, device="cuda").to(memory_format=layout)
    labels = torch.randint(0, 1000, (batch,), device="cuda")
    loss = lambda: torch.nn.functional.cross_entropy(model(x), labels)
    return model, torch.optim.SGD, loss


def main(network, batch, precision, steps, mode=None):
    tf32 = precision == "tf32"
    torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = tf32
    torch.backends.cudnn.benchmark = mode is not None
    model, optimizer, loss_of = globals()[network](int(batch), mode is not None)
    model.cuda().train()
    update = optimizer(model.parameters(), lr=1e-3, fused=mode is not None)
    compiled = mode not in (None, "eager")
    if compiled:
        loss_of = torch.compile(loss_of, mode=mode)
    seconds = []
    for _ in range(int(steps)):
        torch.cuda.synchronize()
        start = time.perf_counter()
        with torch.autocast("cuda", torch.bfloat16, enabled=precision == "bf16"):
            loss = loss_of()
        loss.backward()
        update.step()
        update.zero_grad()
        loss.item()
        seconds.append(time.perf_counter() - start)
    peak = torch.cuda.max_memory_allocated() / 2**30
    print(f"{1e3 * statistics.median(seconds[6 if compiled else 3:]):.1f} ms, {peak:.2f} GiB")


main(*sys.argv[1:])
