"""Small networks for the recorded programs: a GPT and a residual CNN, each with the slow spellings that people write."""
import math

import torch
import torch.nn.functional as F
from torch import nn


def gelu_by_hand(x):
    return 0.5 * x * (1.0 + torch.tanh(math.sqrt(2.0 / math.pi) * (x + 0.044715 * torch.pow(x, 3.0))))


class NormByHand(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(width))
        self.bias = nn.Parameter(torch.zeros(width))

    def forward(self, x):
        x = x.float()
        mean = x.mean(-1, keepdim=True)
        variance = (x - mean).pow(2).mean(-1, keepdim=True)
        return (x - mean) / torch.sqrt(variance + 1e-5) * self.weight + self.bias


class Attention(nn.Module):
    def __init__(self, width, heads, by_hand):
        super().__init__()
        self.heads, self.by_hand = heads, by_hand
        self.qkv = nn.Linear(width, 3 * width)
        self.out = nn.Linear(width, width)

    def forward(self, x):
        batch, length, width = x.shape
        q, k, v = self.qkv(x).view(batch, length, 3, self.heads, -1).permute(2, 0, 3, 1, 4)
        if self.by_hand:
            scores = q @ k.transpose(-1, -2) / math.sqrt(q.shape[-1])
            mask = torch.ones(length, length, dtype=torch.bool, device=x.device).tril()
            y = scores.masked_fill(~mask, float("-inf")).softmax(-1) @ v
        else:
            y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        return self.out(y.transpose(1, 2).reshape(batch, length, width))


class Block(nn.Module):
    def __init__(self, width, heads, attention_by_hand, pointwise_by_hand):
        super().__init__()
        norm = NormByHand if pointwise_by_hand else nn.LayerNorm
        self.gelu = gelu_by_hand if pointwise_by_hand else nn.GELU(approximate="tanh")
        self.norm1, self.norm2 = norm(width), norm(width)
        self.attention = Attention(width, heads, attention_by_hand)
        self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

    def forward(self, x):
        x = x + self.attention(self.norm1(x))
        return x + self.down(self.gelu(self.up(self.norm2(x))))


class Gpt(nn.Module):
    def __init__(self, width=768, heads=12, layers=4, length=512, vocabulary=16384, attention_by_hand=False,
                 pointwise_by_hand=False):
        super().__init__()
        self.tokens = nn.Embedding(vocabulary, width)
        self.places = nn.Parameter(0.02 * torch.randn(length, width))
        self.blocks = nn.ModuleList(
            Block(width, heads, attention_by_hand, pointwise_by_hand) for _ in range(layers))
        self.norm = nn.LayerNorm(width)
        self.head = nn.Linear(width, vocabulary, bias=False)

    def forward(self, ids, targets):
        x = self.tokens(ids) + self.places[: ids.shape[1]]
        for block in self.blocks:
            x = block(x)
        logits = self.head(self.norm(x))
        return F.cross_entropy(logits.flatten(0, 1), targets.flatten())


class Residual(nn.Module):
    def __init__(self, channels):
        super().__init__()
        self.conv1 = nn.Conv2d(channels, channels, 3, padding=1, bias=False)
        self.conv2 = nn.Conv2d(channels, channels, 3, padding=1, bias=False)
        self.norm1, self.norm2 = nn.BatchNorm2d(channels), nn.BatchNorm2d(channels)

    def forward(self, x):
        y = F.relu(self.norm1(self.conv1(x)))
        return F.relu(x + self.norm2(self.conv2(y)))


class Cnn(nn.Module):
    def __init__(self, channels=128, blocks=4, classes=10):
        super().__init__()
        self.stem = nn.Conv2d(3, channels, 7, stride=2, padding=3)
        self.blocks = nn.Sequential(*[Residual(channels) for _ in range(blocks)])
        self.head = nn.Linear(channels, classes)

    def forward(self, images, labels):
        x = self.blocks(self.stem(images)).mean((2, 3))
        return F.cross_entropy(self.head(x), labels)


def convolved_twice(inputs, outputs):
    return nn.Sequential(nn.Conv2d(inputs, outputs, 3, padding=1, bias=False), nn.BatchNorm2d(outputs), nn.ReLU(),
                         nn.Conv2d(outputs, outputs, 3, padding=1, bias=False), nn.BatchNorm2d(outputs), nn.ReLU())


class UNet(nn.Module):
    """Segments grey pictures; `levels` times down and up again, twice the channels at each level."""

    def __init__(self, channels=32, levels=4, classes=3):
        super().__init__()
        widths = [channels << level for level in range(levels + 1)]
        self.down = nn.ModuleList(convolved_twice(a, b) for a, b in zip([1] + widths, widths))
        self.raised = nn.ModuleList(nn.ConvTranspose2d(2 * w, w, 2, stride=2) for w in reversed(widths[:-1]))
        self.up = nn.ModuleList(convolved_twice(2 * w, w) for w in reversed(widths[:-1]))
        self.out = nn.Conv2d(channels, classes, 1)

    def forward(self, images, labels):
        kept = []
        x = self.down[0](images)
        for stage in self.down[1:]:
            kept.append(x)
            x = stage(F.max_pool2d(x, 2))
        for raised, stage in zip(self.raised, self.up):
            x = stage(torch.cat((kept.pop(), raised(x)), 1))
        return F.cross_entropy(self.out(x), labels)


class Denoiser(nn.Module):
    """Predicts the noise of a picture: convolution, normalisation, ReLU, again and again at full size (DnCNN)."""

    def __init__(self, channels=64, layers=15):
        super().__init__()
        middle = [part for _ in range(layers) for part in (
            nn.Conv2d(channels, channels, 3, padding=1, bias=False), nn.BatchNorm2d(channels), nn.ReLU())]
        self.body = nn.Sequential(nn.Conv2d(1, channels, 3, padding=1), nn.ReLU(), *middle,
                                  nn.Conv2d(channels, 1, 3, padding=1))

    def forward(self, noised, noise):
        return F.mse_loss(self.body(noised), noise)
