#!/usr/bin/env python3
"""How often `hone compare` of a model with its copy claims a difference: at 95 %, 1 in 20 at most, A as often as B.

    python3 bench/lab/compare_copies.py [--hone build/hone] [--model mobilenet_v2] [--runs 50] [--budget 5]

For a quiet machine: each run is a program of its own, as a user would start it. Prints JSON.
"""
import argparse
import json
import pathlib
import shutil
import subprocess
import sys
import tempfile


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--hone", default="build/hone")
    parser.add_argument("--model", default="mobilenet_v2", help="of the zoo")
    parser.add_argument("--runs", type=int, default=50)
    parser.add_argument("--budget", type=float, default=5, help="seconds of each comparison")
    options = parser.parse_args()
    claims, ratios, disturbed = {"faster": 0, "slower": 0, "no_difference": 0}, [], 0
    with tempfile.TemporaryDirectory() as folder:
        a, b = (pathlib.Path(folder) / name for name in ("a.onnx", "b.onnx"))
        subprocess.run([options.hone, "zoo", options.model, "-o", a, "--quiet"], check=True)
        shutil.copy(a, b)
        for run in range(options.runs):
            # Which of the two files is given first takes turns as well.
            pair = [a, b] if run % 2 == 0 else [b, a]
            done = subprocess.run([options.hone, "compare", *pair, "--budget", str(options.budget), "--json", "-"],
                                  check=True, capture_output=True, text=True)
            result = json.loads(done.stdout)
            claims[result["verdict"]] += 1
            ratios.append(result["ratio"])
            disturbed += bool(result["contention"] and result["contention"]["disturbed"])
            print(f"{run + 1} of {options.runs}: {result['verdict']}", file=sys.stderr)
    widths = sorted(ratio["high"] / ratio["low"] - 1 for ratio in ratios)
    print(json.dumps({"model": options.model, "runs": options.runs, "verdicts_of_second": claims,
                      "median_width": widths[len(widths) // 2], "on_a_busy_machine": disturbed, "ratios": ratios},
                     indent=1))
    return 0


if __name__ == "__main__":
    sys.exit(main())
