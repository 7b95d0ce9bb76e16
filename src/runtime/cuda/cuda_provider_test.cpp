// What the CUDA provider makes of graphs, over a driver that computes nothing; kernels are compiled by the real NVRTC,
// which takes no GPU.
#include "runtime/cuda/cuda_provider.h"

#include "cuda/testing/fake_driver.h"
#include "cuda/testing/real_nvrtc.h"
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/testing/scratch_path.h"
#include "core/units.h"
#include "graph/builder.h"
#include "runtime/lower/pointwise_table.h"
#include "runtime/plan.h"
#include "runtime/testing/providers.h"

namespace hone::runtime {
namespace {

using ::testing::HasSubstr;

class RealNvrtcProvider : public ::testing::Test {
 protected:
  RealNvrtcProvider() {
    if (nvrtc_ != nullptr) start_anew("");
  }
  // As another process would, with what `folder` keeps of compiled kernels.
  void start_anew(const std::filesystem::path& folder) {
    cache_ = std::make_shared<cuda::KernelCache>(nvrtc_, cuda::Architecture{90}, 13000, folder);
    provider_ = std::make_unique<CudaProvider>(
        cuda_kernels::GpuKernels{.device = std::make_shared<CudaDevice>(cuda::testing::fake_context()),
                                 .cache = cache_,
                                 .products = {}});
  }

