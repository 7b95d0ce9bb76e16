// Files: read-only memory maps, and writes that replace a file whole or not at all.
#pragma once

#include <cstddef>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "core/result.h"

namespace hone {

// A regular file mapped read-only; an empty file maps to no bytes. Keep the shared_ptr alive for as long as
// anything points into it. Another program that truncates the file meanwhile ends ours (SIGBUS).
class MappedFile {
 public:
  static Result<std::shared_ptr<const MappedFile>> open(const std::filesystem::path& path);
  ~MappedFile();
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;

  std::span<const std::byte> bytes() const { return {data_, size_}; }
  std::string_view text() const { return {reinterpret_cast<const char*>(data_), size_}; }

 private:
  MappedFile() = default;
  const std::byte* data_ = nullptr;
  std::size_t size_ = 0;
};

Result<std::string> read_file(const std::filesystem::path& path);

// A file that appears under its name only when commit() succeeds; otherwise it leaves nothing behind.
// Written to "<name>.tmp-<pid>-<n>" beside it, flushed to disk, then renamed; an existing file keeps its
// permissions. A pipe or a device (/dev/stdout) is written directly. After an error the file is closed and
// every further call fails.
class AtomicFile {
 public:
  static Result<AtomicFile> create(const std::filesystem::path& path);
  ~AtomicFile();
  AtomicFile(AtomicFile&& other) noexcept;
  AtomicFile& operator=(AtomicFile&& other) noexcept;

  Status write(std::span<const std::byte> bytes);
  Status write(std::string_view text);
  std::size_t position() const { return position_; }
  // Where a library that opens files by name may write the contents before commit(); empty: a pipe or device.
  const std::filesystem::path& temporary() const { return temporary_; }
  Status commit();

 private:
  AtomicFile() = default;
  void discard() noexcept;
  Error fail(int error);
  Status write_through(const char* data, std::size_t size);
  Status flush();

  std::filesystem::path path_;
  std::filesystem::path temporary_;  // empty where the file is written directly
  int descriptor_ = -1;
  std::size_t position_ = 0;  // bytes written so far, buffered ones included
  std::string buffer_;        // small writes, so that writers need no buffer of their own
};

Status write_file(const std::filesystem::path& path, std::string_view text);

// Creates a folder and its parents; an error says why not.
Status make_folder(const std::filesystem::path& path);
// Whether that can be done and files be written there, as far as that is known before; makes nothing.
Status check_folder(const std::filesystem::path& path);

}  // namespace hone
