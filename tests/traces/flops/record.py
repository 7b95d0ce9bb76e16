"""Records what the tests of operators' FLOPs are checked against: one training step of small models on the CPU, as
torch.profiler writes it (NAME.json.gz), and the count of torch.utils.flop_counter for the same step (NAME.flops.json).

    python3 record.py [FOLDER]        needs PyTorch; a CPU is enough

What PyTorch's counter leaves out is recorded beside it: the additions of the gradients of convolutions' biases. It counts
all pairs of queries and keys of causal attention; `causal` says for how many queries hone counts half of them."""
import gzip
import json
import os
import sys
import tempfile

import torch
from torch import nn
from torch.nn import functional
from torch.profiler import ProfilerActivity, profile
from torch.utils.flop_counter import FlopCounterMode


class Block(nn.Module):
    def __init__(self, width, heads, causal):
        super().__init__()
        self.heads, self.causal = heads, causal
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width, bias=False)

    def forward(self, x):
        batch, length, width = x.shape
        q, k, v = (t.view(batch, length, self.heads, -1).transpose(1, 2) for t in self.qkv(self.norm1(x)).chunk(3, 2))
        mixed = functional.scaled_dot_product_attention(q, k, v, is_causal=self.causal)
        x = x + self.out(mixed.transpose(1, 2).reshape(batch, length, width))
        return x + self.down(functional.gelu(self.up(self.norm2(x))))


class Gpt(nn.Module):
    def __init__(self, causal, width=48, heads=3, layers=2, length=33, vocabulary=101):
        super().__init__()
        self.tokens, self.places = nn.Embedding(vocabulary, width), nn.Embedding(length, width)
        self.blocks = nn.Sequential(*[Block(width, heads, causal) for _ in range(layers)])
        self.norm, self.head = nn.LayerNorm(width), nn.Linear(width, vocabulary, bias=False)

    def forward(self, ids):
        x = self.tokens(ids) + self.places(torch.arange(ids.shape[1]))
        logits = self.head(self.norm(self.blocks(x)))
        return functional.cross_entropy(logits.flatten(0, 1), ids.flatten())


class HandAttention(nn.Module):
    """Attention of separate products and a softmax; a product with a sum in front."""

    def __init__(self):
        super().__init__()
        self.q, self.k = nn.Linear(20, 20), nn.Linear(20, 20)

    def forward(self, x):
        scores = torch.baddbmm(torch.zeros(x.shape[0], x.shape[1], x.shape[1]), self.q(x), self.k(x).transpose(1, 2))
        return (scores.softmax(-1) @ x).sum()


class UNet(nn.Module):
    def __init__(self, width=8):
        super().__init__()
        def twice(a, b):
            return nn.Sequential(nn.Conv2d(a, b, 3, padding=1), nn.BatchNorm2d(b), nn.ReLU(),
                                 nn.Conv2d(b, b, 3, padding=1), nn.BatchNorm2d(b), nn.ReLU())
        self.down1, self.down2 = twice(1, width), twice(width, 2 * width)
        self.pool, self.up = nn.MaxPool2d(2), nn.ConvTranspose2d(2 * width, width, 2, stride=2)
        self.join, self.out = twice(2 * width, width), nn.Conv2d(width, 2, 1)

    def forward(self, x):
        a = self.down1(x)
        b = self.up(self.down2(self.pool(a)))
        return self.out(self.join(torch.cat([a, b], 1))).logsumexp(1).mean()


class ResNet(nn.Module):
    def __init__(self, width=8):
        super().__init__()
        self.stem = nn.Conv2d(3, width, 7, stride=2, padding=3, bias=False)
        self.narrow = nn.Conv2d(width, width, 1, bias=False)
        self.wide = nn.Conv2d(width, width, 3, stride=2, padding=1, bias=False)
        self.skip = nn.Conv2d(width, width, 1, stride=2, bias=False)
        self.dilated = nn.Conv2d(width, 2 * width, 3, padding=2, dilation=2, bias=False)
        self.norms = nn.ModuleList(nn.BatchNorm2d(width) for _ in range(3))
        self.head = nn.Linear(2 * width, 10)

    def forward(self, x):
        x = functional.max_pool2d(functional.relu(self.norms[0](self.stem(x))), 3, 2, 1)
        y = functional.relu(self.norms[1](self.narrow(x)))
        x = functional.relu(self.norms[2](self.wide(y)) + self.skip(x))
        x = functional.relu(self.dilated(x))
        return functional.cross_entropy(self.head(x.mean((2, 3))), torch.zeros(x.shape[0], dtype=torch.long))


