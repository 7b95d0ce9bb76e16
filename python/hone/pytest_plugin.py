"""The pytest plugin: the fixture `hone_gate` fails a test whose step got slower (hone.gate).

    def test_step(hone_gate):
        hone_gate(new_step, baseline=old_step)    # in turn: what disturbs the machine disturbs both
        hone_gate(new_step)                       # against the time stored by pytest --hone-gate-update

Imported in every run of pytest where the package is installed, so it imports hone's native part only where a test asks for it.
"""
from __future__ import annotations

import contextlib
import fcntl
import json
import os
import tempfile
from typing import Any, Dict, Iterator, Optional

import pytest

_PROPERTY = "hone_gate"


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("hone")
    group.addoption("--hone-gate-update", action="store_true",
                    help="hone_gate: store the times of steps that have no baseline of their own, instead of comparing them")
    parser.addini("hone_gate_file", "hone_gate: where times are stored", default="hone-gate.json")


class Gate:
    """The fixture."""

    def __init__(self, request: pytest.FixtureRequest) -> None:
        self._request = request
        self._node = request.node
        self._config = request.config
        self._count = 0

    def __call__(self, step: Any, baseline: Any = None, *, name: Optional[str] = None, tolerance: Optional[float] = None,
                 budget: float = 2.0, level: float = 0.95) -> Any:
        """Fails the test if `step` is slower than `baseline` (functions or command lines), or, without one, than its time in the
        stored file, by more than `tolerance` (0.2 % of a baseline, 5 % of a stored time). Takes about `budget` seconds."""
        from . import Error, gate
        self._count += 1
        name = name or self._node.nodeid + ("" if self._count == 1 else "#%d" % self._count)
        with self._alone():
            try:
                if baseline is not None:
                    pair = gate.paired(step, baseline, tolerance=gate.MIN_EFFECT if tolerance is None else tolerance,
                                       budget=budget, level=level)
                    return self._judged(name, pair, pair.change == "slower")
                return self._stored(name, step, 0.05 if tolerance is None else tolerance, budget)
            except Error as problem:
                why = str(problem)
        pytest.fail("hone_gate: %s: %s" % (name, why), pytrace=False)

    def _stored(self, name: str, step: Any, tolerance: float, budget: float) -> Any:
        from . import Error, gate
        if int(os.environ.get("PYTEST_XDIST_WORKER_COUNT", "1")) > 1:
            raise Error("cannot be compared with a stored time, or stored, while other workers run tests: use -n 0, or give a "
                        "baseline to measure in turn")
        path = self._config.rootpath / self._config.getini("hone_gate_file")
        stored = _read(path)
        if self._config.getoption("hone_gate_update"):
            stored[name] = gate.to_store(step, budget=budget)
            _write(path, stored)
            self._say(name, "%.4g ms stored in %s" % (stored[name]["median_ms"], path.name))
            return None
        if name not in stored:
            raise Error("no time is stored in %s: store it with pytest --hone-gate-update, or give a baseline" % path)
        found = gate.against_stored(step, stored[name], tolerance=tolerance, budget=budget)
        return self._judged(name, found, found.slower)

    def _judged(self, name: str, found: Any, slower: bool) -> Any:
        self._say(name, str(found))
        if slower:
            pytest.fail("hone_gate: %s is slower: it %s" % (name, found), pytrace=False)
        return found

    def _say(self, name: str, text: str) -> None:
        self._node.user_properties.append((_PROPERTY, "%s: %s" % (name, text)))

    @contextlib.contextmanager
    def _alone(self) -> Iterator[None]:
        """One gate at a time, whichever worker of pytest-xdist it runs in."""
        if "PYTEST_XDIST_WORKER" not in os.environ:
            yield
            return
        of_all_workers = self._request.getfixturevalue("tmp_path_factory").getbasetemp().parent
        with open(of_all_workers / "hone-gate.lock", "w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            yield


@pytest.fixture
def hone_gate(request: pytest.FixtureRequest) -> Gate:
    return Gate(request)


def pytest_terminal_summary(terminalreporter: Any) -> None:
    """What the gates found, also of tests that passed."""
    lines = [text for reports in terminalreporter.stats.values() for report in reports
             if getattr(report, "when", "") == "call"
             for key, text in getattr(report, "user_properties", ()) if key == _PROPERTY]
    if lines:
        terminalreporter.section("hone gate")
        for line in lines:
            terminalreporter.line(line)


def _read(path: Any) -> Dict[str, Any]:
    from . import Error
    try:
        stored = json.loads(path.read_text())
    except FileNotFoundError:
        return {}
    except (OSError, ValueError) as problem:
        raise Error("%s cannot be read: %s" % (path, problem)) from None
    if not isinstance(stored, dict):
        raise Error("%s holds no stored times" % path)
    return stored


def _write(path: Any, stored: Dict[str, Any]) -> None:
    """Whole or not at all."""
    handle, made = tempfile.mkstemp(dir=path.parent, prefix=path.name)
    with os.fdopen(handle, "w") as out:
        json.dump(stored, out, indent=1, sort_keys=True)
        out.write("\n")
    os.replace(made, path)
