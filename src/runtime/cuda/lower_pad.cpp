// Pad (kernels/cuda/pad.h), and Softmax and LogSoftmax along an axis that is not the innermost (kernels/cuda/axis_softmax.h).
#include "kernels/cuda/axis_softmax.h"
#include "kernels/cuda/pad.h"
#include "runtime/cuda/gpu_launches.h"

namespace hone::runtime::cuda_kernels {
namespace {

namespace gpu = hone::kernels::gpu;

std::optional<gpu::PadProgram> pad_program(const LowerContext& context) {
  const Tensor* const pads = context.constant(1);
  const Tensor* const axes = context.constant(3);
  if (pads == nullptr || (context.has(3) && axes == nullptr)) return std::nullopt;
  const Shape in = context.in_shape(0);
  gpu::PadProgram program{.element_size = dtype_size(context.in(0).dtype),
                          .shape = in,
                          .before = Shape(in.size(), 0),
                          .after = Shape(in.size(), 0)};
  const int64_t count = pads->size() / 2;
  for (int64_t i = 0; i < count; ++i) {
    const auto axis = normalize_axis(axes != nullptr ? axes->int_at(i) : i, static_cast<int64_t>(in.size()));
    if (!axis.ok()) return std::nullopt;
    program.before[static_cast<std::size_t>(*axis)] = pads->int_at(i);
    program.after[static_cast<std::size_t>(*axis)] = pads->int_at(count + i);
  }
  const std::string mode = context.node.attributes.text("mode", "constant");
  using Mode = gpu::PadProgram::Mode;
  program.mode = mode == "edge"      ? Mode::kEdge
                 : mode == "reflect" ? Mode::kReflect
                 : mode == "wrap"    ? Mode::kWrap
                                     : Mode::kConstant;
  return program;
}

std::optional<GpuLaunches> pad_launches(const LowerContext& context) {
  const auto program = pad_program(context);
  if (!program) return std::nullopt;
  auto generated = gpu::generate_pad(*program);
  if (!generated.ok()) return std::nullopt;
  const auto shape = line_of_blocks(generated->blocks, gpu::kPadBlock);
  if (!shape) return std::nullopt;
  GpuLaunches launches{.implementation = "hone pad (CUDA)", .unread = {1}};
  if (context.has(3)) launches.unread.push_back(3);
  const GpuParameter value =
      context.has(2) ? input_parameter(2) : GpuParameter{GpuParameter::Kind::kInteger, 0};
  launches.launches.push_back({.source = std::move(generated->source),
                               .entry = gpu::kPadEntry,
                               .shape = *shape,
                               .parameters = {input_parameter(0), output_parameter(0), value}});
  return launches;
}

std::optional<GpuLaunches> axis_softmax_launches(const LowerContext& context) {
  const Shape in = context.in_shape(0);
  const auto axis =
      normalize_axis(context.node.attributes.integer("axis", -1), static_cast<int64_t>(in.size()));
  if (!axis.ok() || context.out().dtype != context.in(0).dtype) return std::nullopt;
  const auto at = static_cast<std::size_t>(*axis);
  const gpu::AxisSoftmaxProgram program{.dtype = context.in(0).dtype,
                                        .outer = element_count(std::span(in).first(at)),
                                        .extent = in[at],
                                        .inner = element_count(std::span(in).subspan(at + 1)),
                                        .log = context.node.op == "LogSoftmax"};
  if (at + 1 == in.size()) return std::nullopt;  // rows
  auto generated = gpu::generate_axis_softmax(program);
  if (!generated.ok()) return std::nullopt;
  const auto shape = line_of_blocks(generated->blocks, gpu::kAxisSoftmaxBlock);
  if (!shape) return std::nullopt;
  GpuLaunches launches{.implementation = "hone axis softmax (CUDA)", .in_place = 0};
  launches.launches.push_back({.source = std::move(generated->source),
                               .entry = gpu::kAxisSoftmaxEntry,
                               .shape = *shape,
                               .parameters = {input_parameter(0), output_parameter(0)}});
  return launches;
}

}  // namespace

void lower_pad(const LowerContext& context, const GpuKernels& kernels, std::vector<Candidate>& found) {
  const graph::Node& node = context.node;
  const bool pads = node.op == "Pad", softmax = node.op == "Softmax" || node.op == "LogSoftmax";
  if ((!pads && !softmax) || context.in(0).layout != Layout::kPlain ||
      context.out().layout != Layout::kPlain || element_count(context.in_shape(0)) == 0 ||
      element_count(context.out_shape()) == 0)
    return;
  auto launches = pads ? pad_launches(context) : axis_softmax_launches(context);
  if (launches) offer_launches(kernels, pads ? "hone pad" : "hone axis softmax", *std::move(launches), found);
}

}  // namespace hone::runtime::cuda_kernels
