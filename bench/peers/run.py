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

import numpy as np
import onnx

from paired import ratio
from processes import OthersCpu, Worker, WorkerFailed
from progress import Progress

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
MODELS = ["unet", "resnet50", "mobilenet_v2", "bert_base", "minilm", "gpt2", "vit"]
# A peer and the ways to run it; the fastest on a model stands for it there.
PEERS = {"ort": ["ort"], "openvino": ["openvino"], "torch": ["torch", "torch-max-autotune"]}
PACKAGES = {"ort": "onnxruntime", "openvino": "openvino", "torch": "torch"}
TOLERANCE = 1e-3  # relative L2 between hone's outputs and a peer's
DISTURBED = 0.05  # share of the CPU time that other processes may have without a warning


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


def relative_l2(outputs, reference):
    """The worst over the outputs."""
    return max(float(np.linalg.norm(outputs[name] - expected) / np.linalg.norm(expected))
               for name, expected in reference.items())


class Model:
    """One model's files in the working folder, and the runtimes started on them."""

    def __init__(self, name, options, folder, missing_packages, progress):
        self.name, self.options, self.folder = name, options, folder
        self.missing_packages, self.progress = missing_packages, progress
        self.path = folder / f"{name}.onnx"
        if not self.path.exists():
            subprocess.run([options.hone, "zoo", name, "-o", self.path], check=True, stdout=subprocess.DEVNULL)
        self.inputs = make_inputs(self.path)
        np.savez(folder / f"{name}.inputs.npz", **self.inputs)
        self.outputs = {}

    def start_hone(self, name, program):
        self.progress.say(f"starting {name}")
        out = self.folder / f"{self.name}.{name}"
        command = [program, "run", self.path, "--out", out, "--threads", str(self.options.threads)]
        for tensor, value in self.inputs.items():
            np.save(self.folder / f"{tensor}.npy", value)
            command += ["--input", f"{tensor}={self.folder / tensor}.npy"]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
        self.outputs[name] = {file.stem: np.load(file) for file in out.glob("*.npy")}
        return Worker(name, [program, "bench", self.path, "--on-request", "--threads", str(self.options.threads)],
                      self.folder / f"{self.name}.{name}.log")

    def start(self, way):
        outputs = self.folder / f"{self.name}.{way}.npz"
        worker = Worker(way, [sys.executable, HERE / "worker.py", way, self.path,
                              self.folder / f"{self.name}.inputs.npz", outputs, str(self.options.threads)],
                        self.folder / f"{self.name}.{way}.log")
        self.outputs[way] = dict(np.load(outputs))
        return worker

    def start_fastest(self, peer):
        """The peer in its fastest way; how long a call took in each; why a way could not be measured."""
        if peer == "before":
            return self.start_hone(peer, self.options.before), {}
        best, times, failed = None, {}, {}
        for way in PEERS[peer]:
            self.progress.say(f"starting {way}")
            try:
                worker = self.start(way)
                times[way] = worker.calibrate()
            except WorkerFailed as failure:
                failed[way] = str(failure)
                continue
            loser = worker
            if best is None or times[way] < times[best.name]:
                best, loser = worker, best
            if loser is not None:
                loser.close()
        if best is None:
            raise WorkerFailed("; ".join(failed.values()))
        return best, {"ways_ms": times} | ({"ways_failed": failed} if failed else {})

    def compare(self):
        """Runs the rounds; returns the results as they stand in the JSON file."""
        missing = dict(self.missing_packages)
        with contextlib.ExitStack() as open_workers:
            workers, ways = {}, {}
            for peer in self.options.peers:
                if peer in missing:
                    continue
                try:
                    workers[peer], ways[peer] = self.start_fastest(peer)
                    open_workers.callback(workers[peer].close)
                except WorkerFailed as failure:
                    missing[peer] = str(failure)
            workers["hone"] = self.start_hone("hone", self.options.hone)
            open_workers.callback(workers["hone"].close)
            for worker in workers.values():
                worker.calibrate()
            others = OthersCpu(list(workers.values()))
            slots = self.run_rounds(workers, missing)
            result = {"inputs": {name: list(value.shape) for name, value in self.inputs.items()},
                      "others_cpu": others.share(), "runtimes": {}}
        reference = self.outputs["hone"]
        for name, times in slots.items():
            entry = {"p50_ms": float(np.median(times)), "slots_ms": [round(ms, 5) for ms in times]}
            if name != "hone":
                entry |= {"way": workers[name].name, **ways[name], "ratio": ratio(times, slots["hone"]),
                          "rel_l2": relative_l2(self.outputs[workers[name].name], reference)}
            result["runtimes"][name] = entry
        if missing:
            result["missing"] = missing
        return result

    def run_rounds(self, workers, missing):
        """The slots of each worker, in milliseconds; a peer that ends meanwhile goes to `missing`."""
        slots = {name: [] for name in workers}
        for done in range(self.options.rounds):
            self.progress.round(done, self.options.rounds)
            for name in random.sample(list(slots), len(slots)):
                try:
                    slots[name].append(workers[name].slot())
                except WorkerFailed as failure:
                    if name == "hone":
                        raise
                    missing[name] = str(failure)
                    del slots[name]
        return slots


