#include "core/spelling.h"

#include <algorithm>
#include <vector>

namespace hone {
namespace {

std::size_t slips_between(std::string_view a, std::string_view b) {
  std::vector<std::vector<std::size_t>> slips(a.size() + 1, std::vector<std::size_t>(b.size() + 1));
  for (std::size_t i = 0; i <= a.size(); ++i) {
    for (std::size_t j = 0; j <= b.size(); ++j) {
      if (i == 0 || j == 0) {
        slips[i][j] = i + j;
        continue;
      }
      const std::size_t exchanged = a[i - 1] == b[j - 1] ? 0 : 1;
      slips[i][j] = std::min({slips[i - 1][j] + 1, slips[i][j - 1] + 1, slips[i - 1][j - 1] + exchanged});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
        slips[i][j] = std::min(slips[i][j], slips[i - 2][j - 2] + 1);
    }
  }
  return slips[a.size()][b.size()];
}

}  // namespace

std::string nearest_word(std::string_view typed, std::span<const std::string> known) {
  constexpr std::size_t kLongest = 64;  // longer ones are no slips of the finger
  if (typed.size() < 2 || typed.size() > kLongest) return {};
  const auto letters =
      static_cast<std::size_t>(std::count_if(typed.begin(), typed.end(), [](char c) { return c != '-'; }));
  std::size_t fewest = std::max<std::size_t>(1, letters / 3) + 1;
  std::string nearest;
  for (const std::string& word : known) {
    if (const std::size_t slips = slips_between(typed, word); slips < fewest) {
      fewest = slips;
      nearest = word;
    }
  }
  if (!nearest.empty() || letters < 3) return nearest;
  const auto longer = std::find_if(known.begin(), known.end(),
                                   [&](const std::string& word) { return word.starts_with(typed); });
  return longer == known.end() ? "" : *longer;
}

std::string suggestion(std::string_view typed, std::span<const std::string> known) {
  const std::string word = nearest_word(typed, known);
  return word.empty() ? "" : "; did you mean '" + word + "'?";
}

}  // namespace hone
