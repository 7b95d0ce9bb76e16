// A program of one host thread and one stream, made up for tests operator by operator, with what a recorder
// says of each: its inputs, its costs, the kernels it launches. Not part of the product. Times in µs.
#pragma once

#include <algorithm>
#include <cmath>
#include <string>

#include "analyze/device/busy/divide_busy.h"
#include "analyze/device/study.h"
#include "analyze/device/testing/fabricate_counters.h"
#include "analyze/device/timeline/rank_timeline.h"
#include "trace/testing/add_span.h"

namespace hone::analyze::device::fabricate {

// An operator and its first kernel; a test says what matters to it.
struct WorkWords {
  std::string kind = "aten::mul";
  trace::OperatorClass op_class = trace::OperatorClass::kPointwise;
  DType dtype = DType::kBF16;
  std::string inputs = {};  // as trace/call_inputs.h writes them
  double flops = 0;
  double bytes = 0;  // that it reads
  double written = 0;
  double avoidable = 0;  // of both
  double us = 10;
  std::string kernel = "a_kernel";
  trace::Phase phase = trace::Phase::kForward;
};

// A pass of the backward over a gradient.
inline WorkWords gradient_pass(double us, std::string kind = "aten::mul") {
  return {.kind = std::move(kind), .inputs = "f32[1024,1024]", .us = us, .phase = trace::Phase::kBackward};
}

class Works {
 public:
  Works() {
    const trace::TrackId process = add_process(trace_);
    thread_ = add_thread(trace_, process);
    stream_ = add_stream(trace_, process);
    trace_.meta.devices.push_back({0, 0, "NVIDIA H200", 150e9, 132, 9, 0});
  }

  // The host calls the operator; returns which work its kernel is.
  uint32_t run(const WorkWords& words) {
    trace::Operator row;
    row.name = words.kind + std::to_string(count_);
    row.kind = words.kind;
    row.op_class = words.op_class;
    row.dtype = words.dtype;
    row.flops = words.flops;
    row.bytes_read = words.bytes;
    row.bytes_written = words.written;
    row.avoidable_bytes = words.avoidable;
    row.phase = words.phase;
    op_ = trace_.add_operator(row);
    operator_ = host(trace::Category::kOperator, words.kind, 2, op_);
    if (!words.inputs.empty()) trace_.calls.push_back({operator_, trace_.strings.intern(words.inputs)});
    return also(words.us, words.kernel);
  }

  // The host calls the last operator again, which launches this kernel.
  uint32_t again(double us, const std::string& kernel) {
    operator_ = host(trace::Category::kOperator, trace_.operators[op_.index].kind, 2, op_);
    return also(us, kernel);
  }

  // A kernel that no operator launches.
  uint32_t launch(double us, const std::string& kernel) {
    op_ = {};
    operator_ = host(trace::Category::kFunction, "main", 2);
    return also(us, kernel);
  }

  // One more kernel of the operator, whose call takes until it is launched.
  uint32_t also(double us, const std::string& kernel, trace::Category category = trace::Category::kKernel) {
    device_ = std::max(device_ + 1, host_ + 3);
    last_ = add_launch(trace_, {.on = thread_, .from_us = host_, .us = 2},
                       {.on = stream_,
                        .category = category,
                        .name = kernel,
                        .from_us = device_,
                        .us = us,
                        .step = step_,
                        .op = op_});
    device_ += us;
    host_ += 2;
    trace_.spans.duration_ns[operator_] = std::llround(host_ * 1e3) - trace_.spans.start_ns[operator_];
    return count_++;
  }

  // What counters said of the last kernel.
  void count(CounterValues values) {
    give_blocks(64);
    const std::string name(trace_.strings.text(trace_.spans.name[last_]));
    trace_.counters.push_back(
        counted_launch(trace_.strings, name, {{64, 1, 1}, trace_.launches.back().block}, values));
  }

  // The time of the last kernel.
  void give_blocks(uint32_t blocks) {
    trace::Launch launch;
    launch.span = last_;
    launch.grid = {blocks, 1, 1};
    trace_.launches.push_back(launch);
  }

  // The host reads a value of the device, and waits for it.
  uint32_t read(double bytes) {
    const uint32_t work = also(2, "Memcpy DtoH", trace::Category::kMemcpy);
    trace_.copies.push_back({last_, 0, trace::MemoryKind::kDevice, trace::MemoryKind::kPinned, bytes});
    host_ = std::max(host_, device_ + 5);
    return work;
  }

  // A span of the host from now on, of which the time passes by what is launched within it.
  uint32_t host(trace::Category category, const std::string& name, double us, trace::OperatorId op = {}) {
    return add_span(trace_, {.on = thread_,
                             .category = category,
                             .name = name,
                             .from_us = host_,
                             .us = us,
                             .step = step_,
                             .op = op});
  }

  // The same with what it is called with.
  uint32_t host_with(trace::Category category, const std::string& name, double us,
                     const std::string& inputs) {
    const uint32_t span = host(category, name, us);
    trace_.calls.push_back({span, trace_.strings.intern(inputs)});
    return span;
  }

  void pass(double us) { host_ += us; }

  void end_step() {
    add_span(trace_, {.on = thread_,
                      .category = trace::Category::kStep,
                      .name = "step",
                      .from_us = step_start_,
                      .us = host_ - step_start_,
                      .step = step_});
    ++step_;
    step_start_ = host_;
  }

  const trace::Trace& trace() const { return trace_; }
  trace::Trace& trace() { return trace_; }
  RankTimeline timeline() const { return rank_timeline(trace_, 0); }
  BusySplit split(const GpuRoofs& roofs = gpu_roofs("NVIDIA H200")) const {
    const RankTimeline seen = timeline();
    return divide_busy(trace_, seen, host_activity(trace_, seen), find_loops(trace_, seen), roofs);
  }

 private:
  trace::Trace trace_;
  trace::TrackId thread_, stream_;
  trace::OperatorId op_;
  uint32_t operator_ = 0;  // row of the last call of an operator
  uint32_t last_ = 0;      // row of the last work
  double host_ = 1000, device_ = 0, step_start_ = 1000;
  int32_t step_ = 0;
  uint32_t count_ = 0;
};

}  // namespace hone::analyze::device::fabricate
