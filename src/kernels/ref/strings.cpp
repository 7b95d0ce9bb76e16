// Operators on strings, which are UTF-8. Case is changed a character at a time, as the C library's UTF-8
// locale says: what would need another number of characters (ß) or context stays as it is.
#include <clocale>
#include <cwctype>
#include <memory>
#include <optional>
#include <unordered_set>

#include <fmt/core.h>

#include "kernels/ref/elements.h"

namespace hone::kernels::ref {
namespace {

using Outputs = Result<std::vector<Tensor>>;

// Decodes one character at `at` and steps behind it; nullopt where the bytes are no UTF-8 (RFC 3629).
std::optional<char32_t> next_character(std::string_view text, std::size_t& at) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char first = byte(at);
  const std::size_t length = first < 0x80 ? 1 : first < 0xc2 ? 0 : first < 0xe0 ? 2 : first < 0xf0 ? 3 : 4;
  if (length == 0 || first > 0xf4 || at + length > text.size()) return std::nullopt;
  if (length == 1) return text[at++];
  char32_t code = first & (0xffu >> (length + 1));
  for (std::size_t i = 1; i < length; ++i) {
    if ((byte(at + i) & 0xc0u) != 0x80) return std::nullopt;
    code = code << 6 | (byte(at + i) & 0x3fu);
  }
  const bool too_long = (length == 3 && code < 0x800) || (length == 4 && code < 0x10000);
  if (too_long || (code >= 0xd800 && code < 0xe000) || code > 0x10ffff) return std::nullopt;
  at += length;
  return code;
}

void append_character(std::string& text, char32_t code) {
  const auto put = [&](char32_t byte) { text.push_back(static_cast<char>(byte)); };
  if (code < 0x80) return put(code);
  const int rest = code < 0x800 ? 1 : code < 0x10000 ? 2 : 3;
  const char32_t mark[] = {0, 0xc0, 0xe0, 0xf0};
  put(mark[rest] | code >> (6 * rest));
  for (int i = rest - 1; i >= 0; --i) put(0x80 | (code >> (6 * i) & 0x3f));
}

class CaseTable {
 public:
  enum class Change : uint8_t { kNone, kLower, kUpper };

  static Result<CaseTable> make() {
    for (const char* name : {"C.UTF-8", "C.utf8", "en_US.UTF-8"})
      if (locale_t locale = ::newlocale(LC_CTYPE_MASK, name, nullptr)) return CaseTable(locale);
    return unsupported("unsupported: StringNormalizer without a UTF-8 locale; install the locale C.UTF-8");
  }

  // Nullopt where the text is no UTF-8.
  std::optional<std::string> change(std::string_view text, Change change) const {
    std::string changed;
    for (std::size_t at = 0; at < text.size();) {
      const std::optional<char32_t> code = next_character(text, at);
      if (!code) return std::nullopt;
      const auto wide = static_cast<wint_t>(*code);
      const wint_t other = change == Change::kLower   ? ::towlower_l(wide, locale_.get())
                           : change == Change::kUpper ? ::towupper_l(wide, locale_.get())
                                                      : wide;
      append_character(changed, static_cast<char32_t>(other));
    }
    return changed;
  }

 private:
  struct Free {
    void operator()(locale_t locale) const { ::freelocale(locale); }
  };
  explicit CaseTable(locale_t locale) : locale_(locale) {}
  std::unique_ptr<std::remove_pointer_t<locale_t>, Free> locale_;
};
using Change = CaseTable::Change;

Change change_of(const RefCall& call) {
  const std::string action = call.attributes.text("case_change_action", "NONE");
  return action == "LOWER" ? Change::kLower : action == "UPPER" ? Change::kUpper : Change::kNone;
}

Outputs string_normalizer(const RefCall& call) {
  HONE_CHECK(expect_inputs(call, 1));
  const Tensor& x = call.inputs[0];
  if (x.dtype() != DType::kString) return bad_call(call, "its input holds no strings");
  if (x.rank() != 1 && !(x.rank() == 2 && x.shape()[0] == 1))
    return bad_call(call, fmt::format("shape {} is neither [C] nor [1,C]", shape_text(x.shape())));
  HONE_ASSIGN(const CaseTable table, CaseTable::make());
  const Change change = change_of(call);
  const Change compared =
      call.attributes.integer("is_case_sensitive", 0) != 0 ? Change::kNone : Change::kLower;
  const auto changed = [&](const std::string& word, Change how) -> Result<std::string> {
    if (how == Change::kNone) return word;
    std::optional<std::string> result = table.change(word, how);
    if (!result) return bad_call(call, "a word is not UTF-8");
    return *std::move(result);
  };

  std::unordered_set<std::string> stop_words;
  for (const std::string& word : call.attributes.texts("stopwords")) {
    HONE_ASSIGN(std::string key, changed(word, compared));
    stop_words.insert(std::move(key));
  }
  std::vector<std::string> words;
  for (const std::string& word : x.strings()) {
    HONE_ASSIGN(const std::string key, changed(word, compared));
    if (stop_words.contains(key)) continue;
    HONE_ASSIGN(std::string kept, changed(word, change));
    words.push_back(std::move(kept));
  }
  if (words.empty()) words.emplace_back();
  const auto count = static_cast<int64_t>(words.size());
  return one(Tensor::of_strings(x.rank() == 1 ? Shape{count} : Shape{1, count}, std::move(words)));
}

}  // namespace

void add_string_kernels(RefTable& table) { table.add("StringNormalizer", string_normalizer); }

}  // namespace hone::kernels::ref
