#!/usr/bin/env python3
"""hone against ONNX Runtime, OpenVINO and torch.compile on the zoo's models: f32, batch 1, the same threads. With
--device cuda on an NVIDIA GPU, against PyTorch eager and compiled, ONNX Runtime and TensorRT (gpu.py).

Each runtime is a process of its own (worker.py; `hone bench --on-request`), because the waiting threads of one spin
into the others' time. In every round each runs one slot, in random order, while the others block. The ratio is that of
the slots of one round, so what disturbs the machine for longer than a round cancels.

run.py [--models NAME…] [--peers NAME…] [--rounds N] [--json FILE]       (README.md says how to set it up)
run.py --device cuda [--type fp16] [--batches 1 8 …]
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

import gpu
from paired import ratio
from processes import OthersCpu, Worker, WorkerFailed
from progress import Progress

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
MODELS = ["unet", "resnet50", "mobilenet_v2", "bert_base", "minilm", "gpt2", "vit"]
# A peer and the ways to run it; the fastest on a model stands for it there.
PEERS = {"ort": ["ort"], "openvino": ["openvino"], "torch": ["torch", "torch-max-autotune"]}
PACKAGES = {"ort": "onnxruntime", "openvino": "openvino", "torch": "torch"}
TOLERANCE = {"f32": 1e-3, "fp16": 2e-2, "bf16": 5e-2}  # relative L2 between hone's outputs and a peer's
DISTURBED = 0.05  # share of the CPU time that other processes may have without a warning


def make_inputs(model, batch):
    """Arrays for the model's inputs, by name: words and pixels at random, nothing masked."""
    generator = np.random.default_rng(1)
    inputs = {}
    for value in onnx.load(model, load_external_data=False).graph.input:
        shape = [dim.dim_value or batch for dim in value.type.tensor_type.shape.dim]
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

    def __init__(self, name, batch, options, folder, missing_packages, progress):
        self.name, self.batch, self.options = name, batch, options
        self.folder = folder / f"batch{batch}"  # names of models stay: torch_models knows them by these
        self.folder.mkdir(exist_ok=True)
        self.missing_packages, self.progress = missing_packages, progress
        self.path = self.folder / f"{name}.onnx"
        if not self.path.exists():
            subprocess.run([options.hone, "zoo", name, "-o", self.path], check=True, stdout=subprocess.DEVNULL)
        self.inputs = make_inputs(self.path, batch)
        np.savez(self.folder / f"{name}.inputs.npz", **self.inputs)
        self.outputs = {}

    def narrowed(self, name, program):
        """The model in the type asked for, as hone's lab writes it: it measures which operators must stay in f32."""
        out = self.folder / f"{self.name}.{name}.lab"
        symbols = {dim.dim_param for value in onnx.load(self.path, load_external_data=False).graph.input
                   for dim in value.type.tensor_type.shape.dim if dim.dim_param}
        bound = [word for symbol in sorted(symbols) for word in ("--bind", f"{symbol}={self.batch}")]
        subprocess.run([program, "lab", self.path, "--device", self.options.device, "--lossy", self.options.type, *bound,
                        "--budget", "30", "--out", out], check=True, stdout=subprocess.DEVNULL)
        return out / "optimised.onnx"

    def start_hone(self, name, program):
        self.progress.say(f"starting {name}")
        out = self.folder / f"{self.name}.{name}"
        model = self.path if self.options.type == "f32" else self.narrowed(name, program)
        where = ["--device", self.options.device, "--threads", str(self.options.threads)]
        command = [program, "run", model, "--out", out, *where]
        for tensor, value in self.inputs.items():
            np.save(self.folder / f"{tensor}.npy", value)
            command += ["--input", f"{tensor}={self.folder / tensor}.npy"]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
        self.outputs[name] = {file.stem: np.load(file) for file in out.glob("*.npy")}
        batch = ["--batch", str(self.batch)] if model == self.path and self.batch > 1 else []
        return Worker(name, [program, "bench", model, "--on-request", *where, *batch],
                      self.folder / f"{self.name}.{name}.log")

    def start(self, way):
        outputs = self.folder / f"{self.name}.{way}.npz"
        worker = Worker(way, [sys.executable, HERE / "worker.py", way, self.path,
                              self.folder / f"{self.name}.inputs.npz", outputs, str(self.options.threads),
                              *([self.options.type] if self.options.device == "cuda" else [])],
                        self.folder / f"{self.name}.{way}.log")
        self.outputs[way] = dict(np.load(outputs))
        return worker

    def ways(self, peer):
        """The ways to run the peer. Without images, one with channels last is the one without them again."""
        ways = [way for way in peers_on(self.options.device)[peer] if not self.options.ways or way in self.options.ways]
        images = any(value.ndim == 4 for value in self.inputs.values())
        return ways if images else [way for way in ways if not way.endswith("channels-last")]

    def start_fastest(self, peer):
        """The peer in its fastest way; how long a call took in each; why a way could not be measured."""
        if peer == "before":
            return self.start_hone(peer, self.options.before), {}
        best, times, failed = None, {}, {}
        for way in self.ways(peer):
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
            raise WorkerFailed("; ".join(failed.values()) or "none of its ways was asked for (--ways)")
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
            watch = open_workers.enter_context(gpu.Watch()) if self.options.device == "cuda" else None
            slots = self.run_rounds(workers, missing)
            result = {"inputs": {name: list(value.shape) for name, value in self.inputs.items()}, "batch": self.batch,
                      "others_cpu": others.share(), "runtimes": {}}
            if watch:
                result["gpu"] = watch.summary()
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


