#include "passes/fuse_cross_entropy.h"

#include <gtest/gtest.h>

#include "passes/check_rewrite.h"

namespace hone::passes {
namespace {

constexpr const char* kGradient = R"((%x: f32[8,10], %t: i64[8,1], %f: f32[8,1]) {
    %p: f32[*] = Softmax(%x) {axis = 1}
    %m: f32[*] = Mul(%p, %f)
    %n: f32[*] = Neg(%f)
    %d: f32[*] = ScatterElements(%m, %t, %n) {axis = 1, reduction = "add"}
    return %d
  })";

PassContext with_kernels(bool has) {
  PassContext context = willing_target();
  context.target.runs = [has](const graph::Graph&, const graph::Node&) { return has; };
  return context;
}

TEST(FuseCrossEntropy, TheGradientBecomesOneOperator) {
  check_rewrite(fuse_cross_entropy, kGradient, R"((%x: f32[8,10], %t: i64[8,1], %f: f32[8,1]) {
    %d: f32[*] = hone.CrossEntropyGradient(%x, %t, %f)
    return %d
  })",
                with_kernels(true));
}

TEST(FuseCrossEntropy, ATargetWithoutAKernelKeepsThePieces) {
  check_rewrite(fuse_cross_entropy, kGradient, kGradient, with_kernels(false));
}

// Of another factor, along another axis, or where the product is read by others, it is not that gradient.
TEST(FuseCrossEntropy, WhatOnlyLooksLikeItStays) {
  const std::string text = kGradient;
  const auto changed = [&](const std::string& from, const std::string& to) {
    std::string other = text;
    other.replace(other.find(from), from.size(), to);
    return other;
  };
  for (const std::string& other :
       {changed("Neg(%f)", "Neg(%n2)").replace(text.find("%p:"), 0, "%n2: f32[*] = Abs(%f)\n    "),
        changed("{axis = 1}", "{axis = 0}"), changed("{axis = 1, ", "{axis = 0, "),
        changed("\"add\"", "\"none\""), changed("return %d", "return %d, %m")}) {
    SCOPED_TRACE(other);
    check_rewrite(fuse_cross_entropy, other, other, with_kernels(true));
  }
}

}  // namespace
}  // namespace hone::passes
