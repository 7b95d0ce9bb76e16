"""Everyday programs whose device is busy with work it need not do or does badly, and one where nothing is wrong."""
import torch
import torch.nn.functional as F
from torch import nn

from blind.models import Llama, rotary_tables
from device import DRY, GPU, compiled, size, trained
from everyday.host import frozen, pinned
from everyday.models import (CachedLlama, PatchNetwork, PointsInContext, SplineLayer, all_of_it, layers_of,
                             spline_bases)
from unseen.models import Adapted, convolutions


# --- precision ---

def teacher_left_in_f32(repaired):
    """A small network learns under autocast what a large one says, which is asked outside of it, in f32.
    Repaired: asked under autocast too."""
    pictures, places, patch = size(48, 2), size(144, 4), size(768, 12)
    teacher = PatchNetwork(patch, size(896, 32), size(14, 2), size(3, 1), 500).to(GPU).eval().requires_grad_(False)
    student = PatchNetwork(patch, size(384, 16), size(6, 2), size(5, 1), 500).to(GPU)
    asked, learns = compiled(teacher), compiled(student)
    seen = torch.randn(pictures, places, patch, device=GPU)
    optimizer = torch.optim.AdamW(student.parameters(), lr=1e-4, fused=not DRY)

    def step():
        with torch.no_grad(), torch.autocast(GPU, dtype=torch.bfloat16, enabled=repaired):
            meant = asked(seen).float().softmax(-1)
        with torch.autocast(GPU, dtype=torch.bfloat16):
            loss = F.cross_entropy(learns(seen).float(), meant)
        loss.backward()
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
        return loss

    return step


def frames_correlated_in_f32(repaired):
    """Finds for each place of a film's frame the place of the next frame most like it; features are in bf16, their
    products with each other in f32. Repaired: in bf16."""
    frames, high, wide = size(9, 3), size(448, 32), size(832, 64)
    fine, coarse = size(128, 8), size(256, 16)
    features = nn.Sequential(nn.Conv2d(3, fine, 4, stride=4), nn.ReLU(), convolutions(fine, fine, size(4, 1)),
                             nn.Conv2d(fine, coarse, 2, stride=2))
    features.to(GPU, torch.bfloat16, memory_format=torch.channels_last).requires_grad_(False)
    film = torch.randn(frames, 3, high, wide, device=GPU, dtype=torch.bfloat16)
    film = film.contiguous(memory_format=torch.channels_last)

    def step():
        rows = F.normalize(features(film).permute(0, 2, 3, 1).flatten(1, 2), dim=-1)
        rows = rows if repaired else rows.float()
        return torch.bmm(rows[:-1], rows[1:].transpose(1, 2)).max(-1)

    return step


# --- layout ---

def all_of_it_copied(q, keys, values, place):
    keys, values = keys.transpose(1, 2).contiguous(), values.transpose(1, 2).contiguous()
    return F.scaled_dot_product_attention(q, keys, values)


def cache_transposed_for_every_token(repaired):
    """Makes tokens from a full cache which holds tokens before heads, and is copied with heads before tokens for each.
    Repaired: attention reads it as it lies."""
    model = CachedLlama(size(28, 2), size(3072, 16), size(2048, 32), size(16, 4), size(7, 1), 16_384,
                        all_of_it if repaired else all_of_it_copied)

    def step():
        token = model.scores().argmax(-1, keepdim=True)
        model.token.copy_(token)
        return token

    return step


# --- avoidable_traffic ---

class SplineNetwork(nn.Module):
    def __init__(self, bases_of, *widths):
        super().__init__()
        self.layers = nn.ModuleList(SplineLayer(*pair, bases_of) for pair in zip(widths, widths[1:]))

    def forward(self, x, wanted):
        for layer in self.layers:
            x = layer(x)
        return F.mse_loss(x.float(), wanted)


def splines_by_hand(repaired):
    """A Kolmogorov-Arnold network whose curves are computed operator by operator; repaired: the same, compiled."""
    rows, columns = size(7168, 8), size(320, 6)
    bases_of = compiled(spline_bases) if repaired else spline_bases
    model = SplineNetwork(bases_of, columns, columns, columns, 5).to(GPU)
    return trained(model, (torch.rand(rows, columns, device=GPU) * 2 - 1, torch.randn(rows, 5, device=GPU)))


def contrast_written_out(cosines):
    """Each thing's two views, which are rows `count` apart, should be more alike than any other two."""
    count = len(cosines) // 2
    logits = cosines.float()
    logits = logits - logits.max(1, keepdim=True).values.detach()
    others = 1 - torch.eye(2 * count, device=logits.device)
    same = torch.eye(count, device=logits.device).repeat(2, 2) * others
    logs = logits - torch.log((torch.exp(logits) * others).sum(1, keepdim=True))
    return -((same * logs).sum(1) / same.sum(1)).mean()


