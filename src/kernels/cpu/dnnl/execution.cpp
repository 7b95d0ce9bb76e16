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

void Execution::add_repacked(int argument, const MemoryDesc& from, const MemoryDesc& to) {
  if (from == to) return add_argument(argument, from);
  add_repacking(argument, from, to, false);
}

void Execution::add_repacked_result(int argument, const MemoryDesc& from, const MemoryDesc& to) {
  if (from == to) return add_argument(argument, to);
  add_repacking(argument, from, to, true);
}

void Execution::add_repacking(int argument, const MemoryDesc& from, const MemoryDesc& to, bool follows) {
  Repacking repacking;
  repacking.from = dnnl::memory(from, engine_, DNNL_MEMORY_NONE);
  repacking.to = dnnl::memory(to, engine_, DNNL_MEMORY_NONE);
  repacking.reorder = dnnl::reorder(repacking.from, repacking.to);
  repacking.arguments[0] = {DNNL_ARG_FROM, repacking.from.get()};
  repacking.arguments[1] = {DNNL_ARG_TO, repacking.to.get()};
  repacking.padded = !follows && bytes_of(to) > bytes_of(from);
  repacking.follows = follows;
  run_arguments_.push_back((follows ? repacking.to : repacking.from).get());
  add(argument, repacking.packed());
  repackings_.push_back(std::move(repacking));
}

void Execution::finish(dnnl::primitive primitive, const MemoryDesc& scratchpad) {
  const auto aligned = [](std::size_t bytes) {
    return (bytes + kTensorAlignment - 1) / kTensorAlignment * kTensorAlignment;
  };
  primitive_ = std::move(primitive);
  library_scratch_bytes_ = bytes_of(scratchpad);
  if (library_scratch_bytes_ > 0) add_argument(DNNL_ARG_SCRATCHPAD, scratchpad);
  scratch_bytes_ = library_scratch_bytes_;
  for (Repacking& repacking : repackings_) {
    repacking.offset = aligned(scratch_bytes_);
    scratch_bytes_ = repacking.offset + repacking.packed().get_desc().get_size();
  }
}

void Execution::place(std::byte* scratch) noexcept {
  for (Repacking& repacking : repackings_) {
    std::byte* const packed = scratch + repacking.offset;
    if (repacking.padded) std::memset(packed, 0, repacking.to.get_desc().get_size());
    dnnl_memory_set_data_handle(repacking.packed().get(), packed);
  }
}

Status Execution::repack(bool follows) noexcept {
  for (Repacking& repacking : repackings_) {
    if (repacking.follows != follows) continue;
    const dnnl_status_t status =
        dnnl_primitive_execute(repacking.reorder.get(), stream_.get(), 2, repacking.arguments);
    if (status != dnnl_success)
      return Error{ErrorCode::kUnsupported,
                   fmt::format("oneDNN {}: packing its operands failed with status {}", name_,
                               static_cast<int>(status))};
  }
  return {};
}

void Execution::set(std::size_t index, const void* data) noexcept {
  dnnl_memory_set_data_handle(run_arguments_[index], const_cast<void*>(data));
}

Status Execution::run(void* scratch) noexcept {
  if (library_scratch_bytes_ > 0) dnnl_memory_set_data_handle(run_arguments_.back(), scratch);
  place(static_cast<std::byte*>(scratch));
  HONE_CHECK(repack(false));
  const dnnl_status_t status = dnnl_primitive_execute(primitive_.get(), stream_.get(),
                                                      static_cast<int>(arguments_.size()), arguments_.data());
  if (status == dnnl_success) return repack(true);
  return Error{ErrorCode::kUnsupported,
               fmt::format("oneDNN {}: execution failed with status {}", name_, static_cast<int>(status))};
}

}  // namespace hone::kernels::onednn
