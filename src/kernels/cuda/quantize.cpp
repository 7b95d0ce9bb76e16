#include "kernels/cuda/quantize.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <string>
#include <string_view>

#include <fmt/format.h>

#include "kernels/cuda/element_form.h"
#include "kernels/cuda/prelude.h"

namespace hone::kernels::gpu {
namespace {

// Floats of 8 and 4 bits by their values, which core/dtype.h knows.
bool is_tabled(DType dtype) { return is_float(dtype) && dtype_bits(dtype) <= 8; }

// `name` with held(): each code's value.
std::string decoding_text(DType dtype, std::string_view name) {
  std::string text = fmt::format("__device__ const unsigned {}_bits[256] = {{", name);
  for (int code = 0; code < 256; ++code)
    text += fmt::format("{:#x}u,", std::bit_cast<uint32_t>(narrow_to_f32(dtype, static_cast<uint8_t>(code))));
  return text + fmt::format(
                    "}};\nstruct {0} {{\n"
                    "  HONE_FUNCTION static float held(unsigned char x) {{ return "
                    "hone_float_of_bits({0}_bits[x]); }}\n"
                    "}};\n",
                    name);
}

// The codes of numbers from 0 on grow with them: the nearest is found between neighbours, of two as near the even one. Behind the
// largest stands what would follow it; who comes nearer to that overflows.
std::string encoding_text(DType dtype, bool saturate) {
  const auto code_of = [&](float x) { return static_cast<int>(f32_to_narrow(dtype, x, saturate)); };
  constexpr float kHuge = std::numeric_limits<float>::max();
  const int largest = f32_to_narrow(dtype, kHuge, true);
  const auto value_of = [&](int code) { return narrow_to_f32(dtype, static_cast<uint8_t>(code)); };
  std::string text = "__device__ const float hone_sizes_of_codes[] = {";
  for (int code = 0; code <= largest; ++code) text += fmt::format("{:a}f,", value_of(code));
  text += fmt::format("{:a}f}};\n", 2 * value_of(largest) - value_of(largest - 1));
  text += fmt::format(
      "HONE_FUNCTION unsigned char hone_encoded(float x) {{\n"
      "  const bool negative = hone_bits_of_float(x) >> 31;\n"
      "  if (x != x) return negative ? {} : {};\n"
      "  const float size = fabs(x);\n"
      "  int code = 0, end = {};\n"
      "  while (end - code > 1) {{\n"
      "    const int middle = (code + end) / 2;\n"
      "    if (hone_sizes_of_codes[middle] <= size) code = middle;\n"
      "    else end = middle;\n  }}\n"
      "  const float below = size - hone_sizes_of_codes[code], above = hone_sizes_of_codes[code + 1] - "
      "size;\n"
      "  if (below > above || (below == above && code % 2 == 1)) ++code;\n"
      "  if (code > {}) return negative ? {} : {};\n"
      "  return negative && (code > 0 || {}) ? code | {} : code;\n}}\n",
      code_of(std::copysign(std::numeric_limits<float>::quiet_NaN(), -1.0F)),
      code_of(std::copysign(std::numeric_limits<float>::quiet_NaN(), 1.0F)), largest + 1, largest,
      code_of(-kHuge), code_of(kHuge), code_of(-0.0F) != 0,
      f32_to_narrow(dtype, -1.0F) ^ f32_to_narrow(dtype, 1.0F));
  return text;
}

struct QuantizedForm {
  std::string memory, form;  // as NumberForm has them
};

// Integers of fewer bits than a byte have one to themselves.
std::string_view integer_memory(DType dtype) {
  if (dtype == DType::kI32) return "int";
  if (dtype_bits(dtype) == 16) return is_signed(dtype) ? "short" : "unsigned short";
  return is_signed(dtype) ? "signed char" : "unsigned char";
}

// What reads `dtype` as HoneNumber; adds what it needs to `text`.
QuantizedForm reading_form(DType dtype, std::string_view name, std::string& text) {
  if (is_element_type(dtype)) return {std::string(element_memory(dtype)), std::string(element_form(dtype))};
  if (is_tabled(dtype)) {
    text += decoding_text(dtype, name);
    return {"unsigned char", std::string(name)};
  }
  const std::string memory(integer_memory(dtype));
  return {memory, fmt::format("HoneWide<{}, HoneNumber>", memory)};
}

std::string rounding_text(DType precision) {
  return fmt::format("HONE_FUNCTION float hone_rounded(float x) {{ return {}; }}\n",
                     precision == DType::kF16    ? "hone_from_f16(hone_to_f16(x))"
                     : precision == DType::kBF16 ? "HoneBf16::rounded(x)"
                                                 : "x");
}

// From a number to what is stored: y.
std::string storing_text(const QuantizeProgram& program) {
  if (program.dequantizes)
    return fmt::format("  y[e] = {}::stored((float)((number - zero) * scale));\n", element_form(program.out));
  std::string text =
      "  const float quotient = hone_rounded(hone_rounded((float)number) / hone_rounded((float)scale));\n";
  if (is_tabled(program.out)) return text + "  y[e] = hone_encoded(quotient + (float)zero);\n";
  const int bits = dtype_bits(program.out);
  const int low = is_signed(program.out) ? -(1 << (bits - 1)) : 0, high = low + (1 << bits) - 1;
  return text +
         fmt::format(
             "  const float whole = rint(quotient) + (float)zero;\n"
             "  y[e] = (Out)(whole != whole ? 0 : whole < {0} ? {0} : whole > {1} ? {1} : (int)whole);\n",
             low, high);
}

std::string scale_place_text(const QuantizeProgram& program) {
  if (program.block > 0) {
    const int64_t blocks = (program.extent + program.block - 1) / program.block;
    return fmt::format("e / {0}LL * {1}LL + e / {2}LL % {3}LL / {4}LL * {2}LL + e % {2}LL",
                       program.extent * program.inner, blocks * program.inner, program.inner, program.extent,
                       program.block);
  }
  if (program.extent == 1) return "0";
  return fmt::format("e / {}LL % {}LL", program.inner, program.extent);
}

bool quantized_type(DType dtype) {
  if (dtype == DType::kF8E8M0) return false;
  return is_tabled(dtype) || (is_integer(dtype) && dtype_bits(dtype) <= 16);
}

Status check_types(const QuantizeProgram& program) {
  const bool scaled = is_element_type(program.scale) || program.scale == DType::kF8E8M0;
  const bool whole = program.in == DType::kI32;
  const bool fits = program.dequantizes
                        ? (quantized_type(program.in) || whole) && is_element_type(program.out)
                        : (is_element_type(program.in) || whole) && quantized_type(program.out) &&
                              is_element_type(program.precision);
  if (scaled && fits) return {};
  return unsupported(fmt::format("{} to {} by scales of {}", dtype_name(program.in), dtype_name(program.out),
                                 dtype_name(program.scale)));
}

int64_t quantize_blocks(int64_t elements) { return (elements + kQuantizeBlock - 1) / kQuantizeBlock; }

// In single precision, as the operator is defined; a NaN is no end of the range.
constexpr std::string_view kDynamicQuantization = R"cuda(
struct HoneRange { float low, high; };
HONE_FUNCTION HoneRange hone_join(HoneRange a, HoneRange b) {
  return {b.low < a.low ? b.low : a.low, b.high > a.high ? b.high : a.high};
}
HONE_FUNCTION HoneRange hone_range_of_block(HoneRange own) {
  __shared__ HoneRange of_warps[8];
#pragma unroll
  for (int mask = 16; mask > 0; mask /= 2) {
    HoneRange other;
    other.low = __shfl_xor_sync(0xffffffffu, own.low, mask);
    other.high = __shfl_xor_sync(0xffffffffu, own.high, mask);
    own = hone_join(own, other);
  }
  if (threadIdx.x % 32 == 0) of_warps[threadIdx.x / 32] = own;
  __syncthreads();
  own = of_warps[0];
  for (int i = 1; i < 8; ++i) own = hone_join(own, of_warps[i]);
  return own;
}
extern "C" __global__ void __launch_bounds__(256, 1) hone_range(const HoneElement* x, HoneRange* ends) {
  HoneRange own = {0.0f, 0.0f};
  for (hone_i64 e = (hone_i64)blockIdx.x * 256 + threadIdx.x; e < kElements; e += (hone_i64)kRangeBlocks * 256) {
    const float value = HoneForm::held(x[e]);
    own = hone_join(own, {value, value});
  }
  own = hone_range_of_block(own);
  if (threadIdx.x == 0) ends[blockIdx.x] = own;
}
HONE_FUNCTION float hone_to_u8(float x) { return x != x ? 0.0f : x < 0.0f ? 0.0f : x > 255.0f ? 255.0f : x; }
extern "C" __global__ void __launch_bounds__(256, 1) hone_quantize_by_range(const HoneElement* x, const HoneRange* ends,
    unsigned char* y, HoneElement* scale_out, unsigned char* zero_out) {
  HoneRange own = {0.0f, 0.0f};
  for (int i = (int)threadIdx.x; i < kRangeBlocks; i += 256) own = hone_join(own, ends[i]);
  own = hone_range_of_block(own);
  const float scale = own.high > own.low ? (own.high - own.low) / 255.0f : 1.0f;
  const float zero = hone_to_u8(rint(-own.low / scale));
  const hone_i64 e = (hone_i64)blockIdx.x * 256 + threadIdx.x;
  if (e < kElements) y[e] = (unsigned char)hone_to_u8(rint(HoneForm::held(x[e]) / scale) + zero);
  if (e == 0) {
    *scale_out = HoneForm::stored(scale);
    *zero_out = (unsigned char)zero;
  }
}
)cuda";

}  // namespace

