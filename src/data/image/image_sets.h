// Data sets of image files: pairs of image and mask, folders by class, tables of labels. Files are listed when the
// data set is made and opened when a sample is read.
#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "data/dataset.h"
#include "data/image/image.h"

namespace hone::data {

// What the pages of TIFF files are. Other formats have one page.
enum class Pages : uint8_t {
  kFirst,  // a file is a sample: its first page, [C,H,W]
  kEach,   // a page is a sample
  kStack,  // a file is a sample, [C,D,H,W]; OME's and ImageJ's times are samples each
};

enum class MaskValues : uint8_t {
  kClasses,  // as in the file: 0, 1, 2, … are classes
  kBinary,   // everything that is not 0 is 1: masks drawn as black and white
};

struct PairOptions {
  std::filesystem::path images = {}, masks = {};  // folders; the same where suffixes tell them apart
  // Between the stem that a pair shares and the extension: "cell1_img.tif" and "cell1_mask.png".
  std::string image_suffix = {}, mask_suffix = {};
  Pages pages = Pages::kFirst;
  MaskValues mask_values = MaskValues::kClasses;
  int64_t classes = 0;  // masks with a value of so many or more are damaged; 0: not checked
  ImageLimits limits = {};
};

// "image" [C,H,W] and "mask" [1,H,W] (u8, u16 or i32 as the files have them), matched by stem. An image without a mask,
// or a mask without an image, is an error that names it.
Result<std::shared_ptr<const Dataset>> open_pairs(const PairOptions& options);

// "image" and "label" i64: a folder a class, numbered in the order of their names (2 before 10 where all are numbers).
struct ClassFolders {
  std::shared_ptr<const Dataset> dataset;
  std::vector<std::string> classes;
  Tensor labels;  // of every sample: what `dataset` gives with it
};
Result<ClassFolders> open_class_folders(const std::filesystem::path& folder, const ImageLimits& limits = {});

// A table with a heading: one column of files (relative to `folder`), one of labels. Labels that are all integers are
// classes as they are (i64); all numbers: targets (f32); all names: numbered in their order. Blanks around them do not
// count; a label that is empty, or a name among numbers, is an error that says in which line.
struct TableOptions {
  std::filesystem::path table = {}, folder = {};
  std::string file_column = "file", label_column = "label";
  int64_t classes = 0;  // integer labels must be below it; 0: not checked
  ImageLimits limits = {};
};
Result<ClassFolders> open_labelled_images(const TableOptions& options);

// "image" alone, all images of a folder in the order of their names.
Result<std::shared_ptr<const Dataset>> open_images(const std::filesystem::path& folder,
                                                   Pages pages = Pages::kFirst,
                                                   const ImageLimits& limits = {});

}  // namespace hone::data
