"""Blind programs whose device is busy with work it need not do or does badly, and one where nothing is wrong."""
import math

import torch
import torch.nn.functional as F
from torch import nn

from blind.models import (EncoderDecoder, Llama, MixerBlock, Molecules, RmsNormByHand, UNet, attention, attention_by_hand,
                          rotary_tables)
from device import GPU, compiled, size, trained


def llama_inputs(model, batch, length):
    generator = torch.Generator().manual_seed(0)
    ids = torch.randint(0, model.tokens.num_embeddings, (batch, length + 1), generator=generator).to(GPU)
    return ids[:, :-1].contiguous(), rotary_tables(length, model.size, GPU), ids[:, 1:].contiguous()


# --- precision ---

def feed_forward_kept_in_f32(repaired):
    """A bf16 encoder-decoder whose second feed-forward matrices stay in f32; repaired: all bf16."""
    model = EncoderDecoder(width=size(768, 48), layers=1).to(GPU, torch.bfloat16)
    if not repaired:
        for part in [*model.encoder, *model.decoder]:
            if hasattr(part, "wo"):
                part.wo.float()
    words = torch.randint(0, 8192, (size(64, 1), size(512, 8)), device=GPU)
    return trained(model, (words, words, words), autocast=False)


def positions_in_f64(repaired):
    """Positions that numpy made turn a molecular network's filters and messages to f64."""
    dtype = torch.float32 if repaired else torch.float64
    atoms, bonds = size(20_000, 50), size(600_000, 200)
    model = Molecules(dtype=dtype).to(GPU)
    batch = (torch.randint(0, 100, (atoms,), device=GPU), torch.rand(atoms, 3, device=GPU, dtype=dtype),
             torch.randint(0, atoms, (bonds,), device=GPU), torch.randint(0, atoms, (bonds,), device=GPU))
    return trained(model, batch, autocast=False)


# --- layout ---

def unet_channels_first(repaired):
    memory = torch.channels_last if repaired else torch.contiguous_format
    torch.backends.cudnn.benchmark = True
    model = UNet(channels=size(64, 8)).to(GPU, memory_format=memory)
    picture = torch.randn(size(24, 1), 3, size(192, 16), size(192, 16), device=GPU).contiguous(memory_format=memory)
    return trained(model, (picture, torch.randn_like(picture)))


def mixer_transposes(repaired):
    """A mixer that copies its input transposed to mix the places, and back; repaired: multiplies from the left."""
    places, width = size(1024, 16), size(512, 32)
    blocks = nn.Sequential(*[MixerBlock(places, width, copies=not repaired) for _ in range(size(8, 2))])
    blocks.to(GPU, torch.bfloat16).requires_grad_(False)
    x = torch.randn(size(64, 2), places, width, device=GPU, dtype=torch.bfloat16)
    return lambda: blocks(x)


# --- avoidable_traffic ---

def llama_pointwise_eager(repaired):
    """Normalisation, rotation and gates of a Llama operator by operator; repaired: compiled."""
    model = Llama(width=size(1024, 64), layers=size(4, 1), norm=RmsNormByHand).to(GPU, torch.bfloat16)
    model.requires_grad_(False)
    ids, tables, _ = llama_inputs(model, size(24, 1), size(1024, 16))
    run = compiled(model) if repaired else model
    return lambda: run(ids, tables)


def attention_with_repeated_keys(repaired):
    """Grouped attention with the keys repeated and mask and probabilities in memory; repaired: the fused operator."""
    model = Llama(width=size(1024, 64), layers=size(4, 1), attend=attention if repaired else attention_by_hand)
    model.to(GPU, torch.bfloat16).requires_grad_(False)
    ids, tables, _ = llama_inputs(model, size(16, 1), size(1024, 16))
    return lambda: model(ids, tables)


def augmented(images):
    """Changes of brightness, contrast, colour and gamma, a vignette, and normalisation."""
    x = images.float() / 255.0
    x = (x * 1.1 + 0.02).clamp(0, 1)
    mean = x.mean((1, 2, 3), keepdim=True)
    x = ((x - mean) * 1.2 + mean).clamp(0, 1)
    grey = 0.3 * x[:, 0:1] + 0.59 * x[:, 1:2] + 0.11 * x[:, 2:3]
    x = (0.8 * x + 0.2 * grey).clamp(0, 1)
    x = x ** 0.9
    line = torch.linspace(-1, 1, x.shape[-1], device=x.device)
    x = x * (1 - 0.2 * (line[:, None] ** 2 + line[None] ** 2))
    return ((x - 0.45) / 0.22).bfloat16()


