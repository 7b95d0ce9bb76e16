#include "data/text/byte_level_bpe.h"

#include <algorithm>
#include <array>
#include <optional>
#include <queue>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include <fmt/core.h>
#include <utf8proc.h>

#include "data/text/split_words.h"
#include "data/text/tokenizer_file.h"

namespace hone::data {
namespace {

using nlohmann::json;

constexpr uint32_t kNoToken = ~uint32_t{0};

// Byte-level vocabularies write each byte as a character that can be seen: those that can, as themselves, the others
// from U+0100 on. The byte that a character stands for; none: it stands for none.
std::optional<char> byte_of_character(utf8proc_int32_t c) {
  static const auto kBytes = [] {
    std::array<int, 0x144> bytes;
    bytes.fill(-1);
    std::size_t next = 0x100;
    for (int byte = 0; byte < 256; ++byte) {
      const bool visible = (byte >= '!' && byte <= '~') || (byte >= 0xa1 && byte <= 0xac) || byte >= 0xae;
      bytes[visible ? static_cast<std::size_t>(byte) : next++] = byte;
    }
    return bytes;
  }();
  if (c < 0 || static_cast<std::size_t>(c) >= kBytes.size() || kBytes[static_cast<std::size_t>(c)] < 0)
    return std::nullopt;
  return static_cast<char>(kBytes[static_cast<std::size_t>(c)]);
}

std::optional<std::string> bytes_of_token(std::string_view written) {
  std::string bytes;
  while (!written.empty()) {
    utf8proc_int32_t c = -1;
    const auto length = utf8proc_iterate(reinterpret_cast<const utf8proc_uint8_t*>(written.data()),
                                         static_cast<utf8proc_ssize_t>(written.size()), &c);
    const auto byte = length > 0 ? byte_of_character(c) : std::nullopt;
    if (!byte) return std::nullopt;
    bytes += *byte;
    written.remove_prefix(static_cast<std::size_t>(length));
  }
  return bytes;
}

// A word while its pairs are merged: tokens in a row, of which some are gone.
struct Symbol {
  uint32_t token = kNoToken;
  std::size_t previous = 0, next = 0;
};

class BpeTokenizer final : public Tokenizer {
 public:
  static Result<std::shared_ptr<const Tokenizer>> parse(const json& file);

  int64_t vocabulary() const override { return std::ssize(text_of_); }
  std::optional<uint32_t> token_of(std::string_view name) const override {
    if (const auto added = added_.token_of(name)) return added;
    const auto found = token_of_.find(std::string(name));
    return found == token_of_.end() ? std::nullopt : std::optional(found->second);
  }

  std::vector<uint32_t> encode(std::string_view text) const override {
    return added_.encode(
        text, [this](std::string_view plain, std::vector<uint32_t>& tokens) { encode_plain(plain, tokens); });
  }

  std::string decode(std::span<const uint32_t> tokens) const override {
    std::string text;
    for (const uint32_t token : tokens)
      if (token < text_of_.size()) text += text_of_[token];
    return text;
  }

 private:
  struct Merge {
    uint32_t rank = 0, token = 0;
  };
  struct Candidate {
    uint32_t rank;
    std::size_t left;
    uint32_t left_token, right_token;
    bool operator>(const Candidate& other) const {
      return std::pair(rank, left) > std::pair(other.rank, other.left);
    }
  };

  static uint64_t pair_key(uint32_t left, uint32_t right) { return uint64_t{left} << 32 | right; }

  Status read_vocabulary(const json& model);
  Status read_merges(const json& model);

  void encode_plain(std::string_view text, std::vector<uint32_t>& tokens) const {
    while (!text.empty()) {
      const std::size_t length = word_length(text);
      encode_word(text.substr(0, length), tokens);
      text.remove_prefix(length);
    }
  }

  // Merges the pair of the lowest rank, the leftmost of equals, until no pair is known: O(n log n).
  void encode_word(std::string_view word, std::vector<uint32_t>& tokens) const {
    std::vector<Symbol> symbols(word.size());
    for (std::size_t i = 0; i < word.size(); ++i)
      symbols[i] = {of_byte_[static_cast<unsigned char>(word[i])], i - 1, i + 1};
    std::priority_queue<Candidate, std::vector<Candidate>, std::greater<>> candidates;
    const auto consider = [&](std::size_t left) {
      if (left >= symbols.size() || symbols[left].next >= symbols.size()) return;
      const uint32_t a = symbols[left].token, b = symbols[symbols[left].next].token;
      if (const auto merge = merges_.find(pair_key(a, b)); merge != merges_.end())
        candidates.push({merge->second.rank, left, a, b});
    };
    for (std::size_t i = 0; i < symbols.size(); ++i) consider(i);
    while (!candidates.empty()) {
      const Candidate best = candidates.top();
      candidates.pop();
      Symbol& left = symbols[best.left];
      // Merged meanwhile with others: the pair is not there any more.
      if (left.token != best.left_token || left.next >= symbols.size() ||
          symbols[left.next].token != best.right_token)
        continue;
      Symbol& right = symbols[left.next];
      left.token = merges_.at(pair_key(best.left_token, best.right_token)).token;
      right.token = kNoToken;
      left.next = right.next;
      if (left.next < symbols.size()) symbols[left.next].previous = best.left;
      consider(left.previous);
      consider(best.left);
    }
    for (const Symbol& symbol : symbols)
      if (symbol.token != kNoToken) tokens.push_back(symbol.token);
  }

