"""Programs with one planted fault each. A program takes `repaired` and returns the function that runs one step; the
two forms do the same work. CAUSES says what the ledger of the faulty form should name first."""
import os
import tempfile
import threading
import queue

import numpy
import torch
from torch import nn

from models import Cnn, Denoiser, Gpt, UNet

GPU = "cuda"


def tokens(batch, length, vocabulary):
    generator = torch.Generator().manual_seed(0)
    ids = torch.randint(0, vocabulary, (batch, length + 1), generator=generator).to(GPU)
    return ids[:, :-1].contiguous(), ids[:, 1:].contiguous()


def trained(model, batch, dtype=torch.bfloat16, optimizer=None):
    """One training step: forward under autocast, backward, AdamW."""
    optimizer = optimizer or torch.optim.AdamW(model.parameters(), lr=1e-4, fused=True)

    def step():
        with torch.autocast("cuda", dtype=dtype, enabled=dtype is not None):
            loss = model(*batch)
        loss.backward()
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
        return loss

    return step


def gpt_step(batch=8, **changes):
    model = Gpt(**changes).to(GPU)
    return trained(model, tokens(batch, 512, model.tokens.num_embeddings))


def precision_f32(repaired):
    torch.set_float32_matmul_precision("high" if repaired else "highest")
    model = Gpt().to(GPU)
    return trained(model, tokens(8, 512, 16384), dtype=None)


def layout_channels_first(repaired):
    memory = torch.channels_last if repaired else torch.contiguous_format
    torch.backends.cudnn.benchmark = True
    model = Cnn().to(GPU, memory_format=memory)
    images = torch.randn(32, 3, 224, 224, device=GPU).contiguous(memory_format=memory)
    return trained(model, (images, torch.zeros(32, dtype=torch.long, device=GPU)))


def optimizer_unfused(repaired):
    model = Gpt(layers=8).to(GPU)
    how = {"fused": True} if repaired else {"foreach": False, "fused": False}
    return trained(model, tokens(16, 512, 16384), optimizer=torch.optim.AdamW(model.parameters(), lr=1e-4, **how))


def pointwise_by_hand(repaired):
    return gpt_step(batch=16, pointwise_by_hand=not repaired)


def attention_by_hand(repaired):
    return gpt_step(batch=16, attention_by_hand=not repaired)


def odd_width(repaired):
    """Widths and a vocabulary that are no multiples of 8: products leave the fast kernels."""
    if repaired:
        return gpt_step(width=768, vocabulary=16384)
    return gpt_step(width=756, heads=12, vocabulary=16381)


