// The host of the live picture: CPUs, memory, disks, networks.
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
using trace::live::DiskUse;
using trace::live::HostUse;
using trace::live::Known;
using trace::live::MachineUse;
using trace::live::NetworkUse;

std::string number_text(Known value, std::string_view format_of) {
  return value ? fmt::format(fmt::runtime(format_of), *value) : "–";
}

// What misses its target is said with it.
void add_judged(LiveLine& line, const std::string& text, const Metric* metric) {
  if (metric == nullptr || metric->reached())
    line.add(text);
  else
    line.add(text, Colour::kYellow).add(fmt::format(" ({})", metric_target(*metric)), Colour::kFaint);
}

// A line of parts that are each said with the colour of their target.
class Parts {
 public:
  explicit Parts(const TerminalStyle& style) : line_(style) { line_.add("  "); }
  Parts& add(const std::string& text, const Metric* metric = nullptr) {
    if (!first_) line_.add(", ");
    first_ = false;
    add_judged(line_, text, metric);
    return *this;
  }
  std::string str() const { return line_.str(); }

 private:
  LiveLine line_;
  bool first_ = true;
};

Known memory_share(const HostUse& host) {
  if (!host.memory_total_bytes || !host.memory_available_bytes || *host.memory_total_bytes <= 0)
    return std::nullopt;
  return 1 - *host.memory_available_bytes / *host.memory_total_bytes;
}

// A column each, as high as it is busy; as many lines as it takes.
Lines core_lines(const HostUse& host, const TerminalStyle& style) {
  constexpr std::size_t kLabel = 9;
  const std::size_t in_a_line = style.width - kLabel;
  Lines lines;
  for (std::size_t first = 0; first < host.cpu_busy.size(); first += in_a_line) {
    std::vector<Known> shares;
    for (std::size_t i = first; i < std::min(first + in_a_line, host.cpu_busy.size()); ++i)
      shares.push_back(host.cpu_busy[i].second);
    LiveLine line(style);
    line.add(first == 0 ? "  cores" : "").pad_to(kLabel).add(sparkline(shares));
    lines.push_back(line.str());
  }
  return lines;
}

void add_cpu_lines(const HostUse& host, const std::vector<Metric>& targets, const LiveHistory& history,
                   const TerminalStyle& style, Lines& lines) {
  const Known busy_cpus =
      host.busy_share ? Known(*host.busy_share * static_cast<double>(host.cpus)) : std::nullopt;
  LiveLine title(style);
  title.add("CPU", Colour::kBold)
      .add(fmt::format("  {} of {} busy", number_text(busy_cpus, "{:.1f}"), host.cpus));
  if (host.group.cpu_limit) {
    const Metric* held = find_metric(targets, "group_cpu_held_share");
    title.add(fmt::format("; this control group may use {:.3g}", *host.group.cpu_limit));
    if (held != nullptr)
      add_judged(title.add(", "),
                 fmt::format("held back {} of the time", live_share(host.group.held_back_share)), held);
  }
  lines.push_back(title.str());
  lines.push_back(figure_line(
      {"busy", host.busy_share, nullptr, "", [](const MachineUse& use) { return use.host.busy_share; }},
      history, style));
  for (std::string& line : core_lines(host, style)) lines.push_back(std::move(line));
  Parts parts(style);
  parts.add("user " + live_share(host.user_share)).add("system " + live_share(host.system_share));
  if (host.stolen_share.value_or(0) >= 0.005) parts.add("stolen " + live_share(host.stolen_share));
  if (host.cpu_pressure.some_share)
    parts.add("tasks in line " + live_share(host.cpu_pressure.some_share) + " of the time",
              find_metric(targets, "cpu_pressure_share"));
  parts.add("runnable " + number_text(host.runnable, "{:.0f}"));
  if (host.in_line) parts.add(number_text(host.in_line, "{:.1f}") + " of them on average");
  parts.add("load " + number_text(host.load, "{:.2f}"));
  lines.push_back(parts.str());
}

