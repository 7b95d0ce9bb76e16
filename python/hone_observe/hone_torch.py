"""PyTorch inside an observed program: what needs Python.

arm() is called once, right after `import torch`. It teaches libhone_inject.so where this version of PyTorch keeps
what operators are called with (in a child process: a wrong guess harms nobody), and arranges that ranges of modules
and samples of Python's stacks are recorded in the blocks of steps that are for them, and only there.

Nothing here may fail in the program's sight: what cannot be done is not recorded, and a note in the segment says so.
"""
import array
import ctypes
import functools
import os
import sys
import threading
import time
import weakref

# Numbers of src/trace/segments/record.h.
MODE_OPERATORS, MODE_STACKS = 3, 4
RANGE_MODULE = 4
STACK_PYTHON = 1

SAMPLE_EVERY_S = 0.002
MOST_FRAMES = 128
LEARN_WITHIN_MS = 3000

# torch.<name>: name in trace/call_inputs.h.
DTYPES = {
    "uint8": "u8", "int8": "i8", "int16": "i16", "int32": "i32", "int64": "i64", "uint16": "u16", "uint32": "u32",
    "uint64": "u64", "float16": "f16", "float32": "f32", "float64": "f64", "bfloat16": "bf16", "bool": "bool",
    "complex64": "c64", "complex128": "c128", "float8_e4m3fn": "f8e4m3fn", "float8_e4m3fnuz": "f8e4m3fnuz",
    "float8_e5m2": "f8e5m2", "float8_e5m2fnuz": "f8e5m2fnuz", "float8_e8m0fnu": "f8e8m0", "float4_e2m1fn_x2": "f4e2m1",
}

_armed = None  # the Recorder of this process


def arm(library=None):
    """Returns 2 if operators can be recorded with their inputs, 1: names alone, 0: none."""
    global _armed
    if _armed is not None:
        return _armed.operators
    torch = sys.modules.get("torch")
    path = library or os.environ.get("CUDA_INJECTION64_PATH")
    if torch is None or not path:
        return 0
    try:
        recorder = Recorder(torch, ctypes.PyDLL(path))
        _armed = recorder
        return recorder.operators
    except Exception as problem:  # whatever it is: the program goes on
        _note(path, "PyTorch: no operators: %s: %s" % (type(problem).__name__, problem))
        return 0


def of_torch(module):
    """The hook of `import torch`."""
    arm()


def _note(path, text):
    try:
        ctypes.PyDLL(path).hone_note(text.encode("utf-8", "replace"))
    except Exception:
        pass


class Recorder:
    def __init__(self, torch, library):
        self.library = library
        self.torch = torch
        _declare(library)
        self.mode = library.hone_mode()
        self.wants_stacks = library.hone_python_stacks()
        self.modules = Modules(torch, library)
        if hasattr(torch, "compile"):
            self.modules.give_way_to_compilation()
        self.sampler = None
        self.operators = self._learn()
        self._look = _LOOK(self._look_at_mode)
        pending = ctypes.cast(ctypes.pythonapi.Py_AddPendingCall, ctypes.c_void_p)
        library.hone_torch_on_mode(self._look, pending)
        import atexit
        atexit.register(library.hone_torch_on_mode, _LOOK(0), None)
        self._look_at_mode()

    def _learn(self):
        deeds = Deeds(self.torch, self.library)
        perform = _PERFORM(deeds.perform)
        return self.library.hone_torch_learn(perform, LEARN_WITHIN_MS)

    def _look_at_mode(self):
        """In the main thread, soon after the mode has changed."""
        try:
            mode = self.mode[0]
            self.modules.follow(mode in (MODE_OPERATORS, MODE_STACKS))
            stacks = mode == MODE_STACKS and self.wants_stacks[0] != 0
            if stacks and self.sampler is None:
                self.sampler = Sampler(self.library)
            elif not stacks and self.sampler is not None:
                self.sampler.stop()
                self.sampler = None
        except Exception as problem:
            self.library.hone_note(("PyTorch: no modules: %r" % problem).encode("utf-8", "replace"))


_PERFORM = ctypes.PYFUNCTYPE(ctypes.c_int64, ctypes.c_int32, ctypes.c_int32)
_LOOK = ctypes.PYFUNCTYPE(None)


