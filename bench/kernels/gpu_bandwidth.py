#!/usr/bin/env python3
"""What of a GPU's memory bandwidth hone's own kernels reach, operator by operator, on tensors that no cache holds.

gpu_bandwidth.py [--hone build/hone] [--ops NAME…] [--mb N] [--json FILE]

Each model is one operator; its time is the median of a replayed plan (hone bench), its bytes are what it must read and
write. The bandwidth to reach is that of a copy, as `hone ceilings --device cuda` measures it. Needs the package onnx.
"""
import argparse
import datetime
import json
import pathlib
import shlex
import subprocess
import sys
import tempfile

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
F16, F32 = TensorProto.FLOAT16, TensorProto.FLOAT
SIZES = {F16: 2, F32: 4, TensorProto.INT64: 8, TensorProto.INT32: 4}


def model_of(nodes, inputs, outputs, constants=()):
    """A model of these nodes; inputs and outputs as (name, type, shape)."""
    infos = [[helper.make_tensor_value_info(*value) for value in values] for values in (inputs, outputs)]
    graph = helper.make_graph(nodes, "one", infos[0], infos[1], [numpy_helper.from_array(a, n) for n, a in constants])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10)


def one(op, dtype, shape, out_shape=None, constants=(), more=(), **attributes):
    """One operator on x, with constants behind it, and `more` inputs of x's type and shape."""
    names = ["x", *more]
    node = helper.make_node(op, [*names, *(name for name, _ in constants)], ["y"], **attributes)
    return model_of([node], [(name, dtype, shape) for name in names], [("y", dtype, out_shape or shape)], constants)


def chain(dtype, shape):
    """y = relu(x * w + b) * x: one pointwise kernel."""
    numpy = np.float16 if dtype == F16 else np.float32
    constants = [("w", np.ones(shape[-1:], numpy)), ("b", np.ones(shape[-1:], numpy))]
    nodes = [helper.make_node("Mul", ["x", "w"], ["m"]), helper.make_node("Add", ["m", "b"], ["a"]),
             helper.make_node("Relu", ["a"], ["r"]), helper.make_node("Mul", ["r", "x"], ["y"])]
    return model_of(nodes, [("x", dtype, shape)], [("y", dtype, shape)], constants)


def batch_norm(dtype, shape):
    numpy = np.float32
    constants = [(name, np.ones(shape[1], numpy)) for name in ("scale", "bias", "mean", "variance")]
    return one("BatchNormalization", dtype, shape, constants=constants)


