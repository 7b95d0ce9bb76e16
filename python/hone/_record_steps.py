"""hone.record(): some steps of the running program, to be explained afterwards."""
from __future__ import annotations

import os
import shutil
import tempfile
import threading
import warnings
import weakref
from typing import Any, Callable, Dict, List, Optional, Type
from types import TracebackType

from . import Error
from ._explain import Analysis, Path, explain
from ._recorders import recorder_here

_lock = threading.RLock()
_under_way: Optional["weakref.ref[Recording]"] = None  # a process has one profiler


_SETTLING = 3        # of the warm-up's steps, the first that are not timed: compilation, autotuning, the first batch
_MOST_LEFT_ALONE = 10  # steps that are timed before those that are recorded, and as many after


def record(steps: Optional[int] = 5, *, warmup: int = 8, out: Optional[Path] = None, stacks: bool = False) -> Recording:
    """`with hone.record() as recording: train()` records `steps` steps of what runs inside, after `warmup` steps that are left
    alone; then the rest of the block runs unrecorded, and `recording.explain()` gives the ledger. Steps that are left alone before and
    after are timed: the ledger is of the step as it is when nobody records, if there are two of them or more.

    A step ends where the first optimizer that steps has stepped, or, if the program says so itself, where it calls
    `recording.step()`. `steps=None` records the whole block; hone finds its steps by what repeats. `out`: the folder for the
    recording (a file for each rank); without it, it goes with the object. `stacks`: record the lines of the program, too,
    which costs more. What records is torch.profiler, or jax.profiler in a program without PyTorch; where the process has imported
    neither, hone.Error says so. docs/python.md says what is recorded."""
    return Recording(steps, warmup, None if out is None else os.fspath(out), stacks)


