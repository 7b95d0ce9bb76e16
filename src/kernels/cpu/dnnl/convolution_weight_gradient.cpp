#include "kernels/cpu/dnnl/convolution_weight_gradient.h"

#include <algorithm>

#include "kernels/cpu/dnnl/execution.h"
#include "kernels/cpu/dnnl/library.h"
#include "kernels/cpu/dnnl/window.h"

namespace hone::kernels {
namespace {

using onednn::Execution;

// The library wants the padding that is used: rows that no window reaches are pads below 0.
onednn::Window gradient_window(const ConvolutionDesc& desc) {
  const std::size_t rank = desc.input.size();
  onednn::Window window;
  window.kernel = desc.kernel;
  window.strides = onednn::or_default(desc.strides, rank, 1);
  window.dilations = onednn::or_default(desc.dilations, rank, 1);
  window.pads_begin = onednn::or_default(desc.pads_begin, rank, 0);
  window.pads_end = Shape(rank, 0);
  for (std::size_t axis = 0; axis < rank; ++axis) {
    const int64_t reach = window.dilations[axis] * (desc.kernel[axis] - 1) + 1;
    window.pads_end[axis] =
        (desc.output()[axis] - 1) * window.strides[axis] + reach - desc.input[axis] - window.pads_begin[axis];
    --window.dilations[axis];
  }
  return window;
}

Shape grouped_weights(const ConvolutionDesc& desc) {
  Shape shape =
      onednn::with_spatial(desc.out_channels / desc.groups, desc.in_channels / desc.groups, desc.kernel);
  if (desc.groups > 1) shape.insert(shape.begin(), desc.groups);
  return shape;
}

template <typename Use>
auto with_gradient(const ConvolutionDesc& desc, const dnnl::engine& engine, const Use& use) {
  onednn::Tensors tensors;
  tensors.src = onednn::any_desc(desc.src_shape(), desc.dtype);
  tensors.dst = onednn::any_desc(desc.dst_shape(), desc.dtype);
  tensors.weights = onednn::any_desc(grouped_weights(desc), desc.result);
  dnnl::primitive_attr attributes;
  attributes.set_scratchpad_mode(dnnl::scratchpad_mode::user);
  return onednn::with_convolution_backward_weights(engine, tensors,
                                                   onednn::any_desc(grouped_weights(desc), desc.dtype),
                                                   gradient_window(desc), attributes, use);
}

}  // namespace

ConvolutionWeightGradient::ConvolutionWeightGradient(std::unique_ptr<Execution> execution)
    : execution_(std::move(execution)) {}
ConvolutionWeightGradient::~ConvolutionWeightGradient() = default;
const std::string& ConvolutionWeightGradient::name() const { return execution_->name(); }
std::size_t ConvolutionWeightGradient::scratch_bytes() const { return execution_->scratch_bytes(); }

Result<std::unique_ptr<ConvolutionWeightGradient>> ConvolutionWeightGradient::create(
    const ConvolutionDesc& desc) {
  auto execution = std::make_unique<Execution>("");
  const std::string what = "the weight gradient of " + describe(desc);
  const auto build = [&](auto& found) -> Status {
    if (!onednn::select_implementation(found, desc.implementation))
      return unsupported(what + ": oneDNN has no implementation " + desc.implementation);
    HONE_ASSIGN(const onednn::MemoryDesc src,
                onednn::memory_desc(desc.src_shape(), desc.src_layout, desc.dtype));
    HONE_ASSIGN(const onednn::MemoryDesc dst,
                onednn::memory_desc(desc.dst_shape(), desc.dst_layout, desc.dtype));
    execution->set_name(found.impl_info_str());
    execution->add_repacked(DNNL_ARG_SRC, src, found.src_desc());
    execution->add_repacked(DNNL_ARG_DIFF_DST, dst, found.diff_dst_desc());
    execution->add_repacked_result(DNNL_ARG_DIFF_WEIGHTS, found.diff_weights_desc(),
                                   onednn::plain_desc(grouped_weights(desc), desc.result));
    execution->finish(dnnl::convolution_backward_weights(found), found.scratchpad_desc());
    return {};
  };
  try {
    HONE_CHECK(with_gradient(desc, execution->engine(), build));
  } catch (const dnnl::error& error) {
    return onednn::library_error(what, error);
  }
  return std::unique_ptr<ConvolutionWeightGradient>(new ConvolutionWeightGradient(std::move(execution)));
}

std::vector<ConvolutionDesc> ConvolutionWeightGradient::candidates(const ConvolutionDesc& desc) {
  std::vector<ConvolutionDesc> found;
  try {
    const dnnl::engine engine(dnnl::engine::kind::cpu, 0);
    for (const std::string& name :
         with_gradient(desc, engine, [](auto& all) { return onednn::implementations(all); })) {
      found.push_back(desc);
      found.back().implementation = name;
    }
  } catch (const dnnl::error&) {
    // Not for this library.
  }
  return found;
}

Status ConvolutionWeightGradient::execute(const void* x, const void* g, void* dw, void* scratch) noexcept {
  execution_->set(0, x);
  execution_->set(1, g);
  execution_->set(2, dw);
  return execution_->run(scratch);
}

}  // namespace hone::kernels
