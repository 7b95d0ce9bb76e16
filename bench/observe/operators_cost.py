#!/usr/bin/env python3
"""What recording PyTorch's operators costs: the same work left alone, with ranges alone and with operators, in turn.

Usage: operators_cost.py LIBHONE_INJECT.so [--rounds 15]

Prints, for a loop of tiny additions on the CPU and, where there is a GPU, for a launch-bound transformer (batch 1):
median time a call in each state, what that is on top of being left alone, and how many operators there are a call.
Orders go through the control page, as from a session; CUPTI takes part only where the library finds it.
"""
import argparse
import ctypes
import mmap
import os
import pathlib
import statistics
import struct
import sys
import tempfile
import time

LEFT_ALONE, TIMELINE, OPERATORS = 1, 2, 3  # segments::Mode
ORDER = 24  # offset of Control::order in src/observe/control.h: number, mode, block, python_stacks, ...
PAGE = 1 << 16


class Orders:
    def __init__(self, folder):
        path = pathlib.Path(folder) / "control"
        path.write_bytes(struct.pack("<8sIIiI", b"HONECTL1", 1, PAGE, os.getpid(), 0).ljust(PAGE, b"\0"))
        (pathlib.Path(folder) / "segments").mkdir()
        self.page = mmap.mmap(os.open(path, os.O_RDWR), PAGE)
        self.number = 0

    def mode(self, mode):
        """In force when this returns: the recorder looks every 0.2 s if nobody wakes it."""
        self.number += 2
        struct.pack_into("<II", self.page, ORDER, self.number, mode)
        time.sleep(0.5)


def tiny(torch):
    a, b = torch.zeros(2, 3), torch.zeros(2, 3)

    def run():
        for _ in range(2000):
            torch.add(a, b)
    return run, 2000


def transformer(torch):
    layer = torch.nn.TransformerEncoderLayer(384, 6, 1536, batch_first=True)
    model = torch.nn.TransformerEncoder(layer, 12, enable_nested_tensor=False).cuda().train()
    x = torch.randn(1, 197, 384, device="cuda")

    def run():
        with torch.no_grad():
            for _ in range(10):
                model(x)
        torch.cuda.synchronize()
    return run, 10


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("library")
    parser.add_argument("--rounds", type=int, default=15)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        orders = Orders(folder)
        os.environ["HONE_OBSERVE_FOLDER"] = folder
        os.environ["CUDA_INJECTION64_PATH"] = os.path.abspath(options.library)
        sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "python" / "hone_observe"))
        import torch
        import hone_torch
        begin = time.perf_counter()
        found = hone_torch.arm()
        print("PyTorch %s: learnt %s in %.0f ms" % (torch.__version__, ("nothing", "names", "names and inputs")[found],
                                                    1e3 * (time.perf_counter() - begin)))
        torch.set_num_threads(1)
        measure(orders, "tiny additions on the CPU, each", *tiny(torch), options.rounds)
        if torch.cuda.is_available():
            measure(orders, "transformer, 12 layers, batch 1, each call", *transformer(torch), options.rounds)


def measure(orders, what, run, calls, rounds):
    states = {"left alone": LEFT_ALONE, "ranges": TIMELINE, "operators": OPERATORS}
    times = {name: [] for name in states}
    run()
    for _ in range(rounds):
        for name, mode in states.items():
            orders.mode(mode)
            run()
            for _ in range(5):
                begin = time.perf_counter()
                run()
                times[name].append((time.perf_counter() - begin) / calls)
    alone = statistics.median(times["left alone"])
    print(what)
    for name, of_state in times.items():
        low, middle, high = (statistics.quantiles(of_state, n=4)[i] for i in range(3))
        print("  %-11s %10.3f us (quartiles %.3f, %.3f)  %+7.3f us %+6.1f %%" % (
            name, 1e6 * middle, 1e6 * low, 1e6 * high, 1e6 * (middle - alone), 100 * (middle / alone - 1)))


if __name__ == "__main__":
    main()
