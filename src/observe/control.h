// What `hone profile` and the recorders inside the observed processes tell each other while the program runs: one
// page of memory that all of them share, which the file kControlFile of the run folder leads to. The session writes what is to
// be done; each process has a slot in which it says what it does. Everything is an atomic of its own; a change of
// the order is announced by its number, which waiters sleep on (futex), so that waiting costs nothing.
//
// The library inside a program includes this header and trace/segments/record.h, and nothing else of hone.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>

#include "trace/segments/record.h"

namespace hone::observe {

inline constexpr const char* kControlFile = "control";
// The run folder, for the processes of the program: what they need to find the control page and to write.
inline constexpr const char* kFolderVariable = "HONE_OBSERVE_FOLDER";
// "1": which source lines kernels wait at will be asked for. CUPTI is attached while the program starts CUDA, to see the code
// that it loads onto devices.
inline constexpr const char* kLinesVariable = "HONE_OBSERVE_LINES";
// Where CUPTI is, for programs that have not loaded any themselves by the time that it is looked for.
inline constexpr const char* kCuptiVariable = "HONE_OBSERVE_CUPTI";
// Of the run folder, a file for each process that is to count (named by its number): what is to be counted, in lines
//   metric NAME…    what it is called on this chip or that, best first
//   once NAME…      likewise; it is counted in launches that run once
//   quiet MS        counting ends when none of the kernels was launched for so many milliseconds
//   kernel INSTANCES DEVICE GRID.X GRID.Y GRID.Z BLOCK.X BLOCK.Y BLOCK.Z SYMBOL
//   lines           once those kernels are counted, their instructions are sampled
// Read when Mode::kCounters is ordered; a process without one counts nothing.
inline constexpr const char* kCountersFolder = "counters";
// Likewise a file for each process that is to sample whole devices: lines "metric NAME…" and "sample DEVICE INTERVAL_NS". Read
// when Mode::kSampling is ordered.
inline constexpr const char* kSamplingFolder = "sampling";
inline constexpr uint32_t kControlVersion = 1;
inline constexpr int kMostProcesses = 256;  // with a slot; others record, and are not waited for

// As Order::mark_runtime_call: every call that waits for a device, copies, or replays a graph, of both domains.
inline constexpr uint32_t kAllWaits = UINT32_MAX;

enum class Attachment : uint32_t {
  kNone = 0,  // the slot is free
  kLoaded,    // the library is in the process, which uses no device yet
  kAttached,  // CUPTI is ours
  kHostOnly,  // there is no device, or CUPTI is not to be had: a Note in the segment says why
  kEnded,     // the process has ended in good order
  kLent,      // CUPTI is the program's own profiler's until that has ended
};

// What the session wants next. Written while `order` is odd, in force once it is even again.
struct Order {
  std::atomic<uint32_t> number{0};
  std::atomic<trace::segments::Mode> mode{trace::segments::Mode::kWaiting};
  std::atomic<uint32_t> block{0};
  std::atomic<uint32_t> python_stacks{0};
  // Runtime call (CUPTI's callback id) that comes once a step: noted as a Mark in steps that are left alone and while
  // the program is waited for, where it gives no marks itself; 0: none.
  std::atomic<uint32_t> mark_runtime_call{0};
  std::atomic<uint32_t> mark_driver_call{0};
};

struct Slot {
  std::atomic<int32_t> pid{0};
  std::atomic<Attachment> attachment{Attachment::kNone};
  std::atomic<uint32_t> obeyed{0};  // number of the order in force here
  std::atomic<uint32_t> marks{0};   // written so far, of the program's own kinds
  std::atomic<uint64_t> records{0};
  std::atomic<uint64_t> bytes{0};    // written to the segment
  std::atomic<uint64_t> dropped{0};  // records
  std::atomic<uint32_t> counted{
      0};  // number of the order whose launches are all counted, as far as they can be
};

// What a process has made that will give marks.
enum class Prospect : uint32_t { kNone = 0, kModules, kTraining };

struct Control {
  std::array<char, 8> magic = {'H', 'O', 'N', 'E', 'C', 'T', 'L', '1'};
  uint32_t version = kControlVersion;
  uint32_t bytes = 0;       // of this structure
  int32_t session_pid = 0;  // of hone: once it is gone, recorders detach
  uint32_t reserved = 0;
  Order order;
  std::array<Slot, kMostProcesses> slots;
  std::array<std::atomic<Prospect>, kMostProcesses> prospects;  // of each slot
  // Of each slot: errno of the last write to the segment that failed; 0: none has.
  std::array<std::atomic<int32_t>, kMostProcesses> write_errors;
};

static_assert(std::atomic<uint32_t>::is_always_lock_free && std::atomic<uint64_t>::is_always_lock_free);

}  // namespace hone::observe
