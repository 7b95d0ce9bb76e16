// The reorder primitive as a kernel object.
#include "kernels/cpu/dnnl/reorder.h"

#include <fmt/format.h>

#include "kernels/cpu/dnnl/execution.h"
#include "kernels/cpu/dnnl/library.h"

namespace hone::kernels {

Reorder::Reorder(std::unique_ptr<onednn::Execution> execution) : execution_(std::move(execution)) {}
Reorder::~Reorder() = default;

Result<std::unique_ptr<Reorder>> Reorder::create(const Shape& shape, Layout from, Layout to) {
  HONE_ASSIGN(const onednn::MemoryDesc src, onednn::memory_desc(shape, from));
  HONE_ASSIGN(const onednn::MemoryDesc dst, onednn::memory_desc(shape, to));
  try {
    auto execution = std::make_unique<onednn::Execution>("");
    dnnl::primitive_attr attributes;
    attributes.set_scratchpad_mode(dnnl::scratchpad_mode::user);
    const dnnl::reorder::primitive_desc found(execution->engine(), src, execution->engine(), dst, attributes);
    execution->set_name(found.impl_info_str());
    execution->add_argument(DNNL_ARG_FROM, src);
    execution->add_argument(DNNL_ARG_TO, dst);
    execution->finish(dnnl::reorder(found), found.scratchpad_desc());
    return std::unique_ptr<Reorder>(new Reorder(std::move(execution)));
  } catch (const dnnl::error& error) {
    return onednn::library_error(
        fmt::format("reorder of {}, {} to {}", shape_text(shape), layout_name(from), layout_name(to)), error);
  }
}

const std::string& Reorder::name() const { return execution_->name(); }
std::size_t Reorder::scratch_bytes() const { return execution_->scratch_bytes(); }

Status Reorder::execute(const void* src, void* dst, void* scratch) noexcept {
  execution_->set(0, src);
  execution_->set(1, dst);
  return execution_->run(scratch);
}

}  // namespace hone::kernels
