class _BaseDataLoaderIter:
    def __init__(self, dataset):
        self.items = iter(dataset)
        self._num_yielded = 0

    def __next__(self):
        item = next(self.items)
        self._num_yielded += 1
        return item

    def __iter__(self):
        return self


class DataLoader:
    def __init__(self, dataset):
        self.dataset = dataset

    def __iter__(self):
        return _BaseDataLoaderIter(self.dataset)
