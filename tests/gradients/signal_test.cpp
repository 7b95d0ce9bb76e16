// Gradients of Fourier transforms against finite differences.
#include "tests/gradients/nodes.h"
#include <fmt/format.h>
#include <gtest/gtest.h>

namespace hone::gradients {
namespace {

using graph::GraphBuilder;
using graph::kNoValue;
using graph::ValueId;

// Along the axis, to `length` terms where that is not 0.
Build transformed(int64_t axis, int64_t length, int64_t inverse, int64_t onesided) {
  return [=](GraphBuilder& b, const Values& x) {
    const ValueId given = length == 0 ? kNoValue : b.constant("length", Tensor::scalar_i64(length));
    return b.add("DFT", {x[0], given, b.constant("axis", Tensor::scalar_i64(axis))},
                 {{"inverse", inverse}, {"onesided", onesided}});
  };
}

TEST(SignalGradient, OfTransforms) {
  for (const int64_t parts : {1, 2})
    for (const int64_t extent : {1, 4, 5})
      for (const int64_t inverse : {0, 1}) {
        SCOPED_TRACE(fmt::format("{} of {} parts, inverse {}", extent, parts, inverse));
        GradientOptions options;
        options.known_extents_only = parts == 2;  // whose number would be a symbol
        check_gradient({{2, extent, parts}}, transformed(1, 0, inverse, 0), options);
        check_gradient({{extent, 3, parts}}, transformed(-3, 0, inverse, 0), options);
      }
}

TEST(SignalGradient, OfTransformsOfAnotherLength) {
  for (const int64_t parts : {1, 2})
    for (const int64_t length : {1, 3, 4, 7})
      for (const int64_t inverse : {0, 1}) {
        SCOPED_TRACE(fmt::format("{} terms, {} parts, inverse {}", length, parts, inverse));
        check_gradient({{2, 4, parts}}, transformed(1, length, inverse, 0), {.known_extents_only = true});
      }
}

TEST(SignalGradient, OfHalfSpectra) {
  for (const int64_t parts : {1, 2})
    for (const int64_t extent : {2, 4, 5}) {
      SCOPED_TRACE(fmt::format("{} of {} parts", extent, parts));
      check_gradient({{2, extent, parts}}, transformed(1, 0, 0, 1), {.known_extents_only = parts == 2});
      check_gradient({{2, extent, parts}}, transformed(1, 0, 1, 1), {.known_extents_only = true});
      for (const int64_t length : {1, 2, 3, 6, 7})
        for (const int64_t inverse : {0, 1})
          check_gradient({{2, extent, parts}}, transformed(1, length, inverse, 1),
                         {.known_extents_only = true});
    }
}

TEST(SignalGradient, OfFrames) {
  for (const int64_t onesided : {0, 1}) {
    const Attributes attributes{{"onesided", onesided}};
    const auto framed = [&](int64_t length) {
      return [=](GraphBuilder& b, const Values& x) {
        Values in{x[0], b.constant("step", Tensor::scalar_i64(3)), x.size() > 1 ? x[1] : kNoValue};
        if (length != 0) in.push_back(b.constant("length", Tensor::scalar_i64(length)));
        return b.add("STFT", in, attributes);
      };
    };
    check_gradient({{2, 11, 1}}, framed(4), {.needs_extents = true});
    check_gradient({{2, 11, 1}, {5}}, framed(0), {.needs_extents = true});
    check_gradient({{2, 11, 2}, {4}}, framed(4), {.known_extents_only = true});
  }
}

}  // namespace
}  // namespace hone::gradients
