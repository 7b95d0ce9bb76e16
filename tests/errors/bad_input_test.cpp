// What users get wrong, and what goes wrong around them: each is one clear line that names the file, the node
// and the remedy, a non-zero exit, and files that were there stay as they were.
#include <filesystem>

#include "tests/cli/run_program.h"
#include "tests/cli/test_models.h"
#include <gtest/gtest.h>

namespace hone::testing_support {
namespace {

namespace fs = std::filesystem;

class BadInput : public ::testing::Test {
 protected:
  void SetUp() override {
    write_small_network(model);
    options.environment["XDG_CACHE_HOME"] = (folder / "cache").string();
  }
  std::string path(const std::string& name) const { return (folder / name).string(); }
  ProgramResult hone(const std::vector<std::string>& arguments) const { return run_hone(arguments, options); }
  // Every command that takes a model, given `bad`.
  void every_command_refuses(const std::string& bad, const std::vector<std::string>& parts) const {
    const std::vector<std::vector<std::string>> commands = {
        {"show", bad},           {"optimize", bad, "-o", path("o.onnx")}, {"bench", bad},
        {"compare", bad, model}, {"run", bad, "--out", path("o")},        {"lab", bad, "--out", path("o")}};
    for (const std::vector<std::string>& command : commands)
      EXPECT_TRUE(is_one_line_error(hone(command), parts)) << command[0];
    EXPECT_FALSE(fs::exists(path("o.onnx")));
    EXPECT_FALSE(fs::exists(path("o"))) << "nothing is made for a model that cannot be read";
  }

