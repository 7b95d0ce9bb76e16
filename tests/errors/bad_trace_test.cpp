// What users get wrong with recordings, for hone explain and hone compare: one clear line that says which
// file or option, what is wrong with it and what to do; and an exit status that scripts can tell apart.
#include <filesystem>
#include <string>
#include <vector>

#include "tests/cli/run_program.h"
#include "tests/cli/test_models.h"
#include <gtest/gtest.h>

#include "core/testing/source_folder.h"

namespace hone::testing_support {
namespace {

namespace fs = std::filesystem;

class BadTrace : public ::testing::Test {
 protected:
  std::string path(const std::string& name) const { return (folder / name).string(); }
  std::string wrote(const std::string& name, const std::string& text) const {
    write_text(folder / name, text);
    return path(name);
  }
  static void expect_error(const std::vector<std::string>& arguments, const std::vector<std::string>& parts,
                           int exit_code = 1) {
    const ProgramResult result = run_hone(arguments);
    EXPECT_TRUE(is_one_line_error(result, parts)) << arguments.back();
    EXPECT_EQ(result.exit_code, exit_code) << arguments.back();
    EXPECT_EQ(result.out, "");
  }

  TemporaryFolder folder;
  std::string fault = (source_folder() / "tests/traces/recorded/copy_pageable.fault.json.gz").string();
  std::string repaired = (source_folder() / "tests/traces/recorded/copy_pageable.repaired.json.gz").string();
};

TEST_F(BadTrace, WhatCannotBeComparedIsNamedWithWhatCan) {
  const std::string text = wrote("notes.txt", "nothing to see here\n"),
                    picture = wrote("p.png", "\x89PNG\r\n");
  const std::string model = path("small.onnx");
  write_small_network(model);
  expect_error({"compare", text, text}, {"notes.txt", "a text", "Two recordings", "two ONNX models"});
  expect_error({"compare", fault, text}, {"notes.txt", "a text", "two ONNX models"});
  expect_error({"compare", model, picture}, {"p.png", "a picture", "two ONNX models"});
  expect_error({"compare", wrote("j.json", "{}"), text}, {"notes.txt", "a text"});
  expect_error({"compare", fault, model},
               {"copy_pageable.fault", "small.onnx", "two recordings, or two ONNX models"}, 2);
  expect_error({"explain", model}, {"small.onnx", "ONNX model", "hone lab"});
  // What is called a model is read as one.
  expect_error({"compare", wrote("bad.onnx", "no model"), model}, {"bad.onnx", "ONNX model"});
}

TEST_F(BadTrace, RanksToCompareGoIntoFolders) {
  expect_error({"compare", "a0", "a1", "b0", "b1"},
               {"'b0' is one too many", "ranks", "folder", "compare --help"}, 2);
}

TEST_F(BadTrace, RoofsThatAreNoneNameTheirOption) {
  const std::string remedy = "hone ceilings --json FILE";
  expect_error({"explain", fault, "--roofs", path("nowhere")}, {"--roofs", "nowhere", remedy});
  expect_error({"explain", fault, "--roofs", folder.path().string()}, {"--roofs", "folder", remedy});
  expect_error({"explain", fault, "--roofs", wrote("text", "hello")}, {"--roofs", "text", remedy});
  expect_error({"explain", fault, "--roofs", wrote("j.json", "{}")},
               {"--roofs", "j.json", "'machine'", remedy});
}

TEST_F(BadTrace, OptionsThatCannotBeAreUsageErrors) {
  expect_error({"explain", fault, "--top", "0"}, {"--top", "above 0"}, 2);
  expect_error({"explain", fault, "--top", "3.5"}, {"--top", "'3.5' is not a whole number"}, 2);
  expect_error({"explain", fault, "--top", "99999999999"}, {"--top", "too large"}, 2);
  expect_error({"explain", fault, "--nope", "3"}, {"no option '--nope'", "explain --help"}, 2);
  expect_error({"explain", fault, "--json", path("a"), "--json", path("b")}, {"--json", "once"}, 2);
  expect_error({"compare", fault, repaired, "--top", "3"}, {"no option '--top'", "compare --help"}, 2);
  expect_error({"explain", fault, "--top"}, {"--top lacks its value"}, 2);
  expect_error({"compare", fault}, {"B is required"}, 2);
}

TEST_F(BadTrace, OptionsOfModelsAreRefusedForRecordings) {
  for (const std::vector<std::string>& option : std::vector<std::vector<std::string>>{
           {"--budget", "2"}, {"--threads", "1"}, {"--bind", "batch=2"}, {"--no-overlap"}}) {
    std::vector<std::string> arguments = {"compare", fault, repaired};
    arguments.insert(arguments.end(), option.begin(), option.end());
    expect_error(arguments, {option[0], "for models"}, 2);
  }
}

TEST_F(BadTrace, NamesThatAreNoneAreSaid) {
  expect_error({"explain", fault, "--json", ""}, {"--json", "empty"}, 2);
  expect_error({"explain", fault, "--out", ""}, {"--out", "empty"}, 2);
  expect_error({"explain", ""}, {"PATH", "empty"}, 2);
  expect_error({"explain", fault, "--json", "--top", "3"}, {"--json", "missing before --top"}, 2);
}

TEST_F(BadTrace, OutputsThatCannotBeAreKnownBeforeTheWork) {
  const std::string file = wrote("file", "x");
  for (const std::vector<std::string>& command :
       std::vector<std::vector<std::string>>{{"explain", fault}, {"compare", fault, repaired}}) {
    const auto with = [&](const std::string& option, const std::string& name) {
      std::vector<std::string> arguments = command;
      arguments.insert(arguments.end(), {option, name});
      return arguments;
    };
    expect_error(with("--out", file), {"--out", file, "is a file"});
    expect_error(with("--out", file + "/under"), {"--out", file + "/under"});
    expect_error(with("--json", folder.path().string()), {"--json", "is a folder"}, 2);
    expect_error(with("--json", path("no/x.json")), {"no/x.json", "no folder"});
  }
  expect_error({"explain", path("nowhere"), "--out", path("out")}, {"nowhere"});
  EXPECT_FALSE(fs::exists(folder / "out")) << "nothing is made for a trace that cannot be read";
}

// A part of an answer is one; no verdict is what a script must know.
TEST_F(BadTrace, ARecordingThatLacksTooMuchHasAnExitStatusOfItsOwn) {
  const std::string whole = read_text(fault);
  const std::string cut = wrote("cut.json.gz", whole.substr(0, 2000));
  const ProgramResult explained =
      run_hone({"explain", cut, "--json", path("cut.json"), "--out", path("out")});
  EXPECT_EQ(explained.exit_code, 3) << explained.err;
  EXPECT_NE(explained.out.find("No verdict: the file ends before"), std::string::npos) << explained.out;
  EXPECT_TRUE(fs::exists(folder / "cut.json"));
  EXPECT_TRUE(fs::exists(folder / "out" / "explain.html"));
  const ProgramResult compared = run_hone({"compare", fault, cut});
  EXPECT_EQ(compared.exit_code, 3) << compared.err;
  EXPECT_NE(compared.out.find("Not compared: the second recording"), std::string::npos) << compared.out;
  const std::string nearly = wrote("nearly.json.gz", whole.substr(0, whole.size() - 200));
  const ProgramResult partial = run_hone({"explain", nearly});
  EXPECT_EQ(partial.exit_code, 0) << partial.err << partial.out;
  for (const char* command : {"explain", "compare"})
    EXPECT_NE(run_hone({command, "--help"}).out.find("Exit status: 0"), std::string::npos);
}

}  // namespace
}  // namespace hone::testing_support
