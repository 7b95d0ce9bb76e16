// What a step does once for each of its micro-batches, when once would do, or half as often.
#pragma once

#include "analyze/device/busy/view.h"

namespace hone::analyze::device {

// Claims
// - the sums of gradients: of m micro-batches all but the first add to what the ones before left, which reads
//   and writes all gradients once more. What half as many micro-batches would not have is claimed;
// - the conversions of weights to 16 bits after the first of each step: a region of autocast keeps what it
//   converted until it ends, so that each micro-batch under a region of its own converts all weights again.
// How many micro-batches there are shows in how many of the gradients are added to something. Where all are,
// nothing is claimed.
Claims find_micro_batches(const View& view);

}  // namespace hone::analyze::device
