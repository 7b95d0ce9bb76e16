// Planted faults of the host: hone profile names the line, and the cause that it is. The device is the CUDA of
// observe/inject/testing, which computes nothing.
#include <map>
#include <string>

#include "tests/cli/run_program.h"
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "core/file.h"
#include "core/testing/source_folder.h"

namespace hone::testing_support {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;

TEST(HostLines, NameThePlantedFaultsOfAHost) {
  const TemporaryFolder folder;
  RunOptions run;
  run.folder = folder.path();
  run.environment["LD_LIBRARY_PATH"] = (build_folder() / "fake_cuda").string();
  run.environment["HONE_OBSERVE_CUPTI"] = (build_folder() / "fake_cuda/libcupti.so.13").string();
  const ProgramResult result =
      run_hone({"profile", "--out", "run", "--wait", "0.1", "--steps", "6", "--sampling", "off", "--then",
                "stop", "--", "python3", (source_folder() / "tests/observe/host_faults.py").string(), "20"},
               run);
  EXPECT_EQ(result.exit_code, 0) << result.err;
  const Result<std::string> text = read_file(folder / "run/explain.json");
  ASSERT_TRUE(text.ok()) << result.err;
  std::map<std::string, json> lines;  // by function
  std::string evidence;
  const json explained = json::parse(*text);
  for (const json& row : explained["ledger"]) {
    if (row["cause"] != "host_other") continue;
    for (const json& line : row["lines"]) lines[line["function"]] = line;
    evidence = row["evidence"].dump();
  }
  EXPECT_THAT(evidence, HasSubstr("fall_asleep (host_faults.py:")) << *text;
  ASSERT_TRUE(lines.contains("fall_asleep") && lines.contains("parse_records") && lines.contains("take_lock"))
      << evidence;
  EXPECT_EQ(lines["fall_asleep"]["waits"], "sleeps");
  EXPECT_EQ(lines["take_lock"]["waits"], "waits for a lock");
  EXPECT_THAT(lines["parse_records"]["calls"].get<std::string>(), HasSubstr("decoder.py"));
}

}  // namespace
}  // namespace hone::testing_support
