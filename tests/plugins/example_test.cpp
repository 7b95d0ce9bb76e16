// The worked example of docs/plugins.md from its model to its report: numbers against an independent computation
// (examples/plugin/make_model.py), on the CPU by the program and on CUDA by kernels that the host runs.
#include <cstdlib>
#include <iostream>

#include "cuda/nvrtc.h"
#include "hone/plugin.h"
#include "tests/cli/run_program.h"
#include "tests/plugins/plugin_files.h"
#include <fmt/core.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "core/npy/npy.h"
#include "lab/experiment/experiment.h"
#include "lab/prepared.h"
#include "model/onnx/reader.h"
#include "plugin/plugin.h"
#include "runtime/plan.h"
#include "runtime/testing/providers.h"

namespace hone::testing_support {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;

const std::string kScript = (source_folder() / "examples" / "plugin" / "make_model.py").string();
ProgramResult run_python(std::vector<std::string> arguments) {
  arguments.insert(arguments.begin(), "python3");
  return run_program("/usr/bin/env", arguments);
}

constexpr const char* kOperator = "mmdeploy.MMCVMultiScaleDeformableAttention";

class Example : public ::testing::Test {
 protected:
  void SetUp() override {
    options_.environment["XDG_CACHE_HOME"] = (folder_ / "cache").string();
    options_.time_limit = std::chrono::seconds(120);
    write({});
  }
  // The model anew, of other sizes.
  void write(std::vector<std::string> sizes) {
    sizes.insert(sizes.begin(), {kScript, "write", folder_.path().string()});
    const ProgramResult written = run_python(sizes);
    ASSERT_EQ(written.exit_code, 0) << written.err;
  }
  std::string file(const std::string& name) const { return (folder_ / name).string(); }
  ProgramResult hone(std::vector<std::string> arguments) const {
    arguments.insert(arguments.end(), {"--plugin", example_plugin()});
    return run_hone(arguments, options_);
  }
  ProgramResult run_model(const std::string& model, const std::string& out) const {
    return hone({"run", model, "--input", "value=" + file("value.npy"), "--input",
                 "locations=" + file("locations.npy"), "--input", "logits=" + file("logits.npy"), "--out",
                 out});
  }
  void expect_right(const std::string& out) const {
    const ProgramResult compared = run_python({kScript, "compare", file("expected.npy"), out + "/y.npy"});
    EXPECT_EQ(compared.exit_code, 0) << compared.out << compared.err;
  }
  json json_of(std::vector<std::string> arguments) const {
    arguments.insert(arguments.end(), {"--json", file("out.json")});
    const ProgramResult result = hone(arguments);
    EXPECT_EQ(result.exit_code, 0) << result.err;
    return json::parse(read_text(file("out.json")));
  }

