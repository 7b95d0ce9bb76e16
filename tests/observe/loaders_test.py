#!/usr/bin/env python3
"""Tests of python/hone_observe/loaders.py with iterators that set what PyTorch's set, in the same order. Needs neither PyTorch nor the
library."""
import os
import pathlib
import sys
import types
import unittest

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "python"))
from hone_observe import library, loaders  # noqa: E402

FIELDS = ("start_ns", "loader", "workers", "prefetch", "persistent", "forked", "batches", "batch_size", "delivered",
          "starting_ns", "ending_ns", "cpu_ns", "cpus", "cores")


class BatchSampler:
    def __init__(self, batches):
        self.batch_size, self.batches = 4, batches

    def __len__(self):
        return self.batches


def iterators(now):
    """torch.utils.data.dataloader as far as its iterators go; `now` is the clock's hand, in a list."""

    class BaseIter:
        def __init__(self, loader):
            self._dataset, self._dataset_kind = loader.dataset, loader.kind
            self._index_sampler, self._num_workers = loader.sampler, loader.workers
            self._persistent_workers = loader.persistent
            self._num_yielded = 0

        def _reset(self):
            self._num_yielded = 0

        def __next__(self):
            self._num_yielded += 1

    class SeveralIter(BaseIter):
        def __init__(self, loader):
            super().__init__(loader)
            self._prefetch_factor, self._worker_pids_set, self._shutdown = 2, False, False
            popen = types.SimpleNamespace(method="fork")
            self._workers = [types.SimpleNamespace(pid=os.getpid(), _popen=popen) for _ in range(self._num_workers)]
            now[0] += 10 * self._num_workers  # starting them
            self._worker_pids_set = True
            self._reset()

        def shut_down(self):
            self._shutdown = True
            now[0] += 7
            self._worker_pids_set = False

    return types.SimpleNamespace(_BaseDataLoaderIter=BaseIter, _MultiProcessingDataLoaderIter=SeveralIter)


class Epochs(unittest.TestCase):
    def setUp(self):
        self.now, self.marks, self.told = [1000], [], []
        library.mark = lambda kind, name: self.marks.append((kind, name))
        library.intern = lambda text: text
        library.clock = lambda: self.now[0]
        library.loader = lambda *fields: self.told.append(dict(zip(FIELDS, fields, strict=True)))
        loaders._numbers.clear()
        loaders._ended_ns.clear()
        self.module = iterators(self.now)
        loaders.of_data_loaders(self.module)

    def loader(self, workers, batches=3, persistent=False, kind=0):
        return types.SimpleNamespace(dataset=object(), kind=kind, sampler=BatchSampler(batches), workers=workers,
                                     persistent=persistent)

    def run_epoch(self, iterator, batches=3):
        for _ in range(batches):
            self.now[0] += 100
            next(iterator)

    def test_are_told_with_what_starting_and_ending_processes_takes(self):
        loader = self.loader(workers=4)
        for _ in range(2):
            iterator = self.module._MultiProcessingDataLoaderIter(loader)
            self.run_epoch(iterator)
            iterator.shut_down()
        first, first_again, second, _ = self.told
        self.assertEqual((first["workers"], first["prefetch"], first["persistent"], first["forked"]), (4, 2, False, True))
        self.assertEqual((first["batches"], first["batch_size"]), (3, 4))
        self.assertEqual((first["start_ns"], first["starting_ns"], first["ending_ns"]), (1000, 40, 0))
        self.assertEqual((first_again["start_ns"], first_again["delivered"]), (1000, 3))  # all of it has come
        self.assertEqual((second["start_ns"], second["starting_ns"], second["ending_ns"]), (1347, 40, 7))
        self.assertEqual(second["loader"], first["loader"])
        self.assertGreater(first_again["cpu_ns"], 0)

    def test_of_processes_that_live_on_begin_without_a_start(self):
        iterator = self.module._MultiProcessingDataLoaderIter(self.loader(workers=2, persistent=True))
        self.run_epoch(iterator)
        iterator._reset()
        self.run_epoch(iterator)
        second = self.told[2]
        self.assertEqual((second["start_ns"], second["starting_ns"], second["ending_ns"], second["persistent"]),
                         (1320, 0, 0, True))

    def test_of_a_loader_without_processes_are_told_too(self):
        self.run_epoch(self.module._BaseDataLoaderIter(self.loader(workers=0)))
        self.assertEqual((self.told[0]["workers"], self.told[0]["prefetch"], self.told[0]["starting_ns"]), (0, 0, 0))

    def test_of_endless_data_have_no_length_and_are_told_ever_more_rarely(self):
        self.run_epoch(self.module._BaseDataLoaderIter(self.loader(workers=0, kind=1)), 1000)
        self.assertEqual([each["delivered"] for each in self.told], [1, 16, 32, 64, 128, 256, 512])
        self.assertEqual({each["batches"] for each in self.told}, {-1})

    def test_of_two_data_sets_are_of_two_loaders(self):
        for loader in (self.loader(workers=1), self.loader(workers=2)):
            self.run_epoch(self.module._MultiProcessingDataLoaderIter(loader))
        self.assertEqual([each["loader"] for each in self.told], [0, 0, 1, 1])

    def test_mark_each_batch(self):
        self.run_epoch(self.module._BaseDataLoaderIter(self.loader(workers=0)))
        self.assertEqual(self.marks, [(library.MARK_DATA, "DataLoader")] * 3)

    def test_that_cannot_be_told_harm_nobody(self):
        loader = self.loader(workers=1)
        loader.sampler = None
        self.run_epoch(self.module._MultiProcessingDataLoaderIter(loader))
        self.assertEqual(len(self.marks), 3)


if __name__ == "__main__":
    unittest.main()
