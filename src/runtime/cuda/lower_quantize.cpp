// QuantizeLinear and DequantizeLinear where no pointwise program holds them, and DynamicQuantizeLinear (kernels/cuda/quantize.h).
#include "core/onnx_dtype.h"
#include "kernels/cuda/quantize.h"
#include "runtime/cuda/gpu_launches.h"

namespace hone::runtime::cuda_kernels {
namespace {

namespace gpu = hone::kernels::gpu;

enum QuantizeInput : uint8_t { kQuantized, kScale, kZeroPoint };

// Which scale is whose; false where shapes do not fit, which is the reference's to say.
bool read_granularity(const LowerContext& context, gpu::QuantizeProgram& program) {
  const Shape shape = context.in_shape(kQuantized), scales = context.in_shape(kScale);
  const int64_t count = element_count(scales);
  if (context.has(kZeroPoint) && element_count(context.in_shape(kZeroPoint)) != count) return false;
  if (count == 1) return true;
  const auto axis =
      normalize_axis(context.node.attributes.integer("axis", 1), static_cast<int64_t>(shape.size()));
  if (!axis.ok()) return false;
  const auto at = static_cast<std::size_t>(*axis);
  program.extent = shape[at];
  program.inner = element_count(std::span(shape).subspan(at + 1));
  program.block = context.node.attributes.integer("block_size", 0);
  if (program.block <= 0) return scales.size() == 1 && scales[0] == shape[at];
  Shape wanted = shape;
  wanted[at] = (shape[at] + program.block - 1) / program.block;
  return scales == wanted;
}

std::optional<gpu::QuantizeProgram> quantize_program(const LowerContext& context) {
  const Attributes& attributes = context.node.attributes;
  gpu::QuantizeProgram program{.dequantizes = context.node.op == "DequantizeLinear",
                               .in = context.in(kQuantized).dtype,
                               .scale = context.in(kScale).dtype,
                               .out = context.out().dtype,
                               .precision = context.in(kScale).dtype,
                               .zero = context.has(kZeroPoint),
                               .saturate = attributes.integer("saturate", 1) != 0,
                               .elements = element_count(context.in_shape(kQuantized))};
  if (const int64_t precision = attributes.integer("precision", 0); precision != 0)
    program.precision = dtype_from_onnx(precision).value_or(DType::kUndefined);
  if (program.precision == DType::kF8E8M0) program.precision = DType::kF32;
  const DType of_zero = program.dequantizes ? program.in : program.out;
  if (program.zero && context.in(kZeroPoint).dtype != of_zero) return std::nullopt;
  if (!read_granularity(context, program)) return std::nullopt;
  return program;
}

std::optional<GpuLaunches> quantize_launches(const LowerContext& context) {
  const auto program = quantize_program(context);
  if (!program) return std::nullopt;
  auto generated = gpu::generate_quantize(*program);
  if (!generated.ok()) return std::nullopt;
  const auto blocks = line_of_blocks(generated->blocks, gpu::kQuantizeBlock);
  if (!blocks) return std::nullopt;
  const GpuParameter zero =
      program->zero ? input_parameter(kZeroPoint) : GpuParameter{GpuParameter::Kind::kInteger, 0};
  GpuLaunches launches{.implementation =
                           program->dequantizes ? "hone dequantize (CUDA)" : "hone quantize (CUDA)"};
  launches.launches.push_back(
      {std::move(generated->source),
       gpu::kQuantizeEntry,
       *blocks,
       {input_parameter(kQuantized), input_parameter(kScale), zero, output_parameter(0)}});
  return launches;
}

std::optional<GpuLaunches> dynamic_launches(const LowerContext& context) {
  auto generated = gpu::generate_dynamic_quantize(context.in(kQuantized).dtype,
                                                  element_count(context.in_shape(kQuantized)));
  if (!generated.ok() || !context.node.has_output(1) || !context.node.has_output(2)) return std::nullopt;
  const auto ranges = line_of_blocks(generated->range_blocks, gpu::kQuantizeBlock);
  const auto blocks = line_of_blocks(generated->blocks, gpu::kQuantizeBlock);
  if (!ranges || !blocks) return std::nullopt;
  constexpr GpuParameter kEnds{GpuParameter::Kind::kScratch, 0};
  GpuLaunches launches{.implementation = "hone dynamic quantize (CUDA)"};
  launches.scratch_bytes = static_cast<std::size_t>(generated->range_blocks) * 2 * sizeof(float);
  launches.launches = {
      {generated->source, gpu::kRangeEntry, *ranges, {input_parameter(kQuantized), kEnds}},
      {generated->source,
       gpu::kQuantizeByRangeEntry,
       *blocks,
       {input_parameter(kQuantized), kEnds, output_parameter(0), output_parameter(1), output_parameter(2)}}};
  return launches;
}

}  // namespace

void lower_quantize(const LowerContext& context, const GpuKernels& kernels, std::vector<Candidate>& found) {
  const std::string& op = context.node.op;
  const bool linear = op == "QuantizeLinear" || op == "DequantizeLinear",
             dynamic = op == "DynamicQuantizeLinear";
  if ((!linear && !dynamic) || !found.empty() || context.in(kQuantized).layout != Layout::kPlain ||
      context.out().layout != Layout::kPlain || element_count(context.in_shape(kQuantized)) == 0)
    return;
  auto launches = linear ? quantize_launches(context) : dynamic_launches(context);
  if (launches)
    offer_launches(kernels, linear ? "hone quantize" : "hone dynamic quantize", *std::move(launches), found);
}

}  // namespace hone::runtime::cuda_kernels
