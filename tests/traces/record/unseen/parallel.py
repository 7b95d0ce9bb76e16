"""Unseen programs on two GPUs, a rank a process."""
import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch import nn
from torch.distributed.fsdp import MixedPrecisionPolicy, fully_shard
from torch.nn.parallel import DistributedDataParallel

from blind.models import Llama
from device import DRY, GPU, size, trained
from unseen.host import text_of
from unseen.models import DiffusionTransformer


# --- comm ---

def weights_gathered_in_turn(repaired):
    """Each rank holds half of every weight and gathers the whole before its product; repaired: one product ahead."""
    width, layers = size(8192, 16), 12
    halves = [torch.randn(width // 2, width, device=GPU, dtype=torch.bfloat16) * 0.01 for _ in range(layers)]
    wholes = [torch.empty(width, width, device=GPU, dtype=torch.bfloat16) for _ in range(2)]
    x = torch.randn(size(2048, 8), width, device=GPU, dtype=torch.bfloat16)

    def gathered(i):
        return dist.all_gather_into_tensor(wholes[i % 2], halves[i], async_op=True) if i < layers else None

    def step():
        y, coming = x, gathered(0)
        for i in range(layers):
            coming.wait()
            if repaired:
                coming = gathered(i + 1)
            y = torch.relu(y @ wholes[i % 2])
            if not repaired:
                coming = gathered(i + 1)
        return y

    return step


def tower(width):
    return nn.Sequential(nn.Linear(width, width), nn.GELU(), nn.Linear(width, width)).to(GPU, torch.bfloat16)


def gathers_before_pooling(repaired):
    """Contrastive learning that gathers the keys of every place, then takes their mean; repaired: the mean first."""
    batch, width = size(512, 2), size(768, 16)
    query, key = DistributedDataParallel(tower(width)), tower(width).requires_grad_(False)
    optimizer = torch.optim.SGD(query.parameters(), lr=1e-4)
    seen = torch.randn(batch, size(128, 4), width, device=GPU, dtype=torch.bfloat16)
    other = torch.randn(batch, size(512, 8), width, device=GPU, dtype=torch.bfloat16)
    labels = torch.arange(batch, device=GPU) + batch * dist.get_rank()

    def of_everyone(keys):
        held = torch.empty(2 * batch, *keys.shape[1:], device=GPU, dtype=keys.dtype)
        dist.all_gather_into_tensor(held, keys)
        return held

    def step():
        keys = key(other)
        keys = of_everyone(keys.mean(1)) if repaired else of_everyone(keys).mean(1)
        loss = F.cross_entropy((query(seen).mean(1) @ keys.t()).float(), labels)
        loss.backward()
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
        return loss

    return step


# --- straggler ---

def long_texts_in_turn(repaired):
    """In every step one rank draws texts three times as long as the other's, now this rank, now that.
    Repaired: both draw the mean."""
    model = Llama(width=size(1024, 64), layers=size(4, 1)).to(GPU)
    batches = [text_of(model, size(32, 1), length) for length in size((256, 768, 512), (8, 24, 16))]
    holder = [None, None, None]
    step = trained(DistributedDataParallel(model, gradient_as_bucket_view=True), holder)
    count = [0]

    def run():
        count[0] += 1
        holder[:] = batches[2 if repaired else (count[0] + dist.get_rank()) % 2]
        return step()

    return run


# --- bubble ---

def denoises_one_batch_at_a_time(repaired):
    """Half of a diffusion transformer on each rank, and every round of denoising goes through both.
    Repaired: two halves of the batch, so that each rank has one while the other has the other."""
    count, rounds, width = 2 if repaired else 1, 4, size(1024, 32)
    shape = (size(64, 2) // count, size(256, 8), width)
    stage = DiffusionTransformer(width, heads=size(8, 4), layers=size(2, 1)).to(GPU, torch.bfloat16)
    stage.requires_grad_(False)
    condition = torch.randn(shape[0], width, device=GPU, dtype=torch.bfloat16)
    noise = torch.randn(shape, device=GPU, dtype=torch.bfloat16)
    there, back = dist.new_group(), dist.new_group()  # so that neither direction waits for the other

    def received(source, group):
        x = torch.empty(shape, device=GPU, dtype=torch.bfloat16)
        dist.recv(x, source, group=group)
        return x

    def first():
        parts, sent = [noise] * count, []
        for _ in range(rounds):
            for i, part in enumerate(parts):
                if len(sent) >= count:
                    part = received(1, back)
                sent.append(dist.isend(stage(part, condition), 1, group=there))
        parts = [received(1, back) for _ in range(count)]
        for work in sent:
            work.wait()
        return parts

    def second():
        sent = [dist.isend(stage(received(0, there), condition), 0, group=back) for _ in range(rounds * count)]
        for work in sent:
            work.wait()

    return first if dist.get_rank() == 0 else second


# --- healthy ---

def healthy_sharded(repaired):
    """Nothing planted: large layers in training, weights and optimizer sharded over both ranks and gathered ahead.
    The repaired form is the same program."""
    width = size(8192, 32)
    model = nn.Sequential(*[nn.Sequential(nn.Linear(width, width, bias=False), nn.ReLU()) for _ in range(4)]).to(GPU)
    policy = MixedPrecisionPolicy(param_dtype=torch.bfloat16, reduce_dtype=torch.bfloat16)
    for layer in model:
        fully_shard(layer, mp_policy=policy)
    fully_shard(model, mp_policy=policy)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-6, fused=not DRY)
    x = torch.randn(size(16384, 8), width, device=GPU, dtype=torch.bfloat16)

    def step():
        loss = model(x).mean()
        loss.backward()
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
        return loss

    return step


CAUSES = {
    "weights_gathered_in_turn": "comm",
    "gathers_before_pooling": "comm",
    "long_texts_in_turn": "straggler",
    "denoises_one_batch_at_a_time": "bubble",
    "healthy_sharded": "healthy",
}
