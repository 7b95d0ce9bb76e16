// What happened, as tables: the one form in which every recorder and importer hands events to analysis.
// A span is a row of columns; what ran (an operator with its costs) and where (a track) are tables of their
// own that spans point into. One trace holds any number of processes, devices and ranks. Whatever analysis
// needs to know about an operator (FLOPs, bytes, provenance) is a column here: analysis knows no graph and no
// device.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/contention.h"
#include "core/dtype.h"
#include "core/ids.h"
#include "core/result.h"
#include "trace/blocks.h"
#include "trace/details.h"
#include "trace/device_samples.h"
#include "trace/framework.h"
#include "trace/host_use.h"
#include "trace/kernel_counters.h"
#include "trace/kernel_family.h"
#include "trace/kernel_samples.h"
#include "trace/loader_epochs.h"
#include "trace/operator_class.h"
#include "trace/operator_kind.h"
#include "trace/stacks.h"
#include "trace/strings.h"

namespace hone::trace {

struct TrackTag;
struct OperatorTag;
using TrackId = Id<TrackTag>;        // index into Trace::tracks
using OperatorId = Id<OperatorTag>;  // index into Trace::operators

// What a span's time was spent on. Host categories say why a device that waits is waiting.
enum class Category : uint8_t {
  kStep,      // the repeated unit of work; encloses everything it caused on its thread
  kOperator,  // one operator of a plan or framework
  kRegion,    // a range that the program named: a phase, an NVTX range
  kKernel,    // device work
  kMemcpy,    // a copy between host and device or between devices
  kMemset,
  kRuntime,          // a call into the device's runtime or driver
  kSynchronization,  // the host waits for the device
  kAllocation,       // memory is taken or given back
  kInput,            // data loading and preprocessing
  kIo,               // disk, network file system
  kCompile,
  kCommunication,  // collectives, sends and receives
  kFunction,       // a function of the host's program, as a stack sampler or tracer saw it
  kOverhead,       // of the recording itself
  kOther,
};
inline constexpr int kCategoryCount = 16;

// Which part of a training step an operator serves.
enum class Phase : uint8_t { kUnknown, kForward, kLoss, kBackward, kOptimizer, kData, kCommunication };
inline constexpr int kPhaseCount = 7;
std::string_view phase_name(Phase phase);  // "forward"; "unknown"
std::optional<Phase> phase_from_name(std::string_view name);

std::string_view category_name(Category category);
std::optional<Category> category_from_name(std::string_view name);

enum class TrackKind : uint8_t { kProcess, kThread, kStream };

// A row of the timeline: a process, a thread of it, or a queue of a device that it drives.
struct Track {
  TrackKind kind = TrackKind::kThread;
  std::string name;
  TrackId process = {};  // the process track it belongs to; invalid for a process
  int64_t pid = 0;
  int64_t tid = 0;  // thread id, or stream id for a stream
  int rank = 0;     // of a distributed program
  int device = -1;  // the device of a stream; -1: host

  friend bool operator==(const Track&, const Track&) = default;
};

// What ran: one row per operator of a plan, or per distinct operator of a foreign program. Costs are those of
// one execution.
struct Operator {
  std::string name;                          // unique within its plan
  std::string kind;                          // "Conv", "hone.Fused", "aten::addmm"
  OperatorKind what = OperatorKind::kOther;  // what `kind` names; add_operator fills it in
  bool in_place = false;                     // writes to its first argument; add_operator fills it in
  OperatorClass op_class = OperatorClass::kOther;
  std::vector<std::string> provenance;  // names in the user's model
  DType dtype = DType::kUndefined;      // of the arithmetic
  bool may_use_tf32 = false;            // its program lets the device multiply f32 in tf32
  bool measured = false;   // its costs are what counters counted while it ran, needless traffic and all
  double flops = 0;        // of the operator's definition
  double least_flops = 0;  // of the known algorithm that needs fewest; 0: as `flops`
  double executed_flops =
      0;                  // of the kernel that ran, where its algorithm needs another number; 0: as `flops`
  double bytes_read = 0;  // compulsory: every input once
  double bytes_written = 0;
  double constant_bytes = 0;   // the part of bytes_read that is weights: the same memory in every step
  double avoidable_bytes = 0;  // the part of all bytes that fusing it with `fuses_with` would not move
  std::string fuses_with;      // the operator it could be fused with; empty: none
  std::string implementation;  // the kernel that ran: "onednn:brgemm avx512", "hone:pointwise"
  std::vector<std::string>
      device_kernels;     // in words: what a device ran for it, how long and in which geometry
  std::string algorithm;  // what the kernel computes by, if not the definition: "Winograd F(4x4,3x3)"
  std::string geometry;   // in words: "3×3 convolution, 64 → 64 channels, 56×56 positions"
  std::string device;     // "cpu", "cuda:0"
  Phase phase = Phase::kUnknown;
  std::string module;  // the ranges that the program named around it, outermost first: "encoder/layer.3"

