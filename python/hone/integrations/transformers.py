"""The callback for Hugging Face's Trainer."""
from __future__ import annotations

from typing import Any, Optional

from transformers import TrainerCallback

from ._training import TrainingRecorder


class HuggingFaceCallback(TrainerCallback):
    """`Trainer(…, callbacks=[hone.HuggingFaceCallback()])`: records `steps` steps after `warmup`, prints the short ledger and
    leaves the report in `out` (without it, in the folder `hone` of the trainer's output_dir). A step is one of the optimizer's: with
    gradient accumulation it holds several batches."""

    def __init__(self, steps: int = 5, warmup: int = 10, out: Optional[str] = None, stacks: bool = False) -> None:
        self._recorder = TrainingRecorder(steps, warmup, out, stacks)

    def on_train_begin(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        self._recorder.begin(args.output_dir or ".", state.is_world_process_zero)

    def on_step_end(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        self._recorder.step()

    def on_train_end(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        self._recorder.finish()
