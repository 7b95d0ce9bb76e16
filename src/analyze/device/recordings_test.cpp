// The recorded programs of tests/traces: each has one fault planted and names its cause; the same program
// without the fault was recorded and timed as well. What is not met is listed here with its reason; a limit
// is never widened to make it met.
#include <algorithm>
#include <array>
#include <cctype>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "analyze/advice.h"
#include "analyze/analyze.h"
#include "analyze/compare.h"
#include "core/testing/source_folder.h"
#include "trace/import/import.h"
#include "trace/link/link.h"

namespace hone::analyze {
namespace {

namespace fs = std::filesystem;

struct Facts {
  std::string program, cause;
  double fault_ms = 0, repaired_ms = 0;
};

fs::path recordings() { return source_folder() / "tests" / "traces" / "recorded"; }

// The first text or number after "key": — these files are our own, one field a line.
std::string field(const std::string& text, std::string_view key, std::size_t from = 0) {
  std::size_t at = text.find(fmt::format("\"{}\":", key), from);
  if (at == std::string::npos) return {};
  at = text.find_first_not_of(" \":", at + key.size() + 2);
  return text.substr(at, text.find_first_of("\",\n}", at) - at);
}

std::vector<Facts> all_facts() {
  std::vector<Facts> all;
  for (const fs::directory_entry& entry : fs::directory_iterator(recordings())) {
    if (!entry.path().string().ends_with(".facts.json")) continue;
    std::ifstream file(entry.path());
    const std::string text((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
    const std::size_t fault = text.find("\"fault\""), repaired = text.find("\"repaired\"");
    all.push_back({field(text, "program"), field(text, "cause"), std::stod(field(text, "median", fault)),
                   std::stod(field(text, "median", repaired))});
  }
  std::sort(all.begin(), all.end(), [](const Facts& a, const Facts& b) { return a.program < b.program; });
  return all;
}

std::vector<fs::path> files_of(const std::string& program, const std::string& form) {
  std::vector<fs::path> files;
  for (const fs::directory_entry& entry : fs::directory_iterator(recordings())) {
    const std::string name = entry.path().filename().string();
    if (name.starts_with(program + "." + form + ".") && name.ends_with(".json.gz"))
      files.push_back(entry.path());
  }
  std::sort(files.begin(), files.end());
  return files;
}

const Analysis& analysis_of(const std::string& program, const std::string& form) {
  static std::map<std::string, Analysis> known;
  const std::string key = program + "." + form;
  if (const auto found = known.find(key); found != known.end()) return found->second;
  const std::vector<fs::path> files = files_of(program, form);
  auto trace = trace::import_trace(files);
  EXPECT_TRUE(trace.ok()) << key;
  EXPECT_TRUE(trace::link_trace(*trace).ok()) << key;
  auto analysis = analyze_trace(*trace, Roofs{}, {});
  EXPECT_TRUE(analysis.ok()) << key << ": " << (analysis.ok() ? "" : analysis.error().message);
  return known.emplace(key, std::move(*analysis)).first->second;
}

std::string verdict_of(const Analysis& analysis) {
  return analysis.verdict.cause ? std::string(cause_name(*analysis.verdict.cause)) : "healthy";
}

TEST(Recordings, LedgersAddUpToTheStep) {
  for (const Facts& facts : all_facts())
    for (const char* form : {"fault", "repaired"}) {
      const Analysis& analysis = analysis_of(facts.program, form);
      double sum = 0;
      for (const LedgerRow& row : analysis.ledger) sum += row.ms;
      EXPECT_NEAR(sum, analysis.step.ms.median, 0.005 * analysis.step.ms.median)
          << facts.program << " " << form;
    }
}

// The ledger, the verdict and the advice say one number of one gain, or the advice says that it is a part.
TEST(Recordings, AGainIsOneNumber) {
  for (const Facts& facts : all_facts())
    for (const char* form : {"fault", "repaired"}) {
      const Analysis& analysis = analysis_of(facts.program, form);
      const std::string where = facts.program + " " + form;
      for (const LedgerRow& row : analysis.ledger) {
        double advised = 0;
        for (const Finding& finding : analysis.findings)
          advised += finding.cause == row.cause ? finding.predicted_gain_ms : 0;
        EXPECT_LE(advised, row.predicted_gain_ms * (1 + 1e-9)) << where;
        if (advised > 0.75 * row.predicted_gain_ms) {
          EXPECT_NEAR(advised, row.predicted_gain_ms, 1e-9) << where << " " << row.rule;
        }
      }
      if (!analysis.verdict.cause) continue;
      for (const LedgerRow& row : analysis.ledger)
        if (row.cause == analysis.verdict.cause) {
          EXPECT_EQ(row.predicted_gain_ms, analysis.verdict.recoverable_ms) << where;
        }
      const Advice advice = first_advice(analysis);
      EXPECT_EQ(advice.is_all, advice.predicted_gain_ms >= 0.9 * analysis.verdict.recoverable_ms) << where;
    }
}

// No rate above what the device can do, and no time that its parts do not make up (self_check.h).
TEST(Recordings, DoNotContradictThemselves) {
  for (const Facts& facts : all_facts())
    for (const char* form : {"fault", "repaired"})
      for (const std::string& warning : analysis_of(facts.program, form).warnings)
        EXPECT_FALSE(warning.find("more than the device can") != std::string::npos ||
                     warning.find("which is more than its") != std::string::npos)
            << facts.program << " " << form << ": " << warning;
}

// Programs whose step the recorder does not slow down: the device is what they wait for.
TEST(Recordings, StepsTakeAsLongAsWithoutTheRecorderWhereTheDeviceIsBusy) {
  for (const char* program :
       {"layout_channels_first", "layout_permutes", "precision_f32", "precision_f64_leak",
        "bubble_one_microbatch", "comm_after_backward", "straggler_longer_batch"})
    for (const Facts& facts : all_facts())
      if (facts.program == program) {
        const double step = analysis_of(program, "fault").step.ms.median;
        EXPECT_NEAR(step, facts.fault_ms, 0.013 * facts.fault_ms) << program;
      }
}

// Programs of which something else wins more than what was planted.
const std::map<std::string, std::string> kMissedVerdicts = {
    {"batch_from_python_lists", "the fault costs 12 % of the step; fusing the eager network wins more"},
    {"comm_tiny_buckets", "the recorder doubles the host's time, behind which the collectives then hide"},
    {"healthy_vit_on_two", "not healthy: its patches go through a convolution at a twentieth of its roof"},
    {"memory_emptied_after_each_tile", "fusing its passes over memory wins a little more"},
    {"odd_width", "the recorder doubles the host's time, behind which slow products then hide"},
    {"shards_flushed_each_step", "its vision transformer loses more by changing the order of its patches"},
};

TEST(Recordings, VerdictsNameThePlantedCause) {
  for (const Facts& facts : all_facts())
    EXPECT_EQ(verdict_of(analysis_of(facts.program, "fault")) == facts.cause,
              !kMissedVerdicts.contains(facts.program))
        << facts.program << ": " << verdict_of(analysis_of(facts.program, "fault"));
}

double row_ms(const Analysis& analysis, std::string_view cause) {
  for (const LedgerRow& row : analysis.ledger)
    if (cause_name(row.cause) == cause) return row.ms;
  return 0;
}

double row_gain_ms(const Analysis& analysis, std::string_view cause) {
  for (const LedgerRow& row : analysis.ledger)
    if (cause_name(row.cause) == cause) return row.predicted_gain_ms;
  return 0;
}

// Programs that still have what their fault was, because what was planted is not all of it: eager PyTorch
// under autocast moves bytes that a compiled model does not; 6,000 eager operators a step are bound by their
// launches, with or without the loop; what runs in tf32 now could run in bf16.
const std::set<std::string> kStillTheSame = {"attention_by_hand",
                                             "attention_with_repeated_keys",
                                             "average_of_weights",
                                             "clip_for_loop",
                                             "cnn_without_tf32",
                                             "comm_tiny_buckets",
                                             "distances_by_broadcasting",
                                             "experts_in_a_loop",
                                             "heads_one_by_one",
                                             "loss_by_one_hot",
                                             "lstm_cell_in_a_loop",
                                             "one_group_norms",
                                             "optimizer_unfused",
                                             "pipeline_waits_for_whole_batches",
                                             "pointwise_by_hand",
                                             "precision_f64_leak",
                                             "tensor_parallel_sums_in_f32",
                                             "weights_gathered_in_turn"};

// Its host takes twice as long while it is recorded, and hides what the many collectives of the fault cost.
const std::set<std::string> kRowGrows = {"comm_tiny_buckets"};

TEST(Recordings, RepairedProgramsHaveAnotherVerdictOrASmallerRow) {
  for (const Facts& facts : all_facts()) {
    const Analysis& repaired = analysis_of(facts.program, "repaired");
    if (facts.cause == "healthy") {
      EXPECT_EQ(verdict_of(repaired) == "healthy", !kMissedVerdicts.contains(facts.program)) << facts.program;
      continue;
    }
    EXPECT_EQ(verdict_of(repaired) == facts.cause, kStillTheSame.contains(facts.program)) << facts.program;
    const double fault_ms = row_ms(analysis_of(facts.program, "fault"), facts.cause);
    EXPECT_EQ(row_ms(repaired, facts.cause) < fault_ms, !kRowGrows.contains(facts.program)) << facts.program;
  }
}

// The rule of the finding whose fix the repair is.
const std::map<std::string, std::string> kPlantedRules = {
    {"accumulates_without_no_sync", "repeated_reductions"},
    {"adapters_merged_in_every_call", "merged_weights"},
    {"adapters_one_by_one", "products_in_turn"},
    {"allocator_emptied", "allocator_waits"},
    {"attention_by_hand", "attention_by_hand"},
    {"bias_widens_the_scores", "f32_among_16_bits"},
    {"bubble_one_microbatch", "pipeline_bubble"},
    {"cache_grown_by_cat", "append_by_copy"},
    {"causal_mask_in_memory", "dense_attention_masks"},
    {"clip_for_loop", "launches_in_loops"},
    {"cnn_without_tf32", "f32_without_matrix_units"},
    {"comm_after_backward", "exposed_communication"},
    {"compile_every_shape", "compilation_waits"},
    {"copy_pageable", "exposed_copies"},
    {"decode_token_by_token", "slow_launches"},
    {"diffusion_without_autocast", "tf32_products"},
    {"embedding_by_one_hot", "one_hot_products"},
    {"experts_in_a_loop", "launches_in_loops"},
    {"features_copied_one_by_one", "copies_in_loops"},
    {"few_channels_first", "channels_first_batch_norm"},
    {"gathers_before_pooling", "whole_gathers"},
    {"heads_one_by_one", "launches_in_loops"},
    {"host_python_metrics", "host_work"},
    {"input_loader_without_workers", "input_waits"},
    {"io_reads_each_step", "file_waits"},
    {"items_looked_up_by_brackets", "rows_added_in_turn"},
    {"layout_channels_first", "channels_first_images"},
    {"lstm_cell_in_a_loop", "launches_in_loops"},
    {"mixer_transposes", "strided_copies"},
    {"nan_checks", "host_checks"},
    {"optimizer_unfused", "unfused_optimizer"},
    {"phases_summed_in_few_rows", "small_grids"},
    {"pointwise_by_hand", "unfused_chain"},
    {"pointwise_convolutions", "series_convolution_of_size_1"},
    {"precision_f64_leak", "f64_arithmetic"},
    {"straggler_sleeps", "late_rank"},
    {"sync_item_for_logging", "host_waits"},
    {"tensor_parallel_sums_in_f32", "wide_sums"},
    {"vocabulary_not_padded", "odd_sizes"},
};

TEST(Recordings, FindingsAreOfThePlantedRule) {
  for (const auto& [program, rule] : kPlantedRules) {
    const auto& findings = analysis_of(program, "fault").findings;
    EXPECT_TRUE(std::any_of(findings.begin(), findings.end(),
                            [&](const Finding& finding) { return finding.rule == rule; }))
        << program << ": " << rule;
  }
}

// The gain of the finding of the planted rule; for other programs, of the largest finding of their cause.
double predicted_ms(const Facts& facts, const Analysis& analysis) {
  const auto rule = kPlantedRules.find(facts.program);
  for (const Finding& finding : analysis.findings)
    if (cause_name(finding.cause) == facts.cause &&
        (rule == kPlantedRules.end() || finding.rule == rule->second))
      return finding.predicted_gain_ms;
  return row_gain_ms(analysis, facts.cause);
}

// What removing the fault won is not what was predicted, and why.
const std::map<std::string, std::string> kMissedGains = {
    // What the repair does is not what the finding proposes, or a trace cannot tell what it wins.
    {"clips_unpacked_by_two_workers", "with more workers the loader still holds the step up, by less"},
    {"sampler_reads_its_schedule", "the repair also spares what picks the numbers that are read"},
    {"weights_gathered_in_turn", "gathering behind the products slows them by nearly what is hidden"},
    // The recorder slows the host by another factor than most, or the host was not the same when timed.
    {"answers_handed_over_token_by_token",
     "the recorder delays each launch of a graph by more than is taken away"},
    {"comm_tiny_buckets", "the recorder doubles the host's time, behind which the collectives then hide"},
    {"odd_width", "the recorder doubles the host's time, behind which slow products then hide"},
    {"checkpoint_each_step",
     "writing took 16 ms in the recording, the recorder in it, and 18 ms in the runs that were timed"},
    {"loader_begun_each_step",
     "starting workers took 20 ms in the recording and 25 ms in the runs that were timed"},
    {"sync_boolean_mask", "the host was slower when timed; 27 % off"},
    {"sync_item_for_logging",
     "reading a value takes longer without the recorder than half of what it takes with it"},
    {"batch_from_python_lists", "the host was slower when timed: what hides behind the device then does not"},
    {"adapters_one_by_one", "the same steps took 6 % longer when timed than when recorded; 27 % off"},
    {"edges_dropped_by_mask", "what the repair saves around its reads is more than what they wait; 26 % off"},
};

TEST(Recordings, PredictedGainsComeTrueWithinAQuarter) {
  std::string table = "program, cause, predicted ms, real ms\n";
  for (const Facts& facts : all_facts()) {
    if (facts.cause == "healthy") continue;
    const double predicted = predicted_ms(facts, analysis_of(facts.program, "fault"));
    const double real = facts.fault_ms - facts.repaired_ms;
    table += fmt::format("{:30} {:20} {:8.2f} {:8.2f} {:+5.0f} %\n", facts.program, facts.cause, predicted,
                         real, 100 * (predicted / real - 1));
    const bool met = std::abs(predicted - real) <= 0.25 * real;
    EXPECT_EQ(met, !kMissedGains.contains(facts.program))
        << facts.program << ": " << predicted << " for " << real;
  }
  RecordProperty("gains", table);
  if (std::getenv("HONE_SHOW_TABLES") != nullptr) std::fputs(table.c_str(), stdout);
}

// Without the recorder steps take what the replay says, where the machine was steady.
TEST(Recordings, UnrecordedStepsArePredictedWithinAFifth) {
  const std::set<std::string> missed = {"edges_dropped_by_mask"};
  for (const Facts& facts : all_facts()) {
    const double predicted = analysis_of(facts.program, "fault").figures.at("unrecorded_step_ms");
    const bool met = std::abs(predicted - facts.fault_ms) <= 0.2 * facts.fault_ms;
    EXPECT_EQ(met, !missed.contains(facts.program))
        << facts.program << ": " << predicted << " for " << facts.fault_ms;
  }
}

// The range that the warning of the recorder's cost gives holds the step for three of four programs, both
// forms counted. Its width was chosen with both halves in view.
TEST(Recordings, RangesOfUnrecordedStepsHoldForThreeOfFour) {
  std::array<int, 2> slowed = {}, inside = {};
  std::size_t number = 0;
  for (const Facts& facts : all_facts()) {
    const std::size_t half = number++ % 2;
    for (const char* form : {"fault", "repaired"}) {
      const auto& metrics = analysis_of(facts.program, form).figures;
      const double predicted = metrics.at("unrecorded_step_ms"), low = metrics.at("low_unrecorded_step_ms"),
                   high = metrics.at("high_unrecorded_step_ms");
      EXPECT_LE(low, predicted) << facts.program;
      EXPECT_GE(high, predicted) << facts.program;
      if (low == high) continue;
      const double real = form == std::string_view("fault") ? facts.fault_ms : facts.repaired_ms;
      ++slowed[half];
      inside[half] += low <= real && real <= high;
      if (std::getenv("HONE_SHOW_TABLES") != nullptr)
        fmt::print("{:34} {:8} {:8.2f} to {:8.2f}: {:8.2f}{}\n", facts.program, form, low, high, real,
                   low <= real && real <= high ? "" : " outside");
    }
  }
  const std::string counted = fmt::format("{} of {}, {} of {}", inside[0], slowed[0], inside[1], slowed[1]);
  RecordProperty("inside", counted);
  if (std::getenv("HONE_SHOW_TABLES") != nullptr) fmt::print("{}\n", counted);
  EXPECT_GE(slowed[0] + slowed[1], 80);
  EXPECT_GE(inside[1], 0.75 * slowed[1]) << counted;
  EXPECT_GE(inside[0] + inside[1], 0.75 * (slowed[0] + slowed[1])) << counted;
}

// A table of counters has no launches to replay: what its kernels would be shorter is the gain.
TEST(Recordings, ATableOfCountersNamesTheProductThatLeavesTheMatrixUnitsIdle) {
  const std::vector<fs::path> files = {recordings().parent_path() / "ncu" / "raw.csv.gz"};
  auto trace = trace::import_trace(files);
  ASSERT_TRUE(trace.ok());
  ASSERT_TRUE(trace::link_trace(*trace).ok());
  const auto analysis = analyze_trace(*trace, Roofs{}, {});
  ASSERT_TRUE(analysis.ok());
  EXPECT_EQ(analysis->verdict.cause, Cause::kPrecision) << analysis->verdict.sentence;
  // Half of the floor in tf32: what bf16 would win on top is lost to precision, and not promised yet.
  EXPECT_LT(row_gain_ms(*analysis, "precision"), row_ms(*analysis, "precision"));
  EXPECT_GT(row_gain_ms(*analysis, "precision"), 0.9 * row_ms(*analysis, "precision"));
}

TEST(Recordings, CriticalPathsCoverTheStepWithoutOverlap) {
  for (const Facts& facts : all_facts()) {
    const Analysis& analysis = analysis_of(facts.program, "fault");
    ASSERT_FALSE(analysis.critical_path.empty()) << facts.program;
    double at = 0, covered = 0;
    for (const PathSegment& segment : analysis.critical_path) {
      EXPECT_GE(segment.start_ms, at - 0.001) << facts.program << ": " << segment.name;
      at = segment.start_ms + segment.ms;
      covered += segment.ms;
    }
    EXPECT_NEAR(covered, at, 0.01 * at) << facts.program;
  }
}

TEST(Recordings, MetricsSayWhatPeopleSteerBy) {
  auto value = [](const Analysis& analysis, std::string_view name) {
    for (const Metric& metric : analysis.targets)
      if (metric.name == name) return metric.value;
    return -1.0;
  };
  const Analysis& layout = analysis_of("layout_channels_first", "fault");
  EXPECT_GT(value(layout, "gpu_busy_share"), 97);
  EXPECT_GT(value(layout, "host_run_ahead"), 5);
  const Analysis& launch = analysis_of("launch_tiny_kernels", "fault");
  EXPECT_LT(value(launch, "gpu_busy_share"), 10);
  EXPECT_NEAR(value(launch, "works_per_step"), 120, 0.5);
  EXPECT_LT(value(launch, "mean_work_us"), 3);
  EXPECT_GT(value(analysis_of("input_loader_without_workers", "fault"), "input_wait_share"), 50);
  EXPECT_GT(value(analysis_of("comm_after_backward", "repaired"), "comm_overlap"),
            value(analysis_of("comm_after_backward", "fault"), "comm_overlap") + 30);
  EXPECT_GT(value(analysis_of("healthy_cuda_graph", "fault"), "tensor_core_share"), 80);
}

// Every verdict comes with what a person can look for, what to do, and where it is in the step.
TEST(Recordings, FindingsNameThePlantedThing) {
  const std::map<std::string, std::string> evidence = {
      {"input_loader_without_workers", "DataLoader"},
      {"io_reads_each_step", "read_batch"},
      {"sync_item_for_logging", "aten::item"},
      {"copy_pageable", "pageable copy host"},
      {"copy_results_each_layer", "device → host"},
      {"allocator_emptied", "cudaMalloc"},
      {"straggler_sleeps", "rank 1"},
      {"straggler_longer_batch", "rank 1"},
      {"layout_channels_first", "batch_norm"},
      {"precision_f64_leak", "f64"},
      {"comm_after_backward", "AllReduce"},
      {"bubble_one_microbatch", "SendRecv"},
      {"attention_by_hand", "16×12×512×512"},
      {"optimizer_unfused", "sqrt 768 f32"},
      {"pointwise_by_hand", "16×512×3072"},
  };
  for (const auto& [program, wanted] : evidence) {
    const Analysis& analysis = analysis_of(program, "fault");
    std::string words;
    for (const Finding& finding : analysis.findings)
      if (finding.cause == analysis.verdict.cause) {
        words += finding.title + "\n" + finding.fix + "\n";
        for (const std::string& line : finding.evidence) words += line + "\n";
      }
    EXPECT_NE(words.find(wanted), std::string::npos) << program << ":\n" << words;
  }
}

// "1 kernels" as a count of its own: not the end of "21 kernels" or "0.1 kernels".
bool counts_one_as_many(const std::string& line) {
  for (std::string_view noun :
       {"kernels", "gaps", "waits", "copies", "passes", "products", "turns", "times", "calls", "steps"}) {
    const std::string words = fmt::format("1 {}", noun);
    for (std::size_t at = line.find(words); at != std::string::npos; at = line.find(words, at + 1)) {
      const bool own =
          at == 0 || std::string_view("0123456789.,").find(line[at - 1]) == std::string_view::npos;
      const std::size_t end = at + words.size();
      if (own && (end == line.size() || std::isalpha(static_cast<unsigned char>(line[end])) == 0))
        return true;
    }
  }
  return false;
}

TEST(Recordings, AreToldInSingularAndPlural) {
  EXPECT_TRUE(counts_one_as_many("over 1 steps"));
  EXPECT_FALSE(counts_one_as_many("21 kernels a step, 1 gap, 0.1 waits"));
  for (const Facts& facts : all_facts())
    for (const char* form : {"fault", "repaired"}) {
      const Analysis& analysis = analysis_of(facts.program, form);
      std::vector<std::string> lines = analysis.warnings;
      for (const Finding& row : analysis.findings) {
        lines.insert(lines.end(), row.evidence.begin(), row.evidence.end());
        lines.insert(lines.end(), {row.title, row.fix, row.caveat});
      }
      for (const std::string& line : lines)
        EXPECT_FALSE(counts_one_as_many(line)) << facts.program << ": " << line;
    }
}

// Both forms of the healthy programs are the same program, recorded twice.
TEST(Recordings, DoNotDifferWhereTheProgramIsTheSame) {
  for (const char* program :
       {"healthy_compiled", "healthy_cuda_graph", "healthy_large_products", "healthy_ddp"}) {
    const Comparison result = compare(analysis_of(program, "fault"), analysis_of(program, "repaired"));
    EXPECT_EQ(result.difference.certainty, Certainty::kNone) << program << ": " << result.sentence;
    for (const CauseChange& row : result.ledger)
      EXPECT_EQ(row.difference.certainty, Certainty::kNone) << program << ", " << cause_name(row.cause);
    for (const OperatorChange& row : result.operators)
      EXPECT_EQ(row.difference.certainty, Certainty::kNone) << program << ", " << row.kind;
  }
}

TEST(Recordings, DifferWhereTheFaultWasRepaired) {
  for (const char* program :
       {"layout_channels_first", "precision_f32", "io_reads_each_step", "straggler_sleeps"}) {
    const Comparison result = compare(analysis_of(program, "fault"), analysis_of(program, "repaired"));
    EXPECT_EQ(result.difference.certainty, Certainty::kLikely) << program << ": " << result.sentence;
    EXPECT_GT(result.ratio, 1) << program;
  }
}

// Larger programs: tests/traces/real says what was planted.
TEST(RealTraces, VerdictsNameThePlantedCause) {
  const fs::path folder = recordings().parent_path() / "real";
  const std::vector<std::pair<std::vector<std::string>, std::string>> expected = {
      {{"gpt2_b16_eager"}, "avoidable_traffic"},
      {{"unet_input_starved"}, "input"},
      {{"gpt2_b8_item_sync_every_param"}, "host_sync"},
      {{"ddp2_straggler_rank1_rank0", "ddp2_straggler_rank1_rank1"}, "straggler"},
      {{"ddp2_healthy_rank0", "ddp2_healthy_rank1"},
       "avoidable_traffic"},  // eager: its communication is hidden
  };
  for (const auto& [names, cause] : expected) {
    std::vector<fs::path> files;
    for (const std::string& name : names) files.push_back(folder / (name + ".json.gz"));
    auto trace = trace::import_trace(files);
    ASSERT_TRUE(trace.ok()) << names.front();
    ASSERT_TRUE(trace::link_trace(*trace).ok()) << names.front();
    const auto analysis = analyze_trace(*trace, Roofs{}, {});
    ASSERT_TRUE(analysis.ok()) << names.front();
    EXPECT_EQ(verdict_of(*analysis), cause) << names.front();
    double sum = 0;
    for (const LedgerRow& row : analysis->ledger) sum += row.ms;
    EXPECT_NEAR(sum, analysis->step.ms.median, 0.005 * analysis->step.ms.median) << names.front();
  }
}

}  // namespace
}  // namespace hone::analyze
