#include "data/text/tokenizer_file.h"

#include <fmt/core.h>

namespace hone::data {
namespace {

using nlohmann::json;

constexpr int64_t kMostTokens = int64_t{1} << 24;

// Walks through a text from one added token to the next.
class AddedTokenSearch {
 public:
  AddedTokenSearch(std::string_view text, const std::vector<AddedTokens::Added>& tokens)
      : text_(text), tokens_(tokens) {
    for (const AddedTokens::Added& added : tokens_) next_.push_back(text.find(added.text));
  }

  // The first from `from` on, and where it is; null: the text has no more. Each text is looked for once in
  // every part of the text, so that one that is never there costs one walk.
  std::pair<std::size_t, const AddedTokens::Added*> next(std::size_t from) {
    std::pair<std::size_t, const AddedTokens::Added*> first = {text_.size(), nullptr};
    for (std::size_t i = 0; i < tokens_.size(); ++i) {
      const AddedTokens::Added& added = tokens_[i];
      if (next_[i] < from) next_[i] = text_.find(added.text, from);
      const std::size_t at = next_[i];
      if (at == std::string_view::npos) continue;
      if (at < first.first || (at == first.first && added.text.size() > first.second->text.size()))
        first = {at, &added};
    }
    return first;
  }

 private:
  std::string_view text_;
  const std::vector<AddedTokens::Added>& tokens_;
  std::vector<std::size_t> next_;  // where each stands next
};

template <typename OnText>
void cut_at(std::string_view text, const std::vector<AddedTokens::Added>& added, const OnText& on_text,
            std::vector<uint32_t>& tokens) {
  AddedTokenSearch search(text, added);
  for (std::size_t from = 0; from < text.size();) {
    const auto [at, found] = search.next(from);
    if (at > from) on_text(text.substr(from, at - from));
    if (found == nullptr) return;
    tokens.push_back(found->token);
    from = at + found->text.size();
  }
}

}  // namespace

Error malformed_tokenizer(const std::string& what) { return corrupt("malformed tokenizer.json: " + what); }

const json& part_of(const json& object, const char* name) {
  static const json kNull;
  const auto found = object.is_object() ? object.find(name) : object.end();
  return found == object.end() ? kNull : *found;
}

std::string text_of_part(const json& object, const char* name) {
  const json& value = part_of(object, name);
  return value.is_string() ? value.get<std::string>() : std::string();
}

Result<uint32_t> token_number(const json& value) {
  if (!value.is_number_integer() || value.get<int64_t>() < 0 || value.get<int64_t>() >= kMostTokens)
    return malformed_tokenizer("a token's number is none, or over 16 million");
  return static_cast<uint32_t>(value.get<int64_t>());
}

Result<AddedTokens> AddedTokens::read(const json& file, Normalise normalise) {
  AddedTokens made;
  made.normalise_ = std::move(normalise);
  const json& tokens = part_of(file, "added_tokens");
  for (const json& token : tokens.is_array() ? tokens : json::array()) {
    HONE_ASSIGN(const uint32_t number, token_number(part_of(token, "id")));
    const std::string content = text_of_part(token, "content");
    if (content.empty()) return malformed_tokenizer("an added token is empty");
    for (const char* name : {"lstrip", "rstrip", "single_word"})
      if (part_of(token, name) == true)
        return unsupported(fmt::format("the added token '{}' has {}, which hone does not do", content, name));
    made.all_.push_back({content, number});
    if (part_of(token, "normalized") != true) {
      made.in_text_.push_back({content, number});
      continue;
    }
    std::string normalised = made.normalise_ ? made.normalise_(content) : content;
    if (!normalised.empty()) made.in_normalised_.push_back({std::move(normalised), number});
  }
  return made;
}

std::optional<uint32_t> AddedTokens::token_of(std::string_view text) const {
  for (const Added& added : all_)
    if (added.text == text) return added.token;
  return std::nullopt;
}

std::vector<uint32_t> AddedTokens::encode(std::string_view text, const EncodePlain& plain) const {
  std::vector<uint32_t> tokens;
  const auto encode_plain = [&](std::string_view part) { plain(part, tokens); };
  const auto normalise = [&](std::string_view part) {
    if (!normalise_) return cut_at(part, in_normalised_, encode_plain, tokens);
    cut_at(normalise_(part), in_normalised_, encode_plain, tokens);
  };
  cut_at(text, in_text_, normalise, tokens);
  return tokens;
}

}  // namespace hone::data
