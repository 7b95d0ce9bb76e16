"""Times a program with its fault and without it, in turn, records a trace of each form, and times both again.

What a repair really gives is known only where the host was as fast in the recording as in the timings. So all of this is
done anew, up to ATTEMPTS times, until the times before and after the recording agree; else the best attempt is kept.

record.py NAME OUT: one program on one GPU. torchrun --nproc-per-node 2 record.py NAME OUT: one program on two.
record.py --list RANKS: the programs for that many GPUs. HONE_RECORD_ON=cpu tries a blind program without a GPU.
Writes OUT/NAME.{fault,repaired}[.rankR].json.gz and OUT/NAME.facts.json.
"""
import gzip
import hashlib
import importlib
import json
import os
import shutil
import statistics
import sys
import time
from pathlib import Path

os.environ.setdefault("TEARDOWN_CUPTI", "1")  # or the recorder slows what is timed after it; read when torch is loaded

import torch
from torch.profiler import ProfilerActivity, profile, schedule

from device import DRY, GPU, size, wait

MODULES = {1: ("programs", "blind.host", "blind.on_device", "unseen.host", "unseen.on_device", "fresh.host",
               "fresh.on_device", "everyday.host", "everyday.on_device", "field.host", "field.on_device"),
           2: ("parallel", "blind.parallel", "unseen.parallel", "fresh.parallel", "everyday.parallel",
               "field.parallel")}
ROUNDS, STEPS, TRACED = size(9, 1), size(5, 1), 3
SLOW_STEP_MS, STEPS_IF_SLOW = 150, 2
ATTEMPTS, STEADY = int(os.environ.get("HONE_RECORD_ATTEMPTS", size(4, 2))), 0.03
WARMING_MS = size(600, 5)


def module_of(name, ranks):
    for module in map(importlib.import_module, MODULES[ranks]):
        if name in module.CAUSES:
            return module
    sys.exit(f"record.py: no program '{name}' for {ranks} GPU(s); record.py --list {ranks} names them")


def half_of(name):
    """Which half of the programs this one is in: rules may be tuned on the one, and are reported on the other."""
    return "reporting" if int(hashlib.sha256(name.encode()).hexdigest()[0], 16) % 2 else "tuning"


def timed(step, steps, together):
    together()
    start = time.perf_counter()
    for _ in range(steps):
        step()
    wait()
    return (time.perf_counter() - start) * 1e3 / steps


def record(step, path, steps_to_warm):
    """Three steps, shapes included, after a warm-up with the recorder on: beginning to record takes a second, and a device
    that has rested that long runs faster than one at work."""
    def ready(profiler):
        plain = path.with_suffix("")
        profiler.export_chrome_trace(str(plain))
        with open(plain, "rb") as source, gzip.open(path, "wb", 9) as packed:
            shutil.copyfileobj(source, packed)
        plain.unlink()

    activities = [ProfilerActivity.CPU] if DRY else [ProfilerActivity.CPU, ProfilerActivity.CUDA]
    with profile(activities=activities, record_shapes=True,
                 schedule=schedule(wait=1, warmup=steps_to_warm, active=TRACED), on_trace_ready=ready) as profiler:
        for _ in range(1 + steps_to_warm + TRACED):
            step()
            profiler.step()
    wait()


class Forms:
    """Both forms of a program; some faults are settings of the whole process, which stand while that form runs."""

    def __init__(self, program):
        self.steps, self.settings = {}, {}
        for form in ("fault", "repaired"):  # one form after the other, because of those settings
            self.steps[form] = program(form == "repaired")
            self.settings[form] = torch.get_float32_matmul_precision()
            for _ in range(4):
                self.steps[form]()

    def each(self):
        for form, step in self.steps.items():
            torch.set_float32_matmul_precision(self.settings[form])
            yield form, step

    def time_in_turns(self, steps, together):
        times = {form: [] for form in self.steps}
        for _ in range(ROUNDS):
            for form, step in self.each():
                for _ in range(2):  # what was fetched ahead while the other form ran is used up
                    step()
                times[form].append(timed(step, steps[form], together))
        return times


