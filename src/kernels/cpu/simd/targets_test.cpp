// Lets the kernels' tests run as on a lesser machine: HONE_TEST_SIMD=avx2 or scalar, before anything is
// dispatched.
#include "kernels/cpu/simd/targets.h"

#include <cstdlib>
#include <string_view>

#include <gtest/gtest.h>
#include <hwy/highway.h>

namespace {

bool disable_targets() {
  const char* wanted = std::getenv("HONE_TEST_SIMD");
  if (wanted == nullptr) return false;
  const bool scalar = std::string_view(wanted) == "scalar";
  if (!scalar && std::string_view(wanted) != "avx2") return false;
  hwy::DisableTargets(HWY_AVX3 | HWY_AVX3_DL | (scalar ? HWY_AVX2 : 0));
  return true;
}

const bool kDisabled = disable_targets();

TEST(SimdTargets, FollowTheEnvironment) {
  if (!kDisabled) GTEST_SKIP() << "HONE_TEST_SIMD is neither avx2 nor scalar";
  EXPECT_EQ(hwy::SupportedTargets() & HWY_AVX3, 0);
}

}  // namespace
