#include "lab/training/datasets.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <string>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include "core/file.h"
#include "core/spelling.h"
#include "data/augment/augment.h"
#include "data/cache/disk_cache.h"
#include "data/cache/memory_cache.h"
#include "data/image/image_sets.h"
#include "data/order.h"
#include "data/synthetic/digits.h"
#include "data/synthetic_cells.h"
#include "data/text/text_set.h"
#include "data/zarr/zarr.h"
#include "lab/training/token_targets.h"

namespace hone::lab {
namespace {

// Samples of another data set that follow each other, in its order or in a shuffled one.
class DatasetPart final : public data::Dataset {
 public:
  DatasetPart(std::shared_ptr<const data::Dataset> whole, std::optional<data::Permutation> order,
              int64_t first, int64_t count)
      : whole_(std::move(whole)), order_(order), first_(first), count_(count) {}
  std::span<const data::Field> fields() const override { return whole_->fields(); }
  int64_t size() const override { return count_; }
  Result<data::Sample> read(int64_t index) const override { return whole_->read(of_whole(index)); }
  std::string name_of(int64_t index) const override { return whole_->name_of(of_whole(index)); }
  Result<data::Sample> read_timed(int64_t index, data::StageTimes& times) const override {
    return whole_->read_timed(of_whole(index), times);
  }
  bool prefetch(int64_t index) const override { return whole_->prefetch(of_whole(index)); }
  uint64_t version_of(int64_t index) const override { return whole_->version_of(of_whole(index)); }

 private:
  int64_t of_whole(int64_t index) const { return order_ ? order_->at(0, first_ + index) : first_ + index; }

  std::shared_ptr<const data::Dataset> whole_;
  std::optional<data::Permutation> order_;
  int64_t first_, count_;
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
        return invalid(fmt::format("[data] sizes: source {} has no size '{}'{}; it has {}", recipe_.source,
                                   name, suggestion(name, known_), fmt::join(known_, ", ")));
    return {};
  }

