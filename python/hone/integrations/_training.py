"""What the callbacks of trainers share: a few steps are recorded after warm-up, explained, and the short ledger is printed. The
training goes on whatever happens here."""
from __future__ import annotations

import os
from typing import Optional

from .. import Error
from .._record_steps import Recording


class TrainingRecorder:
    def __init__(self, steps: int, warmup: int, out: Optional[str], stacks: bool) -> None:
        self._settings = (steps, warmup, stacks)
        self._out = out
        self._folder = ""
        self._recording: Optional[Recording] = None
        self._tells = True
        Recording(steps, warmup, None, stacks)  # what is wrong with them is said before the training

    def begin(self, default_folder: str, tells: bool) -> None:
        """`tells`: this process prints and explains; the others only record."""
        self.finish()  # of a training that ended by an exception
        self._tells = tells
        self._folder = self._out or os.path.join(default_folder, "hone")
        steps, warmup, stacks = self._settings
        try:
            recording = Recording(steps, warmup, os.path.join(self._folder, "recorded"), stacks)
            self._recording = recording.__enter__()
        except Error as problem:
            self._say("not recorded: %s" % problem)

    def step(self) -> None:
        if self._recording is None:
            return
        self._recording.step()
        if self._recording.done:
            self._tell()

    def finish(self) -> None:
        if self._recording is not None:
            self._recording.finish()
            self._tell()

    def _tell(self) -> None:
        recording, self._recording = self._recording, None
        if recording is None:
            return
        recording.finish()
        if not self._tells:
            return
        try:
            analysis = recording.explain(out=self._folder)
        except Error as problem:
            self._say("not explained: %s" % problem)
            return
        self._say("%r\nThe whole report: %s" % (analysis, analysis.page))

    def _say(self, text: str) -> None:
        if self._tells:
            print("hone: " + text, flush=True)
