// Batch normalisation of channels-first images of few channels: cuDNN gives each channel to one block, so
// that 32 channels leave three quarters of a device idle. Over channels-last images all blocks share every
// channel.
#pragma once

#include "analyze/device/busy/view.h"

namespace hone::analyze::device {

// The kernels that normalise images channel by channel, where some have fewer channels than the device has
// multiprocessors; and what converts these images for convolutions, where that takes less: one repair, the
// order of the images, removes both.
Claims find_channels_first_norms(const View& view);

}  // namespace hone::analyze::device
