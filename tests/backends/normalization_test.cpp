// Softmax, normalisation and attention on the CPU against the reference.
#include "tests/backends/compare.h"
#include <gtest/gtest.h>

namespace hone::backends {
namespace {

using graph::GraphBuilder;
using graph::ValueId;

// Every input goes through Neg first: a buffer that the kernel may overwrite.
ValueId fresh(GraphBuilder& b, const Shape& shape) { return b.add("Neg", {f32_input(b, "x", shape)}); }

TEST(Softmax, EveryAxisAgrees) {
  for (const char* op : {"Softmax", "LogSoftmax"}) {
    for (const Shape& shape : {Shape{7}, Shape{3, 65}, Shape{2, 3, 17, 5}, Shape{4, 1, 33}, Shape{1, 1000}}) {
      for (int64_t axis = -1; axis < static_cast<int64_t>(shape.size()); ++axis) {
        SCOPED_TRACE(testing::Message() << op << shape_text(shape) << axis);
        compare_all_kernels([&](GraphBuilder& b) -> std::vector<ValueId> {
          return {b.add(op, {fresh(b, shape)}, {{"axis", axis}})};
        });
      }
    }
  }
}

TEST(LayerNormalization, EveryFormAgrees) {
  for (const Shape& shape : {Shape{3, 65}, Shape{2, 3, 768}, Shape{5, 1}, Shape{2, 4, 3, 5}}) {
    for (int64_t axis = 0; axis < static_cast<int64_t>(shape.size()); ++axis) {
      for (const int inputs : {2, 3}) {
        SCOPED_TRACE(testing::Message() << shape_text(shape) << axis << inputs);
        const Shape scale(shape.begin() + axis, shape.end());
        compare_all_kernels([&](GraphBuilder& b) -> std::vector<ValueId> {
          std::vector<ValueId> in{fresh(b, shape), f32_constant(b, scale)};
          if (inputs > 2) in.push_back(f32_constant(b, scale, 2));
          return {b.add("LayerNormalization", in, {{"axis", axis}, {"epsilon", 1e-3F}})};
        });
      }
      compare_all_kernels([&](GraphBuilder& b) -> std::vector<ValueId> {
        const Shape scale(shape.begin() + axis, shape.end());
        return {b.add("RMSNormalization", {fresh(b, shape), f32_constant(b, scale)}, {{"axis", axis}})};
      });
    }
  }
}

TEST(LayerNormalization, MeanAndDeviationAgree) {
  compare_all_kernels([](GraphBuilder& b) -> std::vector<ValueId> {
    return b.add_many("LayerNormalization",
                      {fresh(b, {3, 4, 65}), f32_constant(b, {65}), f32_constant(b, {65})}, 3);
  });
}

TEST(GroupNormalization, EveryFormAgrees) {
  for (const Shape& shape : {Shape{2, 6, 5, 7}, Shape{1, 6, 33}, Shape{3, 6, 2, 3, 4}}) {
    SCOPED_TRACE(shape_text(shape));
    compare_all_kernels([&](GraphBuilder& b) -> std::vector<ValueId> {
      return {
          b.add("InstanceNormalization", {fresh(b, shape), f32_constant(b, {6}), f32_constant(b, {6}, 2)})};
    });
    for (const int64_t groups : {1, 2, 6}) {
      compare_all_kernels([&](GraphBuilder& b) -> std::vector<ValueId> {
        return {b.add("GroupNormalization", {fresh(b, shape), f32_constant(b, {6}), f32_constant(b, {6}, 2)},
                      {{"num_groups", groups}})};
      });
    }
  }
}

TEST(BatchNormalization, ByGivenStatisticsEveryFormAgrees) {
  for (const Shape& shape : {Shape{2, 6}, Shape{1, 6, 33}, Shape{3, 6, 5, 7}, Shape{1, 6, 1, 4000}}) {
    for (const float epsilon : {1e-5F, 0.5F}) {
      SCOPED_TRACE(testing::Message() << shape_text(shape) << epsilon);
      compare_all_kernels([&](GraphBuilder& b) -> std::vector<ValueId> {
        const ValueId variance =
            b.constant("variance", Tensor::f32({6}, std::vector<float>{1, 4, 0.1F, 2, 0, 9}));
        return {b.add("BatchNormalization",
                      {fresh(b, shape), f32_constant(b, {6}), f32_constant(b, {6}, 2),
                       f32_constant(b, {6}, 3), variance},
                      {{"epsilon", epsilon}})};
      });
    }
  }
}

TEST(BatchNormalization, InTrainingEveryFormAgrees) {
  for (const Shape& shape : {Shape{5, 6}, Shape{2, 6, 33}, Shape{3, 6, 5, 7}, Shape{1, 6, 1, 4000}}) {
    SCOPED_TRACE(shape_text(shape));
    compare_all_kernels([&](GraphBuilder& b) -> std::vector<ValueId> {
      return b.add_many("BatchNormalization",
                        {fresh(b, shape), f32_constant(b, {6}), f32_constant(b, {6}, 2),
                         f32_constant(b, {6}, 3), f32_constant(b, {6}, 4)},
                        3, {{"training_mode", int64_t{1}}, {"momentum", 0.7F}});
    });
    for (const bool relu : {false, true})
      compare_all_kernels([&](GraphBuilder& b) -> std::vector<ValueId> {
        std::vector<ValueId> inputs{fresh(b, shape), fresh(b, shape), f32_constant(b, {6})};
        if (relu) inputs.push_back(fresh(b, shape));
        return b.add_many("hone.BatchNormalizationGradient", inputs, 3, {{"epsilon", 0.1F}});
      });
  }
}

TEST(LayerNormalization, GradientsOfEveryFormAgree) {
  for (const Shape& shape : {Shape{5, 6}, Shape{2, 7, 6}, Shape{300, 5, 2, 3}}) {
    SCOPED_TRACE(shape_text(shape));
    const bool deep = shape.size() == 4;
    compare_all_kernels([&](GraphBuilder& b) -> std::vector<ValueId> {
      return b.add_many("hone.LayerNormalizationGradient",
                        {fresh(b, shape), fresh(b, shape), f32_constant(b, deep ? Shape{2, 3} : Shape{6})}, 3,
                        {{"axis", int64_t{deep ? -2 : -1}}, {"epsilon", 0.1F}});
    });
  }
}

struct AttentionCase {
  Shape q, k, v;
  Attributes attributes;
  std::optional<Shape> mask;
  DType mask_type = DType::kF32;
};

TEST(Attention, EveryFormAgrees) {
  const Attributes heads{{"q_num_heads", int64_t{3}}, {"kv_num_heads", int64_t{3}}};
  const Attributes grouped{{"q_num_heads", int64_t{6}}, {"kv_num_heads", int64_t{2}}};
  const Attributes causal{{"is_causal", int64_t{1}}};
  const std::vector<AttentionCase> cases = {
      {{2, 3, 5, 8}, {2, 3, 7, 8}, {2, 3, 7, 8}, {}, {}},
      {{2, 3, 5, 8}, {2, 3, 7, 8}, {2, 3, 7, 10}, {{"scale", 0.3F}}, {}},
      {{1, 3, 65, 32}, {1, 3, 65, 32}, {1, 3, 65, 32}, causal, {}},
      {{1, 3, 5, 8}, {1, 3, 9, 8}, {1, 3, 9, 8}, causal, {}},
      {{2, 6, 5, 8}, {2, 2, 7, 8}, {2, 2, 7, 8}, {}, {}},
      {{2, 5, 24}, {2, 7, 24}, {2, 7, 24}, heads, {}},
      {{2, 5, 48}, {2, 7, 16}, {2, 7, 16}, grouped, {}},
      {{2, 3, 5, 8}, {2, 3, 7, 8}, {2, 3, 7, 8}, {}, Shape{5, 7}},
      {{2, 3, 5, 8}, {2, 3, 7, 8}, {2, 3, 7, 8}, {}, Shape{2, 1, 5, 7}},
      {{2, 3, 5, 8}, {2, 3, 7, 8}, {2, 3, 7, 8}, {}, Shape{2, 3, 5, 7}},
      {{2, 3, 5, 8}, {2, 3, 7, 8}, {2, 3, 7, 8}, {}, Shape{2, 1, 1, 7}},
      {{2, 3, 5, 8}, {2, 3, 7, 8}, {2, 3, 7, 8}, causal, Shape{1, 3, 5, 7}},
      {{2, 5, 24}, {2, 7, 24}, {2, 7, 24}, heads, Shape{3, 5, 7}},
      {{1, 1, 1, 64}, {1, 1, 130, 64}, {1, 1, 130, 64}, {}, {}}};
  for (const AttentionCase& c : cases) {
    SCOPED_TRACE(shape_text(c.q) + shape_text(c.k) + (c.mask ? shape_text(*c.mask) : ""));
    compare_all_kernels([&](GraphBuilder& b) -> std::vector<ValueId> {
      std::vector<ValueId> in{f32_input(b, "q", c.q), f32_input(b, "k", c.k), f32_input(b, "v", c.v)};
      if (c.mask) in.push_back(f32_input(b, "m", *c.mask));
      return {b.add("Attention", in, c.attributes)};
    });
  }
}

TEST(Attention, MasksOfTruthValuesAndOtherFormsAreTheReferences) {
  CompareOptions options;
  options.reference_allowed = true;
  for (const Attributes& attributes : {Attributes{}, Attributes{{"softcap", 2.0F}}}) {
    compare_all_kernels(
        [&](GraphBuilder& b) -> std::vector<ValueId> {
          std::vector<uint8_t> truth(35);
          for (std::size_t i = 0; i < truth.size(); ++i) truth[i] = i % 3 != 0 ? 1 : 0;
          const ValueId mask = b.constant("m", Tensor::of<uint8_t>(DType::kBool, {5, 7}, truth));
          return {b.add("Attention",
                        {f32_input(b, "q", {2, 3, 5, 8}), f32_input(b, "k", {2, 3, 7, 8}),
                         f32_input(b, "v", {2, 3, 7, 8}), mask},
                        attributes)};
        },
        options);
  }
}

}  // namespace
}  // namespace hone::backends
