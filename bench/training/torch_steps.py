"""PyTorch's side of run.py: the networks, from hone's weights, and the ways to run a training step of them.

torch_steps.py WAY NETWORK FOLDER THREADS reads what bench_training left in FOLDER, trains some steps, fails where the losses
are not hone's, then answers each line N of stdin with the mean milliseconds of N steps.
"""
import json
import pathlib
import sys
import time

import numpy
import torch
import torch.nn.functional as F

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent.parent / "tests" / "training"))
from torch_parity import gpt2, read_safetensors, unet  # noqa: E402

HEADS = 4  # of gpt2_tiny
# Of the first loss, over the first steps: that it is the same work, not how near.
TOLERANCE = {"f32": 2e-3, "bf16": 2e-2}


def mlp(p, batch, run):
    x = batch["x"]
    for i in (1, 2):
        x = F.relu(F.linear(x, p[f"dense{i}.weight"], p[f"dense{i}.bias"]))
    return F.cross_entropy(F.linear(x, p["dense3.weight"], p["dense3.bias"]), batch["label"])


def resnet50(p, batch, run):
    """Version 1.5, as torchvision's, with the running statistics of training."""

    def conv_norm(x, conv, norm, stride=1):
        weight = p[f"{conv}.weight"]
        x = F.conv2d(x, weight, stride=stride, padding=weight.shape[2] // 2)
        return F.batch_norm(x, p[f"{norm}.running_mean"], p[f"{norm}.running_var"], p[f"{norm}.weight"],
                            p[f"{norm}.bias"], True, 0.1, 1e-5)

    x = F.max_pool2d(F.relu(conv_norm(batch["image"], "conv1", "bn1", 2)), 3, 2, 1)
    for stage, blocks in enumerate((3, 4, 6, 3), 1):
        for block in range(blocks):
            at, stride = f"layer{stage}.{block}", 2 if stage > 1 and block == 0 else 1
            y = F.relu(conv_norm(x, f"{at}.conv1", f"{at}.bn1"))
            y = F.relu(conv_norm(y, f"{at}.conv2", f"{at}.bn2", stride))
            y = conv_norm(y, f"{at}.conv3", f"{at}.bn3")
            if block == 0:
                x = conv_norm(x, f"{at}.downsample.0", f"{at}.downsample.1", stride)
            x = F.relu(x + y)
    return F.cross_entropy(F.linear(x.mean((2, 3)), p["fc.weight"], p["fc.bias"]), batch["label"])


NETWORKS = {"mlp": mlp, "gpt2_tiny": gpt2, "cells_unet": unet, "resnet50": resnet50}
# What can be tried, each with the fused optimizer: it is never behind the one over lists of tensors here.
WAYS = {"eager": {}, "eager-channels-last": {"channels_last": True}, "compile": {"compiled": True},
        "compile-channels-last": {"compiled": True, "channels_last": True},
        "compile-optimizer": {"compiled": True, "optimizer": True}}


def is_state(name):
    return name.endswith(("running_mean", "running_var"))


class Training:
    """One network with its batch and optimizer."""

    def __init__(self, network, folder, compiled=False, channels_last=False, optimizer=False):
        self.run = json.loads((folder / "run.json").read_text()) | {"heads": HEADS}
        values = read_safetensors(folder / "initial.safetensors")
        self.batch = read_safetensors(folder / "batch.safetensors")
        if channels_last:
            last = lambda t: t.contiguous(memory_format=torch.channels_last) if t.dim() == 4 else t
            values = {name: last(value) for name, value in values.items()}
            self.batch = {name: last(value) for name, value in self.batch.items()}
        self.trained = {name: value.requires_grad_() for name, value in values.items() if not is_state(name)}
        self.values = self.trained | {name: value for name, value in values.items() if is_state(name)}
        weights = list(self.trained.values())
        run = self.run
        self.optimizer = torch.optim.AdamW(
            [{"params": [w for w in weights if w.dim() >= 2], "weight_decay": run["weight_decay"]},
             {"params": [w for w in weights if w.dim() < 2], "weight_decay": 0}],
            lr=run["rate"], betas=(run["beta1"], run["beta2"]), eps=run["epsilon"],
            fused=None if optimizer else True)
        self.loss = NETWORKS[network]
        self.update = self.clip_and_update
        if compiled:
            self.loss = torch.compile(self.loss, dynamic=False)
        if optimizer:
            self.update = torch.compile(self.clip_and_update)

    def clip_and_update(self):
        if self.run["clip"] > 0:
            torch.nn.utils.clip_grad_norm_(list(self.trained.values()), self.run["clip"])
        self.optimizer.step()

    def step(self):
        self.optimizer.zero_grad()
        with torch.autocast("cpu", torch.bfloat16, enabled=self.run["precision"] == "bf16"):
            loss = self.loss(self.values, self.batch, self.run)
        loss.backward()
        self.update()
        return loss


def main():
    way, network, folder, threads = sys.argv[1:]
    answers, sys.stdout = sys.stdout, sys.stderr  # whatever is printed is no answer
    torch.set_num_threads(int(threads))
    training = Training(network, pathlib.Path(folder), **WAYS[way])
    for expected in training.run["losses"]:
        loss = training.step().item()
        if not abs(loss - expected) <= TOLERANCE[training.run["precision"]] * training.run["losses"][0]:
            sys.exit(f"{network}: the loss is {loss:.6f}, hone's is {expected:.6f}: not the same work")
    print("ready", file=answers, flush=True)
    for line in sys.stdin:
        steps = int(line)
        start = time.perf_counter_ns()
        for _ in range(steps):
            training.step()
        print((time.perf_counter_ns() - start) / 1e6 / steps, file=answers, flush=True)


if __name__ == "__main__":
    main()
