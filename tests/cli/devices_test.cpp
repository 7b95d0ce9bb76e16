// run, bench and lab on every device that there is for tests, and what they say of one that there is not.
#include <fstream>

#include "tests/cli/run_program.h"
#include "tests/cli/test_models.h"
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace hone::testing_support {
namespace {

class DeviceOption : public ::testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    write_small_network(model_);
    write_f32_npy(folder_ / "x.npy", {1, 3, 8, 8}, 1);
    options_.environment["XDG_CACHE_HOME"] = (folder_ / "cache").string();
  }
  nlohmann::json json_of(std::vector<std::string> arguments) const {
    const std::string path = (folder_ / "out.json").string();
    arguments.insert(arguments.end(), {"--device", GetParam(), "--json", path});
    const ProgramResult result = run_hone(arguments, options_);
    EXPECT_EQ(result.exit_code, 0) << result.err;
    return nlohmann::json::parse(read_text(path));
  }

  TemporaryFolder folder_;
  std::string model_ = (folder_ / "small.onnx").string();
  RunOptions options_;
};

TEST_P(DeviceOption, IsWhereRunBenchAndLabRun) {
  const auto run = json_of(
      {"run", model_, "--input", "x=" + (folder_ / "x.npy").string(), "--out", (folder_ / "out").string()});
  EXPECT_NE(run["how"].get<std::string>().find(std::string(" on ") + GetParam()), std::string::npos) << run;
  EXPECT_EQ(json_of({"bench", model_, "--budget", "0.1"})["device"], GetParam());
  const auto sweep =
      json_of({"bench", model_, "--sweep", "--batches", "1,3", "--budget", "0.1", "--threads", "1"});
  EXPECT_EQ(sweep["device"], GetParam());
  EXPECT_EQ(sweep["sweep"].back()["batch"], 3);
  EXPECT_GT(sweep["sweep"][0]["with_copies"]["throughput_per_s"], 0);
  const bool has_own_memory = std::string_view(GetParam()) != "cpu";
  EXPECT_EQ(sweep["sweep"][0]["compute"]["in_flight"], 1);
  EXPECT_EQ(sweep["sweep"][0]["with_copies"]["in_flight"], has_own_memory ? 3 : 1);
  EXPECT_EQ(sweep["sweep"][0]["memory"]["pipeline_bytes"] > 0, has_own_memory);
  EXPECT_TRUE(sweep["sweep"][0]["compute"]["joules_per_item"].is_null());
  EXPECT_TRUE(sweep["knee"]["batch"].is_number());
  const auto lab = json_of({"lab", model_, "--budget", "0.5", "--out", (folder_ / "lab").string()});
  EXPECT_EQ(lab["device"], GetParam());
  EXPECT_TRUE(lab["result"]["passed"]);
}

INSTANTIATE_TEST_SUITE_P(All, DeviceOption, ::testing::Values("cpu", "null"),
                         [](const auto& test) { return std::string(test.param); });

TEST(Sweep, NamesAModelThatCannotBeReadOnce) {
  const TemporaryFolder folder;
  const std::string model = (folder / "host.onnx").string();
  write_host_network(model);  // its batch is fixed
  const ProgramResult result = run_hone({"bench", model, "--batches", "3", "--device", "cpu"});
  EXPECT_TRUE(is_one_line_error(result, {model + ": --batch 3", "its first extent is fixed"}));
  EXPECT_EQ(result.err.find(model), result.err.rfind(model)) << result.err;
}

TEST(UnknownDevice, IsOneLineWithTheDevicesThatThereAre) {
  const TemporaryFolder folder;
  const std::string model = (folder / "small.onnx").string();
  write_small_network(model);
  const std::string out = (folder / "out.onnx").string();
  const std::vector<std::vector<std::string>> commands = {{"bench", model},
                                                          {"lab", model},
                                                          {"show", model},
                                                          {"optimize", model, "-o", out},
                                                          {"compare", model, model},
                                                          {"ceilings"},
                                                          {"bench", "--sweep", model},
                                                          {"conformance", folder.path().string()}};
  for (std::vector<std::string> command : commands) {
    command.insert(command.end(), {"--device", "quantum"});
    EXPECT_TRUE(is_one_line_error(run_hone(command), {"'quantum'", "cpu"})) << command[0];
  }
  EXPECT_FALSE(std::filesystem::exists(out));
}

// On whatever machine: the driver that the linker finds first is none.
TEST(CudaWithoutADriver, IsOneLineWithWhatIsMissingAndWhereItWasLookedFor) {
  const TemporaryFolder folder;
  const std::string model = (folder / "small.onnx").string();
  write_small_network(model);
  std::ofstream(folder / "libcuda.so.1") << "no library";
  RunOptions options;
  options.environment["LD_LIBRARY_PATH"] = folder.path().string();
  const std::vector<std::vector<std::string>> commands = {
      {"bench", model},
      {"lab", model},
      {"conformance", folder.path().string()},
      {"show", model},
      {"show", model, "--floors"},
      {"ceilings"},
      {"compare", model, model},
      {"optimize", model, "-o", (folder / "out.onnx").string()},
      {"bench", "--sweep", model}};
  for (const std::vector<std::string>& command : commands) {
    std::vector<std::string> arguments = command;
    arguments.insert(arguments.end(), {"--device", "cuda"});
    const ProgramResult result = run_hone(arguments, options);
    EXPECT_TRUE(is_one_line_error(result, {"device 'cuda'", "libcuda.so.1", "looked in", "install"}))
        << result.err;
  }
}

}  // namespace
}  // namespace hone::testing_support
