#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "core/tensor.h"
#include "kernels/cpu/roof/arithmetic.h"
#include "kernels/cpu/roof/gemm.h"
#include "kernels/cpu/roof/traffic.h"

namespace hone::kernels::roof {
namespace {

// Time that this thread computed for: what other programs do meanwhile doesn't count.
double cpu_seconds() {
  timespec t{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return static_cast<double>(t.tv_sec) + 1e-9 * static_cast<double>(t.tv_nsec);
}

double seconds_of(const ArithmeticProbe& probe, int64_t iterations) {
  const double start = cpu_seconds();
  probe.run(iterations);
  return cpu_seconds() - start;
}

TEST(ArithmeticProbe, FloatsAreAlwaysThere) {
  const auto probes = arithmetic_probes();
  ASSERT_GE(probes.size(), 2u);
  EXPECT_EQ(probes[0].dtype, DType::kF32);
  EXPECT_EQ(probes[1].dtype, DType::kF64);
  EXPECT_DOUBLE_EQ(probes[0].operations_per_iteration, 2 * probes[1].operations_per_iteration);
  EXPECT_FALSE(vector_features().empty());
}

// If the compiler had removed or folded a loop, four times the iterations would not take four times as long,
// or the rate would be beyond any core: 2 × 64 vectors of operations a nanosecond. That they take longer than that
// would be the machine's doing: the core's other thread may use the matrix units for as long as it likes.
TEST(ArithmeticProbe, WorkGrowsWithTheIterations) {
  for (const ArithmeticProbe& probe : arithmetic_probes()) {
    SCOPED_TRACE(probe.instruction);
    double once = 1e9, four_times = 1e9;
    for (int repeat = 0; repeat < 12 || (repeat < 60 && four_times < 3 * once); ++repeat) {  // in turn
      once = std::min(once, seconds_of(probe, 50'000));
      four_times = std::min(four_times, seconds_of(probe, 200'000));
    }
    EXPECT_GT(four_times / once, 3);
    const double per_second = probe.operations_per_iteration * 200'000 / four_times;
    EXPECT_GT(per_second, 1e9);
    EXPECT_LT(per_second, 1e13);
  }
}

std::vector<ArithmeticProbe> tile_probes() {
  std::vector<ArithmeticProbe> probes = arithmetic_probes();
  std::erase_if(probes, [](const ArithmeticProbe& probe) { return probe.method != "tiles"; });
  return probes;
}

TEST(TileProbe, TheCpuAddsAsManyProductsAsAreCounted) {
  if (tile_probes().empty()) GTEST_SKIP() << "no matrix tiles for this process";
  for (const ArithmeticProbe& probe : tile_probes()) {
    SCOPED_TRACE(probe.instruction);
    for (const int64_t iterations : {0, 1, 3, 1000})
      EXPECT_EQ(2 * internal::tile_products(probe.dtype, iterations),
                probe.operations_per_iteration * static_cast<double>(iterations));
    EXPECT_NE(vector_features().find(probe.instruction), std::string::npos);
  }
}

// Tiles are configured for each thread, permission is the whole process's.
TEST(TileProbe, RunsOnEveryThreadAndInAFork) {
  if (tile_probes().empty()) GTEST_SKIP() << "no matrix tiles for this process";
  for (const ArithmeticProbe& probe : tile_probes()) {
    SCOPED_TRACE(probe.instruction);
    std::thread([&] {
      EXPECT_EQ(2 * internal::tile_products(probe.dtype, 5), 5 * probe.operations_per_iteration);
    }).join();
    EXPECT_EXIT(
        {
          probe.run(1000);
          std::_Exit(tile_probes().size() == 2 ? 0 : 1);
        },
        testing::ExitedWithCode(0), "");
  }
}

// The library configures tiles for itself, on the same thread.
TEST(TileProbe, TakesTurnsWithTheLibrarysProduct) {
  if (tile_probes().empty()) GTEST_SKIP() << "no matrix tiles for this process";
  for (const ArithmeticProbe& probe : tile_probes()) {
    auto product = GemmProbe::create(probe.dtype, 64);
    if (!product.ok()) continue;  // told to use lesser instructions, it may have none
    for (int i = 0; i < 3; ++i) {
      EXPECT_TRUE(product->run().ok());
      probe.run(10);
    }
  }
}

class Traffic : public testing::Test {
 protected:
  static constexpr std::size_t kBytes = 3 * kTrafficGrain;
  Tensor source = Tensor::zeros(DType::kU8, {kBytes + 64});
  Tensor target = Tensor::zeros(DType::kU8, {kBytes + 64});

  void SetUp() override {
    for (std::size_t i = 0; i < kBytes + 64; ++i) {
      source.as<uint8_t>()[i] = static_cast<uint8_t>(i * 7 + 1);
      target.as<uint8_t>()[i] = 0xee;
    }
  }
  void expect_untouched_behind() {
    for (std::size_t i = kBytes; i < kBytes + 64; ++i) ASSERT_EQ(target.as<uint8_t>()[i], 0xee) << i;
  }
};

TEST_F(Traffic, CopiesCopyAllAndNoMore) {
  for (const auto copy : {copy_memory, copy_streaming}) {
    SetUp();
    copy(target.data(), source.data(), kBytes, 2);
    EXPECT_EQ(std::memcmp(target.data(), source.data(), kBytes), 0);
    expect_untouched_behind();
  }
}

TEST_F(Traffic, WritesWriteAllAndNoMore) {
  for (const auto write : {write_memory, stream_memory}) {
    SetUp();
    write(target.data(), kBytes, 3);
    for (std::size_t i = 0; i < kBytes / 4; ++i) {
      uint32_t word = 0;
      std::memcpy(&word, target.as<uint8_t>().data() + 4 * i, 4);
      ASSERT_EQ(word, 2u) << i;  // the number of the last pass
    }
    expect_untouched_behind();
  }
}

TEST_F(Traffic, ReadingTakesTimeForEveryPass) {
  const auto time_passes = [&](int passes) {
    const double start = cpu_seconds();
    read_memory(source.data(), kBytes, passes);
    return cpu_seconds() - start;
  };
  double few = 1e9, many = 1e9;  // the least of both, in turns: what disturbs one disturbs the other
  for (int repeat = 0; repeat < 30; ++repeat) {
    few = std::min(few, time_passes(10'000));
    many = std::min(many, time_passes(40'000));
    if (repeat >= 4 && many > 3.5 * few && many < 4.5 * few) break;
  }
  EXPECT_GT(many, 3 * few);
  EXPECT_LT(many, 5 * few);
}

TEST(GemmProbe, MultipliesInFloat) {
  auto probe = GemmProbe::create(DType::kF32, 64);
  ASSERT_TRUE(probe.ok()) << probe.error().message;
  EXPECT_TRUE(probe->run().ok());
  EXPECT_DOUBLE_EQ(probe->operations(), 2.0 * 64 * 64 * 64);
  EXPECT_FALSE(probe->implementation().empty());
}

TEST(GemmProbe, SaysWhatItCannotDo) {
  const auto probe = GemmProbe::create(DType::kI64, 64);
  ASSERT_FALSE(probe.ok());
  EXPECT_EQ(probe.error().code, ErrorCode::kUnsupported);
}

}  // namespace
}  // namespace hone::kernels::roof
