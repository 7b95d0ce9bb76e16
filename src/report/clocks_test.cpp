// What is said of ranks must not depend on how far the clocks of their machines are apart.
#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <limits>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "analyze/analyze.h"
#include "core/testing/source_folder.h"
#include "report/json.h"
#include "trace/import/import.h"
#include "trace/link/link.h"

namespace hone::report {
namespace {

using Json = nlohmann::json;
namespace fs = std::filesystem;

// Moves all that a rank did, and then everything, so that nothing is before 0.
void set_clock_ahead(trace::Trace& trace, int rank, int64_t by_ns) {
  int64_t earliest = std::numeric_limits<int64_t>::max();
  for (std::size_t row = 0; row < trace.spans.size(); ++row) {
    if (trace.tracks[trace.spans.track[row].index].rank == rank) trace.spans.start_ns[row] += by_ns;
    earliest = std::min(earliest, trace.spans.start_ns[row]);
  }
  for (int64_t& start : trace.spans.start_ns) start -= earliest;
}

std::string explained(const std::vector<fs::path>& files, int rank, int64_t ahead_ns) {
  auto trace = trace::import_trace(files);
  EXPECT_TRUE(trace.ok());
  set_clock_ahead(*trace, rank, ahead_ns);
  EXPECT_TRUE(trace::link_trace(*trace).ok());
  const auto analysis = analyze::analyze_trace(*trace, Roofs{}, {});
  EXPECT_TRUE(analysis.ok());
  Json json = Json::parse(explain_json(*analysis));
  EXPECT_EQ(json["rank_summaries"].size(), 2u);
  for (Json& row : json["rank_summaries"]) row.erase("clock_shift_us");
  Json& warnings = json["warnings"];
  const auto of_clocks = [](const Json& warning) {
    return warning.get<std::string>().find("the clock of rank 1 is") != std::string::npos;
  };
  const auto kept = std::remove_if(warnings.begin(), warnings.end(), of_clocks);
  EXPECT_EQ(kept != warnings.end(), std::abs(ahead_ns) > 1'000'000'000);
  warnings.erase(kept, warnings.end());
  return json.dump(1);
}

std::vector<fs::path> both_ranks(const std::string& folder, const std::string& name) {
  const fs::path traces = source_folder() / "tests" / "traces" / folder;
  return {traces / (name + "rank0.json.gz"), traces / (name + "rank1.json.gz")};
}

TEST(Clocks, OfRanksMayBeAnyTimeApart) {
  for (const auto& [folder, name] :
       {std::pair("real", "ddp2_straggler_rank1_"), std::pair("recorded", "weights_gathered_in_turn.fault."),
        std::pair("recorded", "bubble_one_microbatch.fault.")}) {
    const std::vector<fs::path> files = both_ranks(folder, name);
    const std::string together = explained(files, 1, 0);
    for (const int64_t ahead_ns : {-3'000'000'000LL, -777LL, 20'000'000LL, 100'000'123LL, 5'000'000'000LL})
      EXPECT_EQ(explained(files, 1, ahead_ns), together) << name << " " << ahead_ns;
  }
}

}  // namespace
}  // namespace hone::report
