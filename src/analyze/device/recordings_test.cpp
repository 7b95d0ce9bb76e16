// The recorded programs of tests/traces: each has one fault planted and names its cause; the same program
// without the fault was recorded and timed as well. What is not met is listed here with its reason; a limit
// is never widened to make it met.
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "analyze/analyze.h"
#include "trace/import/import.h"
#include "trace/link/link.h"

namespace hone::analyze {
namespace {

namespace fs = std::filesystem;

struct Facts {
  std::string program, cause;
  double fault_ms = 0, repaired_ms = 0;
};

fs::path recordings() { return fs::path(HONE_SOURCE_DIR) / "tests" / "traces" / "recorded"; }

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

}  // namespace
}  // namespace hone::analyze
