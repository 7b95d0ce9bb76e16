// How long a step of the running program takes, told from what it has written so far: by the marks that it gives
// itself, or by what it launches again and again. Enough to say how long blocks must be; what a step is in the
// report is decided by trace/link from the whole recording.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "observe/session/segment_tail.h"

namespace hone::observe {

struct Rhythm {
  int64_t step_ns = 0;           // 0: not known
  double steps = 0;              // that it was told from
  bool settled = false;          // the last steps take as long as those before them: no warm-up any more
  int pid = 0;                   // whose steps these are
  double marks_a_step = 0;       // of all marks of that process; 0: it gives none
  std::string call_a_step = {};  // the CUDA call that comes once a step, where no mark does; empty: none
  bool known() const { return step_ns > 0; }
};

// One thread.
class StepWatch {
 public:
  void see(const SegmentRecord& record);
  // Forgets launches and operators seen so far; marks are kept.
  void forget_work();

  // By the marks of the process that gives most of them: its optimizer's, or else its outermost module's, its
  // data loader's. Known from the second step on.
  Rhythm by_marks() const;
  int64_t first_mark_ns() const { return first_mark_ns_; }  // 0: none yet
  // By the sequence of launches, or of operators where nothing is launched. Not known: fewer than three times
  // the same, or nothing repeats. `tail` knows the names.
  Rhythm by_work(const SegmentTail& tail) const;
  bool saw_work() const { return !launches_.empty() || !operators_.empty() || !kernels_.empty(); }

 private:
  struct Launch {
    int64_t time_ns = 0;
    uint32_t name = 0;
    uint32_t correlation = 0;
  };
  // Marks of one source, in order of time.
  using Source =
      std::tuple<int, trace::segments::MarkKind, uint32_t, int64_t>;  // process, kind, name, thread
  struct Work {
    std::vector<int64_t> times;
    std::vector<uint32_t> symbols;
  };
  Work work_of(int pid) const;

  std::map<Source, std::vector<int64_t>> marks_;
  int64_t first_mark_ns_ = 0;
  std::map<int, std::vector<Launch>> launches_;  // by process
  std::map<int, std::vector<Launch>> kernels_;
  std::map<int, std::vector<Launch>> operators_;
};

}  // namespace hone::observe
