#!/usr/bin/env python3
"""Tests of python/hone_apply/trainers.py with modules that are named as those of the libraries. Needs neither PyTorch nor them."""
import importlib
import pathlib
import sys
import tempfile
import types
import unittest

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "python"))
trainers = importlib.import_module("hone_apply.trainers")


def run(program, **names):
    with tempfile.NamedTemporaryFile("w", suffix=".py", delete=False) as file:
        file.write(program)
    exec(compile(program, file.name, "exec"), dict(names, __name__="__main__"))
    return file.name


class Trainers(unittest.TestCase):
    def setUp(self):
        trainers._made_at.clear()

    def arguments_class(self):
        """As dataclasses do it: an __init__ of its own that ends with __post_init__."""
        module = types.ModuleType("transformers.training_args")

        class TrainingArguments:
            def __post_init__(self):
                pass

        exec("def __init__(self, *args, **kwargs):\n    self.__post_init__()\n", names := {})
        TrainingArguments.__init__ = names["__init__"]
        module.TrainingArguments = TrainingArguments
        trainers.HOOKS["transformers.training_args"](module)
        return type("Seq2SeqTrainingArguments", (TrainingArguments,), {})

    def test_changes_are_arguments_of_transformers(self):
        path = run('arguments = TrainingArguments(\n    "out",\n    max_steps=5,\n)\n',
                   TrainingArguments=self.arguments_class())
        for change, value, text in (("autocast_bf16", None, ", bf16=True"), ("workers", "3", ", dataloader_num_workers=3"),
                                    ("fused_optimizer", None, ', optim="adamw_torch_fused"')):
            self.assertEqual(trainers.edit_for(change, value),
                             {"file": path, "insertions": [{"line": 3, "column": 15, "text": text}]})

    def test_what_a_trainer_has_no_argument_for_is_written_as_without_it(self):
        run('TrainingArguments("out")\n', TrainingArguments=self.arguments_class())
        self.assertIsNone(trainers.edit_for("channels_last"))
        self.assertIsNone(trainers.edit_for("workers"))

    def test_arguments_that_the_program_gives_are_not_given_twice(self):
        run('TrainingArguments("out", bf16=False)\n', TrainingArguments=self.arguments_class())
        self.assertEqual(trainers.edit_for("autocast_bf16")["insertions"], [{"line": 1, "column": 30, "text": "True", "removed": 5}])

    def test_arguments_that_come_from_a_dictionary_are_told_in_words(self):
        run('TrainingArguments("out", **{"bf16": False})\n', TrainingArguments=self.arguments_class())
        self.assertIn("bf16=True in the call of TrainingArguments", trainers.edit_for("autocast_bf16").write)

    def test_changes_are_arguments_of_lightnings_trainer(self):
        module = types.ModuleType("lightning.pytorch.trainer.trainer")
        module.Trainer = type("Trainer", (), {"__init__": lambda self, **kwargs: None})
        trainers.HOOKS["lightning.pytorch.trainer.trainer"](module)
        run("trainer = Trainer(max_steps=5)\n", Trainer=module.Trainer)
        self.assertEqual(trainers.edit_for("autocast_bf16")["insertions"][0]["text"], ', precision="bf16-mixed"')

    def test_without_a_trainer_there_is_nothing(self):
        self.assertIsNone(trainers.edit_for("autocast_bf16"))


if __name__ == "__main__":
    unittest.main()
