#include "passes/fuse_cross_entropy.h"

#include <fmt/format.h>
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

// What each sample counts is known where it is the same for all: then its negative is, too.
TEST(FuseCrossEntropy, AKnownFactorIsNegatedAlready) {
  const auto graph = [](const char* negated) {
    return fmt::format(R"((%x: f32[2,10], %t: i64[2,1]) {{
    %f: f32[2,1] = constant dense(0.5, 0.25)
    %n: f32[2,1] = constant dense({})
    %p: f32[*] = Softmax(%x) {{axis = 1}}
    %m: f32[*] = Mul(%p, %f)
    %d: f32[*] = ScatterElements(%m, %t, %n) {{axis = 1, reduction = "add"}}
    return %d
  }})",
                       negated);
  };
  check_rewrite(fuse_cross_entropy, graph("-0.5, -0.25"), R"((%x: f32[2,10], %t: i64[2,1]) {
    %f: f32[2,1] = constant dense(0.5, 0.25)
    %d: f32[*] = hone.CrossEntropyGradient(%x, %t, %f)
    return %d
  })",
                with_kernels(true));
  check_rewrite(fuse_cross_entropy, graph("-0.5, -0.5"), graph("-0.5, -0.5"), with_kernels(true));
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
