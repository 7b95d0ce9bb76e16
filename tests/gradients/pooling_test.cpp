// Gradients of pooling against finite differences.
#include "tests/gradients/nodes.h"
#include <gtest/gtest.h>

namespace hone::gradients {
namespace {

using graph::GraphBuilder;
using graph::ValueId;

const std::vector<std::pair<Shape, Attributes>> kWindows = {
    {{2, 3, 6}, {{"kernel_shape", Ints{2}}, {"strides", Ints{2}}}},
    {{1, 2, 7, 5}, {{"kernel_shape", Ints{3, 2}}, {"strides", Ints{2, 1}}, {"pads", Ints{1, 0, 1, 1}}}},
    {{1, 1, 7, 6}, {{"kernel_shape", Ints{2, 2}}, {"dilations", Ints{2, 3}}}},
    {{2, 1, 3, 4, 3}, {{"kernel_shape", Ints{2, 3, 2}}}},
    {{1, 2, 6, 5}, {{"kernel_shape", Ints{3, 3}}, {"strides", Ints{2, 2}}, {"auto_pad", "SAME_LOWER"}}},
};

TEST(PoolingGradient, OfWindows) {
  for (const auto& [shape, attributes] : kWindows) {
    SCOPED_TRACE(shape_text(shape));
    check_gradient({shape}, node("MaxPool", attributes));
    check_gradient({shape}, node("AveragePool", attributes));
    Attributes counting = attributes;
    counting.set("count_include_pad", int64_t{1});
    check_gradient({shape}, node("AveragePool", counting));
    for (const int64_t p : {1, 2, 3}) {
      Attributes norm = attributes;
      norm.set("p", p);
      check_gradient({shape}, node("LpPool", norm), {.known_extents_only = p != 1});
    }
  }
}

TEST(PoolingGradient, OfWindowsThatReachOut) {
  for (const char* op : {"MaxPool", "AveragePool"})
    for (const Ints& pads : {Ints{0, 0}, Ints{1, 1}})
      check_gradient(
          {{2, 1, 6}},
          node(op,
               {{"kernel_shape", Ints{3}}, {"strides", Ints{2}}, {"pads", pads}, {"ceil_mode", int64_t{1}}}));
  for (const int64_t p : {2, 3})
    check_gradient({{2, 1, 6}},
                   node("LpPool", {{"kernel_shape", Ints{3}},
                                   {"strides", Ints{2}},
                                   {"pads", Ints{1, 0}},
                                   {"ceil_mode", int64_t{1}},
                                   {"p", p}}),
                   {.known_extents_only = true});
}

TEST(PoolingGradient, OfNormsOfWindowsThatReachOut) {
  for (const int64_t p : {1, 2, 3})
    for (const Ints& pads : {Ints{0, 0, 0, 0}, Ints{1, 0, 0, 1}})
      for (const Ints& strides : {Ints{2, 2}, Ints{3, 1}})
        check_gradient({{2, 1, 6, 5}},
                       node("LpPool", {{"kernel_shape", Ints{3, 2}},
                                       {"strides", strides},
                                       {"pads", pads},
                                       {"p", p},
                                       {"ceil_mode", int64_t{1}}}),
                       {.needs_extents = true});
}

TEST(PoolingGradient, OfAverageGradientsAgain) {
  check_gradient(
      {{2, 3, 3}},
      node_with("hone.AveragePoolGradient", {{2, 3, 6}}, {{"kernel_shape", Ints{2}}, {"strides", Ints{2}}}),
      {.known_extents_only = true});
  check_gradient(
      {{1, 2, 4, 5}},
      node_with("hone.AveragePoolGradient", {{1, 2, 7, 5}},
                {{"kernel_shape", Ints{3, 2}}, {"strides", Ints{2, 1}}, {"pads", Ints{1, 0, 1, 1}}}),
      {.known_extents_only = true});
}

TEST(PoolingGradient, OfMaxPoolWhoseIndicesAreRead) {
  check_gradient(
      {{1, 2, 6}},
      [](GraphBuilder& b, const Values& x) {
        const Values out = b.add_many("MaxPool", x, 2, {{"kernel_shape", Ints{2}}, {"strides", Ints{2}}});
        const ValueId at = b.add("CastLike", {out[1], x[0]});
        return b.add("Mul", {out[0], at});
      },
      {.known_extents_only = true});
}

// Indices in no order; a shape that is larger or smaller than the windows give.
TEST(PoolingGradient, OfWhatIsPutBack) {
  const auto unpooled = [](const Ints& shape) {
    return [=](GraphBuilder& b, const Values& x) {
      Values in{x[0], classes(b, {1, 2, 2, 3}, {5, 0, 9, 23, 14, 17, 24, 47, 31, 30, 29, 40})};
      if (!shape.empty()) in.push_back(ints(b, shape));
      return b.add("MaxUnpool", in, {{"kernel_shape", Ints{2, 2}}, {"strides", Ints{2, 2}}});
    };
  };
  check_gradient({{1, 2, 2, 3}}, unpooled({}));
  check_gradient({{1, 2, 2, 3}}, unpooled({1, 2, 4, 6}), {.needs_extents = true});
  check_gradient({{1, 2, 2, 3}}, unpooled({1, 2, 5, 7}), {.needs_extents = true});
  check_gradient({{1, 2, 2, 3}}, unpooled({1, 2, 3, 6}), {.needs_extents = true});
}

TEST(PoolingGradient, OfPlanes) {
  for (const Shape& shape : {Shape{2, 3, 4, 3}, Shape{2, 3, 5}})
    for (const char* op : {"GlobalAveragePool", "GlobalMaxPool", "GlobalLpPool"}) {
      SCOPED_TRACE(op);
      check_gradient({shape}, node(op));
    }
  for (const int64_t p : {1, 3}) check_gradient({{2, 3, 4}}, node("GlobalLpPool", {{"p", p}}));
}

TEST(PoolingGradient, OfNeighbouringChannels) {
  for (const int64_t size : {1, 2, 3, 5})
    check_gradient({{2, 4, 3}},
                   node("LRN", {{"size", size}, {"alpha", 0.5f}, {"beta", 0.6f}, {"bias", 1.5f}}),
                   {.known_extents_only = true});
}

}  // namespace
}  // namespace hone::gradients
