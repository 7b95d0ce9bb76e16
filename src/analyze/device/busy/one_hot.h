// Rows that are looked up by a product: a matrix with a single one in each row is written, converted and
// multiplied by a table, which reads and writes as many zeros as the table has rows for each number looked
// up.
#pragma once

#include "analyze/device/busy/view.h"

namespace hone::analyze::device {

// What writes ones into rows of zeros (a scatter of one value along the last dimension, as
// F.one_hot does it), the conversions of the result, and the products that read it as it is: looking the rows
// up, or adding them up by their numbers in the backward pass, takes their place. A matrix that anything else
// has changed or read in between (a loss, a weighting) is none of this.
Claims find_one_hot_products(const View& view);

}  // namespace hone::analyze::device
