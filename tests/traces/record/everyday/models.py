"""Small networks for the everyday programs: transformers on pictures, sound and films, a Llama that decodes, layers of
splines, networks on points, and the two of a GAN."""
import torch
import torch.nn.functional as F
from torch import nn

from blind.models import Llama, rotary_tables
from device import GPU
from fresh.models import EncoderBlock


def layers_of(*widths):
    """Linear layers with GELU between them."""
    layers = []
    for inputs, outputs in zip(widths, widths[1:]):
        layers += [nn.Linear(inputs, outputs), nn.GELU()]
    return nn.Sequential(*layers[:-1])


# --- Transformers ---

class PatchNetwork(nn.Module):
    """Encodes patches of pictures, films or sounds, given as rows of numbers, and says one thing of each whole."""

    def __init__(self, patch, width, heads, layers, answers):
        super().__init__()
        self.first, self.head = nn.Linear(patch, width), nn.Linear(width, answers)
        self.blocks = nn.Sequential(*[EncoderBlock(width, heads) for _ in range(layers)])

    def forward(self, patches):
        return self.head(self.blocks(self.first(patches)).mean(1))


class FrameLabeller(nn.Module):
    """Labels every frame of a sound; -100 stands where there is none."""

    def __init__(self, bands, width, layers, labels):
        super().__init__()
        self.first, self.head = nn.Linear(bands, width), nn.Linear(width, labels)
        self.blocks = nn.Sequential(*[EncoderBlock(width, 8) for _ in range(layers)])

    def forward(self, frames, labels):
        return F.cross_entropy(self.head(self.blocks(self.first(frames))).flatten(0, 1), labels.flatten())


class CachedLlama:
    """A Llama that makes one token after another for several requests; its caches hold tokens before heads, and
    `attend` is given the queries, both caches, and the place of the token."""

    def __init__(self, requests, length, width, heads, layers, vocabulary, attend):
        self.model = Llama(width=width, heads=heads, shared=heads, layers=layers, vocabulary=vocabulary)
        self.model.to(GPU, torch.bfloat16).requires_grad_(False)
        self.tables, self.length, self.attend = rotary_tables(length, width // heads, GPU), length, attend
        shape = (requests, length, heads, width // heads)
        self.caches = [[torch.randn(shape, device=GPU, dtype=torch.bfloat16) for _ in range(2)] for _ in range(layers)]
        self.token = torch.zeros(requests, 1, dtype=torch.long, device=GPU)
        self.place = torch.zeros(1, dtype=torch.long, device=GPU)

    def scores(self):
        """How likely each token is to follow, for each request."""
        x, tables = self.model.tokens(self.token), [table[self.place] for table in self.tables]
        for block, (keys, values) in zip(self.model.blocks, self.caches):
            q, k, v = block.heads_of(x, tables)
            keys.index_copy_(1, self.place, k.transpose(1, 2))
            values.index_copy_(1, self.place, v.transpose(1, 2))
            x = block.after_attention(x, self.attend(q, keys, values, self.place))
        self.place.add_(1).remainder_(self.length)
        return self.model.head(self.model.norm(x))[:, -1]


def seen_so_far(q, keys, values, place):
    """Attention to what the caches hold up to this place."""
    seen = (torch.arange(keys.shape[1], device=GPU) <= place)[None, None, None]
    return F.scaled_dot_product_attention(q, keys.transpose(1, 2), values.transpose(1, 2), attn_mask=seen)


def all_of_it(q, keys, values, place):
    """Attention to full caches."""
    return F.scaled_dot_product_attention(q, keys.transpose(1, 2), values.transpose(1, 2))


# --- Tables ---

def spline_bases(x, knots):
    """The cubic B-splines over even knots at each number, by the recursion of de Boor."""
    x = x[..., None]
    bases = ((x >= knots[:-1]) & (x < knots[1:])).to(x.dtype)
    for order in range(1, 4):
        rising = (x - knots[:-order - 1]) / (knots[order:-1] - knots[:-order - 1])
        falling = (knots[order + 1:] - x) / (knots[order + 1:] - knots[1:-order])
        bases = rising * bases[..., :-1] + falling * bases[..., 1:]
    return bases


class SplineLayer(nn.Module):
    """A layer of a Kolmogorov-Arnold network: each input through a curve of its own for each output."""

    def __init__(self, inputs, outputs, bases_of, intervals=8):
        super().__init__()
        self.bases_of, self.straight = bases_of, nn.Linear(inputs, outputs)
        self.curves = nn.Linear(inputs * (intervals + 3), outputs, bias=False)
        self.register_buffer("knots", torch.arange(-3, intervals + 4) * (2 / intervals) - 1)

    def forward(self, x):
        x = x.float()
        return self.straight(F.silu(x)) + self.curves(self.bases_of(x, self.knots).flatten(1))


# --- Points ---

class PointsInContext(nn.Module):
    """Layers for every point, to each of which is added what `pool` says of its whole cloud."""

    def __init__(self, width, layers, pool, classes):
        super().__init__()
        self.first, self.head, self.pool = nn.Linear(3, width), nn.Linear(width, classes), pool
        self.layers = nn.ModuleList(nn.Linear(width, width) for _ in range(layers))

    def forward(self, points, labels):
        x = self.first(points)
        for layer in self.layers:
            x = F.relu(layer(x)).float()
            x = x + self.pool(x)
        return F.cross_entropy(self.head(x), labels)


# --- Pictures ---

class Generator(nn.Module):
    """Numbers drawn by lot become a picture: of eight pixels a side at first, which every layer doubles."""

    def __init__(self, drawn, channels):
        super().__init__()
        self.first = nn.Linear(drawn, 64 * channels[0])
        layers = []
        for inputs, outputs in zip(channels, channels[1:]):
            layers += [nn.Upsample(scale_factor=2), nn.Conv2d(inputs, outputs, 3, padding=1), nn.ReLU(inplace=True)]
        self.layers = nn.Sequential(*layers, nn.Conv2d(channels[-1], 3, 3, padding=1), nn.Tanh())

    def forward(self, drawn):
        x = self.first(drawn).unflatten(1, (-1, 8, 8)).contiguous(memory_format=torch.channels_last)
        return self.layers(x)


class Discriminator(nn.Module):
    def __init__(self, channels):
        super().__init__()
        layers = []
        for inputs, outputs in zip((3, *channels), channels):
            layers += [nn.Conv2d(inputs, outputs, 4, stride=2, padding=1), nn.LeakyReLU(0.2, inplace=True)]
        self.layers, self.head = nn.Sequential(*layers), nn.Linear(channels[-1], 1)

    def forward(self, pictures):
        return self.head(self.layers(pictures).mean((2, 3)))


def patches_of(films, deep, side):
    """Rows of numbers of films (film, time, channel, height, width), each of `deep` frames and `side` pixels a side."""
    count, frames, channels, height, width = films.shape
    cut = films.view(count, frames // deep, deep, channels, height // side, side, width // side, side)
    return cut.permute(0, 1, 4, 6, 2, 3, 5, 7).reshape(count, -1, deep * channels * side * side)
