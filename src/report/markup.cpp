#include "report/markup.h"

#include <fmt/format.h>

#include "report/text.h"

namespace hone::report {

Markup Markup::text(std::string_view text) {
  Markup markup;
  for (char c : clean_utf8(text)) {
    switch (c) {
      case '&':
        markup.bytes_ += "&amp;";
        break;
      case '<':
        markup.bytes_ += "&lt;";
        break;
      case '>':
        markup.bytes_ += "&gt;";
        break;
      case '"':
        markup.bytes_ += "&quot;";
        break;
      case '\'':
        markup.bytes_ += "&#39;";
        break;
      default:
        markup.bytes_ += c;
    }
  }
  return markup;
}

Markup Markup::literal(std::string_view markup) {
  Markup result;
  result.bytes_ = markup;
  return result;
}

Markup& Markup::operator+=(const Markup& more) {
  bytes_ += more.bytes_;
  return *this;
}

Markup tag(std::string_view name, std::initializer_list<Attribute> attributes, const Markup& content) {
  Markup result;
  result.bytes_ = fmt::format("<{}", name);
  for (const auto& [key, value] : attributes)
    if (!value.empty()) result.bytes_ += fmt::format(" {}=\"{}\"", key, Markup::text(value).bytes());
  result.bytes_ += fmt::format(">{}</{}>", content.bytes(), name);
  return result;
}

Markup tag(std::string_view name, std::initializer_list<Attribute> attributes, std::string_view text) {
  return tag(name, attributes, Markup::text(text));
}
Markup tag(std::string_view name, const Markup& content) { return tag(name, {}, content); }
Markup tag(std::string_view name, std::string_view text) { return tag(name, {}, Markup::text(text)); }

std::string number(double value) {
  std::string text = fmt::format("{:.2f}", value);
  text.erase(text.find_last_not_of('0') + 1);
  if (text.back() == '.') text.pop_back();
  return text == "-0" ? "0" : text;
}

}  // namespace hone::report
