#!/usr/bin/env python3
"""What gpt2_tiny has learned at its end, by hone and by PyTorch, over seeds: bits a byte of text that was kept back.

learning.py [--seeds N] [--hone build/hone] [--python PYTHON] [--jobs N] [--json FILE]

Each seed is one of weights and of the samples' order; each side draws its own. The same text, whose last part is kept back, in the
same samples, network, optimizer, schedule and number of steps (recipes/gpt2_tiny.toml); one thread a run, in f32. Two sides that
learn equally well give two draws of one distribution: the medians are to lie in each other's range.
"""
import argparse
import concurrent.futures
import datetime
import json
import math
import pathlib
import statistics
import subprocess
import sys
import tempfile
import tomllib

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
RECIPE = ROOT / "recipes" / "gpt2_tiny.toml"


def by_hone(hone, seed):
    with tempfile.TemporaryDirectory() as folder:
        out = pathlib.Path(folder) / "run"
        sets = [word for key in ("model", "data", "train") for word in ("--set", f"{key}.seed={seed}")]
        subprocess.run([hone, "train", RECIPE, "--device", "cpu", "--threads", "1", "--quiet", "--out", out, *sets],
                       check=True, capture_output=True, text=True)
        lines = [json.loads(line) for line in (out / "metrics.jsonl").read_text().splitlines()]
        return [line["bits-per-byte"] for line in lines if line["kind"] == "evaluate"][-1]


def first_weights(torch, sizes, generator):
    """As hone's zoo draws them: normal with a deviation of .02, norms at one and zero."""
    hidden, inner = sizes["hidden"], 4 * sizes["hidden"]
    drawn = lambda *shape: torch.randn(shape, generator=generator) * 0.02
    weights = {"transformer.wte.weight": drawn(sizes["vocabulary"], hidden),
               "transformer.wpe.weight": drawn(sizes["positions"], hidden)}
    norm = lambda at: {at + ".weight": torch.ones(hidden), at + ".bias": torch.zeros(hidden)}
    for layer in range(sizes["layers"]):
        at = f"transformer.h.{layer}."
        weights |= norm(at + "ln_1") | norm(at + "ln_2")
        for name, shape in (("attn.c_attn", (hidden, 3 * hidden)), ("attn.c_proj", (hidden, hidden)),
                            ("mlp.c_fc", (hidden, inner)), ("mlp.c_proj", (inner, hidden))):
            weights |= {f"{at}{name}.weight": drawn(*shape), f"{at}{name}.bias": drawn(shape[1])}
    return weights | norm("transformer.ln_f")


def by_torch(seed):
    """Prints the bits a byte at the end; a process of its own."""
    import torch
    sys.path.insert(0, str(ROOT / "tests" / "training"))
    from torch_parity import gpt2, optimizer_of, rate_at
    torch.set_num_threads(1)
    recipe = tomllib.loads(RECIPE.read_text())
    train, rates = recipe["train"], recipe["optimizer"]
    sizes, length = recipe["model"]["sizes"], recipe["data"]["sizes"]["length"]
    run = {"heads": sizes["heads"], "optimizer": "adamw", "beta1": rates.get("beta1", 0.9), "beta2": rates["beta2"],
           "epsilon": rates.get("epsilon", 1e-8), "weight_decay": rates["weight_decay"], "rate": rates["rate"],
           "warmup_steps": round(recipe["schedule"]["warmup"] * train["steps"]), "steps": train["steps"],
           "final": recipe["schedule"]["final"]}
    text = torch.tensor(list((RECIPE.parent / recipe["data"]["path"]).resolve().read_bytes()))
    count = (len(text) - 1) // length
    samples = torch.stack([text[i * length:i * length + length + 1] for i in range(count)])
    generator = torch.Generator().manual_seed(seed)
    kept = samples[count - round(count * recipe["data"]["validation"]):]
    samples = samples[:count - len(kept)]
    batch_of = lambda rows: {"tokens": rows[:, :-1], "next": rows[:, 1:]}
    parameters = {name: value.requires_grad_() for name, value in first_weights(torch, sizes, generator).items()}
    optimizer = optimizer_of(run, list(parameters.values()))
    order = torch.empty(0, dtype=torch.long)
    for step in range(train["steps"]):
        if len(order) < train["batch"]:
            order = torch.randperm(len(samples), generator=generator)
        rows, order = samples[order[:train["batch"]]], order[train["batch"]:]
        for group in optimizer.param_groups:
            group["lr"] = rate_at(step, run)
        optimizer.zero_grad()
        gpt2(parameters, batch_of(rows), run).backward()
        torch.nn.utils.clip_grad_norm_(list(parameters.values()), train["clip"])
        optimizer.step()
    with torch.no_grad():
        print(gpt2(parameters, batch_of(kept), run).item() / math.log(2))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=8)
    parser.add_argument("--hone", type=pathlib.Path, default=ROOT / "build" / "hone")
    parser.add_argument("--python", default=sys.executable, help="that has PyTorch")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--json", type=pathlib.Path)
    parser.add_argument("--torch-seed", type=int, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.torch_seed is not None:
        return by_torch(options.torch_seed)
    peer = lambda seed: float(subprocess.run([options.python, __file__, "--torch-seed", str(seed)], check=True, capture_output=True,
                                             text=True).stdout)
    seeds = range(1, options.seeds + 1)
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        runs = {"hone": pool.map(lambda seed: by_hone(options.hone, seed), seeds), "torch": pool.map(peer, seeds)}
        runs = {side: sorted(values) for side, values in runs.items()}
    for side, values in runs.items():
        print(f"{side}: {statistics.median(values):.3f} bits a byte ({values[0]:.3f} to {values[-1]:.3f}, {len(values)} seeds)")
    inside = runs["torch"][0] <= statistics.median(runs["hone"]) <= runs["torch"][-1]
    print("hone's median lies", "within" if inside else "OUTSIDE", "PyTorch's range")
    if options.json:
        options.json.write_text(json.dumps({"schema": 1, "date": datetime.date.today().isoformat(), "recipe": "gpt2_tiny",
                                            "command": "bench/training/learning.py", "bits_per_byte": runs}, indent=1) + "\n")
    return 0 if inside else 1


if __name__ == "__main__":
    sys.exit(main())
