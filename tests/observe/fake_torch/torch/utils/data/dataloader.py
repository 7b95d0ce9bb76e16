class _BaseDataLoaderIter:
    def __init__(self, dataset):
        self.items = iter(dataset)

    def __next__(self):
        return next(self.items)

    def __iter__(self):
        return self


class DataLoader:
    def __init__(self, dataset):
        self.dataset = dataset

    def __iter__(self):
        return _BaseDataLoaderIter(self.dataset)
