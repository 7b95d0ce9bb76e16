#include "analyze/device/diagnosis/remedies.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "analyze/testing/advice_words.h"

namespace hone::analyze::device {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

AccountEntry entry(EntryTraits traits, double ms) {
  AccountEntry made;
  made.traits = traits;
  made.ms = ms;
  return made;
}

AccountEntry collective(EntryKind kind, double ms, bool narrow = false) {
  return entry({.kind = kind, .narrow = narrow}, ms);
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
  const AccountEntry in = entry({EntryKind::kCopyToDevice}, 9),
                     out = entry({EntryKind::kCopyToHost, true}, 8);
  const AccountEntry wait = entry({}, 20);
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
  EXPECT_THAT(loop_remedy(loops, {}), AllOf(HasSubstr("layers of a model"), Not(HasSubstr("foreach"))));
  loops.loops[1].works = 100;
  EXPECT_THAT(loop_remedy(loops, {}), HasSubstr("foreach"));
}

TEST(Remedies, SpeakOfBucketsOnlyWhereReductionsAreMost) {
  const AccountEntry gather = collective(EntryKind::kGather, 3);
  const AccountEntry reduce = collective(EntryKind::kReduction, 1);
  EXPECT_THAT(exchange_remedy({&gather, &reduce}, kTraining),
              AllOf(HasSubstr("gather"), Not(HasSubstr("bucket"))));
  EXPECT_THAT(exchange_remedy({&reduce}, kTraining), AllOf(HasSubstr("bucket"), Not(HasSubstr("all ranks"))));
}

TEST(Remedies, AskForTheRanksThatAreMissingFirst) {
  const AccountEntry reduce = collective(EntryKind::kReduction, 1);
  EXPECT_THAT(exchange_remedy({&reduce}, ProgramTraits{.trains = true, .all_ranks = false}),
              testing::StartsWith("explain the files of all ranks"));
}

TEST(Remedies, SayNothingOfGradientsWhereNoneAreComputed) {
  const AccountEntry reduce = collective(EntryKind::kReduction, 1, true);
  EXPECT_THAT(exchange_remedy({&reduce}, ProgramTraits{}),
              AllOf(HasSubstr("split the batch"), Not(HasSubstr("DistributedDataParallel")),
                    Not(HasSubstr("in bf16"))));
  const AccountEntry gather = collective(EntryKind::kGather, 1);
  EXPECT_THAT(exchange_remedy({&gather}, ProgramTraits{}), Not(HasSubstr("FSDP")));
}

TEST(Remedies, JoinSmallMessagesBeforeHidingThem) {
  const AccountEntry reduce = collective(EntryKind::kReduction, 1);
  EXPECT_THAT(exchange_remedy({&reduce}, ProgramTraits{.trains = true, .small_messages = true}),
              testing::StartsWith("join small messages"));
}

TEST(Remedies, PinNoMemoryThatIsPinned) {
  const AccountEntry in = entry({EntryKind::kCopyToDevice, true}, 9),
                     out = entry({EntryKind::kCopyToHost, true}, 2);
  EXPECT_THAT(copy_remedy({&in}), Not(HasSubstr("pin_memory")));
  EXPECT_THAT(copy_remedy({&in, &out}), Not(HasSubstr("pin_memory")));
  const AccountEntry back = entry({EntryKind::kCopyToHost, true}, 9);
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

TEST(Remedies, AdviseGraphsOnlyWhereShapesStay) {
  EXPECT_THAT(launch_remedy({}), HasSubstr("one launch a step"));
  EXPECT_THAT(launch_remedy({.varying = 0.066}),
              AllOf(HasSubstr("whose shapes stay"), HasSubstr("6.6 %"), Not(HasSubstr("one launch a step"))));
  const ProgramTraits generates = {.cache_grows = true};
  EXPECT_THAT(launch_remedy(generates), HasSubstr("cache_implementation=\"static\""));
  EXPECT_EQ(loop_remedy({}, generates), launch_remedy(generates)) << "a loop over layers, token by token";
  EXPECT_FALSE(generates.may_be_one_graph());
  EXPECT_TRUE(ProgramTraits{.varying = 0.001}.may_be_one_graph()) << "a masked value in one step of ten";
}

TEST(Remedies, SpeakOfTheCallsThatWait) {
  const auto counted = [](EntryKind kind, double ms) {
    AccountEntry made = entry({kind}, ms);
    made.count = 3;
    return made;
  };
  const AccountEntry all = counted(EntryKind::kWaitForDevice, 1), item = counted(EntryKind::kOther, 2);
  const AccountEntry size = counted(EntryKind::kWaitForSize, 1), again = entry({}, 9);
  EXPECT_THAT(wait_remedy({&again, &all}), HasSubstr("torch.cuda.synchronize()"));
  EXPECT_THAT(wait_remedy({&again, &size}), HasSubstr("torch.where"));
  EXPECT_THAT(wait_remedy({&again, &all, &item}), HasSubstr(".item()"));
}

TEST(Remedies, ReadAheadOrWriteBehind) {
  const AccountEntry write = entry({EntryKind::kWrite}, 1), read = entry({EntryKind::kRead}, 1);
  EXPECT_THAT(file_remedy({&write}), AllOf(HasSubstr("async_save"), Not(HasSubstr("num_workers"))));
  EXPECT_THAT(file_remedy({&read}), AllOf(HasSubstr("num_workers"), Not(HasSubstr("async_save"))));
  EXPECT_THAT(file_remedy({&read, &write}), AllOf(HasSubstr("num_workers"), HasSubstr("async_save")));
}

// All but the micro-batches are for PyTorch programs: the rules' rows ask for them there alone.
TEST(Remedies, BeginWithWhatToDoAndNameNoOtherFramework) {
  std::vector<std::string> remedies;
  std::vector<std::vector<const AccountEntry*>> accounts = {{}};
  std::vector<AccountEntry> entries;
  for (int kind = 0; kind < kEntryKindCount; ++kind)
    for (const bool narrow : {false, true})
      entries.push_back(entry({static_cast<EntryKind>(kind), narrow, narrow}, 1));
  for (const AccountEntry& one : entries) accounts.push_back({&one});
  for (const std::vector<const AccountEntry*>& account : accounts) {
    for (const bool trains : {false, true})
      for (const bool all_ranks : {false, true})
        for (const bool small : {false, true})
          remedies.push_back(
              exchange_remedy(account, {.trains = trains, .all_ranks = all_ranks, .small_messages = small}));
    for (const std::string& remedy : {copy_remedy(account), wait_remedy(account), file_remedy(account)})
      remedies.push_back(remedy);
  }
  const Inputs image = tensors({{8, 64, 32, 32}, {64, 64, 3, 3}}), series = tensors({{8, 64, 4096}});
  remedies.push_back(image_remedy({&image}));
  remedies.push_back(image_remedy({&series}));
  Loops layers;
  layers.loops.push_back({.works = 9, .layers = true});
  for (const ProgramTraits& program :
       {ProgramTraits{}, ProgramTraits{.varying = 0.1}, ProgramTraits{.cache_grows = true}}) {
    remedies.push_back(loop_remedy({}, program));
    remedies.push_back(loop_remedy(layers, program));
    remedies.push_back(launch_remedy(program));
  }
  for (const std::string& remedy : remedies) {
    EXPECT_TRUE(words::begins_with_an_action(remedy)) << remedy;
    EXPECT_EQ(words::foreign_name(remedy, trace::Framework::kPyTorch), "") << remedy;
  }
}

TEST(MicroBatchRemedy, NamesTheNumberWhereMoreWinLess) {
  EXPECT_NE(micro_batch_remedy(4).find("four or more"), std::string::npos);
  EXPECT_NE(micro_batch_remedy(2).find("2 micro-batches"), std::string::npos);
}

}  // namespace
}  // namespace hone::analyze::device
