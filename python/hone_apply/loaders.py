"""How batches come: loaders' processes, pinned memory, copies that nobody waits for."""
import functools

from . import edits, log, outcomes, shared

MOST_WORKERS = 8


class Workers:
    """As many processes as `hone lab` foretells to be best for the loader that the program waits for; where that is not known, one a
    CPU. None of them ever has a batch to prepare where there are more than an epoch has batches."""
    NAME = "workers"
    processes = 0  # 0: not foretold

    def hooks(self):
        return {"torch.utils.data.dataloader": self.of_loaders}

    def of_loaders(self, module):
        _wrap_loader(module, self.NAME, self.changed)

    def changed(self, module, dataset, kwargs):
        now, most = kwargs.get("num_workers") or 0, self.most(dataset, kwargs)
        if now and (now < most if self.processes else 2 * now <= most):
            return self.told(most, "batches are prepared by %s instead of %d" % (_processes(most), now))
        if now and not kwargs.get("persistent_workers"):
            return {"persistent_workers": True}, "the loader's processes live on from epoch to epoch", str(now)
        if now:
            log.refused(self.NAME, "the loader's batches are prepared by %s already" % _processes(now))
            return None
        if isinstance(dataset, module.IterableDataset):
            log.refused(self.NAME, "each process would read an iterable data set from its beginning")
            return None
        return self.told(most, "batches are prepared by %s" % _processes(most))

    def most(self, dataset, kwargs):
        most = self.processes or min(MOST_WORKERS, shared.of_observe("cores").usable()[0] - 1)
        return max(1, min(most, _batches(dataset, kwargs) or most))

    @staticmethod
    def told(workers, text):
        return {"num_workers": workers, "persistent_workers": True}, text, str(workers)


class PinMemory:
    NAME = "pin_memory"

    def hooks(self):
        return {"torch.utils.data.dataloader": self.of_loaders}

    def of_loaders(self, module):
        _wrap_loader(module, self.NAME, self.changed)

    def changed(self, module, dataset, kwargs):
        if kwargs.get("pin_memory"):
            log.refused(self.NAME, "the loader pins its batches already")
            return None
        return ({"pin_memory": True}, "batches lie in pinned memory, from which copies are quicker and need not be waited for",
                "True")


class LargerBatch:
    """Twice as many samples a batch, where PyTorch itself puts them together. It trains otherwise: what it wins is told a sample."""
    NAME = "larger_batch"
    FACTOR = 2
    FEWEST_BATCHES = 4  # of a data set, after

    def __init__(self):
        self.made = set()  # sizes that are ours: libraries make a loader of another one's arguments

    def hooks(self):
        return {"torch.utils.data.dataloader": self.of_loaders}

    def of_loaders(self, module):
        cls = module.DataLoader
        original = cls.__init__

        @functools.wraps(original)
        def __init__(loader, dataset, *args, **kwargs):
            size = log.guarded(self.NAME, self.size, module, dataset, _given(args, kwargs))
            if size is None:
                return original(loader, dataset, *args, **kwargs)
            larger = size * self.FACTOR
            self.made.add(larger)
            if args:
                original(loader, dataset, larger, *args[1:], **kwargs)
            else:
                original(loader, dataset, **dict(kwargs, batch_size=larger))
            frame = edits.caller()
            edit = log.guarded(self.NAME, edits.times_argument, frame, "batch_size", 1, self.FACTOR, "DataLoader")
            outcomes.applied(self.NAME, "batches of %d samples instead of %d" % (larger, size), edit, self.FACTOR)

        cls.__init__ = __init__

    def size(self, module, dataset, given):
        """Of the batches that the program asks for; None: it is left as it is."""
        size, sampler = given.get("batch_size", 1), given.get("sampler")
        if size is None or given.get("batch_sampler") is not None:
            return log.refused(self.NAME, "the program puts its batches together itself")
        if sampler is not None and not type(sampler).__module__.startswith("torch.utils.data"):
            return log.refused(self.NAME, "the program draws its samples itself (%s)" % type(sampler).__name__)
        if size in self.made:
            return None
        if not isinstance(dataset, module.IterableDataset) and len(dataset) < self.FEWEST_BATCHES * self.FACTOR * size:
            return log.refused(self.NAME, "a data set of %d samples has too few batches as it is" % len(dataset))
        return size


# What may stand without its name after the data set.
_IN_ORDER = ("batch_size", "shuffle", "sampler", "batch_sampler", "num_workers", "collate_fn", "pin_memory", "drop_last", "timeout",
             "worker_init_fn", "multiprocessing_context", "generator")


def _given(args, kwargs):
    """What a loader is asked for, by name."""
    return dict(zip(_IN_ORDER, args), **kwargs)


def _batches(dataset, given):
    """Of an epoch; None: nobody knows."""
    try:
        if given.get("batch_sampler") is not None:
            return len(given["batch_sampler"])
        sampler = given.get("sampler")
        return -(-len(dataset if sampler is None else sampler) // (given.get("batch_size", 1) or 1))
    except Exception:  # of the program's own: it need not have a length
        return None


def _processes(count):
    return "%d process%s" % (count, "" if count == 1 else "es")


def _wrap_loader(module, name, changed):
    """`changed` gives (arguments of the loader, what they do, what a trainer's argument for it is) or None."""
    cls = module.DataLoader
    original = cls.__init__

    @functools.wraps(original)
    def __init__(loader, dataset, *args, **kwargs):
        given = _given(args, kwargs)
        change = log.guarded(name, changed, module, dataset, given)
        if change is None:
            return original(loader, dataset, *args, **kwargs)
        arguments, text, value = change
        original(loader, dataset, **dict(given, **arguments))
        positions = {each: at + 1 for at, each in enumerate(_IN_ORDER)}
        edit = log.guarded(name, edits.keywords_in_call, edits.caller(), {each: repr(of) for each, of in arguments.items()},
                           "DataLoader", given, positions)
        outcomes.applied(name, text, edit, value)

    cls.__init__ = __init__


class NonBlocking:
    """Copies from pinned memory to a device do not hold the host."""
    NAME = "non_blocking"
    on = True

    def hooks(self):
        return {"torch": self.of_torch}

    def switch(self, on):
        self.on = on

    def of_torch(self, torch):
        for name in ("to", "cuda"):
            self.wrap(torch, name)

    def wrap(self, torch, name):
        original = getattr(torch.Tensor, name)

        @functools.wraps(original)
        def method(tensor, *args, **kwargs):
            if tensor.device.type == "cpu" and "non_blocking" not in kwargs and _to_device(torch, name, args, kwargs) \
                    and tensor.is_pinned():
                if self.on:
                    kwargs["non_blocking"] = True
                if not log.is_applied(self.NAME):
                    self.tell(edits.caller(), name)
            return original(tensor, *args, **kwargs)

        setattr(torch.Tensor, name, method)

    def tell(self, frame, name):
        outcomes.applied(self.NAME, "the host goes on while batches are copied to the device",
                         log.guarded(self.NAME, edits.keywords_in_call, frame, {"non_blocking": "True"}, name, ()))


def _to_device(torch, name, args, kwargs):
    if len(args) > 1:
        return False  # non_blocking may stand among them
    if name == "cuda":
        return True
    target = kwargs.get("device", args[0] if args else None)
    return isinstance(target, (str, torch.device, int)) and torch.device(target).type == "cuda"