class Convolutions(nn.Module):
    """Forward only: groups, transposes with output padding, one and three dimensions."""

    def __init__(self):
        super().__init__()
        self.line = nn.Conv1d(4, 6, 5, stride=2, padding=1, bias=False)
        self.cube = nn.Conv3d(2, 3, (1, 3, 3), padding=(0, 1, 1), bias=False)
        self.groups = nn.Conv2d(8, 12, 3, groups=4, bias=False)
        self.depthwise = nn.Conv2d(8, 8, 3, padding=1, groups=8, bias=False)
        self.back = nn.ConvTranspose2d(6, 4, 3, stride=2, padding=1, output_padding=1, bias=False)

    def forward(self, line, cube, plane, small):
        return [self.line(line), self.cube(cube), self.groups(plane), self.depthwise(plane), self.back(small)]


def models():
    torch.manual_seed(0)
    ids = torch.randint(0, 101, (2, 33))
    yield "gpt", Gpt(causal=True), (ids,), True, {"causal": 33}
    yield "encoder", Gpt(causal=False), (ids,), True, {}
    yield "attention_by_hand", HandAttention(), (torch.randn(3, 17, 20),), True, {}
    yield "unet", UNet(), (torch.randn(2, 1, 24, 32),), True, {}
    yield "resnet", ResNet(), (torch.randn(2, 3, 48, 40),), True, {}
    shapes = (2, 4, 31), (1, 2, 3, 9, 11), (2, 8, 13, 10), (2, 6, 7, 5)
    yield "convolutions", Convolutions(), tuple(torch.randn(s) for s in shapes), False, {}


def run(model, inputs, train):
    if not train:
        with torch.no_grad():
            model(*inputs)
        return
    optimizer = torch.optim.AdamW(model.parameters(), fused=True)
    model(*inputs).backward()
    optimizer.step()


def bias_gradient_additions(model, inputs):
    """Elements of the outputs of convolutions with a bias: each is added once to its gradient."""
    total = [0]

    def count(module, _, output):
        total[0] += output.numel() if module.bias is not None else 0

    hooks = [m.register_forward_hook(count) for m in model.modules() if isinstance(m, (nn.Conv2d, nn.ConvTranspose2d))]
    model(*inputs)
    for hook in hooks:
        hook.remove()
    return total[0]


def compact(trace):
    """Only the calls of operators, with their inputs; the fields that readers need."""
    kept = {"schemaVersion": 1, "baseTimeNanoseconds": 0, "traceEvents": []}
    events = [e for e in trace["traceEvents"] if e.get("cat") in ("cpu_op", "user_annotation")]
    first = min(e["ts"] for e in events)
    for e in events:
        args = {k: v for k, v in e["args"].items()
                if k in ("External id", "Sequence number", "Fwd thread id", "Input type", "Input Dims",
                         "Input Strides", "Concrete Inputs")}
        kept["traceEvents"].append({"ph": "X", "cat": e["cat"], "name": e["name"], "pid": 1, "tid": e["tid"],
                                    "ts": round(e["ts"] - first, 3), "dur": e["dur"], "args": args})
    return kept


def main():
    folder = sys.argv[1] if len(sys.argv) > 1 else os.path.dirname(os.path.abspath(__file__))
    torch.set_num_threads(1)
    for name, model, inputs, train, more in models():
        run(model, inputs, train)  # warm-up: lazy initialisation
        with FlopCounterMode(display=False) as counter:
            run(model, inputs, train)
        table = {str(op): int(n) for op, n in counter.get_flop_counts()["Global"].items()}
        more["bias_gradient_additions"] = bias_gradient_additions(model, inputs) if train else 0
        with profile(activities=[ProfilerActivity.CPU], record_shapes=True) as profiler:
            run(model, inputs, train)
        with tempfile.NamedTemporaryFile(suffix=".json") as file:
            profiler.export_chrome_trace(file.name)
            trace = compact(json.load(open(file.name)))
        with gzip.GzipFile(os.path.join(folder, name + ".json.gz"), "wb", mtime=0) as out:
            out.write(json.dumps(trace, separators=(",", ":")).encode())
        with open(os.path.join(folder, name + ".flops.json"), "w") as out:
            json.dump({"torch": torch.__version__, "flops": table, **more}, out, indent=1)
            out.write("\n")
        print(name, table, more)


if __name__ == "__main__":
    main()
