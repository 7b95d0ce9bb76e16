// Two programs at once on one device, with one folder for what they cache: kernels, measured choices.
#include <future>

#include "tests/cli/run_program.h"
#include "tests/cli/test_models.h"
#include <gtest/gtest.h>

#include "runtime/testing/providers.h"

namespace hone::testing_support {
namespace {

class TwoProcesses : public ::testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    write_long_network(model_);
    write_f32_npy(folder_ / "x.npy", {1, 16, 96, 96}, 0.5F);
    options_.environment["XDG_CACHE_HOME"] = (folder_ / "cache").string();
    options_.time_limit = std::chrono::seconds(240);
  }
  ProgramResult hone(std::vector<std::string> arguments) const {
    arguments.insert(arguments.end(), {"--device", GetParam()});
    return run_hone(arguments, options_);
  }
  ProgramResult run_into(const std::string& out) const {
    return hone(
        {"run", model_, "--input", "x=" + (folder_ / "x.npy").string(), "--out", (folder_ / out).string()});
  }
  std::string result_of(const std::string& out) const { return read_text(folder_ / out / "y.npy"); }
  // Both, begun together.
  template <typename First, typename Second>
  static void expect_both(const First& first, const Second& second) {
    auto other = std::async(std::launch::async, second);
    const ProgramResult one = first(), two = other.get();
    EXPECT_EQ(one.exit_code, 0) << one.err;
    EXPECT_EQ(two.exit_code, 0) << two.err;
  }

  TemporaryFolder folder_;
  std::string model_ = (folder_ / "long.onnx").string();
  RunOptions options_;
};

// First with nothing cached, so that both fill the folder; then with what they left there.
TEST_P(TwoProcesses, GiveTheSameOutputs) {
  for (const std::string cached : {"cold", "warm"}) {
    expect_both([&] { return run_into(cached + "1"); }, [&] { return run_into(cached + "2"); });
    EXPECT_EQ(result_of(cached + "1"), result_of(cached + "2")) << cached;
  }
  EXPECT_EQ(result_of("cold1"), result_of("warm1"));
  EXPECT_GT(result_of("cold1").size(), std::size_t{16 * 96 * 96 * 4});
}

// One measures kernels and keeps what it measured while the other computes.
TEST_P(TwoProcesses, MeasureAndComputeBesideEachOther) {
  ASSERT_EQ(run_into("alone").exit_code, 0);
  expect_both([&] { return hone({"bench", model_, "--budget", "0.3"}); }, [&] { return run_into("beside"); });
  EXPECT_EQ(result_of("alone"), result_of("beside"));
  expect_both(
      [&] {
        return hone({"bench", model_, "--budget", "0.3"});
      },
      [&] {
        return hone({"bench", model_, "--budget", "0.3"});
      });
  ASSERT_EQ(run_into("behind").exit_code, 0);
  EXPECT_EQ(result_of("alone"), result_of("behind"));
}

INSTANTIATE_TEST_SUITE_P(All, TwoProcesses, ::testing::Values("cpu"),
                         [](const auto& test) { return std::string(test.param); });
INSTANTIATE_TEST_SUITE_P(Gpu, TwoProcesses, ::testing::ValuesIn(runtime::testing::gpu_providers()),
                         [](const auto& test) { return std::string(test.param); });

}  // namespace
}  // namespace hone::testing_support
