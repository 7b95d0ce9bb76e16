// HTML and SVG put together from parts that are always escaped: text and attribute values come from models
// and traces, and may be hostile. Only literals of our own code enter as raw markup.
#pragma once

#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>

namespace hone::report {

// A piece of well-formed HTML or SVG.
class Markup {
 public:
  Markup() = default;
  // Text: the five special characters escaped, control characters and invalid UTF-8 replaced by U+FFFD.
  static Markup text(std::string_view text);
  // Our own markup, as it stands. Never pass data.
  static Markup literal(std::string_view markup);

  Markup& operator+=(const Markup& more);
  friend Markup operator+(Markup a, const Markup& b) { return a += b; }
  const std::string& bytes() const { return bytes_; }
  bool empty() const { return bytes_.empty(); }

 private:
  friend Markup tag(std::string_view, std::initializer_list<std::pair<std::string_view, std::string>>,
                    const Markup&);
  std::string bytes_;
};

using Attribute = std::pair<std::string_view, std::string>;

// <name attributes>content</name>. Attributes with an empty value are left out.
Markup tag(std::string_view name, std::initializer_list<Attribute> attributes, const Markup& content);
Markup tag(std::string_view name, std::initializer_list<Attribute> attributes, std::string_view text);
Markup tag(std::string_view name, const Markup& content);
Markup tag(std::string_view name, std::string_view text);

// A coordinate: at most two decimals, no trailing zeros.
std::string number(double value);

}  // namespace hone::report
