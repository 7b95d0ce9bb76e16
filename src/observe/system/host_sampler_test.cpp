#include "observe/system/host_sampler.h"

#include <filesystem>
#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

namespace hone::observe::system {
namespace {

namespace fs = std::filesystem;
using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::Not;
using trace::live::MachineUse;

// A /proc and a /sys of our own.
class Host : public ::testing::Test {
 protected:
  void SetUp() override {
    root_ = fs::temp_directory_path() / ("hone-host-" + std::to_string(getpid()) + "-" +
                                         ::testing::UnitTest::GetInstance()->current_test_info()->name());
    fs::create_directories(root_ / "proc");
    fs::create_directories(root_ / "sys");
  }
  void TearDown() override { fs::remove_all(root_); }
  void put(const std::string& path, const std::string& text) const {
    fs::create_directories((root_ / path).parent_path());
    std::ofstream(root_ / path) << text;
  }
  HostSampler sampler() const { return HostSampler({(root_ / "proc").string(), (root_ / "sys").string()}); }

  fs::path root_;
};

TEST_F(Host, OfASystemWithoutFilesSaysWhatIsMissingAndKnowsNothing) {
  HostSampler host = sampler();
  MachineUse use;
  host.read(1, use);
  EXPECT_THAT(use.notes, Contains(HasSubstr("/stat: No such file")));
  EXPECT_THAT(use.notes, Contains(HasSubstr("/meminfo")));
  EXPECT_THAT(use.notes, Contains(HasSubstr("/diskstats")));
  EXPECT_THAT(use.notes, Contains(HasSubstr("/net/dev")));
  EXPECT_THAT(use.notes, Contains(HasSubstr("time in line for CPUs")));
  EXPECT_THAT(use.notes, Contains(HasSubstr("processes: none")));
  EXPECT_EQ(use.host.busy_share, std::nullopt);
  EXPECT_EQ(use.host.memory_total_bytes, std::nullopt);
  EXPECT_TRUE(use.host.disks.empty());
}

TEST_F(Host, CountsWholeDisksAndNetworksThatAreInUse) {
  const std::string numbers = " 5 5 5 5 5 5 5 5 5 5 5\n";
  put("proc/diskstats", "8 0 sda" + numbers + "8 1 sda1" + numbers + "7 0 loop0" + numbers + "253 0 dm-0" +
                            numbers + "259 0 nvme0n1" + numbers);
  put("sys/class/block/sda1/partition", "1\n");
  const std::string nothing = " 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0\n",
                    some = " 9 0 0 0 0 0 0 0 9 0 0 0 0 0 0 0\n";
  put("proc/net/dev", "lo:" + some + "eth0:" + some + "ifb0:" + nothing);
  put("sys/class/net/eth0/speed", "10000\n");
  put("proc/pressure/cpu", "some avg10=0 avg60=0 avg300=0 total=5\nfull avg10=0 avg60=0 avg300=0 total=0\n");
  HostSampler host = sampler();
  MachineUse first, second;
  host.read(0, first);
  host.read(1, second);
  ASSERT_EQ(second.host.disks.size(), 2u);
  EXPECT_EQ(second.host.disks[0].name, "sda");
  EXPECT_EQ(second.host.disks[1].name, "nvme0n1");
  EXPECT_EQ(second.host.disks[1].bytes.received, 0);
  ASSERT_EQ(second.host.networks.size(), 1u);
  EXPECT_EQ(second.host.networks[0].bytes_per_s_limit, 1.25e9);
  EXPECT_EQ(second.host.cpu_pressure.some_share, 0);
  EXPECT_EQ(second.host.cpu_pressure.full_share, std::nullopt);
  EXPECT_THAT(second.notes, Not(Contains(HasSubstr("time in line"))));
}

TEST_F(Host, CountsInfiniBandPortsAsNetworks) {
  put("proc/net/dev", "lo: 1 0 0 0 0 0 0 0 1 0 0 0 0 0 0 0\n");
  put("sys/class/infiniband/mlx5_0/ports/1/counters/port_rcv_data", "1000\n");
  put("sys/class/infiniband/mlx5_0/ports/1/counters/port_xmit_data", "500\n");
  put("sys/class/infiniband/mlx5_0/ports/1/rate", "400 Gb/sec (4X NDR)\n");
  HostSampler host = sampler();
  MachineUse first, second;
  host.read(0, first);
  put("sys/class/infiniband/mlx5_0/ports/1/counters/port_rcv_data", "3000\n");
  host.read(2, second);
  ASSERT_EQ(second.host.networks.size(), 1u);
  EXPECT_EQ(second.host.networks[0].name, "mlx5_0:1");
  EXPECT_EQ(second.host.networks[0].bytes.received, 4000);  // words of four bytes
  EXPECT_EQ(second.host.networks[0].bytes.sent, 0);
  EXPECT_EQ(second.host.networks[0].bytes_per_s_limit, 50e9);
}

TEST(HostSampler, ReadsThisMachine) {
  HostSampler host;
  MachineUse first, second;
  host.read(0, first);
  EXPECT_EQ(first.host.busy_share, std::nullopt);
  ::usleep(200'000);
  host.read(0.2, second);
  EXPECT_GT(second.host.cpus, 0);
  EXPECT_EQ(static_cast<int64_t>(second.host.cpu_busy.size()), second.host.cpus);
  ASSERT_TRUE(second.host.busy_share.has_value());
  EXPECT_LE(*second.host.busy_share, 1);
  EXPECT_GT(*second.host.memory_total_bytes, *second.host.memory_available_bytes);
  EXPECT_FALSE(second.processes.empty());
}

}  // namespace
}  // namespace hone::observe::system
