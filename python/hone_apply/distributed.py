"""DistributedDataParallel."""
import functools

from . import edits, log, outcomes


class Buckets:
    """Gradients are views into the buckets that are reduced (a copy less), and buckets are larger (fewer collectives)."""
    NAME = "ddp_buckets"
    MEGABYTES = 100

    def hooks(self):
        return {"torch.nn.parallel.distributed": self.of_module}

    def of_module(self, module):
        cls = module.DistributedDataParallel
        original = cls.__init__

        @functools.wraps(original)
        def __init__(parallel, *args, **kwargs):
            if kwargs.get("gradient_as_bucket_view") or kwargs.get("bucket_cap_mb"):
                log.refused(self.NAME, "the program has chosen its buckets")
                return original(parallel, *args, **kwargs)
            original(parallel, *args, **dict(kwargs, gradient_as_bucket_view=True, bucket_cap_mb=self.MEGABYTES))
            frame = edits.caller()
            outcomes.applied(self.NAME, "gradients are reduced in place, in buckets of %d MB" % self.MEGABYTES,
                             log.guarded(self.NAME, edits.keywords_in_call, frame,
                                         {"gradient_as_bucket_view": "True", "bucket_cap_mb": str(self.MEGABYTES)},
                                         "DistributedDataParallel", kwargs))

        cls.__init__ = __init__
