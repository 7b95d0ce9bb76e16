#include "kernels/cuda/integer_product.h"

#include <limits>
#include <string>
#include <string_view>

#include <fmt/format.h>

#include "kernels/cuda/element_form.h"
#include "kernels/cuda/prelude.h"

namespace hone::kernels::gpu {
namespace {

constexpr int64_t kProductTile = 64;      // rows and columns of a block
constexpr int64_t kMostDepth = 1 << 30;   // and sums that f64 holds exactly
constexpr int64_t kMostTerm = 255 * 255;  // of integers of 8 bits less their zero points

// A block computes 64 × 64 sums, a thread 4 × 4 of them: every 16th row and column, so that neighbours store neighbours.
constexpr std::string_view kProductText = R"cuda(
extern "C" __global__ void __launch_bounds__(256, 1) hone_integer_product(const A* a, const A* a_zero, const B* b,
    const B* b_zero, Y* y, const Scale* a_scale, const Scale* b_scale, const Scale* y_scale, const Y* y_zero,
    const int* bias) {
  constexpr int kTile = 64, kStep = 16;
  __shared__ int of_a[kStep][kTile + 1], of_b[kStep][kTile + 1];
  const int t = (int)threadIdx.x;
  hone_i64 block = blockIdx.x;
  const hone_i64 first_column = block % kColumnTiles * kTile;
  block /= kColumnTiles;
  const hone_i64 first_row = block % kRowTiles * kTile, batch = block / kRowTiles;
  Sum sums[4][4];
#pragma unroll
  for (int i = 0; i < 4; ++i)
#pragma unroll
    for (int j = 0; j < 4; ++j) sums[i][j] = 0;
  for (hone_i64 first = 0; first < kDepth; first += kStep) {
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      const int at = t + 256 * i;
      const hone_i64 row = first_row + at / kStep, k_of_a = first + at % kStep;
      of_a[at % kStep][at / kStep] = row < kRows && k_of_a < kDepth ? hone_a(a, a_zero, batch, row, k_of_a) : 0;
      const hone_i64 column = first_column + at % kTile, k_of_b = first + at / kTile;
      of_b[at / kTile][at % kTile] = column < kColumns && k_of_b < kDepth ? hone_b(b, b_zero, batch, k_of_b, column) : 0;
    }
    __syncthreads();
#pragma unroll
    for (int k = 0; k < kStep; ++k) {
      int left[4], right[4];
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        left[i] = of_a[k][t / 16 + 16 * i];
        right[i] = of_b[k][t % 16 + 16 * i];
      }
#pragma unroll
      for (int i = 0; i < 4; ++i)
#pragma unroll
        for (int j = 0; j < 4; ++j) sums[i][j] += left[i] * right[j];
    }
    __syncthreads();
  }
#pragma unroll
  for (int i = 0; i < 4; ++i)
#pragma unroll
    for (int j = 0; j < 4; ++j) {
      const hone_i64 row = first_row + t / 16 + 16 * i, column = first_column + t % 16 + 16 * j;
      if (row < kRows && column < kColumns)
        y[(batch * kRows + row) * kColumns + column] =
            hone_result(sums[i][j], batch, row, column, a_scale, b_scale, y_scale, y_zero, bias);
    }
}
)cuda";

std::string_view byte_type(bool is_signed) { return is_signed ? "signed char" : "unsigned char"; }

// `numbers` at the place of a row (`each`) or of a row of a matrix.
std::string spread_text(Spread spread, std::string_view numbers, std::string_view each,
                        std::string_view each_of_matrix) {
  switch (spread) {
    case Spread::kNone:
      return "0";
    case Spread::kOne:
      return fmt::format("{}[0]", numbers);
    case Spread::kEach:
      return fmt::format("{}[{}]", numbers, each);
    case Spread::kEachOfMatrix:
      return fmt::format("{}[{}]", numbers, each_of_matrix);
  }
  return {};
}

