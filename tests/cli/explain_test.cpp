// hone explain and hone compare on real traces: recordings of PyTorch programs kept in tests/traces/recorded.
#include <algorithm>
#include <filesystem>

#include "tests/cli/run_program.h"
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "core/file.h"
#include "core/testing/source_folder.h"
#include "trace/testing/observed_program.h"

namespace hone::testing_support {
namespace {

using nlohmann::json;
namespace fs = std::filesystem;

std::string recorded(const std::string& name) {
  return (source_folder() / "tests/traces/recorded" / (name + ".json.gz")).string();
}

class Explain : public ::testing::Test {
 protected:
  std::string path(const std::string& name) const { return (folder / name).string(); }
  json json_of(std::vector<std::string> arguments) const {
    arguments.insert(arguments.end(), {"--json", path("out.json")});
    const ProgramResult result = run_hone(arguments);
    EXPECT_EQ(result.exit_code, 0) << result.err;
    EXPECT_EQ(result.err, "");
    const Result<std::string> text = read_file(path("out.json"));
    return text.ok() ? json::parse(*text) : json();
  }
  static double sum_of(const json& ledger) {
    double sum = 0;
    for (const json& row : ledger) sum += row["ms"].get<double>();
    return sum;
  }

  TemporaryFolder folder;
};

TEST_F(Explain, SaysWhereTheTimeOfARecordedStepGoes) {
  const ProgramResult result = run_hone({"explain", recorded("sync_item_for_logging.fault")});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  for (const char* part : {"NVIDIA H200", "Where the time goes", "What to change", "Coverage", "--out DIR"})
    EXPECT_NE(result.out.find(part), std::string::npos) << part << "\n" << result.out;
  const json explained = json_of({"explain", recorded("sync_item_for_logging.fault"), "--top", "3"});
  EXPECT_EQ(explained["schema"], 1);
  const double step = explained["step"]["median_ms"];
  EXPECT_NEAR(sum_of(explained["ledger"]), step, 0.005 * step);
  EXPECT_EQ(explained["top"].size(), 3u);
  EXPECT_FALSE(explained["kernels"].empty());
  EXPECT_FALSE(explained["findings"].empty());
}

// What is left where a session of hone profile was killed: no trace, and at best a run.json.
TEST_F(Explain, ReadsTheSegmentsOfASessionThatWasKilled) {
  using trace::segments::Mode;
  trace::segments::ObservedProgram program;
  program.launches.assign(40, {"aten::mul", "mul"});
  program.block(Mode::kLeftAlone, 20);
  for (int i = 0; i < 4; ++i) program.block(Mode::kTimeline, 5).block(Mode::kLeftAlone, 5);
  program.block(Mode::kOperators, 3);
  const std::string whole = program.writer.bytes();
  fs::create_directories(path("run/segments"));
  ASSERT_TRUE(write_file(path("run/segments/100-1.seg"), whole.substr(0, whole.size() - 20)).ok());
  const ProgramResult result = run_hone({"explain", path("run")});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_NE(result.out.find("measured in the same run"), std::string::npos) << result.out;
  const json explained = json_of({"explain", path("run")});
  EXPECT_EQ(explained["step"]["count"], 20);
  EXPECT_NEAR(explained["step"]["recorded_ms"]["median"].get<double>(), 4.8, 0.01);
  EXPECT_NEAR(explained["step"]["median_ms"].get<double>(), 4.0, 0.01);
  EXPECT_EQ(explained["step"]["unrecorded_measured"], true);
  EXPECT_NEAR(explained["step"]["unrecorded_ms"]["median"].get<double>(), 4.0, 0.01);
  EXPECT_GE(explained["coverage"]["linked_share"].get<double>(), 0.99);
  ASSERT_TRUE(write_file(path("run/run.json"), R"({"schema": 1, "what": "profile", "versions": {}})").ok());
  const json again = json_of({"explain", path("run"), "--out", path("report")});
  EXPECT_EQ(again["ledger"], explained["ledger"]);
  EXPECT_EQ(json_of({"explain", path("report")})["step"], explained["step"]);
}

TEST_F(Explain, LeavesAFolderThatCanBeExplainedAgain) {
  const std::string out = path("deeper/run");
  const json first = json_of({"explain", recorded("optimizer_unfused.fault"), "--out", out});
  for (const char* name : {"explain.html", "explain.md", "explain.json", "run.json", "trace.pftrace"})
    EXPECT_TRUE(fs::exists(fs::path(out) / name)) << name;
  for (const std::string& again : {out, out + "/trace.pftrace"}) {
    const json second = json_of({"explain", again});
    EXPECT_NEAR(second["step"]["median_ms"].get<double>(), first["step"]["median_ms"].get<double>(), 1e-6);
    EXPECT_EQ(second["verdict"], first["verdict"]);
    ASSERT_EQ(second["ledger"].size(), first["ledger"].size());
    for (std::size_t i = 0; i < first["ledger"].size(); ++i)
      EXPECT_NEAR(second["ledger"][i]["ms"].get<double>(), first["ledger"][i]["ms"].get<double>(), 1e-6);
  }
  EXPECT_TRUE(is_one_line_error(run_hone({"explain", out, "--out", out}), {"--out", "another folder"}));
  EXPECT_EQ(run_hone({"explain", recorded("optimizer_unfused.fault"), "--out", out}).exit_code, 0);
}

TEST_F(Explain, TakesTheRanksOfAProgramTogether) {
  const json explained = json_of(
      {"explain", recorded("straggler_sleeps.fault.rank0"), recorded("straggler_sleeps.fault.rank1")});
  EXPECT_EQ(explained["ranks"], (json{0, 1}));
  ASSERT_EQ(explained["rank_summaries"].size(), 2u);
  EXPECT_FALSE(explained["collectives"].empty());
  // The same from a folder.
  fs::create_directory(folder / "ranks");
  for (const char* rank : {"rank0", "rank1"})
    fs::copy_file(recorded(std::string("straggler_sleeps.fault.") + rank),
                  folder / "ranks" / (std::string(rank) + ".json.gz"));
  const json same = json_of({"explain", path("ranks")});
  EXPECT_EQ(same["ledger"], explained["ledger"]);
}

TEST_F(Explain, TakesTheStepsItIsGivenAndWritesTheirKernels) {
  const std::string file = recorded("layout_channels_first.fault");  // steps 3 to 5
  const json one = json_of({"explain", file, "--step", "4", "--csv", path("kernels.csv")});
  EXPECT_EQ(one["step"]["count"], 1);
  const Result<std::string> csv = read_file(path("kernels.csv"));
  ASSERT_TRUE(csv.ok());
  EXPECT_EQ(static_cast<std::size_t>(std::count(csv->begin(), csv->end(), '\n')), one["kernels"].size() + 1);
  EXPECT_EQ(json_of({"explain", file, "--step", "3-4"})["step"]["count"], 2);
  const ProgramResult none = run_hone({"explain", file, "--step", "99"});
  EXPECT_EQ(none.exit_code, 1);
  EXPECT_NE(none.err.find("steps 3 to 5"), std::string::npos) << none.err;
  EXPECT_EQ(run_hone({"explain", file, "--step", "4-3"}).exit_code, 2);
}

TEST_F(Explain, PutsASnapshotOfMemoryBesideTheStep) {
  const std::string snapshot = (source_folder() / "tests/traces/memory/h100_blocks.pickle.gz").string();
  const json both = json_of({"explain", recorded("layout_channels_first.fault"), snapshot});
  ASSERT_EQ(both["memory"].size(), 1u);
  EXPECT_EQ(both["memory"][0]["end_reserved"], 1965031424.0);
  EXPECT_EQ(both["ranks"].size(), 1u);
  EXPECT_EQ(both["verdict"], "layout");
}

TEST_F(Explain, WritesADatabase) {
  const std::string database = path("trace.sqlite");
  ASSERT_EQ(run_hone({"explain", recorded("copy_pageable.fault"), "--sql", database}).exit_code, 0);
  const Result<std::string> bytes = read_file(database);
  ASSERT_TRUE(bytes.ok());
  EXPECT_EQ(bytes->substr(0, 15), "SQLite format 3");
  EXPECT_TRUE(is_one_line_error(
      run_hone({"explain", recorded("copy_pageable.fault"), "--sql", path("nowhere/trace.sqlite")}),
      {"nowhere"}));
}

TEST_F(Explain, NeverWritesOverWhatItReads) {
  const std::string trace = path("trace.json.gz"), link = path("link");
  fs::copy_file(recorded("copy_pageable.fault"), trace);
  fs::create_symlink(trace, link);
  const Result<std::string> before = read_file(trace);
  for (const char* option : {"--json", "--sql"})
    for (const std::string& name : {trace, link, path("./trace.json.gz")})
      EXPECT_TRUE(is_one_line_error(run_hone({"explain", trace, option, name}), {option, name, "PATH"}));
  EXPECT_TRUE(is_one_line_error(
      run_hone({"compare", recorded("copy_pageable.repaired"), trace, "--json", trace}), {"--json", trace}));
  EXPECT_TRUE(is_one_line_error(run_hone({"explain", trace, "--json", path("x"), "--sql", path("./x")}),
                                {"--json", "--sql"}));
  EXPECT_EQ(*read_file(trace), *before);
  // What hone wrote, alone in a folder that is no run folder.
  ASSERT_EQ(run_hone({"explain", trace, "--out", path("out")}).exit_code, 0);
  fs::remove(folder / "out" / "run.json");
  EXPECT_TRUE(is_one_line_error(run_hone({"explain", path("out/trace.pftrace"), "--out", path("out")}),
                                {"--out", "another folder"}));
}

// A pipe gives its bytes once.
TEST_F(Explain, ReadsAndComparesPipes) {
  const std::string compare = "exec " + hone_program().string() + " compare <(cat " +
                              recorded("copy_pageable.fault") + ") <(cat " +
                              recorded("copy_pageable.repaired") + ")";
  const ProgramResult result = run_program("/bin/bash", {"-c", compare});
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_NE(result.out.find("faster"), std::string::npos) << result.out;
}

TEST_F(Explain, SaysWhereWhatItPrintsGetsLost) {
  const std::string explain = hone_program().string() + " explain " + recorded("copy_pageable.fault");
  const std::string compare = hone_program().string() + " compare " + recorded("copy_pageable.fault") + " " +
                              recorded("copy_pageable.repaired");
  for (const std::string& command : {explain, compare})
    EXPECT_TRUE(is_one_line_error(run_program("/bin/bash", {"-c", command + " > /dev/full"}),
                                  {"standard output", "not all of it arrived"}));
  // What is opened later must not get the number of a closed stream, and what is printed.
  const ProgramResult closed =
      run_program("/bin/bash", {"-c", explain + " --json " + path("out.json") + " <&- >&- 2>&-"});
  EXPECT_EQ(closed.exit_code, 0);
  EXPECT_TRUE(json::accept(*read_file(path("out.json"))));
  EXPECT_EQ(run_program("/bin/bash", {"-c", hone_program().string() + " explain nowhere 2>&-"}).exit_code, 1);
}

TEST_F(Explain, InterruptedWritesNothing) {
  const std::string trace = "<(cat " + recorded("copy_pageable.fault") + "; sleep 0.6)";
  const ProgramResult result = run_program(
      "/bin/bash", {"-c", "(sleep 0.2; kill -INT $$) & exec " + hone_program().string() + " explain " +
                              trace + " --json " + path("out.json") + " --sql " + path("out.sqlite")});
  EXPECT_EQ(result.exit_code, 130) << result.out << result.err;
  EXPECT_NE(result.err.find("interrupted; nothing was written"), std::string::npos) << result.err;
  EXPECT_EQ(folder.names(), std::vector<std::string>());
}

TEST_F(Explain, TakesTheRoofsItIsGiven) {
  ASSERT_TRUE(write_file(path("roofs.json"), "{}").ok());
  const std::string trace = recorded("precision_f32.fault");
  EXPECT_TRUE(is_one_line_error(run_hone({"explain", trace, "--roofs", path("roofs.json")}), {"roofs.json"}));
  ASSERT_TRUE(write_file(path("roofs.json"), "no json").ok());
  EXPECT_TRUE(is_one_line_error(run_hone({"explain", trace, "--roofs", path("roofs.json")}),
                                {"roofs.json", "hone ceilings"}));
}

TEST_F(Explain, RefusesTheRoofsOfAnotherDevice) {
  const auto wrote = [&](const std::string& machine) {
    EXPECT_TRUE(
        write_file(path("roofs.json"),
                   R"({"machine": ")" + machine +
                       R"(", "threads": 2, "compute": [{"dtype": "bf16", "method": "gemm", "threads": 2,
                               "flops_per_s": {"median": 7e14, "low": 7e14, "high": 7e14}}], "memory": [],
                               "barrier_s": {"median": 0, "low": 0, "high": 0},
                               "thread_start_s": {"median": 0, "low": 0, "high": 0}})")
            .ok());
    return path("roofs.json");
  };
  const std::string trace = recorded("precision_f32.fault");
  EXPECT_TRUE(is_one_line_error(run_hone({"explain", trace, "--roofs", wrote("AMD EPYC 9R45, 2 cores")}),
                                {"--roofs", "AMD EPYC 9R45, 2 cores", "NVIDIA H", "leave them out"}));
  EXPECT_EQ(run_hone({"explain", trace, "--roofs", wrote("NVIDIA H200")}).exit_code, 0);
}