 private:
  const model::RecipeData& recipe_;
  std::vector<std::string> known_;
};

// A share of the samples is kept back: the last of an order that the seed makes, since files stand in an order that means
// something; of synthetic data the last as they are.
Result<TrainingData> split(std::shared_ptr<const data::Dataset> whole, const model::RecipeData& recipe,
                           bool shuffled) {
  TrainingData made;
  const int64_t size = whole->size();
  const auto back = static_cast<int64_t>(std::llround(static_cast<double>(size) * recipe.validation));
  if (size == 0) return invalid("[data] holds no samples");
  if (recipe.validation > 0 && back < 1)
    return invalid(
        fmt::format("[data] validation = {:g} of {} samples keeps none back; give at least {:.2g}, or 0 for "
                    "no evaluation",
                    recipe.validation, size, 1.0 / static_cast<double>(size)));
  if (back >= size)
    return invalid(
        fmt::format("[data] validation = {:g} keeps back all {} samples and leaves none to train on; give a "
                    "smaller share",
                    recipe.validation, size));
  std::optional<data::Permutation> order;
  if (shuffled) order.emplace(recipe.seed, size);
  made.training = std::make_shared<DatasetPart>(whole, order, 0, size - back);
  if (back > 0) made.validation = std::make_shared<DatasetPart>(whole, order, size - back, back);
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
  return split(std::move(whole), recipe, false);
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
  HONE_ASSIGN(std::shared_ptr<const data::Dataset> whole, data::synthetic_cells(options));
  return split(std::move(whole), recipe, false);
}

// Windows of tokens follow each other: the last of them are kept back, or another file is.
Result<TrainingData> split_windows(std::shared_ptr<const data::Dataset> windows,
                                   std::shared_ptr<const data::Dataset> apart,
                                   const model::RecipeData& recipe) {
  if (apart == nullptr) return split(std::move(windows), recipe, false);
  TrainingData made;
  made.training = std::move(windows);
  made.validation = std::move(apart);
  return made;
}

Result<TrainingData> open_tokens(const model::RecipeData& recipe) {
  Sizes sizes(recipe);
  const int64_t length = sizes.take("length", 128);
  HONE_CHECK(sizes.check());
  HONE_ASSIGN(const data::TokenOptions options, token_windows(recipe, length));
  const bool is_text = recipe.source == "text";
  std::shared_ptr<const data::Tokenizer> tokenizer = is_text ? data::byte_tokenizer() : nullptr;
  if (!recipe.tokenizer.empty()) {
    HONE_ASSIGN(tokenizer, data::read_tokenizer(recipe.tokenizer));
  }
  HONE_ASSIGN(const TokenTargets targets, token_targets(recipe, tokenizer.get()));
  const DType dtype = recipe.token_type == "u32" ? DType::kU32 : DType::kU16;
  const auto open = [&](const std::filesystem::path& file) -> Result<std::shared_ptr<const data::Dataset>> {
    if (!is_text) return data::open_token_files({file}, dtype, options);
    return data::open_text({file}, *tokenizer, options);
  };
  HONE_ASSIGN(std::shared_ptr<const data::Dataset> windows, open(recipe.path));
  std::shared_ptr<const data::Dataset> apart;
  if (!recipe.validation_path.empty()) {
    HONE_ASSIGN(apart, open(recipe.validation_path));
  }
  HONE_ASSIGN(TrainingData made, split_windows(std::move(windows), std::move(apart), recipe));
  made.tokens_per_sample = length;
  made.augmentation = made.preparation = targets.transform;
  made.mask_token = targets.mask;
  return made;
}

Result<TrainingData> open_zarr_of(const model::RecipeData& recipe,
                                  std::shared_ptr<data::CacheBudget> budget) {
  data::ZarrOptions options;
  options.image = recipe.path;
  options.mask = recipe.masks;
  options.label = recipe.labels;
  options.axes = recipe.axes;
  options.mask_axes = recipe.mask_axes;
  for (std::size_t i = 0; i < recipe.patch.size(); ++i) options.patch.at(i) = recipe.patch[i];
  options.cache = std::move(budget);
  HONE_ASSIGN(const std::shared_ptr<const data::ZarrDataset> whole, data::open_zarr(options));
  HONE_ASSIGN(TrainingData made, split(whole, recipe, true));
  made.chunks = whole->chunks();
  return made;
}

Result<TrainingData> open_pairs_of(const model::RecipeData& recipe) {
  data::PairOptions options;
  options.images = recipe.path;
  options.masks = recipe.masks.empty() ? recipe.path : recipe.masks;
  options.image_suffix = recipe.image_suffix;
  options.mask_suffix = recipe.mask_suffix;
  options.pages = recipe.pages == "each"    ? data::Pages::kEach
                  : recipe.pages == "stack" ? data::Pages::kStack
                                            : data::Pages::kFirst;
  options.mask_values = recipe.binary_masks ? data::MaskValues::kBinary : data::MaskValues::kClasses;
  HONE_ASSIGN(std::shared_ptr<const data::Dataset> whole, data::open_pairs(options));
  return split(std::move(whole), recipe, true);
}

Result<TrainingData> split_classes(data::ClassFolders found, const model::RecipeData& recipe) {
  HONE_ASSIGN(TrainingData made, split(found.dataset, recipe, true));
  made.classes = std::move(found.classes);
  made.labelled = std::move(found.dataset);
  made.labels = std::move(found.labels);
  return made;
}

Result<TrainingData> open_folders(const model::RecipeData& recipe) {
  HONE_ASSIGN(data::ClassFolders found, data::open_class_folders(recipe.path));
  return split_classes(std::move(found), recipe);
}

Result<TrainingData> open_table(const model::RecipeData& recipe) {
  data::TableOptions options;
  options.table = recipe.path;
  options.folder = recipe.images.empty() ? recipe.path.parent_path() : recipe.images;
  options.file_column = recipe.file_column;
  options.label_column = recipe.label_column;
  HONE_ASSIGN(data::ClassFolders found, data::open_labelled_images(options));
  return split_classes(std::move(found), recipe);
}

Result<TrainingData> open_source(const model::RecipeData& recipe, std::shared_ptr<data::CacheBudget> budget) {
  if (recipe.source == "digits") return open_digits(recipe);
  if (recipe.source == "cells") return open_cells(recipe);
  if (recipe.source == "pairs") return open_pairs_of(recipe);
  if (recipe.source == "folders") return open_folders(recipe);
  if (recipe.source == "table") return open_table(recipe);
  if (recipe.source == "zarr") return open_zarr_of(recipe, std::move(budget));
  return open_tokens(recipe);
}

std::array<int64_t, 2> sides_of(const std::vector<int64_t>& sides) {
  return sides.size() == 2 ? std::array<int64_t, 2>{sides[0], sides[1]} : std::array<int64_t, 2>{0, 0};
}

// What is not random: the size and the range of values.
data::AugmentOptions preparation_of(const model::RecipeAugment& recipe) {
  data::AugmentOptions options;
  options.crop = sides_of(recipe.crop);
  options.random_crop = false;
  options.pad = recipe.pad;
  options.resize = sides_of(recipe.resize);
  options.normalise = recipe.percentiles ? data::Normalise::kPercentile : data::Normalise::kRange;
  options.mean = recipe.mean;
  options.deviation = recipe.deviation;
  return options;
}

data::AugmentOptions augmentation_of(const model::RecipeAugment& recipe) {
  data::AugmentOptions options = preparation_of(recipe);
  options.random_crop = true;
  options.flip_horizontal = recipe.flip_horizontal;
  options.flip_vertical = recipe.flip_vertical;
  options.quarter_turns = recipe.quarter_turns;
  options.rotate = recipe.rotate;
  options.scale = recipe.scale;
  options.elastic = recipe.elastic;
  options.brightness = recipe.brightness;
  options.contrast = recipe.contrast;
  options.gamma = recipe.gamma;
  options.noise = recipe.noise;
  return options;
}

Result<std::unique_ptr<data::Loader>> make_loader(std::shared_ptr<const data::Dataset> dataset,
                                                  std::shared_ptr<const data::Transform> transform,
                                                  const model::RecipeData& recipe,
                                                  const data::OrderOptions& order,
                                                  uint32_t first_region = data::kNoRegions) {
  data::LoaderOptions options;
  options.order = order;
  options.first_region = first_region;
  options.workers = static_cast<int>(recipe.workers);
  options.on_damage = recipe.skip_damaged ? data::OnDamage::kSkip : data::OnDamage::kFail;
  return data::Loader::make(std::move(dataset), std::move(transform), options);
}

// Which sample is which number is another matter for each part.
Status keep_on_disk(const model::RecipeData& recipe, TrainingData& opened) {
  if (recipe.cache.empty()) return {};
  for (const auto& [part, folder] :
       {std::pair{&opened.training, "training"}, {&opened.validation, "validation"}}) {
    if (*part == nullptr) continue;
    HONE_ASSIGN(const auto kept, data::cache_on_disk(*part, recipe.cache / folder));
    *part = kept;
    opened.on_disk.push_back(kept);
  }
  return {};
}

}  // namespace

