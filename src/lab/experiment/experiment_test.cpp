// The experiment as a whole, on models small enough for a test.
#include "lab/experiment/experiment.h"

#include <algorithm>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "core/testing/scratch_path.h"
#include "graph/builder.h"
#include "lab/ceilings/cache.h"
#include "runtime/testing/half_provider.h"
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

// A product whose results reach beyond f16's largest number, brought back before the next one.
graph::Graph with_large_activations() {
  graph::GraphBuilder b("large");
  const graph::ValueId x = b.input("x", graph::tensor_type(DType::kF32, Shape{4, 16}));
  const auto filled = [](Shape shape, float value) {
    Tensor tensor(DType::kF32, std::move(shape));
    for (int64_t i = 0; i < tensor.size(); ++i)
      tensor.as<float>()[static_cast<std::size_t>(i)] = value * static_cast<float>(1 + i * 7 % 5);
    return tensor;
  };
  const auto first = b.add("MatMul", {x, b.constant("w", filled({16, 16}, 1.2e4F))}, {}, "large");
  const auto back = b.add("Mul", {first, b.constant("s", filled({16}, 1e-5F))}, {}, "back");
  const auto kept = b.add("Tanh", {back}, {}, "tanh");
  b.output(b.add("MatMul", {kept, b.constant("v", filled({16, 8}, 0.1F))}, {}, "small"));
  return *std::move(b).finish();
}

const analyze::PassRow& row_of(const analyze::LabReport& report, std::string_view name) {
  const auto row = std::find_if(report.passes.begin(), report.passes.end(),
                                [&](const analyze::PassRow& pass) { return pass.name == name; });
  if (row == report.passes.end()) throw std::logic_error("no row for " + std::string(name));
  return *row;
}

// The issue of users elsewhere (TensorRT#4780, #3652): infinities, and nobody told.
TEST(Experiment, SaysWhatEachOperatorLosesInANarrowTypeAndKeepsInF32WhatWouldOverflow) {
  const Machine machine = describe_machine();
  const runtime::testing::HalfProvider provider(1);
  ExperimentOptions options;
  options.budget_s = 0.5;
  options.lossy = {"fp16", "bf16"};
  const auto result = run_experiment(with_large_activations(), provider, machine, low_roofs(1), options);
  ASSERT_TRUE(result.ok()) << result.error().message;
  const analyze::PassRow& fp16 = row_of(result->report, "fp16");
  EXPECT_EQ(fp16.numerics, "lossy");
  EXPECT_EQ(fp16.reason.find("NaN"), std::string::npos) << fp16.reason;
  EXPECT_LT(fp16.max_rel_err, 0.1) << fp16.reason;
  ASSERT_FALSE(fp16.precision.empty()) << fp16.reason;
  EXPECT_EQ(fp16.precision[0].node, "large");
  EXPECT_TRUE(fp16.precision[0].kept_f32);
  EXPECT_NE(fp16.precision[0].why.find("beyond f16's largest, 65504"), std::string::npos)
      << fp16.precision[0].why;
  EXPECT_EQ(fp16.precision.back().node, "small");
  EXPECT_FALSE(fp16.precision.back().kept_f32);
  ASSERT_TRUE(fp16.precision.back().carried_rel_err.has_value());
  EXPECT_LT(*fp16.precision.back().carried_rel_err, 0.01);
  const analyze::PassRow& bf16 = row_of(result->report, "bf16");
  for (const analyze::OperatorPrecision& row : bf16.precision) EXPECT_FALSE(row.kept_f32) << row.node;
  EXPECT_TRUE(result->report.result.passed);
}

// --- large batches ---

constexpr int64_t kBatch = 24;

// `along_batch`: what is given ends in a mean of the whole batch.
graph::Graph of_a_batch(bool along_batch = false) {
  graph::GraphBuilder b("batch");
  const graph::ValueId x = b.input("x", graph::tensor_type(DType::kF32, Shape{kBatch, 16}));
  Tensor weights(DType::kF32, {16, 16});
  for (int64_t i = 0; i < weights.size(); ++i)
    weights.as<float>()[static_cast<std::size_t>(i)] = 0.05F * static_cast<float>(i * 11 % 17 - 8);
  graph::ValueId y =
      b.add("Relu", {b.add("MatMul", {x, b.constant("w", std::move(weights))}, {}, "product")});
  if (along_batch) y = b.add("ReduceMean", {y}, {{"keepdims", int64_t{1}}}, "mean");
  b.output(y);
  return *std::move(b).finish();
}

Result<Experiment> lab_of_batch(const graph::Graph& graph, const std::map<std::string, Tensor>& inputs = {}) {
  const runtime::testing::HalfProvider provider(1);
  ExperimentOptions options;
  options.budget_s = 0.3;
  options.lossy = {"fp16"};
  options.most_reference_flops = 1;
  options.inputs = inputs;
  return run_experiment(graph, provider, describe_machine(), low_roofs(1), options);
}

