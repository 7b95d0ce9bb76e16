// The processes of the live picture.
#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/units.h"
#include "report/terminal/live_parts.h"
#include "report/text.h"

namespace hone::report {

using trace::live::ProcessUse;

void order_processes(std::vector<ProcessUse>& processes, ProcessOrder order) {
  const auto disk = [](const ProcessUse& row) {
    return row.disk.sent.value_or(0) + row.disk.received.value_or(0);
  };
  const auto key = [&](const ProcessUse& row) -> std::array<double, 3> {
    const double cpus = row.cpus.value_or(0), memory = row.memory_bytes.value_or(0);
    switch (order) {
      case ProcessOrder::kGpu:
        return {row.gpu_share.value_or(0), row.gpu_memory_bytes.value_or(row.gpus.empty() ? -1 : 0), cpus};
      case ProcessOrder::kCpu:
        return {cpus, memory, 0};
      case ProcessOrder::kMemory:
        return {memory, cpus, 0};
      case ProcessOrder::kDisk:
        return {disk(row), cpus, 0};
      case ProcessOrder::kNumber:
        break;
    }
    return {};
  };
  std::vector<std::pair<std::array<double, 3>, std::size_t>> keys;
  keys.reserve(processes.size());
  for (std::size_t i = 0; i < processes.size(); ++i) keys.emplace_back(key(processes[i]), i);
  std::sort(keys.begin(), keys.end(), [&](const auto& a, const auto& b) {
    return a.first != b.first ? a.first > b.first : processes[a.second].pid < processes[b.second].pid;
  });
  std::vector<ProcessUse> ordered;
  ordered.reserve(processes.size());
  for (const auto& [unused, i] : keys) ordered.push_back(std::move(processes[i]));
  processes = std::move(ordered);
}

namespace terminal {
namespace {

using trace::live::Known;
using trace::live::MachineUse;

struct ProcessColumn {
  std::string_view heading;
  std::size_t width;   // with the gap before it
  std::size_t from;    // shown on terminals so wide
  bool of_gpus;        // shown where there are any
  ProcessOrder order;  // that it is ordered by
  std::string (*text)(const ProcessUse&);
};

// "–" for what is not known, and nothing for no traffic: what moves is seen at once.
std::string moved(Known rate) { return rate && *rate == 0 ? "" : live_rate(rate); }

const ProcessColumn kProcessColumns[] = {
    {"pid", 8, 0, false, ProcessOrder::kNumber,
     [](const ProcessUse& row) { return std::to_string(row.pid); }},
    {"GPU", 7, 0, true, ProcessOrder::kGpu,
     [](const ProcessUse& row) { return row.gpus.empty() ? std::string() : live_share(row.gpu_share); }},
    {"GPU mem", 11, 0, true, ProcessOrder::kGpu,
     [](const ProcessUse& row) {
       return row.gpus.empty() ? std::string() : live_bytes(row.gpu_memory_bytes);
     }},
    {"on", 8, 110, true, ProcessOrder::kGpu,
     [](const ProcessUse& row) { return clipped(fmt::format("{}", fmt::join(row.gpus, ",")), 7); }},
    {"CPU", 8, 0, false, ProcessOrder::kCpu, [](const ProcessUse& row) { return live_share(row.cpus); }},
    {"memory", 11, 0, false, ProcessOrder::kMemory,
     [](const ProcessUse& row) { return live_bytes(row.memory_bytes); }},
    {"read", 11, 80, false, ProcessOrder::kDisk,
     [](const ProcessUse& row) { return moved(row.disk.received); }},
    {"write", 11, 80, false, ProcessOrder::kDisk, [](const ProcessUse& row) { return moved(row.disk.sent); }},
    {"threads", 8, 140, false, ProcessOrder::kNumber,
     [](const ProcessUse& row) { return row.threads > 0 ? std::to_string(row.threads) : std::string("–"); }},
};

std::vector<const ProcessColumn*> shown_columns(bool has_gpus, const TerminalStyle& style) {
  constexpr std::size_t kReadWrite = 120;  // beside the GPUs' columns
  std::vector<const ProcessColumn*> shown;
  for (const ProcessColumn& column : kProcessColumns) {
    if (column.of_gpus && !has_gpus) continue;
    const bool disk = column.order == ProcessOrder::kDisk;
    if (style.width >= (disk && has_gpus ? kReadWrite : column.from)) shown.push_back(&column);
  }
  return shown;
}

std::string process_line(const ProcessUse& row, const std::vector<const ProcessColumn*>& shown,
                         const TerminalStyle& style) {
  LiveLine line(style);
  std::size_t at = 0;
  for (const ProcessColumn* column : shown) line.right_at(at += column->width, column->text(row));
  line.pad_to(at + 2);
  if (!row.visible) return line.add("(not visible here)", Colour::kFaint).str();
  return line.add(row.command).str();
}

}  // namespace

Lines process_lines(const MachineUse& use, ProcessOrder order, const TerminalStyle& style, std::size_t most) {
  std::vector<ProcessUse> processes = use.processes;
  order_processes(processes, order);
  const auto shown = shown_columns(!use.gpus.empty(), style);
  LiveLine heading(style);
  std::size_t at = 0;
  for (const ProcessColumn* column : shown)
    heading.right_at(at += column->width, column->heading,
                     column->order == order ? Colour::kBold : Colour::kFaint);
  heading.pad_to(at + 2).add(fmt::format("command (of {})", processes.size()), Colour::kFaint);
  Lines lines = {heading.str()};
  for (std::size_t i = 0; i < std::min(most, processes.size()); ++i)
    lines.push_back(process_line(processes[i], shown, style));
  return lines;
}

}  // namespace terminal
}  // namespace hone::report
