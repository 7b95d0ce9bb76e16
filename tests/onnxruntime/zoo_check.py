#!/usr/bin/env python3
"""Checks the zoo against ONNX Runtime: the files are valid, outputs are sane, and `hone run` agrees.

Needs the packages of tests/onnxruntime/requirements.txt and a built program.
Usage: tests/onnxruntime/zoo_check.py [--hone build/hone] [--limit 1e-4] [--fusions] [NAME …]
"""
import argparse
import collections
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy
import onnx
import onnxruntime

ROOT = Path(__file__).resolve().parent.parent.parent
SANE = (1e-3, 1e3)  # the range for the standard deviation of every output


def command_line():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--hone", default=str(ROOT / "build" / "hone"))
    parser.add_argument("--limit", type=float, default=1e-4, help="largest relative L2 difference")
    parser.add_argument("--fusions", action="store_true", help="show the operators after ONNX Runtime's fusions")
    parser.add_argument("names", nargs="*", help="models (default: all)")
    return parser.parse_args()


def zoo_names(hone):
    listed = subprocess.run([hone, "zoo", "--list"], check=True, capture_output=True, text=True).stdout
    return [line.split()[0] for line in listed.splitlines()]


def make_inputs(session, random):
    """Normal pixels; token ids; a mask whose last quarter is padding; the second half is the second segment."""
    inputs = {}
    for value in session.get_inputs():
        shape = [extent if isinstance(extent, int) else 1 for extent in value.shape]
        if value.type == "tensor(float)":
            inputs[value.name] = random.standard_normal(shape).astype(numpy.float32)
            continue
        ids = random.integers(0, 1000, shape)
        if "mask" in value.name:
            ids = numpy.broadcast_to(numpy.arange(shape[-1]) < shape[-1] * 3 // 4, shape)
        elif "type" in value.name:
            ids = numpy.broadcast_to(numpy.arange(shape[-1]) >= shape[-1] // 2, shape)
        inputs[value.name] = numpy.ascontiguousarray(ids).astype(numpy.int64)
    return inputs


def run_hone(hone, model, inputs, names, folder):
    command = [hone, "run", str(model), "--out", str(folder)]
    for index, (name, data) in enumerate(inputs.items()):
        file = folder / f"in_{index}.npy"  # not by name: "gpu_0/data_0" is one
        numpy.save(file, data)
        command += ["--input", f"{name}={file}"]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    files = [re.sub(r"[^A-Za-z0-9_.-]", "_", name) + ".npy" for name in names]
    return [numpy.load(folder / file) for file in files], done.stdout.splitlines()[-1]


def show_fusions(model, folder):
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_ENABLE_EXTENDED
    options.optimized_model_filepath = str(folder / "optimized.onnx")
    onnxruntime.InferenceSession(str(model), options, providers=["CPUExecutionProvider"])
    nodes = onnx.load(folder / "optimized.onnx", load_external_data=False).graph.node
    counts = collections.Counter(node.op_type for node in nodes)
    print("  ONNX Runtime makes it " + ", ".join(f"{count} {op}" for op, count in counts.most_common()))


def check(name, options, folder):
    """Prints what it found; returns the complaints."""
    model = folder / f"{name}.onnx"
    start = time.monotonic()
    subprocess.run([options.hone, "zoo", name, "-o", str(model)], check=True, stdout=subprocess.DEVNULL)
    written = time.monotonic() - start
    onnx.checker.check_model(str(model), full_check=True)
    session = onnxruntime.InferenceSession(str(model), providers=["CPUExecutionProvider"])
    inputs = make_inputs(session, numpy.random.default_rng(0))
    names = [output.name for output in session.get_outputs()]
    expected = session.run(None, inputs)
    actual, how = run_hone(options.hone, model, inputs, names, folder)
    size = model.stat().st_size / 1e6
    print(f"{name}: {size:.1f} MB written in {written:.1f} s; {how}")
    complaints = []
    for output, want, got in zip(names, expected, actual):
        deviation = float(want.std())
        difference = float(numpy.linalg.norm((got - want).astype(numpy.float64)) / numpy.linalg.norm(want))
        print(f"  {output} {list(want.shape)}: deviation {deviation:.3g}, hone differs by {difference:.1e}")
        if not numpy.isfinite(want).all() or not SANE[0] < deviation < SANE[1]:
            complaints.append(f"{name}: {output} is not sane")
        if want.shape != got.shape or not difference <= options.limit:
            complaints.append(f"{name}: {output} differs by more than {options.limit}")
    if options.fusions:
        show_fusions(model, folder)
    return complaints


def main():
    options = command_line()
    complaints = []
    for name in options.names or zoo_names(options.hone):
        with tempfile.TemporaryDirectory() as folder:
            complaints += check(name, options, Path(folder))
    for complaint in complaints:
        print(complaint, file=sys.stderr)
    return 1 if complaints else 0


if __name__ == "__main__":
    sys.exit(main())
