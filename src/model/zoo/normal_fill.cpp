#include "model/zoo/normal_fill.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <cmath>
#include <numbers>
#include <thread>
#include <vector>

#include "core/philox.h"

namespace hone::model::zoo {
namespace {

constexpr std::size_t kPiece = std::size_t{1} << 18;  // values handed to a thread at a time
constexpr std::size_t kPerBlock = 8;                  // values made from one block of random bits
constexpr std::size_t kQuantiles = 1 << 16;

// The normal distribution at 2^16 equally likely places. One look-up a value instead of a logarithm and a
// cosine: weights need the distribution, not all of its 2^24 values. Placed at the middle of each share, the
// largest lies at 4.3 deviations.
std::vector<float> make_quantiles() {
  std::vector<float> quantiles(kQuantiles);
  double x = 0;
  for (std::size_t i = kQuantiles / 2; i < kQuantiles; ++i) {
    const double tail = 1 - (static_cast<double>(i) + 0.5) / kQuantiles;
    for (int round = 0; round < 4; ++round) {  // Newton's method; the place before is a good start
      const double density = std::exp(-x * x / 2) / std::sqrt(2 * std::numbers::pi);
      x += (std::erfc(x / std::numbers::sqrt2) / 2 - tail) / density;
    }
    quantiles[i] = static_cast<float>(x);
    quantiles[kQuantiles - 1 - i] = static_cast<float>(-x);
  }
  return quantiles;
}

void fill_piece(const NormalFill& fill, std::size_t begin, std::size_t end, uint64_t seed,
                std::span<const float> quantiles) {
  const Philox random(seed, fill.stream);
  for (std::size_t start = begin; start < end; start += kPerBlock) {
    const std::array<uint32_t, 4> words = random.block(start / kPerBlock);
    const std::size_t count = std::min(kPerBlock, end - start);
    for (std::size_t i = 0; i < count; ++i) {
      const uint32_t place = (words[i / 2] >> (16 * (i % 2))) & 0xffff;
      const float value = fill.mean + fill.deviation * quantiles[place];
      fill.values[start + i] = fill.absolute ? std::abs(value) : value;
    }
  }
}

}  // namespace

void fill_normal(std::span<const NormalFill> fills, uint64_t seed) {
  struct Piece {
    const NormalFill* fill;
    std::size_t begin;
  };
  std::vector<Piece> pieces;
  for (const NormalFill& fill : fills) {
    for (std::size_t begin = 0; begin < fill.values.size(); begin += kPiece) pieces.push_back({&fill, begin});
  }
  const std::vector<float> quantiles = make_quantiles();
  std::atomic<std::size_t> next = 0;
  const auto work = [&] {
    for (std::size_t i = next++; i < pieces.size(); i = next++) {
      const auto& [fill, begin] = pieces[i];
      fill_piece(*fill, begin, std::min(begin + kPiece, fill->values.size()), seed, quantiles);
    }
  };
  std::vector<std::jthread> helpers;
  const std::size_t threads = std::min<std::size_t>(std::thread::hardware_concurrency(), pieces.size());
  for (std::size_t i = 1; i < threads; ++i) helpers.emplace_back(work);
  work();
}

}  // namespace hone::model::zoo
