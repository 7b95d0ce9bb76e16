#!/usr/bin/env python3
"""hone's training step against PyTorch's (the best of eager and torch.compile, channels last where there are convolutions,
fused optimizer): the same weights, batch, loss, optimizer, threads and precision (f32, or bf16: PyTorch's by autocast). On both sides the compute step alone: the batch
lies there.

Each is a process of its own (bench_training, torch_steps.py); in every round each has one slot while the others block, and
the ratio is that of the slots of one round.

run.py [--steps NAME…] [--rounds N] [--threads N] [--precision bf16] [--before BINARY] [--json FILE]
"""
import argparse
import contextlib
import datetime
import importlib.metadata
import json
import math
import os
import pathlib
import random
import shlex
import subprocess
import sys
import tempfile

import numpy as np

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
sys.path.insert(0, str(HERE.parent / "peers"))
from paired import ratio  # noqa: E402
from processes import OthersCpu, Worker, WorkerFailed  # noqa: E402

MLP = (784, 1024, 1024, 10)
ADAMW = ["optimizer.kind=adamw", "optimizer.rate=1e-3", "schedule.kind=constant", "schedule.warmup=0",
         "schedule.final=1"]
PLAIN = ["eager", "compile", "compile-optimizer"]
IMAGES = ["eager", "eager-channels-last", "compile", "compile-channels-last"]
# What a step is: its recipe, what its batch is made of, what is set otherwise than in the recipe, and PyTorch's ways.
STEPS = {
    "mlp": {"recipe": None, "fields": [f"x=f32:{MLP[0]}", "label=i64:<10"], "set": ["train.batch=128"], "ways": PLAIN},
    "gpt2_tiny": {"recipe": "gpt2_tiny", "fields": ["tokens=i64:64<256", "next=i64:64<256"], "set": [], "ways": PLAIN},
    "cells_unet": {"recipe": "cells_unet", "fields": ["image=f32:1x64x64", "mask=u8:1x64x64<2"],
                   "set": ["train={steps=100, batch=8, seed=1}"], "ways": IMAGES},
    "resnet50": {"recipe": "resnet50", "fields": ["image=f32:3x64x64", "label=i64:<100"],
                 "set": ["model.sizes={size=64, classes=100}", "train={steps=100, batch=8, seed=1}",
                         "optimizer.weight_decay=1e-4", "loss.smoothing=0", "data.path=."], "ways": IMAGES},
}
MLP_RECIPE = """name = "mlp"
[model]
onnx = "mlp.onnx"
[data]
source = "digits"
[loss]
kind = "cross-entropy"
[optimizer]
kind = "adamw"
rate = 1e-3
decay_vectors = false
[train]
steps = 100
batch = 128
"""


def write_mlp(folder):
    """Three dense layers, as PyTorch's exporter writes them, with weights as nn.Linear begins with."""
    import onnx
    from onnx import TensorProto, helper, numpy_helper
    generator = np.random.default_rng(1)
    nodes, weights, value = [], [], "x"
    for i, (inner, outer) in enumerate(zip(MLP, MLP[1:]), 1):
        for name, shape in ((f"dense{i}.weight", (outer, inner)), (f"dense{i}.bias", (outer,))):
            data = generator.uniform(-1, 1, shape) / math.sqrt(inner)
            weights.append(numpy_helper.from_array(data.astype(np.float32), name))
        last = i == len(MLP) - 1
        nodes.append(helper.make_node("Gemm", [value, f"dense{i}.weight", f"dense{i}.bias"],
                                      ["logits" if last else f"h{i}"], name=f"dense{i}", transB=1))
        if not last:
            nodes.append(helper.make_node("Relu", [f"h{i}"], [f"a{i}"], name=f"relu{i}"))
        value = f"a{i}"
    graph = helper.make_graph(nodes, "mlp", [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["n", MLP[0]])],
                              [helper.make_tensor_value_info("logits", TensorProto.FLOAT, ["n", MLP[-1]])], weights)
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)]), folder / "mlp.onnx")
    (folder / "mlp.toml").write_text(MLP_RECIPE)
    return folder / "mlp.toml"


