// The live picture of a machine for a terminal, as text and as JSON (hone top).
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <string>
#include <vector>

#include "report/terminal.h"
#include "trace/live/machine_use.h"

namespace hone::report {

// What the figures were in the last minute, for sparklines.
class LiveHistory {
 public:
  void add(const trace::live::MachineUse& use);
  std::size_t pictures() const { return uses_.size(); }

  // `columns` values from a minute ago until now, each the mean of its part of the minute; no value where
  // nothing is known of it.
  using Figure = std::function<trace::live::Known(const trace::live::MachineUse&)>;
  std::vector<trace::live::Known> series(std::size_t columns, const Figure& figure) const;

 private:
  std::deque<trace::live::MachineUse> uses_;  // without processes and notes
};

enum class ProcessOrder { kGpu, kCpu, kMemory, kDisk, kNumber };

struct LiveView {
  TerminalStyle style;
  std::size_t height = 0;  // lines of a full screen; 0: text that takes what it needs
  ProcessOrder order = ProcessOrder::kGpu;
  double interval_s = 1;
  bool paused = false;
  bool help = false;
};

// One picture, line by line: none wider than the style's width, no more than the height. Between 60 columns and as
// many as there are.
std::vector<std::string> live_lines(const trace::live::MachineUse& use, const LiveHistory& history,
                                    const LiveView& view);
// The lines as text, with line breaks.
std::string live_text(const trace::live::MachineUse& use, const LiveHistory& history, const LiveView& view);

// Most of a share of the GPUs first, or of CPUs, …; equal ones by number.
void order_processes(std::vector<trace::live::ProcessUse>& processes, ProcessOrder order);

// Schema 1. In one line, without a line break, or over several with one at the end.
std::string live_json(const trace::live::MachineUse& use, bool one_line);
// docs/top-fields.md (fields_page.cpp).
std::string live_fields_page();

}  // namespace hone::report
