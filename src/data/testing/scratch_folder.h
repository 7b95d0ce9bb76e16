// For tests: a folder of its own, removed at the end.
#pragma once

#include <filesystem>
#include <fstream>
#include <string>

#include "core/testing/scratch_path.h"

namespace hone::data::testing {

class ScratchFolder {
 public:
  explicit ScratchFolder(const std::string& name) : path_(scratch_path("hone-data-" + name)) {
    std::filesystem::remove_all(path_);
    std::filesystem::create_directories(path_);
  }
  ~ScratchFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  ScratchFolder(const ScratchFolder&) = delete;
  ScratchFolder& operator=(const ScratchFolder&) = delete;
  std::filesystem::path operator/(const std::string& name) const { return path_ / name; }
  const std::filesystem::path& path() const { return path_; }
  // Not flushed to disk, as write_file() would: for tests that write a file hundreds of times.
  void write(const std::string& name, const std::string& bytes) const {
    std::ofstream(path_ / name, std::ios::binary) << bytes;
  }

 private:
  std::filesystem::path path_;
};

}  // namespace hone::data::testing
