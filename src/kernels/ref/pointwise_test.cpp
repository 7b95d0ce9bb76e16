#include <cmath>
#include <limits>

#include "core/onnx_dtype.h"
#include "kernels/ref/test_call.h"

namespace hone::kernels::ref {
namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

TEST(RoundToOdd, MakesTwoRoundingsEqualToOne) {
  // 1 + 2^-11 + 2^-40 lies just above the middle of two f16 values: rounding through f32 alone gives 1.
  const double value = 1 + 0x1p-11 + 0x1p-40;
  EXPECT_EQ(f16_to_f32(f32_to_f16(static_cast<float>(value))), 1.0F);
  EXPECT_EQ(narrow(DType::kF16, {}, std::vector<double>{value}).at(0), 1 + 0x1p-10);
  EXPECT_EQ(round_to_odd(1.5), 1.5F);
  EXPECT_EQ(round_to_odd(kInfinity), std::numeric_limits<float>::infinity());
}

TEST(Pointwise, BroadcastsBothSides) {
  EXPECT_EQ(values("Add", {floats({2, 1}, {1, 2}), floats({3}, {10, 20, 30})}),
            (Doubles{11, 21, 31, 12, 22, 32}));
  EXPECT_TRUE(fails("Add", {floats({2}, {1, 2}), floats({3}, {1, 2, 3})}));
}

TEST(Pointwise, IntegersWrapAndNeverTrap) {
  const auto lowest = std::numeric_limits<int64_t>::min();
  EXPECT_EQ(values("Add", {ints({1}, {127}, DType::kI8), ints({1}, {1}, DType::kI8)}), Doubles{-128});
  EXPECT_EQ(values("Sub", {ints({1}, {0}, DType::kU8), ints({1}, {1}, DType::kU8)}), Doubles{255});
  auto quotient = run("Div", {ints({2}, {lowest, -7}), ints({2}, {-1, 2})});
  ASSERT_TRUE(quotient.ok());
  EXPECT_EQ((*quotient)[0].to_ints(), (Ints{lowest, -3}));
  EXPECT_TRUE(fails("Div", {ints({1}, {1}), ints({1}, {0})}));
  EXPECT_TRUE(fails("Mod", {ints({1}, {1}), ints({1}, {0})}));
}

TEST(Pointwise, ModTakesTheSignOfTheDivisorAndFmodOfTheDividend) {
  const Tensor a = ints({2}, {-7, 7});
  const Tensor b = ints({2}, {3, -3});
  EXPECT_EQ(values("Mod", {a, b}), (Doubles{2, -2}));
  EXPECT_EQ(values("Mod", {a, b}, {{"fmod", int64_t{1}}}), (Doubles{-1, 1}));
  const Doubles zeros = values("Mod", {floats({4}, {0, -0.0, 4, -4}), floats({4}, {-2, 2, -2, 2})});
  EXPECT_EQ(zeros, (Doubles{0, 0, 0, 0}));
  for (std::size_t i = 0; i < 4; ++i) EXPECT_EQ(std::signbit(zeros[i]), i % 2 == 0) << i;
}

TEST(Pointwise, PowKeepsTheTypeOfTheBase) {
  auto power = run("Pow", {ints({3}, {2, -1, 3}), floats({3}, {0.5, 3, 2})});
  ASSERT_TRUE(power.ok());
  EXPECT_EQ((*power)[0].dtype(), DType::kI64);
  EXPECT_EQ((*power)[0].to_ints(), (Ints{1, -1, 9}));
  EXPECT_EQ(values("Pow", {ints({2}, {2, 1}), ints({2}, {-1, -5})}), (Doubles{0, 1}));
}

TEST(Pointwise, MaximumAndMinimumPassNanOn) {
  for (std::string_view op : {"Max", "Min"}) {
    const auto result = values(op, {floats({2}, {kNan, 1}), floats({2}, {1, kNan})});
    EXPECT_TRUE(std::isnan(result[0]) && std::isnan(result[1])) << op;
  }
}

TEST(Pointwise, NegAndAbsKeepTheSignOfZeroRight) {
  EXPECT_TRUE(std::signbit(values("Neg", {floats({1}, {0.0})})[0]));
  EXPECT_FALSE(std::signbit(values("Abs", {floats({1}, {-0.0})})[0]));
}

TEST(Pointwise, RoundGoesToEven) {
  EXPECT_EQ(values("Round", {floats({4}, {0.5, 1.5, 2.5, -2.5})}), (Doubles{0, 2, 2, -2}));
}

TEST(Pointwise, ShiftsBeyondTheWidthGiveZero) {
  const Tensor x = ints({2}, {1, 255}, DType::kU8);
  EXPECT_EQ(values("BitShift", {x, ints({2}, {70, 1}, DType::kU8)}, {{"direction", std::string("LEFT")}}),
            (Doubles{0, 254}));
}

TEST(Pointwise, ARightShiftKeepsTheSignOfSignedNumbers) {
  const Attributes right{{"direction", std::string("RIGHT")}};
  const Tensor x = ints({4}, {-8, -1, 8, -128}, DType::kI8);
  EXPECT_EQ(values("BitShift", {x, ints({4}, {1, 70, 2, 7}, DType::kI8)}, right), (Doubles{-4, -1, 2, -1}));
  EXPECT_EQ(values("BitShift", {x, ints({1}, {-1}, DType::kI8)}, right), (Doubles{-1, -1, 0, -1}));
}

TEST(Pointwise, WhereMovesStrings) {
  const Tensor yes = Tensor::of_strings({2}, {"a", "b"});
  const Tensor no = Tensor::of_strings({}, {"-"});
  auto result = run("Where", {ints({2}, {0, 1}, DType::kBool), yes, no});
  ASSERT_TRUE(result.ok());
  EXPECT_EQ((*result)[0].strings(), (std::vector<std::string>{"-", "b"}));
}

TEST(Activation, StaysFiniteForLargeArguments) {
  EXPECT_EQ(values("Softplus", {floats({2}, {1000, -1000})}), (Doubles{1000, 0}));
  EXPECT_EQ(values("Sigmoid", {floats({2}, {1000, -1000})}), (Doubles{1, 0}));
  EXPECT_NEAR(values("Gelu", {floats({1}, {-0.5})})[0], -0.154269, 1e-6);
}

TEST(Cast, FollowsTheTargetType) {
  auto cast = [](Tensor x, DType to) { return values("Cast", {std::move(x)}, {{"to", dtype_to_onnx(to)}}); };
  EXPECT_EQ(cast(ints({1}, {200}), DType::kI8), Doubles{-56});
  EXPECT_EQ(cast(floats({3}, {-1.9, 1.9, kNan}), DType::kI32), (Doubles{-1, 1, 0}));
  EXPECT_EQ(cast(floats({2}, {0.25, 0}), DType::kBool), (Doubles{1, 0}));
  EXPECT_EQ(cast(Tensor::of_strings({3}, {"1e2", "-INF", "7"}), DType::kF32), (Doubles{100, -kInfinity, 7}));
  EXPECT_TRUE(fails("Cast", {Tensor::of_strings({1}, {"seven"})}, {{"to", dtype_to_onnx(DType::kF32)}}));
}

TEST(Quantize, WorksPerTensorPerAxisAndPerBlock) {
  const Tensor x = floats({2, 3}, {0, 1, 2, 3, 4, 300});
  const Tensor zero = ints({}, {1}, DType::kU8);
  EXPECT_EQ(values("QuantizeLinear", {x, floats({}, {2}), zero}), (Doubles{1, 1, 2, 3, 3, 151}));
  EXPECT_EQ(values("QuantizeLinear", {x, floats({2}, {1, 2})}, {{"axis", int64_t{0}}}),
            (Doubles{0, 1, 2, 2, 2, 150}));
  const Attributes blocks{{"axis", int64_t{1}}, {"block_size", int64_t{2}}};
  EXPECT_EQ(values("QuantizeLinear", {x, floats({2, 2}, {1, 2, 3, 4})}, blocks),
            (Doubles{0, 1, 1, 1, 1, 75}));
  EXPECT_TRUE(fails("QuantizeLinear", {x, floats({3}, {1, 2, 3})}, {{"axis", int64_t{0}}}));
}

TEST(Quantize, DynamicRangeIncludesZero) {
  auto outputs = run("DynamicQuantizeLinear", {floats({3}, {1, 2, 5.1})}, {}, 3);
  ASSERT_TRUE(outputs.ok());
  EXPECT_NEAR((*outputs)[1].at(0), 0.02, 1e-7);
  EXPECT_EQ((*outputs)[2].int_at(0), 0);
  EXPECT_EQ((*outputs)[0].to_ints(), (Ints{50, 100, 255}));
}

}  // namespace
}  // namespace hone::kernels::ref
