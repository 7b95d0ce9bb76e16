"""Is a step slower than it was? The old and the new in turn where there are both, with hone's own paired test (docs/decisions/0004):
random order in each block, a distribution-free interval on the ratio, "no difference" as the normal answer. Where only a stored
time is there, the medians' intervals are compared, on the same machine alone. The pytest plugin (`hone_gate`) stands on this."""
from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from typing import Any, Callable, Dict, List, Sequence, Union

from . import Error, _native
from ._record import Record

Step = Union[Callable[[], Any], str, Sequence[str]]
"""What is timed: a function without arguments, or a command line."""

MIN_BLOCKS, MAX_BLOCKS = 8, 384
MIN_EFFECT = 0.002  # smaller differences are never claimed: where code lands in memory makes as much


class Pair(Record):
    """What a paired comparison found. `ratio` is the time of the baseline ÷ the time of the new: below 1, the new is slower."""

    _parts = {"ratio": Record}

    ratio: Any
    """`median`, `low` and `high`."""
    change: str
    """Of the new: "faster", "slower" or "no_difference", where differences below the tolerance are none."""
    blocks: int
    a_ms: List[float]
    b_ms: List[float]
    level: float
    stopped: str
    busy: bool
    """Whether other programs took the processor meanwhile."""

    def __str__(self) -> str:
        takes = 1 / self.ratio.median
        return "takes %.3f× the baseline's time (%.3f to %.3f, %.0f %% interval of %d interleaved blocks)%s" % (
            takes, 1 / self.ratio.high if self.ratio.high else float("inf"), 1 / self.ratio.low if self.ratio.low > 0 else float("inf"),
            100 * self.level, self.blocks, "; the machine was busy" if self.busy else "")


class Stored(Record):
    """What a comparison with a stored time found."""

    slower: bool
    median_ms: float
    low_ms: float
    high_ms: float
    baseline_ms: float
    baseline_high_ms: float

    def __str__(self) -> str:
        return "takes %.4g ms (%.4g to %.4g), where %.4g ms (at most %.4g) were stored; not measured side by side" % (
            self.median_ms, self.low_ms, self.high_ms, self.baseline_ms, self.baseline_high_ms)


def paired(new: Step, baseline: Step, *, tolerance: float = MIN_EFFECT, budget: float = 2.0, level: float = 0.95,
           seed: int = 1) -> Pair:
    """Runs both in turn for about `budget` seconds (eight blocks of four runs at least). What either raises ends it."""
    if not 0 < level < 1 or tolerance < 0 or budget <= 0:
        raise Error("paired(): level must be between 0 and 1, tolerance not negative, budget positive")
    found = _native.paired(_runnable(baseline), _runnable(new), level, budget, MIN_BLOCKS, MAX_BLOCKS,
                           max(tolerance, MIN_EFFECT), seed)
    return Pair(json.loads(found))


def measure(step: Step, *, budget: float = 2.0, warmup: int = 3, level: float = 0.95) -> Dict[str, Any]:
    """The median of the step's time with its interval, by at least ten runs."""
    run = _runnable(step)
    for _ in range(warmup):
        run()
    times: List[float] = []
    end = time.perf_counter() + budget
    while len(times) < 10 or (time.perf_counter() < end and len(times) < 10000):
        start = time.perf_counter()
        run()
        times.append((time.perf_counter() - start) * 1e3)
    median, low, high = _native.median_interval(times, level)
    return {"median_ms": median, "low_ms": low, "high_ms": high, "runs": len(times)}


def against_stored(step: Step, stored: Dict[str, Any], *, tolerance: float = 0.05, budget: float = 2.0) -> Stored:
    """Slower is what is slower by more than the tolerance, with the whole interval, twice in a row: nothing here is paired, and a
    machine drifts. Raises hone.Error where the time was stored on another machine."""
    here = machine()
    if stored.get("machine") != here:
        raise Error("the stored time is of another machine (%s; this is %s): store one here" % (
            _title(stored.get("machine") or {}), _title(here)))
    limit = stored["high_ms"] * (1 + tolerance)
    found = measure(step, budget=budget)
    if found["low_ms"] > limit:
        found = measure(step, budget=budget)
    return Stored(dict(found, slower=found["low_ms"] > limit, baseline_ms=stored["median_ms"],
                       baseline_high_ms=stored["high_ms"]))


def to_store(step: Step, *, budget: float = 2.0) -> Dict[str, Any]:
    """What against_stored() wants later."""
    return dict(measure(step, budget=budget), machine=machine(), when=time.strftime("%Y-%m-%dT%H:%M:%S%z"))


def machine() -> Dict[str, Any]:
    """What must be the same for times to be comparable."""
    here: Dict[str, Any] = {"cpu": _cpu(), "cpus": len(os.sched_getaffinity(0))}
    torch = sys.modules.get("torch")
    if torch is not None and torch.cuda.is_available():
        here["gpus"] = [torch.cuda.get_device_name(i) for i in range(torch.cuda.device_count())]
    return here


def _cpu() -> str:
    try:
        with open("/proc/cpuinfo") as lines:
            return next((line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")), "unknown")
    except OSError:
        return "unknown"


def _title(of: Dict[str, Any]) -> str:
    return ", ".join([str(of.get("cpu", "unknown")), "%s CPUs" % of.get("cpus", "?"), *of.get("gpus", [])])


def _runnable(step: Step) -> Callable[[], Any]:
    if callable(step):
        return _until_done(step)
    command = [step] if isinstance(step, str) else [str(part) for part in step]

    def run() -> None:
        try:
            ran = subprocess.run(command, shell=isinstance(step, str), stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
        except OSError as problem:
            raise Error("%s: cannot be started: %s" % (command[0], problem.strerror), "not_found") from None
        if ran.returncode != 0:
            said = ran.stderr.decode(errors="replace").strip().splitlines()
            raise Error("%s: ended with exit status %d%s" % (command[0], ran.returncode, ": " + said[-1] if said else ""))
    return run


def _until_done(step: Callable[[], Any]) -> Callable[[], Any]:
    """A GPU goes on after the call has returned: that is part of the step."""
    torch, jax = sys.modules.get("torch"), sys.modules.get("jax")
    if torch is not None and torch.cuda.is_available():
        wait: Callable[[], None] = torch.cuda.synchronize

        def run_and_wait() -> None:
            step()
            wait()
        return run_and_wait
    if jax is not None:
        block = jax.block_until_ready
        return lambda: block(step())
    return step
