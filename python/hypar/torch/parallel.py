"""A model of PyTorch made parallel as a plan says: by the script that `hypar export --to torch` writes of it, which needs no
hypar when it is run by itself."""
import subprocess
import types

import hypar

__all__ = ["parallelize", "script"]


def script(plan):
    """The exported plan as a module: MESH, device_mesh(), own(), parallelize()."""
    path = hypar.command()
    try:
        done = subprocess.run([path, "export", str(plan), "--to", "torch"], capture_output=True, text=True)
    except OSError as why:
        raise hypar.Failed(f"{path}: {why.strerror}") from None
    if done.returncode:
        raise hypar.Failed(done.stderr.strip() or f"{path}: exit code {done.returncode}")
    module = types.ModuleType("hypar_plan")
    exec(compile(done.stdout, f"{plan} --to torch", "exec"), module.__dict__)
    return module


def parallelize(model, plan, mesh=None, args=(), kwargs=None, target=None, state=None):
    """The modules of this rank, and the function step(*args, target=None, **kwargs), which does the forward and backward half
    of a batch and returns its mean loss; `optimizer.step()` follows.

    plan                   the path of a plan for a graph of this model
    mesh                   with the dimensions that the plan has; None: one over all ranks
    args, kwargs, target   a batch of this replica, as `step` will be given; needed where there are stages
    state                  the values of parameters that are on meta, by name; None: those that modules begin with
    The samples of this replica are `script(plan).own(tensor, mesh)` of a whole batch."""
    exported = script(plan)
    return exported.parallelize(model, mesh or exported.device_mesh(), *args, target=target, state=state, **(kwargs or {}))
