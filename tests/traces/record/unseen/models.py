"""Small networks for the unseen programs: a diffusion transformer, attention with T5's bias, layers of experts,
adapters, a separator of voices, a ConvNeXt, each with the slow spellings that people write."""
import math

import torch
import torch.nn.functional as F
from torch import nn

grouped_product = getattr(F, "grouped_mm", None) or torch._grouped_mm


# --- Transformers ---

class AdaptiveBlock(nn.Module):
    """A block of a diffusion transformer, whose norms are shifted, scaled and gated by a condition."""

    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.norm = nn.LayerNorm(width, elementwise_affine=False)
        self.condition = nn.Linear(width, 6 * width)
        self.qkv, self.proj = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

    def attended(self, x):
        batch, length, width = x.shape
        q, k, v = self.qkv(x).view(batch, length, 3, self.heads, -1).permute(2, 0, 3, 1, 4)
        return self.proj(F.scaled_dot_product_attention(q, k, v).transpose(1, 2).reshape(x.shape))

    def forward(self, x, condition):
        shift1, scale1, gate1, shift2, scale2, gate2 = self.condition(F.silu(condition))[:, None].chunk(6, -1)
        x = x + gate1 * self.attended(self.norm(x) * (1 + scale1) + shift1)
        y = self.up(self.norm(x) * (1 + scale2) + shift2)
        return x + gate2 * self.down(F.gelu(y, approximate="tanh"))


class DiffusionTransformer(nn.Module):
    def __init__(self, width=1024, heads=8, layers=4):
        super().__init__()
        self.blocks = nn.ModuleList(AdaptiveBlock(width, heads) for _ in range(layers))

    def forward(self, x, condition, noise=None):
        for block in self.blocks:
            x = block(x, condition)
        return x if noise is None else F.mse_loss(x, noise)


def distance_buckets(length, buckets=32):
    """T5's: every near distance has its own bucket, far ones share theirs by logarithm; half of them for each side."""
    places = torch.arange(length)
    apart = places[None] - places[:, None]
    half, near = buckets // 2, buckets // 4
    far = near + (apart.abs().clamp(min=1) / near).log() / math.log(128 / near) * (half - near)
    side = torch.where(apart.abs() < near, apart.abs(), far.long().clamp(max=half - 1))
    return side + half * (apart > 0)


class BiasedBlock(nn.Module):
    """An encoder block of T5; `wide`: scores and probabilities are computed from f32."""

    def __init__(self, width, heads, length, wide):
        super().__init__()
        self.heads, self.wide = heads, wide
        self.norm1, self.norm2 = nn.RMSNorm(width), nn.RMSNorm(width)
        self.qkv, self.out = nn.Linear(width, 3 * width, bias=False), nn.Linear(width, width, bias=False)
        self.wi, self.wo = nn.Linear(width, 2 * width, bias=False), nn.Linear(2 * width, width, bias=False)
        self.bias = nn.Embedding(32, heads)
        self.register_buffer("buckets", distance_buckets(length))

    def attended(self, x):
        batch, length, _ = x.shape
        q, k, v = self.qkv(x).view(batch, length, 3, self.heads, -1).permute(2, 0, 3, 1, 4)
        bias = self.bias(self.buckets).permute(2, 0, 1)
        if self.wide:
            q, k, v, bias = q.float(), k.float(), v.float(), bias.float()
        y = (q @ k.transpose(2, 3) + bias).softmax(-1) @ v
        return self.out(y.to(x.dtype).transpose(1, 2).reshape(x.shape))

    def forward(self, x):
        x = x + self.attended(self.norm1(x))
        return x + self.wo(F.relu(self.wi(self.norm2(x))))


