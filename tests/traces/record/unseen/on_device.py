"""Unseen programs whose device is busy with work it need not do or does badly, and one where nothing is wrong."""
import collections

import torch
import torch.nn.functional as F
from torch import nn

from blind.models import Llama, Vit
from device import DRY, GPU, compiled, size, trained
from unseen.host import text_of
from unseen.models import (Adapted, BiasedBlock, DiffusionTransformer, NormOfWhole, PointwiseModule, Separator,
                           convolutions)


# --- precision ---

def bias_widens_the_scores(repaired):
    """A bf16 encoder with T5's bias multiplies queries, keys, probabilities and values in f32; repaired: in bf16."""
    width, length = size(1024, 32), size(512, 16)
    blocks = nn.Sequential(*[BiasedBlock(width, 4, length, wide=not repaired) for _ in range(size(4, 1))])
    blocks.to(GPU, torch.bfloat16).requires_grad_(False)
    x = torch.randn(size(32, 1), length, width, device=GPU, dtype=torch.bfloat16)
    return lambda: blocks(x)


def diffusion_without_autocast(repaired):
    """Trains a diffusion transformer with products in TF32; repaired: in bf16 by autocast."""
    torch.set_float32_matmul_precision("high")
    width = size(1536, 32)
    model = DiffusionTransformer(width, heads=size(12, 4), layers=size(4, 1)).to(GPU)
    x = torch.randn(size(32, 2), size(256, 8), width, device=GPU)
    batch = (x, torch.randn(x.shape[0], width, device=GPU), torch.randn_like(x))
    return trained(model, batch, autocast=repaired)


# --- layout ---

def pointwise_convolutions(repaired):
    """The convolution module of a speech network: length one, time last, so transposed there and back.
    Repaired: linear layers."""
    width = size(512, 16)
    modules = nn.Sequential(*[PointwiseModule(width, convolves=not repaired) for _ in range(size(12, 2))])
    modules.to(GPU, torch.bfloat16).requires_grad_(False)
    x = torch.randn(size(64, 2), size(1024, 16), width, device=GPU, dtype=torch.bfloat16)
    return lambda: modules(x)


# --- avoidable_traffic ---

def adapters_merged_in_every_call(repaired):
    """Layers with adapters that add them to their large weights whenever they are called.
    Repaired: they multiply by the adapters' two narrow matrices."""
    width = size(8192, 32)
    layers = [Adapted(nn.Linear(width, width, bias=False), merges=not repaired) for _ in range(size(12, 2))]
    model = nn.Sequential(*layers).to(GPU, torch.bfloat16).requires_grad_(False)
    x = torch.randn(size(1024, 8), width, device=GPU, dtype=torch.bfloat16)
    return lambda: model(x)


def distances_by_broadcasting(repaired):
    """A coder of pictures that finds the nearest of many codes by a difference for each of their entries.
    Repaired: from squares and one product."""
    width, count = 64, size(2048, 32)
    encoder = nn.Sequential(convolutions(3, size(256, 8), size(5, 1)), nn.Conv2d(size(256, 8), width, 4, stride=4))
    encoder.to(GPU, torch.bfloat16, memory_format=torch.channels_last).requires_grad_(False)
    codes = torch.randn(count, width, device=GPU)
    pictures = torch.randn(size(2, 1), 3, size(256, 16), size(256, 16), device=GPU, dtype=torch.bfloat16)
    pictures = pictures.contiguous(memory_format=torch.channels_last)

    def step():
        entries = encoder(pictures).permute(0, 2, 3, 1).reshape(-1, width).float()
        if repaired:
            apart = entries.square().sum(1, keepdim=True) - 2.0 * entries @ codes.t() + codes.square().sum(1)
        else:
            apart = (entries[:, None] - codes[None]).pow(2).sum(-1)
        return codes[apart.argmin(1)]

    return step


# --- kernel_inefficiency ---

def one_group_norms(repaired):
    """A separator of voices with the norm of a whole sound by GroupNorm, which gives each sound one block of threads.
    Repaired: by a reduction over all of the device."""
    norm = NormOfWhole if repaired else lambda channels: nn.GroupNorm(1, channels)
    model = Separator(size(256, 8), size(6, 1), norm).to(GPU, torch.bfloat16).requires_grad_(False)
    x = torch.randn(size(32, 1), size(256, 8), size(2000, 64), device=GPU, dtype=torch.bfloat16)
    return lambda: model(x)


def causal_mask_in_memory(repaired):
    """Gives the fused attention a mask of what comes later, which the fast kernel cannot read; repaired: is_causal."""
    length = size(8192, 32)
    mask = torch.full((length, length), float("-inf"), device=GPU, dtype=torch.bfloat16).triu(1)

    def attend(q, k, v):
        if repaired:
            return F.scaled_dot_product_attention(q, k, v, is_causal=True)
        return F.scaled_dot_product_attention(q, k, v, attn_mask=mask)

    model = Llama(width=size(2048, 64), heads=16, shared=16, layers=size(2, 1), attend=attend)
    model.to(GPU, torch.bfloat16).requires_grad_(False)
    ids, tables, _ = text_of(model, size(2, 1), length)
    return lambda: model(ids, tables)


# --- healthy ---

class Pictures(torch.utils.data.Dataset):
    """Pictures that lie in memory, ready for use."""

    def __init__(self):
        self.kept = torch.randint(0, 256, (256, 3, 224, 224), dtype=torch.uint8)

    def __len__(self):
        return 1 << 24

    def __getitem__(self, index):
        return self.kept[index % 256], index % 100


def healthy_with_loader(repaired):
    """Nothing planted: a compiled ViT in training, fed by workers through pinned memory, its loss read a step later.
    The repaired form is the same program."""
    model = Vit(width=size(1024, 64), heads=size(16, 4), layers=size(4, 1)).to(GPU)
    run = compiled(model)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4, fused=not DRY)
    loader = torch.utils.data.DataLoader(Pictures(), batch_size=size(96, 2), num_workers=size(4, 1),
                                         pin_memory=not DRY, prefetch_factor=4)
    batches = iter(loader)
    pending, seen = collections.deque(), collections.deque(maxlen=100)

    def look_at(loss):
        """Sends this step's loss to the host, and reads the one of the step before, which is there."""
        held = torch.empty((), pin_memory=not DRY)
        held.copy_(loss.detach(), non_blocking=True)
        sent = None if DRY else torch.Event(device=GPU)
        if sent:
            sent.record()
        pending.append((held, sent))
        if len(pending) > 1:
            held, sent = pending.popleft()
            if sent:
                sent.synchronize()
            seen.append(float(held))

    def step():
        images, labels = (part.to(GPU, non_blocking=True) for part in next(batches))
        with torch.autocast(GPU, dtype=torch.bfloat16):
            loss = run(images.to(torch.bfloat16) / 255, labels)
        loss.backward()
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
        look_at(loss)

    return step


CAUSES = {
    "bias_widens_the_scores": "precision",
    "diffusion_without_autocast": "precision",
    "pointwise_convolutions": "layout",
    "adapters_merged_in_every_call": "avoidable_traffic",
    "distances_by_broadcasting": "avoidable_traffic",
    "one_group_norms": "kernel_inefficiency",
    "causal_mask_in_memory": "kernel_inefficiency",
    "healthy_with_loader": "healthy",
}
