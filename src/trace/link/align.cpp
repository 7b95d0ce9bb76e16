#include "trace/link/align.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "core/statistics.h"
#include "trace/link/steps.h"

namespace hone::trace::link {
namespace {

// Sequences are compared at every offset: no more of them than this, which are many steps.
constexpr std::size_t kMostOfOne = 256, kMostOfOther = 4096;
constexpr std::size_t kFewest = 3;        // collectives that must stand side by side
constexpr double kFewOdd = 0.1;           // of them that may be unlike
constexpr double kEndsApartNs = 200'000;  // in one run ends differ by far less, once clocks are aligned
constexpr double kAsGoodNs = 20'000;      // differences of spread that mean nothing

struct Occurrence {
  double end_ns = 0;
  int32_t step = kNoStep;
  std::string_view name;
  double elements = 0;  // 0: unknown
};

using Sequence = std::vector<Occurrence>;
using ByGroup = std::map<std::string_view, Sequence>;

// By rank and process group, in order of time.
std::map<int, ByGroup> sequences(const Trace& trace, std::span<const DeviceWork> work) {
  std::map<int, ByGroup> found;
  for (const DeviceWork& item : work) {
    const Span span = trace.spans.row(item.row);
    if (span.category != Category::kCommunication) continue;
    if (!ends_at_once(trace.kernel(span.name).collective)) continue;
    const Collective* detail = find_detail(trace.collectives, item.row);
    const bool grouped = detail != nullptr && detail->group.valid();
    found[trace.tracks[span.track.index].rank][grouped ? trace.strings.text(detail->group) : ""].push_back(
        {static_cast<double>(span.end_ns()), span.step, trace.name(span),
         detail == nullptr ? 0 : detail->elements_in});
  }
  for (auto& [rank, groups] : found)
    for (auto& [group, sequence] : groups)
      std::stable_sort(sequence.begin(), sequence.end(),
                       [](const Occurrence& a, const Occurrence& b) { return a.end_ns < b.end_ns; });
  return found;
}

bool alike(const Occurrence& a, const Occurrence& b) {
  return a.name == b.name && (a.elements == 0 || b.elements == 0 || a.elements == b.elements);
}

// Two sequences side by side, the second moved by `offset`.
struct Fit {
  std::ptrdiff_t offset = 0;
  double spread_ns = 0;  // of the differences of ends, from their median
  double apart_ns = 0;   // the median
};

std::optional<Fit> fit_at(const Sequence& first, const Sequence& second, std::ptrdiff_t offset) {
  std::vector<double> differences;
  std::size_t odd = 0;
  const std::size_t count = std::min(second.size(), kMostOfOne);
  for (std::size_t i = 0; i < count; ++i) {
    const std::ptrdiff_t at = static_cast<std::ptrdiff_t>(i) + offset;
    if (at < 0 || at >= static_cast<std::ptrdiff_t>(first.size())) continue;
    const Occurrence& other = first[static_cast<std::size_t>(at)];
    odd += alike(other, second[i]) ? 0 : 1;
    differences.push_back(other.end_ns - second[i].end_ns);
  }
  const std::size_t wanted = std::max(kFewest, std::min(count, first.size()) / 2);
  if (differences.size() < wanted ||
      static_cast<double>(odd) > kFewOdd * static_cast<double>(differences.size()))
    return std::nullopt;
  Fit fit{offset, 0, median(differences)};
  for (double& difference : differences) difference = std::abs(difference - fit.apart_ns);
  fit.spread_ns = median(differences);
  return fit;
}

// Where ends agree best; where several offsets agree as well, with the clocks as they are.
std::optional<Fit> best_fit(const Sequence& first, const Sequence& second) {
  std::vector<Fit> fits;
  const auto most = static_cast<std::ptrdiff_t>(std::min(first.size(), kMostOfOther));
  const auto back = static_cast<std::ptrdiff_t>(std::min(second.size(), kMostOfOne));
  for (std::ptrdiff_t offset = -back + 1; offset < most; ++offset)
    if (const auto fit = fit_at(first, second, offset)) fits.push_back(*fit);
  if (fits.empty()) return std::nullopt;
  const double least = std::min_element(fits.begin(), fits.end(), [](const Fit& a, const Fit& b) {
                         return a.spread_ns < b.spread_ns;
                       })->spread_ns;
  if (least > kEndsApartNs) return std::nullopt;
  std::erase_if(fits, [&](const Fit& fit) { return fit.spread_ns > 2 * least + kAsGoodNs; });
  return *std::min_element(fits.begin(), fits.end(), [](const Fit& a, const Fit& b) {
    return std::abs(a.apart_ns) < std::abs(b.apart_ns);
  });
}

// What must be added to the second's steps to have the first's: what most pairs say.
std::optional<int32_t> step_shift(const ByGroup& first, const ByGroup& second) {
  const Sequence *a = nullptr, *b = nullptr;
  for (const auto& [group, sequence] : second)
    if (const auto at = first.find(group); at != first.end() && (b == nullptr || sequence.size() > b->size()))
      a = &at->second, b = &sequence;
  if (b == nullptr) return std::nullopt;
  const auto fit = best_fit(*a, *b);
  if (!fit) return std::nullopt;
  std::map<int32_t, int> votes;
  for (std::size_t i = 0; i < b->size(); ++i) {
    const std::ptrdiff_t at = static_cast<std::ptrdiff_t>(i) + fit->offset;
    if (at < 0 || at >= static_cast<std::ptrdiff_t>(a->size())) continue;
    const int32_t step = (*a)[static_cast<std::size_t>(at)].step;
    if (step != kNoStep && (*b)[i].step != kNoStep) ++votes[step - (*b)[i].step];
  }
  if (votes.empty()) return std::nullopt;
  return std::max_element(votes.begin(), votes.end(),
                          [](const auto& x, const auto& y) { return x.second < y.second; })
      ->first;
}

// Adds to the numbers of the ranks' steps; names that hone gave to them follow.
void move_steps(Trace& trace, const std::map<int, int32_t>& shifts) {
  for (std::size_t row = 0; row < trace.spans.size(); ++row) {
    int32_t& step = trace.spans.step[row];
    const auto shift = shifts.find(trace.tracks[trace.spans.track[row].index].rank);
    if (step == kNoStep || shift == shifts.end() || shift->second == 0) continue;
    const bool named = trace.spans.category[row] == Category::kStep &&
                       trace.strings.text(trace.spans.name[row]) == fmt::format("step {}", step);
    step += shift->second;
    if (named) trace.spans.name[row] = trace.strings.intern(fmt::format("step {}", step));
  }
}

// Ranks with more than one step: others have no numbers to speak of.
std::set<int> stepping_ranks(const Trace& trace) {
  std::map<int, int> steps;
  for (std::size_t row = 0; row < trace.spans.size(); ++row)
    if (trace.spans.category[row] == Category::kStep)
      ++steps[trace.tracks[trace.spans.track[row].index].rank];
  std::set<int> ranks;
  for (const auto& [rank, count] : steps)
    if (count > 1) ranks.insert(rank);
  return ranks;
}

}  // namespace

void align_steps(Trace& trace, std::span<const DeviceWork> work) {
  const std::set<int> stepping = stepping_ranks(trace);
  if (stepping.size() < 2) return;
  const std::map<int, ByGroup> found = sequences(trace, work);
  std::map<int, int32_t> shifts;
  std::optional<int> reference;
  std::string unknown;
  for (const int rank : stepping) {
    const auto own = found.find(rank);
    std::optional<int32_t> shift;
    if (own != found.end() && !reference) {
      reference = rank;
      shift = 0;
    } else if (own != found.end()) {
      shift = step_shift(found.at(*reference), own->second);
    }
    if (shift)
      shifts[rank] = *shift;
    else
      unknown += fmt::format("{}{}", unknown.empty() ? "" : ", ", rank);
  }
  int32_t least = 0;
  for (const auto& [rank, shift] : shifts) least = std::min(least, shift);
  std::string moved;
  for (auto& [rank, shift] : shifts) {
    if (shift != 0)
      moved += fmt::format("{}rank {} begins {} step{} {} rank {}", moved.empty() ? "" : ", ", rank,
                           std::abs(shift), std::abs(shift) == 1 ? "" : "s", shift > 0 ? "after" : "before",
                           *reference);
    shift -= least;
  }
  move_steps(trace, shifts);
  if (!moved.empty()) note_on_steps(trace, "steps of the ranks are matched by their collectives: " + moved);
  if (!unknown.empty())
    note_on_steps(trace,
                  fmt::format("no collectives tell which steps of rank {} belong to which of the others: "
                              "numbered on their own",
                              unknown));
}

}  // namespace hone::trace::link
