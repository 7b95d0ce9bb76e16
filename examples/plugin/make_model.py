#!/usr/bin/env python3
"""Writes a small ONNX model that holds the plugin's operator, data for its inputs, and what it must give. Needs Python alone.

    make_model.py write DIR [--queries N] [--map N] [--heads N] [--channels N] [--points N] [--seed N] [--no-expected]
        DIR/msda.onnx, DIR/value.npy, DIR/locations.npy, DIR/logits.npy, and DIR/expected.npy
    make_model.py compare DIR/expected.npy OUT/y.npy
        exits 1 where they differ by more than rounding

The model: weights = Softmax(logits); y = Relu(MMCVMultiScaleDeformableAttention(value, locations, weights)). The expected
numbers follow another path than the plugin's: each sample weighs every position of its map by how near it is (a hat function in
each direction), in double precision.
"""
import argparse
import array
import ast
import math
import random
import struct
import sys
from pathlib import Path

# --- ONNX's protobuf, as far as this model goes (onnx.proto has the numbers of the fields) -----------------------------


def varint(number):
    out = bytearray()
    number &= (1 << 64) - 1
    while number > 0x7F:
        out.append(number & 0x7F | 0x80)
        number >>= 7
    out.append(number)
    return bytes(out)


def whole(field, number):
    return varint(field << 3) + varint(number)


def held(field, content):
    content = content.encode() if isinstance(content, str) else content
    return varint(field << 3 | 2) + varint(len(content)) + content


FLOAT, INT64 = 1, 7


def value_info(name, dtype, shape):
    dims = b"".join(held(1, whole(1, extent)) for extent in shape)
    return held(1, name) + held(2, held(1, whole(1, dtype) + held(2, dims)))


def int64_tensor(name, shape, values):
    dims = b"".join(whole(1, extent) for extent in shape)
    return dims + whole(2, INT64) + held(8, name) + held(9, struct.pack(f"<{len(values)}q", *values))


def int_attribute(name, number):
    return held(1, name) + whole(3, number) + whole(20, 2)


def node(op, inputs, outputs, name, domain="", attributes=()):
    body = b"".join(held(1, one) for one in inputs) + b"".join(held(2, one) for one in outputs)
    body += held(3, name) + held(4, op) + b"".join(held(5, one) for one in attributes)
    return body + (held(7, domain) if domain else b"")


def model(graph, opsets):
    imports = b"".join(held(8, (held(1, domain) if domain else b"") + whole(2, version)) for domain, version in opsets)
    return whole(1, 10) + held(2, "make_model.py") + held(7, graph) + imports


# --- .npy ---------------------------------------------------------------------------------------------------------------


def write_npy(path, shape, values):
    extents = "(" + "".join(f"{extent}, " for extent in shape).rstrip() + ")"
    header = f"{{'descr': '<f4', 'fortran_order': False, 'shape': {extents}, }}"
    header += " " * (-(len(header) + 11) % 64) + "\n"
    data = array.array("f", values)
    path.write_bytes(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header.encode() + data.tobytes())


def read_npy(path):
    content = Path(path).read_bytes()
    (length,) = struct.unpack("<H", content[8:10])
    header = ast.literal_eval(content[10 : 10 + length].decode())
    values = array.array("f")
    values.frombytes(content[10 + length :])
    return header["shape"], list(values)


# --- the model, its data, its numbers -----------------------------------------------------------------------------------


