// Numbers with units: three significant digits, the unit chosen so that the number reads below 1000.
#include "core/units.h"

#include <array>
#include <cmath>
#include <span>
#include <string_view>

#include <fmt/core.h>

namespace hone {
namespace {

std::string three_digits(double magnitude) {
  if (magnitude < 9.995) return fmt::format("{:.2f}", magnitude);
  if (magnitude < 99.95) return fmt::format("{:.1f}", magnitude);
  return fmt::format("{:.0f}", magnitude);
}

// `value` counts units[first]; each next unit is `base` times as large. The first unit is printed without
// decimals when `whole` (bytes and counts come in ones).
std::string scaled(double value, double base, std::span<const std::string_view> units, bool whole) {
  if (!std::isfinite(value)) return "n/a";
  double magnitude = std::fabs(value);
  std::size_t unit = 0;
  while (magnitude >= base - 0.5 && unit + 1 < units.size()) {
    magnitude /= base;
    ++unit;
  }
  if (magnitude >= 10 * base) return fmt::format("{:.1e} {}", value, units.front());  // past all units
  const bool ones = (whole && unit == 0) || magnitude == 0;
  const std::string number = ones ? fmt::format("{:.0f}", magnitude) : three_digits(magnitude);
  const std::string_view sign = value < 0 && magnitude != 0 ? "-" : "";
  const std::string_view space = units[unit].empty() ? "" : " ";
  return fmt::format("{}{}{}{}", sign, number, space, units[unit]);
}

using namespace std::string_view_literals;
constexpr std::array kTimes = {"ns"sv, "µs"sv, "ms"sv, "s"sv};
constexpr std::array kBytes = {"B"sv, "KiB"sv, "MiB"sv, "GiB"sv, "TiB"sv, "PiB"sv};
constexpr std::array kFlops = {"FLOP"sv, "kFLOP"sv, "MFLOP"sv, "GFLOP"sv, "TFLOP"sv, "PFLOP"sv};
constexpr std::array kFlopRates = {"FLOP/s"sv,  "kFLOP/s"sv, "MFLOP/s"sv,
                                   "GFLOP/s"sv, "TFLOP/s"sv, "PFLOP/s"sv};
constexpr std::array kByteRates = {"B/s"sv, "kB/s"sv, "MB/s"sv, "GB/s"sv, "TB/s"sv, "PB/s"sv};
constexpr std::array kCounts = {""sv, "k"sv, "M"sv, "G"sv, "T"sv};

}  // namespace

std::string format_ms(double milliseconds) {
  constexpr double kMinute = 60e3, kHour = 60 * kMinute;
  if (milliseconds == 0) return "0 ms";
  if (std::fabs(milliseconds) >= 2 * kHour && std::isfinite(milliseconds))
    return fmt::format("{:.1f} h", milliseconds / kHour);
  if (std::fabs(milliseconds) >= 10 * kMinute && std::isfinite(milliseconds))
    return fmt::format("{:.1f} min", milliseconds / kMinute);
  return scaled(milliseconds * 1e6, 1000, kTimes, false);
}

namespace {

// How the parts of a step are written.
struct StepScale {
  double per_ms;
  int decimals;
  std::string_view unit;
};

StepScale scale_of(double step_ms) {
  const double size = std::fabs(step_ms);
  if (size >= 1e4) return {1e-3, 2, "s"};
  if (size >= 1000) return {1, 0, "ms"};
  return size >= 1 ? StepScale{1, 2, "ms"} : StepScale{1000, 1, "µs"};
}

std::string fixed_decimals(double value, int decimals) {
  const double least = std::pow(10, -decimals);
  if (value == 0 || std::fabs(value) >= least / 2) return fmt::format("{:.{}f}", value, decimals);
  return value > 0 ? fmt::format("<{:.{}f}", least, decimals) : fmt::format("{:.{}f}", 0.0, decimals);
}

}  // namespace

std::string fixed_number(double ms, double step_ms) {
  if (!std::isfinite(ms)) return "n/a";
  const StepScale scale = scale_of(step_ms);
  return fixed_decimals(ms * scale.per_ms, scale.decimals);
}

std::string fixed_ms(double ms, double step_ms) {
  if (!std::isfinite(ms)) return "n/a";
  return fmt::format("{} {}", fixed_number(ms, step_ms), scale_of(step_ms).unit);
}

std::string fixed_range(double low_ms, double high_ms, double step_ms) {
  const std::string low = fixed_number(low_ms, step_ms), high = fixed_ms(high_ms, step_ms);
  return fixed_ms(low_ms, step_ms) == high ? high : fmt::format("{} to {}", low, high);
}

std::string format_bytes(double bytes) { return scaled(bytes, 1024, kBytes, true); }
std::string format_flops(double flops) { return scaled(flops, 1000, kFlops, true); }
std::string format_flop_rate(double per_second) { return scaled(per_second, 1000, kFlopRates, true); }
std::string format_byte_rate(double per_second) { return scaled(per_second, 1000, kByteRates, true); }
std::string format_count(double count) { return scaled(count, 1000, kCounts, true); }
std::string format_intensity(double intensity) {
  if (!std::isfinite(intensity)) return "n/a";
  return (intensity < 0.1 ? fmt::format("{:.2g}", intensity) : three_digits(intensity)) + " FLOP/byte";
}

std::string format_factor(double factor) {
  return (factor < 1000 ? three_digits(factor) : format_count(factor)) + "×";
}

std::string counted(double count, std::string_view noun, std::string_view plural) {
  const bool whole = count >= 100 || std::fabs(count - std::round(count)) < 0.05;
  const std::string number = whole ? fmt::format("{:.0f}", count) : fmt::format("{:.1f}", count);
  if (number == "1") return fmt::format("1 {}", noun);
  return plural.empty() ? fmt::format("{} {}s", number, noun) : fmt::format("{} {}", number, plural);
}

std::string format_percent(double fraction) {
  if (!std::isfinite(fraction)) return "n/a";
  const std::string text = fmt::format("{:.1f} %", fraction * 100);
  if (text == "100.0 %") return "100 %";
  if (text == "0.0 %" && fraction > 0) return "<0.1 %";
  return text == "-0.0 %" || text == "0.0 %" ? "0 %" : text;
}

}  // namespace hone
