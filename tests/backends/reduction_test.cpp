// Reductions, orders, resizing and reads at computed places on the CPU against the reference.
#include "tests/backends/compare.h"
#include <gtest/gtest.h>

namespace hone::backends {
namespace {

using graph::GraphBuilder;
using graph::ValueId;

TEST(Reduction, EveryOperatorAgreesOverEveryAxes) {
  CompareOptions positive;  // logarithms of sums
  positive.low = 0.1;
  for (const char* op : {"ReduceSum", "ReduceMean", "ReduceMax", "ReduceMin", "ReduceProd", "ReduceL1",
                         "ReduceL2", "ReduceSumSquare", "ReduceLogSum", "ReduceLogSumExp"}) {
    for (const std::vector<int64_t>& axes :
         {std::vector<int64_t>{0}, {1}, {-1}, {0, 2}, {1, 2}, {0, 1, 2}, {}}) {
      for (const int64_t keep : {0, 1}) {
        SCOPED_TRACE(testing::Message() << op << shape_text(axes) << keep);
        compare_all_kernels(
            [&](GraphBuilder& b) -> std::vector<ValueId> {
              std::vector<ValueId> in{f32_input(b, "x", {5, 3, 37})};
              if (!axes.empty()) in.push_back(ints(b, axes));
              return {b.add(op, in, {{"keepdims", keep}})};
            },
            positive);
      }
    }
  }
}

TEST(Reduction, MeansOfImagesAgreeInEveryLayout) {
  for (const std::string layout : {"plain", "channels_last", "blocked8", "blocked16"}) {
    for (const int64_t channels : {32, 19}) {
      SCOPED_TRACE(layout);
      compare_all_kernels([&](GraphBuilder& b) -> std::vector<ValueId> {
        const ValueId x = reorder(b, f32_input(b, "x", {2, channels, 5, 7}), layout);
        return {reorder(b, b.add("GlobalAveragePool", {x}), "plain")};
      });
    }
  }
}

TEST(Order, ArgMaxAndArgMinAgree) {
  for (const char* op : {"ArgMax", "ArgMin"}) {
    for (const DType dtype : {DType::kF32, DType::kI64, DType::kI32, DType::kF64}) {
      for (const int64_t axis : {0, 1, -1}) {
        for (const int64_t last : {0, 1}) {
          compare_all_kernels([&](GraphBuilder& b) -> std::vector<ValueId> {
            return {b.add(op, {input_of(b, "x", dtype, {4, 5, 17})},
                          {{"axis", axis}, {"select_last_index", last}, {"keepdims", last}})};
          });
        }
      }
    }
  }
}

TEST(Order, CumSumAgrees) {
  for (const DType dtype : {DType::kF32, DType::kI64, DType::kI32}) {
    for (const int64_t axis : {0, 1, -1}) {
      for (const int64_t exclusive : {0, 1}) {
        for (const int64_t reverse : {0, 1}) {
          compare_all_kernels([&](GraphBuilder& b) -> std::vector<ValueId> {
            const ValueId x = b.add("Neg", {input_of(b, "x", dtype, {4, 5, 17})});
            return {b.add("CumSum", {x, b.constant("a", Tensor::scalar_i64(axis))},
                          {{"exclusive", exclusive}, {"reverse", reverse}})};
          });
        }
      }
    }
  }
}

TEST(Order, TopKAgrees) {
  for (const int64_t axis : {0, 1, -1}) {
    for (const int64_t largest : {0, 1}) {
      for (const DType dtype : {DType::kF32, DType::kI64}) {
        compare_all_kernels([&](GraphBuilder& b) -> std::vector<ValueId> {
          return b.add_many("TopK", {input_of(b, "x", dtype, {4, 5, 17}), ints(b, {3})}, 2,
                            {{"axis", axis}, {"largest", largest}});
        });
      }
    }
  }
}

TEST(Resize, EveryModeAgreesInEveryLayout) {
  struct Case {
    Shape shape;
    std::vector<float> scales;
  };
  for (const Case& c : {Case{{2, 19, 5, 7}, {1, 1, 2, 2}}, Case{{1, 16, 5, 7}, {1, 1, 1.7F, 0.6F}},
                        Case{{1, 16, 9}, {1, 1, 3}}, Case{{1, 3, 3, 4, 5}, {1, 1, 2, 1, 1.5F}}}) {
    for (const char* mode : {"nearest", "linear"}) {
      for (const char* coordinates :
           {"half_pixel", "align_corners", "asymmetric", "pytorch_half_pixel", "half_pixel_symmetric"}) {
        for (const char* rounding : {"round_prefer_floor", "round_prefer_ceil", "floor", "ceil"}) {
          for (const std::string layout : {"plain", "channels_last", "blocked16"}) {
            if (mode == std::string("linear") && rounding != std::string("floor")) continue;
            SCOPED_TRACE(layout + mode + coordinates + rounding + shape_text(c.shape));
            compare_all_kernels([&](GraphBuilder& b) -> std::vector<ValueId> {
              const ValueId x = reorder(b, f32_input(b, "x", c.shape), layout);
              const Shape extent{static_cast<int64_t>(c.scales.size())};
              const ValueId y =
                  b.add("Resize", {x, graph::kNoValue, b.constant("s", Tensor::f32(extent, c.scales))},
                        {{"mode", std::string(mode)},
                         {"coordinate_transformation_mode", std::string(coordinates)},
                         {"nearest_mode", std::string(rounding)}});
              return {reorder(b, y, "plain")};
            });
          }
        }
      }
    }
  }
}

TEST(Resize, SizesAgree) {
  for (const char* mode : {"nearest", "linear"}) {
    compare_all_kernels([&](GraphBuilder& b) -> std::vector<ValueId> {
      return {
          b.add("Resize",
                {f32_input(b, "x", {1, 3, 5, 7}), graph::kNoValue, graph::kNoValue, ints(b, {1, 3, 11, 4})},
                {{"mode", std::string(mode)}})};
    });
  }
}

TEST(Indexing, GatherElementsAndScatterElementsAgree) {
  for (const int64_t axis : {0, 1, -1}) {
    CompareOptions options;
    options.int_low = axis == 0 ? -4 : -3;
    options.int_high = 2;
    compare_all_kernels(
        [&](GraphBuilder& b) -> std::vector<ValueId> {
          return {b.add("GatherElements",
                        {f32_input(b, "x", {4, 3, 5}), input_of(b, "i", DType::kI64, {3, 2, 4})},
                        {{"axis", axis}})};
        },
        options);
    compare_all_kernels(
        [&](GraphBuilder& b) -> std::vector<ValueId> {
          const ValueId x = b.add("Neg", {f32_input(b, "x", {4, 3, 5})});
          return {b.add("ScatterElements",
                        {x, input_of(b, "i", DType::kI64, {3, 2, 4}), f32_input(b, "u", {3, 2, 4})},
                        {{"axis", axis}})};
        },
        options);
  }
}

TEST(Indexing, GatherNDAndScatterNDAgree) {
  CompareOptions options;
  options.int_low = -3;
  options.int_high = 2;
  for (const int64_t depth : {1, 2, 3}) {
    for (const int64_t batch : {0, 1}) {
      if (depth + batch > 3) continue;
      compare_all_kernels(
          [&](GraphBuilder& b) -> std::vector<ValueId> {
            return {b.add("GatherND",
                          {f32_input(b, "x", {4, 3, 5}), input_of(b, "i", DType::kI64, {4, 6, depth})},
                          {{"batch_dims", batch}})};
          },
          options);
    }
    compare_all_kernels(
        [&](GraphBuilder& b) -> std::vector<ValueId> {
          Shape updates{2, 3};
          for (int64_t i = depth; i < 3; ++i) updates.push_back(Shape{4, 3, 5}[static_cast<std::size_t>(i)]);
          return {
              b.add("ScatterND", {f32_input(b, "x", {4, 3, 5}), input_of(b, "i", DType::kI64, {2, 3, depth}),
                                  f32_input(b, "u", updates)})};
        },
        options);
  }
}

}  // namespace
}  // namespace hone::backends
