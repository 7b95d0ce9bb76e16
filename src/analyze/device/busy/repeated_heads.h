// Grouped-query attention by copies: heads of keys and values written out once for each head of the queries
// that shares them, which a kernel of attention can read as they are.
#pragma once

#include "analyze/device/busy/view.h"

namespace hone::analyze::device {

// Those broadcasts written out of which attention reads as many elements: a fused
// kernel as its keys or values, attention written by hand in one of its products.
// `attention`: what was found to be attention written by hand.
Claims find_repeated_heads(const View& view, const Claims& attention);

}  // namespace hone::analyze::device