class Tiny(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(*[nn.Sequential(nn.Linear(64, 64), nn.LayerNorm(64), nn.SiLU()) for _ in range(40)])

    def forward(self, x):
        return self.layers(x)


def launch_tiny_kernels(repaired):
    model = Tiny().to(GPU).requires_grad_(False)
    x = torch.randn(16, 64, device=GPU)
    if not repaired:
        return lambda: model(x)
    side = torch.cuda.Stream()
    with torch.cuda.stream(side):
        for _ in range(3):
            model(x)
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        model(x)
    return graph.replay


def sync_item_for_logging(repaired):
    model = Gpt(layers=6, width=512, heads=8).to(GPU)
    step = trained(model, tokens(8, 512, 16384))
    seen = []

    def faulty():
        loss = step()
        for parameter in model.parameters():
            seen.append(float(parameter.detach().norm()))
        return loss

    def mended():
        loss = step()
        seen.append(torch.stack([p.detach().norm() for p in model.parameters()]))
        return loss

    return mended if repaired else faulty


def sync_boolean_mask(repaired):
    """Indexing with a mask asks the device how many elements there are; where() does not."""
    x = torch.randn(1 << 20, device=GPU)
    w = torch.randn(1024, 1024, device=GPU, dtype=torch.bfloat16)

    def step():
        total = torch.zeros((), device=GPU)
        for i in range(24):
            level = 0.05 * i
            if repaired:
                total = total + torch.where(x > level, x, 0.0).sum()
            else:
                total = total + x[x > level].sum()
            y = w
            for _ in range(4):
                y = (y @ w) * 0.01
        return total + y.sum()

    return step


def images_on_host(batch, side, seed=0):
    return numpy.random.default_rng(seed).standard_normal((batch, 3, side, side), dtype=numpy.float32)


def augment(images):
    """What a data set's __getitem__ does too much of: sorts every row for a robust contrast stretch."""
    ordered = numpy.sort(images, axis=-1)
    low, high = ordered[..., :1], ordered[..., -1:]
    return (images - low) / (high - low + 1e-6)


def input_numpy_in_the_loop(repaired):
    model = Cnn(channels=64, blocks=2).to(GPU, memory_format=torch.channels_last)
    labels = torch.zeros(16, dtype=torch.long, device=GPU)
    holder = [None, labels]
    step = trained(model, holder)
    raw = images_on_host(16, 128)
    ready = queue.Queue(maxsize=4)

    def produce():
        while True:
            ready.put(torch.from_numpy(augment(raw)).pin_memory())

    if repaired:
        for _ in range(6):
            threading.Thread(target=produce, daemon=True).start()

    def run():
        if repaired:
            images = ready.get().to(GPU, non_blocking=True)
        else:
            images = torch.from_numpy(augment(raw)).to(GPU)
        holder[0] = images.contiguous(memory_format=torch.channels_last)
        return step()

    return run


def io_reads_each_step(repaired):
    """Reads each batch from disk, past the page cache; repaired: keeps it in memory."""
    model = Cnn(channels=64, blocks=2).to(GPU, memory_format=torch.channels_last)
    holder = [None, torch.zeros(32, dtype=torch.long, device=GPU)]
    step = trained(model, holder)
    folder = tempfile.mkdtemp()
    files = []
    for i in range(8):
        files.append(os.path.join(folder, f"{i}.npy"))
        numpy.save(files[-1], images_on_host(32, 160, i))
        with open(files[-1], "rb") as file:
            os.fsync(file.fileno())
    kept = [numpy.load(file) for file in files]
    at = [0]

    def run():
        at[0] = (at[0] + 1) % len(files)
        if repaired:
            images = kept[at[0]]
        else:
            handle = os.open(files[at[0]], os.O_RDONLY)
            os.posix_fadvise(handle, 0, 0, os.POSIX_FADV_DONTNEED)
            os.close(handle)
            with torch.profiler.record_function("read_batch"):
                images = numpy.load(files[at[0]])
        holder[0] = torch.from_numpy(images).to(GPU).contiguous(memory_format=torch.channels_last)
        return step()

    return run


def copy_pageable(repaired):
    """A large batch copied from pageable memory while the device waits; repaired: pinned, and a step ahead."""
    weight = torch.randn(1024, 1024, device=GPU, dtype=torch.bfloat16)
    host = torch.randn(16384, 1024)
    if repaired:
        host = host.pin_memory()
    side = torch.cuda.Stream()
    held = [host.to(GPU)]

    def run():
        if repaired:
            x = held[0]
            side.wait_stream(torch.cuda.current_stream())
            with torch.cuda.stream(side):
                following = host.to(GPU, non_blocking=True)
        else:
            x = host.to(GPU)
        y = x.to(torch.bfloat16)
        for _ in range(60):
            y = (y @ weight) * 0.03
        if repaired:
            torch.cuda.current_stream().wait_stream(side)
            held[0].record_stream(torch.cuda.current_stream())
            held[0] = following
        return y.sum()

    return run


def allocator_emptied(repaired):
    step = gpt_step(batch=4, layers=4, width=512, heads=8)

    def run():
        loss = step()
        if not repaired:
            torch.cuda.empty_cache()
        return loss

    return run


def compile_every_shape(repaired):
    """A new length each step: torch.compile specialises again and again; repaired: padded to one length."""
    torch._dynamo.reset()
    torch._dynamo.config.cache_size_limit = 64
    model = nn.Sequential(nn.Linear(256, 1024), nn.GELU(), nn.Linear(1024, 256), nn.LayerNorm(256)).to(GPU)
    fast = torch.compile(model, dynamic=False)
    at = [0]

    def run():
        at[0] += 1
        length = 2048 if repaired else 1024 + 16 * at[0]
        return fast(torch.ones(length, 256, device=GPU)).sum()

    return run


def host_python_metrics(repaired):
    """Counts words in Python between the steps while the device has nothing to do."""
    step = gpt_step(batch=4, layers=4, width=512, heads=8)
    text = ["the cell divides and the other cell waits"] * 6000

    def run():
        loss = step()
        torch.cuda.synchronize()
        if not repaired:
            counts = {}
            for line in text:
                for word in line.split():
                    counts[word] = counts.get(word, 0) + 1
        return loss

    return run


def clip_for_loop(repaired):
    """Gradient clipping written as a loop over the parameters instead of foreach."""
    model = Gpt(layers=8, width=512, heads=8).to(GPU)
    batch = tokens(2, 512, 16384)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4, fused=True)

    def run():
        with torch.autocast("cuda", dtype=torch.bfloat16):
            loss = model(*batch)
        loss.backward()
        if repaired:
            torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0, foreach=True)
        else:
            total = torch.zeros((), device=GPU)
            for p in model.parameters():
                total = total + p.grad.pow(2).sum()
            scale = torch.clamp(1.0 / (total.sqrt() + 1e-6), max=1.0)
            for p in model.parameters():
                p.grad = p.grad * scale
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
        return loss

    return run


