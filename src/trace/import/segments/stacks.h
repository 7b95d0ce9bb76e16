// Fills a trace's table of stacks: each frame and each stack once.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string_view>
#include <tuple>
#include <vector>

#include "trace/trace.h"

namespace hone::trace::segments {

class StackBuilder {
 public:
  // `trace` must outlive this.
  explicit StackBuilder(Trace& trace) : trace_(trace) {}

  FrameId frame(FrameKind kind, std::string_view function, std::string_view file, int32_t line);
  // "function (file:line)", as samplers inside of programs write it; the whole is the function where it has another form.
  FrameId python_frame(std::string_view text);
  void add(StackSample sample, std::span<const FrameId> python, std::span<const FrameId> native);

 private:
  Trace& trace_;
  std::map<std::tuple<FrameKind, uint32_t, uint32_t, int32_t>, FrameId> frames_;
  std::map<std::vector<FrameId>, uint32_t> stacks_;  // where each begins
};

}  // namespace hone::trace::segments
