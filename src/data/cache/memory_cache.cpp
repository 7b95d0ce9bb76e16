#include "data/cache/memory_cache.h"

#include <mutex>
#include <shared_mutex>
#include <unordered_map>
#include <utility>

namespace hone::data {
namespace {

int64_t bytes_of(const Sample& sample) {
  int64_t bytes = 0;
  for (const Tensor& tensor : sample) bytes += static_cast<int64_t>(tensor.bytes());
  return bytes;
}

class MemoryCache final : public CachedDataset {
 public:
  MemoryCache(std::shared_ptr<const Dataset> dataset, std::shared_ptr<CacheBudget> budget)
      : dataset_(std::move(dataset)), budget_(std::move(budget)) {}

  std::span<const Field> fields() const override { return dataset_->fields(); }
  int64_t size() const override { return dataset_->size(); }
  std::string name_of(int64_t index) const override { return dataset_->name_of(index); }
  uint64_t version_of(int64_t index) const override { return dataset_->version_of(index); }
  Result<Sample> read(int64_t index) const override {
    StageTimes ignored;
    return read_timed(index, ignored);
  }
  Result<Sample> read_timed(int64_t index, StageTimes& times) const override {
    {
      const std::shared_lock lock(mutex_);
      if (const auto found = samples_.find(index); found != samples_.end()) {
        ++hits_;
        return found->second;  // shares its tensors
      }
    }
    ++misses_;
    auto sample = dataset_->read_timed(index, times);
    if (sample.ok()) keep(index, *sample);
    return sample;
  }
  bool prefetch(int64_t index) const override {
    {
      const std::shared_lock lock(mutex_);
      if (samples_.contains(index)) return true;
    }
    if (budget_->left() <= 0) return false;
    const auto sample = dataset_->read(index);
    return !sample.ok() || keep(index, *sample);  // what is damaged is said when it is asked for
  }
  CacheCounts counts() const override {
    const std::shared_lock lock(mutex_);
    return {static_cast<int64_t>(samples_.size()), hits_, misses_, bytes_};
  }

 private:
  // Whether it is kept now.
  bool keep(int64_t index, const Sample& sample) const {
    const int64_t bytes = bytes_of(sample);
    const std::unique_lock lock(mutex_);
    if (samples_.contains(index)) return true;
    if (!budget_->take(bytes)) return false;
    samples_.emplace(index, sample);
    bytes_ += bytes;
    return true;
  }

  std::shared_ptr<const Dataset> dataset_;
  std::shared_ptr<CacheBudget> budget_;
  mutable std::shared_mutex mutex_;
  mutable std::unordered_map<int64_t, Sample> samples_;
  mutable int64_t bytes_ = 0;
  mutable std::atomic<int64_t> hits_ = 0, misses_ = 0;
};

}  // namespace

std::shared_ptr<const CachedDataset> cache_in_memory(std::shared_ptr<const Dataset> dataset,
                                                     std::shared_ptr<CacheBudget> budget) {
  return std::make_shared<MemoryCache>(std::move(dataset), std::move(budget));
}

std::shared_ptr<const CachedDataset> cache_in_memory(std::shared_ptr<const Dataset> dataset,
                                                     int64_t budget_bytes) {
  return cache_in_memory(std::move(dataset), std::make_shared<CacheBudget>(budget_bytes));
}

}  // namespace hone::data
