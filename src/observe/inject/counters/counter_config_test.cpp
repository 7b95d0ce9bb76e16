// With the real CUPTI, which needs no GPU for this; where there is none, or one older than CUDA 12.6, each test says so.
#include "observe/inject/counters/counter_config.h"

#include <algorithm>
#include <iostream>
#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/file.h"
#include "core/testing/source_folder.h"
#include "observe/inject/cupti/cupti_sampling_abi.h"
#include "trace/counter_metrics.h"
#include "trace/sampled_metrics.h"

namespace hone::observe::inject {
namespace {

using cupti::Result;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr const char* kChips[] = {"TU102", "GA100", "GA102", "AD102", "GH100", "GB100", "GB202"};

class RealCupti : public ::testing::Test {
 protected:
  // False where it is not installed.
  bool load() {
    char why[8192];
    if (load_cupti(environment, cupti, why, sizeof(why)) && profiler.load(cupti)) return true;
    std::cerr << "\n*** NOT RUN: no CUPTI of CUDA 12.6 or later here. ***\n\n";
    return false;
  }
  std::vector<std::string> all_metrics() const {
    std::vector<std::string> metrics;
    for (const trace::CounterMetric& metric : trace::counter_metrics()) {
      std::string& names = metrics.emplace_back();
      for (const std::string_view name : metric.names) names += std::string(name) + ' ';
    }
    return metrics;
  }

