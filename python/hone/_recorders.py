"""What records steps of the running program: the profiler of the framework that it has imported. hone's own recorder has to be
there before the program starts (`hone profile`)."""
from __future__ import annotations

import gzip
import json
import os
import shutil
import sys
import tempfile
import threading
import time
from typing import Any, Callable, Dict, List, Optional


class HostWatch:
    """How long a thread could have run and had no CPU, as Linux counts it (/proc/…/schedstat). What operators lose by that
    cannot be told from what they lose by themselves."""

    def __init__(self) -> None:
        self._thread = threading.get_native_id()
        self._began, self._before = time.monotonic(), self._in_line_ns()
        self.told: Dict[str, float] = {}

    def _in_line_ns(self) -> Optional[int]:
        try:
            with open("/proc/self/task/%d/schedstat" % self._thread, encoding="ascii") as file:
                return int(file.read().split()[1])
        except (OSError, IndexError, ValueError):  # another system, or a kernel that does not count
            return None

    def end(self) -> None:
        after = self._in_line_ns()
        if self._before is not None and after is not None:
            self.told = {"seconds": time.monotonic() - self._began, "in_line_s": (after - self._before) * 1e-9}


class TorchRecorder:
    """torch.profiler: operators with the shapes that they were called with, kernels and copies where there is a GPU."""

    def __init__(self, torch: Any, stacks: bool) -> None:
        self._torch = torch
        self._stacks = stacks
        self._profiler: Any = None
        self._range: Any = None  # of the step under way
        self._ranges = 0
        self._host: Optional[HostWatch] = None
        self._no_step: Optional[bytes] = None  # name of a range that is to have another

    def on_steps(self, mark: Callable[[object], None]) -> Callable[[], None]:
        """Has `mark(optimizer)` called when an optimizer has stepped; returns what undoes that. PyTorch's hook is called within the
        range of the optimizer's step; a step of the program must end behind it, or ranges cross and phases come out wrong."""
        torch = self._torch
        from torch.autograd.profiler import record_function
        from torch.optim.optimizer import register_optimizer_step_post_hook
        compiling = getattr(getattr(torch, "compiler", None), "is_compiling", None) or (lambda: False)
        stepped: List[object] = []  # within its range

        def after_step(optimizer: object, args: Any, kwargs: Any) -> None:
            if not compiling() and not (_cuda_runs(torch) and torch.cuda.is_current_stream_capturing()):
                stepped[:] = [optimizer]

        original = record_function.__exit__

        def leave(self: Any, *how: Any) -> Any:
            result = original(self, *how)
            if stepped and self.name.startswith("Optimizer.step#"):
                mark(stepped.pop())
            return result

        record_function.__exit__ = leave
        handle = register_optimizer_step_post_hook(after_step)

        def undo() -> None:
            handle.remove()
            if record_function.__exit__ is leave:  # else somebody has wrapped it since
                record_function.__exit__ = original
            stepped.clear()
        return undo

    def begin(self, marked: bool) -> None:
        """`marked`: the ends of steps are told (step_ended)."""
        torch = self._torch
        if torch.autograd._profiler_enabled():
            raise RuntimeError("torch.profiler is running in this process already")
        from torch.profiler import ProfilerActivity, profile
        activities = [ProfilerActivity.CPU]
        if torch.cuda.is_available():
            activities.append(ProfilerActivity.CUDA)
            torch.cuda.synchronize()
        settings = dict(activities=activities, record_shapes=True, with_stack=self._stacks)
        try:
            self._profiler = profile(**settings, acc_events=True)  # without, it warns of what is not so here
        except TypeError:  # before PyTorch 2.6
            self._profiler = profile(**settings)
        self._profiler.start()
        self._host = HostWatch()
        if marked:
            self._open_range()

    def _open_range(self) -> None:
        self._range = self._torch.profiler.record_function("ProfilerStep#%d" % self._ranges)
        self._range.__enter__()
        self._ranges += 1

    def step_ended(self) -> None:
        self._range.__exit__(None, None, None)
        self._open_range()

    def end(self, whole: bool) -> None:
        """`whole`: a step ends here. Else the range of the last one is none of a step."""
        if self._range is not None:
            self._range.__exit__(None, None, None)
            if not whole:
                self._no_step = b'"ProfilerStep#%d"' % (self._ranges - 1)
        if self._host is not None:
            self._host.end()
        self._profiler.stop()

    def now(self) -> Any:
        """A moment on the device, where there is one: the host runs ahead of it."""
        torch = self._torch
        if not _cuda_runs(torch):
            return time.perf_counter()
        event = torch.cuda.Event(enable_timing=True)
        event.record()
        return event

    def ms_between(self, first: Any, second: Any) -> float:
        if isinstance(first, float):
            return (second - first) * 1e3 if isinstance(second, float) else 0.0
        second.synchronize()
        return float(first.elapsed_time(second))

    def write(self, folder: str, rank: int, steps: Dict[str, List[float]]) -> str:
        """What torch.profiler writes, with `steps` in front (trace/import/kineto/header.h)."""
        path = os.path.join(folder, "rank%d.json.gz" % rank)
        with tempfile.TemporaryDirectory() as own:
            plain = os.path.join(own, "trace.json")
            self._profiler.export_chrome_trace(plain)
            with open(plain, "rb") as read, gzip.open(path, "wb", compresslevel=1) as written:
                before, brace, rest = read.read(1024).partition(b"{")
                told = {"honeSteps": steps, "honeHost": self._host.told if self._host is not None else {}}
                written.write(before + brace + json.dumps(told)[1:-1].encode() + b"," + rest)
                if self._no_step is not None:
                    written.write(read.read().replace(self._no_step, b'"within a step"'))
                shutil.copyfileobj(read, written)
        self._profiler = None
        return path

    def rank(self) -> Optional[int]:
        distributed = self._torch.distributed
        return distributed.get_rank() if distributed.is_available() and distributed.is_initialized() else None


