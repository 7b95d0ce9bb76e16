// Pooling on the CPU against the reference, in every layout.
#include "tests/backends/compare.h"
#include <gtest/gtest.h>

namespace hone::backends {
namespace {

using graph::GraphBuilder;
using graph::ValueId;

struct PoolingCase {
  std::string op;
  Shape input;
  Attributes attributes;
};

class Pooling : public ::testing::TestWithParam<std::string> {};
INSTANTIATE_TEST_SUITE_P(Layouts, Pooling,
                         ::testing::Values("plain", "channels_last", "blocked16", "blocked8"));

TEST_P(Pooling, EveryFormAgrees) {
  const Ints two{2, 2};
  const Ints three{3, 3};
  const std::vector<PoolingCase> cases = {
      {"MaxPool", {2, 16, 9, 8}, {{"kernel_shape", two}, {"strides", two}}},
      {"MaxPool", {1, 19, 9, 8}, {{"kernel_shape", three}, {"strides", two}, {"pads", Ints{1, 1, 1, 1}}}},
      {"MaxPool", {1, 16, 9, 8}, {{"kernel_shape", three}, {"dilations", two}}},
      {"MaxPool", {1, 16, 9, 8}, {{"kernel_shape", two}, {"strides", two}, {"ceil_mode", int64_t{1}}}},
      {"MaxPool", {1, 5, 9, 8}, {{"kernel_shape", three}, {"auto_pad", std::string("SAME_UPPER")}}},
      {"MaxPool", {1, 5, 9, 8}, {{"kernel_shape", two}, {"auto_pad", std::string("SAME_LOWER")}}},
      {"MaxPool", {2, 16, 19}, {{"kernel_shape", Ints{3}}, {"strides", Ints{2}}}},
      {"MaxPool", {1, 16, 5, 6, 7}, {{"kernel_shape", Ints{2, 3, 2}}}},
      {"AveragePool", {2, 16, 9, 8}, {{"kernel_shape", two}, {"strides", two}}},
      {"AveragePool", {1, 19, 9, 8}, {{"kernel_shape", three}, {"pads", Ints{1, 1, 1, 1}}}},
      {"AveragePool",
       {1, 19, 9, 8},
       {{"kernel_shape", three}, {"pads", Ints{1, 0, 1, 1}}, {"count_include_pad", int64_t{1}}}},
      {"AveragePool", {1, 16, 5, 6, 7}, {{"kernel_shape", Ints{2, 3, 2}}}},
      {"GlobalAveragePool", {2, 16, 7, 7}, {}},
      {"GlobalAveragePool", {2, 21, 5, 3}, {}},
      {"GlobalAveragePool", {2, 21, 13}, {}},
      {"GlobalMaxPool", {2, 21, 5, 3}, {}},
  };
  for (const PoolingCase& c : cases) {
    SCOPED_TRACE(c.op + shape_text(c.input));
    compare_all_kernels([&](GraphBuilder& b) -> std::vector<ValueId> {
      const ValueId x = reorder(b, f32_input(b, "x", c.input), GetParam());
      return {reorder(b, b.add(c.op, {x}, c.attributes), "plain")};
    });
  }
}

TEST(PoolingReference, AveragesThatReachPastThePaddingAreTheReferences) {
  CompareOptions options;
  options.reference_allowed = true;
  compare_all_kernels(
      [](GraphBuilder& b) -> std::vector<ValueId> {
        return {b.add("AveragePool", {f32_input(b, "x", {1, 3, 8, 7})},
                      {{"kernel_shape", Ints{3, 3}},
                       {"strides", Ints{2, 2}},
                       {"pads", Ints{1, 1, 1, 1}},
                       {"ceil_mode", int64_t{1}}})};
      },
      options);
}

}  // namespace
}  // namespace hone::backends