Result<QuantizeKernel> generate_quantize(const QuantizeProgram& program) {
  HONE_CHECK(check_types(program));
  if (program.elements < 1) return unsupported("quantising nothing");
  QuantizeKernel kernel;
  kernel.blocks = quantize_blocks(program.elements);
  std::string text = std::string(kBasePrelude);
  text += kWideForms;
  // 32 bits of an integer are more than a float holds.
  text += fmt::format("typedef {} HoneNumber;\n",
                      program.dequantizes && program.in == DType::kI32 ? "double" : "float");
  const QuantizedForm in = reading_form(program.in, "HoneInForm", text);
  const QuantizedForm scale = reading_form(program.scale, "HoneScaleForm", text);
  const DType zero_type = program.dequantizes ? program.in : program.out;
  const QuantizedForm zero = program.dequantizes ? in : reading_form(zero_type, "HoneZeroForm", text);
  const std::string out(program.dequantizes      ? element_memory(program.out)
                        : is_tabled(program.out) ? "unsigned char"
                                                 : integer_memory(program.out));
  if (!program.dequantizes) text += rounding_text(program.precision);
  if (!program.dequantizes && is_tabled(program.out)) text += encoding_text(program.out, program.saturate);
  text += fmt::format(
      "typedef {0} In;\ntypedef {1} Scale;\ntypedef {2} Zero;\ntypedef {3} Out;\n"
      "extern \"C\" __global__ void __launch_bounds__({4}, 1) {5}(const In* x, const Scale* scales, const "
      "Zero* "
      "zeros, Out* y) {{\n"
      "  const hone_i64 e = (hone_i64)blockIdx.x * {4} + threadIdx.x;\n  if (e >= {6}LL) return;\n"
      "  const hone_i64 at = {7};\n"
      "  const HoneNumber number = {8}::held(x[e]), scale = {9}::held(scales[at]);\n"
      "  HoneNumber zero = 0;\n  if (zeros) zero = {10}::held(zeros[at]);\n{11}}}\n",
      in.memory, scale.memory, zero.memory, out, kQuantizeBlock, kQuantizeEntry, program.elements,
      scale_place_text(program), in.form, scale.form, zero.form, storing_text(program));
  kernel.source = {.name = "quantize.cu", .text = std::move(text), .options = {"--fmad=false"}};
  return kernel;
}

Result<DynamicQuantizeKernels> generate_dynamic_quantize(DType dtype, int64_t elements) {
  constexpr int64_t kMostRangeBlocks = 512;
  if (!is_element_type(dtype) || elements < 1)
    return unsupported(fmt::format("quantising {} by its range", dtype_name(dtype)));
  DynamicQuantizeKernels kernels;
  kernels.blocks = quantize_blocks(elements);
  kernels.range_blocks = std::min(kMostRangeBlocks, kernels.blocks);
  std::string text = std::string(kBasePrelude);
  text += fmt::format(
      "typedef {} HoneElement;\ntypedef {} HoneForm;\nconstexpr hone_i64 kElements = {};\nconstexpr int "
      "kRangeBlocks = {};\n",
      element_memory(dtype), element_form(dtype), elements, kernels.range_blocks);
  text += kDynamicQuantization;
  kernels.source = {.name = "dynamic_quantize.cu", .text = std::move(text), .options = {"--fmad=false"}};
  return kernels;
}

}  // namespace hone::kernels::gpu
