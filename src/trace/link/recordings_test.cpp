// What linking finds in recordings of real programs (tests/traces/recorded).
#include <algorithm>
#include <filesystem>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

#include "core/testing/source_folder.h"
#include "trace/import/import.h"
#include "trace/kernel_family.h"
#include "trace/link/launches.h"
#include "trace/link/link.h"

namespace hone::trace {
namespace {

namespace fs = std::filesystem;

std::vector<fs::path> recordings() {
  std::vector<fs::path> files;
  for (const auto& entry : fs::directory_iterator(source_folder() / "tests/traces/recorded"))
    if (entry.path().string().ends_with(".json.gz")) files.push_back(entry.path());
  std::sort(files.begin(), files.end());
  return files;
}

Trace imported(const fs::path& file) {
  const fs::path files[] = {file};
  auto trace = import_trace(files);
  EXPECT_TRUE(trace.ok()) << file << ": " << (trace.ok() ? "" : trace.error().message);
  return trace.ok() ? *std::move(trace) : Trace{};
}

struct Coverage {
  double device_ns = 0, linked_ns = 0, costed_ns = 0;
  std::map<std::string, double> without_costs;  // ns by operator or kernel
};

// What replays of CUDA graphs ran: no operators were called for it, so that the trace tells no costs, only
// the names of kernels.
std::set<uint32_t> replayed(const Trace& trace) {
  std::set<uint32_t> rows;
  for (const link::DeviceWork& item : link::find_device_work(trace, SpanNesting(trace)))
    if (item.launch != kNoSpan &&
        trace.strings.text(trace.spans.name[item.launch]).find("GraphLaunch") != std::string_view::npos)
      rows.insert(item.row);
  return rows;
}

Coverage coverage_of(const Trace& trace, const std::set<uint32_t>& left_out) {
  Coverage result;
  for (uint32_t row = 0; row < trace.spans.size(); ++row) {
    // What ran before the first step was launched before the recording.
    if (!link::is_device_work(trace, row) || trace.spans.step[row] == kNoStep || left_out.contains(row))
      continue;
    const auto ns = static_cast<double>(trace.spans.duration_ns[row]);
    const OperatorId id = trace.spans.op[row];
    const bool priced =
        id.valid() && (trace.operators[id.index].bytes() > 0 || trace.operators[id.index].flops > 0);
    const bool collective = trace.spans.category[row] == Category::kCommunication;
    result.device_ns += ns;
    result.linked_ns += id.valid() ? ns : 0;
    result.costed_ns += priced || collective ? ns : 0;
    if (!priced && !collective)
      result.without_costs[id.valid() ? trace.operators[id.index].kind
                                      : kernel_short_name(trace.strings.text(trace.spans.name[row]))] += ns;
  }
  return result;
}

std::string largest(const Coverage& coverage) {
  const auto at = std::max_element(coverage.without_costs.begin(), coverage.without_costs.end(),
                                   [](const auto& a, const auto& b) { return a.second < b.second; });
  return at == coverage.without_costs.end() ? "nothing" : at->first;
}

// What advanced indexing reads, how many elements a mask selects and a list's types are not recorded.
double least_priced(const std::string& name) {
  if (name.starts_with("sync_boolean_mask.fault")) return 0.9;
  if (name.starts_with("features_copied_one_by_one")) return 0.98;
  if (name.starts_with("experts_counted_on_the_host")) return 0.97;
  if (name.starts_with("favourite_experts")) return 0.98;
  if (name.starts_with("positions_in_f64")) return 0.7;
  return name.starts_with("edges_dropped_by_mask") ? 0.3 : 0.99;
}

TEST(LinkedRecordings, HaveAnOperatorWithCostsForAlmostAllWorkOfTheirSteps) {
  for (const fs::path& file : recordings()) {
    Trace trace = imported(file);
    ASSERT_TRUE(link_trace(trace).ok()) << file;
    ASSERT_TRUE(trace.validate().ok()) << file;
    const std::set<uint32_t> in_graphs = replayed(trace);
    const Coverage coverage = coverage_of(trace, in_graphs);
    EXPECT_EQ(steps_found(trace.meta).how, "ProfilerStep ranges") << file;
    if (coverage.device_ns == 0 && !in_graphs.empty()) continue;
    ASSERT_GT(coverage.device_ns, 0) << file;
    EXPECT_GT(coverage.linked_ns, 0.9999 * coverage.device_ns) << file;
    const double least = least_priced(file.filename().string());
    EXPECT_GT(coverage.costed_ns, least * coverage.device_ns) << file << ": lacks " << largest(coverage);
  }
}

struct Steps {
  int count = 0;
  double period_ms = 0;  // mean time from the end of a step, on host and device, to that of the next
};

Steps steps_of(const Trace& trace) {
  std::map<int32_t, int64_t> ends;
  Steps steps;
  for (std::size_t row = 0; row < trace.spans.size(); ++row) {
    const Span span = trace.spans.row(row);
    const bool mark = span.category == Category::kStep;
    steps.count += mark ? 1 : 0;
    if (span.step != kNoStep && (mark || link::is_device_work(trace, row)))
      ends[span.step] = std::max(ends[span.step], span.end_ns());
  }
  if (ends.size() > 1)
    steps.period_ms = static_cast<double>(ends.rbegin()->second - ends.begin()->second) * 1e-6 /
                      static_cast<double>(ends.size() - 1);
  return steps;
}

// A step of these is a row of equal layers, tokens or batches and nothing else: nothing tells a step from a
// layer.
bool only_layers(const fs::path& file) {
  constexpr std::string_view kPrograms[] = {"launch_tiny_kernels.fault",
                                            "copy_results_each_layer",
                                            "healthy_large_products",
                                            "adapters_merged_in_every_call",
                                            "adapters_one_by_one.fault",
                                            "attention_with_repeated_keys.fault",
                                            "bias_widens_the_scores",
                                            "cache_grown_by_cat",
                                            "decode_token_by_token",
                                            "denoises_one_batch_at_a_time",
                                            "edges_dropped_by_mask",
                                            "experts_counted_on_the_host",
                                            "favourite_experts",
                                            "heads_one_by_one.fault",
                                            "memory_emptied_after_each_tile",
                                            "mixer_transposes",
                                            "one_group_norms",
                                            "phases_summed_in_few_rows",
                                            "pointwise_convolutions",
                                            "sampler_reads_its_schedule",
                                            "tensor_parallel_sums_in_f32",
                                            "weights_gathered_in_turn",
                                            "weights_on_the_host",
                                            "workspace_of_its_own"};
  const std::string name = file.filename().string();
  return std::any_of(std::begin(kPrograms), std::end(kPrograms),
                     [&](std::string_view program) { return name.starts_with(program); });
}

// Takes away the profiler's marks, or with them all ranges that the framework and the program named.
Trace without_marks(Trace trace, bool all_ranges) {
  for (std::size_t row = 0; row < trace.spans.size(); ++row)
    if (trace.spans.category[row] == Category::kRegion &&
        (all_ranges || trace.strings.text(trace.spans.name[row]).starts_with("ProfilerStep")))
      trace.spans.category[row] = Category::kOther;
  return trace;
}

TEST(LinkedRecordings, HaveTheSameStepsWithoutTheProfilersMarks) {
  for (const fs::path& file : recordings()) {
    const Trace raw = imported(file);
    Trace marked = raw;
    ASSERT_TRUE(link_trace(marked).ok()) << file;
    for (bool all_ranges : {false, true}) {
      Trace bare = without_marks(raw, all_ranges);
      ASSERT_TRUE(link_trace(bare).ok()) << file;
      const StepsFound found = steps_found(bare.meta);
      if (only_layers(file)) {
        EXPECT_LT(found.confidence, 0.5) << file;
        continue;
      }
      EXPECT_TRUE(found.how.starts_with("the repeating sequence")) << file << found.how;
      const Steps expected = steps_of(marked), steps = steps_of(bare);
      EXPECT_NEAR(steps.count, expected.count, 1) << file << ": " << found.how;
      EXPECT_NEAR(steps.period_ms, expected.period_ms, 0.01 * expected.period_ms)
          << file << ": " << found.how;
    }
  }
}

TEST(LinkedRecordings, HaveAFamilyForEveryKernelThatTakesTime) {
  for (const fs::path& file : recordings()) {
    const Trace trace = imported(file);
    std::map<std::string_view, double> time;
    double all = 0;
    for (std::size_t row = 0; row < trace.spans.size(); ++row) {
      if (!link::is_device_work(trace, row)) continue;
      time[trace.strings.text(trace.spans.name[row])] += static_cast<double>(trace.spans.duration_ns[row]);
      all += static_cast<double>(trace.spans.duration_ns[row]);
    }
    for (const auto& [name, ns] : time) {
      const KernelFamily family = kernel_family(name);
      EXPECT_TRUE(family.work != KernelWork::kUnknown || ns < 0.005 * all) << name;
      EXPECT_TRUE(family.work != KernelWork::kMatrix || family.math != KernelMath::kUnknown) << name;
      EXPECT_LE(kernel_short_name(name).size(), 64u) << name;
    }
  }
}

}  // namespace
}  // namespace hone::trace
