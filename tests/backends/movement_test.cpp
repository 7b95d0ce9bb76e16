// Operators that move elements, on the CPU against the reference.
#include "tests/backends/compare.h"
#include <gtest/gtest.h>

namespace hone::backends {
namespace {

using graph::GraphBuilder;
using graph::ValueId;

const std::vector<DType> kSizes = {DType::kF32, DType::kI64, DType::kI16, DType::kU8, DType::kBool};

CompareOptions small_integers() {
  CompareOptions options;
  options.int_low = 0;
  return options;
}

TEST(Movement, TransposeAgrees) {
  for (const DType dtype : kSizes) {
    for (const Ints& perm : {Ints{0, 1, 2, 3}, Ints{3, 2, 1, 0}, Ints{0, 2, 3, 1}, Ints{0, 3, 1, 2},
                             Ints{0, 2, 1, 3}, Ints{1, 0, 3, 2}}) {
      compare_all_kernels(
          [&](GraphBuilder& b) -> std::vector<ValueId> {
            return {b.add("Transpose", {input_of(b, "x", dtype, {2, 17, 3, 33})}, {{"perm", perm}})};
          },
          small_integers());
    }
  }
  compare_all_kernels([](GraphBuilder& b) -> std::vector<ValueId> {
    return {b.add("Transpose", {f32_input(b, "x", {3, 4, 5})})};
  });
}

TEST(Movement, ConcatAgrees) {
  for (const int64_t axis : {0, 1, 2, -1}) {
    for (const bool computed : {false, true}) {
      SCOPED_TRACE(testing::Message() << axis << computed);
      compare_all_kernels([&](GraphBuilder& b) -> std::vector<ValueId> {
        std::vector<ValueId> parts;
        for (const int64_t extent : {3, 1, 6}) {
          Shape shape{2, 3, 5};
          shape[static_cast<std::size_t>(axis < 0 ? 2 : axis)] = extent;
          const ValueId part = f32_input(b, "x", shape);
          parts.push_back(computed ? b.add("Neg", {part}) : part);
        }
        return {b.add("Concat", parts, {{"axis", axis}})};
      });
    }
  }
}

// Whole rows are written in place by what computes them: no kernel runs, results must be there all the same.
TEST(Movement, ConcatWrittenInPlaceAgrees) {
  compare_all_kernels([](GraphBuilder& b) -> std::vector<ValueId> {
    const ValueId x = f32_input(b, "x", {1, 3, 4});
    const ValueId left = b.add("Relu", {x});
    const ValueId joined = b.add("Concat", {left, b.add("Neg", {left})}, {{"axis", int64_t{1}}});
    return {b.add("Abs", {joined}), b.add("Exp", {left})};
  });
}

TEST(Movement, ConcatOfOtherLayoutsAgrees) {
  for (const std::string layout : {"channels_last", "blocked16", "blocked8"}) {
    for (const int64_t batch : {1, 2}) {
      SCOPED_TRACE(layout);
      compare_all_kernels([&](GraphBuilder& b) -> std::vector<ValueId> {
        std::vector<ValueId> parts;
        for (const int64_t channels : {16, 48}) {
          parts.push_back(b.add("Relu", {reorder(b, f32_input(b, "x", {batch, channels, 5, 3}), layout)}));
        }
        return {reorder(b, b.add("Concat", parts, {{"axis", int64_t{1}}}), "plain")};
      });
    }
  }
}

TEST(Movement, SplitAgrees) {
  for (const int64_t axis : {0, 1, 2}) {
    compare_all_kernels([&](GraphBuilder& b) -> std::vector<ValueId> {
      return b.add_many("Split", {f32_input(b, "x", {6, 6, 6}), ints(b, {1, 3, 2})}, 3, {{"axis", axis}});
    });
    compare_all_kernels([&](GraphBuilder& b) -> std::vector<ValueId> {
      std::vector<ValueId> results;
      for (ValueId part : b.add_many("Split", {b.add("Neg", {f32_input(b, "x", {6, 6, 6})})}, 2,
                                     {{"axis", axis}, {"num_outputs", int64_t{2}}}))
        results.push_back(b.add("Exp", {part}));
      return results;
    });
  }
}

TEST(Movement, SplitOfOtherLayoutsAgrees) {
  for (const std::string layout : {"channels_last", "blocked16", "blocked8"}) {
    for (const int64_t batch : {1, 2}) {
      SCOPED_TRACE(layout);
      compare_all_kernels([&](GraphBuilder& b) -> std::vector<ValueId> {
        const ValueId x = b.add("Relu", {reorder(b, f32_input(b, "x", {batch, 64, 5, 3}), layout)});
        std::vector<ValueId> results;
        for (ValueId part : b.add_many("Split", {x, ints(b, {16, 48})}, 2, {{"axis", int64_t{1}}}))
          results.push_back(reorder(b, b.add("Exp", {part}), "plain"));
        return results;
      });
    }
  }
}

TEST(Movement, SliceAgrees) {
  struct Case {
    std::vector<int64_t> starts, ends, axes, steps;
  };
  const int64_t far = std::numeric_limits<int64_t>::max();
  const std::vector<Case> cases = {{{1, 2}, {4, 5}, {0, 1}, {1, 1}},
                                   {{-3}, {far}, {2}, {1}},
                                   {{0}, {-1}, {1}, {2}},
                                   {{-1}, {-far}, {2}, {-1}},
                                   {{6, 5}, {0, 1}, {1, 2}, {-2, -1}},
                                   {{100}, {1}, {0}, {-1}},
                                   {{2}, {3}, {0}, {1}},
                                   {{1}, {4}, {0}, {1}}};
  for (const Case& c : cases) {
    for (const DType dtype : kSizes) {
      compare_all_kernels(
          [&](GraphBuilder& b) -> std::vector<ValueId> {
            const ValueId x = input_of(b, "x", dtype, {5, 7, 6});
            return {
                b.add("Slice", {x, ints(b, c.starts), ints(b, c.ends), ints(b, c.axes), ints(b, c.steps)})};
          },
          small_integers());
    }
  }
}

TEST(Movement, GatherAgrees) {
  for (const int64_t axis : {0, 1, 2, -1}) {
    for (const DType dtype : kSizes) {
      for (const Shape& indices : {Shape{}, Shape{4}, Shape{2, 3}}) {
        CompareOptions options;
        options.int_low = axis == 0 ? -5 : -3;
        options.int_high = axis == 0 ? 4 : 2;
        options.inputs = {Tensor::zeros(dtype, {5, 3, 4})};
        if (dtype == DType::kF32) options.inputs = {random_floats({5, 3, 4}, 1)};
        compare_all_kernels(
            [&](GraphBuilder& b) -> std::vector<ValueId> {
              return {b.add("Gather",
                            {input_of(b, "x", dtype, {5, 3, 4}), input_of(b, "i", DType::kI64, indices)},
                            {{"axis", axis}})};
            },
            options);
      }
    }
  }
}

TEST(Movement, PadAgrees) {
  for (const std::string mode : {"constant", "edge", "reflect", "wrap"}) {
    for (const Ints& pads :
         {Ints{0, 0, 1, 2, 0, 0, 3, 1}, Ints{1, 0, 0, 0, 0, 1, 0, 1}, Ints{0, 0, 0, 0, 0, 0, 0, 0}}) {
      if (mode == "reflect" && pads[0] == 1) continue;  // an axis of 2 mirrors one element only
      compare_all_kernels([&](GraphBuilder& b) -> std::vector<ValueId> {
        return {b.add("Pad", {f32_input(b, "x", {2, 3, 5, 4}), ints(b, pads)}, {{"mode", mode}})};
      });
    }
  }
  for (const Ints& pads : {Ints{-1, 2, 1, -2}, Ints{0, -1, 0, 0}}) {
    compare_all_kernels([&](GraphBuilder& b) -> std::vector<ValueId> {
      return {b.add("Pad", {f32_input(b, "x", {2, 3, 5, 4}), ints(b, pads), scalar(b, 7), ints(b, {-1, 2})})};
    });
  }
}

TEST(Movement, ExpandAndTileAgree) {
  for (const DType dtype : kSizes) {
    compare_all_kernels(
        [&](GraphBuilder& b) -> std::vector<ValueId> {
          const ValueId x = input_of(b, "x", dtype, {3, 1, 5});
          return {b.add("Expand", {x, ints(b, {2, 1, 4, 1})}), b.add("Tile", {x, ints(b, {2, 3, 2})}),
                  b.add("Expand", {x, ints(b, {1})})};
        },
        small_integers());
  }
}

TEST(Movement, DepthToSpaceAndBackAgree) {
  for (const std::string mode : {"DCR", "CRD"}) {
    compare_all_kernels([&](GraphBuilder& b) -> std::vector<ValueId> {
      return {b.add("DepthToSpace", {f32_input(b, "x", {2, 12, 3, 5})},
                    {{"blocksize", int64_t{2}}, {"mode", mode}})};
    });
  }
  compare_all_kernels([](GraphBuilder& b) -> std::vector<ValueId> {
    return {b.add("SpaceToDepth", {f32_input(b, "x", {2, 3, 4, 6})}, {{"blocksize", int64_t{2}}})};
  });
}

TEST(Movement, ViewsOfInputsGivenOutAgree) {
  compare_all_kernels([](GraphBuilder& b) -> std::vector<ValueId> {
    const ValueId x = f32_input(b, "x", {2, 3, 4});
    return {b.add("Reshape", {x, ints(b, {6, -1})}), b.add("Flatten", {x}), b.add("Identity", {x}),
            b.add("Unsqueeze", {x, ints(b, {0, -1})}), b.add("Neg", {b.add("Reshape", {x, ints(b, {24})})})};
  });
}

TEST(Reorder, EveryPairOfLayoutsAgrees) {
  const std::vector<std::string> layouts = {"plain", "channels_last", "blocked8", "blocked16"};
  for (const std::string& from : layouts) {
    for (const std::string& to : layouts) {
      for (const Shape& shape :
           {Shape{2, 16, 5, 7}, Shape{1, 19, 4, 3}, Shape{2, 5, 9}, Shape{1, 33, 2, 3, 4}}) {
        SCOPED_TRACE(from + " to " + to + shape_text(shape));
        compare_all_kernels([&](GraphBuilder& b) -> std::vector<ValueId> {
          return {reorder(b, reorder(b, reorder(b, f32_input(b, "x", shape), from), to), "plain")};
        });
      }
    }
  }
}

}  // namespace
}  // namespace hone::backends
