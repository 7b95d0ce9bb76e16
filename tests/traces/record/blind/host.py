"""Blind programs whose device waits for the host: launches, waits, input, disk, copies, allocations, compilers, Python."""
import collections
import os
import random
import tempfile
import time

import numpy
import torch
import torch.nn.functional as F
from torch import nn
from torch.func import functional_call

from blind.models import BottleneckCnn, EncoderDecoder, Llama, UNet, Vit, rotary_tables, rotated
from device import DRY, GPU, compiled, graphed, size, trained, wait


# --- launch ---

def decode_token_by_token(repaired):
    """Generates from a Llama at batch 1 over a fixed cache, eagerly; repaired: a CUDA graph of one token."""
    layers, length = size(6, 2), 512
    model = Llama(width=size(1024, 64), heads=8, layers=layers).to(GPU, torch.bfloat16).requires_grad_(False)
    cos, sin = rotary_tables(length, model.size, GPU)
    keys = [torch.zeros(1, 4, length, model.size, device=GPU, dtype=torch.bfloat16) for _ in range(layers)]
    values = [torch.zeros_like(k) for k in keys]
    token = torch.zeros(1, 1, dtype=torch.long, device=GPU)
    place = torch.zeros(1, dtype=torch.long, device=GPU)
    places = torch.arange(length, device=GPU)

    def following():
        x = model.tokens(token)
        tables = cos[place], sin[place]
        seen = (places <= place)[None, None, None]
        for block, k_cache, v_cache in zip(model.blocks, keys, values):
            q, k, v = block.heads_of(x, tables)
            k_cache.index_copy_(2, place, k)
            v_cache.index_copy_(2, place, v)
            y = F.scaled_dot_product_attention(q, k_cache, v_cache, attn_mask=seen, enable_gqa=True)
            x = block.after_attention(x, y)
        token.copy_(model.head(model.norm(x)).argmax(-1))
        place.add_(1).remainder_(length)

    run = graphed(following) if repaired else following

    def step():
        for _ in range(4):
            run()
        return token

    return step


def average_of_weights(repaired):
    """Keeps a moving average of the weights, entry by entry of the state; repaired: with foreach."""
    torch.backends.cudnn.benchmark = True
    model = BottleneckCnn(blocks=4).to(GPU)
    average = BottleneckCnn(blocks=4).to(GPU).requires_grad_(False)
    step = trained(model, (torch.randn(16, 3, 128, 128, device=GPU), torch.zeros(16, dtype=torch.long, device=GPU)),
                   autocast=False)
    held, now = list(average.state_dict().values()), list(model.state_dict().values())
    real = [i for i, value in enumerate(held) if value.is_floating_point()]
    whole = [i for i, value in enumerate(held) if not value.is_floating_point()]

    def run():
        loss = step()
        if repaired:
            torch._foreach_lerp_([held[i] for i in real], [now[i] for i in real], 0.001)
            torch._foreach_copy_([held[i] for i in whole], [now[i] for i in whole])
        else:
            for old, new in zip(average.state_dict().values(), model.state_dict().values()):
                old.copy_(0.999 * old + 0.001 * new)
        return loss

    return run


# --- host_sync ---

def solver_asks_for_numbers(repaired):
    """Conjugate gradients with Python numbers for the step lengths; repaired: they stay on the device."""
    rows = size(8192, 64)
    root = torch.randn(rows, rows, device=GPU)
    matrix = root @ root.t() / rows + torch.eye(rows, device=GPU)
    goal = torch.randn(rows, device=GPU)
    number = (lambda x: x) if repaired else (lambda x: x.item())

    def step():
        x = torch.zeros_like(goal)
        r = goal.clone()
        p = r.clone()
        before = number(r @ r)
        for _ in range(30):
            image = matrix @ p
            length = before / number(p @ image)
            x = x + length * p
            r = r - length * image
            after = number(r @ r)
            p = r + (after / before) * p
            before = after
        return x

    return step


