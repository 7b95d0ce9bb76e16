// What distinguishes the ranks of a distributed step: who is late at the collectives and what it did instead,
// how long collectives take, how much of them is hidden, against the roof of the link.
#pragma once

#include <string>
#include <vector>

#include "analyze/device/accounts.h"
#include "analyze/device/study.h"
#include "analyze/findings.h"

namespace hone::analyze::device {

struct Straggler {
  std::size_t rank = 0;         // index into Study::timelines
  int number = 0;               // as the program counts ranks
  std::string doing;            // what it spent its time on, compared with the rank that waits
  double longer_ms = 0;         // than the headline rank
  Cause cause = Cause::kFloor;  // of its idle time that the others do not have; kFloor: it computes longer
  // For a rank that computes longer: whether most of the difference is calls of operators that the others do
  // not make, so that leaving them out mends it. Else it does the same on more data, which others can take over.
  bool extra_work = false;
};

std::vector<RankSummary> rank_summaries(const Study& study);
std::vector<CollectiveSummary> collective_summaries(const Study& study);
// The rank that the headline rank waits for longest. Meaningless with one rank.
Straggler find_straggler(const Study& study, const Accounts& headline);

// "busbw": the bytes that the busiest link carries for a collective whose larger side has `bytes` on each of
// `ranks` ranks, by the rings of NCCL (nccl-tests/doc/PERFORMANCE.md).
double bus_bytes(trace::CollectiveKind collective, double bytes, double ranks);

}  // namespace hone::analyze::device
