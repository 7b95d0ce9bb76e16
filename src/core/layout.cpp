// Memory layouts: names and storage sizes.
#include "core/layout.h"

#include "core/shape.h"

namespace hone {

int64_t channel_block(Layout layout) {
  switch (layout) {
    case Layout::kBlocked8:
      return 8;
    case Layout::kBlocked16:
      return 16;
    case Layout::kPlain:
    case Layout::kChannelsLast:
      break;
  }
  return 1;
}

std::string_view layout_name(Layout layout) {
  switch (layout) {
    case Layout::kPlain:
      return "plain";
    case Layout::kChannelsLast:
      return "channels_last";
    case Layout::kBlocked8:
      return "blocked8";
    case Layout::kBlocked16:
      return "blocked16";
  }
  return "unknown";
}

std::optional<Layout> layout_from_name(std::string_view name) {
  for (Layout layout : {Layout::kPlain, Layout::kChannelsLast, Layout::kBlocked8, Layout::kBlocked16}) {
    if (layout_name(layout) == name) return layout;
  }
  return std::nullopt;
}

int64_t storage_elements(std::span<const int64_t> shape, Layout layout) {
  const int64_t block = channel_block(layout);
  if (block == 1 || shape.size() < 2) return element_count(shape);
  Shape padded(shape.begin(), shape.end());
  padded[1] = (padded[1] + block - 1) / block * block;
  return element_count(padded);
}

}  // namespace hone