def augments_eagerly(repaired):
    """Pictures changed on the device, one pass a change, before a convolutional network; repaired: compiled."""
    torch.backends.cudnn.benchmark = True
    images = torch.randint(0, 256, (size(96, 1), 3, size(384, 32), size(384, 32)), device=GPU, dtype=torch.uint8)
    network = nn.Sequential(nn.Conv2d(3, 192, 8, stride=8), nn.GELU(), nn.Conv2d(192, 384, 2, stride=2), nn.GELU(),
                            nn.Conv2d(384, 384, 3, padding=1), nn.GELU(), nn.Conv2d(384, 384, 3, padding=1))
    network.to(GPU, torch.bfloat16, memory_format=torch.channels_last).requires_grad_(False)
    change = compiled(augmented) if repaired else augmented
    return lambda: network(change(images).contiguous(memory_format=torch.channels_last)).mean((2, 3))


def cache_grown_by_cat(repaired):
    """Decodes over a long cache that is copied to append each token; repaired: a cache with room, written in place."""
    batch, length, layers = size(32, 1), size(4096, 16), size(2, 1)
    model = Llama(width=size(1024, 64), shared=16, layers=layers).to(GPU, torch.bfloat16).requires_grad_(False)
    cos, sin = rotary_tables(length + 4, model.size, GPU)
    room = length + 4 if repaired else length
    caches = [[torch.randn(batch, 16, room, model.size, device=GPU, dtype=torch.bfloat16) for _ in range(2)]
              for _ in range(layers)]
    first = torch.zeros(batch, 1, dtype=torch.long, device=GPU)

    def extended(cache, new, place):
        if not repaired:
            return torch.cat((cache, new), 2)
        cache[:, :, place:place + 1] = new
        return cache

    def run():
        token, held = first, [list(pair) for pair in caches]
        for place in range(length, length + 4):
            x = model.tokens(token)
            for block, pair in zip(model.blocks, held):
                q, k, v = block.heads_of(x, (cos[place], sin[place]))
                pair[:] = extended(pair[0], k, place), extended(pair[1], v, place)
                seen = [part[:, :, :place + 1] for part in pair]
                x = block.after_attention(x, F.scaled_dot_product_attention(q, *seen))
            token = model.head(model.norm(x)).argmax(-1)
        return token

    return run


# --- kernel_inefficiency ---

def adapters_one_by_one(repaired):
    """Sixteen requests, each through its own matrix, one product after another; repaired: one batched product."""
    side, inner = size(1024, 16), size(4096, 32)
    x = torch.randn(16, side, inner, device=GPU, dtype=torch.bfloat16)
    layers = [torch.randn(16, inner, side, device=GPU, dtype=torch.bfloat16) * 0.02 for _ in range(14)]
    requests, matrices = x.unbind(), [layer.unbind() for layer in layers]
    out = torch.empty(16, side, side, device=GPU, dtype=torch.bfloat16)
    outs = out.unbind()

    def run():
        total = torch.zeros((), device=GPU)
        for layer, own in zip(layers, matrices):
            if repaired:
                torch.bmm(x, layer, out=out)
            else:
                for request, matrix, result in zip(requests, own, outs):
                    torch.mm(request, matrix, out=result)
            total += out[0, 0, 0]
        return total

    return run


def phases_summed_in_few_rows(repaired):
    """A synthesizer's phases: running sums along eight long rows, a block a row; repaired: of pieces, then of their ends."""
    rows, length = 8, size(240_000, 2_400)
    pitch = torch.rand(8, rows, length, device=GPU) * 0.05
    overtones = torch.arange(1, 17, device=GPU).view(1, -1, 1)

    def running(x):
        if not repaired:
            return x.cumsum(-1)
        pieces = x.view(rows, -1, 400).cumsum(-1)
        ends = F.pad(pieces[..., -1].cumsum(-1)[:, :-1], (1, 0))
        return (pieces + ends[..., None]).view(rows, length)

    def run():
        return [torch.sin((2 * math.pi * running(x))[:, None] * overtones).sum(1) for x in pitch]

    return run


# --- healthy ---

def healthy_llama(repaired):
    """Nothing planted: a compiled Llama in training. The repaired form is the same program."""
    model = Llama(width=size(2048, 64), layers=2).to(GPU, torch.bfloat16)
    return trained(compiled(model), llama_inputs(model, size(16, 1), size(1024, 16)), autocast=False)


CAUSES = {
    "feed_forward_kept_in_f32": "precision",
    "positions_in_f64": "precision",
    "unet_channels_first": "layout",
    "mixer_transposes": "layout",
    "llama_pointwise_eager": "avoidable_traffic",
    "attention_with_repeated_keys": "avoidable_traffic",
    "augments_eagerly": "avoidable_traffic",
    "cache_grown_by_cat": "avoidable_traffic",
    "adapters_one_by_one": "kernel_inefficiency",
    "phases_summed_in_few_rows": "kernel_inefficiency",
    "healthy_llama": "healthy",
}
