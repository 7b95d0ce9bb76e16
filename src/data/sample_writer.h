// One sample's way into its place in a batch: read, transformed, checked against the others, or replaced where its
// file is damaged and that is allowed.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "data/dataset.h"
#include "data/transform.h"

namespace hone::data {

enum class OnDamage : uint8_t {
  kFail,  // the batch is an error that names the sample
  kSkip,  // another sample takes its place, the same one each time
};

// A sample that could not be read: its data are corrupt, or of a kind that is not supported.
struct Damage {
  int64_t sample = 0;
  int64_t replaced_by = 0;
  std::string message;
};

// Thread-safe.
class SampleWriter {
 public:
  // `transform` may be null: samples go into batches as they are.
  static Result<std::unique_ptr<SampleWriter>> make(std::shared_ptr<const Dataset> dataset,
                                                    std::shared_ptr<const Transform> transform, uint64_t seed,
                                                    OnDamage on_damage);

  // Of what is written; no extent varies: where the data set's do, the first sample's decide.
  const std::vector<Field>& fields() const { return fields_; }
  int64_t size() const { return dataset_->size(); }

  // Writes `sample` as it is in `epoch` to out[field], where fields() says how much. Returns the sample that was
  // written: itself, or the one that replaces it.
  Result<int64_t> write(int64_t epoch, int64_t sample, const std::vector<std::byte*>& out, StageTimes& times);

  // As Dataset::prefetch.
  bool prefetch(int64_t sample) const { return dataset_->prefetch(sample); }

  // Every sample that was replaced so far, once each, by number.
  std::vector<Damage> damages() const;

 private:
  struct Readable {
    int64_t sample = 0;
    Sample tensors;
  };
  SampleWriter(std::shared_ptr<const Dataset> dataset, std::shared_ptr<const Transform> transform,
               uint64_t seed, OnDamage on_damage);
  Status decide_fields();
  Result<Readable> read(int64_t sample, StageTimes& times);
  Result<Readable> read_replacement(int64_t sample, const Error& why, StageTimes& times);
  Status check_shapes(const Sample& sample) const;

  std::shared_ptr<const Dataset> dataset_;
  std::shared_ptr<const Transform> transform_;
  uint64_t seed_;
  OnDamage on_damage_;
  std::vector<Field> fields_;
  std::string shaped_by_;  // the sample whose shapes decided, where they vary
  mutable std::mutex mutex_;
  std::map<int64_t, Damage> damages_;
};

}  // namespace hone::data
