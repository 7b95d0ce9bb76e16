#include "observe/system/memory_counters.h"

#include <algorithm>

#include <unistd.h>

#include "observe/system/text_fields.h"

namespace hone::observe::system {
namespace {

using trace::live::Known;

constexpr double kKib = 1024;

Known bytes_of(std::optional<int64_t> kib) {
  return kib ? Known(static_cast<double>(*kib) * kKib) : std::nullopt;
}

Known stalled_share(std::optional<int64_t> before, std::optional<int64_t> now, double seconds) {
  const Known share = rate(before, now, seconds, 1e-6);
  return share ? Known(std::min(1.0, *share)) : std::nullopt;
}

}  // namespace

void parse_meminfo(std::string_view text, MemoryCounters& counters) {
  Fields lines(text);
  for (std::string_view line; lines.line(line);) {
    Fields fields(line);
    const std::string_view name = fields.word();
    if (name == "MemTotal:") counters.total_kib = fields.number();
    if (name == "MemAvailable:") counters.available_kib = fields.number();
    if (name == "SwapTotal:") counters.swap_total_kib = fields.number();
    if (name == "SwapFree:") counters.swap_free_kib = fields.number();
  }
}

void parse_vmstat(std::string_view text, MemoryCounters& counters) {
  Fields lines(text);
  for (std::string_view line; lines.line(line);) {
    if (!line.starts_with("pswp")) continue;
    Fields fields(line);
    const std::string_view name = fields.word();
    if (name == "pswpin") counters.pages_swapped_in = fields.number();
    if (name == "pswpout") counters.pages_swapped_out = fields.number();
  }
}

void fill_memory_use(const MemoryCounters& before, const MemoryCounters& now, double seconds,
                     trace::live::HostUse& host) {
  host.memory_total_bytes = bytes_of(now.total_kib);
  host.memory_available_bytes = bytes_of(now.available_kib);
  host.swap_total_bytes = bytes_of(now.swap_total_kib);
  if (now.swap_total_kib && now.swap_free_kib)
    host.swap_used_bytes = bytes_of(*now.swap_total_kib - *now.swap_free_kib);
  const auto page = static_cast<double>(::sysconf(_SC_PAGESIZE));
  host.swapped_in_per_s = rate(before.pages_swapped_in, now.pages_swapped_in, seconds, page);
  host.swapped_out_per_s = rate(before.pages_swapped_out, now.pages_swapped_out, seconds, page);
}

// "some avg10=0.00 avg60=0.00 avg300=0.00 total=1234".
PressureCounters parse_pressure(std::string_view text) {
  PressureCounters counters;
  Fields lines(text);
  for (std::string_view line; lines.line(line);) {
    Fields fields(line);
    const std::string_view kind = fields.word();
    constexpr std::string_view kTotal = "total=";
    for (std::string_view word = fields.word(); !word.empty(); word = fields.word()) {
      if (!word.starts_with(kTotal)) continue;
      const auto total = whole_number(word.substr(kTotal.size()));
      if (kind == "some") counters.some_us = total;
      if (kind == "full") counters.full_us = total;
    }
  }
  return counters;
}

trace::live::Pressure pressure_between(const PressureCounters& before, const PressureCounters& now,
                                       double seconds) {
  return {stalled_share(before.some_us, now.some_us, seconds),
          stalled_share(before.full_us, now.full_us, seconds)};
}

}  // namespace hone::observe::system
