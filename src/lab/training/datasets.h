// The data that a recipe names: what is trained on, and what is judged by.
#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/result.h"
#include "data/cache/disk_cache.h"
#include "data/dataset.h"
#include "data/loader.h"
#include "data/transform.h"
#include "data/zarr/chunk_cache.h"
#include "model/recipe/recipe.h"

namespace hone::lab {

struct TrainingData {
  std::shared_ptr<const data::Dataset> training;
  std::shared_ptr<const data::Dataset> validation;  // null: the recipe keeps nothing back
  // From samples to what batches hold; null: nothing is done. The second draws no random numbers but for hiding tokens.
  std::shared_ptr<const data::Transform> augmentation, preparation;
  std::vector<std::shared_ptr<const data::DiskCache>> on_disk;  // that are behind them
  std::shared_ptr<const data::ChunkCache>
      chunks;                        // of Zarr arrays whose samples share chunks; null: none is kept
  std::vector<std::string> classes;  // the names of classes by their number, where the data give them names
  // Where the numbers of classes are known before a sample is read: of every sample of the whole, training and validation.
  std::shared_ptr<const data::Dataset> labelled;
  Tensor labels;
  int64_t mask_token = -1;        // that stands for hidden ones; -1: none are hidden
  int64_t tokens_per_sample = 0;  // of text: what speed is counted in; 0: samples
};

Result<TrainingData> open_data(const model::RecipeData& recipe);

// An error where a label that is known before samples are read is none of `classes`, nor `ignore`.
Status check_known_labels(const TrainingData& data, int64_t classes, std::optional<int64_t> ignore);
Error label_out_of_range(const std::string& sample, int64_t label, int64_t classes);

// What the numbers of classes mean, as a line for people; the file of a run folder (kClassesFile) has them all.
std::string classes_text(const std::vector<std::string>& classes);
Status write_classes(const std::filesystem::path& run, const std::vector<std::string>& classes);
inline constexpr const char* kClassesFile = "classes.json";

// Batches of the data: in a shuffled order, augmented, without the samples that fill no batch; or in order, prepared.
// The first make the marks of data/stages.h, from region 0 on.
Result<std::unique_ptr<data::Loader>> training_batches(const TrainingData& data, const model::Recipe& recipe);
Result<std::unique_ptr<data::Loader>> validation_batches(const TrainingData& data,
                                                         const model::Recipe& recipe, int64_t batch);

}  // namespace hone::lab
