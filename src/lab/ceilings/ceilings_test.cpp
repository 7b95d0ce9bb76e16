#include "lab/ceilings/ceilings.h"

#include <algorithm>
#include <cstdio>
#include <ctime>
#include <string>

#include <fmt/chrono.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "core/file.h"
#include "core/testing/rival.h"
#include "core/testing/scratch_path.h"
#include "core/units.h"
#include "lab/ceilings/cache.h"
#include "lab/ceilings/ceilings_json.h"
#include "lab/ceilings/team.h"

namespace hone::lab {
namespace {

Ceilings measure_quickly() {
  CeilingsOptions options;
  options.quick = true;
  auto measured = measure_ceilings(describe_machine(), options);
  EXPECT_TRUE(measured.ok());
  return *measured;
}

// Measured once for all tests of this file.
const Ceilings& quick_ceilings() {
  static const Ceilings ceilings = measure_quickly();
  return ceilings;
}

// An order between rates holds for the machine, but not for one measurement while others use the machine: the
// readings are seconds apart. Measures anew, up to five times, until `find_fault` finds none; returns the
// last fault.
template <typename FindFault>
std::string fault_of_every_measurement(FindFault find_fault) {
  std::string fault = find_fault(quick_ceilings().roofs);
  for (int again = 0; again < 4 && !fault.empty(); ++again) fault = find_fault(measure_quickly().roofs);
  return fault;
}

double memory_rate(const Roofs& roofs, std::string_view level, std::string_view operation, int threads) {
  for (const MemoryRoof& row : roofs.memory)
    if (row.level == level && row.operation == operation && row.threads == threads) return row.bytes.high;
  return 0;
}

double compute_rate(const Roofs& roofs, DType dtype, std::string_view method, int threads) {
  for (const ComputeRoof& row : roofs.compute)
    if (row.dtype == dtype && row.method == method && row.threads == threads) return row.flops.high;
  return 0;
}

TEST(Ceilings, EveryRoofIsMeasuredWithItsSpread) {
  const Roofs& roofs = quick_ceilings().roofs;
  EXPECT_GE(roofs.compute.size(), 3u);
  EXPECT_GE(roofs.memory.size(), 3u);
  for (const ComputeRoof& row : roofs.compute) {
    EXPECT_GT(row.flops.low, 1e6) << dtype_name(row.dtype) << " " << row.method;
    EXPECT_LE(row.flops.low, row.flops.median);
    EXPECT_LE(row.flops.median, row.flops.high);
  }
  for (const MemoryRoof& row : roofs.memory) {
    EXPECT_GT(row.bytes.low, 1e6) << row.level << " " << row.operation;
    EXPECT_LE(row.bytes.low, row.bytes.median);
    EXPECT_LE(row.bytes.median, row.bytes.high);
    EXPECT_EQ(row.capacity_bytes == 0, row.level == "DRAM");
  }
  EXPECT_GT(roofs.barrier.median, 0);
  EXPECT_GT(roofs.thread_start.median, 0);
  EXPECT_FALSE(quick_ceilings().measured_at.empty());
}

double best_micro_kernel(const Roofs& roofs, DType dtype, int threads) {
  return std::max(compute_rate(roofs, dtype, "fma", threads), compute_rate(roofs, dtype, "tiles", threads));
}

// The highest repetitions are compared: on a busy machine the medians tell about the others' work.
// Not with a sanitizer, which slows the micro-kernel and not the library's product.
#ifndef __SANITIZE_ADDRESS__
TEST(Ceilings, NothingBeatsTheBestMicroKernel) {
  EXPECT_EQ(fault_of_every_measurement([](const Roofs& roofs) -> std::string {
              for (const ComputeRoof& row : roofs.compute) {
                if (row.method != "gemm" || row.threads != 1) continue;
                const double best = best_micro_kernel(roofs, row.dtype, 1);
                if (best > 0 && best < 0.9 * row.flops.high) return std::string(dtype_name(row.dtype));
              }
              return {};
            }),
            "");
  EXPECT_GT(compute_rate(quick_ceilings().roofs, DType::kF32, "gemm", 1), 0);
}
#endif

TEST(Ceilings, OuterLevelsAreSlower) {
  EXPECT_EQ(fault_of_every_measurement([](const Roofs& roofs) -> std::string {
              double inner = 0;
              for (const char* level : {"L1", "L2", "L3", "DRAM"}) {
                const double rate = memory_rate(roofs, level, "read", 1);
                if (rate == 0) continue;  // this machine has no such level, or doesn't tell
                if (inner > 0 && rate >= 1.25 * inner) return level;
                inner = rate;
              }
              return {};
            }),
            "");
  EXPECT_GT(memory_rate(quick_ceilings().roofs, "DRAM", "copy", 1), 0);
}

TEST(Ceilings, TheJsonFormRoundTrips) {
  const auto json = ceilings_json(quick_ceilings());
  const auto again = ceilings_from_json(nlohmann::ordered_json::parse(json.dump()));
  ASSERT_TRUE(again.ok()) << again.error().message;
  EXPECT_EQ(ceilings_json(*again), json);
}

TEST(Ceilings, BrokenJsonIsNamed) {
  auto json = ceilings_json(quick_ceilings());
  json["roofs"]["compute"][0]["flops_per_s"]["median"] = -1;
  EXPECT_NE(ceilings_from_json(json).error().message.find("flops_per_s"), std::string::npos);
  json["roofs"]["compute"][0].erase("dtype");
  EXPECT_NE(ceilings_from_json(json).error().message.find("dtype"), std::string::npos);
  json["roofs"]["compute"] = nlohmann::ordered_json::array();
  EXPECT_NE(ceilings_from_json(json).error().message.find("no roofs"), std::string::npos);
  EXPECT_FALSE(ceilings_from_json(nlohmann::ordered_json::array()).ok());
}

class CeilingsOnDisk : public testing::Test {
 protected:
  std::filesystem::path folder = scratch_path("hone-ceilings-test");
  Machine machine = describe_machine();

