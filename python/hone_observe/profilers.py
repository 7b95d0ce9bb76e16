"""A program that profiles itself: CUPTI serves one at a time, and the program's own profiler gets it while it runs."""
from . import library

_WHY = ("no device work recorded while the program profiles itself with torch.profiler, as CUPTI serves one profiler at a "
        "time; leave that out to have all of its device work recorded")


def of_torch(module):
    """torch.autograd.profiler, which torch.profiler stands on."""
    profile = module.profile
    prepare, leave = profile._prepare_trace, profile.__exit__

    def _prepare_trace(self):
        if any(activity.name == "CUDA" for activity in self.kineto_activities):
            library.leave_device(_WHY)
        return prepare(self)

    def __exit__(self, *how):
        try:
            return leave(self, *how)
        finally:
            library.return_device()

    profile._prepare_trace = _prepare_trace
    profile.__exit__ = __exit__
