// Which of the processes that were observed are the ranks of the program: a launcher, a shell and workers that load data
// are observed as well.
#pragma once

#include <string>
#include <vector>

#include "trace/import/segments/reader.h"

namespace hone::trace::segments {

struct ChosenRanks {
  std::vector<SegmentFile> files;     // in order of their ranks, or else of their start
  std::vector<std::string> warnings;  // what was left out that the reader may look for
};

// Where any process used a device: those that did. Else those that called operators of a framework, or else all that
// recorded anything; of these not the ones that another of them started. Of several with the rank of one, and of
// programs that ran one after the other, the one with most work.
ChosenRanks choose_ranks(std::vector<SegmentFile> files);

}  // namespace hone::trace::segments
