#include "lab/bench/together.h"

#include <algorithm>
#include <atomic>
#include <barrier>
#include <iterator>
#include <mutex>
#include <thread>

#include "core/clock.h"
#include "core/contention.h"

namespace hone::lab {
namespace {

class TogetherRun {
 public:
  TogetherRun(std::span<const Workload> workloads, const TogetherOptions& options)
      : workloads_(workloads), options_(options), start_(static_cast<std::ptrdiff_t>(workloads.size())) {}

  Result<Together> run() {
    const ContentionMeter meter;
    std::vector<std::thread> threads;
    for (std::size_t i = 0; i < workloads_.size(); ++i) threads.emplace_back([this, i] { work(i); });
    for (std::thread& thread : threads) thread.join();
    HONE_CHECK(failure_);
    Together together;
    together.seconds = static_cast<double>(ended_ - began_) * 1e-9;
    together.latency = summarise_latency(std::move(samples_));
    together.latency.contention = meter.share();
    return together;
  }

 private:
  void fail(const Error& error) {
    const std::lock_guard lock(mutex_);
    if (failure_.ok()) failure_ = error;
    stop_ = true;
  }

  void work(std::size_t index) {
    const Workload& workload = workloads_[index];
    for (int i = 0; i < std::max(1, options_.warm_up_runs) && !stop_; ++i)
      if (const Status warm = workload(); !warm.ok()) fail(warm.error());
    start_.arrive_and_wait();
    const int64_t begin = now_ns();
    const auto budget_ns = static_cast<int64_t>(options_.seconds * 1e9);
    std::vector<double> mine;
    int64_t now = begin;
    const auto more = [&] {
      return options_.runs > 0 ? std::ssize(mine) < options_.runs : now < begin + budget_ns || mine.empty();
    };
    while (!stop_ && more()) {
      const int64_t before = now_ns();
      if (const Status ran = workload(); !ran.ok()) fail(ran.error());
      now = now_ns();
      mine.push_back(static_cast<double>(now - before) * 1e-6);
      const double done = options_.runs > 0
                              ? static_cast<double>(mine.size()) / options_.runs
                              : static_cast<double>(now - begin) / static_cast<double>(budget_ns);
      if (index == 0 && options_.progress && !options_.progress(std::min(1.0, done)))
        fail({ErrorCode::kCancelled, "interrupted; nothing was written"});
    }
    const std::lock_guard lock(mutex_);
    began_ = began_ == 0 ? begin : std::min(began_, begin);
    ended_ = std::max(ended_, now);
    samples_.insert(samples_.end(), mine.begin(), mine.end());
  }

  std::span<const Workload> workloads_;
  const TogetherOptions& options_;
  std::barrier<> start_;
  std::atomic<bool> stop_ = false;
  std::mutex mutex_;
  Status failure_;
  std::vector<double> samples_;
  int64_t began_ = 0, ended_ = 0;
};

}  // namespace

Result<Together> measure_together(std::span<const Workload> workloads, const TogetherOptions& options) {
  return TogetherRun(workloads, options).run();
}

}  // namespace hone::lab
