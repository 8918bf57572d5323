"""What PyTorch's pipelining takes of its host for a slot: a micro-batch of a stage, in one half.

    $HYPAR_TORCH/bin/python bench/torch_slot.py

Two processes (gloo, on processors, one thread each) hold one stage each of a network so small that numbers
cost nothing beside Python. The time is what the process's own thread runs for (time.thread_time), so that
waiting for the other process does not count. A step is run with 8 and with 40 micro-batches: the difference,
for each of the 2 x 32 slots, less that of the same operators without pipelining, is `slot_s` of
src/plan/frameworks.c. The median of several pairs of steps is printed, for each stage and schedule.
"""
import os
import statistics
import time

import torch
import torch.distributed as dist
import torch.multiprocessing as processes
from torch.distributed.pipelining import PipelineStage, Schedule1F1B, ScheduleGPipe

FEW, MANY, PAIRS, LAYERS, WIDTH = 8, 40, 15, 4, 8


def seconds(run):
    """Of this thread, not waiting."""
    begin = time.thread_time()
    run()
    return time.thread_time() - begin


def slot_seconds(step):
    """Median difference of a step of MANY and of one of FEW micro-batches, for a slot; step(n) returns a run."""
    few, many = step(FEW), step(MANY)
    for run in few, many:
        for _ in range(3):
            run()
    pairs = [seconds(many) - seconds(few) for _ in range(PAIRS)]
    return statistics.median(pairs) / (2 * (MANY - FEW))


def plain_step(stage, mean):
    """The stage's operators alone: forward and backward of each micro-batch."""

    def step(n):
        def run():
            for _ in range(n):
                x = torch.zeros(1, WIDTH, requires_grad=True)
                mean(stage(x), None).backward()

        return run

    return step


def stage_step(rank, stage, mean, schedule):
    def step(n):
        whole = PipelineStage(stage, rank, 2, torch.device("cpu"))
        plan = schedule(whole, n, loss_fn=mean)
        x, target = torch.zeros(n, WIDTH), torch.zeros(n, WIDTH)
        return lambda: plan.step(x) if rank == 0 else plan.step(target=target)

    return step


def measure(rank, file):
    torch.set_num_threads(1)
    dist.init_process_group("gloo", init_method="file://" + file, rank=rank, world_size=2)
    stage = torch.nn.Sequential(*(torch.nn.Linear(WIDTH, WIDTH) for _ in range(LAYERS)))

    def mean(y, _):
        return y.mean()

    plain_s = slot_seconds(plain_step(stage, mean))
    for schedule in Schedule1F1B, ScheduleGPipe:
        slot_s = slot_seconds(stage_step(rank, stage, mean, schedule))
        dist.barrier()
        for teller in range(2):
            if teller == rank:
                print(f"{schedule.__name__}, stage {rank}: {1e6 * (slot_s - plain_s):.0f} us a slot "
                      f"({1e6 * slot_s:.0f}, the operators alone {1e6 * plain_s:.0f})", flush=True)
            dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        processes.spawn(measure, (os.path.join(folder, "meeting"),), nprocs=2)
