// How long a step of the running program takes, told from what it has written so far: by the marks that it gives
// itself, by the calls that wait for the device, or by what it launches again and again. Enough to say how long blocks must be; what a step is in the
// report is decided by trace/link from the whole recording.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "observe/session/segment_tail.h"

namespace hone::observe {

struct Rhythm {
  int64_t step_ns = 0;           // 0: not known
  double steps = 0;              // that it was told from
  bool settled = false;          // the last steps take as long as those before them: no warm-up any more
  int pid = 0;                   // whose steps these are
  double marks_a_step = 0;       // of all marks of that process; 0: it gives none
  bool sure = true;              // by marks of which one is a step's; else it may be a part or several
  int64_t first_ns = 0;          // when the first such mark came
  std::string call_a_step = {};  // the CUDA call that comes once a step, where no mark does; empty: none

  bool known() const { return step_ns > 0; }
  // Steps can be told while nothing is recorded.
  bool told_untouched() const { return marks_a_step > 0 || !call_a_step.empty(); }
};

// One thread.
class StepWatch {
 public:
  void see(const SegmentRecord& record);
  // Forgets launches, calls and operators seen so far; marks are kept.
  void forget_work();

  // By the marks of the process that gives most of them: its optimizer's, or else its outermost module's, its
  // data loader's, its ranges', its waits'. Known from the second step on, and as long as they go on (`now_ns`).
  Rhythm by_marks(int64_t now_ns) const;
  // The steps that by_marks tells of, ns each, of those that began at `from_ns` or later; in order of time.
  std::vector<double> steps_by_marks(int64_t from_ns, int64_t now_ns) const;
  // The optimizer, a module or a loader still marks steps.
  bool sure_marks_go_on(int64_t now_ns) const;
  // By the calls into CUDA that wait, copy or replay a graph, noted for `watched_ns` while nothing was recorded. Not known:
  // they repeat for a part of that time alone, as when a program starts. `tail` knows the names.
  Rhythm by_calls(const SegmentTail& tail, int64_t watched_ns = 0) const;
  // By the sequence of launches, or of operators where nothing is launched, recorded for `watched_ns`. Not known: fewer
  // than three times the same, nothing repeats, or for a part of that time alone. `tail` knows the names.
  Rhythm by_work(const SegmentTail& tail, int64_t watched_ns = 0) const;
  bool saw_work() const { return !launches_.empty() || !operators_.empty() || !kernels_.empty(); }
  // Nearly all of it had been seen before forget_work() was called the last time: the program does not start any more.
  bool saw_familiar_work() const;

 private:
  struct Launch {
    int64_t time_ns = 0;
    uint32_t name = 0;
    uint64_t correlation = 0;
  };
  // Marks of one source, in order of time.
  using Source =
      std::tuple<int, trace::segments::MarkKind, uint32_t, int64_t>;  // process, kind, name, thread
  struct Work {
    std::vector<int64_t> times;
    std::vector<uint32_t> symbols;
  };
  using Marks = std::map<Source, std::vector<int64_t>>;
  Marks::const_iterator marks_of_steps(int64_t now_ns) const;
  std::map<int, std::size_t> marks_by_process() const;
  Work work_of(int pid) const;
  void see_mark(int pid, const trace::segments::Mark& mark);
  void period_by_waits(const SegmentTail& tail, Rhythm& rhythm) const;
  std::string call_a_step(const SegmentTail& tail, const Rhythm& rhythm,
                          const std::map<int, std::vector<Launch>>& calls) const;

  Marks marks_;
  std::set<std::pair<int, uint32_t>> familiar_;  // process, name
  std::map<int, std::vector<Launch>> watched_;   // calls that were marked, by process
  std::map<int, std::vector<Launch>> launches_;  // by process
  std::map<int, std::vector<Launch>> kernels_;
  std::map<int, std::vector<Launch>> operators_;
};

}  // namespace hone::observe