class Timed(Worker):
    """Also tells what CPU time its steps took: on a busy machine, with one thread, what they cost."""

    def start_counting(self):
        self.start_ticks, self.calls = self.cpu_ticks(), 0

    def measure(self, calls):
        self.calls = getattr(self, "calls", 0) + calls
        return super().measure(calls)

    def cpu_ms(self):
        return 1000 * (self.cpu_ticks() - self.start_ticks) / os.sysconf("SC_CLK_TCK") / self.calls


class Step:
    """One training step, and those who run it."""

    def __init__(self, name, folder, options):
        self.name, self.options = name, options
        self.setup = STEPS[name]
        self.folder = folder / name
        self.folder.mkdir(exist_ok=True)
        self.recipe = ROOT / "recipes" / f"{self.setup['recipe']}.toml" if self.setup["recipe"] else write_mlp(self.folder)

    def start_hone(self, name, program):
        words = [word for field in self.setup["fields"] for word in ("--field", field)]
        precision = f'train.precision="{self.options.precision}"'
        words += [word for value in [*ADAMW, *self.setup["set"], precision] for word in ("--set", value)]
        return Timed(name, [program, self.recipe, self.folder, "--threads", str(self.options.threads), *words],
                      self.folder / f"{name}.log")

    def start_torch(self, way):
        return Timed(way, [sys.executable, HERE / "torch_steps.py", way, self.name, self.folder,
                            str(self.options.threads)], self.folder / f"{way}.log")

    def fastest_torch(self):
        """PyTorch in its fastest way, how long a step took in each, and why a way could not be measured."""
        best, times, failed = None, {}, {}
        for way in self.options.ways or self.setup["ways"]:
            if way not in self.setup["ways"]:
                continue
            try:
                worker = self.start_torch(way)
                times[way] = worker.calibrate()
            except WorkerFailed as failure:
                failed[way] = str(failure)
                continue
            best, loser = (worker, best) if best is None or times[way] < times[best.name] else (best, worker)
            if loser is not None:
                loser.close()
        if best is None:
            raise WorkerFailed("; ".join(failed.values()))
        return best, {"way": best.name, "ways_ms": times} | ({"ways_failed": failed} if failed else {})

    def compare(self):
        with contextlib.ExitStack() as running:
            workers = {"hone": self.start_hone("hone", self.options.hone)}
            running.callback(workers["hone"].close)
            if self.options.before:
                workers["before"] = self.start_hone("before", self.options.before)
                running.callback(workers["before"].close)
            workers["torch"], ways = self.fastest_torch()
            running.callback(workers["torch"].close)
            for worker in workers.values():
                worker.calibrate()
                worker.start_counting()
            others, load = OthersCpu(list(workers.values())), os.getloadavg()[0]
            slots = {name: [] for name in workers}
            for _ in range(self.options.rounds):
                for name in random.sample(list(slots), len(slots)):
                    slots[name].append(workers[name].slot())
            result = {"what": self.setup["fields"], "set": self.setup["set"], "others_cpu": others.share(),
                      "load_average": [round(load, 2), round(os.getloadavg()[0], 2)], "runtimes": {}}
            cpu = {name: worker.cpu_ms() for name, worker in workers.items()}
        for name, times in slots.items():
            entry = {"median_ms": float(np.median(times)), "min_ms": min(times), "max_ms": max(times),
                     "cpu_ms": round(cpu[name], 4),
                     "slots_ms": [round(ms, 4) for ms in times]}
            if name != "hone":
                entry |= {"ratio": ratio(times, slots["hone"]), "ratio_of_minima": min(times) / min(slots["hone"]),
                          "ratio_of_cpu": cpu[name] / cpu["hone"]}
            result["runtimes"][name] = entry
        result["runtimes"]["torch"] |= ways
        return result