def times_each_layer(repaired):
    """Times every layer by waiting for the device around it; repaired: by events, read two steps later."""
    model = Vit(layers=size(8, 1)).to(GPU, torch.bfloat16).requires_grad_(False)
    images = torch.randn(size(32, 1), 3, 224, 224, device=GPU, dtype=torch.bfloat16)
    seen = collections.defaultdict(list)
    begun, pending = {}, collections.deque()

    def waiting_before(layer, _):
        wait()
        begun[layer] = time.perf_counter()

    def waiting_after(layer, *_):
        wait()
        seen[layer].append(time.perf_counter() - begun[layer])

    def event_before(layer, _):
        begun[layer] = torch.Event(device=GPU, enable_timing=True)
        begun[layer].record()

    def event_after(layer, *_):
        end = torch.Event(device=GPU, enable_timing=True)
        end.record()
        pending[-1].append((layer, begun[layer], end))

    for layer in model.modules():
        if not list(layer.children()):
            layer.register_forward_pre_hook(event_before if repaired and not DRY else waiting_before)
            layer.register_forward_hook(event_after if repaired and not DRY else waiting_after)

    def step():
        pending.append([])
        if len(pending) > 2:
            for layer, start, end in pending.popleft():
                end.synchronize()
                seen[layer].append(start.elapsed_time(end))
        return model(images)

    return step


def edges_dropped_by_mask(repaired):
    """A network on a graph that leaves out edges by indexing with a mask; repaired: their messages are zero."""
    nodes, edges, width = size(20_000, 50), size(60_000, 200), 64
    source, target = torch.randint(0, nodes, (edges,), device=GPU), torch.randint(0, nodes, (edges,), device=GPU)
    mixes = [torch.randn(width, width, device=GPU) * 0.1 for _ in range(10)]
    x = torch.randn(nodes, width, device=GPU)

    def step():
        y = x
        for mix in mixes:
            keep = torch.rand(edges, device=GPU) > 0.05
            if repaired:
                messages, ends = y[source] * keep[:, None], target
            else:
                messages, ends = y[source[keep]], target[keep]
            y = y + torch.relu(torch.zeros_like(y).index_add_(0, ends, messages) @ mix)
        return y

    return step


# --- input ---

class Clicks(torch.utils.data.Dataset):
    """Rows of a recommender's log: for each of eight features a list of a few numbers."""

    def __init__(self):
        draw = random.Random(0)
        self.rows = [[[draw.randrange(100_000) for _ in range(draw.randint(2, 18))] for _ in range(8)]
                     for _ in range(4096)]

    def __len__(self):
        return 1 << 24

    def __getitem__(self, index):
        return self.rows[index % 4096]


def collate_clicks(rows):
    numbers, starts = [], []
    for feature in range(8):
        for row in rows:
            starts.append(len(numbers))
            for number in row[feature]:
                numbers.append(number + 100_000 * feature)
    return torch.tensor(numbers), torch.tensor(starts)


class Recommender(nn.Module):
    def __init__(self, width=64, wide=8192):
        super().__init__()
        self.bags = nn.EmbeddingBag(800_000, width, mode="sum", sparse=True)
        self.mix = nn.Sequential(nn.Linear(8 * width, wide), nn.ReLU(), nn.Linear(wide, wide), nn.ReLU(),
                                 nn.Linear(wide, 1))

    def forward(self, numbers, starts):
        pooled = self.bags(numbers, starts).view(8, -1, self.bags.embedding_dim)
        return F.softplus(self.mix(pooled.transpose(0, 1).flatten(1))).mean()


def collates_in_the_loop(repaired):
    """Ragged lists of a recommender are joined in Python between the steps; repaired: by eight workers."""
    model = Recommender(wide=size(8192, 64)).to(GPU)
    holder = [None, None]
    step = trained(model, holder, torch.optim.SGD(model.parameters(), lr=1e-3), autocast=False)
    how = {"num_workers": size(8, 1), "pin_memory": not DRY, "prefetch_factor": 4} if repaired else {}
    batches = iter(torch.utils.data.DataLoader(Clicks(), batch_size=512, collate_fn=collate_clicks, **how))

    def run():
        holder[:] = [part.to(GPU, non_blocking=repaired) for part in next(batches)]
        return step()

    return run