TEST_F(Explain, NamesWhatIsNoTrace) {
  ASSERT_TRUE(write_file(path("notes.txt"), "nothing to see here").ok());
  ASSERT_TRUE(write_file(path("empty"), "").ok());
  EXPECT_TRUE(is_one_line_error(run_hone({"explain", path("notes.txt")}), {"notes.txt"}));
  EXPECT_TRUE(is_one_line_error(run_hone({"explain", path("empty")}), {"empty"}));
  EXPECT_TRUE(is_one_line_error(run_hone({"explain", path("missing")}), {"missing"}));
  EXPECT_TRUE(is_one_line_error(run_hone({"explain"}), {"PATH", "hone explain --help"}));
}

TEST_F(Explain, ComparesAFaultWithItsRepair) {
  const std::string fault = recorded("sync_item_for_logging.fault"),
                    repaired = recorded("sync_item_for_logging.repaired");
  const json compared = json_of({"compare", fault, repaired, "--out", path("compared")});
  EXPECT_GT(compared["ratio"], 1.0);
  EXPECT_LT(compared["change_ms"]["median"], 0.0);
  EXPECT_FALSE(compared["operators"].empty());
  for (const char* name : {"compare.html", "compare.md", "compare.json"})
    EXPECT_TRUE(fs::exists(folder / "compared" / name)) << name;
  const json same = json_of({"compare", fault, fault});
  EXPECT_FALSE(same["sure"]);
  EXPECT_NE(same["sentence"].get<std::string>().find("No difference"), std::string::npos);
}

}  // namespace
}  // namespace hone::testing_support
