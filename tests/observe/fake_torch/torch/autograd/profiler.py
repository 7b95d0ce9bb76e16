import enum


class ProfilerActivity(enum.Enum):
    CPU = 0
    CUDA = 1


class profile:
    def __init__(self, cuda):
        self.kineto_activities = {ProfilerActivity.CPU} | ({ProfilerActivity.CUDA} if cuda else set())

    def _prepare_trace(self):
        self.prepared = True

    def __enter__(self):
        self._prepare_trace()
        return self

    def __exit__(self, *_):
        pass
