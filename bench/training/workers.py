"""The processes that run.py measures, within the time that it has."""
import math
import os
import signal
import subprocess
import sys
import threading
import time

from processes import PAUSE_S, Worker, WorkerFailed

LAST_WORDS_S = 20  # for a process to end by itself once nobody asks it any more
CLOSING_S = 5  # that the last processes take to end, kept of a budget


class Clock:
    """What a run has of time: all there is without `seconds`."""

    def __init__(self, seconds=None):
        self.begun = time.monotonic()
        self.end = math.inf if seconds is None else self.begun + max(0.0, seconds - CLOSING_S)

    def deadline(self, parts):
        """Of the next of so many parts, which share what is left."""
        now = time.monotonic()
        return now + max(0.0, self.end - now) / parts

    def say(self, text):
        print(f"[{time.monotonic() - self.begun:5.0f} s] {text}", file=sys.stderr, flush=True)


class Timed(Worker):
    """Ends at a deadline (time.monotonic()), knows when its slots were, and what CPU time its steps took: on a busy machine,
    with one thread, what they cost."""

    def __init__(self, name, command, log, environment, deadline, slot_ms):
        self.deadline, self.slots_at, self.overdue = deadline, [], False
        if slot_ms:
            self.slot_ms, self.settle_ms = slot_ms, slot_ms / 3
        super().__init__(name, command, log, environment, own_group=True)

    def answer(self):
        if self.deadline == math.inf:
            return super().answer()
        timer = threading.Timer(max(0.0, self.deadline - time.monotonic()), self.stop)
        timer.start()
        try:
            return super().answer()
        except WorkerFailed:
            if self.overdue:
                raise WorkerFailed(f"{self.name}: stopped, its time was over") from None
            raise
        finally:
            timer.cancel()

    def stop(self):
        """With what it has started: compilers."""
        self.overdue = True
        try:
            os.killpg(self.process.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass

    def start_counting(self):
        self.start_ticks, self.calls = self.cpu_ticks(), 0

    def measure(self, calls, how=""):
        self.calls = getattr(self, "calls", 0) + calls
        self.begun = time.time()
        ms = super().measure(calls, how)
        self.ended = time.time()
        return ms

    def slot(self):
        ms = super().slot()
        self.slots_at.append((self.begun, self.ended))
        return ms

    def slot_s(self):
        """That the next slot takes, about."""
        return PAUSE_S + (self.settle_ms + self.slot_ms) / 1000

    def cpu_ms(self):
        return 1000 * (self.cpu_ticks() - self.start_ticks) / os.sysconf("SC_CLK_TCK") / self.calls

    def close(self):
        try:
            self.process.stdin.close()
        except BrokenPipeError:
            pass
        try:
            self.process.wait(LAST_WORDS_S)
        except subprocess.TimeoutExpired:
            self.stop()
            self.process.wait()
