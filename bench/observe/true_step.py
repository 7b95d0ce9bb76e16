"""How true the true step is: each program of programs.py by itself and under `hone profile`, in turns.

true_step.py [ROUNDS] [PROGRAM...]: prints a line of JSON for each program: the step as it takes with nothing attached (the
median of the rounds), as `hone profile` states it, their ratio, what recording adds, and whether the program's exit status
was kept. To be right: every ratio within 2 % of 1.
"""
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
HONE = os.path.join(HERE, "../../build/hone")
SECONDS = {"gpt2_b32": 60, "chain": 45}


def run(name, profiled):
    program = [sys.executable, os.path.join(HERE, "programs.py"), name, str(SECONDS.get(name, 25))]
    folder = tempfile.mkdtemp()
    if profiled:
        program = [HONE, "profile", "--out", os.path.join(folder, "run"), "--"] + program
    done = subprocess.run(program, capture_output=True, text=True)
    own = json.loads(done.stdout.splitlines()[-1]) if done.stdout.strip() else {}
    result = {"status": done.returncode, "own_ms": own.get("median_ms")}
    if profiled:
        try:
            with open(os.path.join(folder, "run/explain.json"), encoding="utf-8") as file:
                explained = json.load(file)
            result.update(step=explained["step"], coverage=explained.get("coverage"), warnings=explained["warnings"])
        except OSError:
            result["why"] = done.stderr[-2000:]
    shutil.rmtree(folder)
    return result


def main():
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 3
    for name in sys.argv[2:] or ["vit_b1", "gpt2_b1", "chain", "gpt2_b32"]:
        alone, stated, problems = [], [], []
        last = {}
        for _ in range(rounds):
            alone.append(run(name, False)["own_ms"])
            last = run(name, True)
            unrecorded = (last.get("step") or {}).get("unrecorded_ms")
            stated.append(unrecorded["median"] if unrecorded else None)
            problems += [last["why"]] if "why" in last else []
        known = [ms for ms in stated if ms]
        ratio = statistics.median(known) / statistics.median(alone) if known else None
        print(json.dumps({"program": name, "alone_ms": alone, "stated_ms": stated, "ratio": ratio, "status": last["status"],
                          "step": {k: v for k, v in (last.get("step") or {}).items() if k != "samples_ms"},
                          "coverage": last.get("coverage"), "warnings": last.get("warnings"), "problems": problems}),
              flush=True)


if __name__ == "__main__":
    main()
