"""Step times of the recordings as PyTorch's own reader of profiles has them, for the tests to compare hone's with.

profiler_steps.py OUT.csv: every file of ../recorded and ../real, one line a step. Needs torch-tb-profiler (0.4.3), the
TensorBoard plugin of PyTorch's profiler; its page calls `profiler_ms` the step time. Two names in the files have changed
since it was written and are changed back here: calls of the runtime were of the category "Runtime", and no line of the
device was marked with "ProfilerStep".

Beside it, read from the events themselves: `host_ms`, the length of the ProfilerStep range, and `period_ms`, how long
after the same work of the step before the work of a step began: the median over all works, paired by stream, name
and order; empty for the first step and where two steps did not launch the same works.
"""
import collections
import csv
import gzip
import json
import logging
import statistics
import sys
from pathlib import Path

from torch_tb_profiler.profiler.data import RunProfileData
from torch_tb_profiler.profiler.event_parser import EventParser

TRACES = Path(__file__).resolve().parent.parent
WORK = ("kernel", "gpu_memcpy", "gpu_memset")
CALLS = ("cuda_runtime", "cuda_driver")


def is_mark(event, category):
    return event.get("cat") == category and event["name"].startswith("ProfilerStep#")


def profiler_steps(trace):
    """The plugin's steps, in ms."""
    events = [dict(event, cat="runtime") if event.get("cat") in CALLS else event
              for event in trace["traceEvents"] if not is_mark(event, "gpu_user_annotation")]
    profile = RunProfileData("worker", None, dict(trace, traceEvents=events))
    parser = EventParser()
    parser.parse(profile.events, profile.forward_backward_events)
    return dict(zip((int(name) for name in parser.steps_names), ((end - start) / 1e3 for start, end in parser.steps)))


def works_of(events, ranges):
    """The starts of the works that calls within each range launched, by stream and name, in order."""
    launched = {event["args"]["correlation"]: event["ts"] for event in events
                if event.get("cat") in CALLS and "correlation" in event.get("args", {})}
    works = [collections.defaultdict(list) for _ in ranges]
    for event in sorted((event for event in events if event.get("cat") in WORK), key=lambda event: event["ts"]):
        at = launched.get(event["args"].get("correlation"))
        for mark, found in zip(ranges, works):
            if at is not None and mark["ts"] <= at <= mark["ts"] + mark["dur"]:
                found[event["args"].get("stream"), event["name"]].append(event["ts"])
    return works


def period(before, after):
    if not after or {key: len(starts) for key, starts in before.items()} != {
            key: len(starts) for key, starts in after.items()}:
        return None
    return statistics.median(b - a for key in after for a, b in zip(before[key], after[key])) / 1e3


def main():
    logging.disable(logging.CRITICAL)
    with open(sys.argv[1], "w", newline="") as out:
        table = csv.writer(out, lineterminator="\n")
        table.writerow(["file", "step", "profiler_ms", "host_ms", "period_ms"])
        for path in sorted(TRACES.glob("re[ac]*/*.json.gz")):
            trace = json.loads(gzip.open(path).read())
            ranges = sorted((event for event in trace["traceEvents"] if is_mark(event, "user_annotation")),
                            key=lambda event: event["ts"])
            works = works_of(trace["traceEvents"], ranges)
            steps = profiler_steps(trace)
            for k, mark in enumerate(ranges):
                number = int(mark["name"].split("#")[1])
                since = period(works[k - 1], works[k]) if k > 0 else None
                table.writerow([path.relative_to(TRACES), number, f"{steps[number]:.4f}", f"{mark['dur'] / 1e3:.4f}",
                                "" if since is None else f"{since:.4f}"])


main()
