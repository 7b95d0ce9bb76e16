// The functions of PyTorch that are called, found in the loaded library by the names that its compiler gave them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "observe/inject/torch/layout.h"

namespace hone::observe::torch {

// at::ObserverContext as a caller sees it: destroyed through its table of virtual functions.
struct Context {
  virtual ~Context() = default;
};

// at::RecordFunctionCallback, larger than any version's: it is passed on the stack, where the callee reads what it
// knows of.
struct alignas(8) Callback {
  unsigned char bytes[128] = {};
};

using RecordFunction = void;  // opaque
using StartFunction = std::unique_ptr<Context> (*)(const RecordFunction*);
using EndFunction = void (*)(const RecordFunction*, Context*);

struct Symbols {
  uint64_t (*add_callback)(Callback) = nullptr;          // at::addGlobalCallback
  void (*remove_callback)(uint64_t) = nullptr;           // at::removeCallback
  const char* (*name)(const RecordFunction*) = nullptr;  // at::RecordFunction::name

  bool known() const { return add_callback != nullptr && remove_callback != nullptr && name != nullptr; }
};

// `library`: a handle of dlopen, or nothing: the PyTorch of this process. Symbols that are not there stay null.
Symbols find_symbols(void* library = nullptr);

// A callback for operators in scopes where `flags[i]` says so.
Callback make_callback(const CallbackLayout& layout, StartFunction start, EndFunction end);
void set_flag(Callback& callback, const CallbackLayout& layout, uint32_t flag);

}  // namespace hone::observe::torch
