// Profiles that JAX and TensorFlow really wrote on a CPU (tests/traces/xla), held to what the generated reader
// of the protobuf and XLA's own cost analysis say of the same programs.
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "core/testing/source_folder.h"
#include "trace/import/import.h"
#include "trace/link/link.h"
#include "trace/source_line.h"

namespace hone::trace::xplane {
namespace {

using testing::IsEmpty;

std::filesystem::path folder() { return source_folder() / "tests/traces/xla"; }

Trace recorded(const std::string& name) {
  const std::vector<std::filesystem::path> paths = {folder() / (name + ".xplane.pb.gz")};
  Result<Trace> trace = import_trace(paths);
  EXPECT_TRUE(trace.ok()) << (trace.ok() ? "" : trace.error().message);
  return trace.ok() ? std::move(*trace) : Trace{};
}

nlohmann::json facts(const std::string& name) {
  std::ifstream file(folder() / (name + ".facts.json"));
  return nlohmann::json::parse(file);
}

struct Ran {
  int64_t count = 0, ns = 0;
};

std::map<std::string, Ran> operators_by_name(const Trace& trace) {
  std::map<std::string, Ran> ran;
  for (std::size_t row = 0; row < trace.spans.size(); ++row) {
    if (trace.spans.category[row] != Category::kOperator) continue;
    Ran& of = ran[std::string(trace.strings.text(trace.spans.name[row]))];
    ++of.count;
    of.ns += trace.spans.duration_ns[row];
  }
  return ran;
}

void expect_steps(const Trace& trace, const nlohmann::json& steps) {
  std::vector<std::pair<int32_t, int64_t>> found;
  for (std::size_t row = 0; row < trace.spans.size(); ++row)
    if (trace.spans.category[row] == Category::kStep)
      found.emplace_back(trace.spans.step[row], trace.spans.duration_ns[row]);
  std::sort(found.begin(), found.end());
  ASSERT_EQ(found.size(), steps.size());
  for (std::size_t i = 0; i < found.size(); ++i) {
    EXPECT_EQ(found[i].first, steps[i][0]);
    EXPECT_LE(std::abs(found[i].second - steps[i][1].get<int64_t>()), 1);  // rounded to nanoseconds
  }
}

void expect_operators(const Trace& trace, const nlohmann::json& operators) {
  const auto ran = operators_by_name(trace);
  for (const auto& [name, known] : operators.items()) {
    ASSERT_TRUE(ran.contains(name)) << name;
    EXPECT_EQ(ran.at(name).count, known[0]) << name;
    EXPECT_LE(std::abs(ran.at(name).ns - known[1].get<int64_t>()), ran.at(name).count) << name;
  }
}

const Operator* find_operator(const Trace& trace, std::string_view kind) {
  const auto at = std::find_if(trace.operators.begin(), trace.operators.end(),
                               [&](const Operator& op) { return op.kind == kind; });
  return at == trace.operators.end() ? nullptr : &*at;
}

TEST(XplaneRecordings, HaveTheStepsAndOperatorsThatOtherReadersSee) {
  for (const char* name : {"jax_mlp", "jax_scan", "tf_function"}) {
    SCOPED_TRACE(name);
    const Trace trace = recorded(name);
    const nlohmann::json known = facts(name);
    expect_steps(trace, known["steps_ns"]);
    expect_operators(trace, known["operators"]);
    EXPECT_THAT(trace.meta.warnings, IsEmpty());
    EXPECT_TRUE(trace.validate().ok());
  }
}

TEST(XplaneRecordings, OfTensorFlowRunEagerlyHaveItsOperators) {
  const Trace trace = recorded("tf_eager");
  const nlohmann::json known = facts("tf_eager");
  expect_steps(trace, known["steps_ns"]);
  const auto ran = operators_by_name(trace);
  for (const auto& [name, count] : known["eager"].items()) EXPECT_EQ(ran.at(name).count, count) << name;
  EXPECT_EQ(trace.meta.framework, Framework::kTensorFlow);
}

// A multiplication and an addition are one FLOP each, and so are transcendental functions, which XLA counts apart.
TEST(XplaneRecordings, CostWhatXlaSaysThatTheProgramCosts) {
  Trace trace = recorded("jax_mlp");
  const nlohmann::json known = facts("jax_mlp");
  double flops = 0, bytes = 0;
  for (std::size_t row = 0; row < trace.spans.size(); ++row) {
    if (trace.spans.category[row] != Category::kOperator) continue;
    flops += trace.operators[trace.spans.op[row].index].flops;
    bytes += trace.operators[trace.spans.op[row].index].bytes();
  }
  const auto steps = static_cast<double>(known["steps_ns"].size());
  EXPECT_NEAR(flops / steps, known["flops"].get<double>() + known["transcendentals"].get<double>(),
              0.001 * known["flops"].get<double>());
  EXPECT_NEAR(bytes / steps, known["bytes_accessed"].get<double>(),
              0.01 * known["bytes_accessed"].get<double>());
}

TEST(XplaneRecordings, SayWhereInTheProgramAnOperatorBelongs) {
  const Trace trace = recorded("jax_mlp");
  EXPECT_EQ(trace.meta.framework, Framework::kJax);
  EXPECT_EQ(trace.meta.device, "cpu");
  const Operator* dot = find_operator(trace, "dot");
  ASSERT_NE(dot, nullptr);
  EXPECT_EQ(dot->op_class, OperatorClass::kMatrix);
  EXPECT_EQ(dot->dtype, DType::kF32);
  EXPECT_THAT(std::string(source_line(dot->provenance)), testing::StartsWith("record.py:"));
  for (const Phase phase : {Phase::kForward, Phase::kBackward, Phase::kOptimizer})
    EXPECT_TRUE(std::any_of(trace.operators.begin(), trace.operators.end(), [&](const Operator& op) {
      return op.phase == phase;
    })) << phase_name(phase);
  EXPECT_TRUE(std::any_of(trace.operators.begin(), trace.operators.end(),
                          [](const Operator& op) { return op.module == "layer1"; }));
}

// The time of a loop is that of what runs in it.
TEST(XplaneRecordings, OfALoopHaveItsTurns) {
  const Trace trace = recorded("jax_scan");
  const Operator* loop = find_operator(trace, "while");
  ASSERT_NE(loop, nullptr);
  EXPECT_EQ(loop->flops, 0);
  const auto ran = operators_by_name(trace);
  const int64_t steps = 5, turns = 3;
  EXPECT_TRUE(std::any_of(ran.begin(), ran.end(), [&](const auto& each) {
    return each.first.find("dot") != std::string::npos && each.second.count == steps * turns;
  }));
}

// On an H100: kernels of CUDA graphs, of which the profile names the graph alone, and launches one by one.
TEST(XplaneRecordings, OfAGpuHaveItsKernelsAndCopies) {
  for (const char* name : {"h100_mlp", "h100_eager", "h100_conv"}) {
    SCOPED_TRACE(name);
    const Trace trace = recorded(name);
    const nlohmann::json known = facts(name);
    expect_steps(trace, known["steps_ns"]);
    std::map<std::string, Ran> ran;
    std::size_t copies = 0;
    for (std::size_t row = 0; row < trace.spans.size(); ++row) {
      if (trace.tracks[trace.spans.track[row].index].kind != TrackKind::kStream) continue;
      copies += trace.spans.category[row] == Category::kMemcpy ? 1u : 0u;
      if (trace.spans.category[row] != Category::kKernel) continue;
      Ran& of = ran[std::string(trace.strings.text(trace.spans.name[row]))];
      ++of.count;
      of.ns += trace.spans.duration_ns[row];
    }
    EXPECT_EQ(copies, known["copies"]);
    ASSERT_EQ(ran.size(), known["kernels"].size());
    for (const auto& [kernel, expected] : known["kernels"].items()) {
      EXPECT_EQ(ran[kernel].count, expected[0]) << kernel;
      EXPECT_LE(std::abs(ran[kernel].ns - expected[1].get<int64_t>()), ran[kernel].count) << kernel;
    }
    ASSERT_EQ(trace.meta.devices.size(), 1u);
    EXPECT_EQ(trace.meta.devices[0].name, "NVIDIA H100 80GB HBM3");
    EXPECT_EQ(trace.meta.devices[0].multiprocessors, 132);
  }
}

// Each kernel of XLA's own is called after its instruction, whatever launched it.
TEST(XplaneRecordings, OfAGpuCostWhatXlaSaysThatTheProgramCosts) {
  const Trace trace = recorded("h100_mlp");
  const nlohmann::json known = facts("h100_mlp");
  double flops = 0;
  for (std::size_t row = 0; row < trace.spans.size(); ++row)
    if (trace.spans.category[row] == Category::kKernel && trace.spans.op[row].valid())
      flops += trace.operators[trace.spans.op[row].index].flops;
  const auto steps = static_cast<double>(known["steps_ns"].size());
  EXPECT_NEAR(flops / steps, known["flops"].get<double>(), 0.001 * known["flops"].get<double>());
}

// The JSON that lies beside it has the same events.
TEST(XplaneRecordings, HaveTheSameOperatorsInTheTraceViewersJson) {
  const std::vector<std::filesystem::path> paths = {folder() / "jax_mlp.trace.json.gz"};
  const Result<Trace> trace = import_trace(paths);
  ASSERT_TRUE(trace.ok()) << trace.error().message;
  const nlohmann::json known = facts("jax_mlp");
  expect_steps(*trace, known["steps_ns"]);
  expect_operators(*trace, known["operators"]);
  EXPECT_EQ(trace->meta.framework, Framework::kJax);
  EXPECT_THAT(trace->meta.warnings, testing::ElementsAre(testing::HasSubstr(".xplane.pb")));
}

TEST(XplaneRecordings, AreLinkedByTheStepsThatTheProgramMarked) {
  Trace trace = recorded("jax_mlp");
  ASSERT_TRUE(link_trace(trace).ok());
  EXPECT_EQ(steps_found(trace.meta).how, kMarkedSteps);
  EXPECT_EQ(steps_found(trace.meta).confidence, 1);
}

}  // namespace
}  // namespace hone::trace::xplane
