// The experiment as a whole, on models small enough for a test.
#include "lab/experiment/experiment.h"

#include <algorithm>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "core/testing/scratch_path.h"
#include "graph/builder.h"
#include "lab/ceilings/cache.h"
#include "runtime/testing/providers.h"

namespace hone::lab {
namespace {

graph::Graph product() {
  graph::GraphBuilder b("product");
  const graph::ValueId x = b.input("x", graph::tensor_type(DType::kF32, Shape{256, 512}));
  Tensor weights = Tensor::zeros(DType::kF32, {512, 512});
  for (float& w : weights.as<float>()) w = 0.01F;
  b.output(b.add("Relu", {b.add("MatMul", {x, b.constant("w", std::move(weights))})}));
  return *std::move(b).finish();
}

// As a machine that was very busy would have measured it.
Roofs low_roofs(int threads) {
  const Rate flops{1e9, 1e9, 1e9}, bytes{1e12, 1e12, 1e12};
  Roofs roofs;
  roofs.machine = "busy";
  roofs.threads = threads;
  for (const char* method : {"fma", "gemm"}) roofs.compute.push_back({DType::kF32, method, threads, flops});
  roofs.memory = {{"L2", "copy", threads, 2e6, bytes}, {"DRAM", "copy", threads, 0, bytes}};
  return roofs;
}

TEST(Experiment, MeasuresARoofAgainThatAnOperatorHasBeaten) {
  const Machine machine = describe_machine();
  const std::filesystem::path folder = scratch_path("hone_experiment_roofs");
  std::filesystem::remove_all(folder);
  const CeilingsCache cache(folder, machine, machine.cores);
  Ceilings kept;
  kept.roofs = low_roofs(machine.cores);
  kept.measured_at = "2026-01-01T00:00:00Z";
  ASSERT_TRUE(cache.write(kept).ok());

  const auto provider = runtime::testing::cpu_provider(machine.cores);
  ExperimentOptions options;
  options.budget_s = 0.2;
  options.roofs_cache = folder;
  const auto result = run_experiment(product(), *provider, machine, kept.roofs, options);
  ASSERT_TRUE(result.ok()) << result.error().message;
  const auto roof = [&](const Roofs& roofs) { return roofs.compute_roof(DType::kF32, machine.cores); };
  EXPECT_GT(roof(result->report.roofs), 5e9);
  // A busy machine has warnings of its own.
  const std::vector<std::string>& warnings = result->report.warnings;
  const auto found = std::find_if(warnings.begin(), warnings.end(), [](const std::string& text) {
    return text.starts_with("roof corrected: ");
  });
  ASSERT_NE(found, warnings.end());
  const std::string& warning = *found;
  EXPECT_NE(warning.find("f32 compute roof as it was first measured"), std::string::npos) << warning;
  EXPECT_NE(warning.find("measured again: f32 compute 1.00 GFLOP/s → "), std::string::npos) << warning;
  const auto next = cache.read();
  ASSERT_TRUE(next.ok());
  EXPECT_GT(roof(next->roofs), 5e9) << "the next run starts with the better one";
  std::filesystem::remove_all(folder);
}

}  // namespace
}  // namespace hone::lab
