// The form in which a program that hone observes writes down what happened, from inside that program: one file
// for each process, records one behind the other, appended as they come. A file may end anywhere (the program
// was killed, the disk is full): everything up to its last whole record counts.
//
// Both sides include this header and nothing else of each other: observe/inject writes the records, in a
// library that lives in foreign processes, and trace/import/segments reads them. Plain structures of fixed
// layout, little-endian, multiples of 8 bytes; a later version adds kinds and appends fields, and readers skip
// kinds that they do not know and bytes behind what they do.
//
// Times are nanoseconds of CLOCK_MONOTONIC on the host, also those of devices: the recorder hands CUPTI that
// clock. Names are numbers; a Name record comes before the first record of its process that uses one.
#pragma once

#include <array>
#include <cstdint>
#include <type_traits>

namespace hone::trace::segments {

inline constexpr std::array<char, 8> kMagic = {'H', 'O', 'N', 'E', 'S', 'E', 'G', '1'};
inline constexpr uint32_t kVersion = 1;
inline constexpr const char* kFolder = "segments";  // of a run folder
inline constexpr const char* kExtension = ".seg";   // <pid>-<start, ns>.seg
// Beside the segments: what the session saw of the program's processes from outside, in the same form. The pid of its
// header is the session's.
inline constexpr const char* kHostFile = "host";
inline constexpr const char* kProducer =
    "hone profile";  // Meta::producer of traces that are made of segments
inline constexpr uint32_t kNoName = 0;
inline constexpr int32_t kNoRank = -1;

// At the beginning of a file.
struct FileHeader {
  std::array<char, 8> magic = kMagic;
  uint32_t version = kVersion;
  uint32_t header_bytes = sizeof(FileHeader);
  int64_t monotonic_ns = 0;  // both clocks, read at one moment
  int64_t realtime_ns = 0;
  int32_t pid = 0;
  int32_t parent_pid = 0;
  int32_t rank = kNoRank;  // of a distributed program, as its launcher says in the environment
  int32_t world_size = 1;
  int32_t local_rank = kNoRank;
  uint32_t forked = 0;  // 1: this process came of a fork without an exec
};

enum class Kind : uint16_t {
  kEnd = 0,  // what a hole of zeros reads as: the file ends here
  kName = 1,
  kProcess,
  kThread,
  kDevice,
  kMode,
  kMark,
  kKernel,
  kCopy,
  kSet,
  kApiCall,
  kSynchronization,
  kRange,
  kGraphNode,
  kMemory,
  kSample,
  kDropped,
  kNote,
  kCounters,
  kRetired,  // by nobody written
  // In the file kHostFile alone, which the session itself writes.
  kHostProcess,
  kHostFrame,
  kHostSample,
  kHostUse,
  // In segments again.
  kDeviceSamples,
  kSampledInstruction,
  kLoader,
};

// Before each record.
struct Head {
  Kind kind = Kind::kEnd;
  uint16_t reserved = 0;
  uint32_t bytes = 0;  // of the record with this head and its padding: a multiple of 8
};

// Followed by `length` bytes of UTF-8, padded to 8.
struct Name {
  Head head;
  uint32_t id = kNoName;
  uint32_t length = 0;
};

struct Process {
  Head head;
  uint32_t command = kNoName;     // its arguments, separated by spaces
  uint32_t executable = kNoName;  // path
};

struct Thread {
  Head head;
  int64_t tid = 0;
  uint32_t name = kNoName;
  uint32_t reserved = 0;
};

struct Device {
  Head head;
  uint32_t index = 0;  // as this process counts
  uint32_t name = kNoName;
  uint32_t compute_major = 0, compute_minor = 0;
  uint32_t multiprocessors = 0;
  uint32_t reserved = 0;
  uint64_t memory_bytes = 0;
  std::array<uint8_t, 16> uuid = {};
};

// What is recorded from here on. Steps are recorded and left alone in turn.
enum class Mode : uint32_t {
  kWaiting = 0,  // nothing yet: the program starts
  kLeftAlone,    // marks alone; before the first recorded block CUPTI has not been touched
  kTimeline,     // device work and the calls that launch it
  kOperators,    // that, and the framework's operators with their shapes
  kStacks,       // that, and stacks of the host
  kCounters,     // hardware counters of chosen kernels, replayed
  kFinished,     // nothing any more: detached
  kSampling,     // what whole devices do, by hardware counters at a fixed interval; otherwise as left alone
};

inline constexpr uint32_t kFirstLook =
    0;  // ModeChange::block of what is recorded before the blocks that count

struct ModeChange {
  Head head;
  int64_t time_ns = 0;  // in force from here on
  Mode mode = Mode::kWaiting;
  uint32_t block = 0;     // counts the blocks of a session; the same in all of its processes
  uint64_t launches = 0;  // work that this process has launched so far, as CUPTI numbers it; 0: not known
};

// A moment that comes once a step, cheap enough to be noted in steps that are left alone.
enum class MarkKind : uint32_t {
  kOptimizer = 1,
  kModule,
  kData,
  kApiCall,  // of CUDA, noted by CUPTI where the session asks for it
  kUser,
  kComing,    // no such moment, but that some may come: the program has made a module
  kHostWait,  // the framework is asked to wait for the device
  kRange,  // one of the program's NVTX ranges begins, which lies in no other or in one; digits left out of its name
  kTraining,  // as kComing: the program has made an optimizer, which will step once a step
};
struct Mark {
  Head head;
  int64_t time_ns = 0;
  int64_t tid = 0;
  MarkKind what = MarkKind::kUser;
  uint32_t name = kNoName;  // the optimizer's class, the outermost module's, the call's
  uint64_t launches = 0;    // as in ModeChange
};

struct Kernel {
  Head head;
  int64_t start_ns = 0, end_ns = 0;
  uint64_t graph_node = 0;  // 0: not launched by a CUDA graph
  uint32_t correlation = 0;
  uint32_t graph = 0;
  uint32_t device = 0, context = 0, stream = 0;
  uint32_t name = kNoName;  // as the linker knows it: mangled
  std::array<uint32_t, 3> grid = {}, block = {}, cluster = {};
  uint32_t registers = 0;       // a thread
  uint32_t static_shared = 0;   // bytes a block
  uint32_t dynamic_shared = 0;  // bytes a block
  uint32_t local_bytes = 0;     // a thread: what spills to memory
  uint32_t reserved = 0;
};

// Kinds of copies and of memory are CUPTI's numbers: CUpti_ActivityMemcpyKind, CUpti_ActivityMemoryKind.
struct Copy {
  Head head;
  int64_t start_ns = 0, end_ns = 0;
  uint64_t bytes = 0;
  uint64_t graph_node = 0;
  uint32_t correlation = 0;
  uint32_t device = 0, context = 0, stream = 0;
  uint32_t peer_device = 0;  // of copies between devices: where to
  uint8_t copy_kind = 0, from = 0, to = 0, reserved = 0;
};

struct Set {
  Head head;
  int64_t start_ns = 0, end_ns = 0;
  uint64_t bytes = 0;
  uint64_t graph_node = 0;
  uint32_t correlation = 0;
  uint32_t device = 0, context = 0, stream = 0;
};

// A call into CUDA's runtime or driver.
struct ApiCall {
  Head head;
  int64_t start_ns = 0, end_ns = 0;
  int64_t tid = 0;
  uint32_t correlation = 0;
  uint32_t name = kNoName;  // without version: "cudaLaunchKernel"
  uint32_t result = 0;
  uint32_t reserved = 0;
};

// The host waits for the device; CUpti_ActivitySynchronizationType.
struct Synchronization {
  Head head;
  int64_t start_ns = 0, end_ns = 0;
  uint32_t correlation = 0;
  uint32_t type = 0;
  uint32_t context = 0, stream = 0, event = 0;
  uint32_t reserved = 0;
};

// What the host did by name.
enum class RangeKind : uint32_t { kOperator = 1, kAnnotation, kNvtx, kModule, kPythonFunction, kPhase };
struct Range {
  Head head;
  int64_t start_ns = 0, end_ns = 0;  // end 0: the file ended first
  int64_t tid = 0;
  RangeKind what = RangeKind::kOperator;
  uint32_t name = kNoName;
  uint32_t inputs = kNoName;  // of an operator: as trace/call_inputs.h writes them
  uint32_t reserved = 0;
  int64_t sequence = -1;  // the same for a forward call and its backward call; -1: none
};

// Which call of the host made a node of a CUDA graph: kernels of its replays keep their operator by it.
struct GraphNode {
  Head head;
  int64_t time_ns = 0;
  int64_t tid = 0;
  uint64_t node = 0;      // as Kernel::graph_node says
  uint64_t original = 0;  // the node that this one is a clone of; 0: none
  uint32_t graph = 0;
  uint32_t reserved = 0;
};

enum class MemoryOperation : uint32_t { kAllocate = 1, kFree };
struct Memory {
  Head head;
  int64_t time_ns = 0;
  int64_t tid = 0;
  uint64_t bytes = 0;
  uint64_t address = 0;
  MemoryOperation operation = MemoryOperation::kAllocate;
  uint32_t device = 0;
  uint32_t memory_kind = 0;  // CUpti_ActivityMemoryKind
  uint32_t correlation = 0;
};

// A stack of a thread, innermost frame first: `frames` names follow, "function (file:line)", padded to 8 bytes.
enum class StackKind : uint32_t { kPython = 1, kNative };
struct Sample {
  Head head;
  int64_t time_ns = 0;
  int64_t tid = 0;
  StackKind what = StackKind::kPython;
  uint32_t frames = 0;
};

struct Dropped {
  Head head;
  uint64_t records = 0;     // lost since the last such record
  uint32_t what = kNoName;  // who lost them and why
  uint32_t reserved = 0;
};

// A line for the reader of the report: what could not be recorded, and why.
struct Note {
  Head head;
  int64_t time_ns = 0;
  uint32_t text = kNoName;
  uint32_t reserved = 0;
};

// What hardware counters said of one launch of a kernel, which was counted apart from the timeline. `values`
// CounterValues follow.
struct Counters {
  Head head;
  uint32_t device = 0;
  uint32_t name = kNoName;  // as Kernel::name
  std::array<uint32_t, 3> grid = {}, block = {};
  uint32_t instance = 0;  // counts the counted launches of this kernel with this geometry
  uint32_t passes = 0;    // how often it ran to be counted; 0: not known
  uint32_t values = 0;
  uint32_t reserved = 0;
};

// One metric, in CUPTI's words and units: nanoseconds, per second, percent, counts.
struct CounterValue {
  uint32_t metric = kNoName;  // "dram__bytes_read.sum"
  uint32_t reserved = 0;
  double value = 0;
};

// What hardware counters said of a whole device at a fixed interval. Names of metrics follow, `metrics` numbers padded to 8
// bytes, then `samples` times a DeviceSample and a value of each metric (double), in CUPTI's units.
struct DeviceSamples {
  Head head;
  uint32_t device = 0;
  uint32_t metrics = 0;
  uint32_t samples = 0;
  uint32_t reserved = 0;
  int64_t interval_ns = 0;
};

struct DeviceSample {
  int64_t start_ns = 0, end_ns = 0;
};

// Whether the source line of an instruction is known, and why not.
enum class LineInfo : uint32_t {
  kKnown = 1,
  kNone,        // the code was compiled without line information
  kCodeUnseen,  // it was loaded before the recorder looked
};

// An instruction that warps of a kernel were found at, in all its sampled launches, which were apart from the timeline.
// `reasons` StallSamples follow.
struct SampledInstruction {
  Head head;
  uint32_t device = 0;
  uint32_t name = kNoName;  // as Kernel::name
  std::array<uint32_t, 3> grid = {}, block = {};
  uint32_t function = kNoName;  // where it is: the kernel's symbol, or one that the kernel calls
  uint32_t file = kNoName;      // path of the source
  uint64_t offset = 0;          // bytes, from the beginning of the function
  uint32_t line = 0;            // from 1
  LineInfo line_info = LineInfo::kNone;
  uint32_t reasons = 0;
  uint32_t reserved = 0;
};

// How often a warp was found there, for one of the reasons why it had not gone on.
struct StallSamples {
  uint32_t reason = kNoName;  // CUPTI's: "smsp__pcsamp_warps_issue_stalled_long_scoreboard"
  uint32_t samples = 0;
};

// A data loader's epoch: written once it has begun, and again as batches come; the last of an epoch counts. -1: not known.
struct Loader {
  Head head;
  int64_t start_ns = 0;  // when the epoch was asked for
  int64_t loader = 0;    // counts those of the process
  int64_t workers = 0;   // processes that prepare batches
  int64_t prefetch = 0;  // batches that each may be ahead
  int64_t persistent = 0, forked = 0;
  int64_t batches = -1;         // of an epoch
  int64_t batch_size = -1;      // samples
  int64_t delivered = 0;        // batches so far
  int64_t starting_ns = 0;      // of the processes; 0: they were there
  int64_t ending_ns = 0;        // of those of the epoch before
  int64_t cpu_ns = 0;           // of all of them so far
  int64_t cpus = 0, cores = 0;  // that the process may use
};

// A process of the program, before the first record of it.
struct HostProcess {
  Head head;
  int32_t pid = 0;
  int32_t parent = 0;
  uint32_t command = kNoName;
  uint32_t reserved = 0;
};

// A line of a function, before the first sample that it is in. Numbers count from 1.
struct HostFrame {
  Head head;
  uint32_t id = 0;
  StackKind what = StackKind::kPython;
  uint32_t function = kNoName;
  uint32_t file = kNoName;  // of the source; where that is not known, of the binary
  int32_t line = 0;         // 0: not known
  uint32_t reserved = 0;
};

// As trace::ThreadState.
enum class ThreadState : uint32_t { kUnknown, kRunning, kFile, kPipe, kLock, kSleep, kPageFault, kOther };

// A thread at a moment. Numbers of frames follow, padded to 8 bytes: Python's, then native ones, each innermost first.
struct HostSample {
  Head head;
  int64_t time_ns = 0;
  int32_t pid = 0;
  int32_t tid = 0;
  ThreadState state = ThreadState::kUnknown;
  uint32_t python = 0;
  uint32_t native = 0;
  uint32_t reserved = 0;
};

// Counters of a process at the beginning and at the end of a block, since the process began. What cannot be read is 0.
struct HostUse {
  Head head;
  int64_t time_ns = 0;
  int32_t pid = 0;  // 0: of the machine, whose networks alone count
  uint32_t block = 0;
  int64_t main_running_ns = 0, main_in_line_ns = 0;
  int64_t cpu_ns = 0;
  int64_t disk_wait_ns = 0;
  uint64_t minor_faults = 0, major_faults = 0;
  uint64_t bytes_read = 0, bytes_written = 0;
  uint64_t bytes_received = 0, bytes_sent = 0;
};

// The kind that a record's structure goes with.
template <typename Record>
inline constexpr Kind kKindOf = Kind::kEnd;
template <>
inline constexpr Kind kKindOf<Name> = Kind::kName;
template <>
inline constexpr Kind kKindOf<Process> = Kind::kProcess;
template <>
inline constexpr Kind kKindOf<Thread> = Kind::kThread;
template <>
inline constexpr Kind kKindOf<Device> = Kind::kDevice;
template <>
inline constexpr Kind kKindOf<ModeChange> = Kind::kMode;
template <>
inline constexpr Kind kKindOf<Mark> = Kind::kMark;
template <>
inline constexpr Kind kKindOf<Kernel> = Kind::kKernel;
template <>
inline constexpr Kind kKindOf<Copy> = Kind::kCopy;
template <>
inline constexpr Kind kKindOf<Set> = Kind::kSet;
template <>
inline constexpr Kind kKindOf<ApiCall> = Kind::kApiCall;
template <>
inline constexpr Kind kKindOf<Synchronization> = Kind::kSynchronization;
template <>
inline constexpr Kind kKindOf<Range> = Kind::kRange;
template <>
inline constexpr Kind kKindOf<GraphNode> = Kind::kGraphNode;
template <>
inline constexpr Kind kKindOf<Memory> = Kind::kMemory;
template <>
inline constexpr Kind kKindOf<Sample> = Kind::kSample;
template <>
inline constexpr Kind kKindOf<Dropped> = Kind::kDropped;
template <>
inline constexpr Kind kKindOf<Note> = Kind::kNote;
template <>
inline constexpr Kind kKindOf<Counters> = Kind::kCounters;
template <>
inline constexpr Kind kKindOf<HostProcess> = Kind::kHostProcess;
template <>
inline constexpr Kind kKindOf<HostFrame> = Kind::kHostFrame;
template <>
inline constexpr Kind kKindOf<HostSample> = Kind::kHostSample;
template <>
inline constexpr Kind kKindOf<HostUse> = Kind::kHostUse;
template <>
inline constexpr Kind kKindOf<DeviceSamples> = Kind::kDeviceSamples;
template <>
inline constexpr Kind kKindOf<SampledInstruction> = Kind::kSampledInstruction;
template <>
inline constexpr Kind kKindOf<Loader> = Kind::kLoader;

template <typename Record>
inline constexpr bool kIsRecord = std::is_trivially_copyable_v<Record> &&
                                  sizeof(Record) % 8 == 0 && kKindOf<Record> != Kind::kEnd;
static_assert(kIsRecord<Name> && kIsRecord<Process> && kIsRecord<Thread> && kIsRecord<Device> &&
              kIsRecord<ModeChange> && kIsRecord<Mark> && kIsRecord<Kernel> && kIsRecord<Copy> &&
              kIsRecord<Set> && kIsRecord<ApiCall> && kIsRecord<Synchronization> && kIsRecord<Range> &&
              kIsRecord<GraphNode> && kIsRecord<Memory> && kIsRecord<Sample> && kIsRecord<Dropped> &&
              kIsRecord<Note> && kIsRecord<Counters> && kIsRecord<HostProcess> && kIsRecord<HostFrame> &&
              kIsRecord<HostSample> && kIsRecord<HostUse> && kIsRecord<DeviceSamples> &&
              kIsRecord<SampledInstruction> && kIsRecord<Loader>);
static_assert(sizeof(Head) == 8 && sizeof(FileHeader) == 56 && sizeof(Kernel) == 112 &&
              sizeof(CounterValue) == 16 && sizeof(DeviceSample) == 16 && sizeof(SampledInstruction) == 72 &&
              sizeof(StallSamples) == 8);

// A record with its head filled in; `following` bytes come behind it (the text of a name, frames, values).
template <typename Record>
constexpr Record with_head(Record record, uint32_t following = 0) {
  static_assert(kIsRecord<Record>);
  record.head = {kKindOf<Record>, 0, static_cast<uint32_t>(sizeof(Record) + (following + 7) / 8 * 8)};
  return record;
}

}  // namespace hone::trace::segments
