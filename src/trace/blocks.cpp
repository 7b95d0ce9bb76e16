#include "trace/blocks.h"

#include <algorithm>
#include <array>
#include <tuple>

namespace hone::trace {
namespace {

constexpr std::array<std::string_view, kBlockModeCount> kBlockModeNames = {
    "untouched", "left alone", "timeline", "operators", "stacks", "counters", "sampling",
};
constexpr std::array<std::string_view, kStepMarkKindCount> kStepMarkKindNames = {
    "optimizer", "module", "data", "api call", "user", "host wait", "range",
};

template <typename Enum, std::size_t N>
std::optional<Enum> named(const std::array<std::string_view, N>& names, std::string_view name) {
  const auto at = std::find(names.begin(), names.end(), name);
  return at == names.end() ? std::nullopt : std::optional(static_cast<Enum>(at - names.begin()));
}

}  // namespace

std::string_view block_mode_name(BlockMode mode) { return kBlockModeNames[static_cast<std::size_t>(mode)]; }

std::optional<BlockMode> block_mode_from_name(std::string_view name) {
  return named<BlockMode>(kBlockModeNames, name);
}

std::string_view step_mark_kind_name(StepMarkKind kind) {
  return kStepMarkKindNames[static_cast<std::size_t>(kind)];
}

std::optional<StepMarkKind> step_mark_kind_from_name(std::string_view name) {
  return named<StepMarkKind>(kStepMarkKindNames, name);
}

const RecordingBlock* block_at(std::span<const RecordingBlock> blocks, int rank, int64_t time_ns) {
  auto after = std::upper_bound(blocks.begin(), blocks.end(), std::tuple(rank, time_ns),
                                [](const std::tuple<int, int64_t>& at, const RecordingBlock& block) {
                                  return at < std::tuple(block.rank, block.start_ns);
                                });
  if (after == blocks.begin()) return nullptr;
  --after;
  return after->rank == rank && after->contains(time_ns) ? &*after : nullptr;
}

}  // namespace hone::trace
