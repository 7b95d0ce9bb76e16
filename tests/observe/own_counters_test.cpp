// Counters of the kernels of our own plans: saved plans that a process of hone runs over the driver of cuda/testing, whose
// launches the recorder counts by the CUPTI of observe/inject/testing. Its metrics are as large as their names are long.
#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <set>
#include <string>

#include "tests/cli/run_program.h"
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "core/clock.h"
#include "core/file.h"
#include "core/testing/source_folder.h"
#include "graph/builder.h"
#include "lab/ceilings/gpu/gpu_ceilings_cache.h"
#include "lab/counters/count_plan.h"
#include "lab/experiment/experiment.h"
#include "lab/experiment/profile.h"
#include "lab/machine.h"
#include "lab/prepared.h"
#include "model/onnx/writer.h"
#include "passes/pipeline.h"
#include "report/json.h"
#include "runtime/testing/providers.h"

namespace hone::lab {
namespace {

namespace fs = std::filesystem;
using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using testing_support::TemporaryFolder;

graph::Graph product_and_relu() {
  graph::GraphBuilder b("product");
  const graph::ValueId x = b.input("x", graph::tensor_type(DType::kF32, Shape{8, 16}));
  Tensor weights = Tensor::zeros(DType::kF32, {16, 16});
  for (int64_t i = 0; i < weights.size(); ++i)
    weights.as<float>()[static_cast<std::size_t>(i)] = static_cast<float>(i % 7) * 0.1F - 0.3F;
  b.output(b.add("Sigmoid", {b.add("MatMul", {x, b.constant("w", std::move(weights))})}));
  return *std::move(b).finish();
}

class OwnCounters : public ::testing::Test {
 protected:
  OwnCounters() {
    fs::create_directories(folder_ / "driver");
    fs::create_symlink(cuda::testing::fake_driver_file(), folder_ / "driver/libcuda.so.1");
    options_.program = {testing_support::hone_program().string()};
    options_.recorder.library = build_folder() / "libhone_inject.so";
    options_.folder = folder_ / "counting";
    be("");
  }
  // How the CUPTI of the process behaves.
  void be(const std::string& cupti) {
    options_.environment = {{"LD_LIBRARY_PATH", (folder_ / "driver").string()},
                            {"CUDA_HOME", (build_folder() / "fake_driver").string()},
                            {"HONE_OBSERVE_CUPTI", (build_folder() / "fake_cuda/libcupti.so.13").string()},
                            {"XDG_CACHE_HOME", (folder_ / "cache").string()},
                            {"FAKE_CUPTI", cupti}};
  }

  // A plan that has run for somebody who listens, so that its kernels are known.
  Result<SavedForCounting> saved_plan() {
    const graph::Graph graph = product_and_relu();
    HONE_ASSIGN(const Inputs inputs, make_inputs(graph, 1));
    HONE_ASSIGN(const auto plan, compile_plan(graph, *provider_, inputs.tensors, {}));
    ProfileOptions profile;
    profile.budget_ns = 0;
    profile.min_steps = profile.max_steps = 3;
    profile.device = "cuda";
    HONE_ASSIGN(const Profile seen, profile_plan(*plan, Roofs{}, profile));
    return save_for_counting(*plan, *provider_, inputs.tensors, "result", options_);
  }
  Result<PlanCounters> counted(const std::function<bool()>& keep_going = [] { return true; }) {
    HONE_ASSIGN(const SavedForCounting saved, saved_plan());
    return count_plan(saved, 30, options_, keep_going);
  }
  // Of the whole lab, without passes: the baseline is the result.
  Result<Experiment> experiment(std::function<bool(double, const std::string&)> progress = {}) {
    ExperimentOptions options;
    options.budget_s = 1000;  // what ends by itself takes no more of it than it needs
    for (const auto& group : passes::groups({})) options.disabled_passes.insert(std::string(group));
    options.counters = options_;
    options.progress = std::move(progress);
    return run_experiment(product_and_relu(), *provider_, describe_machine(), Roofs{}, options);
  }

