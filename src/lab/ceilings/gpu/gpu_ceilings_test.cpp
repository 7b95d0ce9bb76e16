// Roofs of a GPU over a driver that computes nothing: what is measured, written, kept and refused, not the numbers.
#include "lab/ceilings/gpu/gpu_ceilings.h"

#include "cuda/testing/fake_driver.h"
#include "cuda/testing/real_nvrtc.h"
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "analyze/device/busy/gpu_roofs.h"
#include "core/file.h"
#include "core/testing/scratch_path.h"
#include "lab/ceilings/gpu/gpu_ceilings_cache.h"
#include "lab/ceilings/gpu/gpu_ceilings_json.h"
#include "lab/ceilings/gpu/roof_kernels.h"
#include "trace/roofs_json.h"

namespace hone::lab {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST(RoofKernels, CompileForEveryArchitectureWithoutLocalMemory) {
  const auto nvrtc = cuda::testing::real_nvrtc();
  if (nvrtc == nullptr) GTEST_SKIP();
  for (const int number : {80, 90, 100, 120}) {
    const auto made = nvrtc->compile(roof_kernels().text, "roofs.cu", {number}, {});
    ASSERT_TRUE(made.ok()) << made.error().message;
    EXPECT_EQ(made->uses.size(), 6U);
    for (const cuda::KernelUse& use : made->uses) {
      EXPECT_EQ(use.stack_bytes + use.spill_loads + use.spill_stores, 0) << use.name << ", sm_" << number;
    }
  }
}

class GpuCeilingsOfNoGpu : public ::testing::Test {
 protected:
  GpuCeilingsOfNoGpu() {
    const auto nvrtc = cuda::testing::real_nvrtc();
    if (nvrtc == nullptr) return;
    const cuda::ContextPointer context = cuda::testing::fake_context();
    tools_.device = std::make_shared<runtime::CudaDevice>(context);
    tools_.cache = std::make_shared<cuda::KernelCache>(nvrtc, cuda::Architecture{90}, 13000, "");
    tools_.products = cuda::testing::fake_products(context);
    options_.cache_folder = folder_;
    options_.sizes = {.matrix = 16,
                      .memory_bytes = 1 << 20,
                      .link_bytes = 1 << 16,
                      .rounds = 1,
                      .replay_s = 1e-4,
                      .burst_rest_s = 0,
                      .sustained_s = 1e-3,
                      .launches = 10};
  }
  ~GpuCeilingsOfNoGpu() override { std::filesystem::remove_all(folder_); }

