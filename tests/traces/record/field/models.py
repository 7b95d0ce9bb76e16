"""Small networks for the field programs: one that denoises acts, an encoder of a graph's neighbours, attention along
the axes of a field, edges between points, layers in bytes, and a Llama over long caches."""
import torch
import torch.nn.functional as F
from torch import nn

from blind.models import Llama, rotary_tables
from device import GPU
from fresh.models import EncoderBlock


# --- Acts ---

class ActDenoiser(nn.Module):
    """How noised acts should change, given what a robot sees and the time."""

    def __init__(self, acts, width, heads, layers):
        super().__init__()
        self.first, self.last, self.of_time = nn.Linear(acts, width), nn.Linear(width, acts), nn.Linear(1, width)
        self.blocks = nn.Sequential(*[EncoderBlock(width, heads) for _ in range(layers)])

    def forward(self, acts, seen, time):
        x = torch.cat((seen, self.first(acts) + self.of_time(time)), 1)
        return self.last(self.blocks(x)[:, seen.shape[1]:])


# --- Graphs ---

class NeighbourEncoder(nn.Module):
    """GraphSAGE over two hops: a vector of each node from its own features and the mean of its neighbours'."""

    def __init__(self, inputs, width, classes):
        super().__init__()
        self.first, self.near, self.far = (nn.Linear(inputs, width) for _ in range(3))
        self.second, self.around = nn.Linear(width, width), nn.Linear(width, width)
        self.head = nn.Linear(width, classes)

    def forward(self, nodes, near, far, labels):
        far = F.gelu(self.far(far)).mean(2)
        near = F.gelu(self.near(near) + far).mean(1)
        x = F.gelu(self.first(nodes) + near)
        x = F.gelu(self.second(x) + self.around(near))
        return F.cross_entropy(self.head(x), labels)


# --- Fields ---

class AxialAttention(nn.Module):
    """Attention along each row of a field, or along each column. `turns`: every rearrangement is copied, that of
    columns to rows too; without: attention reads what it needs where it lies."""

    def __init__(self, width, heads, columns, turns):
        super().__init__()
        self.heads, self.columns, self.turns = heads, columns, turns
        self.norm = nn.LayerNorm(width)
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)

    def copied(self, x):
        x = x.transpose(0, 1).contiguous() if self.columns else x
        q, k, v = self.qkv(self.norm(x)).unflatten(-1, (3, self.heads, -1)).permute(2, 0, 3, 1, 4).contiguous()
        y = self.out(F.scaled_dot_product_attention(q, k, v).transpose(1, 2).contiguous().flatten(2))
        return y.transpose(0, 1).contiguous() if self.columns else y

    def in_place(self, x):
        order = (2, 1, 3, 0, 4) if self.columns else (2, 0, 3, 1, 4)
        q, k, v = self.qkv(self.norm(x)).unflatten(-1, (3, self.heads, -1)).permute(order)
        y = F.scaled_dot_product_attention(q, k, v).transpose(1, 2).flatten(2)
        return self.out(y.transpose(0, 1) if self.columns else y)

    def forward(self, x):
        return x + (self.copied(x) if self.turns else self.in_place(x))


class FieldBlock(nn.Module):
    def __init__(self, width, heads, turns):
        super().__init__()
        self.rows, self.columns = (AxialAttention(width, heads, columns, turns) for columns in (False, True))
        self.norm, self.up, self.down = nn.LayerNorm(width), nn.Linear(width, 2 * width), nn.Linear(2 * width, width)

    def forward(self, x):
        x = self.columns(self.rows(x))
        return x + self.down(F.gelu(self.up(self.norm(x))))


# --- Points ---

