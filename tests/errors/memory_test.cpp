// A small file that asks for all of the machine's memory gets a line that names the node.
#include <filesystem>

#include "tests/cli/run_program.h"
#include "tests/cli/test_models.h"
#include <gtest/gtest.h>

namespace hone::testing_support {
namespace {

class Memory : public ::testing::Test {
 protected:
  void SetUp() override {
    options.environment["XDG_CACHE_HOME"] = (folder / "cache").string();
    write_f32_npy(folder / "x.npy", {1}, 1);
  }
  std::string path(const std::string& name) const { return (folder / name).string(); }
  ProgramResult run(const std::string& model, const std::string& memory) const {
    return run_hone(
        {"run", path(model), "--input", "x=" + path("x.npy"), "--out", path("out"), "--memory", memory},
        options);
  }

  TemporaryFolder folder;
  RunOptions options;
};

TEST_F(Memory, AConstantThatDoublesThirtySixTimesIsNotFolded) {
  write_doubling_network(folder / "big.onnx", 36);
  EXPECT_LT(std::filesystem::file_size(folder / "big.onnx"), 8192u);
  const ProgramResult shown = run_hone({"show", path("big.onnx")}, options);
  EXPECT_EQ(shown.exit_code, 0) << shown.err;
  const ProgramResult optimised = run_hone({"optimize", path("big.onnx"), "-o", path("o.onnx")}, options);
  EXPECT_EQ(optimised.exit_code, 0) << optimised.err;
  EXPECT_NE(optimised.out.find("not folded"), std::string::npos) << optimised.out;
  EXPECT_LT(std::filesystem::file_size(folder / "o.onnx"), std::size_t{64} << 20);
  EXPECT_TRUE(is_one_line_error(run("big.onnx", "1G"), {"big.onnx", "double", "--memory"}));
  EXPECT_FALSE(std::filesystem::exists(folder / "out"));
}

TEST_F(Memory, ALoopThatCollectsWithoutEndNamesItself) {
  write_endless_network(folder / "loop.onnx");
  EXPECT_TRUE(is_one_line_error(run("loop.onnx", "64M"), {"loop.onnx", "forever", "--memory"}));
}

TEST_F(Memory, TheBudgetIsAnAmount) {
  write_doubling_network(folder / "small.onnx", 2);
  for (const char* amount : {"lots", "0", "-1G", "8X", "8GB8"}) {
    const ProgramResult result = run("small.onnx", amount);
    EXPECT_EQ(result.exit_code, 2) << amount;
    EXPECT_TRUE(is_one_line_error(result, {"--memory", amount}));
  }
  for (const char* amount : {"8G", "512M", "0.5GiB", "100000000"})
    EXPECT_EQ(run("small.onnx", amount).exit_code, 0) << amount;
}

}  // namespace
}  // namespace hone::testing_support
