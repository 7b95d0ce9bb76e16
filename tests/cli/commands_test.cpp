// The commands as a user types them: their help is true, they do what they say, and their JSON keeps the
// contract of docs (fields grow, never change).
#include <sstream>

#include "tests/cli/run_program.h"
#include "tests/cli/test_models.h"
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace hone::testing_support {
namespace {

using nlohmann::json;

class Commands : public ::testing::Test {
 protected:
  void SetUp() override {
    write_small_network(model);
    options.environment["XDG_CACHE_HOME"] = (folder / "cache").string();
  }
  ProgramResult hone(const std::vector<std::string>& arguments) const { return run_hone(arguments, options); }
  // Runs a command that must succeed, with --json, and returns what it wrote.
  json json_of(std::vector<std::string> arguments) const {
    const std::string path = (folder / "out.json").string();
    arguments.insert(arguments.end(), {"--json", path});
    const ProgramResult result = hone(arguments);
    EXPECT_EQ(result.exit_code, 0) << result.err;
    return json::parse(read_text(path));
  }
  void expect_fields(const json& object, const std::vector<std::string>& names) const {
    for (const std::string& name : names)
      EXPECT_TRUE(object.contains(name)) << name << " in " << object.dump();
  }

  TemporaryFolder folder;
  std::string model = (folder / "small.onnx").string();
  RunOptions options;
};

TEST(Help, EveryCommandNamesItsOptionsAndSaysWhatItDoes) {
  const std::map<std::string, std::vector<std::string>> commands = {
      {"lab",
       {"MODEL", "--out", "--budget", "--input", "--disable", "--top", "--threads", "--json",
        "--no-overlap"}},
      {"bench",
       {"MODEL", "--threads", "--batch", "--concurrency", "--against", "--budget", "--json", "--disable",
        "--on-request", "--no-overlap"}},
      {"run", {"MODEL", "--input", "--out", "--threads", "--bind", "--shape", "--json"}},
      {"show", {"MODEL", "--text", "--floors", "--bind", "--json", "--operators"}},
      {"optimize", {"MODEL", "--out", "--disable", "--only", "--list", "--json"}},
      {"explain", {"PATH", "--out", "--top", "--roofs", "--sql", "--json"}},
      {"compare", {"A", "B", "--out", "--json", "--budget"}},
      {"ceilings", {"--threads", "--quick", "--refresh", "--json"}},
      {"conformance", {"DIR", "--filter", "--json"}},
      {"zoo", {"NAME", "--out", "--seed", "--list", "--json"}}};
  const ProgramResult all = run_hone({"--help"});
  EXPECT_EQ(all.exit_code, 0);
  for (const auto& [command, names] : commands) {
    EXPECT_NE(all.out.find("\n  " + command + " "), std::string::npos) << command;
    const ProgramResult help = run_hone({command, "--help"});
    EXPECT_EQ(help.exit_code, 0) << command;
    EXPECT_EQ(help.err, "") << command;
    for (const std::string& name : names)
      EXPECT_NE(help.out.find(name), std::string::npos) << command << " " << name;
  }
}

TEST(Help, FitsATerminalOfEightyColumns) {
  for (const char* command : {"", "lab", "bench", "run", "show", "optimize", "explain", "compare", "ceilings",
                              "zoo", "conformance"}) {
    std::vector<std::string> arguments = {"--help"};
    if (*command != '\0') arguments.insert(arguments.begin(), command);
    std::istringstream lines(run_hone(arguments).out);
    for (std::string line; std::getline(lines, line);) EXPECT_LE(line.size(), 80u) << line;
  }
}

TEST(Help, AnUnknownCommandOrOptionIsOneLine) {
  EXPECT_TRUE(is_one_line_error(run_hone({"polish"}), {"polish", "--help"}));
  EXPECT_TRUE(is_one_line_error(run_hone({}), {"--help"}));
  EXPECT_TRUE(is_one_line_error(run_hone({"show", "--colour"}), {"--colour"}));
  EXPECT_TRUE(is_one_line_error(run_hone({"--colour"}), {"--colour", "hone --help"}));
  EXPECT_TRUE(is_one_line_error(run_hone({"lab"}), {"MODEL", "hone lab --help"}));
  for (const char* number : {"-1", "0"})
    EXPECT_TRUE(is_one_line_error(run_hone({"bench", "m.onnx", "--threads", number}),
                                  {"--threads", "not a number above 0", "hone bench --help"}));
  EXPECT_TRUE(is_one_line_error(run_hone({"bench", "m.onnx", "--threads", "many"}),
                                {"--threads", "not a whole number", "hone bench --help"}));
  EXPECT_TRUE(is_one_line_error(run_hone({"ceilings", "--threads", "9999"}), {"--threads 9999"}));
  EXPECT_TRUE(is_one_line_error(run_hone({"ceilings", "--json", "/nowhere/c.json"}), {"'/nowhere'"}));
}

TEST_F(Commands, ShowListsNodesWithCostsOnceShapesAreBound) {
  const ProgramResult open = hone({"show", model});
  EXPECT_EQ(open.exit_code, 0) << open.err;
  EXPECT_NE(open.out.find("f32[batch,3,8,8]"), std::string::npos) << open.out;
  EXPECT_NE(open.out.find("--bind batch=1"), std::string::npos) << open.out;
  const json bound = json_of({"show", "--bind", "batch=2", model});
  expect_fields(
      bound, {"schema", "model", "nodes", "parameters", "flops", "bytes", "floor_ms", "inputs", "outputs"});
  EXPECT_EQ(bound["nodes"], 3);
  EXPECT_EQ(bound["parameters"], 4 * 27 + 16);
  EXPECT_EQ(bound["inputs"][0]["type"], "f32[2,3,8,8]");
  // 2 × 4 × 8 × 8 outputs of 27 multiply-adds; the border's taps outside count as well.
  EXPECT_EQ(bound["operators"][0]["flops"], 2.0 * 2 * 4 * 64 * 27);
  EXPECT_TRUE(bound["floor_ms"].is_null()) << "no roofs are known here, and show must not measure unasked";
}

TEST_F(Commands, ShowPrintsTheTextForm) {
  const ProgramResult text = hone({"show", "--text", model});
  EXPECT_EQ(text.exit_code, 0) << text.err;
  EXPECT_NE(text.out.find("= Conv("), std::string::npos) << text.out;
}

TEST_F(Commands, OptimizeFoldsAndWritesAModelThatComputesTheSame) {
  const std::string out = (folder / "better.onnx").string();
  const json report = json_of({"optimize", model, "-o", out});
  expect_fields(report, {"schema", "model", "output", "nodes", "passes"});
  EXPECT_LT(report["nodes"]["after"], report["nodes"]["before"]);
  expect_fields(report["passes"][0], {"name", "group", "numerics", "done", "missed"});
  const json compared = json_of({"compare", model, out, "--budget", "0.2"});
  expect_fields(compared, {"schema", "a", "b", "a_ms", "b_ms", "ratio", "sure", "outputs"});
  ASSERT_EQ(compared["outputs"].size(), 1u);
  EXPECT_TRUE(compared["outputs"][0]["agrees"]) << compared.dump();
}

TEST_F(Commands, OptimizeRunsOnlyWhatItIsTold) {
  const std::string out = (folder / "better.onnx").string();
  const json only = json_of({"optimize", model, "-o", out, "--only", "fold_batch_norm"});
  ASSERT_EQ(only["passes"].size(), 1u);
  EXPECT_EQ(only["passes"][0]["name"], "fold_batch_norm");
  const json without = json_of({"optimize", model, "-o", out, "--disable", "fold_batch_norm"});
  for (const json& pass : without["passes"]) EXPECT_NE(pass["name"], "fold_batch_norm");
  EXPECT_NE(hone({"optimize", "--list"}).out.find("fold_batch_norm"), std::string::npos);
}

TEST_F(Commands, BenchKeepsItsContract) {
  const json bench = json_of({"bench", model, "--batch", "2", "--budget", "0.2", "--threads", "1"});
  expect_fields(bench, {"schema", "model", "device", "threads", "batch", "latency_ms", "throughput_per_s",
                        "runs", "against"});
  expect_fields(bench["latency_ms"], {"p50", "p90", "p99", "mean"});
  EXPECT_EQ(bench["batch"], 2);
  EXPECT_EQ(bench["threads"], 1);
  EXPECT_GT(bench["throughput_per_s"], 0);
  const json two = json_of({"bench", model, "--concurrency", "2", "--budget", "0.2", "--threads", "2"});
  EXPECT_EQ(two["concurrency"], 2);
  EXPECT_EQ(two["threads"], 1);
}

TEST_F(Commands, BenchMeasuresOnRequest) {
  RunOptions requests = options;
  requests.input = "3\n1\n";
  const ProgramResult result = run_hone({"bench", model, "--on-request", "--threads", "1"}, requests);
  EXPECT_EQ(result.exit_code, 0) << result.err;
  std::istringstream lines(result.out);
  std::string ready;
  double first = 0, second = 0;
  lines >> ready >> first >> second;
  EXPECT_EQ(ready, "ready");
  EXPECT_GT(first, 0);
  EXPECT_GT(second, 0);
  EXPECT_TRUE((lines >> std::ws).eof()) << result.out;
}

TEST_F(Commands, LabLeavesReportTracesAndModelAndCompareReadsThem) {
  const std::string out = (folder / "lab").string();
  const json report = json_of({"lab", model, "--out", out, "--budget", "1"});
  expect_fields(report,
                {"schema", "machine", "model", "device", "baseline", "passes", "optimised", "result"});
  expect_fields(report["baseline"], {"step_ms", "floor_ms", "ledger", "top"});
  expect_fields(report["result"], {"speedup", "max_rel_err", "passed"});
  for (const char* file : {"report.html", "report.md", "report.json", "optimised.onnx",
                           "baseline/trace.pftrace", "optimised/run.json"})
    EXPECT_TRUE(std::filesystem::exists(std::filesystem::path(out) / file)) << file;
  const json explained = json_of({"explain", out + "/baseline"});
  EXPECT_NEAR(explained["step"]["median_ms"].get<double>(),
              report["baseline"]["step_ms"]["median"].get<double>(), 1e-3);
  EXPECT_TRUE(is_one_line_error(hone({"explain", out}), {"two runs", "/baseline"}));
  const json compared = json_of({"compare", out + "/baseline", out + "/optimised"});
  expect_fields(compared,
                {"schema", "a", "b", "a_ms", "b_ms", "change_ms", "ratio", "sure", "ledger", "operators"});
}

TEST_F(Commands, RunWritesItsOutputs) {
  write_f32_npy(folder / "x.npy", {1, 3, 8, 8}, 1);
  const ProgramResult result = hone({"run", model, "--input", "x=" + (folder / "x.npy").string(), "--out",
                                     (folder / "out").string(), "--json", (folder / "run.json").string()});
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_TRUE(std::filesystem::exists(folder / "out/y.npy"));
  EXPECT_NE(read_text(folder / "run.json").find("out/y.npy"), std::string::npos);
}

}  // namespace
}  // namespace hone::testing_support
