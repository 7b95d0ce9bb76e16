// A whole file in memory, read rather than mapped: so that waiting for the disk is told from decoding, and a file
// that somebody truncates meanwhile is an error and no crash.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>

#include "core/result.h"
#include "data/stages.h"

namespace hone::data {

class FileBytes {
 public:
  // An error for what is no regular file or is over `most` bytes.
  static Result<FileBytes> read(const std::filesystem::path& path, StageTimes& times,
                                std::size_t most = std::size_t{1} << 34);
  // `size` bytes from `offset` on.
  static Result<FileBytes> read_part(const std::filesystem::path& path, uint64_t offset, std::size_t size,
                                     StageTimes& times);

  std::span<const std::byte> bytes() const { return {data_.get(), size_}; }

 private:
  std::unique_ptr<std::byte[]> data_;
  std::size_t size_ = 0;
};

// A number that changes with a file's name, size and date; 0 where it cannot be looked at.
uint64_t file_version(const std::filesystem::path& path);

}  // namespace hone::data
