#include <limits>

#include "kernels/ref/test_call.h"

namespace hone::kernels::ref {
namespace {

TEST(Movement, TransposeReordersAxes) {
  EXPECT_EQ(values("Transpose", {kMatrix}), (Doubles{1, 4, 2, 5, 3, 6}));
  EXPECT_TRUE(fails("Transpose", {kMatrix}, {{"perm", Ints{0, 0}}}));
}

TEST(Movement, SliceCountsFromTheEndAndBackwards) {
  const Tensor x = ints({5}, {0, 1, 2, 3, 4});
  auto slice = [&](int64_t start, int64_t end, int64_t step) {
    return values("Slice", {x, ints({1}, {start}), ints({1}, {end}), ints({1}, {0}), ints({1}, {step})});
  };
  constexpr auto kLowest = std::numeric_limits<int64_t>::min();
  constexpr auto kHighest = std::numeric_limits<int64_t>::max();
  EXPECT_EQ(slice(-3, kHighest, 1), (Doubles{2, 3, 4}));
  EXPECT_EQ(slice(kHighest, kLowest, -2), (Doubles{4, 2, 0}));
  EXPECT_EQ(slice(0, 5, kHighest), Doubles{0});
  EXPECT_EQ(slice(kHighest, kLowest, kLowest), Doubles{4});
  EXPECT_EQ(slice(3, 1, 1), Doubles{});
}

TEST(Movement, PadModesDifferOutsideTheData) {
  const Tensor x = ints({3}, {1, 2, 3});
  auto pad = [&](std::string mode) {
    return values("Pad", {x, ints({2}, {2, 3})}, {{"mode", std::move(mode)}});
  };
  EXPECT_EQ(pad("constant"), (Doubles{0, 0, 1, 2, 3, 0, 0, 0}));
  EXPECT_EQ(pad("reflect"), (Doubles{3, 2, 1, 2, 3, 2, 1, 2}));
  EXPECT_EQ(pad("edge"), (Doubles{1, 1, 1, 2, 3, 3, 3, 3}));
  EXPECT_EQ(pad("wrap"), (Doubles{2, 3, 1, 2, 3, 1, 2, 3}));
  EXPECT_EQ(values("Pad", {x, ints({2}, {-1, -1})}), Doubles{2});
  EXPECT_TRUE(fails("Pad", {x, ints({2}, {-2, -2})}));
  EXPECT_TRUE(fails("Pad", {x, ints({2}, {std::numeric_limits<int64_t>::max(), 1})}));
}

TEST(Movement, SplitAndConcatAreInverse) {
  auto parts = run("Split", {kMatrix}, {{"axis", int64_t{1}}}, 2);
  ASSERT_TRUE(parts.ok());
  EXPECT_EQ((*parts)[0].shape(), (Shape{2, 2}));
  EXPECT_EQ((*parts)[1].shape(), (Shape{2, 1}));
  auto joined = run("Concat", *parts, {{"axis", int64_t{-1}}});
  ASSERT_TRUE(joined.ok());
  EXPECT_TRUE(same_tensor((*joined)[0], kMatrix));
  EXPECT_TRUE(fails("Concat", *parts, {{"axis", int64_t{0}}}));
}

TEST(Movement, DepthToSpaceUndoesSpaceToDepth) {
  std::vector<double> numbers(2 * 3 * 4 * 6);
  for (std::size_t i = 0; i < numbers.size(); ++i) numbers[i] = static_cast<double>(i);
  const Tensor x = narrow(DType::kF32, {2, 3, 4, 6}, numbers);
  const Attributes block{{"blocksize", int64_t{2}}};
  auto deep = run("SpaceToDepth", {x}, block);
  ASSERT_TRUE(deep.ok());
  EXPECT_EQ((*deep)[0].shape(), (Shape{2, 12, 2, 3}));
  EXPECT_EQ(values("DepthToSpace", *deep, block), numbers);
  const Attributes columns_first{{"blocksize", int64_t{2}}, {"mode", std::string("CRD")}};
  auto other = run("SpaceToDepth", {x}, columns_first);
  ASSERT_TRUE(other.ok());
  EXPECT_NE(values("DepthToSpace", *other, block), numbers);
  EXPECT_EQ(values("DepthToSpace", *other, columns_first), numbers);
  EXPECT_TRUE(fails("SpaceToDepth", {x}, {{"blocksize", int64_t{4}}}));
}

TEST(Indexing, GatherRefusesIndicesOutsideTheAxis) {
  EXPECT_EQ(values("Gather", {kMatrix, ints({2}, {-1, 0})}, {{"axis", int64_t{1}}}), (Doubles{3, 1, 6, 4}));
  EXPECT_TRUE(fails("Gather", {kMatrix, ints({1}, {2})}));
  EXPECT_TRUE(fails("Gather", {kMatrix, ints({1}, {-3})}));
}

TEST(Indexing, GatherMovesStrings) {
  auto result = run("Gather", {Tensor::of_strings({3}, {"a", "b", "c"}), ints({2}, {2, 0})});
  ASSERT_TRUE(result.ok());
  EXPECT_EQ((*result)[0].strings(), (std::vector<std::string>{"c", "a"}));
}

TEST(Indexing, GatherNdTakesBatchAxes) {
  const Tensor data = ints({2, 2, 2}, {0, 1, 2, 3, 4, 5, 6, 7});
  EXPECT_EQ(values("GatherND", {data, ints({2, 1}, {1, 0})}, {{"batch_dims", int64_t{1}}}),
            (Doubles{2, 3, 4, 5}));
  EXPECT_TRUE(fails("GatherND", {data, ints({1, 4}, {0, 0, 0, 0})}));
}

TEST(Indexing, ScatterReducesRepeatedIndices) {
  const Tensor data = floats({3}, {1, 1, 1}, DType::kF16);
  const Tensor at = ints({2}, {1, 1});
  const Tensor updates = floats({2}, {2, 3}, DType::kF16);
  auto scatter = [&](std::string how) {
    return values("ScatterElements", {data, at, updates}, {{"reduction", std::move(how)}});
  };
  EXPECT_EQ(scatter("none"), (Doubles{1, 3, 1}));
  EXPECT_EQ(scatter("add"), (Doubles{1, 6, 1}));
  EXPECT_EQ(scatter("mul"), (Doubles{1, 6, 1}));
  EXPECT_EQ(scatter("max"), (Doubles{1, 3, 1}));
  EXPECT_EQ(scatter("min"), (Doubles{1, 1, 1}));
  EXPECT_EQ(data.to_doubles(), (Doubles{1, 1, 1}));  // inputs are never written
}

TEST(Indexing, UniqueSaysWhereItFoundWhat) {
  auto outputs = run("Unique", {ints({6}, {2, 1, 1, 3, 4, 3})}, {{"sorted", int64_t{0}}}, 4);
  ASSERT_TRUE(outputs.ok());
  EXPECT_EQ((*outputs)[0].to_ints(), (Ints{2, 1, 3, 4}));
  EXPECT_EQ((*outputs)[1].to_ints(), (Ints{0, 1, 3, 4}));
  EXPECT_EQ((*outputs)[2].to_ints(), (Ints{0, 1, 1, 2, 3, 2}));
  EXPECT_EQ((*outputs)[3].to_ints(), (Ints{1, 2, 2, 1}));
}

TEST(Shape, ReshapeCopiesAndInfersExtents) {
  auto reshaped = run("Reshape", {kMatrix, ints({3}, {0, -1, 1})});
  ASSERT_TRUE(reshaped.ok());
  EXPECT_EQ((*reshaped)[0].shape(), (Shape{2, 3, 1}));
  EXPECT_TRUE(fails("Reshape", {kMatrix, ints({2}, {-1, -1})}));
  EXPECT_TRUE(fails("Reshape", {kMatrix, ints({1}, {5})}));
  EXPECT_TRUE(fails("Reshape", {kMatrix, ints({1}, {-2})}));
}

TEST(Shape, RangeCountsDownAndRefusesAStepOfZero) {
  EXPECT_EQ(values("Range", {ints({}, {10}), ints({}, {4}), ints({}, {-2})}), (Doubles{10, 8, 6}));
  EXPECT_EQ(values("Range", {ints({}, {1}), ints({}, {1}), ints({}, {1})}), Doubles{});
  EXPECT_TRUE(fails("Range", {ints({}, {0}), ints({}, {1}), ints({}, {0})}));
}

TEST(Shape, ConstantOfShapeRefusesNegativeExtents) {
  EXPECT_EQ(values("ConstantOfShape", {ints({1}, {2})}), (Doubles{0, 0}));
  EXPECT_TRUE(fails("ConstantOfShape", {ints({1}, {-1})}));
}

}  // namespace
}  // namespace hone::kernels::ref
