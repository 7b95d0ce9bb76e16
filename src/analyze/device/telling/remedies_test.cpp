#include "analyze/device/telling/remedies.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace hone::analyze::device {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

Part part(PartKind kind, double ms) {
  Part made;
  made.kind = kind;
  made.ms = ms;
  return made;
}

Part collective(PartWork work, double ms, bool narrow = false) {
  return part({.work = work, .narrow = narrow}, ms);
}

constexpr ProgramTraits kTraining{.trains = true};

Inputs tensors(std::vector<std::vector<int64_t>> shapes) {
  Inputs inputs;
  for (std::vector<int64_t>& dims : shapes) {
    inputs.emplace_back();
    inputs.back().kind = trace::CallInput::Kind::kTensor;
    inputs.back().dims = std::move(dims);
  }
  return inputs;
}

TEST(Remedies, SpeakOfTheDirectionInWhichCopiesGo) {
  const Part in = part({PartWork::kCopyToDevice}, 9), out = part({PartWork::kCopyToHost, true}, 8);
  const Part wait = part({}, 20);
  EXPECT_THAT(copy_remedy({&in, &wait}), AllOf(HasSubstr("pin_memory"), Not(HasSubstr(".cpu()"))));
  EXPECT_THAT(copy_remedy({&wait, &out}), AllOf(HasSubstr(".cpu()"), Not(HasSubstr("pin_memory"))));
  EXPECT_THAT(copy_remedy({&in, &out}), AllOf(HasSubstr(".cpu()"), HasSubstr("pin_memory")));
  EXPECT_THAT(copy_remedy({&wait}), AllOf(HasSubstr(".cpu()"), HasSubstr("pin_memory")));
}

TEST(Remedies, SpeakOfLayersWhereTurnsOfLoopsLookLikeThem) {
  Loops loops;
  loops.loops.push_back({.works = 90, .layers = true});
  loops.loops.push_back({.works = 80});
  loops.loops.push_back({.works = 500, .copies = true});
  EXPECT_THAT(loop_remedy(loops), AllOf(HasSubstr("layers of a model"), Not(HasSubstr("foreach"))));
  loops.loops[1].works = 100;
  EXPECT_THAT(loop_remedy(loops), HasSubstr("foreach"));
}

TEST(Remedies, SpeakOfBucketsOnlyWhereReductionsAreMost) {
  const Part gather = collective(PartWork::kGather, 3);
  const Part reduce = collective(PartWork::kReduction, 1);
  EXPECT_THAT(exchange_remedy({&gather, &reduce}, kTraining),
              AllOf(HasSubstr("gather"), Not(HasSubstr("bucket"))));
  EXPECT_THAT(exchange_remedy({&reduce}, kTraining), AllOf(HasSubstr("bucket"), Not(HasSubstr("all ranks"))));
}

TEST(Remedies, AskForTheRanksThatAreMissingFirst) {
  const Part reduce = collective(PartWork::kReduction, 1);
  EXPECT_THAT(exchange_remedy({&reduce}, ProgramTraits{.trains = true, .all_ranks = false}),
              testing::StartsWith("explain the files of all ranks"));
}

TEST(Remedies, SayNothingOfGradientsWhereNoneAreComputed) {
  const Part reduce = collective(PartWork::kReduction, 1, true);
  EXPECT_THAT(exchange_remedy({&reduce}, ProgramTraits{}),
              AllOf(HasSubstr("split the batch"), Not(HasSubstr("DistributedDataParallel")),
                    Not(HasSubstr("in bf16"))));
  const Part gather = collective(PartWork::kGather, 1);
  EXPECT_THAT(exchange_remedy({&gather}, ProgramTraits{}), Not(HasSubstr("FSDP")));
}

TEST(Remedies, JoinSmallMessagesBeforeHidingThem) {
  const Part reduce = collective(PartWork::kReduction, 1);
  EXPECT_THAT(exchange_remedy({&reduce}, ProgramTraits{.trains = true, .small_messages = true}),
              testing::StartsWith("join small messages"));
}

TEST(Remedies, PinNoMemoryThatIsPinned) {
  const Part in = part({PartWork::kCopyToDevice, true}, 9), out = part({PartWork::kCopyToHost, true}, 2);
  EXPECT_THAT(copy_remedy({&in}), Not(HasSubstr("pin_memory")));
  EXPECT_THAT(copy_remedy({&in, &out}), Not(HasSubstr("pin_memory")));
  const Part back = part({PartWork::kCopyToHost, true}, 9);
  EXPECT_THAT(copy_remedy({&in, &back}), HasSubstr("keep on the device what goes to the host"));
}

TEST(Remedies, NameTheMemoryFormatThatPyTorchHas) {
  const Inputs image = tensors({{8, 64, 32, 32}, {64, 64, 3, 3}});
  const Inputs volume = tensors({{8, 64, 32, 32, 32}, {64, 64, 3, 3, 3}});
  const Inputs series = tensors({{8, 64, 1, 4096}, {64, 64, 1, 5}});
  EXPECT_THAT(image_remedy({&image, &series}), HasSubstr("torch.channels_last)"));
  EXPECT_THAT(image_remedy({&volume}), HasSubstr("torch.channels_last_3d"));
  EXPECT_THAT(image_remedy({&series}), AllOf(HasSubstr("unsqueeze"), HasSubstr("nn.Linear")));
}

TEST(Remedies, SpeakOfTheCallsThatWait) {
  const auto counted = [](PartWork work, double ms) {
    Part made = part({work}, ms);
    made.count = 3;
    return made;
  };
  const Part all = counted(PartWork::kWaitForDevice, 1), item = counted(PartWork::kOther, 2);
  const Part size = counted(PartWork::kWaitForSize, 1), again = part({}, 9);
  EXPECT_THAT(wait_remedy({&again, &all}), HasSubstr("torch.cuda.synchronize()"));
  EXPECT_THAT(wait_remedy({&again, &size}), HasSubstr("torch.where"));
  EXPECT_THAT(wait_remedy({&again, &all, &item}), HasSubstr(".item()"));
}

TEST(Remedies, ReadAheadOrWriteBehind) {
  const Part write = part({PartWork::kWrite}, 1), read = part({PartWork::kRead}, 1);
  EXPECT_THAT(file_remedy({&write}), AllOf(HasSubstr("async_save"), Not(HasSubstr("num_workers"))));
  EXPECT_THAT(file_remedy({&read}), AllOf(HasSubstr("num_workers"), Not(HasSubstr("async_save"))));
  EXPECT_THAT(file_remedy({&read, &write}), AllOf(HasSubstr("num_workers"), HasSubstr("async_save")));
}

TEST(MicroBatchRemedy, NamesTheNumberWhereMoreWinLess) {
  EXPECT_NE(micro_batch_remedy(4).find("four or more"), std::string::npos);
  EXPECT_NE(micro_batch_remedy(2).find("2 micro-batches"), std::string::npos);
}

}  // namespace
}  // namespace hone::analyze::device
