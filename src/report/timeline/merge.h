// A step may have more bars than a page should carry: the shortest neighbours are drawn as one, and the page
// says so.
#pragma once

#include <cstddef>
#include <vector>

#include "analyze/findings.h"

namespace hone::report {

struct MergedTimeline {
  // Ordered by track, depth and start. A merged bar is named by how many it holds and has no link.
  std::vector<analyze::TimelineSpan> spans;
  std::size_t merged = 0;      // bars that went into others
  double shorter_than_ms = 0;  // those were shorter than this, and as near to each other; 0: none
};

// At most about `limit` bars: the limit is missed where that many do not stand near each other.
MergedTimeline merge_short(const std::vector<analyze::TimelineSpan>& spans, std::size_t limit);

// "… 1,204 spans shorter than 12.0 µs are merged with their neighbours."; empty where none are.
std::string merged_note(const MergedTimeline& timeline);

}  // namespace hone::report
