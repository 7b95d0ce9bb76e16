#include "passes/absorb_transposes.h"

#include <gtest/gtest.h>

#include "passes/check_rewrite.h"

namespace hone::passes {
namespace {

PassContext either_way() {
  PassContext context = willing_target();
  context.target.takes.products = {DType::kF32, DType::kBF16};
  return context;
}

TEST(AbsorbTransposes, ProductsReadMatricesAsTheyLie) {
  check_rewrite(absorb_transposes, R"((%x: f32[5,3], %y: f32[4,5]) {
    %a: f32[*] = Transpose(%x) {perm = [1,0]}
    %b: f32[*] = Transpose(%y) {perm = [1,0]}
    %z: f32[*] = MatMul(%a, %b)
    return %z
  })",
                R"((%x: f32[5,3], %y: f32[4,5]) {
    %z: f32[*] = Gemm(%x, %y) {transA = 1, transB = 1}
    return %z
  })",
                either_way());
}

TEST(AbsorbTransposes, RowsOfAllMatricesAreOne) {
  check_rewrite(absorb_transposes, R"((%x: f32[2,5,3], %y: f32[4,3]) {
    %b: f32[*] = Transpose(%y) {perm = [1,0]}
    %z: f32[*] = MatMul(%x, %b)
    return %z
  })",
                R"((%x: f32[2,5,3], %y: f32[4,3]) {
    %rows: i64[2] = constant dense(10, 3)
    %all: i64[3] = constant dense(2, 5, 4)
    %x2: f32[*] = Reshape(%x, %rows)
    %g: f32[*] = Gemm(%x2, %y) {transA = 0, transB = 1}
    %z: f32[*] = Reshape(%g, %all)
    return %z
  })",
                either_way());
}

TEST(AbsorbTransposes, WhatIsNoMatrixOrNotTransposedStays) {
  check_left_alone(absorb_transposes, R"((%x: f32[2,5,3], %y: f32[2,4,3]) {
    %b: f32[*] = Transpose(%y) {perm = [0,2,1]}
    %z: f32[*] = MatMul(%x, %b)
    return %z
  })",
                   "", either_way());
  check_left_alone(absorb_transposes,
                   "(%x: f32[2,3], %y: f32[3,4]) { %z: f32[*] = MatMul(%x, %y) return %z }", "",
                   either_way());
}

TEST(AbsorbTransposes, ACpuKeepsThem) {
  check_left_alone(absorb_transposes, R"((%x: f32[2,3], %y: f32[4,3]) {
    %b: f32[*] = Transpose(%y) {perm = [1,0]}
    %z: f32[*] = MatMul(%x, %b)
    return %z
  })");
}

}  // namespace
}  // namespace hone::passes
