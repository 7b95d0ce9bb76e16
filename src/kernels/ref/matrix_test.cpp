#include "kernels/ref/test_call.h"
#include "kernels/ref/wide.h"

namespace hone::kernels::ref {
namespace {

TEST(RefMatMul, MultipliesMatricesAndBroadcastsBatches) {
  const Tensor a = floats({2, 1, 2, 2}, {1, 2, 3, 4, 5, 6, 7, 8});
  const Tensor b = floats({2, 1}, {10, 100});
  expect_values(run("MatMul", {a, b}), 0, {2, 1, 2, 1}, {210, 430, 650, 870});
}

TEST(RefMatMul, VectorsLoseTheirAxis) {
  const Tensor v = floats({2}, {1, 2});
  expect_values(run("MatMul", {v, v}), 0, {}, {5});
  expect_values(run("MatMul", {v, floats({2, 3}, {1, 2, 3, 4, 5, 6})}), 0, {3}, {9, 12, 15});
  EXPECT_FALSE(run("MatMul", {v, floats({3}, {1, 2, 3})}).ok());
  EXPECT_FALSE(run("MatMul", {v, floats({}, {1})}).ok());
}

TEST(RefMatMul, IntegersWrapAround) {
  const std::vector<int32_t> big{1 << 30, 1 << 30};
  const std::vector<int32_t> two{3, 3};
  const auto y = run("MatMul", {Tensor::of<int32_t>(DType::kI32, {1, 2}, big),
                                Tensor::of<int32_t>(DType::kI32, {2, 1}, two)});
  expect_values(y, 0, {1, 1}, {-2147483648.0});
}

TEST(RefMatMul, NarrowFloatsRoundOnce) {
  // 1 + 2^-11 lies half-way between two f16; a third term decides, which rounding twice would lose.
  const Tensor a = rounded(DType::kF16, {1, 3}, {1, std::ldexp(1.0, -11), std::ldexp(1.0, -14)});
  const Tensor b = rounded(DType::kF16, {3, 1}, {1, 1, std::ldexp(1.0, -14)});
  expect_values(run("MatMul", {a, b}), 0, {1, 1}, {1 + std::ldexp(1.0, -10)}, 0);
}

TEST(RefGemm, TransposesScalesAndBroadcastsC) {
  const Tensor a = floats({2, 3}, {1, 4, 2, 5, 3, 6});  // read as its transpose, 3 × 2
  const Tensor b = floats({2, 2}, {1, 0, 0, 1});
  const auto y = run("Gemm", {a, b, floats({2}, {10, 20})},
                     {{"transA", int64_t{1}}, {"transB", int64_t{1}}, {"alpha", 2.0F}, {"beta", 0.5F}});
  expect_values(y, 0, {3, 2}, {7, 20, 13, 16, 9, 22});
  EXPECT_FALSE(run("Gemm", {b, b, floats({3}, {1, 2, 3})}).ok());
}

TEST(RefMatMulInteger, SubtractsZeroPointsOfRowsAndColumns) {
  const Tensor a = Tensor::of<uint8_t>(DType::kU8, {2, 2}, std::vector<uint8_t>{11, 7, 10, 6});
  const Tensor b = Tensor::of<uint8_t>(DType::kU8, {2, 1}, std::vector<uint8_t>{1, 4});
  const Tensor zero = Tensor::of<uint8_t>(DType::kU8, {}, std::vector<uint8_t>{12});
  expect_values(run("MatMulInteger", {a, b, zero}), 0, {2, 1}, {-21, -26});
  const Tensor rows = Tensor::of<uint8_t>(DType::kU8, {2}, std::vector<uint8_t>{11, 6});
  expect_values(run("MatMulInteger", {a, b, rows}), 0, {2, 1}, {-16, 4});
}

TEST(RefEinsum, DoesDiagonalsEllipsesAndOuterProducts) {
  const Tensor m = floats({2, 2}, {1, 2, 3, 4});
  expect_values(run("Einsum", {m}, {{"equation", std::string("ii->i")}}), 0, {2}, {1, 4});
  expect_values(run("Einsum", {m}, {{"equation", std::string("ii")}}), 0, {}, {5});
  expect_values(run("Einsum", {m}, {{"equation", std::string("...i->...")}}), 0, {2}, {3, 7});
  const Tensor v = floats({2}, {1, 10});
  expect_values(run("Einsum", {v, v}, {{"equation", std::string("i,j->ij")}}), 0, {2, 2}, {1, 10, 10, 100});
  expect_values(run("Einsum", {m, m}, {{"equation", std::string("ij,kj->ik")}}), 0, {2, 2}, {5, 11, 11, 25});
  EXPECT_FALSE(run("Einsum", {m, floats({3}, {1, 2, 3})}, {{"equation", std::string("ij,j->i")}}).ok());
}

TEST(RefDet, PivotsAndSeesSingularMatrices) {
  expect_values(run("Det", {floats({2, 2, 2}, {0, 1, 1, 0, 1, 2, 2, 4})}), 0, {2}, {-1, 0});
  EXPECT_FALSE(run("Det", {floats({1, 2}, {1, 2})}).ok());
}

TEST(RefAttention, CausalMaskSharesHeadsAndGrowsTheCache) {
  // One key/value head for two query heads; scores are all zero, so weights are even over admitted keys.
  const Tensor q = Tensor::zeros(DType::kF32, {1, 2, 2, 1});
  const Tensor k = Tensor::zeros(DType::kF32, {1, 1, 2, 1});
  const Tensor v = floats({1, 1, 2, 1}, {4, 10});
  const Tensor past = Tensor::zeros(DType::kF32, {1, 1, 1, 1});
  const Attributes causal{{"is_causal", int64_t{1}}};
  expect_values(run("Attention", {q, k, v}, causal), 0, {1, 2, 2, 1}, {4, 7, 4, 7});
  const auto y = run("Attention", {q, k, v, {}, past, floats({1, 1, 1, 1}, {1})}, causal, 4);
  expect_values(y, 0, {1, 2, 2, 1}, {2.5, 5, 2.5, 5});
  expect_values(y, 2, {1, 1, 3, 1}, {1, 4, 10});
  expect_values(y, 3, {1, 2, 2, 3}, {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0});
}

TEST(RefAttention, BoolMaskAndBrokenShapes) {
  const Tensor q = Tensor::zeros(DType::kF32, {1, 1, 2});
  const Tensor v = floats({1, 2, 2}, {1, 2, 3, 4});
  const Tensor mask = Tensor::of<uint8_t>(DType::kBool, {1, 2}, std::vector<uint8_t>{0, 1});
  const Attributes heads{{"q_num_heads", int64_t{1}}, {"kv_num_heads", int64_t{1}}};
  expect_values(run("Attention", {q, v, v, mask}, heads), 0, {1, 1, 2}, {3, 4});
  EXPECT_FALSE(run("Attention", {q, v, v}).ok());
  EXPECT_FALSE(run("Attention", {q, v, q}, heads).ok());
  EXPECT_FALSE(run("Attention", {q, v, v, floats({3}, {1, 2, 3})}, heads).ok());
}

TEST(RefRotaryEmbedding, TurnsPairsByThePositionsAngle) {
  const Tensor x = floats({1, 1, 1, 2}, {1, 2});
  const Tensor cosines = floats({2, 1}, {1, 0}), sines = floats({2, 1}, {0, 1});
  expect_values(run("RotaryEmbedding", {x, cosines, sines, Tensor::i64({1, 1}, std::vector<int64_t>{1})}), 0,
                {1, 1, 1, 2}, {-2, 1});
  EXPECT_FALSE(
      run("RotaryEmbedding", {x, cosines, sines, Tensor::i64({1, 1}, std::vector<int64_t>{2})}).ok());
}

}  // namespace
}  // namespace hone::kernels::ref
