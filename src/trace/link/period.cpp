#include "trace/link/period.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <unordered_map>

namespace hone::trace::link {
namespace {

// Lengths of pieces. Short ones for short steps, long ones to tell alike parts of a step from each other.
constexpr std::size_t kPieceLengths[] = {1, 4, 16};
// How far distances of one piece may differ from their median and still be one distance.
constexpr double kStrict = 0.1;
// Where nothing recurs so regularly, this share of a piece's distances may be others (a step with a
// validation in it, a compilation).
constexpr double kOutliers = 0.15;
// How finely distances are told apart as votes: 5 %.
constexpr double kBucket = 0.05;

using Places = std::vector<uint32_t>;

std::vector<uint64_t> hashes_of_pieces(std::span<const uint32_t> symbols, std::size_t length) {
  constexpr uint64_t kBase = 0x9e3779b97f4a7c15u;
  std::vector<uint64_t> hashes;
  if (symbols.size() < length) return hashes;
  uint64_t power = 1, hash = 0;
  for (std::size_t i = 0; i + 1 < length; ++i) power *= kBase;
  const auto value = [&](std::size_t i) { return (symbols[i] + 1) * uint64_t{0xbf58476d1ce4e5b9u}; };
  hashes.reserve(symbols.size() - length + 1);
  for (std::size_t i = 0; i < symbols.size(); ++i) {
    if (i >= length) hash -= value(i - length) * power;
    hash = hash * kBase + value(i);
    if (i + 1 >= length) hashes.push_back(hash);
  }
  return hashes;
}

// The one distance at which the piece recurs from end to end of the sequence; 0: there is none.
double regular_distance(const Places& places, std::size_t symbols, double outliers) {
  if (places.size() < 2) return 0;
  std::vector<double> distances;
  for (std::size_t i = 1; i < places.size(); ++i) distances.push_back(places[i] - places[i - 1]);
  std::vector<double> sorted = distances;
  std::nth_element(sorted.begin(), sorted.begin() + static_cast<std::ptrdiff_t>(sorted.size() / 2),
                   sorted.end());
  const double median = sorted[sorted.size() / 2];
  std::size_t off = 0;
  for (double distance : distances)
    off += std::abs(distance - median) > std::max(kStrict * median, 0.5) ? 1 : 0;
  if (static_cast<double>(off) > outliers * static_cast<double>(distances.size())) return 0;
  const double reach = 1.2 * median + 1;
  const bool throughout = places.front() < reach && static_cast<double>(symbols - places.back()) < reach;
  return throughout ? median : 0;
}

struct Votes {
  double sum = 0;                 // of distances
  double pieces = 0;              // that recur at them
  double covered = 0;             // places where such a piece begins
  const Places* first = nullptr;  // of the piece that begins earliest
};

Period of_pieces(std::span<const uint32_t> symbols, std::size_t length, double outliers) {
  const std::vector<uint64_t> hashes = hashes_of_pieces(symbols, length);
  std::unordered_map<uint64_t, Places> places;
  for (std::size_t i = 0; i < hashes.size(); ++i) places[hashes[i]].push_back(static_cast<uint32_t>(i));
  std::map<int, Votes> votes;  // by the logarithm of the distance
  for (const auto& [hash, at] : places) {
    const double distance = regular_distance(at, symbols.size(), outliers);
    if (distance <= 0) continue;
    Votes& vote = votes[static_cast<int>(std::lround(std::log(distance) / kBucket))];
    vote.sum += distance;
    vote.pieces += 1;
    vote.covered += static_cast<double>(at.size());
    if (vote.first == nullptr || at.front() < vote.first->front()) vote.first = &at;
  }
  const Votes* best = nullptr;
  for (const auto& [bucket, vote] : votes)
    if (best == nullptr || vote.pieces > best->pieces) best = &vote;
  if (best == nullptr) return {};
  return {best->sum / best->pieces, best->covered / static_cast<double>(hashes.size()), *best->first};
}

}  // namespace

Period find_period(std::span<const uint32_t> symbols) {
  for (double outliers : {0.0, kOutliers}) {
    Period best;
    for (std::size_t length : kPieceLengths) {
      Period period = of_pieces(symbols, length, outliers);
      // Longer pieces tell more apart: they find the longer of two periods that both explain much.
      const bool longer = best.found() && period.length > 1.5 * best.length && period.explained > 0.1;
      if (period.found() && (!best.found() || longer ||
                             (period.explained > best.explained && period.length > 0.67 * best.length)))
        best = std::move(period);
    }
    if (best.found()) return best;
  }
  return {};
}

}  // namespace hone::trace::link
