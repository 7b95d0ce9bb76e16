#!/usr/bin/env python3
"""hone's training step against PyTorch's (the best of its ways: eager and torch.compile, channels last where there are
convolutions, fused optimizer; on a GPU CUDA graphs as well): the same weights, batch, loss, optimizer and precision (f32, or
bf16: PyTorch's by autocast), on a CPU the same threads. On both sides the compute step alone: the batch lies there.

Each is a process of its own (bench_training, torch_steps.py); in every round each has one slot while the others block, and
the ratio is that of the slots of one round. What goes on is said on stderr, the table last on stdout.

run.py [--device cuda] [--steps NAME…] [--precision bf16] [--rounds N] [--budget SECONDS] [--json FILE] …
"""
import argparse
import contextlib
import datetime
import importlib.metadata
import json
import math
import os
import pathlib
import random
import shlex
import shutil
import subprocess
import sys
import tempfile
import time

import numpy as np

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
sys.path.insert(0, str(HERE.parent / "peers"))
import gpu  # noqa: E402
from paired import ratio  # noqa: E402
from processes import OthersCpu, WorkerFailed  # noqa: E402
from steps import ADAMW, DEFAULT, NEEDS_GPU, OTHER_WORK, SET_ON, STEPS, WAYS, write_mlp  # noqa: E402
from workers import Clock, Timed  # noqa: E402

FEWEST_ROUNDS = 6  # that give a 95 % interval
SLOT_MS = {"cpu": None, "cuda": 1000}  # a GPU's clock follows its power and heat; None: as bench/peers has it
WATCH_MS = 50
SHARE_OF_ROUNDS = 0.4  # of a step's time at most, that is kept for them while there is a budget


