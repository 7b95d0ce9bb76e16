#include "report/code_text.h"

#include <algorithm>

namespace hone::report {
namespace {

constexpr std::size_t kLongestArguments = 90;  // what is longer is a sentence in brackets

bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }
bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_word(char c) { return is_letter(c) || is_digit(c) || c == '_'; }

char at(std::string_view text, std::size_t i) { return i < text.size() ? text[i] : '\0'; }

// The end of the group that the bracket at `open` begins; `open` itself where nothing closes it.
std::size_t end_of_group(std::string_view text, std::size_t open) {
  int depth = 0;
  const std::size_t limit = std::min(text.size(), open + kLongestArguments);
  for (std::size_t i = open; i < limit; ++i) {
    if (text[i] == '(' || text[i] == '[' || text[i] == '{') ++depth;
    if ((text[i] == ')' || text[i] == ']' || text[i] == '}') && --depth == 0) return i + 1;
  }
  return open;
}

// Grows one word that may be code.
class Word {
 public:
  Word(std::string_view text, std::size_t start) : text_(text), start_(start), end_(start) {}

  std::size_t scan() {
    while (take_letters() || take_joint() || take_line() || take_group() || take_value()) {
    }
    return end_;
  }

  // A number with a dot, and a word alone, are no code.
  bool is_code() const { return evidence_ && !is_digit(at(text_, start_)); }

 private:
  bool take_letters() {
    const std::size_t from = end_;
    while (is_word(at(text_, end_))) {
      if (text_[end_] == '_' && end_ > start_) evidence_ = true;
      ++end_;
    }
    return end_ > from;
  }

  // "." or "::" before a name.
  bool take_joint() {
    const bool dot = at(text_, end_) == '.' && (is_letter(at(text_, end_ + 1)) || at(text_, end_ + 1) == '_');
    const bool colons = at(text_, end_) == ':' && at(text_, end_ + 1) == ':' && is_word(at(text_, end_ + 2));
    if (!dot && !colons) return false;
    end_ += dot ? 1 : 2;
    evidence_ = true;
    return true;
  }

  // ":32" behind the name of a file.
  bool take_line() {
    const std::string_view before = text_.substr(start_, end_ - start_);
    if (at(text_, end_) != ':' || !is_digit(at(text_, end_ + 1)) ||
        before.find('.') == std::string_view::npos)
      return false;
    for (++end_; is_digit(at(text_, end_));) ++end_;
    return true;
  }

  // "(…)" or "[…]" right behind a name: a call or an index. "step(s)" is a word.
  bool take_group() {
    if (end_ == start_ || (at(text_, end_) != '(' && at(text_, end_) != '[')) return false;
    if (text_.substr(end_, 3) == "(s)") return false;
    const std::size_t end = end_of_group(text_, end_);
    if (end == end_) return false;
    end_ = end;
    evidence_ = true;
    return true;
  }

  // "=True", "=8", "=torch.bfloat16", "=\"high\"".
  bool take_value() {
    if (end_ == start_ || at(text_, end_) != '=') return false;
    const char next = at(text_, end_ + 1);
    if (next == '"') {
      const std::size_t close = text_.find('"', end_ + 2);
      if (close == std::string_view::npos || close - end_ > kLongestArguments) return false;
      end_ = close + 1;
    } else if (is_word(next)) {
      end_ += 2;
    } else {
      return false;
    }
    evidence_ = true;
    return true;
  }

  std::string_view text_;
  std::size_t start_, end_;
  bool evidence_ = false;
};

bool may_begin_code(std::string_view text, std::size_t i) {
  if (i > 0 &&
      (is_word(text[i - 1]) || text[i - 1] == '.' || static_cast<unsigned char>(text[i - 1]) >= 0x80))
    return false;
  return is_letter(text[i]) || text[i] == '_' || (text[i] == '.' && is_letter(at(text, i + 1)));
}

}  // namespace

std::vector<TextPart> code_parts(std::string_view text) {
  std::vector<TextPart> parts;
  std::size_t done = 0;
  for (std::size_t i = 0; i < text.size();) {
    if (!may_begin_code(text, i)) {
      ++i;
      continue;
    }
    Word word(text, i);
    const std::size_t end = std::max(word.scan(), i + 1);
    const std::string_view found = text.substr(i, end - i);
    if (word.is_code() && found != "e.g" && found != "i.e") {
      if (i > done) parts.push_back({text.substr(done, i - done), false});
      parts.push_back({found, true});
      done = end;
    }
    i = end;
  }
  if (done < text.size()) parts.push_back({text.substr(done), false});
  return parts;
}

std::string capitalised(std::string text) {
  const std::vector<TextPart> parts = code_parts(text);
  if (!parts.empty() && !parts.front().code && text[0] >= 'a' && text[0] <= 'z')
    text[0] = static_cast<char>(text[0] - 'a' + 'A');
  return text;
}

}  // namespace hone::report