def experts_in_a_loop(repaired):
    """64 small experts one after another; repaired: one batched product."""
    up = torch.randn(64, 512, 1024, device=GPU, dtype=torch.bfloat16) * 0.02
    down = torch.randn(64, 1024, 512, device=GPU, dtype=torch.bfloat16) * 0.02
    x = torch.randn(64, 64, 512, device=GPU, dtype=torch.bfloat16)

    def run():
        y = x
        for _ in range(4):
            if repaired:
                y = torch.bmm(torch.relu(torch.bmm(y, up)), down)
            else:
                y = torch.stack([torch.relu(y[i] @ up[i]) @ down[i] for i in range(64)])
        return y.sum()

    return run


class Sorted(torch.utils.data.Dataset):
    """A data set that sorts each image on the host."""

    def __len__(self):
        return 1 << 20

    def __getitem__(self, index):
        return torch.from_numpy(augment(images_on_host(1, 128, index)))[0]


def input_loader_without_workers(repaired):
    model = Cnn(channels=64, blocks=2).to(GPU, memory_format=torch.channels_last)
    holder = [None, torch.zeros(16, dtype=torch.long, device=GPU)]
    step = trained(model, holder)
    how = {"num_workers": 8, "pin_memory": True, "prefetch_factor": 4} if repaired else {}
    batches = iter(torch.utils.data.DataLoader(Sorted(), batch_size=16, **how))

    def run():
        images = next(batches).to(GPU, non_blocking=repaired)
        holder[0] = images.contiguous(memory_format=torch.channels_last)
        return step()

    return run


def layout_permutes(repaired):
    """A network that thinks in channels-last and copies into channels-first around every normalisation."""
    width = 512
    norm = nn.LayerNorm(width).to(GPU, torch.bfloat16).requires_grad_(False)
    mix = torch.randn(width, width, device=GPU, dtype=torch.bfloat16) * 0.03
    x = torch.randn(16, 64, 64, width, device=GPU, dtype=torch.bfloat16)

    def run():
        y = x
        for _ in range(12):
            y = norm(y @ mix)
            if not repaired:
                y = y.permute(0, 3, 1, 2).contiguous()
                y = y.permute(0, 2, 3, 1).contiguous()
        return y.sum()

    return run


def precision_f64_leak(repaired):
    """A constant made by numpy turns a layer's products into double precision."""
    weight = torch.randn(2048, 2048, device=GPU) * 0.02
    scale = torch.tensor(numpy.ones(2048) * 0.5, device=GPU)
    x = torch.randn(4096, 2048, device=GPU)
    torch.set_float32_matmul_precision("high")

    def run():
        y = x
        for _ in range(4):
            if repaired:
                y = (y * scale.float()) @ weight
            else:
                y = ((y * scale) @ weight.double()).float()
        return y.sum()

    return run


