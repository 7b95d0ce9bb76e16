#include "report/terminal/live_parts.h"

#include <algorithm>
#include <array>
#include <cmath>

#include <fmt/format.h>

#include "core/units.h"
#include "report/device_words.h"
#include "report/text.h"

namespace hone::report::terminal {

using trace::live::Known;

LiveLine& LiveLine::add(std::string_view text, std::optional<Colour> colour) {
  if (cut_) return *this;
  const std::string clean = clean_utf8(text), shown = clipped(clean, room());
  const std::size_t width = columns(shown);
  cut_ = columns(clean) > room();
  if (width == 0) return *this;
  text_.append(spaces_, ' ');
  spaces_ = 0;
  text_ += colour ? paint(shown, *colour, style_) : shown;
  used_ += width;
  return *this;
}

LiveLine& LiveLine::pad_to(std::size_t column) {
  const std::size_t to = std::min(column, style_.width);
  if (to <= used_) return *this;
  spaces_ += to - used_;
  used_ = to;
  return *this;
}

LiveLine& LiveLine::right_at(std::size_t column, std::string_view text, std::optional<Colour> colour) {
  const std::size_t width = columns(text);
  if (column > used_ + width) pad_to(column - width);
  return add(text, colour);
}

std::string LiveLine::str() const { return text_; }

std::string live_share(Known share) {
  if (!share || !std::isfinite(*share)) return "–";
  const double percent = 100 * *share;
  if (percent > 0 && percent < 0.05) return "<0.1 %";
  return percent == 0 || percent >= 9.95 ? fmt::format("{:.0f} %", percent)
                                         : fmt::format("{:.1f} %", percent);
}

std::string live_bytes(Known bytes) { return bytes ? format_bytes(*bytes) : "–"; }
std::string live_rate(Known bytes_per_s) { return bytes_per_s ? format_byte_rate(*bytes_per_s) : "–"; }

std::string live_part(Known bytes, Known whole) {
  if (!whole) return live_bytes(bytes);
  const std::string all = format_bytes(*whole), part = live_bytes(bytes);
  const std::size_t unit = all.find(' ');
  // One unit is enough where both have it.
  if (unit != std::string::npos && part.ends_with(all.substr(unit)))
    return fmt::format("{} of {}", part.substr(0, part.find(' ')), all);
  return fmt::format("{} of {}", part, all);
}

std::string sparkline(const std::vector<Known>& shares) {
  constexpr std::array<std::string_view, 8> kLevels = {"▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
  std::string line;
  for (const Known& share : shares) {
    if (!share || !std::isfinite(*share)) {
      line += ' ';
      continue;
    }
    const auto level = static_cast<std::size_t>(std::lround(std::clamp(*share, 0.0, 1.0) * 7));
    line += kLevels[level];
  }
  return line;
}

std::optional<Colour> mark_colour(const analyze::Metric* metric) {
  if (metric == nullptr || !metric->target) return std::nullopt;
  return metric->reached() ? Colour::kGreen : Colour::kYellow;
}

std::string figure_line(const LiveFigure& figure, const LiveHistory& history, const TerminalStyle& style) {
  constexpr std::size_t kLabelEnd = 11, kValueEnd = 18, kTargetEnd = 26, kGap = 2;
  constexpr std::size_t kNarrowBar = 12, kWideBar = 24, kWide = 100, kLastMinute = 60;
  LiveLine line(style);
  line.add("  ").add(figure.label).pad_to(kLabelEnd);
  line.right_at(kValueEnd, live_share(figure.share), mark_colour(figure.metric));
  if (figure.metric != nullptr) line.right_at(kTargetEnd, metric_target(*figure.metric), Colour::kFaint);
  const std::size_t width = style.width >= kWide ? kWideBar : kNarrowBar;
  line.pad_to(kTargetEnd + kGap);
  if (figure.share) line.add(bar(*figure.share, width), mark_colour(figure.metric));
  line.pad_to(kTargetEnd + kGap + width + kGap);
  if (!figure.detail.empty())
    line.add(figure.detail);
  else if (figure.figure && history.pictures() > 1)
    line.add(sparkline(history.series(std::min(line.room(), kLastMinute), figure.figure)), Colour::kBlue);
  return line.str();
}

}  // namespace hone::report::terminal
