// When a recorder that takes turns recorded: blocks of steps that are recorded and blocks that are left alone follow
// each other, and in both the moments that come once a step are noted. Between recorded blocks nothing is known of
// the device: it is not idle there, and no step reaches from one block into another.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace hone::trace {

enum class BlockMode : uint8_t {
  kUntouched,  // moments alone, before anything was recorded: the program as it is when nobody watches
  kLeftAlone,  // moments alone, later: a recorder that has been there leaves something behind
  kTimeline,   // device work and the calls that launch it
  kOperators,  // that, and the framework's operators
  kStacks,     // that, and stacks of the host
  kCounters,   // hardware counters: kernels run several times
  kSampling,   // moments, and hardware counters of whole devices at a fixed interval
};
inline constexpr int kBlockModeCount = 7;
std::string_view block_mode_name(BlockMode mode);  // "left alone"
std::optional<BlockMode> block_mode_from_name(std::string_view name);

// A block as one process obeyed it. Times are those of the trace, before 0 where the block began before the
// first span.
struct RecordingBlock {
  int rank = 0;
  uint32_t number = 0;  // counts the blocks of a session; the same in all of its processes
  BlockMode mode = BlockMode::kTimeline;
  int64_t start_ns = 0;
  int64_t end_ns = 0;
  uint64_t first_launch = 0;  // launches of the process when it began and when it ended; 0: not known
  uint64_t last_launch = 0;

  // What the device did is known.
  bool recorded() const {
    return mode == BlockMode::kTimeline || mode == BlockMode::kOperators || mode == BlockMode::kStacks;
  }
  bool contains(int64_t time_ns) const { return start_ns <= time_ns && time_ns < end_ns; }
  friend bool operator==(const RecordingBlock&, const RecordingBlock&) = default;
};

enum class StepMarkKind : uint8_t { kOptimizer, kModule, kData, kApiCall, kUser, kHostWait, kRange };
inline constexpr int kStepMarkKindCount = 7;
std::string_view step_mark_kind_name(StepMarkKind kind);  // "optimizer"
std::optional<StepMarkKind> step_mark_kind_from_name(std::string_view name);

// A moment that comes once a step.
struct StepMark {
  int rank = 0;
  StepMarkKind kind = StepMarkKind::kUser;
  std::string name;  // of the optimizer's class, the outermost module's, the call's
  int64_t time_ns = 0;
  int64_t tid = 0;
  uint64_t launches = 0;  // of the process so far; 0: not known

  friend bool operator==(const StepMark&, const StepMark&) = default;
};

// How long the steps of a block, or of a part of a long one, took on the host, from mark to mark or by what was launched; steps at its ends are left
// out. link_trace finds it.
struct BlockSteps {
  int rank = 0;
  uint32_t block = 0;  // RecordingBlock::number
  BlockMode mode = BlockMode::kLeftAlone;
  double steps = 0;  // that the mean is over
  double mean_ns = 0;
  bool shown = false;    // its mode is that of the steps that the trace marks
  double median_ns = 0;  // of the single steps; 0: only their mean is known

  friend bool operator==(const BlockSteps&, const BlockSteps&) = default;
};

// A step while devices were sampled, from mark to mark. link_trace finds it; where a program marks no steps, there is none.
struct SampledStep {
  int rank = 0;
  int64_t start_ns = 0;
  int64_t end_ns = 0;

  friend bool operator==(const SampledStep&, const SampledStep&) = default;
};

// The block of that rank within which an instant lies; null: none, or the recorder took no turns. Blocks are ordered by
// rank and start, as Meta::blocks has them.
const RecordingBlock* block_at(std::span<const RecordingBlock> blocks, int rank, int64_t time_ns);

}  // namespace hone::trace
