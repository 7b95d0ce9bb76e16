#include "observe/system/group_limits.h"

#include <filesystem>
#include <fstream>

#include <gtest/gtest.h>
#include <unistd.h>

namespace hone::observe::system {
namespace {

namespace fs = std::filesystem;

// A /proc and a /sys of our own.
class Group : public ::testing::Test {
 protected:
  void SetUp() override {
    root_ = fs::temp_directory_path() / ("hone-group-" + std::to_string(getpid()) + "-" +
                                         ::testing::UnitTest::GetInstance()->current_test_info()->name());
    fs::create_directories(root_);
  }
  void TearDown() override { fs::remove_all(root_); }
  void put(const std::string& path, const std::string& text) const {
    fs::create_directories((root_ / path).parent_path());
    std::ofstream(root_ / path) << text;
  }
  GroupCounters read() {
    SmallFiles files;
    return read_group(files, (root_ / "proc").string(), (root_ / "sys").string());
  }

  fs::path root_;
};

TEST(GroupFolders, LeadFromTheGroupToTheRoot) {
  using Folders = std::vector<std::string>;
  EXPECT_EQ(group_folders("0::/user.slice/job\n", "", "/m"),
            (Folders{"/m/user.slice/job", "/m/user.slice", "/m"}));
  EXPECT_EQ(group_folders("0::/\n", "", "/m"), (Folders{"/m"}));
  EXPECT_EQ(group_folders("4:memory:/a\n2:cpu,cpuacct:/b\n", "cpu", "/m"), (Folders{"/m/b", "/m"}));
  EXPECT_EQ(group_folders("4:memory:/a\n", "cpu", "/m"), Folders{});  // nobody limits it
  EXPECT_EQ(group_folders("nonsense\n0::nonsense\n", "", "/m"), (Folders{"/mnonsense", "/m"}));
}

TEST(CpuMax, IsANumberOfCpusOrNone) {
  EXPECT_EQ(parse_cpu_max("200000 100000\n"), 2);
  EXPECT_EQ(parse_cpu_max("50000 100000\n"), 0.5);
  EXPECT_EQ(parse_cpu_max("max 100000\n"), std::nullopt);
  EXPECT_EQ(parse_cpu_max(""), std::nullopt);
}

TEST_F(Group, OfVersion2HasTheTightestLimitOnTheWayUp) {
  put("proc/self/cgroup", "0::/pod/container\n");
  put("sys/fs/cgroup/pod/container/cpu.max", "max 100000\n");
  put("sys/fs/cgroup/pod/container/memory.max", "8589934592\n");
  put("sys/fs/cgroup/pod/container/memory.current", "5000\n");
  put("sys/fs/cgroup/pod/cpu.max", "400000 100000\n");
  put("sys/fs/cgroup/pod/cpu.stat", "usage_usec 5\nnr_periods 100\nnr_throttled 25\nthrottled_usec 9\n");
  put("sys/fs/cgroup/pod/memory.max", "4294967296\n");
  put("sys/fs/cgroup/pod/memory.current", "3000000000\n");
  put("sys/fs/cgroup/pod/memory.stat", "anon 1\ninactive_file 1000000000\n");
  const GroupCounters group = read();
  EXPECT_EQ(group.cpu_limit, 4);
  EXPECT_EQ(group.memory_limit, 4294967296);
  EXPECT_EQ(group.memory_used, 2000000000);  // the cache of files can be dropped
  EXPECT_EQ(group.periods_held_back, 25);
}

TEST_F(Group, OfVersion1IsReadFromItsControllers) {
  put("proc/self/cgroup", "4:memory:/docker/x\n1:cpu,cpuacct:/docker/x\n0::/\n");
  // In a container the group's own path is not there: its files are at the root of the mount.
  put("sys/fs/cgroup/cpu/cpu.cfs_quota_us", "150000\n");
  put("sys/fs/cgroup/cpu/cpu.cfs_period_us", "100000\n");
  put("sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n");
  EXPECT_EQ(read().cpu_limit, 1.5);
  EXPECT_EQ(read().memory_limit, std::nullopt);  // the number that means none
}

TEST_F(Group, WithoutLimitsNoneIsKnown) {
  EXPECT_FALSE(read().cpu_limit.has_value());
  put("proc/self/cgroup", "0::/\n");
  const GroupCounters group = read();
  EXPECT_FALSE(group.cpu_limit.has_value() || group.memory_limit.has_value());
  EXPECT_FALSE(group_use(group, group).limited());
}

TEST(GroupUse, SaysInWhichPartOfItsPeriodsTheLimitStoppedIt) {
  GroupCounters before, after;
  before.periods = 100;
  before.periods_held_back = 10;
  after.periods = 120;
  after.periods_held_back = 15;
  EXPECT_EQ(group_use(before, after).held_back_share, 0.25);
  EXPECT_EQ(group_use(after, after).held_back_share, std::nullopt);  // no period has passed
}

}  // namespace
}  // namespace hone::observe::system