class Step:
    """One training step, and those who run it."""

    def __init__(self, name, folder, options, clock, deadline):
        self.name, self.options, self.clock, self.deadline = name, options, clock, deadline
        self.setup = STEPS[name]
        self.batch = options.batch or self.setup.batch
        self.on_gpu = options.device == "cuda"
        self.folder = folder / name
        self.folder.mkdir(exist_ok=True)
        self.recipe = ROOT / "recipes" / f"{self.setup.recipe}.toml" if self.setup.recipe else write_mlp(self.folder)
        self.begun = time.monotonic()
        cache = options.cache
        self.environment = {"TORCHINDUCTOR_CACHE_DIR": str(cache / "inductor"), "XDG_CACHE_HOME": str(cache)} if cache else {}

    def set(self):
        values = [*ADAMW, *self.setup.set, f'train.precision="{self.options.precision}"', *SET_ON[self.options.device]]
        return values + ([f"train.batch={self.options.batch}"] if self.options.batch else []) + self.options.set

    def rounds_s(self):
        """That is kept for the rounds, while the workers are made ready."""
        slot_ms = SLOT_MS[self.options.device] or 200
        wanted = self.options.rounds * (3 if self.options.before else 2) * (0.1 + (self.options.slot_ms or slot_ms) / 750)
        return min(wanted, SHARE_OF_ROUNDS * (self.deadline - self.begun))

    def ready_by(self):
        return self.deadline if self.deadline == math.inf else self.deadline - self.rounds_s()

    def facts(self, name):
        return self.folder / f"{name}.facts.json"

    def start(self, name, command, by):
        self.clock.say(f"{self.name}: {name} gets ready")
        self.facts(name).unlink(missing_ok=True)
        return Timed(name, command, self.folder / f"{name}.log", self.environment, by,
                     self.options.slot_ms or SLOT_MS[self.options.device])

    def start_hone(self, name, program):
        words = [word for field in self.setup.fields for word in ("--field", field)]
        words += [word for value in self.set() for word in ("--set", value)]
        if self.on_gpu:
            words += ["--device", "cuda", "--facts", self.facts(name), "--plan"]
        return self.start(name, [program, self.recipe, self.folder, "--threads", str(self.options.threads), *words],
                          self.ready_by())

    def start_torch(self, way, by):
        words = ["--device", "cuda", "--facts", self.facts(way)] if self.on_gpu else []
        return self.start(way, [sys.executable, HERE / "torch_steps.py", way, self.setup.network, self.folder,
                                str(self.options.threads), *words], by)

    def fastest_torch(self):
        """PyTorch in its fastest way, how long a step took in each, and why a way could not be measured. On a GPU there is one
        at a time, whose memory is then free for the next."""
        alive, best, times, failed, took_s = None, None, {}, {}, {}
        for way in self.setup.ways(self.options.device, self.options.ways):
            by = self.ready_by() - (took_s[best] if self.on_gpu and best else 0)  # then the best so far starts again
            if times and time.monotonic() + min(took_s.values()) > by:
                failed[way] = "not tried: no time left"
                continue
            if self.on_gpu and alive is not None:
                alive.close()
                alive = None
            begun = time.monotonic()
            try:
                worker = self.start_torch(way, by)
                times[way] = worker.calibrate()
            except WorkerFailed as failure:
                if failure.code == OTHER_WORK and not times:
                    raise  # nor will another way's be
                failed[way] = str(failure)
                self.clock.say(f"{self.name}: {way} is left out: {failure}")
                continue
            took_s[way] = time.monotonic() - begun
            self.clock.say(f"{self.name}: {way} takes {times[way]:.3f} ms")
            best, loser = (way, alive) if best is None or times[way] < times[best] else (best, worker)
            alive = alive if loser is worker else worker
            if loser is not None:
                loser.close()
        if best is None:
            raise WorkerFailed("; ".join(failed.values()))
        if alive is None:
            alive = self.start_torch(best, self.deadline)
        return alive, {"way": best, "ways_ms": times} | ({"ways_failed": failed} if failed else {})

    def run_rounds(self, workers):
        """The times of each worker's slots: as many rounds as asked for, or as there is time for."""
        slots, round_s = {name: [] for name in workers}, sum(worker.slot_s() for worker in workers.values())
        for _ in range(self.options.rounds):
            begun = time.monotonic()
            if begun + round_s > self.deadline:
                break
            for name in random.sample(list(slots), len(slots)):
                slots[name].append(workers[name].slot())
            round_s = time.monotonic() - begun
        done = len(slots["hone"])
        if done < self.options.rounds:
            self.clock.say(f"{self.name}: {done} rounds, not {self.options.rounds}: no time left")
        if done == 0:
            raise WorkerFailed("no time left for a round")
        return slots

    def compare(self):
        with contextlib.ExitStack() as running:
            workers = {"hone": self.start_hone("hone", self.options.hone)}
            running.callback(workers["hone"].close)
            if self.options.before:
                workers["before"] = self.start_hone("before", self.options.before)
                running.callback(workers["before"].close)
            workers["torch"], ways = self.fastest_torch()
            running.callback(workers["torch"].close)
            for worker in workers.values():
                worker.deadline = self.deadline
                worker.calibrate()
            waiting_ms = workers["hone"].measure(workers["hone"].slot_calls, " waiting") if self.on_gpu else None
            for worker in workers.values():
                worker.start_counting()
            self.clock.say(f"{self.name}: {self.options.rounds} rounds")
            others, load = OthersCpu(list(workers.values())), os.getloadavg()[0]
            watch = running.enter_context(gpu.Watch(WATCH_MS)) if self.on_gpu and shutil.which("nvidia-smi") else None
            slots = self.run_rounds(workers)
            cpu = {name: worker.cpu_ms() for name, worker in workers.items()}
            result = {"what": self.setup.fields, "batch": self.batch, "set": self.set(), "others_cpu": others.share(),
                      "load_average": [round(load, 2), round(os.getloadavg()[0], 2)], "rounds": len(slots["hone"]),
                      "runtimes": {name: self.entry(times, slots["hone"], cpu[name], cpu["hone"])
                                   for name, times in slots.items()}}
            if waiting_ms is not None:
                result["runtimes"]["hone"]["waiting_ms"] = waiting_ms
            if watch is not None:
                for name, worker in workers.items():
                    result["runtimes"][name]["gpu"] = watch.summary(worker.slots_at)
        for name in workers if self.on_gpu else []:
            result["runtimes"][name] |= self.read_facts(ways["way"] if name == "torch" else name)
        result["runtimes"]["torch"] |= ways
        result["seconds"] = round(time.monotonic() - self.begun, 1)
        return result

    def entry(self, times, hone, cpu_ms, hone_cpu_ms):
        median = float(np.median(times))
        entry = {"median_ms": median, "min_ms": min(times), "max_ms": max(times), "cpu_ms": round(cpu_ms, 4),
                 f"{self.setup.unit}_per_s": round(self.setup.units(self.batch) / median * 1000, 1),
                 "slots_ms": [round(ms, 4) for ms in times]}
        if times is not hone:
            found = ratio(times, hone)
            entry |= {"ratio": {key: value if 0 < value < math.inf else None for key, value in found.items()},
                      "ratio_of_minima": min(times) / min(hone),
                      "ratio_of_cpu": cpu_ms / hone_cpu_ms if hone_cpu_ms > 0 else None}
        return entry

    def read_facts(self, name):
        """As the process that was measured left them."""
        with contextlib.suppress(OSError, ValueError):
            return json.loads(self.facts(name).read_text())
        return {}


