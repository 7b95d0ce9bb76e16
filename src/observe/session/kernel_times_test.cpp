#include "observe/session/kernel_times.h"

#include <filesystem>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/testing/scratch_path.h"
#include "observe/session/counting.h"
#include "trace/testing/segment_writer.h"

namespace hone::observe {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using trace::segments::SegmentWriter;

class TimesOfKernels : public ::testing::Test {
 protected:
  void TearDown() override { std::filesystem::remove_all(folder); }

  void launch(const std::string& symbol, int64_t start_ns, int64_t ns, uint64_t graph_node = 0,
              uint32_t grid = 132) {
    auto kernel = writer.kernel(symbol, start_ns, ns, 1);
    kernel.graph_node = graph_node;
    kernel.grid[0] = grid;
    writer.add(kernel);
  }
  std::vector<KernelTime> read(int64_t begin_ns = 0) {
    writer.write(folder);
    times.begin(begin_ns);
    tail.read([this](const SegmentRecord& record) { times.see(record); });
    return times.kernels(100, tail);
  }

  std::filesystem::path folder = scratch_path("kernel_times");
  SegmentWriter writer{100};
  SegmentTail tail{folder / trace::segments::kFolder};
  KernelTimes times;
};

TEST_F(TimesOfKernels, AddUpByKernelAndGeometryTheLongestFirst) {
  launch("short", 1000, 10);
  launch("long", 2000, 80);
  launch("short", 3000, 10);
  launch("long", 4000, 50, 0, 8);
  const auto kernels = read();
  ASSERT_EQ(kernels.size(), 3u);
  EXPECT_EQ(kernels[0].symbol, "long");
  EXPECT_EQ(kernels[1].grid[0], 8u);
  EXPECT_EQ(kernels[2].ns, 20);
  EXPECT_EQ(kernels[2].launches, 2u);
  EXPECT_EQ(times.busiest(), 100);
}

TEST_F(TimesOfKernels, LeaveOutWhatRanBeforeRecordingBegan) {
  launch("warm_up", 1000, 5000);
  launch("work", 10'000, 10);
  const auto kernels = read(9000);
  ASSERT_EQ(kernels.size(), 1u);
  EXPECT_EQ(kernels[0].symbol, "work");
}

TEST_F(TimesOfKernels, CollectivesAndGraphsAreNotCountedAndSaidToBe) {
  launch("ncclDevKernel_AllReduce_Sum_bf16_RING_LL", 1000, 500);
  launch("in_graph", 2000, 400, 7);
  launch("gemm", 3000, 300);
  launch("gemm", 4000, 300, 8);
  launch("relu", 5000, 20);
  const auto choice = choose_kernels(read(), "", 5);
  ASSERT_TRUE(choice.ok());
  ASSERT_EQ(choice->counted.size(), 2u);
  EXPECT_EQ(choice->counted[0].symbol, "gemm");
  EXPECT_THAT(choice->left_out,
              ElementsAre(HasSubstr("talks with other devices"), HasSubstr("in_graph: CUDA graphs")));
}

TEST_F(TimesOfKernels, APatternChoosesByTheSymbolOrTheNameInCpp) {
  launch("_Z4gemmIfEvi", 1000, 500);
  launch("_Z4reluPf", 2000, 10);
  const auto kernels = read();
  for (const char* pattern : {"^_Z4relu", "relu\\(float"}) {
    const auto choice = choose_kernels(kernels, pattern, 5);
    ASSERT_TRUE(choice.ok());
    ASSERT_EQ(choice->counted.size(), 1u) << pattern;
    EXPECT_EQ(choice->counted[0].symbol, "_Z4reluPf");
  }
  EXPECT_THAT(choose_kernels(kernels, "conv", 5)->counted, IsEmpty());
  EXPECT_THAT(choose_kernels(kernels, "(", 5).error().message, HasSubstr("no regular expression"));
}

TEST(KernelsThatCommunicate, AreToldByTheirNames) {
  EXPECT_TRUE(communicates("ncclDevKernel_SendRecv(ncclDevKernelArgsStorage<4096ul>)"));
  EXPECT_TRUE(communicates("_ZN4vllm20cross_device_reduceIfEvPf"));
  EXPECT_TRUE(communicates("multimem_all_reduce_kernel"));
  EXPECT_FALSE(communicates("_ZN2at6native13reduce_kernelILi512ELi1EEEvT_"));
  EXPECT_FALSE(communicates("nvjet_sm90_tst_256x128_64x4_1x2_h_bz_coopA_NNT"));
}

TEST(CounterRequests, NameEveryMetricOfTheirSetAndEveryKernel) {
  KernelTime kernel;
  kernel.symbol = "_Z4gemmIfEvi";
  kernel.device = 1;
  kernel.grid = {132, 2, 1};
  kernel.block = {256, 1, 1};
  CountingOptions options;
  const std::string usual = counter_request({kernel}, options, 0);
  EXPECT_THAT(usual, HasSubstr("once dram__bytes_read.sum dram__bytes_op_read.sum\n"));
  EXPECT_THAT(usual, HasSubstr("metric smsp__inst_executed.sum sm__inst_executed.sum inst_executed\n"));
  EXPECT_THAT(
      usual, HasSubstr("once gpu__time_duration.sum gpu__time_duration.avg\nmetric gpu__time_duration.sum "));
  EXPECT_THAT(usual, HasSubstr("quiet 3000\n"));
  EXPECT_THAT(usual, HasSubstr("kernel 3 1 132 2 1 256 1 1 _Z4gemmIfEvi\n"));
  EXPECT_THAT(usual, Not(HasSubstr("stalled_drain")));
  EXPECT_THAT(usual, Not(HasSubstr("lines\n")));
  options.set = trace::CounterSet::kFull;
  options.lines = true;
  EXPECT_THAT(counter_request({kernel}, options, 4),
              AllOf(HasSubstr("stalled_drain"), HasSubstr("quiet 10000\n"), HasSubstr("\nlines\n")));
}

TEST(Counting, HasMoreTimeForMoreKernels) {
  EXPECT_EQ(CountingOptions().patience_s(5), 15);
  EXPECT_EQ(CountingOptions().patience_s(1), 15);
  EXPECT_EQ(CountingOptions().patience_s(24), 72);
}

}  // namespace
}  // namespace hone::observe
