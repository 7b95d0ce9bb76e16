// What reading ahead spends its time on, so that a step that waits for its input can be told which part limits.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "core/clock.h"
#include "core/scope.h"

namespace hone::data {

enum class Stage : uint8_t {
  kRead,      // bytes from files: the disk, or the network behind it
  kDecode,    // bytes to numbers
  kAugment,   // numbers to other numbers
  kAssemble,  // samples into batches
};
inline constexpr std::size_t kStages = 4;

constexpr std::string_view stage_name(Stage stage) {
  constexpr std::array<std::string_view, kStages> kNames = {"read", "decode", "augment", "assemble"};
  return kNames[static_cast<std::size_t>(stage)];
}

// Marks of core/scope that reading ahead makes, if whoever records wants them: region `first_region` + 0 is the
// consumer waiting for a batch, + 1 to + 4 are the stages on the threads that do them.
inline constexpr std::array<std::string_view, 1 + kStages> kInputRegions = {"wait for input", "read",
                                                                            "decode", "augment", "assemble"};
inline constexpr uint32_t kNoRegions = ~uint32_t{0};

// Time by stage, of one thread or summed over several.
struct StageTimes {
  std::array<int64_t, kStages> ns = {};
  uint32_t first_region = kNoRegions;

  int64_t& operator[](Stage stage) { return ns[static_cast<std::size_t>(stage)]; }
  int64_t operator[](Stage stage) const { return ns[static_cast<std::size_t>(stage)]; }
  StageTimes& operator+=(const StageTimes& other) {
    for (std::size_t i = 0; i < kStages; ++i) ns[i] += other.ns[i];
    return *this;
  }
};

// Adds the lifetime of this object to a stage. Those of one thread follow each other and never nest.
class StageTimer {
 public:
  StageTimer(StageTimes& times, Stage stage) : times_(times), stage_(stage), start_(now_ns()) {}
  ~StageTimer() {
    const int64_t end = now_ns();
    times_[stage_] += end - start_;
    if (times_.first_region != kNoRegions && scopes_have_listener()) [[unlikely]]
      tell_scope_listener(ScopeListener::Kind::kRegion,
                          times_.first_region + 1 + static_cast<uint32_t>(stage_), start_, end);
  }
  StageTimer(const StageTimer&) = delete;
  StageTimer& operator=(const StageTimer&) = delete;

 private:
  StageTimes& times_;
  Stage stage_;
  int64_t start_;
};

}  // namespace hone::data
