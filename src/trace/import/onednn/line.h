// A line of oneDNN's verbose stream (ONEDNN_VERBOSE=1), by which it tells every primitive that ran: versions 2 and 3, with and
// without time stamps (ONEDNN_VERBOSE_TIMESTAMP=1).
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "trace/trace.h"

namespace hone::trace::onednn {

struct Execution {
  std::optional<double> start_ms;  // since 1970, where lines have time stamps
  double ms = 0;
  Operator op;  // with FLOPs and bytes, as far as shapes tell them
};

// Whether a line is of the stream at all.
bool is_verbose_line(std::string_view line);
// Nothing: another line, or one that tells of something else than an execution.
std::optional<Execution> parse_line(std::string_view line);

}  // namespace hone::trace::onednn