  double bytes() const { return bytes_read + bytes_written; }
  double fewest_flops() const { return least_flops > 0 ? least_flops : flops; }
  double kernel_flops() const { return executed_flops > 0 ? executed_flops : flops; }
  friend bool operator==(const Operator&, const Operator&) = default;
};

inline constexpr int32_t kNoStep = -1;

struct Span {
  int64_t start_ns = 0;  // not negative
  int64_t duration_ns = 0;
  TrackId track = {};
  StringId name = {};
  Category category = Category::kOther;
  int32_t step = kNoStep;    // which step it belongs to
  OperatorId op = {};        // invalid: none
  uint64_t correlation = 0;  // shared by a launch and what it launched; 0: none

  int64_t end_ns() const { return start_ns + duration_ns; }
  friend bool operator==(const Span&, const Span&) = default;
};

// Spans, one vector a column, all of the same length. Any order.
struct SpanTable {
  std::vector<int64_t> start_ns;
  std::vector<int64_t> duration_ns;
  std::vector<TrackId> track;
  std::vector<StringId> name;
  std::vector<Category> category;
  std::vector<int32_t> step;
  std::vector<OperatorId> op;
  std::vector<uint64_t> correlation;

  std::size_t size() const { return start_ns.size(); }
  void reserve(std::size_t count);
  void add(const Span& span);
  Span row(std::size_t index) const;
};

// Where and by whom the trace was made. `notes` is anything else that a reader of the trace should see.
struct Meta {
  std::string producer;  // "hone 0.1.0"
  std::string machine;
  std::string device;  // where it ran: "cpu", "cuda"
  int threads = 1;
  uint64_t dropped = 0;  // records lost while recording: findings must say so
  std::vector<std::pair<std::string, std::string>> notes;
  std::vector<DeviceInfo> devices = {};
  std::vector<RankInfo> ranks = {};          // of a trace that was imported, one a file
  std::vector<std::string> warnings = {};    // what an importer repaired, left out or could not read
  uint64_t lost = 0;                         // events in the files that could not be read
  bool cut_off = false;                      // a file ends before its recording does
  Framework framework = Framework::kNative;  // who made the program; link_trace tells it by its names
  ContentionShare contention = {};           // while the steps ran; known of our own runs alone
  // Of a recorder that takes turns, by rank and time; empty: everything was recorded.
  std::vector<RecordingBlock> blocks = {};
  std::vector<StepMark> marks = {};
  std::vector<BlockSteps> block_steps = {};
  std::vector<SampledStep> sampled_steps = {};
  std::vector<LoaderEpoch> loaders = {};  // by rank and start; of a recorder inside the program alone

  friend bool operator==(const Meta&, const Meta&) = default;
};

struct AllocatorHistory;  // allocator_history.h

struct Trace {
  Meta meta;
  StringTable strings;
  std::vector<Track> tracks;
  std::vector<Operator> operators;
  SpanTable spans;
  std::vector<Call> calls;  // details, each ordered by span
  std::vector<Launch> launches;
  std::vector<Copy> copies;
  std::vector<Collective> collectives;
  std::vector<KernelCounters> counters;            // of launches that were counted apart from the timeline
  std::vector<KernelSample> kernel_samples;        // of launches that were sampled, likewise apart
  std::vector<DeviceSamples> samples;              // of whole devices over time
  StackTable stacks;                               // where threads of the host were
  std::vector<HostUse> host_use;                   // by rank and block
  std::shared_ptr<const AllocatorHistory> memory;  // null: nothing recorded says what took memory
  // What the names of device work tell, by string: link_trace looks at each once (link/names.h). Shorter than
  // the table of strings where others came later.
  std::vector<KernelFamily> kernels;

  TrackId add_track(Track track);
  // Recognises which operator it is by its kind.
  OperatorId add_operator(Operator op);
  std::string_view name(const Span& span) const { return strings.text(span.name); }
  // What is known by the name of the device work in that row of the span table.
  const KernelFamily& kernel(std::size_t row) const { return kernel(spans.name[row]); }
  const KernelFamily& kernel(StringId name) const;
  // Columns of one length, ids in range, times not negative, details in order: an error names the first row
  // that breaks a rule.
  Status validate() const;
};

}  // namespace hone::trace