def _declare(library):
    """The functions of host_api.h and torch/python_api.h that are called here."""
    u32, i64, size = ctypes.c_uint32, ctypes.c_int64, ctypes.c_size_t
    for name, result, arguments in (
        ("hone_mode", ctypes.POINTER(u32), []),
        ("hone_python_stacks", ctypes.POINTER(u32), []),
        ("hone_intern_bytes", u32, [ctypes.c_char_p, size]),
        ("hone_note", None, [ctypes.c_char_p]),
        ("hone_sample", None, [i64, u32, ctypes.c_void_p, u32]),
        ("hone_torch_learn", ctypes.c_int, [_PERFORM, ctypes.c_int]),
        ("hone_torch_tell", None, [ctypes.c_int32, ctypes.c_uint64, u32, ctypes.c_void_p, ctypes.c_void_p,
                                   ctypes.c_char_p]),
        ("hone_torch_on_mode", None, [_LOOK, ctypes.c_void_p]),
        ("hone_torch_ranges", None, [u32, ctypes.c_void_p, size]),
    ):
        function = getattr(library, name)
        function.restype, function.argtypes = result, arguments


def _intern(library, text):
    text = text.encode("utf-8", "replace")
    return library.hone_intern_bytes(text, len(text))


class Deeds:
    """Does what learn.h asks for, in the child process."""

    def __init__(self, torch, library):
        self.torch = torch
        self.library = library
        self.tensors = ({}, {})

    def perform(self, deed, round):
        names = ("prepare", "multiply", "add", "clamp", "sum", "concatenate", "user_range")
        try:
            result = getattr(self, names[deed])(round)
            return -1 if result is None else result
        except Exception:
            return -1  # the learner sees nothing, and knows what that means

    def tell(self, role, tensor, dtype):
        sizes = array.array("q", tensor.shape)
        strides = array.array("q", tensor.stride())
        self.library.hone_torch_tell(role, tensor._cdata, len(sizes), sizes.buffer_info()[0], strides.buffer_info()[0],
                                     dtype.encode())

    def prepare(self, r):
        torch = self.torch
        held = self.tensors[r]
        # Different in each dimension, and not packed: sizes and strides cannot be taken for each other.
        held["left"] = torch.empty_strided((5, 3 + r, 7), (7, 35, 1), dtype=torch.float32, device="cpu")
        held["right"] = torch.empty((5, 3 + r, 7), dtype=torch.float32, device="cpu", requires_grad=True)
        self.tell(0, held["left"], "f32")
        self.tell(1, held["right"], "f32")
        kept = held["others"] = []
        for dims, dtype in ((0, "f32"), (1, "i64"), (2, "bf16"), (3, "f64"), (4, "bool"), (5, "f16"), (6, "u8"),
                            (7, "i32"), (8, "f32"), (9, "i16"), (10, "i8")):
            sizes = [2 + (i + r) % 3 for i in range(dims)]
            strides, step = [], 1 + r
            for size in sizes:  # the first dimension fastest
                strides.append(step)
                step *= size
            of_torch = next(name for name, ours in DTYPES.items() if ours == dtype)
            tensor = torch.empty_strided(sizes, strides, dtype=getattr(torch, of_torch), device="cpu")
            kept.append(tensor)
            self.tell(2, tensor, dtype)
        for name, ours in DTYPES.items():
            dtype = getattr(torch, name, None)
            if dtype is None:
                continue
            try:
                tensor = torch.empty((3 + r,), dtype=dtype, device="cpu")
            except Exception:
                continue
            kept.append(tensor)
            self.tell(2, tensor, ours)

    def multiply(self, r):
        torch, held = self.torch, self.tensors[r]
        with torch.enable_grad():
            for _ in range(7 + 5 * r):
                torch.neg(held["right"])  # takes a sequence number, so that two products are apart
            product = torch.mul(held["left"], held["right"])
        return product.grad_fn._sequence_nr() if hasattr(product.grad_fn, "_sequence_nr") else -1

    def add(self, r):
        left = self.tensors[r]["left"]
        self.torch.add(left, left, alpha=3 + r)

    def clamp(self, r):
        self.torch.clamp(self.tensors[r]["left"], 0.375 + r)

    def sum(self, r):
        self.torch.sum(self.tensors[r]["left"], [0, 2], r == 0)

    def concatenate(self, r):
        held = self.tensors[r]
        self.torch.cat([held["left"], held["right"]], 1)

    def user_range(self, r):
        with self.torch.autograd.profiler.record_function("hone range"):
            pass