def _cuda_runs(torch: Any) -> bool:
    return bool(torch.cuda.is_available() and torch.cuda.is_initialized())


class JaxRecorder:
    """jax.profiler: XLA's operators and the device's work."""

    def __init__(self, jax: Any) -> None:
        self._jax = jax
        self._folder = ""
        self._annotation: Any = None
        self._steps = 0

    def on_steps(self, mark: Callable[[object], None]) -> Callable[[], None]:
        return lambda: None  # nothing in JAX says where a step ends: the program calls step()

    def begin(self, marked: bool) -> None:
        self._folder = tempfile.mkdtemp(prefix="hone-jax-")
        self._jax.profiler.start_trace(self._folder)
        self._annotate()

    def _annotate(self) -> None:
        self._annotation = self._jax.profiler.StepTraceAnnotation("step", step_num=self._steps)
        self._annotation.__enter__()
        self._steps += 1

    def step_ended(self) -> None:
        self._annotation.__exit__(None, None, None)
        self._annotate()

    def end(self, whole: bool) -> None:
        self._annotation.__exit__(None, None, None)
        self._jax.profiler.stop_trace()

    def now(self) -> None:
        """Nothing is timed: the host runs ahead of the device, and JAX has no events to ask."""

    def ms_between(self, first: None, second: None) -> float:
        return 0.0

    def write(self, folder: str, rank: int, steps: Dict[str, List[float]]) -> str:
        found: List[str] = []
        for at, _, names in os.walk(self._folder):
            found += [os.path.join(at, name) for name in names if name.endswith(".xplane.pb")]
        if not found:
            raise RuntimeError("jax.profiler wrote no .xplane.pb")
        path = os.path.join(folder, "rank%d.xplane.pb" % rank)
        shutil.move(max(found, key=os.path.getmtime), path)
        shutil.rmtree(self._folder, ignore_errors=True)
        return path

    def rank(self) -> Optional[int]:
        return int(self._jax.process_index())


def recorder_here(stacks: bool) -> Any:
    """The recorder for what this process has imported; None: nothing here can record."""
    torch = sys.modules.get("torch")
    if torch is not None:
        return TorchRecorder(torch, stacks)
    jax = sys.modules.get("jax")
    return JaxRecorder(jax) if jax is not None else None
