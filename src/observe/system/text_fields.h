// The kernel's text files, word by word: parsers of /proc and /sys stand on this.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace hone::observe::system {

// Takes words off the front of a text. At its end words are empty and numbers have no value.
class Fields {
 public:
  explicit Fields(std::string_view text) : rest_(text) {}

  // The next line, without its end; false: there is none.
  bool line(std::string_view& to);
  std::string_view word();
  // No value where the word is no whole number, or too large.
  std::optional<int64_t> number();
  // Leaves out `count` words.
  Fields& skip(int count);
  std::string_view rest() const { return rest_; }

 private:
  std::string_view rest_;
};

std::optional<int64_t> whole_number(std::string_view word);
// The value after `key` in lines "key value".
std::optional<int64_t> value_in_lines(std::string_view text, std::string_view key);

// Δ of a counter over `seconds`; no value where either reading is missing or it ran backwards (reset, wrapped).
std::optional<double> rate(std::optional<int64_t> before, std::optional<int64_t> now, double seconds,
                           double scale = 1);

// Reads small files again and again without asking for memory. Not thread-safe.
class SmallFiles {
 public:
  // The text, until the next call; no value where it cannot be read: error() says why. `folder` is a
  // descriptor that a relative `path` starts at (openat).
  std::optional<std::string_view> read(const char* path, int folder = -100);  // AT_FDCWD
  std::optional<std::string_view> read(const std::string& path) { return read(path.c_str()); }
  int error() const { return error_; }  // errno

 private:
  std::string buffer_;
  int error_ = 0;
};

}  // namespace hone::observe::system
