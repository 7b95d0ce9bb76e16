#include "trace/stacks.h"

#include <algorithm>
#include <array>
#include <limits>

#include <fmt/format.h>

namespace hone::trace {
namespace {

constexpr std::array<std::string_view, kFrameKindCount> kFrameKinds = {"python", "native"};
constexpr std::array<std::string_view, kFrameOwnerCount> kFrameOwners = {"program", "library", "recorder"};
constexpr std::array<std::string_view, kFrameRoleCount> kRoleNames = {"none", "input", "io",
                                                                      "lock", "sleep", "compile"};
constexpr std::array<std::string_view, kThreadStateCount> kStateNames = {
    "unknown",          "running", "waits for a file", "waits for a pipe or socket",
    "waits for a lock", "sleeps",  "page fault",       "waits"};

template <typename Value, std::size_t kCount>
std::optional<Value> stack_word(const std::array<std::string_view, kCount>& names, std::string_view name) {
  const auto at = std::ranges::find(names, name);
  if (at == names.end()) return std::nullopt;
  return static_cast<Value>(at - names.begin());
}

}  // namespace

std::string_view frame_kind_name(FrameKind kind) { return kFrameKinds[static_cast<std::size_t>(kind)]; }
std::string_view frame_owner_name(FrameOwner owner) { return kFrameOwners[static_cast<std::size_t>(owner)]; }
std::string_view frame_role_name(FrameRole role) { return kRoleNames[static_cast<std::size_t>(role)]; }
std::optional<FrameRole> frame_role_from_name(std::string_view name) {
  return stack_word<FrameRole>(kRoleNames, name);
}

std::string_view thread_state_name(ThreadState state) { return kStateNames[static_cast<std::size_t>(state)]; }
std::optional<ThreadState> thread_state_from_name(std::string_view name) {
  return stack_word<ThreadState>(kStateNames, name);
}

void StackTable::add(StackSample sample, std::span<const FrameId> python, std::span<const FrameId> native) {
  sample.first = static_cast<uint32_t>(stacked.size());
  sample.python = static_cast<uint32_t>(python.size());
  sample.native = static_cast<uint32_t>(native.size());
  stacked.insert(stacked.end(), python.begin(), python.end());
  stacked.insert(stacked.end(), native.begin(), native.end());
  samples.push_back(sample);
}

Status StackTable::validate(std::size_t tracks, std::size_t strings) const {
  constexpr int64_t kFarthest = std::numeric_limits<int64_t>::max() / 4;
  for (std::size_t i = 0; i < frames.size(); ++i)
    for (const StringId id : {frames[i].function, frames[i].file})
      if (id.valid() && id.index >= strings)
        return corrupt(fmt::format("trace: frame {} has a name that is not there", i));
  for (std::size_t i = 0; i < stacked.size(); ++i)
    if (stacked[i].index >= frames.size())
      return corrupt(fmt::format("trace: place {} of the stacks has a frame that is not there", i));
  for (std::size_t i = 0; i < samples.size(); ++i) {
    const StackSample& sample = samples[i];
    const uint64_t end = uint64_t{sample.first} + sample.python + sample.native;
    if (end > stacked.size() || sample.track.index >= tracks || sample.time_ns < -kFarthest ||
        sample.time_ns > kFarthest)
      return corrupt(fmt::format("trace: sample {} of the stacks is of nothing that is there", i));
  }
  return {};
}

}  // namespace hone::trace
