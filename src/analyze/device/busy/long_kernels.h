// Convolutions over kernels of thousands of taps, done tap by tap: a product of spectra has far less to do.
#pragma once

#include "analyze/device/busy/busy_split.h"
#include "analyze/device/busy/gpu_roofs.h"
#include "analyze/device/timeline/rank_timeline.h"

namespace hone::analyze::device {

// Marks the works of convolutions whose arithmetic at its roof takes several times as long as the Fourier
// transforms of inputs, filters and results, with the product between them, take at theirs. Comes before
// anything is said of their type: in a narrower one they are as long.
void mark_long_kernels(const trace::Trace& trace, const RankTimeline& timeline, const GpuRoofs& roofs,
                       BusySplit& split);

}  // namespace hone::analyze::device
