"""Whether gradients.txt is what PyTorch says now: runs record.py where there is a PyTorch (HONE_TEST_PYTHON, or this Python)."""

import os
import pathlib
import subprocess
import sys
import unittest

FOLDER = pathlib.Path(__file__).resolve().parent
PYTHON = os.environ.get("HONE_TEST_PYTHON", sys.executable)


def lines(text):
    return [line.split() for line in text.splitlines() if not line.startswith("#")]


class Recorded(unittest.TestCase):
    def test_the_recorded_gradients_are_those_of_this_pytorch(self):
        said = subprocess.run([PYTHON, FOLDER / "record.py"], capture_output=True, text=True, check=True).stdout
        now, before = lines(said), lines((FOLDER / "gradients.txt").read_text())
        self.assertEqual(len(now), len(before))
        for new, old in zip(now, before):
            if new[0] == "case":
                name = new[1:]
                self.assertEqual(new, old)
                continue
            split = new.index(":") + 1
            self.assertEqual(new[:split], old[:split], name)
            for a, b in zip(map(float, new[split:]), map(float, old[split:])):
                self.assertLess(abs(a - b), 1e-9 * (1 + abs(b)), name)


if __name__ == "__main__":
    if subprocess.run([PYTHON, "-c", "import torch, torchvision"], capture_output=True).returncode != 0:
        print("\n*** NOT RUN: no Python with PyTorch and torchvision here (HONE_TEST_PYTHON names one). ***\n", file=sys.stderr)
        sys.exit(0)
    unittest.main()
