"""torch_profile.py - see torch_profile.sh."""
import os
import subprocess
import sys
import tempfile
import warnings

import torch

import hypar.torch


def resnet50():
    import torchvision
    return torchvision.models.resnet50(weights=None), (torch.randn(64, 3, 224, 224),), {}


def gpt2():
    import transformers
    config = transformers.GPT2Config(resid_pdrop=0.0, embd_pdrop=0.0, attn_pdrop=0.0, use_cache=False)
    tokens = torch.randint(0, config.vocab_size, (8, 1024))
    return transformers.GPT2LMHeadModel(config), (), {"input_ids": tokens, "labels": tokens}


def to(device, value):
    return torch.utils._pytree.tree_map(lambda x: x.to(device) if isinstance(x, torch.Tensor) else x, value)


def measure(make, precision, on, folder):
    """One line of the table, and the operators that the plain simulation misjudges most."""
    cuda = torch.cuda.is_available()
    model, args, kwargs = make()
    if cuda:
        model = model.cuda()
    name = f"{make.__name__}-{precision}"
    paths = {end: os.path.join(folder, f"{name}.{end}") for end in ("json", "profile", "trace", "plan")}
    profile = hypar.torch.profile(model, args, kwargs, on=on, precision=precision, optimizer="sgd", trace=paths["trace"])
    on = on or hypar.torch.machine_of(next(model.parameters()).device)
    profile.graph.write(paths["json"])
    profile.write(paths["profile"])
    hypar.run("plan", paths["json"], "--on", on, "--planner", "dp", "--precision", precision, "-o", paths["plan"])
    plain = hypar.run("simulate", paths["plan"], "--framework", "eager")
    with_profile = hypar.run("simulate", paths["plan"], "--profile", paths["profile"])
    whole, known = profile.told[0], with_profile["profile"]
    sum_s = whole["operators_s"] + whole["update_s"]
    print(f"{name:14} step {1e3 * profile.step_s:9.2f} ms   profiled {1e3 * whole['step_s']:9.2f} ms   sum {1e3 * sum_s:9.2f} ms   simulated with it "
          f"{1e3 * with_profile['step_s']:9.2f} ms ({known['measured_passes']} of {known['passes']} passes)   without (eager) "
          f"{1e3 * plain['step_s']:9.2f} ms   not matched {1e3 * (whole['other_s'] + whole['computed_s'] - whole['operators_s']):.2f} ms", flush=True)
    done = subprocess.run([hypar.command(), "compare", "--measured", paths["trace"], paths["plan"], "--framework", "eager"],
                          capture_output=True, text=True)
    print(done.stdout + done.stderr, flush=True)


def main():
    warnings.simplefilter("ignore")
    on = sys.argv[1] if len(sys.argv) > 1 else None
    print(f"PyTorch {torch.__version__}, {torch.cuda.get_device_name() if torch.cuda.is_available() else 'CPU'}")
    failed = False
    with tempfile.TemporaryDirectory() as folder:
        for make in (resnet50, gpt2):
            for precision in ("fp32", "bf16"):
                try:
                    measure(make, precision, on, folder)
                except Exception as why:  # the others are still to be seen
                    failed = True
                    print(f"{make.__name__}-{precision}: {type(why).__name__}: {why}", flush=True)
    sys.exit(failed)


if __name__ == "__main__":
    main()