def interval_text(r):
    bound = lambda value: "?" if value is None else f"{value:.3f}"
    return f"{r['median']:.3f} ({bound(r['low'])}–{bound(r['high'])})"


def gpu_text(entry):
    seen = entry.get("gpu")
    return f"{seen['sm_mhz']['median']:.0f} MHz {seen['watts']['median']:.0f} W" if seen else "clock unknown"


def row_of(name, result):
    if "missing" in result:
        return f"{name:<14}missing: {result['missing']}"
    runtimes = result["runtimes"]
    hone, torch = runtimes["hone"], runtimes["torch"]
    line = f"{name:<14}{result['batch']:>6}{hone['median_ms']:>10.3f}{torch['median_ms']:>10.3f}  {interval_text(torch['ratio'])}"
    if "waiting_ms" in hone:
        unit = next(key for key in hone if key.endswith("_per_s"))
        memory, theirs = hone.get("memory", {}), torch.get("memory", {})
        gb = lambda entry, key: f"{entry[key] / 1e9:.2f}" if key in entry else "?"
        line += (f"  {hone[unit]:,.0f} : {torch[unit]:,.0f} {unit.split('_')[0]}/s, {gpu_text(hone)} : {gpu_text(torch)}, "
                 f"{gb(memory, 'device_bytes')} : {gb(theirs, 'device_bytes')} GB of the device, {torch['way']}")
    else:
        line += (f"  of minima {torch['ratio_of_minima']:.3f}, of CPU {torch['ratio_of_cpu'] or math.nan:.3f}  {torch['way']}, "
                 f"others {result['others_cpu']:.0%}")
    if "before" in runtimes:
        line += f"; before: {runtimes['before']['ratio']['median']:.3f}"
    return line


def print_table(steps, means):
    print(f"{'median ms':<14}{'batch':>6}{'hone':>10}{'torch':>10}  ratio")
    for name, result in steps.items():
        print(row_of(name, result))
    if means:
        print("geometric mean " + ", ".join(f"{what} {value:.3f}" for what, value in means.items()), flush=True)


def geometric_means(steps):
    """Over the steps that were measured."""
    torch = [step["runtimes"]["torch"] for step in steps.values() if "runtimes" in step]
    if not torch:
        return {}
    values = {"ratio": [one["ratio"]["median"] for one in torch], "of_minima": [one["ratio_of_minima"] for one in torch],
              "of_cpu": [one["ratio_of_cpu"] for one in torch if one["ratio_of_cpu"]]}
    return {what: math.exp(sum(map(math.log, each)) / len(each)) for what, each in values.items() if each}


