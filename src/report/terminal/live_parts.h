// What the live picture is put together from: lines that never get wider than the terminal, and its sections.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "analyze/findings.h"
#include "report/live.h"
#include "report/terminal/parts.h"

namespace hone::report::terminal {

using Lines = std::vector<std::string>;

// A line that is filled from the left; what would not fit is cut off, with all that follows. Text is cleaned of control characters.
class LiveLine {
 public:
  explicit LiveLine(const TerminalStyle& style) : style_(style) {}
  LiveLine& add(std::string_view text, std::optional<Colour> colour = {});
  // Spaces up to column `column`.
  LiveLine& pad_to(std::size_t column);
  // `text` ends before column `column`.
  LiveLine& right_at(std::size_t column, std::string_view text, std::optional<Colour> colour = {});
  std::size_t used() const { return used_; }
  std::size_t room() const { return style_.width - used_; }
  std::string str() const;  // without spaces at its end

 private:
  const TerminalStyle& style_;
  std::string text_;
  std::size_t used_ = 0;
  std::size_t spaces_ = 0;  // at the end, not written yet
  bool cut_ = false;
};

// "97 %", "4.2 %", "–" where it is not known.
std::string live_share(trace::live::Known share);
std::string live_bytes(trace::live::Known bytes);
std::string live_rate(trace::live::Known bytes_per_s);
// "12.3 of 62.8 GiB".
std::string live_part(trace::live::Known bytes, trace::live::Known whole);
// Shares as columns of eighths; a space where nothing is known.
std::string sparkline(const std::vector<trace::live::Known>& shares);
// Green: its target is reached; yellow: missed; none: it has none.
std::optional<Colour> mark_colour(const analyze::Metric* metric);

// A figure: its name, value, target, bar and last minute.
struct LiveFigure {
  std::string_view label;
  trace::live::Known share;
  const analyze::Metric* metric = nullptr;  // what it should be
  std::string detail = {};                  // after the bar, instead of the last minute
  LiveHistory::Figure figure = {};          // of the last minute
};
std::string figure_line(const LiveFigure& figure, const LiveHistory& history, const TerminalStyle& style);

// `most` lines at most.
Lines gpu_lines(const trace::live::MachineUse& use, const LiveHistory& history, const TerminalStyle& style,
                std::size_t most);
Lines host_lines(const trace::live::HostUse& host, const LiveHistory& history, const TerminalStyle& style,
                 std::size_t most_devices);
// A heading and `most` processes.
Lines process_lines(const trace::live::MachineUse& use, ProcessOrder order, const TerminalStyle& style,
                    std::size_t most);

}  // namespace hone::report::terminal
