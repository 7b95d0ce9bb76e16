#include "passes/fuse_relu_gradient.h"

#include <gtest/gtest.h>

#include "passes/check_rewrite.h"

namespace hone::passes {
namespace {

TEST(FuseReluGradient, TheNormalizationTakesWhatStandsBehindIt) {
  check_rewrite(fuse_relu_gradient, R"((%g: f32[2,3,4,4], %x: f32[2,3,4,4], %s: f32[3], %r: f32[2,3,4,4]) {
    %zero: f32[] = constant dense(0.0)
    %above: bool[*] = Greater(%r, %zero)
    %h: f32[*] = Where(%above, %g, %zero)
    %dx: f32[*], %ds: f32[*], %db: f32[*] = hone.BatchNormalizationGradient(%h, %x, %s)
    return %dx, %ds, %db
  })",
                R"((%g: f32[2,3,4,4], %x: f32[2,3,4,4], %s: f32[3], %r: f32[2,3,4,4]) {
    %dx: f32[*], %ds: f32[*], %db: f32[*] = hone.BatchNormalizationGradient(%g, %x, %s, %r)
    return %dx, %ds, %db
  })");
}

// Of a residual sum: the shortcut needs the Relu's gradient, too.
TEST(FuseReluGradient, WhatOthersReadStays) {
  check_left_alone(fuse_relu_gradient, R"((%g: f32[2,3,4,4], %x: f32[2,3,4,4], %s: f32[3], %r: f32[2,3,4,4]) {
    %zero: f32[] = constant dense(0.0)
    %above: bool[*] = Greater(%r, %zero)
    %h: f32[*] = Where(%above, %g, %zero)
    %dx: f32[*], %ds: f32[*], %db: f32[*] = hone.BatchNormalizationGradient(%h, %x, %s)
    return %dx, %ds, %db, %h
  })",
                   "alone");
}

TEST(FuseReluGradient, AnotherThresholdIsNoRelu) {
  check_left_alone(fuse_relu_gradient, R"((%g: f32[2,3,4,4], %x: f32[2,3,4,4], %s: f32[3], %r: f32[2,3,4,4]) {
    %zero: f32[] = constant dense(0.0)
    %one: f32[] = constant dense(1.0)
    %above: bool[*] = Greater(%r, %one)
    %h: f32[*] = Where(%above, %g, %zero)
    %dx: f32[*], %ds: f32[*], %db: f32[*] = hone.BatchNormalizationGradient(%h, %x, %s)
    return %dx, %ds, %db
  })");
}

}  // namespace
}  // namespace hone::passes
