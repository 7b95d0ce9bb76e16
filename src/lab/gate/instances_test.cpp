// Comparisons of programs whose copies in memory differ: on a simulated machine, where each instance of a
// plan has a speed of its own by some tenths of a percent.
#include "lab/gate/instances.h"

#include <cmath>
#include <random>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace hone::lab {
namespace {

// Instances of two plans, 1 ms a call and `b_ms`, each off by `placement` (a standard deviation), each call
// by 0.2 %.
struct PlacedPlans {
  PlacedPlans(double b_ms, double placement, int instances, uint64_t seed) : random(seed) {
    for (int i = 0; i < instances; ++i) {
      a.push_back(instance(1e6 * std::exp(placement * normal(random))));
      b.push_back(instance(b_ms * 1e6 * std::exp(placement * normal(random))));
    }
  }
  Workload instance(double ns) {
    return [this, ns] {
      time += ns * std::exp(0.002 * normal(random));
      return Status();
    };
  }
  PairedOptions options(uint64_t seed) {
    PairedOptions options;
    options.clock = [this] { return static_cast<int64_t>(time); };
    options.budget_ns = 400'000'000;
    options.seed = seed;
    return options;
  }

  std::mt19937_64 random;
  std::normal_distribution<double> normal;
  double time = 0;
  std::vector<Workload> a, b;
};

int claims(double b_ms, double placement, int instances, int comparisons) {
  int claimed = 0;
  for (int i = 0; i < comparisons; ++i) {
    PlacedPlans plans(b_ms, placement, instances, 100 + static_cast<uint64_t>(i));
    const auto result = run_paired_instances(plans.a, plans.b, plans.options(static_cast<uint64_t>(i)));
    EXPECT_TRUE(result.ok());
    claimed += result->change != SpeedChange::kNoDifference;
  }
  return claimed;
}

TEST(Instances, OneCopyAgainstOneClaimsWhereItLies) {
  int claimed = 0;
  for (int i = 0; i < 50; ++i) {
    PlacedPlans plans(1, 0.004, 1, 100 + static_cast<uint64_t>(i));
    const auto result = run_paired(plans.a[0], plans.b[0], plans.options(static_cast<uint64_t>(i)));
    ASSERT_TRUE(result.ok());
    claimed += result->change != SpeedChange::kNoDifference;
  }
  EXPECT_GT(claimed, 15) << "what is to be avoided: true of these copies, false of the models";
}

TEST(Instances, EqualPlansAreClaimedDifferentNoMoreOftenThanStated) {
  for (int instances : {2, 3})
    EXPECT_LE(claims(1, 0.004, instances, 200), 18) << instances << " instances, 5 %: 10";
}

TEST(Instances, ARealDifferenceIsStillSeen) {
  EXPECT_GE(claims(0.96, 0.002, 3, 50), 45);
  EXPECT_GE(claims(0.9, 0.004, 2, 50), 45);
}

TEST(Instances, NeitherSideIsAlwaysMadeFirst) {
  EXPECT_THAT(making_order(3), testing::ElementsAre(0, 1, 1, 0, 0, 1));
  EXPECT_THAT(making_order(2), testing::ElementsAre(0, 1, 1, 0));
}

TEST(Instances, TakesTwoOrThreeOfEach) {
  PlacedPlans plans(1, 0, 1, 1);
  EXPECT_FALSE(run_paired_instances(plans.a, plans.b, plans.options(1)).ok());
}

}  // namespace
}  // namespace hone::lab
