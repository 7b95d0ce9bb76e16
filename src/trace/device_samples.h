// What hardware counters said of a whole device at a fixed interval, while its program ran as it always does: a series a device.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "core/result.h"
#include "trace/strings.h"

namespace hone::trace {

// Units of values are those of kernel_counters.h.
struct DeviceSamples {
  int rank = 0;
  int device = 0;
  int64_t interval_ns = 0;  // as was asked for
  std::vector<StringId> metrics = {};
  // Of each sample, by time; none begins before the one before it has ended.
  std::vector<int64_t> start_ns = {};
  std::vector<int64_t> end_ns = {};
  std::vector<double> values = {};  // a row a sample, a column a metric; means over the sample

  std::size_t size() const { return start_ns.size(); }
  std::span<const double> row(std::size_t sample) const {
    return std::span(values).subspan(sample * metrics.size(), metrics.size());
  }
  // False: it does not follow the samples that are there, or something is no number. Nothing was added then.
  bool add(int64_t start, int64_t end, std::span<const double> row);

  friend bool operator==(const DeviceSamples&, const DeviceSamples&) = default;
};

// Columns of one length, names in range, samples in order: an error names the first series that breaks a rule.
Status check_samples(const std::vector<DeviceSamples>& series, std::size_t strings);

}  // namespace hone::trace
