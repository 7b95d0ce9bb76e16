"""hone: where the time of an AI program's step goes, and what to change.

    import hone
    hone.explain("trace.json.gz")

    with hone.record(steps=5) as recording:
        train()
    recording.explain()

Importing this costs next to nothing: what a name needs is imported when it is first asked for, and nothing here needs
PyTorch or CUDA to be there. docs/python.md has the rest.
"""
from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any, List

__all__ = ["Analysis", "Comparison", "Error", "HuggingFaceCallback", "LightningCallback", "Recording", "compare", "explain",
           "gate", "record"]


class Error(Exception):
    """What the `hone` command would have said, in one line. `code` tells kinds apart: "not_found", "corrupt",
    "unsupported", "invalid_argument", "io"."""

    def __init__(self, message: str, code: str = "invalid_argument") -> None:
        super().__init__(message, code)
        self.message = message
        self.code = code

    def __str__(self) -> str:
        return self.message


if TYPE_CHECKING:
    from ._explain import Analysis as Analysis, Comparison as Comparison, compare as compare, explain as explain
    from . import gate as gate
    from ._record_steps import Recording as Recording, record as record
    from .integrations.lightning import LightningCallback as LightningCallback
    from .integrations.transformers import HuggingFaceCallback as HuggingFaceCallback

_HOMES = {
    "Analysis": "_explain", "Comparison": "_explain", "compare": "_explain", "explain": "_explain",
    "Recording": "_record_steps", "record": "_record_steps",
    "LightningCallback": "integrations.lightning",
    "HuggingFaceCallback": "integrations.transformers",
}


def __getattr__(name: str) -> Any:
    if name == "__version__":
        return importlib.import_module("._native", __name__).version
    if name == "gate":
        return importlib.import_module(".gate", __name__)
    if name not in _HOMES:
        raise AttributeError("module 'hone' has no attribute %r" % name)
    value = getattr(importlib.import_module("." + _HOMES[name], __name__), name)
    globals()[name] = value
    return value


def __dir__() -> List[str]:
    return sorted([*globals(), *_HOMES, "__version__", "gate"])
