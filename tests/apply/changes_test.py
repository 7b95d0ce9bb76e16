#!/usr/bin/env python3
"""Tests of python/hone_apply in a program that runs on PyTorch (HONE_TEST_PYTHON, or this Python): each change is in force where the
log says so, and nowhere else. Without PyTorch they say that they were not run."""
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

HERE = pathlib.Path(__file__).resolve().parent
START = HERE.parents[1] / "python" / "hone_observe" / "start"
PYTHON = os.environ.get("HONE_TEST_PYTHON", sys.executable)


def run(changes, steps=8, program="program.py", switched=(), order=None, **more):
    """(what the program said, entries of the log); `order`: of `switched`, given before the program starts"""
    with tempfile.TemporaryDirectory() as folder:
        log, request = pathlib.Path(folder) / "log", pathlib.Path(folder) / "request"
        if switched:
            orders = pathlib.Path(folder) / "orders.json"
            orders.write_text(json.dumps(dict({"number": 1, "in_force": []}, **order)))
            more["switch"] = {"changes": list(switched), "orders": str(orders), "after": 10, "seconds": 0.01}
        request.write_text(json.dumps({"changes": changes, "seed": 1, "losses": 5, "log": str(log), **more}))
        environment = dict(os.environ, HONE_APPLY=str(request), PYTHONPATH=str(START), PYTHONDONTWRITEBYTECODE="1",
                           TORCHDYNAMO_DISABLE="1")
        ran = subprocess.run([PYTHON, str(HERE / program), str(steps)], env=environment, capture_output=True, text=True,
                             timeout=120)
        assert ran.returncode == 0, ran.stderr
        entries = [json.loads(line) for line in log.read_text().splitlines()] if log.exists() else []
        return json.loads(ran.stdout.splitlines()[-1]), entries


def status(entries, change):
    return [entry["status"] for entry in entries if entry.get("change") == change]


def losses(entries):
    return next(entry["losses"] for entry in entries if "losses" in entry)


