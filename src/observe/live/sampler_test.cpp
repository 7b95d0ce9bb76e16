#include "observe/live/sampler.h"

#include <algorithm>
#include <cstdlib>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "core/testing/source_folder.h"

namespace hone::observe::live {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using trace::live::MachineUse;
using trace::live::ProcessUse;

TEST(Sampler, JoinsGpusWithTheProcessesThatUseThem) {
  ::setenv("HONE_FAKE_NVML", "two", 1);
  ::setenv("HONE_FAKE_NVML_PID", std::to_string(getpid()).c_str(), 1);
  Sampler sampler({}, (build_folder() / "fake_nvml" / "libnvidia-ml.so.1").string());
  EXPECT_EQ(sampler.read().interval_s, 0);
  const MachineUse use = sampler.read();
  EXPECT_GT(use.interval_s, 0);
  const auto self = std::find_if(use.processes.begin(), use.processes.end(),
                                 [](const ProcessUse& row) { return row.pid == getpid(); });
  ASSERT_NE(self, use.processes.end());
  EXPECT_EQ(self->gpu_memory_bytes, 50.0 * (1ull << 30));
  EXPECT_EQ(self->gpus, std::vector<int>{0});
  EXPECT_TRUE(self->visible);
  EXPECT_TRUE(use.gpus[0].in_use());
  EXPECT_FALSE(use.gpus[1].in_use());
  // The others that the driver names are not among the processes here.
  EXPECT_THAT(use.notes, Contains(HasSubstr("not to be seen here")));
  const auto hidden = std::find_if(use.processes.begin(), use.processes.end(),
                                   [](const ProcessUse& row) { return row.pid == 5'000'001; });
  ASSERT_NE(hidden, use.processes.end());
  EXPECT_FALSE(hidden->visible);
  EXPECT_EQ(hidden->cpus, std::nullopt);
  ::unsetenv("HONE_FAKE_NVML");
  ::unsetenv("HONE_FAKE_NVML_PID");
}

TEST(Sampler, WithoutADriverSaysSoAndShowsTheHost) {
  Sampler sampler({}, "libnothing-like-nvml.so.1");
  sampler.read();
  const MachineUse use = sampler.read();
  EXPECT_TRUE(use.gpus.empty());
  EXPECT_THAT(use.notes, Contains(HasSubstr("GPUs: the NVIDIA driver's library is not here")));
  EXPECT_GT(use.host.cpus, 0);
}

}  // namespace
}  // namespace hone::observe::live