  Environment environment = Environment::read();
  Cupti cupti;
  CuptiProfiler profiler;
};

// Of what is usually counted nothing may be lost to a misspelt name: only matrix units differ. Of the rest Nsight Compute
// derives a few itself, and chips have reasons for stalls of their own.
TEST_F(RealCupti, KnowsTheMetricsOfEveryChip) {
  if (!load()) return;
  for (const char* chip : kChips) {
    const std::vector<std::string> known = known_metrics(profiler, chip, all_metrics());
    std::vector<std::string_view> unknown;
    for (const trace::CounterMetric& metric : trace::counter_metrics()) {
      const bool found = std::any_of(metric.names.begin(), metric.names.end(), [&](std::string_view name) {
        return std::find(known.begin(), known.end(), name) != known.end();
      });
      const bool of_matrix_units = metric.names[0].find("tensor") != std::string_view::npos ||
                                   metric.names[0].find("gmma") != std::string_view::npos;
      const bool of_some_chips = metric.counter == trace::Counter::kPipeFmaHeavy;
      if (found || of_matrix_units || of_some_chips) continue;
      unknown.push_back(metric.names[0]);
      EXPECT_EQ(metric.set, trace::CounterSet::kFull) << chip << ' ' << metric.names[0];
    }
    EXPECT_LE(unknown.size(), 5u) << chip;
  }
}

TEST_F(RealCupti, TakesTheFirstNameThatTheChipKnows) {
  if (!load()) return;
  const std::vector<std::string> metrics = {"dram__bytes_read.sum dram__bytes_op_read.sum", "no__such.sum"};
  EXPECT_THAT(known_metrics(profiler, "GH100", metrics), ElementsAre("dram__bytes_read.sum"));
  EXPECT_THAT(known_metrics(profiler, "GB202", metrics), ElementsAre("dram__bytes_op_read.sum"));
}

// Of the engines of every chip something is sampled, in one pass: PM sampling can have no more.
TEST_F(RealCupti, SamplesDevicesInOnePass) {
  if (!load()) return;
  std::vector<std::string> wanted;
  for (const trace::SampledMetric& metric : trace::sampled_metrics()) {
    std::string& names = wanted.emplace_back();
    for (const std::string_view name : metric.names) names += std::string(name) + ' ';
  }
  for (const char* chip : kChips) {
    const CountedChip sampled(chip, cupti::kSamplingProfiler);
    const std::vector<std::string> known = known_metrics(profiler, sampled, wanted);
    const std::vector<std::string> together = one_pass(profiler, sampled, known);
    EXPECT_EQ(together, known) << chip;
    CounterConfig config(profiler);
    ASSERT_EQ(config.make(sampled, together), Result::kSuccess) << chip;
    EXPECT_EQ(config.passes(), 1u) << chip;
    for (const trace::SampledMetric& metric : trace::sampled_metrics()) {
      const bool found = std::any_of(metric.names.begin(), metric.names.end(), [&](std::string_view name) {
        return std::find(together.begin(), together.end(), name) != together.end();
      });
      const bool of_links = metric.label.starts_with("PCIe") || metric.label.starts_with("NVLink");
      EXPECT_TRUE(found || of_links) << chip << ' ' << metric.label;
    }
  }
}

TEST_F(RealCupti, KnowsNothingOfAChipThatIsNone) {
  if (!load()) return;
  EXPECT_THAT(known_metrics(profiler, "XY100", {"dram__bytes_read.sum"}), IsEmpty());
  CounterConfig config(profiler);
  EXPECT_NE(config.make("XY100", {"dram__bytes_read.sum"}), Result::kSuccess);
}

TEST_F(RealCupti, CountsAllMetricsInAFewDozenPasses) {
  if (!load()) return;
  CounterConfig config(profiler);
  ASSERT_EQ(config.make("GH100", known_metrics(profiler, "GH100", all_metrics())), Result::kSuccess);
  EXPECT_GT(config.passes(), 1u);
  EXPECT_LE(config.passes(), 30u);
  EXPECT_FALSE(config.image().empty());
}

// What a launch is usually run for: each pass costs about as much as all others.
TEST_F(RealCupti, CountsWhatIsUsualInSixteenPassesAndOneByItself) {
  if (!load()) return;
  std::vector<std::string> once, rest;
  for (const trace::CounterMetric& metric : trace::counter_metrics()) {
    if (metric.set != trace::CounterSet::kUsual) continue;
    std::string names;
    for (const std::string_view name : metric.names) names += std::string(name) + ' ';
    (metric.counted_in == trace::CountedIn::kOnlyPass ? once : rest).push_back(names);
  }
  CounterConfig alone(profiler), others(profiler);
  ASSERT_EQ(alone.make("GH100", known_metrics(profiler, "GH100", once)), Result::kSuccess);
  EXPECT_EQ(alone.passes(), 1u);
  ASSERT_EQ(others.make("GH100", known_metrics(profiler, "GH100", rest)), Result::kSuccess);
  EXPECT_LE(others.passes(), 16u);
}

TEST_F(RealCupti, DividesMetricsIntoGroupsOfOnePass) {
  if (!load()) return;
  const std::vector<std::string> known = known_metrics(profiler, "GH100", all_metrics());
  const auto groups = one_pass_groups(profiler, "GH100", known);
  std::set<std::string> in_groups;
  for (const std::vector<std::string>& group : groups) {
    CounterConfig config(profiler);
    ASSERT_EQ(config.make("GH100", group), Result::kSuccess);
    EXPECT_EQ(config.passes(), 1u);
    EXPECT_EQ(group[0], known[0]);
    in_groups.insert(group.begin(), group.end());
  }
  EXPECT_LE(groups.size(), 30u);
  EXPECT_THAT(in_groups, Contains("dram__bytes_read.sum"));
  EXPECT_THAT(in_groups, Contains("sm__ops_path_tensor_src_bf16_dst_fp32.sum"));
}

// What the range profiler counted of a product of two 2048 × 2048 matrices in bf16, on an H100 with CUPTI 13.0.1, and
// what CUPTI said of it there.
TEST_F(RealCupti, EvaluatesWhatAnH100Counted) {
  if (!load()) return;
  CounterConfig config(profiler);
  ASSERT_EQ(config.make("GH100", {"gpu__time_duration.sum", "sm__cycles_elapsed.max", "dram__bytes_read.sum",
                                  "dram__bytes_write.sum", "lts__t_bytes.sum"}),
            Result::kSuccess);
  const auto image = read_file(source_folder() / "src/observe/inject/testing/gemm_on_h100.image");
  ASSERT_TRUE(image.ok());
  std::vector<double> values;
  ASSERT_EQ(config.evaluate({image->begin(), image->end()}, values), Result::kSuccess);
  EXPECT_THAT(values, ElementsAre(25888, 45065, 5888, 6118144, 114390112));
}

}  // namespace
}  // namespace hone::observe::inject
