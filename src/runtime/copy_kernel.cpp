#include "runtime/copy_kernel.h"

#include <fmt/core.h>

namespace hone::runtime {
namespace {

class CopyKernel : public Kernel {
 public:
  CopyKernel(const graph::TensorType& from, const graph::TensorType& to)
      : bytes_(from.storage_bytes()), from_(from.device), to_(to.device) {}

  std::string implementation() const override {
    return fmt::format("copy {} to {}", from_.text(), to_.text());
  }
  Status enqueue(const KernelArguments& arguments, Queue& queue) override {
    void* const to = arguments.outputs[0];
    const void* const from = arguments.inputs[0];
    if (from_.is_host() && !to_.is_host()) return queue.copy_in(to, from, bytes_);
    if (to_.is_host() && !from_.is_host()) return queue.copy_out(to, from, bytes_);
    if (to_.is_host()) return unsupported("a copy within the host's memory: take the hone.CopyTo out");
    return queue.copy(to, from, bytes_);
  }

 private:
  std::size_t bytes_;
  DeviceId from_, to_;
};

}  // namespace

std::unique_ptr<Kernel> make_copy_kernel(const graph::TensorType& from, const graph::TensorType& to) {
  return std::make_unique<CopyKernel>(from, to);
}

}  // namespace hone::runtime
