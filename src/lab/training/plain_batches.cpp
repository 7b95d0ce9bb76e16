#include "lab/training/plain_batches.h"

#include <cstring>
#include <numeric>
#include <utility>

#include <fmt/core.h>

#include "core/philox.h"

namespace hone::lab {
namespace {

class PlainBatches final : public data::Batches {
 public:
  PlainBatches(std::shared_ptr<const data::Dataset> dataset, const PlainOptions& options)
      : dataset_(std::move(dataset)), options_(options) {
    begin_epoch();
  }
  std::span<const data::Field> fields() const override { return dataset_->fields(); }
  int64_t batch_size() const override { return options_.batch; }
  int64_t batches_per_epoch() const override {
    return (dataset_->size() + (options_.short_last ? options_.batch - 1 : 0)) / options_.batch;
  }
  data::Place place() const override { return place_; }
  Status seek(data::Place place) override {
    if (place.epoch < 0 || place.batch < 0 || place.batch >= batches_per_epoch())
      return invalid(fmt::format("there is no batch {} in an epoch of {}", place.batch, batches_per_epoch()));
    place_ = place;
    begin_epoch();
    return {};
  }
  Result<data::Batch> next() override;

 private:
  // Fisher and Yates's shuffle, by the numbers of the epoch.
  void begin_epoch() {
    order_.resize(static_cast<std::size_t>(dataset_->size()));
    std::iota(order_.begin(), order_.end(), 0);
    if (!options_.shuffled) return;
    const Philox random(options_.seed, static_cast<uint64_t>(place_.epoch));
    for (std::size_t i = order_.size(); i > 1; --i)
      std::swap(order_[i - 1], order_[static_cast<std::size_t>(random.uniform(i) * static_cast<double>(i))]);
  }

  std::shared_ptr<const data::Dataset> dataset_;
  PlainOptions options_;
  data::Place place_;
  std::vector<int64_t> order_;
};

Result<data::Batch> PlainBatches::next() {
  data::Batch batch;
  batch.place = place_;
  const auto first = static_cast<std::size_t>(place_.batch * options_.batch);
  const std::size_t count = std::min(order_.size() - first, static_cast<std::size_t>(options_.batch));
  for (std::size_t i = 0; i < count; ++i) {
    const int64_t number = order_[first + i];
    HONE_ASSIGN(const data::Sample sample, dataset_->read(number));
    batch.samples.push_back(number);
    for (std::size_t f = 0; f < sample.size(); ++f) {
      if (i == 0) {
        Shape shape = sample[f].shape();
        shape.insert(shape.begin(), static_cast<int64_t>(count));
        batch.tensors.emplace_back(sample[f].dtype(), std::move(shape));
      }
      const Shape& whole = batch.tensors[f].shape();
      if (!std::equal(sample[f].shape().begin(), sample[f].shape().end(), whole.begin() + 1, whole.end()))
        return invalid(fmt::format("{}: is {}, others of its batch are not", dataset_->name_of(number),
                                   shape_text(sample[f].shape())));
      std::memcpy(static_cast<std::byte*>(batch.tensors[f].data()) + i * sample[f].bytes(),
                  std::as_const(sample[f]).data(), sample[f].bytes());
    }
  }
  if (++place_.batch == batches_per_epoch()) {
    place_ = {place_.epoch + 1, 0};
    begin_epoch();
  }
  return batch;
}

}  // namespace

Result<std::unique_ptr<data::Batches>> make_plain_batches(std::shared_ptr<const data::Dataset> dataset,
                                                          const PlainOptions& options) {
  if (dataset->size() < options.batch && !options.short_last)
    return invalid(fmt::format("{} samples are too few for a batch of {}", dataset->size(), options.batch));
  return std::unique_ptr<data::Batches>(std::make_unique<PlainBatches>(std::move(dataset), options));
}

}  // namespace hone::lab
