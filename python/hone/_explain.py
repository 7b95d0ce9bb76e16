"""hone.explain() and hone.compare(): recordings in, objects out."""
from __future__ import annotations

import json
import os
from typing import Any, Dict, Iterable, List, Optional, Tuple, Union

from . import _native
from ._record import Record
from .fields import Estimate, Fields

Path = Union[str, "os.PathLike[str]"]


class Analysis(Fields):
    """Where the time of a step goes, and what to change. Its attributes are the fields of explain.json
    (docs/explain-fields.md); print() shows what `hone explain` prints, a notebook shows the ledger."""

    def __init__(self, json: Dict[str, Any], text: str = "", page: Optional[str] = None) -> None:
        super().__init__(json)
        self.__dict__["text"] = text
        self.__dict__["page"] = page

    text: str
    """What `hone explain` prints."""
    page: Optional[str]
    """The path of the report as a page; None: none was written (out=…)."""

    @property
    def judged(self) -> bool:
        """Whether there is a verdict. Without, the recording lacks too much for one, or was taken on a busy machine
        (`warnings` says); `hone explain` exits with status 3 then."""
        return self.verdict != "unjudged"

    def __str__(self) -> str:
        return self.text

    def __repr__(self) -> str:
        lines = [self.verdict_sentence or "no verdict", "%s: %d steps of %s" % (
            self.device or self.source, self.step.count, _ms(self.step.median_ms))]
        lines += ["  %-22s %9s %6.1f %%%s" % (
            row.cause.replace("_", " "), _ms(row.ms), 100 * row.share,
            "  can win %s" % _ms(row.predicted_gain_ms) if row.predicted_gain_ms > 0 else "")
            for row in self.ledger]
        for finding in self.findings[:3]:
            lines.append("→ %s%s" % (finding.fix, "" if finding.predicted_gain_ms is None else
                                     " (wins about %s)" % _ms(finding.predicted_gain_ms)))
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        from ._html import analysis_html
        return analysis_html(self, self.page)


class Comparison(Record):
    """What changed from `a` to `b`, by how much, how sure. The fields are those of compare.json; print() shows what `hone
    compare` prints."""

    _parts = {"a_ms": Estimate, "b_ms": Estimate, "change_ms": Estimate, "ledger": Record, "operators": Record,
              "findings": Record, "kernels": Record, "elsewhere": Record}

    a: str
    b: str
    a_ms: Estimate
    b_ms: Estimate
    change_ms: Estimate
    ratio: float
    sure: bool
    compared: bool
    ledger: List[Any]
    operators: List[Any]
    findings: List[Any]

    def __init__(self, json: Dict[str, Any], text: str = "", page: Optional[str] = None) -> None:
        super().__init__(json)
        self.__dict__["text"] = text
        self.__dict__["page"] = page

    text: str
    page: Optional[str]

    def __str__(self) -> str:
        return self.text

    def __repr__(self) -> str:
        return self.text.split("\n  first:")[0].strip()

    def _repr_html_(self) -> str:
        from ._html import text_html
        return text_html(self.text)


def explain(path: Union[Path, Iterable[Path]], *more: Path, top: int = 5, roofs: Optional[Path] = None,
            out: Optional[Path] = None, steps: Union[int, Tuple[int, int], range, None] = None,
            from_ms: Optional[float] = None, to_ms: Optional[float] = None) -> Analysis:
    """Explains recordings of one program: traces of PyTorch's profiler (a file for each rank, or their folder), XPlane
    files, exports of Nsight, run folders of hone.

    `top`: how many operators and kernels to name. `roofs`: a table of `hone ceilings --json` to judge by. `out`: a folder
    for the report as a page, and the trace for ui.perfetto.dev. `steps`: explain this step alone, or those from the first
    to the last of two numbers, or those of a range; `from_ms`, `to_ms`: those that lie within, in ms since the recording
    begins. Runs in this process, with other threads going on; raises hone.Error with the command's own message."""
    paths = [_text(path)] if isinstance(path, (str, os.PathLike)) else [_text(one) for one in path]
    paths += [_text(one) for one in more]
    if not paths:
        _fail("explain() was given no path")
    if top < 1:
        _fail("top=%d: must be at least 1" % top)
    first, last = _first_and_last(steps)
    command = "hone.explain(%s)" % ", ".join(repr(one) for one in paths)
    return Analysis(*_parsed(_native.explain(paths, top, _text(roofs), _text(out), first, last, from_ms, to_ms, command)))


def compare(a: Any, b: Any, *, out: Optional[Path] = None) -> Comparison:
    """What changed between two recordings: paths, analyses of one path, or hone.Recording objects. `out`: a folder for the
    comparison as a page."""
    return Comparison(*_parsed(_native.compare(_source(a), _source(b), _text(out))))


def _parsed(told: Tuple[str, str, str]) -> Tuple[Dict[str, Any], str, Optional[str]]:
    return json.loads(told[0]), told[1], told[2] or None


def _first_and_last(steps: Union[int, Tuple[int, int], range, None]) -> Tuple[Optional[int], Optional[int]]:
    if steps is None:
        return None, None
    if isinstance(steps, int):
        steps = (steps, steps)
    elif isinstance(steps, range):
        if not steps or steps.step != 1:
            _fail("steps=%r: must be steps in a row" % (steps,))
        steps = (steps[0], steps[-1])
    if len(steps) != 2 or not 0 <= steps[0] <= steps[1] < 2**31:
        _fail("steps=%r: no number of a step, nor the first and the last of some" % (steps,))
    return steps[0], steps[1]


def _text(path: Optional[Path]) -> str:
    return "" if path is None else os.fspath(path)


def _source(side: Any) -> str:
    if isinstance(side, Analysis):
        return side.source
    return _text(getattr(side, "path", side))


def _fail(message: str) -> None:
    from . import Error
    raise Error(message)


def _ms(value: float) -> str:
    return "%.3g s" % (value / 1e3) if value >= 1e4 else "%.2f ms" % value
