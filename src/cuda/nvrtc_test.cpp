#include "cuda/nvrtc.h"

#include "cuda/testing/real_nvrtc.h"
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace hone::cuda {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

TEST(KernelUses, AreReadFromWhatPtxasSays) {
  const auto uses = kernel_uses(
      "ptxas info    : 24 bytes gmem\n"
      "ptxas info    : Compiling entry function 'q' for 'sm_90'\n"
      "ptxas info    : Function properties for q\n"
      "ptxas         .     32 bytes stack frame, 4 bytes spill stores, 8 bytes spill loads\n"
      "ptxas info    : Used 22 registers, used 1 barriers, 32 bytes cumulative stack size\n"
      "ptxas info    : Compiling entry function 'k' for 'sm_90'\n"
      "ptxas         .     0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads\n"
      "ptxas info    : Used 47 registers");
  ASSERT_EQ(uses.size(), 2U);
  EXPECT_EQ(uses[0].name, "q");
  EXPECT_EQ(uses[0].registers, 22);
  EXPECT_EQ(uses[0].stack_bytes, 32);
  EXPECT_EQ(uses[0].spill_stores, 4);
  EXPECT_EQ(uses[0].spill_loads, 8);
  EXPECT_EQ(uses[1].name, "k");
  EXPECT_EQ(uses[1].registers, 47);
  EXPECT_EQ(uses[1].stack_bytes, 0);
}

constexpr const char* kTwice = R"(extern "C" __global__ void twice(float* x) { x[threadIdx.x] *= 2; })";

TEST(RealNvrtc, MakesCodeForEveryArchitectureWithoutAGpu) {
  const auto nvrtc = testing::real_nvrtc();
  if (nvrtc == nullptr) GTEST_SKIP();
  for (const int architecture : {80, 90, 100, 120}) {
    const auto compiled = nvrtc->compile(kTwice, "twice.cu", {architecture}, {});
    ASSERT_TRUE(compiled.ok()) << compiled.error().message;
    EXPECT_FALSE(compiled->is_ptx);
    ASSERT_EQ(compiled->uses.size(), 1U);
    EXPECT_EQ(compiled->uses[0].name, "twice");
    EXPECT_GT(compiled->uses[0].registers, 0);
    EXPECT_EQ(compiled->uses[0].stack_bytes, 0);
  }
}

TEST(RealNvrtc, GivesPtxToAGpuThatIsNewerThanItself) {
  const auto nvrtc = testing::real_nvrtc();
  if (nvrtc == nullptr) GTEST_SKIP();
  const auto compiled = nvrtc->compile(kTwice, "twice.cu", {999}, {});
  ASSERT_TRUE(compiled.ok()) << compiled.error().message;
  EXPECT_TRUE(compiled->is_ptx);
  EXPECT_THAT(std::string(compiled->image.data()), HasSubstr(".entry twice"));
}

TEST(RealNvrtc, SaysWhatIsWrongWithASource) {
  const auto nvrtc = testing::real_nvrtc();
  if (nvrtc == nullptr) GTEST_SKIP();
  const auto compiled = nvrtc->compile("__global__ void k() { y = 1; }", "wrong.cu", {90}, {});
  ASSERT_FALSE(compiled.ok());
  EXPECT_THAT(compiled.error().message,
              AllOf(HasSubstr("wrong.cu does not compile for sm_90"), HasSubstr("\"y\" is undefined")));
}

TEST(RealNvrtc, MakesNoCodeForWhatItHasForgotten) {
  const auto nvrtc = testing::real_nvrtc();
  if (nvrtc == nullptr) GTEST_SKIP();
  const auto compiled = nvrtc->compile(kTwice, "twice.cu", {30}, {});
  ASSERT_FALSE(compiled.ok());
  EXPECT_THAT(compiled.error().message, HasSubstr("makes no code for sm_30"));
}

}  // namespace
}  // namespace hone::cuda
