// Setting up and running a primitive. The C API runs it: its C++ wrapper builds a map of arguments every
// time.
#include "kernels/cpu/dnnl/execution.h"

#include <cstring>

#include <fmt/core.h>

namespace hone::kernels::onednn {

void Execution::add(int argument, const dnnl::memory& memory) {
  memories_.push_back(memory);
  arguments_.push_back({argument, memory.get()});
}

void Execution::add_argument(int argument, const MemoryDesc& desc) {
  add(argument, dnnl::memory(desc, engine_, DNNL_MEMORY_NONE));
  run_arguments_.push_back(memories_.back().get());
}

void Execution::add_constant(int argument, const MemoryDesc& from, const void* data, const MemoryDesc& to) {
  Tensor packed(DType::kU8, {static_cast<int64_t>(bytes_of(to))});
  // Padded tails of blocked formats must be zero; what a reorder leaves there is its own affair.
  std::memset(packed.data(), 0, packed.bytes());
  dnnl::memory source(from, engine_, const_cast<void*>(data));
  dnnl::memory target(to, engine_, packed.data());
  dnnl::reorder(source, target).execute(stream_, source, target);
  stream_.wait();
  constant_bytes_ += packed.bytes();
  constants_.push_back(std::move(packed));
  add(argument, target);
}

void Execution::finish(dnnl::primitive primitive, const MemoryDesc& scratchpad) {
  primitive_ = std::move(primitive);
  scratch_bytes_ = bytes_of(scratchpad);
  if (scratch_bytes_ > 0) add_argument(DNNL_ARG_SCRATCHPAD, scratchpad);
}

void Execution::set(std::size_t index, const void* data) noexcept {
  dnnl_memory_set_data_handle(run_arguments_[index], const_cast<void*>(data));
}

Status Execution::run(void* scratch) noexcept {
  if (scratch_bytes_ > 0) dnnl_memory_set_data_handle(run_arguments_.back(), scratch);
  const dnnl_status_t status = dnnl_primitive_execute(primitive_.get(), stream_.get(),
                                                      static_cast<int>(arguments_.size()), arguments_.data());
  if (status == dnnl_success) return {};
  return Error{ErrorCode::kUnsupported,
               fmt::format("oneDNN {}: execution failed with status {}", name_, static_cast<int>(status))};
}

}  // namespace hone::kernels::onednn