TEST(Experiment, ComputesTheReferenceOfALargeBatchOnAFewRowsAndSaysSo) {
  const auto result = lab_of_batch(of_a_batch());
  ASSERT_TRUE(result.ok()) << result.error().message;
  const analyze::LabReport& report = result->report;
  EXPECT_EQ(report.reference_rows.batch, kBatch);
  EXPECT_EQ(report.reference_rows.rows, 2);
  EXPECT_FALSE(report.reference_rows.all_given);
  EXPECT_EQ(report.reference_rows.why_all, "");
  EXPECT_TRUE(report.result.passed);
  EXPECT_EQ(report.reproduce.notes[0],
            "x: standard normal values, seed 1; 2 rows, over again in the batch of 24");
  const analyze::PassRow& fp16 = row_of(report, "fp16");
  EXPECT_NE(fp16.reason.find("; on 2 of 24 rows of the batch"), std::string::npos) << fp16.reason;
  ASSERT_FALSE(fp16.precision.empty());
  EXPECT_TRUE(fp16.precision[0].rel_err.has_value());
}

TEST(Experiment, ComputesAllRowsThatAreGiven) {
  Tensor x(DType::kF32, {kBatch, 16});
  for (int64_t i = 0; i < x.size(); ++i)
    x.as<float>()[static_cast<std::size_t>(i)] = static_cast<float>(i * 7 % 23) - 11;
  const auto result = lab_of_batch(of_a_batch(), {{"x", x}});
  ASSERT_TRUE(result.ok()) << result.error().message;
  EXPECT_TRUE(result->report.reference_rows.all_given);
  EXPECT_EQ(result->report.reference_rows.rows, 2) << "what fp16 costs is of the first two";
  EXPECT_TRUE(result->report.result.passed);
  EXPECT_EQ(result->report.reproduce.notes[0], "x: given");
}

TEST(Experiment, ComputesTheWholeBatchWhereItsRowsDependOnEachOther) {
  const auto result = lab_of_batch(of_a_batch(true));
  ASSERT_TRUE(result.ok()) << result.error().message;
  EXPECT_EQ(result->report.reference_rows.rows, kBatch);
  EXPECT_NE(result->report.reference_rows.why_all.find("node 'mean' (ReduceMean)"), std::string::npos)
      << result->report.reference_rows.why_all;
  EXPECT_TRUE(result->report.result.passed);
}

// Values keep f32's range: nothing overflows, and each product has its row.
TEST(Experiment, SaysWhatTf32RoundsAwayOfEachProduct) {
  const Machine machine = describe_machine();
  const runtime::testing::HalfProvider provider(1);
  ExperimentOptions options;
  options.budget_s = 0.3;
  options.lossy = {"tf32"};
  const auto result = run_experiment(with_large_activations(), provider, machine, low_roofs(1), options);
  ASSERT_TRUE(result.ok()) << result.error().message;
  const analyze::PassRow& row = row_of(result->report, "tf32");
  EXPECT_EQ(row.numerics, "lossy");
  EXPECT_TRUE(row.changed);
  ASSERT_EQ(row.precision.size(), 2U) << row.reason;
  for (const analyze::OperatorPrecision& product : row.precision) {
    EXPECT_EQ(product.type, "tf32");
    EXPECT_FALSE(product.kept_f32) << product.why;
    ASSERT_TRUE(product.rel_err && product.carried_rel_err);
    EXPECT_GT(*product.rel_err, 1e-6) << product.node;
    EXPECT_LT(*product.rel_err, 1e-3) << product.node;
  }
  EXPECT_TRUE(result->report.result.passed);
}

// bf16 on CPUs with matrix tiles is another matter.
TEST(Experiment, OnTheCpuF16AndTf32AreNoFasterAndTheReportSaysSo) {
  const Machine machine = describe_machine();
  const auto provider = runtime::testing::cpu_provider(1);
  ExperimentOptions options;
  options.budget_s = 0.3;
  options.lossy = {"fp16", "tf32"};
  const auto result = run_experiment(with_large_activations(), *provider, machine, low_roofs(1), options);
  ASSERT_TRUE(result.ok()) << result.error().message;
  for (const char* const pass : {"fp16", "tf32"}) {
    const analyze::PassRow& row = row_of(result->report, pass);
    EXPECT_FALSE(row.changed);
    EXPECT_TRUE(row.precision.empty());
    EXPECT_NE(row.reason.find("nothing would be faster"), std::string::npos) << row.reason;
  }
}

}  // namespace
}  // namespace hone::lab