class Recording:
    """Steps of this process (hone.record)."""

    path: Optional[str]
    """The file that was recorded; None: nothing has been recorded so far."""

    def __init__(self, steps: Optional[int], warmup: int, out: Optional[str], stacks: bool) -> None:
        if steps is not None and steps < 1:
            raise Error("record(steps=%d): must be at least 1; None records the whole block" % steps)
        if warmup < 0:
            raise Error("record(warmup=%d): cannot be negative" % warmup)
        self.path = None
        self._steps, self._warmup = steps, 0 if steps is None else warmup
        self._out, self._stacks = out, stacks
        self._recorder: Any = None
        self._unhook: Callable[[], None] = lambda: None
        self._state = "new"  # waiting, recording, afterwards, done
        self._passed = 0     # steps since the beginning
        self._optimizer: Optional[int] = None  # whose steps count
        self._told_by_program = False
        self._before: List[Any] = []  # moments at the ends of steps: before anything was recorded, while, afterwards
        self._while: List[Any] = []
        self._after: List[Any] = []
        self._times: Dict[str, List[float]] = {}
        self._why_not = "the recording has not begun: use it as `with hone.record() as recording:`"

    def __enter__(self) -> Recording:
        global _under_way
        with _lock:
            other = _under_way() if _under_way is not None else None
            if other is not None or self._state != "new":
                raise Error("hone.record: a recording is under way in this process; there can be one at a time"
                            if other is not None else "hone.record: this recording has been used; make another one")
            self._recorder = recorder_here(self._stacks)
            if self._recorder is None:
                raise Error("hone.record: this process has imported neither PyTorch nor JAX, whose profilers record here; "
                            "`hone profile -- python …` records any program", "unsupported")
            self._folder = self._make_folder()
            _under_way = weakref.ref(self)
            self._state = "waiting"
            self._why_not = "no step ended within the block; call recording.step() at the end of each step"
            self._unhook = self._recorder.on_steps(_step_of(self))
            if self._warmup == 0:
                self._begin()
        return self

    def __exit__(self, kind: Optional[Type[BaseException]], problem: Optional[BaseException],
                 traceback: Optional[TracebackType]) -> None:
        self.finish()
        if self.path is None and kind is None:
            warnings.warn("hone: nothing was recorded: " + self._why_not, stacklevel=2)

    def __del__(self) -> None:
        """Forgotten: nobody can ask for it, but the profiler must not run on."""
        if getattr(self, "_state", "new") in ("waiting", "recording", "afterwards"):
            self._unhook()
            if self._state == "recording":
                self._end(whole=False)

    def step(self) -> None:
        """The program says that a step has ended here. From the first call on nothing else counts as the end of one."""
        with _lock:
            if not self._told_by_program and self._state == "waiting":
                self._passed, self._before = 0, []
            self._told_by_program = True
            self._step_ended()

    @property
    def done(self) -> bool:
        """Whether all steps are recorded, and enough after them are timed."""
        return self._state == "done" or len(self._after) > _MOST_LEFT_ALONE

    @property
    def unrecorded_ms(self) -> Optional[float]:
        """The median time of steps of the block that were left alone; None: there are fewer than two."""
        for name in ("untouched_ms", "left_alone_ms"):
            times = sorted(self._times.get(name, []))
            if len(times) >= 2:
                return times[len(times) // 2]
        return None

    def finish(self) -> None:
        """Ends the recording now, with the steps that there are. The end of the `with` block does so."""
        global _under_way
        with _lock:
            self._unhook()
            self._unhook = lambda: None
            if self._state == "recording":
                self._end(whole=False)
            if self._state == "afterwards":
                self._write()
            if self._state == "waiting":
                if self._passed:
                    self._why_not = "%d steps ended within the block, and the first %d are left alone (warmup)" % (
                        self._passed, self._warmup)
                self._state = "done"
            if _under_way is not None and _under_way() in (self, None):
                _under_way = None

    def explain(self, **options: Any) -> Analysis:
        """The ledger: hone.explain() of what was recorded, with its options. On a CPU this machine's roofs are measured first,
        once, which takes two seconds."""
        if self.path is None:
            raise Error("nothing was recorded: " + self._why_not, "not_found")
        analysis = explain(self.path, **options)
        if "roofs" in options or analysis.floor_known:
            return analysis
        with tempfile.TemporaryDirectory() as folder:
            roofs = _roofs_of_this_machine(folder)
            return explain(self.path, roofs=roofs, **options) if roofs else analysis

    def __repr__(self) -> str:
        if self.path is None:
            return "<hone.Recording: nothing recorded: %s>" % self._why_not
        alone = self.unrecorded_ms
        return "<hone.Recording of %d steps: %s%s>" % (
            max(len(self._while) - 1, 0), self.path, "" if alone is None else "; steps left alone took %.3g ms" % alone)

    def _optimizer_stepped(self, optimizer: object) -> None:
        with _lock:
            if self._optimizer is None:
                self._optimizer = id(optimizer)
            if not self._told_by_program and self._optimizer == id(optimizer):
                self._step_ended()

    def _step_ended(self) -> None:
        if self._state == "new":
            raise Error("recording.step(): " + self._why_not)
        if self._state == "done":
            return
        self._passed += 1
        try:
            self._note_end()
        except Exception as problem:
            self._give_up(problem)

    def _note_end(self) -> None:
        if self._state == "recording":
            self._while.append(self._recorder.now())
            if self._steps is not None and len(self._while) > self._steps:
                self._end(whole=True)
            elif self._steps is not None:
                self._recorder.step_ended()
        elif self._state == "afterwards":
            if len(self._after) <= _MOST_LEFT_ALONE:
                self._after.append(self._recorder.now())
        else:
            self._before.append(self._recorder.now())
            if self._passed >= self._warmup:
                self._begin()

    def _begin(self) -> None:
        """The program goes on whatever happens here."""
        try:
            self._recorder.begin(marked=self._steps is not None)
            self._state = "recording"
            self._while.append(self._recorder.now())
        except Exception as problem:
            self._give_up(problem)

    def _end(self, whole: bool) -> None:
        self._state = "afterwards"
        try:
            self._recorder.end(whole)
        except Exception as problem:
            self._give_up(problem)

    def _write(self) -> None:
        """Not before the end: what is written says how long the steps afterwards took."""
        self._state = "done"
        try:
            self._times = {"untouched_ms": self._between(self._before[_SETTLING - 1:][-_MOST_LEFT_ALONE - 1:]),
                           "recorded_ms": self._between(self._while),
                           "left_alone_ms": self._between(self._after)}
            rank = self._recorder.rank()
            self.path = self._recorder.write(self._folder, int(os.environ.get("RANK", 0)) if rank is None else rank,
                                             self._times if self._steps is not None else {})
        except Exception as problem:
            self._give_up(problem)

    def _between(self, moments: List[Any]) -> List[float]:
        times = [self._recorder.ms_between(first, second) for first, second in zip(moments, moments[1:])]
        return [ms for ms in times if ms > 0]  # 0: not known

    def _give_up(self, problem: Exception) -> None:
        self._state = "done"
        self._why_not = "%s: %s" % (type(self._recorder).__name__, problem)
        warnings.warn("hone: nothing was recorded: " + self._why_not, stacklevel=2)

    def _make_folder(self) -> str:
        if self._out is not None:
            try:
                os.makedirs(self._out, exist_ok=True)
            except OSError as problem:
                raise Error("record(out=%r): %s" % (self._out, problem.strerror), "io") from None
            return self._out
        folder = tempfile.mkdtemp(prefix="hone-record-")
        weakref.finalize(self, _remove_folder, folder, os.getpid())
        return folder


def _step_of(recording: Recording) -> Callable[[object], None]:
    """What the hook of optimizers calls: it keeps no recording alive."""
    known = weakref.ref(recording)

    def stepped(optimizer: object) -> None:
        there = known()
        if there is not None:
            there._optimizer_stepped(optimizer)
    return stepped


def _remove_folder(folder: str, owner: int) -> None:
    if os.getpid() == owner:  # a child of fork ends, and the recording is not its own
        shutil.rmtree(folder, ignore_errors=True)


def _roofs_of_this_machine(folder: str) -> Optional[str]:
    import subprocess
    from ._command import program
    path = os.path.join(folder, "roofs.json")
    try:
        ran = subprocess.run([program(), "ceilings", "--quick", "--quiet", "--json", path], capture_output=True, timeout=120)
    except (OSError, subprocess.SubprocessError):
        return None
    return path if ran.returncode == 0 else None
