"""What the tests of the Python package share. They are run in an environment where the wheel is installed (tools/test-wheel)."""
import os
import pathlib
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
RECORDED = ROOT / "tests" / "traces" / "recorded"
FAULT = RECORDED / "layout_channels_first.fault.json.gz"
REPAIRED = RECORDED / "layout_channels_first.repaired.json.gz"


@pytest.fixture
def python():
    """Runs Python code in a process of its own and returns what it printed."""
    def run(code, *, expect=0, interpreter=sys.executable, timeout=120, **environment):
        ran = subprocess.run([interpreter, "-c", code], capture_output=True, text=True, timeout=timeout,
                             env=dict(os.environ, **environment))
        assert ran.returncode == expect, ran.stdout + ran.stderr
        return ran.stdout
    return run
