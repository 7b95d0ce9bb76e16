#!/usr/bin/env python3
"""Tests of python/hone_apply/loaders.py with a module named as PyTorch's. Needs no PyTorch."""
import importlib
import pathlib
import sys
import types
import unittest
import unittest.mock

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "python"))
loaders = importlib.import_module("hone_apply.loaders")

MODULE = types.SimpleNamespace(IterableDataset=type("IterableDataset", (), {}))


class WorkersOfALoader(unittest.TestCase):
    def changed(self, cpus, dataset=(), processes=0, **given):
        cores = types.SimpleNamespace(usable=lambda: (cpus, cpus))
        with unittest.mock.patch.object(loaders.shared, "of_observe", lambda _: cores):
            workers = loaders.Workers()
            workers.processes = processes
            change = workers.changed(MODULE, dataset, given)
        return change and change[0]

    def test_are_as_many_as_cpus_suffice_for(self):
        self.assertEqual(self.changed(16), {"num_workers": 8, "persistent_workers": True})
        self.assertEqual(self.changed(4, num_workers=0), {"num_workers": 3, "persistent_workers": True})
        self.assertEqual(self.changed(1), {"num_workers": 1, "persistent_workers": True})

    def test_are_more_where_the_program_has_half_of_that_or_fewer(self):
        self.assertEqual(self.changed(16, num_workers=4), {"num_workers": 8, "persistent_workers": True})
        self.assertEqual(self.changed(16, num_workers=1, persistent_workers=True), {"num_workers": 8, "persistent_workers": True})

    def test_live_on_where_they_are_enough(self):
        self.assertEqual(self.changed(16, num_workers=6), {"persistent_workers": True})
        self.assertEqual(self.changed(2, num_workers=4), {"persistent_workers": True})

    def test_stay_where_nothing_is_left_to_change(self):
        self.assertIsNone(self.changed(16, num_workers=8, persistent_workers=True))

    def test_are_no_more_than_an_epoch_has_batches(self):
        self.assertEqual(self.changed(16, dataset=range(20), batch_size=4), {"num_workers": 5, "persistent_workers": True})
        self.assertEqual(self.changed(16, dataset=range(20)), {"num_workers": 8, "persistent_workers": True})
        self.assertEqual(self.changed(16, dataset=range(20), batch_sampler=[[0, 1], [2]], num_workers=1)["num_workers"], 2)
        self.assertEqual(self.changed(16, dataset=range(20), sampler=range(3), batch_size=2)["num_workers"], 2)

    def test_are_those_that_were_foretold_to_be_best(self):
        self.assertEqual(self.changed(4, dataset=range(100), processes=6, num_workers=4),
                         {"num_workers": 6, "persistent_workers": True})
        self.assertEqual(self.changed(16, dataset=range(100), processes=2), {"num_workers": 2, "persistent_workers": True})
        self.assertEqual(self.changed(16, dataset=range(3), processes=6)["num_workers"], 3)
        self.assertEqual(self.changed(16, dataset=range(100), processes=4, num_workers=6), {"persistent_workers": True})

    def test_of_an_iterable_data_set_are_left_to_the_program(self):
        self.assertIsNone(self.changed(16, dataset=MODULE.IterableDataset()))
        self.assertEqual(self.changed(16, dataset=MODULE.IterableDataset(), num_workers=6), {"persistent_workers": True})


if __name__ == "__main__":
    unittest.main()