class Adapted(nn.Module):
    """A frozen linear layer with a trained product of two narrow matrices beside it; `merges`: added to its weights."""

    def __init__(self, frozen, rank=16, merges=False):
        super().__init__()
        self.frozen, self.merges = frozen.requires_grad_(False), merges
        self.narrow = nn.Linear(frozen.in_features, rank, bias=False)
        self.widen = nn.Linear(rank, frozen.out_features, bias=False)

    def forward(self, x):
        if self.merges:
            weight = self.frozen.weight + 2.0 * (self.widen.weight @ self.narrow.weight)
            return F.linear(x, weight, self.frozen.bias)
        return torch.add(self.frozen(x), self.widen(self.narrow(x)), alpha=2.0)


class Experts(nn.Module):
    """A layer of experts, each token through the one that likes it best; `ends_of` makes ends of groups of counts."""

    def __init__(self, width, hidden, count, ends_of):
        super().__init__()
        self.norm, self.router = nn.RMSNorm(width), nn.Linear(width, count, bias=False)
        self.up = nn.Parameter(torch.randn(count, width, hidden) / math.sqrt(width))
        self.down = nn.Parameter(torch.randn(count, hidden, width) / math.sqrt(hidden))
        self.register_buffer("numbers", torch.arange(count))
        self.ends_of = ends_of

    def forward(self, x):
        y = self.norm(x)
        chosen = self.router(y).argmax(-1)
        order = chosen.argsort()
        ends = self.ends_of((chosen[:, None] == self.numbers).sum(0))
        y = grouped_product(F.relu(grouped_product(y[order], self.up, offs=ends)), self.down, offs=ends)
        return x + torch.empty_like(y).index_copy_(0, order, y)


# --- Sound ---

class PointwiseModule(nn.Module):
    """Widens, gates and narrows every frame: by convolutions of length one, for which time comes last (`convolves`),
    or by the same products with the channels last."""

    def __init__(self, width, convolves):
        super().__init__()
        self.convolves, self.norm = convolves, nn.LayerNorm(width)
        if convolves:
            self.first, self.second = nn.Conv1d(width, 2 * width, 1), nn.Conv1d(width, width, 1)
        else:
            self.first, self.second = nn.Linear(width, 2 * width), nn.Linear(width, width)

    def forward(self, x):
        y = self.norm(x)
        if self.convolves:
            y = self.second(F.glu(self.first(y.transpose(1, 2)), 1)).transpose(1, 2)
        else:
            y = self.second(F.glu(self.first(y), -1))
        return x + y


class NormOfWhole(nn.GroupNorm):
    """GroupNorm of one group from a reduction that all of the device takes part in."""

    def __init__(self, channels):
        super().__init__(1, channels)

    def forward(self, x):
        variance, mean = torch.var_mean(x, (1, 2), keepdim=True, correction=0)
        scale = torch.rsqrt(variance + self.eps) * self.weight[:, None]
        return torch.addcmul(self.bias[:, None] - mean * scale, x, scale)


class Separator(nn.Module):
    """The middle of Conv-TasNet: blocks of convolutions of growing dilation, each normed over channels and time."""

    def __init__(self, channels, blocks, norm):
        super().__init__()
        hidden = 2 * channels
        self.blocks = nn.ModuleList(
            nn.Sequential(nn.Conv1d(channels, hidden, 1), nn.PReLU(), norm(hidden),
                          nn.Conv1d(hidden, hidden, 3, padding=1 << i % 4, dilation=1 << i % 4, groups=hidden),
                          nn.PReLU(), norm(hidden), nn.Conv1d(hidden, channels, 1)) for i in range(blocks))

    def forward(self, x):
        for block in self.blocks:
            x = x + block(x)
        return x


# --- Images ---

class ConvNextBlock(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.spread = nn.Conv2d(width, width, 7, padding=3, groups=width)
        self.norm = nn.LayerNorm(width)
        self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

    def forward(self, x):
        y = self.norm(self.spread(x).permute(0, 2, 3, 1))
        return x + self.down(F.gelu(self.up(y))).permute(0, 3, 1, 2)


def convolutions(inputs, channels, count):
    layers = []
    for i in range(count):
        layers += [nn.Conv2d(channels if i else inputs, channels, 3, padding=1), nn.ReLU()]
    return nn.Sequential(*layers)
