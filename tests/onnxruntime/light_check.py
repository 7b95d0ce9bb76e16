#!/usr/bin/env python3
"""Checks the nine light models of the onnx package, given seeded random weights, against ONNX Runtime.

The package's own copies fill every weight with one number, which hides permuted channels and skipped layers. Here each
weight is drawn for its consumer (He's variance for products, a plausible scale, mean and variance for normalisation), and
the model runs as it is and as `hone optimize` leaves it.

Needs the packages of tests/onnxruntime/requirements.txt and a built program.
Usage: tests/onnxruntime/light_check.py [--hone build/hone] [--limit 1e-3] [--json FILE] [NAME …]
"""
import argparse
import json
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy
import onnx
import onnx.backend.test
import onnxruntime

from zoo_check import ROOT, make_inputs, run_hone

FOLDER = Path(onnx.backend.test.__file__).parent / "data" / "light"
PRODUCTS = ("Conv", "Gemm", "MatMul")


def command_line():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--hone", default=str(ROOT / "build" / "hone"))
    parser.add_argument("--limit", type=float, default=1e-3, help="largest relative L2 difference")
    parser.add_argument("--json", help="write the differences here")
    parser.add_argument("names", nargs="*", help="models (default: all nine)")
    return parser.parse_args()


def first_use(graph, name):
    """The node that computes with `name`, and at which place, behind any Unsqueeze."""
    for node in graph.node:
        if name in node.input:
            if node.op_type == "Unsqueeze":
                return first_use(graph, node.output[0])
            return node, list(node.input).index(name)
    return None, 0


def draw(node, place, shape, random):
    if node.op_type in PRODUCTS and place == 1:
        fan_in = numpy.prod(shape[1:])  # Gemm stands transposed in these models
        return random.normal(0, numpy.sqrt(2 / fan_in), shape)
    if node.op_type == "BatchNormalization" and place == 4:  # variance
        return random.uniform(0.5, 1.5, shape)
    if place == 1 and node.op_type in ("BatchNormalization", "Mul"):  # scale
        return random.uniform(0.5, 1.5, shape)
    return random.normal(0, 0.1, shape)  # biases and means


def with_random_weights(model, random):
    graph = model.graph
    shapes = {tensor.name: onnx.numpy_helper.to_array(tensor) for tensor in graph.initializer}
    kept = []
    for node in graph.node:
        if node.op_type != "ConstantOfShape" or node.input[0] not in shapes:
            kept.append(node)
            continue
        consumer, place = first_use(graph, node.output[0])
        if consumer is None:
            continue
        values = draw(consumer, place, [int(extent) for extent in shapes[node.input[0]]], random)
        graph.initializer.append(onnx.numpy_helper.from_array(values.astype(numpy.float32), node.output[0]))
    del graph.node[:]
    graph.node.extend(kept)
    used = {name for node in graph.node for name in node.input}
    weights = [tensor for tensor in graph.initializer if tensor.name in used]
    constants = {tensor.name for tensor in weights}
    data = [value for value in graph.input if value.name in used - constants]
    del graph.initializer[:], graph.input[:]
    graph.initializer.extend(weights)
    graph.input.extend(data)
    model.ir_version = 8  # the files' own, 3, wants every weight among the inputs
    return model


def without_softmax(model):
    """Random weights give logits so far apart that a Softmax at the end would show one 1 and zeros whatever came in."""
    graph = model.graph
    last = next((node for node in graph.node if node.output[0] == graph.output[0].name), None)
    if last is not None and last.op_type == "Softmax":
        graph.node.remove(last)
        output = onnx.helper.make_tensor_value_info(last.input[0], onnx.TensorProto.FLOAT, None)
        del graph.output[:]
        graph.output.append(output)
    return model


def relative_l2(got, want):
    return float(numpy.linalg.norm((got - want).astype(numpy.float64)) / numpy.linalg.norm(want.astype(numpy.float64)))


def check(file, options, folder):
    """{form: relative L2 difference} for the model as it is and as optimised."""
    random = numpy.random.default_rng(sum(file.stem.encode()))
    model = folder / file.name
    onnx.save(without_softmax(with_random_weights(onnx.load(file), random)), model)
    session = onnxruntime.InferenceSession(str(model), providers=["CPUExecutionProvider"])
    inputs = make_inputs(session, random)
    names = [output.name for output in session.get_outputs()]
    expected = session.run(None, inputs)
    optimised = folder / "optimised.onnx"
    subprocess.run([options.hone, "optimize", str(model), "-o", str(optimised)], check=True, capture_output=True)
    found = {"deviation": float(expected[0].std())}
    for form, path in (("as read", model), ("optimised", optimised)):
        got, _ = run_hone(options.hone, path, inputs, names, folder)
        found[form] = max(relative_l2(g, w) for g, w in zip(got, expected))
    return found


def main():
    options = command_line()
    results = {}
    for file in sorted(FOLDER.glob("*.onnx")):
        if options.names and file.stem not in options.names:
            continue
        with tempfile.TemporaryDirectory() as folder:
            results[file.stem] = found = check(file, options, Path(folder))
        print(f"{file.stem}: as read {found['as read']:.1e}, optimised {found['optimised']:.1e}; "
              f"deviation of the outputs {found['deviation']:.2g}", flush=True)
    if options.json:
        Path(options.json).write_text(json.dumps(results, indent=1) + "\n")
    bad = [name for name, found in results.items()
           if not max(found["as read"], found["optimised"]) <= options.limit or not found["deviation"] > 1e-6]
    for name in bad:
        print(f"{name}: differs by more than {options.limit}, or its outputs do not vary", file=sys.stderr)
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
