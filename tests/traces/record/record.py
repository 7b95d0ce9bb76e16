"""Times a program with its fault and without it, in turn, and records a trace of each form.

record.py NAME OUT: one program of programs.py, on one GPU.
torchrun --nproc-per-node 2 record.py NAME OUT: one program of parallel.py, on two.
Writes OUT/NAME.{fault,repaired}[.rankR].json.gz and OUT/NAME.facts.json.
"""
import gzip
import json
import os
import shutil
import statistics
import sys
import time
from pathlib import Path

import torch
from torch.profiler import ProfilerActivity, profile, schedule

ROUNDS, STEPS, TRACED = 9, 5, 3


def timed(step, steps, together):
    together()
    start = time.perf_counter()
    for _ in range(steps):
        step()
    torch.cuda.synchronize()
    return (time.perf_counter() - start) * 1e3 / steps


def record(step, path):
    """Three steps after a wait and a warm-up, shapes included."""
    def ready(profiler):
        plain = path.with_suffix("")
        profiler.export_chrome_trace(str(plain))
        with open(plain, "rb") as source, gzip.open(path, "wb", 9) as packed:
            shutil.copyfileobj(source, packed)
        plain.unlink()

    with profile(activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA], record_shapes=True,
                 schedule=schedule(wait=1, warmup=2, active=TRACED), on_trace_ready=ready) as profiler:
        for _ in range(3 + TRACED):
            step()
            profiler.step()
    torch.cuda.synchronize()


def main():
    name, out = sys.argv[1], Path(sys.argv[2])
    out.mkdir(parents=True, exist_ok=True)
    ranks = int(os.environ.get("WORLD_SIZE", "1"))
    rank = int(os.environ.get("RANK", "0"))
    if ranks > 1:
        import parallel as programs
        programs.start(rank)
    else:
        import programs
    torch.manual_seed(0)
    together = programs.together if ranks > 1 else torch.cuda.synchronize
    forms = {}
    times = {"fault": [], "repaired": []}
    global_state = {}
    for form in times:  # one form after the other: some faults are settings of the whole process
        forms[form] = getattr(programs, name)(form == "repaired")
        global_state[form] = torch.get_float32_matmul_precision()
        for _ in range(4):
            forms[form]()
    for _ in range(ROUNDS):
        for form, step in forms.items():
            torch.set_float32_matmul_precision(global_state[form])
            step()
            times[form].append(timed(step, STEPS, together))
    suffix = f".rank{rank}" if ranks > 1 else ""
    for form, step in forms.items():
        torch.set_float32_matmul_precision(global_state[form])
        record(step, out / f"{name}.{form}{suffix}.json.gz")
    if rank == 0:
        facts = {"program": name, "cause": programs.CAUSES[name], "device": torch.cuda.get_device_name(),
                 "ranks": ranks, "torch": torch.__version__, "steps_a_block": STEPS,
                 "step_ms": {form: {"median": statistics.median(seen), "blocks": seen} for form, seen in times.items()}}
        (out / f"{name}.facts.json").write_text(json.dumps(facts, indent=1) + "\n")
        medians = {form: statistics.median(seen) for form, seen in times.items()}
        print(f"{name}: {programs.CAUSES[name]}: {medians['fault']:.2f} -> {medians['repaired']:.2f} ms", flush=True)
    if ranks > 1:
        programs.finish()


if __name__ == "__main__":
    main()
    sys.stdout.flush()
    os._exit(0)  # producers of input may still be at work
