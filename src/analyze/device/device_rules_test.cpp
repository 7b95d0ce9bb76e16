// The table of rules: what programs, CI and tests hold on to.
#include "analyze/device/device_rules.h"

#include <set>
#include <string>

#include <gtest/gtest.h>

namespace hone::analyze::device {
namespace {

TEST(DeviceRules, AreKnownByNamesOfTheirOwn) {
  std::set<std::string> ids;
  for (const DeviceRule& rule : device_rules()) {
    EXPECT_EQ(rule.id.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789_"), std::string_view::npos)
        << rule.id;
    EXPECT_FALSE(rule.id.empty()) << rule.title;
    EXPECT_TRUE(ids.insert(std::string(rule.id)).second) << rule.id;
  }
}

}  // namespace
}  // namespace hone::analyze::device
