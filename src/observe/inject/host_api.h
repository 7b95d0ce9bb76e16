// What hooks inside an observed program call (Python's through ctypes, PyTorch's through dlsym): marks, ranges and
// names for the segment of this process. The library is libhone_inject.so; whoever loads it by its path gets the
// one that CUDA loaded, or will load, by CUDA_INJECTION64_PATH.
//
// Every function may be called from any thread at any time, also after a fork and before CUDA is there, returns
// nothing that can fail, and writes into a buffer of the calling thread: no system call, no lock. Without
// HONE_OBSERVE_FOLDER, and once the recorder has finished, they do nothing. Numbers of kinds and modes are those of
// trace/segments/record.h.
#pragma once

#ifdef __cplusplus
#include <cstddef>
#include <cstdint>
#define HONE_HOST_API extern "C" __attribute__((visibility("default")))
#else
#include <stddef.h>
#include <stdint.h>
#define HONE_HOST_API __attribute__((visibility("default")))
#endif

// Version of this interface: 1. It grows; functions never change their meaning.
HONE_HOST_API uint32_t hone_host_version(void);

// The mode in force in this process (segments::Mode), to be read whenever it matters; valid until the process ends,
// also in forked children. Hooks ask it before they work: *hone_mode() == 3 (kOperators).
HONE_HOST_API const volatile uint32_t* hone_mode(void);

// Not 0: the session wants Python's stacks (Order::python_stacks). As hone_mode().
HONE_HOST_API const volatile uint32_t* hone_python_stacks(void);

// Nanoseconds of CLOCK_MONOTONIC, as every record has them.
HONE_HOST_API int64_t hone_clock(void);

// The number of a text, the same for equal texts and for the whole life of the process and its forked children;
// never 0 for a text that is not empty. Costs a hash and a lock: keep the number where the text is constant.
HONE_HOST_API uint32_t hone_intern(const char* text);
HONE_HOST_API uint32_t hone_intern_bytes(const char* text, size_t length);

// A moment that comes once a step (segments::MarkKind), written in every mode until kFinished.
HONE_HOST_API void hone_mark(uint32_t kind, uint32_t name);

// A range of the calling thread (segments::RangeKind), written when it ends; `inputs` as trace/call_inputs.h writes
// them or 0, `sequence` -1 without one. Ranges of a thread nest. Ending a range ends those begun in it that were
// forgotten; ending token 0, or one that has ended, does nothing. The caller asks hone_mode() whether to begin one.
HONE_HOST_API uint64_t hone_range_begin(uint32_t kind, uint32_t name, uint32_t inputs, int64_t sequence);
HONE_HOST_API void hone_range_end(uint64_t token);

// A range of the calling thread whose times the caller took himself (hone_clock()).
HONE_HOST_API void hone_range(uint32_t kind, uint32_t name, uint32_t inputs, int64_t sequence,
                              int64_t start_ns, int64_t end_ns);

// The stack of a thread (segments::StackKind) now: names "function (file:line)", innermost first.
HONE_HOST_API void hone_sample(int64_t tid, uint32_t kind, const uint32_t* frames, uint32_t count);

// How a data loader's epoch goes: the fields of segments::Loader behind its head, in that order; written in every mode until
// kFinished. Another number of fields than this version's is not written.
HONE_HOST_API void hone_loader(const int64_t* fields, size_t count);

// A line for the reader of the report: what could not be recorded, and why.
HONE_HOST_API void hone_note(const char* text);

// The program wants CUPTI for itself (it starts a profiler of its own): the recorder lets go of it before this returns
// if it can, and writes `reason` down. Host records go on; hone_return_device() says that the profiler has ended.
HONE_HOST_API void hone_leave_device(const char* reason);
HONE_HOST_API void hone_return_device(void);

// Around the capture of a CUDA graph, on the thread that captures.
HONE_HOST_API void hone_capture_begins(void);
HONE_HOST_API void hone_capture_ends(void);

// Writes what is buffered to the segment. Takes a system call; for the end of a process.
HONE_HOST_API void hone_flush(void);
