// Batches read ahead by worker threads. What is in a batch depends on the data set, the seed and the place alone;
// workers, read-ahead and caches decide only how long the consumer waits.
#pragma once

#include <condition_variable>
#include <deque>
#include <exception>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "data/batch_memory.h"
#include "data/batches.h"
#include "data/order.h"
#include "data/sample_writer.h"
#include "data/stages.h"
#include "data/transform.h"

namespace hone::data {

struct LoaderOptions {
  // Batch size, seed, shuffling, short batches, rank. The seed is the augmentation's, too.
  OrderOptions order = {};
  int workers = 2;         // threads; 0: next() does the work itself
  int64_t read_ahead = 4;  // batches, the one in the making included
  OnDamage on_damage = OnDamage::kFail;
  uint32_t first_region = kNoRegions;  // where kInputRegions stand among the regions of a recording
};

// Since the loader was made.
struct LoaderCounts {
  int64_t batches = 0, samples = 0;  // given
  int64_t wait_ns = 0;               // in next(), until the batch was there
  StageTimes stages;                 // of all threads together
  int64_t damaged = 0;               // different samples that others were put in place of

  // The stage that took most: what limits where the consumer waits. kRead is the ledger's `io`, all others `input`.
  Stage limiting_stage() const;
};

class Loader final : public Batches {
 public:
  // `transform` may be null. `memory`: where batches lie; null: host memory.
  static Result<std::unique_ptr<Loader>> make(std::shared_ptr<const Dataset> dataset,
                                              std::shared_ptr<const Transform> transform,
                                              const LoaderOptions& options,
                                              std::shared_ptr<BatchMemory> memory = nullptr);
  ~Loader() override;
  Loader(const Loader&) = delete;
  Loader& operator=(const Loader&) = delete;

  std::span<const Field> fields() const override { return writer_->fields(); }
  int64_t batch_size() const override { return order_.batch_size(); }
  int64_t batches_per_epoch() const override { return order_.batches_per_epoch(); }
  // The tensors borrow recycled memory: kept as long as they live, never written by whoever reads them. An error
  // stays: it is given again until seek().
  Result<Batch> next() override;
  Place place() const override { return place_; }
  Status seek(Place place) override;

  // From now on workers that find read_ahead batches there bring the samples of so many batches from place() on into the data
  // set's cache, as long as that has room: while the consumer is not ready for the first, say.
  void prefetch(int64_t batches);
  LoaderCounts counts() const;
  // Samples that were replaced, with why; once each.
  std::vector<Damage> damages() const { return writer_->damages(); }

 private:
  // A batch in the making. `taken` samples were given to workers, `done` are finished.
  struct Work {
    Place place;
    std::vector<int64_t> samples;
    std::vector<std::shared_ptr<std::byte>> blocks;  // by field
    std::size_t taken = 0, done = 0;
    std::optional<std::pair<std::size_t, Error>> error;  // of the first sample that has one
    std::exception_ptr bug;
    bool finished() const { return done == samples.size(); }
  };
  struct Share {
    std::shared_ptr<Work> work;
    std::size_t first = 0, count = 0;
  };

  Loader(std::unique_ptr<SampleWriter> writer, BatchOrder order, const LoaderOptions& options,
         std::shared_ptr<BatchMemory> memory);
  void start_workers();
  void run_worker();
  // These with the mutex held:
  std::optional<Share> take_share();
  std::optional<int64_t> take_prefetched();
  std::shared_ptr<Work> begin_work();
  // Without it:
  void do_share(const Share& share);
  Batch batch_of(Work& work) const;

  std::unique_ptr<SampleWriter> writer_;
  BatchOrder order_;
  LoaderOptions options_;
  std::vector<std::size_t> sample_bytes_;  // by field
  std::vector<BlockPool> pools_;           // by field
  std::size_t grain_ = 1;                  // samples that a worker takes at once
  Place place_;                            // of what next() gives

  mutable std::mutex mutex_;
  std::condition_variable room_, ready_;
  std::deque<std::shared_ptr<Work>> queue_;  // in order; the front is what next() gives
  Place begin_at_;                           // of the next batch that enters the queue
  int64_t prefetched_batches_ = 0;           // that are left to prefetch
  Place prefetched_at_;                      // the first of them that is not among the samples
  std::vector<int64_t> prefetched_;          // samples, the next one last
  bool stopping_ = false;
  LoaderCounts counts_;
  std::vector<std::thread> workers_;
};

}  // namespace hone::data
