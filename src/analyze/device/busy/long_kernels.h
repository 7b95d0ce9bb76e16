// Convolutions over kernels of thousands of taps, done tap by tap: a product of spectra has far less to do.
#pragma once

#include "analyze/device/busy/view.h"

namespace hone::analyze::device {

// The works of convolutions whose arithmetic at its roof takes several times as long as the Fourier
// transforms of inputs, filters and results, with the product between them, take at theirs. Goes before
// what is said of their type: in a narrower one they are as long.
Claims find_long_kernels(const View& view);

}  // namespace hone::analyze::device
