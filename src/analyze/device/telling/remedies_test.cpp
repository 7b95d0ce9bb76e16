#include "analyze/device/telling/remedies.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace hone::analyze::device {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

Part part(std::string name, double ms) {
  Part made;
  made.name = std::move(name);
  made.ms = ms;
  return made;
}

TEST(Remedies, SpeakOfTheDirectionInWhichCopiesGo) {
  const Part in = part("pageable copy host → device", 9), out = part("pinned copy device → host", 8);
  const Part wait = part("cudaMemcpyAsync", 20);
  EXPECT_THAT(copy_remedy({&in, &wait}), AllOf(HasSubstr("pin_memory"), Not(HasSubstr(".cpu()"))));
  EXPECT_THAT(copy_remedy({&wait, &out}), AllOf(HasSubstr(".cpu()"), Not(HasSubstr("pin_memory"))));
  EXPECT_THAT(copy_remedy({&in, &out}), AllOf(HasSubstr(".cpu()"), HasSubstr("pin_memory")));
  EXPECT_THAT(copy_remedy({&wait}), AllOf(HasSubstr(".cpu()"), HasSubstr("pin_memory")));
}

TEST(Remedies, SpeakOfBucketsOnlyWhereReductionsAreMost) {
  const Part gather = part("ncclDevKernel_AllGather_RING_LL", 3);
  const Part reduce = part("ncclDevKernel_AllReduce_Sum_f32_RING_LL", 1);
  EXPECT_THAT(exchange_remedy({&gather, &reduce}, true),
              AllOf(HasSubstr("gather"), Not(HasSubstr("bucket"))));
  EXPECT_THAT(exchange_remedy({&reduce}, true), AllOf(HasSubstr("bucket"), Not(HasSubstr("all ranks"))));
}

TEST(Remedies, AskForTheRanksThatAreMissingFirst) {
  const Part reduce = part("ncclDevKernel_AllReduce_Sum_f32_RING_LL", 1);
  EXPECT_THAT(exchange_remedy({&reduce}, false), testing::StartsWith("explain the files of all ranks"));
}

}  // namespace
}  // namespace hone::analyze::device
