// A GPU's context and what lives in it: memory, streams, events, modules, graphs, each released with its object. A
// context is the device's primary one, which PyTorch in the same process uses, too.
//
// Threads: a context may be used by several at once; every function makes it the calling thread's own first. Streams,
// events and graphs belong to one thread at a time.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "cuda/driver.h"
#include "cuda/nvrtc.h"

#include "core/result.h"

namespace hone::cuda {

class Context {
 public:
  // `index` as CUDA_VISIBLE_DEVICES leaves them.
  static Result<std::shared_ptr<const Context>> of_device(std::shared_ptr<const Driver> driver, int index);
  ~Context();
  Context(const Context&) = delete;
  Context& operator=(const Context&) = delete;

  const Driver& driver() const { return *driver_; }
  const DriverFunctions& functions() const { return driver_->functions(); }
  Status check(DriverCode code, std::string_view call) const { return driver_->check(code, call); }

  int index() const { return index_; }
  const std::string& name() const { return name_; }              // "NVIDIA H100 80GB HBM3"
  const std::string& pci_bus_id() const { return pci_bus_id_; }  // "0000:19:00.0"
  Architecture architecture() const { return architecture_; }
  int multiprocessors() const { return multiprocessors_; }
  std::size_t total_bytes() const { return total_bytes_; }
  std::size_t l2_bytes() const {
    return l2_bytes_;
  }  // of the last cache before memory; 0: the driver does not tell
  struct Room {
    std::size_t free = 0, total = 0;
  };
  Result<Room> room() const;  // now, whoever else uses the device

  // For the calling thread. Cheap where it is already.
  Status make_current() const;

 private:
  Context() = default;
  Status look_at_device();

  std::shared_ptr<const Driver> driver_;
  int index_ = 0;
  DeviceHandle device_ = 0;
  ContextHandle handle_ = nullptr;
  std::string name_, pci_bus_id_;
  Architecture architecture_;
  int multiprocessors_ = 0;
  std::size_t total_bytes_ = 0;
  std::size_t l2_bytes_ = 0;
};

// Something of a context's, given back by the driver's function `kRelease`.
template <typename Handle, auto kRelease>
class Owned {
 public:
  Owned() = default;  // nothing
  Owned(std::shared_ptr<const Context> context, Handle handle)
      : context_(std::move(context)), handle_(handle) {}
  Owned(Owned&& other) noexcept { swap(other); }
  Owned& operator=(Owned&& other) noexcept {
    Owned taken(std::move(other));
    swap(taken);
    return *this;
  }
  Owned(const Owned&) = delete;
  Owned& operator=(const Owned&) = delete;
  // An error of what ran before is somebody's who waits; here is nobody to tell.
  ~Owned() {
    if (context_ != nullptr && context_->make_current().ok()) (context_->functions().*kRelease)(handle_);
  }

  Handle get() const { return handle_; }
  explicit operator bool() const { return context_ != nullptr; }
  const Context& context() const { return *context_; }
  const std::shared_ptr<const Context>& context_pointer() const { return context_; }

 private:
  void swap(Owned& other) noexcept {
    std::swap(context_, other.context_);
    std::swap(handle_, other.handle_);
  }
  std::shared_ptr<const Context> context_;
  Handle handle_{};
};

using DeviceBlock = Owned<DeviceAddress, &DriverFunctions::mem_free>;
using PinnedBlock = Owned<void*, &DriverFunctions::mem_free_host>;  // host memory, page-locked
using Stream = Owned<StreamHandle, &DriverFunctions::stream_destroy>;
using StreamEvent = Owned<EventHandle, &DriverFunctions::event_destroy>;
using Module = Owned<ModuleHandle, &DriverFunctions::module_unload>;
using Graph = Owned<GraphHandle, &DriverFunctions::graph_destroy>;
using GraphExec = Owned<GraphExecHandle, &DriverFunctions::graph_exec_destroy>;

using ContextPointer = std::shared_ptr<const Context>;

// Blocks are aligned to 256 bytes. No memory for no bytes: CUDA would refuse.
Result<DeviceBlock> allocate(const ContextPointer& context, std::size_t bytes);
Result<PinnedBlock> allocate_pinned(const ContextPointer& context, std::size_t bytes);
Result<Stream> make_stream(const ContextPointer& context);  // not ordered with the legacy default stream
Result<StreamEvent> make_event(const ContextPointer& context, bool with_timing);
// `image`: a cubin, or PTX with its closing zero.
Result<Module> load_module(const ContextPointer& context, std::span<const char> image);
Result<FunctionHandle> find_function(const Module& module, const char* name);

struct LaunchShape {
  unsigned grid[3] = {1, 1, 1};
  unsigned block[3] = {1, 1, 1};
  unsigned shared_bytes = 0;
};
// When a kernel's blocks may be brought up: when all before it in the stream has ended; or, where it waits for that itself
// (kernels/cuda/dependent_launch.h), while the last blocks of the kernel before still run.
enum class Launch : uint8_t { kBehind, kEarly };
// `arguments`: the address of each parameter. The driver copies them before it returns.
Status launch(const Context& context, FunctionHandle function, const LaunchShape& shape, StreamHandle stream,
              std::span<void*> arguments, std::string_view name, Launch when = Launch::kBehind);

}  // namespace hone::cuda
