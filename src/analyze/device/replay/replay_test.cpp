// Replays of programs made up by hand: what hides behind what must come out of the simulation.
#include "analyze/device/replay/replay.h"

#include <cmath>

#include <gtest/gtest.h>

#include "analyze/device/gains.h"
#include "analyze/device/study.h"
#include "analyze/device/testing/gains_of.h"
#include "trace/testing/add_span.h"

namespace hone::analyze::device {
namespace {

// A host thread that launches works on one stream, in steps. Times in µs.
class Fabricated {
 public:
  Fabricated() {
    const trace::TrackId process = add_process(trace_);
    thread_ = add_thread(trace_, process);
    stream_ = add_stream(trace_, process, 7);
    side_ = add_stream(trace_, process, 8);
  }

  void begin_step() { step_start_ = host_; }
  void end_step() {
    host_span(Category::kStep, "step", step_start_, host_);
    ++step_;
  }
  // The host issues for `issue_us`, then launches a work.
  void launch(double issue_us, double work_us) {
    host_span(Category::kOperator, "aten::mul", host_, host_ + issue_us);
    host_ += issue_us;
    device_ = std::max(device_ + 1, host_ + 5);
    launch_on(stream_, device_, work_us);
    device_ += work_us;
  }
  // Launched at once, on another stream; begins in the middle of the main stream's last work, as if an event
  // that was not recorded, or the lack of a free multiprocessor, had held it back.
  void launch_beside(double last_us, double work_us) { launch_on(side_, device_ - last_us / 2, work_us); }
  void wait(double return_us = 3) {
    const double end = std::max(host_, device_) + return_us;
    host_span(Category::kSynchronization, "cudaStreamSynchronize", host_, end);
    host_ = end;
  }
  // The same where the device's queue takes up `room` works: the call of one more waits for the oldest of them.
  void launch_into_queue(double issue_us, double work_us, std::size_t room) {
    launch(issue_us, work_us);
    queue_.push_back(device_);
    if (queue_.size() <= room) return;
    const double free = queue_[queue_.size() - 1 - room];
    if (free <= host_) return;
    for (std::size_t row = trace_.spans.size(); row-- > 0;)
      if (trace_.spans.category[row] == Category::kRuntime) {
        trace_.spans.duration_ns[row] = std::llround(free * 1e3) - trace_.spans.start_ns[row];
        break;
      }
    host_ = free;
  }
  void idle(double us) { host_ += us; }
  // A copy from pageable memory waits in its call until the stream comes to it, and lets the host go once the last part
  // is on its way: `left_us` before its end.
  void copy_from_pageable(double us, double left_us) {
    const double begin = std::max(host_ + 10, device_ + 2), end = begin + us;
    const uint32_t copy = add_launch(
        trace_, {.on = thread_, .name = "cudaMemcpyAsync", .from_us = host_, .us = end - left_us - host_},
        {.on = stream_,
         .category = Category::kMemcpy,
         .name = "Memcpy HtoD (Pageable -> Device)",
         .from_us = begin,
         .us = us,
         .step = step_});
    trace_.copies.push_back({copy, 0, trace::MemoryKind::kPageable, trace::MemoryKind::kDevice, us * 1e4});
    device_ = end;
    host_ = end - left_us;
  }
  // A work of which nobody saw the launch.
  void run_unlaunched(double us) {
    device_ = std::max(device_, host_) + 1;
    add_span(
        trace_,
        {.on = stream_, .category = Category::kKernel, .name = "a_kernel", .from_us = device_, .us = us});
    device_ += us;
  }
  // One call of `call_us` that launches `nodes` works, `gap_us` apart.
  void launch_graph(int nodes, double call_us, double work_us, double gap_us) {
    const uint64_t id = ++graphs_;
    add_span(trace_, {.on = thread_,
                      .category = Category::kRuntime,
                      .name = "cudaGraphLaunch",
                      .from_us = host_,
                      .us = call_us,
                      .step = step_,
                      .correlation = id});
    device_ = std::max(device_, host_ + 5);
    for (int i = 0; i < nodes; ++i) {
      device_ += gap_us;
      add_span(trace_, {.on = stream_,
                        .category = Category::kKernel,
                        .name = "a_node",
                        .from_us = device_,
                        .us = work_us,
                        .step = step_,
                        .correlation = id});
      device_ += work_us;
    }
    host_ += call_us;
  }
  // A collective on the other stream that was launched before the main stream's last work and begins in the
  // middle of it; then that work. What comes next waits for both.
  void collective_and_work(double collective_us, double work_us) {
    const double last_end = device_;
    const uint32_t row = add_launch(trace_, {.on = thread_, .from_us = host_, .us = 2},
                                    {.on = side_,
                                     .category = Category::kCommunication,
                                     .name = "ncclDevKernel_AllReduce_Sum_f32_RING_LL",
                                     .from_us = last_end + 1 + work_us / 2,
                                     .us = collective_us,
                                     .step = step_});
    describe_collective(trace_, row, "allreduce", 1e6, "0", 1);
    host_ += 2;
    launch(2, work_us);
    device_ = std::max(device_, last_end + 1 + work_us / 2 + collective_us);
  }

