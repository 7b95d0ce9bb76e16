#!/usr/bin/env python3
"""Tests of how python/hone_apply comes into a program, and that it does not show there. Needs no PyTorch."""
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time
import unittest

def _has_ended(pid):
    try:
        with open("/proc/%d/stat" % pid, encoding="ascii") as file:
            return file.read().rsplit(")", 1)[1].split()[0] == "Z"
    except OSError:
        return True


START = pathlib.Path(__file__).resolve().parents[2] / "python" / "hone_observe" / "start"


class Package(unittest.TestCase):
    def run_with(self, request, program, own=None, **variables):
        """The program under a request, with a sitecustomize of its own."""
        with tempfile.TemporaryDirectory() as folder:
            folder = pathlib.Path(folder)
            path = [str(START)]
            if own is not None:
                (folder / "own").mkdir()
                (folder / "own" / "sitecustomize.py").write_text(own)
                path.append(str(folder / "own"))
            if request is not None:
                request = dict({"changes": [], "log": str(folder / "log")}, **request)
            (folder / "request").write_text("no JSON" if request is None else json.dumps(request))
            environment = dict(os.environ, HONE_APPLY=str(folder / "request"), PYTHONPATH=os.pathsep.join(path),
                               PYTHONDONTWRITEBYTECODE="1", **variables)
            ran = subprocess.run([sys.executable, "-c", program], env=environment, capture_output=True, text=True, timeout=60)
            log = (folder / "log").read_text() if (folder / "log").exists() else ""
            return ran, [json.loads(line) for line in log.splitlines()]

    def test_a_sitecustomize_of_the_programs_own_runs(self):
        ran, _ = self.run_with({"seed": 1}, "print('program')", own="print('own')")
        self.assertEqual((ran.stdout, ran.stderr, ran.returncode), ("own\nprogram\n", "", 0))

    def test_a_run_ends_with_who_started_it_for_an_experiment(self):
        with tempfile.TemporaryDirectory() as folder:
            request = pathlib.Path(folder) / "request"
            starter = (
                "import json, os, subprocess, sys, time\n"
                "json.dump({'changes': [], 'log': sys.argv[1] + '.log', 'parent': os.getpid()}, open(sys.argv[1], 'w'))\n"
                "child = subprocess.Popen([sys.executable, '-c', 'import time; print(1, flush=True); time.sleep(60)'],\n"
                "                         env=dict(os.environ, HONE_APPLY=sys.argv[1]), stdout=subprocess.PIPE)\n"
                "child.stdout.readline(); print(child.pid, flush=True); time.sleep(60)\n")
            environment = dict(os.environ, PYTHONPATH=str(START), PYTHONDONTWRITEBYTECODE="1")
            with subprocess.Popen([sys.executable, "-c", starter, str(request)], env=environment, stdout=subprocess.PIPE) as parent:
                child = int(parent.stdout.readline())
                self.assertTrue(os.path.exists("/proc/%d" % child))
                parent.kill()
            self.assertTrue(any(_has_ended(child) or time.sleep(0.05) for _ in range(100)))

    def test_one_that_fails_is_told_as_python_tells_it(self):
        ran, _ = self.run_with({"seed": 1}, "print('program')", own="raise ValueError('mine')")
        self.assertEqual(ran.stdout, "program\n")
        self.assertIn("ValueError: mine", ran.stderr)

    def test_a_request_that_cannot_be_read_is_not_the_programs_business(self):
        ran, _ = self.run_with(None, "print('program')")
        self.assertEqual((ran.stdout, ran.stderr, ran.returncode), ("program\n", "", 0))

    def test_a_program_that_seeds_nothing_draws_the_same_numbers_in_every_run(self):
        drawn = {self.run_with({"seed": 7}, "import random; print(random.random())")[0].stdout for _ in range(2)}
        self.assertEqual(len(drawn), 1)
        seeded = self.run_with({"seed": 7}, "import random; random.seed(1); print(random.random())")[0].stdout
        self.assertNotEqual(seeded, next(iter(drawn)))

    def test_the_programs_exit_status_and_streams_are_its_own(self):
        ran, _ = self.run_with({"seed": 1, "losses": 5, "changes": ["tf32"]},
                               "import sys; print('out'); print('err', file=sys.stderr); sys.exit(3)")
        self.assertEqual((ran.stdout, ran.stderr, ran.returncode), ("out\n", "err\n", 3))

    def test_ranks_say_which_they_are_and_draw_numbers_of_their_own(self):
        program = "import random; print(random.random())"
        drawn = set()
        for rank in ("0", "1"):
            for names in (("RANK", "WORLD_SIZE"), ("OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE")):
                ran, log = self.run_with({"seed": 1, "changes": ["no such change"]}, program,
                                         **dict(zip(names, (rank, "2"))))
                self.assertEqual((log[0]["rank"], log[0]["ranks"]), (int(rank), 2))
                drawn.add(ran.stdout)
        self.assertEqual(len(drawn), 2)

    def test_an_allocator_that_a_launcher_was_given_is_the_ranks_too(self):
        program = "import subprocess, sys; subprocess.run([sys.executable, '-c', 'pass'])"
        _, log = self.run_with({"changes": ["expandable_segments"]}, program, PYTORCH_CUDA_ALLOC_CONF="")
        self.assertEqual([entry["status"] for entry in log], ["applied", "applied"])
        _, log = self.run_with({"changes": ["expandable_segments"]}, "pass", PYTORCH_CUDA_ALLOC_CONF="backend:native")
        self.assertEqual([entry["status"] for entry in log], ["refused"])

    def test_changes_there_are_not_are_told_in_the_log(self):
        _, log = self.run_with({"changes": ["no such change"]}, "pass")
        self.assertEqual([entry["status"] for entry in log], ["failed"])


if __name__ == "__main__":
    unittest.main()
