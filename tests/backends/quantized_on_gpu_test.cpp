// Quantised operators on a GPU against the reference: without one by kernels that the host runs thread by thread, on one as they
// are (ctest -L cuda).
#include <cmath>
#include <limits>

#include "tests/backends/compare.h"
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "core/onnx_dtype.h"
#include "runtime/testing/providers.h"

namespace hone::backends {
namespace {

using graph::GraphBuilder;
using graph::kNoValue;
using graph::ValueId;
using Values = std::vector<ValueId>;

class QuantizedOnGpu : public ::testing::TestWithParam<const char*> {
 protected:
  CompareOptions options(double tolerance = 0) const {
    CompareOptions options;
    options.provider = provider_;
    options.tolerance = tolerance;
    options.int_low = -128;
    options.int_high = 127;
    return options;
  }
  const std::shared_ptr<const runtime::Provider> provider_ = runtime::testing::provider_named(GetParam());
};
INSTANTIATE_TEST_SUITE_P(All, QuantizedOnGpu, ::testing::Values(runtime::testing::kCudaOnHost),
                         [](const auto& test) { return std::string(test.param); });
INSTANTIATE_TEST_SUITE_P(Gpu, QuantizedOnGpu, ::testing::ValuesIn(runtime::testing::gpu_providers()));
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(QuantizedOnGpu);

constexpr std::array kScaleTypes = {DType::kF32, DType::kF16, DType::kBF16};
constexpr std::array kQuantizedTypes = {
    DType::kU8,         DType::kI8,         DType::kU16,   DType::kI16,      DType::kU4,
    DType::kI4,         DType::kU2,         DType::kI2,    DType::kF8E4M3FN, DType::kF8E5M2,
    DType::kF8E4M3FNUZ, DType::kF8E5M2FNUZ, DType::kF4E2M1};

// Numbers of any type, rounded as the reference rounds.
Tensor numbers(DType dtype, const Shape& shape, uint32_t seed, double low, double high) {
  const Tensor floats = random_floats(shape, seed, low, high);
  if (dtype == DType::kF32) return floats;
  return cast_floats(floats, dtype);
}
double largest(DType dtype) {
  if (is_float(dtype)) return dtype == DType::kF4E2M1 ? 6 : 400;
  const int bits = dtype_bits(dtype);
  return is_signed(dtype) ? (1 << (bits - 1)) - 1 : (1 << bits) - 1;
}

struct Granularity {
  Shape scales;
  int64_t axis = 1, block = 0;
};
const Shape kShape = {3, 10, 7};
const std::vector<Granularity> kGranularities = {
    {{}}, {{1}}, {{10}}, {{3}, 0}, {{7}, -1}, {{3, 3, 7}, 1, 4}, {{3, 10, 4}, 2, 2}, {{1, 10, 7}, 0, 3}};

// Elements from below the type's least to above its largest; the values that lie between two steps among them.
TEST_P(QuantizedOnGpu, ToEveryTypeByEveryGranularity) {
  std::size_t turn = 0;
  for (const DType to : kQuantizedTypes) {
    for (const Granularity& g : kGranularities) {
      ++turn;
      if (turn % 3 == 0 && to != DType::kU8) continue;
      const DType from = kScaleTypes[turn % 3], scale_type = kScaleTypes[turn / 2 % 3];
      const bool zero = turn % 4 != 0 && !is_float(to);
      SCOPED_TRACE(fmt::format("{} to {} by {} of {}, axis {}, block {}", dtype_name(from), dtype_name(to),
                               shape_text(g.scales), dtype_name(scale_type), g.axis, g.block));
      compare_all_kernels(
          [&](GraphBuilder& b) -> Values {
            const double range = 1.3 * largest(to);
            const Tensor x = numbers(from, kShape, static_cast<uint32_t>(turn), -range, range);
            const Tensor scales = numbers(scale_type, g.scales, 5, 0.6, 1.5);
            const ValueId zeros =
                zero ? b.constant("zero", numbers(to, g.scales, 6, is_signed(to) ? -2 : 0, 3)) : kNoValue;
            Attributes attributes{{"axis", g.axis}};
            if (g.block > 0) attributes.set("block_size", g.block);
            if (!zero) attributes.set("output_dtype", dtype_to_onnx(to));
            if (turn % 5 == 0) attributes.set("precision", dtype_to_onnx(DType::kF32));
            if (turn % 7 == 0) attributes.set("saturate", int64_t{0});
            const ValueId data = b.input("x", graph::tensor_type(from, kShape));
            Values inputs = {data, turn % 2 == 0
                                       ? b.constant("scale", scales)
                                       : b.input("scale", graph::tensor_type(scale_type, g.scales))};
            if (zero) inputs.push_back(zeros);
            return {b.add("QuantizeLinear", inputs, attributes)};
          },
          [&] {
            CompareOptions given = options();
            const double range = 1.3 * largest(to);
            given.inputs = {numbers(from, kShape, static_cast<uint32_t>(turn), -range, range),
                            numbers(scale_type, g.scales, 5, 0.6, 1.5)};
            return given;
          }());
    }
  }
}

TEST_P(QuantizedOnGpu, FromEveryTypeByEveryGranularity) {
  std::size_t turn = 0;
  std::vector<DType> types(kQuantizedTypes.begin(), kQuantizedTypes.end());
  types.push_back(DType::kI32);
  for (const DType from : types) {
    for (const Granularity& g : kGranularities) {
      ++turn;
      if (turn % 3 == 0 && from != DType::kI8) continue;
      const DType scale_type = kScaleTypes[turn % 3];
      const bool zero = turn % 4 != 0 && !is_float(from), other = turn % 5 == 0;
      SCOPED_TRACE(fmt::format("{} by {} of {}, axis {}, block {}", dtype_name(from), shape_text(g.scales),
                               dtype_name(scale_type), g.axis, g.block));
      CompareOptions given = options(1e-6);
      const double most = from == DType::kI32 ? 1e9 : largest(from);
      given.inputs = {numbers(from, kShape, static_cast<uint32_t>(turn), is_signed(from) ? -most : 0, most),
                      numbers(scale_type, g.scales, 5, 0.6, 1.5)};
      compare_all_kernels(
          [&](GraphBuilder& b) -> Values {
            Attributes attributes{{"axis", g.axis}};
            if (g.block > 0) attributes.set("block_size", g.block);
            if (other) attributes.set("output_dtype", dtype_to_onnx(DType::kF16));
            Values inputs = {b.input("x", graph::tensor_type(from, kShape)),
                             b.input("scale", graph::tensor_type(scale_type, g.scales))};
            if (zero)
              inputs.push_back(b.constant("zero", numbers(from, g.scales, 6, is_signed(from) ? -2 : 0, 3)));
            return {b.add("DequantizeLinear", inputs, attributes)};
          },
          given);
    }
  }
}

// Each code of a float of 8 bits and what lies between two of them, infinities and NaN.
TEST_P(QuantizedOnGpu, NarrowFloatsRoundAsTheReferenceRounds) {
  for (const DType to :
       {DType::kF8E4M3FN, DType::kF8E5M2, DType::kF8E4M3FNUZ, DType::kF8E5M2FNUZ, DType::kF4E2M1}) {
    for (const int64_t saturate : {0, 1}) {
      std::vector<float> values = {INFINITY, -INFINITY, NAN,    -NAN,   0.0F,
                                   -0.0F,    1e30F,     -1e30F, 1e-30F, -1e-30F};
      for (int code = 0; code < 256; ++code) {
        const float value = narrow_to_f32(to, static_cast<uint8_t>(code));
        const float next = narrow_to_f32(to, static_cast<uint8_t>(code + 1));
        for (const float x : {value, value + (next - value) / 2,
                              std::nextafter(value + (next - value) / 2, 1e9F), value * 1.07F})
          values.push_back(x);
      }
      const auto count = static_cast<int64_t>(values.size());
      CompareOptions given = options();
      given.inputs = {Tensor::f32({count}, values)};
      SCOPED_TRACE(fmt::format("{} saturate {}", dtype_name(to), saturate));
      compare_all_kernels(
          [&](GraphBuilder& b) -> Values {
            return {b.add("QuantizeLinear", {f32_input(b, "x", {count}), scalar(b, 1)},
                          {{"output_dtype", dtype_to_onnx(to)}, {"saturate", saturate}})};
          },
          given);
    }
  }
}

TEST_P(QuantizedOnGpu, ByTheRangeOfTheData) {
  for (const DType dtype : kScaleTypes) {
    for (const int64_t count : {1, 300, 140000}) {
      for (const double low : {-3.0, 0.5}) {  // a range that lies on one side of zero begins there
        CompareOptions given = options(1e-6);
        Tensor x = random_floats_of(dtype, {count}, 3, low, 5);
        given.inputs = {x};
        SCOPED_TRACE(fmt::format("{} {} {}", dtype_name(dtype), count, low));
        const Build build = [&](GraphBuilder& b) -> Values {
          return b.add_many("DynamicQuantizeLinear", {input_of(b, "x", dtype, {count})}, 3);
        };
        compare_all_kernels(build, given);
        given.inputs = {Tensor::zeros(dtype, {count})};
        if (count < 1000) compare_all_kernels(build, given);
      }
    }
  }
  CompareOptions odd = options(1e-6);
  odd.inputs = {Tensor::f32({4}, std::vector<float>{1, NAN, -2, 0.25F})};
  compare_all_kernels(
      [](GraphBuilder& b) -> Values {
        return b.add_many("DynamicQuantizeLinear", {f32_input(b, "x", {4})}, 3);
      },
      odd);
}

// --- products ---

struct Product {
  Shape a, b;
  Shape a_zero = {}, b_zero = {};  // {0}: none
};

TEST_P(QuantizedOnGpu, ProductsOfIntegersAreExact) {
  const Shape none = {0};
  const std::vector<Product> products = {{{6, 7}, {7, 8}, none, none},
                                         {{70, 33}, {33, 130}, {}, {}},
                                         {{3, 70}, {70, 65}, {3}, {65}},
                                         {{2, 3, 5, 9}, {3, 9, 4}, {}, {3, 1, 4}},
                                         {{2, 1, 5, 9}, {3, 9, 4}, {2, 1, 5, 1}, {4}},
                                         {{9}, {9, 4}, {}, {}},
                                         {{4, 9}, {9}, {1}, none},
                                         {{1, 300}, {300, 1}, {1}, {1}}};
  int turn = 0;
  for (const Product& p : products) {
    const DType a = turn % 2 == 0 ? DType::kU8 : DType::kI8,
                b_type = turn / 2 % 2 == 0 ? DType::kI8 : DType::kU8;
    ++turn;
    SCOPED_TRACE(
        fmt::format("{} {} {} {}", shape_text(p.a), dtype_name(a), shape_text(p.b), dtype_name(b_type)));
    compare_all_kernels(
        [&](GraphBuilder& b) -> Values {
          const auto zero = [&](const char* name, DType type, const Shape& shape) {
            return shape == Shape{0} ? kNoValue : input_of(b, name, type, shape);
          };
          Values inputs = {input_of(b, "a", a, p.a), input_of(b, "b", b_type, p.b), zero("za", a, p.a_zero),
                           zero("zb", b_type, p.b_zero)};
          while (!inputs.back().valid()) inputs.pop_back();
          return {b.add("MatMulInteger", inputs)};
        },
        options());
  }
}

// More terms than 32 bits hold sums of: the result is the largest number.
TEST_P(QuantizedOnGpu, SumsThatLeaveTheirTypeSaturate) {
  CompareOptions given = options();
  Tensor a(DType::kU8, {2, 40000}), weights(DType::kU8, {40000, 2});
  for (uint8_t& x : a.as<uint8_t>()) x = 255;
  for (std::size_t i = 0; i < weights.as<uint8_t>().size(); ++i)
    weights.as<uint8_t>()[i] = i % 2 == 0 ? 255 : 1;
  given.inputs = {a, weights};
  compare_all_kernels(
      [](GraphBuilder& b) -> Values {
        return {b.add("MatMulInteger",
                      {input_of(b, "a", DType::kU8, {2, 40000}), input_of(b, "b", DType::kU8, {40000, 2})})};
      },
      given);
}

TEST_P(QuantizedOnGpu, ProductsQuantisedAnewAgree) {
  struct Quantized {
    Shape a, b, a_scale, b_scale, y_scale;
  };
  int turn = 0;
  for (const Quantized& q :
       {Quantized{{6, 7}, {7, 8}, {}, {}, {}}, Quantized{{70, 33}, {33, 65}, {70}, {65}, {}},
        Quantized{{2, 5, 9}, {2, 9, 4}, {2, 5, 1}, {4}, {5}},
        Quantized{{2, 5, 9}, {9, 4}, {}, {2, 1, 4}, {1}}, Quantized{{9}, {9, 4}, {1}, {1}, {}}}) {
    const DType a = turn % 2 == 0 ? DType::kU8 : DType::kI8, y = turn % 3 == 0 ? DType::kU8 : DType::kI8;
    const DType scale = kScaleTypes[static_cast<std::size_t>(turn++) % 3];
    SCOPED_TRACE(fmt::format("{} {}", shape_text(q.a), dtype_name(scale)));
    compare_all_kernels(
        [&](GraphBuilder& b) -> Values {
          const auto scales = [&](const Shape& shape, double low, double high) {
            return b.constant("s", numbers(scale, shape, 3, low, high));
          };
          const auto zero = [&](DType type) { return b.constant("z", numbers(type, {}, 8, 1, 4)); };
          return {b.add("QLinearMatMul", {input_of(b, "a", a, q.a), scales(q.a_scale, 0.01, 0.03), zero(a),
                                          input_of(b, "b", DType::kI8, q.b), scales(q.b_scale, 0.01, 0.03),
                                          zero(DType::kI8), scales(q.y_scale, 0.1, 0.2), zero(y)})};
        },
        options());
  }
}

struct Convolution {
  Shape x, w;
  Attributes attributes = {};
};
const std::vector<Convolution> kConvolutions = {
    {{1, 4, 6, 6}, {2, 4, 3, 3}},
    {{2, 6, 9, 8}, {70, 6, 3, 2}, {{"pads", Ints{1, 0, 2, 1}}, {"strides", Ints{2, 1}}}},
    {{2, 6, 11, 7},
     {9, 2, 3, 3},
     {{"group", int64_t{3}}, {"dilations", Ints{2, 1}}, {"auto_pad", "SAME_UPPER"}}},
    {{1, 5, 30}, {5, 1, 7}, {{"group", int64_t{5}}, {"pads", Ints{3, 3}}}},
    {{1, 2, 4, 5, 6}, {3, 2, 2, 3, 2}, {{"pads", Ints{1, 1, 0, 0, 1, 1}}}}};

// What lies outside of an image is its zero point.
TEST_P(QuantizedOnGpu, ConvolutionsOfIntegersAreExact) {
  int turn = 0;
  for (const Convolution& c : kConvolutions) {
    const DType x = turn % 2 == 0 ? DType::kU8 : DType::kI8;
    const int zeros = turn++ % 3;  // none, of the image, of each channel of the weights too
    SCOPED_TRACE(fmt::format("{} {}", shape_text(c.x), shape_text(c.w)));
    compare_all_kernels(
        [&](GraphBuilder& b) -> Values {
          Values inputs = {input_of(b, "x", x, c.x), input_of(b, "w", DType::kI8, c.w)};
          if (zeros > 0) inputs.push_back(input_of(b, "zx", x, {}));
          if (zeros > 1) inputs.push_back(input_of(b, "zw", DType::kI8, {c.w[0]}));
          return {b.add("ConvInteger", inputs, c.attributes)};
        },
        options());
  }
}

TEST_P(QuantizedOnGpu, ConvolutionsQuantisedAnewAgree) {
  int turn = 0;
  for (const Convolution& c : kConvolutions) {
    const bool each = turn % 2 == 1, bias = turn % 3 != 0;
    const DType y = turn++ % 3 == 1 ? DType::kI8 : DType::kU8;
    SCOPED_TRACE(fmt::format("{} {}", shape_text(c.x), shape_text(c.w)));
    CompareOptions given = options();
    compare_all_kernels(
        [&](GraphBuilder& b) -> Values {
          const Shape channels = each ? Shape{c.w[0]} : Shape{};
          Values inputs = {input_of(b, "x", DType::kU8, c.x),
                           scalar(b, 0.02F),
                           b.constant("zx", numbers(DType::kU8, {}, 1, 100, 140)),
                           input_of(b, "w", DType::kI8, c.w),
                           b.constant("sw", random_floats(channels, 4, 0.01, 0.03)),
                           b.constant("zw", numbers(DType::kI8, channels, 5, -3, 3)),
                           scalar(b, 0.31F),
                           b.constant("zy", numbers(y, {}, 6, 3, 9))};
          if (bias) inputs.push_back(input_of(b, "bias", DType::kI32, {c.w[0]}));
          return {b.add("QLinearConv", inputs, c.attributes)};
        },
        given);
  }
}

}  // namespace
}  // namespace hone::backends
