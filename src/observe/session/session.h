// One observed run of a program: starts it with the recorder in its processes, orders what is recorded when, and
// waits for its end. What was recorded lies in the segments of the run folder; to read and explain it is for others.
//
//   Session::start   the folder, the control page, the program
//   record()         returns when enough is recorded or the program has ended
//   count()          instead: counters alone
//   wait()           returns when the program has ended
//
// One thread. The program runs on whatever happens to the session.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "core/result.h"
#include "observe/host/host_watch.h"
#include "observe/session/control_page.h"
#include "observe/session/counting.h"
#include "observe/session/program.h"
#include "observe/session/recorder_files.h"
#include "observe/session/schedule.h"
#include "observe/session/segment_tail.h"
#include "observe/session/step_watch.h"

namespace hone::observe {

inline constexpr const char* kUnrecordedFolder = "unrecorded";  // of the run folder, with a file kHostFile

struct SessionOptions {
  std::filesystem::path folder = {};  // is there, is empty, and can be written
  std::vector<std::string> command = {};
  RecorderFiles recorder = {};
  int standard_output = -1;  // as ProgramStart
  int standard_error = -1;   // likewise
  std::vector<std::pair<std::string, std::string>> environment =
      {};                                 // for the program, beside what recorders need
  std::vector<int> blocked_signals = {};  // as ProgramStart
  int steps = 20;                         // to record
  bool stacks = true;                     // sample the stacks of the host, for some more steps
  bool python_stacks = false;             // Python's from inside of the program, too
  double wait_s =
      3;  // the least time from the first mark, or from the first device, to the first recorded block
  uint64_t seed = 0;  // of the order of blocks
  CountingOptions counters = {};
  bool sampling = true;  // sample hardware counters of whole devices over time
  // Asked ten times a second while the session waits; false: it orders nothing more. Null: always.
  std::function<bool()> keep_going = {};
};

// A block as it was ordered; what the processes made of it stands in their segments.
struct OrderedBlock {
  uint32_t number = 0;
  trace::segments::Mode mode = trace::segments::Mode::kWaiting;
  int64_t start_ns = 0, end_ns = 0;  // CLOCK_MONOTONIC; from the moment when all processes obeyed
};

struct Recorded {
  std::vector<OrderedBlock> blocks;
  int64_t start_ns = 0;  // of the program
  uint64_t seed = 0;
  bool complete = false;  // the whole schedule; otherwise the program ended first
  Rhythm rhythm;
  int64_t end_ns = 0;          // of the recording: the program's, if that came first
  int64_t marked_step_ns = 0;  // a step by the marks of the program, the last ones; 0: it gave none
  int processes = 0;           // that loaded the recorder
  std::filesystem::path unrecorded =
      {};                          // what was seen from outside of a program without any; empty: nothing
  bool any_device = false;         // one of them drives one
  std::vector<std::string> notes;  // for the user, a line each: what could not be had, and why
  std::vector<std::string> not_counted;  // for the report, a line each: kernels without counters, and why
  std::vector<std::string>
      notes_of_program;  // that its recorders wrote down: they are in the trace, if there is one
};

class Session {
 public:
  // Errors: those of Program::start, and of the control page; the pattern of kernels to count is none.
  static Result<Session> start(SessionOptions options);

  const Recorded& record();
  // Of a program that does the same over and over from its start: the kernels that take most of its time are counted, and
  // nothing else is recorded than what tells which these are. `complete`: so it was, as far as they can be counted.
  const Recorded& count();
  // The program's exit status, 128 + signal where one ended it.
  int wait();
  std::optional<int> exit_status() { return program_.exit_status(); }
  // Asks the program to end (SIGTERM); one that does not want to is killed.
  void end_program(double patience_s = 10);
  // From any thread.
  void send(int signal) const { program_.send(signal); }

 private:
  Session(SessionOptions options, ControlPage control, Program program, HostWatch host);

  void read_new();
  // Waits that long, or until the program ends. False: it has ended, or nobody wants more (SessionOptions::keep_going).
  bool pause(double seconds);
  // The same whatever anybody wants. False: it has ended.
  bool outlives(double seconds);
  // False: the program has ended.
  bool order(trace::segments::Mode mode, uint32_t block);
  bool order(Wanted wanted);
  bool run_block(trace::segments::Mode mode, double seconds);
  bool record_block(const PlannedBlock& block);
  void count_kernels();
  // False: the program has ended.
  bool sample_devices();
  // False: the process did not come to an end of it in time.
  bool wait_until_counted(int pid, double patience_s);
  bool run(const std::vector<PlannedBlock>& blocks);
  bool begin_recording();
  uint32_t marks_given() const;
  bool any_device() const;
  bool wait_for_lent_device();
  bool wait_for_device();
  bool see_kernels();
  void finish();
  bool wait_for_processes();
  bool look_at_host(uint32_t number);
  void note_failed_writes();
  bool find_rhythm();
  bool rhythm_of_marks();
  Prospect prospect() const;
  bool marks_may_come();
  bool may_look(int64_t start_ns);
  bool watch_calls(double seconds);
  bool probe(double seconds);
  double block_seconds(double steps) const;
  void note(std::string text) { recorded_.notes.push_back(std::move(text)); }

  SessionOptions options_;
  ControlPage control_;
  Program program_;
  HostWatch host_;
  std::optional<HostWatch> unrecorded_;  // of a program that no recorder is in
  SegmentTail tail_;
  StepWatch watch_;
  KernelTimes kernel_times_;
  Recorded recorded_;
  uint32_t next_block_ = 1;
  double lent_patience_s_;  // left, to wait for the program's own profiler
  Prospect prospect_ = Prospect::kNone;
  int64_t prospect_ns_ = 0;      // when that was first seen
  int64_t first_device_ns_ = 0;  // when a process was first seen to drive one; 0: none yet
  uint32_t last_order_ = 0;
  std::set<int> lagging_;  // processes that did not follow an order in time, and are not waited for any more
};

}  // namespace hone::observe
