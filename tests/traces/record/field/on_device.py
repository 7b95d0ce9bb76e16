"""Field programs whose device is busy with work it need not do or does badly, and one where nothing is wrong."""
import torch
import torch.nn.functional as F
from torch import nn

from blind.models import Llama, rotary_tables
from device import DRY, GPU, size, trained
from everyday.host import frozen, pinned
from everyday.models import CachedLlama, PatchNetwork, all_of_it
from field.models import ByteLinear, EdgeNetwork, FieldBlock, LongLlama, WideAdapted
from models import Gpt
from unseen.models import DiffusionTransformer


# --- precision ---

def adapters_kept_in_f32(repaired):
    """Fine-tunes a bf16 Llama by adapters of rank 256, which are kept in f32, as is their default, so that their
    products are too. Repaired: adapters in bf16."""
    length, width, vocabulary = size(1024, 16), size(2048, 32), size(8192, 64)
    model = Llama(width, heads=size(16, 4), shared=size(4, 2), layers=size(3, 1), vocabulary=vocabulary)
    model.requires_grad_(False).to(torch.bfloat16)
    for block in model.blocks:
        for name in "qkv", "out", "gate", "up", "down":
            adapted = WideAdapted(getattr(block, name), size(256, 4), torch.bfloat16 if repaired else torch.float32)
            setattr(block, name, adapted)
    model.to(GPU)
    words = torch.randint(0, vocabulary, (size(8, 2), length + 1), device=GPU)
    batch = words[:, :-1], rotary_tables(length, model.size, GPU), words[:, 1:]
    learnt = [parameter for parameter in model.parameters() if parameter.requires_grad]
    return trained(model, batch, torch.optim.AdamW(learnt, lr=1e-4, fused=not DRY), autocast=False)


class Muon(torch.optim.Optimizer):
    """Changes matrices by the orthogonal matrix nearest to their momentum, found by Newton and Schulz's iteration."""

    def __init__(self, matrices, dtype, lr=0.02, momentum=0.95):
        super().__init__(matrices, {"lr": lr, "momentum": momentum})
        self.dtype = dtype

    def orthogonal(self, matrix):
        x = (matrix / (matrix.norm() + 1e-7)).to(self.dtype)
        tall = len(x) > x.shape[1]
        x = x.t() if tall else x
        for _ in range(5):
            square = x @ x.t()
            x = torch.addmm(x, torch.addmm(square, square, square, beta=-4.7750, alpha=2.0315), x, beta=3.4445)
        return x.t() if tall else x

    @torch.no_grad()
    def step(self):
        for group in self.param_groups:
            for matrix in group["params"]:
                state = self.state[matrix]
                momentum = state.setdefault("momentum", torch.zeros_like(matrix))
                momentum.lerp_(matrix.grad, 1 - group["momentum"])
                matrix.add_(self.orthogonal(momentum), alpha=-group["lr"])


def muon_in_f32(repaired):
    """Trains a GPT whose matrices change by Muon, with its iteration in f32, as the gradients are.
    Repaired: in bf16, as published."""
    length = size(512, 16)
    model = Gpt(width=size(1024, 48), heads=size(16, 4), layers=size(4, 1), length=length).to(GPU)
    matrices = [parameter for parameter in model.blocks.parameters() if parameter.ndim == 2]
    others = [parameter for parameter in model.parameters() if all(parameter is not matrix for matrix in matrices)]
    muon = Muon(matrices, torch.bfloat16 if repaired else torch.float32)
    words = torch.randint(0, 16384, (size(32, 2), length + 1), device=GPU)
    step = trained(model, (words[:, :-1], words[:, 1:]), torch.optim.AdamW(others, lr=1e-4, fused=not DRY))

    def run():
        loss = step()
        muon.step()
        muon.zero_grad(set_to_none=True)
        return loss

    return run


# --- layout ---

def fields_turned_for_every_axis(repaired):
    """Forecasts the weather by attention along rows and along columns of a field; each rearrangement of heads, rows and
    columns makes a copy. Repaired: attention reads them by their strides."""
    rows, columns, width = size(512, 8), size(1024, 16), size(256, 16)
    model = frozen(nn.Sequential(*[FieldBlock(width, size(4, 2), turns=not repaired) for _ in range(size(3, 1))]))
    field = torch.randn(rows, columns, width, device=GPU, dtype=torch.bfloat16)
    return lambda: model(field)


# --- avoidable_traffic ---

def edges_written_out(repaired):
    """Labels the points of clouds by layers that join each point with its difference from each of twenty neighbours,
    and multiply all of these. Repaired: points are multiplied, and the neighbours' products compared."""
    clouds, points, width = size(32, 2), size(4096, 24), size(128, 8)
    model = frozen(EdgeNetwork(6, width, size(4, 2), size(2048, 16), 13, written_out=not repaired))
    near = torch.randint(0, points, (clouds, points, size(20, 3)), device=GPU)
    near = (near + points * torch.arange(clouds, device=GPU)[:, None, None]).flatten(0, 1)
    seen = torch.randn(clouds * points, 6, device=GPU, dtype=torch.bfloat16)
    return lambda: model(seen, near)


