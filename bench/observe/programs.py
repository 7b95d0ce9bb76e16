"""Programs to observe, each a training or inference loop that nobody prepared for it: programs.py NAME SECONDS.

Prints one line of JSON at its end: the median of its own steps in ms, as a user would time them (from one turn of the loop
to the next, nothing waited for beyond what the loop itself waits for), and how many.
"""
import json
import statistics
import sys
import time

import torch
from torch import nn
from torch.nn import functional as F

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"


class Block(nn.Module):
    def __init__(self, width, heads, causal):
        super().__init__()
        self.heads, self.causal = heads, causal
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

    def forward(self, x):
        b, t, c = x.shape
        q, k, v = (y.view(b, t, self.heads, -1).transpose(1, 2) for y in self.qkv(self.norm1(x)).split(c, 2))
        mixed = F.scaled_dot_product_attention(q, k, v, is_causal=self.causal)
        x = x + self.out(mixed.transpose(1, 2).reshape(b, t, c))
        return x + self.down(F.gelu(self.up(self.norm2(x))))


class Gpt2(nn.Module):
    def __init__(self, layers=12, width=768, vocabulary=50304, length=1024):
        super().__init__()
        self.tokens, self.places = nn.Embedding(vocabulary, width), nn.Embedding(length, width)
        self.blocks = nn.Sequential(*[Block(width, 12, True) for _ in range(layers)])
        self.norm, self.head = nn.LayerNorm(width), nn.Linear(width, vocabulary, bias=False)

    def forward(self, ids):
        x = self.tokens(ids) + self.places(torch.arange(ids.shape[1], device=ids.device))
        return self.head(self.norm(self.blocks(x)))


class Vit(nn.Module):
    def __init__(self, layers=12, width=768):
        super().__init__()
        self.patches = nn.Conv2d(3, width, 16, 16)
        self.blocks = nn.Sequential(*[Block(width, 12, False) for _ in range(layers)])
        self.norm, self.head = nn.LayerNorm(width), nn.Linear(width, 1000)

    def forward(self, images):
        return self.head(self.norm(self.blocks(self.patches(images).flatten(2).transpose(1, 2))).mean(1))


def gpt2_training(batch):
    model = Gpt2().to(DEVICE)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4, fused=DEVICE == "cuda")
    ids = torch.randint(0, 50257, (batch, 1025), device=DEVICE)

    def step():
        with torch.autocast(DEVICE, torch.bfloat16):
            logits = model(ids[:, :-1])
            loss = F.cross_entropy(logits.flatten(0, 1), ids[:, 1:].flatten())
        loss.backward()
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
        return loss
    return step


def vit_inference():
    model = Vit().to(DEVICE).eval()
    image = torch.randn(1, 3, 224, 224, device=DEVICE)

    @torch.no_grad()
    def step():
        with torch.autocast(DEVICE, torch.bfloat16):
            return model(image).argmax(1).item()
    return step


def chain():
    """400 tiny kernels and a wait: no module, no optimizer."""
    numbers = torch.zeros(64, device=DEVICE)

    def step():
        for _ in range(400):
            numbers.add_(1)
        torch.cuda.synchronize() if DEVICE == "cuda" else None
    return step


PROGRAMS = {"gpt2_b32": lambda: gpt2_training(32), "gpt2_b1": lambda: gpt2_training(1), "vit_b1": vit_inference,
            "chain": chain}


def main():
    step, seconds = PROGRAMS[sys.argv[1]](), float(sys.argv[2])
    times = [time.perf_counter()]
    while times[-1] - times[0] < seconds:
        step()
        times.append(time.perf_counter())
    steps = [b - a for a, b in zip(times, times[1:])][len(times) // 4:]
    print(json.dumps({"program": sys.argv[1], "steps": len(steps), "median_ms": 1e3 * statistics.median(steps),
                      "mean_ms": 1e3 * statistics.fmean(steps)}))


if __name__ == "__main__":
    main()
