// Gradient rules of arithmetic, activations, reductions and products against finite differences: odd shapes,
// broadcasting, every form of the operator.
#include "tests/gradients/check_gradient.h"
#include "tests/gradients/nodes.h"
#include <gtest/gtest.h>

#include "core/onnx_dtype.h"
#include "graph/differentiate.h"
#include "runtime/interpreter.h"

namespace hone::gradients {
namespace {

using graph::GraphBuilder;
using graph::kNoValue;
using graph::ValueId;

const std::vector<std::vector<Shape>> kPairs = {{{3, 5}, {3, 5}}, {{2, 3, 5}, {3, 1}},    {{7}, {}},
                                                {{1}, {4, 1, 3}}, {{2, 1, 3}, {1, 5, 1}}, {{1, 1}, {1}}};

TEST(GradientRules, OfTwoOperands) {
  for (const auto& shapes : kPairs) {
    for (const char* op : {"Add", "Sub", "Mul", "Max", "Min"}) {
      SCOPED_TRACE(op);
      check_gradient(shapes, node(op));
    }
    check_gradient(shapes, node("Div"), {.low = 0.5, .high = 2});
    check_gradient(shapes, node("Pow"), {.low = 0.5, .high = 2});
  }
}

TEST(GradientRules, OfDropoutFromAStreamAndOfAFence) {
  check_gradient({{4, 5}}, [](GraphBuilder& b, const Values& x) {
    const ValueId seed = b.constant("seed", Tensor::scalar_i64(3));
    const ValueId offset = b.constant("offset", Tensor::scalar_i64(40));
    const ValueId ratio = b.constant("ratio", Tensor::scalar_f32(0.25F));
    return b.add("Sin", {b.add("hone.Dropout", {b.add("Exp", x), seed, offset, ratio})});
  });
  check_gradient({{4, 5}, {3}}, [](GraphBuilder& b, const Values& x) {
    return b.add("Sin", {b.add("hone.Recompute", {x[0], x[1]})});
  });
}

TEST(GradientRules, OfOneOperand) {
  for (const char* op : {"Neg",         "Exp",
                         "Abs",         "Erf",
                         "Sin",         "Cos",
                         "Tan",         "Sinh",
                         "Cosh",        "Asinh",
                         "Atan",        "Relu",
                         "LeakyRelu",   "Sigmoid",
                         "Tanh",        "Softplus",
                         "Softsign",    "Elu",
                         "Celu",        "Selu",
                         "Gelu",        "Swish",
                         "HardSigmoid", "HardSwish",
                         "Mish",        "ThresholdedRelu",
                         "Shrink",      "Identity"}) {
    SCOPED_TRACE(op);
    const double reach = std::string(op) == "Tan" ? 1 : 4;
    check_gradient({{3, 5}}, node(op), {.low = -reach, .high = reach});
    check_gradient({{}}, node(op), {.low = -reach, .high = reach});
  }
  for (const char* op : {"Asin", "Acos", "Atanh"}) {
    SCOPED_TRACE(op);
    check_gradient({{2, 7}}, node(op), {.low = -0.9, .high = 0.9});
  }
  check_gradient({{2, 7}}, node("Acosh"), {.low = 1.1, .high = 3});
  for (const char* op : {"Sqrt", "Log", "Reciprocal"}) {
    SCOPED_TRACE(op);
    check_gradient({{2, 7}}, node(op), {.low = 0.3, .high = 3});
  }
  check_gradient({{9}}, node("LeakyRelu", {{"alpha", 0.3f}}));
}

TEST(GradientRules, OfActivationsWithParameters) {
  const GradientOptions wide{.low = -4, .high = 4};
  for (const char* op : {"Elu", "Celu", "Selu", "Swish", "ThresholdedRelu"}) {
    SCOPED_TRACE(op);
    check_gradient({{3, 5}}, node(op, {{"alpha", 1.7f}}), wide);
  }
  check_gradient({{3, 5}}, node("Selu", {{"gamma", 0.7f}}), wide);
  check_gradient({{3, 5}}, node("Gelu", {{"approximate", "tanh"}}), wide);
  check_gradient({{3, 5}}, node("HardSigmoid", {{"alpha", 0.3f}, {"beta", 0.4f}}), wide);
  check_gradient({{3, 5}}, node("Shrink", {{"lambd", 1.5f}, {"bias", 0.5f}}), wide);
  for (const auto& shapes : {std::vector<Shape>{{2, 3, 4}, {3, 1}}, {{2, 3}, {2, 3}}, {{2, 3}, {1}}})
    check_gradient(shapes, node("PRelu"));
}

TEST(GradientRules, OfClip) {
  const auto clip = [](bool low, bool high) -> Build {
    return [=](GraphBuilder& b, const Values& x) {
      const ValueId least = low ? b.add("Mul", {x[1], x[1]}) : kNoValue;  // limits that are trained
      const ValueId most = high ? b.add("Add", {x[2], x[1]}) : kNoValue;
      return b.add("Clip", {x[0], least, most});
    };
  };
  for (const bool low : {false, true})
    for (const bool high : {false, true})
      for (const double reach : {0.5, 2.0})
        check_gradient({{4, 5}, {}, {}}, clip(low, high), {.low = -reach, .high = reach});
}

TEST(GradientRules, OfRemainders) {
  for (const int64_t truncated : {0, 1})
    check_gradient({{3, 4}, {4}}, node("Mod", {{"fmod", truncated}}), {.low = 0.3, .high = 3});
}

TEST(GradientRules, OfPowersWithConstantExponents) {
  for (const double exponent : {2.0, 3.0, -1.0, 0.5, 0.0, 1.0}) {
    const Build power = [=](GraphBuilder& b, const Values& x) {
      const ValueId e = b.constant("e", Tensor::of<double>(DType::kF64, {}, std::span(&exponent, 1)));
      return b.add("Pow", {x[0], e});
    };
    check_gradient({{3, 3}}, power, {.low = 0.4, .high = 2});
  }
  const Build cube = [](GraphBuilder& b, const Values& x) {
    return b.add("Pow", {x[0], b.constant("e", Tensor::scalar_i64(3))});
  };
  check_gradient({{5}}, cube);  // of negative bases, too
}

TEST(GradientRules, OfVariadicOperators) {
  const std::vector<Shape> shapes{{2, 3}, {3}, {2, 1}};
  for (const char* op : {"Sum", "Mean", "Max", "Min"}) {
    SCOPED_TRACE(op);
    check_gradient(shapes, node(op));
    check_gradient({{2, 3}}, node(op));
  }
}

TEST(GradientRules, OfChoices) {
  const Build where = [](GraphBuilder& b, const Values& x) {
    return b.add("Where", {b.add("Less", {x[0], x[1]}), b.add("Sin", {x[1]}), x[2]});
  };
  check_gradient({{2, 3}, {3}, {2, 1}}, where);
}

TEST(GradientRules, OfCasts) {
  const Build cast = [](GraphBuilder& b, const Values& x) {
    const auto to = [](DType dtype) { return Attributes{{"to", dtype_to_onnx(dtype)}}; };
    const ValueId narrow = b.add("Cast", {x[0]}, to(DType::kF32));
    return b.add("Mul", {b.add("Cast", {narrow}, to(DType::kF64)), x[0]});
  };
  check_gradient({{5}}, cast, {.step = 1e-2, .tolerance = 1e-4});
}

TEST(GradientRules, OfSoftmax) {
  for (const char* op : {"Softmax", "LogSoftmax"}) {
    check_gradient({{3, 5}}, node(op));
    check_gradient({{2, 3, 4}}, node(op, {{"axis", int64_t{1}}}));
    check_gradient({{7}}, node(op, {{"axis", int64_t{0}}}));
  }
}

TEST(GradientRules, OfReductions) {
  for (const char* op : {"ReduceSum", "ReduceMean", "ReduceSumSquare", "ReduceMax", "ReduceMin", "ReduceL1",
                         "ReduceL2", "ReduceLogSumExp", "ReduceProd"}) {
    SCOPED_TRACE(op);
    for (const int64_t keepdims : {0, 1}) {
      const Attributes keep{{"keepdims", keepdims}};
      check_gradient({{3, 5}}, node(op, keep));
      check_gradient({{2, 3, 5}}, node_with(op, {{1}}, keep));
      check_gradient({{2, 3, 5}}, node_with(op, {{-1, 0}}, keep));
      check_gradient({{2, 3}}, node_with(op, {{}}, keep));
    }
    check_gradient({{2, 3}}, node(op, {{"noop_with_empty_axes", int64_t{1}}}));
  }
  check_gradient({{2, 3, 5}}, node_with("ReduceLogSum", {{1}}), {.low = 0.2, .high = 2});
}

// Zeros at given places, the rest as it is.
ValueId with_zeros(GraphBuilder& b, ValueId x, const Shape& shape, const std::vector<double>& kept) {
  return b.add("Mul", {x, b.constant("kept", Tensor::of<double>(DType::kF64, shape, kept))});
}

TEST(GradientRules, OfProductsWithZeros) {
  const Build product = [](GraphBuilder& b, const Values& x) {
    return b.add("ReduceProd", {with_zeros(b, x[0], {3, 3}, {1, 1, 1, 0, 1, 1, 0, 1, 0}), ints(b, {1})});
  };
  check_gradient({{3, 3}}, product, {.known_extents_only = true});
}

// At a kink there is a convention instead of a difference.
TEST(GradientRules, OfNormsOfZerosAreZero) {
  for (const Build& norm : {node_with("ReduceL2", {{1}}), node("LpNormalization"),
                            node("LpNormalization", {{"p", int64_t{1}}})}) {
    GraphBuilder b("zeros");
    const ValueId x = b.input("x", graph::tensor_type(DType::kF64, Shape{1, 3}));
    const auto gradient = graph::differentiate(b, norm(b, {x}), std::vector{x});
    ASSERT_TRUE(gradient.ok()) << gradient.error().message;
    b.output((*gradient)[0]);
    const auto graph = std::move(b).finish();
    const auto outputs = runtime::interpret(*graph, std::vector{Tensor::zeros(DType::kF64, {1, 3})});
    ASSERT_TRUE(outputs.ok()) << outputs.error().message;
    EXPECT_EQ((*outputs)[0].to_doubles(), (std::vector<double>{0, 0, 0}));
  }
}

TEST(GradientRules, OfRunningSums) {
  for (const int64_t axis : {0, -1})
    for (const int64_t exclusive : {0, 1})
      for (const int64_t reverse : {0, 1})
        check_gradient({{3, 4}}, [=](GraphBuilder& b, const Values& x) {
          return b.add("CumSum", {x[0], b.constant("axis", Tensor::scalar_i64(axis))},
                       {{"exclusive", exclusive}, {"reverse", reverse}});
        });
}

TEST(GradientRules, OfRunningProducts) {
  for (const int64_t axis : {0, -1})
    for (const int64_t exclusive : {0, 1})
      for (const int64_t reverse : {0, 1}) {
        const auto product = [=](GraphBuilder& b, ValueId x) {
          return b.add("CumProd", {x, b.constant("axis", Tensor::scalar_i64(axis))},
                       {{"exclusive", exclusive}, {"reverse", reverse}});
        };
        check_gradient({{3, 4}}, [&](GraphBuilder& b, const Values& x) { return product(b, x[0]); });
        check_gradient({{4, 4}},
                       [&](GraphBuilder& b, const Values& x) {
                         return product(b, with_zeros(b, x[0], {4, 4},
                                                      {1, 0, 1, 1, 0, 1, 0, 1, 1, 1, 1, 0, 0, 0, 1, 1}));
                       },
                       {.known_extents_only = true});
      }
}

TEST(GradientRules, OfDeterminants) {
  for (const Shape& shape : {Shape{1, 1}, Shape{2, 2}, Shape{2, 3, 3}, Shape{2, 1, 5, 5}})
    check_gradient({shape}, node("Det"), {.known_extents_only = true});
  // Of rank 2, and of rank 1, where no cofactor is left.
  for (const std::vector<double>& kept :
       {std::vector<double>{1, 1, 1, 0, 0, 0, 1, 1, 1}, std::vector<double>{1, 1, 1, 0, 0, 0, 0, 0, 0}})
    check_gradient({{3, 3}},
                   [&](GraphBuilder& b, const Values& x) {
                     return b.add("Det", {with_zeros(b, x[0], {3, 3}, kept)});
                   },
                   {.known_extents_only = true});
  GraphBuilder b("large");
  const ValueId x = b.input("x", graph::tensor_type(DType::kF64, Shape{17, 17}));
  const auto refused = graph::differentiate(b, b.add("Det", {x}), std::vector{x});
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code, ErrorCode::kUnsupported);
}

TEST(GradientRules, OfTheLargestElements) {
  for (const int64_t largest : {0, 1})
    for (const int64_t axis : {0, 1})
      check_gradient({{4, 5}}, [=](GraphBuilder& b, const Values& x) {
        return b.add_many("TopK", {x[0], ints(b, {3})}, 2, {{"axis", axis}, {"largest", largest}})[0];
      });
}

TEST(GradientRules, OfMatrixProducts) {
  const std::vector<std::vector<Shape>> products = {{{3, 5}, {5, 2}},
                                                    {{2, 3, 5}, {5, 4}},
                                                    {{2, 3, 5}, {2, 5, 4}},
                                                    {{2, 1, 3, 5}, {7, 5, 2}},
                                                    {{5}, {5, 2}},
                                                    {{3, 5}, {5}},
                                                    {{5}, {5}},
                                                    {{2, 3, 5}, {5}},
                                                    {{5}, {2, 5, 3}},
                                                    {{3, 5}, {2, 5, 4}},
                                                    {{1, 3, 5}, {2, 5, 4}},
                                                    {{1, 1}, {1, 1}}};
  for (const auto& shapes : products) {
    SCOPED_TRACE(shape_text(shapes[0]) + shape_text(shapes[1]));
    check_gradient(shapes, node("MatMul"));
  }
}

TEST(GradientRules, OfGemm) {
  for (const int64_t a : {0, 1})
    for (const int64_t b : {0, 1}) {
      const Attributes attributes{{"transA", a}, {"transB", b}, {"alpha", 0.5f}, {"beta", 2.f}};
      const Shape left = a != 0 ? Shape{5, 3} : Shape{3, 5};
      const Shape right = b != 0 ? Shape{2, 5} : Shape{5, 2};
      for (const Shape& bias : {Shape{2}, Shape{3, 1}, Shape{}, Shape{3, 2}})
        check_gradient({left, right, bias}, node("Gemm", attributes));
      check_gradient({left, right}, node("Gemm", attributes));
    }
}

}  // namespace
}  // namespace hone::gradients
