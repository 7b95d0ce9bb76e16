#!/usr/bin/env python3
"""Everything that the tables of a GPU rest on (README.md, docs/gpu.md, docs/training.md), measured by one command.

gpu_tables.py OUT [--limit SECONDS] [--only NAME…] [--list]

A job is a test run, a lab or a comparison; each GPU does one at a time, in the order below, as long as its limit fits into
what is left of --limit. Results go to OUT, a file or folder a job with its log beside it; OUT/jobs.json says of each job how
it ended. Needs `make all`, and for comparisons a Python with torch, numpy and onnx (bench/peers/README.md).
"""
import argparse
import concurrent.futures
import json
import os
import pathlib
import signal
import subprocess
import sys
import threading
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
HONE = ROOT / "build" / "hone"
PYTHON = sys.executable
HEROES = ["resnet50", "unet", "bert_base", "gpt2"]


class Job:
    """A command that writes to OUT/NAME…, killed after `limit` seconds."""

    def __init__(self, name, limit, *command):
        self.name, self.limit, self.command = name, limit, command

    def run(self, out, gpu):
        """How it ended, as jobs.json has it."""
        command = [str(word).replace("OUT", str(out)) for word in self.command]
        begun = time.monotonic()
        with open(out / f"{self.name}.log", "wb") as log:
            process = subprocess.Popen(command, cwd=ROOT, stdin=subprocess.DEVNULL, stdout=log, stderr=subprocess.STDOUT,
                                       env=os.environ | {"CUDA_VISIBLE_DEVICES": gpu}, start_new_session=True)
            try:
                status = process.wait(self.limit)
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, signal.SIGTERM)  # a lab writes what it has
                try:
                    process.wait(10)
                except subprocess.TimeoutExpired:
                    os.killpg(process.pid, signal.SIGKILL)
                    process.wait()
                status = "stopped at its limit"
        return {"gpu": gpu, "seconds": round(time.monotonic() - begun, 1), "limit_s": self.limit, "status": status,
                "command": " ".join(command)}


def lab(name, model, limit, *words):
    return Job(f"lab_{name}", limit, HONE, "lab", model, "--device", "cuda", "--out", f"OUT/lab_{name}",
               "--json", f"OUT/lab_{name}.json", *words)


def lab_of_hero(model, limit=150):
    """A model of the zoo in fp16, one sample: its report and its plan's kernels stay."""
    return lab(model, f"OUT/{model}.onnx", limit, "--lossy", "fp16", "--bind", "batch=1")


def lab_of_gpt2(name, limit, *words):
    return lab(name, "recipes/gpt2_124m.toml", limit, "--lossy", "bf16", "--set", "data.path=OUT/text.txt", *words)


def run_of_gpt2(name, limit, every):
    """Sixty steps, with a checkpoint behind so many: its metrics say what a step took."""
    values = ["data.path=OUT/text.txt", "train={steps=60, batch=32, seed=1, precision=\"bf16\", deterministic=false}", "data.validation=0",
              f"checkpoint.every={every}"]
    return Job(f"run_{name}", limit, HONE, "train", "recipes/gpt2_124m.toml", "--device", "cuda", "--out", f"OUT/run_{name}",
               "--json", f"OUT/run_{name}.json", *(word for value in values for word in ("--set", value)))


def write_models(out):
    for model in HEROES:
        subprocess.run([HONE, "zoo", model, "-o", out / f"{model}.onnx"], check=True, stdout=subprocess.DEVNULL)


def write_text(path):
    """Bytes to train on: this repository's sources."""
    with open(path, "wb") as text:
        for source in sorted((ROOT / "src").rglob("*.cpp")):
            text.write(source.read_bytes())


def peers(model, batch, limit, way="max-autotune-channels-last"):
    name = f"peers_{model}_{batch}"
    return Job(name, limit, PYTHON, "bench/peers/run.py", "--device", "cuda", "--type", "fp16", "--models", model, "--batches", batch,
               "--peers", "compile", "--ways", way, "--rounds", 8, "--threads", 4, "--json", f"OUT/{name}.json")


def step(name, limit, way="captured", label="", words=()):
    file = f"step_{name}{label}"
    return Job(file, limit, PYTHON, "bench/training/run.py", "--device", "cuda", "--precision", "bf16", "--steps", name,
               "--ways", way, "--rounds", 6, "--budget", limit - 15, "--json", f"OUT/{file}.json", *words)


