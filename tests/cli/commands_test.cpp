// The commands as a user types them: their help is true, they do what they say, and their JSON keeps the
// contract of docs (fields grow, never change).
#include <chrono>
#include <filesystem>
#include <limits>
#include <set>
#include <sstream>

#include "tests/cli/run_program.h"
#include "tests/cli/test_models.h"
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "core/testing/source_folder.h"

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
  // Of a command that judges times: where other programs had the machine while they were taken it has no verdict, and says so.
  json json_of_judgement(std::vector<std::string> arguments) const {
    constexpr int kNoVerdict = 3;
    const std::string path = (folder / "out.json").string();
    arguments.insert(arguments.end(), {"--json", path});
    const ProgramResult result = hone(arguments);
    EXPECT_TRUE(result.exit_code == 0 || result.exit_code == kNoVerdict) << result.exit_code << result.err;
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
       {"MODEL", "--out", "--budget", "--input", "--disable", "--top", "--threads", "--json", "--no-overlap",
        "--plugin"}},
      {"bench", {"MODEL",     "--threads",       "--batch",      "--concurrency", "--against",
                 "--budget",  "--json",          "--disable",    "--on-request",  "--no-overlap",
                 "--input",   "--warmup",        "--iterations", "--csv",         "--sweep",
                 "--batches", "--concurrencies", "--device",     "--buckets",     "--plugin"}},
      {"run",
       {"MODEL", "--input", "--out", "--threads", "--bind", "--shape", "--json", "--buckets", "--plugin"}},
      {"show", {"MODEL", "--text", "--floors", "--bind", "--top", "--json", "--operators", "--plugin"}},
      {"optimize",
       {"MODEL", "--out", "--disable", "--only", "--list", "--json", "--symbolic", "--memory", "--threads",
        "--seed", "--no-cache", "--plugin"}},
      {"explain", {"PATH", "--out", "--top", "--roofs", "--sql", "--json"}},
      {"compare", {"A", "B", "--out", "--json", "--budget", "--plugin"}},
      {"ceilings", {"--threads", "--quick", "--refresh", "--json", "--device"}},
      {"conformance", {"DIR", "--filter", "--json"}},
      {"top", {"--once", "--interval", "--count", "--pid", "--json", "--fields"}},
      {"zoo", {"NAME", "--out", "--seed", "--list", "--json", "--quiet"}},
      {"help", {"COMMAND"}},
      {"completion", {"SHELL"}},
      {"man", {"--quiet"}}};
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
  for (const char* command : {"", "help", "completion", "man", "lab", "bench", "run", "show", "optimize",
                              "explain", "compare", "ceilings", "top", "zoo", "conformance"}) {
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

TEST(Help, IsAlsoACommand) {
  EXPECT_EQ(run_hone({"help"}).out, run_hone({"--help"}).out);
  EXPECT_EQ(run_hone({"help", "bench"}).out, run_hone({"bench", "--help"}).out);
  EXPECT_TRUE(is_one_line_error(run_hone({"help", "bensch"}), {"did you mean 'bench'"}));
}

TEST(Help, ASlipOfTheFingerIsRecognised) {
  EXPECT_TRUE(is_one_line_error(run_hone({"bnech"}), {"did you mean 'bench'?"}));
  EXPECT_TRUE(is_one_line_error(run_hone({"optimise"}), {"did you mean 'optimize'?"}));
  EXPECT_TRUE(is_one_line_error(run_hone({"conf"}), {"did you mean 'conformance'?"}));
  EXPECT_TRUE(
      is_one_line_error(run_hone({"bench", "m.onnx", "--thread", "2"}), {"did you mean '--threads'?"}));
  EXPECT_TRUE(is_one_line_error(run_hone({"bench", "m.onnx", "--budgte=2"}), {"did you mean '--budget'?"}));
  EXPECT_EQ(run_hone({"polish"}).err.find("did you mean"), std::string::npos);
}

TEST(Help, WhatIsWrongWithTheLineExitsWith2) {
  for (const std::vector<std::string>& line : std::vector<std::vector<std::string>>{
           {"polish"},
           {"show"},
           {"show", "m.onnx", "--colour"},
           {"show", "m.onnx", "--bind", "batch=many"},
           {"show", "m.onnx", "--memory", "lots"},
           {"show", ""},
           {"bench", "m.onnx", "--threads", "9999"},
           {"ceilings", "--threads", "9999"},
           {"run", "m.onnx", "--out", "o", "--threads", "9999"},
           {"run", "m.onnx", "--out", "o", "--input", "x.npy"},
           {"lab", "m.onnx", "--threads", "9999"},
           {"lab", "m.onnx", "--device", "quantum"},
           {"lab", "m.onnx", "--disable", "polish"},
           {"lab", "m.onnx", "--lossy", "fold_constants"},
           {"lab", "m.onnx", "--lossy", ""},
           {"lab", "r.toml", "--lossy", ""},
           {"lab", "r.toml", "--lossy", "tf32"},
           {"bench", "m.onnx", "--disable", "polish"},
           {"bench", "m.onnx", "--device", "quantum"},
           {"bench", "m.onnx", "--concurrency", "9999"},
           {"bench", "m.onnx", "--sweep", "--concurrency", "2"},
           {"bench", "m.onnx", "--sweep", "--batches", "1,x"},
           {"bench", "m.onnx", "--batches", "0"},
           {"bench", "m.onnx", "--sweep", "--against", "ort"},
           {"bench", "m.onnx", "--sweep", "--buckets", "batch=1,2"},
           {"ceilings", "--device", "null"},
           {"bench", "m.onnx", "--warmup", "-3"},
           {"bench", "m.onnx", "--concurrency", "2", "--against", "ort", "--threads", "2"},
           {"run", "m.onnx", "--out", "o", "--device", "quantum"},
           {"run", "m.onnx", "--out", "o", "--seed", "-3"},
           {"optimize", "m.onnx", "-o", "o.onnx", "--only", "polish"},
           {"optimize", "m.onnx", "-o", "o.onnx", "--disable", "polish"},
           {"optimize", "m.onnx", "-o", "o.onnx", "--disable", "fuse", "--only", "fuse"},
           {"optimize", "m.onnx", "-o", "o.onnx", "--only", ""},
           {"optimize", "m.onnx", "-o", "o.onnx", "--only", "fp16"},
           {"optimize", "m.onnx"},
           {"optimize"},
           {"zoo", "nosuch", "-o", "o.onnx"},
           {"zoo"}})
    EXPECT_EQ(run_hone(line).exit_code, 2) << ::testing::PrintToString(line);
  EXPECT_EQ(run_hone({"show", "nowhere.onnx"}).exit_code, 1) << "the line is right, the file is not there";
}

TEST(Help, WhatLacksItsValueIsNamed) {
  EXPECT_TRUE(
      is_one_line_error(run_hone({"optimize", "m.onnx", "--quiet", "--only"}), {"--only lacks its value"}));
  EXPECT_TRUE(is_one_line_error(run_hone({"optimize", "m.onnx", "--quiet", "-o", "a", "-o", "b"}),
                                {"--out is given 2 times"}));
}

TEST(Help, AnUnknownPassIsNamedWithTheNearestOne) {
  EXPECT_TRUE(is_one_line_error(run_hone({"optimize", "m.onnx", "-o", "o.onnx", "--only", "fold_constant"}),
                                {"--only", "'fold_constant'", "did you mean 'fold_constants'", "--list"}));
  EXPECT_TRUE(is_one_line_error(run_hone({"bench", "m.onnx", "--concurrency", "9999"}),
                                {"--concurrency 9999", "threads to share"}));
}

TEST(Completion, KnowsEveryCommandAndOptionInEveryShell) {
  for (const char* shell : {"bash", "zsh", "fish"}) {
    const std::string script = run_hone({"completion", shell}).out;
    for (const char* word : {"lab", "bench", "conformance", "completion", "budget", "json", "on-request"})
      EXPECT_NE(script.find(word), std::string::npos) << shell << " " << word;
  }
  EXPECT_TRUE(is_one_line_error(run_hone({"completion", "tcsh"}), {"tcsh", "bash"}));
}

// Columns are counted in bytes where help is laid out.
TEST(Help, WritesOptionsInAscii) {
  for (const char* command : {"lab", "bench", "run", "show", "optimize", "explain", "compare", "ceilings"}) {
    std::istringstream lines(run_hone({command, "--help"}).out);
    for (std::string line; std::getline(lines, line);)
      for (const char c : line.substr(0, 28)) EXPECT_GE(c, 0) << line;
  }
}

// What bash would offer for the words typed so far.
std::string completed(const std::string& words) {
  return run_program(
             "/bin/bash",
             {"-c", "source <(" + hone_program().string() + " completion bash); COMP_WORDS=(" + words +
                        "); COMP_CWORD=$((${#COMP_WORDS[@]} - 1)); _hone; echo \"${COMPREPLY[*]}\""})
      .out;
}

TEST(Completion, CompletesInBash) {
  EXPECT_EQ(completed("hone ben"), "bench\n");
  EXPECT_EQ(completed("hone bench --thr"), "--threads\n");
  EXPECT_EQ(completed("hone bench --against ''"), "ort\n");
  EXPECT_EQ(completed("hone completion z"), "zsh\n");
  EXPECT_EQ(completed("hone bench --threads ''"), "\n") << "a number: nothing to offer";
  EXPECT_EQ(completed("hone zoo mob"), "mobilenet_v2\n");
  EXPECT_EQ(completed("hone help ben"), "bench\n");
  EXPECT_EQ(completed("hone lab --device c"), "cpu cuda\n");
  EXPECT_EQ(completed("hone optimize --only fold_b"), "fold_batch_norm\n");
}

TEST(Manual, HoldsEveryCommandAndOption) {
  const std::string page = run_hone({"man"}).out;
  EXPECT_TRUE(page.starts_with(".TH HONE 1")) << page.substr(0, 80);
  for (const char* word : {".SS hone lab", ".SS hone bench", "\\fB\\-\\-budget\\fR", "EXIT STATUS", "143"})
    EXPECT_NE(page.find(word), std::string::npos) << word;
}

TEST(Install, BringsProgramManualAndCompletions) {
  const TemporaryFolder prefix;
  const ProgramResult result = run_program(
      "/usr/bin/env", {"cmake", "--install", build_folder().string(), "--prefix", prefix.path().string()});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  for (const char* file : {"share/man/man1/hone.1", "share/bash-completion/completions/hone",
                           "share/zsh/site-functions/_hone", "share/fish/vendor_completions.d/hone.fish"})
    EXPECT_NE(read_text(prefix / file).find("hone"), std::string::npos) << file;
  EXPECT_EQ(run_program(prefix / "bin/hone", {"man"}).out, read_text(prefix / "share/man/man1/hone.1"));
}

TEST_F(Commands, JsonGoesToStandardOutputAlone) {
  const ProgramResult shown = hone({"show", model, "--json", "-"});
  EXPECT_EQ(shown.exit_code, 0) << shown.err;
  EXPECT_EQ(json::parse(shown.out)["model"], model);
  EXPECT_FALSE(std::filesystem::exists("-"));
  const ProgramResult benched = hone({"bench", model, "--budget", "0.1", "--json", "-"});
  EXPECT_GT(json::parse(benched.out)["runs"], 0);
  // Appended, where the shell said so: what was there stays.
  write_text(folder / "log", "before\n");
  const ProgramResult appended = run_program(
      "/bin/bash",
      {"-c", hone_program().string() + " show " + model + " --json - >> " + (folder / "log").string()});
  EXPECT_EQ(appended.exit_code, 0) << appended.err;
  EXPECT_TRUE(read_text(folder / "log").starts_with("before\n{"));
  EXPECT_TRUE(
      is_one_line_error(hone({"optimize", model, "-o", "-", "--json", "-"}), {"--json", "standard output"}));
  const ProgramResult closed =
      run_program("/bin/bash", {"-c", hone_program().string() + " show " + model + " --json - >&-"});
  EXPECT_TRUE(is_one_line_error(closed, {"standard output", "closed"}));
}

TEST_F(Commands, ShowNamesTheNodesThatNeedMost) {
  const ProgramResult all = hone({"show", model}), top = hone({"show", model, "--top", "1"});
  ASSERT_EQ(top.exit_code, 0) << top.err;
  EXPECT_EQ(all.out.find("which need less"), std::string::npos) << all.out;
  EXPECT_NE(top.out.find("more, which need less"), std::string::npos) << top.out;
  EXPECT_LT(top.out.size(), all.out.size());
}

TEST_F(Commands, QuietPrintsNothing) {
  const ProgramResult shown = hone({"show", model, "--quiet"});
  EXPECT_EQ(shown.exit_code, 0) << shown.err;
  EXPECT_EQ(shown.out + shown.err, "");
  EXPECT_TRUE(is_one_line_error(hone({"show", "nowhere.onnx", "--quiet"}), {"nowhere.onnx"}));
}

TEST_F(Commands, ModelsGoThroughPipes) {
  const std::string program = hone_program().string();
  const ProgramResult shown = run_program(
      "/bin/bash",
      {"-c", "set -o pipefail; " + program + " optimize - -o - < " + model + " | " + program + " show -"},
      options);
  EXPECT_EQ(shown.exit_code, 0) << shown.err;
  EXPECT_NE(shown.out.find("input   x: f32[1,3,8,8]"), std::string::npos) << shown.out;
  EXPECT_TRUE(is_one_line_error(hone({"show", "-"}), {"standard input"}));
}

TEST_F(Commands, ShowLeavesShapesOpenWhereItIsTold) {
  const ProgramResult open = hone({"show", model, "--symbolic"});
  EXPECT_EQ(open.exit_code, 0) << open.err;
  EXPECT_NE(open.out.find("f32[batch,3,8,8]"), std::string::npos) << open.out;
  EXPECT_NE(open.out.find("--bind batch=1"), std::string::npos) << open.out;
}

TEST_F(Commands, ShowBindsAsLabDoesAndSaysSo) {
  const ProgramResult shown = hone({"show", model});
  EXPECT_EQ(shown.exit_code, 0) << shown.err;
  EXPECT_NE(shown.out.find("with batch = 1"), std::string::npos) << shown.out;
  const json report = json_of({"show", model});
  EXPECT_EQ(report["assumed"]["batch"], 1);
  EXPECT_EQ(report["nodes_without_costs"], 0);
  EXPECT_GT(report["flops"].get<double>(), 0);
  EXPECT_TRUE(json_of({"show", model, "--bind", "batch=2"})["assumed"].empty());
}

TEST_F(Commands, ShowKnowsTheWorkOfEveryZooModel) {
  const std::string gpt2 = (folder / "gpt2.onnx").string();
  ASSERT_EQ(hone({"zoo", "gpt2", "--size", "16", "-o", gpt2}).exit_code, 0);
  const json report = json_of({"show", gpt2});
  EXPECT_GT(report["flops"].get<double>(), 1e9) << "two a parameter and token at least";
  EXPECT_NEAR(report["parameters"].get<double>(), 124e6, 1e6) << "tied weights count once";
  const std::string out = (folder / "better.onnx").string();
  const json optimised = json_of({"optimize", gpt2, "-o", out});
  bool attention = false;
  for (const json& pass : optimised["passes"])
    for (const json& note : pass["done"])
      attention = attention || note["text"].get<std::string>().find("Attention") != std::string::npos;
  EXPECT_TRUE(attention) << "recognised only where shapes are known";
}

TEST_F(Commands, ShowListsNodesWithCosts) {
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

// What a plan takes: inputs and outputs are of the arena.
void expect_memory(const json& memory) {
  for (const char* name :
       {"total_bytes", "weights_bytes", "arena_bytes", "input_bytes", "output_bytes", "host_bytes",
        "pipeline_bytes", "pipeline_host_bytes", "plans", "process_peak_bytes"})
    ASSERT_TRUE(memory.contains(name) && memory[name].is_number_integer()) << name << " " << memory;
  EXPECT_EQ(memory["total_bytes"].get<int64_t>(), memory["weights_bytes"].get<int64_t>() +
                                                      memory["arena_bytes"].get<int64_t>() +
                                                      memory["host_bytes"].get<int64_t>());
  EXPECT_EQ(memory["pipeline_bytes"], 0);
  EXPECT_GT(memory["weights_bytes"], 0);
  EXPECT_GT(memory["input_bytes"], 0);
  EXPECT_GT(memory["output_bytes"], 0);
  EXPECT_GE(memory["arena_bytes"].get<int64_t>(), memory["input_bytes"].get<int64_t>());
  EXPECT_GT(memory["process_peak_bytes"], memory["total_bytes"]);
  EXPECT_FALSE(memory.contains("device_peak_bytes")) << "the CPU has no memory of its own";
}

TEST_F(Commands, RunSaysWhatItsPlanTakes) {
  write_f32_npy(folder / "x.npy", {1, 3, 8, 8}, 1);
  const std::string input = "x=" + (folder / "x.npy").string(), out = (folder / "o").string();
  const std::vector<std::string> line = {"run", model, "--input", input, "--out", out};
  expect_memory(json_of(line)["memory"]);
  const ProgramResult result = hone(line);
  EXPECT_NE(result.out.find("\nmemory: "), std::string::npos) << result.out;
  EXPECT_NE(result.out.find("(with inputs of 768 B"), std::string::npos) << result.out;
}

TEST_F(Commands, BenchKeepsItsContract) {
  const json bench = json_of({"bench", model, "--batch", "2", "--budget", "0.2", "--threads", "1"});
  expect_fields(bench, {"schema", "model", "device", "threads", "batch", "latency_ms", "throughput_per_s",
                        "runs", "memory", "against"});
  expect_memory(bench["memory"]);
  expect_fields(bench["latency_ms"], {"p50", "p90", "p99", "mean"});
  EXPECT_EQ(bench["batch"], 2);
  EXPECT_EQ(bench["threads"], 1);
  EXPECT_GT(bench["throughput_per_s"], 0);
  const json two = json_of({"bench", model, "--concurrency", "2", "--budget", "0.2", "--threads", "2"});
  EXPECT_EQ(two["concurrency"], 2);
  EXPECT_EQ(two["threads"], 1);
  EXPECT_EQ(two["memory"]["plans"], 2);
}

TEST_F(Commands, NamesThatTheModelDoesNotHaveAreWrongOnTheLine) {
  write_f32_npy(folder / "x.npy", {1, 3, 8, 8}, 1);
  const std::string input = "nope=" + (folder / "x.npy").string(), out = (folder / "o").string();
  for (const std::vector<std::string>& line :
       std::vector<std::vector<std::string>>{{"show", model, "--bind", "bath=2"},
                                             {"show", model, "--shape", "nope=1x3"},
                                             {"bench", model, "--input", input},
                                             {"run", model, "--input", input, "--out", out},
                                             {"lab", model, "--input", input, "--out", out},
                                             {"compare", model, folder.path().string()}})
    EXPECT_EQ(hone(line).exit_code, 2) << ::testing::PrintToString(line);
  EXPECT_FALSE(std::filesystem::exists(out)) << "nothing was done";
}

TEST_F(Commands, BenchSaysWhatItMeasured) {
  const ProgramResult result = hone({"bench", model, "--budget", "0.1"});
  EXPECT_NE(result.out.find("with batch = 1 (--bind gives others)"), std::string::npos) << result.out;
  EXPECT_NE(result.out.find("input x: "), std::string::npos) << result.out;
  EXPECT_NE(result.out.find("the first extent of the inputs"), std::string::npos) << result.out;
  EXPECT_NE(result.out.find("\nmemory: "), std::string::npos) << result.out;
  EXPECT_EQ(result.out.find("e+0"), std::string::npos) << "no exponents";
}

TEST_F(Commands, BenchMeasuresAsOftenAsItIsToldSideBySide) {
  const json two = json_of(
      {"bench", model, "--concurrency", "2", "--threads", "2", "--iterations", "7", "--budget", "60"});
  EXPECT_EQ(two["runs"], 14) << "seven of each plan";
}

TEST_F(Commands, LabSaysWhichShapesItsModelIsFor) {
  give_roofs(options);
  const std::string out = (folder / "lab").string();
  const ProgramResult result = hone({"lab", model, "--out", out, "--budget", "0.2"});
  EXPECT_NE(result.out.find("measured with batch = 1"), std::string::npos) << result.out;
  EXPECT_NE(result.out.find("device cpu"), std::string::npos) << result.out;
  EXPECT_NE(read_text(folder / "lab/report.html").find("is for that alone"), std::string::npos);
}

TEST_F(Commands, CountsAreWholeNumbers) {
  const json report = json_of({"show", model});
  for (const char* name : {"parameters", "parameter_bytes", "flops", "bytes"})
    EXPECT_TRUE(report[name].is_number_integer()) << name << " " << report[name];
}

TEST_F(Commands, OptimizeSaysWhatAFileCannotHold) {
  const std::string out = (folder / "better.onnx").string();
  EXPECT_NE(hone({"optimize", model, "-o", out, "--only", "layout"}).out.find("ONNX has no layouts"),
            std::string::npos);
  EXPECT_NE(hone({"optimize", model, "-o", out, "--summary"}).out.find("widen"), std::string::npos);
}

TEST_F(Commands, BenchRunsOnGivenDataAsOftenAsItIsToldAndListsEveryRun) {
  write_f32_npy(folder / "x.npy", {3, 3, 8, 8}, 1);
  const std::string csv = (folder / "runs.csv").string();
  const json bench = json_of({"bench", model, "--input", "x=" + (folder / "x.npy").string(), "--warmup", "2",
                              "--iterations", "7", "--csv", csv});
  EXPECT_EQ(bench["batch"], 3) << "the data's";
  EXPECT_EQ(bench["runs"], 7);
  EXPECT_TRUE(bench.contains("contention"));
  std::istringstream lines(read_text(csv));
  std::string head, line;
  std::getline(lines, head);
  EXPECT_EQ(head, "runtime,run,ms");
  int runs = 0;
  while (std::getline(lines, line)) EXPECT_TRUE(line.starts_with(fmt::format("hone,{},", runs++))) << line;
  EXPECT_EQ(runs, 7);
  EXPECT_TRUE(
      is_one_line_error(hone({"bench", model, "--input", "z=" + (folder / "x.npy").string()}), {"'z'", "x"}));
}

TEST_F(Commands, BenchAgainstAPeerThatIsNotThereSaysSoBeforeItMeasures) {
  const auto start = std::chrono::steady_clock::now();
  EXPECT_TRUE(is_one_line_error(
      hone({"bench", model, "--against", "ort", "--ort-library", model, "--budget", "30"}), {"small.onnx"}));
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(10));
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
  EXPECT_TRUE(report["result"]["passed"]) << report["result"].dump();
  for (const char* file : {"report.html", "report.md", "report.json", "optimised.onnx",
                           "baseline/trace.pftrace", "optimised/run.json"})
    EXPECT_TRUE(std::filesystem::exists(std::filesystem::path(out) / file)) << file;
  const json explained = json_of_judgement({"explain", out + "/baseline"});
  EXPECT_NEAR(explained["step"]["median_ms"].get<double>(),
              report["baseline"]["step_ms"]["median"].get<double>(), 1e-3);
  EXPECT_TRUE(is_one_line_error(hone({"explain", out}), {"two runs", "/baseline"}));
  const json compared = json_of_judgement({"compare", out + "/baseline", out + "/optimised"});
  expect_fields(compared,
                {"schema", "a", "b", "a_ms", "b_ms", "change_ms", "ratio", "sure", "ledger", "operators"});
}

// A model with an If, a NonMaxSuppression and an extent that only the data tell: where these run, and why, is
// said wherever times are.
class HostSteps : public Commands {
 protected:
  void SetUp() override {
    Commands::SetUp();
    write_host_network(host_model);
  }
  // Each of the three kinds with its reason.
  void expect_named(const std::string& text) const {
    for (const char* part :
         {"run on the host between the kernels", "If 'branch' (decides at run time what runs)",
          "NonMaxSuppression 'nms' (the shape of 'kept'", "NonZero 'places' (the shape of", "'turned'",
          "is known only when it runs"})
      EXPECT_NE(text.find(part), std::string::npos) << part << " in\n" << text;
  }
  void expect_listed(const json& rows) const {
    std::map<std::string, std::string> why;
    for (const json& row : rows) why[row["node"]] = row["why"];
    EXPECT_EQ(why["branch"], "decides at run time what runs") << rows.dump();
    for (const char* node : {"nms", "places", "turned"})
      EXPECT_NE(why[node].find("known only when it runs"), std::string::npos) << rows.dump();
  }
  // The terminal breaks lines.
  static std::string on_one_line(const std::string& text) {
    std::istringstream words(text);
    std::string line;
    for (std::string word; words >> word;) line += word + " ";
    return line;
  }

  std::string host_model = (folder / "host.onnx").string();
};

TEST_F(HostSteps, AreNamedByShow) {
  expect_named(hone({"show", host_model}).out);
  expect_listed(json_of({"show", host_model})["on_host"]);
  EXPECT_TRUE(json_of({"show", model})["on_host"].empty());
}

TEST_F(HostSteps, AreNamedByBench) {
  expect_named(hone({"bench", host_model, "--budget", "0.1"}).out);
  expect_listed(json_of({"bench", host_model, "--budget", "0.1"})["on_host"]);
}

TEST_F(HostSteps, AreNamedByLabInEveryForm) {
  give_roofs(options);
  const std::string out = (folder / "lab").string();
  const ProgramResult result = hone({"lab", host_model, "--budget", "1", "--out", out});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  expect_named(on_one_line(result.out));
  std::string warnings;
  const json report = json::parse(read_text(folder / "lab/report.json"));
  for (const json& warning : report["warnings"]) warnings += warning.get<std::string>() + "\n";
  expect_named(warnings);
  const std::string page = read_text(folder / "lab/report.html");
  for (const char* name : {"branch", "nms", "places", "run on the host between the kernels"})
    EXPECT_NE(page.find(name), std::string::npos) << name;
}

TEST_F(Commands, LabMakesASlowModelFasterAndKeepsWhatDid) {
  give_roofs(options);
  const std::string slow = (folder / "slow.onnx").string();
  write_slow_network(slow);
  // While other programs take the CPUs, a few seconds may not suffice to tell even this: more time then.
  json report;
  for (const char* budget : {"6", "12", "24"}) {
    report = json_of({"lab", slow, "--out", (folder / "lab").string(), "--budget", budget});
    // The last two runs are not taken in turn: what takes the CPUs in one of them does so to that alone.
    if (report["result"]["speedup"]["low"].get<double>() > 1 &&
        report["result"]["step_after_ms"]["high"] < report["result"]["step_before_ms"]["median"] &&
        report["optimised"]["step_ms"]["median"] < report["baseline"]["step_ms"]["median"])
      break;
  }
  const json& result = report["result"];
  EXPECT_TRUE(result["passed"]) << result.dump();
  EXPECT_LT(result["max_rel_err"].get<double>(), 1e-4);
  EXPECT_GT(result["speedup"]["low"].get<double>(), 1) << "sixteen products of which one is enough";
  EXPECT_GT(result["measured_gain_ms"]["low"].get<double>(), 0);
  bool kept = false;
  for (const json& pass : report["passes"])
    kept = kept || (pass["kept"] && pass["measured_gain_ms"]["median"].get<double>() > 0);
  EXPECT_TRUE(kept) << report["passes"].dump();
  // Headline and table are of one measurement, with its interval.
  const double before_ms = result["step_before_ms"]["median"], after_ms = result["step_after_ms"]["median"];
  EXPECT_NEAR(before_ms / after_ms, result["speedup"]["median"].get<double>(), 1e-6);
  EXPECT_LT(result["step_after_ms"]["high"].get<double>(), before_ms);
  double causes_ms = 0;
  for (const json& row : result["causes"]) causes_ms += row["after_ms"].get<double>();
  EXPECT_NEAR(causes_ms, result["step_after_ms"]["median"].get<double>(), 1e-6);
  EXPECT_TRUE(report["interrupted"].is_null());
  EXPECT_FALSE(report["roofs_origin"]["measured_at"].get<std::string>().empty());
  EXPECT_LT(report["roofs_origin"]["age_hours"].get<double>(), 1);
  EXPECT_LT(report["optimised"]["step_ms"]["median"].get<double>(),
            report["baseline"]["step_ms"]["median"].get<double>());
}

TEST_F(Commands, LabFailsWhereTheNumbersAreWrong) {
  give_roofs(options);
  // Data that are no numbers: nothing can be proved with them, whatever the speed.
  write_f32_npy(folder / "nan.npy", {256, 512}, std::numeric_limits<float>::quiet_NaN());
  const std::string slow = (folder / "slow.onnx").string(), out = (folder / "lab").string();
  write_slow_network(slow);
  const ProgramResult result =
      hone({"lab", slow, "--out", out, "--budget", "1", "--input", "x=" + (folder / "nan.npy").string()});
  EXPECT_EQ(result.exit_code, 1) << result.out << result.err;
  const json report = json::parse(read_text(folder / "lab/report.json"));
  EXPECT_FALSE(report["result"]["passed"]);
  EXPECT_TRUE(report["result"]["max_rel_err"].is_null()) << "an error of 0 would read as agreement";
}

TEST_F(Commands, RunWritesEveryOutputToAFileOfItsOwn) {
  const std::string several = (folder / "several.onnx").string(), layer(300, 'l');
  write_outputs_network(several, {"a/b", "a_b", layer});
  write_f32_npy(folder / "x.npy", {1}, 1);
  const json report = json_of(
      {"run", several, "--input", "x=" + (folder / "x.npy").string(), "--out", (folder / "out").string()});
  std::set<std::string> files;
  for (const json& output : report["outputs"]) {
    files.insert(output["file"]);
    EXPECT_TRUE(std::filesystem::exists(output["file"].get<std::string>())) << output.dump();
  }
  EXPECT_EQ(files.size(), 3u);
  EXPECT_NE(read_text(folder / "out/a_b.npy"), read_text(folder / "out/a_b-2.npy"));
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
