// The whole way behind the importer over real traces that were broken event by event: it ends soon, with an
// error or with numbers that can be true. HONE_MUTATIONS=N tries N per recording and counts from
// HONE_MUTATION_SEED.
#include <cmath>
#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include <fmt/core.h>
#include <gtest/gtest.h>

#include "analyze/analyze.h"
#include "core/testing/source_folder.h"
#include "report/html.h"
#include "report/json.h"
#include "report/markdown.h"
#include "report/mutate_trace.h"
#include "report/terminal.h"
#include "trace/import/byte_source.h"
#include "trace/import/kineto/reader.h"
#include "trace/import/merge.h"
#include "trace/import/nsys/reader.h"
#include "trace/import/segments/reader.h"
#include "trace/link/link.h"
#include "trace/testing/inflated.h"
#include "trace/testing/mutate_rows.h"
#include "trace/testing/mutate_segment.h"
#include "trace/testing/observed_program.h"

namespace hone::report {
namespace {

// Of CPU time, on all threads: whatever was done to a trace, explaining it ends.
#ifdef __SANITIZE_ADDRESS__
constexpr double kMostSeconds = 60;
#else
constexpr double kMostSeconds = 10;
#endif

using Json = nlohmann::json;

int setting(const char* name, int usual) {
  const char* text = std::getenv(name);
  return text == nullptr ? usual : std::atoi(text);
}

Json recording(const std::string& name) {
  const auto path = source_folder() / "tests" / "traces" / "recorded" / (name + ".json.gz");
  auto source = trace::open_bytes(path);
  EXPECT_TRUE(source.ok()) << path;
  std::string text(64 << 20, '\0');
  text.resize((*source)->read(text).value());
  return Json::parse(text);
}

// Nothing where the files are refused.
std::optional<trace::Trace> joined(std::vector<trace::ImportedFile> files) {
  std::vector<std::string> sources;
  for (std::size_t i = 0; i < files.size(); ++i) sources.push_back(fmt::format("rank{}.json", i));
  if (!trace::check_one_program(files, sources).ok()) return std::nullopt;
  trace::Trace trace = trace::merge_files(std::move(files), sources);
  if (!trace::link_trace(trace).ok()) return std::nullopt;
  return trace;
}

std::optional<trace::Trace> read(const std::vector<std::string>& texts) {
  std::vector<trace::ImportedFile> files;
  for (const std::string& text : texts) {
    const auto bytes = trace::bytes_in_memory(text);
    auto file = trace::kineto::read_kineto(*bytes, {});
    if (!file.ok()) return std::nullopt;
    files.push_back(std::move(*file));
  }
  return joined(std::move(files));
}

// Every number of a JSON contract: finite, and no time, share or count below 0.
void expect_possible(const Json& json, const std::string& path) {
  static const std::set<std::string> kMayBeNegative = {"clock_shift_us", "start_ms", "rank", "device_index",
                                                       "time_ms"};
  const std::string key = path.substr(path.rfind('/') + 1);
  if (json.is_number()) {
    EXPECT_TRUE(std::abs(json.get<double>()) < 1e25) << path << " " << json;  // nor infinite, nor NaN
    if (!kMayBeNegative.contains(key)) {
      EXPECT_GE(json.get<double>(), 0) << path;
    }
    if (key == "share" || key.ends_with("_share")) {
      EXPECT_LE(json.get<double>(), 1.0001) << path;
    }
  }
  if (json.is_object())
    for (const auto& [name, value] : json.items())
      if (name != "recorder_ms") expect_possible(value, path + "/" + name);  // a difference of two
  if (json.is_array())
    for (std::size_t i = 0; i < json.size(); ++i) expect_possible(json[i], path + "/" + key);
}

void expect_numbers_add_up(const analyze::Analysis& analysis) {
  const double step = analysis.step.ms.median;
  EXPECT_GE(step, 0);
  double sum = 0;
  for (const analyze::LedgerRow& row : analysis.ledger) {
    sum += row.ms;
    EXPECT_LE(row.predicted_gain_ms, row.ms * 1.000001 + 1e-9) << row.title;
  }
  if (!analysis.ledger.empty()) {
    EXPECT_NEAR(sum, step, 0.005 * step + 1e-9);
  }
  for (const analyze::Finding& finding : analysis.findings)
    EXPECT_LE(finding.predicted_gain_ms, step * 1.000001 + 1e-9) << finding.title;
  double at = 0;
  for (const analyze::PathSegment& segment : analysis.critical_path) {
    EXPECT_GE(segment.start_ms, at - 1e-6 * (1 + std::abs(at)));
    at = segment.start_ms + segment.ms;
  }
}

// Whether there was something to analyse. `import` is within the time that explaining may take.
template <typename Import>
bool expect_sound(Import&& import) {
  const std::clock_t start = std::clock();
  const std::optional<trace::Trace> trace = import();
  if (!trace) return false;
  if (const Status valid = trace->validate(); !valid.ok()) ADD_FAILURE() << valid.error().message;
  const auto analysis = analyze::analyze_trace(*trace, Roofs{}, {});
  if (!analysis.ok()) {
    EXPECT_FALSE(analysis.error().message.empty());
    return false;
  }
  expect_numbers_add_up(*analysis);
  const Json json = Json::parse(explain_json(*analysis), nullptr, false);
  EXPECT_FALSE(json.is_discarded());
  expect_possible(json, "");
  for (const std::string& form :
       {explain_terminal(*analysis, {}), explain_markdown(*analysis), explain_html(*analysis, Roofs{})}) {
    EXPECT_FALSE(form.empty());
    for (const char* wrong : {" nan ms", " -nan", " inf ", "NaN ms", " -0.0 ms"}) {
      const std::size_t at = form.find(wrong);
      if (at != std::string::npos) ADD_FAILURE() << wrong << ": " << form.substr(at < 60 ? 0 : at - 60, 120);
    }
  }
  const double took_s = static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC;
  EXPECT_LT(took_s, kMostSeconds);
  return true;
}

void try_mutations(const std::vector<std::string>& names, int rounds) {
  std::vector<Json> ranks;
  for (const std::string& name : names) ranks.push_back(recording(name));
  const auto seed = static_cast<uint32_t>(setting("HONE_MUTATION_SEED", 1));
  rounds = setting("HONE_MUTATIONS", rounds);
  int analysed = 0;
  for (uint32_t round = 0; round < static_cast<uint32_t>(rounds); ++round) {
    std::vector<std::string> texts;
    std::string how;
    for (const Json& rank : ranks) {
      fabricate::TraceMutator mutator(rank, seed + round);
      how = mutator.mutate();
      texts.push_back(mutator.text());
    }
    SCOPED_TRACE(fmt::format("{}, seed {}: {}", names[0], seed + round, how));
    if (expect_sound([&] { return read(texts); })) ++analysed;
    if (testing::Test::HasFailure() && rounds < 100) return;
  }
  EXPECT_GT(analysed, rounds / 3);  // else the mutations break too much to test anything
  testing::Test::RecordProperty("analysed", analysed);
}

TEST(MutatedTraces, OfALoopThatWaits) { try_mutations({"sync_item_for_logging.fault"}, 8); }
TEST(MutatedTraces, OfLargeProducts) { try_mutations({"healthy_large_products.fault"}, 20); }
TEST(MutatedTraces, OfCapturedGraphs) { try_mutations({"healthy_cuda_graph.fault"}, 20); }
TEST(MutatedTraces, OfTwoRanks) {
  try_mutations({"bubble_one_microbatch.repaired.rank0", "bubble_one_microbatch.repaired.rank1"}, 4);
}

// A folder of as many ranks as a large run has, of which one is broken.
TEST(MutatedTraces, OfTwoHundredRanks) {
  const Json whole = recording("healthy_large_products.fault");
  std::vector<std::string> texts;
  for (int rank = 0; rank < 200; ++rank) {
    fabricate::TraceMutator mutator(whole, 3);
    mutator.set_rank(rank, 200);
    if (rank == 150) mutator.mutate();
    texts.push_back(mutator.text());
  }
  EXPECT_TRUE(expect_sound([&] { return read(texts); }));
}

// Databases of Nsight Systems, broken row by row.
void try_databases(const std::string& name, int usual_rounds) {
  namespace nsys = trace::nsys;
  const trace::Inflated file(source_folder() / "tests/traces/nsys" / (name + ".sqlite.gz"));
  const std::vector<nsys::TableRow> rows = nsys::rows_of_database(file.path.string());
  const int rounds = setting("HONE_MUTATIONS", usual_rounds), first = setting("HONE_MUTATION_SEED", 1);
  int analysed = 0;
  for (int seed = first; seed < first + rounds; ++seed) {
    SCOPED_TRACE(fmt::format("{}, seed {}", name, seed));
    const std::string bytes =
        nsys::DatabaseOfRows(nsys::RowsMutator(rows, static_cast<uint32_t>(seed)).mutate(40)).bytes();
    analysed += expect_sound([&]() -> std::optional<trace::Trace> {
      auto files = nsys::read_nsys_bytes(bytes);
      return files.ok() ? joined(std::move(*files)) : std::nullopt;
    });
    if (testing::Test::HasFailure() && rounds < 100) return;
  }
  EXPECT_GT(analysed, rounds / 3);
}

TEST(MutatedTraces, OfDatabases) { try_databases("copy_pageable.2023.4", 20); }
TEST(MutatedTraces, OfDatabasesWithCapturedGraphs) { try_databases("cuda_graph_nodes.2025.3", 20); }
TEST(MutatedTraces, OfDatabasesWithOperators) { try_databases("layout_channels_first.2025.3", 5); }

// Segments of a program that was recorded and left alone in turn, broken record by record.
TEST(MutatedTraces, OfSegments) {
  namespace segments = trace::segments;
  using segments::Mode;
  segments::ObservedProgram program;
  program.launches.assign(12, {"aten::mul", "mul", 20'000, "f32[64,64]"});
  program.launches.push_back({"aten::mm", "gemm", 90'000, "f32[64,64];f32[64,64]"});
  program.block(Mode::kLeftAlone, 12);
  for (int i = 0; i < 3; ++i) program.block(Mode::kTimeline, 4).block(Mode::kLeftAlone, 5);
  program.block(Mode::kOperators, 3);
  const std::string whole = program.finish().writer.bytes();
  const int rounds = setting("HONE_MUTATIONS", 150), first = setting("HONE_MUTATION_SEED", 1);
  int analysed = 0;
  for (int seed = first; seed < first + rounds; ++seed) {
    SCOPED_TRACE(fmt::format("segments, seed {}", seed));
    const std::string bytes = segments::SegmentMutator(whole, static_cast<uint32_t>(seed)).mutate();
    analysed += expect_sound([&]() -> std::optional<trace::Trace> {
      auto segment = segments::read_segment(bytes);
      if (!segment.ok()) return std::nullopt;
      std::vector<trace::ImportedFile> files;
      files.push_back(std::move(segment->file));
      return joined(std::move(files));
    });
    if (testing::Test::HasFailure() && rounds < 1000) return;
  }
  EXPECT_GT(analysed, rounds / 3);
}

}  // namespace
}  // namespace hone::report
