#include "observe/inject/torch/symbols.h"

#include <cstring>

#include <dlfcn.h>

namespace hone::observe::torch {
namespace {

// Libraries that hold at::RecordFunction, of PyTorch 1.5 on. They are loaded already or not wanted.
void* loaded_pytorch() {
  for (const char* name : {"libtorch_cpu.so", "libtorch.so"})
    if (void* library = dlopen(name, RTLD_LAZY | RTLD_NOLOAD)) return library;
  return nullptr;
}

template <typename Function>
void find_symbol(void* library, const char* name, Function& into) {
  into = reinterpret_cast<Function>(dlsym(library, name));
}

}  // namespace

Symbols find_symbols(void* library) {
  Symbols symbols;
  if (library == nullptr) library = loaded_pytorch();
  if (library == nullptr) return symbols;
  find_symbol(library, "_ZN2at17addGlobalCallbackENS_22RecordFunctionCallbackE", symbols.add_callback);
  find_symbol(library, "_ZN2at14removeCallbackEm", symbols.remove_callback);
  find_symbol(library, "_ZNK2at14RecordFunction4nameEv", symbols.name);
  return symbols;
}

Callback make_callback(const CallbackLayout& layout, StartFunction start, EndFunction end) {
  Callback callback;
  const double always = 1;
  std::memcpy(callback.bytes, &start, sizeof start);
  std::memcpy(callback.bytes + sizeof start, &end, sizeof end);
  std::memcpy(callback.bytes + layout.probability, &always, sizeof always);
  return callback;
}

void set_flag(Callback& callback, const CallbackLayout& layout, uint32_t flag) {
  callback.bytes[layout.flags + flag] = 1;
}

}  // namespace hone::observe::torch
