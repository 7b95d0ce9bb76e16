"""Blind programs on two GPUs, a rank a process."""
import contextlib

import numpy
import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel

from blind.models import BottleneckCnn, Vit
from device import DRY, GPU, compiled, size, trained


def tensor_parallel_sums_in_f32(repaired):
    """Each rank holds half of every layer; their halves of the result are summed in f32. Repaired: in bf16."""
    width, rows = size(1024, 16), size(32768, 16)
    ups = [torch.randn(width, width, device=GPU, dtype=torch.bfloat16) * 0.03 for _ in range(10)]
    downs = [torch.randn(width, width, device=GPU, dtype=torch.bfloat16) * 0.03 for _ in range(10)]
    x = torch.randn(rows, width, device=GPU, dtype=torch.bfloat16)

    def step():
        y = x
        for up, down in zip(ups, downs):
            part = torch.relu(y @ up) @ down
            if not repaired:
                part = part.float()
            dist.all_reduce(part)
            y = part.to(torch.bfloat16)
        return y

    return step


def accumulates_without_no_sync(repaired):
    """Four micro-batches, the gradients reduced after each; repaired: only after the last."""
    width = size(8192, 16)
    layers = nn.Sequential(*[nn.Sequential(nn.Linear(width, width, bias=False), nn.ReLU()) for _ in range(4)])
    model = DistributedDataParallel(layers.to(GPU), gradient_as_bucket_view=True)
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-6)
    x = torch.randn(size(512, 4), width, device=GPU)

    def step():
        for i in range(4):
            with model.no_sync() if repaired and i < 3 else contextlib.nullcontext():
                with torch.autocast(GPU, dtype=torch.bfloat16):
                    loss = model(x).square().mean()
                loss.backward()
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)

    return step


def rank_zero_draws(repaired):
    """Rank 0 makes a sheet of pictures on the host before every step; repaired: every thousandth."""
    model = BottleneckCnn(blocks=2).to(GPU)
    step = trained(DistributedDataParallel(model, gradient_as_bucket_view=True),
                   (torch.randn(size(96, 1), 3, 128, 128, device=GPU),
                    torch.zeros(size(96, 1), dtype=torch.long, device=GPU)), autocast=False)
    pictures = numpy.random.default_rng(0).random((16, 3, 128, 128), dtype=numpy.float32)
    count = [0]

    def draw():
        rows = [numpy.concatenate(list(pictures[i:i + 4]), -1) for i in range(0, 16, 4)]
        return (numpy.clip(numpy.concatenate(rows, 1) ** 0.45, 0, 1) * 255).astype(numpy.uint8).transpose(1, 2, 0)

    def run():
        count[0] += 1
        if dist.get_rank() == 0 and count[0] % (1000 if repaired else 1) == 0:
            draw()
        return step()

    return run


class Stage(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.layer = nn.TransformerEncoderLayer(width, 16, 4 * width, dropout=0.0, activation="gelu", batch_first=True,
                                                norm_first=True)

    def forward(self, x):
        return self.layer(x)


def pipeline_waits_for_whole_batches(repaired):
    """Two stages of a transformer on two ranks, the batch in one piece; repaired: in three micro-batches."""
    count, width = 3 if repaired else 1, size(2048, 32)
    shape = (size(48, 3) // count, size(512, 8), width)
    stage = Stage(width).to(GPU, torch.bfloat16)
    optimizer = torch.optim.SGD(stage.parameters(), lr=1e-6)
    x = torch.randn(shape, device=GPU, dtype=torch.bfloat16)
    forwards, backwards = dist.new_group(), dist.new_group()  # so that neither direction waits for the other

    def first():
        kept, sent = [], []
        for _ in range(count):
            kept.append(stage(x))
            sent.append(dist.isend(kept[-1].detach(), 1, group=forwards))
        for y in kept:
            gradient = torch.empty_like(y)
            dist.recv(gradient, 1, group=backwards)
            y.backward(gradient)
        for work in sent:
            work.wait()

    def second():
        held, sent = [], []
        for _ in range(count):
            held.append(torch.empty(shape, device=GPU, dtype=torch.bfloat16))
            dist.recv(held[-1], 0, group=forwards)
            held[-1].requires_grad_(True)
            stage(held[-1]).square().mean().backward()
            sent.append(dist.isend(held[-1].grad, 0, group=backwards))
        for work in sent:
            work.wait()

    def step():
        (first if dist.get_rank() == 0 else second)()
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)

    return step


def healthy_vit_on_two(repaired):
    """Nothing planted: a compiled ViT, data parallel. The repaired form is the same program."""
    model = Vit(width=size(1024, 64), heads=16 if not DRY else 4, layers=1).to(GPU)
    batch = (torch.randn(size(192, 1), 3, 224, 224, device=GPU), torch.zeros(size(192, 1), dtype=torch.long, device=GPU))
    return trained(DistributedDataParallel(compiled(model), gradient_as_bucket_view=True), batch)


CAUSES = {
    "tensor_parallel_sums_in_f32": "comm",
    "accumulates_without_no_sync": "comm",
    "rank_zero_draws": "straggler",
    "pipeline_waits_for_whole_batches": "bubble",
    "healthy_vit_on_two": "healthy",
}