std::string matrix_place_text(std::string_view name, const Shape& batch,
                              const std::vector<int64_t>& strides) {
  std::string text = fmt::format("HONE_FUNCTION hone_i64 {}(hone_i64 batch) {{\n  hone_i64 at = 0;\n", name);
  for (std::size_t axis = batch.size(); axis-- > 0;) {
    if (strides[axis] != 0) text += fmt::format("  at += batch % {}LL * {}LL;\n", batch[axis], strides[axis]);
    text += fmt::format("  batch /= {}LL;\n", batch[axis]);
  }
  return text + "  return at;\n}\n";
}

// What is multiplied: an element less its zero point.
constexpr std::string_view kHoneA =
    "HONE_FUNCTION int hone_a(const A* a, const A* zeros, hone_i64 batch, hone_i64 row, hone_i64 k) {\n";
constexpr std::string_view kHoneB =
    "HONE_FUNCTION int hone_b(const B* b, const B* zeros, hone_i64 batch, hone_i64 k, hone_i64 column) {\n";

std::string operands_text(const IntegerProductProgram& program, const IntegerMatrices& matrices) {
  return matrix_place_text("hone_a_matrix", matrices.batch, matrices.a_strides) +
         matrix_place_text("hone_b_matrix", matrices.batch, matrices.b_strides) + std::string(kHoneA) +
         fmt::format(
             "  const hone_i64 line = hone_a_matrix(batch) * kRows + row;\n"
             "  return (int)a[line * kDepth + k] - (int){};\n}}\n",
             spread_text(program.a_zero, "zeros", "row", "line")) +
         std::string(kHoneB) +
         fmt::format(
             "  const hone_i64 matrix = hone_b_matrix(batch);\n"
             "  return (int)b[(matrix * kDepth + k) * kColumns + column] - (int){};\n}}\n",
             spread_text(program.b_zero, "zeros", "column", "matrix * kColumns + column"));
}

std::string channel_text(const IntegerConvolution& convolution) {
  return fmt::format("batch % {}LL * kRows + row", convolution.groups);
}

std::string operands_text(const IntegerProductProgram& program, const IntegerConvolution& convolution) {
  int64_t taps = 1, plane = 1;
  std::string walk;
  for (std::size_t axis = convolution.in.size(); axis-- > 0;) {
    const Window& window = convolution.windows[axis];
    walk += fmt::format(
        "  {{\n    const hone_i64 at = column % {0}LL * {1}LL + tap % {2}LL * {3}LL - {4}LL;\n"
        "    column /= {0}LL;\n    tap /= {2}LL;\n    if (at < 0 || at >= {5}LL) return 0;\n"
        "    place += at * {6}LL;\n  }}\n",
        convolution.out[axis], window.stride, window.kernel, window.dilation, window.pad_begin,
        convolution.in[axis], plane);
    taps *= window.kernel;
    plane *= convolution.in[axis];
  }
  return std::string(kHoneA) +
         fmt::format("  const hone_i64 channel = {};\n  return (int)a[channel * kDepth + k] - (int){};\n}}\n",
                     channel_text(convolution), spread_text(program.a_zero, "zeros", "channel", "channel")) +
         std::string(kHoneB) +
         fmt::format(
             "  hone_i64 tap = k % {0}LL, place = 0;\n{1}"
             "  const hone_i64 channel = batch / {2}LL * {3}LL + batch % {2}LL * {4}LL + k / {0}LL;\n"
             "  return (int)b[channel * {5}LL + place] - (int){6};\n}}\n",
             taps, walk, convolution.groups, convolution.channels, convolution.channels / convolution.groups,
             plane, spread_text(program.b_zero, "zeros", "0", "0"));
}

