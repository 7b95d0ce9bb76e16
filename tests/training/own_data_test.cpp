// Data of a user's own on their way through the trainer: damage, labels that do not fit, names of classes.
#include <algorithm>

#include "tests/cli/run_program.h"
#include "tests/training/tiny_recipe.h"
#include <gmock/gmock.h>
#include <nlohmann/json.hpp>

#include "core/file.h"
#include "core/npy/npy.h"
#include "core/philox.h"
#include "lab/training/datasets.h"
#include "lab/training/trainer.h"

namespace hone::training {
namespace {

using ::testing::HasSubstr;
using testing_support::TemporaryFolder;
namespace fs = std::filesystem;

Tensor random_image(uint64_t number, int64_t side) {
  Tensor image(DType::kF32, {1, side, side});
  const Philox random(number);
  for (std::size_t i = 0; i < image.as<float>().size(); ++i)
    image.as<float>()[i] = static_cast<float>(random.uniform(i));
  return image;
}

struct Told {
  Result<lab::TrainingResult> result = invalid("");
  std::vector<std::string> notes;
};

Told train_on_files(const model::Recipe& recipe, const fs::path& out) {
  Told told;
  lab::TrainerOptions options;
  options.out = out;
  options.threads = 1;
  options.on_note = [&](const std::string& note) { told.notes.push_back(note); };
  told.result = lab::train(recipe, options);
  return told;
}

// A table of `labels`, each of an image of its own, and a recipe that trains a classifier of 3 classes on it. All images
// but the last half are `first`, those are `rest`: any batch has some of both.
model::Recipe recipe_of_table(const TemporaryFolder& folder, const std::vector<int>& labels,
                              const Shape& first, const Shape& rest) {
  std::string table = "file,label\n";
  for (std::size_t i = 0; i < labels.size(); ++i) {
    const std::string name = "image" + std::to_string(i) + ".npy";
    Tensor image = Tensor::zeros(DType::kF32, i < labels.size() / 2 ? first : rest);
    EXPECT_TRUE(write_npy(folder / name, image).ok());
    table += name + "," + std::to_string(labels[i]) + "\n";
  }
  EXPECT_TRUE(write_file(folder / "labels.csv", table).ok());
  return *model::parse_recipe(R"([model]
zoo = "digits_cnn"
sizes = { size = 12, base = 4, classes = 3 }
[data]
source = "table"
path = ")" + (folder / "labels.csv").string() +
                                  R"("
validation = 0
[loss]
kind = "cross-entropy"
[train]
steps = 9
batch = 6
)",
                              "table.toml");
}

// 12 classes of 6 images, each folder's first `damaged` unreadable.
model::Recipe recipe_of_folders(const TemporaryFolder& folder, int damaged) {
  for (uint64_t c = 0; c < 12; ++c) {
    fs::create_directories(folder / "images" / std::to_string(c));
    for (uint64_t i = 0; i < 6; ++i) {
      const fs::path file = folder / "images" / std::to_string(c) / (std::to_string(i) + ".npy");
      if (static_cast<int>(i) < damaged)
        EXPECT_TRUE(write_file(file, "damaged").ok());
      else
        EXPECT_TRUE(write_npy(file, random_image(c * 10 + i, 12)).ok());
    }
  }
  return *model::parse_recipe(R"([model]
zoo = "digits_cnn"
sizes = { size = 12, base = 4, classes = 12 }
[data]
source = "folders"
path = ")" + (folder / "images").string() +
                                  R"("
validation = 0.5
skip_damaged = true
[loss]
kind = "cross-entropy"
[metric]
kind = "accuracy"
[train]
steps = 9
batch = 4
)",
                              "folders.toml");
}

TEST(OwnData, NamesOfClassesAreToldAndKept) {
  const TemporaryFolder folder;
  const Told told = train_on_files(recipe_of_folders(folder, 0), folder / "run");
  ASSERT_TRUE(told.result.ok()) << told.result.error().message;
  EXPECT_THAT(told.notes, ::testing::Contains(HasSubstr("12 classes: 0 = 0, 1 = 1, 2 = 2")));
  const auto json = nlohmann::json::parse(*read_file(folder / "run" / "classes.json"));
  EXPECT_EQ(json["classes"][2], "2");
  EXPECT_EQ(json["classes"][10], "10");
  EXPECT_EQ(told.result->evaluation->samples, 36);
}

