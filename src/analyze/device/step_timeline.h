// The bars of one representative step, for the reader's eye: host threads with their nested calls above the
// streams of their device, rank by rank.
#pragma once

#include "analyze/device/study.h"
#include "analyze/findings.h"

namespace hone::analyze::device {

// Fills Analysis::timeline and timeline_tracks with the step of the headline rank whose time is nearest to
// the median, and what the other ranks did meanwhile; Analysis::idle with what their devices waited for. Host
// work that ran ahead of the step is of the step before. The headline rank stands first, then
// Analysis::late_rank, which is to be known by now.
void add_step_timeline(const Study& study, Analysis& analysis);

}  // namespace hone::analyze::device
