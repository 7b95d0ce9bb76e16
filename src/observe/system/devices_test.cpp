#include "observe/system/devices.h"

#include <gtest/gtest.h>

namespace hone::observe::system {
namespace {

TEST(Disks, RatesAreOfWhatWasDoneBetweenTwoReadings) {
  // Linux 6.18: 20 numbers a line; Linux 4.x has 14.
  const auto before = parse_diskstats(
      "   7       0 loop0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0\n"
      " 254       0 vda 716725 48644 21041026 675774 771485 347883 239548760 1005484 0 175004 1755066 253405 "
      "51 "
      "209418968 47645 144112 26161\n");
  const auto after = parse_diskstats(
      " 254       0 vda 716825 48644 21045122 676774 771585 347883 239548760 1006484 0 176004 "
      "1755066\n 8 0 sda 1 1 1 1 1 1 1 1 1 1 1\n");
  const auto use = disk_use(before, after, 2);
  ASSERT_EQ(use.size(), 2u);
  EXPECT_EQ(use[0].name, "vda");
  EXPECT_EQ(use[0].bytes.received, 4096 * 512 / 2.0);
  EXPECT_EQ(use[0].bytes.sent, 0);
  EXPECT_EQ(use[0].busy_share, 0.5);
  EXPECT_EQ(use[0].operation_ms, 10);  // 2000 ms for 200 of them
  EXPECT_EQ(use[1].name, "sda");       // new: nothing is known of it
  EXPECT_FALSE(use[1].bytes.known());
  EXPECT_EQ(use[1].operation_ms, std::nullopt);
}

TEST(Disks, OfOneThatDidNothingNoTimeOfAnOperationIsKnown) {
  const auto disks = parse_diskstats("8 0 sda 5 5 5 5 5 5 5 5 5 5 5\n");
  const auto use = disk_use(disks, disks, 1);
  EXPECT_EQ(use[0].bytes.received, 0);
  EXPECT_EQ(use[0].operation_ms, std::nullopt);
}

TEST(Disks, LinesThatAreCutShortAreLeftOut) { EXPECT_TRUE(parse_diskstats("8 0 sda 5 5 5\n\nx\n").empty()); }

TEST(Networks, RatesAreOfBothWaysAndErrorsOfBoth) {
  constexpr const char* kHead =
      "Inter-|   Receive                                                |  Transmit\n"
      " face |bytes    packets errs drop fifo frame compressed multicast|bytes    packets errs drop fifo "
      "colls "
      "carrier compressed\n";
  const auto before =
      parse_net_dev(std::string(kHead) +
                    "  eth0: 955911373   36722    0    0    0     0          0         0  2388692   "
                    "31204    0    0    0     0       0          0\n");
  const auto after =
      parse_net_dev(std::string(kHead) +
                    "  eth0:955913373   36722    1    2    0     0          0         0  2389692   "
                    "31204    3    4    0     0       0          0\n");
  const auto use = network_use(before, after, 2);
  ASSERT_EQ(use.size(), 1u);
  EXPECT_EQ(use[0].name, "eth0");
  EXPECT_EQ(use[0].bytes.received, 1000);
  EXPECT_EQ(use[0].bytes.sent, 500);
  EXPECT_EQ(use[0].errors_per_s, 5);
}

}  // namespace
}  // namespace hone::observe::system
