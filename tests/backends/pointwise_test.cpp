// Pointwise operators and groups on the CPU against the reference.
#include "tests/backends/compare.h"
#include <gtest/gtest.h>

#include "core/onnx_dtype.h"

namespace hone::backends {
namespace {

using graph::GraphBuilder;
using graph::ValueId;

struct Range {
  std::string op;
  double low = -3, high = 3;
};

// Fed through Neg, so that the operand is a buffer that the kernel may overwrite.
void compare_unary(const Range& r, const Shape& shape, Attributes attributes = {}) {
  SCOPED_TRACE(r.op + shape_text(shape));
  CompareOptions options;
  options.low = -r.high;
  options.high = -r.low;
  compare_all_kernels(
      [&](GraphBuilder& b) -> std::vector<ValueId> {
        return {b.add(r.op, {b.add("Neg", {f32_input(b, "x", shape)})}, attributes)};
      },
      options);
}

TEST(Pointwise, EveryFunctionOfOneNumberAgrees) {
  for (const Range& r : std::vector<Range>{{"Neg"},
                                           {"Abs"},
                                           {"Sign"},
                                           {"Sqrt", 0, 9},
                                           {"Reciprocal", 0.1, 4},
                                           {"Exp"},
                                           {"Log", 0.01, 9},
                                           {"Sin", -9, 9},
                                           {"Cos", -9, 9},
                                           {"Tan", -1.4, 1.4},
                                           {"Asin", -1, 1},
                                           {"Acos", -1, 1},
                                           {"Atan"},
                                           {"Sinh"},
                                           {"Cosh"},
                                           {"Tanh"},
                                           {"Asinh"},
                                           {"Acosh", 1, 5},
                                           {"Atanh", -0.9, 0.9},
                                           {"Erf"},
                                           {"Floor"},
                                           {"Ceil"},
                                           {"Round"},
                                           {"Relu"},
                                           {"LeakyRelu"},
                                           {"Sigmoid"},
                                           {"HardSigmoid"},
                                           {"Swish"},
                                           {"HardSwish", -5, 5},
                                           {"Mish"},
                                           {"Elu"},
                                           {"Celu"},
                                           {"Selu"},
                                           {"Softplus"},
                                           {"Softsign"},
                                           {"ThresholdedRelu"},
                                           {"Shrink"},
                                           {"IsNaN"},
                                           {"IsInf"},
                                           {"Gelu"}}) {
    for (const Shape& shape : {Shape{}, Shape{1}, Shape{3, 5}, Shape{2, 3, 67}}) compare_unary(r, shape);
  }
}

TEST(Pointwise, AttributesAreHeeded) {
  const Shape shape{3, 37};
  compare_unary({"LeakyRelu"}, shape, {{"alpha", 0.3F}});
  compare_unary({"HardSigmoid"}, shape, {{"alpha", 0.3F}, {"beta", 0.4F}});
  compare_unary({"Swish"}, shape, {{"alpha", 0.7F}});
  compare_unary({"Elu"}, shape, {{"alpha", 0.7F}});
  compare_unary({"Celu"}, shape, {{"alpha", 0.7F}});
  compare_unary({"Selu"}, shape, {{"alpha", 0.7F}, {"gamma", 1.5F}});
  compare_unary({"ThresholdedRelu"}, shape, {{"alpha", 0.7F}});
  compare_unary({"Shrink"}, shape, {{"lambd", 0.7F}, {"bias", 0.2F}});
  compare_unary({"Gelu"}, shape, {{"approximate", std::string("tanh")}});
}

TEST(Pointwise, SpecialNumbersAgree) {
  const float inf = std::numeric_limits<float>::infinity();
  const float nan = std::numeric_limits<float>::quiet_NaN();
  CompareOptions options;
  options.inputs = {
      Tensor::f32({9}, std::vector<float>{inf, -inf, nan, 0.0F, -0.0F, 1e30F, -1e30F, 88.8F, -104})};
  for (const char* op :
       {"Neg", "Abs", "Sign", "Exp", "Tanh", "Sigmoid", "Erf", "Relu", "LeakyRelu", "Floor", "Round", "IsNaN",
        "IsInf", "Gelu", "Softplus", "Swish", "HardSwish", "Elu", "Atan"}) {
    SCOPED_TRACE(op);
    compare_all_kernels(
        [&](GraphBuilder& b) -> std::vector<ValueId> { return {b.add(op, {f32_input(b, "x", {9})})}; },
        options);
  }
}

struct Pair {
  Shape a, b;
};
const std::vector<Pair> kPairs = {
    {{3, 5}, {3, 5}},          {{3, 5}, {5}}, {{3, 1}, {1, 5}},         {{2, 3, 4, 5}, {3, 1, 1}},
    {{2, 1, 4, 1}, {3, 1, 5}}, {{}, {4, 19}}, {{2, 3, 70}, {2, 1, 70}}, {{1}, {1, 1}},
    {{5, 1, 33}, {5, 7, 1}}};

void compare_binary(const std::string& op, DType dtype, const CompareOptions& options = {},
                    Attributes attributes = {}) {
  for (const Pair& p : kPairs) {
    SCOPED_TRACE(op + std::string(dtype_name(dtype)) + shape_text(p.a) + shape_text(p.b));
    compare_all_kernels(
        [&](GraphBuilder& b) -> std::vector<ValueId> {
          return {b.add(op, {input_of(b, "a", dtype, p.a), input_of(b, "b", dtype, p.b)}, attributes)};
        },
        options);
  }
}

TEST(Pointwise, EveryFunctionOfTwoNumbersAgrees) {
  CompareOptions positive;
  positive.low = 0.2;
  positive.high = 3;
  for (const char* op : {"Add", "Sub", "Mul", "Max", "Min", "Sum", "Equal", "Less", "LessOrEqual", "Greater",
                         "GreaterOrEqual"})
    compare_binary(op, DType::kF32);
  for (const char* op : {"Div", "Pow"}) compare_binary(op, DType::kF32, positive);
  compare_binary("Mod", DType::kF32, {}, {{"fmod", int64_t{1}}});
  for (const char* op : {"And", "Or", "Xor", "Equal"}) compare_binary(op, DType::kBool);
}

TEST(Pointwise, IntegersAgree) {
  for (const DType dtype : {DType::kI64, DType::kI32, DType::kI8, DType::kU8, DType::kI16}) {
    CompareOptions options;
    options.int_low = dtype == DType::kU8 ? 0 : -9;
    for (const char* op : {"Add", "Sub", "Mul", "Max", "Min", "Equal", "Less", "Greater"})
      compare_binary(op, dtype, options);
    CompareOptions positive;
    positive.int_low = 1;
    for (const char* op : {"Div", "Mod"}) compare_binary(op, dtype, positive);
  }
  CompareOptions options;
  options.int_high = 3;
  options.int_low = 0;
  compare_binary("Pow", DType::kI64, options);
}

TEST(Pointwise, HalvesAndDoublesAgree) {
  for (const DType dtype : {DType::kF16, DType::kBF16, DType::kF64}) {
    for (const char* op : {"Add", "Mul", "Sub", "Less"}) compare_binary(op, dtype);
  }
}

TEST(Pointwise, PReluAgreesForEverySlopeShape) {
  for (const Shape& slope : {Shape{1}, Shape{3, 1, 1}, Shape{1, 3, 1, 1}, Shape{2, 3, 4, 5}, Shape{5}}) {
    SCOPED_TRACE(shape_text(slope));
    compare_all_kernels([&](GraphBuilder& b) -> std::vector<ValueId> {
      return {b.add("PRelu", {f32_input(b, "x", {2, 3, 4, 5}), f32_constant(b, slope)})};
    });
  }
}

TEST(Pointwise, WhereAgrees) {
  for (const DType dtype : {DType::kF32, DType::kI64, DType::kBool, DType::kF16}) {
    SCOPED_TRACE(dtype_name(dtype));
    compare_all_kernels([&](GraphBuilder& b) -> std::vector<ValueId> {
      return {b.add("Where", {input_of(b, "c", DType::kBool, {3, 1, 5}), input_of(b, "x", dtype, {2, 1}),
                              input_of(b, "y", dtype, {5})})};
    });
  }
}

TEST(Pointwise, ClipAgreesWithBoundsLeftOut) {
  for (const DType dtype : {DType::kF32, DType::kI64}) {
    for (const int which : {0, 1, 2, 3}) {
      for (const bool computed : {false, true}) {
        SCOPED_TRACE(testing::Message() << dtype_name(dtype) << which << computed);
        compare_all_kernels([&](GraphBuilder& b) -> std::vector<ValueId> {
          auto bound = [&](const char* name, int64_t value) {
            if (computed) return input_of(b, name, dtype, {});
            return b.constant(name, dtype == DType::kF32 ? Tensor::scalar_f32(static_cast<float>(value) / 9)
                                                         : Tensor::scalar_i64(value));
          };
          return {b.add(
              "Clip", {input_of(b, "x", dtype, {3, 7}), (which & 1) != 0 ? bound("lo", -3) : graph::kNoValue,
                       (which & 2) != 0 ? bound("hi", 4) : graph::kNoValue})};
        });
      }
    }
  }
}

TEST(Pointwise, EveryCastAgrees) {
  const std::vector<DType> types = {DType::kF32, DType::kF64,  DType::kF16, DType::kBF16,
                                    DType::kI64, DType::kI32,  DType::kI16, DType::kI8,
                                    DType::kU8,  DType::kBool, DType::kU32};
  CompareOptions options;
  options.low = 0;
  options.high = 100;
  options.int_low = 0;
  options.int_high = 100;
  for (const DType from : types) {
    for (const DType to : types) {
      SCOPED_TRACE(std::string(dtype_name(from)) + " to " + std::string(dtype_name(to)));
      compare_all_kernels(
          [&](GraphBuilder& b) -> std::vector<ValueId> {
            return {b.add("Cast", {input_of(b, "x", from, {3, 23})}, {{"to", dtype_to_onnx(to)}})};
          },
          options);
    }
  }
}

TEST(Pointwise, VariadicOperatorsAgree) {
  for (const char* op : {"Sum", "Max", "Min", "Mean"}) {
    for (const std::size_t count : {1, 2, 3, 5}) {
      SCOPED_TRACE(testing::Message() << op << count);
      compare_all_kernels([&](GraphBuilder& b) -> std::vector<ValueId> {
        std::vector<ValueId> in;
        for (std::size_t i = 0; i < count; ++i)
          in.push_back(f32_input(b, "x", i % 2 == 0 ? Shape{3, 5} : Shape{5}));
        return {b.add(op, in)};
      });
    }
  }
}

TEST(Pointwise, OtherLayoutsAgree) {
  for (const std::string layout : {"channels_last", "blocked16", "blocked8"}) {
    for (const int64_t channels : {32, 20, 3}) {
      for (const Shape& spatial : {Shape{5, 7}, Shape{9}, Shape{2, 3, 4}}) {
        Shape shape{2, channels};
        shape.insert(shape.end(), spatial.begin(), spatial.end());
        SCOPED_TRACE(layout + shape_text(shape));
        compare_all_kernels([&](GraphBuilder& b) -> std::vector<ValueId> {
          const ValueId x = reorder(b, f32_input(b, "x", shape), layout);
          const ValueId y = reorder(b, f32_input(b, "y", shape), layout);
          const ValueId sum = b.add("Add", {b.add("Sigmoid", {x}), y});
          return {reorder(b, b.add("Mul", {sum, scalar(b, 3)}), "plain")};
        });
        compare_all_kernels([&](GraphBuilder& b) -> std::vector<ValueId> {
          Shape pooled(shape.size(), 1);
          pooled[0] = 2;
          pooled[1] = channels;
          const ValueId x = reorder(b, f32_input(b, "x", shape), layout);
          const ValueId gate = reorder(b, f32_input(b, "g", pooled), layout);
          return {reorder(b, b.add("Mul", {x, gate}), "plain")};
        });
      }
    }
  }
}

// Constants of one number a channel, also where the channels do not fill the last block and where an image is
// larger than a tile.
TEST(Pointwise, ConstantsOfAChannelAgreeInEveryLayout) {
  for (const char* layout : {"channels_last", "blocked16", "blocked8"}) {
    for (const int64_t channels : {32, 24, 20, 3}) {
      for (const Shape& constant : {Shape{channels, 1, 1}, Shape{1, channels, 1, 1}}) {
        SCOPED_TRACE(layout + shape_text(constant));
        const Build build = [&](GraphBuilder& b) -> std::vector<ValueId> {
          const ValueId x = reorder(b, f32_input(b, "x", {2, channels, 40, 37}), layout);
          const ValueId scaled = b.add("Mul", {x, f32_constant(b, constant)});
          const ValueId shifted = b.add("Add", {f32_constant(b, constant, 2), scaled});
          return {reorder(b, b.add("Relu", {shifted}), "plain"), reorder(b, scaled, "plain")};
        };
        compare_all_kernels(build);
        compare_all_kernels(fused(build, graph::GroupKind::kPointwise));
      }
    }
  }
}

TEST(Pointwise, AConstantOfAChannelReadTwiceAgreesInBlocks) {
  compare_all_kernels([](GraphBuilder& b) -> std::vector<ValueId> {
    const ValueId x = reorder(b, f32_input(b, "x", {2, 20, 5, 7}), "blocked16");
    const ValueId slope = f32_constant(b, {20, 1, 1}, 3);
    return {reorder(b, b.add("Mul", {b.add("Sub", {x, slope}), slope}), "plain")};
  });
}

// Channel padding of a blocked tensor must stay zero: the convolution reads it.
TEST(Pointwise, PaddingOfBlockedTensorsStaysHarmless) {
  CompareOptions options;
  options.low = 0.5;
  options.high = 2;
  compare_all_kernels(
      [&](GraphBuilder& b) -> std::vector<ValueId> {
        const ValueId x = reorder(b, f32_input(b, "x", {2, 20, 5, 7}), "blocked16");
        const ValueId y = b.add("Conv", {b.add("Log", {x}), f32_constant(b, {16, 20, 3, 3})});
        return {reorder(b, y, "plain")};
      },
      options);
  // A division by what fills up a constant's last block.
  compare_all_kernels(
      [&](GraphBuilder& b) -> std::vector<ValueId> {
        const ValueId x = reorder(b, f32_input(b, "x", {2, 20, 5, 7}), "blocked16");
        const ValueId divisor = b.constant("d", random_floats({20, 1, 1}, 5, 0.5, 2));
        const ValueId y = b.add("Conv", {b.add("Div", {x, divisor}), f32_constant(b, {16, 20, 3, 3})});
        return {reorder(b, y, "plain")};
      },
      options);
}

TEST(Pointwise, GroupsAgree) {
  const Build swish = [](GraphBuilder& b) -> std::vector<ValueId> {
    const ValueId x = f32_input(b, "x", {3, 4, 17});
    const ValueId y = f32_input(b, "y", {4, 1});
    const ValueId scaled = b.add("Add", {b.add("Mul", {x, y}), f32_constant(b, {17})});
    return {b.add("Mul", {scaled, b.add("Sigmoid", {scaled})})};
  };
  compare_all_kernels(fused(swish, graph::GroupKind::kPointwise));
  const Build mask = [](GraphBuilder& b) -> std::vector<ValueId> {
    const ValueId m = input_of(b, "m", DType::kI64, {2, 1, 1, 9});
    const ValueId f = b.add("Cast", {m}, {{"to", dtype_to_onnx(DType::kF32)}});
    return {b.add("Mul", {b.add("Sub", {scalar(b, 1), f}), scalar(b, -3.4e38F)})};
  };
  compare_all_kernels(fused(mask, graph::GroupKind::kPointwise));
  const Build two_results = [](GraphBuilder& b) -> std::vector<ValueId> {
    const ValueId x = f32_input(b, "x", {3, 4, 17});
    const ValueId e = b.add("Exp", {x});
    return {e, b.add("Greater", {b.add("Sub", {e, f32_input(b, "y", {17})}), scalar(b, 0.5F)})};
  };
  compare_all_kernels(fused(two_results, graph::GroupKind::kPointwise));
}

TEST(Quantise, EveryFormAgrees) {
  CompareOptions options;
  options.low = -40;
  options.high = 40;
  for (const DType type : {DType::kI8, DType::kU8, DType::kI16, DType::kU16}) {
    for (const char* layout : {"plain", "blocked16"}) {
      SCOPED_TRACE(std::string(dtype_name(type)) + layout);
      const Build build = [&](GraphBuilder& b) -> std::vector<ValueId> {
        const ValueId x = f32_input(b, "x", {2, 20, 5, 3});
        const ValueId scale = scalar(b, 0.25F);
        Tensor point = Tensor::zeros(type, {});
        static_cast<std::byte*>(point.data())[0] = std::byte{3};
        const ValueId zero = b.constant("z", point);
        const ValueId q = b.add("QuantizeLinear", {reorder(b, x, layout), scale, zero});
        return {reorder(b, q, "plain"), reorder(b, b.add("DequantizeLinear", {q, scale, zero}), "plain")};
      };
      compare_all_kernels(build, options);
    }
  }
}

TEST(Quantise, ScalesAlongAnAxisAgree) {
  for (const int64_t axis : {0, 1, 2}) {
    SCOPED_TRACE(axis);
    const int64_t count = Shape{3, 4, 5}[static_cast<std::size_t>(axis)];
    compare_all_kernels([&](GraphBuilder& b) -> std::vector<ValueId> {
      const ValueId scale = b.constant("scale", random_floats({count}, 3, 0.01, 0.1));
      const ValueId zero = b.constant("zero", Tensor::zeros(DType::kI8, {count}));
      const Attributes along{{"axis", axis}};
      const ValueId q = b.add("QuantizeLinear", {f32_input(b, "x", {3, 4, 5}), scale, zero}, along);
      return {q, b.add("DequantizeLinear", {q, scale, zero}, along)};
    });
  }
}

TEST(Quantise, ScalesOfAChannelAgreeInBlocks) {
  compare_all_kernels([](GraphBuilder& b) -> std::vector<ValueId> {
    const ValueId scale = b.constant("scale", random_floats({20}, 3, 0.01, 0.1));
    const ValueId zero = b.constant("zero", Tensor::zeros(DType::kI8, {20}));
    const Attributes along{{"axis", int64_t{1}}};
    const ValueId x = reorder(b, f32_input(b, "x", {2, 20, 5, 3}), "blocked16");
    const ValueId q = b.add("QuantizeLinear", {x, scale, zero}, along);
    return {reorder(b, b.add("DequantizeLinear", {q, scale, zero}, along), "plain")};
  });
}

TEST(Quantise, ToAndFroInOneGroupAgrees) {
  const Build build = [](GraphBuilder& b) -> std::vector<ValueId> {
    const ValueId scale = scalar(b, 0.02F);
    const ValueId zero = b.constant("z", Tensor::zeros(DType::kU8, {}));
    const ValueId q = b.add("QuantizeLinear", {b.add("Relu", {f32_input(b, "x", {3, 4, 17})}), scale, zero});
    return {q, b.add("Mul", {b.add("DequantizeLinear", {q, scale, zero}), scalar(b, 2)})};
  };
  compare_all_kernels(fused(build, graph::GroupKind::kPointwise));
}

TEST(Pointwise, OneConstantReadTwiceAgrees) {
  compare_all_kernels([](GraphBuilder& b) -> std::vector<ValueId> {
    const ValueId c = scalar(b, 3);
    return {b.add("Sub", {b.add("Add", {f32_input(b, "x", {5}), c}), b.add("Mul", {c, c})})};
  });
}

}  // namespace
}  // namespace hone::backends
