// MaxPool, AveragePool and the global ones: oneDNN's pooling, in the layout of the input.
#include <fmt/core.h>

#include "kernels/cpu/dnnl/pooling.h"
#include "kernels/cpu/pooling/pooling_gradient.h"
#include "runtime/cpu/families.h"
#include "runtime/cpu/make_kernel.h"
#include "runtime/cpu/window.h"

namespace hone::runtime::cpu {

namespace {

// The gradients: hone's own kernels. That of an average takes plain tensors.
void lower_pooling_gradient(const LowerContext& context, std::vector<Candidate>& found) {
  const graph::Node& node = context.node;
  const graph::TensorType& result = context.out();
  kernels::PoolingGradientDesc desc;
  desc.maximum = node.op == "hone.MaxPoolGradient";
  if (context.in(0).dtype != DType::kF32 || context.in(0).layout != result.layout || result.rank() > 5 ||
      (result.layout != Layout::kPlain && !desc.maximum) ||
      (desc.maximum && context.in(1).layout != result.layout))
    return;
  const Shape shape = context.out_shape();
  desc.counts_pads = node.attributes.integer("count_include_pad", 0) != 0;
  const bool last = result.layout == Layout::kChannelsLast;
  desc.width = last ? shape[1] : channel_block(result.layout);
  desc.planes = last ? shape[0] : shape[0] * ((shape[1] + desc.width - 1) / desc.width);
  desc.input.assign(shape.begin() + 2, shape.end());
  auto spec = read_windows(node.attributes, {});
  if (!spec.ok()) return;
  auto output = place_windows(*spec, desc.input);
  if (!output.ok() || element_count(*output) == 0 || desc.planes == 0) return;
  desc.axes = spec->axes;
  desc.output = *std::move(output);
  found.push_back(
      {"hone pooling gradient", [desc]() -> Result<std::unique_ptr<Kernel>> {
         HONE_ASSIGN(kernels::PoolingGradient made, kernels::PoolingGradient::create(desc));
         KernelTraits traits{.implementation = "hone pooling gradient"};
         if (!desc.maximum) traits.unread = {1};  // a shape, which is known
         return make_kernel(
             std::move(traits),
             [made = std::move(made), maximum = desc.maximum](const KernelArguments& a) -> Status {
               made.execute(static_cast<const float*>(a.inputs[0]),
                            maximum ? static_cast<const float*>(a.inputs[1]) : nullptr,
                            static_cast<float*>(a.outputs[0]));
               return {};
             });
       }});
}

}  // namespace

void lower_pooling(const LowerContext& context, std::vector<Candidate>& found) {
  const graph::Node& node = context.node;
  if (node.op == "hone.MaxPoolGradient" || node.op == "hone.AveragePoolGradient")
    return lower_pooling_gradient(context, found);
  const bool maximum = node.op == "MaxPool" || node.op == "GlobalMaxPool";
  const bool average = node.op == "AveragePool" || node.op == "GlobalAveragePool";
  if ((!maximum && !average) || context.in(0).dtype != DType::kF32 || node.outputs.size() != 1) return;
  if (context.in(0).layout != context.out().layout) return;
  const Shape in = context.in_shape(0);
  const Shape out = context.out_shape();
  if (in.size() < 3 || in.size() > 5 || element_count(in) == 0) return;
  kernels::PoolingDesc desc;
  desc.batch = in[0];
  desc.channels = in[1];
  desc.input.assign(in.begin() + 2, in.end());
  desc.layout = context.in(0).layout;
  desc.kind = maximum ? kernels::PoolingDesc::Kind::kMax
              : node.attributes.integer("count_include_pad", 0) != 0
                  ? kernels::PoolingDesc::Kind::kAverageIncludePad
                  : kernels::PoolingDesc::Kind::kAverageExcludePad;
  if (node.op.starts_with("Global")) {
    desc.kernel = desc.input;
  } else {
    desc.kernel = node.attributes.ints("kernel_shape");
    const Window window =
        read_window(node, desc.input, desc.kernel, Shape(out.begin() + 2, out.end()), false);
    desc.strides = window.strides;
    desc.dilations = window.dilations;
    desc.pads_begin = window.pads_begin;
    desc.pads_end = window.pads_end;
    desc.ceil_mode = node.attributes.integer("ceil_mode", 0) != 0;
    // A window that ceil_mode lets reach past the padding counts differently here and there: the reference
    // serves it.
    if (desc.ceil_mode && average) return;
  }
  if (desc.dst_shape() != out) return;
  found.push_back(
      {"oneDNN pooling", [desc]() -> Result<std::unique_ptr<Kernel>> {
         HONE_ASSIGN(std::shared_ptr<kernels::Pooling> pooling, kernels::Pooling::create(desc));
         KernelTraits traits;
         traits.implementation = fmt::format("oneDNN {} ({})", pooling->name(), layout_name(desc.layout));
         traits.scratch_bytes = pooling->scratch_bytes();
         return make_kernel(std::move(traits), [pooling](const KernelArguments& arguments) {
           return pooling->execute(arguments.inputs[0], arguments.outputs[0], {}, arguments.scratch);
         });
       }});
}

}  // namespace hone::runtime::cpu