class Sounds(torch.utils.data.Dataset):
    """A second of sound, stretched by interpolation and turned into a spectrogram on the host."""

    def __len__(self):
        return 1 << 20

    def __getitem__(self, index):
        wave = numpy.random.default_rng(index).standard_normal(16_000)
        wave = numpy.interp(numpy.arange(0, 15_999, 1.01), numpy.arange(16_000), wave)
        frames = numpy.lib.stride_tricks.sliding_window_view(wave, 1024)[::160] * numpy.hanning(1024)
        return torch.from_numpy(numpy.log1p(numpy.abs(numpy.fft.rfft(frames))).astype(numpy.float32))


def one_worker(repaired):
    """A speech network fed by one worker that cannot keep up; repaired: by twenty."""
    width = size(2048, 32)
    model = nn.Sequential(nn.Conv1d(513, width, 5, padding=2), nn.GELU(),
                          nn.Conv1d(width, width, 5, padding=2), nn.GELU(),
                          nn.Conv1d(width, width, 5, padding=2), nn.GELU(),
                          nn.Conv1d(width, width, 5, padding=2), nn.GELU(),
                          nn.Conv1d(width, 256, 3, padding=1)).to(GPU)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4, fused=not DRY)
    batches = iter(torch.utils.data.DataLoader(Sounds(), batch_size=16, num_workers=size(20, 2) if repaired else 1,
                                               pin_memory=not DRY, prefetch_factor=2 if repaired else 1))

    def run():
        frames = next(batches).to(GPU, non_blocking=True)
        loss = model(frames.transpose(1, 2)).square().mean()
        loss.backward()
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
        return loss

    return run


# --- io ---

def checkpoint_each_step(repaired):
    """Writes the weights to disk after every step and waits for the disk; repaired: only every thousandth step."""
    torch.backends.cudnn.benchmark = True
    model = UNet(channels=size(64, 16)).to(GPU)
    picture = torch.randn(size(8, 1), 3, 96, 96, device=GPU)
    step = trained(model, (picture, torch.randn_like(picture)), autocast=False)
    path = os.path.join(tempfile.mkdtemp(), "weights.pt")
    count = [0]

    def save():
        with torch.profiler.record_function("save_checkpoint"), open(path, "wb") as file:
            torch.save({name: value.cpu() for name, value in model.state_dict().items()}, file)
            file.flush()
            os.fsync(file.fileno())

    def run():
        loss = step()
        count[0] += 1
        if count[0] % (1000 if repaired else 1) == 0:
            save()
        return loss

    return run


# --- host_copy ---

def features_copied_one_by_one(repaired):
    """A batch of 160 small pageable tensors moved one at a time; repaired: one pinned buffer, cut on the device."""
    parts = [torch.randint(0, 100_000, (512,)) for _ in range(160)]
    joined = torch.cat(parts) if DRY else torch.cat(parts).pin_memory()
    model = nn.Sequential(nn.EmbeddingBag(100_000, 64), nn.Linear(64, 1024), nn.ReLU(), nn.Linear(1024, 1024),
                          nn.ReLU(), nn.Linear(1024, 1)).to(GPU)
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-4)

    def run():
        if repaired:
            held = joined.to(GPU, non_blocking=True).split(512)
        else:
            held = [part.to(GPU) for part in parts]
        loss = model(torch.stack(held, 1)).mean()
        loss.backward()
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
        return loss

    return run


def weights_on_the_host(repaired):
    """Each block's weights live in host memory and are fetched when it runs; repaired: they stay on the device."""
    width = size(1024, 64)
    model = Llama(width=width, layers=size(8, 2)).to(torch.bfloat16).requires_grad_(False)
    tables = rotary_tables(512, model.size, GPU)
    kept = [dict(block.state_dict()) for block in model.blocks]
    if repaired:
        kept = [{name: value.to(GPU) for name, value in weights.items()} for weights in kept]
    shell = model.blocks[0]
    x = torch.randn(size(48, 1), 512, width, device=GPU, dtype=torch.bfloat16)

    def run():
        y = x
        for weights in kept:
            y = functional_call(shell, {name: value.to(GPU) for name, value in weights.items()}, (y, tables))
        return y

    return run


