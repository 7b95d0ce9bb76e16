// Products that a loop of the program does one after another, when one batched product could do all of them.
#pragma once

#include "analyze/device/busy/view.h"

namespace hone::analyze::device {

// The loops that launch nothing but matrix products, none of which can be a factor of the
// next by its shape, and each of which fills the device at most once: no block of it begins while another
// ends, so each pays for filling and draining the device alone. The first product of a loop stands for the
// batched one.
Claims find_products_in_turn(const View& view);

}  // namespace hone::analyze::device
