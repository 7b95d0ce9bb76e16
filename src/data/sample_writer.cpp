#include "data/sample_writer.h"

#include <algorithm>
#include <cstring>
#include <new>
#include <utility>

#include <fmt/core.h>

#include "core/hash.h"
#include "core/philox.h"

namespace hone::data {
namespace {

constexpr int kMostReplacements =
    64;  // tried for one sample: a data set of damaged files is not worth training on

bool any_varies(const std::vector<Field>& fields) {
  return std::any_of(fields.begin(), fields.end(), [](const Field& field) {
    return std::count(field.shape.begin(), field.shape.end(), kVaries);
  });
}

std::vector<Field> with_shapes_of(const Sample& sample, std::span<const Field> fields) {
  std::vector<Field> result(fields.begin(), fields.end());
  for (std::size_t i = 0; i < result.size(); ++i) result[i].shape = sample[i].shape();
  return result;
}

}  // namespace

SampleWriter::SampleWriter(std::shared_ptr<const Dataset> dataset, std::shared_ptr<const Transform> transform,
                           uint64_t seed, OnDamage on_damage)
    : dataset_(std::move(dataset)), transform_(std::move(transform)), seed_(seed), on_damage_(on_damage) {}

Result<std::unique_ptr<SampleWriter>> SampleWriter::make(std::shared_ptr<const Dataset> dataset,
                                                         std::shared_ptr<const Transform> transform,
                                                         uint64_t seed, OnDamage on_damage) {
  if (dataset->size() < 1) return invalid("the data set is empty: there is nothing to make batches of");
  std::unique_ptr<SampleWriter> writer(
      new SampleWriter(std::move(dataset), std::move(transform), seed, on_damage));
  HONE_CHECK(writer->decide_fields());
  return writer;
}

Status SampleWriter::decide_fields() {
  const std::span<const Field> given = dataset_->fields();
  fields_ = {given.begin(), given.end()};
  if (transform_) {
    HONE_ASSIGN(fields_, transform_->fields(given));
  }
  if (any_varies(fields_)) {
    StageTimes ignored;
    HONE_ASSIGN(const Readable first, read(0, ignored));
    fields_ = with_shapes_of(first.tensors, given);
    if (transform_) {
      HONE_ASSIGN(fields_, transform_->fields(fields_));
    }
    shaped_by_ = dataset_->name_of(first.sample);
  }
  for (const Field& field : fields_) {
    if (dtype_size(field.dtype) == 0)
      return unsupported(
          fmt::format("field '{}' is of {}, which no batch can hold", field.name, dtype_name(field.dtype)));
    const auto count = checked_element_count(field.shape);
    if (!count.ok()) return count.error().within(fmt::format("field '{}'", field.name));
  }
  return {};
}

Result<SampleWriter::Readable> SampleWriter::read(int64_t sample, StageTimes& times) {
  {
    const std::lock_guard lock(mutex_);
    const auto known = damages_.find(sample);
    if (known != damages_.end()) sample = known->second.replaced_by;
  }
  Result<Sample> tensors = dataset_->read_timed(sample, times);
  if (tensors.ok()) return Readable{sample, *std::move(tensors)};
  if (on_damage_ == OnDamage::kFail || !is_damage(tensors.error())) return tensors.error();
  return read_replacement(sample, tensors.error(), times);
}

Result<SampleWriter::Readable> SampleWriter::read_replacement(int64_t sample, const Error& why,
                                                              StageTimes& times) {
  const Philox random(seed_ ^ fnv1a("replacement"), static_cast<uint64_t>(sample));
  const auto size = static_cast<double>(dataset_->size());
  for (int i = 0; i < kMostReplacements; ++i) {
    const auto other = static_cast<int64_t>(random.uniform(static_cast<uint64_t>(i)) * size);
    if (other == sample) continue;
    Result<Sample> tensors = dataset_->read_timed(other, times);
    if (tensors.ok()) {
      const std::lock_guard lock(mutex_);
      damages_.emplace(sample, Damage{sample, other, why.message});
      return Readable{other, *std::move(tensors)};
    }
    if (!is_damage(tensors.error())) return tensors.error();
  }
  return Error{why.code,
               fmt::format("{}; and no other sample could be read in its place after {} tries: too much "
                           "of the data set is damaged",
                           why.message, kMostReplacements)};
}

Status SampleWriter::check_shapes(const Sample& sample) const {
  for (std::size_t i = 0; i < fields_.size(); ++i) {
    if (sample[i].dtype() == fields_[i].dtype && sample[i].shape() == fields_[i].shape) continue;
    return invalid(
        fmt::format("its '{}' is {}{}, but that of {} is {}{}: samples of one batch have one shape; crop or "
                    "scale them to one size in the augmentation, or leave the odd ones out",
                    fields_[i].name, dtype_name(sample[i].dtype()), shape_text(sample[i].shape()),
                    shaped_by_.empty() ? "the data set" : "'" + shaped_by_ + "'",
                    dtype_name(fields_[i].dtype), shape_text(fields_[i].shape)));
  }
  return {};
}

Result<int64_t> SampleWriter::write(int64_t epoch, int64_t sample, const std::vector<std::byte*>& out,
                                    StageTimes& times) try {
  HONE_ASSIGN(const Readable source, read(sample, times));
  Status written;
  if (transform_) {
    const StageTimer timer(times, Stage::kAugment);
    std::vector<TensorView> views;
    for (std::size_t i = 0; i < fields_.size(); ++i)
      views.push_back({fields_[i].dtype, fields_[i].shape, out[i]});
    written = transform_->apply(source.tensors, dataset_->fields(), SampleRandom(seed_, epoch, source.sample),
                                views);
  } else {
    const StageTimer timer(times, Stage::kAssemble);
    written = check_shapes(source.tensors);
    for (std::size_t i = 0; written.ok() && i < fields_.size(); ++i)
      if (source.tensors[i].bytes() != 0)
        std::memcpy(out[i], source.tensors[i].data(), source.tensors[i].bytes());
  }
  if (!written.ok()) return written.error().within(dataset_->name_of(source.sample));
  return source.sample;
} catch (const std::bad_alloc& error) {  // the budget for tensors included, whose text says what to do
  return invalid(fmt::format("{}: {}", dataset_->name_of(sample), error.what()));
}

std::vector<Damage> SampleWriter::damages() const {
  const std::lock_guard lock(mutex_);
  std::vector<Damage> result;
  for (const auto& [sample, damage] : damages_) result.push_back(damage);
  return result;
}

}  // namespace hone::data
