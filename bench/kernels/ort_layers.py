#!/usr/bin/env python3
"""ONNX Runtime on the layers that bench_onednn timed: one single-node model each, intra-op threads as there.

Its own profiler times the node, so that the reorders to and from its blocked format, which a whole model does once
and not once a layer, stay out of the figures.

ort_layers.py LAYERS.json [--seconds S] > ORT.json      LAYERS.json is bench_onednn's output, which names the layers.
"""
import argparse
import json
import re
import sys
import tempfile
import time

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper
import onnxruntime as ort


def conv_model(name):
    text = re.match(r"\S+ (dw)?(\d+)x\d+(?:s(\d+))? (\d+)(?:-(\d+))? (\d+)$", name)
    depthwise, kernel, stride, c_in, c_out, side = text.groups()
    kernel, stride, c_in, side = (int(part) for part in (kernel, stride or 1, c_in, side))
    c_out = int(c_out or c_in)
    groups = c_in if depthwise else 1
    rng = np.random.default_rng(0)
    weights = rng.standard_normal((c_out, c_in // groups, kernel, kernel), dtype=np.float32)
    bias = rng.standard_normal(c_out, dtype=np.float32)
    pad = kernel // 2
    nodes = [
        helper.make_node("Conv", ["x", "w", "b"], ["c"], kernel_shape=[kernel, kernel], strides=[stride, stride],
                         pads=[pad] * 4, group=groups),
        helper.make_node("Relu", ["c"], ["y"]),
    ]
    out = (side + 2 * pad - kernel) // stride + 1
    graph = helper.make_graph(
        nodes, "layer",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, c_in, side, side])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, [1, c_out, out, out])],
        [numpy_helper.from_array(weights, "w"), numpy_helper.from_array(bias, "b")])
    return graph, {"x": rng.standard_normal((1, c_in, side, side), dtype=np.float32)}


def matmul_model(name):
    extents = [int(part) for part in name.split()[1 if name.count(" ") == 1 else 2].split("x")]
    rng = np.random.default_rng(0)
    *batch, m, k, n = extents
    a = rng.standard_normal((*batch, m, k), dtype=np.float32)
    b = rng.standard_normal((*batch, k, n), dtype=np.float32)
    inputs = [helper.make_tensor_value_info("x", TensorProto.FLOAT, a.shape)]
    output = helper.make_tensor_value_info("y", TensorProto.FLOAT, [*batch, m, n])
    if batch:
        inputs.append(helper.make_tensor_value_info("w", TensorProto.FLOAT, b.shape))
        return helper.make_graph([helper.make_node("MatMul", ["x", "w"], ["y"])], "layer", inputs, [output]), {"x": a, "w": b}
    bias = rng.standard_normal(n, dtype=np.float32)
    nodes = [helper.make_node("Gemm", ["x", "w", "b"], ["y"])]
    return helper.make_graph(nodes, "layer", inputs, [output],
                             [numpy_helper.from_array(b, "w"), numpy_helper.from_array(bias, "b")]), {"x": a}


def session_of(graph, threads, profile_prefix):
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)
    options = ort.SessionOptions()
    options.intra_op_num_threads = threads
    options.inter_op_num_threads = 1
    options.enable_profiling = True
    options.profile_file_prefix = profile_prefix
    return ort.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])


def node_times(profile):
    """Microseconds of each run of the layer's own node, in the order of the runs."""
    events = json.load(open(profile))
    return [event["dur"] for event in events
            if event.get("cat") == "Node" and event["name"].endswith("_kernel_time")
            and "Reorder" not in event["args"]["op_name"]]


def time_layer(layer, threads, seconds):
    name = layer["layer"]
    is_product = re.search(r" \d+x\d+x\d+(x\d+)?$", name)
    graph, feeds = matmul_model(name) if is_product else conv_model(name)
    with tempfile.TemporaryDirectory() as folder:
        session = session_of(graph, threads, folder + "/ort")
        runs = 0
        start = time.perf_counter()
        while runs < 15 or (time.perf_counter() - start < seconds and runs < 2000):
            session.run(None, feeds)
            runs += 1
        times = node_times(session.end_profiling())
    per_run = len(times) // runs
    # The first runs touch fresh memory.
    times = np.array(times).reshape(runs, per_run).sum(axis=1)[5:]
    median = float(np.median(times))
    return {"layer": name, "us": median, "best_us": float(times.min()), "gflops": layer["flops"] / median * 1e-3,
            "runs": len(times)}


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("layers")
    parser.add_argument("--seconds", type=float, default=0.4)
    arguments = parser.parse_args()
    source = json.load(open(arguments.layers))
    report = {"library": "onnxruntime " + ort.__version__, "threads": source["threads"], "layers": []}
    for layer in source["layers"]:
        report["layers"].append(time_layer(layer, source["threads"], arguments.seconds))
    json.dump(report, sys.stdout, indent=1)


if __name__ == "__main__":
    main()
