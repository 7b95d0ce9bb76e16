#include "observe/system/text_fields.h"

#include <cerrno>
#include <charconv>

#include <fcntl.h>
#include <unistd.h>

namespace hone::observe::system {

static_assert(AT_FDCWD == -100, "the default of SmallFiles::read");

bool Fields::line(std::string_view& to) {
  if (rest_.empty()) return false;
  const std::size_t end = rest_.find('\n');
  to = rest_.substr(0, end);
  rest_ = end == std::string_view::npos ? std::string_view() : rest_.substr(end + 1);
  return true;
}

std::string_view Fields::word() {
  constexpr std::string_view kSpace = " \t\n";
  const std::size_t begin = rest_.find_first_not_of(kSpace);
  if (begin == std::string_view::npos) {
    rest_ = {};
    return {};
  }
  rest_ = rest_.substr(begin);
  const std::string_view found = rest_.substr(0, rest_.find_first_of(kSpace));
  rest_ = rest_.substr(found.size());
  return found;
}

std::optional<int64_t> Fields::number() { return whole_number(word()); }

Fields& Fields::skip(int count) {
  for (int i = 0; i < count; ++i) word();
  return *this;
}

std::optional<int64_t> whole_number(std::string_view word) {
  int64_t value = 0;
  const char* end = word.data() + word.size();
  const auto [rest, failed] = std::from_chars(word.data(), end, value);
  if (word.empty() || failed != std::errc() || rest != end) return std::nullopt;
  return value;
}

std::optional<int64_t> value_in_lines(std::string_view text, std::string_view key) {
  Fields lines(text);
  for (std::string_view line; lines.line(line);) {
    Fields fields(line);
    if (fields.word() == key) return fields.number();
  }
  return std::nullopt;
}

std::optional<double> rate(std::optional<int64_t> before, std::optional<int64_t> now, double seconds,
                           double scale) {
  if (!before || !now || *now < *before || !(seconds > 0)) return std::nullopt;
  return static_cast<double>(*now - *before) * scale / seconds;
}

std::optional<std::string_view> SmallFiles::read(const char* path, int folder) {
  constexpr std::size_t kFirst = 4096;
  const int file = ::openat(folder, path, O_RDONLY | O_CLOEXEC);
  if (file < 0) {
    error_ = errno;
    return std::nullopt;
  }
  if (buffer_.size() < kFirst) buffer_.resize(kFirst);
  std::size_t size = 0;
  while (true) {
    const ssize_t count = ::read(file, buffer_.data() + size, buffer_.size() - size);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) {
      error_ = errno;
      ::close(file);
      return std::nullopt;
    }
    if (count == 0) break;
    size += static_cast<std::size_t>(count);
    if (size == buffer_.size()) buffer_.resize(2 * size);
  }
  ::close(file);
  error_ = 0;
  return std::string_view(buffer_).substr(0, size);
}

}  // namespace hone::observe::system
