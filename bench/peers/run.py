#!/usr/bin/env python3
"""hone against ONNX Runtime, OpenVINO and torch.compile on the zoo's models: f32, batch 1, the same threads.

Each runtime is a process of its own (worker.py; `hone bench --on-request`), because the waiting threads of one spin
into the others' time. In every round each runs one slot, in random order, while the others block. The ratio is that of
the slots of one round, so what disturbs the machine for longer than a round cancels.

run.py [--models NAME…] [--peers NAME…] [--rounds N] [--json FILE]       (README.md says how to set it up)
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
import time

import numpy as np
import onnx

from paired import ratio

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
MODELS = ["unet", "resnet50", "mobilenet_v2", "bert_base", "minilm", "gpt2", "vit"]
# A peer and the ways to run it; the fastest on a model stands for it there.
PEERS = {"ort": ["ort"], "openvino": ["openvino"], "torch": ["torch", "torch-max-autotune"]}
PACKAGES = {"ort": "onnxruntime", "openvino": "openvino", "torch": "torch"}
SETTLE_MS, SETTLE_CALLS = 30, 2  # unmeasured, before a slot: caches and threads as in steady use
SLOT_MS, SLOT_CALLS = 150, 3
PAUSE_S = 0.05  # before a slot: the threads of the runtime before have gone to sleep
TOLERANCE = 1e-3  # relative L2 between hone's outputs and a peer's
DISTURBED = 0.05  # share of the CPU time that other processes may have without a warning


class Worker:
    """A process that measures on request."""

    def __init__(self, name, command, log):
        self.name = name
        self.log = log
        # Large outputs stay in the heap: glibc would map and unmap them, and fault every page, at each step.
        environment = dict(os.environ, MALLOC_MMAP_THRESHOLD_="33554432", MALLOC_TRIM_THRESHOLD_="4294967296",
                           TORCHINDUCTOR_CACHE_DIR=str(log.parent / "inductor"))
        with open(log, "w") as errors:
            self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=errors,
                                            text=True, env=environment)
        if self.answer() != "ready":
            raise RuntimeError(f"{name} is not ready; see {log}")

    def answer(self):
        line = self.process.stdout.readline()
        if not line:
            raise RuntimeError(f"{self.name} ended:\n{self.log.read_text()[-2000:]}")
        return line.strip()

    def measure(self, calls):
        self.process.stdin.write(f"{calls}\n")
        self.process.stdin.flush()
        return float(self.answer())

    def calibrate(self):
        """Decides how many calls make a slot; returns the milliseconds of one."""
        self.measure(2)
        ms = min(self.measure(max(2, math.ceil(100 / self.measure(2)))) for _ in range(2))
        self.settle_calls = max(SETTLE_CALLS, math.ceil(SETTLE_MS / ms))
        self.slot_calls = max(SLOT_CALLS, math.ceil(SLOT_MS / ms))
        return ms

    def slot(self):
        time.sleep(PAUSE_S)
        self.measure(self.settle_calls)
        return self.measure(self.slot_calls)

    def cpu_ticks(self):
        """CPU time so far, of all its threads."""
        fields = pathlib.Path(f"/proc/{self.process.pid}/stat").read_text().rpartition(")")[2].split()
        return int(fields[11]) + int(fields[12])

    def close(self):
        self.process.stdin.close()
        self.process.wait()


def make_inputs(model):
    """Arrays for the model's inputs, by name: batch 1, words and pixels at random, nothing masked."""
    generator = np.random.default_rng(1)
    inputs = {}
    for value in onnx.load(model, load_external_data=False).graph.input:
        shape = [dim.dim_value or 1 for dim in value.type.tensor_type.shape.dim]
        if value.type.tensor_type.elem_type == onnx.TensorProto.FLOAT:
            inputs[value.name] = generator.standard_normal(shape, dtype=np.float32)
        else:
            low, high = {"attention_mask": (1, 2), "token_type_ids": (0, 1)}.get(value.name, (0, 30000))
            inputs[value.name] = generator.integers(low, high, shape, dtype=np.int64)
    return inputs


