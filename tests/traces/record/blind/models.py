"""Small networks for the blind programs: a Llama, an encoder-decoder, a ViT, a mixer, a U-Net, a bottleneck CNN, and a
network on graphs, each with the slow spellings that people write."""
import math

import torch
import torch.nn.functional as F
from torch import nn


# --- Llama ---

class RmsNormByHand(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(width))

    def forward(self, x):
        wide = x.float()
        wide = wide * torch.rsqrt(wide.pow(2).mean(-1, keepdim=True) + 1e-6)
        return self.weight * wide.to(x.dtype)


def rotary_tables(length, size, device):
    angles = torch.outer(torch.arange(length), 10000.0 ** (-torch.arange(0, size, 2) / size))
    angles = torch.cat((angles, angles), -1).to(device)
    return angles.cos().bfloat16(), angles.sin().bfloat16()


def rotated(x, cos, sin):
    first, second = x.chunk(2, -1)
    return x * cos + torch.cat((-second, first), -1) * sin


def attention_by_hand(q, k, v):
    """Grouped queries with keys and values repeated, the mask and the probabilities in memory."""
    groups, length = q.shape[1] // k.shape[1], q.shape[2]
    k, v = k.repeat_interleave(groups, 1), v.repeat_interleave(groups, 1)
    mask = torch.full((length, length), torch.finfo(q.dtype).min, dtype=q.dtype, device=q.device).triu(1)
    scores = q @ k.transpose(2, 3) / math.sqrt(q.shape[-1]) + mask
    return scores.softmax(-1, dtype=torch.float32).to(q.dtype) @ v


def attention(q, k, v):
    return F.scaled_dot_product_attention(q, k, v, is_causal=True, enable_gqa=True)


class LlamaBlock(nn.Module):
    def __init__(self, width, heads, shared, norm, attend):
        super().__init__()
        self.heads, self.shared, self.size, self.attend = heads, shared, width // heads, attend
        self.norm1, self.norm2 = norm(width), norm(width)
        self.qkv = nn.Linear(width, (heads + 2 * shared) * self.size, bias=False)
        self.out = nn.Linear(width, width, bias=False)
        self.gate, self.up = nn.Linear(width, 2 * width, bias=False), nn.Linear(width, 2 * width, bias=False)
        self.down = nn.Linear(2 * width, width, bias=False)

    def heads_of(self, x, tables):
        batch, length, _ = x.shape
        parts = self.qkv(self.norm1(x)).view(batch, length, -1, self.size).transpose(1, 2)
        q, k, v = parts.split((self.heads, self.shared, self.shared), 1)
        return rotated(q, *tables), rotated(k, *tables), v

    def after_attention(self, x, y):
        x = x + self.out(y.transpose(1, 2).reshape(x.shape))
        y = self.norm2(x)
        return x + self.down(F.silu(self.gate(y)) * self.up(y))

    def forward(self, x, tables):
        return self.after_attention(x, self.attend(*self.heads_of(x, tables)))


class Llama(nn.Module):
    def __init__(self, width=1024, heads=16, shared=4, layers=4, vocabulary=8192, norm=nn.RMSNorm, attend=attention):
        super().__init__()
        self.size = width // heads
        self.tokens = nn.Embedding(vocabulary, width)
        self.blocks = nn.ModuleList(LlamaBlock(width, heads, shared, norm, attend) for _ in range(layers))
        self.norm = norm(width)
        self.head = nn.Linear(width, vocabulary, bias=False)

    def forward(self, ids, tables, targets=None):
        x = self.tokens(ids)
        for block in self.blocks:
            x = block(x, tables)
        logits = self.head(self.norm(x))
        return logits if targets is None else F.cross_entropy(logits.flatten(0, 1), targets.flatten())


# --- Encoder and decoder ---

