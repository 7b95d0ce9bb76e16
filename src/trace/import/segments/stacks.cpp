#include "trace/import/segments/stacks.h"

#include <charconv>

namespace hone::trace::segments {

FrameId StackBuilder::frame(FrameKind kind, std::string_view function, std::string_view file, int32_t line) {
  Frame frame;
  frame.function = trace_.strings.intern(function);
  if (!file.empty()) frame.file = trace_.strings.intern(file);
  frame.line = line > 0 ? line : 0;
  frame.kind = kind;
  const auto id = FrameId{static_cast<uint32_t>(trace_.stacks.frames.size())};
  const auto [at, is_new] =
      frames_.emplace(std::tuple(kind, frame.function.index, frame.file.index, frame.line), id);
  if (is_new) trace_.stacks.frames.push_back(frame);
  return at->second;
}

FrameId StackBuilder::python_frame(std::string_view text) {
  const std::size_t open = text.find(" ("), colon = text.rfind(':');
  int32_t line = 0;
  if (open == std::string_view::npos || colon == std::string_view::npos || colon < open ||
      text.back() != ')' ||
      std::from_chars(text.data() + colon + 1, text.data() + text.size() - 1, line).ec != std::errc())
    return frame(FrameKind::kPython, text, {}, 0);
  return frame(FrameKind::kPython, text.substr(0, open), text.substr(open + 2, colon - open - 2), line);
}

void StackBuilder::add(StackSample sample, std::span<const FrameId> python, std::span<const FrameId> native) {
  std::vector<FrameId> stack(python.begin(), python.end());
  stack.insert(stack.end(), native.begin(), native.end());
  StackTable& stacks = trace_.stacks;
  const auto [at, is_new] = stacks_.emplace(stack, static_cast<uint32_t>(stacks.stacked.size()));
  if (is_new) stacks.stacked.insert(stacks.stacked.end(), stack.begin(), stack.end());
  sample.first = at->second;
  sample.python = static_cast<uint32_t>(python.size());
  sample.native = static_cast<uint32_t>(native.size());
  stacks.samples.push_back(sample);
}

}  // namespace hone::trace::segments
