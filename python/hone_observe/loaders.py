"""Data loaders: a mark for each batch that has come, and of each epoch what decides how long batches are waited for: the processes that
prepare them, how far ahead these may be, how many batches it has, what starting and ending the processes takes.

All of it is seen in attributes that PyTorch's iterators set anyway (torch/utils/data/dataloader.py, PyTorch 1.9 to 2.15), so that no
frame of ours is on the stack of what is forked, or in a traceback:
    _num_yielded       0 when an iterator is made, and again once its processes have started or an epoch begins with those that
                       live on; then the number of batches that have come
    _shutdown          True when the processes are about to be ended
    _worker_pids_set   False once they have ended
"""
import os

from . import cores, library

_TELL_AGAIN = 16  # batches, and each time that these have doubled
_CLOCK_TICK_NS = 10**9 // os.sysconf("SC_CLK_TCK")
_EPOCH = "_hone_epoch"  # in an iterator's dictionary

_numbers = {}  # of loaders, by their data sets: some programs make a loader for each epoch
_ended_ns = {}  # what ending the processes of a loader took, until its next epoch tells it


class _Epoch:
    __slots__ = ("start_ns", "starting_ns", "started", "ending_ns", "ends_from_ns", "tell_at", "batches")

    def __init__(self):
        self.start_ns, self.starting_ns, self.started = library.clock(), 0, False
        self.ending_ns = self.ends_from_ns = self.tell_at = 0
        self.batches = -1

    def begin(self):
        """Its processes have started, or it begins anew with those that live on."""
        now = library.clock()
        if self.started:
            self.start_ns, self.starting_ns = now, 0
        else:
            self.starting_ns = now - self.start_ns
        self.started = True


class _Yielded:
    """The number of batches that a data loader's iterator has handed over, which it counts when one has arrived."""

    def __init__(self):
        self.mark, self.name, self.kind = library.mark, library.intern("DataLoader"), library.MARK_DATA

    def __get__(self, instance, owner=None):
        if instance is None:
            return self
        return _of(instance, "_num_yielded")

    def __set__(self, instance, value):
        held = instance.__dict__
        held["_num_yielded"] = value
        epoch = held.get(_EPOCH)
        if value:
            self.mark(self.kind, self.name)
            if epoch is not None and (value == 1 or value == epoch.tell_at or value == epoch.batches):
                _guarded(_tell, held, epoch, value)
        elif epoch is None:
            held[_EPOCH] = _Epoch()
        else:
            epoch.begin()


class _Noticed:
    """An attribute that is what it is, and of which is told when it is set."""

    def __init__(self, name, notice):
        self.name, self.notice = name, notice

    def __get__(self, instance, owner=None):
        if instance is None:
            return self
        return _of(instance, self.name)

    def __set__(self, instance, value):
        held = instance.__dict__
        held[self.name] = value
        epoch = held.get(_EPOCH)
        if epoch is not None:
            _guarded(self.notice, held, epoch, value)


def _of(instance, name):
    try:
        return instance.__dict__[name]
    except KeyError:
        raise AttributeError(name) from None


def _guarded(function, *arguments):
    """Nothing fails in the program's sight: what cannot be told is not."""
    try:
        function(*arguments)
    except Exception:
        pass


def _about_to_end(held, epoch, ends):
    epoch.ends_from_ns = library.clock() if ends else 0


def _has_ended(held, epoch, runs):
    if not runs and epoch.ends_from_ns:
        _ended_ns[_number_of(held)] = library.clock() - epoch.ends_from_ns


def _number_of(held):
    return _numbers.setdefault((id(held["_dataset"]), held["_num_workers"]), len(_numbers))


def _tell(held, epoch, delivered):
    number, workers = _number_of(held), held.get("_workers", ())
    if delivered == 1:
        epoch.batches, epoch.tell_at = _batches_of(held), _TELL_AGAIN
        epoch.ending_ns = _ended_ns.pop(number, 0)
    elif delivered == epoch.tell_at:
        epoch.tell_at *= 2
    size = getattr(held["_index_sampler"], "batch_size", None)
    library.loader(epoch.start_ns, number, held["_num_workers"], held.get("_prefetch_factor") or 0,
                   bool(held["_persistent_workers"]), all(each._popen.method == "fork" for each in workers),
                   epoch.batches, size if isinstance(size, int) else -1, delivered, epoch.starting_ns,
                   epoch.ending_ns, _cpu_ns(workers) if delivered > 1 else 0, *cores.usable())


def _batches_of(held):
    """Of an epoch; of a data set that is only iterated nobody knows."""
    try:
        return -1 if held["_dataset_kind"] else len(held["_index_sampler"])
    except Exception:
        return -1


def _cpu_ns(processes):
    """That they have taken of CPUs, all threads."""
    ticks = 0
    for process in processes:
        try:
            with open("/proc/%d/stat" % process.pid, encoding="ascii", errors="replace") as file:
                user, system = file.read().rpartition(")")[2].split()[11:13]
            ticks += int(user) + int(system)
        except OSError:
            pass  # it has ended
    return ticks * _CLOCK_TICK_NS


def of_data_loaders(module):
    """torch.utils.data.dataloader."""
    module._BaseDataLoaderIter._num_yielded = _Yielded()
    several = getattr(module, "_MultiProcessingDataLoaderIter", None)
    if several is not None:
        several._shutdown = _Noticed("_shutdown", _about_to_end)
        several._worker_pids_set = _Noticed("_worker_pids_set", _has_ended)
