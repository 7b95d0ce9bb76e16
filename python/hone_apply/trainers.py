"""Libraries that train for the program: what a person would write there is an argument of theirs, not lines of PyTorch.

The program's own call that makes the trainer (or its arguments) is kept; edit_for(change) adds the argument there.
"""
import functools

from . import edits, log

_made_at = {}  # library -> the place in the program where it was made


class _Place:
    """What a frame was executing, after it has gone on."""

    def __init__(self, frame):
        self.f_code, self.f_lineno, self.f_lasti = frame.f_code, frame.f_lineno, frame.f_lasti


# (argument, its value) by library and change; a value of None: that of the change's own.
ARGUMENTS = {
    "transformers": {
        "autocast_bf16": ("bf16", "True"),
        "tf32": ("tf32", "True"),
        "compile": ("torch_compile", "True"),
        "compile_reduce_overhead": ("torch_compile_mode", '"reduce-overhead"'),
        "compile_max_autotune": ("torch_compile_mode", '"max-autotune"'),
        "fused_optimizer": ("optim", '"adamw_torch_fused"'),
        "workers": ("dataloader_num_workers", None),
        "pin_memory": ("dataloader_pin_memory", "True"),
        "larger_batch": ("per_device_train_batch_size", None),
        "ddp_buckets": ("ddp_bucket_cap_mb", "100"),
    },
    "lightning": {
        "autocast_bf16": ("precision", '"bf16-mixed"'),
        "cudnn_benchmark": ("benchmark", "True"),
    },
}


def edit_for(change, value=None):
    """The edit of the trainer's arguments that has this change (or ByHand of edits.py); None: no trainer is in use, or it has no such argument."""
    for library, place in _made_at.items():
        argument, fixed = ARGUMENTS[library].get(change, (None, None))
        if change == "larger_batch" and argument is not None:
            return edits.times_argument(place, argument, _NEVER_BY_PLACE, value, _CALLED[library])
        if argument is not None and (fixed or value) is not None:
            return edits.keywords_in_call(place, {argument: fixed or value}, _CALLED[library])
    return None


_NEVER_BY_PLACE = 1000
_CALLED = {"transformers": "TrainingArguments", "lightning": "Trainer"}


def _note(library):
    frame = edits.users_frame(edits.caller())
    if frame is not None:
        _made_at[library] = _Place(frame)


def _wrap(library, cls_name, method):
    def of_module(module):
        cls = getattr(module, cls_name)
        original = getattr(cls, method)

        @functools.wraps(original)
        def wrapped(self, *args, **kwargs):
            log.guarded(library, _note, library)
            return original(self, *args, **kwargs)

        setattr(cls, method, wrapped)
    return of_module


# Arguments of transformers are a dataclass, whose subclasses have an __init__ of their own.
HOOKS = {
    "transformers.training_args": _wrap("transformers", "TrainingArguments", "__post_init__"),
    "lightning.pytorch.trainer.trainer": _wrap("lightning", "Trainer", "__init__"),
    "pytorch_lightning.trainer.trainer": _wrap("lightning", "Trainer", "__init__"),
}
