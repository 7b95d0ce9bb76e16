#include "analyze/loader_simulation.h"

#include <deque>
#include <optional>
#include <random>
#include <vector>

#include <gtest/gtest.h>

namespace hone::analyze {
namespace {

// The same loader once more, in another way: as a machine that goes from moment to moment, with a queue for each process.
class LoaderMachine {
 public:
  LoaderMachine(const LoaderSetup& setup, const LoaderTimes& times)
      : setup_(setup),
        times_(times),
        queues_(static_cast<std::size_t>(setup.workers)),
        busy_(queues_.size()) {}

  EpochWaits run() {
    if (!setup_.persistent) now_ms_ = setup_.workers * times_.start_ms;
    for (int i = 0; i < setup_.prefetch * setup_.workers; ++i) order();
    EpochWaits waits;
    waits.first_ms = now_ms_ + (setup_.persistent ? 0 : times_.end_ms);
    for (int64_t batch = 0; batch < setup_.batches; ++batch) {
      const double asked_ms = now_ms_;
      while (!ready_[static_cast<std::size_t>(batch)]) go_to_next();
      (batch == 0 ? waits.first_ms : waits.others_ms) += now_ms_ - asked_ms;
      order();
      const double end_ms = now_ms_ + times_.consume_ms;
      while (next_ms() <= end_ms) go_to_next();
      now_ms_ = end_ms;
    }
    if (setup_.batches > 1) waits.others_ms /= static_cast<double>(setup_.batches - 1);
    return waits;
  }

 private:
  struct AtWork {
    int64_t batch = 0;
    double until_ms = 0;
  };

  void order() {
    if (ordered_ == setup_.batches) return;
    queues_[static_cast<std::size_t>(ordered_ % setup_.workers)].push_back(ordered_);
    ++ordered_;
    begin_what_can();
  }

  void begin_what_can() {
    for (std::size_t i = 0; i < queues_.size(); ++i) {
      if (busy_[i] || queues_[i].empty()) continue;
      busy_[i] = AtWork{queues_[i].front(), now_ms_ + times_.prepare_ms};
      queues_[i].pop_front();
    }
  }

  double next_ms() const {
    double next = HUGE_VAL;
    for (const auto& each : busy_)
      if (each) next = std::min(next, each->until_ms);
    return next;
  }

  void go_to_next() {
    now_ms_ = next_ms();
    for (auto& each : busy_)
      if (each && each->until_ms <= now_ms_) {
        ready_[static_cast<std::size_t>(each->batch)] = true;
        each.reset();
      }
    begin_what_can();
  }

