#!/usr/bin/env python3
"""Exports the networks of networks.py with both of PyTorch's exporters and keeps what PyTorch says they compute,
laid out as ONNX's backend tests: <exporter>/<network>/model.onnx, test_data_set_N/{input,output}_K.pb.

Needs the packages of tests/models/requirements.txt. The files are kept in the repository: run this only to
change or add one, and look at what changed.
Usage: tests/models/generate.py [--out tests/models] [NETWORK …]
"""
import argparse
import sys
import warnings
from pathlib import Path

import onnx
import torch
from onnx import numpy_helper

from networks import NETWORKS

LARGEST = 200_000  # bytes of a kept model
OLD_OPSET = 14  # for the older exporter: layer normalisation and GELU in primitive operators


def randomise(module):
    """Statistics and scales of normalisations as training leaves them: neither zero nor one."""
    for part in module.modules():
        if isinstance(part, torch.nn.BatchNorm2d):
            part.running_mean.normal_(0, 0.2)
            part.running_var.uniform_(0.5, 1.5)
        if isinstance(part, (torch.nn.BatchNorm2d, torch.nn.LayerNorm)):
            torch.nn.init.uniform_(part.weight, 0.5, 1.5)
            torch.nn.init.normal_(part.bias, 0, 0.2)


def export(module, inputs, names, axes, dynamo, path):
    extra = {}
    if dynamo:
        dims = {axis: torch.export.Dim(name, min=1, max=24) for axis, name in axes.items()}
        extra = {"dynamic_shapes": tuple(dims for _ in names), "external_data": False}
    else:
        extra = {"dynamic_axes": {name: axes for name in names}, "opset_version": OLD_OPSET}
    torch.onnx.export(module, inputs, str(path), input_names=names, dynamo=dynamo, **extra)
    model = onnx.load(path)
    strip(model.graph)
    del model.metadata_props[:]
    onnx.checker.check_model(model, full_check=True)
    onnx.save(model, path)
    if path.stat().st_size > LARGEST:
        raise SystemExit(f"{path}: {path.stat().st_size} bytes; at most {LARGEST} are kept")


def strip(graph):
    """Drops stack traces and source paths: they differ with every machine."""
    for item in [graph, *graph.node, *graph.value_info, *graph.input, *graph.output, *graph.initializer]:
        del item.metadata_props[:]
        item.doc_string = ""
    for node in graph.node:
        for attribute in node.attribute:
            if attribute.type == onnx.AttributeProto.GRAPH:
                strip(attribute.g)


def save_data(folder, inputs, outputs):
    folder.mkdir(parents=True, exist_ok=True)
    for stem, tensors in (("input", inputs), ("output", outputs)):
        for index, tensor in enumerate(tensors):
            proto = numpy_helper.from_array(tensor.detach().numpy())
            (folder / f"{stem}_{index}.pb").write_bytes(proto.SerializeToString())


def generate(name, out):
    make_module, names, axes, make_inputs, sizes = NETWORKS[name]
    torch.manual_seed(0)
    module = make_module().eval()
    randomise(module)
    data = [make_inputs(*size) for size in sizes]
    for exporter, dynamo in (("torchscript", False), ("dynamo", True)):
        folder = out / exporter / name
        folder.mkdir(parents=True, exist_ok=True)
        export(module, data[0], names, axes, dynamo, folder / "model.onnx")
        for index, inputs in enumerate(data):
            outputs = module(*inputs)
            outputs = outputs if isinstance(outputs, tuple) else (outputs,)
            save_data(folder / f"test_data_set_{index}", inputs, outputs)
        print(f"{folder}: {(folder / 'model.onnx').stat().st_size} bytes")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, default=Path(__file__).resolve().parent)
    parser.add_argument("names", nargs="*", metavar="NETWORK", help="default: all")
    options = parser.parse_args()
    warnings.filterwarnings("ignore", category=DeprecationWarning)
    for name in options.names or NETWORKS:
        generate(name, options.out)


if __name__ == "__main__":
    sys.exit(main())