class EdgeLayer(nn.Module):
    """DGCNN's: the largest answer of a layer to a point and its difference from each neighbour. `near` numbers the
    neighbours of every point of every cloud."""

    def __init__(self, inputs, outputs, written_out):
        super().__init__()
        self.written_out = written_out
        self.of_difference, self.of_point = nn.Linear(inputs, outputs, bias=False), nn.Linear(inputs, outputs)

    def forward(self, x, near):
        if self.written_out:
            others = x[near]
            own = x[:, None].expand_as(others)
            weight = torch.cat((self.of_difference.weight, self.of_point.weight), 1)
            edges = F.linear(torch.cat((others - own, own), -1), weight, self.of_point.bias)
            return F.leaky_relu(edges, 0.2).amax(1)
        difference = self.of_difference(x)
        return F.leaky_relu(difference[near].amax(1) - difference + self.of_point(x), 0.2)


class EdgeNetwork(nn.Module):
    def __init__(self, inputs, width, layers, hidden, classes, written_out):
        super().__init__()
        self.first = nn.Linear(inputs, width)
        self.layers = nn.ModuleList(EdgeLayer(width, width, written_out) for _ in range(layers))
        self.head = nn.Sequential(nn.Linear(layers * width, hidden), nn.GELU(), nn.Linear(hidden, hidden), nn.GELU(),
                                  nn.Linear(hidden, classes))

    def forward(self, points, near):
        x, held = self.first(points), []
        for layer in self.layers:
            x = layer(x, near)
            held.append(x)
        return self.head(torch.cat(held, -1))


# --- Llamas ---

class ByteLinear(nn.Module):
    """A layer whose weights were rounded to bytes, with a scale for each output; widened in every call, or once."""

    def __init__(self, layer, every_call):
        super().__init__()
        self.every_call = every_call
        scale = layer.weight.abs().amax(1, keepdim=True) / 127
        self.register_buffer("scale", scale)
        self.register_buffer("weight", (layer.weight / scale).round().to(torch.int8))
        if not every_call:
            self.weight = self.widened()

    def widened(self):
        return self.weight.to(torch.bfloat16) * self.scale

    def forward(self, x):
        return F.linear(x, self.widened() if self.every_call else self.weight)


class WideAdapted(nn.Module):
    """A frozen layer with a trained product of two narrow matrices beside it, which may have a wider type."""

    def __init__(self, frozen, rank, dtype):
        super().__init__()
        self.frozen = frozen.requires_grad_(False)
        self.narrow = nn.Linear(frozen.in_features, rank, bias=False, dtype=dtype)
        self.widen = nn.Linear(rank, frozen.out_features, bias=False, dtype=dtype)

    def forward(self, x):
        return self.frozen(x) + 2.0 * self.widen(self.narrow(x.to(self.narrow.weight.dtype))).to(x.dtype)


class LongLlama:
    """A Llama that makes one token after another from caches with heads before tokens; `attend` is given the queries,
    both caches, and how much of them is filled."""

    def __init__(self, requests, length, filled, width, heads, layers, vocabulary, attend):
        self.model = Llama(width=width, heads=heads, shared=heads, layers=layers, vocabulary=vocabulary)
        self.model.to(GPU, torch.bfloat16).requires_grad_(False)
        self.tables, self.attend = rotary_tables(length, width // heads, GPU), attend
        self.length, self.filled = length, filled
        shape = (requests, heads, length, width // heads)
        self.caches = [[torch.randn(shape, device=GPU, dtype=torch.bfloat16) for _ in range(2)] for _ in range(layers)]
        self.token = torch.zeros(requests, 1, dtype=torch.long, device=GPU)

    def step(self):
        x, place = self.model.tokens(self.token), self.filled
        tables = [table[place] for table in self.tables]
        for block, (keys, values) in zip(self.model.blocks, self.caches):
            q, k, v = block.heads_of(x, tables)
            keys[:, :, place:place + 1], values[:, :, place:place + 1] = k, v
            x = block.after_attention(x, self.attend(q, keys, values, place + 1))
        self.filled = place + 1 if place + 1 < self.length else self.length // 2
        scores = self.model.head(self.model.norm(x))
        self.token = scores.argmax(-1)
        return scores
