// What hone samples of a whole device, as one table for those who ask for it (observe), those who show it over time
// (trace/perfetto) and those who say what it means (analyze). All of it is read in one pass on each chip that the tests of
// observe/inject know; a counter has other names on other chips, the first that CUPTI knows is sampled.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "trace/device_samples.h"

namespace hone::trace {

enum class Sampled : uint8_t {
  kComputeActive,  // the engine that runs kernels has work
  kSmActive,       // multiprocessors that have a warp, mean over all of them
  kTensorActive,   // cycles in which the matrix units work, mean over the multiprocessors
  kIssueActive,    // cycles in which schedulers issue an instruction
  kWarpsActive,    // of what multiprocessors can hold
  kDramRead,
  kDramWritten,
  kPcieReceived,  // by the device
  kPcieSent,
  kNvlinkReceived,
  kNvlinkSent,
  kSmClock,
  kEnd,  // nothing sampled: how many there are
};
inline constexpr int kSampledCount = static_cast<int>(Sampled::kEnd);

struct SampledMetric {
  Sampled what = Sampled::kEnd;
  std::string_view label;                      // "multiprocessors active"
  std::string_view unit;                       // "%", "B/s", "Hz"
  std::array<std::string_view, 2> names = {};  // of CUPTI, best first; empty: no more
};

// One row each, in their order.
std::span<const SampledMetric> sampled_metrics();
// That which CUPTI calls so; null: none of ours.
const SampledMetric* sampled_metric(std::string_view name);
// The column of a series that holds it; none: it was not sampled.
std::optional<std::size_t> column_of(const DeviceSamples& samples, const StringTable& strings, Sampled what);

}  // namespace hone::trace
