// The matrix product gives what the definition gives, whatever the strides, batches and epilogue.
#include "kernels/cpu/dnnl/matmul.h"

#include "kernels/cpu/dnnl/test_support.h"

namespace hone::kernels {
namespace {

using namespace hone::kernels::testing;
using Kind = PostOp::Kind;

// Offset of `index` of the product's leading axes and of (row, column) in a factor that broadcasts.
std::size_t element(const Shape& shape, const Shape& strides, const Shape& dst, int64_t row, int64_t column) {
  const std::size_t batch = shape.size() - 2;
  int64_t offset = row * strides[batch] + column * strides[batch + 1];
  const std::size_t lead = dst.size() - shape.size();
  for (std::size_t axis = 0; axis < batch; ++axis) {
    if (shape[axis] != 1) offset += dst[axis + lead] * strides[axis];
  }
  return static_cast<std::size_t>(offset);
}

Values multiply(const MatMulDesc& desc, const Tensor& a, const Tensor& b, const Tensor& bias) {
  const Shape dst_shape = *desc.dst_shape();
  const Shape a_strides = desc.a_strides.empty() ? row_major_strides(desc.a_shape) : desc.a_strides;
  const Shape b_strides = desc.b_strides.empty() ? row_major_strides(desc.b_shape) : desc.b_strides;
  Values dst(static_cast<std::size_t>(element_count(dst_shape)));
  for_each_index(dst_shape, [&](const Shape& index) {
    const int64_t row = index[index.size() - 2];
    const int64_t column = index.back();
    double sum = desc.has_bias ? bias.as<float>()[static_cast<std::size_t>(column)] : 0;
    for (int64_t k = 0; k < desc.a_shape.back(); ++k) {
      sum += static_cast<double>(a.as<float>()[element(desc.a_shape, a_strides, index, row, k)]) *
             b.as<float>()[element(desc.b_shape, b_strides, index, k, column)];
    }
    dst[at(dst_shape, index)] = sum;
  });
  return dst;
}

void expect_right(const MatMulDesc& desc) {
  SCOPED_TRACE(shape_text(desc.a_shape) + " x " + shape_text(desc.b_shape) + " " + desc.implementation +
               " [" + post_ops_text(desc.post_ops) + "]");
  const Tensor a = random_tensor(desc.a_shape, 1);
  const Tensor b = random_tensor(desc.b_shape, 2);
  const Tensor bias = random_tensor({desc.b_shape.back()}, 3);
  auto kernel = MatMul::create(desc, b.data(), bias.data());
  ASSERT_TRUE(kernel.ok()) << kernel.error().message;
  std::vector<Tensor> operands;
  std::vector<const void*> pointers;
  bool sums = false;
  for (const PostOp& op : desc.post_ops) {
    sums = sums || op.kind == Kind::kSum;
    if (op.is_binary()) operands.push_back(random_tensor(op.operand_shape, 9));
  }
  for (const Tensor& operand : operands) pointers.push_back(operand.data());
  const Shape dst_shape = *desc.dst_shape();
  const Tensor before = random_tensor(dst_shape, 4);
  Tensor dst = sums ? before.clone() : poisoned(element_count(dst_shape));
  Tensor scratch = poisoned(static_cast<int64_t>((*kernel)->scratch_bytes() / 4 + 16));
  const Status ran = (*kernel)->execute(a.data(), b.data(), dst.data(), pointers, scratch.data());
  ASSERT_TRUE(ran.ok()) << ran.error().message;
  Values want = multiply(desc, a, b, bias);
  apply_epilogue(desc.post_ops, dst_shape, operands, values_of(before), want);
  const Shape flat = {1, 1, element_count(dst_shape)};
  // Factors are uniform in [-1, 1]: a product of two is 1/4 on average.
  const double magnitude = 0.25 * static_cast<double>(desc.a_shape.back());
  expect_stored(dst, want, flat, Layout::kPlain, 3e-6, magnitude);
}

void expect_right_everywhere(const MatMulDesc& desc) {
  for (const bool constant : {true, false}) {
    MatMulDesc chosen = desc;
    chosen.constant_b = constant;
    const auto names = MatMul::candidates(chosen);
    EXPECT_FALSE(names.empty());
    for (const std::string& name : names) {
      chosen.implementation = name;
      expect_right(chosen);
    }
  }
}

MatMulDesc product(Shape a, Shape b) {
  MatMulDesc desc;
  desc.a_shape = std::move(a);
  desc.b_shape = std::move(b);
  return desc;
}

TEST(MatMul, OddSizesAreRight) {
  expect_right_everywhere(product({17, 33}, {33, 29}));
  expect_right_everywhere(product({1, 65}, {65, 31}));
  expect_right_everywhere(product({31, 65}, {65, 1}));
  expect_right_everywhere(product({1, 1}, {1, 1}));
  expect_right_everywhere(product({64, 96}, {96, 128}));
}

TEST(MatMul, BatchesBroadcast) {
  expect_right_everywhere(product({3, 5, 7, 11}, {3, 5, 11, 6}));
  expect_right_everywhere(product({3, 1, 7, 11}, {5, 11, 6}));
  expect_right_everywhere(product({4, 7, 11}, {11, 6}));
  expect_right_everywhere(product({7, 11}, {4, 11, 6}));
  expect_right_everywhere(product({2, 3, 7, 11}, {1, 1, 11, 6}));
}

TEST(MatMul, StridesTransposeEitherSide) {
  MatMulDesc desc = product({9, 14}, {14, 10});
  desc.a_strides = {1, 9};
  expect_right_everywhere(desc);
  desc.b_strides = {1, 14};
  expect_right_everywhere(desc);
  // Attention reads heads out of [tokens, heads, features] in place.
  desc = product({4, 6, 8}, {4, 8, 6});
  desc.a_strides = {8, 32, 1};
  desc.b_strides = {8, 1, 32};
  expect_right_everywhere(desc);
  desc = product({1, 14}, {14, 1});
  desc.a_strides = {14, 1};
  desc.b_strides = {1, 14};
  expect_right_everywhere(desc);
}

TEST(MatMul, BiasActivationAndResidualAreFused) {
  MatMulDesc desc = product({2, 13, 24}, {24, 40});
  desc.has_bias = true;
  desc.post_ops = {PostOp::of(Kind::kGeluErf), PostOp::binary(Kind::kBinaryAdd, {2, 13, 40})};
  expect_right_everywhere(desc);
  desc.post_ops = {PostOp::of(Kind::kGeluTanh), PostOp::sum()};
  expect_right_everywhere(desc);
  desc.post_ops = {PostOp::binary(Kind::kBinaryMul, {40}), PostOp::binary(Kind::kBinaryAdd, {1}),
                   PostOp::relu()};
  expect_right_everywhere(desc);
}

TEST(MatMul, AttentionMaskAndScaleAreFused) {
  MatMulDesc desc = product({2, 3, 8, 16}, {2, 3, 16, 8});
  desc.post_ops = {PostOp::of(Kind::kLinear, 0.25F, 0), PostOp::binary(Kind::kBinaryAdd, {2, 3, 8, 8})};
  expect_right_everywhere(desc);
}

TEST(MatMul, BadDescriptionsAreErrorsAndNotCrashes) {
  const Tensor b = random_tensor({16, 16}, 1);
  EXPECT_FALSE(MatMul::create(product({4, 5}, {6, 4}), b.data(), nullptr).ok());
  EXPECT_FALSE(MatMul::create(product({5}, {5, 4}), b.data(), nullptr).ok());
  EXPECT_FALSE(MatMul::create(product({2, 4, 5}, {3, 5, 4}), b.data(), nullptr).ok());
  EXPECT_FALSE(MatMul::create(product({0, 5}, {5, 4}), b.data(), nullptr).ok());
  MatMulDesc desc = product({4, 4}, {4, 4});
  desc.implementation = "no such kernel";
  EXPECT_FALSE(MatMul::create(desc, b.data(), nullptr).ok());
}

}  // namespace
}  // namespace hone::kernels