def print_row(name, result):
    runtimes = result["runtimes"]
    hone, torch = runtimes["hone"], runtimes["torch"]
    r = torch["ratio"]
    line = (f"{name:<12}{hone['median_ms']:>10.3f}{torch['median_ms']:>10.3f}  {r['median']:.3f} ({r['low']:.3f}–"
            f"{r['high']:.3f})  of minima {torch['ratio_of_minima']:.3f}, of CPU "
            f"{torch['ratio_of_cpu']:.3f}  {torch['way']}, others {result['others_cpu']:.0%}")
    if "before" in runtimes:
        line += f"; before: {runtimes['before']['ratio']['median']:.3f}"
    print(line, flush=True)


def geometric_means(steps):
    """Over the steps that were measured."""
    torch = [step["runtimes"]["torch"] for step in steps.values()]
    mean = lambda values: math.exp(sum(map(math.log, values)) / len(torch))
    return {"ratio": mean(one["ratio"]["median"] for one in torch),
            "of_cpu": mean(one["ratio_of_cpu"] for one in torch),
            "of_minima": mean(one["ratio_of_minima"] for one in torch)}


def processor():
    for line in pathlib.Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            return line.split(":")[1].strip()
    return "unknown"


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--steps", nargs="+", choices=list(STEPS), default=list(STEPS), metavar="NAME")
    parser.add_argument("--ways", nargs="+", choices=sorted({*PLAIN, *IMAGES}), metavar="NAME", help="of PyTorch; default: all")
    parser.add_argument("--rounds", type=int, default=15, help="default 15; at least 6: fewer give no interval")
    parser.add_argument("--threads", type=int, default=len(os.sched_getaffinity(0)), help="default: every core")
    parser.add_argument("--precision", choices=["f32", "bf16"], default="f32")
    parser.add_argument("--hone", type=pathlib.Path, default=ROOT / "build" / "bench_training")
    parser.add_argument("--before", type=pathlib.Path, help="another build of bench_training, measured as well")
    parser.add_argument("--folder", type=pathlib.Path, help="where models and logs stay (default: a temporary folder)")
    parser.add_argument("--json", type=pathlib.Path, help="also write the results to this file")
    options = parser.parse_args()
    if options.rounds < 6:
        parser.error("--rounds: at least 6; fewer give no 95 % interval")
    return options


def main():
    options = arguments()
    commit = subprocess.run(["git", "-C", ROOT, "describe", "--always", "--dirty"], capture_output=True, text=True)
    report = {
        "schema": 1, "date": datetime.date.today().isoformat(), "commit": commit.stdout.strip(),
        "machine": f"{processor()}, {os.cpu_count()} cores",
        "command": shlex.join(["bench/training/run.py", *sys.argv[1:]]),
        "threads": options.threads, "dtype": options.precision, "rounds": options.rounds,
        "versions": {"torch": importlib.metadata.version("torch")},
        "ratio": "PyTorch's time over hone's: above 1, hone is faster; Hodges-Lehmann, 95 % signed-rank interval",
        "steps": {},
    }
    print(f"{'median ms':<12}{'hone':>10}{'torch':>10}  ratio", flush=True)
    with tempfile.TemporaryDirectory() as temporary:
        folder = options.folder or pathlib.Path(temporary)
        folder.mkdir(parents=True, exist_ok=True)
        for name in options.steps:
            report["steps"][name] = Step(name, folder, options).compare()
            print_row(name, report["steps"][name])
            report["geometric_mean"] = geometric_means(report["steps"])
            if options.json:  # after every step: what a run that is cut short has measured can be read
                options.json.write_text(json.dumps(report, indent=1, ensure_ascii=False) + "\n")
    print("geometric mean {ratio:.3f}, of minima {of_minima:.3f}, of CPU {of_cpu:.3f}".format(**report["geometric_mean"]))


if __name__ == "__main__":
    main()
