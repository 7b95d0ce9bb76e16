// A shuffle that is computed place by place: a Feistel network over the next power of four, whose rounds draw on
// Philox, walked along until it falls into [0, size) (Black and Rogaway, "Ciphers with arbitrary finite domains",
// 2002). It is one-to-one by construction, whatever the rounds give.
#include "data/order.h"

#include <algorithm>
#include <bit>

#include <fmt/core.h>

#include "core/hash.h"
#include "core/philox.h"

namespace hone::data {
namespace {

constexpr int kRounds =
    6;  // four give a pseudo-random permutation (Luby and Rackoff); two more for small halves
constexpr int kLeastHalfBits = 4;  // smaller domains have too few permutations to be walked through at random

}  // namespace

Permutation::Permutation(uint64_t seed, int64_t size)
    : seed_(seed ^ fnv1a("order of samples")),
      size_(static_cast<uint64_t>(size)),
      half_bits_(std::max(kLeastHalfBits, (static_cast<int>(std::bit_width(size_ - 1)) + 1) / 2)) {}

int64_t Permutation::at(int64_t epoch, int64_t position) const {
  const Philox random(seed_, static_cast<uint64_t>(epoch));
  const uint64_t mask = (uint64_t{1} << half_bits_) - 1;
  auto value = static_cast<uint64_t>(position);
  do {
    uint64_t left = value >> half_bits_, right = value & mask;
    for (uint64_t round = 0; round < kRounds; ++round) {
      const uint64_t mixed = random.block(round << 56 | right)[0] & mask;
      left = std::exchange(right, left ^ mixed);
    }
    value = left << half_bits_ | right;
  } while (value >= size_);
  return static_cast<int64_t>(value);
}

Result<BatchOrder> BatchOrder::make(int64_t samples, const OrderOptions& options) {
  if (options.batch_size < 1)
    return invalid(fmt::format("a batch of {} samples: give a batch size of at least 1", options.batch_size));
  if (options.ranks < 1 || options.rank < 0 || options.rank >= options.ranks)
    return invalid(fmt::format("rank {} of {}: ranks count from 0", options.rank, options.ranks));
  if (samples < 1) return invalid("the data set is empty: there is nothing to make batches of");
  if (samples > int64_t{1} << 48) return invalid(fmt::format("{} samples are too many to count", samples));
  if (options.batch_size > samples / options.ranks && !options.keep_short)
    return invalid(
        fmt::format("the data set has {} samples, too few for one batch of {}{}; give a smaller batch, "
                    "or keep short batches",
                    samples, options.batch_size,
                    options.ranks > 1 ? fmt::format(" for each of {} ranks", options.ranks) : ""));
  return BatchOrder(samples, options);
}

BatchOrder::BatchOrder(int64_t samples, const OrderOptions& options)
    : options_(options), permutation_(options.seed, samples), samples_(samples) {
  // Of one rank; what is left over is shared with some samples given twice, so that every rank has as many.
  const int64_t share =
      options.keep_short ? (samples + options.ranks - 1) / options.ranks : samples / options.ranks;
  batches_ = options.keep_short ? (share + options.batch_size - 1) / options.batch_size
                                : samples / options.ranks / options.batch_size;
}

std::vector<int64_t> BatchOrder::samples_at(Place place) const {
  const int64_t first = place.batch * options_.batch_size * options_.ranks;  // of all ranks
  const int64_t left = (samples_ - first + options_.ranks - 1) / options_.ranks;
  const int64_t count = std::min(options_.batch_size, left);
  std::vector<int64_t> samples;
  samples.reserve(static_cast<std::size_t>(count));
  for (int64_t i = 0; i < count; ++i) {
    const int64_t position = (first + options_.rank * count + i) % samples_;
    samples.push_back(options_.shuffle ? permutation_.at(place.epoch, position) : position);
  }
  return samples;
}

Place BatchOrder::after(Place place) const {
  return place.batch + 1 < batches_ ? Place{place.epoch, place.batch + 1} : Place{place.epoch + 1, 0};
}

}  // namespace hone::data
