#include "trace/import/ncu/reader.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/units.h"
#include "trace/import/ncu/csv.h"
#include "trace/import/ncu/kernel_metrics.h"
#include "trace/import/trace_builder.h"
#include "trace/kernel_family.h"

namespace hone::trace::ncu {
namespace {

constexpr std::size_t kMostBytes = std::size_t{2} << 30;
constexpr double kLongestSeconds = 86'400;

std::array<uint32_t, 3> sizes_of(std::string_view text) {
  std::array<uint32_t, 3> sizes = {};
  std::size_t count = 0;
  for (std::size_t at = 0; at < text.size() && count < 3; ++at) {
    if (text[at] < '0' || text[at] > '9') continue;
    uint64_t number = 0;
    for (; at < text.size() && text[at] >= '0' && text[at] <= '9'; ++at)
      number = std::min<uint64_t>(number * 10 + static_cast<uint64_t>(text[at] - '0'), 0xffffffff);
    sizes[count++] = static_cast<uint32_t>(number);
  }
  return sizes;
}

// The columns of a table by name.
class Columns {
 public:
  explicit Columns(std::vector<std::string> names = {}) : names_(std::move(names)) {}

  std::size_t count() const { return names_.size(); }
  const std::string& name(std::size_t i) const { return names_[i]; }
  // count() if there is none.
  std::size_t index(std::string_view name) const {
    return static_cast<std::size_t>(std::find(names_.begin(), names_.end(), name) - names_.begin());
  }
  bool has(std::string_view name) const { return index(name) < count(); }
  std::string_view cell(const std::vector<std::string>& cells, std::string_view name) const {
    for (std::size_t i = 0; i < std::min(names_.size(), cells.size()); ++i)
      if (names_[i] == name) return cells[i];
    return {};
  }
  int64_t number(const std::vector<std::string>& cells, std::string_view name) const {
    const auto value = value_in_base_unit(cell(cells, name), "");
    return value && std::abs(*value) < 1e15 ? static_cast<int64_t>(*value) : 0;
  }

 private:
  std::vector<std::string> names_;
};

class Table {
 public:
  Status read(std::string_view text) {
    CsvReader csv(text);
    std::vector<std::string> cells;
    while (csv.next(cells)) {
      if (std::find(cells.begin(), cells.end(), "Kernel Name") != cells.end()) {
        columns_ = Columns(cells);  // also of a second table in the same file
        units_.clear();
        continue;
      }
      if (columns_.count() == 0) continue;  // what ncu says before the table
      const std::string_view id = columns_.cell(cells, "ID");
      if (id.empty() && units_.empty() && cells.size() == columns_.count())
        units_ = cells;
      else if (!id.empty() && cells.size() >= columns_needed())
        add(cells);
      else
        ++odd_rows_;
    }
    if (columns_.count() == 0)
      return invalid("no table of Nsight Compute (no column 'Kernel Name'); ncu writes it with --csv");
    return {};
  }

  std::size_t odd_rows() const { return odd_rows_; }
  const std::vector<KernelMetrics>& kernels() const { return kernels_; }

 private:
  // A row of the details page ends with its metric, or goes on with the advice of a rule; one of the raw page
  // may lack its last cell.
  std::size_t columns_needed() const {
    const std::size_t value = columns_.index("Metric Value");
    return value < columns_.count() ? value + 1 : columns_.count() - 1;
  }

  void add(const std::vector<std::string>& cells) {
    const std::string key(columns_.cell(cells, "ID"));
    const auto [at, added] =
        by_id_.try_emplace(key + "/" + std::string(columns_.cell(cells, "Process ID")), kernels_.size());
    if (added) describe(cells, kernels_.emplace_back());
    KernelMetrics& kernel = kernels_[at->second];
    if (columns_.has("Metric Name")) {  // the details page: a metric a row
      const std::string_view unit = columns_.cell(cells, "Metric Unit");
      std::string name(columns_.cell(cells, "Metric Name"));
      if (name == "Memory Throughput" && unit != "%") name += " [byte]";  // two metrics of one name
      set(kernel, name, columns_.cell(cells, "Metric Value"), unit);
      return;
    }
    for (std::size_t i = 0; i < std::min(columns_.count(), cells.size()); ++i)
      set(kernel, columns_.name(i), cells[i],
          i < units_.size() ? std::string_view(units_[i]) : std::string_view());
  }

