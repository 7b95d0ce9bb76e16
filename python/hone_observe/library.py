"""libhone_inject.so of this process (src/observe/inject/host_api.h), by ctypes. Loaded when a hook first needs it;
where it cannot be loaded everything here does nothing."""
import ctypes
import os

# MarkKind of src/trace/segments/record.h
MARK_OPTIMIZER, MARK_MODULE, MARK_DATA, MARK_COMING, MARK_HOST_WAIT, MARK_TRAINING = 1, 2, 3, 6, 7, 9


def _load():
    try:
        # PyDLL: the functions are too short to let other threads run meanwhile.
        loaded = ctypes.PyDLL(os.environ["CUDA_INJECTION64_PATH"])
        loaded.hone_mark.argtypes = [ctypes.c_uint32, ctypes.c_uint32]
        loaded.hone_mark.restype = None
        loaded.hone_clock.restype = ctypes.c_int64
        loaded.hone_intern.argtypes = [ctypes.c_char_p]
        loaded.hone_intern.restype = ctypes.c_uint32
        loaded.hone_loader.argtypes = [ctypes.c_void_p, ctypes.c_size_t]
        loaded.hone_loader.restype = None
        loaded.hone_note.argtypes = [ctypes.c_char_p]
        loaded.hone_note.restype = None
        loaded.hone_leave_device.argtypes = [ctypes.c_char_p]
        for name in ("hone_leave_device", "hone_return_device", "hone_capture_begins", "hone_capture_ends"):
            getattr(loaded, name).restype = None
        return loaded
    except Exception:
        return None


_loaded = _load()


def _nothing(*_):
    return 0


mark = _loaded.hone_mark if _loaded else _nothing
_intern = _loaded.hone_intern if _loaded else _nothing


return_device = _loaded.hone_return_device if _loaded else _nothing
capture_begins = _loaded.hone_capture_begins if _loaded else _nothing
capture_ends = _loaded.hone_capture_ends if _loaded else _nothing


def intern(text):
    return _intern(text.encode("utf-8", "replace"))


def note(text):
    if _loaded:
        _loaded.hone_note(text.encode("utf-8", "replace"))


def loader(*fields):
    """How a data loader's epoch goes: the fields of segments::Loader."""
    if _loaded:
        _loaded.hone_loader((ctypes.c_int64 * len(fields))(*fields), len(fields))


def clock():
    return _loaded.hone_clock() if _loaded else 0


def leave_device(reason):
    if _loaded:
        _loaded.hone_leave_device(reason.encode("utf-8", "replace"))
