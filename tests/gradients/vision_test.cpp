// Gradients of what reads images between their pixels, against finite differences: points far outside, regions that reach
// out of the image, odd sizes.
#include "tests/gradients/nodes.h"
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "graph/differentiate.h"

namespace hone::gradients {
namespace {

using graph::GraphBuilder;
using graph::kNoValue;
using graph::ValueId;

// Points to both sides of the image, some of them reflected twice.
constexpr GradientOptions kFarPoints{.low = -3.4, .high = 3.4};

Attributes sampling_of(const std::string& mode, const std::string& padding, int64_t align) {
  return {{"mode", mode}, {"padding_mode", padding}, {"align_corners", align}};
}

TEST(VisionGradient, OfGridsOfEveryModeAndPadding) {
  for (const char* mode : {"nearest", "linear", "cubic"})
    for (const char* padding : {"zeros", "border", "reflection"})
      for (const int64_t align : {0, 1}) {
        SCOPED_TRACE(fmt::format("{} {} {}", mode, padding, align));
        const Build sample = node("GridSample", sampling_of(mode, padding, align));
        check_gradient({{2, 3, 4, 5}, {2, 3, 7, 2}}, sample, kFarPoints);
        check_gradient({{1, 2, 7}, {1, 9, 1}}, sample, kFarPoints);              // a line
        check_gradient({{2, 1, 3, 2, 4}, {2, 2, 3, 1, 3}}, sample, kFarPoints);  // a volume
        check_gradient({{1, 2, 1, 3}, {1, 2, 3, 2}}, sample, kFarPoints);        // one row of pixels
      }
}

TEST(VisionGradient, OfGridsAgain) {
  for (const char* mode : {"nearest", "linear", "cubic"})
    for (const char* padding : {"zeros", "reflection"}) {
      SCOPED_TRACE(fmt::format("{} {}", mode, padding));
      check_gradient({{2, 3, 3, 2}, {2, 3, 2, 2}},
                     [=](GraphBuilder& b, const Values& x) {
                       return b.add("hone.GridSampleGradient", {x[0], ints(b, {2, 3, 4, 5}), x[1]},
                                    sampling_of(mode, padding, 0));
                     },
                     {.low = -1.7, .high = 1.7, .known_extents_only = true});
    }
}

TEST(VisionGradient, OfMapsOfTheGrid) {
  for (const int64_t align : {0, 1}) {
    const Attributes corners{{"align_corners", align}};
    check_gradient({{2, 2, 3}}, node_with("AffineGrid", {{2, 7, 3, 4}}, corners));
    check_gradient({{2, 3, 4}}, node_with("AffineGrid", {{2, 1, 3, 1, 4}}, corners));
    const Build transformer = [=](GraphBuilder& b, const Values& x) {
      const ValueId size = b.add("Shape", {x[0]});  // computed where extents are symbols
      return b.add("GridSample", {x[0], b.add("AffineGrid", {x[1], size}, corners)}, corners);
    };
    check_gradient({{2, 3, 4, 5}, {2, 2, 3}}, transformer,
                   {.low = -0.9, .high = 0.9, .known_extents_only = true});
  }
}

// The size of the grid is read when the graph runs.
TEST(VisionGradient, OfMapsOfAGridOfComputedSize) {
  check_gradient({{2, 2, 3}, {2, 1, 3, 4}},
                 [](GraphBuilder& b, const Values& x) {
                   const ValueId size = b.add("Shape", {x[1]});
                   const ValueId grid = b.add("AffineGrid", {x[0], size});
                   return b.add("Add", {b.add("ReduceSum", {grid}), b.add("ReduceSum", {x[1]})});
                 },
                 {.known_extents_only = true});
}

// Within, across every border, wholly outside, without extent, and turned round.
Build regions_of_images(const Attributes& attributes) {
  return [=](GraphBuilder& b, const Values& x) {
    const ValueId boxes =
        doubles(b, {7, 4}, {0.3, 0.6, 3.7, 4.1, -2.5, -1.5, 2.2, 1.9, 3.1, 2.2, 9.5, 8.5, 20, 20,
                            25,  24,  1.5, 1.5, 1.5,  1.5,  3.2, 3.3, 1.1, 0.7, 0,   0,   4,  4});
    return b.add("RoiAlign", {x[0], boxes, classes(b, {7}, {0, 1, 0, 1, 1, 0, 1})}, attributes);
  };
}

TEST(VisionGradient, OfRegions) {
  for (const char* mode : {"avg", "max"})
    for (const char* coordinates : {"half_pixel", "output_half_pixel"})
      for (const int64_t ratio : {0, 1, 3}) {
        SCOPED_TRACE(fmt::format("{} {} {}", mode, coordinates, ratio));
        const Attributes attributes{{"mode", mode},
                                    {"coordinate_transformation_mode", coordinates},
                                    {"sampling_ratio", ratio},
                                    {"output_height", int64_t{3}},
                                    {"output_width", int64_t{2}},
                                    {"spatial_scale", 0.75f}};
        check_gradient({{2, 3, 5, 4}}, regions_of_images(attributes));
      }
}

TEST(VisionGradient, OfRegionsAgain) {
  check_gradient({{2, 3, 2, 2}},
                 [](GraphBuilder& b, const Values& x) {
                   const ValueId boxes = doubles(b, {2, 4}, {-1, 0.5, 3, 3, 1, 1, 7, 2.5});
                   return b.add("hone.RoiAlignGradient",
                                {x[0], ints(b, {2, 3, 5, 4}), boxes, classes(b, {2}, {1, 0})},
                                {{"output_height", int64_t{2}}, {"output_width", int64_t{2}}});
                 },
                 {.known_extents_only = true});
}

// Boxes are taken as given: nothing flows to them.
TEST(VisionGradient, OfBoxesIsNone) {
  GraphBuilder b("boxes");
  const ValueId x = b.input("x", graph::tensor_type(DType::kF32, Shape{1, 1, 4, 4}));
  const ValueId boxes = b.input("boxes", graph::tensor_type(DType::kF32, Shape{2, 4}));
  const ValueId y = b.add("RoiAlign", {x, boxes, classes(b, {2}, {0, 0})});
  const auto gradients = graph::differentiate(b, y, std::vector{x, boxes});
  ASSERT_TRUE(gradients.ok()) << gradients.error().message;
  EXPECT_EQ(b.producer((*gradients)[0])->op, "hone.RoiAlignGradient");
  EXPECT_EQ(b.producer((*gradients)[1])->op, "Expand");
}

// x, weight, offset, bias, mask; what is not among the shapes is absent.
Build deformed_conv(const Attributes& attributes, bool with_bias, bool with_mask) {
  return [=](GraphBuilder& b, const Values& x) {
    Values inputs{x[0], x[1], x[2], with_bias ? x[3] : kNoValue};
    if (with_mask) inputs.push_back(x.back());
    if (!with_bias && !with_mask) inputs.pop_back();
    return b.add("DeformConv", inputs, attributes);
  };
}

TEST(VisionGradient, OfDeformedConvolutions) {
  const GradientOptions extents{.needs_extents = true};
  const Shape x{2, 4, 4, 5}, offset{2, 12, 3, 5};
  const Attributes pads{{"pads", Ints{0, 1, 0, 1}}};
  check_gradient({x, {3, 4, 2, 3}, offset, {3}, {2, 6, 3, 5}}, deformed_conv(pads, true, true), extents);
  check_gradient({x, {3, 4, 2, 3}, offset}, deformed_conv(pads, false, false), extents);
  check_gradient({x, {3, 4, 2, 3}, offset, {3}}, deformed_conv(pads, true, false), extents);
  check_gradient({x, {3, 4, 2, 3}, offset, {2, 6, 3, 5}}, deformed_conv(pads, false, true), extents);
}

TEST(VisionGradient, OfDeformedConvolutionsInGroups) {
  const Attributes attributes{{"group", int64_t{2}},
                              {"offset_group", int64_t{4}},
                              {"strides", Ints{2, 1}},
                              {"dilations", Ints{1, 2}},
                              {"pads", Ints{1, 0, 0, 1}}};
  check_gradient({{2, 4, 5, 4}, {6, 2, 2, 2}, {2, 32, 3, 3}, {6}, {2, 16, 3, 3}},
                 deformed_conv(attributes, true, true), {.low = -1.4, .high = 1.4, .needs_extents = true});
  check_gradient({{1, 2, 6}, {2, 2, 3}, {1, 3, 4}}, deformed_conv({}, false, false), {.needs_extents = true});
  check_gradient({{1, 1, 3, 2, 3}, {2, 1, 2, 1, 2}, {1, 12, 2, 2, 2}}, deformed_conv({}, false, false),
                 {.needs_extents = true});
}

// Of images whose size is not known, with weights that are.
TEST(VisionGradient, OfDeformedConvolutionsOfAnySize) {
  check_gradient({{2, 4, 4, 3}, {2, 18, 4, 3}, {2, 9, 4, 3}}, [](GraphBuilder& b, const Values& x) {
    const ValueId w = b.constant("w", random_doubles({4, 2, 3, 3}, 5));
    return b.add("DeformConv", {x[0], w, x[1], kNoValue, x[2]},
                 {{"group", int64_t{2}}, {"pads", Ints{1, 1, 1, 1}}});
  });
}

TEST(VisionGradient, OfColumns) {
  check_gradient({{2, 12, 15}}, node_with("Col2Im", {{4, 6}, {2, 2}}));
  check_gradient({{1, 12, 6}},
                 node_with("Col2Im", {{5, 6}, {2, 3}},
                           {{"pads", Ints{1, 0, 1, 1}}, {"strides", Ints{2, 2}}, {"dilations", Ints{3, 1}}}));
  check_gradient({{2, 3, 5}}, node_with("Col2Im", {{7}, {3}}));
}

TEST(VisionGradient, OfCausalWindows) {
  for (const char* activation : {"none", "silu"}) {
    const Attributes attributes{{"activation", activation}};
    const GradientOptions extents{.needs_extents = true, .batched = {0, 3}};
    check_gradient({{2, 3, 5}, {3, 1, 4}}, node("CausalConvWithState", attributes), extents);
    check_gradient({{2, 3, 2}, {3, 1, 4}, {3}, {2, 3, 3}}, node("CausalConvWithState", attributes), extents);
    check_gradient({{2, 3, 5}, {3, 1, 1}, {3}}, node("CausalConvWithState", attributes), extents);
    const Build state_too = [=](GraphBuilder& b, const Values& x) {
      const Values out = b.add_many("CausalConvWithState", x, 2, attributes);
      return b.add("Mul", {b.add("ReduceSum", {out[0]}), out[1]});
    };
    check_gradient({{2, 3, 2}, {3, 1, 4}, {3}, {2, 3, 3}}, state_too, extents);
  }
}

}  // namespace
}  // namespace hone::gradients
