"""Moments that come once a step of a PyTorch program: the optimizer has stepped, the outermost module is called, a
batch has arrived, it asks to wait for the device. They are all that is noted in steps which are left alone, so each costs less than a microsecond.

What the program can see stays as it was: no hooks on modules (torch.compile warns of global ones, and those of a
module are saved with it), no frames in what torch.compile traces, nothing that is pickled.
"""
import functools
import sys

from . import library

_names = {}  # of classes, by class


def _name_of(cls):
    name = _names.get(cls)
    if name is None:
        name = _names[cls] = library.intern(cls.__name__)
    return name


def _compiling():
    """A function that tells whether torch.compile is tracing; it takes it for a constant."""
    compiler = getattr(sys.modules.get("torch"), "compiler", None)
    return getattr(compiler, "is_compiling", None) or (lambda: False)


def of_optimizers(module):
    """torch.optim.optimizer; PyTorch 2.0 or later."""
    compiling = None
    mark, name_of, kind = library.mark, _name_of, library.MARK_OPTIMIZER

    def after_step(optimizer, args, kwargs):
        nonlocal compiling
        if compiling is None:
            compiling = _compiling()
        if not compiling():
            mark(kind, name_of(type(optimizer)))

    module.register_optimizer_step_post_hook(after_step)
    _tell_of_first(module.Optimizer, library.MARK_TRAINING)


def of_data_loaders(module):
    """torch.utils.data.dataloader: a batch is there when the iterator hands it over."""
    base = module._BaseDataLoaderIter
    original, mark, name, kind = base.__next__, library.mark, library.intern("DataLoader"), library.MARK_DATA

    def __next__(self):
        batch = original(self)
        mark(kind, name)
        return batch

    base.__next__ = __next__


_MOST_CLASSES = 4
_marked = []  # classes whose calls are marked
_inside = False  # a call of one of them


def _mark_calls_of(cls, name, base):
    """Marks calls of a module's class, but not those within a call of another marked class. What it calls is base's
    __call__ as it is then: others replace it for a while (torch.fx). Pickled by value with its class (cloudpickle), it
    brings nothing of ours along, and calls base's alone where it arrives."""
    compiling = _compiling()

    def __call__(self, *args, **kwargs):
        marks = None if compiling() else sys.modules.get("_hone_observe.marks")
        if marks is None or marks._inside:
            return base.__call__(self, *args, **kwargs)
        marks.library.mark(marks.library.MARK_MODULE, name)
        marks._inside = True
        try:
            return base.__call__(self, *args, **kwargs)
        finally:
            marks._inside = False

    cls.__call__ = __call__
    _marked.append(cls)


def of_modules(module):
    """torch.nn.modules.module. The outermost module is the one that the program itself moves or switches: eval(),
    train(), to() and cuda() go from there to all within. PyTorch's own classes stand within others, too, and are
    left as they are."""
    base = module.Module
    _tell_of_first(base, library.MARK_COMING)
    busy = False

    def consider(outermost):
        cls = type(outermost)
        if cls.__call__ is base.__call__ and not cls.__module__.startswith("torch.") and len(_marked) < _MOST_CLASSES:
            _mark_calls_of(cls, _name_of(cls), base)

    def watched(original):
        @functools.wraps(original)
        def method(self, *args, **kwargs):
            nonlocal busy
            if busy:
                return original(self, *args, **kwargs)
            busy = True
            try:
                consider(self)
                return original(self, *args, **kwargs)
            finally:
                busy = False

        return method

    for name in ("eval", "train", "to", "cuda"):
        setattr(base, name, watched(getattr(base, name)))


def _tell_of_first(cls, kind):
    """Says so when the program makes its first module or optimizer: it will give marks, and is worth waiting for."""
    original = cls.__init__

    @functools.wraps(original)
    def __init__(self, *args, **kwargs):
        if cls.__init__ is __init__:
            cls.__init__ = original
        library.mark(kind, 0)
        original(self, *args, **kwargs)

    cls.__init__ = __init__


def of_waits(torch):
    """torch.cuda of a whole torch: programs without modules and optimizers often wait for the device once a step."""
    module = torch.cuda
    original, mark, kind = module.synchronize, library.mark, library.MARK_HOST_WAIT
    name = library.intern("torch.cuda.synchronize")
    compiling = _compiling()

    @functools.wraps(original)
    def synchronize(*args, **kwargs):
        if not compiling():
            mark(kind, name)
        return original(*args, **kwargs)

    module.synchronize = synchronize


def of_compiled_modules(module):
    """torch._dynamo.eval_frame: what torch.compile makes of a module."""
    class Original:
        __call__ = module.OptimizedModule.__call__

    _mark_calls_of(module.OptimizedModule, library.intern("torch.compile"), Original)