class Sizes:
    def __init__(self, options):
        self.batch, self.queries, self.heads = 2, options.queries, options.heads
        self.channels, self.points = options.channels, options.points
        self.maps = [(options.map, options.map + 1), (options.map // 2, options.map // 2)]  # height, width
        self.starts = [0, options.map * (options.map + 1)]
        self.positions = self.starts[1] + (options.map // 2) ** 2

    def value(self):
        return [self.batch, self.positions, self.heads, self.channels]

    def locations(self):
        return [self.batch, self.queries, self.heads, len(self.maps), self.points, 2]

    def logits(self):
        return [self.batch, self.queries, self.heads, len(self.maps) * self.points]

    def result(self):
        return [self.batch, self.queries, self.heads * self.channels]


def model_of(sizes):
    weights = sizes.locations()[:-1]
    nodes = [
        node("Softmax", ["logits"], ["flat"], "weights", attributes=[int_attribute("axis", -1)]),
        node("Reshape", ["flat", "weights_shape"], ["weights"], "by_level"),
        node("MMCVMultiScaleDeformableAttention", ["value", "maps", "starts", "locations", "weights"], ["attended"],
             "attention", "mmdeploy", [int_attribute("im2col_step", 64)]),
        node("Relu", ["attended"], ["y"], "relu"),
    ]
    constants = [
        int64_tensor("maps", [len(sizes.maps), 2], [extent for one in sizes.maps for extent in one]),
        int64_tensor("starts", [len(sizes.maps)], sizes.starts),
        int64_tensor("weights_shape", [len(weights)], weights),
    ]
    graph = b"".join(held(1, one) for one in nodes) + held(2, "msda") + b"".join(held(5, one) for one in constants)
    for name, shape in (("value", sizes.value()), ("locations", sizes.locations()), ("logits", sizes.logits())):
        graph += held(11, value_info(name, FLOAT, shape))
    graph += held(12, value_info("y", FLOAT, sizes.result()))
    return model(graph, [("", 17), ("mmdeploy", 1)])


def rounded(values):
    return array.array("f", values)  # what the model will read


def hat(distance):
    return max(0.0, 1.0 - abs(distance))


def expected(sizes, value, locations, logits):
    levels, channels = len(sizes.maps), sizes.channels
    samples = levels * sizes.points
    out = []
    for b in range(sizes.batch):
        for q in range(sizes.queries):
            for h in range(sizes.heads):
                head = (b * sizes.queries + q) * sizes.heads + h
                own = logits[head * samples : (head + 1) * samples]
                powers = [math.exp(one - max(own)) for one in own]
                sums = [0.0] * channels
                for sample, power in enumerate(powers):
                    height, width = sizes.maps[sample // sizes.points]
                    start = sizes.starts[sample // sizes.points]
                    x = locations[(head * samples + sample) * 2] * width - 0.5
                    y = locations[(head * samples + sample) * 2 + 1] * height - 0.5
                    for position in range(height * width):
                        near = hat(y - position // width) * hat(x - position % width)
                        if near == 0:
                            continue
                        at = ((b * sizes.positions + start + position) * sizes.heads + h) * channels
                        for c in range(channels):
                            sums[c] += power / math.fsum(powers) * near * value[at + c]
                out += [max(0.0, one) for one in sums]
    return out


def write(options):
    sizes = Sizes(options)
    generator = random.Random(options.seed)
    folder = Path(options.folder)
    folder.mkdir(parents=True, exist_ok=True)
    value = rounded(generator.gauss(0, 1) for _ in range(math.prod(sizes.value())))
    locations = rounded(generator.uniform(-0.2, 1.2) for _ in range(math.prod(sizes.locations())))  # some outside
    logits = rounded(generator.gauss(0, 1) for _ in range(math.prod(sizes.logits())))
    (folder / "msda.onnx").write_bytes(model_of(sizes))
    write_npy(folder / "value.npy", sizes.value(), value)
    write_npy(folder / "locations.npy", sizes.locations(), locations)
    write_npy(folder / "logits.npy", sizes.logits(), logits)
    if options.expected:
        write_npy(folder / "expected.npy", sizes.result(), expected(sizes, value, locations, logits))


def compare(options):
    (shape, wanted), (other, found) = read_npy(options.expected), read_npy(options.found)
    if shape != other:
        sys.exit(f"{options.found} has shape {other}, expected {shape}")
    worst = max(abs(a - b) / max(1.0, abs(a)) for a, b in zip(wanted, found))
    print(f"{len(wanted)} numbers, the largest error is {worst:.2g}")
    if not worst < 1e-5:
        sys.exit(1)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(required=True)
    one = commands.add_parser("write")
    one.add_argument("folder")
    for name, default in (("queries", 37), ("map", 9), ("heads", 3), ("channels", 8), ("points", 4), ("seed", 1)):
        one.add_argument(f"--{name}", type=int, default=default)
    one.add_argument("--no-expected", dest="expected", action="store_false", help="large ones take Python long")
    one.set_defaults(run=write)
    two = commands.add_parser("compare")
    two.add_argument("expected")
    two.add_argument("found")
    two.set_defaults(run=compare)
    options = parser.parse_args()
    options.run(options)


if __name__ == "__main__":
    main()
