"""The processes that measure, one for each runtime, and what else the machine did meanwhile."""
import contextlib
import math
import os
import pathlib
import subprocess
import time

import numpy as np

SETTLE_MS, SETTLE_CALLS = 30, 2  # unmeasured, before a slot: caches and threads as in steady use
SLOT_MS, SLOT_CALLS = 150, 3
PAUSE_S = 0.05  # before a slot: the threads of the runtime before have gone to sleep


class WorkerFailed(RuntimeError):
    """A worker ended or never got ready; the message is what it said last, in one line."""

    def __init__(self, message, code=None):
        super().__init__(message)
        self.code = code  # that it ended with


class Worker:
    """A process that measures on request."""

    settle_ms, slot_ms = SETTLE_MS, SLOT_MS

    def __init__(self, name, command, log, environment=None, own_group=False):
        """`own_group`: it and what it starts are a process group of their own."""
        self.name = name
        self.log = log
        self.ticks = 0
        # Large outputs stay in the heap: glibc would map and unmap them, and fault every page, at each step.
        environment = {**os.environ, "MALLOC_MMAP_THRESHOLD_": "33554432", "MALLOC_TRIM_THRESHOLD_": "4294967296",
                       "TORCHINDUCTOR_CACHE_DIR": str(log.parent / "inductor")} | (environment or {})
        with open(log, "w") as errors:
            self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=errors,
                                            text=True, env=environment, start_new_session=own_group)
        if self.answer() != "ready":
            self.close()
            raise WorkerFailed(f"{name} is not ready; see {log}")

    def answer(self):
        line = self.process.stdout.readline()
        if line:
            return line.strip()
        self.close()
        said = [text.strip() for text in self.log.read_text(errors="replace").splitlines() if text.strip()]
        raise WorkerFailed(f"{self.name} ended ({self.process.returncode}): {said[-1][-300:] if said else 'silently'}",
                           self.process.returncode)

    def measure(self, calls, how=""):
        with contextlib.suppress(BrokenPipeError):  # it ended: answer() says with which words
            self.process.stdin.write(f"{calls}{how}\n")
            self.process.stdin.flush()
        return float(self.answer())

    def calibrate(self):
        """Decides how many calls make a slot; returns the milliseconds of one."""
        self.measure(2)
        ms = min(self.measure(max(2, math.ceil(100 / self.measure(2)))) for _ in range(2))
        self.settle_calls = max(SETTLE_CALLS, math.ceil(self.settle_ms / ms))
        self.slot_calls = max(SLOT_CALLS, math.ceil(self.slot_ms / ms))
        return ms

    def slot(self):
        time.sleep(PAUSE_S)
        self.measure(self.settle_calls)
        return self.measure(self.slot_calls)

    def cpu_ticks(self):
        """CPU time so far, of all its threads; once it has ended, what it last had."""
        with contextlib.suppress(FileNotFoundError):
            fields = pathlib.Path(f"/proc/{self.process.pid}/stat").read_text().rpartition(")")[2].split()
            self.ticks = int(fields[11]) + int(fields[12])
        return self.ticks

    def close(self):
        with contextlib.suppress(BrokenPipeError):
            self.process.stdin.close()
        self.process.wait()


class OthersCpu:
    """Which share of the machine's CPU time goes to processes other than the workers."""

    def __init__(self, workers):
        self.workers = workers
        self.start = self.ticks()

    def ticks(self):
        times = [int(field) for field in pathlib.Path("/proc/stat").read_text().splitlines()[0].split()[1:9]]
        idle = times[3] + times[4]
        return np.array([sum(times), sum(times) - idle - sum(worker.cpu_ticks() for worker in self.workers)])

    def share(self):
        total, others = self.ticks() - self.start
        return round(max(0.0, float(others / total)), 4)
