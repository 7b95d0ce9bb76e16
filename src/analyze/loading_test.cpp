#include "analyze/loading.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "analyze/testing/advice_words.h"

namespace hone::analyze {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr double kConsumed_ms = 50;

// A program that ran for some epochs with that loader: its marks and what a step took, by the simulation.
struct Observed {
  explicit Observed(const LoaderSetup& setup, const LoaderTimes& times, int cpus = 16, int epochs = 4) {
    const double batch = batch_ms(setup, times);
    for (int i = 0; i < epochs; ++i) {
      trace::LoaderEpoch epoch;
      epoch.loader = 1;
      epoch.workers = setup.workers;
      epoch.prefetch = setup.prefetch;
      epoch.persistent = setup.persistent;
      epoch.forked = true;
      epoch.batches = setup.batches;
      epoch.start_ns = now_ns;
      epoch.delivered = setup.batches;
      epoch.starting_ns = setup.persistent ? 0 : static_cast<int64_t>(times.start_ms * 1e6 * setup.workers);
      epoch.ending_ns = setup.persistent || i == 0 ? 0 : static_cast<int64_t>(times.end_ms * 1e6);
      epoch.cpu_ns = static_cast<int64_t>(times.cpu_ms * 1e6) * setup.batches;
      epoch.cpus = cpus;
      epoch.cores = times.cores;
      meta.loaders.push_back(epoch);
      for (int64_t at = 0; at < setup.batches; ++at) {
        now_ns += static_cast<int64_t>(batch * 1e6);
        meta.marks.push_back({0, trace::StepMarkKind::kData, "DataLoader", now_ns - 1000, 1, 0});
        meta.marks.push_back({0, trace::StepMarkKind::kOptimizer, "SGD", now_ns - 10, 1, 0});
      }
    }
    step_ms = batch;
  }

  std::optional<Loading> loading() const {
    return loading_of(meta, 0, step_ms, step_ms - kConsumed_ms, true);
  }