def copy_results_each_layer(repaired):
    """Brings every layer's activations to the host to look at their size; repaired: the size is computed there."""
    weight = torch.randn(2048, 2048, device=GPU, dtype=torch.bfloat16) * 0.02
    x = torch.randn(4096, 2048, device=GPU, dtype=torch.bfloat16)

    def run():
        y = x
        sizes = []
        for _ in range(12):
            for _ in range(6):
                y = y @ weight
            sizes.append(y.cpu().abs().amax() if not repaired else y.abs().amax())
        return sizes

    return run


def healthy_compiled(repaired):
    """Nothing planted: a compiled GPT with a large batch. The repaired form is the same program."""
    model = torch.compile(Gpt(layers=4))
    return trained(model.to(GPU), tokens(32, 512, 16384))


def healthy_cuda_graph(repaired):
    """Nothing planted: products replayed from a CUDA graph. The repaired form is the same program."""
    weight = torch.randn(4096, 4096, device=GPU, dtype=torch.bfloat16) * 0.01
    x = torch.randn(4096, 4096, device=GPU, dtype=torch.bfloat16)
    for _ in range(3):
        torch.relu(x @ weight)
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        y = x
        for _ in range(10):
            y = torch.relu(y @ weight)
    return graph.replay


# --- Recorded after the rules stood: nothing was tuned on what follows. ---

def cnn_without_tf32(repaired):
    torch.backends.cudnn.allow_tf32 = repaired
    torch.backends.cudnn.benchmark = True
    model = Cnn().to(GPU, memory_format=torch.channels_last)
    images = torch.randn(32, 3, 160, 160, device=GPU).contiguous(memory_format=torch.channels_last)
    step = trained(model, (images, torch.zeros(32, dtype=torch.long, device=GPU)), dtype=None)

    def run():
        torch.backends.cudnn.allow_tf32 = repaired
        return step()

    return run


def lstm_cell_in_a_loop(repaired):
    """A recurrent layer written as a loop over time; repaired: nn.LSTM."""
    x = torch.randn(64, 16, 256, device=GPU)
    if repaired:
        whole = nn.LSTM(256, 256).to(GPU).requires_grad_(False)
        return lambda: whole(x)[0].sum()
    cell = nn.LSTMCell(256, 256).to(GPU).requires_grad_(False)

    def run():
        h = c = torch.zeros(16, 256, device=GPU)
        outputs = []
        for t in range(64):
            h, c = cell(x[t], (h, c))
            outputs.append(h)
        return torch.stack(outputs).sum()

    return run


def nan_checks(repaired):
    """Asks after every layer whether anything is not finite; repaired: once, without waiting for the answer."""
    weights = [torch.randn(2048, 2048, device=GPU, dtype=torch.bfloat16) * 0.02 for _ in range(24)]
    x = torch.randn(4096, 2048, device=GPU, dtype=torch.bfloat16)

    def run():
        y = x
        for weight in weights:
            y = torch.relu(y @ weight)
            if not repaired and not torch.isfinite(y).all():
                raise RuntimeError("not finite")
        return torch.isfinite(y).all()

    return run


def batch_from_python_lists(repaired):
    model = Gpt(layers=4).to(GPU)
    rows = [[(i * j) % 16384 for j in range(513)] for i in range(32)]
    kept = torch.tensor(rows).pin_memory()
    holder = [None, None]
    step = trained(model, holder)

    def run():
        batch = (kept if repaired else torch.tensor([list(map(int, row)) for row in rows])).to(
            GPU, non_blocking=repaired)
        holder[0], holder[1] = batch[:, :-1].contiguous(), batch[:, 1:].contiguous()
        return step()

    return run


def loss_by_one_hot(repaired):
    """Cross entropy over a large vocabulary from one-hot targets in f32; repaired: F.cross_entropy."""
    logits = torch.randn(8192, 16384, device=GPU, dtype=torch.bfloat16, requires_grad=True)
    targets = torch.randint(0, 16384, (8192,), device=GPU)

    def run():
        logits.grad = None
        if repaired:
            loss = torch.nn.functional.cross_entropy(logits, targets)
        else:
            wide = logits.float()
            shifted = wide - wide.max(-1, keepdim=True).values
            logs = shifted - shifted.exp().sum(-1, keepdim=True).log()
            loss = -(logs * torch.nn.functional.one_hot(targets, 16384).float()).sum(-1).mean()
        loss.backward()
        return loss

    return run