def models(dtype, mb):
    """Models by name; so many MB of x each, a multiple of 128, which is twice an H200's L2 cache."""
    half = dtype == F16
    rows, columns = mb // 128 * (65536 if half else 32768), 1024
    numpy = np.float16 if half else np.float32
    per_row = [("scale", np.ones(columns, numpy)), ("bias", np.zeros(columns, numpy))]
    images = [mb // 128 * (32 if half else 16), 128, 128, 128]
    return {
        "pointwise": chain(dtype, [rows, columns]),
        "add": one("Add", dtype, [rows, columns], more=["z"]),
        "gelu": one("Gelu", dtype, [rows, columns]),
        "layer_norm": one("LayerNormalization", dtype, [rows, columns], constants=per_row),
        "rms_norm": one("RMSNormalization", dtype, [rows, columns], constants=per_row[:1])
        if onnx.defs.onnx_opset_version() >= 23 else None,
        "softmax": one("Softmax", dtype, [rows, columns]),
        "softmax_of_columns": one("Softmax", dtype, [mb // 2, 1024, columns if half else columns // 2], axis=1),
        "batch_norm": batch_norm(F32, images) if not half else None,
        "transpose": one("Transpose", dtype, [rows, columns], [columns, rows], perm=[1, 0]),
        "transpose_heads": one("Transpose", dtype, [64, rows // 64, 16, 64], [64, 16, rows // 64, 64], perm=[0, 2, 1, 3]),
        "to_channels_last": one("Transpose", dtype, images, [images[0], images[2], images[3], images[1]], perm=[0, 2, 3, 1]),
        "sum_of_rows": one("ReduceSum", dtype, [rows, columns], [rows, 1], constants=[("axes", np.array([1]))]),
        "sum_of_columns": one("ReduceSum", dtype, [rows, columns], [1, columns], constants=[("axes", np.array([0]))]),
        "max_pool": one("MaxPool", dtype, images, [*images[:2], 64, 64], kernel_shape=[2, 2], strides=[2, 2]),
        "resize": one("Resize", dtype, [*images[:2], 64, 64], images, mode="nearest",
                      constants=[("roi", np.zeros(0, np.float32)), ("scales", np.array([1, 1, 2, 2], np.float32))]),
        "pad": one("Pad", dtype, [rows, columns], [rows, columns + 64],
                   constants=[("pads", np.array([0, 32, 0, 32], np.int64))]),
        "concat": one("Concat", dtype, [rows, columns], [rows, 2 * columns], more=["z"], axis=1),
        "gather": one("Gather", dtype, [rows, columns],
                      constants=[("indices", np.random.default_rng(1).permutation(rows).astype(np.int64))]),
    }


def bytes_of(model):
    """What must be read and written: inputs, constants, outputs."""
    total = 0
    for value in [*model.graph.input, *model.graph.output]:
        kind = value.type.tensor_type
        total += SIZES[kind.elem_type] * int(np.prod([d.dim_value for d in kind.shape.dim], dtype=np.int64))
    return total + sum(len(constant.raw_data) for constant in model.graph.initializer)


def said_by(command, folder):
    """The JSON that a command of hone's writes."""
    file = folder / "said.json"
    file.unlink(missing_ok=True)
    ended = subprocess.run([*command, "--json", file], capture_output=True, text=True)
    if ended.returncode != 0:
        raise RuntimeError((ended.stderr or ended.stdout).strip().split("\n")[-1])
    return json.loads(file.read_text())


def copy_bandwidth(hone, folder):
    """Bytes a second, read and written, of a copy within the device's memory."""
    roofs = said_by([hone, "ceilings", "--device", "cuda"], folder)
    return next(row["bytes_per_s"]["median"] for row in roofs["memory"] if (row["level"], row["operation"]) == ("DRAM", "copy"))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--hone", type=pathlib.Path, default=ROOT / "build" / "hone")
    parser.add_argument("--ops", nargs="+", metavar="NAME")
    parser.add_argument("--mb", type=int, default=512, help="of each input; a multiple of 128 (default 512)")
    parser.add_argument("--json", type=pathlib.Path)
    options = parser.parse_args()
    if options.mb < 128 or options.mb % 128:
        parser.error("--mb: a multiple of 128")
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        copy = copy_bandwidth(options.hone, folder)
        gpu = subprocess.run(["nvidia-smi", "--query-gpu=name,driver_version,power.limit,clocks.max.sm", "--format=csv,noheader"],
                             capture_output=True, text=True).stdout.split("\n")[0]
        report = {"schema": 1, "date": datetime.date.today().isoformat(), "machine": gpu,
                  "command": shlex.join(["bench/kernels/gpu_bandwidth.py", *sys.argv[1:]]), "copy_bytes_per_s": copy, "input_mb": options.mb, "rows": []}
        print(f"{gpu}: a copy moves {copy / 1e12:.2f} TB/s")
        for kind, label in ((F16, "fp16"), (F32, "f32")):
            for op, model in models(kind, options.mb).items():
                if model is None or (options.ops and op not in options.ops):
                    continue
                path = folder / "model.onnx"
                onnx.save(model, path)
                row = {"op": op, "type": label, "bytes": bytes_of(model)}
                try:
                    said = said_by([options.hone, "bench", path, "--device", "cuda", "--budget", "0.5"], folder)
                    row["p50_ms"] = said["latency_ms"]["p50"]
                    row["bytes_per_s"] = row["bytes"] / (row["p50_ms"] * 1e-3)
                    row["of_copy"] = row["bytes_per_s"] / copy
                    print(f"{op:<20}{label:<6}{row['p50_ms']:>9.3f} ms {row['bytes_per_s'] / 1e12:>7.2f} TB/s {row['of_copy']:>6.0%}",
                          *(["on the host"] if said["on_host"] else []), flush=True)
                except RuntimeError as error:
                    row["failed"] = str(error)
                    print(f"{op:<20}{label:<6}failed: {error}", flush=True)
                report["rows"].append(row)
        if options.json:
            options.json.write_text(json.dumps(report, indent=1) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
