#include "lab/training/datasets.h"

#include <set>

#include <gmock/gmock.h>

#include "core/file.h"
#include "core/testing/scratch_path.h"
#include "core/testing/source_folder.h"
#include "data/cache/memory_cache.h"
#include "lab/training/environment.h"

namespace hone::lab {
namespace {

using ::testing::HasSubstr;
namespace fs = std::filesystem;

model::RecipeData digits(int64_t samples, double validation) {
  model::RecipeData recipe;
  recipe.source = "digits";
  recipe.sizes["samples"] = samples;
  recipe.validation = validation;
  return recipe;
}

TEST(TrainingData, KeepsBackAShareAndNoSampleTwice) {
  const auto data = open_data(digits(50, 0.2));
  ASSERT_TRUE(data.ok()) << data.error().message;
  std::set<std::string> names;
  for (const auto& part : {data->training, data->validation})
    for (int64_t i = 0; i < part->size(); ++i) names.insert(part->name_of(i));
  EXPECT_EQ(data->training->size(), 40);
  EXPECT_EQ(data->validation->size(), 10);
  EXPECT_EQ(names.size(), 50u);
}

TEST(TrainingData, SaysWhichShareWouldDo) {
  EXPECT_THAT(open_data(digits(60, 0.001)).error().message,
              HasSubstr("validation = 0.001 of 60 samples keeps none back; give at least 0.017"));
  EXPECT_THAT(open_data(digits(60, 0.999)).error().message, HasSubstr("keeps back all 60 samples"));
  EXPECT_EQ(open_data(digits(60, 0))->validation, nullptr);
}

// Only a list of them would take memory.
TEST(TrainingData, TakesNoMemoryForTheNumberOfSamples) {
  const auto data = open_data(digits(int64_t{1} << 62, 0.5));
  ASSERT_TRUE(data.ok()) << data.error().message;
  EXPECT_EQ(data->validation->size(), int64_t{1} << 61);
  EXPECT_NE(data->validation->name_of(0), data->training->name_of(0));
  model::Recipe recipe;
  EXPECT_THAT(training_batches(*data, recipe).error().message, HasSubstr("samples are too many to count"));
}

TEST(TrainingData, AFingerprintWalksThroughNoEndlessData) {
  const auto data = open_data(digits(int64_t{1} << 47, 0.5));
  ASSERT_TRUE(data.ok()) << data.error().message;
  EXPECT_NE(fingerprint_of(*data), fingerprint_of(*open_data(digits(int64_t{1} << 46, 0.5))));
}

TEST(TrainingData, ImagesOfZarrAreWhatModelsTake) {
  model::RecipeData recipe;
  recipe.source = "zarr";
  recipe.path = source_folder() / "src/data/testing/files/zarr/v2_raw";  // u16
  recipe.validation = 0;
  const auto data = open_data(recipe);
  ASSERT_TRUE(data.ok()) << data.error().message;
  model::Recipe whole;
  whole.train.batch = 1;
  const auto batches = training_batches(*data, whole);
  ASSERT_TRUE(batches.ok()) << batches.error().message;
  EXPECT_EQ((*batches)->fields()[0].dtype, DType::kF32);
  const auto batch = (*batches)->next();
  ASSERT_TRUE(batch.ok()) << batch.error().message;
  EXPECT_EQ(batch->tensors[0].shape(), (Shape{1, 1, 5, 7}));
  EXPECT_FLOAT_EQ(static_cast<float>(batch->tensors[0].at(34)), 406.0f / 65535);
}

TEST(TrainingData, KeepsChunksThatSamplesShareInsteadOfSamples) {
  model::RecipeData recipe;
  recipe.source = "zarr";
  recipe.path = source_folder() / "src/data/testing/files/zarr/v3_sharded";
  recipe.axes = "nyx";
  recipe.validation = 0.25;
  recipe.patch = {0, 1, 2};  // of chunks of 2 x 3
  const auto is_cached = [](const TrainingData& data) {
    return std::dynamic_pointer_cast<const data::CachedDataset>(data.training) != nullptr;
  };
  const auto data = open_data(recipe);
  ASSERT_TRUE(data.ok()) << data.error().message;
  for (const auto& part : {data->training, data->validation})
    for (int64_t i = 0; i < part->size(); ++i) ASSERT_TRUE(part->read(i).ok());
  EXPECT_EQ(data->chunks->counts().loaded, 4 * 3 * 2);
  EXPECT_FALSE(is_cached(*data));
  recipe.patch = {0, 5, 6};
  EXPECT_EQ(open_data(recipe)->chunks, nullptr);
  EXPECT_TRUE(is_cached(*open_data(recipe)));
  recipe.cache_mb = 0;
  recipe.patch = {0, 1, 2};
  EXPECT_EQ(open_data(recipe)->chunks, nullptr);
  EXPECT_FALSE(is_cached(*open_data(recipe)));
}

TEST(TrainingData, KeepsDecodedSamplesInAFolderToo) {
  model::RecipeData recipe = digits(20, 0.25);
  recipe.cache = scratch_path("hone-data-cache-test");
  fs::remove_all(recipe.cache);
  const auto data = open_data(recipe);
  ASSERT_TRUE(data.ok()) << data.error().message;
  ASSERT_EQ(data->on_disk.size(), 2u);
  for (const auto& part : {data->training, data->validation})
    for (int64_t i = 0; i < part->size(); ++i) ASSERT_TRUE(part->read(i).ok());
  EXPECT_EQ(data->on_disk[0]->counts().misses, 15);
  EXPECT_EQ(data->on_disk[1]->counts().misses, 5);
  recipe.cache_mb = 0;
  const auto again = open_data(recipe);
  for (const auto& part : {again->training, again->validation})
    for (int64_t i = 0; i < part->size(); ++i)
      EXPECT_TRUE(same_tensor((*part->read(i))[0],
                              (*(part == again->training ? data->training : data->validation)->read(i))[0]));
  EXPECT_EQ(again->on_disk[0]->counts().hits, 15);
  EXPECT_EQ(again->on_disk[1]->counts().hits, 5);
  fs::remove_all(recipe.cache);
}

TEST(TrainingData, ClassesAreToldInALineAndAFile) {
  EXPECT_EQ(classes_text({"cat", "dog"}), "2 classes: 0 = cat, 1 = dog");
  std::vector<std::string> many;
  for (int i = 0; i < 1000; ++i) many.push_back("c" + std::to_string(i));
  EXPECT_THAT(classes_text(many), ::testing::EndsWith("8 = c8, 9 = c9, …, 999 = c999"));
  const fs::path folder = scratch_path("hone-classes-test");
  ASSERT_TRUE(make_folder(folder).ok());
  ASSERT_TRUE(write_classes(folder, {"b\"", "\xff"}).ok());
  EXPECT_THAT(*read_file(folder / kClassesFile), HasSubstr("\"b\\\"\""));
  fs::remove_all(folder);
}

}  // namespace
}  // namespace hone::lab
