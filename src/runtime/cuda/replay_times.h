// When the marks of a captured sequence ran in a replay of its graph: which of the graph's commands are of which mark is
// counted while it is captured, and what the GPU noted of a replay (cuda/cupti.h) is matched with them by its order. That
// works for what one stream was given: a graph of it runs its commands in the order in which they were given. What does
// not fit is an error, never a guess.
#pragma once

#include <span>
#include <unordered_set>
#include <vector>

#include "cuda/cupti.h"
#include "cuda/driver.h"

#include "core/scope.h"

namespace hone::runtime {

// Commands of a graph that belong together: a mark's, or what stands between two marks.
struct MarkedNodes {
  bool marked = false;
  ScopeListener::Kind kind = {};
  uint32_t id = 0;
  std::size_t kernels = 0, copies = 0, sets = 0;  // of which there are records
  bool calls_host = false;                        // of which there is none

  std::size_t records() const { return kernels + copies + sets; }
};

// Counts the nodes of the graph that a stream is capturing.
class CapturedMarks {
 public:
  CapturedMarks(const cuda::Driver& driver, cuda::StreamHandle stream) : driver_(driver), stream_(stream) {}

  void begin();
  void end(ScopeListener::Kind kind, uint32_t id);
  void finish() { count_or_fail({}); }  // when all has been given, before the capture ends
  // After that. An error says why no times can be had of such a graph.
  Result<std::vector<MarkedNodes>> take();

 private:
  Status count(MarkedNodes& into);
  void count_or_fail(MarkedNodes nodes);
  void failed(const Error& error);

  const cuda::Driver& driver_;
  cuda::StreamHandle stream_;
  std::unordered_set<cuda::GraphNodeHandle> known_;
  std::vector<MarkedNodes> groups_;
  Status status_;
};

std::size_t records_of(std::span<const std::span<const MarkedNodes>> replays);

struct MarkTime {
  ScopeListener::Kind kind = {};
  uint32_t id = 0;
  int64_t start_ns = 0, end_ns = 0;
};

// A kernel of an operator's mark.
struct OperatorKernel {
  uint32_t op = 0;
  cuda::DeviceRecord record;
};

struct ReplayTimes {
  std::vector<MarkTime> marks;  // as they were captured
  std::vector<OperatorKernel> kernels;
  int64_t start_ns = 0, end_ns = 0;  // of the first command and of the last
};

// Of replays that ran one after the other, each with its graph's commands. `records` in order of their starts; those of no
// graph are passed over. A mark spans from the start of its first record to the end of its last; one without records is
// of no length, or, where the host computes in it, as long as nothing else ran.
Result<ReplayTimes> times_of_replays(std::span<const std::span<const MarkedNodes>> replays,
                                     std::span<const cuda::DeviceRecord> records);

}  // namespace hone::runtime
