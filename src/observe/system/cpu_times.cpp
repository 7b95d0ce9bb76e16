#include "observe/system/cpu_times.h"

#include <algorithm>
#include <charconv>

#include "observe/system/text_fields.h"

namespace hone::observe::system {
namespace {

using trace::live::Known;

// "user nice system idle iowait irq softirq steal guest guest_nice" (proc_pid_stat(5)); guests' time is in user.
CpuTicks ticks_of(Fields fields, int cpu) {
  const auto next = [&] { return fields.number().value_or(0); };
  CpuTicks ticks;
  ticks.cpu = cpu;
  ticks.user = next();
  ticks.user += next();
  ticks.system = next();
  ticks.idle = next();
  ticks.waiting_for_io = next();
  ticks.system += next();
  ticks.system += next();
  ticks.stolen = next();
  return ticks;
}

// A part of the CPU's time. The count of waiting for I/O may run backwards by itself: then it counts as none.
Known cpu_share(int64_t before, int64_t now, int64_t all) {
  if (all <= 0) return std::nullopt;
  return std::clamp(static_cast<double>(now - before) / static_cast<double>(all), 0.0, 1.0);
}

Known busy_share(const CpuTicks& before, const CpuTicks& now) {
  const int64_t all = now.all() - before.all();
  const Known idle = cpu_share(before.idle + before.waiting_for_io, now.idle + now.waiting_for_io, all);
  return idle ? Known(1 - *idle) : std::nullopt;
}

}  // namespace

void parse_stat(std::string_view text, CpuCounters& counters) {
  Fields lines(text);
  for (std::string_view line; lines.line(line);) {
    Fields fields(line);
    const std::string_view name = fields.word();
    if (name == "cpu")
      counters.all = ticks_of(fields, -1);
    else if (name.starts_with("cpu")) {
      if (const auto cpu = whole_number(name.substr(3)))
        counters.each.push_back(ticks_of(fields, static_cast<int>(*cpu)));
    } else if (name == "procs_running")
      counters.runnable = fields.number();
  }
}

// "cpu0 …": the eighth number is the time in ns that tasks stood in line (Documentation/scheduler/sched-stats).
void parse_schedstat(std::string_view text, CpuCounters& counters) {
  Fields lines(text);
  for (std::string_view line; lines.line(line);) {
    Fields fields(line);
    const std::string_view name = fields.word();
    if (!name.starts_with("cpu") || !whole_number(name.substr(3))) continue;
    if (const auto waited = fields.skip(7).number())
      counters.in_line_ns = counters.in_line_ns.value_or(0) + *waited;
  }
}

void parse_loadavg(std::string_view text, CpuCounters& counters) {
  const std::string_view word = Fields(text).word();
  double load = 0;
  const auto [rest, failed] = std::from_chars(word.data(), word.data() + word.size(), load);
  if (failed == std::errc() && rest != word.data()) counters.load = load;
}

void fill_cpu_use(const CpuCounters& before, const CpuCounters& now, double seconds,
                  trace::live::HostUse& host) {
  host.cpus = static_cast<int64_t>(now.each.size());
  if (before.all && now.all) {
    const CpuTicks &a = *before.all, &b = *now.all;
    const int64_t all = b.all() - a.all();
    host.busy_share = busy_share(a, b);
    host.user_share = cpu_share(a.user, b.user, all);
    host.system_share = cpu_share(a.system, b.system, all);
    host.wait_share = cpu_share(a.waiting_for_io, b.waiting_for_io, all);
    host.stolen_share = cpu_share(a.stolen, b.stolen, all);
  }
  for (const CpuTicks& cpu : now.each) {
    const auto same = std::find_if(before.each.begin(), before.each.end(),
                                   [&](const CpuTicks& row) { return row.cpu == cpu.cpu; });
    host.cpu_busy.emplace_back(cpu.cpu, same == before.each.end() ? std::nullopt : busy_share(*same, cpu));
  }
  if (now.runnable) host.runnable = static_cast<double>(*now.runnable);
  host.in_line = rate(before.in_line_ns, now.in_line_ns, seconds, 1e-9);
  host.load = now.load;
}

}  // namespace hone::observe::system
