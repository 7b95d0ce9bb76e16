#!/usr/bin/env python3
"""What the recorder costs a program that is bound by launches, and whether it stays whole under it.

    bench/observe/recorder_cost.py [--rounds N] [--seconds S] [--out FILE.json]

Needs a GPU, build/libhone_inject.so, and the programs that bench/observe/build.sh makes. Gives orders itself, by the
page of src/observe/control.h; no session takes part. Every state is a process of its own, all states in turn in each
round, so that what drifts meets all of them.
"""
import argparse
import ctypes
import json
import mmap
import os
import statistics
import struct
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
BUILD = ROOT / "build"
LIBRARY = BUILD / "libhone_inject.so"
WAITING, LEFT_ALONE, TIMELINE, OPERATORS, FINISHED = 0, 1, 2, 3, 6
ORDER_AT, SLOTS_AT, SLOT, SLOTS = 24, 48, struct.Struct("<iIIIQQQ"), 256
FUTEX, WAKE = 202, 1
SETTLE_S = 0.4  # after an order, before steps count

libc = ctypes.CDLL(None, use_errno=True)


class RunFolder:
    """A run folder with a control page."""

    def __init__(self):
        self.folder = Path(tempfile.mkdtemp(prefix="hone-observe-"))
        size = SLOTS_AT + SLOT.size * SLOTS
        path = self.folder / "control"
        path.write_bytes(struct.pack("<8sIIiI", b"HONECTL1", 1, size, os.getpid(), 0).ljust(size, b"\0"))
        with open(path, "r+b") as file:
            self.page = mmap.mmap(file.fileno(), size)
        self.address = ctypes.addressof(ctypes.c_char.from_buffer(self.page))
        self.number = 0
        self.block = 0

    def order(self, mode, runtime_call=0):
        self.block += 1
        struct.pack_into("<I", self.page, ORDER_AT, self.number + 1)
        struct.pack_into("<IIIII", self.page, ORDER_AT + 4, mode, self.block, 0, runtime_call, 0)
        self.number += 2
        struct.pack_into("<I", self.page, ORDER_AT, self.number)
        libc.syscall(FUTEX, ctypes.c_void_p(self.address + ORDER_AT), WAKE, 1 << 30, None, None, 0)

    def obeyed(self, pid, seconds=10):
        until = time.monotonic() + seconds
        while time.monotonic() < until:
            slot = self.slot(pid)
            if slot and slot[2] == self.number:
                return True
            time.sleep(0.005)
        return False

    def slot(self, pid):
        for i in range(SLOTS):
            slot = SLOT.unpack_from(self.page, SLOTS_AT + i * SLOT.size)
            if slot[0] == pid:
                return slot
        return None

    def environment(self, more):
        return {**os.environ, "HONE_OBSERVE_FOLDER": str(self.folder), "CUDA_INJECTION64_PATH": str(LIBRARY),
                "NVTX_INJECTION64_PATH": str(LIBRARY), **more}

    def records(self):
        """How many of each kind there are, notes, losses, and how many kernels no recorded call launched."""
        counts, names, notes, dropped = {}, {}, [], 0
        kernels, calls, graph_nodes, kernels_of_graphs = [], set(), set(), 0
        for path in self.folder.glob("segments/*.seg"):
            data = path.read_bytes()
            at = struct.unpack_from("<I", data, 12)[0]
            while at + 8 <= len(data):
                kind, _, size = struct.unpack_from("<HHI", data, at)
                if size < 8 or at + size > len(data):
                    break
                counts[kind] = counts.get(kind, 0) + 1
                if kind == 1:
                    number, length = struct.unpack_from("<II", data, at + 8)
                    names[number] = data[at + 16:at + 16 + length].decode(errors="replace")
                elif kind == 7:
                    start, end, node, correlation = struct.unpack_from("<qqQI", data, at + 8)
                    kernels.append((correlation, start))
                    kernels_of_graphs += node != 0 and node in graph_nodes
                elif kind == 10:
                    calls.add(struct.unpack_from("<I", data, at + 32)[0])
                elif kind == 13:
                    graph_nodes.add(struct.unpack_from("<Q", data, at + 24)[0])
                elif kind == 16:
                    dropped += struct.unpack_from("<Q", data, at + 8)[0]
                elif kind == 17:
                    notes.append(names.get(struct.unpack_from("<I", data, at + 16)[0], "?"))
                at += size
        orphans = sum(correlation not in calls for correlation, _ in kernels)
        return {"kernels": len(kernels), "calls": counts.get(10, 0), "kernels_without_call": orphans,
                "kernels_of_known_graph_nodes": kernels_of_graphs, "dropped": dropped, "notes": notes}


