// What entries are about: by whole words and exact names, not by letters that stand in them.
#include "analyze/device/entry_traits.h"

#include <gtest/gtest.h>

#include "trace/testing/add_span.h"

namespace hone::analyze::device {
namespace {

EntryKind of_file(std::string_view name) { return traits_of_call(Cause::kIo, name).kind; }

TEST(EntryTraits, OfFilesGoesByWholeWords) {
  EXPECT_EQ(of_file("read_batch"), EntryKind::kRead);
  EXPECT_EQ(of_file("numpy/lib/npyio.py(312): load"), EntryKind::kRead);
  EXPECT_EQ(of_file("torch.save"), EntryKind::kWrite);
  EXPECT_EQ(of_file("pwrite64"), EntryKind::kWrite);
  EXPECT_EQ(of_file("thread_pool_files"), EntryKind::kOther);  // "read" stands in it
  EXPECT_EQ(of_file("enumerate(DataLoader)"), EntryKind::kOther);
}

TEST(EntryTraits, OfWaitsGoesByTheCall) {
  const auto of_wait = [](std::string_view name) { return traits_of_call(Cause::kHostSync, name).kind; };
  EXPECT_EQ(of_wait("cudaEventSynchronize"), EntryKind::kWaitForDevice);
  EXPECT_EQ(of_wait("aten::nonzero"), EntryKind::kWaitForSize);
  EXPECT_EQ(of_wait("aten::item"), EntryKind::kOther);
  EXPECT_EQ(traits_of_call(Cause::kHostOther, "aten::nonzero").kind, EntryKind::kOther);
}

TEST(EntryTraits, OfCollectivesGoesByTheirKernels) {
  trace::Trace trace;
  const trace::TrackId stream = add_stream(trace, add_process(trace));
  const auto of = [&](const char* kernel) {
    Work work;
    work.span = add_span(trace, {.on = stream, .name = kernel});
    return traits_of_collective(trace, work);
  };
  EXPECT_EQ(of("ncclDevKernel_AllReduce_Sum_f32_RING_LL").kind, EntryKind::kReduction);
  EXPECT_TRUE(of("ncclDevKernel_AllReduce_Sum_bf16_RING_LL").narrow);
  EXPECT_EQ(of("ncclDevKernel_ReduceScatter_Sum_f32_RING_LL").kind, EntryKind::kReduceScatter);
  EXPECT_EQ(of("ncclDevKernel_AllGather_RING_LL").kind, EntryKind::kGather);
  EXPECT_EQ(of("ncclDevKernel_SendRecv").kind, EntryKind::kExchange);
  EXPECT_EQ(of("a_kernel").kind, EntryKind::kOther);
}

}  // namespace
}  // namespace hone::analyze::device
