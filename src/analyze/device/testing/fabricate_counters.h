// Kernels under the counters, made up for tests. Not part of the product.
#pragma once

#include <initializer_list>
#include <map>
#include <string_view>
#include <utility>
#include <vector>

#include "analyze/device/kernels/kernel_study.h"
#include "analyze/device/rules/tables.h"
#include "trace/counter_metrics.h"
#include "trace/trace.h"

namespace hone::analyze::device {

using CounterValues = std::initializer_list<std::pair<trace::Counter, double>>;

// A launch as a recorder would have counted it: by the first name of each counter.
inline trace::KernelCounters counted_launch(trace::StringTable& strings, std::string_view kernel,
                                            const LaunchShape& shape, CounterValues values) {
  trace::KernelCounters row;
  row.kernel = strings.intern(kernel);
  row.grid = shape.grid;
  row.block = shape.block;
  row.registers = shape.registers;
  row.shared_bytes = shape.shared_bytes;
  for (const auto& [counter, value] : values)
    row.values.push_back(
        {strings.intern(trace::counter_metrics()[static_cast<std::size_t>(counter)].names[0]), value});
  trace::order_values(row);
  return row;
}

inline trace::DeviceInfo h100() { return {0, 0, "NVIDIA H100 80GB HBM3", 80e9, 132, 9, 0}; }

// A kernel that lasts 100 µs and keeps DRAM busy, changed by `values`, on an H100.
class MadeUpKernel {
 public:
  explicit MadeUpKernel(LaunchShape shape, CounterValues values) {
    using trace::Counter;
    std::map<Counter, double> all = {
        {Counter::kDuration, 100'000},        {Counter::kSmThroughput, 20},
        {Counter::kL1Throughput, 20},         {Counter::kL2Throughput, 50},
        {Counter::kDramThroughput, 90},       {Counter::kWarpsActive, 90},
        {Counter::kSmCyclesElapsed, 200'000}, {Counter::kSmCyclesActive, 198'000},
        {Counter::kThreadsPerInstruction, 32}};
    for (const auto& [counter, value] : values) all[counter] = value;
    group_.launch = shape;
    group_.launches = 1;
    for (const auto& [counter, value] : all) group_.means[static_cast<std::size_t>(counter)] = value;
  }
  KernelStudy study() const {
    static const trace::DeviceInfo kDevice = h100();
    return study_kernel(group_, &kDevice);
  }
  // The ids of its faults' rules, largest gain first.
  std::vector<std::string_view> faults() const;

 private:
  CounterGroup group_;
};

inline std::vector<std::string_view> MadeUpKernel::faults() const {
  std::vector<std::string_view> ids;
  for (const KernelFault& fault : study().faults) ids.push_back(row_of(fault.rule).id);
  return ids;
}

}  // namespace hone::analyze::device