  void SetUp() override { std::filesystem::remove_all(folder); }
  void TearDown() override { std::filesystem::remove_all(folder); }
};

TEST_F(CeilingsOnDisk, WhatIsWrittenIsReadAgain) {
  const CeilingsCache cache(folder, machine, 2);
  EXPECT_EQ(cache.read().error().code, ErrorCode::kNotFound);
  ASSERT_TRUE(cache.write(quick_ceilings()).ok());
  const auto read = cache.read();
  ASSERT_TRUE(read.ok()) << read.error().message;
  EXPECT_TRUE(read->from_cache);
  EXPECT_EQ(ceilings_json(*read), ceilings_json(quick_ceilings()));
}

TEST_F(CeilingsOnDisk, AnotherMachineIsAnotherFile) {
  ASSERT_TRUE(CeilingsCache(folder, machine, 2).write(quick_ceilings()).ok());
  Machine other = machine;
  other.cpu += " X";
  EXPECT_EQ(CeilingsCache(folder, other, 2).read().error().code, ErrorCode::kNotFound);
  EXPECT_EQ(CeilingsCache(folder, machine, 1).read().error().code, ErrorCode::kNotFound);
}

TEST_F(CeilingsOnDisk, ACorruptedFileIsMeasuredAgainWithALine) {
  CeilingsOptions options;
  options.quick = true;
  options.cache_folder = folder;
  options.progress = [](double) { return false; };  // measuring would begin: enough to see
  const CeilingsCache cache(folder, machine, machine.cores);
  ASSERT_TRUE(cache.write(quick_ceilings()).ok());
  const auto cached = load_or_measure_ceilings(machine, options);
  ASSERT_TRUE(cached.ok());
  EXPECT_TRUE(cached->from_cache);

  for (const char* garbage : {"", "{", "[]", "null", "{\"schema\": 1}"}) {
    ASSERT_TRUE(write_file(cache.path(), garbage).ok());
    EXPECT_FALSE(cache.read().ok()) << garbage;
    EXPECT_EQ(load_or_measure_ceilings(machine, options).error().code, ErrorCode::kCancelled);
  }
  options.progress = {};
  ASSERT_TRUE(write_file(cache.path(), "{\"key\"").ok());
  const auto measured = load_or_measure_ceilings(machine, options);
  ASSERT_TRUE(measured.ok());
  EXPECT_FALSE(measured->from_cache);
  ASSERT_FALSE(measured->notes.empty());
  EXPECT_NE(measured->notes[0].find("measuring again"), std::string::npos) << measured->notes[0];
}

TEST_F(CeilingsOnDisk, DoubtIsKeptWithTheRoofsAndMakesThemAgeFaster) {
  Ceilings doubtful = quick_ceilings();
  doubtful.doubtful = {"f32 fma"};
  const CeilingsCache cache(folder, machine, machine.cores);
  CeilingsOptions options;
  options.quick = true;
  options.cache_folder = folder;
  options.progress = [](double) { return false; };  // measuring would begin
  ASSERT_TRUE(cache.write(doubtful).ok());
  const auto fresh = load_or_measure_ceilings(machine, options);
  ASSERT_TRUE(fresh.ok());
  EXPECT_EQ(origin_of(*fresh).doubtful, doubtful.doubtful);
  const std::time_t then = std::time(nullptr) - 2 * 3600;
  doubtful.measured_at = fmt::format("{:%Y-%m-%dT%H:%M:%SZ}", fmt::gmtime(then));
  ASSERT_TRUE(cache.write(doubtful).ok());
  EXPECT_EQ(load_or_measure_ceilings(machine, options).error().code, ErrorCode::kCancelled);
  doubtful.doubtful.clear();
  ASSERT_TRUE(cache.write(doubtful).ok());
  EXPECT_TRUE(load_or_measure_ceilings(machine, options).ok());
}

TEST_F(CeilingsOnDisk, OnlyFullRoofsMustBeBeyondDoubtToBeKept) {
  Ceilings measured = quick_ceilings();
  measured.doubtful = {"f32 fma"};
  EXPECT_TRUE(worth_keeping(measured)) << "the next command would measure on the same busy machine";
  measured.quick = false;
  EXPECT_FALSE(worth_keeping(measured));
  measured.doubtful.clear();
  EXPECT_TRUE(worth_keeping(measured));
}

TEST_F(CeilingsOnDisk, AQuickAnswerDoesNotStandForAFullOne) {
  CeilingsOptions options;
  options.cache_folder = folder;
  options.progress = [](double) { return false; };
  ASSERT_TRUE(CeilingsCache(folder, machine, machine.cores).write(quick_ceilings()).ok());
  EXPECT_EQ(load_or_measure_ceilings(machine, options).error().code, ErrorCode::kCancelled);
}

TEST_F(CeilingsOnDisk, AnUnwritableFolderOnlyCostsTheCache) {
  ASSERT_TRUE(write_file(folder, "a file, not a folder").ok());
  EXPECT_FALSE(CeilingsCache(folder, machine, 2).write(quick_ceilings()).ok());
  EXPECT_FALSE(CeilingsCache(folder, machine, 2).read().ok());
}

TEST(Team, ARivalForTheCpuIsADisturbance) {
  const testing_support::Rival rival;
  // Longer than any slice of the scheduler: the rival gets its turn meanwhile.
  const auto work = [] { testing_support::compute_for(100'000'000); };
  EXPECT_TRUE(time_team(1, [&](int) { work(); }).disturbed);
  EXPECT_TRUE(time_call(1, work).disturbed);
}

TEST(Team, DisturbedRepetitionsAreLeftOutAndCounted) {
  int call = 0;
  const Samples samples = collect({0, 9}, [&] {
    const bool disturbed = ++call % 3 == 0;
    return TeamTime{disturbed ? 9.0 : 1.0, 1.0, disturbed};
  });
  EXPECT_EQ(samples.repetitions, 9);
  EXPECT_EQ(samples.disturbed, 3);
  EXPECT_FALSE(samples.busy);
  EXPECT_EQ(rate_of(samples, 10).low, 10);
}

TEST(Team, ABusyMachineCountsCpuTimeAndSaysSo) {
  const Samples samples = collect({0, 5}, [] { return TeamTime{2.0, 0.5, true}; });
  EXPECT_TRUE(samples.busy);
  EXPECT_EQ(samples.seconds[0], 0.5);
  EXPECT_EQ(samples.seconds.size(), 5u);
}

TEST(Ceilings, OldQuickRoofsAreMeasuredAgainAndOnlyRise) {
  const Machine machine = describe_machine();
  const std::filesystem::path folder = scratch_path("hone_old_roofs");
  std::filesystem::remove_all(folder);
  const CeilingsCache cache(folder, machine, machine.cores);
  Ceilings old;
  old.quick = true;
  old.measured_at = "2020-01-01T00:00:00Z";
  old.roofs.machine = "old";
  old.roofs.threads = machine.cores;
  old.roofs.compute = {{DType::kF32, "fma", 1, Rate{1, 1, 1}}};
  old.roofs.memory = {{"DRAM", "copy", 1, 0, Rate{1e18, 1e18, 1e18}}};
  ASSERT_TRUE(cache.write(old).ok());
  CeilingsOptions options;
  options.quick = true;
  options.cache_folder = folder;
  const auto now = load_or_measure_ceilings(machine, options);
  ASSERT_TRUE(now.ok()) << now.error().message;
  EXPECT_FALSE(now->from_cache);
  EXPECT_GT(now->measured_at, old.measured_at);
  for (const ComputeRoof& row : now->roofs.compute) EXPECT_GT(row.flops.median, 1);
  double copy = 0;
  for (const MemoryRoof& row : now->roofs.memory)
    if (row.level == "DRAM" && row.operation == "copy" && row.threads == 1) copy = row.bytes.median;
  EXPECT_EQ(copy, 1e18) << "a disturbed measurement is too low, never too high";
  const auto again = load_or_measure_ceilings(machine, options);
  ASSERT_TRUE(again.ok());
  EXPECT_TRUE(again->from_cache) << "they are new now";
  EXPECT_LT(age_hours(*again), 0.1);
  EXPECT_EQ(origin_of(*again).disturbed, now->disturbed);
  std::filesystem::remove_all(folder);
}

}  // namespace
}  // namespace hone::lab
