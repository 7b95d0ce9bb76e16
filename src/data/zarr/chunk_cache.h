// Decoded chunks of arrays, kept as long as a budget has room for them, so that samples that share a chunk decode it
// once: the longest unused go first. A chunk that several threads want is decoded by the first; the others wait for it.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>

#include "core/result.h"
#include "data/cache/memory_cache.h"
#include "data/stages.h"
#include "data/zarr/chunk.h"

namespace hone::data {

// Thread-safe.
class ChunkCache {
 public:
  using Chunk =
      std::shared_ptr<const ChunkBytes>;  // null: the array does not hold it, and it is the fill value
  using Load = std::function<Result<Chunk>()>;
  struct Counts {
    int64_t loaded = 0, hits = 0, kept = 0;
    int64_t bytes = 0;  // of the chunks kept, with the books about them
  };

  explicit ChunkCache(std::shared_ptr<CacheBudget> budget) : budget_(std::move(budget)) {}

  // A number for an array whose chunks take `bytes` all together, and at most `of_a_sample` of which a sample is made.
  int add_array(int64_t bytes, int64_t of_a_sample);

  // Chunk `number` of the array: as it was kept, or by `load`, whose error everybody gets who waited for it.
  Result<Chunk> get(int array, int64_t number, StageTimes& times, const Load& load);

  Counts counts() const;
  // What it would take behind so many samples, had its budget no end.
  int64_t bytes_behind(int64_t samples) const;

 private:
  using Key = std::pair<int, int64_t>;
  struct Slot {
    std::optional<Result<Chunk>> chunk;  // none: being loaded
    bool is_kept = false;
    std::list<Key>::iterator place;  // in used_, where it is kept
    int64_t bytes = 0;
  };

  bool make_room_for(int64_t bytes);
  void forget_oldest();

  std::shared_ptr<CacheBudget> budget_;
  mutable std::mutex mutex_;
  std::condition_variable loaded_;
  std::map<Key, std::shared_ptr<Slot>> slots_;
  std::list<Key> used_;  // the last one first
  Counts counts_;
  int arrays_ = 0;
  int64_t bytes_of_all_ = 0, bytes_of_a_sample_ = 0;
};

}  // namespace hone::data
