// The images of a folder as a list of samples: which file, and which part of it. Internal to data/image.
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "data/image/image_sets.h"

namespace hone::data {

// A sample's place: a file, and its page or time.
struct ImagePart {
  std::filesystem::path path;
  int64_t part = 0;
  int64_t parts = 1;  // of the file

  std::string name() const;
};

// Files with image names in `folder` itself, by stem without `suffix`; files without the suffix are left out. Two of
// one stem are an error.
Result<std::map<std::string, std::filesystem::path>> list_images(const std::filesystem::path& folder,
                                                                 const std::string& suffix);
// The parts of a file: opens those that can have several.
Result<std::vector<ImagePart>> parts_of(const std::filesystem::path& path, Pages pages,
                                        const ImageLimits& limits);
Result<Tensor> read_part(const ImagePart& part, Pages pages, const ImageLimits& limits, StageTimes& times,
                         Narrow narrow = Narrow::kScaled);

// What the images of a list are, as the first that is not damaged has it; width and height vary.
Result<Field> image_field(const std::string& name, const std::vector<ImagePart>& parts, Pages pages,
                          const ImageLimits& limits);
// An error where an image has another type or other channels than its field.
Status check_depth(const Tensor& image, const Field& field);

}  // namespace hone::data
