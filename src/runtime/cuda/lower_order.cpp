// TopK (kernels/cuda/top_k.h), CumSum and CumProd (kernels/cuda/scan.h): what walks an axis in order.
#include "kernels/cuda/scan.h"
#include "kernels/cuda/top_k.h"
#include "runtime/cuda/gpu_launches.h"

namespace hone::runtime::cuda_kernels {
namespace {

namespace gpu = hone::kernels::gpu;

// `shape` as lines along `axis`.
template <typename Program>
void split_lines(const Shape& shape, int64_t axis, Program& program) {
  const auto at = static_cast<std::size_t>(axis);
  program.outer = element_count(std::span(shape).first(at));
  program.extent = shape[at];
  program.inner = element_count(std::span(shape).subspan(at + 1));
}

GpuParameter parameter_of(const gpu::TopKLaunch::Parameter& parameter, const graph::Node& node) {
  using Tensor = gpu::TopKLaunch::Tensor;
  constexpr GpuParameter kNull{GpuParameter::Kind::kInteger, 0};
  switch (parameter.tensor) {
    case Tensor::kData:
      return input_parameter(0);
    case Tensor::kValues:
      return node.has_output(0) ? output_parameter(0) : kNull;
    case Tensor::kIndices:
      return node.has_output(1) ? output_parameter(1) : kNull;
    case Tensor::kScratch:
      break;
  }
  return parameter.offset < 0 ? kNull : GpuParameter{GpuParameter::Kind::kScratch, parameter.offset};
}

std::optional<GpuLaunches> top_k_launches(const LowerContext& context) {
  const graph::Node& node = context.node;
  const Shape shape = context.in_shape(0);
  const auto axis = normalize_axis(node.attributes.integer("axis", -1), static_cast<int64_t>(shape.size()));
  const Tensor* const k = context.constant(1);
  if (!axis.ok() || k == nullptr || k->size() != 1) return std::nullopt;
  gpu::TopKProgram program{
      .dtype = context.in(0).dtype, .k = k->int_at(0), .largest = node.attributes.integer("largest", 1) != 0};
  split_lines(shape, *axis, program);
  const auto generated = gpu::generate_top_k(program);
  if (!generated.ok()) return std::nullopt;
  GpuLaunches launches{.implementation = "hone top k (CUDA)", .unread = {1}};
  launches.scratch_bytes = generated->scratch_bytes;
  for (const gpu::TopKLaunch& own : generated->launches) {
    const auto blocks = line_of_blocks(own.blocks, own.threads);
    if (!blocks) return std::nullopt;
    GpuLaunch launch{.source = generated->source, .entry = own.entry, .shape = *blocks};
    for (const auto& tensor : own.tensors) launch.parameters.push_back(parameter_of(tensor, node));
    for (const int64_t integer : own.integers)
      launch.parameters.push_back({GpuParameter::Kind::kInteger, integer});
    launches.launches.push_back(std::move(launch));
  }
  return launches;
}

std::optional<GpuLaunches> scan_launches(const LowerContext& context) {
  const graph::Node& node = context.node;
  const Shape shape = context.in_shape(0);
  const Tensor* const given = context.constant(1);
  if (given == nullptr || given->size() != 1) return std::nullopt;
  const auto axis = normalize_axis(given->int_at(0), static_cast<int64_t>(shape.size()));
  if (!axis.ok()) return std::nullopt;
  gpu::ScanProgram program{.dtype = context.in(0).dtype,
                           .product = node.op == "CumProd",
                           .exclusive = node.attributes.integer("exclusive", 0) != 0,
                           .reverse = node.attributes.integer("reverse", 0) != 0};
  split_lines(shape, *axis, program);
  auto generated = gpu::generate_scan(program);
  if (!generated.ok()) return std::nullopt;
  const auto blocks = line_of_blocks(generated->blocks, generated->threads);
  if (!blocks) return std::nullopt;
  GpuLaunches launches{.implementation = "hone scan (CUDA)", .unread = {1}, .in_place = 0};
  launches.launches.push_back({.source = std::move(generated->source),
                               .entry = gpu::kScanEntry,
                               .shape = *blocks,
                               .parameters = {input_parameter(0), output_parameter(0)}});
  return launches;
}

}  // namespace

void lower_order(const LowerContext& context, const GpuKernels& kernels, std::vector<Candidate>& found) {
  const graph::Node& node = context.node;
  const bool top = node.op == "TopK", scan = node.op == "CumSum" || node.op == "CumProd";
  if ((!top && !scan) || context.in(0).layout != Layout::kPlain || element_count(context.in_shape(0)) == 0)
    return;
  auto launches = top ? top_k_launches(context) : scan_launches(context);
  if (launches) offer_launches(kernels, top ? "hone top k" : "hone scan", *std::move(launches), found);
}

}  // namespace hone::runtime::cuda_kernels
