#include "runtime/recorded_timer.h"

#include <algorithm>
#include <cmath>

#include "graph/group_kind.h"

namespace hone::runtime {
namespace {

// µs of a replay beyond which the host's part of it does not matter, and no other replay need hide it.
constexpr double kLongReplay = 2000;

class RepeatedRuns : public Sequence {
 public:
  RepeatedRuns(Kernel& kernel, std::vector<KernelArguments> sets, std::size_t runs)
      : kernel_(kernel), sets_(std::move(sets)), runs_(runs) {}
  Status enqueue(Queue& queue) override {
    for (std::size_t i = 0; i < runs_; ++i) HONE_CHECK(kernel_.enqueue(sets_[i % sets_.size()], queue));
    return {};
  }

 private:
  Kernel& kernel_;
  const std::vector<KernelArguments> sets_;
  const std::size_t runs_;
};

// Libraries' convolutions keep weights in a layout of their own, which all runs share: what differs has to drive them out.
bool keeps_weights(const graph::Node& node) {
  return graph::is_group(node, graph::GroupKind::kConvolution) ||
         (!graph::is_group(node) && graph::product_kind(node) == graph::GroupKind::kConvolution);
}

}  // namespace

class RecordedStopwatch {
 public:
  RecordedStopwatch(RecordedTimer& timer, Sandbox& sandbox, Kernel& kernel)
      : timer_(timer), queue_(timer.queue()), sandbox_(sandbox), kernel_(kernel) {}
  ~RecordedStopwatch() { (void)queue_.wait(); }
  RecordedStopwatch(const RecordedStopwatch&) = delete;
  RecordedStopwatch& operator=(const RecordedStopwatch&) = delete;

  Result<double> read() {
    (void)queue_.wait();  // for what a reading that failed has left
    if (recording_ == nullptr) {
      HONE_ASSIGN(const double one, run_alone());
      HONE_CHECK(record(RecordedTimer::kShortestReplay / std::max(one, 0.1)));
    }
    HONE_ASSIGN(double replay, time_replay());
    // A run alone took longer than many together, each: once more, with as many as it takes.
    if (replay < 0.75 * RecordedTimer::kShortestReplay && runs_ < RecordedTimer::kMostRuns && !grown_) {
      grown_ = true;
      HONE_CHECK(record(static_cast<double>(runs_) * RecordedTimer::kShortestReplay / std::max(replay, 0.1)));
      HONE_ASSIGN(replay, time_replay());
    }
    return replay / static_cast<double>(runs_);
  }

 private:
  // The second of two runs outside a recording, whose launch it includes; of a long one the first: code is brought to
  // the device when it first runs. Here the data's errors show.
  Result<double> run_alone() {
    HONE_ASSIGN(begin_, queue_.make_event());
    HONE_ASSIGN(end_, queue_.make_event());
    HONE_ASSIGN(const std::vector<KernelArguments> sets, sandbox_.all_arguments(kernel_));
    double us = 0;
    for (int run = 0; run < 2 && us < kLongReplay; ++run) {
      HONE_CHECK(queue_.record(*begin_));
      HONE_CHECK(kernel_.enqueue(sets[static_cast<std::size_t>(run) % sets.size()], queue_));
      HONE_CHECK(queue_.record(*end_));
      HONE_CHECK(sandbox_.fault(kernel_));
      HONE_ASSIGN(us, queue_.microseconds(*begin_, *end_));
    }
    return us;
  }

  Status record(double runs) {
    recording_ = nullptr;
    runs_ = static_cast<std::size_t>(
        std::clamp(std::ceil(runs), 1.0, static_cast<double>(RecordedTimer::kMostRuns)));
    HONE_ASSIGN(std::vector<KernelArguments> sets, sandbox_.all_arguments(kernel_));
    sequence_ = std::make_unique<RepeatedRuns>(kernel_, std::move(sets), runs_);
    HONE_CHECK(queue_.wait());
    HONE_ASSIGN(recording_, queue_.make_recording(*sequence_));
    return {};
  }

  Result<double> time_replay() {
    if (timer_.passed_bytes_ > 0) {
      HONE_CHECK(timer_.pass_cache());
    } else if (last_replay_ < kLongReplay) {
      HONE_CHECK(recording_->replay());
    }
    HONE_CHECK(queue_.record(*begin_));
    HONE_CHECK(recording_->replay());
    HONE_CHECK(queue_.record(*end_));
    HONE_CHECK(queue_.wait());
    HONE_ASSIGN(last_replay_, queue_.microseconds(*begin_, *end_));
    return last_replay_;
  }

  RecordedTimer& timer_;
  Queue& queue_;
  Sandbox& sandbox_;
  Kernel& kernel_;
  std::unique_ptr<Event> begin_, end_;
  std::unique_ptr<RepeatedRuns> sequence_;
  std::unique_ptr<Recording> recording_;
  std::size_t runs_ = 0;
  bool grown_ = false;
  double last_replay_ = 0;
};

RecordedTimer::RecordedTimer(std::shared_ptr<Device> device, std::unique_ptr<Queue> queue,
                             std::size_t step_bytes)
    : KernelTimer(std::move(device), std::move(queue)) {
  const std::size_t cache = this->device().cache_bytes();
  if (step_bytes <= cache) return;
  passed_bytes_ = 2 * cache;
  stays_bytes_ = cache / 4;  // the rest is for weights on their way through
}

std::string RecordedTimer::conditions() const {
  return passed_bytes_ > 0 ? ", replayed, the cache passed by weights" : ", replayed, the cache warm";
}

Result<std::unique_ptr<Sandbox>> RecordedTimer::sandbox(const graph::Graph& graph, const graph::Node& node) {
  return Sandbox::make(graph, node, device(), queue(),
                       {.over = passed_bytes_, .stays = keeps_weights(node) ? 0 : stays_bytes_});
}

std::function<Result<double>()> RecordedTimer::stopwatch(Sandbox& sandbox, Kernel& kernel) {
  return [made = std::make_shared<RecordedStopwatch>(*this, sandbox, kernel)] { return made->read(); };
}

// One replay is hundreds of microseconds that nobody else had the device in, so one reading decides much.
ReadingRules RecordedTimer::rules() const {
  return {.least = 3,
          .most = 9,
          .alone = 3,
          .quantile = 0.5,
          .first_counts = true,
          .out_after_one = 1.5,
          .out_after_two = 1.2,
          .out_after_four = 1.1};
}

Status RecordedTimer::pass_cache() {
  if (passed_.bytes() == 0) {
    HONE_ASSIGN(passed_, device().allocate(passed_bytes_));
  }
  return queue().fill(passed_.address(), std::byte{1}, passed_bytes_);
}

}  // namespace hone::runtime
