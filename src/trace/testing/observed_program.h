// A training program as hone's recorder observes it, made up for tests: each step launches the same kernels, the host is
// slower the more is recorded, and blocks begin and end in the middle of a step. Not part of the product.
#pragma once

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "trace/testing/segment_writer.h"

namespace hone::trace::segments {

struct ObservedLaunch {
  std::string_view op;
  std::string_view kernel;
  int64_t kernel_ns = 2'000;
  std::string_view inputs = {};
};

class ObservedProgram {
 public:
  std::vector<ObservedLaunch> launches = {
      {"aten::mm", "gemm"}, {"aten::relu", "relu"}, {"aten::mm", "gemm"}, {"aten::_fused_adamw_", "adamw"}};
  int64_t launch_ns = 100'000;  // of the host, from one launch to the next where nothing is recorded
  double timeline_slower = 1.2;
  double operators_slower = 1.5;
  double attached_slower = 1.05;  // while nothing is recorded any more
  bool marks = true;              // once a step, behind its last launch
  bool device_bound = false;      // the device's queue fills up: the host is at most kQueueNs ahead
  bool device = true;             // else a program on the host alone
  // As PyTorch does it, the optimizer's range is around the last launch of a step and ends after the mark, and is recorded
  // without operators, too; then the host waits for the device.
  bool optimizer_range = false;
  int64_t mark_before_end_ns = 10'000;
  int64_t zero_grad_ns = 0;  // of another range of the optimizer's, before a step's first launch; 0: none
  SegmentWriter writer;

  ObservedProgram() {
    Device described;
    described.name = writer.name("NVIDIA H200");
    described.compute_major = 9;
    described.multiprocessors = 132;
    described.memory_bytes = 150'000'000'000;
    writer.add(described);
  }

  // In the middle of the next step the recorder changes to `mode`, and again after so many whole steps.
  ObservedProgram& block(Mode mode, int steps) {
    half_step(0, launches.size() / 2);
    writer.mode(mode, ++block_, time_, launched_);
    mode_ = mode;
    attached_ = attached_ || recorded();
    half_step(launches.size() / 2, launches.size());
    for (int i = 0; i < steps; ++i) half_step(0, launches.size());
    return *this;
  }

  ObservedProgram& finish() {
    half_step(0, launches.size() / 2);
    writer.mode(Mode::kFinished, ++block_, time_, launched_);
    return *this;
  }

  int64_t time_ns() const { return time_; }

 private:
  bool recorded() const { return mode_ == Mode::kTimeline || mode_ == Mode::kOperators; }
  double slower() const {
    if (mode_ == Mode::kTimeline) return timeline_slower;
    if (mode_ == Mode::kOperators) return operators_slower;
    return attached_ ? attached_slower : 1;
  }

  // Launches [from, to) of a step.
  void half_step(std::size_t from, std::size_t to) {
    int64_t last_begins = time_;
    if (from == 0 && zero_grad_ns > 0) {
      if (recorded())
        writer.add(
            writer.range(RangeKind::kAnnotation, "Optimizer.zero_grad#AdamW.zero_grad", time_, zero_grad_ns));
      time_ += zero_grad_ns;
    }
    for (std::size_t i = from; i < to; ++i) {
      last_begins = time_;
      launch(launches[i]);
    }
    if (to < launches.size()) return;
    if (marks) writer.mark(MarkKind::kOptimizer, "AdamW", time_, launched_);
    if (!optimizer_range) return;
    time_ += mark_before_end_ns;
    if (recorded())
      writer.add(writer.range(RangeKind::kAnnotation, "Optimizer.step#AdamW.step", last_begins,
                              time_ - last_begins));
    time_ = std::max(time_ + 1'000, stream_free_ + 5'000);
  }

  void launch(const ObservedLaunch& each) {
    const auto host_ns = static_cast<int64_t>(static_cast<double>(launch_ns) * slower());
    const auto correlation = static_cast<uint32_t>(++launched_);
    const int64_t start = std::max(time_ + 10'000, stream_free_);
    stream_free_ = start + each.kernel_ns;
    // A launch into a full queue of the device returns when there is room.
    const int64_t full_ns = device_bound ? std::max<int64_t>(0, start - time_ - kQueueNs) : 0;
    if (recorded()) {
      if (device) {
        writer.add(writer.call("cudaLaunchKernel", time_ + 5'000, 4'000 + full_ns, correlation));
        writer.add(writer.kernel(each.kernel, start, each.kernel_ns, correlation));
      }
      if (mode_ == Mode::kOperators)
        writer.add(writer.range(RangeKind::kOperator, each.op, time_ + 1'000, full_ns + host_ns - 2'000,
                                each.inputs));
    }
    time_ += host_ns + full_ns;
  }

  static constexpr int64_t kQueueNs = 300'000;

  Mode mode_ = Mode::kWaiting;
  bool attached_ = false;
  uint32_t block_ = 0;
  uint64_t launched_ = 0;
  int64_t time_ = 10'000'000;
  int64_t stream_free_ = 0;
};

}  // namespace hone::trace::segments