  TemporaryFolder folder;
  std::string model = (folder / "small.onnx").string();
  RunOptions options;
};

TEST_F(BadInput, MissingModel) { every_command_refuses(path("nowhere.onnx"), {"nowhere.onnx"}); }

TEST_F(BadInput, FolderInsteadOfModel) {
  fs::create_directory(folder / "folder.onnx");
  every_command_refuses(path("folder.onnx"), {"folder.onnx"});
}

TEST_F(BadInput, GarbageModel) {
  write_text(folder / "garbage.onnx", "this is no protobuf message, and no model either\n");
  every_command_refuses(path("garbage.onnx"), {"garbage.onnx"});
}

TEST_F(BadInput, EmptyModel) {
  write_text(folder / "empty.onnx", "");
  every_command_refuses(path("empty.onnx"), {"empty.onnx"});
}

TEST_F(BadInput, TruncatedModel) {
  const std::string whole = read_text(model);
  for (const std::size_t keep : {whole.size() / 4, whole.size() / 2, whole.size() - 7}) {
    write_text(folder / "cut.onnx", whole.substr(0, keep));
    EXPECT_TRUE(is_one_line_error(hone({"show", path("cut.onnx")}), {"cut.onnx"})) << keep;
  }
}

TEST_F(BadInput, UnsupportedOperatorNamesItself) {
  std::string text = read_text(model);
  for (std::size_t at = text.find("Relu"); at != std::string::npos; at = text.find("Relu", at))
    text.replace(at, 4, "Rexu");
  write_text(folder / "odd.onnx", text);
  every_command_refuses(path("odd.onnx"), {"odd.onnx", "Rexu", "unsupported"});
}

TEST_F(BadInput, WrongInputsOfRunNameTheInput) {
  write_f32_npy(folder / "x.npy", {1, 3, 8, 8}, 1);
  write_f32_npy(folder / "flat.npy", {1, 3, 64}, 1);
  write_f32_npy(folder / "wide.npy", {1, 3, 8, 9}, 1);
  write_text(folder / "text.npy", "1 2 3\n");
  const std::string out = path("out");
  EXPECT_TRUE(is_one_line_error(hone({"run", model, "--out", out}), {"small.onnx", "'x'", "--input"}));
  EXPECT_TRUE(is_one_line_error(
      hone({"run", model, "--out", out, "--input", "x=" + path("x.npy"), "--input", "z=" + path("x.npy")}),
      {"'z'"}));
  EXPECT_TRUE(
      is_one_line_error(hone({"run", model, "--out", out, "--input", "x=" + path("flat.npy")}), {"'x'"}));
  EXPECT_TRUE(
      is_one_line_error(hone({"run", model, "--out", out, "--input", "x=" + path("wide.npy")}), {"'x'"}));
  EXPECT_TRUE(is_one_line_error(hone({"run", model, "--out", out, "--input", "x=" + path("text.npy")}),
                                {"text.npy"}));
  EXPECT_TRUE(
      is_one_line_error(hone({"run", model, "--out", out, "--input", "x=" + path("no.npy")}), {"no.npy"}));
  EXPECT_TRUE(is_one_line_error(hone({"run", model, "--out", out, "--input", "x.npy"}), {"NAME=FILE.npy"}));
  for (const char* command : {"run", "lab"})
    EXPECT_TRUE(is_one_line_error(hone({command, model, "--out", out, "--input", "x=" + path("x.npy"),
                                        "--input", "x=" + path("wide.npy")}),
                                  {"--input x", "twice"}));
  EXPECT_FALSE(fs::exists(out));
}

TEST_F(BadInput, WrongDtypeOfRunNamesTheInput) {
  write_f32_npy(folder / "x.npy", {1, 3, 8, 8}, 1);
  std::string text = read_text(folder / "x.npy");
  text.replace(text.find("<f4"), 3, "<i4");
  write_text(folder / "int.npy", text);
  EXPECT_TRUE(is_one_line_error(hone({"run", model, "--out", path("out"), "--input", "x=" + path("int.npy")}),
                                {"'x'", "f32", "i32"}));
}

TEST_F(BadInput, NanInDataRunsAndIsSaid) {
  write_f32_npy(folder / "x.npy", {1, 3, 8, 8}, std::numeric_limits<float>::quiet_NaN());
  const ProgramResult result = hone({"run", model, "--out", path("out"), "--input", "x=" + path("x.npy")});
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_TRUE(fs::exists(folder / "out/y.npy"));
  EXPECT_NE((result.out + result.err).find("NaN"), std::string::npos) << result.out << result.err;
}

TEST_F(BadInput, BadBindingsAndShapes) {
  EXPECT_TRUE(is_one_line_error(hone({"show", model, "--bind", "batch"}), {"batch"}));
  EXPECT_TRUE(is_one_line_error(hone({"show", model, "--bind", "batch=many"}), {"many"}));
  EXPECT_TRUE(is_one_line_error(hone({"show", model, "--shape", "x=1x3"}), {"x"}));
  write_f32_npy(folder / "x.npy", {2, 3, 8, 8}, 1);
  EXPECT_TRUE(is_one_line_error(hone({"run", model, "--input", "x=" + (folder / "x.npy").string(), "--shape",
                                      "x=1x3x8x8", "--out", (folder / "out").string()}),
                                {"--shape x=1x3x8x8", "[2,3,8,8]"}));
  EXPECT_TRUE(is_one_line_error(hone({"bench", model, "--bind", "batch=99999999999999"}), {"small.onnx"}));
}

TEST_F(BadInput, UnknownPassSaysWhoListsTheKnownOnes) {
  for (const char* option : {"--only", "--disable"})
    EXPECT_TRUE(is_one_line_error(hone({"optimize", model, "-o", path("o.onnx"), option, "polish"}),
                                  {option, "'polish'", "hone optimize --list"}));
}

TEST_F(BadInput, OptimizeNeverWritesOverItsInput) {
  const std::string before = read_text(model);
  fs::create_symlink(model, folder / "link.onnx");
  for (const std::string& out : {model, path("link.onnx"), (folder.path() / "." / "small.onnx").string()})
    EXPECT_TRUE(is_one_line_error(hone({"optimize", model, "-o", out}), {"never writes over"})) << out;
  EXPECT_EQ(read_text(model), before);
  fs::create_directory(folder / "o.plan");
  EXPECT_TRUE(is_one_line_error(hone({"optimize", model, "-o", path("o.plan")}), {"o.plan", "is a folder"}));
}

TEST_F(BadInput, UnwritableOutput) {
  write_text(folder / "file", "a file, not a folder");
  write_f32_npy(folder / "x.npy", {1, 3, 8, 8}, 1);
  const std::string under = path("file") + "/out";
  EXPECT_TRUE(is_one_line_error(hone({"optimize", model, "-o", under + ".onnx"}), {under}));
  EXPECT_TRUE(
      is_one_line_error(hone({"run", model, "--out", under, "--input", "x=" + path("x.npy")}), {under}));
  EXPECT_TRUE(is_one_line_error(hone({"lab", model, "--out", under}), {under}));
  EXPECT_TRUE(is_one_line_error(hone({"show", model, "--json", under + ".json"}), {under}));
  EXPECT_TRUE(is_one_line_error(hone({"optimize", model, "-o", path("no/such/o.onnx")}), {"no/such/o.onnx"}));
}

TEST_F(BadInput, FullDiskLeavesWhatWasThere) {
  write_text(folder / "o.onnx", "precious");
  write_f32_npy(folder / "x.npy", {1, 3, 8, 8}, 1);
  fs::create_directory(folder / "out");
  write_text(folder / "out/y.npy", "precious");
  RunOptions full = options;
  full.largest_file = 200;
  EXPECT_TRUE(is_one_line_error(run_hone({"optimize", model, "-o", path("o.onnx")}, full), {"o.onnx"}));
  EXPECT_TRUE(is_one_line_error(
      run_hone({"run", model, "--out", path("out"), "--input", "x=" + path("x.npy")}, full), {"y.npy"}));
  EXPECT_EQ(read_text(folder / "o.onnx"), "precious");
  EXPECT_EQ(read_text(folder / "out/y.npy"), "precious");
  EXPECT_EQ(folder.names(), (std::vector<std::string>{"o.onnx", "out", "small.onnx", "x.npy"}));
}

TEST_F(BadInput, FullDeviceIsSaid) {
  EXPECT_TRUE(is_one_line_error(hone({"show", model, "--json", "/dev/full"}), {"/dev/full", "space"}));
  EXPECT_TRUE(is_one_line_error(hone({"optimize", model, "-o", "/dev/full"}), {"/dev/full"}));
}

TEST_F(BadInput, ComparisonsOfUnlikeThings) {
  fs::create_directory(folder / "empty");
  EXPECT_TRUE(is_one_line_error(hone({"compare", path("empty"), model}), {"empty", "recording"}));
  EXPECT_TRUE(is_one_line_error(hone({"compare", path("nothing"), model}), {"nothing"}));
}

TEST_F(BadInput, BenchOptionsThatCannotBe) {
  EXPECT_TRUE(
      is_one_line_error(hone({"bench", model, "--threads", "1", "--concurrency", "2"}), {"--concurrency"}));
  EXPECT_TRUE(is_one_line_error(hone({"bench", model, "--against", "magic"}), {"--against", "ort"}));
  EXPECT_TRUE(is_one_line_error(
      hone({"bench", model, "--budget", "0.1", "--against", "ort", "--ort-library", model}), {"small.onnx"}));
}

TEST_F(BadInput, BenchOnRequestOfSomethingElseThanSteps) {
  for (const char* line : {"many\n", "0\n", "-3\n", "3 4\n", "\n"}) {
    RunOptions requests = options;
    requests.input = line;
    EXPECT_TRUE(is_one_line_error(run_hone({"bench", model, "--on-request"}, requests), {"--on-request"}));
  }
}

// Interrupted as by Ctrl-C, `after` seconds in, by a shell that waits for it.
ProgramResult interrupt(const std::vector<std::string>& arguments, const std::string& after,
                        const RunOptions& options) {
  std::string command = hone_program().string();
  for (const std::string& argument : arguments) command += " '" + argument + "'";
  // A shell's background jobs ignore SIGINT, and hand that down; so the timer runs behind, and hone in front.
  return run_program("/bin/bash", {"-c", "(sleep " + after + "; kill -INT $$) & exec " + command}, options);
}

TEST_F(BadInput, ALabInterruptedBeforeItsBaselineWritesNothing) {
  const ProgramResult result =
      interrupt({"lab", model, "--out", path("lab"), "--budget", "30"}, "1", options);
  EXPECT_EQ(result.exit_code, 130) << result.out << result.err;
  EXPECT_NE(result.err.find("interrupted"), std::string::npos) << result.err;
  EXPECT_TRUE(!fs::exists(folder / "lab") || fs::is_empty(folder / "lab"));
}

TEST_F(BadInput, AnInterruptedBenchWritesNothing) {
  // A batch large enough that the most steps which bench runs take longer than the second until the
  // interrupt.
  for (const char* concurrency : {"1", "2"}) {
    const ProgramResult result = interrupt({"bench", model, "--threads", "2", "--concurrency", concurrency,
                                            "--batch", "512", "--budget", "30", "--json", path("bench.json")},
                                           "1", options);
    EXPECT_EQ(result.exit_code, 130) << result.out << result.err;
    EXPECT_NE(result.err.find("interrupted"), std::string::npos) << result.err;
    EXPECT_FALSE(fs::exists(folder / "bench.json"));
  }
}

}  // namespace
}  // namespace hone::testing_support
