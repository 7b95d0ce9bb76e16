// Records PyTorch's operators while the session wants them: ranges with names, inputs and sequence numbers, and the
// ranges that the program names itself. A callback that PyTorch calls at the beginning and the end of each is added
// for those blocks of steps and removed after them: other steps cost nothing.
//
// Adding and removing takes PyTorch's lock and may happen on any thread; threads notice at their next operator.
#pragma once

#include <cstddef>
#include <cstdint>

#include "observe/inject/torch/layout.h"
#include "observe/inject/torch/symbols.h"
#include "trace/segments/record.h"

namespace hone::observe::torch {

// What becomes of records: functions of observe/inject/host_api.h.
struct Host {
  int64_t (*clock)();
  uint32_t (*intern)(const char* text, std::size_t length);
  void (*range)(uint32_t kind, uint32_t name, uint32_t inputs, int64_t sequence, int64_t start_ns,
                int64_t end_ns);
  void (*note)(const char* text);
};

// From now on operators can be recorded. The first layout that is given stays.
void use_layout(const Layout& layout, const Symbols& symbols, const Host& host);

// Records what goes with this mode: operators and named ranges in kOperators and kStacks, named ranges alone in
// kTimeline, nothing in others. Does nothing before use_layout, or where that is the mode already.
void follow_mode(trace::segments::Mode mode);

// Who wants to hear of modes inside Python: `look` is called by its main thread, by `add_pending_call`
// (Py_AddPendingCall). Null: nobody any more.
void tell_of_modes(void (*look)(), int (*add_pending_call)(int (*)(void*), void*));

}  // namespace hone::observe::torch
