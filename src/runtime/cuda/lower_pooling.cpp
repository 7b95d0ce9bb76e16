// MaxPool without indices, AveragePool, and their gradients, plain or with channels last: generated kernels
// (kernels/cuda/pooling.h, pooling_gradient.h).
#include "kernels/cuda/pooling.h"
#include "kernels/cuda/pooling_gradient.h"
#include "runtime/cuda/gpu_launches.h"

namespace hone::runtime::cuda_kernels {
namespace {

namespace gpu = hone::kernels::gpu;

// The pooling that a node is, or the gradient of: `image` is what is pooled, `result` what of it comes out.
std::optional<gpu::PoolProgram> pool_program(const graph::Node& node, const graph::TensorType& image,
                                             const graph::TensorType& result, bool maximum) {
  if (image.layout != result.layout || image.dtype != result.dtype || channel_block(image.layout) > 1)
    return std::nullopt;
  const Shape in = image.shape(), out = result.shape();
  if (in.size() < 3 || element_count(in) == 0) return std::nullopt;
  gpu::PoolProgram program{.dtype = image.dtype,
                           .batch = in[0],
                           .channels = in[1],
                           .channels_last = image.layout == Layout::kChannelsLast,
                           .windows = {},
                           .in = Shape(in.begin() + 2, in.end()),
                           .out = Shape(out.begin() + 2, out.end())};
  if (!maximum)
    program.kind = node.attributes.integer("count_include_pad", 0) != 0
                       ? gpu::PoolProgram::Kind::kAverageWithPadding
                       : gpu::PoolProgram::Kind::kAverage;
  auto windows = read_windows(node.attributes, {});
  if (!windows.ok()) return std::nullopt;
  const auto placed = place_windows(*windows, program.in);
  if (!placed.ok() || *placed != program.out) return std::nullopt;
  program.windows = std::move(windows->axes);
  return program;
}

}  // namespace

void lower_pooling(const LowerContext& context, const GpuKernels& kernels, std::vector<Candidate>& found) {
  const graph::Node& node = context.node;
  const bool maximum = node.op == "MaxPool";
  if ((!maximum && node.op != "AveragePool") || node.outputs.size() != 1) return;
  const auto program = pool_program(node, context.in(0), context.out(), maximum);
  if (!program) return;
  auto generated = gpu::generate_pooling(*program);
  if (!generated.ok()) return;
  const auto shape = line_of_blocks(generated->blocks, gpu::kPoolBlock);
  if (!shape) return;
  GpuLaunches launches{.implementation = "hone pooling (CUDA)"};
  launches.launches.push_back({.source = std::move(generated->source),
                               .entry = gpu::kPoolEntry,
                               .shape = *shape,
                               .parameters = {input_parameter(0), output_parameter(0)}});
  offer_launches(kernels, "hone pooling", std::move(launches), found);
}

void lower_pooling_gradient(const LowerContext& context, const GpuKernels& kernels,
                            std::vector<Candidate>& found) {
  const bool maximum = context.node.op == "hone.MaxPoolGradient";
  if (!maximum && context.node.op != "hone.AveragePoolGradient") return;
  if (maximum && context.in(1).text() != context.out().text()) return;
  const auto program = pool_program(context.node, context.out(), context.in(0), maximum);
  if (!program) return;
  auto generated = gpu::generate_pooling_gradient(*program);
  if (!generated.ok()) return;
  const auto shape = line_of_blocks(generated->blocks, gpu::kPoolBlock);
  if (!shape) return;
  constexpr GpuParameter kNoImage{GpuParameter::Kind::kInteger, 0};
  GpuLaunches launches{.implementation = "hone pooling gradient (CUDA)"};
  if (!maximum) launches.unread = {1};  // a shape, which is known
  launches.launches.push_back(
      {.source = std::move(generated->source),
       .entry = gpu::kPoolGradientEntry,
       .shape = *shape,
       .parameters = {input_parameter(0), maximum ? input_parameter(1) : kNoImage, output_parameter(0)}});
  offer_launches(kernels, "hone pooling gradient", std::move(launches), found);
}

}  // namespace hone::runtime::cuda_kernels
