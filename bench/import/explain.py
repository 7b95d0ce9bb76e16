#!/usr/bin/env python3
"""Measures how long `hone explain` takes, from the file to the report on the terminal, and in how much memory.

Usage: explain.py TRACE.json.gz --hone build/hone [--before OTHER/build/hone] [--rounds N] [--sizes BYTES…] [--work DIR]
                  [-o RESULT.json]

Files are made by inflate.py from TRACE and read from the page cache. The program runs on --cores cores (2). Rounds go
over all sizes in turn; all times are kept. The peak is of the whole process; more than 1 of the file is memory that
does not depend on it. Another build, --before, takes turns with this one.
"""
import argparse
import datetime
import json
import os
import statistics
import subprocess
import time
from pathlib import Path

from compare import HERE, inflate, machine


def explain(program, path, cores):
    """Seconds, seconds of both cores together, and bytes at the peak."""
    start = time.perf_counter()
    child = subprocess.Popen([program, "explain", path], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                             preexec_fn=lambda: os.sched_setaffinity(0, cores))
    _, status, usage = os.wait4(child.pid, 0)
    seconds = time.perf_counter() - start
    child.returncode = os.waitstatus_to_exitcode(status)
    if child.returncode != 0:
        raise SystemExit(f"hone explain {path}: exit {child.returncode}")
    return seconds, usage.ru_utime + usage.ru_stime, usage.ru_maxrss * 1024


def spread(values):
    return {"median": statistics.median(values), "low": min(values), "high": max(values), "all": values}


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("trace", type=Path)
    parser.add_argument("--hone", required=True, help="the program hone")
    parser.add_argument("--before", help="another build of hone")
    parser.add_argument("--work", type=Path, default=Path("/tmp/hone-bench-import"))
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--cores", type=int, default=2)
    parser.add_argument("--sizes", type=float, nargs="*", default=[1e7, 1e8, 1e9, 2e9])
    parser.add_argument("-o", "--out", type=Path)
    options = parser.parse_args()
    options.work.mkdir(parents=True, exist_ok=True)
    cores = sorted(os.sched_getaffinity(0))[:options.cores]
    files = [inflate(options, size) for size in options.sizes]
    programs = {"hone": options.hone} | ({"before": options.before} if options.before else {})
    runs = {(path, name): [] for path in files for name in programs}
    for _ in range(options.rounds):
        for path, name in runs:
            runs[path, name].append(explain(programs[name], path, cores))
    rows = []
    for (path, name), each in runs.items():
        size = path.stat().st_size
        seconds, cpu, peaks = ([float(f"{value:.4g}") for value in values] for values in zip(*each))
        rows.append({"program": name, "bytes": size, "seconds": spread(seconds), "cpu_seconds": spread(cpu),
                     "peak_bytes": max(run[2] for run in each), "peak_over_file": max(peaks) / size})
        print(f"{name}, {size / 1e6:.0f} MB: {rows[-1]['seconds']['median']:.2f} s ({min(seconds):.2f} to "
              f"{max(seconds):.2f}), peak {rows[-1]['peak_over_file']:.2f} of the file")
    if options.out:
        commit = subprocess.run(["git", "rev-parse", "--short", "HEAD"], capture_output=True, text=True, cwd=HERE)
        result = {"schema": 1, "date": datetime.date.today().isoformat(), "commit": commit.stdout.strip(),
                  "machine": machine(), "cores": len(cores), "trace": options.trace.name, "rounds": options.rounds,
                  "command": "bench/import/explain.py " + options.trace.name, "explain": rows}
        options.out.write_text(json.dumps(result, indent=1) + "\n")


main()