def processor():
    for line in pathlib.Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            return line.split(":")[1].strip()
    return "unknown"


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--device", choices=list(DEFAULT), default="cpu")
    parser.add_argument("--steps", nargs="+", choices=list(STEPS), metavar="NAME",
                        help="; ".join(f"{device}: {' '.join(names)}" for device, names in DEFAULT.items()) + "; all run on both")
    parser.add_argument("--batch", type=int, help="in place of the steps' own")
    parser.add_argument("--set", action="append", default=[], metavar="KEY=VALUE", help="in hone's recipes, last of all; "
                        "PyTorch takes its weights and batch from hone")
    parser.add_argument("--ways", nargs="+", choices=list(WAYS), metavar="NAME", help="of PyTorch, in this order, out of "
                        + " ".join(WAYS) + "; default: some of the device")
    parser.add_argument("--rounds", type=int, help=f"default: cpu 15, cuda 10; at least {FEWEST_ROUNDS}: fewer give no interval")
    parser.add_argument("--slot-ms", type=float, help="that a slot takes at least; default on a GPU: 1000")
    parser.add_argument("--budget", type=float, metavar="SECONDS", help="end by then: with fewer ways, rounds or steps")
    parser.add_argument("--threads", type=int, default=len(os.sched_getaffinity(0)), help="default: every core")
    parser.add_argument("--precision", choices=["f32", "bf16"], default="f32")
    parser.add_argument("--hone", type=pathlib.Path, default=ROOT / "build" / "bench_training")
    parser.add_argument("--before", type=pathlib.Path, help="another build of bench_training, measured as well")
    parser.add_argument("--folder", type=pathlib.Path, help="where models and logs stay (default: a temporary folder)")
    parser.add_argument("--cache", type=pathlib.Path,
                        help="where inductor's compiled code and hone's timings of kernels are kept for the next run")
    parser.add_argument("--json", type=pathlib.Path, help="also write the results to this file")
    options = parser.parse_args()
    options.steps = options.steps or DEFAULT[options.device]
    options.rounds = options.rounds or {"cpu": 15, "cuda": 10}[options.device]
    if options.rounds < FEWEST_ROUNDS:
        parser.error(f"--rounds: at least {FEWEST_ROUNDS}; fewer give no 95 % interval")
    if options.device == "cpu" and NEEDS_GPU & set(options.ways or []):
        parser.error(f"--ways: only with --device cuda: {' '.join(sorted(NEEDS_GPU & set(options.ways)))}")
    for name in options.steps:
        if not STEPS[name].ways(options.device, options.ways):
            parser.error(f"--ways: none of them is for {name}")
    if options.cache:
        options.cache = options.cache.absolute()
        options.cache.mkdir(parents=True, exist_ok=True)
    return options


def about(options):
    commit = subprocess.run(["git", "-C", ROOT, "describe", "--always", "--dirty"], capture_output=True, text=True)
    report = {
        "schema": 1, "date": datetime.date.today().isoformat(), "commit": commit.stdout.strip(),
        "machine": f"{processor()}, {os.cpu_count()} cores", "device": options.device,
        "command": shlex.join(["bench/training/run.py", *sys.argv[1:]]),
        "threads": options.threads, "dtype": options.precision, "rounds": options.rounds,
        "versions": {"torch": importlib.metadata.version("torch")},
        "ratio": "PyTorch's time over hone's: above 1, hone is faster; Hodges-Lehmann, 95 % signed-rank interval",
        "steps": {},
    }
    if options.device == "cuda" and shutil.which("nvidia-smi"):
        report["gpu"] = dict(zip(("name", "driver", "power_limit"), map(str.strip, gpu.name().split(","))))
    return report


def main():
    options = arguments()
    clock, report = Clock(options.budget), about(options)
    with tempfile.TemporaryDirectory() as temporary:
        folder = options.folder or pathlib.Path(temporary)
        folder.mkdir(parents=True, exist_ok=True)
        for i, name in enumerate(options.steps):
            try:
                result = Step(name, folder, options, clock, clock.deadline(len(options.steps) - i)).compare()
            except WorkerFailed as failure:
                result = {"missing": str(failure)}
            report["steps"][name] = result
            for key in ("cuda", "cudnn") if "runtimes" in result else ():
                if key in result["runtimes"]["torch"]:
                    report["versions"][key] = result["runtimes"]["torch"][key]
            report["geometric_mean"] = geometric_means(report["steps"])
            if options.json:  # after every step: what a run that is cut short has measured can be read
                options.json.write_text(json.dumps(report, indent=1, ensure_ascii=False) + "\n")
            clock.say(row_of(name, result))
    print_table(report["steps"], report["geometric_mean"])
    sys.exit(any("missing" in step for step in report["steps"].values()))


if __name__ == "__main__":
    main()
