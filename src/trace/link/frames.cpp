#include "trace/link/frames.h"

#include <string>

namespace hone::trace::link {
namespace {

// Paths of sources and of binaries.
constexpr NamePattern<FrameOwner> kOwners[] = {
    {"/hone_observe/", FrameOwner::kRecorder},
    {"libhone_inject", FrameOwner::kRecorder},
    {"/site-packages/", FrameOwner::kLibrary},
    {"/dist-packages/", FrameOwner::kLibrary},
    {"/lib/python", FrameOwner::kLibrary},
    {"<frozen ", FrameOwner::kLibrary, At::kFront},
    {"<string>", FrameOwner::kLibrary, At::kWhole},  // generated: named tuples, data classes
    {"/usr/lib", FrameOwner::kLibrary, At::kFront},
    {"/usr/bin/python", FrameOwner::kLibrary, At::kFront},
    {"/bin/python", FrameOwner::kLibrary},
    {"/lib/", FrameOwner::kLibrary, At::kFront},
    {"/lib64/", FrameOwner::kLibrary, At::kFront},
    {"/usr/local/lib/", FrameOwner::kLibrary, At::kFront},
    {"/usr/local/cuda", FrameOwner::kLibrary, At::kFront},
    {"/sysdeps/", FrameOwner::kLibrary},  // the C library's own sources, as its debug information has them
    {"[", FrameOwner::kLibrary, At::kFront},  // "[kernel]", "[vdso]"
};

// "file function".
constexpr NamePattern<FrameRole> kPythonRoles[] = {
    {"torch/utils/data/dataloader.py __next__", FrameRole::kInput},
    {"torch/utils/data/_utils/worker.py", FrameRole::kInput},
    {"torch/utils/data/_utils/fetch.py", FrameRole::kInput},
    {"torch/utils/data/_utils/collate.py", FrameRole::kInput},
    {"torch/utils/data/_utils/pin_memory.py", FrameRole::kInput},
    {"tensorflow/python/data/ops/iterator_ops.py", FrameRole::kInput},
    {"/grain/_src/python/", FrameRole::kInput},
    {"/torchdata/", FrameRole::kInput},
    {"/webdataset/", FrameRole::kInput},
    {"/streaming/base/", FrameRole::kInput},  // MosaicML's
    {"nvidia/dali/plugin/", FrameRole::kInput},
    {"torch/serialization.py", FrameRole::kIo},
    {"/safetensors/", FrameRole::kIo},
    {"torch/distributed/checkpoint/", FrameRole::kIo},
    {"/orbax/checkpoint/", FrameRole::kIo},
    {"torch/_inductor/", FrameRole::kCompile},
    {"torch/_dynamo/convert_frame.py", FrameRole::kCompile},
    {"/triton/compiler/", FrameRole::kCompile},
    {"/triton/runtime/autotuner.py", FrameRole::kCompile},
    {"jax/_src/interpreters/pxla.py", FrameRole::kCompile},
    {"jax/_src/compiler.py", FrameRole::kCompile},
    {"/logging/__init__.py emit", FrameRole::kIo},
};

// Functions of the C library and of what stands on it; versions and leading underscores are left out.
constexpr NamePattern<FrameRole> kNativeRoles[] = {
    {"read", FrameRole::kIo, At::kWhole},
    {"pread", FrameRole::kIo, At::kWhole},
    {"pread64", FrameRole::kIo, At::kWhole},
    {"readv", FrameRole::kIo, At::kWhole},
    {"write", FrameRole::kIo, At::kWhole},
    {"pwrite64", FrameRole::kIo, At::kWhole},
    {"writev", FrameRole::kIo, At::kWhole},
    {"fsync", FrameRole::kIo, At::kWhole},
    {"fdatasync", FrameRole::kIo, At::kWhole},
    {"open64", FrameRole::kIo, At::kWhole},
    {"openat64", FrameRole::kIo, At::kWhole},
    {"getdents64", FrameRole::kIo, At::kWhole},
    {"pthread_mutex_lock", FrameRole::kLock, At::kWhole},
    {"lll_lock_wait", FrameRole::kLock, At::kFront},
    {"pthread_cond_", FrameRole::kLock, At::kFront},
    {"nanosleep", FrameRole::kSleep},
    {"usleep", FrameRole::kSleep, At::kWhole},
};

// "__GI___libc_read", "__read": "read".
std::string_view bare_name(std::string_view function) {
  for (const std::string_view prefix : {"__GI_", "__libc_", "___", "__", "_"})
    while (function.starts_with(prefix)) function.remove_prefix(prefix.size());
  if (function.starts_with("libc_")) function.remove_prefix(5);
  return function;
}

}  // namespace

std::span<const NamePattern<FrameOwner>> frame_owner_table() { return kOwners; }
std::span<const NamePattern<FrameRole>> python_frame_roles() { return kPythonRoles; }
std::span<const NamePattern<FrameRole>> native_frame_roles() { return kNativeRoles; }

FrameOwner frame_owner(FrameKind kind, std::string_view file) {
  if (file.empty()) return kind == FrameKind::kNative ? FrameOwner::kLibrary : FrameOwner::kProgram;
  return first_match(frame_owner_table(), file).value_or(FrameOwner::kProgram);
}

FrameRole frame_role(FrameKind kind, std::string_view function, std::string_view file) {
  if (kind == FrameKind::kNative)
    return first_match(native_frame_roles(), bare_name(function)).value_or(FrameRole::kNone);
  return first_match(python_frame_roles(), std::string(file) + " " + std::string(function))
      .value_or(FrameRole::kNone);
}

void recognise_frames(Trace& trace) {
  for (Frame& frame : trace.stacks.frames) {
    const std::string_view function = trace.strings.text(frame.function),
                           file = trace.strings.text(frame.file);
    frame.owner = frame_owner(frame.kind, file);
    frame.role = frame_role(frame.kind, function, file);
  }
}

}  // namespace hone::trace::link
