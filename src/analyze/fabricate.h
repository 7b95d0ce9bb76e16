// Traces made up for tests: a plan of operators with chosen costs, run for chosen times. Not part of the
// product.
#pragma once

#include <cstdint>
#include <functional>
#include <random>
#include <string>
#include <vector>

#include "core/roofs.h"
#include "trace/trace.h"

namespace hone::analyze::fabricate {

// 200 GFLOP/s; L2 2 MB at 200 GB/s, L3 32 MB at 100 GB/s, DRAM at 30 GB/s; 2 threads.
inline Roofs round_roofs() {
  Roofs roofs;
  roofs.machine = "a machine of round numbers";
  roofs.threads = 2;
  auto rate = [](double value) { return Rate{value, value * 0.97, value * 1.02}; };
  roofs.compute = {{DType::kF32, "fma", 2, rate(200e9)}, {DType::kF32, "gemm", 2, rate(190e9)}};
  roofs.memory = {{"L2", "copy", 2, 2e6, rate(200e9)},
                  {"L3", "copy", 2, 32e6, rate(100e9)},
                  {"DRAM", "copy", 2, 0, rate(30e9)}};
  roofs.barrier = {0.5e-6, 0.4e-6, 0.7e-6};
  roofs.thread_start = {1e-6, 0.9e-6, 1.2e-6};
  return roofs;
}

inline trace::Operator op(std::string name, std::string kind, trace::OperatorClass op_class, double flops,
                          double bytes_read, double bytes_written) {
  trace::Operator result;
  result.name = name;
  result.kind = std::move(kind);
  result.op_class = op_class;
  result.provenance = {std::move(name)};
  result.dtype = DType::kF32;
  result.flops = flops;
  result.bytes_read = bytes_read;
  result.bytes_written = bytes_written;
  result.device = "cpu";
  return result;
}

// A trace of one thread with `steps` steps in which the operators run one after the other.
class Timeline {
 public:
  explicit Timeline(std::vector<trace::Operator> operators) {
    trace_.meta = {"hone test", "a machine of round numbers", "cpu", 2, 0, {}};
    for (trace::Operator& op : operators) trace_.add_operator(std::move(op));
    trace::TrackId process = trace_.add_track({trace::TrackKind::kProcess, "test", {}, 1, 1, 0, -1});
    thread_ = trace_.add_track({trace::TrackKind::kThread, "main thread", process, 1, 1, 0, -1});
  }

  void begin_step() { step_start_ = time_; }
  void idle(double ms) { time_ += ns(ms); }
  void run(uint32_t op, double ms) { add(trace::Category::kOperator, trace_.operators[op].name, {op}, ms); }
  void host(trace::Category category, const std::string& name, double ms) { add(category, name, {}, ms); }
  void end_step() {
    trace_.spans.add({step_start_,
                      time_ - step_start_,
                      thread_,
                      trace_.strings.intern("step"),
                      trace::Category::kStep,
                      step_++,
                      {},
                      0});
  }
  const trace::Trace& trace() const { return trace_; }
  trace::Trace& trace() { return trace_; }

 private:
  static int64_t ns(double ms) { return static_cast<int64_t>(ms * 1e6); }
  void add(trace::Category category, const std::string& name, trace::OperatorId op, double ms) {
    trace_.spans.add({time_, ns(ms), thread_, trace_.strings.intern(name), category, step_, op, 0});
    time_ += ns(ms);
  }

  trace::Trace trace_;
  trace::TrackId thread_;
  int64_t time_ = 1'000'000;
  int64_t step_start_ = 0;
  int32_t step_ = 0;
};

}  // namespace hone::analyze::fabricate
