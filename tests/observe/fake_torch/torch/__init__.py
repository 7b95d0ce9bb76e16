"""As much of PyTorch as the hooks of python/hone_observe look at, for tests where PyTorch is not installed. Operators
take the time that they are told to, launch a kernel of the fake CUDA if FAKE_TORCH_DEVICE is set, and tell the recorder
of themselves as the real ones do."""
import ctypes
import os
import time

from . import compiler, cuda, nn, optim, utils

_OPERATOR = 1  # RangeKind
_RECORDS_OPERATORS = 3  # Mode::kOperators


class _Recorder:
    def __init__(self, path):
        library = ctypes.PyDLL(path)
        library.hone_mode.restype = ctypes.POINTER(ctypes.c_uint32)
        library.hone_clock.restype = ctypes.c_int64
        library.hone_intern.argtypes = [ctypes.c_char_p]
        library.hone_range.argtypes = [ctypes.c_uint32] * 3 + [ctypes.c_int64] * 3
        library.hone_range.restype = None
        self.library, self.mode = library, library.hone_mode()


_recorder = _Recorder(os.environ["CUDA_INJECTION64_PATH"]) if os.environ.get("HONE_OBSERVE_FOLDER") else None
_cuda = ctypes.CDLL("libcuda.so.1") if os.environ.get("FAKE_TORCH_DEVICE") else None
_kernels = {}  # names, which the fake CUDA does not copy
if _cuda is not None:
    _cuda.cuInit(0)


def operator(name, seconds):
    end = time.perf_counter() + seconds
    records = _recorder is not None and _recorder.mode[0] == _RECORDS_OPERATORS
    start_ns = _recorder.library.hone_clock() if records else 0
    if _cuda is not None:
        _cuda.fake_runtime_launch(_kernels.setdefault(name, ("kernel_of_" + name).encode()))
    while time.perf_counter() < end:
        pass
    if records:
        library = _recorder.library
        library.hone_range(_OPERATOR, library.hone_intern(name.encode()), 0, -1, start_ns, library.hone_clock())
