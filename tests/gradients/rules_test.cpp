// Every gradient rule against finite differences: odd shapes, broadcasting, every form of the operator.
#include "tests/gradients/check_gradient.h"
#include <gtest/gtest.h>

#include "core/onnx_dtype.h"

namespace hone::gradients {
namespace {

using graph::GraphBuilder;
using graph::kNoValue;
using graph::ValueId;
using Values = std::vector<ValueId>;

ValueId ints(GraphBuilder& b, const Ints& values) {
  return b.constant("ints", Tensor::i64({static_cast<int64_t>(values.size())}, values));
}

// One node of `op` on all inputs.
Build node(const std::string& op, const Attributes& attributes = {}) {
  return [=](GraphBuilder& b, const Values& x) { return b.add(op, x, attributes); };
}
// One node of `op` on the input and lists of integers.
Build node_with(const std::string& op, const std::vector<Ints>& lists, const Attributes& attributes = {}) {
  return [=](GraphBuilder& b, const Values& x) {
    Values inputs = x;
    for (const Ints& list : lists) inputs.push_back(ints(b, list));
    return b.add(op, inputs, attributes);
  };
}

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
  for (const char* op : {"Neg", "Exp", "Abs", "Erf", "Sin", "Cos", "Relu", "LeakyRelu", "Sigmoid", "Tanh",
                         "Softplus", "Softsign", "Identity"}) {
    SCOPED_TRACE(op);
    check_gradient({{3, 5}}, node(op));
    check_gradient({{}}, node(op));
  }
  for (const char* op : {"Sqrt", "Log", "Reciprocal"}) {
    SCOPED_TRACE(op);
    check_gradient({{2, 7}}, node(op), {.low = 0.3, .high = 3});
  }
  check_gradient({{9}}, node("LeakyRelu", {{"alpha", 0.3f}}));
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
  for (const char* op : {"ReduceSum", "ReduceMean", "ReduceSumSquare"}) {
    for (const int64_t keepdims : {0, 1}) {
      const Attributes keep{{"keepdims", keepdims}};
      check_gradient({{3, 5}}, node(op, keep));
      check_gradient({{2, 3, 5}}, node_with(op, {{1}}, keep));
      check_gradient({{2, 3, 5}}, node_with(op, {{-1, 0}}, keep));
      check_gradient({{2, 3}}, node_with(op, {{}}, keep));
    }
    check_gradient({{2, 3}}, node(op, {{"noop_with_empty_axes", int64_t{1}}}));
  }
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

TEST(GradientRules, OfMovement) {
  check_gradient({{2, 3, 5}}, node("Transpose"));
  check_gradient({{2, 3, 5}}, node("Transpose", {{"perm", Ints{1, 2, 0}}}));
  check_gradient({{2, 3, 4}}, node_with("Reshape", {{4, -1}}));
  check_gradient({{2, 3, 4}}, node("Flatten", {{"axis", int64_t{2}}}));
  check_gradient({{2, 1, 3}}, node_with("Squeeze", {{1}}));
  check_gradient({{2, 3}}, node_with("Unsqueeze", {{0, 2}}));
  check_gradient({{3, 1}}, node_with("Expand", {{2, 1, 4}}));
  check_gradient({{}}, node_with("Expand", {{3}}));
}

TEST(GradientRules, OfJoiningAndSplitting) {
  check_gradient({{2, 3}, {2, 1}, {2, 4}}, node("Concat", {{"axis", int64_t{-1}}}));
  check_gradient({{2, 3}, {1, 3}}, node("Concat", {{"axis", int64_t{0}}}));
  check_gradient({{2, 3}}, node("Concat", {{"axis", int64_t{0}}}));
  const Build split = [](GraphBuilder& b, const Values& x) {
    const Values parts = b.add_many("Split", {x[0], ints(b, {1, 3, 2})}, 3, {{"axis", int64_t{1}}});
    return b.add("Mul", {parts[0], b.add("ReduceSum", {parts[2]})});  // the second part is not read
  };
  check_gradient({{2, 6}}, split);
}

TEST(GradientRules, OfSlices) {
  const GradientOptions extents{.needs_extents = true};
  const auto slice = [](Ints starts, Ints ends, Ints axes, Ints steps) {
    return node_with("Slice", {starts, ends, axes, steps});
  };
  check_gradient({{4, 7}}, node_with("Slice", {{1, 2}, {3, 6}}), extents);
  check_gradient({{4, 7}}, slice({-3}, {INT64_MAX}, {-1}, {1}), extents);
  check_gradient({{4, 7}}, slice({0, 1}, {4, 7}, {0, 1}, {1, 2}), extents);
  check_gradient({{4, 7}}, slice({6, -1}, {0, INT64_MIN}, {1, 0}, {-3, -1}), extents);
  check_gradient({{4, 7}}, slice({5}, {100}, {1}, {3}), extents);
  check_gradient({{4, 3}}, slice({2}, {2}, {1}, {1}), extents);  // nothing is left
  check_gradient({{4, 3}}, slice({2}, {2}, {1}, {2}), extents);
  check_gradient({{3, 5}}, node_with("Pad", {{1, 0, 2, 3}}));
  check_gradient({{3, 5}}, node_with("Pad", {{0, -1, 2, -2}}));
}

TEST(GradientRules, OfGather) {
  for (const int64_t axis : {0, 1, -1}) {
    const Build gather = [=](GraphBuilder& b, const Values& x) {
      const ValueId rows = b.constant("rows", Tensor::i64({2, 3}, Ints{0, 2, 2, -1, 1, 2}));
      return b.add("Gather", {x[0], rows}, {{"axis", axis}});
    };
    check_gradient({{3, 4, 5}}, gather);
  }
  const Build one = [](GraphBuilder& b, const Values& x) {
    return b.add("Gather", {x[0], b.constant("row", Tensor::scalar_i64(1))}, {{"axis", int64_t{1}}});
  };
  check_gradient({{2, 3}}, one);
}

}  // namespace
}  // namespace hone::gradients
