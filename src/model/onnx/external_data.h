// Files beside a model that hold its large tensors. Only files inside the model's folder are opened: a model
// from somebody else must not read the rest of the disk.
#pragma once

#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <string_view>

#include "core/file.h"
#include "core/result.h"

namespace hone::model::onnx {

class ExternalData {
 public:
  // `folder` is the model's; empty for a model that was not read from a file: then nothing is opened.
  explicit ExternalData(std::filesystem::path folder) : folder_(std::move(folder)) {}

  // The file at `location`, a path relative to the folder; mapped once, then shared.
  Result<std::shared_ptr<const MappedFile>> open(std::string_view location);

 private:
  std::filesystem::path folder_;
  std::map<std::string, std::shared_ptr<const MappedFile>, std::less<>> files_;
};

}  // namespace hone::model::onnx