class CrossAttention(nn.Module):
    def __init__(self, width, heads, causal):
        super().__init__()
        self.heads, self.causal = heads, causal
        self.norm = nn.LayerNorm(width)
        self.q, self.kv = nn.Linear(width, width), nn.Linear(width, 2 * width)
        self.out = nn.Linear(width, width)

    def split(self, x):
        return x.view(x.shape[0], x.shape[1], self.heads, -1).transpose(1, 2)

    def forward(self, x, memory=None):
        y = self.norm(x)
        k, v = self.kv(y if memory is None else memory).chunk(2, -1)
        y = F.scaled_dot_product_attention(self.split(self.q(y)), self.split(k), self.split(v), is_causal=self.causal)
        return x + self.out(y.transpose(1, 2).reshape(x.shape))


class FeedForward(nn.Module):
    """The second matrix may have a wider type than the rest."""

    def __init__(self, width):
        super().__init__()
        self.norm = nn.LayerNorm(width)
        self.wi, self.wo = nn.Linear(width, 2 * width), nn.Linear(2 * width, width)

    def forward(self, x):
        y = F.gelu(self.wi(self.norm(x)))
        return x + self.wo(y.to(self.wo.weight.dtype)).to(x.dtype)


class EncoderDecoder(nn.Module):
    def __init__(self, width=768, heads=12, layers=2, vocabulary=8192):
        super().__init__()
        self.tokens = nn.Embedding(vocabulary, width)
        self.encoder = nn.ModuleList()
        self.decoder = nn.ModuleList()
        for _ in range(layers):
            self.encoder.extend([CrossAttention(width, heads, False), FeedForward(width)])
            self.decoder.extend([CrossAttention(width, heads, True), CrossAttention(width, heads, False),
                                 FeedForward(width)])
        self.head = nn.Linear(width, vocabulary)

    def forward(self, source, target, following):
        memory = self.tokens(source)
        for part in self.encoder:
            memory = part(memory)
        x = self.tokens(target)
        for i, part in enumerate(self.decoder):
            x = part(x, memory) if i % 3 == 1 else part(x)
        return F.cross_entropy(self.head(x).flatten(0, 1), following.flatten())


# --- Images ---

class VitBlock(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.qkv, self.proj = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.fc1, self.act, self.fc2 = nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width)

    def forward(self, x):
        batch, length, width = x.shape
        q, k, v = self.qkv(self.norm1(x)).view(batch, length, 3, self.heads, -1).permute(2, 0, 3, 1, 4)
        y = F.scaled_dot_product_attention(q, k, v).transpose(1, 2).reshape(x.shape)
        x = x + self.proj(y)
        return x + self.fc2(self.act(self.fc1(self.norm2(x))))


