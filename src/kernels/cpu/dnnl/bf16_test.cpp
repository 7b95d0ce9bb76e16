// Products, convolutions and their gradients of bf16 against the reference on the same numbers: sums are f32, and where a
// result is bf16 it is the sum, rounded once.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <limits>
#include <random>

#include <gtest/gtest.h>

#include "kernels/cpu/dnnl/convolution.h"
#include "kernels/cpu/dnnl/convolution_weight_gradient.h"
#include "kernels/cpu/dnnl/matmul.h"
#include "kernels/ref/ref.h"

namespace hone::kernels::of_bf16 {
namespace {

// Uniform in [-1, 1], numbers of bf16; as f32, and as they are stored.
struct Numbers {
  Tensor wide, stored;
};

Numbers numbers(const Shape& shape, uint32_t seed) {
  Numbers made{Tensor(DType::kF32, shape), Tensor(DType::kBF16, shape)};
  std::mt19937 random(seed);
  std::uniform_real_distribution<float> draw(-1, 1);
  for (std::size_t i = 0; i < static_cast<std::size_t>(element_count(shape)); ++i) {
    const uint16_t bits = f32_to_bf16(draw(random));
    made.stored.as<uint16_t>()[i] = bits;
    made.wide.as<float>()[i] = bf16_to_f32(bits);
  }
  return made;
}

Tensor reference(const char* op, const Attributes& attributes, const std::vector<Tensor>& inputs) {
  auto outputs = ref::ref_table().find(op)({.op = op, .attributes = attributes, .inputs = inputs});
  if (!outputs.ok()) throw std::logic_error(outputs.error().message);
  return (*outputs)[0];
}

Tensor all_nan(DType dtype, const Shape& shape) {
  Tensor tensor(dtype, shape);
  std::memset(tensor.data(), 0xff, tensor.bytes());  // NaN in both types
  return tensor;
}

Tensor nan_bytes(std::size_t bytes) { return all_nan(DType::kU8, {static_cast<int64_t>(bytes) + 64}); }

// Sums of `terms` products in f32; half a unit of bf16 more where that is what is stored.
void expect_near(const Tensor& got, const Tensor& want, double terms) {
  ASSERT_EQ(got.size(), want.size());
  for (int64_t i = 0; i < got.size(); ++i) {
    const double rounding = got.dtype() == DType::kBF16 ? std::abs(want.at(i)) / 256 : 0;
    ASSERT_NEAR(got.at(i), want.at(i), 1e-6 * terms + rounding) << i;
  }
}

void check_product(MatMulDesc desc, const Numbers& a, const Numbers& b, const Tensor& want) {
  desc.dtype = DType::kBF16;
  for (const DType result : {DType::kF32, DType::kBF16}) {
    for (const bool constant : {true, false}) {
      desc.result = result;
      desc.constant_b = constant;
      desc.implementation.clear();
      const auto names = MatMul::candidates(desc);
      ASSERT_FALSE(names.empty());
      for (const std::string& name : names) {
        SCOPED_TRACE(name + (constant ? " constant " : " ") + std::string(dtype_name(result)));
        desc.implementation = name;
        const auto made = MatMul::create(desc, b.stored.data(), nullptr);
        ASSERT_TRUE(made.ok()) << made.error().message;
        Tensor got = all_nan(result, want.shape());
        Tensor scratch = nan_bytes((*made)->scratch_bytes());
        ASSERT_TRUE((*made)->execute(a.stored.data(), b.stored.data(), got.data(), {}, scratch.data()).ok());
        expect_near(got, want, static_cast<double>(desc.a_shape.back()));
      }
    }
  }
}

// CPUs without AVX-512 have none of the library's kernels.
bool is_offered() {
  MatMulDesc desc;
  desc.a_shape = desc.b_shape = {16, 16};
  desc.dtype = DType::kBF16;
  return !MatMul::candidates(desc).empty();
}
constexpr const char* kNotOffered = "NOT RUN: oneDNN has no kernels of bf16 for this CPU";

TEST(Bf16MatMul, IsTheReferencesInOddSizesAndEitherOrder) {
  if (!is_offered()) GTEST_SKIP() << kNotOffered;
  for (const auto& [rows, depth, columns] :
       {std::array<int64_t, 3>{17, 33, 29}, {1, 65, 31}, {64, 96, 128}}) {
    const Numbers a = numbers({rows, depth}, 1), b = numbers({depth, columns}, 2);
    MatMulDesc desc;
    desc.a_shape = {rows, depth};
    desc.b_shape = {depth, columns};
    check_product(desc, a, b, reference("MatMul", {}, {a.wide, b.wide}));
    const Numbers turned_a = numbers({depth, rows}, 3), turned_b = numbers({columns, depth}, 4);
    desc.a_strides = {1, rows};
    desc.b_strides = {1, depth};
    const Attributes turned{{"transA", int64_t{1}}, {"transB", int64_t{1}}};
    check_product(desc, turned_a, turned_b, reference("Gemm", turned, {turned_a.wide, turned_b.wide}));
  }
}

TEST(Bf16MatMul, OfBatchesIsTheReferences) {
  if (!is_offered()) GTEST_SKIP() << kNotOffered;
  const Numbers a = numbers({3, 5, 7, 11}, 5), b = numbers({3, 5, 11, 6}, 6);
  MatMulDesc desc;
  desc.a_shape = {3, 5, 7, 11};
  desc.b_shape = {3, 5, 11, 6};
  check_product(desc, a, b, reference("MatMul", {}, {a.wide, b.wide}));
}

TEST(Bf16MatMul, OtherTypesAreRefused) {
  MatMulDesc desc;
  desc.a_shape = {4, 4};
  desc.b_shape = {4, 4};
  desc.dtype = DType::kF16;
  EXPECT_TRUE(MatMul::candidates(desc).empty());
  desc.dtype = DType::kF32;
  desc.result = DType::kBF16;
  EXPECT_TRUE(MatMul::candidates(desc).empty());
}

// --- convolutions ---

ConvolutionDesc convolution(int64_t in, int64_t out, const Shape& input, int64_t kernel, int64_t stride) {
  ConvolutionDesc desc;
  desc.dtype = DType::kBF16;
  desc.batch = 2;
  desc.in_channels = in;
  desc.out_channels = out;
  desc.input = input;
  desc.kernel = Shape(input.size(), kernel);
  desc.strides = Shape(input.size(), stride);
  desc.dilations = Shape(input.size(), 1);
  desc.pads_begin = desc.pads_end = Shape(input.size(), kernel / 2);
  return desc;
}

Attributes attributes_of(const ConvolutionDesc& desc) {
  Ints pads = desc.pads_begin;
  pads.insert(pads.end(), desc.pads_end.begin(), desc.pads_end.end());
  return {{"kernel_shape", Ints(desc.kernel)},
          {"strides", Ints(desc.strides)},
          {"dilations", Ints(desc.dilations)},
          {"pads", pads},
          {"group", desc.groups}};
}

void check_convolution(ConvolutionDesc desc) {
  SCOPED_TRACE(describe(desc));
  const Numbers x = numbers(desc.src_shape(), 7), w = numbers(desc.weights_shape(), 8);
  const Tensor want =
      reference(desc.transposed ? "ConvTranspose" : "Conv", attributes_of(desc), {x.wide, w.wide});
  int checked = 0;
  for (const DType result : {DType::kF32, DType::kBF16}) {
    desc.result = result;
    for (const bool constant : {true, false}) {
      desc.constant_weights = constant;
      for (const ConvolutionVariant& variant : Convolution::candidates_given_plain(desc)) {
        SCOPED_TRACE(variant.name());
        ConvolutionDesc chosen = desc;
        variant.apply_to(chosen);
        const auto made = Convolution::create(chosen, w.stored.data(), nullptr);
        ASSERT_TRUE(made.ok()) << made.error().message;
        Tensor got = all_nan(result, want.shape());
        Tensor scratch = nan_bytes((*made)->scratch_bytes());
        ASSERT_TRUE(
            (*made)
                ->execute_with(w.stored.data(), nullptr, x.stored.data(), got.data(), {}, scratch.data())
                .ok());
        expect_near(got, want, static_cast<double>(desc.in_channels * element_count(desc.kernel)));
        ++checked;
      }
    }
  }
  EXPECT_GE(checked, 4);
}

TEST(Bf16Convolution, EveryVariantIsTheReferences) {
  if (!is_offered()) GTEST_SKIP() << kNotOffered;
  check_convolution(convolution(32, 48, {10, 9}, 3, 1));
  check_convolution(convolution(19, 35, {9, 11}, 3, 2));
  check_convolution(convolution(24, 40, {7, 7}, 1, 1));
  ConvolutionDesc transposed = convolution(16, 24, {6, 5}, 3, 2);
  transposed.transposed = true;
  check_convolution(transposed);
}

// The library's own 1x1 kernel on tiles (2.6.3) rounds 36 pixels up to whole tiles, and writes them all.
TEST(Bf16Convolution, WritesNothingBeyondItsResultAndItsScratch) {
  if (!is_offered()) GTEST_SKIP() << kNotOffered;
  constexpr std::size_t kBeyond = 1 << 16;
  const auto untouched = [](const Tensor& memory, std::size_t from) {
    const auto* bytes = static_cast<const unsigned char*>(memory.data());
    return std::all_of(bytes + from, bytes + memory.bytes(), [](unsigned char byte) { return byte == 0xff; });
  };
  int checked = 0;
  for (const int64_t kernel : {1, 3}) {
    for (const int64_t pixels : {5, 6, 7, 10, 12, 14}) {
      ConvolutionDesc desc = convolution(32, 64, {pixels, pixels}, kernel, 1);
      desc.src_layout = desc.dst_layout = Layout::kChannelsLast;
      const Tensor x = Tensor::zeros(DType::kBF16, desc.src_shape());
      const Tensor w = Tensor::zeros(DType::kBF16, desc.weights_shape());
      const auto result = static_cast<std::size_t>(element_count(desc.dst_shape())) * dtype_size(desc.result);
      for (const ConvolutionVariant& variant : Convolution::candidates_as_laid_out(desc)) {
        SCOPED_TRACE(describe(desc) + " " + variant.name());
        ConvolutionDesc chosen = desc;
        variant.apply_to(chosen);
        const auto made = Convolution::create(chosen, w.data(), nullptr);
        ASSERT_TRUE(made.ok()) << made.error().message;
        Tensor got = all_nan(DType::kU8, {static_cast<int64_t>(result + kBeyond)});
        const std::size_t scratch_bytes = (*made)->scratch_bytes();
        Tensor scratch = all_nan(DType::kU8, {static_cast<int64_t>(scratch_bytes + kBeyond)});
        ASSERT_TRUE((*made)->execute_with(w.data(), nullptr, x.data(), got.data(), {}, scratch.data()).ok());
        EXPECT_TRUE(untouched(got, result));
        EXPECT_TRUE(untouched(scratch, scratch_bytes));
        ++checked;
      }
    }
  }
  EXPECT_GE(checked, 12);
}

TEST(Bf16WeightGradient, IsTheReferencesInEitherResult) {
  if (!is_offered()) GTEST_SKIP() << kNotOffered;
  for (const int64_t stride : {1, 2}) {
    ConvolutionDesc desc = convolution(16, 32, {9, 10}, 3, stride);
    const Numbers x = numbers(desc.src_shape(), 9), g = numbers(desc.dst_shape(), 10);
    const Tensor want = reference("hone.ConvWeightGradient", attributes_of(desc), {x.wide, g.wide});
    for (const DType result : {DType::kF32, DType::kBF16}) {
      desc.result = result;
      const auto candidates = ConvolutionWeightGradient::candidates(desc);
      ASSERT_FALSE(candidates.empty());
      for (const ConvolutionDesc& candidate : candidates) {
        SCOPED_TRACE(candidate.implementation);
        const auto made = ConvolutionWeightGradient::create(candidate);
        ASSERT_TRUE(made.ok()) << made.error().message;
        Tensor got = all_nan(result, desc.weights_shape());
        Tensor scratch = nan_bytes((*made)->scratch_bytes());
        ASSERT_TRUE((*made)->execute(x.stored.data(), g.stored.data(), got.data(), scratch.data()).ok());
        expect_near(got, want, 2.0 * 9 * 10);
      }
    }
  }
}

}  // namespace
}  // namespace hone::kernels::of_bf16
