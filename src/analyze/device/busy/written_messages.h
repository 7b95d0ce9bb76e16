// Rows that are looked up by index, perhaps scaled, and added up by another index, as graph networks do along their
// edges: a product with a sparse matrix, whose rows need not be in memory before they are added.
#pragma once

#include "analyze/device/busy/view.h"

namespace hone::analyze::device {

// Lookups and pointwise passes before such a sum; the sum itself stays as it is.
Claims find_written_messages(const View& view);

}  // namespace hone::analyze::device
