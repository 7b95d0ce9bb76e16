// What parts are about: by whole words and exact names, not by letters that stand in them.
#include "analyze/device/part_kind.h"

#include <gtest/gtest.h>

#include "trace/testing/add_span.h"

namespace hone::analyze::device {
namespace {

PartWork of_file(std::string_view name) { return kind_of_call(Cause::kIo, name).work; }

TEST(PartKind, OfFilesGoesByWholeWords) {
  EXPECT_EQ(of_file("read_batch"), PartWork::kRead);
  EXPECT_EQ(of_file("numpy/lib/npyio.py(312): load"), PartWork::kRead);
  EXPECT_EQ(of_file("torch.save"), PartWork::kWrite);
  EXPECT_EQ(of_file("pwrite64"), PartWork::kWrite);
  EXPECT_EQ(of_file("thread_pool_files"), PartWork::kOther);  // "read" stands in it
  EXPECT_EQ(of_file("enumerate(DataLoader)"), PartWork::kOther);
}

TEST(PartKind, OfWaitsGoesByTheCall) {
  const auto of_wait = [](std::string_view name) { return kind_of_call(Cause::kHostSync, name).work; };
  EXPECT_EQ(of_wait("cudaEventSynchronize"), PartWork::kWaitForDevice);
  EXPECT_EQ(of_wait("aten::nonzero"), PartWork::kWaitForSize);
  EXPECT_EQ(of_wait("aten::item"), PartWork::kOther);
  EXPECT_EQ(kind_of_call(Cause::kHostOther, "aten::nonzero").work, PartWork::kOther);
}

TEST(PartKind, OfCollectivesGoesByTheirKernels) {
  trace::Trace trace;
  const trace::TrackId stream = add_stream(trace, add_process(trace));
  const auto of = [&](const char* kernel) {
    Work work;
    work.span = add_span(trace, {.on = stream, .name = kernel});
    return kind_of_collective(trace, work);
  };
  EXPECT_EQ(of("ncclDevKernel_AllReduce_Sum_f32_RING_LL").work, PartWork::kReduction);
  EXPECT_TRUE(of("ncclDevKernel_AllReduce_Sum_bf16_RING_LL").narrow);
  EXPECT_EQ(of("ncclDevKernel_ReduceScatter_Sum_f32_RING_LL").work, PartWork::kReduceScatter);
  EXPECT_EQ(of("ncclDevKernel_AllGather_RING_LL").work, PartWork::kGather);
  EXPECT_EQ(of("ncclDevKernel_SendRecv").work, PartWork::kExchange);
  EXPECT_EQ(of("a_kernel").work, PartWork::kOther);
}

}  // namespace
}  // namespace hone::analyze::device