  TemporaryFolder folder_;
  RunOptions options_;
};

TEST_F(Example, GivesTheExpectedNumbersOnTheCpu) {
  const ProgramResult ran = run_model(file("msda.onnx"), file("out"));
  ASSERT_EQ(ran.exit_code, 0) << ran.err;
  expect_right(file("out"));
  for (const std::vector<std::string>& sizes :
       {std::vector<std::string>{"--channels", "5", "--heads", "1", "--points", "1", "--queries", "1"},
        std::vector<std::string>{"--map", "2", "--channels", "32", "--seed", "3"}}) {
    write(sizes);
    ASSERT_EQ(run_model(file("msda.onnx"), file("out")).exit_code, 0);
    expect_right(file("out"));
  }
}

class ExampleOnCuda : public Example, public ::testing::WithParamInterface<const char*> {};

TEST_P(ExampleOnCuda, GivesTheExpectedNumbers) {
  for (const std::vector<std::string>& sizes :
       {std::vector<std::string>{}, std::vector<std::string>{"--channels", "5", "--map", "4"}}) {
    write(sizes);
    const auto operators = plugin::load_plugins(std::vector<std::string>{example_plugin()});
    ASSERT_TRUE(operators.ok()) << operators.error().message;
    auto graph = model::read_onnx(file("msda.onnx"), {.operators = *operators});
    ASSERT_TRUE(graph.ok()) << graph.error().message;
    const auto provider = runtime::testing::provider_named(GetParam());
    graph = lab::optimise(*std::move(graph), *provider, {});
    ASSERT_TRUE(graph.ok()) << graph.error().message;
    std::vector<Tensor> inputs;
    for (const char* name : {"value.npy", "locations.npy", "logits.npy"})
      inputs.push_back(*read_npy(file(name)));
    const Tensor expected = *read_npy(file("expected.npy"));
    auto plan = runtime::Plan::compile(*graph, *provider);
    ASSERT_TRUE(plan.ok()) << plan.error().message;
    int of_plugin = 0;
    for (const runtime::PlanStep& step : (*plan)->steps()) {
      EXPECT_FALSE(step.reference) << step.name;
      if (step.op != kOperator) continue;
      ++of_plugin;
      EXPECT_THAT(step.implementation, HasSubstr("plugin msda 1.0.0: "));
      EXPECT_THAT(step.choice, HasSubstr(sizes.empty() ? "fastest of 2" : "only candidate"));
    }
    EXPECT_EQ(of_plugin, 1);
    const auto found = (*plan)->run(inputs);
    ASSERT_TRUE(found.ok()) << found.error().message;
    ASSERT_EQ((*found)[0].shape(), expected.shape());
    for (int64_t i = 0; i < expected.size(); ++i)
      ASSERT_NEAR((*found)[0].at(i), expected.at(i), 1e-5 * std::max(1.0, std::abs(expected.at(i)))) << i;
  }
}

// The whole experiment: search between the kernels, profile, numbers against the plugin's reference.
TEST_P(ExampleOnCuda, IsImprovedAndReported) {
  const auto operators = plugin::load_plugins(std::vector<std::string>{example_plugin()});
  const auto graph = model::read_onnx(file("msda.onnx"), {.operators = *operators});
  ASSERT_TRUE(graph.ok()) << graph.error().message;
  const auto provider = runtime::testing::provider_named(GetParam());
  const Rate rate{1e18, 1e18, 1e18};  // nothing beats them, so none is measured again
  Roofs roofs;
  roofs.threads = provider->threads();
  roofs.compute = {{DType::kF32, "fma", roofs.threads, rate}};
  roofs.memory = {{"DRAM", "copy", roofs.threads, 0, rate}};
  lab::ExperimentOptions options;
  options.budget_s = 0.2;
  const auto result = lab::run_experiment(*graph, *provider, lab::describe_machine(), roofs, options);
  ASSERT_TRUE(result.ok()) << result.error().message;
  EXPECT_TRUE(result->report.result.passed);
  bool found = false;
  for (const analyze::OperatorTime& row : result->report.baseline.operators) {
    if (row.kind != kOperator) continue;
    found = true;
    EXPECT_THAT(row.implementation, ::testing::MatchesRegex("plugin msda 1.0.0: .* \\(CUDA\\)"));
    EXPECT_GT(row.flops, 0);
  }
  EXPECT_TRUE(found);
}

INSTANTIATE_TEST_SUITE_P(All, ExampleOnCuda, ::testing::Values(runtime::testing::kCudaOnHost),
                         [](const auto& test) { return std::string(test.param); });
INSTANTIATE_TEST_SUITE_P(Gpu, ExampleOnCuda, ::testing::ValuesIn(runtime::testing::gpu_providers()),
                         [](const auto& test) { return std::string(test.param); });

TEST_F(Example, IsARowOfTheReportLikeAnyOperator) {
  const json report =
      json_of({"lab", file("msda.onnx"), "--budget", "1", "--top", "9", "--out", file("lab")});
  EXPECT_TRUE(report["result"]["passed"]);
  bool found = false;
  for (const json& row : report["baseline"]["top"]) {
    if (row["op"] != kOperator) continue;
    found = true;
    EXPECT_GT(row["flops"], 0);
    EXPECT_GT(row["floor_ms"], 0);
  }
  EXPECT_TRUE(found) << report["baseline"]["top"].dump(1);
  EXPECT_EQ(report["result"]["baseline_on_reference"], 0);
  EXPECT_THAT(report["baseline"].dump(), HasSubstr("plugin msda 1.0.0: ")) << "the evidence names the kernel";
  EXPECT_THAT(report["reproduce"]["notes"].dump(),
              HasSubstr(std::string(kOperator) + " is of plugin msda 1.0.0 "));

  // One that brings no reference: what plays its part is said.
  write_text(folder_ / "scale.onnx", scale_model());
  const ProgramResult ran = run_hone(
      {"lab", file("scale.onnx"), "--budget", "0.3", "--plugin", fixture_plugin(), "--out", file("scale")},
      options_);
  ASSERT_EQ(ran.exit_code, 0) << ran.err;
  EXPECT_THAT(read_text(folder_ / "scale" / "report.json"),
              HasSubstr("test.Scale has no reference kernel in plugin fixture 0.1"));
}

TEST_F(Example, TakesPartInEveryCommandOfModels) {
  const json shown = json_of({"show", file("msda.onnx")});
  double flops = 0;
  for (const json& row : shown["operators"])
    if (row["op"] == kOperator) flops = row["flops"];
  EXPECT_EQ(flops, 2.0 * 37 * 3 * 2 * 4 * (2 * 4 * 8 + 16));  // batch, queries, heads, levels, points
  EXPECT_THAT(hone({"show", "--operators"}).out,
              HasSubstr("| `mmdeploy.MMCVMultiScaleDeformableAttention` | 1 | msda 1.0.0 | "));
  EXPECT_GT(json_of({"bench", file("msda.onnx"), "--budget", "0.1"})["latency_ms"]["p50"], 0);
  const ProgramResult compared = hone({"compare", file("msda.onnx"), file("msda.onnx"), "--budget", "0.5"});
  EXPECT_EQ(compared.exit_code, 0) << compared.err;
  EXPECT_THAT(compared.out, HasSubstr("outputs agree"));

  ASSERT_EQ(hone({"optimize", file("msda.onnx"), "-o", file("better.onnx")}).exit_code, 0);
  ASSERT_EQ(run_model(file("better.onnx"), file("better")).exit_code, 0);
  expect_right(file("better"));
}

TEST(RealNvrtcExample, CompilesWithoutSpillsForEachArchitecture) {
  // Not the fake one that other tests of this program have loaded.
  cuda::LibraryPlaces places = cuda::LibraryPlaces::of_this_process();
  places.loaded = false;
  const auto nvrtc = cuda::Nvrtc::load(places);
  if (!nvrtc.ok()) {
    std::cerr << "\n*** NOT RUN: " << nvrtc.error().message << " ***\n\n";
    return;
  }
  const auto operators = plugin::load_plugins(std::vector<std::string>{example_plugin()});
  ASSERT_TRUE(operators.ok()) << operators.error().message;
  for (const int architecture : {80, 90, 100, 120}) {
    for (const char* width : {"1", "4"}) {
      const std::string text = fmt::format(
          "#define CHANNELS 32\n#define WIDTH {}\n#define HEADS 8\n#define QUERIES 900\n"
          "#define LEVELS 4\n#define POINTS 4\n{}",
          width, (*operators)[0]->interface->cuda_kernels[0]->source);
      const auto compiled = (*nvrtc)->compile(text, "msda.cu", {architecture}, {});
      ASSERT_TRUE(compiled.ok()) << compiled.error().message;
      ASSERT_EQ(compiled->uses.size(), 1U);
      const cuda::KernelUse& use = compiled->uses[0];
      EXPECT_EQ(use.spill_stores + use.spill_loads + use.stack_bytes, 0) << architecture << " " << width;
    }
  }
}

}  // namespace
}  // namespace hone::testing_support
