// Works of the device that are compilation's.
#include "analyze/device/busy/compiling.h"

#include <gtest/gtest.h>

#include "analyze/device/accounts.h"
#include "analyze/device/testing/fabricate_works.h"

namespace hone::analyze::device {
namespace {

using fabricate::Works;

constexpr std::size_t at(Cause cause) { return static_cast<std::size_t>(cause); }

TEST(Compiling, TakesTheWorksThatItLaunchesWithIt) {
  Works made;
  made.run({.us = 20});
  made.host(trace::Category::kCompile, "autotune", 40);
  const uint32_t first = made.run({.us = 20}), second = made.run({.us = 20});
  made.pass(60);
  const uint32_t after = made.run({.us = 20});
  made.end_step();
  const Study study = make_study(made.trace(), gpu_roofs("NVIDIA H200"));
  const std::vector<WorkSplit>& works = study.ranks.at(0).split.works;
  for (const uint32_t work : {first, second}) {
    EXPECT_EQ(works[work].cause(), Cause::kCompile);
    EXPECT_EQ(works[work].target_ns, kGone);
  }
  EXPECT_EQ(works[0].cause(), Cause::kUnjudged);
  EXPECT_EQ(works[after].cause(), Cause::kUnjudged);
  // 40 µs of the device are compilation's; the two others are not.
  const Accounts accounts = make_accounts(study, 0);
  double compiled = 0;
  for (const AccountEntry& entry : accounts[at(Cause::kCompile)].entries)
    compiled += entry.op == kNothing ? 0 : entry.ms;
  EXPECT_NEAR(compiled, 0.040, 1e-6);
  EXPECT_NEAR(accounts[at(Cause::kUnjudged)].ms, 0.040, 1e-6);
}

}  // namespace
}  // namespace hone::analyze::device