// In f64, and rounded before the zero point is added, as the reference does it.
std::string quantized_text(const IntegerProductProgram& program) {
  const Requantization& quantized = *program.quantized;
  std::string text;
  const auto scale = [&](std::string_view name, Spread spread, std::string_view each,
                         std::string_view of_matrix) {
    return fmt::format("(double)HoneForm::held({})",
                       spread_text(spread, std::string(name) + "_scale", each, of_matrix));
  };
  if (const auto* const convolution = std::get_if<IntegerConvolution>(&program.form)) {
    text = fmt::format(
        "  const hone_i64 channel = {};\n  double value = (double)sum;\n"
        "  if (bias) value += (double)bias[channel];\n"
        "  value = rint(value * ({} * {} / {}));\n",
        channel_text(*convolution), scale("b", quantized.b, "0", "0"),
        scale("a", quantized.a, "channel", "channel"), scale("y", quantized.y, "0", "0"));
  } else {
    text = fmt::format("  const double value = rint((double)sum * {} * {} / {});\n",
                       scale("a", quantized.a, "row", "batch * kRows + row"),
                       scale("b", quantized.b, "column", "batch * kColumns + column"),
                       scale("y", quantized.y, "row", "batch * kRows + row"));
  }
  const int low = is_signed(quantized.out) ? -128 : 0;
  return text + fmt::format(
                    "  const double y = value + (double)*y_zero;\n"
                    "  return (Y)(y != y ? 0 : y < {0} ? {0} : y > {1} ? {1} : (int)y);\n",
                    low, low + 255);
}

std::string result_text(const IntegerProductProgram& program) {
  constexpr std::string_view kLimited =
      "  return sum < -0x7fffffffLL - 1 ? -0x7fffffff - 1 : sum > 0x7fffffffLL ? 0x7fffffff : (int)sum;\n";
  return "HONE_FUNCTION Y hone_result(Sum sum, hone_i64 batch, hone_i64 row, hone_i64 column, const Scale* "
         "a_scale,\n"
         "    const Scale* b_scale, const Scale* y_scale, const Y* y_zero, const int* bias) {\n" +
         (program.quantized ? quantized_text(program) : std::string(kLimited)) + "}\n";
}

Status check_product(const IntegerProductProgram& program) {
  if (program.batch < 1 || program.rows < 1 || program.columns < 1 || program.depth < 1 ||
      program.depth > kMostDepth)
    return unsupported("a product of nothing, or of more than f64 counts");
  if (!program.quantized) return {};
  const DType out = program.quantized->out;
  if (is_element_type(program.quantized->scales) && (out == DType::kU8 || out == DType::kI8)) return {};
  return unsupported(fmt::format("a product quantised to {}", dtype_name(out)));
}

}  // namespace

Result<IntegerProductKernel> generate_integer_product(const IntegerProductProgram& program) {
  HONE_CHECK(check_product(program));
  const int64_t row_tiles = (program.rows + kProductTile - 1) / kProductTile;
  const int64_t column_tiles = (program.columns + kProductTile - 1) / kProductTile;
  const bool long_sums = program.depth > std::numeric_limits<int32_t>::max() / kMostTerm;
  const DType scales = program.quantized ? program.quantized->scales : DType::kF32;
  IntegerProductKernel kernel;
  kernel.blocks = program.batch * row_tiles * column_tiles;
  std::string text = std::string(kBasePrelude);
  text += fmt::format(
      "typedef {} A;\ntypedef {} B;\ntypedef {} Y;\ntypedef {} Scale;\ntypedef {} HoneForm;\ntypedef {} "
      "Sum;\n"
      "constexpr hone_i64 kRows = {}, kColumns = {}, kDepth = {}, kRowTiles = {}, kColumnTiles = {};\n",
      byte_type(program.a_signed), byte_type(program.b_signed),
      program.quantized ? byte_type(is_signed(program.quantized->out)) : "int", element_memory(scales),
      element_form(scales), long_sums ? "hone_i64" : "int", program.rows, program.columns, program.depth,
      row_tiles, column_tiles);
  text += std::visit([&](const auto& form) { return operands_text(program, form); }, program.form);
  text += result_text(program);
  text += kProductText;
  kernel.source = {.name = "integer_product.cu", .text = std::move(text), .options = {"--fmad=false"}};
  return kernel;
}

}  // namespace hone::kernels::gpu
