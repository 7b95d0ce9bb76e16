// Pointwise programs against plain loops: every operator, broadcasting, types, reductions, in-place
// execution.
#include "kernels/cpu/pointwise/pointwise.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <random>
#include <vector>

#include <gtest/gtest.h>

#include "kernels/cpu/test_values.h"

namespace hone::kernels {
namespace {

using Op = PointwiseOp;

void run_pointwise(const PointwiseProgram& program, std::vector<const void*> inputs,
                   std::vector<void*> outputs) {
  Result<Pointwise> kernel = Pointwise::create(program);
  ASSERT_TRUE(kernel.ok()) << kernel.error().message;
  std::vector<CacheLine> scratch(kernel->scratch_bytes() / 64 + 1);
  std::fill_n(reinterpret_cast<unsigned char*>(scratch.data()), scratch.size() * 64, 0xA5);
  kernel->execute(inputs, outputs, scratch.data());
}

std::vector<float> uniform_values(int64_t n, float low, float high, unsigned seed = 1) {
  std::mt19937 random(seed);
  std::uniform_real_distribution<float> uniform(low, high);
  std::vector<float> values(static_cast<std::size_t>(n));
  for (float& v : values) v = uniform(random);
  return values;
}

std::vector<float> unwritten(int64_t n) { return std::vector<float>(static_cast<std::size_t>(n), -12345.0f); }

std::vector<float> unary(Op op, const std::vector<float>& x, float alpha = 0, float beta = 0) {
  PointwiseProgram program;
  program.shape = {static_cast<int64_t>(x.size())};
  const int a = program.input(DType::kF32, {1});
  program.output(program.apply(op, a, -1, -1, alpha, beta), DType::kF32);
  std::vector<float> y = unwritten(program.shape[0]);
  run_pointwise(program, {x.data()}, {y.data()});
  return y;
}

struct Case {
  Op op;
  std::function<double(double)> exact;
  float low, high;
  double ulps;      // allowed, of the result
  double absolute;  // allowed besides, where the result passes through zero by cancellation
  float alpha = 0, beta = 0;
};

double softplus(double x) { return std::log1p(std::exp(-std::abs(x))) + std::max(x, 0.0); }

const std::vector<Case>& cases() {
  static const std::vector<Case> list = {
      {Op::kExp, [](double x) { return std::exp(x); }, -104, 88.7f, 2, 0},
      {Op::kExpm1, [](double x) { return std::expm1(x); }, -20, 80, 4, 0},
      {Op::kExpm1, [](double x) { return std::expm1(x); }, -0.5, 0.5, 4, 0},
      {Op::kLog, [](double x) { return std::log(x); }, 1e-30f, 3, 4, 0},
      {Op::kLog, [](double x) { return std::log(x); }, 1e-3f, 1e30f, 4, 0},
      {Op::kLog1p, [](double x) { return std::log1p(x); }, -0.9f, 9, 2, 0},
      {Op::kSin, [](double x) { return std::sin(x); }, -100, 100, 4, 1e-7},
      {Op::kCos, [](double x) { return std::cos(x); }, -100, 100, 4, 1e-7},
      {Op::kSin, [](double x) { return std::sin(x); }, -1e6, 1e6, 4, 1e-7},
      {Op::kTanh, [](double x) { return std::tanh(x); }, -12, 12, 3, 0},
      {Op::kTanh, [](double x) { return std::tanh(x); }, -0.7f, 0.7f, 3, 0},
      {Op::kErf, [](double x) { return std::erf(x); }, -5, 5, 3, 0},
      {Op::kErf, [](double x) { return std::erf(x); }, -1e-3f, 1e-3f, 3, 0},
      {Op::kSigmoid, [](double x) { return 1 / (1 + std::exp(-x)); }, -80, 80, 4, 0},
      {Op::kSqrt, [](double x) { return std::sqrt(x); }, 0, 1e6, 1, 0},
      {Op::kRsqrt, [](double x) { return 1 / std::sqrt(x); }, 1e-6f, 1e6, 2, 0},
      {Op::kReciprocal, [](double x) { return 1 / x; }, -9, 9, 1, 0},
      {Op::kNeg, [](double x) { return -x; }, -9, 9, 0, 0},
      {Op::kAbs, [](double x) { return std::abs(x); }, -9, 9, 0, 0},
      {Op::kSign, [](double x) { return x > 0   ? 1
                                        : x < 0 ? -1
                                                : 0; }, -9, 9, 0, 0},
      {Op::kSquare, [](double x) { return x * x; }, -9, 9, 1, 0},
      {Op::kFloor, [](double x) { return std::floor(x); }, -9, 9, 0, 0},
      {Op::kCeil, [](double x) { return std::ceil(x); }, -9, 9, 0, 0},
      {Op::kRound, [](double x) { return std::nearbyint(x); }, -9, 9, 0, 0},
      {Op::kTan, [](double x) { return std::tan(x); }, -9, 9, 2, 0},
      {Op::kAsin, [](double x) { return std::asin(x); }, -1, 1, 2, 0},
      {Op::kAcos, [](double x) { return std::acos(x); }, -1, 1, 2, 0},
      {Op::kAtan, [](double x) { return std::atan(x); }, -9, 9, 2, 0},
      {Op::kSinh, [](double x) { return std::sinh(x); }, -9, 9, 4, 0},
      {Op::kCosh, [](double x) { return std::cosh(x); }, -9, 9, 2, 0},
      {Op::kAsinh, [](double x) { return std::asinh(x); }, -9, 9, 4, 0},
      {Op::kAcosh, [](double x) { return std::acosh(x); }, 1, 9, 4, 0},
      {Op::kAtanh, [](double x) { return std::atanh(x); }, -0.9f, 0.9f, 4, 0},
      {Op::kRelu, [](double x) { return std::max(x, 0.0); }, -9, 9, 0, 0},
      {Op::kLeakyRelu, [](double x) { return x < 0 ? 0.25 * x : x; }, -9, 9, 1, 0, 0.25f},
      {Op::kClip, [](double x) { return std::min(3.0, std::max(-2.0, x)); }, -9, 9, 0, 0, -2, 3},
      {Op::kHardSigmoid, [](double x) { return std::max(0.0, std::min(1.0, 0.25 * x + 0.5)); }, -9, 9, 1,
       1e-7, 0.25f, 0.5f},
      {Op::kSwish, [](double x) { return x / (1 + std::exp(-x)); }, -20, 20, 4, 0, 1},
      {Op::kHardSwish, [](double x) { return x * std::max(0.0, std::min(1.0, x / 6 + 0.5)); }, -9, 9, 4,
       3e-7},
      {Op::kMish, [](double x) { return x * std::tanh(softplus(x)); }, -20, 20, 6, 0},
      {Op::kElu, [](double x) { return x < 0 ? 1.5 * std::expm1(x) : x; }, -9, 9, 5, 0, 1.5f},
      {Op::kCelu, [](double x) { return x < 0 ? 2 * std::expm1(x / 2) : x; }, -9, 9, 5, 0, 2},
      {Op::kSelu, [](double x) { return 1.0625 * (x < 0 ? 1.5 * std::expm1(x) : x); }, -9, 9, 6, 0, 1.5f,
       1.0625f},
      {Op::kSoftplus, softplus, -80, 80, 4, 0},
      {Op::kSoftsign, [](double x) { return x / (1 + std::abs(x)); }, -9, 9, 2, 0},
      {Op::kThresholdedRelu, [](double x) { return x > 1 ? x : 0; }, -9, 9, 0, 0, 1},
      {Op::kShrink, [](double x) { return x < -1  ? x + 0.5
                                          : x > 1 ? x - 0.5
                                                  : 0; }, -9, 9, 1, 0, 1, 0.5f},
      {Op::kGeluErf, [](double x) { return 0.5 * x * (1 + std::erf(x / std::sqrt(2.0))); }, -6, 6, 3, 4e-7},
      {Op::kGeluTanh,
       [](double x) { return 0.5 * x * (1 + std::tanh(std::sqrt(2 / M_PI) * (x + 0.044715 * x * x * x))); },
       -6, 6, 8, 4e-7},
      {Op::kGeluErfSlope,
       [](double x) {
         return 0.5 * std::erfc(-x / std::sqrt(2.0)) + x * std::exp(-x * x / 2) / std::sqrt(2 * M_PI);
       },
       -25, 25, 4, 4e-7},
      {Op::kGeluTanhSlope,
       [](double x) {
         const double k = std::sqrt(2 / M_PI), t = std::tanh(k * (x + 0.044715 * x * x * x));
         return (1 + t) / 2 + x / 2 * (1 - t * t) * k * (1 + 0.134145 * x * x);
       },
       -25, 25, 8, 8e-7},
  };
  return list;
}

TEST(PointwiseFunctions, AreWithinAFewUlpOnADenseGrid) {
  for (const Case& test : cases()) {
    constexpr int64_t kPoints = 60'001;
    std::vector<float> x(kPoints);
    for (int64_t i = 0; i < kPoints; ++i) {
      const double t = static_cast<double>(i) / (kPoints - 1);
      x[static_cast<std::size_t>(i)] =
          static_cast<float>(static_cast<double>(test.low) +
                             t * (static_cast<double>(test.high) - static_cast<double>(test.low)));
    }
    const std::vector<float> y = unary(test.op, x, test.alpha, test.beta);
    double worst = 0;
    float worst_at = 0;
    for (std::size_t i = 0; i < x.size(); ++i) {
      const double exact = test.exact(static_cast<double>(x[i]));
      const double ulp = std::max(std::ldexp(1.0, std::ilogb(exact == 0 ? 1e-45 : std::abs(exact)) - 23),
                                  std::ldexp(1.0, -149));
      const double error = std::abs(static_cast<double>(y[i]) - exact);
      if (error <= test.absolute) continue;
      if (!(error / ulp <= worst)) {
        worst = error / ulp;
        worst_at = x[i];
      }
    }
    RecordProperty(std::string(pointwise_op_name(test.op)), std::to_string(worst));
    EXPECT_LE(worst, test.ulps) << pointwise_op_name(test.op) << " at " << worst_at;
  }
}

TEST(PointwiseFunctions, FollowIeeeAtTheEdges) {
  const float inf = std::numeric_limits<float>::infinity();
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const std::vector<float> x = {inf, -inf, nan, 0.0f, 200.0f, -200.0f};
  const std::vector<float> exp = unary(Op::kExp, x);
  EXPECT_EQ(exp[0], inf);
  EXPECT_EQ(exp[1], 0.0f);
  EXPECT_TRUE(std::isnan(exp[2]));
  EXPECT_EQ(exp[3], 1.0f);
  EXPECT_EQ(exp[4], inf);
  EXPECT_EQ(exp[5], 0.0f);
  const std::vector<float> log = unary(Op::kLog, {inf, -1.0f, nan, 0.0f, 1.0f});
  EXPECT_EQ(log[0], inf);
  EXPECT_TRUE(std::isnan(log[1]));
  EXPECT_TRUE(std::isnan(log[2]));
  EXPECT_EQ(log[3], -inf);
  EXPECT_EQ(log[4], 0.0f);
  for (Op op : {Op::kTanh, Op::kErf}) {
    const std::vector<float> y = unary(op, x);
    EXPECT_EQ(y[0], 1.0f);
    EXPECT_EQ(y[1], -1.0f);
    EXPECT_TRUE(std::isnan(y[2]));
    EXPECT_EQ(y[3], 0.0f);
  }
  const std::vector<float> sigmoid = unary(Op::kSigmoid, x);
  EXPECT_EQ(sigmoid[0], 1.0f);
  EXPECT_EQ(sigmoid[1], 0.0f);
  EXPECT_TRUE(std::isnan(sigmoid[2]));
  for (Op op :
       {Op::kRelu, Op::kClip, Op::kSoftplus, Op::kGeluErf, Op::kElu, Op::kSqrt, Op::kSin, Op::kSign}) {
    EXPECT_TRUE(std::isnan(unary(op, x, -1, 1)[2])) << pointwise_op_name(op);
  }
}

// A reference that walks the iteration space index by index.
float at(const std::vector<float>& data, const std::vector<int64_t>& strides, const Shape& shape,
         int64_t flat) {
  int64_t offset = 0;
  for (std::size_t axis = shape.size(); axis-- > 0;) {
    offset += flat % shape[axis] * strides[axis];
    flat /= shape[axis];
  }
  return data[static_cast<std::size_t>(offset)];
}

TEST(Pointwise, BroadcastsAnyStridesOverAnyShape) {
  const std::vector<Shape> shapes = {
      {1},       {7},          {3, 5},          {2, 3, 7, 7}, {5, 1, 1031}, {1, 64, 33, 31},
      {37, 768}, {4, 16, 300}, {2, 3, 4, 5, 6}, {1025},       {3, 2049},    {513, 2}};
  std::mt19937 random(3);
  for (const Shape& shape : shapes) {
    for (int round = 0; round < 8; ++round) {
      const int64_t total = element_count(shape);
      PointwiseProgram program;
      program.shape = shape;
      std::vector<std::vector<int64_t>> strides(3, row_major_strides(shape));
      for (int i = 1; i < 3; ++i) {
        for (std::size_t axis = 0; axis < shape.size(); ++axis) {
          if (random() % 2 == 0) strides[static_cast<std::size_t>(i)][axis] = 0;
        }
      }
      if (round % 3 == 2) std::reverse(strides[2].begin(), strides[2].end());
      int64_t extent = 1;
      for (std::size_t axis = 0; axis < shape.size(); ++axis) extent += (shape[axis] - 1) * strides[2][axis];
      const std::vector<float> x = uniform_values(total, -2, 2, 1), y = uniform_values(total, -2, 2, 2),
                               z = uniform_values(std::max(extent, total), -2, 2, 3);
      const int a = program.input(DType::kF32, strides[0]);
      const int b = program.input(DType::kF32, strides[1]);
      const int c = program.input(DType::kF32, strides[2]);
      const int sum = program.apply(Op::kAdd, program.apply(Op::kMul, a, b), c);
      const int out =
          program.apply(Op::kRelu, program.apply(Op::kSub, sum, program.constant(DType::kF32, 0.5)));
      program.output(out, DType::kF32);
      program.output(sum, DType::kF32);
      program.output(b, DType::kF32);
      std::vector<float> result = unwritten(total), second = unwritten(total), third = unwritten(total);
      run_pointwise(program, {x.data(), y.data(), z.data()}, {result.data(), second.data(), third.data()});
      for (int64_t i = 0; i < total; ++i) {
        const auto k = static_cast<std::size_t>(i);
        const float yb = at(y, strides[1], shape, i);
        const float s = x[k] * yb + at(z, strides[2], shape, i);
        ASSERT_NEAR(second[k], s, 1e-6f) << shape_text(shape) << " at " << i;
        ASSERT_NEAR(result[k], std::max(s - 0.5f, 0.0f), 1e-6f);
        ASSERT_EQ(third[k], yb);
      }
    }
  }
}

TEST(Pointwise, MayWriteOverADenseInputEvenWithSeveralOutputs) {
  const int64_t n = 5000;
  const std::vector<float> x = uniform_values(n, -3, 3);
  std::vector<float> inout = x, other = unwritten(n);
  PointwiseProgram program;
  program.shape = {n};
  const int a = program.input(DType::kF32, {1});
  const int square = program.apply(Op::kSquare, a);
  program.output(square, DType::kF32);
  program.output(program.apply(Op::kMul, square, a), DType::kF32);
  run_pointwise(program, {inout.data()}, {inout.data(), other.data()});
  for (std::size_t i = 0; i < x.size(); ++i) {
    EXPECT_EQ(inout[i], x[i] * x[i]);
    EXPECT_EQ(other[i], x[i] * x[i] * x[i]);
  }
}

TEST(Pointwise, ReducesTheLastAxes) {
  for (const Shape& shape :
       std::vector<Shape>{{3, 5}, {4, 7, 9}, {2, 3, 64, 64}, {600, 3}, {1, 5000}, {7, 1024, 1}}) {
    for (int reduced = 1; reduced <= static_cast<int>(shape.size()); ++reduced) {
      const int64_t total = element_count(shape);
      const int64_t group = element_count(std::span(shape).last(static_cast<std::size_t>(reduced)));
      const std::vector<float> x = uniform_values(total, -2, 2);
      PointwiseProgram program;
      program.shape = shape;
      program.reduced_axes = reduced;
      const int a = program.input(DType::kF32, row_major_strides(shape));
      const int b = program.apply(Op::kMul, a, program.constant(DType::kF32, 2));
      const std::vector<ReduceOp> ops = {ReduceOp::kSum, ReduceOp::kMean,      ReduceOp::kMax,
                                         ReduceOp::kMin, ReduceOp::kSumSquare, ReduceOp::kL1};
      std::vector<std::vector<float>> results;
      std::vector<void*> outputs;
      std::vector<float> full = unwritten(total);
      for (ReduceOp op : ops) program.output(b, DType::kF32, op);
      program.output(b, DType::kF32);
      for (std::size_t i = 0; i < ops.size(); ++i) results.push_back(unwritten(total / group));
      for (auto& result : results) outputs.push_back(result.data());
      outputs.push_back(full.data());
      run_pointwise(program, {x.data()}, outputs);
      for (int64_t g = 0; g < total / group; ++g) {
        double sum = 0, squares = 0, magnitude = 0, high = -1e30, low = 1e30;
        for (int64_t i = g * group; i < (g + 1) * group; ++i) {
          const double v = 2.0 * static_cast<double>(x[static_cast<std::size_t>(i)]);
          sum += v, squares += v * v, magnitude += std::abs(v), high = std::max(high, v),
                                                                low = std::min(low, v);
          ASSERT_EQ(full[static_cast<std::size_t>(i)], static_cast<float>(v));
        }
        const auto k = static_cast<std::size_t>(g);
        const double scale = static_cast<double>(group) * 1e-6 + 1e-6;
        EXPECT_NEAR(static_cast<double>(results[0][k]), sum, scale);
        EXPECT_NEAR(static_cast<double>(results[1][k]), sum / static_cast<double>(group), 1e-6);
        EXPECT_EQ(static_cast<double>(results[2][k]), high);
        EXPECT_EQ(static_cast<double>(results[3][k]), low);
        EXPECT_NEAR(static_cast<double>(results[4][k]), squares, 4 * scale);
        EXPECT_NEAR(static_cast<double>(results[5][k]), magnitude, 2 * scale);
      }
    }
  }
}

TEST(Pointwise, ComparesSelectsAndConvertsBetweenTypes) {
  const int64_t n = 1337;
  const std::vector<float> x = uniform_values(n, -300, 300), y = uniform_values(n, -300, 300, 2);
  PointwiseProgram program;
  program.shape = {n};
  const int a = program.input(DType::kF32, {1});
  const int b = program.input(DType::kF32, {1});
  const int less = program.apply(Op::kLess, a, b);
  const int positive = program.apply(Op::kGreater, a, program.constant(DType::kF32, 0));
  program.output(
      program.apply(Op::kWhere, program.apply(Op::kAnd, less, positive), a, program.constant(DType::kF32, 7)),
      DType::kF32);
  program.output(less, DType::kBool);
  program.output(a, DType::kI64);
  program.output(program.cast(a, DType::kI32), DType::kI8);
  program.output(a, DType::kF16);
  program.output(program.cast(a, DType::kBF16), DType::kF32);
  program.output(less, DType::kF32);
  std::vector<float> chosen = unwritten(n), rounded = unwritten(n), flags = unwritten(n);
  std::vector<uint8_t> bools(n, 9);
  std::vector<int64_t> longs(n, -1);
  std::vector<int8_t> bytes(n, -1);
  std::vector<uint16_t> halves(n, 1);
  run_pointwise(
      program, {x.data(), y.data()},
      {chosen.data(), bools.data(), longs.data(), bytes.data(), halves.data(), rounded.data(), flags.data()});
  for (std::size_t i = 0; i < x.size(); ++i) {
    EXPECT_EQ(chosen[i], x[i] < y[i] && x[i] > 0 ? x[i] : 7.0f);
    EXPECT_EQ(bools[i], x[i] < y[i] ? 1 : 0);
    EXPECT_EQ(flags[i], x[i] < y[i] ? 1.0f : 0.0f);
    EXPECT_EQ(longs[i], static_cast<int64_t>(x[i]));
    EXPECT_EQ(bytes[i], static_cast<int8_t>(static_cast<int64_t>(x[i])));
    EXPECT_EQ(halves[i], f32_to_f16(x[i]));
    EXPECT_EQ(rounded[i], bf16_to_f32(f32_to_bf16(x[i])));
  }
}

TEST(Pointwise, AZeroRemainderHasTheSignOfTheDivisor) {
  const std::vector<float> x = {0.0f, -0.0f, 4.0f, -4.0f};
  const std::vector<float> y = {-2.0f, 2.0f, -2.0f, 2.0f};
  const std::vector<double> wide_x(x.begin(), x.end());
  const std::vector<double> wide_y(y.begin(), y.end());
  std::vector<float> rest(4, 1.0f);
  std::vector<double> wide_rest(4, 1.0);
  for (const DType dtype : {DType::kF32, DType::kF64}) {
    PointwiseProgram program;
    program.shape = {4};
    const int a = program.input(dtype, {1}), b = program.input(dtype, {1});
    program.output(program.apply(Op::kMod, a, b), dtype);
    if (dtype == DType::kF32) {
      run_pointwise(program, {x.data(), y.data()}, {rest.data()});
    } else {
      run_pointwise(program, {wide_x.data(), wide_y.data()}, {wide_rest.data()});
    }
  }
  for (std::size_t i = 0; i < 4; ++i) {
    EXPECT_EQ(std::signbit(rest[i]), i % 2 == 0) << i;
    EXPECT_EQ(std::signbit(wide_rest[i]), i % 2 == 0) << i;
  }
}

TEST(Pointwise, IntegersWrapAndDivideWithoutTraps) {
  const std::vector<int32_t> x = {7, -7, 7, -7, std::numeric_limits<int32_t>::min(), 5, 0};
  const std::vector<int32_t> y = {3, 3, -3, -3, -1, 0, 4};
  PointwiseProgram program;
  program.shape = {7};
  const int a = program.input(DType::kI32, {1}), b = program.input(DType::kI32, {1});
  for (Op op : {Op::kDiv, Op::kMod, Op::kFmod, Op::kMul})
    program.output(program.apply(op, a, b), DType::kI32);
  std::vector<int32_t> div(7, 99), mod(7, 99), fmod(7, 99), mul(7, 99);
  run_pointwise(program, {x.data(), y.data()}, {div.data(), mod.data(), fmod.data(), mul.data()});
  EXPECT_EQ(div, (std::vector<int32_t>{2, -2, -2, 2, std::numeric_limits<int32_t>::min(), 0, 0}));
  EXPECT_EQ(mod, (std::vector<int32_t>{1, 2, -2, -1, 0, 0, 0}));
  EXPECT_EQ(fmod, (std::vector<int32_t>{1, -1, 1, -1, 0, 0, 0}));
  EXPECT_EQ(mul[4], std::numeric_limits<int32_t>::min());
}

// A tile that begins within a row must not leave its numbers to one that begins with a row.
TEST(Pointwise, GroupsLongerThanATileReadTheirRowsFromTheRightPlace) {
  for (const int64_t columns : {48, 100, 1000}) {
    const int64_t groups = 5, rows = 64;
    PointwiseProgram program;
    program.shape = {groups, rows, columns};
    program.reduced_axes = 2;
    const int x = program.input(DType::kF32, {rows * columns, columns, 1});
    const int y = program.input(DType::kF32, {0, 0, 1});
    program.output(program.apply(Op::kMul, x, y), DType::kF32, ReduceOp::kSum);
    const std::vector<float> a = uniform_values(groups * rows * columns, 0, 1),
                             b = uniform_values(columns, 0, 1, 2);
    std::vector<float> sums = unwritten(groups);
    run_pointwise(program, {a.data(), b.data()}, {sums.data()});
    for (int64_t group = 0; group < groups; ++group) {
      double sum = 0;
      for (int64_t i = 0; i < rows * columns; ++i)
        sum += double{a[static_cast<std::size_t>(group * rows * columns + i)]} *
               double{b[static_cast<std::size_t>(i % columns)]};
      EXPECT_NEAR(sums[static_cast<std::size_t>(group)], sum, 1e-5 * sum) << columns << " columns";
    }
  }
}

TEST(Pointwise, ReadsEveryStorageTypeBroadcast) {
  const std::vector<uint8_t> bytes = {0, 200, 255};
  const std::vector<uint16_t> halves = {f32_to_f16(1.5f), f32_to_f16(-2.0f), f32_to_f16(0.25f)};
  PointwiseProgram program;
  program.shape = {4, 3};
  const int a = program.cast(program.input(DType::kU8, {0, 1}), DType::kF32);
  const int b = program.input(DType::kF16, {0, 1});
  program.output(program.apply(Op::kMul, a, b), DType::kF32);
  program.output(program.apply(Op::kPow, a, program.constant(DType::kI64, 2)), DType::kF64);
  std::vector<float> product = unwritten(12);
  std::vector<double> square(12, -1);
  run_pointwise(program, {bytes.data(), halves.data()}, {product.data(), square.data()});
  EXPECT_EQ(product[10], -400.0f);
  EXPECT_EQ(product[2], 63.75f);
  EXPECT_EQ(square[11], 65025.0);
}

TEST(Pointwise, EmptySpacesWriteNothingOrTheIdentity) {
  PointwiseProgram program;
  program.shape = {3, 0};
  program.reduced_axes = 1;
  program.output(program.input(DType::kF32, {0, 1}), DType::kF32, ReduceOp::kSum);
  std::vector<float> y = unwritten(3);
  run_pointwise(program, {nullptr}, {y.data()});
  EXPECT_EQ(y, (std::vector<float>{0, 0, 0}));
}

TEST(Pointwise, RejectsProgramsThatBreakTheRules) {
  PointwiseProgram program;
  program.shape = {3};
  const int a = program.input(DType::kF32, {1});
  const int b = program.input(DType::kI64, {1});
  program.output(program.apply(Op::kAdd, a, b), DType::kF32);
  const Result<Pointwise> mixed = Pointwise::create(program);
  ASSERT_FALSE(mixed.ok());
  EXPECT_NE(mixed.error().message.find("add"), std::string::npos);
  PointwiseProgram complex;
  complex.shape = {3};
  complex.output(complex.input(DType::kC64, {1}), DType::kF32);
  EXPECT_FALSE(Pointwise::create(complex).ok());
}

}  // namespace
}  // namespace hone::kernels
