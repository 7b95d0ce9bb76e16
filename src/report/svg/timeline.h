// One typical step as a strip: a row a thread, a bar an operator, gaps where nothing ran. Before and after
// share the time axis.
#pragma once

#include "analyze/findings.h"
#include "report/svg/chart.h"

namespace hone::report::svg {

// `after` may be null.
Markup timeline(const analyze::Analysis& before, const analyze::Analysis* after, const Canvas& canvas);

}  // namespace hone::report::svg
