#include "lab/training/datasets.h"

#include <algorithm>
#include <cmath>
#include <string>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/spelling.h"
#include "data/byte_text.h"
#include "data/synthetic/cells.h"
#include "data/synthetic/digits.h"

namespace hone::lab {
namespace {

class DatasetPart final : public data::Dataset {
 public:
  DatasetPart(std::shared_ptr<const data::Dataset> whole, int64_t first, int64_t count)
      : whole_(std::move(whole)), first_(first), count_(count) {}
  std::span<const data::Field> fields() const override { return whole_->fields(); }
  int64_t size() const override { return count_; }
  Result<data::Sample> read(int64_t index) const override { return whole_->read(first_ + index); }
  std::string name_of(int64_t index) const override { return whole_->name_of(first_ + index); }

 private:
  std::shared_ptr<const data::Dataset> whole_;
  int64_t first_;
  int64_t count_;
};

// The sizes of a source, each once, with what was not asked for as an error.
class Sizes {
 public:
  explicit Sizes(const model::RecipeData& recipe) : recipe_(recipe) {}

  int64_t take(const std::string& name, int64_t otherwise) {
    known_.push_back(name);
    const auto found = recipe_.sizes.find(name);
    return found == recipe_.sizes.end() ? otherwise : found->second;
  }
  Status check() const {
    for (const auto& [name, value] : recipe_.sizes)
      if (std::find(known_.begin(), known_.end(), name) == known_.end())
        return invalid(fmt::format("[data] sizes: source {} has no size '{}'{}; it has {}", recipe_.source, name,
                                   suggestion(name, known_), fmt::join(known_, ", ")));
    return {};
  }

 private:
  const model::RecipeData& recipe_;
  std::vector<std::string> known_;
};

// The last share of the samples is kept back.
Result<TrainingData> split(std::shared_ptr<const data::Dataset> whole, double share) {
  TrainingData made;
  const int64_t size = whole->size();
  const auto back = static_cast<int64_t>(std::llround(static_cast<double>(size) * share));
  if (share > 0 && (back < 1 || back >= size))
    return invalid(fmt::format("[data] validation = {:g} leaves {} of {} samples to train on; give another share",
                               share, size - back, size));
  made.training = part_of(whole, 0, size - back);
  if (back > 0) made.validation = part_of(whole, size - back, back);
  return made;
}

Result<TrainingData> open_digits(const model::RecipeData& recipe) {
  Sizes sizes(recipe);
  data::DigitsOptions options;
  options.samples = sizes.take("samples", options.samples);
  options.side = sizes.take("side", options.side);
  options.seed = recipe.seed;
  HONE_CHECK(sizes.check());
  HONE_ASSIGN(std::shared_ptr<const data::Dataset> whole, data::make_digits(options));
  return split(std::move(whole), recipe.validation);
}

Result<TrainingData> open_cells(const model::RecipeData& recipe) {
  Sizes sizes(recipe);
  data::MicroscopyOptions options;
  options.images = sizes.take("samples", 256);
  options.channels = sizes.take("channels", 1);
  options.height = sizes.take("height", 128);
  options.width = sizes.take("width", options.height);
  options.seed = recipe.seed;
  HONE_CHECK(sizes.check());
  HONE_ASSIGN(std::shared_ptr<const data::Dataset> whole, data::make_cells(options));
  return split(std::move(whole), recipe.validation);
}

Result<TrainingData> open_text(const model::RecipeData& recipe) {
  Sizes sizes(recipe);
  const int64_t length = sizes.take("length", 128);
  HONE_CHECK(sizes.check());
  TrainingData made;
  made.tokens_per_sample = length;
  const bool apart = !recipe.validation_path.empty();
  const double cut = apart ? 1 : 1 - recipe.validation;
  HONE_ASSIGN(made.training, data::make_byte_text(recipe.path, length, 0, cut));
  if (apart) {
    HONE_ASSIGN(made.validation, data::make_byte_text(recipe.validation_path, length));
  } else if (recipe.validation > 0) {
    auto back = data::make_byte_text(recipe.path, length, cut, 1);
    if (!back.ok()) return back.error().within("[data] validation");
    made.validation = *back;
  }
  return made;
}

}  // namespace

std::shared_ptr<const data::Dataset> part_of(std::shared_ptr<const data::Dataset> whole, int64_t first,
                                             int64_t count) {
  return std::make_shared<DatasetPart>(std::move(whole), first, count);
}

Result<TrainingData> open_data(const model::RecipeData& recipe) {
  if (recipe.source == "digits") return open_digits(recipe);
  if (recipe.source == "cells") return open_cells(recipe);
  return open_text(recipe);
}

}  // namespace hone::lab