class OthersCpu:
    """Which share of the machine's CPU time goes to processes other than the workers."""

    def __init__(self, workers):
        self.workers = workers
        self.start = self.ticks()

    def ticks(self):
        times = [int(field) for field in pathlib.Path("/proc/stat").read_text().splitlines()[0].split()[1:9]]
        idle = times[3] + times[4]
        return np.array([sum(times), sum(times) - idle - sum(worker.cpu_ticks() for worker in self.workers)])

    def share(self):
        total, others = self.ticks() - self.start
        return round(max(0.0, float(others / total)), 4)


def relative_l2(outputs, reference):
    """The worst over the outputs."""
    return max(float(np.linalg.norm(outputs[name] - expected) / np.linalg.norm(expected))
               for name, expected in reference.items())


class Model:
    """One model's files in the working folder, and the runtimes started on them."""

    def __init__(self, name, options, folder):
        self.name, self.options, self.folder = name, options, folder
        self.path = folder / f"{name}.onnx"
        if not self.path.exists():
            subprocess.run([options.hone, "zoo", name, "-o", self.path], check=True, stdout=subprocess.DEVNULL)
        self.inputs = make_inputs(self.path)
        np.savez(folder / f"{name}.inputs.npz", **self.inputs)
        self.outputs = {}

    def start_hone(self):
        out = self.folder / f"{self.name}.hone"
        command = [self.options.hone, "run", self.path, "--out", out, "--threads", str(self.options.threads)]
        for name, value in self.inputs.items():
            np.save(self.folder / f"{name}.npy", value)
            command += ["--input", f"{name}={self.folder / name}.npy"]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
        self.outputs["hone"] = {file.stem: np.load(file) for file in out.glob("*.npy")}
        return Worker("hone", [self.options.hone, "bench", self.path, "--on-request", "--threads",
                               str(self.options.threads)], self.folder / f"{self.name}.hone.log")

    def start(self, way):
        outputs = self.folder / f"{self.name}.{way}.npz"
        worker = Worker(way, [sys.executable, HERE / "worker.py", way, self.path,
                              self.folder / f"{self.name}.inputs.npz", outputs, str(self.options.threads)],
                        self.folder / f"{self.name}.{way}.log")
        self.outputs[way] = dict(np.load(outputs))
        return worker

    def start_fastest(self, peer):
        """The peer in its fastest way, and how long a call took in each."""
        best, times = None, {}
        for way in PEERS[peer]:
            worker = self.start(way)
            times[way] = worker.calibrate()
            loser = worker
            if best is None or times[way] < times[best.name]:
                best, loser = worker, best
            if loser is not None:
                loser.close()
        return best, times

    def compare(self):
        """Runs the rounds; returns the results as they stand in the JSON file."""
        with contextlib.ExitStack() as open_workers:
            workers, ways = {}, {}
            for peer in self.options.peers:
                workers[peer], ways[peer] = self.start_fastest(peer)
                open_workers.callback(workers[peer].close)
            workers["hone"] = self.start_hone()
            open_workers.callback(workers["hone"].close)
            for worker in workers.values():
                worker.calibrate()
            others = OthersCpu(workers.values())
            slots = {name: [] for name in workers}
            for _ in range(self.options.rounds):
                for name in random.sample(list(workers), len(workers)):
                    slots[name].append(workers[name].slot())
            result = {"inputs": {name: list(value.shape) for name, value in self.inputs.items()},
                      "others_cpu": others.share(), "runtimes": {}}
        reference = self.outputs["hone"]
        for name, times in slots.items():
            entry = {"p50_ms": float(np.median(times)), "slots_ms": [round(ms, 5) for ms in times]}
            if name != "hone":
                entry |= {"way": workers[name].name, "ways_ms": ways[name], "ratio": ratio(times, slots["hone"]),
                          "rel_l2": relative_l2(self.outputs[workers[name].name], reference)}
            result["runtimes"][name] = entry
        return result