# --- allocator ---

def memory_capped(repaired):
    """Batches of two picture sizes where memory holds the blocks of only one: each change frees and allocates again.
    Repaired: memory for both."""
    model = BottleneckCnn(blocks=2).to(GPU)
    pictures = [torch.randn(size(12, 1), 3, side, side, device=GPU) for side in size((384, 512), (16, 20))]
    labels = torch.zeros(size(12, 1), dtype=torch.long, device=GPU)
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-4)

    def micro(i):
        loss = model(pictures[i], labels)
        loss.backward()
        return loss

    def run():
        micro(0)
        loss = micro(1)
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
        return loss

    if DRY:
        return run
    torch._C._accelerator_setAllocatorSettings("max_split_size_mb:24")

    def needed(i):
        torch.cuda.empty_cache()
        micro(i)
        return torch.cuda.memory_reserved()

    largest = max(needed(0), needed(1))
    cap = largest + largest // 10 + (128 << 20)
    share = cap / torch.cuda.get_device_properties(0).total_memory

    def capped():
        torch.cuda.set_per_process_memory_fraction(1.0 if repaired else share)
        if not repaired and torch.cuda.memory_reserved() > cap:
            torch.cuda.empty_cache()  # what the other form has cached does not count
        return run()

    return capped


# --- compile ---

class Annealed(nn.Module):
    """Counts its calls to know when a warm-up ends; the count is a constant to the compiler."""

    def __init__(self, width, counts):
        super().__init__()
        self.calls, self.counts = 0, counts
        self.up, self.down, self.norm = nn.Linear(width, 4 * width), nn.Linear(4 * width, width), nn.LayerNorm(width)

    def forward(self, x):
        if self.counts:
            self.calls += 1
            x = x * 0.5 if self.calls < 0 else x
        for _ in range(6):
            x = x + self.down(F.gelu(self.up(self.norm(x))))
        return x


def counts_in_compiled_code(repaired):
    torch._dynamo.config.recompile_limit = torch._dynamo.config.accumulated_recompile_limit = 100_000
    width = size(1024, 32)
    model = Annealed(width, counts=not repaired).to(GPU, torch.bfloat16).requires_grad_(False)
    fast = compiled(model)
    x = torch.randn(size(131072, 64), width, device=GPU, dtype=torch.bfloat16)
    return lambda: fast(x)


# --- host_other ---

def word_errors(said, meant):
    """The edit distance of two lists of words."""
    row = list(range(len(meant) + 1))
    for i, word in enumerate(said, 1):
        last, row[0] = row[0], i
        for j, other in enumerate(meant, 1):
            last, row[j] = row[j], min(row[j] + 1, row[j - 1] + 1, last + (word != other))
    return row[-1]


def word_errors_each_step(repaired):
    """Compares the translations of a validation set in Python after every step; repaired: every thousandth step."""
    draw = random.Random(0)
    pairs = [([draw.randrange(50) for _ in range(30)], [draw.randrange(50) for _ in range(30)]) for _ in range(60)]
    model = EncoderDecoder(width=size(512, 64), heads=8, layers=1).to(GPU)
    words = torch.randint(0, 8192, (size(16, 1), 128), device=GPU)
    step = trained(model, (words, words, words))
    count = [0]

    def run():
        loss = step()
        count[0] += 1
        if count[0] % (1000 if repaired else 1) == 0:
            sum(word_errors(said, meant) for said, meant in pairs)
        return loss

    return run


CAUSES = {
    "decode_token_by_token": "launch",
    "average_of_weights": "launch",
    "solver_asks_for_numbers": "host_sync",
    "times_each_layer": "host_sync",
    "edges_dropped_by_mask": "host_sync",
    "collates_in_the_loop": "input",
    "one_worker": "input",
    "checkpoint_each_step": "io",
    "features_copied_one_by_one": "host_copy",
    "weights_on_the_host": "host_copy",
    "memory_capped": "allocator",
    "counts_in_compiled_code": "compile",
    "word_errors_each_step": "host_other",
}