void add_memory_lines(const HostUse& host, const std::vector<Metric>& targets, const LiveHistory& history,
                      const TerminalStyle& style, Lines& lines) {
  const Known share = memory_share(host);
  const Known used = share ? Known(*share * *host.memory_total_bytes) : std::nullopt;
  std::string detail = live_part(used, host.memory_total_bytes);
  if (host.swap_used_bytes.value_or(0) > 0)
    detail += fmt::format(", swap {}", live_bytes(host.swap_used_bytes));
  LiveLine title(style);
  lines.push_back(title.add("Memory", Colour::kBold).str());
  lines.push_back(
      figure_line({"used", share, find_metric(targets, "memory_share"), detail, {}}, history, style));
  if (const Metric* group = find_metric(targets, "group_memory_share"))
    lines.push_back(figure_line({"group", group->value / 100, group,
                                 live_part(host.group.memory_used_bytes, host.group.memory_limit_bytes)},
                                history, style));
  const double swapped = host.swapped_in_per_s.value_or(0) + host.swapped_out_per_s.value_or(0);
  const Metric* pressure = find_metric(targets, "memory_pressure_share");
  if (swapped <= 0 && (pressure == nullptr || pressure->reached())) return;
  Parts parts(style);
  parts.add(
      fmt::format("swap {} in, {} out", live_rate(host.swapped_in_per_s), live_rate(host.swapped_out_per_s)));
  if (pressure != nullptr)
    parts.add("tasks wait for memory " + live_share(host.memory_pressure.some_share) + " of the time",
              pressure);
  lines.push_back(parts.str());
}

// The busiest of them.
template <typename Device>
std::vector<Device> busiest(std::vector<Device> devices, std::size_t most) {
  std::stable_sort(devices.begin(), devices.end(), [](const Device& a, const Device& b) {
    return a.bytes.sent.value_or(0) + a.bytes.received.value_or(0) >
           b.bytes.sent.value_or(0) + b.bytes.received.value_or(0);
  });
  if (devices.size() > most) devices.resize(most);
  return devices;
}

constexpr std::size_t kNameEnd = 14, kColumn = 21;

void add_disk_lines(const HostUse& host, const std::vector<Metric>& targets, const TerminalStyle& style,
                    std::size_t most, Lines& lines) {
  if (host.disks.empty()) return;
  LiveLine title(style);
  title.add("Disks", Colour::kBold);
  if (const Metric* pressure = find_metric(targets, "io_pressure_share"))
    add_judged(title.add("  "),
               "tasks wait for them " + live_share(host.io_pressure.some_share) + " of the time", pressure);
  lines.push_back(title.str());
  for (const DiskUse& disk : busiest(host.disks, most)) {
    LiveLine line(style);
    line.add("  ").add(clipped(disk.name, kNameEnd - 3)).pad_to(kNameEnd);
    line.right_at(kNameEnd + 5, live_share(disk.busy_share)).add(" busy");
    line.pad_to(kNameEnd + 12).add("read " + live_rate(disk.bytes.received));
    line.pad_to(kNameEnd + 12 + kColumn - 4).add("write " + live_rate(disk.bytes.sent));
    if (disk.operation_ms)
      line.pad_to(kNameEnd + 2 * kColumn + 6).add(format_ms(*disk.operation_ms) + " each");
    lines.push_back(line.str());
  }
}

void add_network_lines(const HostUse& host, const TerminalStyle& style, std::size_t most, Lines& lines) {
  if (host.networks.empty()) return;
  LiveLine title(style);
  lines.push_back(title.add("Network", Colour::kBold).str());
  for (const NetworkUse& network : busiest(host.networks, most)) {
    LiveLine line(style);
    line.add("  ").add(clipped(network.name, kNameEnd - 3)).pad_to(kNameEnd + 12);
    line.add("in " + live_rate(network.bytes.received));
    line.pad_to(kNameEnd + 12 + kColumn - 4).add("out " + live_rate(network.bytes.sent));
    if (network.bytes_per_s_limit)
      line.pad_to(kNameEnd + 2 * kColumn + 6).add("of " + live_rate(network.bytes_per_s_limit));
    if (network.errors_per_s.value_or(0) > 0)
      line.add("  ").add(fmt::format("{:.3g} errors a second", *network.errors_per_s), Colour::kYellow);
    lines.push_back(line.str());
  }
}

}  // namespace

Lines host_lines(const HostUse& host, const LiveHistory& history, const TerminalStyle& style,
                 std::size_t most_devices) {
  const std::vector<Metric> targets = analyze::live::host_targets(host);
  Lines lines;
  add_cpu_lines(host, targets, history, style, lines);
  add_memory_lines(host, targets, history, style, lines);
  add_disk_lines(host, targets, style, most_devices, lines);
  add_network_lines(host, style, most_devices, lines);
  return lines;
}

}  // namespace hone::report::terminal
