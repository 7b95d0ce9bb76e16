// Gradient rules of operators that move elements, against finite differences.
#include "tests/gradients/nodes.h"
#include <gtest/gtest.h>

namespace hone::gradients {
namespace {

using graph::GraphBuilder;
using graph::kNoValue;
using graph::ValueId;

TEST(MovementGradient, OfMovement) {
  check_gradient({{2, 3, 5}}, node("Transpose"));
  check_gradient({{2, 3, 5}}, node("Transpose", {{"perm", Ints{1, 2, 0}}}));
  check_gradient({{2, 3, 4}}, node_with("Reshape", {{4, -1}}));
  check_gradient({{2, 3, 4}}, node("Flatten", {{"axis", int64_t{2}}}));
  check_gradient({{2, 1, 3}}, node_with("Squeeze", {{1}}));
  check_gradient({{2, 3}}, node_with("Unsqueeze", {{0, 2}}));
  check_gradient({{3, 1}}, node_with("Expand", {{2, 1, 4}}));
  check_gradient({{}}, node_with("Expand", {{3}}));
}

TEST(MovementGradient, OfJoiningAndSplitting) {
  check_gradient({{2, 3}, {2, 1}, {2, 4}}, node("Concat", {{"axis", int64_t{-1}}}));
  check_gradient({{2, 3}, {1, 3}}, node("Concat", {{"axis", int64_t{0}}}));
  check_gradient({{2, 3}}, node("Concat", {{"axis", int64_t{0}}}));
  const Build split = [](GraphBuilder& b, const Values& x) {
    const Values parts = b.add_many("Split", {x[0], ints(b, {1, 3, 2})}, 3, {{"axis", int64_t{1}}});
    return b.add("Mul", {parts[0], b.add("ReduceSum", {parts[2]})});  // the second part is not read
  };
  check_gradient({{2, 6}}, split);
}

TEST(MovementGradient, OfSlices) {
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
}

TEST(MovementGradient, OfPads) {
  check_gradient({{3, 5}}, node_with("Pad", {{1, 0, 2, 3}}));
  check_gradient({{3, 5}}, node_with("Pad", {{0, -1, 2, -2}}));
  const Build with_constant = [](GraphBuilder& b, const Values& x) {
    return b.add("Pad", {x[0], ints(b, {1, 0, -1, 2}), x[1]});
  };
  check_gradient({{3, 5}, {}}, with_constant);
  for (const char* mode : {"reflect", "edge", "wrap"}) {
    SCOPED_TRACE(mode);
    const Attributes attributes{{"mode", mode}};
    check_gradient({{3, 5}}, node_with("Pad", {{2, 1, 1, 4}}, attributes), {.needs_extents = true});
    check_gradient({{2, 3, 4}}, node_with("Pad", {{0, 0, 3, 0, 0, 0}}, attributes), {.needs_extents = true});
    const Build of_axes = [&](GraphBuilder& b, const Values& x) {
      return b.add("Pad", {x[0], ints(b, {1, 2}), kNoValue, ints(b, {-2})}, attributes);
    };
    check_gradient({{3, 4, 2}}, of_axes, {.needs_extents = true});
  }
}

TEST(MovementGradient, OfRepetitions) {
  check_gradient({{2, 3}}, node_with("Tile", {{3, 2}}));
  check_gradient({{2, 1, 4}}, node_with("Tile", {{1, 5, 2}}));
  check_gradient({{3}}, node_with("Tile", {{1}}));
}

TEST(MovementGradient, OfTriangles) {
  for (const int64_t upper : {0, 1})
    for (const int64_t k : {-1, 0, 2})
      check_gradient({{2, 3, 4}}, [=](GraphBuilder& b, const Values& x) {
        return b.add("Trilu", {x[0], b.constant("k", Tensor::scalar_i64(k))}, {{"upper", upper}});
      });
  check_gradient({{3, 3}}, node("Trilu"));
}

TEST(MovementGradient, OfBlocks) {
  for (const char* mode : {"DCR", "CRD"})
    check_gradient({{2, 12, 2, 3}}, node("DepthToSpace", {{"blocksize", int64_t{2}}, {"mode", mode}}));
  check_gradient({{2, 3, 4, 6}}, node("SpaceToDepth", {{"blocksize", int64_t{2}}}));
}

TEST(MovementGradient, OfReversedSequences) {
  const Build reversed = [](GraphBuilder& b, const Values& x) {
    return b.add("ReverseSequence", {x[0], ints(b, {4, 1, 3})},
                 {{"time_axis", int64_t{0}}, {"batch_axis", int64_t{1}}});
  };
  check_gradient({{4, 3, 2}}, reversed);
}

TEST(MovementGradient, OfGather) {
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

TEST(MovementGradient, OfElementsGathered) {
  const Build elements = [](GraphBuilder& b, const Values& x) {
    const ValueId at = b.constant("at", Tensor::i64({2, 3}, Ints{0, 3, 3, -1, 1, 1}));
    return b.add("GatherElements", {x[0], at}, {{"axis", int64_t{1}}});
  };
  check_gradient({{2, 4}}, elements);
  const Build tuples = [](GraphBuilder& b, const Values& x) {
    const ValueId at = b.constant("at", Tensor::i64({3, 2}, Ints{0, 1, 1, -1, 0, 1}));
    return b.add("GatherND", {x[0], at});
  };
  check_gradient({{2, 3, 2}}, tuples);
  const Build batches = [](GraphBuilder& b, const Values& x) {
    const ValueId at = b.constant("at", Tensor::i64({2, 3, 1, 1}, Ints{0, 2, 2, -1, 1, 1}));
    return b.add("GatherND", {x[0], at}, {{"batch_dims", int64_t{2}}});
  };
  check_gradient({{2, 3, 4}}, batches);
}

TEST(MovementGradient, OfScatters) {
  for (const char* reduction : {"none", "add"}) {
    const Attributes reduces{{"reduction", reduction}};
    const Build elements = [&](GraphBuilder& b, const Values& x) {
      const ValueId at = b.constant("at", Tensor::i64({2, 3}, Ints{0, 1, 0, -1, 2, 1}));
      return b.add("ScatterElements", {x[0], at, x[1]}, {{"axis", int64_t{0}}, {"reduction", reduction}});
    };
    check_gradient({{3, 4}, {2, 3}}, elements);
    const Build tuples = [&](GraphBuilder& b, const Values& x) {
      const ValueId at = b.constant("at", Tensor::i64({2, 1}, Ints{2, -3}));
      return b.add("ScatterND", {x[0], at, x[1]}, reduces);
    };
    check_gradient({{3, 4}, {2, 4}}, tuples);
  }
  // What is added twice at one place.
  const Build twice = [](GraphBuilder& b, const Values& x) {
    const ValueId at = b.constant("at", Tensor::i64({3, 1}, Ints{1, 1, 0}));
    return b.add("ScatterND", {x[0], at, x[1]}, {{"reduction", "add"}});
  };
  check_gradient({{3, 2}, {3, 2}}, twice);
}

// Updates that meet at one place, equal ones among them, and zeros.
TEST(MovementGradient, OfScattersThatReduce) {
  for (const char* reduction : {"mul", "max", "min"}) {
    SCOPED_TRACE(reduction);
    const Build elements = [&](GraphBuilder& b, const Values& x) {
      const ValueId at = b.constant("at", Tensor::i64({3, 3}, Ints{0, 1, 0, -1, 2, 1, 0, 1, 1}));
      return b.add("ScatterElements", {x[0], at, x[1]}, {{"axis", int64_t{0}}, {"reduction", reduction}});
    };
    check_gradient({{3, 4}, {3, 3}}, elements);
    const Build tuples = [&](GraphBuilder& b, const Values& x) {
      const ValueId at = b.constant("at", Tensor::i64({4, 1}, Ints{2, -3, 2, 2}));
      return b.add("ScatterND", {x[0], at, x[1]}, {{"reduction", reduction}});
    };
    check_gradient({{3, 4}, {4, 4}}, tuples);
  }
  const Build zeros = [](GraphBuilder& b, const Values& x) {
    const ValueId data = b.add("Mul", {x[0], doubles(b, {4}, {1, 0, 0, 1})});
    const ValueId updates = b.add("Mul", {x[1], doubles(b, {5}, {1, 1, 0, 0, 0})});
    return b.add("ScatterElements", {data, classes(b, {5}, {0, 1, 2, 3, 3}), updates},
                 {{"reduction", "mul"}});
  };
  check_gradient({{4}, {5}}, zeros, {.known_extents_only = true});
}

TEST(MovementGradient, OfCropsAroundTheCentre) {
  check_gradient({{4, 5}}, node_with("CenterCropPad", {{7, 2}}));
  check_gradient({{5, 4}}, node_with("CenterCropPad", {{2, 7}}));
  check_gradient({{2, 3, 4}}, node_with("CenterCropPad", {{5, 1}}, {{"axes", Ints{-1, 1}}}));
}

TEST(MovementGradient, OfSlicesThatAreKept) {
  const auto kept = [](const std::vector<uint8_t>& condition, const Attributes& attributes) {
    return [=](GraphBuilder& b, const Values& x) {
      const ValueId which = b.add(
          "Cast",
          {b.constant("which",
                      Tensor::of<uint8_t>(DType::kU8, {static_cast<int64_t>(condition.size())}, condition))},
          {{"to", int64_t{9}}});
      return b.add("ReduceSum", {b.add("Sin", {b.add("Compress", {x[0], which}, attributes)})});
    };
  };
  check_gradient({{3, 4}}, kept({0, 1, 1}, {{"axis", int64_t{0}}}));
  check_gradient({{3, 4}}, kept({1, 0, 1}, {{"axis", int64_t{-1}}}));  // fewer than slices
  check_gradient({{3, 4}}, kept({0, 1, 1, 0, 0, 0, 1}, {}));
  check_gradient({{3}}, kept({0, 0, 0}, {}));
}

TEST(MovementGradient, OfValuesOfAOneHot) {
  const Build hot = [](GraphBuilder& b, const Values& x) {
    const ValueId at = b.constant("at", Tensor::i64({3}, Ints{1, -1, 9}));
    return b.add("OneHot", {at, b.constant("depth", Tensor::scalar_i64(4)), x[0]});
  };
  check_gradient({{2}}, hot);
}

}  // namespace
}  // namespace hone::gradients
