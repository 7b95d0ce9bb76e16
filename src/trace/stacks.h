// Where threads of the program were when somebody looked: samples of stacks, as a table. What a frame says of its
// code is found once, when a trace is linked (trace/link/frames.h), and carried as a column.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "core/ids.h"
#include "core/result.h"
#include "trace/strings.h"

namespace hone::trace {

struct TrackTag;
struct FrameTag;
using FrameId = Id<FrameTag>;  // index into StackTable::frames

enum class FrameKind : uint8_t { kPython, kNative };
inline constexpr int kFrameKindCount = 2;
std::string_view frame_kind_name(FrameKind kind);  // "python"

// Whose code a frame is, as far as its place tells.
enum class FrameOwner : uint8_t {
  kProgram,   // nobody's library: what its author can change
  kLibrary,   // installed: frameworks, the language's own library, the system's
  kRecorder,  // hone's hooks
};
inline constexpr int kFrameOwnerCount = 3;
std::string_view frame_owner_name(FrameOwner owner);  // "program"

// What a frame says that everything it calls is for.
enum class FrameRole : uint8_t {
  kNone,
  kInput,    // loads and prepares the next batch
  kIo,       // reads or writes files
  kLock,     // waits for another thread
  kSleep,    // waits for time to pass
  kCompile,  // a framework's compiler
};
inline constexpr int kFrameRoleCount = 6;
std::string_view frame_role_name(FrameRole role);  // "input"; "none"
std::optional<FrameRole> frame_role_from_name(std::string_view name);

// A line of a function.
struct Frame {
  StringId function = {};
  StringId file = {};  // path of the source; where that is not known, of the binary; invalid: neither
  int32_t line = 0;    // of the source; 0: not known
  FrameKind kind = FrameKind::kPython;
  FrameOwner owner = FrameOwner::kProgram;
  FrameRole role = FrameRole::kNone;

  friend bool operator==(const Frame&, const Frame&) = default;
};

// What the thread was at, as the kernel says.
enum class ThreadState : uint8_t {
  kUnknown,    // who took the sample cannot tell
  kRunning,    // or could run
  kFile,       // waits for a file
  kPipe,       // for another process or a machine, by a pipe or a socket, or for one of several things
  kLock,       // for another thread
  kSleep,      // for time to pass
  kPageFault,  // for a page of memory that is on a disk
  kOther,      // waits for something else
};
inline constexpr int kThreadStateCount = 8;
std::string_view thread_state_name(ThreadState state);  // "waits for a file"
std::optional<ThreadState> thread_state_from_name(std::string_view name);

struct StackSample {
  int64_t time_ns = 0;      // of the trace; may be before its first span
  Id<TrackTag> track = {};  // of the thread
  ThreadState state = ThreadState::kUnknown;
  // Frames in StackTable::stacked, each innermost first: Python's from `first` on, then native ones.
  uint32_t first = 0;
  uint32_t python = 0;
  uint32_t native = 0;

  friend bool operator==(const StackSample&, const StackSample&) = default;
};

struct StackTable {
  std::vector<Frame> frames;     // each once
  std::vector<FrameId> stacked;  // the stacks, one behind the other; equal ones may share their place
  std::vector<StackSample> samples;

  bool empty() const { return samples.empty(); }
  std::span<const FrameId> python(const StackSample& sample) const {
    return std::span(stacked).subspan(sample.first, sample.python);
  }
  std::span<const FrameId> native(const StackSample& sample) const {
    return std::span(stacked).subspan(sample.first + sample.python, sample.native);
  }
  // Appends a sample whose frames these are.
  void add(StackSample sample, std::span<const FrameId> python, std::span<const FrameId> native);
  // Frames, strings, tracks and places in range; times near.
  Status validate(std::size_t tracks, std::size_t strings) const;
};

}  // namespace hone::trace
