#include "trace/import/kineto/mend.h"

#include <cstdint>

#include <fmt/format.h>

namespace hone::trace::kineto {
namespace {

bool is_space(char c) { return c == ' ' || c == '\n' || c == '\r' || c == '\t'; }

// The length of the UTF-8 character at `at` by RFC 3629; 0: there is none.
std::size_t utf8_length(std::string_view text, std::size_t at) {
  const auto byte = [&](std::size_t i) -> uint32_t {
    return i < text.size() ? static_cast<uint8_t>(text[i]) : 0;
  };
  const uint32_t first = byte(at);
  const auto follows = [&](std::size_t i) { return (byte(i) & 0xc0) == 0x80; };
  if (first < 0x80) return 1;
  if (first >= 0xc2 && first < 0xe0) return follows(at + 1) ? 2 : 0;
  if (first >= 0xe0 && first < 0xf0) {
    if (!follows(at + 1) || !follows(at + 2)) return 0;
    const uint32_t code = ((first & 0xf) << 12) | ((byte(at + 1) & 0x3f) << 6);
    return code >= 0x800 && (code < 0xd800 || code >= 0xe000) ? 3 : 0;
  }
  if (first >= 0xf0 && first < 0xf5) {
    if (!follows(at + 1) || !follows(at + 2) || !follows(at + 3)) return 0;
    const uint32_t code = ((first & 0x7) << 18) | ((byte(at + 1) & 0x3f) << 12);
    return code >= 0x10000 && code < 0x110000 ? 4 : 0;
  }
  return 0;
}

class Mender {
 public:
  explicit Mender(std::string_view text) : text_(text) { out_.reserve(text.size() + 16); }

  std::string run() {
    while (at_ < text_.size()) {
      const char c = text_[at_];
      if (c == '"')
        string();
      else if (c == '{' || c == '[')
        open(c);
      else if (c == '}' || c == ']')
        close(c);
      else if (c == ',')
        comma();
      else if (c == ':')
        put(c);
      else if (is_space(c))
        ++at_;
      else if (static_cast<uint8_t>(c) < ' ')
        ++at_;
      else
        word();
    }
    return std::move(out_);
  }

 private:
  void put(char c) {
    out_ += c;
    last_ = c;
    ++at_;
  }
  void value_if_missing() {
    if (last_ != ':') return;
    out_ += "null";
    last_ = 'v';
  }
  bool in_object() const { return !nesting_.empty() && nesting_.back() == '{'; }

  void open(char c) {
    nesting_ += c;
    put(c);
  }
  void close(char c) {
    value_if_missing();
    if (last_ == ',') out_.pop_back();
    if (!nesting_.empty()) nesting_.pop_back();
    out_ += c;
    last_ = 'v';
    ++at_;
  }
  void comma() {
    value_if_missing();
    if (last_ == ',' || last_ == '{' || last_ == '[') {  // one too many, or a value of a list is missing
      if (!in_object() && last_ != '{') {
        out_ += last_ == '[' ? "null," : "null,";
        last_ = ',';
      }
      ++at_;
      return;
    }
    put(',');
  }

  // A number or a literal; anything else that stands where a value should is null.
  void word() {
    const std::size_t end = std::min(text_.find_first_of(",:]}[{\" \n\r\t", at_), text_.size());
    const std::string_view word = text_.substr(at_, end - at_);
    at_ = end == at_ ? at_ + 1 : end;
    if (last_ == 'v') return;  // rubbish after a value
    const bool number = word.find_first_not_of("0123456789+-.eE") == std::string_view::npos &&
                        word[0] != '+' && word[0] != '.';
    out_ += number || word == "true" || word == "false" ? word : "null";
    last_ = 'v';
  }

  // Whether the quote at `at` ends the string that it stands in.
  bool ends_string(std::size_t at) const {
    std::size_t next = skip(at + 1);
    if (next >= text_.size()) return true;
    const char c = text_[next];
    if (is_key_) return c == ':';
    if (c == '}' || c == ']') return true;
    if (c != ',') return false;
    next = skip(next + 1);
    if (next >= text_.size()) return true;
    if (!in_object())
      return std::string_view("\"[{-0123456789tfnN,]").find(text_[next]) != std::string_view::npos;
    if (text_[next] == '}') return true;
    if (text_[next] != '"') return false;
    const std::size_t close = text_.find('"', next + 1);  // of the key that must follow
    if (close == std::string_view::npos) return true;
    const std::size_t colon = skip(close + 1);
    return colon >= text_.size() || text_[colon] == ':';
  }

  std::size_t skip(std::size_t at) const {
    while (at < text_.size() && is_space(text_[at])) ++at;
    return at;
  }

  void string() {
    is_key_ = in_object() && (last_ == '{' || last_ == ',');
    if (last_ == 'v') {  // no comma before it
      out_ += ',';
      is_key_ = in_object();
    }
    out_ += '"';
    ++at_;
    while (at_ < text_.size()) {
      const char c = text_[at_];
      if (c == '"' && ends_string(at_)) break;
      if (c == '"') {
        out_ += "\\\"";
        ++at_;
      } else if (c == '\\') {
        escape();
      } else if (static_cast<uint8_t>(c) < ' ') {
        out_ += fmt::format("\\u{:04x}", static_cast<uint8_t>(c));
        ++at_;
      } else if (const std::size_t length = utf8_length(text_, at_); length > 0) {
        out_ += text_.substr(at_, length);
        at_ += length;
      } else {
        out_ += "\xef\xbf\xbd";
        ++at_;
      }
    }
    if (at_ < text_.size()) out_ += '"';
    ++at_;
    last_ = is_key_ ? 'k' : 'v';
  }

  void escape() {
    const char next = at_ + 1 < text_.size() ? text_[at_ + 1] : '\0';
    bool right = next != '\0' && std::string_view("\"\\/bfnrt").find(next) != std::string_view::npos;
    if (next == 'u')
      right = at_ + 6 <= text_.size() &&
              text_.substr(at_ + 2, 4).find_first_not_of("0123456789abcdefABCDEF") == std::string_view::npos;
    out_ += right ? text_.substr(at_, 2) : std::string_view("\\\\");
    at_ += right ? 2 : 1;
  }

  std::string_view text_;
  std::size_t at_ = 0;
  std::string out_;
  std::string nesting_;  // open brackets
  char last_ = ' ';      // the last token: a bracket, ',', ':', 'k'ey or 'v'alue
  bool is_key_ = false;
};

}  // namespace

std::string mended(std::string_view text) { return Mender(text).run(); }

std::size_t object_end(std::string_view text) {
  std::size_t depth = 0;
  bool quoted = false;
  for (std::size_t at = 0; at < text.size(); ++at) {
    const char c = text[at];
    if (c == '"') {
      quoted = !quoted;
    } else if (quoted) {
      at += c == '\\' ? 1 : 0;
    } else if (c == '{' || c == '[') {
      ++depth;
    } else if ((c == '}' || c == ']') && --depth == 0) {
      return at + 1;
    }
  }
  return std::string_view::npos;
}

}  // namespace hone::trace::kineto
