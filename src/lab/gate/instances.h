// A paired comparison of programs, not of two copies in memory. Where a plan's weights and buffers came to
// lie, and which of two plans was made first, changes its speed by some tenths of a percent, for as long as
// it lives: two plans of one model differ, and a test that runs one of each finds it, truly and to no use (11
// of 50 comparisons of a model with its copy claimed a difference).
//
// So each side is made several times, in turns (A B B A A B …), and every block of the comparison takes
// another pair of instances. The spread between instances of one side is then part of the data, and a
// difference between the sides counts only against it: Student's t on the instances' median log ratios,
// pooled over both sides (a block is a cluster; Welch and Neyman call it the unit of randomisation). The
// interval is the wider of that and the paired test's own.
#pragma once

#include <span>

#include "lab/gate/paired.h"

namespace hone::lab {

// As many instances of one side as of the other: 2 or 3.
Result<PairedResult> run_paired_instances(std::span<const Workload> a, std::span<const Workload> b,
                                          const PairedOptions& options = {});

// Which side is made at each place, 0 or 1, so that neither is always the first, nor always the later: A B B
// A A B.
std::vector<int> making_order(int instances);

}  // namespace hone::lab
