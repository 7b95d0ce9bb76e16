// The gradient of Resize in every mode that there is.
#include "tests/gradients/nodes.h"
#include <gtest/gtest.h>

namespace hone::gradients {
namespace {

using graph::GraphBuilder;
using graph::kNoValue;
using graph::ValueId;

ValueId floats(GraphBuilder& b, const std::vector<float>& values) {
  return b.constant("floats", Tensor::f32({static_cast<int64_t>(values.size())}, values));
}

void check_scales(const Shape& shape, const std::vector<float>& scales, const Attributes& attributes) {
  const Build resized = [=](GraphBuilder& b, const Values& x) {
    return b.add("Resize", {x[0], kNoValue, floats(b, scales)}, attributes);
  };
  check_gradient({shape}, resized, {.needs_extents = true});
}

void check_sizes(const Shape& shape, const Ints& sizes, const Attributes& attributes) {
  const Build resized = [=](GraphBuilder& b, const Values& x) {
    return b.add("Resize", {x[0], kNoValue, kNoValue, ints(b, sizes)}, attributes);
  };
  check_gradient({shape}, resized, {.needs_extents = true});
}

constexpr const char* kCoordinates[] = {"half_pixel", "half_pixel_symmetric", "pytorch_half_pixel",
                                        "align_corners", "asymmetric"};

TEST(ResizeGradient, OfEveryModeAndCoordinate) {
  for (const char* mode : {"nearest", "linear", "cubic"})
    for (const char* coordinates : kCoordinates) {
      SCOPED_TRACE(std::string(mode) + " " + coordinates);
      const Attributes attributes{{"mode", mode}, {"coordinate_transformation_mode", coordinates}};
      check_scales({1, 2, 3, 4}, {1, 1, 2, 2}, attributes);
      check_scales({1, 1, 5, 4}, {1, 1, 0.6f, 1.7f}, attributes);
      check_sizes({2, 1, 5}, {2, 1, 7}, attributes);
    }
}

TEST(ResizeGradient, OfEveryRounding) {
  for (const char* rounding : {"round_prefer_floor", "round_prefer_ceil", "floor", "ceil"})
    for (const char* coordinates : kCoordinates) {
      SCOPED_TRACE(std::string(rounding) + " " + coordinates);
      const Attributes attributes{{"nearest_mode", rounding},
                                  {"coordinate_transformation_mode", coordinates}};
      check_scales({1, 2, 3, 4}, {1, 1, 2, 3}, attributes);
      check_scales({1, 1, 6, 4}, {1, 1, 0.5f, 1}, attributes);
    }
}

TEST(ResizeGradient, OfFiltersThatAreStretchedOrCut) {
  for (const char* mode : {"linear", "cubic"}) {
    check_sizes({1, 1, 7, 6}, {1, 1, 3, 4}, {{"mode", mode}, {"antialias", int64_t{1}}});
    check_scales({1, 1, 4, 5}, {1, 1, 1.5f, 2}, {{"mode", mode}, {"exclude_outside", int64_t{1}}});
  }
  check_scales({1, 1, 4, 5}, {1, 1, 1.5f, 2}, {{"mode", "cubic"}, {"cubic_coeff_a", -0.5f}});
}

TEST(ResizeGradient, OfNamedAxesAndFarOnes) {
  const Build named = [](GraphBuilder& b, const Values& x) {
    return b.add("Resize", {x[0], kNoValue, floats(b, {1.5f, 2})},
                 {{"mode", "linear"}, {"axes", Ints{2, 0}}});
  };
  check_gradient({{2, 3, 4, 2}}, named, {.needs_extents = true});
  check_scales({2, 1, 3, 2, 2}, {1, 1, 2, 1.5f, 1}, {{"mode", "linear"}});
}

TEST(ResizeGradient, OfARegionPartlyOutside) {
  for (const char* mode : {"nearest", "linear"}) {
    const Build cropped = [=](GraphBuilder& b, const Values& x) {
      const ValueId roi = floats(b, {0, 0, 0.2f, -0.3f, 1, 1, 0.8f, 1.2f});
      return b.add("Resize", {x[0], roi, kNoValue, ints(b, {1, 1, 3, 5})},
                   {{"mode", mode},
                    {"coordinate_transformation_mode", "tf_crop_and_resize"},
                    {"extrapolation_value", 7.0f}});
    };
    check_gradient({{1, 1, 4, 4}}, cropped, {.needs_extents = true});
  }
}

}  // namespace
}  // namespace hone::gradients
