// What hone_torch.py, inside the observed program, calls through ctypes.
#pragma once

#include <cstdint>

#include "observe/inject/host_api.h"

// Learns the layout of the PyTorch that is loaded (learn.h), in a child process; from then on operators are recorded
// in the modes that want them. `perform(deed, round)` does a learn.h Deed and calls hone_torch_tell for the tensors
// that it makes. To be called with the interpreter's lock held (ctypes.PyDLL). Returns 2: names and inputs of
// operators can be recorded, 1: names, 0: nothing; a note says why.
HONE_HOST_API int hone_torch_learn(int64_t (*perform)(int32_t deed, int32_t round), int milliseconds);

// During Deed::kPrepare: one tensor; `role` is a TensorFact::Role.
HONE_HOST_API void hone_torch_tell(int32_t role, uint64_t impl, uint32_t dims, const int64_t* sizes,
                                   const int64_t* strides, const char* dtype);

// From now on `look` is called in Python's main thread soon after the mode has changed; null: no more.
// `add_pending_call` is Python's Py_AddPendingCall.
HONE_HOST_API void hone_torch_on_mode(void (*look)(), int (*add_pending_call)(int (*)(void*), void*));

// Ranges of the calling thread that have ended (RangeKind `kind`): `count` times a name, begin and end.
HONE_HOST_API void hone_torch_ranges(uint32_t kind, const int64_t* ranges, size_t count);
