// The bars of a timeline as compact JSON for the page's own script (timeline/script.cpp): columns of whole
// numbers, names once each.
#pragma once

#include <string>
#include <vector>

#include "analyze/findings.h"
#include "report/timeline/merge.h"

namespace hone::report {

// Safe inside a <script> element: no '<' and no character outside ASCII. Columns of equal length: t track,
// s start in ns since the start of the bar before it, d duration in ns, n name, k kind, c class, p depth, l
// link (the same number for a launch and what it launched; 0: none). "idle" has the gaps of devices: t, s, d
// and n as above, c index into "causes", which are pairs of a label and a class of the style sheet.
std::string timeline_json(const analyze::Analysis& analysis, const MergedTimeline& timeline,
                          const std::vector<analyze::IdleSpan>& gaps);

}  // namespace hone::report
