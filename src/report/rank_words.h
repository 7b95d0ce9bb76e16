// Words about ranks whose ledger is not shown: what the late rank computes otherwise, and what only other
// ranks than the compared ones run. Every form of the report says them alike.
#pragma once

#include <span>
#include <string>

#include "analyze/compare.h"
#include "analyze/findings.h"
#include "report/words.h"

namespace hone::report {

// The largest differences between the late rank and the shown one; empty where they do the same.
std::span<const analyze::RankOperator> late_operators(const analyze::Analysis& analysis);
// "Where rank 1 differs from rank 0", and how to read the table. For analyses with a late rank.
std::string late_title(const analyze::Analysis& analysis);
std::string late_note(const analyze::Analysis& analysis);
// What the operator works on, on the late rank and, where that is something else, on the shown one.
std::string late_inputs(const analyze::RankOperator& row, const analyze::Analysis& analysis);
// "8", "1.5", "–".
std::string calls_text(double calls);

std::string elsewhere_title();
std::string elsewhere_note(const analyze::Comparison& comparison);
// "rank 1", "ranks 1, 2", "rank 1, then rank 0": the ranks of the first run, then of the second.
std::string elsewhere_ranks(const analyze::ElsewhereChange& row);

}  // namespace hone::report
