"""Small networks with the idioms that real models are exported with. Each entry of NETWORKS: a module, the
names of its inputs, the axes that stay dynamic, and two sets of example inputs of different extents.

Outputs are log-probabilities, well away from zero, so that they can be compared element by element.
"""
import math

import torch
from torch import nn
from torch.nn import functional as F


class SqueezeExcite(nn.Module):
    def __init__(self, channels):
        super().__init__()
        self.reduce = nn.Conv2d(channels, channels // 4, 1)
        self.expand = nn.Conv2d(channels // 4, channels, 1)

    def forward(self, x):
        scale = F.adaptive_avg_pool2d(x, 1)
        return x * F.hardsigmoid(self.expand(F.silu(self.reduce(scale))))


class Cnn(nn.Module):
    """Pixels last in and out, channels_last weights, a ConvNeXt block (LayerNorm on permuted features), an
    inverted residual with squeeze-and-excitation, bilinear and nearest upsampling, a skip by concatenation."""

    def __init__(self, width=16):
        super().__init__()
        self.stem = nn.Sequential(nn.Conv2d(3, width, 3, 2, 1, bias=False), nn.BatchNorm2d(width), nn.Hardswish())
        self.depthwise = nn.Conv2d(width, width, 7, padding=3, groups=width)
        self.norm = nn.LayerNorm(width)
        self.wide = nn.Linear(width, 4 * width)
        self.narrow = nn.Linear(4 * width, width)
        self.expand = nn.Sequential(nn.Conv2d(width, 2 * width, 1, bias=False), nn.BatchNorm2d(2 * width), nn.ReLU6())
        self.shrink = nn.Sequential(nn.Conv2d(2 * width, 2 * width, 3, 2, 1, groups=2 * width), nn.SiLU())
        self.excite = SqueezeExcite(2 * width)
        self.head = nn.Conv2d(4 * width, 5, 1)

    def forward(self, pixels):
        x = self.stem(pixels.permute(0, 3, 1, 2).contiguous(memory_format=torch.channels_last))
        y = self.norm(self.depthwise(x).permute(0, 2, 3, 1))
        x = x + self.narrow(F.gelu(self.wide(y))).permute(0, 3, 1, 2)
        deep = self.excite(self.shrink(self.expand(x)))
        near = F.interpolate(deep, scale_factor=2, mode="nearest")
        pooled = F.interpolate(F.max_pool2d(deep, 2), size=x.shape[-2:], mode="bilinear", align_corners=False)
        scores = self.head(torch.cat([near, pooled], dim=1))
        return F.log_softmax(scores.permute(0, 2, 3, 1), dim=-1)


class VitBlock(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.qkv = nn.Linear(width, 3 * width)
        self.out = nn.Linear(width, width)
        self.mlp = nn.Sequential(nn.Linear(width, 2 * width), nn.GELU(), nn.Linear(2 * width, width))

    def forward(self, x):
        batch, length, width = x.shape
        qkv = self.qkv(self.norm1(x)).reshape(batch, length, 3, self.heads, width // self.heads)
        q, k, v = qkv.permute(2, 0, 3, 1, 4).unbind(0)
        seen = F.scaled_dot_product_attention(q, k, v).transpose(1, 2).reshape(batch, length, width)
        x = x + self.out(seen)
        return x + self.mlp(self.norm2(x))


class Vit(nn.Module):
    """Patches by convolution, a class token that is expanded over the batch, one joint product for q, k and v."""

    def __init__(self, width=32, heads=4):
        super().__init__()
        self.patches = nn.Conv2d(3, width, 8, 8)
        self.token = nn.Parameter(torch.randn(1, 1, width))
        self.positions = nn.Parameter(torch.randn(1, 17, width))
        self.blocks = nn.Sequential(*[VitBlock(width, heads) for _ in range(2)])
        self.norm = nn.LayerNorm(width)
        self.head = nn.Linear(width, 10)

    def forward(self, image):
        x = self.patches(image).flatten(2).transpose(1, 2)
        x = torch.cat([self.token.expand(x.shape[0], -1, -1), x], dim=1) + self.positions
        return F.log_softmax(self.head(self.norm(self.blocks(x))[:, 0]), dim=-1)


class BertLayer(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.query, self.key, self.value, self.dense = (nn.Linear(width, width) for _ in range(4))
        self.norm1, self.norm2 = nn.LayerNorm(width, eps=1e-12), nn.LayerNorm(width, eps=1e-12)
        self.wide, self.narrow = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

    def split(self, x):
        return x.view(x.size(0), x.size(1), self.heads, x.size(2) // self.heads).permute(0, 2, 1, 3)

    def forward(self, x, mask):
        q, k, v = self.split(self.query(x)), self.split(self.key(x)), self.split(self.value(x))
        scores = torch.matmul(q, k.transpose(-1, -2)) / math.sqrt(q.size(-1)) + mask
        seen = torch.matmul(scores.softmax(dim=-1), v).permute(0, 2, 1, 3).contiguous()
        x = self.norm1(self.dense(seen.view(x.shape)) + x)
        return self.norm2(self.narrow(F.gelu(self.wide(x))) + x)


class Bert(nn.Module):
    """Dynamic batch and length, a padding mask added to the scores, positions sliced from a buffer, a pooler."""

    def __init__(self, width=32, heads=4, vocabulary=50, positions=24):
        super().__init__()
        self.words = nn.Embedding(vocabulary, width)
        self.types = nn.Embedding(2, width)
        self.places = nn.Embedding(positions, width)
        self.register_buffer("place_ids", torch.arange(positions).unsqueeze(0))
        self.norm = nn.LayerNorm(width, eps=1e-12)
        self.layers = nn.ModuleList(BertLayer(width, heads) for _ in range(2))
        self.pooler = nn.Linear(width, width)
        self.classifier = nn.Linear(width, 4)

    def forward(self, input_ids, attention_mask, token_type_ids):
        places = self.places(self.place_ids[:, : input_ids.shape[1]])
        x = self.norm(self.words(input_ids) + self.types(token_type_ids) + places)
        mask = (1.0 - attention_mask[:, None, None, :].to(x.dtype)) * torch.finfo(x.dtype).min
        for layer in self.layers:
            x = layer(x, mask)
        return F.log_softmax(self.classifier(torch.tanh(self.pooler(x[:, 0]))), dim=-1)


class Conv1D(nn.Module):
    def __init__(self, inputs, outputs):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(inputs, outputs) * 0.1)
        self.bias = nn.Parameter(torch.randn(outputs) * 0.1)

    def forward(self, x):
        rows = torch.addmm(self.bias, x.view(-1, x.size(-1)), self.weight)
        return rows.view(x.size()[:-1] + (self.weight.size(1),))


class GptBlock(nn.Module):
    def __init__(self, width, heads, positions):
        super().__init__()
        self.width, self.heads = width, heads
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.joint, self.out = Conv1D(width, 3 * width), Conv1D(width, width)
        self.wide, self.narrow = Conv1D(width, 4 * width), Conv1D(4 * width, width)
        visible = torch.tril(torch.ones(positions, positions, dtype=torch.bool))
        self.register_buffer("visible", visible.view(1, 1, positions, positions))

    def split(self, x):
        return x.view(x.size()[:-1] + (self.heads, self.width // self.heads)).permute(0, 2, 1, 3)

    def forward(self, x):
        q, k, v = (self.split(part) for part in self.joint(self.norm1(x)).split(self.width, dim=2))
        scores = torch.matmul(q, k.transpose(-1, -2)) / (v.size(-1) ** 0.5)
        visible = self.visible[:, :, : q.size(-2), : k.size(-2)]
        scores = torch.where(visible, scores, torch.full([], torch.finfo(scores.dtype).min))
        seen = torch.matmul(scores.softmax(dim=-1), v).permute(0, 2, 1, 3).contiguous()
        x = x + self.out(seen.view(seen.size()[:-2] + (self.width,)))
        y = self.wide(self.norm2(x))
        y = 0.5 * y * (1.0 + torch.tanh(math.sqrt(2.0 / math.pi) * (y + 0.044715 * torch.pow(y, 3.0))))
        return x + self.narrow(y)


class Gpt(nn.Module):
    """Dynamic batch and length, a causal mask sliced from a buffer, the embedding shared with the head."""

    def __init__(self, width=32, heads=4, vocabulary=50, positions=24):
        super().__init__()
        self.words = nn.Embedding(vocabulary, width)
        self.places = nn.Embedding(positions, width)
        self.blocks = nn.ModuleList(GptBlock(width, heads, positions) for _ in range(2))
        self.norm = nn.LayerNorm(width)
        self.head = nn.Linear(width, vocabulary, bias=False)
        self.head.weight = self.words.weight

    def forward(self, input_ids):
        places = torch.arange(input_ids.size(1), device=input_ids.device).unsqueeze(0)
        x = self.words(input_ids) + self.places(places)
        for block in self.blocks:
            x = block(x)
        return F.log_softmax(self.head(self.norm(x)), dim=-1)


class Lstm(nn.Module):
    """Two bidirectional layers, batch first, the states of both directions read as well."""

    def __init__(self, inputs=12, width=20):
        super().__init__()
        self.lstm = nn.LSTM(inputs, width, num_layers=2, bidirectional=True, batch_first=True)
        self.steps = nn.Linear(2 * width, 6)
        self.whole = nn.Linear(4 * width, 3)

    def forward(self, features):
        x, (hidden, _) = self.lstm(features)
        states = hidden.transpose(0, 1).reshape(features.size(0), -1)
        return F.log_softmax(self.steps(x), dim=-1), F.log_softmax(self.whole(states), dim=-1)


def tokens(batch, length):
    return torch.randint(0, 50, (batch, length))


def bert_inputs(batch, length):
    mask = (torch.arange(length) < length - 3).long().expand(batch, length).contiguous()
    types = (torch.arange(length) >= length // 2).long().expand(batch, length).contiguous()
    return tokens(batch, length), mask, types


TEXT_AXES = {0: "batch", 1: "length"}
# name: (module, input names, dynamic axes of every input, function that makes inputs, its arguments twice)
NETWORKS = {
    "cnn": (Cnn, ["pixels"], {0: "batch"}, lambda batch: (torch.randn(batch, 32, 24, 3),), [(2,), (3,)]),
    "vit": (Vit, ["image"], {0: "batch"}, lambda batch: (torch.randn(batch, 3, 32, 32),), [(2,), (5,)]),
    "bert": (Bert, ["input_ids", "attention_mask", "token_type_ids"], TEXT_AXES, bert_inputs, [(2, 16), (3, 11)]),
    "gpt2": (Gpt, ["input_ids"], TEXT_AXES, lambda *size: (tokens(*size),), [(2, 16), (3, 9)]),
    "lstm": (Lstm, ["features"], TEXT_AXES, lambda *size: (torch.randn(*size, 12),), [(2, 10), (3, 7)]),
}
