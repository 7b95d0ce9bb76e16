"""Settings of the whole process."""
import os

from . import edits, log, outcomes, shared


class CudnnBenchmark:
    NAME = "cudnn_benchmark"

    def hooks(self):
        return {"torch": self.of_torch}

    def of_torch(self, torch):
        if torch.backends.cudnn.benchmark:
            return log.refused(self.NAME, "the program's PyTorch has it already")
        torch.backends.cudnn.benchmark = True
        outcomes.applied(self.NAME, "cuDNN tries its convolutions and keeps the quickest",
                         edits.after_import("torch", "torch.backends.cudnn.benchmark = True"))


class ExpandableSegments:
    NAME = "expandable_segments"
    VARIABLE, VALUE = "PYTORCH_CUDA_ALLOC_CONF", "expandable_segments:True"
    OURS = "HONE_APPLY_SEGMENTS"  # a process that this one starts finds the variable set

    def __init__(self):
        if os.environ.get(self.VARIABLE) and not os.environ.get(self.OURS):
            log.refused(self.NAME, "%s is set already" % self.VARIABLE)
            return
        os.environ[self.VARIABLE] = self.VALUE
        os.environ[self.OURS] = "1"
        log.write(change=self.NAME, status="applied", text="the allocator grows its segments instead of adding others",
                  environment={self.VARIABLE: self.VALUE})

    def hooks(self):
        return {}


class PhysicalCores:
    """A thread for each core rather than for each of its hardware threads."""
    NAME = "threads_physical"
    on = True

    def hooks(self):
        return {"torch": self.of_torch}

    def of_torch(self, torch):
        cores = shared.of_observe("cores").cores()
        if os.environ.get("OMP_NUM_THREADS"):
            return log.refused(self.NAME, "OMP_NUM_THREADS is set already")
        if torch.get_num_threads() == cores:
            return log.refused(self.NAME, "PyTorch computes with %d threads already" % cores)
        self.torch, self.threads = torch, {True: cores, False: torch.get_num_threads()}
        self.switch(self.on)
        outcomes.applied(self.NAME, "PyTorch computes with %d threads, one a core" % cores,
                         edits.after_import("torch", "torch.set_num_threads(%d)" % cores))

    def switch(self, on):
        self.torch.set_num_threads(self.threads[on])