  const trace::Trace& trace() const { return trace_; }
  Study study() const { return make_study(trace_, gpu_roofs("NVIDIA H200")); }

 private:
  using Category = trace::Category;

  void host_span(Category category, const char* name, double from, double to) {
    add_span(
        trace_,
        {.on = thread_, .category = category, .name = name, .from_us = from, .us = to - from, .step = step_});
  }
  void launch_on(trace::TrackId stream, double at, double us) {
    add_launch(trace_, {.on = thread_, .from_us = host_, .us = 2},
               {.on = stream, .name = "a_kernel", .from_us = at, .us = us, .step = step_});
    host_ += 2;
  }

  trace::Trace trace_;
  trace::TrackId thread_, stream_, side_;
  double host_ = 1000, device_ = 0, step_start_ = 0;
  int32_t step_ = 0;
  uint64_t graphs_ = 0;
  std::vector<double> queue_;  // ends of works
};

// A study points into its trace.
struct ReplayCase {
  explicit ReplayCase(Fabricated fabricated) : made(std::move(fabricated)), study(made.study()) {}
  ReplayCase(const ReplayCase&) = delete;
  ReplayCase& operator=(const ReplayCase&) = delete;
  Fabricated made;
  Study study;
};

// 20 works of `work_us` each, for each of which the host issues for `issue_us`.
Fabricated program(double issue_us, double work_us, bool waits = false, double pause_us = 0) {
  Fabricated made;
  for (int step = 0; step < 5; ++step) {
    made.begin_step();
    made.idle(pause_us);
    for (int i = 0; i < 20; ++i) {
      made.launch(issue_us, work_us);
      if (waits && i % 5 == 4) made.wait();
    }
    made.end_step();
  }
  return made;
}

double recorded_gain(const Study& study, Activity activity) {
  const Replay replay(study.programs, study.collectives);
  Change change;
  change.without[static_cast<std::size_t>(activity)] = true;
  return replay.step_ms() - replay.step_ms(change);
}

TEST(Replay, UnchangedGivesTheRecordingAgain) {
  for (const Fabricated& made :
       {program(10, 100), program(100, 10), program(50, 50, true), program(30, 40, true, 900)}) {
    const Study study = made.study();
    const Replay replay(study.programs, study.collectives);
    EXPECT_LT(replay.error(), 0.005);
    EXPECT_GT(replay.recorded_ms(), 0);
  }
}

// Nothing recorded says what a side stream waits for: it must move with the work that held the device.
TEST(Replay, OfTheHostAloneIsWhatItIssuesHoweverFarTheDeviceIsBehind) {
  const ReplayCase made(program(10, 100)), waits(program(30, 40, true));
  Change alone;
  alone.host_alone = true;
  const Replay behind(made.study.programs, made.study.collectives);
  EXPECT_LT(behind.step_ms(alone), 0.2 * behind.step_ms());
  EXPECT_GT(behind.step_ms(alone), 0.1 * behind.step_ms());
  const Replay waiting(waits.study.programs, waits.study.collectives);
  EXPECT_LT(waiting.step_ms(alone), waiting.step_ms());
  EXPECT_GT(waiting.step_ms(alone), 0.4 * waiting.step_ms());
}

TEST(Replay, WorkOfSideStreamsMovesWithWhatHeldTheDevice) {
  Fabricated made;
  for (int step = 0; step < 5; ++step) {
    made.begin_step();
    for (int i = 0; i < 20; ++i) {
      made.launch(2, 100);
      made.launch_beside(100, 10);
    }
    made.end_step();
  }
  const Study study = made.study();
  const Replay replay(study.programs, study.collectives);
  EXPECT_LT(replay.error(), 0.02);
  Change change;
  change.work_ns.resize(1);
  for (const Work& work : study.timelines[0].works)
    change.work_ns[0].push_back(static_cast<double>(work.ns()) / 4);
  EXPECT_LT(replay.step_ms(change), 0.35 * replay.recorded_ms());
}

TEST(Replay, LaunchesAreFreeForADeviceThatIsBusyAnyway) {
  const ReplayCase made(program(10, 100)), slow(program(100, 10));
  const Study &busy = made.study, &waiting = slow.study;
  EXPECT_LT(gains_of(busy).of(Cause::kLaunch), 0.03);
  // 20 × (100 + 2) µs of host; the recorder's part is taken away before.
  EXPECT_GT(gains_of(waiting).of(Cause::kLaunch), 0.6 * gains_of(waiting).unrecorded_ms());
}

TEST(Replay, RemovingWaitsLetsHostAndDeviceOverlap) {
  const ReplayCase made(program(50, 50, true));
  const Study& study = made.study;
  // With waits 5 works take 5 × 52 µs of the host and one work more; without, only the host's time.
  const double gain = recorded_gain(study, Activity::kWait);
  EXPECT_NEAR(gain, 4 * 0.055, 0.04);
}

// Where a framework goes on in other threads first, a wait returns some time after the device's work.
TEST(Replay, AWaitThatReturnsLateFollowsTheDeviceAllTheSame) {
  Fabricated made;
  for (int step = 0; step < 5; ++step) {
    made.begin_step();
    made.launch(10, 5000);
    made.wait(600);
    made.end_step();
  }
  const ReplayCase late(std::move(made));
  const Replay replay(late.study.programs, late.study.collectives);
  EXPECT_LT(replay.error(), 0.005);
  Change change;
  change.work_ns.resize(1);
  for (const Work& work : late.study.timelines[0].works)
    change.work_ns[0].push_back(static_cast<double>(work.ns()) / 5);
  EXPECT_NEAR(replay.step_ms() - replay.step_ms(change), 4, 0.02);
}

TEST(Replay, WorkWithoutALaunchHoldsUpNothingBeforeItsTurn) {
  Fabricated made;
  for (int step = 0; step < 8; ++step) {
    if (step == 5) made.idle(50'000);  // a recorder that takes turns begins a block here
    if (step == 5) made.run_unlaunched(5);
    made.begin_step();
    for (int i = 0; i < 20; ++i) made.launch(50, 5);
    made.wait();
    made.end_step();
  }
  const ReplayCase launch_bound(std::move(made));
  // The device follows the host: without the wait at the end of a step little is won, and not the whole step.
  EXPECT_NEAR(recorded_gain(launch_bound.study, Activity::kWait), 0.01, 0.01);
}

// Most of what the call takes is a wait for the kernels before the copy: with faster ones it is shorter.
TEST(Replay, ACopyFromPageableMemoryFollowsTheDeviceThoughItsCallReturnsBeforeItsEnd) {
  Fabricated made;
  for (int step = 0; step < 5; ++step) {
    made.begin_step();
    made.copy_from_pageable(500, 100);
    for (int i = 0; i < 20; ++i) made.launch(20, 200);
    made.end_step();
  }
  const Study study = made.study();
  const Replay replay(study.programs, study.collectives);
  EXPECT_LT(replay.error(), 0.01);
  EXPECT_NEAR(replay.step_ms(), 4.5, 0.05);
  Change faster;
  faster.work_ns.resize(1);
  for (const Work& work : study.timelines.at(0).works)
    faster.work_ns[0].push_back(static_cast<double>(work.ns()) *
                                (work.kind == WorkKind::kCopyToDevice ? 1 : 0.5));
  EXPECT_NEAR(replay.step_ms() - replay.step_ms(faster), 2.0, 0.05);
}

// A host that runs ahead until the queue is full needs no longer for that: with faster kernels its calls wait less.
TEST(Replay, CallsThatWaitForRoomInTheQueueFollowTheDevice) {
  Fabricated made;
  for (int step = 0; step < 8; ++step) {
    made.begin_step();
    for (int i = 0; i < 200; ++i) made.launch_into_queue(5, 50, 400);
    made.end_step();
  }
  const Study study = made.study();
  const Replay replay(study.programs, study.collectives);
  EXPECT_LT(replay.error(), 0.01);
  EXPECT_NEAR(replay.step_ms(), 10.2, 0.1);
  Change faster;
  faster.work_ns.resize(1);
  for (const Work& work : study.timelines.at(0).works)
    faster.work_ns[0].push_back(static_cast<double>(work.ns()) * 0.5);
  EXPECT_NEAR(replay.step_ms() - replay.step_ms(faster), 5.0, 0.2);
}

TEST(Replay, ALongPauseOfTheHostIsWonBackWhole) {
  const ReplayCase made(program(100, 10, false, 900));
  const Study& study = made.study;
  EXPECT_NEAR(recorded_gain(study, Activity::kOther), 0.9, 0.02);
}

TEST(Replay, APauseThatTheQueueHidesWinsNothing) {
  const ReplayCase made(program(5, 200, false, 900));
  const Study& study = made.study;
  EXPECT_NEAR(recorded_gain(study, Activity::kOther), 0, 0.02);
}

// 5 steps of one graph of 100 nodes each; returns what the step takes as recorded and without the recorder.
std::pair<double, double> graph_steps(double call_us, double work_us, double gap_us) {
  Fabricated made;
  for (int step = 0; step < 5; ++step) {
    made.begin_step();
    made.launch_graph(100, call_us, work_us, gap_us);
    made.end_step();
  }
  const Study study = made.study();
  const Replay replay(study.programs, study.collectives);
  EXPECT_LT(replay.error(), 0.02);
  Change change;
  change.recorder.most_ns = 1;  // the share keeps operators as they are
  return {replay.step_ms(), replay.step_ms(change)};
}

TEST(Replay, RecordedNodesOfAGraphCostTheDeviceLessWithoutTheRecorder) {
  const auto [recorded, unrecorded] = graph_steps(30, 2, 1.2);  // 320 µs of the device
  EXPECT_NEAR(recorded - unrecorded, 100 * 0.2e-3, 0.002);
}

TEST(Replay, HalfOfAGapBetweenNodesIsNeverTheRecorders) {
  const auto [recorded, unrecorded] = graph_steps(30, 3, 0.3);
  EXPECT_NEAR(recorded - unrecorded, 100 * 0.15e-3, 0.002);
}

TEST(Replay, RecordedNodesOfAGraphCostTheHostLessWithoutTheRecorder) {
  const auto [recorded, unrecorded] = graph_steps(200, 0.5, 0.1);  // the device is done long before the host
  EXPECT_NEAR(recorded, 0.2, 0.002);
  EXPECT_NEAR(recorded - unrecorded, 100 * 0.6e-3, 0.002);
}

TEST(Replay, LaunchingAGraphTakesItsTimeHoweverManyNodesItHas) {
  EXPECT_NEAR(graph_steps(40, 0.01, 0.01).second, 5e-3, 0.001);  // not 40 µs - 60 µs
}

TEST(Replay, LaunchesOfSingleWorksAreNoGraphs) {
  const ReplayCase made(program(10, 100)), slow(program(100, 10));
  for (const Study* study : {&made.study, &slow.study}) {
    const Replay replay(study->programs, study->collectives);
    Change change;
    change.recorder.most_ns = 1;
    EXPECT_NEAR(replay.step_ms(change), replay.step_ms(), 1e-6);
  }
}

// The host alone sets the pace: 5 operators of 40 µs, each with 20 µs of the program's own before it and a
// launch of 2 µs inside.
TEST(Replay, WithoutTheRecorderOperatorsShrinkAndTheProgramDoesNot) {
  Fabricated made;
  for (int step = 0; step < 5; ++step) {
    made.begin_step();
    for (int i = 0; i < 5; ++i) {
      made.idle(20);
      made.launch(40, 1);
    }
    made.end_step();
  }
  const Study study = made.study();
  const Replay replay(study.programs, study.collectives);
  const double recorded = replay.step_ms();
  Change change;
  change.recorder = {.operator_share = 0.25, .most_ns = 1e6};
  EXPECT_NEAR(recorded - replay.step_ms(change), 5 * 0.75 * 40e-3, 0.001);
  change.recorder.most_ns = 5e3;  // an operator that computes is long for its own sake
  EXPECT_NEAR(recorded - replay.step_ms(change), 5 * 2 * 5e-3, 0.001);
  change.recorder = {.operator_share = 1, .most_ns = 1e6, .gaps = 0.5};
  ASSERT_NEAR(study.activities.front().operator_gap_ns, 20e3, 1e3);
  EXPECT_NEAR(recorded - replay.step_ms(change), 5 * 0.5 * 20e-3, 0.001);
  change.recorder.gaps = 100;
  change.recorder.most_share = 0.25;
  EXPECT_NEAR(recorded - replay.step_ms(change), 5 * 0.25 * 60e-3, 0.001);
}

TEST(Replay, ACollectiveThatALaterWorkHeldUpFollowsWhatItReduces) {
  Fabricated made;
  for (int step = 0; step < 5; ++step) {
    made.begin_step();
    made.launch(2, 100);                 // what it reduces
    made.collective_and_work(400, 100);  // begins 51 µs after that, within the work launched later
    made.wait();
    made.idle(500);
    made.end_step();
  }
  const Study study = made.study();
  const Replay replay(study.programs, study.collectives);
  EXPECT_LT(replay.error(), 0.02);
  // Steps begin with the reduced work; the collective's end is theirs.
  auto with = [&](double reduced_us, double later_us) {
    Change change;
    change.work_ns.resize(1);
    bool later = false;
    for (const Work& work : study.timelines[0].works) {
      const bool collective = work.kind == WorkKind::kCollective;
      change.work_ns[0].push_back(collective ? 400e3 : 1e3 * (later ? later_us : reduced_us));
      if (!collective) later = !later;
    }
    return replay.step_ms(change);
  };
  const double as_recorded = with(100, 100);
  EXPECT_NEAR(with(100, 20), as_recorded, 0.005);
  EXPECT_NEAR(with(100, 200), as_recorded, 0.005);
  EXPECT_NEAR(with(300, 100), as_recorded + 0.2, 0.005);
}

// The device works for 2 ms a step.
TEST(HostWork, HidesBehindTheDeviceAsFarAsThatWorks) {
  const auto gains = [](double pause_us) {
    const ReplayCase made(program(10, 100, true, pause_us));
    const Gains found = gains_of(made.study);
    return std::pair(found.of(Cause::kHostOther), found.of_host_work_beside_device());
  };
  const auto [short_removed, short_hidden] = gains(900);
  EXPECT_NEAR(short_removed, 0.9, 0.05);
  EXPECT_NEAR(short_hidden, 0.9, 0.1);
  const auto [long_removed, long_hidden] = gains(3000);
  EXPECT_NEAR(long_removed, 3.0, 0.05);
  EXPECT_NEAR(long_hidden, 2.0, 0.1);
}

TEST(Windows, TileTheTimeOfTheRank) {
  const ReplayCase made(program(10, 100));
  const Study& study = made.study;
  const std::vector<DeviceStep>& steps = study.timelines.front().steps;
  ASSERT_EQ(steps.size(), 5u);
  for (std::size_t k = 1; k < steps.size(); ++k) EXPECT_EQ(steps[k].start_ns, steps[k - 1].end_ns);
  // The host is done after 0.24 ms; the step is as long as its works.
  EXPECT_NEAR(steps[2].ms(), 20 * 0.101, 0.001);
}

TEST(Occupancy, BusyIntervalsAndGapsAddUpToTheWindows) {
  const ReplayCase made(program(30, 20, true, 300));
  const Study& study = made.study;
  std::vector<double> sums(study.timelines.front().steps.size(), 0);
  for (const BusyInterval& interval : study.ranks.front().occupancy.busy)
    sums[interval.window] += interval.ns();
  for (const Gap& gap : study.ranks.front().occupancy.gaps) sums[gap.window] += static_cast<double>(gap.ns());
  for (std::size_t k = 0; k < sums.size(); ++k)
    EXPECT_NEAR(sums[k] * 1e-6, study.timelines.front().steps[k].ms(), 1e-6);
}

TEST(Idle, IsDividedByWhatTheHostDid) {
  const ReplayCase made(program(30, 20, false, 900));
  const Study& study = made.study;
  const Accounts accounts = make_accounts(study, 0);
  EXPECT_NEAR(accounts[static_cast<std::size_t>(Cause::kHostOther)].ms, 0.9, 0.03);
  EXPECT_NEAR(accounts[static_cast<std::size_t>(Cause::kLaunch)].ms, 20 * 0.012, 0.06);
  double sum = 0;
  for (const Account& account : accounts) sum += account.ms;
  EXPECT_NEAR(sum, study.ranks.front().typical.ms, 1e-6);
}

}  // namespace
}  // namespace hone::analyze::device