  void describe(const std::vector<std::string>& cells, KernelMetrics& kernel) const {
    kernel.kernel = columns_.cell(cells, "Kernel Name");
    kernel.process = columns_.cell(cells, "Process Name");
    kernel.pid = columns_.number(cells, "Process ID");
    kernel.device = static_cast<int>(std::clamp<int64_t>(columns_.number(cells, "Device"), 0, 1'000'000));
    kernel.device_name = columns_.cell(cells, "device__attribute_display_name");
    kernel.compute_capability = columns_.cell(cells, "CC");
    kernel.stream = columns_.number(cells, "Stream");
    kernel.grid = sizes_of(columns_.cell(cells, "Grid Size"));
    kernel.block = sizes_of(columns_.cell(cells, "Block Size"));
  }

  static void set(KernelMetrics& kernel, const std::string& name, std::string_view value,
                  std::string_view unit) {
    if (const auto number = value_in_base_unit(value, unit)) kernel.values.try_emplace(name, *number);
  }

  Columns columns_;
  std::vector<std::string> units_;
  std::vector<KernelMetrics> kernels_;
  std::map<std::string, std::size_t> by_id_;
  std::size_t odd_rows_ = 0;
};

// Launches of one kernel with one geometry, whose operator row says their mean.
struct Group {
  std::vector<KernelCounts> counts;
  OperatorId op;
};

std::vector<DeviceInfo> devices_of(const std::vector<KernelMetrics>& kernels) {
  std::vector<DeviceInfo> devices;
  for (const KernelMetrics& kernel : kernels) {
    const auto known = [&](const DeviceInfo& device) { return device.index == kernel.device; };
    if (kernel.device_name.empty() || std::any_of(devices.begin(), devices.end(), known)) continue;
    DeviceInfo& device = devices.emplace_back();
    device.index = kernel.device;
    device.name = kernel.device_name;
    device.multiprocessors = static_cast<int>(
        std::clamp(kernel.value_or_zero("device__attribute_multiprocessor_count"), 0.0, 1e6));
    const auto version = sizes_of(kernel.compute_capability);
    device.compute_major = static_cast<int>(std::min(version[0], 1000u));
    device.compute_minor = static_cast<int>(std::min(version[1], 1000u));
  }
  return devices;
}

OperatorClass class_of(trace::KernelWork work) {
  switch (work) {
    case trace::KernelWork::kMatrix:
    case trace::KernelWork::kAttention:
      return OperatorClass::kMatrix;
    case trace::KernelWork::kConvolution:
      return OperatorClass::kConvolution;
    case trace::KernelWork::kPointwise:
    case trace::KernelWork::kOptimizer:
      return OperatorClass::kPointwise;
    case trace::KernelWork::kReduction:
    case trace::KernelWork::kSoftmax:
      return OperatorClass::kReduction;
    case trace::KernelWork::kNormalization:
      return OperatorClass::kNormalization;
    case trace::KernelWork::kPooling:
      return OperatorClass::kPooling;
    case trace::KernelWork::kLayout:
    case trace::KernelWork::kPadding:
      return OperatorClass::kLayout;
    case trace::KernelWork::kCopy:
    case trace::KernelWork::kGather:
    case trace::KernelWork::kEmbedding:
      return OperatorClass::kMovement;
    default:
      return OperatorClass::kOther;
  }
}

Operator operator_of(const KernelMetrics& kernel, const std::vector<KernelCounts>& counts) {
  Operator op;
  op.name = fmt::format("{} <<<{}×{}×{}, {}×{}×{}>>>", kernel.kernel, kernel.grid[0], kernel.grid[1],
                        kernel.grid[2], kernel.block[0], kernel.block[1], kernel.block[2]);
  op.kind = kernel_short_name(kernel.kernel);
  op.op_class = class_of(kernel_family(kernel.kernel).work);
  op.measured = true;
  op.dtype = counts.front().dtype;
  op.implementation = kernel.kernel;
  op.geometry = counts.front().limits;
  op.device = fmt::format("cuda:{}", kernel.device);
  for (const KernelCounts& each : counts) {
    const auto share = 1 / static_cast<double>(counts.size());
    op.flops += each.flops * share;
    op.bytes_read += each.bytes_read * share;
    op.bytes_written += each.bytes_written * share;
  }
  return op;
}

std::string key_of(const KernelMetrics& kernel) {
  return fmt::format("{} {} {} {}", kernel.kernel, kernel.device, fmt::join(kernel.grid, ","),
                     fmt::join(kernel.block, ","));
}

Launch launch_of(const KernelMetrics& kernel) {
  Launch launch;
  launch.grid = kernel.grid;
  launch.block = kernel.block;
  launch.registers = static_cast<uint32_t>(std::clamp(
      kernel.value("launch__registers_per_thread").value_or(kernel.value_or_zero("Registers Per Thread")),
      0.0, 1e6));
  // Without what the driver takes besides, which is a part of launch__shared_mem_per_block.
  const double shared = kernel.value("launch__shared_mem_per_block_static")
                            ? kernel.value_or_zero("launch__shared_mem_per_block_static") +
                                  kernel.value_or_zero("launch__shared_mem_per_block_dynamic")
                            : kernel.value_or_zero("launch__shared_mem_per_block");
  launch.shared_bytes = static_cast<uint32_t>(std::clamp(std::round(shared), 0.0, 1e9));
  return launch;
}

// Names of the raw page are those of counters; the details page's are words for people.
bool is_counter(std::string_view name) {
  return name.find('_') != std::string_view::npos && name.find(' ') == std::string_view::npos &&
         !name.starts_with("device__attribute");
}

// With the sums that are printed as rates alone: instructions by type.
KernelCounters counters_of(const KernelMetrics& kernel, const Launch& launch, StringTable& strings) {
  KernelCounters row;
  row.device = kernel.device;
  row.kernel = strings.intern(kernel.kernel);
  row.grid = launch.grid;
  row.block = launch.block;
  row.registers = launch.registers;
  row.shared_bytes = launch.shared_bytes;
  constexpr std::string_view kRate = ".per_cycle_elapsed";
  for (const auto& [name, value] : kernel.values) {
    if (!is_counter(name)) continue;
    row.values.push_back({strings.intern(name), value});
    if (!name.ends_with(kRate) || !name.starts_with("smsp__")) continue;
    const std::string sum = name.substr(0, name.size() - kRate.size());
    if (const auto cycles = elapsed_cycles(kernel); cycles && sum.ends_with(".sum") && !kernel.value(sum))
      row.values.push_back({strings.intern(sum), value * *cycles});
  }
  order_values(row);
  return row;
}

// One kernel after the other. Returns how many had no time and were left out.
std::size_t add_kernels(const std::vector<KernelMetrics>& kernels, TraceBuilder& builder) {
  std::vector<KernelCounts> counts;
  std::map<std::string, Group> groups;
  for (const KernelMetrics& kernel : kernels) {
    counts.push_back(counts_of(kernel));
    groups[key_of(kernel)].counts.push_back(counts.back());
  }
  std::size_t without_time = 0;
  std::map<uint32_t, uint32_t> instances;
  int64_t now = 0;
  for (std::size_t i = 0; i < counts.size(); ++i) {
    const KernelMetrics& kernel = kernels[i];
    if (!(counts[i].seconds > 0) || counts[i].seconds > kLongestSeconds) {
      ++without_time;
      continue;
    }
    Group& group = groups[key_of(kernel)];
    if (!group.op.valid()) group.op = builder.trace.add_operator(operator_of(kernel, group.counts));
    const auto duration = static_cast<int64_t>(std::llround(counts[i].seconds * 1e9));
    builder.add(Span{now, duration, builder.stream(kernel.device, kernel.stream),
                     builder.trace.strings.intern(kernel.kernel), Category::kKernel, kNoStep, group.op, 0});
    const Launch launch = launch_of(kernel);
    builder.add(launch);
    KernelCounters row = counters_of(kernel, launch, builder.trace.strings);
    row.instance = instances[row.kernel.index]++;
    if (!row.values.empty()) builder.trace.counters.push_back(std::move(row));
    now += duration;
  }
  return without_time;
}

}  // namespace

Result<ImportedFile> read_ncu(ByteSource& source) {
  HONE_ASSIGN(const std::string text, read_all(source, kMostBytes));
  Table table;
  HONE_CHECK(table.read(text));
  if (table.kernels().empty())
    return invalid(
        "a table of Nsight Compute without a kernel; record the program while it runs some: ncu --csv "
        "PROGRAM");

  TraceBuilder builder;
  builder.set_process(table.kernels().front().pid, table.kernels().front().process);
  const std::size_t without_time = add_kernels(table.kernels(), builder);
  if (builder.size() == 0)
    return invalid(
        "a table of Nsight Compute without the time of any kernel; add gpu__time_duration.sum to --metrics");
  ImportedFile file = std::move(builder).finish(0, false);
  Meta& meta = file.trace.meta;
  meta.producer = "Nsight Compute";
  meta.device = "cuda";
  meta.ranks.emplace_back();
  meta.devices = devices_of(table.kernels());
  meta.warnings.emplace_back(
      "Nsight Compute measures kernels one by one: there is no timeline, and the order and the gaps are not "
      "the program's");
  if (without_time > 0)
    meta.warnings.push_back(counted(static_cast<double>(without_time), "kernel") +
                            " without a time left out");
  if (table.odd_rows() > 0)
    meta.warnings.push_back(counted(static_cast<double>(table.odd_rows()), "row") +
                            " left out: fewer cells than the table has columns");
  return file;
}

}  // namespace hone::trace::ncu
