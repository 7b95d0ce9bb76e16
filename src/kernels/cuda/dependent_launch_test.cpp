#include "kernels/cuda/dependent_launch.h"

#include <gtest/gtest.h>

namespace hone::kernels::gpu {
namespace {

std::size_t count(const std::string& text, std::string_view what) {
  std::size_t found = 0;
  for (std::size_t at = text.find(what); at != std::string::npos; at = text.find(what, at + 1)) ++found;
  return found;
}

TEST(DependentLaunch, EveryKernelWaitsBeforeItsFirstStatement) {
  const std::string text = with_dependent_launch(
      "struct S { int x; };\n__device__ int f() { return 1; }\n"
      "extern \"C\" __global__ void __launch_bounds__(256, 1) first(int* x) {\n  *x = f();\n}\n"
      "extern \"C\" __global__ void declared(int* x);\n"
      "extern \"C\" __global__ void second(int* x)\n{ if (x) { *x = 2; } }\n");
  EXPECT_NE(text.find("first(int* x) { HONE_WAIT_FOR_WHAT_RAN_BEFORE\n  *x = f();"), std::string::npos);
  EXPECT_NE(text.find("second(int* x)\n{ HONE_WAIT_FOR_WHAT_RAN_BEFORE if (x)"), std::string::npos);
  EXPECT_EQ(count(text, " HONE_WAIT_FOR_WHAT_RAN_BEFORE asm"), 1u);  // where it is defined
  EXPECT_EQ(count(text, "{ HONE_WAIT_FOR_WHAT_RAN_BEFORE"), 2u);
}

}  // namespace
}  // namespace hone::kernels::gpu