def print_row(name, result, peers):
    runtimes = result["runtimes"]
    cells = [f"{name:<13}{runtimes['hone']['p50_ms']:>9.3f}"]
    for peer in peers:
        r = runtimes[peer]["ratio"]
        cells.append(f"{runtimes[peer]['p50_ms']:>9.3f}  {r['median']:.3f} ({r['low']:.3f}–{r['high']:.3f})")
    worst = max(runtimes[peer]["rel_l2"] for peer in peers)
    best = min(peers, key=lambda peer: runtimes[peer]["p50_ms"])
    remarks = ["OUTPUTS DIFFER"] if worst > TOLERANCE else []
    if result["others_cpu"] > DISTURBED:
        remarks.append(f"disturbed: {result['others_cpu']:.0%} of the CPU went to other processes")
    print("  ".join(cells) + f"  {best:<9} {worst:.1e}", *remarks, sep="  ", flush=True)


def geometric_means(models, peers):
    def mean(ratios):
        return math.exp(sum(map(math.log, ratios)) / len(ratios))
    rows = [model["runtimes"] for model in models.values()]
    means = {peer: mean([row[peer]["ratio"]["median"] for row in rows]) for peer in peers}
    means["best of them"] = mean([min(row[peer]["ratio"]["median"] for peer in peers) for row in rows])
    return means


def processor():
    for line in pathlib.Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            return line.split(":")[1].strip()
    return "unknown"


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--models", nargs="+", choices=MODELS, default=MODELS, metavar="NAME")
    parser.add_argument("--peers", nargs="+", choices=list(PEERS), default=list(PEERS), metavar="NAME")
    parser.add_argument("--rounds", type=int, default=15, help="default 15; fewer than 6 give no interval")
    parser.add_argument("--threads", type=int, default=len(os.sched_getaffinity(0)), help="default: every core")
    parser.add_argument("--hone", type=pathlib.Path, default=ROOT / "build" / "hone", help="default: build/hone")
    parser.add_argument("--folder", type=pathlib.Path, help="where models and logs stay (default: a temporary folder)")
    parser.add_argument("--json", type=pathlib.Path, help="also write the results to this file")
    return parser.parse_args()


def main():
    options = arguments()
    commit = subprocess.run(["git", "-C", ROOT, "describe", "--always", "--dirty"], capture_output=True, text=True)
    versions = {peer: importlib.metadata.version(PACKAGES[peer]) for peer in options.peers}
    report = {
        "schema": 1,
        "date": datetime.date.today().isoformat(),
        "commit": commit.stdout.strip(),
        "machine": f"{processor()}, {os.cpu_count()} cores",
        "command": shlex.join(["bench/peers/run.py", *sys.argv[1:]]),
        "threads": options.threads, "batch": 1, "dtype": "f32", "rounds": options.rounds,
        "versions": versions,
        "ratio": "a peer's time over hone's: above 1, hone is faster; Hodges-Lehmann, 95 % signed-rank interval",
        "models": {},
    }
    print(f"{'p50 in ms':<13}{'hone':>9}", *(f"{peer + ' ' + versions[peer] + ', ratio':>31}" for peer in options.peers),
          " best peer worst relative L2")
    agree = True
    with contextlib.ExitStack() as stack:
        folder = options.folder or pathlib.Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="hone-peers-")))
        folder.mkdir(parents=True, exist_ok=True)
        for name in options.models:
            result = report["models"][name] = Model(name, options, folder).compare()
            print_row(name, result, options.peers)
            agree &= all(result["runtimes"][peer]["rel_l2"] <= TOLERANCE for peer in options.peers)
    report["geometric_mean"] = geometric_means(report["models"], options.peers)
    print("geometric mean of the ratios:", ", ".join(f"{peer} {mean:.3f}"
                                                     for peer, mean in report["geometric_mean"].items()))
    if options.json:
        options.json.write_text(json.dumps(report, indent=1, ensure_ascii=False) + "\n")
    return 0 if agree else 1


if __name__ == "__main__":
    sys.exit(main())
