#include "lab/machine.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace hone::lab {
namespace {

TEST(Machine, IsDescribed) {
  const Machine machine = describe_machine();
  EXPECT_FALSE(machine.cpu.empty());
  EXPECT_GE(machine.cores, 1);
  EXPECT_GE(machine.hardware_threads, machine.cores);
  EXPECT_GT(machine.memory_bytes, int64_t{100} << 20);
  EXPECT_LE(machine.available_bytes, machine.memory_bytes);
  int64_t inner = 0;
  for (const CacheLevel& cache : machine.caches) {
    EXPECT_GT(cache.bytes, inner);
    inner = cache.bytes;
  }
  EXPECT_NE(machine_title(machine).find(" core"), std::string::npos);
  const auto json = machine_json(machine);
  EXPECT_EQ(json["cores"], machine.cores);
  EXPECT_TRUE(json["libraries"].contains("oneDNN"));
}

TEST(Machine, CpuListsAreRead) {
  using internal::parse_cpu_list;
  EXPECT_EQ(parse_cpu_list("0-3,8,10-11"), (std::vector<int>{0, 1, 2, 3, 8, 10, 11}));
  EXPECT_EQ(parse_cpu_list(""), std::vector<int>{});
  EXPECT_EQ(parse_cpu_list("x,2,-5"), std::vector<int>{2});
}

TEST(Machine, CacheSizesAreRead) {
  using internal::parse_cache_size;
  EXPECT_EQ(parse_cache_size("48K"), 48 << 10);
  EXPECT_EQ(parse_cache_size("32M"), 32 << 20);
  EXPECT_EQ(parse_cache_size("512"), 512);
  EXPECT_EQ(parse_cache_size("big"), 0);
  EXPECT_EQ(parse_cache_size("-1K"), 0);
}

TEST(Machine, ContainerQuotasAreRoundedUp) {
  using internal::parse_cpu_quota;
  EXPECT_EQ(parse_cpu_quota("max 100000"), 0);
  EXPECT_EQ(parse_cpu_quota("150000 100000"), 2);
  EXPECT_EQ(parse_cpu_quota("10000 100000"), 1);
  EXPECT_EQ(parse_cpu_quota(""), 0);
}

TEST(Machine, NamesTheVersionOfOpenMp) {
  EXPECT_EQ(internal::openmp_version(201511), "4.5");
  EXPECT_EQ(internal::openmp_version(209912), "209912");
}

}  // namespace
}  // namespace hone::lab
