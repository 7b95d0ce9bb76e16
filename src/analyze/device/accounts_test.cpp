#include "analyze/device/accounts.h"

#include <gtest/gtest.h>

#include "analyze/device/testing/fabricate_works.h"

namespace hone::analyze::device {
namespace {

using fabricate::Works;
using fabricate::WorkWords;

constexpr double kBytes = 4e6;

// What a rule's cause has of its works.
const AccountEntry* entry_of(const Accounts& accounts, Rule rule) {
  for (const AccountEntry& entry : accounts[static_cast<std::size_t>(row_of(rule).cause)].entries)
    if (entry.rule == rule) return &entry;
  return nullptr;
}

double bytes_per_s(const AccountEntry& entry) { return entry.bytes / entry.working_ms * 1e3; }

Study study_of(const Works& made) { return make_study(made.trace(), gpu_roofs("NVIDIA H200")); }

// Its operator moves 4 MB in 100 µs, 10 of them in the kernel that a rule has.
TEST(Accounts, AKernelHasThePartOfTheBytesThatItHasOfTheTime) {
  Works made;
  made.run({.kind = "aten::native_batch_norm_backward",
            .op_class = trace::OperatorClass::kNormalization,
            .inputs = "f32[1,64,512,512]",
            .bytes = kBytes,
            .us = 10,
            .kernel = "void at::native::batch_norm_backward_kernel<float, int>(int)"});
  made.also(90, "a_kernel_that_nothing_is_known_of");
  made.end_step();
  const Study study = study_of(made);
  const Accounts accounts = make_accounts(study, 0);
  const AccountEntry* entry = entry_of(accounts, Rule::kChannelsFirstImages);
  ASSERT_NE(entry, nullptr);
  EXPECT_NEAR(entry->working_ms, 0.01, 1e-4);
  EXPECT_NEAR(bytes_per_s(*entry), kBytes / 100e-6, 1e-3 * kBytes / 100e-6);
}

// Twenty passes of 10 µs with 12 µs of the host before each.
TEST(Accounts, GapsAreNoTimeInWhichKernelsWork) {
  Works made;
  for (int i = 0; i < 20; ++i) {
    made.pass(12);
    made.run({.kind = "aten::sqrt",
              .inputs = "f32[1024,1024]",
              .bytes = kBytes,
              .us = 10,
              .phase = trace::Phase::kOptimizer});
  }
  made.end_step();
  const Study study = study_of(made);
  const Accounts accounts = make_accounts(study, 0);
  const AccountEntry* entry = entry_of(accounts, Rule::kUnfusedOptimizer);
  ASSERT_NE(entry, nullptr);
  EXPECT_NEAR(entry->working_ms, 0.2, 0.01);
  EXPECT_GT(entry->gap_ms, 0.05);
  EXPECT_NEAR(bytes_per_s(*entry), kBytes / 10e-6, 1e-3 * kBytes / 10e-6);
}

}  // namespace
}  // namespace hone::analyze::device
