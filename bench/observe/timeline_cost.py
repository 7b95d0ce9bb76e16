"""What recording the timeline costs a program, beside what torch.profiler costs it: each in processes of its own, in turns,
and within each process blocks of steps that are recorded and left alone in turns.

    timeline_cost.py LIBHONE_INJECT.so [--rounds 3] [--programs vit_b1 gpt2_b1 chain gpt2_b32] [--out FILE.json]

Needs a GPU and PyTorch. Prints for each program and recorder the step before anything was recorded and, against it,
recorded, left alone between, and after the recorder has let go (hone). A block's step is the lower quartile of its steps, a
state's the lower quartile of its blocks: a host that others share only ever adds to a step. To be right: `recorded` at most
2 % for gpt2_b32, at most 10 % for the others.
"""
import argparse
import json
import os
import pathlib
import statistics
import struct
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
BLOCK_S, PAIRS, PRISTINE = 0.3, 10, 8
SETTLE_S = 0.3  # an order is obeyed in a thread of the recorder


def steps_for(step, seconds):
    times = [time.perf_counter()]
    while times[-1] - times[0] < seconds:
        step()
        times.append(time.perf_counter())
    return [1e3 * (b - a) for a, b in zip(times, times[1:])]


def lower_quartile(values):
    return statistics.quantiles(values, n=4, method="inclusive")[0] if len(values) > 1 else values[0]


def block(step):
    """Of a block's steps, its first ones left out."""
    found = steps_for(step, BLOCK_S)
    return lower_quartile(found[min(3, len(found) // 3):])


def with_hone(program, library):
    import operators_cost
    with tempfile.TemporaryDirectory() as folder:
        orders = operators_cost.Orders(folder)
        os.environ["HONE_OBSERVE_FOLDER"] = folder
        os.environ["CUDA_INJECTION64_PATH"] = os.path.abspath(library)
        import programs
        step = programs.PROGRAMS[program]()
        orders.mode(1)
        steps_for(step, 2)
        result = {"before": [block(step) for _ in range(PRISTINE)], "recorded": [], "left alone": [], "after": []}

        def order(mode):
            orders.number += 2
            struct.pack_into("<II", orders.page, operators_cost.ORDER, orders.number, mode)
            steps_for(step, SETTLE_S)

        order(2)
        for _ in range(PAIRS):
            order(2)
            result["recorded"].append(block(step))
            order(1)
            result["left alone"].append(block(step))
        order(6)
        result["after"] = [block(step) for _ in range(PRISTINE)]
        return result


def with_torch(program, activities):
    import torch
    import programs
    step = programs.PROGRAMS[program]()
    wanted = [torch.profiler.ProfilerActivity.CUDA] + ([torch.profiler.ProfilerActivity.CPU] if activities == 2 else [])
    steps_for(step, 2)
    result = {"before": [block(step) for _ in range(PRISTINE)], "recorded": [], "left alone": []}
    for _ in range(PAIRS // 2):
        with torch.profiler.profile(activities=wanted):
            steps_for(step, SETTLE_S)
            result["recorded"].append(block(step))
        steps_for(step, SETTLE_S)
        result["left alone"].append(block(step))
    return result


RECORDERS = {"hone": None, "torch.profiler, CUDA": 1, "torch.profiler, CPU and CUDA": 2}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("library")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--programs", nargs="+", default=["vit_b1", "gpt2_b1", "chain", "gpt2_b32"])
    parser.add_argument("--recorders", nargs="+", default=list(RECORDERS), choices=list(RECORDERS))
    parser.add_argument("--one", nargs=2)
    parser.add_argument("--out")
    options = parser.parse_args()
    sys.path.insert(0, str(HERE))
    if options.one:
        program, recorder = options.one
        result = (with_hone(program, options.library) if recorder == "hone"
                  else with_torch(program, RECORDERS[recorder]))
        print("RESULT " + json.dumps(result))
        return
    found = {}
    for program in options.programs:
        for _ in range(options.rounds):
            for recorder in options.recorders:
                run = subprocess.run([sys.executable, __file__, options.library, "--one", program, recorder],
                                     capture_output=True, text=True)
                lines = [line for line in run.stdout.splitlines() if line.startswith("RESULT ")]
                if not lines:
                    print(program, recorder, "failed:", run.stderr[-500:])
                    continue
                found.setdefault(program, {}).setdefault(recorder, []).append(json.loads(lines[0][7:]))
        for recorder, runs in found.get(program, {}).items():
            ratios = {state: [100 * (lower_quartile(run[state]) / lower_quartile(run["before"]) - 1) for run in runs]
                      for state in runs[0] if state != "before"}
            print(f"{program:9} {recorder:29} {statistics.median([lower_quartile(r['before']) for r in runs]):8.3f} ms  " +
                  "  ".join(f"{state} {statistics.median(r):+.1f} % ({min(r):+.1f} to {max(r):+.1f})" for state, r in ratios.items()),
                  flush=True)
    if options.out:
        pathlib.Path(options.out).write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