TEST(OwnData, DamageIsNamedOfBothPartsAndJudgedByNoStandIn) {
  const TemporaryFolder folder;
  const model::Recipe recipe = recipe_of_folders(folder, 2);
  const Told told = train_on_files(recipe, folder / "run");
  ASSERT_TRUE(told.result.ok()) << told.result.error().message;
  EXPECT_EQ(std::count_if(told.notes.begin(), told.notes.end(),
                          [](const std::string& note) { return note.starts_with("left out: "); }),
            24);
  const auto data = lab::open_data(recipe.data);
  ASSERT_TRUE(data.ok());
  int64_t whole = 0;
  for (int64_t i = 0; i < data->validation->size(); ++i) whole += data->validation->read(i).ok() ? 1 : 0;
  ASSERT_LT(whole, 36);
  EXPECT_EQ(told.result->evaluation->samples, whole);
}

// Ten samples, of which half are odd, in batches of six; one odd label among ten, known from the table alone. The first sample
// of the order that the seed makes, of the second half, decides what the model takes.
TEST(OwnData, WhatDoesNotFitLeavesNoRunBehind) {
  const Shape image = {1, 12, 12};
  const struct {
    std::vector<int> labels;
    Shape first, rest;
    const char* said;
  } kCases[] = {
      {{0, 1, 2, 0, 1, 2, 0, 1, 2, 3}, image, image, "its label is 3, but the model has 3 classes, 0 to 2"},
      {{0, 1, -1, 0, 1, 2, 0, 1, 2, 2}, image, image, "its label is -1, but the model has 3 classes, 0 to 2"},
      {{0, 1, 2, 0, 1, 2, 0, 1, 2, 0}, {1, 12, 14}, image, "images of mixed size"},
      {{0, 1, 2, 0, 1, 2, 0, 1, 2, 0}, image, {3, 12, 12}, "images of one data set have one depth"},
  };
  for (const auto& [labels, first, rest, said] : kCases) {
    const TemporaryFolder folder;
    const Told told = train_on_files(recipe_of_table(folder, labels, first, rest), folder / "run");
    ASSERT_FALSE(told.result.ok()) << said;
    EXPECT_THAT(told.result.error().message, HasSubstr(said));
    EXPECT_THAT(told.result.error().message, HasSubstr(".npy"));
    EXPECT_FALSE(fs::exists(folder / "run")) << said;
  }
  const TemporaryFolder folder;
  const Told fits =
      train_on_files(recipe_of_table(folder, {0, 1, 2, 0, 1, 2, 0, 1, 2, 0}, image, image), folder / "run");
  EXPECT_TRUE(fits.result.ok()) << fits.result.error().message;
}

TEST(OwnData, MasksOfBlackAndWhiteAreNoSharesUnlessBinary) {
  const TemporaryFolder folder;
  for (uint64_t i = 0; i < 8; ++i) {
    Tensor mask = Tensor::zeros(DType::kU8, {1, 16, 16});
    for (std::size_t p = 0; p < 40; ++p) mask.as<uint8_t>()[p * 3 + i] = 255;
    ASSERT_TRUE(write_npy(folder / ("cell" + std::to_string(i) + ".npy"), random_image(i, 16)).ok());
    ASSERT_TRUE(write_npy(folder / ("cell" + std::to_string(i) + "_mask.npy"), mask).ok());
  }
  const auto error = [&](const std::vector<std::string>& overrides) {
    const auto recipe = model::parse_recipe(R"([model]
zoo = "unet"
sizes = { size = 16, channels = 1, base = 2, levels = 1, classes = 1 }
[data]
source = "pairs"
path = ")" + folder.path().string() + R"("
mask_suffix = "_mask"
validation = 0.25
[loss]
kind = "bce"
[train]
steps = 2
batch = 2
)",
                                            "pairs.toml", overrides);
    if (!recipe.ok()) return recipe.error().message;
    fs::remove_all(folder / "run");
    const Told told = train_on_files(*recipe, folder / "run");
    return told.result.ok() ? "no error" : told.result.error().message;
  };
  for (const char* loss : {"loss.kind=bce", "loss.kind=dice", "loss.kind=[\"mse\", \"dice\"]"})
    EXPECT_THAT(error({loss}),
                ::testing::MatchesRegex(".*cell[0-7].npy: its mask holds 255, .*binary_masks = true.*"));
  EXPECT_THAT(error({"loss.kind=mse", "metric.kind=iou"}), HasSubstr("its mask holds 255"));
  EXPECT_EQ(error({"loss.kind=mse"}), "no error");
  EXPECT_EQ(error({"data.binary_masks=true"}), "no error");
}

}  // namespace
}  // namespace hone::training
