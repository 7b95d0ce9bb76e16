#include "passes/fuse_batch_norm_relu.h"

#include <gtest/gtest.h>

#include "passes/check_rewrite.h"

namespace hone::passes {
namespace {

std::string step(const std::string& norm, const std::string& returned) {
  return "(%x: bf16[2,3,4,4], %s: f32[3], %b: f32[3], %m: f32[3], %v: f32[3]) {\n    " + norm +
         "\n    return " + returned + "\n  }";
}
const std::string kBefore =
    "%n: bf16[*], %nm: f32[*], %nv: f32[*] = BatchNormalization(%x, %s, %b, %m, %v) {training_mode = 1, "
    "momentum = 0.8}\n"
    "    %y: bf16[*] = Relu(%n)";

TEST(FuseBatchNormRelu, BothBecomeOneOperator) {
  check_rewrite(fuse_batch_norm_relu, step(kBefore, "%y, %nm, %nv"),
                step("%y: bf16[*], %nm: f32[*], %nv: f32[*] = hone.BatchNormalizationRelu(%x, %s, %b, %m, "
                     "%v) {momentum = 0.8}",
                     "%y, %nm, %nv"),
                with_kernels(true));
}

TEST(FuseBatchNormRelu, WhatOthersReadOrNobodyRunsStays) {
  check_left_alone(fuse_batch_norm_relu, step(kBefore, "%y, %nm, %nv, %n"), "", with_kernels(true));
  check_left_alone(fuse_batch_norm_relu, step(kBefore, "%y, %nm, %nv"), "no kernel", with_kernels(false));
  check_left_alone(
      fuse_batch_norm_relu,
      step("%n: bf16[*] = BatchNormalization(%x, %s, %b, %m, %v)\n    %y: bf16[*] = Relu(%n)", "%y"), "",
      with_kernels(true));
}

}  // namespace
}  // namespace hone::passes
