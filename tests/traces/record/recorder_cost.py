"""What the recorder costs the host of a program: prints a line of JSON for each program, form and way of recording.

recorder_cost.py NAME...: programs of record.py for one GPU, best such that wait for their host. Each form is timed without
the recorder before and after each way of recording it: with the shapes of inputs, without, and with Python's stack. Of what
was recorded: the step and, within it, the time in which the innermost thing open on any thread that issues work was an
operator, a call of the runtime, a wait for the device, or nothing but the program itself.
"""
import json
import os
import statistics
import sys
import tempfile
from collections import Counter

os.environ.setdefault("TEARDOWN_CUPTI", "1")

import torch
from torch.profiler import ProfilerActivity, profile, schedule

from device import DRY, size, wait
from record import Forms, module_of, timed

WAYS = {"shapes": {"record_shapes": True}, "plain": {}, "stack": {"with_stack": True}}
TRACED, BLOCKS, WARM = size(6, 2), size(5, 1), size(30, 1)
RANK = {"wait": 1, "operator": 2, "call": 3}  # which of several threads' things counts


def kind(event):
    if event["cat"] == "cpu_op":
        return "operator"
    return "wait" if "Synchronize" in event["name"] else "call"


def innermost(events):
    """(start, end, kind) of the nested events of one thread."""
    found, open_events, now = [], [], None

    def until(time):
        nonlocal now
        if open_events and time > now:
            found.append((now, time, kind(open_events[-1])))
        now = time if now is None else max(now, time)

    for event in sorted(events, key=lambda e: (e["ts"], -e["dur"])) + [{"ts": float("inf")}]:
        while open_events and open_events[-1]["ts"] + open_events[-1]["dur"] <= event["ts"]:
            until(open_events[-1]["ts"] + open_events[-1]["dur"])
            open_events.pop()
        if "dur" in event:
            until(event["ts"])
            now = event["ts"]
            open_events.append(event)
    return found


def divided(path):
    """Of the recorded steps: ms a step of each kind, and counts a step."""
    with open(path, encoding="utf-8") as source:
        events = [e for e in json.load(source)["traceEvents"] if e.get("ph") == "X"]
    steps = [e for e in events if e["name"].startswith("ProfilerStep") and e["cat"] == "user_annotation"]
    begin, end = min(e["ts"] for e in steps), max(e["ts"] + e["dur"] for e in steps)
    threads, counts = {}, Counter()
    for event in events:
        if event["cat"] in ("cpu_op", "cuda_runtime", "cuda_driver") and begin <= event["ts"] < end:
            threads.setdefault(event["tid"], []).append(event)
            counts[kind(event)] += 1
        elif event["cat"] == "python_function":
            counts["function"] += 1
    edges = sorted((time, change, what) for part in map(innermost, threads.values())
                   for start, stop, what in part for time, change in ((start, 1), (stop, -1)))
    ms, open_now, now = Counter(), Counter(), begin
    for time, change, what in edges + [(end, 0, "call")]:
        best = max((k for k in RANK if open_now[k] > 0), key=RANK.get, default="program")
        ms[best] += (min(time, end) - now) / 1e3 if time > now else 0
        now = max(now, min(time, end))
        open_now[what] += change
    return {"step_ms": (end - begin) / 1e3 / len(steps),
            "ms": {what: total / len(steps) for what, total in ms.items()},
            "count": {what: number / len(steps) for what, number in counts.items()}}


def recorded(step, way):
    activities = [ProfilerActivity.CPU] if DRY else [ProfilerActivity.CPU, ProfilerActivity.CUDA]
    with tempfile.NamedTemporaryFile(suffix=".json") as file:
        with profile(activities=activities, schedule=schedule(wait=1, warmup=WARM, active=TRACED),
                     on_trace_ready=lambda profiler: profiler.export_chrome_trace(file.name), **WAYS[way]) as profiler:
            for _ in range(1 + WARM + TRACED):
                step()
                profiler.step()
        wait()
        return divided(file.name)


def main():
    for name in sys.argv[1:]:
        torch.manual_seed(0)
        forms = Forms(getattr(module_of(name, 1), name))
        for form, step in forms.each():
            for way in WAYS:
                blocks = [timed(step, 5, wait) for _ in range(BLOCKS)]
                found = recorded(step, way)
                blocks += [timed(step, 5, wait) for _ in range(BLOCKS)]
                print(json.dumps({"program": name, "form": form, "way": way, "unrecorded_ms": statistics.median(blocks),
                                  "unrecorded_blocks": blocks, **found,
                                  "device": "cpu" if DRY else torch.cuda.get_device_name(), "torch": torch.__version__}),
                      flush=True)


if __name__ == "__main__":
    main()
    sys.stdout.flush()
    os._exit(0)
