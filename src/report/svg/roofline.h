// The roofline: achieved FLOP/s over FLOP per byte, both logarithmic, under the measured roofs. Every
// operator is a point, its area its time; hollow before, solid after; the longest carry their rank.
#pragma once

#include "analyze/findings.h"
#include "core/roofs.h"
#include "report/svg/chart.h"

namespace hone::report::svg {

// `after` may be null. Empty markup when no operator has a known cost.
Markup roofline(const Roofs& roofs, const analyze::Analysis& before, const analyze::Analysis* after,
                const Canvas& canvas);

}  // namespace hone::report::svg
