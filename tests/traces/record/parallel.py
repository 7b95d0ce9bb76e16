"""Programs on two GPUs with one planted fault each; as programs.py, a rank a process."""
import os
import time

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel

from device import DRY, wait
from models import Gpt


def start(rank):
    if DRY:
        dist.init_process_group("gloo")
        return
    torch.cuda.set_device(rank)
    dist.init_process_group("nccl", device_id=torch.device("cuda", rank))


def together():
    dist.barrier()
    wait()


def finish():
    dist.barrier()
    dist.destroy_process_group()


def tokens(batch, length, vocabulary):
    generator = torch.Generator().manual_seed(dist.get_rank())
    ids = torch.randint(0, vocabulary, (batch, length + 1), generator=generator).cuda()
    return ids[:, :-1].contiguous(), ids[:, 1:].contiguous()


def ddp_step(model, batch, before=lambda: None):
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4, fused=True)

    def step():
        before()
        with torch.autocast("cuda", dtype=torch.bfloat16):
            loss = model(*batch)
        loss.backward()
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
        return loss

    return step


def comm_after_backward(repaired):
    """Gradients reduced one by one when backward is over; repaired: DDP, which hides them behind it."""
    model = Gpt(layers=2, width=4096, heads=32).cuda()
    batch = tokens(4, 512, 16384)
    if repaired:
        return ddp_step(DistributedDataParallel(model, gradient_as_bucket_view=True), batch)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4, fused=True)

    def step():
        with torch.autocast("cuda", dtype=torch.bfloat16):
            loss = model(*batch)
        loss.backward()
        for parameter in model.parameters():
            dist.all_reduce(parameter.grad, op=dist.ReduceOp.AVG)
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
        return loss

    return step


def comm_tiny_buckets(repaired):
    model = DistributedDataParallel(Gpt(layers=6).cuda(), bucket_cap_mb=25 if repaired else 0.05,
                                    gradient_as_bucket_view=True)
    return ddp_step(model, tokens(4, 512, 16384))


def straggler_sleeps(repaired):
    def before():
        if dist.get_rank() == 1 and not repaired:
            time.sleep(0.02)

    return ddp_step(DistributedDataParallel(Gpt(layers=4).cuda(), gradient_as_bucket_view=True),
                    tokens(8, 512, 16384), before)


def straggler_longer_batch(repaired):
    """Rank 1 has three times the sequences of rank 0; repaired: both have the mean."""
    share = 48 if repaired else (24, 72)[dist.get_rank()]
    return ddp_step(DistributedDataParallel(Gpt(layers=4).cuda(), gradient_as_bucket_view=True),
                    tokens(share, 512, 16384))


def bubble_one_microbatch(repaired):
    """Two halves of a network on two ranks; with one micro-batch one of them always waits. Repaired: eight."""
    rank, count = dist.get_rank(), 8 if repaired else 1
    half = torch.nn.Sequential(*[torch.nn.Linear(4096, 4096) for _ in range(8)]).cuda().to(torch.bfloat16)
    optimizer = torch.optim.SGD(half.parameters(), lr=1e-6)
    rows = 16384 // count
    x = torch.randn(rows, 4096, device="cuda", dtype=torch.bfloat16)

    def first():
        kept = []
        for _ in range(count):
            y = half(x)
            dist.send(y.detach(), 1)
            kept.append(y)
        for y in kept:
            gradient = torch.empty_like(y)
            dist.recv(gradient, 1)
            y.backward(gradient)

    def second():
        for _ in range(count):
            y = torch.empty(rows, 4096, device="cuda", dtype=torch.bfloat16)
            dist.recv(y, 0)
            y.requires_grad_(True)
            half(y).square().mean().backward()
            dist.send(y.grad, 0)

    def step():
        (first if rank == 0 else second)()
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)

    return step


def healthy_ddp(repaired):
    return ddp_step(DistributedDataParallel(torch.compile(Gpt(layers=4).cuda()), gradient_as_bucket_view=True),
                    tokens(32, 512, 16384))


# --- Recorded after the rules stood: nothing was tuned on what follows. ---

def comm_one_bucket(repaired):
    """All gradients in one bucket: none is reduced before the last is there."""
    model = DistributedDataParallel(Gpt(layers=4, width=2048, heads=16).cuda(),
                                    bucket_cap_mb=25 if repaired else 10000, gradient_as_bucket_view=True)
    return ddp_step(model, tokens(2, 512, 16384))


def straggler_extra_work(repaired):
    """Rank 1 also computes statistics of its weights in every step."""
    model = DistributedDataParallel(Gpt(layers=4).cuda(), gradient_as_bucket_view=True)
    square = torch.randn(8192, 8192, device="cuda", dtype=torch.bfloat16)

    def before():
        if dist.get_rank() == 1 and not repaired:
            y = square
            for _ in range(6):
                y = y @ square

    return ddp_step(model, tokens(32, 512, 16384), before)


CAUSES = {
    "comm_after_backward": "comm",
    "comm_tiny_buckets": "comm",
    "straggler_sleeps": "straggler",
    "straggler_longer_batch": "straggler",
    "bubble_one_microbatch": "bubble",
    "comm_one_bucket": "comm",
    "straggler_extra_work": "straggler",
    "healthy_ddp": "healthy",
}