# state: (environment, orders until the steps that count, recorded then?)
STATES = {
    "none": None,
    "left alone, CUPTI untouched": ({}, [LEFT_ALONE]),
    "subscribed": ({"HONE_OBSERVE_ATTACH": "early"}, [WAITING]),
    "timeline": ({}, [TIMELINE, LEFT_ALONE, TIMELINE]),  # the second block: driver calls are settled by then
    "timeline, first block": ({}, [TIMELINE]),
    "timeline, never driver calls": ({"HONE_OBSERVE_DRIVER_CALLS": "never"}, [TIMELINE]),
    "timeline, no flush every 200 ms": ({"HONE_OBSERVE_FLUSH_MS": "0"}, [TIMELINE, LEFT_ALONE, TIMELINE]),
    "left alone after a timeline": ({}, [TIMELINE, LEFT_ALONE]),
    "finished": ({}, [TIMELINE, FINISHED]),
}


def run_chain(program, arguments, state, seconds):
    """The median step in microseconds, and what was recorded."""
    with tempfile.NamedTemporaryFile() as times:
        # steps: 1 s to start CUDA, the orders, what counts
        begin_of_last = 0
        command = [str(program), str(seconds + 3), times.name, *arguments]
        if STATES[state] is None:
            process = subprocess.Popen(command)
            time.sleep(1.5)
            begin_of_last = time.monotonic_ns()
            found = None
        else:
            environment, orders = STATES[state]
            folder = RunFolder()
            process = subprocess.Popen(command, env=folder.environment(environment))
            time.sleep(1.5)
            for mode in orders:
                folder.order(mode)
                if mode != FINISHED and not folder.obeyed(process.pid):
                    print(f"{state}: an order was not obeyed", file=sys.stderr)
                time.sleep(SETTLE_S)
            begin_of_last = time.monotonic_ns()
            found = folder
        status = process.wait()
        if status != 0:
            raise SystemExit(f"{state}: {program.name} ended with {status}")
        steps = [tuple(map(int, line.split())) for line in Path(times.name).read_text().splitlines()]
    counted = [duration / 1e3 for begin, duration in steps if begin > begin_of_last]
    return statistics.median(counted), found.records() if found else {}


def measure(options):
    result = {}
    cases = {"runtime": [], "driver": ["--driver"], "graph": ["--graph"]}
    for case, arguments in cases.items():
        medians = {state: [] for state in STATES}
        records = {}
        for _ in range(options.rounds):
            for state in STATES:
                median, records[state] = run_chain(BUILD / "observe/chain-shared", arguments, state, options.seconds)
                medians[state].append(median)
        none = statistics.median(medians["none"])
        print(f"\nchain of 400 launches, {case}: medians of {options.rounds} processes")
        for state, found in medians.items():
            median = statistics.median(found)
            print(f"  {state:34} {median:9.1f} us  {100 * (median / none - 1):+6.1f} %  "
                  f"({min(found):.1f} to {max(found):.1f})  {records[state] or ''}")
        result[case] = {"step_us": medians, "records": records}
    return result


def stress():
    """Orders in quick succession while threads compute: the program must end well and right."""
    folder = RunFolder()
    process = subprocess.Popen([str(BUILD / "observe/stress-static"), "20", "8"],
                               env=folder.environment({}), stdout=subprocess.PIPE, text=True)
    orders = 0
    while process.poll() is None:
        folder.order(TIMELINE if orders % 2 == 0 else LEFT_ALONE)
        folder.obeyed(process.pid, 1)
        time.sleep(0.1)
        orders += 1
    said = process.stdout.read().strip()
    print(f"stress: status {process.returncode}, {orders} orders; {said}; {folder.records()}")
    return {"status": process.returncode, "orders": orders, "said": said, "records": folder.records()}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=2)
    parser.add_argument("--only", choices=["cost", "stress"])
    parser.add_argument("--out")
    options = parser.parse_args()
    result = {}
    if options.only != "cost":
        result["stress"] = stress()
    if options.only != "stress":
        result["cost"] = measure(options)
    if options.out:
        Path(options.out).write_text(json.dumps(result, indent=1) + "\n")


if __name__ == "__main__":
    main()
