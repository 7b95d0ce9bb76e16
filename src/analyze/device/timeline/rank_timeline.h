// One rank of a device program, laid out for questions of time: the work of its device in the order in which
// it started, the calls of the host that caused it or waited for it, and the windows of its steps. A view of
// the trace with joins done; no judgement.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "analyze/stalls.h"
#include "trace/trace.h"

namespace hone::analyze::device {

inline constexpr uint32_t kNothing = 0xffffffffu;

enum class WorkKind : uint8_t { kKernel, kMemset, kCopyOnDevice, kCopyToDevice, kCopyToHost, kCollective };
inline constexpr int kWorkKinds = 6;

// Something that a stream of the device ran.
struct Work {
  uint32_t span = 0;  // row of the span table
  int64_t start_ns = 0;
  int64_t end_ns = 0;
  uint32_t stream = 0;  // index into RankTimeline::streams
  int device = -1;      // as the trace numbers them
  WorkKind kind = WorkKind::kKernel;
  bool pageable = false;  // a copy from or to memory that the host may page out
  int32_t step = trace::kNoStep;
  uint32_t op = kNothing;         // row of the operator table
  uint32_t call = kNothing;       // index into RankTimeline::calls: what launched it; nothing: not recorded
  uint32_t execution = kNothing;  // the same for works of one execution of the operator; nothing: has none

  int64_t ns() const { return end_ns - start_ns; }
};

enum class CallKind : uint8_t { kLaunch, kWait, kAllocation };

// A call of the host into the device's runtime that the device's timing depends on.
struct HostCall {
  uint32_t span = 0;
  int64_t start_ns = 0;
  int64_t end_ns = 0;
  uint32_t thread = 0;  // index into RankTimeline::threads
  CallKind kind = CallKind::kLaunch;
  uint32_t first_work = kNothing;  // of a launch: its works are launched[first_work, first_work + works)
  uint32_t works = 0;
};

// A step as wall time: from the end of the step before to its own end, which is when both the host's range
// and all device work that it launched are over. The windows of a rank tile its time, but for what PyTorch's
// profiler needs for itself between the ranges that it marks: where the device has nothing left to do
// meanwhile, it belongs to no step; nor does what such a program launches between two ranges (an evaluation,
// a step that is not marked). Of a recorder that takes turns the windows of a block tile its time; what lies between
// blocks belongs to no step.
struct DeviceStep {
  int32_t step = 0;
  int64_t start_ns = 0;
  int64_t end_ns = 0;
  int64_t host_start_ns = 0;
  int64_t host_end_ns = 0;
  bool marked_by_profiler = false;
  bool begins_block = false;  // nothing was recorded just before it

  double ms() const { return static_cast<double>(end_ns - start_ns) * 1e-6; }
};

struct RankTimeline {
  int rank = 0;
  int64_t clock_shift_ns = 0;           // added to all times of the trace, to be those of the other ranks
  std::vector<Work> works;              // by start
  std::vector<HostCall> calls;          // by start
  std::vector<uint32_t> launched;       // works by the call that launched them, then by start
  std::vector<trace::TrackId> streams;  // of its devices
  std::vector<trace::TrackId> threads;  // that launch or wait
  std::vector<DeviceStep> steps;        // by time
  Stalls stalls;                        // of its steps
  uint32_t executions = 0;              // of operators: Work::execution is below
  // That the process drives, the one that works longest first: time of one device is not time of another, so
  // the ledger is that one's. Those that do next to nothing are left out.
  std::vector<int> devices;

  int ledger_device() const { return devices.empty() ? -1 : devices.front(); }
  bool in_ledger(const Work& work) const { return work.device == ledger_device(); }
  const HostCall* launch_of(const Work& work) const {
    return work.call == kNothing ? nullptr : &calls[work.call];
  }
  // What is told of steps that take `times_ms`, one each: the median; where steps stall again and again, the mean. Steps that
  // begin a block are left out where others are there.
  double average_step_ms(std::span<const double> times_ms) const;
};

// The ranks that have device work, in order.
std::vector<int> device_ranks(const trace::Trace& trace);

// O(n log n) in the spans of the trace. Without marked steps `steps` is empty.
RankTimeline rank_timeline(const trace::Trace& trace, int rank);

}  // namespace hone::analyze::device
