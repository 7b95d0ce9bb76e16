"""Moments that come once a step of a PyTorch program: the optimizer has stepped, the outermost module is called, a
batch has arrived (loaders.py), it asks to wait for the device. They are all that is noted in steps which are left alone, so each costs less than a microsecond.

What the program can see stays as it was: no hooks on modules (torch.compile warns of global ones, and those of a
module are saved with it), no frames in what torch.compile traces, in tracebacks, or between a warning and the line that it
is about, nothing that is pickled.
"""
import functools
import sys
import weakref

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


class _BeforeCall:
    """Stands for a function in the dictionary of a class. Acts when the function is looked up on an object in order to be
    called, and hands the function itself over: during the call nothing of ours is on the stack. Asked for on the class,
    or for anything else, it is the function. Pickled by value with its class (cloudpickle) it leaves the function of `base`,
    where it arrives."""

    def __init__(self, base, name, act, function=None):
        self._base, self._name, self._act, self._function = base, name, act, function
        self._compiling = _compiling()

    def __get__(self, instance, owner=None):
        # Of calls what base has then: others replace it for a while (torch.fx).
        function = self._function or getattr(self._base, self._name)
        if instance is None:
            return function
        if not self._compiling():
            self._act(instance)
        return function.__get__(instance, owner)

    def __getattr__(self, name):
        if name.startswith("_") and not name.startswith("__"):
            raise AttributeError(name)
        return getattr(self._function or getattr(self._base, self._name), name)

    def __reduce__(self):
        return getattr, (self._base, self._name)


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


_MOST_CLASSES, _MOST_OBJECTS = 4, 64
_marked = []  # classes whose calls are marked
_wholly_marked = []  # those of which every object counts
_outermost = {}  # of PyTorch's own classes, the objects whose calls are marked: weak references, by id
_FARTHEST = 12


def _is_within(codes):
    """Whether one of these functions called the caller of the hook's caller, or is that; a few frames away at most."""
    frame = sys._getframe(3)
    for _ in range(_FARTHEST):
        if frame is None:
            break
        if frame.f_code in codes:
            return True
        frame = frame.f_back
    return False


def _codes_of(base, *names):
    """Of what these functions of a class are before anything is changed."""
    return {getattr(base.__dict__.get(name), "__code__", None) for name in names} - {None}


_calls = set()  # code of PyTorch's that is on the stack while a module is called


def _mark_calls_of(cls, name, base, objects=None):
    """Marks calls of a module's class, but not those within a call of another module; `objects`: of these alone."""
    mark, kind, calls = library.mark, library.MARK_MODULE, _calls

    def act(module):
        if objects is not None:
            known = objects.get(id(module))
            if known is None or known() is not module:
                return
        if not _is_within(calls):
            mark(kind, name)

    cls.__call__ = _BeforeCall(base, "__call__", act)
    _marked.append(cls)
    if objects is None:
        _wholly_marked.append(cls)


def of_modules(module):
    """torch.nn.modules.module. The outermost module is the one that the program itself moves or switches: eval(),
    train(), to() and cuda() go from there to all within. Classes of PyTorch's own networks stand within others, too: of these
    the objects count for which the program did that."""
    base = module.Module
    _calls.update(_codes_of(base, "__call__", "_wrapped_call_impl", "_call_impl"))
    names = ("eval", "train", "to", "cuda")
    codes = _codes_of(base, *names)
    _tell_of_first(base, library.MARK_COMING)

    def consider(outermost):
        cls = type(outermost)
        of_pytorch = cls.__module__.startswith("torch.")
        if (of_pytorch and not cls.__module__.startswith("torch.nn.")) or _is_within(codes):
            return
        if of_pytorch and len(_outermost) < _MOST_OBJECTS:
            _outermost[id(outermost)] = weakref.ref(outermost)
        if len(_marked) >= _MOST_CLASSES or cls in _marked:
            return
        if cls.__call__ is base.__call__ and (of_pytorch or not any(marked in cls.__mro__ for marked in _wholly_marked)):
            _mark_calls_of(cls, _name_of(cls), base, _outermost if of_pytorch else None)

    for name in names:
        setattr(base, name, _BeforeCall(base, name, consider, base.__dict__[name]))


def _tell_of_first(cls, kind):
    """Says so when the program makes its first module or optimizer: it will give marks, and is worth waiting for."""
    original = cls.__init__

    def act(_):
        cls.__init__ = original
        library.mark(kind, 0)

    cls.__init__ = _BeforeCall(cls, "__init__", act, original)


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
    cls = module.OptimizedModule

    class Original:
        __call__ = cls.__call__

    _mark_calls_of(cls, library.intern("torch.compile"), Original)
