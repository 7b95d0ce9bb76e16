#include "lab/bench/together.h"

#include <algorithm>
#include <atomic>
#include <barrier>
#include <deque>
#include <mutex>
#include <thread>

#include "core/clock.h"
#include "core/contention.h"

namespace hone::lab {
namespace {

// The requests of one thread.
class RequestLine {
 public:
  explicit RequestLine(const Requests& requests) : requests_(requests) {}

  bool is_full() const { return begun_.size() >= requests_.in_flight; }
  bool is_empty() const { return begun_.empty(); }

  Status give() {
    const int64_t begin = now_ns();
    HONE_CHECK(requests_.give());
    begun_.push_back(begin);
    return {};
  }
  // When the request was given.
  Result<int64_t> take() {
    const int64_t begin = begun_.front();
    begun_.pop_front();
    if (requests_.take) HONE_CHECK(requests_.take());
    return begin;
  }

 private:
  const Requests& requests_;
  std::deque<int64_t> begun_;
};

class TogetherRun {
 public:
  TogetherRun(std::span<const Requests> requests, const TogetherOptions& options)
      : requests_(requests), options_(options), start_(static_cast<std::ptrdiff_t>(requests.size())) {}

  Result<Together> run() {
    const ContentionMeter meter;
    std::vector<std::thread> threads;
    for (std::size_t i = 0; i < requests_.size(); ++i) threads.emplace_back([this, i] { work(i); });
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

  // Gives as many as may be on their way, then takes one.
  template <typename MayGive, typename Taken>
  void turn(RequestLine& line, const MayGive& may_give, const Taken& taken) {
    while (!stop_ && !line.is_full() && may_give()) {
      if (const Status given = line.give(); !given.ok()) fail(given.error());
    }
    if (stop_ || line.is_empty()) return;
    const auto begun = line.take();
    if (begun.ok())
      taken(*begun);
    else
      fail(begun.error());
  }

  void warm_up(RequestLine& line) {
    int left = std::max(1, options_.warm_up_runs);
    while (!stop_ && (left > 0 || !line.is_empty()))
      turn(
          line, [&left] { return left-- > 0; }, [](int64_t) {});
  }

  void work(std::size_t index) {
    RequestLine line(requests_[index]);
    warm_up(line);
    start_.arrive_and_wait();
    const int64_t begin = now_ns();
    const auto budget_ns = static_cast<int64_t>(options_.seconds * 1e9);
    std::vector<double> mine;
    int64_t now = begin;
    int given = 0;
    const auto more = [&] {
      return options_.runs > 0 ? given < options_.runs : now < begin + budget_ns || given == 0;
    };
    const auto may_give = [&] {
      if (!more()) return false;
      ++given;
      return true;
    };
    while (!stop_ && (more() || !line.is_empty())) {
      turn(line, may_give, [&](int64_t begun) {
        now = now_ns();
        mine.push_back(static_cast<double>(now - begun) * 1e-6);
      });
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

  std::span<const Requests> requests_;
  const TogetherOptions& options_;
  std::barrier<> start_;
  std::atomic<bool> stop_ = false;
  std::mutex mutex_;
  Status failure_;
  std::vector<double> samples_;
  int64_t began_ = 0, ended_ = 0;
};

}  // namespace

Result<Together> measure_together(std::span<const Requests> requests, const TogetherOptions& options) {
  return TogetherRun(requests, options).run();
}

Result<Together> measure_together(std::span<const Workload> workloads, const TogetherOptions& options) {
  std::vector<Requests> requests;
  for (const Workload& workload : workloads)
    requests.push_back({.give = workload, .take = {}, .in_flight = 1});
  return measure_together(requests, options);
}

}  // namespace hone::lab
