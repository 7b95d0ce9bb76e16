#include "kernels/cpu/cores.h"

#include <algorithm>

#include <gtest/gtest.h>
#include <omp.h>

#include "kernels/cpu/parallel.h"

namespace hone::kernels {
namespace {

TEST(Cores, AreAmongTheUsableCpusAndNoMoreThanThey) {
  const std::vector<int> cpus = usable_cpus();
  const std::vector<int> cores = one_cpu_per_core(cpus);
  ASSERT_FALSE(cores.empty());
  for (int core : cores) EXPECT_NE(std::find(cpus.begin(), cpus.end(), core), cpus.end());
  EXPECT_GE(default_thread_count(), 1);
  EXPECT_LE(default_thread_count(), static_cast<int>(cores.size()));
}

TEST(PinnedTeam, HoldsEachThreadOnItsCoreAndGivesTheMaskBack) {
  const std::vector<int> before = usable_cpus();
  const auto cores = static_cast<int>(one_cpu_per_core(before).size());
  if (cores < 2) GTEST_SKIP() << "one core: nothing to pin";
  {
    const PinnedTeam team(cores);
    EXPECT_TRUE(team.pinned());
    std::vector<int> held(static_cast<std::size_t>(cores));
    const TeamSize size(cores);
#pragma omp parallel
    {
      const std::vector<int> mine = usable_cpus();
      held[static_cast<std::size_t>(omp_get_thread_num())] = mine.size() == 1 ? mine[0] : -1;
    }
    std::sort(held.begin(), held.end());
    EXPECT_EQ(held, one_cpu_per_core(before));
  }
  const TeamSize size(cores);
#pragma omp parallel
  { EXPECT_EQ(usable_cpus(), before); }
}

TEST(PinnedTeam, LeavesASmallerTeamAlone) {
  const std::vector<int> before = usable_cpus();
  const PinnedTeam team(1);
  EXPECT_FALSE(team.pinned());
  EXPECT_EQ(usable_cpus(), before);
}

}  // namespace
}  // namespace hone::kernels