  trace::Meta meta;
  int64_t now_ns = 0;
  double step_ms = 0;
};

// As torchvision's reference with 512 files: eight batches an epoch, four processes that end with each.
const LoaderSetup kShortEpochs{4, 2, false, 8};
const LoaderTimes kJpegs{
    .prepare_ms = 280, .cpu_ms = 250, .consume_ms = kConsumed_ms, .start_ms = 15, .end_ms = 30, .cores = 8};

TEST(Loading, WinsOfShortEpochsWhatTheirBeginningsLeave) {
  const Observed program(kShortEpochs, kJpegs);
  const auto loading = program.loading();
  ASSERT_TRUE(loading);
  EXPECT_EQ(loading->now, kShortEpochs);
  EXPECT_NEAR(loading->times.prepare_ms, 280, 1);
  EXPECT_EQ(loading->advised, (LoaderSetup{6, 2, true, 8})) << "eight cores are shared by seven that compute";
  const double wait_ms = program.step_ms - kConsumed_ms;
  EXPECT_GT(loading->gain_ms(), 0.2 * wait_ms);
  EXPECT_LT(loading->gain_ms(), 0.6 * wait_ms) << "a first batch takes one process as long as ever";
  EXPECT_TRUE(loading->waits_at_starts());
  EXPECT_THAT(
      loading_evidence(*loading),
      AllOf(HasSubstr("4 processes prepare batches, 8 batches an epoch: each epoch begins with empty queues"),
            HasSubstr("6 processes that live on")));
  EXPECT_THAT(
      loading_advice(*loading, true),
      AllOf(HasSubstr("6 of them instead of 4"), HasSubstr("persistent_workers=True"), HasSubstr("longer")));
}

TEST(Loading, OfLongEpochsAsksForProcesses) {
  const Observed program({1, 2, true, 100},
                         {.prepare_ms = 140, .cpu_ms = 140, .consume_ms = kConsumed_ms, .cores = 8});
  const auto loading = program.loading();
  ASSERT_TRUE(loading);
  EXPECT_EQ(loading->advised.workers, 3);
  EXPECT_NEAR(loading->gain_ms(), program.step_ms - kConsumed_ms, 5);
  EXPECT_FALSE(loading->waits_at_starts());
  EXPECT_THAT(loading_advice(*loading, true), AllOf(HasSubstr("3 instead of 1"), Not(HasSubstr("longer"))));
}

TEST(Loading, PromisesNothingOfProcessesWithoutCpus) {
  const Observed program({1, 2, true, 100},
                         {.prepare_ms = 140, .cpu_ms = 140, .consume_ms = kConsumed_ms, .cores = 1}, 1);
  const auto loading = program.loading();
  ASSERT_TRUE(loading);
  EXPECT_NEAR(loading->gain_ms(), 0, 1e-6);
  EXPECT_FALSE(loading->helps());
  EXPECT_THAT(loading_advice(*loading, true), HasSubstr("make what prepares a batch cheaper"));
}

TEST(Loading, CountsTheBatchesOfAStep) {
  Observed program({0, 2, false, 20}, {.prepare_ms = 25, .consume_ms = kConsumed_ms / 2});
  std::vector<trace::StepMark> marks;
  int steps = 0;
  for (const trace::StepMark& mark : program.meta.marks)
    if (mark.kind == trace::StepMarkKind::kData || ++steps % 2 == 0) marks.push_back(mark);
  program.meta.marks = marks;
  program.step_ms *= 2;
  const auto loading = program.loading();
  ASSERT_TRUE(loading);
  EXPECT_EQ(loading->batches_a_step, 2);
  EXPECT_NEAR(loading->times.prepare_ms, 25, 0.1);
  EXPECT_EQ(loading->steps_of_epoch(), 10);
}

// Of twelve batches each, the median of the steps begins no epoch.
TEST(Loading, OfTheTypicalStepHasNoBeginnings) {
  const LoaderSetup setup{1, 2, false, 12};
  const LoaderTimes times{.prepare_ms = 90, .consume_ms = kConsumed_ms, .start_ms = 100, .end_ms = 60};
  const Observed program(setup, times);
  const double typical_ms = kConsumed_ms + simulate_epoch(setup, times).others_ms;
  const auto loading = loading_of(program.meta, 0, typical_ms, typical_ms - kConsumed_ms, false);
  ASSERT_TRUE(loading);
  EXPECT_NEAR(loading->times.prepare_ms, 90, 0.1);
}

TEST(Loading, IsOfTheLoaderThatMostBatchesCameFrom) {
  Observed program(kShortEpochs, kJpegs);
  trace::LoaderEpoch validation;
  validation.loader = 2, validation.workers = 1, validation.start_ns = program.now_ns;
  program.meta.loaders.push_back(validation);
  program.meta.marks.push_back({0, trace::StepMarkKind::kData, "DataLoader", program.now_ns + 10, 1, 0});
  EXPECT_EQ(loader_in_use(program.meta, 0)->loader, 1);
}

TEST(Loading, IsNotToldWhereNobodySawTheStartsOfProcesses) {
  Observed program(kShortEpochs, kJpegs);
  for (trace::LoaderEpoch& epoch : program.meta.loaders) epoch.forked = false;
  EXPECT_FALSE(program.loading());
  EXPECT_FALSE(loading_of({}, 0, 100, 50, true)) << "another recorder's";
}

TEST(Loading, AdvisesWithActions) {
  for (const LoaderSetup& setup : {kShortEpochs, LoaderSetup{0, 2, false, 50}, LoaderSetup{1, 2, true, 200}})
    for (const int cpus : {1, 16})
      EXPECT_TRUE(
          words::begins_with_an_action(loading_advice(*Observed(setup, kJpegs, cpus).loading(), true)));
}

}  // namespace
}  // namespace hone::analyze