  const std::filesystem::path folder_ = scratch_path("hone-gpu-ceilings");
  GpuTools tools_;
  GpuCeilingsOptions options_;
};

TEST_F(GpuCeilingsOfNoGpu, HaveEveryRoofAndComeBackFromJson) {
  if (tools_.device == nullptr) GTEST_SKIP();
  std::vector<std::string> told;
  options_.progress = [&](double, const std::string& what) { return told.push_back(what), true; };
  const auto found = measure_gpu_ceilings(tools_, options_);
  ASSERT_TRUE(found.ok()) << found.error().message;
  EXPECT_TRUE(found->not_measured.empty())
      << found->not_measured[0].what << ": " << found->not_measured[0].why;
  std::vector<std::string> types, levels;
  for (const MatrixRoof& row : found->matrix) {
    types.push_back(row.type);
    EXPECT_GT(row.burst.low, 0) << row.type;
    EXPECT_LE(row.burst.low, row.burst.median) << row.type;
    EXPECT_GT(row.sustained.median, 0) << row.type;
  }
  EXPECT_THAT(types, ElementsAre("f32", "tf32", "f16", "bf16", "i8", "f8e4m3fn"));
  for (const MemoryRoof& row : found->memory) levels.push_back(row.level + " " + row.operation);
  EXPECT_THAT(levels, ElementsAre("DRAM copy", "DRAM read", "DRAM write", "L2 read", "shared read"));
  ASSERT_EQ(found->links.size(), 4U);
  EXPECT_GT(found->vector_f32.median, 0);
  EXPECT_GT(found->launch.median, 0);
  EXPECT_GT(found->graph_node.median, 0);
  EXPECT_EQ(told.front(), "products of f32");
  EXPECT_EQ(told.back(), "launches");

  const auto json = gpu_ceilings_json(*found);
  const auto back = gpu_ceilings_from_json(json);
  ASSERT_TRUE(back.ok()) << back.error().message;
  EXPECT_EQ(gpu_ceilings_json(*back), json);
  auto lacking = json;
  lacking["matrix"][0].erase("size");
  EXPECT_FALSE(gpu_ceilings_from_json(lacking).ok());
}

// What --roofs reads of the file is what was measured; TF32 is no roof of f32.
TEST_F(GpuCeilingsOfNoGpu, AreTheTableOfRoofsThatAnalysisReads) {
  GpuCeilings ceilings;
  ceilings.device = "NVIDIA H100 80GB HBM3";
  const auto rate = [](double median) { return Rate{median, median, median}; };
  for (const auto& [type, flops] :
       {std::pair{"f32", 50e12}, {"tf32", 400e12}, {"bf16", 800e12}, {"f8e4m3fn", 1400e12}})
    ceilings.matrix.push_back({type, 8192, rate(flops), rate(flops / 2), {}, {}});
  ceilings.vector_f32 = rate(51e12);
  ceilings.memory = {{"DRAM", "copy", 1, 0, rate(2.5e12)}, {"shared", "read", 1, 0, rate(30e12)}};
  const auto roofs = trace::roofs_from_json(gpu_ceilings_json(ceilings)["roofs"]);
  ASSERT_TRUE(roofs.ok()) << roofs.error().message;
  EXPECT_EQ(roofs->compute_roof(DType::kF32, 1), 51e12);
  EXPECT_EQ(roofs->compute_roof(DType::kBF16, 1), 800e12);
  EXPECT_EQ(roofs->dram_roof(1), 2.5e12);
  const auto known = analyze::device::gpu_roofs_from(*roofs, analyze::device::gpu_roofs(ceilings.device));
  EXPECT_EQ(known.f32, 51e12);
  EXPECT_EQ(known.tf32, 400e12);
  EXPECT_EQ(known.bf16, 800e12);
  EXPECT_EQ(known.f8, 1400e12);
  EXPECT_EQ(known.dram, 2.5e12);
}

TEST_F(GpuCeilingsOfNoGpu, AreKeptForThisGpuAndMeasuredAgainWhereTheFileIsDamaged) {
  if (tools_.device == nullptr) GTEST_SKIP();
  options_.quick = true;
  const auto first = load_or_measure_gpu_ceilings(tools_, options_);
  ASSERT_TRUE(first.ok()) << first.error().message;
  EXPECT_FALSE(first->from_cache);
  const auto kept = load_or_measure_gpu_ceilings(tools_, options_);
  ASSERT_TRUE(kept.ok());
  EXPECT_TRUE(kept->from_cache);
  EXPECT_EQ(kept->measured_at, first->measured_at);
  options_.quick = false;
  EXPECT_FALSE(load_or_measure_gpu_ceilings(tools_, options_)->from_cache) << "quick ones are not enough";
  options_.quick = true;
  EXPECT_TRUE(load_or_measure_gpu_ceilings(tools_, options_)->from_cache);
  ASSERT_TRUE(write_file(GpuCeilingsCache(folder_, tools_).path(), "{").ok());
  const auto again = load_or_measure_gpu_ceilings(tools_, options_);
  ASSERT_TRUE(again.ok());
  ASSERT_FALSE(again->notes.empty());
  EXPECT_THAT(again->notes[0], HasSubstr("measuring again"));
}

TEST_F(GpuCeilingsOfNoGpu, EndWhenToldToAndNameWhatFails) {
  if (tools_.device == nullptr) GTEST_SKIP();
  options_.progress = [](double, const std::string&) { return false; };
  const auto ended = measure_gpu_ceilings(tools_, options_);
  ASSERT_FALSE(ended.ok());
  EXPECT_EQ(ended.error().code, ErrorCode::kCancelled);
  options_.progress = {};
  const cuda::testing::Faults faults("lost");
  const auto lost = measure_gpu_ceilings(tools_, options_);
  ASSERT_FALSE(lost.ok());
  EXPECT_THAT(lost.error().message, HasSubstr("CUDA_ERROR_LAUNCH_FAILED"));
}

}  // namespace
}  // namespace hone::lab