def print_row(name, result, peers):
    runtimes, missing = result["runtimes"], result.get("missing", {})
    measured = [peer for peer in peers if peer in runtimes]
    cells = [f"{name:<13}{runtimes['hone']['p50_ms']:>9.3f}"]
    for peer in peers:
        if peer in missing:
            cells.append(f"{'missing':>9}{'':>21}")
            continue
        r = runtimes[peer]["ratio"]
        cells.append(f"{runtimes[peer]['p50_ms']:>9.3f}  {r['median']:.3f} ({r['low']:.3f}–{r['high']:.3f})")
    worst = max((runtimes[peer]["rel_l2"] for peer in measured), default=0.0)
    best = min((peer for peer in measured if peer != "before"), key=lambda peer: runtimes[peer]["p50_ms"], default="none")
    remarks = ["OUTPUTS DIFFER"] if worst > TOLERANCE else []
    if result["others_cpu"] > DISTURBED:
        remarks.append(f"disturbed: {result['others_cpu']:.0%} of the CPU went to other processes")
    print("  ".join(cells) + f"  {best:<9} {worst:.1e}", *remarks, sep="  ", flush=True)
    for peer, reason in missing.items():
        print(f"{'':<13}{peer} is missing: {reason}", flush=True)


def geometric_means(models, peers):
    """Of each peer over the models on which it was measured, and of the best one on each model."""
    rows = [{peer: model["runtimes"][peer]["ratio"]["median"] for peer in peers if peer in model["runtimes"]}
            for model in models.values()]
    ratios = {peer: [row[peer] for row in rows if peer in row] for peer in peers}
    others = [[value for peer, value in row.items() if peer != "before"] for row in rows]
    ratios["best of them"] = [min(row) for row in others if row]
    return {peer: math.exp(sum(map(math.log, values)) / len(values)) for peer, values in ratios.items() if values}


def write_whole(path, report):
    """The file is whole at every moment: what a run that is cut short has measured can be read."""
    part = path.with_name(path.name + ".part")
    part.write_text(json.dumps(report, indent=1, ensure_ascii=False) + "\n")
    part.replace(path)


def package_versions(peers):
    """The version of each peer's package, and why there is none."""
    versions, missing = {}, {}
    for peer in peers:
        if peer not in PACKAGES:
            continue
        try:
            versions[peer] = importlib.metadata.version(PACKAGES[peer])
        except importlib.metadata.PackageNotFoundError:
            missing[peer] = f"package {PACKAGES[peer]} is not installed for {sys.executable}"
    return versions, missing


def processor():
    for line in pathlib.Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            return line.split(":")[1].strip()
    return "unknown"


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--models", nargs="+", choices=MODELS, default=MODELS, metavar="NAME")
    parser.add_argument("--peers", nargs="*", choices=list(PEERS), default=list(PEERS), metavar="NAME")
    parser.add_argument("--rounds", type=int, default=15, help="default 15; at least 6: fewer give no interval")
    parser.add_argument("--threads", type=int, default=len(os.sched_getaffinity(0)), help="default: every core")
    parser.add_argument("--hone", type=pathlib.Path, default=ROOT / "build" / "hone", help="default: build/hone")
    parser.add_argument("--before", type=pathlib.Path, help="another build of hone, measured like a peer: 'before'")
    parser.add_argument("--folder", type=pathlib.Path, help="where models and logs stay (default: a temporary folder)")
    parser.add_argument("--json", type=pathlib.Path, help="also write the results to this file, after every model")
    options = parser.parse_args()
    if options.rounds < 6:
        parser.error("--rounds: at least 6; fewer give no 95 % interval")
    if options.before:
        options.peers.append("before")
    return options


def main():
    options = arguments()
    commit = subprocess.run(["git", "-C", ROOT, "describe", "--always", "--dirty"], capture_output=True, text=True)
    versions, missing_packages = package_versions(options.peers)
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
    print(f"{'p50 in ms':<13}{'hone':>9}",
          *(f"{peer + ' ' + versions.get(peer, '') + ', ratio':>31}" for peer in options.peers),
          " best peer worst relative L2", flush=True)
    agree = True
    with contextlib.ExitStack() as stack:
        folder = options.folder or pathlib.Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="hone-peers-")))
        folder.mkdir(parents=True, exist_ok=True)
        progress = Progress(options.models)
        for name in options.models:
            progress.model(name)
            result = report["models"][name] = Model(name, options, folder, missing_packages, progress).compare()
            progress.clear()
            print_row(name, result, options.peers)
            agree &= all(result["runtimes"][peer]["rel_l2"] <= TOLERANCE
                         for peer in options.peers if peer in result["runtimes"])
            report["geometric_mean"] = geometric_means(report["models"], options.peers)
            if options.json:
                write_whole(options.json, report)
    print("geometric mean of the ratios:", ", ".join(f"{peer} {mean:.3f}"
                                                     for peer, mean in report["geometric_mean"].items()))
    return 0 if agree else 1


if __name__ == "__main__":
    sys.exit(main())
