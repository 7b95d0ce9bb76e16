// The GPUs of the live picture: a block each where there is room, else a line each.
#include <algorithm>

#include <fmt/format.h>

#include "analyze/live/targets.h"
#include "core/units.h"
#include "report/device_words.h"
#include "report/terminal/live_parts.h"
#include "report/text.h"

namespace hone::report::terminal {
namespace {

using analyze::Metric;
using analyze::live::find_metric;
using trace::live::ClockReason;
using trace::live::GpuUse;
using trace::live::Known;
using trace::live::MachineUse;
using trace::live::Traffic;

constexpr std::size_t kBlockLines = 8;
constexpr std::size_t kMostBlocks = 4;  // of text, which has any height

std::string gpu_title(const GpuUse& gpu) {
  return gpu.instance < 0 ? fmt::format("GPU {}", gpu.index)
                          : fmt::format("GPU {}/{}", gpu.index, gpu.instance);
}

// "612 of 700 W".
std::string of_limit(Known value, Known limit, std::string_view unit) {
  if (!value) return fmt::format("– {}", unit);
  if (!limit) return fmt::format("{:.0f} {}", *value, unit);
  return fmt::format("{:.0f} of {:.0f} {}", *value, *limit, unit);
}

std::string traffic_text(std::string_view name, const Traffic& traffic) {
  if (!traffic.known()) return fmt::format("{} –", name);
  return fmt::format("{} {} in, {} out", name, live_rate(traffic.received), live_rate(traffic.sent));
}

// What keeps the multiprocessors busy; empty where nobody says.
std::string pipes_text(const GpuUse& gpu) {
  std::string text;
  for (const auto& [name, share] : {std::pair("SMs with work", gpu.sm_share),
                                    {"warps", gpu.warps_share},
                                    {"FP64", gpu.fp64_share},
                                    {"FP32", gpu.fp32_share},
                                    {"FP16", gpu.fp16_share},
                                    {"integer", gpu.integer_share}})
    if (share) text += fmt::format("{}{} {}", text.empty() ? "" : ", ", name, live_share(share));
  return text;
}

// Why its clocks are low, where that is not for want of work; empty: they are not, or nobody says.
std::string held_text(const GpuUse& gpu) {
  std::string text;
  if (gpu.clock_reasons)
    for (const ClockReason reason : *gpu.clock_reasons)
      if (reason != ClockReason::kIdle)
        text += fmt::format("{}{}", text.empty() ? "" : "; ", trace::live::row_of(reason).words);
  for (const auto& [share, by] :
       {std::pair(gpu.held_by_power_share, "power"), {gpu.held_by_heat_share, "heat"}})
    if (share.value_or(0) >= 0.005)
      text +=
          fmt::format("{}held back by {} {} of the time", text.empty() ? "" : "; ", by, live_share(share));
  return text;
}

bool holds_back(const GpuUse& gpu) {
  return gpu.clock_reasons &&
         std::any_of(gpu.clock_reasons->begin(), gpu.clock_reasons->end(),
                     [](ClockReason reason) { return trace::live::row_of(reason).holds_back; });
}

// The value of `member` of the same GPU in another picture.
LiveHistory::Figure figure_of(const GpuUse& gpu, Known GpuUse::*member) {
  return [index = gpu.index, instance = gpu.instance, member](const MachineUse& use) -> Known {
    for (const GpuUse& row : use.gpus)
      if (row.index == index && row.instance == instance) return row.*member;
    return std::nullopt;
  };
}

Lines block(const GpuUse& gpu, const LiveHistory& history, const TerminalStyle& style) {
  const std::vector<Metric> targets = analyze::live::gpu_targets(gpu);
  Lines lines;
  LiveLine title(style);
  title.add(gpu_title(gpu), Colour::kBold).add("  " + gpu.name);
  const std::string state = gpu.instance >= 0
                                ? ""
                                : fmt::format("{}, {}", of_limit(gpu.power_w, gpu.power_limit_w, "W"),
                                              of_limit(gpu.temperature_c, {}, "°C"));
  title.add("  ").right_at(style.width, state);
  lines.push_back(title.str());
  if (gpu.divided) {
    LiveLine divided(style);
    lines.push_back(divided.add("  divided into the instances below (MIG)", Colour::kFaint).str());
  }
  const auto share_of_metric = [&](std::string_view name) -> Known {
    const Metric* metric = find_metric(targets, name);
    return metric == nullptr ? Known() : Known(metric->value / 100);
  };
  const auto add = [&](std::string_view label, Known share, std::string_view target, Known GpuUse::*member) {
    if (gpu.divided && !share) return;
    lines.push_back(figure_line({label, share, find_metric(targets, target), "", figure_of(gpu, member)},
                                history, style));
  };
  if (gpu.instance < 0)
    add("busy", gpu.busy_share, "gpu_busy_share", &GpuUse::busy_share);
  else
    add("SMs", gpu.sm_share, "", &GpuUse::sm_share);
  add("tensor", gpu.tensor_share, "tensor_pipe_share", &GpuUse::tensor_share);
  add("DRAM", gpu.dram_share, "dram_utilisation", &GpuUse::dram_share);
  lines.push_back(
      figure_line({"memory", share_of_metric("gpu_memory_share"), find_metric(targets, "gpu_memory_share"),
                   live_part(gpu.memory_used_bytes, gpu.memory_total_bytes)},
                  history, style));
  if (const std::string pipes = pipes_text(gpu); !pipes.empty()) {
    LiveLine line(style);
    lines.push_back(line.add("  ").add(pipes).str());
  }
  LiveLine links(style);
  links.add("  ");
  if (gpu.instance < 0) links.add(of_limit(gpu.sm_clock_mhz, gpu.sm_clock_max_mhz, "MHz")).add("; ");
  links.add(traffic_text("PCIe", gpu.pcie)).add("; ").add(traffic_text("NVLink", gpu.nvlink));
  lines.push_back(links.str());
  if (const std::string held = held_text(gpu); !held.empty()) {
    LiveLine line(style);
    const std::optional<Colour> colour = holds_back(gpu) ? std::optional(Colour::kYellow) : std::nullopt;
    lines.push_back(line.add("  clocks: ").add(held, colour).str());
  }
  return lines;
}

struct GpuColumn {
  std::string_view heading;
  std::size_t width;
  std::string_view target;
  std::string (*text)(const GpuUse&);
  bool is_clock = false;  // which may be held back
};

std::string whole_text(Known value) { return value ? fmt::format("{:.0f}", *value) : "–"; }

const GpuColumn kGpuColumns[] = {
    {"busy", 6, "gpu_busy_share", [](const GpuUse& gpu) { return live_share(gpu.busy_share); }},
    {"tensor", 7, "tensor_pipe_share", [](const GpuUse& gpu) { return live_share(gpu.tensor_share); }},
    {"DRAM", 7, "dram_utilisation", [](const GpuUse& gpu) { return live_share(gpu.dram_share); }},
    {"memory", 18, "gpu_memory_share",
     [](const GpuUse& gpu) { return live_part(gpu.memory_used_bytes, gpu.memory_total_bytes); }},
    {"power", 14, "", [](const GpuUse& gpu) { return of_limit(gpu.power_w, gpu.power_limit_w, "W"); }},
    {"°C", 4, "", [](const GpuUse& gpu) { return whole_text(gpu.temperature_c); }},
    {"MHz", 5, "", [](const GpuUse& gpu) { return whole_text(gpu.sm_clock_mhz); }, true},
    {"NVLink in", 10, "", [](const GpuUse& gpu) { return live_rate(gpu.nvlink.received); }},
    {"out", 10, "", [](const GpuUse& gpu) { return live_rate(gpu.nvlink.sent); }},
    {"PCIe in", 10, "", [](const GpuUse& gpu) { return live_rate(gpu.pcie.received); }},
    {"out", 10, "", [](const GpuUse& gpu) { return live_rate(gpu.pcie.sent); }},
};

// A line of the table: `cell` gives each column's text and colour. Columns that do not fit are left out from the right.
template <typename Cell>
LiveLine table_line(std::string_view title, std::optional<Colour> colour, const TerminalStyle& style,
                    const Cell& cell) {
  std::size_t at = 9;
  LiveLine line(style);
  line.add(title, colour);
  for (const GpuColumn& column : kGpuColumns) {
    if (at + column.width > style.width) break;
    const auto [text, text_colour] = cell(column);
    line.right_at(at += column.width, text, text_colour);
  }
  return line;
}

// What the columns should be, of the first GPU that is in use.
std::string table_targets(const MachineUse& use, const TerminalStyle& style) {
  const auto used =
      std::find_if(use.gpus.begin(), use.gpus.end(), [](const GpuUse& gpu) { return gpu.in_use(); });
  const std::vector<Metric> targets =
      used == use.gpus.end() ? std::vector<Metric>() : analyze::live::gpu_targets(*used);
  return table_line(targets.empty() ? "" : "target", Colour::kFaint, style,
                    [&](const GpuColumn& column) {
                      const Metric* metric = find_metric(targets, column.target);
                      return std::pair(metric == nullptr ? "" : metric_target(*metric),
                                       std::optional(Colour::kFaint));
                    })
      .str();
}

Lines gpu_table(const MachineUse& use, const TerminalStyle& style) {
  constexpr std::size_t kLeastWords = 12;
  Lines lines = {table_line("GPU", Colour::kBold, style, [](const GpuColumn& column) {
                   return std::pair(std::string(column.heading), std::optional(Colour::kFaint));
                 }).str()};
  if (const std::string targets = table_targets(use, style); !targets.empty()) lines.push_back(targets);
  for (const GpuUse& gpu : use.gpus) {
    const std::vector<Metric> targets = analyze::live::gpu_targets(gpu);
    LiveLine line = table_line(gpu_title(gpu), {}, style, [&](const GpuColumn& column) {
      const bool slow_clock = column.is_clock && holds_back(gpu);
      return std::pair(column.text(gpu), slow_clock ? std::optional(Colour::kYellow)
                                                    : mark_colour(find_metric(targets, column.target)));
    });
    if (holds_back(gpu) && line.room() > kLeastWords) line.add("  ").add(held_text(gpu), Colour::kYellow);
    lines.push_back(line.str());
  }
  return lines;
}

}  // namespace

Lines gpu_lines(const MachineUse& use, const LiveHistory& history, const TerminalStyle& style,
                std::size_t most) {
  if (use.gpus.empty()) return {};
  const bool blocks = most > 0 ? use.gpus.size() * kBlockLines <= most : use.gpus.size() <= kMostBlocks;
  if (!blocks) {
    Lines lines = gpu_table(use, style);
    if (most > 0 && lines.size() > most) {
      const std::size_t left = lines.size() - most + 1;
      lines.resize(most - 1);
      LiveLine line(style);
      lines.push_back(line.add(fmt::format("  and {} more", left), Colour::kFaint).str());
    }
    return lines;
  }
  Lines lines;
  for (const GpuUse& gpu : use.gpus)
    for (std::string& line : block(gpu, history, style)) lines.push_back(std::move(line));
  return lines;
}

}  // namespace hone::report::terminal
