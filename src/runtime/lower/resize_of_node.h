// What a Resize does, read from its node once for all providers.
#pragma once

#include <optional>
#include <vector>

#include "kernels/resize/resize_desc.h"
#include "runtime/lower/lower.h"

namespace hone::runtime {

struct NodeResize {
  kernels::ResizeDesc desc;
  std::vector<std::size_t> unread;  // inputs that are known parameters
};

// Of images, nearest and linear, by known scales or sizes; nullopt for other operators, modes and layouts that change.
std::optional<NodeResize> resize_of_node(const LowerContext& context);

}  // namespace hone::runtime
