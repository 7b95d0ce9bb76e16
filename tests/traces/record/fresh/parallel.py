"""Fresh programs on two GPUs, a rank a process."""
import contextlib

import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch.nn.parallel import DistributedDataParallel

from device import DRY, GPU, compiled, size
from fresh.models import TextEncoder


def labelled_texts(texts, length, vocabulary, classes):
    return torch.randint(0, vocabulary, (texts, length), device=GPU), torch.randint(0, classes, (texts,), device=GPU)


def accumulated(model, batches, optimizer, holds_back):
    """A step of several micro-batches; `holds_back`: the gradients are reduced only with the last one's."""
    def step():
        for i, batch in enumerate(batches):
            waits = holds_back and i + 1 < len(batches)
            with model.no_sync() if waits else contextlib.nullcontext():
                with torch.autocast(GPU, dtype=torch.bfloat16):
                    loss = model(*batch) / len(batches)
                loss.backward()
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)

    return step


# --- comm ---

def micro_batches_each_reduced(repaired):
    """Fine-tunes an encoder of many languages, whose table of words is large, by three micro-batches, each followed by
    a sum of all gradients. Repaired: only the last."""
    words, length, classes = size(262_144, 64), size(256, 8), 3
    model = TextEncoder(size(1024, 16), size(16, 4), size(2, 1), words, length, classes).to(GPU)
    model = DistributedDataParallel(model, gradient_as_bucket_view=True)
    batches = [labelled_texts(size(24, 1), length, words, classes) for _ in range(3)]
    return accumulated(model, batches, torch.optim.SGD(model.parameters(), lr=1e-4, fused=not DRY), repaired)


def logits_gathered_for_accuracy(repaired):
    """Evaluates a language model, and gathers all scores in f32 to count which were right.
    Repaired: the best tokens."""
    words, length = size(32_768, 64), size(512, 8)
    model = TextEncoder(size(1024, 16), size(16, 4), size(6, 1), words, length, words, of_tokens=True)
    model.to(GPU, torch.bfloat16).requires_grad_(False)
    ids = torch.randint(0, words, (size(16, 1), length), device=GPU)
    meant = torch.randint(0, words, (2 * ids.shape[0], length), device=GPU)

    def of_everyone(own):
        held = torch.empty(2 * own.shape[0], *own.shape[1:], device=GPU, dtype=own.dtype)
        dist.all_gather_into_tensor(held, own.contiguous())
        return held

    def step():
        scores = model(ids)
        said = of_everyone(scores.argmax(-1)) if repaired else of_everyone(scores.float()).argmax(-1)
        return (said == meant).float().mean()

    return step


# --- straggler ---

def favourite_experts(repaired):
    """Each rank holds half of the experts of every layer, and nine of ten tokens want one of rank 0's.
    Repaired: half of them."""
    tokens, width, hidden, layers = size(16_384, 20), size(1024, 16), size(8192, 32), size(4, 2)
    share = 0.5 if repaired else 0.9
    here = [int(share * tokens), tokens - int(share * tokens)]  # how many of a rank's tokens each rank's experts get
    arriving = [here[dist.get_rank()]] * 2
    ups = [torch.randn(width, hidden, device=GPU, dtype=torch.bfloat16) * 0.02 for _ in range(layers)]
    downs = [torch.randn(hidden, width, device=GPU, dtype=torch.bfloat16) * 0.01 for _ in range(layers)]
    x = torch.randn(tokens, width, device=GPU, dtype=torch.bfloat16)
    order = torch.randperm(tokens, device=GPU)

    def exchanged(rows, leaving, coming):
        held = torch.empty(sum(coming), width, device=GPU, dtype=rows.dtype)
        dist.all_to_all_single(held, rows, coming, leaving)
        return held

    def step():
        y = x
        for up, down in zip(ups, downs):
            asked = exchanged(F.layer_norm(y, (width,))[order], here, arriving)
            answers = exchanged(F.gelu(asked @ up) @ down, arriving, here)
            y = y.index_add(0, order, answers)
        return y

    return step


# --- healthy ---

def healthy_accumulates(repaired):
    """Nothing planted: a compiled encoder, two large micro-batches, gradients reduced with the last one's.
    The repaired form is the same program."""
    length, classes = size(256, 8), 8
    model = TextEncoder(size(1024, 16), size(8, 4), size(4, 1), 8192, length, classes).to(GPU)
    model = DistributedDataParallel(compiled(model), gradient_as_bucket_view=True)
    batches = [labelled_texts(size(96, 1), length, 8192, classes) for _ in range(2)]
    return accumulated(model, batches, torch.optim.AdamW(model.parameters(), lr=1e-4, fused=not DRY), True)


CAUSES = {
    "micro_batches_each_reduced": "comm",
    "logits_gathered_for_accuracy": "comm",
    "favourite_experts": "straggler",
    "healthy_accumulates": "healthy",
}