class Changes(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.unchanged, cls.log = run([])

    def test_nothing_is_changed_where_nothing_is_asked_for(self):
        self.assertEqual([entry for entry in self.log if "change" in entry], [])
        for name in ("fused", "workers", "channels_last", "benchmark", "grads_were_none", "compiled"):
            self.assertFalse(self.unchanged[name], name)
        self.assertEqual(self.unchanged["types"], ["torch.float32"])

    def test_the_losses_of_the_first_steps_are_kept_and_repeat_themselves(self):
        self.assertEqual(len(losses(self.log)), 5)
        for kept, own in zip(losses(self.log), self.unchanged["losses"]):
            self.assertAlmostEqual(kept, own, places=6)
        self.assertEqual(losses(run([])[1]), losses(self.log))

    def test_changes_of_numbers_and_of_time_are_in_force_at_once(self):
        wanted = ["tf32", "autocast_bf16", "cudnn_benchmark", "channels_last", "fused_optimizer", "set_to_none"]
        said, log = run(wanted)
        for change in wanted:
            self.assertIn("applied", status(log, change), change)
        self.assertTrue(said["fused"] and said["channels_last"] and said["benchmark"] and said["grads_were_none"])
        self.assertEqual(said["precision"], "high")
        self.assertEqual(said["types"], ["torch.bfloat16"])
        self.assertEqual(said["loss_type"], "torch.float32")
        for changed, own in zip(losses(log), losses(self.log)):
            self.assertAlmostEqual(changed, own, delta=0.02)
        edits = [entry["edit"] for entry in log if entry.get("edit")]
        self.assertTrue(all(edit["file"].endswith("program.py") for edit in edits))
        self.assertEqual(len(edits), 6)
        replaced = [each for edit in edits for each in edit["insertions"] if each.get("removed")]
        self.assertEqual([(each["text"], each["removed"]) for each in replaced], [("True", len("False"))])  # set_to_none

    def test_a_change_is_switched_off_and_on_between_blocks_of_steps(self):
        said, log = run(["set_to_none"], 200, switched=["autocast_bf16"], order={"try": "autocast_bf16"})
        blocks = [entry for entry in log if "block" in entry]
        self.assertGreater(len(blocks), 6)
        self.assertEqual({entry["on"] for entry in blocks}, {True, False})
        self.assertEqual(losses(log), losses(self.log))  # nothing was in force
        self.assertEqual(said["types"], ["torch.bfloat16", "torch.float32"])
        self.assertTrue(said["grads_were_none"])  # which is not switched

    def test_what_can_be_switched_is_made_ready_and_in_force_where_it_is_ordered(self):
        switched = ["tf32", "autocast_bf16", "channels_last", "fused_optimizer", "set_to_none", "compile"]
        said, log = run([], 120, switched=switched, order={"try": "channels_last", "in_force": ["fused_optimizer", "compile"]})
        for change in switched:
            self.assertEqual(status(log, change), ["applied"], change)
        self.assertEqual(losses(log), losses(self.log))  # nothing was in force yet
        self.assertTrue(said["fused"] and said["compiled"])
        self.assertEqual((said["precision"], said["types"]), ("highest", ["torch.float32"]))
        self.assertEqual({entry["on"] for entry in log if "block" in entry}, {True, False})
        for changed, unchanged in zip(said["losses"], run([], 120)[0]["losses"]):
            self.assertAlmostEqual(changed, unchanged, delta=1e-3)

    def test_batches_are_larger_where_pytorch_puts_them_together(self):
        said, log = run(["larger_batch"])
        self.assertEqual(status(log, "larger_batch"), ["applied"])
        self.assertEqual(said["batch_size"], 16)
        self.assertEqual([each["text"] for each in log[0]["edit"]["insertions"]], [" * 2"])

    def test_settings_that_the_program_gives_are_replaced(self):
        said, log = run(["workers", "pin_memory", "fused_optimizer"], program="explicit_program.py")
        self.assertEqual(said["fused"], True)
        self.assertGreater(said["workers"], 0)
        texts = {entry["change"]: [each["text"] for each in entry["edit"]["insertions"]] for entry in log if entry.get("edit")}
        self.assertEqual(texts["workers"], [str(said["workers"]), ", persistent_workers=True"])
        self.assertEqual((texts["pin_memory"], texts["fused_optimizer"]), (["True"], ["True"]))

    def test_gradients_of_ranks_are_reduced_in_place_and_in_larger_buckets(self):
        said, log = run(["ddp_buckets"], program="distributed_program.py")
        self.assertEqual(status(log, "ddp_buckets"), ["applied"])
        self.assertEqual(said, {"views": True, "bytes": 100 * 1024 * 1024})
        self.assertIn("gradient_as_bucket_view=True, bucket_cap_mb=100", log[0]["edit"]["insertions"][0]["text"])

    def test_a_model_that_is_observed_is_called_as_it_would_be(self):
        said, log = run(["autocast_bf16", "compile"], program="own_call_program.py")
        self.assertEqual(said["types"], ["torch.bfloat16"])
        self.assertEqual(status(log, "autocast_bf16"), ["applied"])
        self.assertTrue(next(entry["draws"] for entry in log if entry.get("change") == "compile"))

    def test_a_change_that_fails_leaves_the_program_alone_and_one_that_cannot_be_switched_stays_in_force(self):
        said, log = run(["no such change", "fused_optimizer"], 60, switched=["workers"], order={"try": "workers"})
        self.assertEqual(status(log, "no such change"), ["failed"])
        self.assertTrue(said["fused"])
        self.assertEqual([entry for entry in log if "block" in entry], [])

    def test_a_program_without_a_loss_has_outputs_and_blocks_of_calls(self):
        log = run([], 3000, "inference.py", switched=["autocast_bf16"], order={"try": "autocast_bf16"})[1]
        self.assertEqual(status(log, "autocast_bf16"), ["applied"])
        self.assertEqual(len(next(entry["outputs"] for entry in log if "outputs" in entry)), 5)
        self.assertGreater(len([entry for entry in log if "block" in entry]), 4)



if __name__ == "__main__":
    if subprocess.run([PYTHON, "-c", "import torch"], capture_output=True).returncode != 0:
        print("\n*** NOT RUN: no Python with PyTorch here (HONE_TEST_PYTHON names one). ***\n", file=sys.stderr)
        sys.exit(0)
    unittest.main()
