// A parser for the one Python literal that .npy headers hold. Anything else is an error, never evaluated.
#include "core/npy/npy_header.h"

#include <charconv>
#include <optional>

#include <fmt/core.h>

namespace hone {
namespace {

constexpr std::size_t kMaxRank = 64;  // NumPy's own limit

Error malformed(std::string_view what) { return corrupt(fmt::format("malformed .npy header: {}", what)); }

// Reads tokens from the front of the text, skipping white space before each.
class Cursor {
 public:
  explicit Cursor(std::string_view text) : text_(text) {}

  char peek() {
    skip_space();
    return text_.empty() ? '\0' : text_.front();
  }
  bool take(std::string_view token) {
    skip_space();
    if (!text_.starts_with(token)) return false;
    text_.remove_prefix(token.size());
    return true;
  }
  // A string in single or double quotes; escapes do not occur in type strings and are refused.
  std::optional<std::string_view> take_string() {
    const char quote = peek();
    if (quote != '\'' && quote != '"') return std::nullopt;
    const std::size_t end = text_.find(quote, 1);
    if (end == std::string_view::npos) return std::nullopt;
    const std::string_view content = text_.substr(1, end - 1);
    if (content.find('\\') != std::string_view::npos) return std::nullopt;
    text_.remove_prefix(end + 1);
    return content;
  }
  std::optional<int64_t> take_integer() {
    skip_space();
    int64_t value = 0;
    const auto [end, error] = std::from_chars(text_.data(), text_.data() + text_.size(), value);
    if (error != std::errc()) return std::nullopt;
    text_.remove_prefix(static_cast<std::size_t>(end - text_.data()));
    if (text_.starts_with('L')) text_.remove_prefix(1);  // Python 2 wrote long integers so
    return value;
  }

 private:
  void skip_space() {
    const std::size_t start = text_.find_first_not_of(" \t\r\n");
    text_.remove_prefix(start == std::string_view::npos ? text_.size() : start);
  }
  std::string_view text_;
};

Result<std::string> parse_descr(Cursor& cursor) {
  if (cursor.peek() == '[')
    return unsupported("the .npy file holds records (a structured dtype); save one plain array a file");
  const auto text = cursor.take_string();
  if (!text) return malformed("'descr' is not a type string");
  return std::string(*text);
}

Result<bool> parse_bool(Cursor& cursor) {
  if (cursor.take("True")) return true;
  if (cursor.take("False")) return false;
  return malformed("'fortran_order' is neither True nor False");
}

Result<Shape> parse_shape(Cursor& cursor) {
  if (!cursor.take("(")) return malformed("'shape' is not a tuple");
  Shape shape;
  while (!cursor.take(")")) {
    const auto extent = cursor.take_integer();
    if (!extent) return malformed("'shape' holds something other than integers");
    if (*extent < 0) return malformed(fmt::format("'shape' holds the negative extent {}", *extent));
    if (shape.size() == kMaxRank) return malformed(fmt::format("'shape' has more than {} axes", kMaxRank));
    shape.push_back(*extent);
    if (!cursor.take(",") && cursor.peek() != ')') return malformed("'shape' is not a tuple");
  }
  return shape;
}

}  // namespace

Result<NpyHeader> parse_npy_header(std::string_view text) {
  Cursor cursor(text);
  if (!cursor.take("{")) return malformed("it is not a dict");
  std::optional<std::string> descr;
  std::optional<bool> fortran_order;
  std::optional<Shape> shape;
  while (!cursor.take("}")) {
    const auto key = cursor.take_string();
    if (!key || !cursor.take(":")) return malformed("it is not a dict of named entries");
    if (*key == "descr" && !descr) {
      HONE_ASSIGN(descr, parse_descr(cursor));
    } else if (*key == "fortran_order" && !fortran_order) {
      HONE_ASSIGN(fortran_order, parse_bool(cursor));
    } else if (*key == "shape" && !shape) {
      HONE_ASSIGN(shape, parse_shape(cursor));
    } else {
      return malformed(fmt::format("unexpected or repeated key '{}'", *key));
    }
    if (!cursor.take(",") && cursor.peek() != '}') return malformed("entries are not separated by commas");
  }
  if (cursor.peek() != '\0') return malformed("something follows the dict");
  if (!descr || !fortran_order || !shape)
    return malformed("one of 'descr', 'fortran_order' and 'shape' is missing");
  return NpyHeader{*std::move(descr), *fortran_order, *std::move(shape)};
}

}  // namespace hone
