#include "trace/import/xplane/host_events.h"

#include <string>

#include <fmt/format.h>

namespace hone::trace::xplane {
namespace {

using enum HostMeaning;

// Sources: xla/pjrt, xla/backends/cpu/runtime, xla/service, jaxlib, jax/_src/array.py and compiler.py,
// tensorflow/core (eager runtime, tf.data), xla/tsl/profiler/backends/cpu/threadpool_listener.cc. The first row
// that matches decides; "::" is how C++ names its own.
constexpr NamePattern<HostMeaning> kHostEvents[] = {
    {"ThreadpoolListener::", kMarker, At::kFront},
    {"end: ", kMarker, At::kFront},
    {"MemoryAllocation", kMarker, At::kWhole},
    {"MemoryDeallocation", kMarker, At::kWhole},
    {"$", kPythonFrame, At::kFront},
    {"np.asarray(jax.Array)", kWait, At::kWhole},
    {"block_until_ready", kWait},
    {"BlockUntilReady", kWait},
    {"BlockHostUntil", kWait},
    {"Array._value", kWait},
    {"::Await", kWait},
    {"SyncAllDevices", kWait},
    {"BufferFromHost", kTransfer},
    {"TransferToDevice", kTransfer},
    {"TransferFromDevice", kTransfer},
    {"CopyRawToHost", kTransfer},
    {"ToLiteral", kTransfer},
    {"XlaCompile", kCompile},
    {"backend_compile", kCompile},
    {"BackendCompile", kCompile},
    {"RunBackend", kCompile},
    {"HloPass", kCompile},
    {"::Compile", kCompile},
    {"CompileAndLoad", kCompile},
    {"pxla.MeshComputation.compile", kCompile},
    {"Compiler::", kCompile},
    {"compile_or_get_cached", kCompile},
    {"Iterator::", kInput, At::kFront},
    {"IteratorGetNext", kInput, At::kFront},
    {"PjitFunction(", kRange, At::kFront},
    {"shard_args", kTransfer, At::kFront},
    {"ThenExecuteCallback:", kInternal, At::kFront},
    {"::", kInternal},
    {"Wait for ", kInternal, At::kFront},
    {"Handle input", kInternal, At::kFront},
    {"ParseArguments", kInternal, At::kWhole},
    {"EagerLocalExecute", kInternal, At::kFront},
    {"EagerKernelExecute", kInternal, At::kFront},
    {"EagerCopyToDevice", kInternal, At::kFront},
    {"EagerExecute", kInternal, At::kFront},
    {"ValidateInputTypeAndPlacement", kInternal, At::kWhole},
    {"TFE_", kInternal, At::kFront},
    {"FunctionRun", kInternal, At::kFront},
    {"AllocateOutputBuffers", kInternal, At::kFront},
    {"convert_to_tensor", kInternal, At::kWhole},
    {"tf.constant", kInternal, At::kWhole},
};

}  // namespace

std::span<const NamePattern<HostMeaning>> host_event_table() { return kHostEvents; }

HostMeaning host_meaning(std::string_view name) {
  return first_match(host_event_table(), name).value_or(kRange);
}

std::string python_frame(std::string_view name) {
  name.remove_prefix(name.starts_with('$') ? 1 : 0);
  const std::size_t space = name.find(' '), colon = name.rfind(':', space);
  if (space == std::string_view::npos || colon == std::string_view::npos) return std::string(name);
  return fmt::format("{}({}): {}", name.substr(0, colon), name.substr(colon + 1, space - colon - 1),
                     name.substr(space + 1));
}

}  // namespace hone::trace::xplane
