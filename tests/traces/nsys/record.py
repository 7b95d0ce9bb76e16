"""Runs one program of tests/traces/record for Nsight Systems to record: a few steps within cudaProfilerStart and -Stop.

record.py NAME fault|repaired [operators]: with `operators`, PyTorch names every operator and its shapes by NVTX ranges
(torch.autograd.profiler.emit_nvtx). Prints the milliseconds of a step without the profiler.
"""
import contextlib
import os
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "record"))
import torch

import programs

STEPS = 3


def main():
    name, form, operators = sys.argv[1], sys.argv[2], sys.argv[3:] == ["operators"]
    torch.manual_seed(0)
    step = getattr(programs, name)(form == "repaired")
    for _ in range(6):
        step()
    torch.cuda.synchronize()
    start = time.perf_counter()
    for _ in range(10):
        step()
    torch.cuda.synchronize()
    print(f"{name} {form}: {(time.perf_counter() - start) * 100:.2f} ms a step", flush=True)
    torch.cuda.profiler.start()
    with torch.autograd.profiler.emit_nvtx(record_shapes=True) if operators else contextlib.nullcontext():
        for i in range(STEPS):
            torch.cuda.nvtx.range_push(f"step {i}")
            step()
            torch.cuda.nvtx.range_pop()
    torch.cuda.synchronize()
    torch.cuda.profiler.stop()


if __name__ == "__main__":
    main()
    sys.stdout.flush()
    os._exit(0)  # producers of input may still be at work
