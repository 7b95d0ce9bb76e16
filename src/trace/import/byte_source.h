// The bytes of a file from first to last, in pieces of the reader's choice: plain, or decompressed on the way
// (gzip, Zstandard; found by content). What the bytes mean is not known here.
#pragma once

#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "core/result.h"

namespace hone::trace {

class ByteSource {
 public:
  virtual ~ByteSource() = default;
  // Fills `into` from its start and returns how many bytes it wrote: fewer than asked only at the end.
  // An error is the operating system's; damaged compressed data end the bytes and are said by trouble().
  virtual Result<std::size_t> read(std::span<char> into) = 0;
  // The share of the file that was read, 0 to 1; 0 where the size is not known.
  virtual double progress() const = 0;
  // Whether the bytes are those of a regular file as they lie there, neither packed nor piped.
  virtual bool is_plain_file() const { return false; }
  // Why the bytes ended before the file's own end; empty: they did not.
  virtual std::string trouble() const { return {}; }
};

// Errors: a file that cannot be opened. A pipe is read as it comes.
Result<std::unique_ptr<ByteSource>> open_bytes(const std::filesystem::path& path);
// `bytes` must outlive the source.
std::unique_ptr<ByteSource> bytes_in_memory(std::string_view bytes);

// What is left of `source`. Errors: more than `most` bytes.
Result<std::string> read_all(ByteSource& source, std::size_t most);

// `source` as if `first`, which was read from it, had not been.
std::unique_ptr<ByteSource> put_back(std::unique_ptr<ByteSource> source, std::string first);

}  // namespace hone::trace
