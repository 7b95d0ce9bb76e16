"""The paired comparison and the pytest plugin, as a project uses them."""
import json
import os
import subprocess
import sys
import time

import pytest

import hone
from hone import gate


def step_of(ms):
    """Sleeps: what else the machine does makes least of a difference to that."""
    return lambda: time.sleep(ms * 1e-3)


def test_a_slower_step_is_found_and_an_equal_one_is_not():
    assert gate.paired(step_of(8), step_of(2), budget=0.3).change == "slower"
    assert gate.paired(step_of(2), step_of(8), budget=0.3).change == "faster"
    equal = gate.paired(step_of(2), step_of(2), budget=0.3, tolerance=0.05)
    assert equal.change == "no_difference"
    assert equal.ratio.low <= equal.ratio.median <= equal.ratio.high
    assert len(equal.a_ms) == len(equal.b_ms) == 2 * equal.blocks


def test_what_a_step_raises_goes_through():
    with pytest.raises(ZeroDivisionError):
        gate.paired(lambda: 1 / 0, step_of(1))
    with pytest.raises(KeyboardInterrupt):
        gate.paired(step_of(1), interrupted)


def interrupted():
    raise KeyboardInterrupt


def test_commands_are_steps_too():
    assert gate.paired([sys.executable, "-S", "-c", "import time; time.sleep(0.05)"], "true", budget=0.1).change == "slower"
    with pytest.raises(hone.Error, match="exit status 3: broken"):
        gate.paired("echo broken >&2; exit 3", "true")
    with pytest.raises(hone.Error, match="cannot be started"):
        gate.paired(["/nowhere/at/all"], "true")


def test_times_of_another_machine_are_refused():
    stored = gate.to_store(step_of(0.5), budget=0.05)
    assert not gate.against_stored(step_of(0.5), stored, budget=0.05, tolerance=1).slower
    assert gate.against_stored(step_of(5), stored, budget=0.05).slower
    stored["machine"]["cpu"] = "Z80"
    with pytest.raises(hone.Error, match="another machine .Z80"):
        gate.against_stored(step_of(0.5), stored)


PROJECT = """
import os, time

def step():
    time.sleep(float(os.environ.get("STEP_MS", 2)) * 1e-3)

def test_in_turn(hone_gate):
    hone_gate(step, baseline=lambda: time.sleep(2e-3), budget=0.2, tolerance=0.2)

def test_stored(hone_gate):
    hone_gate(step, budget=0.1, tolerance=1)
"""


@pytest.fixture
def project(tmp_path):
    """Runs pytest on a project with two gates: (exit status, what it said)."""
    (tmp_path / "test_project.py").write_text(PROJECT)
    (tmp_path / "pytest.ini").write_text("[pytest]\n")

    def run(*arguments, **environment):
        ran = subprocess.run([sys.executable, "-B", "-m", "pytest", "-p", "no:cacheprovider", *arguments], cwd=tmp_path,
                             env={**os.environ, **environment}, capture_output=True, text=True, timeout=120)
        return ran.returncode, ran.stdout + ran.stderr
    run.folder = tmp_path
    return run


def test_the_gate_in_a_project(project):
    status, said = project()
    assert status == 1 and "no time is stored" in said and "1 passed" in said and "During handling" not in said
    status, said = project("--hone-gate-update")
    assert status == 0, said
    stored = json.loads((project.folder / "hone-gate.json").read_text())
    assert stored["test_project.py::test_stored"]["runs"] >= 10
    status, said = project()
    assert status == 0 and "== hone gate ==" in said and "interleaved blocks" in said, said
    status, said = project(STEP_MS="40")
    assert status == 1 and said.count("is slower: it takes") >= 2 and "2 failed" in said


def test_a_stored_file_of_another_machine_or_that_is_damaged_fails_with_a_line(project):
    project("--hone-gate-update")
    file = project.folder / "hone-gate.json"
    stored = json.loads(file.read_text())
    stored["test_project.py::test_stored"]["machine"]["cpus"] = 1000
    file.write_text(json.dumps(stored))
    status, said = project()
    assert status == 1 and "of another machine" in said and "Traceback" not in said
    file.write_text("{")
    status, said = project()
    assert status == 1 and "cannot be read" in said and "Traceback" not in said


def test_under_xdist_pairs_are_measured_one_at_a_time_and_stored_times_are_refused(project):
    status, said = project("-n", "2")
    assert status == 1 and "1 passed" in said and "while other workers run tests" in said, said


def test_the_plugin_costs_nothing_where_no_gate_is_used(python):
    said = python("import sys, pytest; before = set(sys.modules); import hone.pytest_plugin\n"
                  "print(sorted(name for name in set(sys.modules) - before if name.startswith('hone')))")
    assert said.strip() == "['hone', 'hone.pytest_plugin']"
