#include "data/text/word_piece.h"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include <fmt/core.h>
#include <nlohmann/json.hpp>

#include "data/text/bert_text.h"
#include "data/text/tokenizer_file.h"

namespace hone::data {
namespace {

using nlohmann::json;

struct PieceHash {
  using is_transparent = void;
  std::size_t operator()(std::string_view text) const { return std::hash<std::string_view>()(text); }
};
using PieceMap = std::unordered_map<std::string, uint32_t, PieceHash, std::equal_to<>>;

class WordPieceTokenizer final : public Tokenizer {
 public:
  static Result<std::shared_ptr<const Tokenizer>> parse(const json& file);

  int64_t vocabulary() const override { return std::ssize(text_of_); }
  std::optional<uint32_t> token_of(std::string_view name) const override {
    if (const auto added = added_.token_of(name)) return added;
    const auto found = token_of_.find(name);
    return found == token_of_.end() ? std::nullopt : std::optional(found->second);
  }

  std::vector<uint32_t> encode(std::string_view text) const override {
    return added_.encode(text, [this](std::string_view plain, std::vector<uint32_t>& tokens) {
      for (std::string_view word = take_bert_word(plain); !word.empty(); word = take_bert_word(plain))
        encode_word(word, tokens);
    });
  }

  std::string decode(std::span<const uint32_t> tokens) const override {
    std::string text;
    for (const uint32_t token : tokens) {
      if (token >= text_of_.size()) continue;
      std::string_view piece = text_of_[token];
      const bool goes_on = !prefix_.empty() && piece.size() > prefix_.size() && piece.starts_with(prefix_);
      if (goes_on) piece.remove_prefix(prefix_.size());
      if (!goes_on && !text.empty()) text += ' ';
      text += piece;
    }
    return text;
  }

 private:
  Status read_model(const json& model);

  // The longest of the pieces that the word begins with; null: it begins with none.
  const PieceMap::value_type* longest_piece(std::string_view word, const PieceMap& pieces) const {
    for (std::size_t length = std::min(word.size(), longest_); length > 0; --length)
      if (const auto found = pieces.find(word.substr(0, length)); found != pieces.end()) return &*found;
    return nullptr;
  }

  // The longest piece, then the longest of what is left; a word of which something is left that no piece begins is
  // unknown as a whole.
  void encode_word(std::string_view word, std::vector<uint32_t>& tokens) const {
    const auto characters = static_cast<std::size_t>(std::count_if(
        word.begin(), word.end(), [](char c) { return (static_cast<unsigned char>(c) & 0xc0) != 0x80; }));
    if (characters > most_characters_) return tokens.push_back(unknown_);
    const std::size_t before = tokens.size();
    const PieceMap* pieces = &token_of_;
    while (!word.empty()) {
      const PieceMap::value_type* const piece = longest_piece(word, *pieces);
      if (piece == nullptr) {
        tokens.resize(before);
        return tokens.push_back(unknown_);
      }
      tokens.push_back(piece->second);
      word.remove_prefix(piece->first.size());
      pieces = &continuation_of_;
    }
  }

  std::vector<std::string> text_of_;  // by token
  PieceMap token_of_;                 // as written in the file
  PieceMap continuation_of_;          // those within words, without their prefix
  std::string prefix_;
  uint32_t unknown_ = 0;
  std::size_t most_characters_ = 100;
  std::size_t longest_ = 0;  // of all pieces, in bytes
  AddedTokens added_;
};

Result<bool> switch_of(const json& normaliser, const char* name, bool otherwise) {
  const json& value = part_of(normaliser, name);
  if (value.is_null()) return otherwise;
  if (!value.is_boolean())
    return malformed_tokenizer(fmt::format("its normalizer's {} is neither true nor false", name));
  return value.get<bool>();
}

Result<AddedTokens::Normalise> read_normaliser(const json& file) {
  const json& normaliser = part_of(file, "normalizer");
  if (normaliser.is_null()) return AddedTokens::Normalise();
  const std::string type = text_of_part(normaliser, "type");
  if (type != "BertNormalizer")
    return unsupported(
        fmt::format("the tokenizer's normalizer is {}; with WordPiece hone knows BERT's (BertNormalizer)",
                    type.empty() ? "of no type" : type));
  BertNormaliser made;
  HONE_ASSIGN(made.clean_text, switch_of(normaliser, "clean_text", true));
  HONE_ASSIGN(made.chinese_chars, switch_of(normaliser, "handle_chinese_chars", true));
  HONE_ASSIGN(made.lowercase, switch_of(normaliser, "lowercase", true));
  HONE_ASSIGN(made.strip_accents, switch_of(normaliser, "strip_accents", made.lowercase));
  return AddedTokens::Normalise(made);
}

Status WordPieceTokenizer::read_model(const json& model) {
  const json& vocabulary = part_of(model, "vocab");
  if (!vocabulary.is_object() || vocabulary.empty())
    return malformed_tokenizer("its model has no vocabulary");
  const json& prefix = part_of(model, "continuing_subword_prefix");
  prefix_ = prefix.is_null() ? "##" : text_of_part(model, "continuing_subword_prefix");
  for (const auto& [text, value] : vocabulary.items()) {
    HONE_ASSIGN(const uint32_t token, token_number(value));
    if (token >= text_of_.size()) text_of_.resize(token + 1);
    text_of_[token] = text;
    token_of_.emplace(text, token);
    if (text.starts_with(prefix_)) continuation_of_.emplace(text.substr(prefix_.size()), token);
    longest_ = std::max(longest_, text.size());
  }
  const std::string unknown =
      part_of(model, "unk_token").is_null() ? "[UNK]" : text_of_part(model, "unk_token");
  const auto found = token_of_.find(unknown);
  if (found == token_of_.end())
    return malformed_tokenizer(
        fmt::format("its vocabulary has no '{}', which stands for words that it cannot spell", unknown));
  unknown_ = found->second;
  const json& most = part_of(model, "max_input_chars_per_word");
  if (most.is_null()) return {};
  if (!most.is_number_integer() || most.get<int64_t>() < 0)
    return malformed_tokenizer("its model's max_input_chars_per_word is no number of characters");
  most_characters_ = static_cast<std::size_t>(most.get<int64_t>());
  return {};
}

Result<std::shared_ptr<const Tokenizer>> WordPieceTokenizer::parse(const json& file) {
  const std::string cut = text_of_part(part_of(file, "pre_tokenizer"), "type");
  if (cut != "BertPreTokenizer")
    return unsupported(fmt::format(
        "the tokenizer cuts text by '{}'; with WordPiece hone knows BERT's way (BertPreTokenizer)",
        cut.empty() ? "nothing" : cut));
  auto tokenizer = std::make_shared<WordPieceTokenizer>();
  HONE_CHECK(tokenizer->read_model(part_of(file, "model")));
  HONE_ASSIGN(AddedTokens::Normalise normalise, read_normaliser(file));
  HONE_ASSIGN(tokenizer->added_, AddedTokens::read(file, std::move(normalise)));
  for (const AddedTokens::Added& added : tokenizer->added_.all()) {
    if (added.token >= tokenizer->text_of_.size()) tokenizer->text_of_.resize(added.token + 1);
    tokenizer->text_of_[added.token] = added.text;
  }
  return std::shared_ptr<const Tokenizer>(std::move(tokenizer));
}

}  // namespace

Result<std::shared_ptr<const Tokenizer>> parse_word_piece(const json& file) {
  return WordPieceTokenizer::parse(file);
}

}  // namespace hone::data
