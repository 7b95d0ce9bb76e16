// Files: read-only memory maps, and writes that replace a file whole or not at all.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "core/result.h"

struct stat;

namespace hone {

// A regular file mapped read-only; an empty file maps to no bytes. Keep the shared_ptr alive for as long as
// anything points into it. Another program that writes into the file meanwhile changes what is read: whoever
// depends on it asks check_unchanged() after the reading, or check_mapped_files() (core/open_files.h) before
// results are written. One that truncates it makes reading raise SIGBUS; the program says so
// (apps/signals.cpp).
class MappedFile {
 public:
  static Result<std::shared_ptr<const MappedFile>> open(const std::filesystem::path& path);
  ~MappedFile();
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;

  std::span<const std::byte> bytes() const { return {data_, size_}; }
  std::string_view text() const { return {reinterpret_cast<const char*>(data_), size_}; }

  // An error where the file was written to in place since it was opened. A file that has been replaced (a new
  // one renamed over it) or removed is still whole here.
  Status check_unchanged() const;

  // Both safe in a signal handler.
  bool holds(const void* address) const noexcept {
    const auto* byte = static_cast<const std::byte*>(address);
    return data_ <= byte && byte < data_ + size_;
  }
  const char* name() const noexcept { return path_.c_str(); }

 private:
  // What tells one state of a file from another.
  struct Stamp {
    uint64_t device = 0, inode = 0;
    int64_t modified_ns = 0;
    std::size_t size = 0;
  };
  static Stamp stamp_of(const struct stat& status);

  MappedFile() = default;
  std::filesystem::path path_;
  Stamp stamp_;
  const std::byte* data_ = nullptr;
  std::size_t size_ = 0;
};

Result<std::string> read_file(const std::filesystem::path& path);

// A file that appears under its name only when commit() succeeds; otherwise it leaves nothing behind.
// Written to "<name>.tmp-<pid>-<n>" beside it, flushed to disk, then renamed; an existing file keeps its
// permissions. A pipe, a device or an open stream (/dev/stdout, /dev/fd/3) is written directly. After an
// error the file is closed and every further call fails.
class AtomicFile {
 public:
  static Result<AtomicFile> create(const std::filesystem::path& path);
  ~AtomicFile();
  AtomicFile(AtomicFile&& other) noexcept;
  AtomicFile& operator=(AtomicFile&& other) noexcept;

  Status write(std::span<const std::byte> bytes);
  Status write(std::string_view text);
  // What was written goes out now: to those who read a pipe, a device or a stream meanwhile.
  Status flush();
  std::size_t position() const { return position_; }
  // Where a library that opens files by name may write the contents before commit(); empty: a pipe or device.
  const std::filesystem::path& temporary() const { return temporary_; }
  Status commit();

 private:
  AtomicFile() = default;
  void discard() noexcept;
  Error fail(int error);
  Status write_through(const char* data, std::size_t size);

  std::filesystem::path path_;
  std::filesystem::path temporary_;  // empty where the file is written directly
  int unfinished_ = -1;              // its place among the unfinished files (core/open_files.h)
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
