#include "data/zarr/chunk_cache.h"

#include <algorithm>
#include <new>

namespace hone::data {
namespace {

constexpr int64_t kBooksOfAChunk = 256;  // a chunk that is not there costs a place as well

Result<ChunkCache::Chunk> loaded_by(const ChunkCache::Load& load) {
  try {
    return load();
  } catch (const std::bad_alloc&) {  // nobody may wait for ever
    return invalid("not enough memory to decode a chunk");
  }
}

}  // namespace

int ChunkCache::add_array(int64_t bytes, int64_t of_a_sample) {
  const std::lock_guard lock(mutex_);
  bytes_of_all_ += bytes;
  bytes_of_a_sample_ += of_a_sample;
  return arrays_++;
}

Result<ChunkCache::Chunk> ChunkCache::get(int array, int64_t number, StageTimes& times, const Load& load) {
  const Key key = {array, number};
  std::unique_lock lock(mutex_);
  std::shared_ptr<Slot>& place = slots_[key];
  if (place != nullptr) {
    const std::shared_ptr<Slot> slot = place;  // stays when the cache forgets it
    if (!slot->chunk) {
      const StageTimer timer(times, Stage::kDecode);
      loaded_.wait(lock, [&] { return slot->chunk.has_value(); });
    }
    if (slot->is_kept) used_.splice(used_.begin(), used_, slot->place);
    ++counts_.hits;
    return *slot->chunk;
  }
  const auto slot = place = std::make_shared<Slot>();
  lock.unlock();
  Result<Chunk> chunk = loaded_by(load);
  lock.lock();
  ++counts_.loaded;
  slot->bytes = kBooksOfAChunk + (chunk.ok() && *chunk ? static_cast<int64_t>((*chunk)->size()) : 0);
  if (chunk.ok() && make_room_for(slot->bytes)) {
    slot->is_kept = true;
    slot->place = used_.insert(used_.begin(), key);
    ++counts_.kept;
    counts_.bytes += slot->bytes;
  } else {
    slots_.erase(key);
  }
  slot->chunk = chunk;
  loaded_.notify_all();
  return chunk;
}

bool ChunkCache::make_room_for(int64_t bytes) {
  if (bytes > counts_.bytes + budget_->left()) return false;  // however much was forgotten
  while (!budget_->take(bytes)) {
    if (used_.empty()) return false;  // others were quicker
    forget_oldest();
  }
  return true;
}

void ChunkCache::forget_oldest() {
  const auto oldest = slots_.find(used_.back());
  Slot& slot = *oldest->second;
  slot.is_kept = false;
  --counts_.kept;
  counts_.bytes -= slot.bytes;
  budget_->give_back(slot.bytes);
  used_.pop_back();
  slots_.erase(oldest);
}

ChunkCache::Counts ChunkCache::counts() const {
  const std::lock_guard lock(mutex_);
  return counts_;
}

int64_t ChunkCache::bytes_behind(int64_t samples) const {
  const std::lock_guard lock(mutex_);
  return samples < bytes_of_all_ / std::max<int64_t>(bytes_of_a_sample_, 1) ? samples * bytes_of_a_sample_
                                                                            : bytes_of_all_;
}

}  // namespace hone::data
