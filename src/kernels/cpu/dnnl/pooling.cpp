// From a PoolingDesc to a oneDNN primitive.
#include "kernels/cpu/dnnl/pooling.h"

#include <algorithm>

#include <fmt/core.h>

#include "kernels/cpu/dnnl/attributes.h"
#include "kernels/cpu/dnnl/execution.h"
#include "kernels/cpu/dnnl/library.h"
#include "kernels/cpu/dnnl/pooling_nans.h"
#include "kernels/cpu/dnnl/window.h"

namespace hone::kernels {
namespace {

using Kind = PoolingDesc::Kind;

std::string describe_pooling(const PoolingDesc& desc) {
  return fmt::format("pooling of {}, kernel {}, {}", shape_text(desc.src_shape()), shape_text(desc.kernel),
                     layout_name(desc.layout));
}

Status check(const PoolingDesc& desc) {
  const std::size_t rank = desc.input.size();
  const auto fits = [rank](const Shape& extents) { return extents.empty() || extents.size() == rank; };
  const auto at_least = [](const Shape& extents, int64_t low) {
    return std::all_of(extents.begin(), extents.end(), [low](int64_t extent) { return extent >= low; });
  };
  if (desc.dtype != DType::kF32) {
    return unsupported(
        fmt::format("{}: dtype {}, only f32 is", describe_pooling(desc), dtype_name(desc.dtype)));
  }
  if (rank < 1 || rank > 3) return unsupported(describe_pooling(desc) + ": 1 to 3 spatial axes are");
  if (desc.kernel.size() != rank || !fits(desc.strides) || !fits(desc.dilations) || !fits(desc.pads_begin) ||
      !fits(desc.pads_end) || desc.batch < 1 || desc.channels < 1 || !at_least(desc.input, 1) ||
      !at_least(desc.kernel, 1) || !at_least(desc.strides, 1) || !at_least(desc.dilations, 1) ||
      !at_least(desc.pads_begin, 0) || !at_least(desc.pads_end, 0) || !at_least(desc.output(), 1)) {
    return invalid(describe_pooling(desc) + ": extents, strides, dilations or pads do not fit together");
  }
  return {};
}

// The library takes any padding at the end, which covers ceil_mode too, but an average that counts padding
// must not count what lies beyond the padding that was asked for.
Result<onednn::Window> window_of(const PoolingDesc& desc) {
  const std::size_t rank = desc.input.size();
  onednn::Window window;
  window.kernel = desc.kernel;
  window.strides = onednn::or_default(desc.strides, rank, 1);
  window.dilations = onednn::or_default(desc.dilations, rank, 1);
  window.pads_begin = onednn::or_default(desc.pads_begin, rank, 0);
  window.pads_end = onednn::or_default(desc.pads_end, rank, 0);
  for (std::size_t axis = 0; axis < rank; ++axis) {
    const int64_t reach = window.dilations[axis] * (desc.kernel[axis] - 1) + 1;
    const int64_t used =
        (desc.output()[axis] - 1) * window.strides[axis] + reach - desc.input[axis] - window.pads_begin[axis];
    if (used > window.pads_end[axis] && desc.kind == Kind::kAverageIncludePad) {
      return unsupported(describe_pooling(desc) +
                         ": an average that counts padding, with a window beyond the padding");
    }
    window.pads_end[axis] = used;
    --window.dilations[axis];
  }
  return window;
}

dnnl::algorithm library_algorithm(Kind kind) {
  switch (kind) {
    case Kind::kMax:
      return dnnl::algorithm::pooling_max;
    case Kind::kAverageIncludePad:
      return dnnl::algorithm::pooling_avg_include_padding;
    case Kind::kAverageExcludePad:
      return dnnl::algorithm::pooling_avg_exclude_padding;
  }
  return dnnl::algorithm::undef;
}

Result<std::unique_ptr<onednn::Execution>> build(const PoolingDesc& desc) {
  onednn::Tensors tensors;
  HONE_ASSIGN(tensors.src, onednn::memory_desc(desc.src_shape(), desc.layout));
  HONE_ASSIGN(tensors.dst, onednn::memory_desc(desc.dst_shape(), desc.layout));
  HONE_ASSIGN(const onednn::Epilogue epilogue, onednn::make_epilogue(desc.post_ops, desc.dst_shape()));
  HONE_ASSIGN(const onednn::Window window, window_of(desc));
  auto execution = std::make_unique<onednn::Execution>("");
  const auto finish = [&](auto& found) -> Result<std::unique_ptr<onednn::Execution>> {
    if (!onednn::select_implementation(found, desc.implementation)) {
      return unsupported(fmt::format("{}: oneDNN has no implementation {} with post-ops [{}]",
                                     describe_pooling(desc), desc.implementation,
                                     post_ops_text(desc.post_ops)));
    }
    execution->set_name(found.impl_info_str());
    execution->add_argument(DNNL_ARG_SRC, tensors.src);
    execution->add_argument(DNNL_ARG_DST, tensors.dst);
    for (const auto& operand : epilogue.operands) execution->add_argument(operand.argument, operand.desc);
    execution->finish(onednn::PoolingPrimitive(found), found.scratchpad_desc());
    return std::move(execution);
  };
  return onednn::with_pooling(execution->engine(), library_algorithm(desc.kind), tensors, window,
                              epilogue.attributes, finish);
}

}  // namespace

Shape PoolingDesc::output() const {
  Shape extents(input.size());
  for (std::size_t axis = 0; axis < input.size(); ++axis) {
    const int64_t stride = strides.empty() ? 1 : strides[axis];
    const int64_t dilation = dilations.empty() ? 1 : dilations[axis];
    const int64_t begin = pads_begin.empty() ? 0 : pads_begin[axis];
    const int64_t end = pads_end.empty() ? 0 : pads_end[axis];
    const int64_t slack = input[axis] + begin + end - (dilation * (kernel[axis] - 1) + 1);
    extents[axis] = (ceil_mode ? (slack + stride - 1) / stride : slack / stride) + 1;
    if (slack < 0) extents[axis] = 0;
    if (ceil_mode && (extents[axis] - 1) * stride >= input[axis] + begin) --extents[axis];
  }
  return extents;
}

Shape PoolingDesc::src_shape() const { return onednn::with_spatial(batch, channels, input); }
Shape PoolingDesc::dst_shape() const { return onednn::with_spatial(batch, channels, output()); }

Pooling::Pooling(PoolingDesc desc, std::unique_ptr<onednn::Execution> execution)
    : desc_(std::move(desc)), execution_(std::move(execution)) {}
Pooling::~Pooling() = default;

Result<std::unique_ptr<Pooling>> Pooling::create(const PoolingDesc& desc) {
  HONE_CHECK(check(desc));
  try {
    HONE_ASSIGN(auto execution, build(desc));
    return std::unique_ptr<Pooling>(new Pooling(desc, std::move(execution)));
  } catch (const dnnl::error& error) {
    return onednn::library_error(describe_pooling(desc), error);
  }
}

const std::string& Pooling::name() const { return execution_->name(); }
std::size_t Pooling::scratch_bytes() const { return execution_->scratch_bytes(); }

Status Pooling::execute(const void* src, void* dst, std::span<const void* const> operands,
                        void* scratch) noexcept {
  execution_->set(0, src);
  execution_->set(1, dst);
  for (std::size_t i = 0; i < operands.size(); ++i) execution_->set(2 + i, operands[i]);
  const Status status = execution_->run(scratch);
  if (status.ok() && desc_.kind == Kind::kMax)
    give_nans(desc_, static_cast<const float*>(src), static_cast<float*>(dst));
  return status;
}

}  // namespace hone::kernels
