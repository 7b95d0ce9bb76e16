// What the session has processes sample of their devices (docs/decisions/0038-sampling.md).
#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>

#include "core/result.h"

namespace hone::observe {

// The least time that devices are sampled for, and the fewest steps.
inline constexpr double kSampledSeconds = 1, kSampledSteps = 2;

// From sample to sample: a step has some two hundred, as far as the recorder can read and a trace wants to hold them. `step_ns`
// 0: not known.
int64_t sampling_interval_ns(int64_t step_ns);

// The request that a process reads (observe/control.h).
std::string sampling_request(std::span<const uint32_t> devices, int64_t interval_ns);
// Writes it where the process looks.
Status write_sampling_request(const std::filesystem::path& run_folder, int pid, const std::string& request);

}  // namespace hone::observe