class Modules:
    """Ranges of modules' forward passes, by global hooks that are there in the blocks with operators alone."""

    def __init__(self, torch, library):
        self.torch = torch
        self.library = library
        self.names = {}  # id of a module: (weak reference, number of its name)
        self.local = threading.local()
        self.hooks = []
        self.compiles = False  # the program has asked for torch.compile

    def give_way_to_compilation(self):
        """torch.compile traces global hooks into what it compiles, and breaks over ours. From the program's first call
        of it there are no ranges of modules."""
        original = self.torch.compile

        @functools.wraps(original)
        def compile(*args, **kwargs):
            self.compiles = True
            self.follow(False)
            return original(*args, **kwargs)

        self.torch.compile = compile

    def follow(self, wanted):
        if wanted and not self.hooks and not self.compiles and not self._compiles():
            module = self.torch.nn.modules.module
            self.hooks = [module.register_module_forward_pre_hook(self._begins),
                          module.register_module_forward_hook(self._ends)]
        elif not wanted and self.hooks:
            for hook in self.hooks:
                hook.remove()
            self.hooks = []

    def _compiles(self):
        """Global hooks would make torch.compile break its graphs; then there are no ranges of modules."""
        utils = sys.modules.get("torch._dynamo.utils")
        counters = getattr(utils, "counters", None)  # not there yet while it is imported
        return counters is not None and counters["frames"].get("total", 0) > 0

    def _begins(self, module, arguments):
        local = self.local
        try:
            open_ranges = local.open
        except AttributeError:
            open_ranges = local.open = []
            local.ended = []
        known = self.names.get(id(module))
        if known is None or known[0]() is not module:
            known = self._name(module)
        if open_ranges and open_ranges[0][0] is module:  # the outermost again: an exception ended it
            del open_ranges[:]
        open_ranges.append((module, known[1], time.monotonic_ns()))

    def _ends(self, module, arguments, result):
        end = time.monotonic_ns()
        local = self.local
        open_ranges = getattr(local, "open", ())
        for at in range(len(open_ranges) - 1, -1, -1):  # those above it ended by an exception
            if open_ranges[at][0] is module:
                local.ended += (open_ranges[at][1], open_ranges[at][2], end)
                del open_ranges[at:]
                break
        if not open_ranges and open_ranges != () and local.ended:
            ended = array.array("q", local.ended)
            local.ended = []
            self.library.hone_torch_ranges(RANGE_MODULE, ended.buffer_info()[0], len(ended) // 3)

    def _name(self, module):
        """Names a module that nobody named and all within it: "nn.Module: h.3" for the fourth of a list "h"."""
        found = self._put(module, type(module).__name__)
        self._name_within(module, "")
        return found

    def _put(self, module, name):
        entry = (weakref.ref(module), _intern(self.library, "nn.Module: " + name))
        self.names[id(module)] = entry
        return entry

    def _name_within(self, module, prefix):
        nn = self.torch.nn
        for name, child in module._modules.items():
            if child is None:
                continue
            if isinstance(child, (nn.ModuleList, nn.ModuleDict)):  # nobody calls these
                self._name_within(child, prefix + name + ".")
                continue
            known = self.names.get(id(child))
            if known is None or known[0]() is not child:
                self._put(child, prefix + name)
                self._name_within(child, "")


class Sampler(threading.Thread):
    """Samples the Python stacks of all threads but its own."""

    def __init__(self, library):
        super().__init__(name="hone stacks", daemon=True)
        self.library = library
        self.numbers = {}  # (code, line): number of its text
        self.ending = threading.Event()
        self.start()

    def stop(self):
        self.ending.set()

    def run(self):
        try:
            while not self.ending.wait(SAMPLE_EVERY_S):
                self._sample()
        except Exception as problem:
            self.library.hone_note(("Python: no more stacks: %r" % problem).encode("utf-8", "replace"))

    def _sample(self):
        mine = threading.get_ident()
        native = {thread.ident: thread.native_id for thread in threading.enumerate()}
        for ident, frame in sys._current_frames().items():
            tid = native.get(ident)
            if ident == mine or tid is None:
                continue
            frames = array.array("I")
            while frame is not None and len(frames) < MOST_FRAMES:
                frames.append(self._number(frame))
                frame = frame.f_back
            self.library.hone_sample(tid, STACK_PYTHON, frames.buffer_info()[0], len(frames))

    def _number(self, frame):
        code, line = frame.f_code, frame.f_lineno
        number = self.numbers.get((code, line))
        if number is None:
            name = getattr(code, "co_qualname", code.co_name)
            number = _intern(self.library, "%s (%s:%d)" % (name, code.co_filename, line or 0))
            self.numbers[code, line] = number
        return number
