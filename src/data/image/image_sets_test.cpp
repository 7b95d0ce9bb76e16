#include "data/image/image_sets.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/file.h"
#include "core/npy/npy.h"
#include "data/augment/augment.h"
#include "data/loader.h"
#include "data/testing/scratch_folder.h"
#include "data/testing/write_images.h"

namespace hone::data {
namespace {

namespace fs = std::filesystem;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::patterned_image;
using testing::ScratchFolder;

Tensor labels(int64_t height, int64_t width, int64_t classes, int64_t number = 0) {
  Tensor mask = patterned_image(DType::kU8, 1, height, width, number);
  for (uint8_t& value : mask.as<uint8_t>()) value = static_cast<uint8_t>(value % classes);
  return mask;
}

// images/cell0.tif … and masks/cell0.png …
void write_pairs(const ScratchFolder& folder, int64_t count, int64_t classes = 3) {
  fs::create_directories(folder / "images");
  fs::create_directories(folder / "masks");
  for (int64_t i = 0; i < count; ++i) {
    const std::string name = "cell" + std::to_string(i);
    testing::write_tiff(folder / "images" / (name + ".tif"), {patterned_image(DType::kU16, 1, 20, 24, i)});
    testing::write_png(folder / "masks" / (name + ".png"), labels(20, 24, classes, i));
  }
}

TEST(ImageSets, PairsAreMatchedByStem) {
  const ScratchFolder folder("pairs");
  write_pairs(folder, 3);
  const auto set = open_pairs({.images = folder / "images", .masks = folder / "masks", .classes = 3});
  ASSERT_TRUE(set.ok()) << set.error().message;
  EXPECT_EQ((*set)->size(), 3);
  EXPECT_EQ((*set)->fields()[0].dtype, DType::kU16);
  EXPECT_EQ((*set)->fields()[0].shape, (Shape{1, kVaries, kVaries}));
  const auto sample = (*set)->read(2);
  ASSERT_TRUE(sample.ok()) << sample.error().message;
  EXPECT_TRUE(same_tensor((*sample)[0], patterned_image(DType::kU16, 1, 20, 24, 2)));
  EXPECT_TRUE(same_tensor((*sample)[1], labels(20, 24, 3, 2)));
  EXPECT_THAT((*set)->name_of(2), HasSubstr("cell2.tif"));
}

TEST(ImageSets, PairsInOneFolderAreToldApartBySuffix) {
  const ScratchFolder folder("suffix");
  testing::write_png(folder / "a.png", patterned_image(DType::kU8, 3, 8, 8));
  testing::write_png(folder / "a_mask.png", patterned_image(DType::kU8, 3, 8, 8));
  const auto set = open_pairs({.images = folder.path(),
                               .masks = folder.path(),
                               .mask_suffix = "_mask",
                               .mask_values = MaskValues::kBinary});
  ASSERT_TRUE(set.ok()) << set.error().message;
  EXPECT_EQ((*set)->size(), 1);
  const Sample sample = *(*set)->read(0);
  EXPECT_EQ(sample[1].shape(), (Shape{1, 8, 8}));
  for (int64_t i = 0; i < 64; ++i)
    EXPECT_EQ(sample[1].at(i),
              sample[0].at(i) != 0 || sample[0].at(64 + i) != 0 || sample[0].at(128 + i) != 0);
}

TEST(ImageSets, OneFolderForBothNeedsASuffix) {
  const ScratchFolder folder("together");
  testing::write_png(folder / "a_img.png", patterned_image(DType::kU8, 1, 8, 8));
  testing::write_png(folder / "a.png", patterned_image(DType::kU8, 1, 8, 8));
  const auto open = [&](const std::string& image_suffix, const std::string& mask_suffix) {
    return open_pairs({.images = folder.path(),
                       .masks = folder / ".",
                       .image_suffix = image_suffix,
                       .mask_suffix = mask_suffix});
  };
  for (const char* suffix : {"", "_img"})
    EXPECT_THAT(open(suffix, suffix).error().message,
                HasSubstr("nothing tells them apart: give a mask_suffix"));
  for (const auto& [image, mask] : {std::pair("_img", ""), std::pair("", "_img")}) {
    const auto set = open(image, mask);
    ASSERT_TRUE(set.ok()) << set.error().message;
    EXPECT_EQ((*set)->size(), 1);
  }
}

TEST(ImageSets, MasksOfFewBitsKeepTheirNumbers) {
  const ScratchFolder folder("few");
  const Tensor mask = labels(8, 8, 4);
  testing::write_png(folder / "a.png", mask, false, 2);
  testing::write_png(folder / "a_mask.png", mask, false, 2);
  const auto set = open_pairs({.images = folder.path(), .masks = folder.path(), .mask_suffix = "_mask"});
  ASSERT_TRUE(set.ok()) << set.error().message;
  const Sample sample = *(*set)->read(0);
  EXPECT_TRUE(same_tensor(sample[1], mask));
  for (int64_t i = 0; i < 64; ++i) EXPECT_EQ(sample[0].at(i), mask.at(i) * 85);
}

TEST(ImageSets, ManyDamagedImagesAreStillNoDamagedSet) {
  const ScratchFolder folder("damage");
  for (int i = 0; i < 40; ++i) folder.write("a" + std::to_string(i) + ".png", "none");
  const auto none = open_images(folder.path());
  EXPECT_EQ(none.error().code, ErrorCode::kUnsupported);
  EXPECT_THAT(none.error().message, HasSubstr("a0.png"));
  testing::write_png(folder / "b.png", patterned_image(DType::kU16, 3, 4, 4));
  const auto set = open_images(folder.path());
  ASSERT_TRUE(set.ok()) << set.error().message;
  EXPECT_EQ((*set)->size(), 41);
  EXPECT_EQ((*set)->fields()[0].dtype, DType::kU16);
}

TEST(ImageSets, BinaryMasksMayBeOfAnyType) {
  const ScratchFolder folder("binary");
  testing::write_png(folder / "a.png", patterned_image(DType::kU8, 1, 4, 6));
  for (const DType dtype : {DType::kU8, DType::kBool, DType::kI16, DType::kU32, DType::kF32}) {
    Tensor mask = Tensor::zeros(dtype, {1, 4, 6});
    static_cast<uint8_t*>(mask.data())[2 * dtype_size(dtype)] = 1;
    ASSERT_TRUE(write_npy(folder / "a_mask.npy", mask).ok());
    const auto set = open_pairs({.images = folder.path(),
                                 .masks = folder.path(),
                                 .mask_suffix = "_mask",
                                 .mask_values = MaskValues::kBinary});
    ASSERT_TRUE(set.ok()) << set.error().message;
    const auto sample = (*set)->read(0);
    ASSERT_TRUE(sample.ok()) << sample.error().message;
    for (int64_t i = 0; i < 24; ++i) EXPECT_EQ((*sample)[1].at(i), i == 2) << dtype_name(dtype);
  }
}

TEST(ImageSets, WhatDoesNotPairIsNamed) {
  const ScratchFolder folder("unpaired");
  write_pairs(folder, 2);
  const auto fails = [&](PairOptions options) {
    options.images = folder / "images";
    options.masks = folder / "masks";
    const auto set = open_pairs(options);
    if (!set.ok()) return set.error().message;
    for (int64_t i = 0; i < (*set)->size(); ++i)
      if (const auto sample = (*set)->read(i); !sample.ok()) return sample.error().message;
    return std::string("read");
  };
  EXPECT_EQ(fails({}), "read");
  EXPECT_THAT(fails({.classes = 2}), HasSubstr("it holds the value 2, but there are 2 classes"));
  testing::write_png(folder / "masks" / "odd.png", labels(5, 5, 2));
  EXPECT_THAT(fails({}), HasSubstr("odd.png' has no image"));
  testing::write_tiff(folder / "images" / "odd.tif", {patterned_image(DType::kU16, 1, 6, 5)});
  EXPECT_THAT(fails({}), HasSubstr("a mask has the size of its image"));
  testing::write_tiff(folder / "images" / "odd.tif", {patterned_image(DType::kU8, 1, 5, 5)});
  EXPECT_THAT(fails({}), HasSubstr("images of one data set have one depth"));
  fs::remove(folder / "masks" / "odd.png");
  EXPECT_THAT(fails({}), HasSubstr("odd.tif' has no mask"));
  testing::write_png(folder / "images" / "odd.png", labels(5, 5, 2));
  EXPECT_THAT(fails({}), HasSubstr("have the same name"));
}

TEST(ImageSets, PagesAndStacksAreSamples) {
  const ScratchFolder folder("stacks");
  std::vector<Tensor> pages;
  for (int64_t i = 0; i < 4; ++i) pages.push_back(patterned_image(DType::kU8, 1, 6, 7, i));
  testing::write_tiff(folder / "a.tif", pages);
  testing::write_tiff(folder / "b.tif", {pages[3]});
  const auto each = open_images(folder.path(), Pages::kEach);
  ASSERT_TRUE(each.ok()) << each.error().message;
  EXPECT_EQ((*each)->size(), 5);
  EXPECT_TRUE(same_tensor((*(*each)->read(2))[0], pages[2]));
  EXPECT_THAT((*each)->name_of(2), HasSubstr("(part 2 of 4)"));
  const auto stacks = open_images(folder.path(), Pages::kStack);
  ASSERT_TRUE(stacks.ok()) << stacks.error().message;
  EXPECT_EQ((*stacks)->size(), 2);
  EXPECT_EQ((*(*stacks)->read(0))[0].shape(), (Shape{1, 4, 6, 7}));
  folder.write("c.tif", std::string("II*\0 this is none", 17));
  const auto damaged = open_images(folder.path(), Pages::kEach);
  ASSERT_TRUE(damaged.ok()) << damaged.error().message;
  EXPECT_EQ((*damaged)->size(), 6);
  EXPECT_EQ((*damaged)->read(5).error().code, ErrorCode::kCorrupt);
}

TEST(ImageSets, FoldersAreClasses) {
  const ScratchFolder folder("classes");
  for (const char* name : {"dog", "cat"}) {
    fs::create_directories(folder / name);
    testing::write_png(folder / name / "1.png", patterned_image(DType::kU8, 3, 4, 4));
  }
  const auto set = open_class_folders(folder.path());
  ASSERT_TRUE(set.ok()) << set.error().message;
  EXPECT_THAT(set->classes, ElementsAre("cat", "dog"));
  EXPECT_EQ((*set->dataset->read(1))[1].int_at(0), 1);
  fs::create_directories(folder / "empty");
  EXPECT_THAT(open_class_folders(folder.path()).error().message, HasSubstr("holds no images"));
}

TEST(ImageSets, FoldersOfNumbersAreInTheirOrder) {
  const ScratchFolder folder("numbers");
  for (const char* name : {"10", "0", "2", "11", "1"}) {
    fs::create_directories(folder / name);
    testing::write_png(folder / name / "1.png", patterned_image(DType::kU8, 1, 4, 4));
  }
  EXPECT_THAT(open_class_folders(folder.path())->classes, ElementsAre("0", "1", "2", "10", "11"));
  fs::rename(folder / "2", folder / "two");
  EXPECT_THAT(open_class_folders(folder.path())->classes, ElementsAre("0", "1", "10", "11", "two"));
}

TEST(ImageSets, ALabelThatIsASlipRenumbersNoClasses) {
  const ScratchFolder folder("slips");
  testing::write_png(folder / "a.png", patterned_image(DType::kU8, 1, 4, 4));
  const auto open = [&](const std::vector<std::string>& cells) {
    std::string text = "file,label\n";
    for (const std::string& cell : cells) text += "a.png," + cell + "\n";
    EXPECT_TRUE(write_file(folder / "labels.csv", text).ok());
    return open_labelled_images({.table = folder / "labels.csv", .folder = folder.path()});
  };
  EXPECT_THAT(open({"3", "", "1"}).error().message, HasSubstr("line 3: the label is empty"));
  EXPECT_THAT(open({"cat", " ", "dog"}).error().message, HasSubstr("line 3: the label is empty"));
  EXPECT_THAT(open({"3", "1", "n/a"}).error().message,
              HasSubstr("line 4: the label 'n/a' is no number, but that of line 2 is (3)"));
  EXPECT_THAT(open({"0.5", "nan"}).error().message, HasSubstr("line 3: the label 'nan' is no number"));
  EXPECT_THAT(open({"cat", "7"}).error().message, HasSubstr("line 2: the label 'cat' is no number"));
  const auto blanks = open({" 10", "2 ", "-1"});
  ASSERT_TRUE(blanks.ok()) << blanks.error().message;
  EXPECT_TRUE(blanks->classes.empty());
  EXPECT_EQ((*blanks->dataset->read(0))[1].int_at(0), 10);
  EXPECT_EQ((*blanks->dataset->read(2))[1].int_at(0), -1);  // whether that is a class is for the model to say
  EXPECT_THAT(open({"cat", " cat", "dog"})->classes, ElementsAre("cat", "dog"));
}

TEST(ImageSets, TablesLabelImages) {
  const ScratchFolder folder("table");
  for (const char* name : {"a.png", "b.png"})
    testing::write_png(folder / name, patterned_image(DType::kU8, 1, 4, 4));
  const auto open = [&](const std::string& text, int64_t classes = 0) {
    EXPECT_TRUE(write_file(folder / "labels.csv", text).ok());
    return open_labelled_images(
        {.table = folder / "labels.csv", .folder = folder.path(), .classes = classes});
  };
  const auto numbers = open("file,label\na.png,4\nb.png,2\n");
  ASSERT_TRUE(numbers.ok()) << numbers.error().message;
  EXPECT_EQ((*numbers->dataset->read(0))[1].int_at(0), 4);
  const auto names = open("label,file\nyes,a.png\nno,b.png\n");
  ASSERT_TRUE(names.ok());
  EXPECT_THAT(names->classes, ElementsAre("no", "yes"));
  EXPECT_EQ((*names->dataset->read(0))[1].int_at(0), 1);
  EXPECT_EQ((*open("file,label\na.png,0.5\nb.png,2\n")->dataset->read(0))[1].dtype(), DType::kF32);
  EXPECT_THAT(open("file,label\na.png,4\nb.png,2\n", 4).error().message,
              HasSubstr("line 2: the label 4 is out of range"));
  EXPECT_THAT(open("file,label\nc.png,4\n").error().message, HasSubstr("line 2: there is no file"));
  EXPECT_THAT(open("file,class\na.png,4\n").error().message, HasSubstr("no column 'label'"));
  EXPECT_THAT(open("file,label\n").error().message, HasSubstr("no rows"));
}

TEST(ImageSets, FromDiskToBatches) {
  const ScratchFolder folder("batches");
  write_pairs(folder, 7);
  ASSERT_TRUE(write_file(folder / "images" / "cell3.tif", "II*\0 this is none").ok());
  const auto set = open_pairs({.images = folder / "images", .masks = folder / "masks"});
  ASSERT_TRUE(set.ok()) << set.error().message;
  AugmentOptions options;
  options.crop = {16, 16};
  options.rotate = 20;
  options.flip_horizontal = true;
  const auto loader = Loader::make(*set, *make_augmentation(options),
                                   {.order = {.batch_size = 3}, .on_damage = OnDamage::kSkip});
  ASSERT_TRUE(loader.ok()) << loader.error().message;
  for (int i = 0; i < 4; ++i) {
    const auto batch = (*loader)->next();
    ASSERT_TRUE(batch.ok()) << batch.error().message;
    EXPECT_EQ(batch->tensors[0].shape(), (Shape{3, 1, 16, 16}));
    EXPECT_EQ(batch->tensors[1].shape(), (Shape{3, 1, 16, 16}));
  }
  ASSERT_EQ((*loader)->damages().size(), 1u);
  EXPECT_THAT((*loader)->damages()[0].message, HasSubstr("cell3.tif"));
  EXPECT_GT((*loader)->counts().stages[Stage::kRead], 0);
  EXPECT_GT((*loader)->counts().stages[Stage::kAugment], 0);
}

}  // namespace
}  // namespace hone::data
