#include "trace/import/nvtx.h"

#include <algorithm>
#include <charconv>
#include <vector>

#include "trace/call_inputs.h"

namespace hone::trace {
namespace {

// "[[4], [8, 8], []]": one input each; "[]" stands for scalars too, so that it is no tensor.
std::string inputs_of_sizes(std::string_view sizes) {
  std::vector<CallInput> inputs;
  std::size_t depth = 0;
  for (std::size_t at = 0; at < sizes.size(); ++at) {
    const char c = sizes[at];
    if (c == '[') {
      if (++depth == 2) inputs.emplace_back();
    } else if (c == ']') {
      if (depth == 0 || --depth == 0) break;
    } else if (c >= '0' && c <= '9' && depth == 2) {
      int64_t dim = 0;
      const auto [end, error] = std::from_chars(sizes.data() + at, sizes.data() + sizes.size(), dim);
      if (error != std::errc()) return {};
      inputs.back().kind = CallInput::Kind::kTensor;
      inputs.back().dims.push_back(dim);
      at = static_cast<std::size_t>(end - sizes.data()) - 1;
    }
  }
  return call_inputs_text(inputs);
}

}  // namespace

NvtxRange nvtx_range(std::string_view text) {
  NvtxRange range;
  range.name = text;
  const std::size_t end = std::min({text.find(", op_id = "), text.find(", seq = "), text.find(", sizes = ")});
  if (end == std::string_view::npos) return range;
  range.name = text.substr(0, end);
  range.is_call = true;
  if (const std::size_t at = text.find(", seq = ", end); at != std::string_view::npos) {
    int64_t sequence = kNoSequence;
    std::from_chars(text.data() + at + 8, text.data() + text.size(), sequence);
    range.sequence = sequence;
  }
  if (const std::size_t at = text.find(", sizes = ", end); at != std::string_view::npos)
    range.inputs = inputs_of_sizes(text.substr(at + 10));
  return range;
}

}  // namespace hone::trace
