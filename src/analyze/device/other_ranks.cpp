#include "analyze/device/other_ranks.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "analyze/device/accounts.h"
#include "analyze/device/operators.h"
#include "analyze/difference.h"
#include "analyze/match_operators.h"
#include "core/units.h"

namespace hone::analyze::device {
namespace {

using Rows = std::vector<const OperatorTime*>;

// The same work on the shown rank and on another; one of them may be empty.
struct Matched {
  Rows shown, other;
};

double total_ms(const Rows& rows) {
  double total = 0;
  for (const OperatorTime* row : rows) total += row->ms.median;
  return total;
}

double total_calls(const Rows& rows) {
  double total = 0;
  for (const OperatorTime* row : rows) total += row->calls;
  return total;
}

// Ranks of one program issue the same operators in the same order: as many with as many calls each, though on
// other inputs, belong together one by one. Empty: they are not as many.
std::vector<Matched> in_order(Matched both) {
  constexpr double kSameCalls = 0.05;
  const auto by_first_call = [](const OperatorTime* a, const OperatorTime* b) { return a->op < b->op; };
  std::sort(both.shown.begin(), both.shown.end(), by_first_call);
  std::sort(both.other.begin(), both.other.end(), by_first_call);
  const bool same = std::equal(both.shown.begin(), both.shown.end(), both.other.begin(), both.other.end(),
                               [](const OperatorTime* a, const OperatorTime* b) {
                                 return std::abs(a->calls - b->calls) < kSameCalls;
                               });
  std::vector<Matched> pairs;
  for (std::size_t i = 0; same && i < both.shown.size(); ++i)
    pairs.push_back({{both.shown[i]}, {both.other[i]}});
  return pairs;
}

// By name: one operator in several phases of a step, or as copies in several directions, has several rows.
std::vector<Rows> by_name(const Rows& rows) {
  std::vector<Rows> list;
  std::map<std::string_view, std::size_t> at;
  for (const OperatorTime* row : rows) {
    const auto [found, is_new] = at.try_emplace(row->name, list.size());
    if (is_new) list.emplace_back();
    list[found->second].push_back(row);
  }
  return list;
}

// What only one of the ranks runs stays apart, whatever its kind.
std::vector<Matched> matched(const std::vector<OperatorTime>& shown, const std::vector<OperatorTime>& other) {
  Rows all;
  for (const OperatorTime& row : shown) all.push_back(&row);
  for (const OperatorTime& row : other) all.push_back(&row);
  std::vector<Matched> result;
  for (const OperatorSet& members : match_by_inputs(all, shown.size())) {
    Matched both;
    for (const std::size_t i : members) (i < shown.size() ? both.shown : both.other).push_back(all[i]);
    if (!both.shown.empty() && !both.other.empty()) {
      std::vector<Matched> pairs = in_order(both);
      if (pairs.empty()) pairs.push_back(std::move(both));
      std::move(pairs.begin(), pairs.end(), std::back_inserter(result));
      continue;
    }
    for (Rows& rows : by_name(both.shown)) result.push_back({std::move(rows), {}});
    for (Rows& rows : by_name(both.other)) result.push_back({{}, std::move(rows)});
  }
  return result;
}

std::set<std::string_view> names_of(const Rows& rows) {
  std::set<std::string_view> names;
  for (const OperatorTime* row : rows) names.insert(row->name);
  return names;
}

// The longest of several of one kind: its inputs say what the others are like.
std::string name_of(const Rows& rows) {
  const OperatorTime* longest = *std::max_element(
      rows.begin(), rows.end(),
      [](const OperatorTime* a, const OperatorTime* b) { return a->ms.median < b->ms.median; });
  const std::size_t names = names_of(rows).size();
  if (names == 1) return longest->name;
  return fmt::format("{} and {}", longest->name, counted(static_cast<double>(names - 1), "more shape"));
}

RankOperator compared(const Matched& both) {
  RankOperator row;
  const Rows& named = both.other.empty() ? both.shown : both.other;
  row.name = name_of(named);
  row.kind = named.front()->kind;
  if (!both.other.empty() && !both.shown.empty() && names_of(both.shown) != names_of(both.other))
    row.shown_name = name_of(both.shown);
  row.late_ms = total_ms(both.other);
  row.shown_ms = total_ms(both.shown);
  row.late_calls = total_calls(both.other);
  row.shown_calls = total_calls(both.shown);
  return row;
}

double apart(const RankOperator& row) { return std::abs(row.late_ms - row.shown_ms); }

// Two devices differ by some share at everything.
bool differs(const RankOperator& row, double step_ms) {
  return apart(row) >= std::max(kPartOfStep * step_ms, kDeviceDrift * std::max(row.late_ms, row.shown_ms));
}

// By name of a row of its operators: the longest work of a rank in the step that is drawn.
std::map<std::string, TimelinePlace> places(const Study& study, std::size_t rank) {
  const DeviceStep& drawn = study.timelines[study.headline].steps[typical_window(study, study.headline)];
  std::map<std::string, TimelinePlace> longest;
  const RankTimeline& timeline = study.timelines[rank];
  for (const Work& work : timeline.works) {
    if (work.op == kNothing || work.kind == WorkKind::kCollective || !timeline.in_ledger(work)) continue;
    if (work.start_ns < drawn.start_ns || work.end_ns > drawn.end_ns) continue;
    TimelinePlace& place = longest[operator_row_name(study, rank, work.op)];
    const double ms = static_cast<double>(work.ns()) * 1e-6;
    if (ms > place.ms) place = {static_cast<double>(work.start_ns - drawn.start_ns) * 1e-6, ms};
  }
  return longest;
}

void set_place(const Matched& both, const std::map<std::string, TimelinePlace>& places, RankOperator& row) {
  for (const OperatorTime* each : both.other) {
    const auto found = places.find(each->name);
    if (found != places.end() && (!row.place || found->second.ms > row.place->ms)) row.place = found->second;
  }
}

std::vector<RankOperator> late_operators(const Study& study, std::size_t rank,
                                         const std::vector<Matched>& sets) {
  std::vector<RankOperator> rows;
  const std::map<std::string, TimelinePlace> shown_at = places(study, rank);
  for (const Matched& both : sets) {
    RankOperator row = compared(both);
    if (!differs(row, study.ranks[study.headline].typical.ms)) continue;
    set_place(both, shown_at, row);
    rows.push_back(std::move(row));
  }
  std::stable_sort(rows.begin(), rows.end(),
                   [](const RankOperator& a, const RankOperator& b) { return apart(a) > apart(b); });
  return rows;
}

using Elsewhere = std::map<std::pair<std::string, std::string>, ElsewhereOperator>;  // by kind and name

// `rows`: of one name, of one rank.
void add_elsewhere(int rank, const Rows& rows, bool stands_for_shown, Elsewhere& list) {
  const OperatorTime& op = *rows.front();
  const auto [at, is_new] = list.try_emplace({op.kind, op.name});
  ElsewhereOperator& row = at->second;
  row.name = op.name;
  row.kind = op.kind;
  row.stands_for_shown = stands_for_shown && (is_new || row.stands_for_shown);
  if (row.ranks.empty() || row.ranks.back() != rank) row.ranks.push_back(rank);
  const double ms = total_ms(rows);
  if (ms <= row.ms) return;
  row.ms = ms;
  row.calls = total_calls(rows);
  row.samples_ms.assign(op.samples_ms.size(), 0);
  for (const OperatorTime* each : rows)
    for (std::size_t i = 0; i < row.samples_ms.size(); ++i) row.samples_ms[i] += each->samples_ms[i];
}

// Adds what a rank runs and the shown one does not, not by that name.
void add_elsewhere(int rank, const std::vector<Matched>& sets, Elsewhere& list) {
  for (const Matched& both : sets) {
    const std::set<std::string_view> shown = names_of(both.shown);
    for (const Rows& rows : by_name(both.other))
      if (!shown.contains(rows.front()->name)) add_elsewhere(rank, rows, !shown.empty(), list);
  }
}

// Whether a rank's operators are those that its device ran: what leads back to none may be any of them.
bool knows_operators(const Study& study, std::size_t rank) {
  constexpr double kEnough = 0.95;
  const RankStudy& own = study.ranks[rank];
  double linked = 0, all = 0;
  for (const BusyInterval& interval : own.occupancy.busy) {
    const Work& work = study.timelines[rank].works[interval.work];
    if (work.kind == WorkKind::kCollective || !own.typical.counts(interval.window)) continue;
    const double ms = own.typical.part_ms(interval.window, interval.ns());
    all += ms;
    if (work.op != kNothing) linked += ms;
  }
  return linked >= kEnough * all;
}

}  // namespace

OtherRanks other_ranks(const Study& study, const Straggler& late, const std::vector<OperatorTime>& shown) {
  OtherRanks others;
  Elsewhere elsewhere;
  const bool shown_known = knows_operators(study, study.headline);
  for (std::size_t rank = 0; rank < study.timelines.size(); ++rank) {
    if (rank == study.headline) continue;
    if (!shown_known || !knows_operators(study, rank)) {
      others.known = false;
      continue;
    }
    const OperatorTables tables = make_operator_tables(study, rank, 0);
    const std::vector<Matched> sets = matched(shown, tables.operators);
    if (rank == late.rank) others.late = late_operators(study, rank, sets);
    add_elsewhere(study.timelines[rank].rank, sets, elsewhere);
  }
  for (auto& [key, row] : elsewhere) others.elsewhere.push_back(std::move(row));
  std::stable_sort(others.elsewhere.begin(), others.elsewhere.end(),
                   [](const ElsewhereOperator& a, const ElsewhereOperator& b) { return a.ms > b.ms; });
  return others;
}

}  // namespace hone::analyze::device
