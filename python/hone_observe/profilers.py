"""A program that profiles itself: CUPTI serves one at a time, and the program's own profiler gets it."""
from . import library

_WHY = ("no device work recorded from here on: the program profiles itself with torch.profiler, and CUPTI serves one "
        "profiler at a time; leave that out to have its device work recorded")


def of_torch(module):
    """torch.autograd.profiler, which torch.profiler stands on."""
    profile = module.profile
    original = profile._prepare_trace

    def _prepare_trace(self):
        if any(activity.name == "CUDA" for activity in self.kineto_activities):
            library.leave_device(_WHY)
        return original(self)

    profile._prepare_trace = _prepare_trace
