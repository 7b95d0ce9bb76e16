#include "trace/collective_kind.h"

#include <set>

#include <gtest/gtest.h>

namespace hone::trace {
namespace {

TEST(CollectiveKinds, OneNamesForAllThatFrameworksAndKernelsCallThem) {
  for (std::string_view name : {"allreduce", "all_reduce", "allreduce_coalesced",
                                "ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096ul>)"})
    EXPECT_EQ(collective_kind(name), CollectiveKind::kAllReduce) << name;
  for (std::string_view name : {"_reduce_scatter_base", "reduce_scatter_tensor_coalesced", "reducescatter",
                                "ncclDevKernel_ReduceScatter_Sum_bf16_RING_LL"})
    EXPECT_EQ(collective_kind(name), CollectiveKind::kReduceScatter) << name;
  for (std::string_view name : {"_allgather_base", "all_gather_into_tensor_coalesced", "allgather",
                                "ncclDevKernel_AllGather_RING_LL"})
    EXPECT_EQ(collective_kind(name), CollectiveKind::kAllGather) << name;
  for (std::string_view name : {"send", "recv", "recvAnySource", "sendrecv", "ncclDevKernel_SendRecv"})
    EXPECT_EQ(collective_kind(name), CollectiveKind::kMessage) << name;
  EXPECT_EQ(collective_kind("all_to_allv"), CollectiveKind::kAllToAll);
  EXPECT_EQ(collective_kind("gather"), CollectiveKind::kGather);
  EXPECT_EQ(collective_kind("ncclDevKernel_Reduce_Sum_f32_RING_LL"), CollectiveKind::kReduce);
  EXPECT_EQ(collective_kind(""), CollectiveKind::kOther);
}

TEST(CollectiveKinds, OnlyWhatAllRanksLeaveTogetherTellsOfClocks) {
  EXPECT_TRUE(ends_at_once(CollectiveKind::kReduceScatter));
  EXPECT_FALSE(ends_at_once(CollectiveKind::kBroadcast));
  EXPECT_FALSE(ends_at_once(CollectiveKind::kGather)) << "the others are done when they have sent";
}

TEST(CollectiveKinds, EveryRowCanDecideAndEveryKindHasOne) {
  EXPECT_EQ(unreachable_rows(collective_kind_table()), std::vector<std::string_view>());
  std::set<CollectiveKind> named = {CollectiveKind::kOther};
  for (const NamePattern<CollectiveKind>& row : collective_kind_table()) named.insert(row.value);
  EXPECT_EQ(named.size(), kCollectiveKindCount);
  std::set<std::string_view> names;
  for (const CollectiveKind kind : named) names.insert(collective_kind_name(kind));
  EXPECT_EQ(names.size(), kCollectiveKindCount);
}

TEST(MessageEnds, AreNamedByTheRangeOfEitherSide) {
  ASSERT_TRUE(message_ends("nccl:recv 3<-2"));
  EXPECT_EQ(message_ends("nccl:recv 3<-2")->from, 2);
  EXPECT_EQ(message_ends("nccl:send 2->3")->to, 3);
  EXPECT_FALSE(message_ends("nccl:all_reduce"));
}

}  // namespace
}  // namespace hone::trace
