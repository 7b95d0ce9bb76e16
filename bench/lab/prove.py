#!/usr/bin/env python3
"""prove.py HONE OUT [--budget SECONDS] [NAME...]: `hone lab` on programs of public libraries as their users write them (bench/lab/programs),
one after the other; a table of what was predicted, kept and won, and OUT/proof.json."""
import argparse
import json
import subprocess
import sys
import time
from pathlib import Path

PROGRAMS = Path(__file__).parent / "programs"
TORCHRUN = {"ddp"}


def command(name):
    path = str(PROGRAMS / f"{name}.py")
    return ["torchrun", "--nproc_per_node", "2", path] if name in TORCHRUN else [sys.executable, path]


def prove(hone, out, name, budget):
    folder = out / name
    if folder.exists():
        sys.exit(f"prove.py: {folder} is there already, and its lab.json is of another run: name a new folder")
    start = time.time()
    with open(out / f"{name}.log", "w", encoding="utf-8") as log:
        status = subprocess.run([hone, "lab", "--budget", str(budget), "--out", str(folder), "--", *command(name)],
                                stdout=log, stderr=subprocess.STDOUT, check=False).returncode
    found = {"program": name, "status": status, "seconds": round(time.time() - start, 1)}
    try:
        found["lab"] = json.loads((folder / "lab.json").read_text(encoding="utf-8"))
    except (OSError, ValueError):
        found["lab"] = None
    return found


def told(lab):
    if not lab:
        return "no lab.json"
    tried = [f"{c['change']} {c['outcome']} (foretold {c['predicted_gain_ms']}, won {c['gain_ms']} ms)" for c in lab["changes"]]
    return f"a step of {lab['step_ms']} ms, together {json.dumps(lab['together'])}; {'; '.join(tried) or lab['why_nothing']}"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("hone")
    parser.add_argument("out", type=Path)
    parser.add_argument("names", nargs="*")
    parser.add_argument("--budget", type=int, default=150)
    options = parser.parse_intermixed_args()
    options.out.mkdir(parents=True, exist_ok=True)
    names = options.names or sorted(path.stem for path in PROGRAMS.glob("*.py"))
    results = []
    for name in names:
        results.append(prove(options.hone, options.out, name, options.budget))
        (options.out / "proof.json").write_text(json.dumps(results, indent=1) + "\n", encoding="utf-8")
        print(f"{name}: status {results[-1]['status']}, {results[-1]['seconds']} s; {told(results[-1]['lab'])}", flush=True)


if __name__ == "__main__":
    main()
