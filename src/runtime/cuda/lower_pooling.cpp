// MaxPool without indices and AveragePool, plain or with channels last: a generated kernel (kernels/cuda/pooling.h).
#include "kernels/cuda/pooling.h"
#include "runtime/cuda/gpu_launches.h"

namespace hone::runtime::cuda_kernels {
namespace {

namespace gpu = hone::kernels::gpu;

std::optional<gpu::PoolProgram> pool_program(const LowerContext& context) {
  const graph::Node& node = context.node;
  const bool maximum = node.op == "MaxPool";
  if ((!maximum && node.op != "AveragePool") || node.outputs.size() != 1) return std::nullopt;
  const Layout layout = context.in(0).layout;
  if (layout != context.out().layout || channel_block(layout) > 1) return std::nullopt;
  const Shape in = context.in_shape(0), out = context.out_shape();
  if (in.size() < 3 || element_count(in) == 0) return std::nullopt;
  gpu::PoolProgram program{.dtype = context.in(0).dtype,
                           .batch = in[0],
                           .channels = in[1],
                           .channels_last = layout == Layout::kChannelsLast,
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
  const auto program = pool_program(context);
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

}  // namespace hone::runtime::cuda_kernels
