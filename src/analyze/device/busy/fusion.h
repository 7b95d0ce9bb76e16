// What fusion would not have: chains of passes over memory, conversions of type, attention written by hand,
// optimizers of many small works.
#pragma once

#include <span>

#include "analyze/device/busy/view.h"

namespace hone::analyze::device {

// Runs of passes over as many elements, of which one, the longest, must stay; conversions that stand alone.
// `known`: what the works are by themselves and around convolutions, for what goes anyway is not what stays.
Claims find_chains(const View& view, std::span<const WorkSplit> known);

// Conversions of what f32 products among products in 16 bits read or write. `known`: the chains with it.
Claims find_leaking_casts(const View& view, std::span<const WorkSplit> known);

// Passes over the scores of attention, with the products around them.
Claims find_attention(const View& view);

// An optimizer of many small works.
Claims find_unfused_optimizers(const View& view);

}  // namespace hone::analyze::device