def contrast_as_classes(cosines):
    cosines = cosines.masked_fill(torch.eye(len(cosines), dtype=torch.bool, device=cosines.device), float("-inf"))
    return F.cross_entropy(cosines, torch.arange(len(cosines), device=cosines.device).roll(len(cosines) // 2))


class Pairs(nn.Module):
    """Vectors of two views of each thing, and a loss of the cosines of all with all."""

    def __init__(self, loss, *widths):
        super().__init__()
        self.layers, self.loss = layers_of(*widths), loss

    def forward(self, views):
        rows = F.normalize(self.layers(views))
        return self.loss(rows @ rows.t() / 0.1)


def contrastive_loss_written_out(repaired):
    """Learns that two views of a thing are alike, by a loss with masks and logarithms of all pairs, one by one.
    Repaired: by cross entropy, in which the other view is the class."""
    views = torch.randn(size(9728, 12), size(1280, 16), device=GPU)
    inner = size(2560, 32)
    model = Pairs(contrast_as_classes if repaired else contrast_written_out, views.shape[1], inner, inner, size(128, 8))
    return trained(model.to(GPU), (views,))


# --- kernel_inefficiency ---

def all_items_sorted_for_the_first_fifty(repaired):
    """Recommends fifty of many items to each person, for which it sorts them all; repaired: topk."""
    people, items, width = size(192, 2), size(150_000, 100), size(512, 16)
    model = frozen(PatchNetwork(96, width, size(8, 2), size(4, 1), 128))
    vectors = torch.randn(128, items, device=GPU, dtype=torch.bfloat16)
    histories = torch.randn(people, size(160, 4), 96, device=GPU, dtype=torch.bfloat16)

    def step():
        scores = (model(histories) @ vectors).float()
        if repaired:
            return scores.topk(50, dim=1).indices
        return scores.argsort(dim=1, descending=True)[:, :50]

    return step


def points_pooled_by_their_number(repaired):
    """Labels the points of scans; each point is added to the sum of its scan, which it finds by the scan's number.
    Repaired: all scans have as many points, so the sum is along a dimension."""
    scans, points, width = size(48, 2), size(16_384, 8), size(64, 16)
    number = torch.arange(scans, device=GPU).repeat_interleave(points)

    def by_number(x):
        pooled = torch.zeros(scans, width, device=x.device, dtype=x.dtype).index_add(0, number, x) / points
        return pooled.index_select(0, number)

    def by_dimension(x):
        x = x.view(scans, points, width)
        return x.mean(1, keepdim=True).expand_as(x).reshape(-1, width)

    model = PointsInContext(width, 3, by_dimension if repaired else by_number, 20).to(GPU)
    labels = torch.randint(0, 20, (scans * points,), device=GPU)
    return trained(model, (torch.randn(scans * points, 3, device=GPU), labels))


# --- healthy ---

def healthy_adapters(repaired):
    """Nothing planted: adapters of a compiled Llama in training, on tokens from pinned memory. The repaired form is the
    same program."""
    length, width = size(1024, 16), size(4096, 32)
    model = Llama(width=width, heads=size(32, 4), shared=size(8, 2), layers=size(2, 1), vocabulary=size(16_384, 64))
    model.requires_grad_(False)
    for block in model.blocks:
        block.qkv, block.up = Adapted(block.qkv, rank=64), Adapted(block.up, rank=64)
    model.to(GPU, torch.bfloat16)
    kept = pinned(torch.randint(0, size(16_384, 64), (size(10, 1), length + 1)))
    tables, run = rotary_tables(length, model.size, GPU), compiled(model)
    optimizer = torch.optim.AdamW([p for p in model.parameters() if p.requires_grad], lr=1e-4, fused=not DRY)

    def step():
        text = kept.to(GPU, non_blocking=True)
        loss = run(text[:, :-1], tables, text[:, 1:])
        loss.backward()
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
        return loss

    return step


CAUSES = {
    "teacher_left_in_f32": "precision",
    "frames_correlated_in_f32": "precision",
    "cache_transposed_for_every_token": "layout",
    "splines_by_hand": "avoidable_traffic",
    "contrastive_loss_written_out": "avoidable_traffic",
    "all_items_sorted_for_the_first_fifty": "kernel_inefficiency",
    "points_pooled_by_their_number": "kernel_inefficiency",
    "healthy_adapters": "healthy",
}
