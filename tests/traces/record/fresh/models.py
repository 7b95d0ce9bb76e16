"""Small networks for the fresh programs: an encoder of texts, a recommender of items, a network on points, and several
for pictures, each with the slow spellings that people write."""
import math

import torch
import torch.nn.functional as F
from torch import nn


# --- Texts ---

class OneHead(nn.Module):
    def __init__(self, width, size):
        super().__init__()
        self.query, self.key, self.value = (nn.Linear(width, size, bias=False) for _ in range(3))

    def forward(self, x):
        q, k, v = self.query(x), self.key(x), self.value(x)
        return F.scaled_dot_product_attention(q[:, None], k[:, None], v[:, None])[:, 0]


class HeadsInTurn(nn.Module):
    """Attention as tutorials write it: a list of heads, each with its own three layers."""

    def __init__(self, width, heads, causal=False):
        super().__init__()
        self.heads = nn.ModuleList(OneHead(width, width // heads) for _ in range(heads))
        self.out = nn.Linear(width, width)

    def forward(self, x):
        return self.out(torch.cat([head(x) for head in self.heads], -1))


class HeadsAtOnce(nn.Module):
    def __init__(self, width, heads, causal=False):
        super().__init__()
        self.heads, self.causal = heads, causal
        self.qkv, self.out = nn.Linear(width, 3 * width, bias=False), nn.Linear(width, width)

    def forward(self, x):
        batch, length, _ = x.shape
        q, k, v = self.qkv(x).view(batch, length, 3, self.heads, -1).permute(2, 0, 3, 1, 4)
        y = F.scaled_dot_product_attention(q, k, v, is_causal=self.causal)
        return self.out(y.transpose(1, 2).reshape(x.shape))


class EncoderBlock(nn.Module):
    """As in BERT: the norm comes after the sum."""

    def __init__(self, width, heads, attention=HeadsAtOnce, causal=False):
        super().__init__()
        self.attention = attention(width, heads, causal)
        self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)

    def forward(self, x):
        x = self.norm1(x + self.attention(x))
        return self.norm2(x + self.down(F.gelu(self.up(x))))


class TextEncoder(nn.Module):
    """Classifies texts, or every token of them (`of_tokens`); `look_up` finds the rows of the table for the tokens."""

    def __init__(self, width, heads, layers, vocabulary, length, classes=16, of_tokens=False, attention=HeadsAtOnce,
                 look_up=F.embedding):
        super().__init__()
        self.of_tokens, self.look_up = of_tokens, look_up
        self.table = nn.Parameter(0.02 * torch.randn(vocabulary, width))
        self.places = nn.Parameter(0.02 * torch.randn(length, width))
        self.norm = nn.LayerNorm(width)
        self.blocks = nn.Sequential(*[EncoderBlock(width, heads, attention) for _ in range(layers)])
        self.head = nn.Linear(width, classes)

    def forward(self, ids, labels=None):
        x = self.blocks(self.norm(self.look_up(ids, self.table) + self.places[:ids.shape[1]]))
        y = self.head(x if self.of_tokens else x.mean(1))
        return y if labels is None else F.cross_entropy(y.flatten(0, -2), labels.flatten())


class NextItem(nn.Module):
    """SASRec: what a person bought, from first to last, says what follows; number 0 fills short histories."""

    def __init__(self, items, width, length, look_up):
        super().__init__()
        self.look_up = look_up
        self.items = nn.Parameter(0.02 * torch.randn(items, width))
        self.places = nn.Parameter(0.02 * torch.randn(length, width))
        self.blocks = nn.Sequential(*[EncoderBlock(width, 4, causal=True) for _ in range(2)])

    def forward(self, bought, following, others):
        y = self.blocks(self.look_up(bought, self.items) + self.places)
        better = (y * self.look_up(following, self.items)).sum(-1) - (y * self.look_up(others, self.items)).sum(-1)
        return (F.softplus(-better.float()) * (following > 0)).mean()


# --- Points ---

class PointNet(nn.Module):
    """The same layers for every point of a cloud, the largest of each feature, and a classifier."""

    def __init__(self, widths, classes=40):
        super().__init__()
        layers = []
        for inputs, outputs in zip((3, *widths), widths):
            layers += [nn.Linear(inputs, outputs), nn.LayerNorm(outputs), nn.ReLU()]
        self.of_points, self.head = nn.Sequential(*layers), nn.Linear(widths[-1], classes)

    def forward(self, points, labels):
        return F.cross_entropy(self.head(self.of_points(points).amax(1)), labels)


# --- Pictures ---

class BasicBlock(nn.Module):
    """A residual block as in ResNet-18, which may halve the sides."""

    def __init__(self, inputs, outputs, stride):
        super().__init__()
        self.layers = nn.Sequential(
            nn.Conv2d(inputs, outputs, 3, stride=stride, padding=1, bias=False), nn.BatchNorm2d(outputs), nn.ReLU(),
            nn.Conv2d(outputs, outputs, 3, padding=1, bias=False), nn.BatchNorm2d(outputs))
        self.short = nn.Identity() if stride == 1 else nn.Conv2d(inputs, outputs, 1, stride=stride)

    def forward(self, x):
        return F.relu(self.short(x) + self.layers(x))


def residual_stages(widths, inputs=3):
    """Features of a picture, whose sides halve before each width."""
    layers = [nn.Conv2d(inputs, widths[0], 7, stride=2, padding=3)]
    for before, width in zip(widths, widths[1:]):
        layers += [BasicBlock(before, width, 2), BasicBlock(width, width, 1)]
    return nn.Sequential(*layers)


class SceneLabeller(nn.Module):
    """A class for every pixel, by convolutions of growing dilation at half the size."""

    def __init__(self, channels, blocks, classes):
        super().__init__()
        layers = [nn.Conv2d(3, channels, 4, stride=2, padding=1), nn.ReLU()]
        for i in range(blocks):
            layers += [nn.Conv2d(channels, channels, 3, padding=1 << i % 3, dilation=1 << i % 3), nn.ReLU()]
        self.layers = nn.Sequential(*layers, nn.Conv2d(channels, classes, 1))

    def forward(self, pictures):
        return F.interpolate(self.layers(pictures), scale_factor=2, mode="bilinear")


class Denoiser(nn.Module):
    """Predicts the noise of a latent picture; every block is told the time."""

    def __init__(self, channels, blocks):
        super().__init__()
        self.first, self.last = nn.Conv2d(4, channels, 3, padding=1), nn.Conv2d(channels, 4, 3, padding=1)
        self.of_time = nn.Sequential(nn.Linear(channels, 4 * channels), nn.SiLU(), nn.Linear(4 * channels, channels))
        self.register_buffer("rates", torch.exp(-math.log(10000.0) * torch.arange(channels // 2) / (channels // 2)))
        self.blocks = nn.ModuleList(
            nn.Sequential(nn.Conv2d(channels, channels, 3, padding=1), nn.SiLU(),
                          nn.Conv2d(channels, channels, 3, padding=1)) for _ in range(blocks))

    def forward(self, x, time):
        angles = time * self.rates
        told = self.of_time(torch.cat((angles.sin(), angles.cos())).to(x.dtype))[:, None, None]
        x = self.first(x)
        for block in self.blocks:
            x = x + block(x + told)
        return self.last(x)


class Upscaler(nn.Module):
    """EDSR: residual blocks without norms, then twice the size by a shuffle of channels to pixels."""

    def __init__(self, channels, blocks):
        super().__init__()
        self.first, self.last = nn.Conv2d(3, channels, 3, padding=1), nn.Conv2d(channels, 12, 3, padding=1)
        self.blocks = nn.ModuleList(
            nn.Sequential(nn.Conv2d(channels, channels, 3, padding=1), nn.ReLU(inplace=True),
                          nn.Conv2d(channels, channels, 3, padding=1)) for _ in range(blocks))

    def forward(self, x):
        x = self.first(x)
        for block in self.blocks:
            x = x + block(x)
        return F.pixel_shuffle(self.last(x), 2)


class Hourglass(nn.Module):
    """Maps of where the joints of a body are: down to a quarter of the size, up again, with the finer maps added."""

    def __init__(self, channels, joints=17):
        super().__init__()

        def pair(inputs, stride=1):
            return nn.Sequential(nn.Conv2d(inputs, channels, 3, stride=stride, padding=1), nn.ReLU(inplace=True),
                                 nn.Conv2d(channels, channels, 3, padding=1), nn.ReLU(inplace=True))

        self.fine, self.middle, self.coarse = pair(3, 2), pair(channels, 2), pair(channels, 2)
        self.up_middle, self.up_fine, self.last = pair(channels), pair(channels), nn.Conv2d(channels, joints, 1)

    def forward(self, pictures):
        fine = self.fine(pictures)
        middle = self.middle(fine)
        x = self.up_middle(middle + F.interpolate(self.coarse(middle), scale_factor=2))
        return self.last(self.up_fine(fine + F.interpolate(x, scale_factor=2)))


class FaceNetwork(nn.Module):
    """Who a face of 48 pixels a side is: scaled cosines with the directions of many people, in f32 (`wide`) or as
    autocast does."""

    def __init__(self, channels, width, people, wide):
        super().__init__()
        self.wide = wide
        self.features = nn.Sequential(nn.Conv2d(3, channels, 4, stride=4), nn.ReLU(),
                                      nn.Conv2d(channels, 2 * channels, 3, stride=2, padding=1), nn.ReLU(),
                                      nn.Flatten(), nn.Linear(72 * channels, width))
        self.directions = nn.Parameter(torch.randn(people, width))

    def forward(self, faces, people):
        x = F.normalize(self.features(faces).float())
        with torch.autocast(x.device.type, torch.bfloat16, enabled=not self.wide):
            cosines = F.linear(x, F.normalize(self.directions))
        return F.cross_entropy(32.0 * cosines, people)
