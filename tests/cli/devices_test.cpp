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
  const auto lab = json_of({"lab", model_, "--budget", "0.5", "--out", (folder_ / "lab").string()});
  EXPECT_EQ(lab["device"], GetParam());
  EXPECT_TRUE(lab["result"]["passed"]);
}

INSTANTIATE_TEST_SUITE_P(All, DeviceOption, ::testing::Values("cpu", "null"),
                         [](const auto& test) { return std::string(test.param); });

TEST(UnknownDevice, IsOneLineWithTheDevicesThatThereAre) {
  const TemporaryFolder folder;
  const std::string model = (folder / "small.onnx").string();
  write_small_network(model);
  for (const char* command : {"bench", "lab"})
    EXPECT_TRUE(is_one_line_error(run_hone({command, model, "--device", "quantum"}), {"'quantum'", "cpu"}))
        << command;
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
      {"bench", model}, {"lab", model}, {"conformance", folder.path().string()}};
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