def steps_a_block(forms, ranks, together):
    """Few for a form that takes long. Ranks must agree on it, so theirs never changes."""
    slow = {form: ranks == 1 and timed(step, 1, together) > SLOW_STEP_MS for form, step in forms.each()}
    return {form: STEPS_IF_SLOW if slow[form] else STEPS for form in slow}


def step_ms(blocks):
    return {"median": statistics.median(blocks), "blocks": blocks,
            "median_before_recording": statistics.median(blocks[:ROUNDS]),
            "median_after_recording": statistics.median(blocks[ROUNDS:])}


def drift(times):
    """By how much of itself a form's time changed from before the recording to after it; the larger of the two."""
    return max(abs(found["median_after_recording"] / found["median_before_recording"] - 1)
               for found in map(step_ms, times.values()))


def of_rank_zero(number, ranks):
    """The same number on all ranks, so that they decide alike."""
    if ranks == 1:
        return number
    told = torch.tensor([number], dtype=torch.float64, device=GPU)
    torch.distributed.broadcast(told, 0)
    return told.item()


def record_while_steady(forms, steps, ranks, together, path_of):
    """Records both forms to path_of(form). Returns the blocks' times around what is kept, and the drift of each attempt."""
    drifts, kept = [], None
    before = forms.time_in_turns(steps, together)
    while len(drifts) < ATTEMPTS and min(drifts, default=1) > STEADY:
        for form, step in forms.each():
            steps_to_warm = of_rank_zero(max(1, int(WARMING_MS / statistics.median(before[form]))), ranks)
            record(step, path_of(form).with_suffix(".new"), int(steps_to_warm))
        after = forms.time_in_turns(steps, together)
        times = {form: before[form] + after[form] for form in before}
        drifts.append(of_rank_zero(drift(times), ranks))
        for form in times:
            new = path_of(form).with_suffix(".new")
            new.replace(path_of(form)) if drifts[-1] == min(drifts) else new.unlink()
        kept = times if drifts[-1] == min(drifts) else kept
        before = after
    return kept, drifts


def main():
    if sys.argv[1] == "--list":
        return print(*[name for module in MODULES[int(sys.argv[2])] for name in importlib.import_module(module).CAUSES])
    name, out = sys.argv[1], Path(sys.argv[2])
    out.mkdir(parents=True, exist_ok=True)
    ranks = int(os.environ.get("WORLD_SIZE", "1"))
    rank = int(os.environ.get("RANK", "0"))
    together = wait
    if ranks > 1:
        import parallel
        parallel.start(rank)
        together = parallel.together
    programs = module_of(name, ranks)
    torch.manual_seed(0)
    forms = Forms(getattr(programs, name))
    steps = steps_a_block(forms, ranks, together)
    suffix = f".rank{rank}" if ranks > 1 else ""
    times, drifts = record_while_steady(forms, steps, ranks, together,
                                        lambda form: out / f"{name}.{form}{suffix}.json.gz")
    if rank == 0:
        facts = {"program": name, "cause": programs.CAUSES[name], "half": half_of(name),
                 "device": "cpu" if DRY else torch.cuda.get_device_name(),
                 "ranks": ranks, "torch": torch.__version__, "steps_a_block": steps["repaired"],
                 "steps_a_faulty_block": steps["fault"], "blocks_before_recording": ROUNDS, "drift_of_attempts": drifts,
                 "recorder_torn_down": os.environ["TEARDOWN_CUPTI"] == "1",
                 "step_ms": {form: step_ms(blocks) for form, blocks in times.items()}}
        (out / f"{name}.facts.json").write_text(json.dumps(facts, indent=1) + "\n")
        seen = [f"{part[at]:.2f}" for at in ("median_before_recording", "median_after_recording")
                for part in facts["step_ms"].values()]
        print(f"{name}: {facts['cause']}: {seen[0]} -> {seen[1]} ms, afterwards {seen[2]} -> {seen[3]} ms, "
              f"drifts {' '.join(f'{100 * d:.1f}' for d in drifts)} %", flush=True)
    if ranks > 1:
        parallel.finish()


if __name__ == "__main__":
    main()
    sys.stdout.flush()
    os._exit(0)  # producers of input may still be at work