  const std::shared_ptr<const cuda::Nvrtc> nvrtc_ = cuda::testing::real_nvrtc();
  std::shared_ptr<cuda::KernelCache> cache_;
  std::unique_ptr<CudaProvider> provider_;
};

// y = relu(x + row) * x, then a product, which there is no kernel for yet.
graph::Graph pointwise_and_product() {
  graph::GraphBuilder b("mixed");
  const auto x = b.input("x", graph::tensor_type(DType::kF32, Shape{8, 12}));
  const auto row = b.constant("row", Tensor::zeros(DType::kF32, {12}));
  const auto y = b.add("Mul", {b.add("Relu", {b.add("Add", {x, row})}), x});
  b.output(b.add("MatMul", {y, b.constant("w", Tensor::zeros(DType::kF32, {12, 3}))}));
  return *std::move(b).finish();
}

TEST_F(RealNvrtcProvider, RunsPointwiseOperatorsOnTheGpuAndSaysWhatItDoesNot) {
  if (provider_ == nullptr) return;
  const int64_t before = cuda::testing::kernels_run();
  auto plan = Plan::compile(pointwise_and_product(), *provider_);
  ASSERT_TRUE(plan.ok()) << plan.error().message;
  const auto& steps = (*plan)->steps();
  ASSERT_EQ(steps.size(), 4U);
  for (std::size_t i = 0; i < 3; ++i)
    EXPECT_EQ(steps[i].implementation, "hone pointwise (CUDA)") << steps[i].op;
  EXPECT_EQ(steps[3].implementation, "reference, off the GPU");
  const int64_t made = cuda::testing::kernels_run();
  ASSERT_TRUE((*plan)->write(0, Tensor::zeros(DType::kF32, {8, 12})).ok());
  ASSERT_TRUE((*plan)->run().ok());
  EXPECT_EQ(cuda::testing::kernels_run() - made, 3);
  EXPECT_GE(made, before);
}

TEST_F(RealNvrtcProvider, LaunchesItsKernelsEarlyBehindKernelsAndNothingElse) {
  if (provider_ == nullptr) return;
  const int64_t before = cuda::testing::early_launches();
  auto plan = Plan::compile(pointwise_and_product(), *provider_);
  ASSERT_TRUE(plan.ok()) << plan.error().message;
  ASSERT_TRUE((*plan)->write(0, Tensor::zeros(DType::kF32, {8, 12})).ok());
  ASSERT_TRUE((*plan)->run().ok());
  EXPECT_EQ(cuda::testing::early_launches() - before, 2) << "of three, of which the first follows no kernel";
}

// Two chains of two, side by side, joined by a sum.
graph::Graph two_chains() {
  graph::GraphBuilder b("chains");
  const auto x = b.input("x", graph::tensor_type(DType::kF32, Shape{8, 12}));
  const auto left = b.add("Relu", {b.add("Mul", {x, x})});
  const auto right = b.add("Sigmoid", {b.add("Neg", {x})});
  b.output(b.add("Add", {left, right}));
  return *std::move(b).finish();
}

TEST_F(RealNvrtcProvider, RunsLanesOnStreamsOfTheirOwn) {
  if (provider_ == nullptr) return;
  PlanOptions options;
  options.overlap = Overlap::kAlways;
  options.autotune = false;
  const int64_t before = cuda::testing::early_launches();
  auto plan = Plan::compile(two_chains(), *provider_, options);
  ASSERT_TRUE(plan.ok()) << plan.error().message;
  int in_lanes = 0;
  for (const PlanStep& step : (*plan)->steps()) in_lanes += step.lanes == 2 ? 1 : 0;
  EXPECT_EQ(in_lanes, 4);
  ASSERT_TRUE((*plan)->write(0, Tensor::zeros(DType::kF32, {8, 12})).ok());
  const int64_t kernels = cuda::testing::kernels_run();
  ASSERT_TRUE((*plan)->run().ok());
  EXPECT_EQ(cuda::testing::kernels_run() - kernels, 5);
  EXPECT_EQ(cuda::testing::early_launches() - before, 2) << "the second of each chain; the sum follows both";
}

TEST_F(RealNvrtcProvider, CompilesTheKernelsOfAPlanAheadAndNoneWithAWarmCache) {
  if (provider_ == nullptr) return;
  const auto folder = scratch_path("hone-plan-kernels");
  std::vector<std::string> told;
  PlanOptions options;
  options.progress = [&](std::size_t done, std::size_t, const std::string& what) {
    if (done == 0) told.push_back(what);
    return true;
  };
  start_anew(folder);
  ASSERT_TRUE(Plan::compile(pointwise_and_product(), *provider_, options).ok());
  EXPECT_EQ(cache_->compiled(), 3);
  EXPECT_THAT(told, ::testing::Contains("0 of 3 kernels made")) << "before any node has its kernel";
  start_anew(folder);
  ASSERT_TRUE(Plan::compile(pointwise_and_product(), *provider_, options).ok());
  EXPECT_EQ(cache_->compiled(), 0);
  options.progress = [](std::size_t, std::size_t, const std::string& what) {
    return what.find("kernels made") == std::string::npos;
  };
  start_anew("");
  const auto ended = Plan::compile(pointwise_and_product(), *provider_, options);
  ASSERT_FALSE(ended.ok());
  EXPECT_EQ(ended.error().code, ErrorCode::kCancelled);
  EXPECT_EQ(cache_->compiled(), 0);
  std::filesystem::remove_all(folder);
}

// What passes are told is what there is. Operators with operands of several types or kinds are left to the tests of the
// programs that they become (kernels/cuda/pointwise_test.cpp).
TEST_F(RealNvrtcProvider, HasAKernelForWhateverItsTableSays) {
  if (provider_ == nullptr) return;
  int rows = 0;
  for (const graph::PointwiseCapability& row : provider_->capabilities().pointwise) {
    if (!row.types.holds(DType::kF32) || row.optional_operands || row.op == "Where" || row.op == "Cast")
      continue;
    graph::GraphBuilder b("row");
    std::vector<graph::ValueId> given;
    for (int i = 0; i < kernels::pointwise_arity(find_pointwise(row.op)->instruction); ++i)
      given.push_back(b.input(i == 0 ? "x" : "y", graph::tensor_type(DType::kF32, Shape{4, 4})));
    b.output(b.add(std::string(row.op), given));
    const graph::Graph graph = *std::move(b).finish();
    EXPECT_TRUE(provider_->runs(graph, graph.nodes()[0])) << row.op;
    ++rows;
  }
  EXPECT_GT(rows, 40);
}

TEST(CudaProviderFindsGpu, WhereThereIsOneAndSaysWhatItTakesBeside) {
  const std::string driver = cuda::testing::fake_driver_file();
  const auto none = CudaProvider::finds_gpu("no_such_driver.so", cuda::testing::fake_places());
  ASSERT_TRUE(none.ok()) << none.error().message;
  EXPECT_FALSE(*none);
  {
    const cuda::testing::Faults faults("no-device");
    const auto without = CudaProvider::finds_gpu(driver, cuda::testing::fake_places());
    ASSERT_TRUE(without.ok()) << without.error().message;
    EXPECT_FALSE(*without);
  }
  const auto there = CudaProvider::finds_gpu(driver, cuda::testing::fake_places());
  ASSERT_TRUE(there.ok()) << there.error().message;
  EXPECT_TRUE(*there);
  cuda::LibraryPlaces nowhere = cuda::testing::fake_places();
  nowhere.homes.clear();
  const auto lacking = CudaProvider::finds_gpu(driver, nowhere);
  ASSERT_FALSE(lacking.ok());
  EXPECT_THAT(lacking.error().message, HasSubstr("NVRTC"));
}

TEST_F(RealNvrtcProvider, KeysItsTimingsByGpuAndVersions) {
  if (provider_ == nullptr) return;
  EXPECT_THAT(provider_->signature(Share::kDevice),
              ::testing::AllOf(HasSubstr("Fake GPU, sm_90, 132 SMs, driver 13.0"), HasSubstr(", NVRTC 13."),
                               HasSubstr(", kernels ")));
}

TEST(CudaProviderMemory, ThatIsNotThereIsSaidWithWhatThePlanNeeds) {
  graph::GraphBuilder b("large");
  const auto x = b.input("x", graph::tensor_type(DType::kF32, Shape{1 << 20, 1 << 15}));
  b.output(b.add("Relu", {x}));
  const auto provider = testing::provider_named(testing::kCudaWithoutGpu);
  const auto plan = Plan::compile(*std::move(b).finish(), *provider);
  ASSERT_FALSE(plan.ok());
  EXPECT_THAT(plan.error().message, HasSubstr("takes 128 GiB, more than the memory of cuda:0 (80.0 GiB)"));
}

// A kernel that fails leaves the context lost: whoever waits is told the call, the GPU and what to do.
TEST_F(RealNvrtcProvider, AGpuThatIsLostInMidRunIsAnErrorOfTheRun) {
  if (provider_ == nullptr) return;
  auto plan = Plan::compile(pointwise_and_product(), *provider_);
  ASSERT_TRUE(plan.ok()) << plan.error().message;
  const cuda::testing::Faults faults("lost");
  const Status status = (*plan)->run();
  ASSERT_FALSE(status.ok());
  EXPECT_THAT(status.error().message,
              ::testing::AllOf(HasSubstr("GPU 0 (Fake GPU)"), HasSubstr("CUDA_ERROR_LAUNCH_FAILED"),
                               HasSubstr("compute-sanitizer")));
}

// What runs by the reference takes memory of the host's before: this has none.
graph::Graph product() {
  graph::GraphBuilder b("product");
  const auto x = b.input("x", graph::tensor_type(DType::kF32, Shape{24, 32}));
  const auto w = b.input("w", graph::tensor_type(DType::kF32, Shape{32, 40}));
  b.output(b.add("MatMul", {x, w}));
  return *std::move(b).finish();
}

// No memory is left: said with what the plan needs and what is free, before any is taken.
TEST(CudaProviderMemory, ThatOthersHaveTakenIsSaidWhenThePlanIsMade) {
  const auto provider = testing::provider_named(testing::kCudaWithProducts);
  PlanOptions unmeasured;
  unmeasured.autotune = false;
  const auto forecast = Plan::forecast(product(), *provider, unmeasured);
  ASSERT_TRUE(forecast.ok()) << forecast.error().message;
  const PlanMemory& memory = forecast->memory;
  ASSERT_GT(memory.arena_bytes, 0);
  const auto text = [](std::size_t bytes) { return format_bytes(static_cast<double>(bytes)); };
  const int64_t blocks = cuda::testing::blocks_made();
  const cuda::testing::Faults faults("full");
  const auto plan = Plan::compile(product(), *provider);  // measuring takes memory, too
  ASSERT_FALSE(plan.ok());
  EXPECT_THAT(plan.error().message,
              ::testing::StartsWith("the plan needs " + text(memory.arena_bytes + memory.constants_bytes) +
                                    " of cuda:0 (" + text(memory.arena_bytes) + " for values, " +
                                    text(memory.constants_bytes) +
                                    " for weights), where 0 B of 80.0 GiB are free; close other programs"));
  EXPECT_EQ(cuda::testing::blocks_made(), blocks);
}

// Others may take it between the look and the taking: what the driver says comes with the same.
TEST(CudaProviderMemory, ThatTheDriverRefusesIsSaidWithWhatThePlanNeeds) {
  const auto provider = testing::provider_named(testing::kCudaWithProducts);
  const cuda::testing::Faults faults("refuses");
  PlanOptions options;
  options.autotune = false;
  const auto plan = Plan::compile(product(), *provider, options);
  ASSERT_FALSE(plan.ok());
  EXPECT_THAT(
      plan.error().message,
      ::testing::MatchesRegex("the plan needs .* of cuda:0 .*, where 20.0 GiB of 80.0 GiB are free: .*"));
}

// What a plan holds of the device is given back with it, also when the provider is gone before.
TEST(CudaProviderMemory, IsGivenBackWithThePlan) {
  const int live = cuda::testing::live_handles(), contexts = cuda::testing::live_contexts();
  {
    auto provider = testing::provider_named(testing::kCudaWithProducts);
    auto plan = Plan::compile(pointwise_and_product(), *provider);
    ASSERT_TRUE(plan.ok()) << plan.error().message;
    provider.reset();
    ASSERT_TRUE((*plan)->run().ok());
    EXPECT_GT(cuda::testing::live_handles(), live);
  }
  EXPECT_EQ(cuda::testing::live_handles(), live);
  EXPECT_EQ(cuda::testing::live_contexts(), contexts);
}

}  // namespace
}  // namespace hone::runtime