def bytes_widened_for_every_token(repaired):
    """Makes tokens by a Llama whose weights are bytes, widened to bf16 and scaled, matrix by matrix, for every token.
    Repaired: widened once, as there is memory for it."""
    width = size(8192, 32)
    with torch.device(GPU):
        llama = CachedLlama(size(16, 2), size(256, 16), width, size(64, 4), size(6, 1), size(8192, 64), all_of_it)
    for block in llama.model.blocks:
        for name in "qkv", "out", "gate", "up", "down":
            setattr(block, name, ByteLinear(getattr(block, name), every_call=not repaired))

    def step():
        scores = llama.scores()
        llama.token.copy_(scores.argmax(-1, keepdim=True))
        return scores

    return step


# --- kernel_inefficiency ---

def with_echo(sounds, echoes):
    """Each sound as in the room whose echo is given: a convolution with as many taps as the echo is long."""
    taps = echoes.shape[1]
    return F.conv1d(F.pad(sounds, (taps - 1, 0))[None], echoes.flip(1)[:, None], groups=len(sounds))[0]


def with_echo_by_spectrum(sounds, echoes):
    length, taps = sounds.shape[1], echoes.shape[1]
    count = 1 << (length + taps - 1).bit_length()
    return torch.fft.irfft(torch.fft.rfft(sounds, count) * torch.fft.rfft(echoes, count), count)[:, :length]


def echoes_by_direct_convolution(repaired):
    """Trains a recogniser of sounds, to which it adds the echoes of rooms, eight thousand taps long, by conv1d.
    Repaired: by Fourier transforms."""
    sounds, length, patch, width = size(48, 2), size(64_000, 320), size(320, 16), size(768, 16)
    model = PatchNetwork(patch, width, size(12, 2), size(4, 1), 35).to(GPU)
    heard = torch.randn(sounds, length, device=GPU)
    echoes = torch.randn(sounds, size(8000, 40), device=GPU) * torch.linspace(0, -6, size(8000, 40), device=GPU).exp()
    labels = torch.randint(0, 35, (sounds,), device=GPU)
    holder = [None]

    def loss_of(patches):
        return F.cross_entropy(model(patches), labels)

    step = trained(loss_of, holder, torch.optim.AdamW(model.parameters(), lr=1e-4, fused=not DRY))

    def run():
        x = (with_echo_by_spectrum if repaired else with_echo)(heard, echoes)
        holder[0] = (x / x.std(1, keepdim=True)).unflatten(1, (-1, patch))
        return step()

    return run


def seen_by_mask(q, keys, values, count):
    """Attention to what is filled of the caches, by a mask of the whole."""
    seen = (torch.arange(keys.shape[2], device=GPU) < count)[None, None, None]
    return F.scaled_dot_product_attention(q, keys, values, attn_mask=seen)


def seen_by_length(q, keys, values, count):
    return F.scaled_dot_product_attention(q, keys[:, :, :count], values[:, :, :count])


def long_caches_behind_a_mask(repaired):
    """Makes tokens for two long texts from caches with room for 65536 tokens, most of it filled, the rest masked; with
    a mask, attention gives each head one block of threads. Repaired: it is given what is filled, and no mask."""
    length, width = size(65_536, 64), size(2048, 32)
    llama = LongLlama(2, length, length * 15 // 16, width, size(16, 4), size(8, 2), size(16_384, 64),
                      seen_by_length if repaired else seen_by_mask)
    return llama.step


# --- healthy ---

def healthy_diffusion(repaired):
    """Nothing planted: a diffusion transformer in training, compiled block by block, on patches from pinned memory.
    The repaired form is the same program."""
    pictures, places, width = size(96, 2), size(256, 8), size(2048, 32)
    model = DiffusionTransformer(width, heads=size(16, 4), layers=size(2, 1)).to(GPU)
    for block in model.blocks:
        block.compile(backend="eager" if DRY else "inductor")
    first = frozen(nn.Linear(size(64, 8), width))
    kept = pinned(torch.randn(pictures, places, first.in_features, dtype=torch.bfloat16))
    told = torch.randn(pictures, width, device=GPU)
    holder = [None, told, None]
    step = trained(model, holder)

    def run():
        clean = first(kept.to(GPU, non_blocking=True))
        noise = torch.randn_like(clean)
        holder[0], holder[2] = torch.lerp(clean, noise, 0.4), noise
        return step()

    return run


CAUSES = {
    "adapters_kept_in_f32": "precision",
    "muon_in_f32": "precision",
    "fields_turned_for_every_axis": "layout",
    "edges_written_out": "avoidable_traffic",
    "bytes_widened_for_every_token": "avoidable_traffic",
    "echoes_by_direct_convolution": "kernel_inefficiency",
    "long_caches_behind_a_mask": "kernel_inefficiency",
    "healthy_diffusion": "healthy",
}