def jobs():
    words = "max-autotune"  # models without images run in one layout
    fast = "reduce-overhead-channels-last"  # autotuning a batch of 256 takes more than seven minutes
    return [
        peers("resnet50", 256, 240, fast), peers("bert_base", 32, 200, words), peers("gpt2", 1, 200, words),
        peers("mobilenet_v2", 1, 240), peers("resnet50", 1, 240), peers("vit", 1, 200, words), peers("unet", 16, 200),
        lab_of_gpt2("gpt2_124m_b4", 240, "--set", "train.batch=4", "--set", "train.accumulate=1", "--budget", 90),
        Job("cuda_tests", 420, PYTHON, "tools/test-cuda", "--jobs", 4, "--out", "OUT/cuda-tests.json"),
        lab("cells_unet", "recipes/cells_unet.toml", 120, "--lossy", "bf16", "--budget", 60),
        step("resnet50_b256", 200, "captured-channels-last"), step("unet64", 180, "captured-channels-last"),
        peers("vit", 128, 200, words), peers("gpt2", 32, 200, words), peers("mobilenet_v2", 256, 240, fast),
        peers("bert_base", 1, 200, words), peers("unet", 1, 200), Job("bandwidth", 400, PYTHON, "bench/kernels/gpu_bandwidth.py",
                                                                      "--json", "OUT/bandwidth.json"),
        step("gpt2_124m", 120), step("gpt2_124m", 120, label="_narrow", words=["--set", 'train.residual="narrow"']),
        step("gpt2_124m_b4", 110), step("vit_b16", 130),
        *(lab_of_hero(model) for model in HEROES), run_of_gpt2("checkpoints", 80, 20), run_of_gpt2("no_checkpoints", 80, 1000),
        peers("resnet50", 8, 200), peers("resnet50", 32, 200), lab_of_gpt2("gpt2_124m", 420),
    ]


def gpus():
    """The indices of those that this process may use."""
    if named := os.environ.get("CUDA_VISIBLE_DEVICES"):
        return named.split(",")
    try:
        listed = subprocess.run(["nvidia-smi", "--query-gpu=index", "--format=csv,noheader"], capture_output=True, text=True)
    except OSError:
        return []
    return listed.stdout.split() if listed.returncode == 0 else []


def work(gpu, waiting, deadline, out, ended, lock):
    """One GPU's jobs: the next one that still fits, until none does."""
    while True:
        with lock:
            job = next((job for job in waiting if time.monotonic() + job.limit <= deadline), None)
            if job is None:
                return
            waiting.remove(job)
        result = job.run(out, gpu)
        with lock:
            ended[job.name] = result
            (out / "jobs.json").write_text(json.dumps(ended, indent=1) + "\n")
            print(f"{job.name:<24} GPU {gpu}  {result['seconds']:6.0f} s  {result['status']}", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out", type=pathlib.Path, nargs="?", help="folder for the results")
    parser.add_argument("--limit", type=float, default=3600, help="seconds for all of it (default 3600)")
    parser.add_argument("--only", nargs="+", metavar="NAME", help="these jobs alone, in the order of --list")
    parser.add_argument("--list", action="store_true", help="name the jobs and end")
    options = parser.parse_args()
    known = jobs()
    if options.list:
        print("\n".join(f"{job.name:<24} at most {job.limit} s" for job in known))
        return 0
    if options.out is None:
        parser.error("OUT: a folder for the results")
    if strange := set(options.only or ()) - {job.name for job in known}:
        parser.error(f"--only {' '.join(sorted(strange))}: no such job (--list names them)")
    there = gpus()
    if not there:
        print("gpu_tables: nvidia-smi names no GPU here", file=sys.stderr)
        return 1
    options.out = options.out.resolve()
    options.out.mkdir(parents=True, exist_ok=True)
    write_text(options.out / "text.txt")
    write_models(options.out)
    waiting = [job for job in known if not options.only or job.name in options.only]
    deadline, ended, lock = time.monotonic() + options.limit, {}, threading.Lock()
    with concurrent.futures.ThreadPoolExecutor(len(there)) as pool:
        for done in [pool.submit(work, gpu, waiting, deadline, options.out, ended, lock) for gpu in there]:
            done.result()
    for job in waiting:
        print(f"{job.name:<24} not run: its {job.limit} s did not fit")
    return 0 if not waiting and all(result["status"] == 0 for result in ended.values()) else 1


if __name__ == "__main__":
    sys.exit(main())
