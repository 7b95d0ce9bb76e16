#include "trace/import/segments/stacks.h"

#include <algorithm>
#include <array>
#include <numeric>
#include <utility>
#include <vector>

#include <fmt/format.h>

namespace hone::trace::segments {
namespace {

// Where Python keeps what is not the program's own.
bool in_library(std::string_view frame) {
  constexpr std::array<std::string_view, 5> kPlaces = {"/site-packages/", "/dist-packages/", "/lib/python",
                                                       "(<frozen ", "/hone_observe/"};
  return std::ranges::any_of(
      kPlaces, [&](std::string_view place) { return frame.find(place) != std::string_view::npos; });
}

// "step (/home/anna/train.py:40)" → "step (train.py:40)".
std::string with_file_alone(std::string_view frame) {
  const std::size_t open = frame.rfind('('), slash = frame.rfind('/');
  if (open == std::string_view::npos || slash == std::string_view::npos || slash < open)
    return std::string(frame);
  return std::string(frame.substr(0, open + 1)) + std::string(frame.substr(slash + 1));
}

}  // namespace

void StackTally::add(int64_t tid, std::span<const std::string_view> frames) {
  if (frames.empty()) return;
  const auto own = std::ranges::find_if_not(frames, in_library);
  ++lines_[tid][with_file_alone(own == frames.end() ? frames.front() : *own)];
}

std::string StackTally::text(int64_t main_tid) const {
  constexpr std::size_t kMostLines = 5;
  const auto lines = lines_.find(main_tid);
  if (lines == lines_.end()) return {};
  std::vector<std::pair<std::string, uint64_t>> most(lines->second.begin(), lines->second.end());
  const uint64_t samples = std::accumulate(most.begin(), most.end(), uint64_t{0},
                                           [](uint64_t sum, const auto& line) { return sum + line.second; });
  std::ranges::stable_sort(most, std::ranges::greater(), &std::pair<std::string, uint64_t>::second);
  most.resize(std::min(most.size(), kMostLines));
  std::string text =
      fmt::format("Python, {} {} of the main thread: ", samples, samples == 1 ? "sample" : "samples");
  for (std::size_t i = 0; i < most.size(); ++i)
    text +=
        fmt::format("{}{:.0f} % in {}", i == 0 ? "" : ", ",
                    100 * static_cast<double>(most[i].second) / static_cast<double>(samples), most[i].first);
  return text;
}

}  // namespace hone::trace::segments
