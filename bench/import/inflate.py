#!/usr/bin/env python3
"""Makes a long recording of a short one: its last step again and again, with times and ids of their own.

Usage: inflate.py TRACE.json[.gz] OUT.json[.gz|.zst] --size BYTES

TRACE is as PyTorch's profiler writes it, with ProfilerStep ranges. Each added step comes a period of the
device after the one before; its correlation ids, external ids and sequence numbers go on. Names, shapes and
everything else repeat.
"""
import argparse
import gzip
import re
import subprocess
import sys
from pathlib import Path

TIME = re.compile(rb'"ts": ([0-9]+)(\.[0-9]+)?')
DURATION = re.compile(rb'"dur": ([0-9.]+)')
CORRELATION = re.compile(rb'"correlation": ?([0-9]+)')
STEP = re.compile(rb"ProfilerStep#([0-9]+)")
# What goes on from step to step: times, ids, and the number of the step.
GROWS = re.compile(
    rb'("ts": |"External id": ?|"correlation": ?|"Sequence number": ?|"Ev Idx": ?|"ph": "[sf]", "id": '
    rb"|ProfilerStep#)([0-9]+)")
END = b"\n  },\n"  # of an event; the last one has no comma


def read(path):
    data = Path(path).read_bytes()
    return gzip.decompress(data) if data[:2] == b"\x1f\x8b" else data


def split(text):
    """The text before the first event, the events, the text after the last one's brace."""
    begin = text.index(b"[", text.index(b'"traceEvents"')) + 2
    end = text.rindex(b"\n  }\n")
    return text[:begin], text[begin:end].split(END), text[end + 1:]


def time_of(event):
    match = TIME.search(event)
    return float(match.group(1) + (match.group(2) or b"")) if match else None


def end_of(event):
    match = DURATION.search(event)
    return time_of(event) + (float(match.group(1)) if match else 0)


def correlation_of(event):
    match = CORRELATION.search(event)
    return match.group(1) if match else None


def is_device(event):
    return b'"cat": "kernel"' in event or b'"cat": "gpu_mem' in event


def last_steps(events):
    """(begin, end) of the last two ProfilerStep ranges on the host."""
    steps = {}
    for event in events:
        match = STEP.search(event)
        if match and b'"cat": "user_annotation"' in event:
            steps[int(match.group(1))] = (time_of(event), end_of(event))
    if len(steps) < 2:
        sys.exit("the trace has no two ProfilerStep ranges")
    return [steps[number] for number in sorted(steps)[-2:]]


def of_step(events, begin, end):
    """The host's events that begin within the range, the arrows there, and the device work they launched."""
    launched = {correlation_of(event) for event in events
                if b'"cat": "cuda_' in event and begin <= (time_of(event) or 0) < end}
    chosen = []
    for event in events:
        if is_device(event):
            if correlation_of(event) in launched:
                chosen.append(event)
        elif b'"ph": "X"' in event and b'"cat": "gpu_user' not in event or b'"cat": "fwdbwd"' in event:
            if begin <= time_of(event) < end:
                chosen.append(event)
    return chosen


def pieces_of(text):
    """[text, (number, what it is), text, …]: what is copied as it stands, and what grows."""
    result, at = [], 0
    for match in GROWS.finditer(text):
        key = match.group(1)
        kind = "time" if key == b'"ts": ' else "step" if key == b"ProfilerStep#" else "id"
        result += [text[at:match.start(2)], (int(match.group(2)), kind)]
        at = match.end(2)
    return result + [text[at:]]


def step_again(pieces, index, growth):
    return b"".join(b"%d" % (piece[0] + index * growth[piece[1]]) if isinstance(piece, tuple) else piece
                    for piece in pieces)


def writer_of(path):
    if path.endswith(".gz"):
        return subprocess.Popen(["gzip", "-c", "-6"], stdin=subprocess.PIPE, stdout=open(path, "wb"))
    if path.endswith(".zst"):
        return subprocess.Popen(["zstd", "-q", "-c", "-3"], stdin=subprocess.PIPE, stdout=open(path, "wb"))
    return None


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("trace")
    parser.add_argument("out")
    parser.add_argument("--size", type=float, required=True, help="bytes before compression")
    options = parser.parse_args()
    head, events, foot = split(read(options.trace))
    before, last = last_steps(events)
    again = of_step(events, *last)
    ends = [max(map(end_of, filter(is_device, of_step(events, *step)))) for step in (before, last)]
    ids = [int(match.group(2)) for event in events for match in GROWS.finditer(event)
           if match.group(1) not in (b'"ts": ', b"ProfilerStep#")]
    growth = {"time": max(int(ends[1] - ends[0]), int(last[1] - last[0])) + 1, "step": 1, "id": 1 + max(ids)}
    pieces = pieces_of(END.join(again))
    packer = writer_of(options.out)
    out = packer.stdin if packer else open(options.out, "wb")
    written = out.write(head) + out.write(END.join(events))
    steps = 0
    while written < options.size:
        steps += 1
        written += out.write(END + step_again(pieces, steps, growth))
    written += out.write(b"\n" + foot)
    out.close()
    if packer and packer.wait() != 0:
        sys.exit("the packer failed")
    print(f"{options.out}: {steps} steps added, {written} bytes before compression")


if __name__ == "__main__":
    main()