Result<TrainingData> open_data(const model::RecipeData& recipe) {
  std::shared_ptr<data::CacheBudget> budget;
  if (recipe.cache_mb > 0) budget = std::make_shared<data::CacheBudget>(recipe.cache_mb * 1'000'000);
  HONE_ASSIGN(TrainingData opened, open_source(recipe, budget));
  HONE_CHECK(keep_on_disk(recipe, opened));
  // Tokens are in memory already, or mapped; samples of chunks that are kept would be there twice, but from a disk they
  // come without their chunks.
  const bool keeps_samples = opened.tokens_per_sample == 0 && (!opened.chunks || !recipe.cache.empty());
  if (budget && keeps_samples) {
    opened.training = data::cache_in_memory(std::move(opened.training), budget);
    if (opened.validation) opened.validation = data::cache_in_memory(std::move(opened.validation), budget);
  }
  // Images are numbers of their file's type until they are prepared.
  const bool reads_images = recipe.source == "pairs" || recipe.source == "folders" ||
                            recipe.source == "table" || recipe.source == "zarr";
  if (!recipe.augment && !reads_images) return opened;
  const model::RecipeAugment augment = recipe.augment.value_or(model::RecipeAugment{});
  auto augmentation = data::make_augmentation(augmentation_of(augment));
  if (!augmentation.ok()) return augmentation.error().within("[data.augment]");
  opened.augmentation = *std::move(augmentation);
  HONE_ASSIGN(opened.preparation, data::make_augmentation(preparation_of(augment)));
  return opened;
}

Error label_out_of_range(const std::string& sample, int64_t label, int64_t classes) {
  return invalid(fmt::format("{}: its label is {}, but the model has {} classes, 0 to {}", sample, label,
                             classes, classes - 1));
}

Status check_known_labels(const TrainingData& data, int64_t classes, std::optional<int64_t> ignore) {
  if (data.labels.dtype() != DType::kI64) return {};
  for (int64_t i = 0; i < data.labels.size(); ++i) {
    const int64_t label = data.labels.int_at(i);
    if ((label < 0 || label >= classes) && label != ignore)
      return label_out_of_range(data.labelled->name_of(i), label, classes);
  }
  return {};
}

std::string classes_text(const std::vector<std::string>& classes) {
  constexpr std::size_t kMostShown = 12;
  std::string text;
  for (std::size_t i = 0; i < classes.size(); ++i) {
    if (classes.size() > kMostShown && i == kMostShown - 2) {  // and then the last
      text += ", …";
      i = classes.size() - 1;
    }
    text += fmt::format("{}{} = {}", i == 0 ? "" : ", ", i, classes[i]);
  }
  return fmt::format("{} classes: {}", classes.size(), text);
}

Status write_classes(const std::filesystem::path& run, const std::vector<std::string>& classes) {
  const nlohmann::ordered_json json = {{"schema", 1}, {"classes", classes}};
  return write_file(run / kClassesFile,
                    json.dump(2, ' ', false, nlohmann::json::error_handler_t::replace) + "\n");
}

Result<std::unique_ptr<data::Loader>> training_batches(const TrainingData& data,
                                                       const model::Recipe& recipe) {
  data::OrderOptions order;
  order.batch_size = recipe.train.batch;
  order.seed = recipe.train.seed;
  return make_loader(data.training, data.augmentation, recipe.data, order, 0);
}

Result<std::unique_ptr<data::Loader>> validation_batches(const TrainingData& data,
                                                         const model::Recipe& recipe, int64_t batch) {
  data::OrderOptions order;
  order.batch_size = batch;
  order.shuffle = false;
  return make_loader(data.validation, data.preparation, recipe.data, order);
}

}  // namespace hone::lab