  const LoaderSetup setup_;
  const LoaderTimes times_;
  double now_ms_ = 0;
  int64_t ordered_ = 0;
  std::vector<std::deque<int64_t>> queues_;
  std::vector<std::optional<AtWork>> busy_;
  std::vector<bool> ready_ = std::vector<bool>(static_cast<std::size_t>(setup_.batches));
};

TEST(LoaderSimulation, IsThatOfAMachineWithQueues) {
  std::mt19937 random(7);
  const auto whole = [&](int low, int high) { return std::uniform_int_distribution(low, high)(random); };
  const auto real = [&](double high) { return std::uniform_real_distribution<double>(0, high)(random); };
  for (int i = 0; i < 300; ++i) {
    const LoaderSetup setup{whole(1, 9), whole(1, 4), whole(0, 1) == 1, whole(1, 40)};
    const LoaderTimes times{0.1 + real(50), 0, real(20), real(5), real(30), 0};
    const EpochWaits expected = LoaderMachine(setup, times).run(), found = simulate_epoch(setup, times);
    EXPECT_NEAR(found.first_ms, expected.first_ms, 1e-6) << i;
    EXPECT_NEAR(found.others_ms, expected.others_ms, 1e-6) << i;
  }
}

TEST(LoaderSimulation, OfLongEpochsIsOfTheSlowestAlone) {
  EXPECT_NEAR(batch_ms({4, 2, true, -1}, {.prepare_ms = 80, .consume_ms = 5}), 20, 0.1);
  EXPECT_NEAR(batch_ms({4, 2, true, -1}, {.prepare_ms = 80, .consume_ms = 50}), 50, 0.1);
  EXPECT_NEAR(batch_ms({0, 2, false, -1}, {.prepare_ms = 80, .consume_ms = 50}), 130, 0.1);
}

// Eight batches of 300 ms by four processes: two rounds of them, and the program computes four batches meanwhile.
TEST(LoaderSimulation, OfShortEpochsIsOfTheirBeginnings) {
  const LoaderTimes times{.prepare_ms = 300, .consume_ms = 50};
  EXPECT_NEAR(8 * batch_ms({4, 2, true, 8}, times), 300 + 300 + 4 * 50, 1e-6);
  EXPECT_NEAR(8 * batch_ms({8, 2, true, 8}, times), 300 + 8 * 50, 1e-6);
}

TEST(LoaderSimulation, OfNewProcessesPaysForThemInEachEpoch) {
  const LoaderTimes times{.prepare_ms = 10, .consume_ms = 50, .start_ms = 12, .end_ms = 30};
  EXPECT_NEAR(10 * (batch_ms({4, 2, false, 10}, times) - batch_ms({4, 2, true, 10}, times)), 4 * 12 + 30,
              1e-6);
}

TEST(LoaderSimulation, OfMoreProcessesThanCoresIsAsSlowAsThese) {
  const LoaderTimes times{.prepare_ms = 80, .cpu_ms = 80, .consume_ms = 5, .cores = 4};
  EXPECT_NEAR(batch_ms({16, 2, true, -1}, times), batch_ms({4, 2, true, -1}, times), 2);
  // What sleeps needs none.
  const LoaderTimes asleep{.prepare_ms = 80, .cpu_ms = 1, .consume_ms = 5, .cores = 4};
  EXPECT_NEAR(batch_ms({16, 2, true, -1}, asleep), 5, 0.5);
}

TEST(LoaderSimulation, IsFittedToTheWaitThatWasMeasured) {
  const LoaderTimes truth{
      .prepare_ms = 137, .cpu_ms = 20, .consume_ms = 31, .start_ms = 5, .end_ms = 9, .cores = 8};
  for (const LoaderSetup& setup : {LoaderSetup{0, 2, false, 20}, LoaderSetup{1, 2, true, 20},
                                   LoaderSetup{3, 2, false, 7}, LoaderSetup{6, 4, true, 9}}) {
    const double share = first_share(setup), wait_ms = simulate_epoch(setup, truth).mean_ms(share);
    LoaderTimes unknown = truth;
    unknown.prepare_ms = 0;
    EXPECT_NEAR(fitted(setup, unknown, wait_ms, share).prepare_ms, truth.prepare_ms, 0.1) << setup.workers;
  }
}

// Recorded steps may hold more beginnings of epochs than an epoch has.
TEST(LoaderSimulation, IsFittedByTheShareOfBeginningsThatWereSeen) {
  const LoaderSetup setup{2, 2, true, 100};
  const LoaderTimes truth{.prepare_ms = 60, .consume_ms = 40};
  const double wait_ms = simulate_epoch(setup, truth).mean_ms(0.2);
  EXPECT_NEAR(fitted(setup, {.consume_ms = 40}, wait_ms, 0.2).prepare_ms, 60, 0.1);
}

TEST(LoaderSimulation, TakesStartsForShorterWhereTheyAloneWouldTakeLonger) {
  const LoaderSetup setup{4, 2, false, 10};
  const LoaderTimes times = fitted(setup, {.consume_ms = 40, .start_ms = 100, .end_ms = 50}, 20, 0.1);
  EXPECT_NEAR(simulate_epoch(setup, times).mean_ms(0.1), 20, 1e-6);
}

TEST(BestSetup, HasNoMoreProcessesThanHelp) {
  // Two processes keep up with a step of 50 ms.
  EXPECT_EQ(best_setup({0, 2, false, -1}, {.prepare_ms = 90, .consume_ms = 50}, 64),
            (LoaderSetup{2, 2, true, -1}));
}

TEST(BestSetup, HasNoMoreThanBatchesOrCpus) {
  const LoaderTimes slow{.prepare_ms = 5000, .cpu_ms = 5000, .consume_ms = 5, .cores = 64};
  EXPECT_EQ(best_setup({1, 2, false, 5}, slow, 64).workers, 5);
  EXPECT_EQ(best_setup({1, 2, false, -1}, slow, 8).workers, 7);
  EXPECT_EQ(best_setup({1, 2, false, -1}, slow, 64).workers, 16);
  // What waits for most of its time shares a CPU.
  EXPECT_EQ(best_setup({1, 2, false, -1}, {.prepare_ms = 5000, .cpu_ms = 10, .consume_ms = 5}, 4).workers, 7);
}

TEST(BestSetup, TakesNoProcessAwayAndKeepsThemAlive) {
  EXPECT_EQ(best_setup({6, 2, false, 50}, {.prepare_ms = 10, .consume_ms = 50}, 4),
            (LoaderSetup{6, 2, true, 50}));
}

}  // namespace
}  // namespace hone::analyze
