"""The callback for Lightning's Trainer."""
from __future__ import annotations

from typing import Any, Optional

try:
    from lightning.pytorch.callbacks import Callback
except ImportError:
    from pytorch_lightning.callbacks import Callback

from ._training import TrainingRecorder


class LightningCallback(Callback):
    """`Trainer(…, callbacks=[hone.LightningCallback()])`: records `steps` batches after `warmup`, prints the short ledger and
    leaves the report in `out` (without it, in the folder `hone` of the trainer's default_root_dir)."""

    def __init__(self, steps: int = 5, warmup: int = 10, out: Optional[str] = None, stacks: bool = False) -> None:
        super().__init__()
        self._recorder = TrainingRecorder(steps, warmup, out, stacks)

    def on_train_start(self, trainer: Any, pl_module: Any) -> None:
        self._recorder.begin(trainer.default_root_dir or ".", trainer.is_global_zero)

    def on_train_batch_end(self, trainer: Any, pl_module: Any, *args: Any, **kwargs: Any) -> None:
        self._recorder.step()

    def on_train_end(self, trainer: Any, pl_module: Any) -> None:
        self._recorder.finish()

    def on_exception(self, trainer: Any, pl_module: Any, exception: BaseException) -> None:
        self._recorder.finish()
