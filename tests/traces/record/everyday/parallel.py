"""Everyday programs on two GPUs, a rank a process."""
import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch import nn
from torch.distributed.fsdp import MixedPrecisionPolicy, fully_shard
from torch.nn.parallel import DistributedDataParallel

from device import DRY, GPU, size, trained
from everyday.models import PatchNetwork
from unseen.models import DiffusionTransformer, convolutions


# --- comm ---

class WithMemory(nn.Module):
    """Tells pictures apart from many others, of all of which it remembers a vector in a buffer."""

    def __init__(self, network, remembered, width):
        super().__init__()
        self.network = network
        self.register_buffer("memory", F.normalize(torch.randn(remembered, width, device=GPU)))

    def forward(self, patches, numbers):
        others = torch.randint(0, len(self.memory), (8192,), device=GPU)
        known = self.memory[torch.cat((numbers, others))]
        rows = F.normalize(self.network(patches))
        loss = F.cross_entropy(rows @ known.t() / 0.07, torch.arange(len(rows), device=GPU))
        self.memory[numbers] = rows.detach().float()
        return loss


def memory_broadcast_each_step(repaired):
    """Learns without labels, by a buffer with a vector of every picture, which DDP sends from rank 0 before each step.
    Repaired: broadcast_buffers=False."""
    pictures, width, remembered = size(80, 2), size(256, 8), size(1_280_000, 100)
    network = PatchNetwork(size(768, 12), size(768, 16), size(12, 2), size(4, 1), width).to(GPU)
    model = DistributedDataParallel(WithMemory(network, remembered, width), broadcast_buffers=not repaired,
                                    gradient_as_bucket_view=True)
    numbers = torch.randperm(remembered, device=GPU)[:pictures]
    return trained(model, (torch.randn(pictures, size(144, 4), size(768, 12), device=GPU), numbers))


def sharded_as_one_piece(repaired):
    """Weights sharded over both ranks as one piece: all are gathered before the first layer, and all gradients reduced
    after the last. Repaired: a piece for each layer."""
    width, rows = size(4096, 16), size(1024, 4)
    model = nn.Sequential(*[nn.Sequential(nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width))
                            for _ in range(5)]).to(GPU)
    policy = MixedPrecisionPolicy(param_dtype=torch.bfloat16, reduce_dtype=torch.bfloat16)
    if repaired:
        for layer in model:
            fully_shard(layer, mp_policy=policy)
    fully_shard(model, mp_policy=policy)
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-5, foreach=True)
    x, wanted = (torch.randn(rows, width, device=GPU, dtype=torch.bfloat16) for _ in range(2))

    def step():
        loss = F.mse_loss(model(x), wanted)
        loss.backward()
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
        return loss

    return step


# --- straggler ---

def latents_made_by_rank_zero(repaired):
    """Trains a diffusion transformer on what a frozen encoder makes of pictures: rank 0 encodes those of both ranks and
    sends them. Repaired: each encodes its own."""
    own, side, wide, width = size(20, 1), size(256, 32), size(256, 8), size(640, 16)
    encoder = nn.Sequential(nn.Conv2d(3, wide, 4, stride=4), convolutions(wide, wide, size(20, 1)),
                            nn.Conv2d(wide, width, 4, stride=4))
    encoder.to(GPU, torch.bfloat16, memory_format=torch.channels_last).requires_grad_(False)
    pictures = torch.randn(2 * own, 3, side, side, device=GPU, dtype=torch.bfloat16)
    pictures = pictures.contiguous(memory_format=torch.channels_last)
    latents = torch.zeros(2 * own, (side // 16) ** 2, width, device=GPU, dtype=torch.bfloat16)
    mine = slice(own * dist.get_rank(), own * (dist.get_rank() + 1))
    condition = torch.randn(own, width, device=GPU)
    model = DistributedDataParallel(DiffusionTransformer(width, heads=size(10, 4), layers=size(3, 1)).to(GPU),
                                    gradient_as_bucket_view=True)
    holder = [None, condition, None]
    step = trained(model, holder)

    def encoded(chosen):
        return encoder(chosen).flatten(2).transpose(1, 2)

    def run():
        if repaired:
            clean = encoded(pictures[mine])
        else:
            if dist.get_rank() == 0:
                latents.copy_(encoded(pictures))
            dist.broadcast(latents, 0)
            clean = latents[mine]
        noise = torch.randn_like(clean)
        holder[0], holder[2] = 0.8 * clean + 0.6 * noise, noise
        return step()

    return run


# --- bubble ---

def towers_wait_for_each_other(repaired):
    """One rank encodes pictures and the other texts: texts only when the pictures' vectors have come, and pictures
    learn only when texts have. Repaired: both encode at once, and the gradient is sent as soon as it is known."""
    rank, pairs, width = dist.get_rank(), size(72, 2), size(512, 8)
    places = (size(196, 4), size(160, 4))[rank]
    tower = PatchNetwork(size(768, 12), size(1024, 16), size(16, 2), size(3, 1), width).to(GPU, torch.bfloat16)
    optimizer = torch.optim.SGD(tower.parameters(), lr=1e-4, fused=not DRY)
    seen = torch.randn(pairs, places, size(768, 12), device=GPU, dtype=torch.bfloat16)
    classes = torch.arange(pairs, device=GPU)

    def received(source):
        rows = torch.empty(pairs, width, device=GPU, dtype=torch.bfloat16)
        dist.recv(rows, source)
        return rows

    def loss_of(pictures, texts):
        cosines = F.normalize(pictures) @ F.normalize(texts).t() / 0.07
        return F.cross_entropy(cosines.float(), classes) + F.cross_entropy(cosines.t().float(), classes)

    def of_pictures():
        rows = tower(seen)
        dist.send(rows.detach(), 1)
        rows.backward(received(1))

    def of_texts_afterwards():
        pictures = received(0).requires_grad_()
        loss_of(pictures, tower(seen)).backward()
        dist.send(pictures.grad, 0)

    def of_texts_meanwhile():
        rows = tower(seen)
        pictures = received(0).requires_grad_()
        theirs, own = torch.autograd.grad(loss_of(pictures, rows), (pictures, rows))
        dist.send(theirs, 0)
        rows.backward(own)

    learn = of_pictures if rank == 0 else of_texts_meanwhile if repaired else of_texts_afterwards

    def step():
        learn()
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)

    return step


CAUSES = {
    "memory_broadcast_each_step": "comm",
    "sharded_as_one_piece": "comm",
    "latents_made_by_rank_zero": "straggler",
    "towers_wait_for_each_other": "bubble",
}
