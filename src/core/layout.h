// How the elements of a tensor with logical shape N, C, spatial… lie in memory. The logical shape never
// changes with the layout; kernels that take a layout say so in their contract, all others take kPlain.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

namespace hone {

enum class Layout : uint8_t {
  kPlain,         // row-major in the logical order (NCHW)
  kChannelsLast,  // N, spatial…, C
  kBlocked8,      // N, C/8, spatial…, 8: channels padded with zeros to a multiple of 8
  kBlocked16,     // N, C/16, spatial…, 16
};

std::string_view layout_name(Layout layout);  // "plain", "channels_last", "blocked8", "blocked16"

std::optional<Layout> layout_from_name(std::string_view name);
// Channels that lie together: 8 or 16 in the blocked layouts, 1 in the others.
int64_t channel_block(Layout layout);

// Elements that a tensor of logical `shape` takes in `layout`, channel padding included.
int64_t storage_elements(std::span<const int64_t> shape, Layout layout);

}  // namespace hone