def weights_transposed_each_step(repaired):
    weights = [torch.randn(4096, 4096, device=GPU, dtype=torch.bfloat16) * 0.02 for _ in range(16)]
    x = torch.randn(1024, 4096, device=GPU, dtype=torch.bfloat16)

    def run():
        y = x
        for weight in weights:
            y = y @ (weight.t() if repaired else weight.t().contiguous())
        return y.sum()

    return run


def logits_to_host(repaired):
    model = Gpt(layers=4).to(GPU).requires_grad_(False)
    ids, targets = tokens(16, 512, 16384)

    def run():
        with torch.autocast("cuda", dtype=torch.bfloat16):
            x = model.tokens(ids) + model.places
            for block in model.blocks:
                x = block(x)
            logits = model.head(model.norm(x))
        if repaired:
            return logits.argmax(-1).cpu()
        return logits.cpu().argmax(-1)

    return run


def healthy_large_products(repaired):
    """Nothing planted: large products, one after another. The repaired form is the same program."""
    weights = [torch.randn(8192, 8192, device=GPU, dtype=torch.bfloat16) * 0.01 for _ in range(8)]
    x = torch.randn(8192, 8192, device=GPU, dtype=torch.bfloat16)

    def run():
        y = x
        for weight in weights:
            y = y @ weight
        return y

    return run


def segmented(channels, dtype, repaired):
    """A U-Net over 8 pictures of 512², channels first unless repaired. With few channels, normalisation that gives each
    channel one block leaves most of the device idle; larger batches or sizes do not change that."""
    memory = torch.channels_last if repaired else torch.contiguous_format
    torch.backends.cudnn.benchmark = True
    model = UNet(channels).to(GPU, memory_format=memory)
    images = torch.randn(8, 1, 512, 512, device=GPU).contiguous(memory_format=memory)
    return trained(model, (images, torch.randint(0, 3, (8, 512, 512), device=GPU)), dtype=dtype)


def few_channels_first(repaired):
    return segmented(32, None, repaired)


def few_channels_first_bf16(repaired):
    return segmented(32, torch.bfloat16, repaired)


def denoiser_channels_first(repaired):
    """64 channels at full size, 15 times in a row."""
    memory = torch.channels_last if repaired else torch.contiguous_format
    torch.backends.cudnn.benchmark = True
    model = Denoiser().to(GPU, memory_format=memory)
    images = torch.randn(32, 1, 180, 180, device=GPU).contiguous(memory_format=memory)
    return trained(model, (images, torch.randn_like(images)))


CAUSES = {
    "precision_f32": "precision",
    "layout_channels_first": "layout",
    "optimizer_unfused": "avoidable_traffic",
    "pointwise_by_hand": "avoidable_traffic",
    "attention_by_hand": "avoidable_traffic",
    "odd_width": "kernel_inefficiency",
    "launch_tiny_kernels": "launch",
    "sync_item_for_logging": "host_sync",
    "sync_boolean_mask": "host_sync",
    "input_numpy_in_the_loop": "input",
    "io_reads_each_step": "io",
    "copy_pageable": "host_copy",
    "allocator_emptied": "allocator",
    "compile_every_shape": "compile",
    "host_python_metrics": "host_other",
    "clip_for_loop": "launch",
    "experts_in_a_loop": "launch",
    "input_loader_without_workers": "input",
    "layout_permutes": "layout",
    "precision_f64_leak": "precision",
    "copy_results_each_layer": "host_copy",
    "cnn_without_tf32": "precision",
    "lstm_cell_in_a_loop": "launch",
    "nan_checks": "host_sync",
    "batch_from_python_lists": "input",
    "loss_by_one_hot": "avoidable_traffic",
    "weights_transposed_each_step": "layout",
    "logits_to_host": "host_copy",
    "few_channels_first": "layout",
    "few_channels_first_bf16": "layout",
    "denoiser_channels_first": "layout",
    "healthy_large_products": "healthy",
    "healthy_compiled": "healthy",
    "healthy_cuda_graph": "healthy",
}
