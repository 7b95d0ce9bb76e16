// MatMulInteger, QLinearMatMul, ConvInteger and QLinearConv of 8-bit integers (kernels/cuda/integer_product.h).
#include <algorithm>
#include <array>

#include "kernels/cuda/integer_product.h"
#include "runtime/cuda/gpu_launches.h"

namespace hone::runtime::cuda_kernels {
namespace {

namespace gpu = hone::kernels::gpu;
using gpu::IntegerProductProgram;
using gpu::Spread;

constexpr std::size_t kAbsentInput = ~std::size_t{0};

// Which inputs of the node are which of the kernel.
struct IntegerInputs {
  std::size_t a = 0, a_zero = kAbsentInput, b = 1, b_zero = kAbsentInput;
  std::size_t a_scale = kAbsentInput, b_scale = kAbsentInput, y_scale = kAbsentInput, y_zero = kAbsentInput;
  std::size_t bias = kAbsentInput;
};

// Of a convolution the images are the kernel's b: the columns.
IntegerInputs inputs_of(const graph::Node& node) {
  if (node.op == "MatMulInteger") return {.a_zero = 2, .b_zero = 3};
  if (node.op == "ConvInteger") return {.a = 1, .a_zero = 3, .b = 0, .b_zero = 2};
  if (node.op == "QLinearMatMul")
    return {.a_zero = 2, .b = 3, .b_zero = 5, .a_scale = 1, .b_scale = 4, .y_scale = 6, .y_zero = 7};
  return {.a = 3,
          .a_zero = 5,
          .b = 0,
          .b_zero = 2,
          .a_scale = 4,
          .b_scale = 1,
          .y_scale = 6,
          .y_zero = 7,
          .bias = 8};
}

bool is_there(const LowerContext& context, std::size_t input) {
  return input != kAbsentInput && context.has(input);
}

// How an input is spread over `lines` of each of `matrices`; nullopt where it does not fit.
std::optional<Spread> spread_of(const LowerContext& context, std::size_t input, int64_t lines,
                                int64_t matrices) {
  if (!is_there(context, input)) return Spread::kNone;
  const int64_t count = element_count(context.in_shape(input));
  if (count == 1) return Spread::kOne;
  if (count == lines) return Spread::kEach;
  if (count == lines * matrices) return Spread::kEachOfMatrix;
  return std::nullopt;
}

// The strides, in matrices, that read those of `own` as if they were broadcast to `batch`.
std::vector<int64_t> matrix_strides(const Shape& own, const Shape& batch) {
  std::vector<int64_t> strides(batch.size(), 0);
  int64_t step = 1;
  for (std::size_t i = 0; i < own.size(); ++i) {
    const std::size_t axis = own.size() - 1 - i;
    if (own[axis] != 1) strides[batch.size() - 1 - i] = step;
    step *= own[axis];
  }
  return strides;
}

struct Spreads {
  std::optional<Spread> a_zero, b_zero, a, b, y;
  bool known() const { return a_zero && b_zero && a && b && y; }
};

void take_spreads(const LowerContext& context, const IntegerInputs& inputs, const Spreads& spreads,
                  IntegerProductProgram& program) {
  program.a_zero = *spreads.a_zero;
  program.b_zero = *spreads.b_zero;
  if (inputs.y_scale == kAbsentInput) return;
  program.quantized = gpu::Requantization{.scales = context.in(inputs.y_scale).dtype,
                                          .out = context.out().dtype,
                                          .a = *spreads.a,
                                          .b = *spreads.b,
                                          .y = *spreads.y};
}

std::optional<IntegerProductProgram> matrix_program(const LowerContext& context,
                                                    const IntegerInputs& inputs) {
  Shape a = context.in_shape(inputs.a), b = context.in_shape(inputs.b);
  if (a.empty() || b.empty()) return std::nullopt;
  const bool vectors = a.size() == 1 || b.size() == 1;
  if (a.size() == 1) a.insert(a.begin(), 1);
  if (b.size() == 1) b.push_back(1);
  IntegerProductProgram program;
  program.rows = a[a.size() - 2];
  program.depth = a.back();
  program.columns = b.back();
  if (b[b.size() - 2] != program.depth) return std::nullopt;
  a.resize(a.size() - 2);
  b.resize(b.size() - 2);
  const auto batch = broadcast_shapes(a, b);
  if (!batch.ok()) return std::nullopt;
  program.batch = element_count(*batch);
  program.form = gpu::IntegerMatrices{*batch, matrix_strides(a, *batch), matrix_strides(b, *batch)};
  const Spreads spreads{.a_zero = spread_of(context, inputs.a_zero, program.rows, element_count(a)),
                        .b_zero = spread_of(context, inputs.b_zero, program.columns, element_count(b)),
                        .a = spread_of(context, inputs.a_scale, program.rows, program.batch),
                        .b = spread_of(context, inputs.b_scale, program.columns, program.batch),
                        .y = spread_of(context, inputs.y_scale, program.rows, program.batch)};
  if (!spreads.known()) return std::nullopt;
  take_spreads(context, inputs, spreads, program);
  // A vector has no rows or columns that numbers could be of.
  const auto shared = [](Spread spread) { return spread == Spread::kNone || spread == Spread::kOne; };
  const bool all_shared = std::ranges::all_of(
      std::array{*spreads.a_zero, *spreads.b_zero, *spreads.a, *spreads.b, *spreads.y}, shared);
  if (vectors && !all_shared) return std::nullopt;
  return program;
}

std::optional<IntegerProductProgram> convolution_program(const LowerContext& context,
                                                         const IntegerInputs& inputs) {
  const Shape x = context.in_shape(inputs.b), w = context.in_shape(inputs.a);
  const int64_t groups = context.node.attributes.integer("group", 1);
  if (x.size() < 3 || w.size() != x.size() || groups < 1 || w[1] * groups != x[1] || w[0] % groups != 0)
    return std::nullopt;
  gpu::IntegerConvolution convolution{.channels = x[1], .groups = groups};
  convolution.in.assign(x.begin() + 2, x.end());
  auto windows = read_windows(context.node.attributes, std::span(w).subspan(2));
  if (!windows.ok()) return std::nullopt;
  const auto out = place_windows(*windows, convolution.in);
  if (!out.ok()) return std::nullopt;
  convolution.out = *out;
  convolution.windows = windows->axes;
  IntegerProductProgram program{.batch = x[0] * groups,
                                .rows = w[0] / groups,
                                .columns = element_count(convolution.out),
                                .depth = element_count(std::span(w).subspan(1)),
                                .form = std::move(convolution)};
  const Spreads spreads{.a_zero = spread_of(context, inputs.a_zero, w[0], 1),
                        .b_zero = spread_of(context, inputs.b_zero, 1, 1),
                        .a = spread_of(context, inputs.a_scale, w[0], 1),
                        .b = spread_of(context, inputs.b_scale, 1, 1),
                        .y = spread_of(context, inputs.y_scale, 1, 1)};
  if (!spreads.known()) return std::nullopt;
  take_spreads(context, inputs, spreads, program);
  return program;
}

bool is_byte(DType dtype) { return dtype == DType::kU8 || dtype == DType::kI8; }

// Types and layouts that the kernel takes.
bool takes_inputs(const LowerContext& context, const IntegerInputs& inputs) {
  const auto is_of = [&](std::size_t input, DType dtype) {
    return !is_there(context, input) || context.in(input).dtype == dtype;
  };
  for (std::size_t i = 0; i < context.node.inputs.size(); ++i)
    if (context.has(i) && context.in(i).layout != Layout::kPlain) return false;
  if (!is_byte(context.in(inputs.a).dtype) || !is_byte(context.in(inputs.b).dtype) ||
      context.out().layout != Layout::kPlain || !is_of(inputs.a_zero, context.in(inputs.a).dtype) ||
      !is_of(inputs.b_zero, context.in(inputs.b).dtype))
    return false;
  if (inputs.y_scale == kAbsentInput) return context.out().dtype == DType::kI32;
  const DType scale = context.in(inputs.y_scale).dtype;
  return is_of(inputs.a_scale, scale) && is_of(inputs.b_scale, scale) && is_of(inputs.bias, DType::kI32) &&
         is_there(context, inputs.y_zero) && context.in(inputs.y_zero).dtype == context.out().dtype &&
         element_count(context.in_shape(inputs.y_zero)) == 1;
}

}  // namespace

void lower_integer_product(const LowerContext& context, const GpuKernels& kernels,
                           std::vector<Candidate>& found) {
  const std::string& op = context.node.op;
  const bool product = op == "MatMulInteger" || op == "QLinearMatMul";
  if (!product && op != "ConvInteger" && op != "QLinearConv") return;
  const IntegerInputs inputs = inputs_of(context.node);
  if (!takes_inputs(context, inputs)) return;
  auto program = product ? matrix_program(context, inputs) : convolution_program(context, inputs);
  if (!program) return;
  if (is_there(context, inputs.bias) &&
      element_count(context.in_shape(inputs.bias)) != context.in_shape(inputs.a)[0])
    return;
  program->a_signed = context.in(inputs.a).dtype == DType::kI8;
  program->b_signed = context.in(inputs.b).dtype == DType::kI8;
  auto generated = gpu::generate_integer_product(*program);
  if (!generated.ok()) return;
  const auto blocks = line_of_blocks(generated->blocks, gpu::kIntegerProductBlock);
  if (!blocks) return;
  const auto parameter = [&](std::size_t input) {
    return is_there(context, input) ? input_parameter(input) : GpuParameter{GpuParameter::Kind::kInteger, 0};
  };
  GpuLaunches launches{.implementation =
                           product ? "hone integer product (CUDA)" : "hone integer convolution (CUDA)"};
  launches.launches.push_back(
      {std::move(generated->source),
       gpu::kIntegerProductEntry,
       *blocks,
       {parameter(inputs.a), parameter(inputs.a_zero), parameter(inputs.b), parameter(inputs.b_zero),
        output_parameter(0), parameter(inputs.a_scale), parameter(inputs.b_scale), parameter(inputs.y_scale),
        parameter(inputs.y_zero), parameter(inputs.bias)}});
  offer_launches(kernels, product ? "hone integer product" : "hone integer convolution", std::move(launches),
                 found);
}

}  // namespace hone::runtime::cuda_kernels
