#include "report/rank_words.h"

#include <algorithm>
#include <vector>

#include <fmt/format.h>

namespace hone::report {
namespace {

constexpr std::size_t kLateRows = 8;
constexpr std::size_t kRanksNamed = 4;

std::string ranks_text(const std::vector<int>& ranks) {
  if (ranks.size() > kRanksNamed) return fmt::format("{} ranks", ranks.size());
  std::string text = ranks.size() == 1 ? "rank " : "ranks ";
  for (std::size_t i = 0; i < ranks.size(); ++i) text += fmt::format("{}{}", i == 0 ? "" : ", ", ranks[i]);
  return text;
}

}  // namespace

std::span<const analyze::RankOperator> late_operators(const analyze::Analysis& analysis) {
  if (!analysis.late_rank) return {};
  const std::vector<analyze::RankOperator>& rows = analysis.late_rank->operators;
  return {rows.data(), std::min(kLateRows, rows.size())};
}

std::string late_title(const analyze::Analysis& analysis) {
  return fmt::format("Where rank {} differs from rank {}", analysis.late_rank->rank, analysis.ledger_rank);
}

std::string late_note(const analyze::Analysis& analysis) {
  const std::size_t all = analysis.late_rank->operators.size(), shown = late_operators(analysis).size();
  std::string text = fmt::format(
      "Device time and calls a step of operators on rank {} and on rank {}, whose ledger this is; largest "
      "difference first, but none below {:.0f} % of the operator or {:.0f} % of the step. Equal calls may "
      "take "
      "longer beside a collective, or at a lower clock",
      analysis.late_rank->rank, analysis.ledger_rank, analyze::kDeviceDrift * 100,
      analyze::kPartOfStep * 100);
  return text + (all > shown ? fmt::format(". The first {} of {}.", shown, all) : ".");
}

std::string late_inputs(const analyze::RankOperator& row, const analyze::Analysis& analysis) {
  const std::string inputs = operator_name(row.name, row.kind).inputs;
  if (row.shown_name.empty()) return inputs;
  return fmt::format("{}{}on rank {}: {}", inputs, inputs.empty() ? "" : "; ", analysis.ledger_rank,
                     operator_name(row.shown_name, row.kind).inputs);
}

std::string calls_text(double calls) { return calls > 0 ? fmt::format("{:.3g}", calls) : "–"; }

std::string elsewhere_title() { return "Only on ranks that are not shown"; }

std::string elsewhere_note(const analyze::Comparison& comparison) {
  const std::string shown = comparison.a_rank == comparison.b_rank
                                ? fmt::format("rank {}", comparison.a_rank)
                                : fmt::format("rank {} of the first and rank {} of the second",
                                              comparison.a_rank, comparison.b_rank);
  return fmt::format(
      "The operators of {} are compared. These are not among them: only other ranks run them, in one of the "
      "runs or both. Where several do, this is the longest time; none below {:.0f} % of the step.",
      shown, analyze::kPartOfStep * 100);
}

std::string elsewhere_ranks(const analyze::ElsewhereChange& row) {
  if (row.b_ranks.empty() || row.a_ranks == row.b_ranks) return ranks_text(row.a_ranks);
  if (row.a_ranks.empty()) return ranks_text(row.b_ranks);
  return fmt::format("{}, then {}", ranks_text(row.a_ranks), ranks_text(row.b_ranks));
}

}  // namespace hone::report