  std::vector<std::string> text_of_;  // by token
  std::array<uint32_t, 256> of_byte_ = {};
  std::unordered_map<std::string, uint32_t> token_of_;  // as written in the file
  std::unordered_map<uint64_t, Merge> merges_;
  AddedTokens added_;
};

// What a file may ask for that is done otherwise here is refused: a text cut differently is another text.
Status check_supported_bpe(const json& file) {
  const json& model = part_of(file, "model");
  if (!part_of(file, "normalizer").is_null())
    return unsupported(
        fmt::format("the tokenizer has a normalizer ({}); hone reads byte-level BPE without one",
                    text_of_part(part_of(file, "normalizer"), "type")));
  const json& cut = part_of(file, "pre_tokenizer");
  if (text_of_part(cut, "type") != "ByteLevel")
    return unsupported(fmt::format("the tokenizer cuts text by '{}'; hone knows GPT-2's way (ByteLevel)",
                                   cut.is_null() ? "nothing" : text_of_part(cut, "type")));
  if (part_of(cut, "add_prefix_space") == true || part_of(cut, "use_regex") == false)
    return unsupported(
        "the tokenizer's ByteLevel has add_prefix_space, or no use_regex; hone knows GPT-2's way");
  for (const char* name : {"continuing_subword_prefix", "end_of_word_suffix"})
    if (!text_of_part(model, name).empty())
      return unsupported(fmt::format("the tokenizer's model has a {}; byte-level BPE has none", name));
  if (part_of(model, "byte_fallback") == true || part_of(model, "ignore_merges") == true ||
      !part_of(model, "dropout").is_null())
    return unsupported(
        "the tokenizer's model has byte_fallback, ignore_merges or dropout, which hone does not do");
  return {};
}

Status BpeTokenizer::read_vocabulary(const json& model) {
  const json& vocabulary = part_of(model, "vocab");
  if (!vocabulary.is_object() || vocabulary.empty())
    return malformed_tokenizer("its model has no vocabulary");
  of_byte_.fill(kNoToken);
  for (const auto& [written, value] : vocabulary.items()) {
    HONE_ASSIGN(const uint32_t token, token_number(value));
    if (token >= text_of_.size()) text_of_.resize(token + 1);
    // What is no bytes, as "<|endoftext|>" might be, stands for its own text.
    text_of_[token] = bytes_of_token(written).value_or(written);
    if (text_of_[token].size() == 1 && bytes_of_token(written))
      of_byte_[static_cast<unsigned char>(text_of_[token][0])] = token;
    token_of_.emplace(written, token);
  }
  const auto missing = std::find(of_byte_.begin(), of_byte_.end(), kNoToken);
  if (missing != of_byte_.end())
    return unsupported(
        fmt::format("the tokenizer's vocabulary has no token for the byte {}: it is not byte-level",
                    missing - of_byte_.begin()));
  return {};
}

Status BpeTokenizer::read_merges(const json& model) {
  const json& merges = part_of(model, "merges");
  if (!merges.is_array()) return malformed_tokenizer("its model has no merges");
  uint32_t rank = 0;
  for (const json& merge : merges) {
    std::string left, right;
    if (merge.is_string()) {
      const auto text = merge.get<std::string>();
      const std::size_t space = text.find(' ');
      if (space != std::string::npos) left = text.substr(0, space), right = text.substr(space + 1);
    } else if (merge.is_array() && merge.size() == 2 && merge[0].is_string() && merge[1].is_string()) {
      left = merge[0].get<std::string>();
      right = merge[1].get<std::string>();
    }
    const auto a = token_of_.find(left), b = token_of_.find(right), both = token_of_.find(left + right);
    if (a == token_of_.end() || b == token_of_.end() || both == token_of_.end())
      return malformed_tokenizer(fmt::format("merge {} is not of two tokens into a third", rank));
    merges_.emplace(pair_key(a->second, b->second), Merge{rank++, both->second});
  }
  return {};
}

Result<std::shared_ptr<const Tokenizer>> BpeTokenizer::parse(const json& file) {
  HONE_CHECK(check_supported_bpe(file));
  auto tokenizer = std::make_shared<BpeTokenizer>();
  HONE_CHECK(tokenizer->read_vocabulary(file["model"]));
  HONE_CHECK(tokenizer->read_merges(file["model"]));
  HONE_ASSIGN(tokenizer->added_, AddedTokens::read(file));
  for (const AddedTokens::Added& added : tokenizer->added_.all()) {
    if (added.token >= tokenizer->text_of_.size()) tokenizer->text_of_.resize(added.token + 1);
    tokenizer->text_of_[added.token] = added.text;
  }
  return std::shared_ptr<const Tokenizer>(std::move(tokenizer));
}

}  // namespace

Result<std::shared_ptr<const Tokenizer>> parse_byte_level_bpe(const json& file) {
  return BpeTokenizer::parse(file);
}

}  // namespace hone::data
