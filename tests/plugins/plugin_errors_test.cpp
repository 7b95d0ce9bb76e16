// What is said of plugins that are no plugins, of operators that make no sense and of models that do not fit them: one line
// each, and nothing written.
#include <cstring>
#include <map>

#include "tests/cli/run_program.h"
#include "tests/plugins/plugin_files.h"
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace hone::testing_support {
namespace {

using model::testing::attribute;
using ::testing::HasSubstr;

class PluginErrors : public ::testing::Test {
 protected:
  void SetUp() override {
    write_text(folder_ / "model.onnx", scale_model());
    write_f32_npy(folder_ / "x.npy", {3, 4}, 1.5F);
  }
  std::string file(const std::string& name) const { return (folder_ / name).string(); }
  // `fault` as fixture.c knows it; "" for none.
  ProgramResult run(const std::string& fault, const std::vector<std::string>& plugins) const {
    RunOptions options;
    if (!fault.empty()) options.environment["HONE_TEST_PLUGIN"] = fault;
    std::vector<std::string> arguments = {"run",   file("model.onnx"), "--input", "x=" + file("x.npy"),
                                          "--out", file("out")};
    for (const std::string& plugin : plugins) arguments.insert(arguments.end(), {"--plugin", plugin});
    return run_hone(arguments, options);
  }
  void expect_error(const std::string& fault, const std::vector<std::string>& plugins,
                    const std::vector<std::string>& parts) const {
    const ProgramResult result = run(fault, plugins);
    EXPECT_TRUE(is_one_line_error(result, parts)) << fault;
    EXPECT_EQ(result.exit_code, 1) << fault;
    EXPECT_FALSE(std::filesystem::exists(folder_ / "out")) << fault;
  }

  TemporaryFolder folder_;
};

TEST_F(PluginErrors, AreNoneOfAPluginThatIsRight) {
  const ProgramResult result = run("", {fixture_plugin()});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  const std::string y = read_text(folder_ / "out" / "y.npy");
  float last = 0;
  std::memcpy(&last, y.data() + y.size() - sizeof last, sizeof last);
  EXPECT_EQ(last, 3.0F);
}

TEST_F(PluginErrors, NameTheFileThatIsNoPlugin) {
  expect_error("", {}, {"model.onnx", "test.Scale (opset 1)", "--plugin"});
  expect_error("", {file("none.so")}, {"none.so", "no such file"});
  expect_error("", {file("x.npy")}, {"x.npy", "cannot be loaded as a shared library"});
  expect_error("", {folder_.path().string()}, {"is a folder"});
  expect_error("", {"/dev/zero"}, {"/dev/zero", "is no file"});
  expect_error("", {""}, {"a plugin without a name"});
  expect_error("", {(build_folder() / "fake_driver" / "libfake_driver.so").string()},
               {"libfake_driver.so", "does not export hone_plugin_entry()"});
  expect_error("no plugin", {fixture_plugin()}, {"libfixture.so", "returned NULL"});
  expect_error("newer interface", {fixture_plugin()},
               {"libfixture.so", "version 2", "knows version 1", "build it against"});
}

TEST_F(PluginErrors, SayThatPlanFilesHoldNoOperatorsOfPlugins) {
  const ProgramResult result =
      run_hone({"optimize", file("model.onnx"), "-o", file("model.plan"), "--plugin", fixture_plugin()});
  EXPECT_TRUE(
      is_one_line_error(result, {"test.Scale", "plan files hold no operators of plugins", "--plugin"}))
      << result.err;
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_FALSE(std::filesystem::exists(folder_ / "model.plan"));
}

TEST_F(PluginErrors, NameTheOperatorThatMakesNoSense) {
  expect_error("null kernel", {fixture_plugin()}, {"operator 'Scale'", "cpu kernel 'plain'", "run is NULL"});
  expect_error("an operator of hone's", {fixture_plugin()}, {"operator 'Conv'", "hone has already"});
}

TEST_F(PluginErrors, NameBothPluginsThatDoNotGoTogether) {
  std::filesystem::copy_file(fixture_plugin(), folder_ / "libcopy.so");
  expect_error("", {fixture_plugin(), file("libcopy.so")},
               {"libfixture.so", "libcopy.so", "both named 'fixture'"});
  expect_error("", {fixture_plugin(), fixture_plugin()}, {"libfixture.so", "given twice"});
}

TEST_F(PluginErrors, NameTheNodeWhoseTypeMakesNoSense) {
  for (const auto& [fault, part] : std::map<std::string, std::string>{
           {"negative shape", "extent -7"},
           {"other rank", "declared as f32[3,4], but inference finds f32[3,4,0,0,0]"},
           {"huge shape", "elements"},
           {"no type", "did not set its type"}})
    expect_error(fault, {fixture_plugin()}, {"model.onnx", "'scale'", "plugin fixture 0.1", part});
}

TEST_F(PluginErrors, NameTheNodeWhoseKernelFails) {
  expect_error("failing kernel", {fixture_plugin()},
               {"model.onnx", "'scale'", "plugin fixture 0.1: plain", "the moon is in the way"});
}

TEST_F(PluginErrors, NameTheNodeThatDoesNotFitTheOperator) {
  write_text(folder_ / "model.onnx", scale_model({attribute("factor", int64_t{3})}));
  expect_error("", {fixture_plugin()},
               {"'scale'", "'factor' has the wrong type: an int, where test.Scale takes a float"});
  write_text(folder_ / "model.onnx", scale_model({attribute("facet", 3.0F)}));
  expect_error("", {fixture_plugin()}, {"'scale'", "'facet' is not one of test.Scale"});
  write_text(folder_ / "model.onnx", scale_model({}, 2));
  expect_error("newer operator", {fixture_plugin()},
               {"test.Scale (opset 2)", "plugin fixture 0.1 has it since version 3"});
}

TEST_F(PluginErrors, AreNoneWhereTheModelIsOnlyShown) {
  const ProgramResult shown = run_hone({"show", file("model.onnx"), "--plugin", fixture_plugin()});
  EXPECT_EQ(shown.exit_code, 0) << shown.err;
  EXPECT_THAT(shown.out, HasSubstr("test.Scale"));
}

TEST_F(PluginErrors, AreThoseOfModelsAloneAndNotOfRecordings) {
  write_text(folder_ / "trace.json", "{\"traceEvents\": []}");
  EXPECT_TRUE(is_one_line_error(
      run_hone({"compare", file("trace.json"), file("trace.json"), "--plugin", fixture_plugin()}),
      {"--plugin", "for models"}));
  EXPECT_TRUE(is_one_line_error(run_hone({"lab", "--plugin", fixture_plugin(), "--", "true"}),
                                {"--plugin", "is for models"}));
}

// A plugin's operator comes before a function of the model's that says what it means by others: it is what the user asked for.
TEST_F(PluginErrors, AreNoneWhereTheModelDefinesTheOperatorItself) {
  using namespace model::testing;
  Proto function;
  function.bytes(1, "Scale").bytes(4, "x").bytes(5, "y").message(7, node("Neg", {"x"}, {"y"}));
  function.message(9, opset_import("", 21)).bytes(10, "test");
  write_text(folder_ / "model.onnx", scale_model({}, 1, {function}));
  const auto ops_of = [&](const std::vector<std::string>& plugin) {
    std::vector<std::string> arguments = {"show", file("model.onnx"), "--json", file("show.json")};
    arguments.insert(arguments.end(), plugin.begin(), plugin.end());
    const ProgramResult shown = run_hone(arguments);
    EXPECT_EQ(shown.exit_code, 0) << shown.err;
    return nlohmann::json::parse(read_text(folder_ / "show.json"))["operators"][0]["op"].get<std::string>();
  };
  EXPECT_EQ(ops_of({}), "Neg");
  EXPECT_EQ(ops_of({"--plugin", fixture_plugin()}), "test.Scale");
}

TEST_F(PluginErrors, AreNoneInConformanceTestsOfItsOperators) {
  using namespace model::testing;
  const std::filesystem::path test = folder_ / "node" / "test_scale";
  std::filesystem::create_directories(test / "test_data_set_0");
  write_text(test / "model.onnx", scale_model({attribute("factor", 3.0F)}));
  write_text(test / "test_data_set_0" / "input_0.pb",
             float_tensor("x", {3, 4}, std::vector<float>(12, 2)).text());
  write_text(test / "test_data_set_0" / "output_0.pb",
             float_tensor("y", {3, 4}, std::vector<float>(12, 6)).text());
  const std::string tests = (folder_ / "node").string();
  EXPECT_THAT(run_hone({"conformance", tests}).out, HasSubstr("1 unsupported"));
  const ProgramResult passed = run_hone({"conformance", tests, "--plugin", fixture_plugin()});
  EXPECT_THAT(passed.out, HasSubstr("1 passed, 0 failed")) << passed.out;
}

}  // namespace
}  // namespace hone::testing_support
