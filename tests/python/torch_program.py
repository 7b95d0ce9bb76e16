"""Trains a small network on PyTorch under hone.record() in each of its ways, and prints what it found as JSON."""
import json

import torch

import hone

model = torch.nn.Sequential(torch.nn.Linear(256, 512), torch.nn.ReLU(), torch.nn.Linear(512, 10))
optimizer = torch.optim.AdamW(model.parameters())
x, y = torch.randn(64, 256), torch.randint(0, 10, (64,))


def train(steps):
    for _ in range(steps):
        optimizer.zero_grad()
        torch.nn.functional.cross_entropy(model(x), y).backward()
        optimizer.step()


def told(recording):
    analysis = recording.explain()
    return {"count": analysis.step.count, "how_found": analysis.step.how_found, "median_ms": analysis.step.median_ms,
            "floor_known": analysis.floor_known, "operators": [operator.op for operator in analysis.operators],
            "phases": sorted(phase.phase for phase in analysis.phases), "unrecorded_ms": recording.unrecorded_ms or 0, "measured": analysis.step.unrecorded_measured}


found = {}
with hone.record(steps=5) as recording:
    train(20)
found["by_optimizer"] = told(recording)
with hone.record(steps=5) as recording:
    for _ in range(20):
        model(x)
        recording.step()
found["by_program"] = told(recording)
with hone.record(steps=None) as recording:
    train(8)
found["whole_block"] = told(recording)
with hone.record(steps=5) as recording:
    train(11)
    model(x)
found["cut_short"] = told(recording)
with torch.profiler.profile():  # which is the program's own
    with hone.record(steps=5) as recording:
        train(10)
assert recording.path is None
print(json.dumps(found))