def print_row(name, result, peers, tolerance):
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
    remarks = ["OUTPUTS DIFFER"] if worst > tolerance else []
    if result["others_cpu"] > DISTURBED:
        remarks.append(f"disturbed: {result['others_cpu']:.0%} of the CPU went to other processes")
    print("  ".join(cells) + f"  {best:<9} {worst:.1e}", *remarks, sep="  ", flush=True)
    for peer, reason in missing.items():
        print(f"{'':<13}{peer} is missing: {reason}", flush=True)


def peers_on(device):
    """The peers of a device, with the ways to run each."""
    return gpu.PEERS if device == "cuda" else PEERS


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


def package_versions(peers, device):
    """The version of each peer's package, and why there is none."""
    versions, missing = {}, {}
    packages = gpu.PACKAGES if device == "cuda" else PACKAGES
    for peer in peers:
        if peer not in packages:
            continue
        try:
            versions[peer] = importlib.metadata.version(packages[peer])
        except importlib.metadata.PackageNotFoundError:
            missing[peer] = f"package {packages[peer]} is not installed for {sys.executable}"
    return versions, missing


def processor():
    for line in pathlib.Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            return line.split(":")[1].strip()
    return "unknown"


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--models", nargs="+", choices=MODELS, default=MODELS, metavar="NAME")
    parser.add_argument("--device", choices=["cpu", "cuda"], default="cpu")
    parser.add_argument("--type", choices=list(TOLERANCE), default="f32", help="with --device cuda: what the model computes in")
    parser.add_argument("--batches", type=int, nargs="+", default=[1], metavar="N")
    parser.add_argument("--peers", nargs="*", choices=[*PEERS, *gpu.PEERS], metavar="NAME", help="default: all of the device")
    parser.add_argument("--ways", nargs="+", metavar="WAY", help="only these ways to run the peers (of the file's `ways_ms`)")
    parser.add_argument("--rounds", type=int, default=15, help="default 15; at least 6: fewer give no interval")
    parser.add_argument("--threads", type=int, default=len(os.sched_getaffinity(0)), help="default: every core")
    parser.add_argument("--hone", type=pathlib.Path, default=ROOT / "build" / "hone", help="default: build/hone")
    parser.add_argument("--before", type=pathlib.Path, help="another build of hone, measured like a peer: 'before'")
    parser.add_argument("--folder", type=pathlib.Path, help="where models and logs stay (default: a temporary folder)")
    parser.add_argument("--json", type=pathlib.Path, help="also write the results to this file, after every model")
    options = parser.parse_args()
    if options.rounds < 6:
        parser.error("--rounds: at least 6; fewer give no 95 % interval")
    known = peers_on(options.device)
    options.peers = list(known) if options.peers is None else options.peers
    if strange := [peer for peer in options.peers if peer not in known]:
        parser.error(f"--peers {' '.join(strange)}: not on {options.device}; there are {', '.join(known)}")
    if options.type != "f32" and options.device != "cuda":
        parser.error("--type: the peers on the CPU are measured in f32")
    if options.batches != [1] and options.device != "cuda":
        parser.error("--batches: the peers on the CPU are measured at batch 1")
    if options.before:
        options.peers.append("before")
    return options


def main():
    options = arguments()
    commit = subprocess.run(["git", "-C", ROOT, "describe", "--always", "--dirty"], capture_output=True, text=True)
    versions, missing_packages = package_versions(options.peers, options.device)
    report = {
        "schema": 1,
        "date": datetime.date.today().isoformat(),
        "commit": commit.stdout.strip(),
        "machine": f"{processor()}, {os.cpu_count()} cores" + (f"; {gpu.name()}" if options.device == "cuda" else ""),
        "command": shlex.join(["bench/peers/run.py", *sys.argv[1:]]),
        "threads": options.threads, "device": options.device, "dtype": options.type, "rounds": options.rounds,
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
        named = [(name if batch == 1 else f"{name} x{batch}", name, batch) for name in options.models for batch in options.batches]
        progress = Progress([shown for shown, _, _ in named])
        tolerance = TOLERANCE[options.type]
        for shown, name, batch in named:
            progress.model(shown)
            result = report["models"][shown] = Model(name, batch, options, folder, missing_packages, progress).compare()
            progress.clear()
            print_row(shown, result, options.peers, tolerance)
            agree &= all(result["runtimes"][peer]["rel_l2"] <= tolerance
                         for peer in options.peers if peer in result["runtimes"])
            report["geometric_mean"] = geometric_means(report["models"], options.peers)
            if options.json:
                write_whole(options.json, report)
    print("geometric mean of the ratios:", ", ".join(f"{peer} {mean:.3f}"
                                                     for peer, mean in report["geometric_mean"].items()))
    return 0 if agree else 1


if __name__ == "__main__":
    sys.exit(main())