class Vit(nn.Module):
    def __init__(self, width=768, heads=12, layers=8, patch=16, side=224, classes=1000):
        super().__init__()
        self.patches = nn.Conv2d(3, width, patch, stride=patch)
        self.places = nn.Parameter(0.02 * torch.randn((side // patch) ** 2, width))
        self.blocks = nn.Sequential(*[VitBlock(width, heads) for _ in range(layers)])
        self.norm, self.head = nn.LayerNorm(width), nn.Linear(width, classes)

    def forward(self, images, labels=None):
        x = self.patches(images).flatten(2).transpose(1, 2) + self.places
        y = self.head(self.norm(self.blocks(x)).mean(1))
        return y if labels is None else F.cross_entropy(y, labels)


class MixerBlock(nn.Module):
    """`copies`: mixes the places through nn.Linear over a transposed copy; without: multiplies from the left."""

    def __init__(self, places, width, copies):
        super().__init__()
        self.copies = copies
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.first, self.second = nn.Linear(places, places // 4, bias=False), nn.Linear(places // 4, places, bias=False)
        self.fc1, self.fc2 = nn.Linear(width, width), nn.Linear(width, width)

    def mixed(self, x):
        if self.copies:
            y = x.transpose(1, 2).contiguous()
            y = self.second(F.gelu(self.first(y)))
            return y.transpose(1, 2).contiguous()
        batch = x.shape[0]
        y = F.gelu(torch.bmm(self.first.weight.expand(batch, -1, -1), x))
        return torch.bmm(self.second.weight.expand(batch, -1, -1), y)

    def forward(self, x):
        x = x + self.mixed(self.norm1(x))
        return x + self.fc2(F.gelu(self.fc1(self.norm2(x))))


class Bottleneck(nn.Module):
    def __init__(self, channels):
        super().__init__()
        inner = channels // 4
        self.layers = nn.Sequential(
            nn.Conv2d(channels, inner, 1, bias=False), nn.BatchNorm2d(inner), nn.ReLU(),
            nn.Conv2d(inner, inner, 3, padding=1, bias=False), nn.BatchNorm2d(inner), nn.ReLU(),
            nn.Conv2d(inner, channels, 1, bias=False), nn.BatchNorm2d(channels))

    def forward(self, x):
        return F.relu(x + self.layers(x))


class BottleneckCnn(nn.Module):
    def __init__(self, channels=256, blocks=5, classes=100):
        super().__init__()
        self.stem = nn.Conv2d(3, channels, 4, stride=4)
        self.blocks = nn.Sequential(*[Bottleneck(channels) for _ in range(blocks)])
        self.head = nn.Linear(channels, classes)

    def forward(self, images, labels):
        return F.cross_entropy(self.head(self.blocks(self.stem(images)).mean((2, 3))), labels)


def two_convolutions(inputs, outputs):
    return nn.Sequential(nn.Conv2d(inputs, outputs, 3, padding=1, bias=False), nn.BatchNorm2d(outputs), nn.SiLU(),
                         nn.Conv2d(outputs, outputs, 3, padding=1, bias=False), nn.BatchNorm2d(outputs), nn.SiLU())


class UNet(nn.Module):
    """Predicts the noise of a noised picture; two levels down and up again."""

    def __init__(self, channels=64):
        super().__init__()
        self.down1, self.down2 = two_convolutions(3, channels), two_convolutions(channels, 2 * channels)
        self.middle = two_convolutions(2 * channels, 4 * channels)
        self.raise2 = nn.ConvTranspose2d(4 * channels, 2 * channels, 2, stride=2)
        self.up2 = two_convolutions(4 * channels, 2 * channels)
        self.raise1 = nn.ConvTranspose2d(2 * channels, channels, 2, stride=2)
        self.up1 = two_convolutions(2 * channels, channels)
        self.out = nn.Conv2d(channels, 3, 1)

    def forward(self, noised, noise):
        first = self.down1(noised)
        second = self.down2(F.max_pool2d(first, 2))
        x = self.middle(F.max_pool2d(second, 2))
        x = self.up2(torch.cat((second, self.raise2(x)), 1))
        x = self.up1(torch.cat((first, self.raise1(x)), 1))
        return F.mse_loss(self.out(x), noise)


# --- Graphs ---

class Interaction(nn.Module):
    """A continuous filter convolution as of SchNet: filters of the distances, applied to neighbours, summed at atoms."""

    def __init__(self, width, centres):
        super().__init__()
        self.filter = nn.Sequential(nn.Linear(centres, width), nn.Softplus(), nn.Linear(width, width))
        self.before, self.after = nn.Linear(width, width), nn.Linear(width, width)

    def forward(self, x, spread, source, target):
        messages = self.before(x)[source] * self.filter(spread)
        gathered = torch.zeros(x.shape, dtype=messages.dtype, device=x.device).index_add_(0, target, messages)
        return x + self.after(gathered.to(x.dtype))


class Molecules(nn.Module):
    def __init__(self, width=64, centres=64, layers=3, dtype=torch.float32):
        super().__init__()
        self.kinds = nn.Embedding(100, width)
        self.register_buffer("centres", torch.linspace(0, 5, centres))
        self.layers = nn.ModuleList(Interaction(width, centres) for _ in range(layers))
        for layer in self.layers:
            layer.filter.to(dtype)

    def forward(self, kinds, positions, source, target):
        distance = (positions[source] - positions[target]).norm(dim=-1, keepdim=True)
        spread = torch.exp(-10.0 * (distance - self.centres) ** 2)
        x = self.kinds(kinds)
        for layer in self.layers:
            x = layer(x, spread, source, target)
        return x.sum()