  TemporaryFolder folder_;
  CountPlanOptions options_;
  const std::shared_ptr<const runtime::Provider> provider_ =
      runtime::testing::provider_named(runtime::testing::kCudaOnHost);
};

TEST_F(OwnCounters, AreOfThePlansOwnKernels) {
  const auto saved = saved_plan();
  ASSERT_TRUE(saved.ok()) << saved.error().message;
  ASSERT_THAT(saved->operators, Not(IsEmpty()));
  const auto found = count_plan(*saved, 30, options_, [] { return true; });
  ASSERT_TRUE(found.ok()) << found.error().message;
  EXPECT_THAT(found->missing, IsEmpty());
  const trace::Trace& trace = found->recording;
  ASSERT_THAT(trace.counters, Not(IsEmpty()));
  std::set<std::string> counted;
  for (const trace::KernelCounters& row : trace.counters) {
    counted.emplace(trace.strings.text(row.kernel));
    EXPECT_EQ(row.grid, saved->operators[0].grid);
    EXPECT_EQ(trace::counter_value(row, trace.strings, "dram__bytes_read.sum").value_or(20), 20);
  }
  std::set<std::string> run;
  for (const analyze::PlanKernel& kernel : saved->operators) run.insert(kernel.name);
  EXPECT_EQ(counted, run);
  ASSERT_THAT(trace.meta.devices, Not(IsEmpty()));
  EXPECT_EQ(trace.meta.devices[0].name, "Fake GPU");
}

TEST_F(OwnCounters, StandInTheReportOfALab) {
  const auto done = experiment();
  ASSERT_TRUE(done.ok()) << done.error().message;
  EXPECT_THAT(done->report.warnings, Not(Contains(HasSubstr("hardware counters"))));
  EXPECT_FALSE(fs::exists(options_.folder));
  const auto json = nlohmann::json::parse(report::lab_json(done->report));
  for (const char* side : {"baseline", "optimised"}) {
    const auto& kernels = json[side]["counted_kernels"];
    ASSERT_GE(kernels.size(), 2U) << side;
    for (const auto& kernel : kernels) EXPECT_GT(kernel["step_ms"], 0) << kernel["name"];
    for (const auto& row : json[side]["top"]) EXPECT_THAT(row["why"], HasSubstr("; by counters: "));
  }
  EXPECT_THAT(done->baseline_trace.counters, Not(IsEmpty()));
  EXPECT_EQ(done->baseline_trace.counters.size(), done->optimised_trace.counters.size());
}

TEST_F(OwnCounters, ThatCannotBeHadAreALineOfTheReport) {
  options_.program = {"/bin/false"};
  const auto done = experiment();
  ASSERT_TRUE(done.ok()) << done.error().message;
  EXPECT_TRUE(done->report.result.passed);
  EXPECT_THAT(done->report.baseline.counted_kernels, IsEmpty());
  EXPECT_THAT(done->report.warnings,
              Contains("no hardware counters of the baseline: the process that ran the plan ended with exit "
                       "status 1"));
}

TEST_F(OwnCounters, ThatAreInterruptedLeaveTheReportWhole) {
  const auto done = experiment(
      [](double, const std::string& what) { return what.find("hardware counters") == std::string::npos; });
  ASSERT_TRUE(done.ok()) << done.error().message;
  EXPECT_THAT(done->report.interrupted, IsEmpty());
  EXPECT_TRUE(done->report.result.passed);
  EXPECT_THAT(done->report.warnings, Contains("no hardware counters of the baseline: interrupted"));
  EXPECT_FALSE(fs::exists(options_.folder));
}

TEST_F(OwnCounters, SayThatTheUserMayNotReadThem) {
  be("no_counters");
  const auto found = counted();
  ASSERT_FALSE(found.ok());
  EXPECT_THAT(found.error().message, HasSubstr("may not read hardware counters"));
}

TEST_F(OwnCounters, OfAProcessThatCrashesAreThoseThatItHadWritten) {
  be("crashes_counting");
  const auto found = counted();
  if (found.ok()) {
    EXPECT_THAT(found->missing, Contains(HasSubstr("ended with exit status")));
  } else {
    EXPECT_THAT(found.error().message, HasSubstr("ended with exit status"));
  }
}

TEST_F(OwnCounters, AreNotOfOtherKernels) {
  auto saved = saved_plan();
  ASSERT_TRUE(saved.ok()) << saved.error().message;
  saved->symbols = {"a_kernel_of_somebody_else"};
  const auto found = count_plan(*saved, 2, options_, [] { return true; });
  ASSERT_FALSE(found.ok());
  EXPECT_THAT(found.error().message, HasSubstr("none of the plan's kernels was launched"));
}

TEST_F(OwnCounters, EndWhenTheUserEndsThem) {
  const int64_t start = now_ns();
  int64_t asked_until = 0;
  const auto found = counted([&] {
    if (asked_until == 0) asked_until = now_ns() + 500'000'000;
    return now_ns() < asked_until;
  });
  ASSERT_FALSE(found.ok());
  EXPECT_EQ(found.error().code, ErrorCode::kCancelled);
  EXPECT_LT(now_ns() - std::max(start, asked_until), 5'000'000'000);
}

TEST_F(OwnCounters, NeedThePlansKernelsByName) {
  const graph::Graph graph = product_and_relu();
  const auto inputs = make_inputs(graph, 1);
  const auto plan = compile_plan(graph, *provider_, inputs->tensors, {});
  ASSERT_TRUE(plan.ok()) << plan.error().message;
  const auto saved = save_for_counting(**plan, *provider_, inputs->tensors, "result", options_);
  ASSERT_FALSE(saved.ok());
  EXPECT_THAT(saved.error().message, HasSubstr("no records of its replays name its kernels"));
}

// The command itself: its roofs are kept ones, because the driver measures none.
TEST_F(OwnCounters, ComeWithTheLabOfAModel) {
  const GpuTools tools{.device = std::make_shared<runtime::CudaDevice>(cuda::testing::fake_context()),
                       .cache = cuda::testing::kernels_of_the_host(),
                       .products = cuda::testing::fake_products(cuda::testing::fake_context())};
  GpuCeilings roofs;
  roofs.device = "Fake GPU";
  ASSERT_TRUE(GpuCeilingsCache(folder_ / "cache/hone", tools).write(roofs).ok());
  ASSERT_TRUE(model::write_onnx(product_and_relu(), folder_ / "small.onnx").ok());
  testing_support::RunOptions run;
  run.folder = folder_.path();
  run.time_limit = std::chrono::seconds(200);
  for (const auto& [name, value] : options_.environment) run.environment[name] = value;
  std::vector<std::string> words = {"lab",   "small.onnx", "--device", "cuda",
                                    "--out", "out",        "--budget", "100"};
  for (const auto& group : passes::groups({})) words.insert(words.end(), {"--disable", std::string(group)});
  const auto result = testing_support::run_hone(words, run);
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(result.out, HasSubstr("Kernels under the counters"));
  const auto page = read_file(folder_ / "out/report.html");
  ASSERT_TRUE(page.ok());
  EXPECT_THAT(*page, HasSubstr("Kernels under the counters"));
  for (const auto& entry : fs::directory_iterator(folder_ / "out"))
    EXPECT_FALSE(entry.path().filename().string().starts_with(".")) << entry.path();
  // The run folder has them as well.
  const auto explained = testing_support::run_hone({"explain", "out/baseline", "--out", "explained"}, run);
  EXPECT_EQ(explained.exit_code, 0) << explained.err;
  EXPECT_THAT(explained.out, HasSubstr("Kernels under the counters"));
}

TEST(PlansGivenOneByOne, ComputeTheSameWithoutAGraph) {
  const graph::Graph graph = product_and_relu();
  const auto provider = runtime::testing::provider_named(runtime::testing::kCudaOnHost);
  const auto inputs = make_inputs(graph, 1);
  ASSERT_TRUE(inputs.ok());
  const auto replayed = compile_plan(graph, *provider, inputs->tensors, {});
  ASSERT_TRUE(replayed.ok()) << replayed.error().message;
  ::setenv("HONE_ONE_BY_ONE", "1", 1);
  const auto one_by_one = compile_plan(graph, *provider, inputs->tensors, {});
  ::unsetenv("HONE_ONE_BY_ONE");
  ASSERT_TRUE(one_by_one.ok()) << one_by_one.error().message;
  const auto wanted = (*replayed)->run(inputs->tensors);
  ASSERT_TRUE(wanted.ok()) << wanted.error().message;
  const int64_t graphs = cuda::testing::graphs_given();
  const auto found = (*one_by_one)->run(inputs->tensors);
  ASSERT_TRUE(found.ok()) << found.error().message;
  EXPECT_EQ(cuda::testing::graphs_given(), graphs);
  const auto a = (*wanted)[0].as<float>(), b = (*found)[0].as<float>();
  EXPECT_TRUE(std::ranges::equal(a, b));
}

}  // namespace
}  // namespace hone::lab
