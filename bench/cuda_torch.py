# A training step of a network in PyTorch eager on a card: NETWORK BATCH PRECISION STEPS prints the median in
# milliseconds and the peak of memory in GiB. The first three steps are left out. Parameters are in fp32; bf16 is autocast.
import statistics
import sys
import time

import torch


def gpt2(batch):
    from transformers import GPT2Config, GPT2LMHeadModel

    model = GPT2LMHeadModel(GPT2Config(resid_pdrop=0, embd_pdrop=0, attn_pdrop=0))
    ids = torch.randint(0, 50257, (batch, 1024), device="cuda")
    return model, torch.optim.AdamW, lambda: model(ids, labels=ids).loss


def resnet50(batch):
    import torchvision

    model = torchvision.models.resnet50()
    x = torch.randn(batch, 3, 224, 224, device="cuda")
    labels = torch.randint(0, 1000, (batch,), device="cuda")
    loss = lambda: torch.nn.functional.cross_entropy(model(x), labels)
    return model, torch.optim.SGD, loss


def main(network, batch, precision, steps):
    tf32 = precision == "tf32"
    torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = tf32
    model, optimizer, loss_of = globals()[network](int(batch))
    model.cuda().train()
    update = optimizer(model.parameters(), lr=1e-3)
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
    print(f"{1e3 * statistics.median(seconds[3:]):.1f} ms, {peak:.2f} GiB")


main(*sys.argv[1:])
